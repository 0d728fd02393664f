"""Workbooks made to hang the reader, to fill the memory, or to lose rows without a word."""

import io
import zipfile
from itertools import product
from pathlib import Path

import openpyxl
import pytest
from hostile_corpora import outcomes

from wordclass.corpus.reader import read_corpus
from wordclass.errors import FormatError

SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
HEADER = '<row r="1"><c r="A1" t="str"><v>text</v></c><c r="B1" t="str"><v>label</v></c></row>'
SHEET = "xl/worksheets/sheet1.xml"
STRINGS = "xl/sharedStrings.xml"
STRINGS_TYPE = (
    f'<Override PartName="/{STRINGS}" ContentType="application/vnd.openxmlformats-officedocument.'
    'spreadsheetml.sharedStrings+xml"/>'
)


def cell(place, value="x", kind="str"):
    position = f' r="{place}"' if place is not None else ""
    return f'<c{position} t="{kind}"><v>{value}</v></c>'


def row(number, *cells):
    position = f' r="{number}"' if number is not None else ""
    return f"<row{position}>{''.join(cells)}</row>"


def record(number):
    return row(number, cell(f"A{number}"), cell(f"B{number}", "a"))


def sheet(*rows, before="", after="", doctype=""):
    content = f"{before}<sheetData>{''.join(rows)}</sheetData>{after}"
    return f'{doctype}<worksheet xmlns="{SPREADSHEET}">{content}</worksheet>'


def members(**changed):
    """Return the parts of a sound workbook, some of them changed."""
    book = openpyxl.Workbook()
    book.active.append(["text", "label"])
    book.active.append(["moon", "space"])
    stream = io.BytesIO()
    book.save(stream)
    with zipfile.ZipFile(stream) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    types = parts.pop("[Content_Types].xml").removesuffix(b"</Types>")
    parts["[Content_Types].xml"] = types + STRINGS_TYPE.encode() + b"</Types>"
    parts[STRINGS] = shared("moon", "rose").encode()
    return {**parts, **changed}


def shared(*texts):
    items = "".join(f"<si><t>{text}</t></si>" for text in texts)
    return f'<sst xmlns="{SPREADSHEET}">{items}</sst>'


