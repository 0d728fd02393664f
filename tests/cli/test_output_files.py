"""What commands write: every format, compressed in every way, read by us and by other packages."""

import csv
import io
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import corpus

import wordclass as wc
from wordclass import catalogue
from wordclass.batch.row_files import open_row_writer
from wordclass.storage import files

COMPRESSIONS = ("", ".gz", ".zst")
ROW_FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")
N_DOCS = 4_000  # more than the buffers of the streams hold


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "docs.jsonl"
    texts, labels = corpus(60)
    lines = [
        json.dumps({"text": f"{text} {k}", "label": label})
        for k, (text, label) in enumerate(zip(texts * 70, labels * 70, strict=True))
    ]
    path.write_text("\n".join(lines[:N_DOCS]))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model"
    texts, labels = corpus(60)
    wrong = [*labels[1:], labels[0]]  # so that `evaluate --errors` has something to write
    wc.classifier("nearest", min_docs=2).fit(texts, wrong).save(path)
    return path


def content_by_arrow(path):
    """Return the decompressed bytes of a file, as Arrow reads them."""
    compression = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix)
    with pa.OSFile(str(path)) as file:
        if compression is None:
            return file.read()
        with pa.CompressedInputStream(file, compression) as stream:
            return stream.read()


def read_rows_without_wordclass(path):
    """Return the rows of a file, read without wordclass."""
    content = content_by_arrow(path)
    ending = Path(files.uncompressed_name(path)).suffix
    if ending == ".parquet":
        return pq.read_table(io.BytesIO(content)).to_pylist()
    lines = io.StringIO(content.decode(), newline="")
    if ending == ".jsonl":
        return [*map(json.loads, lines)]
    return [*csv.DictReader(lines, delimiter={".csv": ",", ".tsv": "\t"}[ending])]


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("ending", ROW_FORMATS)
def test_predictions_are_read_by_wordclass_and_by_other_packages(
    run, data, model, tmp_path, ending, compression
):
    path = tmp_path / f"out{ending}{compression}"
    status, _, err = run("predict", model, data, "-o", path)
    assert (status, "4,000 documents" in err) == (0, True)
    texts = [json.loads(line)["text"] for line in data.read_text().splitlines()]
    assert [row["text"] for row in read_rows_without_wordclass(path)] == texts
    labels = [str(label) for label in wc.load(model).predict(texts)]
    field = "predicted" if ending in (".csv", ".tsv") else "labels"
    corpus_read = wc.read_corpus(path, label_field=field, multilabel=False)
    assert (corpus_read.texts, corpus_read.labels) == (texts, labels)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("ending", ROW_FORMATS)
def test_errors_are_read_by_wordclass_and_by_other_packages(
    run, model, tmp_path, ending, compression
):
    path = tmp_path / f"errors{ending}{compression}"
    texts, labels = corpus(60)
    data = tmp_path / "docs.jsonl"
    lines = [
        json.dumps({"text": text, "label": label})
        for text, label in zip(texts, labels, strict=True)
    ]
    data.write_text("\n".join(lines))
    status, out, _ = run("evaluate", model, data, "--errors", path, "--json")
    assert status == 0
    rows = read_rows_without_wordclass(path)
    n_wrong = round(len(texts) * (1 - json.loads(out)["accuracy"]))
    assert len(rows) == n_wrong > 20
    assert {row["text"] for row in rows} <= {*texts}
    read = wc.read_corpus(path, label_field="true", multilabel=False)
    assert read.texts == [row["text"] for row in rows]


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("ending", ROW_FORMATS)
def test_files_of_predictions_have_the_ending_of_their_folder(
    run, data, model, tmp_path, ending, compression
):
    folder = tmp_path / f"out{ending}{compression}"
    options = ["--engine", "in_sequence", "-o", folder]
    status, _, err = run("predict", model, data, *options)
    assert status == 0, err
    parts = sorted(folder.iterdir())
    assert all(part.name.endswith(f"{ending}{compression}") for part in parts)
    assert sum(len(read_rows_without_wordclass(part)) for part in parts) == N_DOCS
    written = [part.stat().st_mtime_ns for part in parts]
    assert "were up to date" in run("predict", model, data, *options)[2]
    assert [part.stat().st_mtime_ns for part in parts] == written


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_embeddings_are_read_by_wordclass_and_by_other_packages(run, data, tmp_path, compression):
    plain = tmp_path / "plain.wce"
    path = tmp_path / f"docs.wce{compression}"
    for output in (plain, path):
        assert run("fit", data, "-o", output, "--min-docs", 2)[0] == 0
    assert content_by_arrow(path) == plain.read_bytes()
    assert [*wc.WordClassEmbeddings.load(path).terms_] == [
        *wc.WordClassEmbeddings.load(plain).terms_
    ]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_page_is_compressed_as_its_name_says(run, model, tmp_path, compression):
    path = tmp_path / f"page.html{compression}"
    status, _, err = run("explore", model, "-o", path)
    assert status == 0, err
    assert content_by_arrow(path).lstrip().lower().startswith(b"<!doctype html>")


