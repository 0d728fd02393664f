"""Text for a terminal: small tables, and lines without control characters.

Nothing that is printed moves the cursor, sets a color or fakes a line.
"""

import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import suppress

_BAR = 30  # characters of the longest bar
_LONGEST = 2_000  # characters of a line
# control characters but tab and newline, what turns the direction of writing, what some take for
# the end of a line, and lone surrogates, which cannot be written at all
_UNSAFE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def escape_control_characters(text: str) -> str:
    r"""Return text with what must not be printed as \uXXXX, which in JSON means the same.

    Examples
    --------
    >>> escape_control_characters("\x1b[31mred\n")
    '\\u001b[31mred\n'
    """
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(value: object) -> str:
    """Return what is to be one line on a terminal: ends of lines escaped too, the rest cut off."""
    line = escape_control_characters(str(value)).replace("\n", "\\n").replace("\t", "\\t")
    if len(line) <= _LONGEST:
        return line
    ending = f" ... ({len(line):,} characters)"
    return line[: _LONGEST - len(ending)] + ending


def join_lines(lines: Iterable[object]) -> str:
    """Return lines as they may be printed, each with its end."""
    return "".join(f"{one_line(line)}\n" for line in lines)


def print_to_stderr(*lines: object) -> None:
    """Write lines to standard error; where it is closed or full, there is nobody to tell."""
    with suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(join_lines(lines))
            sys.stderr.flush()


def format_scores(scored: Sequence[tuple[object, float]]) -> str:
    """Write names with their scores, one per line, and a bar for those above 0.

    Examples
    --------
    >>> print(format_scores([("orbit", 3.0), ("bus", -1.0)]))
    orbit   3.00  ##############################
    bus    -1.00
    """
    largest = max((score for _, score in scored), default=0.0)
    rows = []
    for name, score in scored:
        bar = "#" * round(_BAR * max(score, 0.0) / largest) if largest > 0 else ""
        rows.append((name, f"{score:5.2f}  {bar}"))
    return "\n".join(align_columns(rows))


def align_columns(rows: Iterable[Sequence[object]], n_columns: int | None = None) -> list[str]:
    """Write rows with the same number of cells under one another.

    Parameters
    ----------
    rows
        Of one cell or more.
    n_columns : int, optional
        The last cell is broken between words, and only there, where a line would be longer.

    Examples
    --------
    >>> align_columns([("what", "one two"), ("license", "three")], 13)
    ['what     one', '         two', 'license  three']
    """
    written = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(*written, strict=True)][:-1]
    lines = []
    for *cells, last in written:
        start = "".join(f"{cell:<{width}}  " for cell, width in zip(cells, widths, strict=True))
        parts = [last]
        if n_columns is not None:
            parts = textwrap.wrap(
                last, n_columns - len(start), break_long_words=False, break_on_hyphens=False
            )
        lines.append((start + (parts[0] if parts else "")).rstrip())
        lines += [" " * len(start) + part for part in parts[1:]]
    return lines
