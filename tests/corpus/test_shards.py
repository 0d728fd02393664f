"""Corpora in shards: files that are cut, folders, patterns and addresses, and errors in them."""

import csv
import gzip
import http.server
import json
import pickle
import threading
from itertools import product

import polars as pl
import pytest
from in_parts import assert_equal_vectors, write_parts
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.corpus.selection import ReadSummary

TEXTS, LABELS = corpus(120)
AWKWARD = [f'{text}\nsaid "{k}", and; more\té' for k, text in enumerate(TEXTS)]


def write(path, texts=TEXTS, labels=LABELS):
    """Write a corpus as the ending of the path says."""
    rows = [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".parquet":
        pl.DataFrame(rows).write_parquet(path, row_group_size=7)
    elif path.suffix == ".ft":
        path.write_text("".join(f"__label__{row['label']} {row['text']}\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            delimiter = {".csv": ",", ".tsv": "\t"}[path.suffix]
            table = csv.DictWriter(file, ["text", "label"], delimiter=delimiter)
            table.writeheader()
            table.writerows(rows)
    return path


def texts_of(parts):
    summary = ReadSummary()
    return [
        record.text
        for number, item in enumerate(parts.items)
        for block in parts.records(number, item, summary)
        for record in block
    ]


@pytest.mark.parametrize(
    ("ending", "n_bytes"),
    # a part of Parquet is a group of rows at least, and reading it takes long
    [*product([".jsonl", ".csv", ".tsv", ".ft"], [150, 1_000, 4_000]), (".parquet", 4_000)],
)
def test_a_file_that_is_cut_is_the_file(tmp_path, ending, n_bytes):
    texts = TEXTS if ending == ".ft" else AWKWARD
    path = write(tmp_path / f"docs{ending}", texts)
    parts = wc.ShardedCorpus.of(path, part_bytes=n_bytes)
    assert len(parts) > 1
    assert [part.span[0] for part in parts.items][1:] == [p.span[1] for p in parts.items][:-1]
    assert texts_of(pickle.loads(pickle.dumps(parts))) == texts
    assert parts.read() == wc.read_corpus(path)


def test_files_that_cannot_be_cut_are_one_part(tmp_path):
    path = write(tmp_path / "docs.jsonl")
    packed = tmp_path / "docs.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    array = tmp_path / "docs.json"
    array.write_text(json.dumps([json.loads(line) for line in path.read_text().splitlines()]))
    wide = tmp_path / "wide.jsonl"
    wide.write_text(path.read_text(), encoding="utf-16")
    for data, options in ((packed, {}), (array, {}), (wide, {"encoding": "utf-16"})):
        parts = wc.ShardedCorpus.of(data, part_bytes=100, **options)
        assert len(parts) == 1
        assert texts_of(parts) == TEXTS


def test_vectors_do_not_depend_on_where_a_file_is_cut(tmp_path):
    path = write(tmp_path / "docs.jsonl")
    expected = wc.WordClassEmbeddings().fit(TEXTS, LABELS)
    for n_bytes in (100, 1_000, 3_000):
        embeddings = wc.WordClassEmbeddings().fit_parts(
            wc.ShardedCorpus.of(path, part_bytes=n_bytes)
        )
        assert_equal_vectors(embeddings, expected)


def test_folders_patterns_and_lists_are_corpora(tmp_path):
    folder = write_parts(tmp_path / "parts", TEXTS, LABELS, 5)
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-000.jsonl.crc").write_text("?")
    for data in (folder, str(folder / "part-*.jsonl"), sorted(folder.glob("part*"))):
        parts = wc.ShardedCorpus.of(data)
        assert (len(parts), texts_of(parts)) == (5, TEXTS)
    mixed = [write(tmp_path / "one.csv", TEXTS[:60], LABELS[:60]), tmp_path / "two.parquet"]
    write(mixed[1], TEXTS[60:], LABELS[60:])
    assert texts_of(wc.ShardedCorpus.of(mixed)) == TEXTS
    lines = write(tmp_path / "three.ft", TEXTS, LABELS)
    assert texts_of(wc.ShardedCorpus.of([*mixed, lines])) == TEXTS * 2


def test_parts_are_found_from_anywhere(tmp_path, monkeypatch):
    write(tmp_path / "docs.jsonl")
    monkeypatch.chdir(tmp_path)
    parts = wc.ShardedCorpus.of("docs.jsonl")
    monkeypatch.chdir("/")
    assert texts_of(parts) == TEXTS


def test_a_folder_per_class_is_one_part(tmp_path):
    classes = tmp_path / "classes"
    for k, (text, label) in enumerate(zip(TEXTS[:9], LABELS[:9], strict=True)):
        (classes / label).mkdir(parents=True, exist_ok=True)
        (classes / label / f"{k}.txt").write_text(text)
    assert sorted(texts_of(wc.ShardedCorpus.of(classes))) == sorted(TEXTS[:9])


def test_the_kind_of_task_is_decided_by_all_parts(tmp_path):
    texts, labels = multilabel_corpus(60)
    parts = write_parts(tmp_path / "parts", texts, labels, 6)
    assert wc.ShardedCorpus.of(parts).read() == wc.LabelledCorpus(texts, labels, True)
    singles = write_parts(tmp_path / "singles", TEXTS, [[label] for label in LABELS], 6)
    assert wc.ShardedCorpus.of(singles).read() == wc.LabelledCorpus(TEXTS, LABELS, False)
    embeddings = wc.WordClassEmbeddings().fit_parts(wc.ShardedCorpus.of(singles, multilabel=True))
    assert embeddings.learned_.codeframe.kind == "multilabel"


BAD = {
    ".jsonl": ('{"text": "x", "label": "y"', "not JSON"),
    ".csv": ("a,b,c", "3 cells, but the header names 2 columns"),
    ".tsv": ("a\tb\tc", "3 cells, but the header names 2 columns"),
    ".ft": ("__label__ x", "a label without a name"),
}


@pytest.mark.parametrize("ending", BAD)
def test_bad_records_have_the_line_of_the_file_wherever_it_is_cut(tmp_path, ending):
    path = write(tmp_path / f"docs{ending}")
    line, reason = BAD[ending]
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:100], line, *lines[100:]]) + "\n")
    for n_bytes in (200, 1_000, 1 << 30):
        parts = wc.ShardedCorpus.of(path, part_bytes=n_bytes)
        with pytest.raises(wc.FormatError) as error:
            texts_of(parts)
        assert str(error.value).startswith(f"{path}, line 101: {reason}")
        skipping = wc.ShardedCorpus.of(path, part_bytes=n_bytes, on_bad_record="skip")
        embeddings = wc.WordClassEmbeddings().fit_parts(skipping)
        assert (embeddings.seen_.n_docs, embeddings.seen_.n_skipped) == (120, 1)
        assert str(embeddings.seen_.first_skipped) == str(error.value)


