"""Predictions in files for spreadsheets: columns, dialects and workbooks."""

import csv
import math

import openpyxl
import pytest
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.batch.predictions import RowMaker, predict_rows
from wordclass.batch.row_files import open_row_writer
from wordclass.corpus.cells import Dialect, detect_dialect
from wordclass.corpus.selection import ReadOptions

TEXT = "moon orbit rose soil"


def make_row(model, *, k=None, proba=False, row=None):
    (prediction,) = predict_rows(model, [TEXT], k, proba=proba)
    maker = RowMaker(model, is_flat=True, is_ranked=proba or k is not None)
    return maker(row, prediction)


def write(path, rows, **options):
    with open_row_writer(path, **options) as write_block:
        write_block(rows)
    return path


def test_a_single_label_prediction_has_a_label_and_its_probability():
    model = wc.classifier("nearest", min_docs=2).fit(*corpus())
    row = make_row(model, row={"id": 7, "predicted": "mine"})
    assert [*row] == ["id", "given_predicted", "predicted", "probability"]
    assert row["predicted"] == ["space"]
    ranked = make_row(model, k=2)
    assert [*ranked] == ["predicted", "probability", "predicted_2", "probability_2"]
    assert (ranked["predicted"], ranked["predicted_2"]) == ("space", "garden")
    assert ranked["probability"] > ranked["probability_2"]
    assert len(make_row(model, proba=True)) == 6


def test_a_multilabel_prediction_has_all_labels_in_one_cell(tmp_path):
    model = wc.classifier("nearest", min_docs=2).fit(*multilabel_corpus())
    row = make_row(model)
    assert row["predicted"] == ["garden", "space"]
    assert len(row["probability"]) == 2
    content = write(tmp_path / "rows.csv", [row]).read_text()
    assert content.startswith('"predicted","probability"\n"garden;space","0.')
    assert [*make_row(model, k=2)][:3] == ["labels", "predicted", "probability"]


def test_a_model_without_probabilities_has_scores():
    model = wc.classifier("nearest", min_docs=2, probabilities=False).fit(*corpus())
    assert [*make_row(model, k=1)] == ["predicted", "score"]


@pytest.mark.parametrize(
    ("content", "encoding", "dialect"),
    [
        (b"text,label\nx,a\n", "utf-8", Dialect(",", "utf-8", False)),
        (b"\xef\xbb\xbftext;label\nx;a\n", "utf-8", Dialect(";", "utf-8", True)),
        ("text|label\nä|a\n".encode("latin-1"), "latin-1", Dialect("|", "latin-1", False)),
    ],
)
def test_a_csv_file_keeps_the_dialect_of_the_input(tmp_path, content, encoding, dialect):
    (tmp_path / "in.csv").write_bytes(content)
    assert detect_dialect(tmp_path / "in.csv", ReadOptions(encoding=encoding)) == dialect
    path = write(tmp_path / "out.csv", [{"text": "ä", "predicted": "a"}], dialect=dialect)
    written = path.read_bytes()
    assert written.startswith(b"\xef\xbb\xbf") == dialect.has_mark
    table = csv.reader(
        written.decode("utf-8-sig" if dialect.has_mark else encoding).splitlines(),
        delimiter=dialect.delimiter,
    )
    assert [*table] == [["text", "predicted"], ["ä", "a"]]


def test_a_workbook_keeps_text_that_looks_like_a_formula(tmp_path):
    values = ["=1+1", "+1", "-1", "@a", "#N/A", "moon", "two\nlines", "bell \a \ud800", "", "1.5"]
    rows = [{"text": value, "n": 0.5} for value in values]
    sheet = openpyxl.load_workbook(write(tmp_path / "rows.xlsx", rows)).active
    cells = [cell for (cell, _) in sheet.iter_rows(min_row=2)]
    assert [cell.value or "" for cell in cells] == [
        *values[:7], "bell ? ?", "", "1.5"
    ]  # fmt: skip
    assert {cell.data_type for cell in cells if cell.value} == {"s"}
    assert {row[1].value for row in sheet.iter_rows(min_row=2)} == {0.5}


def test_a_workbook_has_numbers_lists_and_missing_values(tmp_path):
    row = {"a": 2**70, "b": [1, 2], "c": None, "d": math.inf, "e": {"f": 1}, "g": True}
    sheet = openpyxl.load_workbook(write(tmp_path / "rows.xlsx", [row])).active
    assert [cell.value for cell in sheet[2]] == [str(2**70), "1;2", None, "inf", '{"f": 1}', True]


def test_a_workbook_is_read_back_as_a_corpus(tmp_path):
    rows = [{"text": "=moon", "predicted": "a"}, {"text": "rose", "predicted": "b"}]
    path = write(tmp_path / "rows.xlsx", rows)
    assert wc.read_corpus(path, label_field="predicted").texts == ["=moon", "rose"]


def test_more_rows_than_excel_has_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("wordclass.batch.row_files.MAX_ROWS", 3)
    with pytest.raises(wc.InputError, match=r"4 rows are more than the 3 of Excel; write a \.csv"):
        write(tmp_path / "rows.xlsx", [{"a": k} for k in range(3)])
    assert not [*tmp_path.iterdir()]
