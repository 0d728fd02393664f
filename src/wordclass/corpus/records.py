"""What the formats share: blocks of records, and fields by name."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from wordclass import progress
from wordclass.corpus.reader import Label, ReadOptions, Record
from wordclass.errors import FormatError, InputError, NoRecordsError, list_some
from wordclass.storage.files import File

_BLOCK = 4 << 20  # characters
_MOST_RECORDS = 1 << 12
_FLAGS: dict[object, bool] = {
    **dict.fromkeys((0, "0", "0.0", "false", "", None), False),
    **dict.fromkeys((1, "1", "1.0", "true"), True),
}


class Fields(NamedTuple):
    """Which fields of a row hold its texts, its labels and its split.

    A field is a name, or, where there is a header, a position. `labels` is empty where labels are
    not to be read, `split` is None where the rows have none. `separator` stands between several
    labels in one string; "" means that it is one label, white space around it apart, and None that
    it is one label as it is.
    """

    texts: list[Any]
    labels: list[Any]
    split: Any
    separator: str | None = None
    header: Sequence[str] | None = None

    def at_positions(self, header: Sequence[str], separator: str | None = None) -> "Fields":
        """Return the same fields for rows that are sequences."""
        texts, labels = ([*map(header.index, names)] for names in (self.texts, self.labels))
        split = None if self.split is None else header.index(self.split)
        return Fields(texts, labels, split, separator, header)

    def name(self, field: Any) -> str:  # noqa: ANN401
        """Return the name of a field."""
        return str(field if self.header is None else self.header[field])


class _BadRecordError(Exception):
    """What is wrong with a row; the caller knows which row it is."""


def in_blocks(
    path: File, records: Iterable[Record | FormatError], total: int | None = None
) -> Iterator[list[Any]]:
    """Collect the records of a file into blocks of a few million characters, and report progress.

    Each label of a record is kept once. `total` is the number of records, where it is known
    beforehand. All records have a split, or none; where one cannot be read and is to be skipped,
    the block has the error in its place.
    """
    step = f"reading {path.name or path}"
    block: list[Any] = []
    n_read = n_characters = 0
    progress.report(step, 0, total)
    for record in records:
        if isinstance(record, FormatError):
            block.append(record)
            continue
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
        raise NoRecordsError(path, None, "no records: expected at least one text")
    progress.report(step, n_read, n_read)


def from_rows(
    path: File,
    rows: Iterable[tuple[int | str, Any]],
    options: ReadOptions,
    fields: Fields | None = None,
) -> Iterator[Record | FormatError]:
    """Make records of rows of fields: the one place where fields become text and labels.

    Parameters
    ----------
    path : Path
        The file, for errors.
    rows : iterable of (int or str, mapping or sequence)
        The place of a row, as `Record` has it, and the values of its fields; or what is wrong.
    options : ReadOptions
    fields : Fields, optional
        By default chosen among those of the first row, which so decides for the file, unless the
        options name them all.
    """
    if fields is None and options.has_split is not None:
        fields = _named_fields(options)
    for place, row in rows:
        if isinstance(row, FormatError):
            yield skipped(row, options)
            continue
        try:
            fields = fields or choose_fields([*row], options, path, place)
            record = _to_record(row, fields, place)
        except _BadRecordError as error:
            yield skipped(FormatError(path, place, str(error)), options)
            continue
        except KeyError as error:
            yield skipped(FormatError(path, place, _missing(error.args[0], [*row])), options)
            continue
        if options.keep_rows:
            columns = zip(fields.header, row, strict=True) if fields.header else row
            record = record._replace(row=dict(columns))
        yield record


def skipped(error: FormatError, options: ReadOptions) -> FormatError:
    """Return what is wrong with a record where such are to be skipped; else raise it."""
    if options.on_bad_record == "stop":
        raise error
    return error


def choose_fields(
    present: Sequence[str], options: ReadOptions, path: File, place: int | str | None
) -> Fields:
    """Choose the fields to read among those that are there.

    By default `text`, and `labels`, else `label`. A field `split` is the split, unless it was
    chosen as text or label.

    Raises
    ------
    FormatError
        One is missing or there twice; the message lists the fields there are.
    """
    texts = _names("text_field", options) or ["text"]
    labels = _names("label_field", options) or ["labels" if "labels" in present else "label"]
    chosen = texts if options.texts_only else [*texts, *labels]
    for name in chosen:
        option = "text_field" if name in texts else "label_field"
        if name not in present:
            raise FormatError(path, place, _missing(name, present, option))
    for name in [*chosen, "split"]:
        if present.count(name) > 1:
            raise FormatError(path, place, f"there are {present.count(name)} columns {name!r}")
        if chosen.count(name) > 1:
            raise InputError(f"field {name!r} is chosen twice; it cannot be both text and label")
    split = "split" if "split" in present and "split" not in chosen else None
    if options.has_split is not None and options.has_split != (split is not None):
        differs = "no column 'split'" if options.has_split else "a column 'split'"
        raise FormatError(path, place, f"{differs}, unlike the parts of the corpus before it")
    return Fields(texts, chosen[len(texts) :], split)


def _named_fields(options: ReadOptions) -> Fields:
    """Return the fields where the options name all of them."""
    labels = [] if options.texts_only else _names("label_field", options)
    split = "split" if options.has_split else None
    return Fields(_names("text_field", options), labels, split)


def refuse_fields(options: ReadOptions, format: str) -> None:
    """Refuse names of fields for a format that has none."""
    for option in ("text_field", "label_field"):
        if (names := _names(option, options)) and not options.are_remembered:
            reason = f"the format {format} has no named fields"
            raise InputError(f"{option} {names[0]!r} does not apply: {reason}")


def _names(option: str, options: ReadOptions) -> list[str]:
    given = getattr(options, option) or []
    return [given] if isinstance(given, str) else [*given]


def described(value: object) -> str:
    """Name a value as JSON would call it."""
    if isinstance(value, bool | None):
        return json.dumps(value)
    if isinstance(value, int | float):
        return f"the number {value!r:.20}"
    kind = type(value).__name__
    return {"str": "a string", "list": "a list", "dict": "an object"}.get(kind, f"a {kind}")


def split_cell(cell: str, separator: str) -> list[str]:
    """Take the labels of a cell apart; an empty one holds none. "" keeps the cell whole."""
    if separator and separator in cell:
        return [name for piece in cell.split(separator) if (name := piece.strip())]
    return [name] if (name := cell.strip()) else []


def _to_record(row: Any, fields: Fields, place: int | str) -> Record:  # noqa: ANN401
    if len(fields.texts) == 1:
        text = _string(row, fields, fields.texts[0])
    else:
        given = (row[field] for field in fields.texts)
        text = "\n".join("" if each is None else str(each) for each in given)
    labels = _labels(row, fields) if fields.labels else []
    if fields.split is not None:
        return Record(text, labels, _string(row, fields, fields.split), place)
    if fields.header is None and "split" in row and "split" not in fields.texts + fields.labels:
        reason = "field 'split' is here but not in the records before; expected all or none"
        raise _BadRecordError(reason)
    return Record(text, labels, None, place)


def _string(row: Any, fields: Fields, field: Any) -> str:  # noqa: ANN401
    value = row[field]
    if not isinstance(value, str):
        name = fields.name(field)
        raise _BadRecordError(f"field {name!r} is {described(value)}, expected a string")
    return value


def _labels(row: Any, fields: Fields) -> list[Label]:  # noqa: ANN401
    """Return the labels of a row; "", null, [] and a blank cell are no label."""
    if len(fields.labels) > 1:
        return [fields.name(field) for field in fields.labels if _is_set(row, fields, field)]
    given = row[fields.labels[0]]
    if isinstance(given, str):
        names = split_cell(given, fields.separator or "")
        return [*names] if fields.separator is not None or not names else [given]
    is_list = isinstance(given, list)
    labels: list[Any] = given if is_list else [] if given is None else [given]
    for label in labels:
        if isinstance(label, bool) or not isinstance(label, str | int):
            name = fields.name(fields.labels[0])
            found = f"{'holds' if is_list else 'is'} {described(label)}"
            reason = f"field {name!r} {found}, expected strings or whole numbers"
            raise _BadRecordError(reason)
    return [label for label in labels if not isinstance(label, str) or label.strip()]


def _is_set(row: Any, fields: Fields, field: Any) -> bool:  # noqa: ANN401
    """Read a cell that says by 0 or 1 whether a record has the label its column is named after."""
    given = row[field]
    known = given.strip().lower() if isinstance(given, str) else given
    if isinstance(known, list | dict) or known not in _FLAGS:
        found = f"{given!r:.60}" if isinstance(given, str) else described(given)
        reason = f"field {fields.name(field)!r} is {found}; of several label fields, each is 0 or 1"
        raise _BadRecordError(reason)
    return _FLAGS[known]


def _missing(name: str, present: Sequence[str], option: str | None = None) -> str:
    """Tell of a field that is not there; `option` is the one that could name another."""
    wanted = "'labels' or 'label'" if option and name == "label" else repr(name)
    hint = f"; {option}= (--{option.replace('_', '-')}) names another" if option else ""
    return f"no field {wanted}; there are: {list_some(present) or 'none'}{hint}"
