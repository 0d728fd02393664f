"""Standard output of the commands: results as text or JSON, and errors of the stream."""

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from wordclass import tables
from wordclass.errors import StorageError


def print_result(result: dict[str, Any], text: str, *, as_json: bool) -> None:
    """Print a result on standard output, either as JSON or as text."""
    with standard_output() as stream:
        if not as_json:
            stream.write(tables.join_lines(text.split("\n")))
            return
        is_unicode = (stream.encoding or "").lower().startswith("utf")
        content = json.dumps(result, ensure_ascii=not is_unicode, default=str)
        stream.write(tables.escape_control_characters(content) + "\n")


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Open standard output and flush it at the end of the `with` block.

    Raises
    ------
    StorageError
        If standard output is closed, or its disk is full.
    """
    if sys.stdout is None:  # the parent process closed it
        raise StorageError("standard output is closed", hint="use -o to write to a file")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_print(error) from error


def cannot_print(error: OSError) -> StorageError:
    """Return the error for a standard output that cannot be written, and discard further output."""
    discard_output()
    return StorageError(
        f"standard output: cannot be written: {error.strerror or error}",
        hint="check the disk, or use -o to write to a file",
    )


def discard_output() -> None:
    """Redirect standard output to nowhere, so that Python does not complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
