"""Small tables as text."""

import textwrap
from collections.abc import Iterable, Sequence

from wordclass.report.printable import one_line

_BAR = 30  # characters of the longest bar


def scored_lines(scored: Sequence[tuple[object, float]]) -> str:
    """Write names with their scores, one per line, and a bar for those above 0.

    Examples
    --------
    >>> print(scored_lines([("orbit", 3.0), ("bus", -1.0)]))
    orbit   3.00  ##############################
    bus    -1.00
    """
    largest = max((score for _, score in scored), default=0.0)
    rows = []
    for name, score in scored:
        bar = "#" * round(_BAR * max(score, 0.0) / largest) if largest > 0 else ""
        rows.append((name, f"{score:5.2f}  {bar}"))
    return "\n".join(aligned(rows))


def aligned(rows: Iterable[Sequence[object]], n_columns: int | None = None) -> list[str]:
    """Write rows with the same number of cells under one another.

    Parameters
    ----------
    rows
        Of one cell or more.
    n_columns : int, optional
        The last cell is broken between words, and only there, where a line would be longer.

    Examples
    --------
    >>> aligned([("what", "one two"), ("license", "three")], 13)
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
