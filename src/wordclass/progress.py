"""Progress of long operations, reported to one listener that the caller sets."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")

# Arguments: the step, the number of finished items, and the total or None if it is unknown.
# Text after a colon may change within one step: "training: epoch 3".
Listener = Callable[[str, int, int | None], None]


def ignore(_step: str, _done: int, _total: int | None) -> None:
    """Ignore a progress report. This is the default listener."""


_listener: ContextVar[Listener] = ContextVar("listener", default=ignore)


@contextmanager
def on_progress(listener: Listener) -> Iterator[None]:
    """Call a function with all progress that is reported inside the `with` block.

    Parameters
    ----------
    listener : callable
        Function of three arguments: the name of the step (str), the number of finished items (int)
        and the total number of items (int, or None if it is unknown). An empty name means that the
        display should be cleared. The function should return quickly. An exception that it raises
        stops the operation.

    Yields
    ------
    None
        The listener is replaced by the previous one when the block ends.

    See Also
    --------
    WordClassEmbeddings.fit : An operation that reports progress.
    tune : An operation that reports progress.

    Examples
    --------
    >>> import wordclass as wc
    >>> wce = wc.WordClassEmbeddings(min_docs=1)
    >>> with wc.on_progress(lambda step, done, total: print(step, done, total)):
    ...     _ = wce.fit(["a moon", "a rose"], ["space", "garden"])
    counting words 0 1
    counting words 1 1
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def current_listener() -> Listener:
    """Return the function that currently receives progress reports."""
    return _listener.get()


def report(step: str, done: int, total: int | None = None) -> None:
    """Report how many items of a step are finished.

    Parameters
    ----------
    step : str
        Name of the step.
    done : int
        Number of finished items.
    total : int, optional
        Total number of items, if it is known.
    """
    _listener.get()(step, done, total)


def clear() -> None:
    """Ask the listener to clear its display, because other output follows."""
    report("", 1, 1)


def track(items: Sequence[Item], step: str) -> Iterator[Item]:
    """Iterate over items and report progress after each of them.

    Parameters
    ----------
    items : sequence
        The items of the step.
    step : str
        Name of the step.

    Yields
    ------
    object
        The items, in order.

    Examples
    --------
    >>> with on_progress(lambda step, done, total: print(step, done, total)):
    ...     for word in track(["a", "b"], "reading"):
    ...         pass
    reading 0 2
    reading 1 2
    reading 2 2
    """
    report(step, 0, len(items))
    for n_completed, item in enumerate(items, start=1):
        yield item
        report(step, n_completed, len(items))
