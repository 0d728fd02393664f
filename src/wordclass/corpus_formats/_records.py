"""What the formats share: blocks of records, fields by name, and what can be written."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from wordclass import progress
from wordclass.checks import check_lengths
from wordclass.corpus import Label, LabelledCorpus, ReadOptions, Record
from wordclass.errors import FormatError, InputError

T = TypeVar("T")
_BLOCK = 4 << 20  # characters
_MOST_RECORDS = 1 << 12


class Fields(NamedTuple):
    """Which fields of a row hold its text, its labels and its split.

    `label` is None where labels are not to be read, `split` where the rows have none. Of a field
    of labels that is one string with several in it, `separator` stands between them.
    """

    text: str
    label: str | None
    split: str | None
    separator: str | None = None


class _BadRecordError(Exception):
    """What is wrong with a row; the caller knows which row it is."""


def in_blocks(
    path: Path, records: Iterable[Record], total: int | None = None
) -> Iterator[list[Record]]:
    """Collect the records of a file into blocks of a few million characters, and report progress.

    Each label of a record is kept once. `total` is the number of records, where it is known
    beforehand. All records have a split, or none.
    """
    step = f"reading {path.name or path}"
    block: list[Record] = []
    n_read = n_characters = 0
    progress.report(step, 0, total)
    for record in records:
        if len(record.labels) > 1:
            record = record._replace(labels=list(dict.fromkeys(record.labels)))
        block.append(record)
        n_characters += len(record.text)
        if n_characters >= _BLOCK or len(block) == _MOST_RECORDS:
            yield block
            n_read += len(block)
            progress.report(step, n_read, total)
            block, n_characters = [], 0
    if block:
        yield block
    n_read += len(block)
    if not n_read:
        raise FormatError(path, None, "no records: expected at least one text")
    progress.report(step, n_read, n_read)


def from_rows(
    path: Path,
    rows: Iterable[tuple[int, Mapping[str, object]]],
    options: ReadOptions,
    fields: Fields | None = None,
    *,
    has_lines: bool = True,
) -> Iterator[Record]:
    """Make records of rows of named fields: the one place where fields become text and labels.

    Parameters
    ----------
    path : Path
        The file, for errors.
    rows : iterable of (int, mapping)
        The number of a line or row, counted from 1, and the values of its fields.
    options : ReadOptions
    fields : Fields, optional
        By default chosen among those of the first row, which so decides for the file.
    has_lines : bool, default=True
        Whether numbers are those of lines.
    """
    for number, row in rows:
        try:
            fields = fields or choose_fields([*row], options, path, number)
            record = _to_record(row, fields)
        except _BadRecordError as error:
            if has_lines:
                raise FormatError(path, number, str(error)) from error
            raise FormatError(path, None, f"row {number}: {error}") from error
        yield record


def choose_fields(
    present: Sequence[str], options: ReadOptions, path: Path, line: int | None
) -> Fields:
    """Choose the fields to read among those that are there.

    By default `text`, and `labels`, else `label`. A field `split` is the split, unless it was
    chosen as text or label.

    Raises
    ------
    FormatError
        One is missing or there twice; the message lists the fields there are.
    """
    text = options.text_field or "text"
    label = options.label_field or ("labels" if "labels" in present else "label")
    chosen = [text] if options.texts_only else [text, label]
    if text == label and not options.texts_only:
        raise InputError(f"field {text!r} cannot be both the text and the label")
    for name, option in zip(chosen, ("text_field", "label_field"), strict=False):
        if name not in present:
            default = None if getattr(options, option) else option
            raise FormatError(path, line, _missing(name, present, default))
    if has_split := "split" in present and "split" not in chosen:
        chosen.append("split")
    for name in chosen:
        if present.count(name) > 1:
            raise FormatError(path, line, f"there are {present.count(name)} columns {name!r}")
    return Fields(text, None if options.texts_only else label, "split" if has_split else None)


def refuse_fields(options: ReadOptions, format: str) -> None:
    """Refuse names of fields for a format that has none."""
    for option in ("text_field", "label_field"):
        if (name := getattr(options, option)) is not None:
            raise InputError(
                f"{option} {name!r} does not apply: the format {format} has no named fields"
            )


def described(value: object) -> str:
    """Name a value as JSON would call it."""
    if isinstance(value, bool | None):
        return json.dumps(value)
    if isinstance(value, int | float):
        return f"the number {value!r:.20}"
    kind = type(value).__name__
    return {"str": "a string", "list": "a list", "dict": "an object"}.get(kind, f"a {kind}")


def split_cell(cell: str, separator: str) -> list[str]:
    """Take the labels of a cell apart; an empty one holds none."""
    return [name for piece in cell.split(separator) if (name := piece.strip())]


def encoded(
    corpus: LabelledCorpus, encode: Callable[[Record], T], *kinds: type, errors: str = "strict"
) -> Iterator[T]:
    """Give each record as a format writes it: the one place where records are refused.

    Parameters
    ----------
    corpus : LabelledCorpus
    encode : callable
        Raises a ValueError where reading would not give the same record again.
    kinds : types
        Of labels that the file can hold: str, int or both.
    errors : str, default="strict"
        What becomes of lone surrogates, as in `str.encode`.

    Raises
    ------
    InputError
        The corpus is empty, or a record cannot be written; the error names it, counted from 1.
    """
    check_lengths(corpus.texts, len(corpus.labels))
    for number, (text, given) in enumerate(zip(corpus.texts, corpus.labels, strict=True), start=1):
        labels: Any = given if corpus.is_multilabel and isinstance(given, list) else [given]
        try:
            if any(isinstance(label, bool) or not isinstance(label, kinds) for label in labels):
                expected = " or ".join(kind.__name__ for kind in kinds)
                raise ValueError(f"a label is not of type {expected}; JSONL holds str and int")
            # UTF-8 cannot hold a lone surrogate: a UnicodeEncodeError, which is a ValueError
            "".join([text, *map(str, labels)]).encode(errors=errors)
            yield encode(Record(text, labels))
        except ValueError as error:
            reason = f"{error} (its labels: {labels!r})"
            raise InputError(f"record {number} cannot be written: {reason}") from error


def _to_record(row: Mapping[str, object], fields: Fields) -> Record:
    text = _string(row, fields.text)
    labels = [] if fields.label is None else _labels(row, fields.label, fields.separator)
    if fields.split is not None:
        return Record(text, labels, _string(row, fields.split))
    if "split" in row and "split" not in (fields.text, fields.label):
        reason = "field 'split' is here but not in the records before; expected all or none"
        raise _BadRecordError(reason)
    return Record(text, labels)


def _value(row: Mapping[str, object], field: str) -> object:
    if field not in row:
        raise _BadRecordError(_missing(field, [*row]))
    return row[field]


def _string(row: Mapping[str, object], field: str) -> str:
    value = _value(row, field)
    if not isinstance(value, str):
        raise _BadRecordError(f"field {field!r} is {described(value)}, expected a string")
    return value


def _labels(row: Mapping[str, object], field: str, separator: str | None) -> list[Label]:
    given = _value(row, field)
    if separator is not None and isinstance(given, str):
        return [*split_cell(given, separator)]
    if given is None:
        raise _BadRecordError(f"field {field!r} is null; write [] for a text without labels")
    is_list = isinstance(given, list)
    labels: list[Label] = given if is_list else [given]  # type: ignore[assignment, list-item]
    for label in labels:
        if isinstance(label, bool) or not isinstance(label, str | int):
            found = f"{'holds' if is_list else 'is'} {described(label)}"
            reason = f"field {field!r} {found}, expected strings or whole numbers"
            raise _BadRecordError(reason)
    return labels


def _missing(name: str, present: Sequence[str], option: str | None = None) -> str:
    """Tell of a field that is not there; `option` is the one that could name another."""
    wanted = "'labels' or 'label'" if option and name == "label" else repr(name)
    known = ", ".join(map(repr, present)) or "none"
    hint = f"; {option}= (--{option.replace('_', '-')}) names another" if option else ""
    return f"no field {wanted}; there are: {known}{hint}"
