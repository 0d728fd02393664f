"""Conversion of rows to records, shared by all formats: blocks of records and fields by name."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from wordclass import progress
from wordclass.corpus.documents import Label, Record
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError, InputError, NoRecordsError, list_some
from wordclass.storage.files import File

_BLOCK_CHARACTERS = 4 << 20
_MAX_BLOCK_RECORDS = 1 << 12
_FLAGS: dict[object, bool] = {
    **dict.fromkeys((0, "0", "0.0", "false", "", None), False),
    **dict.fromkeys((1, "1", "1.0", "true"), True),
}


class Fields(NamedTuple):
    """The fields of a row that hold its texts, its labels and its split.

    A field is a name, or a position if there is a header. `labels` is empty if labels are not read,
    `split` is None if the rows have none. `separator` separates several labels in one string. With
    "" the string is one label, without white space around it. With None it is one label as it is.
    """

    texts: list[Any]
    labels: list[Any]
    split: Any
    separator: str | None = None
    header: Sequence[str] | None = None

    def at_positions(self, header: Sequence[str], separator: str | None = None) -> "Fields":
        """Return the same fields for rows that are sequences."""
        return Fields(
            texts=[*map(header.index, self.texts)],
            labels=[*map(header.index, self.labels)],
            split=None if self.split is None else header.index(self.split),
            separator=separator,
            header=header,
        )

    def name(self, field: Any) -> str:  # noqa: ANN401
        """Return the name of a field."""
        return str(field if self.header is None else self.header[field])


class MissingColumnError(FormatError):
    """A default column is missing.

    Attributes
    ----------
    present : list of str
        The columns of the file.
    """

    present: Sequence[str] = ()


class _BadRecordError(Exception):
    """A row cannot be read. The caller adds the line to the message."""

    def __init__(self, problem: str, expected: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.expected = expected


def collect_blocks(
    path: File, records: Iterable[Record | FormatError], total: int | None = None
) -> Iterator[list[Any]]:
    """Collect the records of a file into blocks of a few million characters and report progress.

    Repeated labels of a record are dropped. A bad record that is skipped leaves its error in the
    block. `total` is the number of records if it is known in advance.
    """
    step = f"reading {path.name or path}"
    block: list[Any] = []
    n_read = 0
    n_characters = 0
    progress.report(step, 0, total)
    for record in records:
        if isinstance(record, FormatError):
            block.append(record)
            continue
        if len(record.labels) > 1:
            record = record._replace(labels=list(dict.fromkeys(record.labels)))
        block.append(record)
        n_characters += len(record.text)
        if n_characters >= _BLOCK_CHARACTERS or len(block) == _MAX_BLOCK_RECORDS:
            yield block
            n_read += len(block)
            progress.report(step, n_read, total)
            block = []
            n_characters = 0
    if block:
        yield block
    n_read += len(block)
    if not n_read:
        raise NoRecordsError(path, None, "no records", expected="at least one text")
    progress.report(step, n_read, n_read)


def from_rows(
    path: File,
    rows: Iterable[tuple[int | str, Any]],
    options: ReadOptions,
    fields: Fields | None = None,
) -> Iterator[Record | FormatError]:
    """Convert rows of fields to records.

    This is the only function that turns fields into text and labels.

    Parameters
    ----------
    path : Path
        The file, for error messages.
    rows : iterable of (int or str, mapping or sequence)
        The place of each row, as in `Record`, and the values of its fields, or a FormatError.
    options : ReadOptions
        How records are read.
    fields : Fields, optional
        The fields to read. By default the options name them, or they are chosen among the fields
        of the first row.
    """
    if fields is None and options.has_split is not None:
        fields = _fields_from_options(options)
    for place, row in rows:
        if isinstance(row, FormatError):
            yield stop_or_skip(row, options)
            continue
        try:
            fields = fields or choose_fields([*row], options, path, place)
            record = _to_record(row, fields, place)
        except _BadRecordError as error:
            problem = FormatError(path, place, error.problem, expected=error.expected)
            yield stop_or_skip(problem, options)
            continue
        except KeyError as error:
            yield stop_or_skip(_missing_field(path, place, error.args[0], [*row]), options)
            continue
        if options.keep_rows:
            columns = zip(fields.header, row, strict=True) if fields.header else row
            record = record._replace(row=dict(columns))
        yield record


def stop_or_skip(error: FormatError, options: ReadOptions) -> FormatError:
    """Raise the error of a bad record, or return it if bad records are skipped."""
    if options.on_bad_record == "stop":
        raise error
    return error


def choose_fields(
    present: Sequence[str], options: ReadOptions, path: File, place: int | str | None
) -> Fields:
    """Choose the fields to read.

    By default these are `text`, and `labels`, else `label`. A field `split` is the split unless it
    was chosen as text or label.

    Raises
    ------
    FormatError
        A field is missing or repeated. The message lists the fields of the file.
    """
    texts = _names("text_field", options) or ["text"]
    labels = _names("label_field", options) or ["labels" if "labels" in present else "label"]
    chosen = texts if options.texts_only else [*texts, *labels]
    for name in chosen:
        if name not in present:
            option = "text_field" if name in texts else "label_field"
            error = _missing_field(path, place, name, present, option)
            if _names(option, options):
                raise error
            missing = MissingColumnError(path, place, error.reason)
            missing.present = [*present]
            raise missing
    for name in [*chosen, "split"]:
        if present.count(name) > 1:
            problem = f"there are {present.count(name)} columns {name!r}"
            raise FormatError(path, place, problem, hint="rename all but one of them")
        if chosen.count(name) > 1:
            raise InputError(
                f"field {name!r} is chosen twice", expected="one column of texts, another of labels"
            )
    split = "split" if "split" in present and "split" not in chosen else None
    if options.has_split is not None and options.has_split != (split is not None):
        difference = "no column 'split'" if options.has_split else "a column 'split'"
        raise FormatError(path, place, f"{difference}, unlike the files of the corpus before it")
    return Fields(texts, chosen[len(texts) :], split)


def _fields_from_options(options: ReadOptions) -> Fields:
    """Return the fields if the options name all of them."""
    labels = [] if options.texts_only else _names("label_field", options)
    split = "split" if options.has_split else None
    return Fields(_names("text_field", options), labels, split)


def refuse_fields(options: ReadOptions, format: str) -> None:
    """Refuse names of fields for a format that has none."""
    for option in ("text_field", "label_field"):
        names = _names(option, options)
        if names and not options.are_remembered:
            problem = f"{option} {names[0]!r} does not apply: the format {format} has no fields"
            raise InputError(problem, hint=f"leave {_option_names(option)} out")


def _names(option: str, options: ReadOptions) -> list[str]:
    names = getattr(options, option) or []
    return [names] if isinstance(names, str) else [*names]


def describe_value(value: object) -> str:
    """Describe a value in the terms of JSON, such as "a list"."""
    if isinstance(value, bool | None):
        return json.dumps(value)
    if isinstance(value, int | float):
        return f"the number {value!r:.20}"
    kind = type(value).__name__
    return {"str": "a string", "list": "a list", "dict": "an object"}.get(kind, f"a {kind}")


def split_cell(cell: str, separator: str) -> list[str]:
    """Split a cell into its labels. An empty cell holds none, and "" keeps the cell whole."""
    if separator and separator in cell:
        return [name for piece in cell.split(separator) if (name := piece.strip())]
    return [name] if (name := cell.strip()) else []


def _to_record(row: Any, fields: Fields, place: int | str) -> Record:  # noqa: ANN401
    if len(fields.texts) == 1:
        text = _read_string(row, fields, fields.texts[0])
    else:
        values = (row[field] for field in fields.texts)
        text = "\n".join("" if value is None else str(value) for value in values)
    labels = _read_labels(row, fields) if fields.labels else []
    if fields.split is not None:
        return Record(text, labels, _read_string(row, fields, fields.split), place)
    if fields.header is None and "split" in row and "split" not in fields.texts + fields.labels:
        problem = "this record has a field 'split', but earlier records have none"
        raise _BadRecordError(problem, "the field in all records or in none")
    return Record(text, labels, None, place)


def _read_string(row: Any, fields: Fields, field: Any) -> str:  # noqa: ANN401
    value = row[field]
    if not isinstance(value, str):
        problem = f"field {fields.name(field)!r} is {describe_value(value)}"
        raise _BadRecordError(problem, "a string")
    return value


def _read_labels(row: Any, fields: Fields) -> list[Label]:  # noqa: ANN401
    """Return the labels of a row. "", null, [] and a blank cell are no label."""
    if len(fields.labels) > 1:
        return [fields.name(field) for field in fields.labels if _read_flag(row, fields, field)]
    value = row[fields.labels[0]]
    if isinstance(value, str):
        names = split_cell(value, fields.separator or "")
        return [*names] if fields.separator is not None or not names else [value]
    is_list = isinstance(value, list)
    labels: list[Any] = value if is_list else [value]
    if value is None:
        labels = []
    for label in labels:
        if isinstance(label, bool) or not isinstance(label, str | int):
            verb = "holds" if is_list else "is"
            problem = f"field {fields.name(fields.labels[0])!r} {verb} {describe_value(label)}"
            raise _BadRecordError(problem, "strings or whole numbers")
    return [label for label in labels if not isinstance(label, str) or label.strip()]


def _read_flag(row: Any, fields: Fields, field: Any) -> bool:  # noqa: ANN401
    """Return True if the 0/1 cell says that the record has the label that names its column."""
    value = row[field]
    key = value.strip().lower() if isinstance(value, str) else value
    if isinstance(key, list | dict) or key not in _FLAGS:
        content = f"{value!r:.60}" if isinstance(value, str) else describe_value(value)
        problem = f"field {fields.name(field)!r} is {content}"
        raise _BadRecordError(problem, "0 or 1 in each of several label fields")
    return _FLAGS[key]


def _missing_field(
    path: File,
    place: int | str | None,
    name: str,
    present: Sequence[str],
    option: str | None = None,
) -> FormatError:
    """Return the error for a missing field. `option` is the option that can name another one."""
    is_default = option is not None and name == "label"
    missing = "'labels' or 'label'" if is_default else repr(name)
    names = list_some(present) or "none"
    hint = f"use {_option_names(option)} to name another" if option else None
    return FormatError(path, place, f"no field {missing}; there are: {names}", hint=hint)


def _option_names(option: str) -> str:
    """Return an option as Python and the commands write it.

    Examples
    --------
    >>> _option_names("text_field")
    'text_field= (--text-field)'
    """
    return f"{option}= (--{option.replace('_', '-')})"