def write_archive(path, parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def write_sheet(path, content, **changed):
    return write_archive(path, members(**{SHEET: content}, **changed))


NUMBERS = (0, -1, 1_048_577, 10**9, 999_999_999_999, 10**30, "1e9", "1e300", "inf", "nan", "x", "")
COLUMNS = ("XFE", "ZZZ", "AAAA", "ZZZZZZ", "A" * 300, "", "é", "-")

# name: the content of a sheet that must be refused; a function if it is large
REFUSED = {
    **{f"row {number}": sheet(HEADER, row(number, cell(None))) for number in NUMBERS},
    **{f"first row {n}": sheet(row(n, cell(None)), HEADER) for n in NUMBERS if n != 0},
    **{f"empty row {number}": sheet(HEADER, row(number)) for number in NUMBERS},
    **{f"column {name}": sheet(HEADER, row(2, cell(f"{name}2"))) for name in COLUMNS},
    **{f"header in {name}": sheet(row(1, cell(f"{name}1"))) for name in COLUMNS},
    "rows descend": sheet(HEADER, record(9), record(5)),
    "a row comes twice": sheet(HEADER, record(5), record(5)),
    "the header comes last": sheet(record(2), HEADER),
    "a row more than there may be": sheet(HEADER, record(1_048_576), row(None, cell(None))),
    "6 million empty rows": lambda: sheet(HEADER, "<row/>" * 6_000_000),
    "rows as wide as a sheet": lambda: sheet(
        row(1, cell("A1", "text"), cell("B1", "label"), cell("XFD1", "end")),
        *(record(k) for k in range(2, 60_000)),
    ),
    "a cell of 600 MB": lambda: sheet(HEADER, row(2, cell("A2", "x" * (600 << 20)), cell("B2"))),
    "a sheet of 100 MB of blanks": lambda: sheet(HEADER, " " * (100 << 20), record(2)),
    "entities that multiply": sheet(
        HEADER,
        row(2, cell("A2", "&i;")),
        doctype="<!DOCTYPE x ["
        + '<!ENTITY a "aaaaaaaaaa">'
        + "".join(
            f'<!ENTITY {name} "{f"&{before};" * 10}">'
            for before, name in zip("abcdefgh", "bcdefghi", strict=True)
        )
        + "]>",
    ),
    "an entity of a file": sheet(
        HEADER,
        row(2, cell("A2", "&a;"), cell("B2")),
        doctype='<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
    ),
    **{
        f"shared string {number}": sheet(HEADER, row(2, cell("A2", number, "s"), cell("B2")))
        for number in (2, -1, -2, 2**31, 10**30, "x", "1.5")
    },
    "no sheet": "",
    "another document": "<html/>",
    "no end": sheet(HEADER, record(2))[:-5],
}
# name: the content of a sheet that must be read, and its number of documents
READ = {
    "the last row": (sheet(HEADER, record(1_048_576)), 1),
    "rows far apart": (sheet(HEADER, *(record(k) for k in range(2, 1_048_577, 50_000))), 21),
    "rows without numbers": (sheet(HEADER, *[row(None, cell(None), cell(None))] * 3), 3),
    **{
        f"shared string {number}": (sheet(HEADER, row(2, cell("A2", number, "s"), cell("B2"))), 1)
        for number in (0, 1)
    },
    "cells descend": (sheet(HEADER, row(2, cell("B2", "a"), cell("A2"))), 1),
    "an empty cell in the last column": (
        sheet(HEADER, row(2, cell("A2"), cell("B2", "a"), cell("XFD2", ""))),
        1,
    ),
    **{
        f"dimension {reference}": (
            sheet(HEADER, record(2), before=f'<dimension ref="{reference}"/>'),
            1,
        )
        for reference in ("A1", "A1:XFD1048576", "A1:A99999999999", "C7:D9")
    },
    "merged cells of all": (
        sheet(
            HEADER,
            record(2),
            after='<mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells>',
        ),
        1,
    ),
}


def test_hostile_sheets_are_refused_and_odd_ones_read_within_little_memory(tmp_path):
    paths = [
        write_sheet(tmp_path / f"{number}.xlsx", content() if callable(content) else content)
        for number, content in enumerate(
            [*REFUSED.values(), *(content for content, _ in READ.values())]
        )
    ]
    assert max(path.stat().st_size for path in paths) < 3_000_000
    results = outcomes(paths, label_field="label")
    named = dict(zip([*REFUSED, *READ], results.values(), strict=True))
    wrong = {name: named[name][:200] for name in REFUSED if not named[name].startswith("refused")}
    for name, (_, n_docs) in READ.items():
        if named[name] != f"read {n_docs}":
            wrong[name] = named[name][:200]
    assert wrong == {}
    assert "200 times its size; if you trust the file" in named["a cell of 600 MB"]
    assert "row 999999999999 is not between 2 and 1,048,576" in named["row 999999999999"]
    assert "column 16385 is not between 1 and 16,384" in named["column XFE"]


def test_a_workbook_without_any_of_its_parts_is_read_or_refused(tmp_path):
    sound = members()
    changes = {"missing": None, "empty": b"", "no XML": b"\0\xff", "another": b"<a/>"}
    paths = []
    for name, change in product(sound, changes.values()):
        parts = {part: content for part, content in sound.items() if part != name}
        if change is not None:
            parts[name] = change
        paths.append(write_archive(tmp_path / f"{len(paths)}.xlsx", parts))
    results = outcomes(paths)
    wrong = [text for text in results.values() if not text.startswith(("refused", "read 1"))]
    assert wrong == []
    n_refused = sum(text.startswith("refused") for text in results.values())
    assert n_refused > len(changes)  # that of the sheet, and others


def test_a_long_text_that_many_cells_share_is_refused(tmp_path):
    rows = (row(k, cell(f"A{k}", 0, "s"), cell(f"B{k}", "a")) for k in range(2, 5_000))
    parts = members(**{SHEET: sheet(HEADER, *rows), STRINGS: shared("moon " * 40_000)})
    path = write_archive(tmp_path / "shared.xlsx", parts)
    (result,) = outcomes([path]).values()
    assert "expands to more than 200 times its size" in result


def test_a_workbook_inside_a_compressed_file_is_measured_by_the_outer_file(tmp_path):
    import gzip

    inner = write_sheet(tmp_path / "x.xlsx", sheet(HEADER, record(2), " " * (100 << 20)))
    outer = Path(f"{inner}.gz")
    outer.write_bytes(gzip.compress(inner.read_bytes()))
    (result,) = outcomes([outer]).values()
    assert "x.xlsx.gz: expands to more than 200 times its size" in result


def test_a_large_sheet_of_real_texts_is_read(tmp_path):
    book = openpyxl.Workbook(write_only=True)
    table = book.create_sheet()
    table.append(["text", "label"])
    for number in range(20_000):
        table.append(
            [f"document {number} about the moon and {number % 97} roses", "ab"[number % 2]]
        )
    book.save(tmp_path / "large.xlsx")
    assert len(read_corpus(tmp_path / "large.xlsx").texts) == 20_000


def test_a_row_out_of_order_is_not_dropped_silently(tmp_path):
    path = write_sheet(tmp_path / "x.xlsx", sheet(HEADER, record(9), record(5)))
    with pytest.raises(FormatError, match="row 5 is not between 10 and 1,048,576"):
        read_corpus(path)
