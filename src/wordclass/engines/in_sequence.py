"""One shard after the other, in this process: memory does not grow with the corpus."""

from collections.abc import Iterator, Sequence
from typing import Any

from wordclass import progress
from wordclass.engines.tasks import Add, Report, Sum, Work, require_sequence


class InSequence:
    """Engine that processes one shard after the other in the current process.

    Examples
    --------
    >>> import operator
    >>> import wordclass as wc
    >>> def count_items(numbered_items):
    ...     return sum(1 for _ in numbered_items)
    >>> with wc.engine("in_sequence") as engine:
    ...     engine.map_and_add(count_items, ["a", "b", "c"], operator.add, print)
    1
    1
    1
    3
    """

    n_workers = 1

    def map_and_add(
        self, work: Work[Sum], items: Sequence[Any], add: Add[Sum], report: Report
    ) -> Sum:
        """Return the sum over all items, computed by one call of `work`.

        Parameters
        ----------
        work : callable
            Function from pairs of number and item to their sum.
        items : sequence
            The shards.
        add : callable
            Not needed by this engine: there is one sum only.
        report : callable
            Called with 1 after each item.

        Returns
        -------
        object
            What `work` returns for all items.
        """

        def numbered_items() -> Iterator[tuple[int, Any]]:
            for numbered in enumerate(require_sequence(items)):
                yield numbered
                report(1)

        with progress.on_progress(progress.ignore):  # hide the progress of single files
            return work(numbered_items())

    def __enter__(self) -> "InSequence":
        """Return the engine itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing, because nothing was opened."""


make = InSequence
