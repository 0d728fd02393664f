"""The seconds that steps take."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from wordclass import progress


@dataclass
class Stopwatch:
    """Seconds by step, in the order in which the steps ended."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Take the time of the `with` block, and report its beginning and end as progress."""
        progress.report(name, 0, None)
        start = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - start, 3)
        progress.report(name, 1, 1)
