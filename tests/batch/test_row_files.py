"""Files of rows with named values."""

import csv
import gzip
import json
import os

import polars as pl
import pytest

from wordclass.batch.row_files import check_ending, open_row_writer
from wordclass.errors import InputError

ROWS = [
    {"id": 7, "text": 'moon, "orbit"\r\nrocket', "labels": ["space", "sky"], "share": 0.5},
    {"id": 2**70, "text": "lone \ud800", "labels": [], "share": None, "more": {"a": [1]}},
]


def written(path, blocks, **options):
    with open_row_writer(path, **options) as write:
        for block in blocks:
            write(block)
    return path


def test_a_csv_file_has_a_header_and_a_cell_for_several_values(tmp_path):
    path = written(tmp_path / "rows.csv", [ROWS])
    with path.open(newline="", encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    assert first == {
        "id": "7", "text": ROWS[0]["text"], "labels": "space;sky", "share": "0.5", "more": ""
    }  # fmt: skip
    assert second["text"] == "lone ?"
    assert json.loads(second["more"]) == {"a": [1]}


def test_a_tsv_file_is_separated_by_tabs_and_compressed_where_its_name_says_so(tmp_path):
    path = written(tmp_path / "rows.tsv.gz", [[{"a": 1, "b": "x"}], [{"a": 2}]])
    assert gzip.decompress(path.read_bytes()) == b'"a"\t"b"\n"1"\t"x"\n"2"\t""\n'


def test_lines_of_json_may_have_different_columns(tmp_path):
    path = written(tmp_path / "rows.JSONL", [[ROWS[0]], [{"other": 1}]])
    first, second = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert first == ROWS[0]
    assert second == {"other": 1}


def test_a_parquet_file_keeps_lists_and_numbers(tmp_path):
    path = written(tmp_path / "rows.parquet", [ROWS[:1], [{**ROWS[1], "id": "x"}]])
    first, second = pl.read_parquet(path).to_dicts()
    assert first == {**ROWS[0], "id": "7", "more": None}
    assert second == {
        "id": "x", "text": "lone ?", "labels": [], "share": None, "more": '{"a": [1]}'
    }  # fmt: skip


def test_values_of_mixed_types_are_a_column_of_text_in_a_parquet_file(tmp_path):
    block = [{"a": 1, "b": [1, 2]}, {"a": "x", "b": [1, "x"]}, {"a": 2**70, "b": None}]
    rows = pl.read_parquet(written(tmp_path / "rows.parquet", [block])).to_dicts()
    assert [row["a"] for row in rows] == ["1", "x", str(2**70)]
    assert [row["b"] for row in rows] == ["[1, 2]", '[1, "x"]', None]


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.parquet"])
def test_no_rows_are_a_file_without_rows(tmp_path, name):
    path = written(tmp_path / name, [], columns=["id", "text"])
    if name.endswith("csv"):
        assert path.read_bytes() == b'"id","text"\n'
    elif name.endswith("jsonl"):
        assert path.read_bytes() == b""
    else:
        assert pl.read_parquet(path).columns == ["id", "text"]


def test_a_column_that_comes_late_is_empty_before(tmp_path):
    path = written(tmp_path / "rows.csv", [[{"a": 1}], [{"a": 2, "late": 3}]])
    assert path.read_text() == '"a","late"\n"1",""\n"2","3"\n'


def test_an_error_leaves_no_file(tmp_path):
    with pytest.raises(ZeroDivisionError):
        written(tmp_path / "rows.csv", ([{"a": 1 / (1 - k)}] for k in range(2)))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["rows", "rows.txt", "rows.xls", "rows.json.gz", ".csv"])
def test_another_ending_is_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"expected \.csv, \.tsv, \.jsonl, \.parquet, \.xlsx"):
        check_ending(tmp_path / name)


def test_a_pipe_without_an_ending_is_given_lines_of_json(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert check_ending(tmp_path / "pipe") == ".jsonl"