def test_bytes_that_cannot_be_decoded_are_a_bad_record(tmp_path):
    path = write(tmp_path / "docs.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:50], b'{"text": "\xff", "label": "x"}\n', *lines[50:]]))
    for n_bytes in (500, 1 << 30):
        with pytest.raises(wc.FormatError, match="line 51: byte 0xff is not valid utf-8"):
            texts_of(wc.ShardedCorpus.of(path, part_bytes=n_bytes))
        parts = wc.ShardedCorpus.of(path, part_bytes=n_bytes, on_bad_record="skip")
        assert texts_of(parts) == TEXTS


def test_a_file_without_one_good_record_is_not_skipped(tmp_path):
    folder = write_parts(tmp_path / "parts", TEXTS, LABELS, 3)
    (folder / "part-001.jsonl").write_text("{\n{\n")
    with pytest.raises(wc.FormatError, match=r"part-001.jsonl, line 1: not JSON"):
        texts_of(wc.ShardedCorpus.of(folder, on_bad_record="skip"))


def test_a_missing_label_has_the_line_of_the_file_wherever_it_is_cut(tmp_path):
    path = write(tmp_path / "docs.jsonl", TEXTS, [*LABELS[:90], "", *LABELS[91:]])
    for n_bytes in (100, 1_000, 1 << 30):
        parts = wc.ShardedCorpus.of(path, part_bytes=n_bytes)
        for use in (parts.read, lambda: wc.WordClassEmbeddings().fit_parts(parts)):  # noqa: B023
            with pytest.raises(wc.FormatError, match="line 91: no label, in a single-label task"):
                use()
        skipping = wc.ShardedCorpus.of(path, part_bytes=n_bytes, on_missing_label="skip")
        assert len(skipping.read()) == 119


def test_a_range_of_bad_records_is_skipped_as_they_would_be_elsewhere(tmp_path):
    path = write(tmp_path / "docs.jsonl")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:50], *["{" * 150] * 20, *lines[50:]]) + "\n")
    for n_bytes in (200, 1 << 30):
        parts = wc.ShardedCorpus.of(path, part_bytes=n_bytes, on_bad_record="skip")
        embeddings = wc.WordClassEmbeddings().fit_parts(parts)
        summary = embeddings.seen_
        assert (summary.n_docs, summary.n_skipped, summary.first_skipped.line) == (120, 20, 51)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "x", "label": "y"}, "no field 'labels'; there are: 'text', 'label'"),
        ({"body": "x", "labels": "y"}, "no field 'text'; there are: 'body', 'labels'"),
        (
            {"text": "x", "labels": "y", "split": "train"},
            "this record has a field 'split', but earlier records have none",
        ),
    ],
)
def test_parts_that_disagree_on_their_columns_are_refused(tmp_path, row, message):
    folder = write_parts(tmp_path / "parts", TEXTS, LABELS, 3)
    other = folder / "part-002.jsonl"
    other.write_text(json.dumps(row) + "\n")
    with pytest.raises(wc.FormatError) as error:
        wc.WordClassEmbeddings().fit_parts(folder)
    assert f"{other}, line 1: {message}" in str(error.value)


