"""Terms as the text and binary formats hold them: bytes of UTF-8, none of which ends a line."""

from collections.abc import Sequence
from pathlib import Path

from wordclass.errors import FormatError, InputError


def encoded(terms: Sequence[str]) -> list[bytes]:
    """Encode terms for a file.

    Raises
    ------
    InputError
        A term is empty, holds a newline or a lone surrogate: no reader would get it back.
    """
    return [_encoded(term) for term in terms]


def _encoded(term: str) -> bytes:
    if not term or "\n" in term:
        raise InputError(
            f"the term {term!r} cannot be written: it is empty or holds a newline; the format npz "
            "takes any term"
        )
    try:
        return term.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"the term {term!r} cannot be written: it holds a lone surrogate, which UTF-8 lacks; "
            "the format npz takes any term"
        ) from error


def without_spaces(terms: Sequence[str]) -> list[str]:
    """Join the words of a term by underscores, word2vec's own way to write phrases.

    Other readers of its formats end a term at the first space.

    Raises
    ------
    InputError
        Two terms become the same.

    Examples
    --------
    >>> without_spaces(["new york", "rome"])
    ['new_york', 'rome']
    """
    joined = [term.replace(" ", "_") for term in terms]
    if len(set(joined)) < len(joined):
        first: dict[str, str] = {}
        for term, name in zip(terms, joined, strict=True):
            if first.setdefault(name, term) != term:
                raise InputError(
                    f"the terms {first[name]!r} and {term!r} would both be written as {name!r}: "
                    "word2vec's formats have no spaces in terms; glove_text and npz do"
                )
    return joined


def decoded(path: Path, line: int | None, term: bytes, row: int) -> str:
    """Decode a term read from a file; `row` is counted from 1."""
    try:
        return term.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(
            path, line, f"the term of vector {row}, {term!r}, is not UTF-8: {error.reason}"
        ) from error
