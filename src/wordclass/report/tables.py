"""Small tables as text."""

from collections.abc import Sequence

_BAR = 30  # characters of the longest bar


def scored_lines(scored: Sequence[tuple[object, float]]) -> str:
    """Write names with their scores, one a line, and a bar for those above 0.

    Examples
    --------
    >>> print(scored_lines([("orbit", 3.0), ("bus", -1.0)]))
    orbit   3.00  ##############################
    bus    -1.00
    """
    width = max((len(str(name)) for name, _ in scored), default=0)
    largest = max((score for _, score in scored), default=0.0)
    lines = []
    for name, score in scored:
        bar = "#" * round(_BAR * max(score, 0.0) / largest) if largest > 0 else ""
        lines.append(f"{name!s:<{width}}  {score:5.2f}  {bar}".rstrip())
    return "\n".join(lines)