@pytest.mark.parametrize("compression", COMPRESSIONS[1:])
@pytest.mark.parametrize("format", catalogue.names("vector_formats"))
def test_vectors_are_never_written_plain_under_a_compressed_name(
    run, tmp_path, format, compression
):
    source, *endings = tmp_path / "in.txt", *catalogue.entry("vector_formats", format).ENDINGS
    source.write_text("moon 1 2\nrose 3 4\n")
    for ending in endings or [".bin"]:
        target = tmp_path / f"out{ending}{compression}"
        status, _, err = run("convert", source, target, "--format", format)
        assert (status, "compressed files of vectors are read, not written" in err) == (1, True)
        assert not target.exists()


@pytest.mark.parametrize("compression", COMPRESSIONS[1:])
def test_a_picture_is_not_written_under_a_compressed_name(run, data, model, tmp_path, compression):
    path = tmp_path / f"confusion.png{compression}"
    status, _, err = run("evaluate", model, data, "--confusion", path)
    assert (status, "a name that ends in .png, .pdf or .svg" in err) == (1, True)
    assert not path.exists()


@pytest.mark.parametrize("name", ["x", "x.gz", "x.zst"])
def test_every_way_to_write_to_a_stream_writes_the_same(tmp_path, name):
    expected = b"".join(b"line %d\n" % number for number in range(300_000))
    lines = expected.splitlines(keepends=True)
    with files.open_for_writing(tmp_path / name) as stream:
        stream.writelines(lines[:1000])
        stream.flush()
        assert stream.write(memoryview(b"".join(lines[1000:-2]))) == sum(map(len, lines[1000:-2]))
        stream.write(bytearray(lines[-2]))
        text_stream = io.TextIOWrapper(stream, "utf-8", newline="")
        text_stream.write(lines[-1].decode())
        text_stream.detach()
    assert content_by_arrow(tmp_path / name) == expected
    assert files.read_content(tmp_path / name) == expected


@pytest.mark.parametrize("name", ["x.npy", "x.npy.gz", "x.npy.zst"])
def test_numpy_writes_through_the_compression(tmp_path, name):
    import numpy as np

    array = np.arange(100_000)
    with files.open_for_writing(tmp_path / name) as stream:
        np.save(stream, array)
    np.testing.assert_array_equal(np.load(io.BytesIO(content_by_arrow(tmp_path / name))), array)


# --- formulas -------------------------------------------------------------------------------

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\0=1"]
WIDE_FORMULAS = ["＝1+1", "＋1+A1", "－1+A1", "＠SUM(A1)"]
HARMLESS = ["", "moon", "a=b", " =1", "'=1", "12", "-12", "+1.5e-3", "-.5", "1;-2", "{=1}", "日本"]


