"""Which fields of a record hold its text, its labels and its split."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wordclass.corpus import ReadOptions
from wordclass.errors import FormatError, InputError


@dataclass(frozen=True)
class Fields:
    """The names of the fields to read.

    `label` is None where labels are not to be read, `split` where the records have none.
    """

    text: str
    label: str | None
    split: str | None


def choose(present: Sequence[str], options: ReadOptions, path: Path, line: int | None) -> Fields:
    """Choose the fields to read among those that are there.

    By default `text`, and `labels`, else `label`. A field `split` is the split, unless it was
    chosen as text or label.

    Raises
    ------
    FormatError
        One is missing or there twice; the message lists the fields there are.
    """
    text = options.text_field or "text"
    label = _label_field(present, options)
    if text == label:
        raise InputError(f"field {text!r} cannot be both the text and the label")
    for name, option in ((text, "text_field"), (label, "label_field")):
        if name is not None and name not in present:
            asked = getattr(options, option) is not None
            raise missing(name, present, path, line, None if asked else option)
    split = "split" if "split" in present and "split" not in (text, label) else None
    for used in (text, label, split):
        if used is not None and present.count(used) > 1:
            raise FormatError(path, line, f"there are {present.count(used)} columns {used!r}")
    return Fields(text, label, split)


def _label_field(present: Sequence[str], options: ReadOptions) -> str | None:
    if options.texts_only:
        return None
    return options.label_field or ("labels" if "labels" in present else "label")


def missing(
    name: str, present: Sequence[str], path: Path, line: int | None, option: str | None = None
) -> FormatError:
    """Return the error of a field that is not there; `option` is the one that could name it."""
    wanted = "'labels' or 'label'" if option and name == "label" else repr(name)
    known = ", ".join(map(repr, present)) or "none"
    hint = f"; {option}= (--{option.replace('_', '-')}) names another" if option else ""
    return FormatError(path, line, f"no field {wanted}; there are: {known}{hint}")


def refuse(options: ReadOptions, format: str) -> None:
    """Refuse names of fields for a format that has none."""
    for option in ("text_field", "label_field"):
        if (name := getattr(options, option)) is not None:
            raise InputError(
                f"{option} {name!r} does not apply: the format {format} has no named fields"
            )