def test_tables_that_disagree_on_a_split_are_refused(tmp_path):
    one, other = tmp_path / "1.csv", tmp_path / "2.csv"
    one.write_text("text,label,split\na,b,train\n")
    other.write_text("text,label\na,b\n")
    with pytest.raises(wc.FormatError, match=r"2.csv, line 1: no column 'split', unlike the files"):
        texts_of(wc.ShardedCorpus.of([one, other]))


def test_a_missing_file_is_an_error(tmp_path):
    for data in (tmp_path / "a.jsonl", str(tmp_path / "*.jsonl"), "memory://nothing/a.jsonl"):
        with pytest.raises(wc.MissingDataError, match="no such file or folder"):
            wc.ShardedCorpus.of(data)
    with pytest.raises(wc.InputError, match="no files were named"):
        wc.ShardedCorpus.of([])
    with pytest.raises(wc.WordClassError, match="nosuch"):
        wc.ShardedCorpus.of("nosuch://bucket/docs.jsonl")


# --- addresses ------------------------------------------------------------------------------------


class Handler(http.server.SimpleHTTPRequestHandler):
    """A server of files that can send ranges of them."""

    def log_message(self, *_args):
        pass

    def do_GET(self):
        range_header = self.headers.get("Range")
        type(self).requests.append((self.path, range_header))
        path = self.translate_path(self.path)
        if range_header is None or not path.endswith((".jsonl", ".parquet")):
            super().do_GET()
            return
        with open(path, "rb") as file:
            content = file.read()
        first, _, last = range_header.removeprefix("bytes=").partition("-")
        end = min(int(last) + 1 if last else len(content), len(content))
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{end - 1}/{len(content)}")
        self.send_header("Content-Length", str(end - int(first)))
        self.end_headers()
        self.wfile.write(content[int(first) : end])


@pytest.fixture
def served(tmp_path):
    """The folder and the address of a server of files on this machine."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = type("Own", (Handler,), {"requests": []})

    def make(*args):
        return handler(*args, directory=str(folder))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), make) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}", handler
        server.shutdown()


@pytest.fixture
def memory():
    fsspec = pytest.importorskip("fsspec", reason="the extra 'fsspec' is not installed")
    system = fsspec.filesystem("memory")
    yield system
    system.rm("/", recursive=True)


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_files_are_read_from_memory_and_in_ranges(tmp_path, memory, ending):
    texts = AWKWARD
    path = write(tmp_path / f"docs{ending}", texts)
    memory.pipe(f"/corpus/docs{ending}", path.read_bytes())
    for data in (f"memory://corpus/docs{ending}", f"memory://corpus/*{ending}", "memory://corpus"):
        parts = wc.ShardedCorpus.of(data, part_bytes=2_000)
        assert len(parts) > 1 or ending == ".csv"
        assert texts_of(parts) == texts
    packed = gzip.compress(write(tmp_path / "docs.jsonl", texts).read_bytes())
    memory.pipe("/corpus/packed.jsonl.gz", packed)
    assert texts_of(wc.ShardedCorpus.of("memory://corpus/packed.jsonl.gz")) == texts


def test_files_are_read_over_http_in_ranges(served):
    pytest.importorskip("aiohttp", reason="the extra 'fsspec' is not installed")
    folder, address, handler = served
    path = write(folder / "docs.jsonl", TEXTS * 40, LABELS * 40)
    parts = wc.ShardedCorpus.of(f"{address}/docs.jsonl", part_bytes=path.stat().st_size // 3)
    assert len(parts) == 3
    assert texts_of(parts) == TEXTS * 40
    assert any(range_header is not None for _, range_header in handler.requests)
    embeddings = wc.WordClassEmbeddings().fit_parts(parts)
    assert_equal_vectors(embeddings, wc.WordClassEmbeddings().fit(TEXTS * 40, LABELS * 40))
    write(folder / "docs.parquet", TEXTS, LABELS)
    assert texts_of(wc.ShardedCorpus.of(f"{address}/docs.parquet", part_bytes=500)) == TEXTS
    with pytest.raises(wc.MissingDataError, match="no such file"):
        wc.ShardedCorpus.of(f"{address}/nothing.jsonl")


def test_a_remote_file_that_disappears_between_the_passes_is_an_error(memory):
    rows = "".join(
        json.dumps({"text": text, "label": label}) + "\n"
        for text, label in zip(TEXTS, LABELS, strict=True)
    )
    memory.pipe("/corpus/a.jsonl", rows.encode())
    memory.pipe("/corpus/b.jsonl", rows.encode())

    def listen(step, _done, _total):
        if "adding up" in step and memory.exists("/corpus/b.jsonl"):
            memory.rm("/corpus/b.jsonl")

    with wc.on_progress(listen), pytest.raises(wc.MissingDataError, match="has disappeared"):
        wc.WordClassEmbeddings().fit_parts("memory://corpus/*.jsonl")
