"""Text for a terminal: small tables, and lines without control characters.

Control characters are escaped so that no text can move the cursor, set a color or fake a line.
"""

import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import suppress

_MAX_BAR_CHARACTERS = 30
_MAX_LINE_CHARACTERS = 2_000
# control characters except tab and newline, marks of writing direction, line separators of Unicode,
# and lone surrogates, which cannot be encoded
_UNSAFE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def escape_control_characters(text: str) -> str:
    r"""Replace control characters by \uXXXX, which JSON reads as the same character.

    Examples
    --------
    >>> escape_control_characters("\x1b[31mred\n")
    '\\u001b[31mred\n'
    """
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(value: object) -> str:
    """Return a value as one line of text, with line ends escaped, and truncated if too long."""
    line = escape_control_characters(str(value)).replace("\n", "\\n").replace("\t", "\\t")
    if len(line) <= _MAX_LINE_CHARACTERS:
        return line
    ending = f" ... ({len(line):,} characters)"
    return line[: _MAX_LINE_CHARACTERS - len(ending)] + ending


def join_lines(lines: Iterable[object]) -> str:
    """Join lines to a text that is safe to print."""
    return "".join(f"{one_line(line)}\n" for line in lines)


def print_to_stderr(*lines: object) -> None:
    """Write lines to standard error, and ignore that it is closed or full."""
    with suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(join_lines(lines))
            sys.stderr.flush()


def format_scores(scored: Sequence[tuple[object, float]]) -> str:
    """Format names and scores, one per line, with a bar for each positive score.

    Examples
    --------
    >>> print(format_scores([("orbit", 3.0), ("bus", -1.0)]))
    orbit   3.00  ##############################
    bus    -1.00
    """
    largest = max((score for _, score in scored), default=0.0)
    rows = []
    for name, score in scored:
        bar = "#" * round(_MAX_BAR_CHARACTERS * max(score, 0.0) / largest) if largest > 0 else ""
        rows.append((name, f"{score:5.2f}  {bar}"))
    return "\n".join(align_columns(rows))


def align_columns(rows: Iterable[Sequence[object]], n_columns: int | None = None) -> list[str]:
    """Format rows as lines with aligned columns.

    Parameters
    ----------
    rows : iterable of sequence
        Rows with the same number of cells, at least one.
    n_columns : int, optional
        The largest length of a line. The last cell is broken between words to keep it.

    Examples
    --------
    >>> align_columns([("what", "one two"), ("license", "three")], 13)
    ['what     one', '         two', 'license  three']
    """
    text_rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*text_rows, strict=True)][:-1]
    lines = []
    for *cells, last in text_rows:
        start = "".join(f"{cell:<{width}}  " for cell, width in zip(cells, widths, strict=True))
        parts = [last]
        if n_columns is not None:
            parts = textwrap.wrap(
                last, n_columns - len(start), break_long_words=False, break_on_hyphens=False
            )
        lines.append((start + (parts[0] if parts else "")).rstrip())
        lines += [" " * len(start) + part for part in parts[1:]]
    return lines
