"""Standard input and output: lines as they come, and as they are ready."""

import codecs
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from wordclass import storage
from wordclass.cli.corpora import CorpusChoice
from wordclass.cli.settings import standard_output
from wordclass.errors import FormatError, InputError

_CHUNK = 1 << 16


def text_blocks(choice: CorpusChoice) -> Iterator[list[str]]:
    """Give the texts of a corpus, or, for `-`, the lines of standard input, block by block."""
    if choice.place == "-":
        return input_lines(choice.encoding)
    return choice.texts()


def input_lines(encoding: str) -> Iterator[list[str]]:
    """Give the lines of standard input, as many at a time as have come: slow input is no wait."""
    decoder = _decoder(encoding)
    rest, n_lines, is_last = "", 0, False
    while not is_last:
        chunk = _stdin().read1(_CHUNK)
        is_last = not chunk
        try:
            rest += decoder.decode(chunk, final=is_last)
        except UnicodeDecodeError as error:
            before = error.object[: error.start].count(b"\n")
            raise _invalid(n_lines + before + 1, encoding, error) from error
        if not n_lines:
            rest = rest.removeprefix("\ufeff")
        *lines, rest = rest.split("\n")
        if is_last and rest:
            lines.append(rest)
        n_lines += len(lines)
        if lines:
            yield [line.removesuffix("\r") for line in lines]


def whole_input(encoding: str) -> str:
    """Return all of standard input as one text."""
    return "\n".join(line for block in input_lines(encoding) for line in block)


@contextmanager
def lines_to(output: Path | None) -> Iterator[Callable[[dict[str, Any]], object]]:
    """Give a function that writes one JSON object a line: to a file, or to standard output.

    The file appears when it is complete; what is printed is printed at once.
    """
    if output is None:
        yield _print
        return
    with storage.writing(output) as file:
        yield lambda result: file.write(_line(result).encode() + b"\n")


def _print(result: dict[str, Any]) -> None:
    with standard_output() as stream:
        stream.write(_line(result) + "\n")


def _line(result: dict[str, Any]) -> str:
    # a lone surrogate in a class cannot be written
    return json.dumps(result, ensure_ascii=False).encode("utf-8", "replace").decode()


def _stdin() -> io.BufferedReader:
    if sys.stdin is None:
        raise InputError("standard input is closed; give a file, or send texts to it")
    return cast("io.BufferedReader", sys.stdin.buffer)


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    try:
        "\n".encode(encoding)  # refuses codecs that are not of text, such as "hex"
        return codecs.getincrementaldecoder(encoding)()
    except (LookupError, ValueError) as error:
        raise InputError(
            f"unknown encoding {encoding!r}; expected one that Python knows, such as 'utf-8'"
        ) from error


def _invalid(line: int, encoding: str, error: UnicodeDecodeError) -> FormatError:
    found = error.object[error.start : error.start + 1].hex()
    reason = f"byte 0x{found} is not valid {encoding} ({error.reason}); --encoding names another"
    return FormatError("standard input", line, reason)