def cells_written(folder, values, ending=".csv", *, escape_formulas):
    path = folder / f"rows{ending}"
    with open_row_writer(path, escape_formulas=escape_formulas) as write:
        write([{"cell": value} for value in values])
    return [row["cell"] for row in read_rows_without_wordclass(path)]


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_formulas_are_escaped_only_if_asked_for(tmp_path, ending):
    cells = [*FORMULAS, *WIDE_FORMULAS, *HARMLESS]
    assert cells_written(tmp_path, cells, ending, escape_formulas=False) == cells
    escaped = [f"'{cell}" for cell in [*FORMULAS, *WIDE_FORMULAS]]
    assert cells_written(tmp_path, cells, ending, escape_formulas=True) == [*escaped, *HARMLESS]


def test_numbers_and_lists_of_numbers_stay_and_lists_of_texts_are_escaped(tmp_path):
    values = [-1, -0.5, True, None, [-0.5, 2], ["-x", "y"], ["x", "=y"], {"=": 1}]
    expected = ["-1", "-0.5", "True", "", "-0.5;2", "'-x;y", "x;=y", '{"=": 1}']
    assert cells_written(tmp_path, values, escape_formulas=True) == expected


def test_names_of_columns_are_escaped_too(tmp_path):
    with open_row_writer(tmp_path / "rows.csv", escape_formulas=True) as write:
        write([{"=1+1": "x"}])
    assert (tmp_path / "rows.csv").read_text() == '"\'=1+1"\n"x"\n'


@given(st.lists(st.one_of(st.text(), st.sampled_from(FORMULAS).map(lambda cell: cell + "x"))))
def test_no_escaped_cell_begins_as_a_formula_does_and_none_loses_anything(tmp_path_factory, values):
    texts = [value.encode("utf-8", "replace").decode() for value in values]
    cells = cells_written(tmp_path_factory.mktemp("rows"), texts, escape_formulas=True)
    for text, cell in zip(texts, cells, strict=True):
        assert cell in (text, f"'{text}")
        is_number = re.fullmatch(r"[+-]?[\d.;eE+-]+", cell, re.ASCII)
        assert is_number or cell[:1] not in [*"=+-@＝＋－＠\t\r\n\0"]


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz"])
def test_predict_and_evaluate_escape_formulas(run, model, tmp_path, ending):
    data = tmp_path / "in.jsonl"
    texts, labels = corpus(30)
    lines = [
        json.dumps({"text": f"={text}", "label": label, "@id": "-x"})
        for text, label in zip(texts, labels, strict=True)
    ]
    data.write_text("\n".join(lines))
    predictions = tmp_path / f"out{ending}"
    errors = tmp_path / f"errors{ending}"
    assert run("predict", model, data, "-o", predictions, "--escape-formulas")[0] == 0
    assert run("evaluate", model, data, "--errors", errors, "--escape-formulas")[0] == 0
    assert {row["'@id"] for row in read_rows_without_wordclass(predictions)} == {"'-x"}
    for path in (predictions, errors):
        rows = read_rows_without_wordclass(path)
        assert rows
        assert all(row["text"].startswith("'=") for row in rows)


def test_files_of_predictions_are_written_again_if_formulas_must_be_escaped(run, model, tmp_path):
    data = tmp_path / "in.jsonl"
    data.write_text('{"text": "=moon"}\n')
    folder = tmp_path / "out.csv"
    options = ["predict", model, data, "--engine", "in_sequence", "-o", folder]
    for extra, expected in (([], "=moon"), (["--escape-formulas"], "'=moon")):
        assert run(*options, *extra)[0] == 0
        (part,) = folder.iterdir()
        assert [row["text"] for row in read_rows_without_wordclass(part)] == [expected]


@pytest.mark.parametrize(
    "options",
    [
        ["predict", "-o", "out.jsonl"],
        ["predict", "-o", "out.parquet.gz"],
        ["predict"],
        ["predict", "--engine", "in_sequence", "-o", "out"],
        ["evaluate", "--errors", "errors.jsonl"],
        ["evaluate"],
    ],
)
def test_escaping_formulas_is_refused_for_other_formats(
    run, data, model, tmp_path, monkeypatch, options
):
    monkeypatch.chdir(tmp_path)
    name, *more_options = options
    status, _, err = run(name, model, data, *more_options, "--escape-formulas")
    assert (status, "ends in .csv or .tsv" in err) == (1, True)
    assert not [*tmp_path.iterdir()]
