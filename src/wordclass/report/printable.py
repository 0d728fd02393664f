"""Text as it may be printed: nothing in it moves the cursor, sets a color or fakes a line."""

import re
import sys
from collections.abc import Iterable
from contextlib import suppress

_LONGEST = 2_000  # characters of a line
# control characters but tab and newline, what turns the direction of writing, what some take for
# the end of a line, and lone surrogates, which cannot be written at all
_UNSAFE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def escaped(text: str) -> str:
    r"""Return text with what must not be printed as \uXXXX, which in JSON means the same.

    Examples
    --------
    >>> escaped("\x1b[31mred\n")
    '\\u001b[31mred\n'
    """
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(value: object) -> str:
    """Return what is to be one line on a terminal: ends of lines escaped too, the rest cut off."""
    line = escaped(str(value)).replace("\n", "\\n").replace("\t", "\\t")
    if len(line) <= _LONGEST:
        return line
    ending = f" ... ({len(line):,} characters)"
    return line[: _LONGEST - len(ending)] + ending


def joined(lines: Iterable[object]) -> str:
    """Return lines as they may be printed, each with its end."""
    return "".join(f"{one_line(line)}\n" for line in lines)


def say(*lines: object) -> None:
    """Write lines to standard error; where it is closed or full, there is nobody to tell."""
    with suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(joined(lines))
            sys.stderr.flush()
