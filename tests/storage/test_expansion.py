"""Small files that expand: refused with their name and a remedy, while real files are read."""

import gzip
import io
import json
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from columns import columns_of
from hostile_corpora import outcomes
from hypothesis import given
from hypothesis import strategies as st

from wordclass.corpus.formats import parquet
from wordclass.corpus.reader import read_corpus
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError
from wordclass.storage import compression, files
from wordclass.storage.files import Growth
from wordclass.vectors.word_vectors import WordVectors

MEGABYTE = 1 << 20
REFUSAL = "expands to more than 200 times its size; if you trust the file, "
COMPRESSORS = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}

TEXT = b"moon orbit " * 1000
LINES = {
    "x.jsonl": (b"", b'{"text": "%s", "label": "space"}\n' % TEXT),
    "x.csv": (b"text,label\n", b"%s,space\n" % TEXT),
    "x.tsv": (b"text\tlabel\n", b"%s\tspace\n" % TEXT),
    "x.ft.txt": (b"", b"__label__space %s\n" % TEXT),
}
VECTOR_LINES = {
    "x.txt": (b"", b"moon 1 2 3\n"),
    "x.vec": (b"9999999 3\n", b"moon 1 2 3\n"),
    "x.bin": (b"9999999 3\n", b"moon " + struct.pack("<3f", 1, 2, 3)),
}


