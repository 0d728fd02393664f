"""Writes a corpus in any of the formats that are read."""

import csv
import io
import json

import openpyxl
import polars as pl

from wordclass.corpus.documents import LabelledCorpus
from wordclass.storage import files


def write(format, path, corpus):
    if format == "folders":
        for k, (text, label) in enumerate(zip(corpus.texts, corpus.labels, strict=True)):
            (path / label).mkdir(parents=True, exist_ok=True)
            (path / label / f"{k:05}.txt").write_bytes(text.encode())
    else:
        with files.open_for_writing(path) as file:
            file.write(_CONTENT[format](corpus))
    return path


def of(texts, labels=None):
    """Return a corpus of one label each, the same for all unless they are given."""
    return LabelledCorpus(list(texts), labels or ["a"] * len(texts), False)


def _rows(corpus):
    name = "labels" if corpus.is_multilabel else "label"
    pairs = zip(corpus.texts, corpus.labels, strict=True)
    return [{"text": text, name: given} for text, given in pairs]


def _jsonl(corpus):
    return "".join(json.dumps(row) + "\n" for row in _rows(corpus)).encode()


def _cells(corpus):
    rows = _rows(corpus)
    cells = [
        [each if isinstance(each, str) else ";".join(each) for each in row.values()] for row in rows
    ]
    return [list(rows[0]), *cells]


def _csv(corpus, delimiter=","):
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(_cells(corpus))
    return file.getvalue().encode()


def _parquet(corpus):
    file = io.BytesIO()
    pl.DataFrame(_rows(corpus)).write_parquet(file)
    return file.getvalue()


def _xlsx(corpus):
    book, file = openpyxl.Workbook(), io.BytesIO()
    for cells in _cells(corpus):
        book.active.append(cells)
    book.save(file)
    return file.getvalue()


def _fasttext(corpus):
    lines = []
    for text, given in zip(corpus.texts, corpus.labels, strict=True):
        labels = given if corpus.is_multilabel else [given]
        lines.append("".join(f"__label__{label} " for label in labels) + text + "\n")
    return "".join(lines).encode()


def _annif(corpus):
    lines = []
    for text, given in zip(corpus.texts, corpus.labels, strict=True):
        labels = given if corpus.is_multilabel else [given]
        subjects = " ".join(f"<{label}>" for label in labels)
        lines.append(f"{text}\t{subjects}\n")
    return "".join(lines).encode()


_CONTENT = {
    "annif": _annif,
    "jsonl": _jsonl,
    "csv": _csv,
    "tsv": lambda corpus: _csv(corpus, "\t"),
    "parquet": _parquet,
    "xlsx": _xlsx,
    "fasttext": _fasttext,
}
