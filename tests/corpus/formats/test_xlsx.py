import datetime
import io
import zipfile

import openpyxl
import pytest
from columns import columns_of

from wordclass.corpus.documents import LabelledCorpus
from wordclass.corpus.formats import xlsx
from wordclass.corpus.reader import read_corpus
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError


def workbook(tmp_path, *rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "docs.xlsx")
    return tmp_path / "docs.xlsx"


def test_the_first_sheet_is_read_as_text(tmp_path):
    path = workbook(
        tmp_path,
        ["text", "label", "n"],
        ["moon", 3, 1],
        [],
        ["rose", 4.0],
        [2.5, True, datetime.date(2020, 1, 2)],
    )
    assert read_corpus(path) == LabelledCorpus(["moon", "rose", "2.5"], ["3", "4", "True"], False)
    assert columns_of(xlsx.read(path, ReadOptions(text_field="n"))).texts == [
        "1", "", "2020-01-02 00:00:00"
    ]  # fmt: skip


def test_rows_are_told_by_their_numbers(tmp_path):
    path = workbook(tmp_path, ["text", "label"], [], ["x", "a"], ["y", None])
    with pytest.raises(FormatError, match=r"docs\.xlsx: row 4: no label"):
        read_corpus(path)
    path = workbook(tmp_path, ["text", "label"], ["x", "a"], ["x", "a", "b"])
    with pytest.raises(FormatError, match="row 3: 3 cells, but the header names 2 columns"):
        read_corpus(path)


def test_a_sheet_without_a_header_has_numbered_columns(tmp_path):
    path = workbook(tmp_path, ["a;b", "x"], ["b", "y"])
    corpus = read_corpus(path, header=False, text_field="2", label_field="1")
    assert corpus == LabelledCorpus(["x", "y"], [["a", "b"], ["b"]], True)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"text,label\n"])
def test_what_is_no_workbook_is_an_error(tmp_path, content):
    (tmp_path / "x.xlsx").write_bytes(content)
    with pytest.raises(FormatError, match="not a workbook, or a damaged one"):
        read_corpus(tmp_path / "x.xlsx")


def test_a_damaged_workbook_is_an_error(tmp_path):
    content = io.BytesIO(workbook(tmp_path, ["text", "label"], ["x", "a"]).read_bytes())
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(tmp_path / "x.xlsx", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name)[: -5 if "sheet1" in name else None])
    with pytest.raises(FormatError, match="not a workbook, or a damaged one"):
        read_corpus(tmp_path / "x.xlsx")
