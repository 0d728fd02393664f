"""One part after the other, in this process: what is held does not grow with the corpus."""

from collections.abc import Iterator, Sequence
from typing import Any

from wordclass import progress
from wordclass.engines.tasks import Add, Sum, Tell, Work, listed


class InSequence:
    """Works on one part after the other."""

    n_workers = 1

    def map_and_add(self, work: Work[Sum], items: Sequence[Any], add: Add[Sum], tell: Tell) -> Sum:
        """Return the sum over all items; they are one run."""

        def told() -> Iterator[tuple[int, Any]]:
            for numbered in enumerate(listed(items)):
                yield numbered
                tell(1)

        with progress.on_progress(progress.ignore):  # of single files
            return work(told())

    def __enter__(self) -> "InSequence":
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing: there is nothing to close."""


make = InSequence
