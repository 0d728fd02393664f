"""Corpora of Annif: lines of a text, a tab and `<URI>`s, or folders of texts with key files.

A folder has one file `NAME.txt` per text. Its subjects are in `NAME.tsv`, with lines of `<URI>`, a
tab and a label, or in `NAME.key`, with one label per line.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wordclass.corpus import records
from wordclass.corpus.documents import Label, Record
from wordclass.corpus.lines import Span, cut_at_lines, decode_lines, number_lines
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError
from wordclass.storage import files
from wordclass.storage.files import File

ENDINGS: tuple[str, ...] = ()

_SUBJECT = re.compile(r"<([^<>]*)>")


def read(path: File, options: ReadOptions, span: Span | None = None) -> Iterator[list[Any]]:
    """Read the lines of a file, or the texts of a folder. Labels are URIs without brackets."""
    records.refuse_fields(options, "annif")
    if path.is_dir():
        return records.collect_blocks(path, _read_folder(Path(str(path)), options))
    return records.collect_blocks(path, _read_lines(path, options, span))


def cut(path: File, options: ReadOptions, n_bytes: int) -> list[Span]:
    """Cut a file at line ends."""
    return [] if path.is_dir() else cut_at_lines(path, options.encoding, n_bytes)


def _read_lines(
    path: File, options: ReadOptions, span: Span | None
) -> Iterator[Record | FormatError]:
    for number, line in number_lines(path, options, span):
        if isinstance(line, FormatError):
            yield records.stop_or_skip(line, options)
            continue
        content = line.removesuffix("\n").removesuffix("\r")
        if not content.strip(" "):
            continue
        text, tab, subjects = content.rpartition("\t")
        if options.texts_only:
            has_subjects = tab and not _SUBJECT.sub("", subjects).strip()
            yield Record(text if has_subjects else content, [], None, number)
            continue
        if not tab or _SUBJECT.sub("", subjects).strip():
            error = FormatError(
                path, number, "no subjects", expected="a text, a tab and <URI>s, as Annif has them"
            )
            yield records.stop_or_skip(error, options)
            continue
        yield Record(text, [*_SUBJECT.findall(subjects)], None, number)


def _read_folder(folder: Path, options: ReadOptions) -> Iterator[Record]:
    """Read the texts of a folder, sorted by name. Texts without a file of subjects have none."""
    growth = files.Growth(folder)
    for path in sorted(folder.glob("*.txt")):
        text = "".join(decode_lines(path, options.encoding))
        growth.add(len(text), files.size_of(path) or 0)
        labels = [] if options.texts_only else _read_subjects(path, options.encoding)
        row = {"file": path.name} if options.keep_rows else None
        yield Record(text, labels, None, str(path), row)


def _read_subjects(path: Path, encoding: str) -> list[Label]:
    """Read the subjects of a text: the URIs of a .tsv file, or the labels of a .key file."""
    table = path.with_suffix(".tsv")
    if table.exists():
        lines = [line.split("\t")[0].strip() for line in decode_lines(table, encoding)]
        return [line.removeprefix("<").removesuffix(">") for line in lines if line]
    key = path.with_suffix(".key")
    if not key.exists():
        return []
    return [line.strip() for line in decode_lines(key, encoding) if line.strip()]
