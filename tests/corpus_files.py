"""Corpora on disk in every format, as other programs write them."""

import csv
import io
import json

import polars as pl

from wordclass import storage


def write(path, corpus, format):
    """Write a corpus so that reading gives it again; folders are read class by class."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if format == "folders":
        for number, (text, labels) in enumerate(rows(corpus)):
            (path / labels[0]).mkdir(parents=True, exist_ok=True)
            (path / labels[0] / f"{number:08}.txt").write_bytes(text.encode())
    else:
        with storage.writing(path) as stream:
            stream.write(CONTENTS[format](corpus))
    return path


def rows(corpus):
    for text, labels in zip(corpus.texts, corpus.labels, strict=True):
        yield text, labels if corpus.is_multilabel else [labels]


def field(corpus):
    return "labels" if corpus.is_multilabel else "label"


def fasttext(corpus):
    lines = (
        "".join(f"__label__{label} " for label in labels) + text for text, labels in rows(corpus)
    )
    return "".join(f"{line}\n" for line in lines).encode()


def jsonl(corpus):
    pairs = zip(corpus.texts, corpus.labels, strict=True)
    lines = (
        json.dumps({"text": text, field(corpus): labels}, ensure_ascii=False)
        for text, labels in pairs
    )
    return "".join(f"{line}\n" for line in lines).encode("utf-8", errors="backslashreplace")


def table(delimiter):
    def content(corpus):
        file = io.StringIO(newline="")
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(["text", field(corpus)])
        writer.writerows((text, ";".join(labels)) for text, labels in rows(corpus))
        return file.getvalue().encode()

    return content


def parquet(corpus):
    content = io.BytesIO()
    pl.DataFrame({"text": corpus.texts, field(corpus): corpus.labels}).write_parquet(content)
    return content.getvalue()


CONTENTS = {
    "csv": table(","),
    "fasttext": fasttext,
    "jsonl": jsonl,
    "parquet": parquet,
    "tsv": table("\t"),
}
