"""The engine protocol, the chunks of items that workers take, and the order of additions."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from wordclass.errors import InputError

Sum = TypeVar("Sum")
Work = Callable[[Iterable[tuple[int, Any]]], Sum]
Add = Callable[[Sum, Sum], Sum]
Report = Callable[[int], None]

_CHUNKS_PER_WORKER = 4  # so that no worker waits long for the last one


class Engine(Protocol):
    """An engine maps a function over the shards of a corpus and adds the results."""

    @property
    def n_workers(self) -> int:
        """The number of shards that are processed at the same time."""

    def map_and_add(
        self,
        work: Work[Sum],
        items: Any,  # noqa: ANN401 - a sequence, or a table of the engine's own
        add: Add[Sum],
        report: Report,
    ) -> Sum:
        """Return the sum over all items.

        Parameters
        ----------
        work : callable
            Picklable function from consecutive items, as pairs of number and item, to their sum.
        items : sequence or table
            The shards.
        add : callable
            Function that adds the sums of neighbors, the earlier one first.
        report : callable
            Function that is called with the number of items that were finished since the last
            call.

        Returns
        -------
        object
            The sum over all items.
        """

    def __enter__(self) -> "Engine": ...

    def __exit__(self, *error: object) -> None: ...


def count_shards(items: Any) -> int:  # noqa: ANN401 - a sequence, or a table of Dask or Spark
    """Return the number of shards of a corpus."""
    if isinstance(items, Sequence):
        return len(items)
    return int(items.npartitions if hasattr(items, "npartitions") else items.rdd.getNumPartitions())


def require_sequence(items: Any) -> Sequence[Any]:  # noqa: ANN401
    """Return items that every engine can process.

    Raises
    ------
    InputError
        If the items are a table that only its own engine can process.
    """
    if not isinstance(items, Sequence):
        owner = type(items).__module__.partition(".")[0].removeprefix("py")
        raise InputError(
            f"this engine cannot process a table of {owner}", hint=f"use the engine {owner!r}"
        )
    return items


def cut_into_chunks(n_items: int, n_workers: int) -> list[range]:
    """Cut the numbers of items into chunks, a few per worker.

    Chunks have 2^k items and begin at multiples of 2^k, so that each one is a branch of the tree
    of `tree_sum`, regardless of their size.

    Examples
    --------
    >>> cut_into_chunks(7, 1)
    [range(0, 2), range(2, 4), range(4, 6), range(6, 7)]
    """
    size = 1
    while n_items > size * _CHUNKS_PER_WORKER * n_workers:
        size *= 2
    return [range(start, min(start + size, n_items)) for start in range(0, n_items, size)]


def tree_sum(sums: Iterable[Sum], add: Add[Sum]) -> Sum:
    """Add neighbors, then the sums of neighbors, and so on, while holding few sums at a time.

    Examples
    --------
    >>> tree_sum("abcdefg", lambda left, right: f"({left}{right})")
    '(((ab)(cd))((ef)g))'
    """
    stack: list[tuple[int, Sum]] = []  # (logarithm of the number of items, their sum)
    for branch in sums:
        level = 0
        while stack and stack[-1][0] == level:
            branch = add(stack.pop()[1], branch)
            level += 1
        stack.append((level, branch))
    _, total = stack.pop()
    while stack:
        total = add(stack.pop()[1], total)
    return total


def tree_sum_by_levels(leaves: Sequence[Sum], add: Add[Sum]) -> Sum:
    """Return the same as `tree_sum` when all leaves are available, for example as futures."""
    level = [*leaves]
    while len(level) > 1:
        pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
        level = [add(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]