@pytest.mark.parametrize("ending", COMPRESSORS)
def test_compressed_lines_that_expand_are_refused_in_every_format(tmp_path, ending):
    paths = []
    for name, (start, line) in LINES.items():
        path = tmp_path / f"{name}{ending}"
        path.write_bytes(COMPRESSORS[ending](start + line * (80 * MEGABYTE // len(line))))
        assert path.stat().st_size < MEGABYTE
        paths.append(path)
    for path, result in zip(paths, outcomes(paths).values(), strict=True):
        assert result == f"refused {path}: {REFUSAL}decompress it first"


@pytest.mark.parametrize("ending", COMPRESSORS)
@pytest.mark.parametrize("name", VECTOR_LINES)
def test_compressed_vectors_that_expand_are_refused_in_every_format(
    tmp_path, monkeypatch, name, ending
):
    monkeypatch.setattr(compression, "MAX_FREE_BYTES", MEGABYTE)
    start, line = VECTOR_LINES[name]
    path = tmp_path / f"{name}{ending}"
    path.write_bytes(COMPRESSORS[ending](start + line * (20 * MEGABYTE // len(line))))
    tracemalloc.start()
    with pytest.raises(FormatError, match=REFUSAL):
        WordVectors.load(path, cache=False)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # a chunk of zstd may become 32 MB at once
    assert peak < 48 * MEGABYTE


def dictionary(text, n_rows):
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, np.int32)), pa.array([text]))


def parquet_tables():
    n_rows = 3_000_000
    labels = ["a"]
    return {
        "one text for all rows": lambda: pa.table(
            {"text": dictionary("moon " * 500, 100_000), "label": dictionary("a", 100_000)}
        ),
        "rows of nothing": lambda: pa.table(
            {"text": pa.nulls(n_rows, pa.string()), "label": pa.nulls(n_rows, pa.string())}
        ),
        "rows of empty texts": lambda: pa.table(
            {"text": dictionary("", n_rows), "label": dictionary("", n_rows)}
        ),
        "a list of nothing": lambda: pa.table(
            {
                "text": ["x"],
                "labels": pa.ListArray.from_arrays(
                    [0, 6 * n_rows], pa.nulls(6 * n_rows, pa.int8())
                ),
            }
        ),
        "a list of lists of nothing": lambda: pa.table(
            {
                "text": ["x"],
                "labels": pa.ListArray.from_arrays(
                    [0, 1],
                    pa.ListArray.from_arrays([0, 6 * n_rows], pa.nulls(6 * n_rows, pa.int8())),
                ),
            }
        ),
        "a column that is not used": lambda: pa.table(
            {"text": ["x"], "label": labels, "other": ["y" * (100 * MEGABYTE)]}
        ),
        "one long text": lambda: pa.table({"text": ["x" * (100 * MEGABYTE)], "label": labels}),
        "one text of 600 MB": lambda: pa.table({"text": ["x" * (600 * MEGABYTE)], "label": labels}),
    }


def test_parquet_files_that_expand_are_refused_in_little_memory(tmp_path):
    tables = parquet_tables()
    paths = []
    for number, make_table in enumerate(tables.values()):
        paths.append(tmp_path / f"{number}.parquet")
        pq.write_table(make_table(), paths[-1], compression="zstd", store_schema=False)
        assert paths[-1].stat().st_size < 64_000
    compressed = tmp_path / "x.parquet.gz"
    compressed.write_bytes(gzip.compress(paths[0].read_bytes()))
    paths.append(compressed)
    results = outcomes(paths, multilabel=True, on_missing_label="empty")
    named = dict(zip([*tables, "compressed again"], results.values(), strict=True))
    # where polars takes more memory than there may be, it does not tell why
    largest = named.pop("one text of 600 MB")
    assert largest.startswith("refused")
    assert "write it in another format first" in largest
    wrong = {name: text for name, text in named.items() if f": {REFUSAL}write it" not in text}
    assert wrong == {}


@pytest.mark.parametrize("name", ["one text for all rows", "rows of nothing", "one long text"])
def test_remote_parquet_files_that_expand_are_refused(name):
    fsspec = pytest.importorskip("fsspec")
    url = f"memory://{name.replace(' ', '_')}.parquet"
    with fsspec.open(url, "wb") as file:
        pq.write_table(parquet_tables()[name](), file, compression="zstd", store_schema=False)
    with pytest.raises(FormatError, match=REFUSAL):
        columns_of(parquet.read(files.Address(url), ReadOptions()))


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_archives_of_numpy_that_expand_are_refused(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(compression, "MAX_FREE_BYTES", MEGABYTE)
    stream = io.BytesIO()
    matrix = np.zeros((MEGABYTE, 3), np.float32)
    np.savez_compressed(stream, matrix=matrix, terms=np.array(["moon"]))
    path = tmp_path / f"x.npz{ending}"
    path.write_bytes(gzip.compress(stream.getvalue()) if ending else stream.getvalue())
    with pytest.raises(FormatError, match=REFUSAL):
        WordVectors.load(path)


@pytest.mark.parametrize("n_members", [1, 50])
def test_the_members_of_an_archive_are_measured_together(tmp_path, monkeypatch, n_members):
    monkeypatch.setattr(compression, "MAX_FREE_BYTES", MEGABYTE)
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(n_members):
            archive.writestr(f"{number}.npy", bytes(2 * MEGABYTE // n_members))
    with path.open("rb") as stream:
        if 200 * path.stat().st_size > 2 * MEGABYTE:  # the table of contents takes room, too
            files.check_archive(path, stream)
            return
        with pytest.raises(FormatError, match=REFUSAL):
            files.check_archive(path, stream)


def test_many_small_files_of_a_folder_are_measured_together(tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "MAX_FREE_BYTES", MEGABYTE)
    (tmp_path / "docs" / "space").mkdir(parents=True)
    for number in range(30):
        path = tmp_path / "docs" / "space" / f"{number}.txt.gz"
        path.write_bytes(gzip.compress(b"x" * (MEGABYTE // 10)))
    with pytest.raises(FormatError, match=f"docs: {REFUSAL}decompress it first"):
        read_corpus(tmp_path / "docs")


def test_many_small_files_of_a_folder_that_are_not_compressed_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "MAX_FREE_BYTES", 1)
    (tmp_path / "docs" / "space").mkdir(parents=True)
    for number in range(30):
        (tmp_path / "docs" / "space" / f"{number}.txt").write_text("moon " * 1000)
    assert len(read_corpus(tmp_path / "docs").texts) == 30


# --- what must pass -------------------------------------------------------------------------


def repetitive_lines(n_bytes):
    """Return JSON lines of a log with equal fields and different numbers."""
    lines = []
    size = 0
    number = 0
    while size < n_bytes:
        line = json.dumps(
            {
                "id": number,
                "text": f"connection {number * 7919 % 1000} from host closed by timeout " * 3,
                "label": "network" if number % 3 else "disk",
                "severity": "information",
                "component": "org.example.service.connection.Pool",
            }
        )
        lines.append(line)
        size += len(line) + 1
        number += 1
    return "\n".join(lines).encode(), number


@pytest.mark.parametrize("ending", COMPRESSORS)
def test_repetitive_lines_beyond_the_free_size_are_read(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(compression, "MAX_FREE_BYTES", MEGABYTE)
    content, n_docs = repetitive_lines(8 * MEGABYTE)
    path = tmp_path / f"x.jsonl{ending}"
    path.write_bytes(COMPRESSORS[ending](content))
    assert len(content) > 15 * path.stat().st_size
    assert len(read_corpus(path).texts) == n_docs


def test_a_parquet_file_of_repetitive_records_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "MAX_FREE_BYTES", MEGABYTE)
    content, n_docs = repetitive_lines(8 * MEGABYTE)
    table = pl.read_ndjson(io.BytesIO(content))
    table.write_parquet(tmp_path / "x.parquet", compression="zstd")
    assert len(read_corpus(tmp_path / "x.parquet").texts) == n_docs


# --- the decompression itself ---------------------------------------------------------------


@given(
    st.lists(st.binary(max_size=300), min_size=1, max_size=5),
    st.lists(st.integers(0, 40_000), min_size=5, max_size=5),
)
def test_gzip_members_and_padding_are_read_as_the_standard_library_does(
    tmp_path_factory, contents, paddings
):
    members = [
        gzip.compress(content) + bytes(padding)
        for content, padding in zip(contents, paddings, strict=False)
    ]
    path = tmp_path_factory.mktemp("gzip") / "x.gz"
    path.write_bytes(b"".join(members))
    assert files.read_content(path) == gzip.decompress(path.read_bytes()) == b"".join(contents)


@pytest.mark.parametrize(
    "content",
    [
        bytes(100),
        bytes(3) + gzip.compress(b"x"),
        gzip.compress(b"x") + b"y",
        gzip.compress(b"x") + bytes(20_000) + b"y",
        gzip.compress(b"x") + gzip.compress(b"y")[:-1],
        gzip.compress(b"x")[:-8] + bytes(8),
        zlib.compress(b"x"),
    ],
    ids=["zeros", "zeros first", "garbage", "late garbage", "cut", "checksum", "zlib"],
)
def test_data_that_is_not_gzip_is_refused(tmp_path, content):
    path = tmp_path / "x.gz"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"x\.gz: damaged"):
        files.read_content(path)


def test_an_empty_gzip_file_is_empty(tmp_path):
    (tmp_path / "x.gz").write_bytes(b"")
    assert files.read_content(tmp_path / "x.gz") == b""


def test_the_limit_is_the_larger_of_the_free_size_and_the_growth():
    growth = Growth(Path("x"), 1_000)
    assert growth.limit() == compression.MAX_FREE_BYTES
    growth.add(compression.MAX_FREE_BYTES)
    with pytest.raises(FormatError, match=REFUSAL):
        growth.add(1)
    growth = Growth(Path("x"), 10 * MEGABYTE)
    growth.add(compression.MAX_GROWTH * 10 * MEGABYTE)
    with pytest.raises(FormatError, match=REFUSAL):
        growth.add(1)
