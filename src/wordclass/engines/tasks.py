"""What an engine is, the items that one worker takes, and the order in which sums are added."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from wordclass.errors import InputError

Sum = TypeVar("Sum")
Work = Callable[[Iterable[tuple[int, Any]]], Sum]
Add = Callable[[Sum, Sum], Sum]
Tell = Callable[[int], None]

_RUNS_PER_WORKER = 4  # so that nobody waits long for the last one


class Engine(Protocol):
    """What works on the parts of a corpus."""

    @property
    def n_workers(self) -> int:
        """How many parts are worked on at the same time."""

    def map_and_add(
        self,
        work: Work[Sum],
        items: Any,  # noqa: ANN401 - a sequence, or a table of the engine's own
        add: Add[Sum],
        tell: Tell,
    ) -> Sum:
        """Return the sum over all items."""

    def __enter__(self) -> "Engine": ...

    def __exit__(self, *error: object) -> None: ...


def count_shards(items: Any) -> int:  # noqa: ANN401 - a sequence, or a table of Dask or Spark
    """Return of how many parts a corpus is."""
    if isinstance(items, Sequence):
        return len(items)
    return int(items.npartitions if hasattr(items, "npartitions") else items.rdd.getNumPartitions())


def listed(items: Any) -> Sequence[Any]:  # noqa: ANN401
    """Return items that any engine can work on; refuse a table that another engine holds."""
    if not isinstance(items, Sequence):
        owner = type(items).__module__.partition(".")[0].removeprefix("py")
        raise InputError(f"a table of {owner} is worked on by the engine {owner!r} alone")
    return items


def runs(n_items: int, n_workers: int) -> list[range]:
    """Cut the numbers of items into runs, a few per worker.

    Runs have 2^k items and begin at multiples of 2^k, so that each is a branch of the tree of
    `tree_sum`, whatever their length.

    Examples
    --------
    >>> runs(7, 1)
    [range(0, 2), range(2, 4), range(4, 6), range(6, 7)]
    """
    size = 1
    while n_items > size * _RUNS_PER_WORKER * n_workers:
        size *= 2
    return [range(start, min(start + size, n_items)) for start in range(0, n_items, size)]


def tree_sum(sums: Iterable[Sum], add: Add[Sum]) -> Sum:
    """Add neighbors, then the sums of neighbors, and so on; few sums are held at a time.

    Examples
    --------
    >>> tree_sum("abcdefg", lambda left, right: f"({left}{right})")
    '(((ab)(cd))((ef)g))'
    """
    held: list[tuple[int, Sum]] = []  # (items as a power of two, their sum)
    for each in sums:
        level = 0
        while held and held[-1][0] == level:
            each = add(held.pop()[1], each)
            level += 1
        held.append((level, each))
    _, total = held.pop()
    while held:
        total = add(held.pop()[1], total)
    return total


def tree_levels(leaves: Sequence[Sum], add: Add[Sum]) -> Sum:
    """Do the same where all leaves are at hand, such as tasks that are not done yet."""
    level = [*leaves]
    while len(level) > 1:
        pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
        level = [add(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return level[0]
