"""How lines get to a terminal: one way for all messages, which lets nothing strange through."""

import sys
from collections.abc import Iterable
from contextlib import suppress

from wordclass.report.printable import one_line


def say(*lines: object) -> None:
    """Write lines to standard error; where it is closed or full, there is nobody to tell."""
    with suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(joined(lines))
            sys.stderr.flush()


def joined(lines: Iterable[object]) -> str:
    """Return lines as they may be printed, each with its end."""
    return "".join(f"{one_line(line)}\n" for line in lines)
