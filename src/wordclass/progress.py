"""One channel through which long work says how far it is; the command line draws it as a bar."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")

# (what is being done, how much of it is done, how much there is or None where nobody knows).
# Behind a colon stands what changes while the step is the same: "training: epoch 3".
Listener = Callable[[str, int, int | None], None]


def nobody(_step: str, _done: int, _total: int | None) -> None:
    """Listen to nothing: what happens where nobody asked to be told."""


_listener: ContextVar[Listener] = ContextVar("listener", default=nobody)


@contextmanager
def on_progress(listener: Listener) -> Iterator[None]:
    """Tell this listener of all progress made inside the `with` block.

    Parameters
    ----------
    listener : callable
        Is called with the step (str), how much of it is done (int), and how much there is (int, or
        None where nobody knows); an empty step takes away what is shown. It should be quick; an
        error that it raises ends the work.

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


def listener() -> Listener:
    """Return who is told of progress now."""
    return _listener.get()


def report(step: str, done: int, total: int | None = None) -> None:
    """Say how much of a step is done."""
    _listener.get()(step, done, total)


def pause() -> None:
    """Take away what is shown of progress, because something else is about to be printed."""
    report("", 1, 1)


def over(items: Sequence[Item], step: str) -> Iterator[Item]:
    """Iterate, and report after each item.

    Examples
    --------
    >>> with on_progress(lambda step, done, total: print(step, done, total)):
    ...     for word in over(["a", "b"], "reading"):
    ...         pass
    reading 0 2
    reading 1 2
    reading 2 2
    """
    report(step, 0, len(items))
    for done, item in enumerate(items, start=1):
        yield item
        report(step, done, len(items))
