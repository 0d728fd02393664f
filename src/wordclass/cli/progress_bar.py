"""A progress bar on standard error."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wordclass import progress, tables

if TYPE_CHECKING:
    from rich.progress import Progress

_SECONDS_BEFORE_BAR = 1.0


class ProgressBar:
    """Bar that shows the current step if it takes longer than a second.

    Parameters
    ----------
    is_shown : bool
        Whether to show the bar. It is never shown if standard error is not a terminal.
    """

    def __init__(self, is_shown: bool) -> None:
        self._is_shown = is_shown and sys.stderr is not None and sys.stderr.isatty()
        self._lock = threading.Lock()
        self._step: str | None = None
        self._bar: Progress | None = None
        self._timer: threading.Timer | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Show the progress of the `with` block on standard error."""
        try:
            with progress.on_progress(self._update):
                yield
        finally:
            self._end()

    def _update(self, step: str, n_completed: int, total: int | None) -> None:
        if not self._is_shown:
            return
        name = step.partition(":")[0]
        if name != self._step:
            self._end()
            self._begin(name, total)
        if self._bar is not None:
            task = self._bar.task_ids[0]
            self._bar.update(task, description=_escape(step), completed=n_completed, total=total)
        if total is not None and n_completed >= total:
            self._end()

    def _begin(self, step: str, total: int | None) -> None:
        self._step = step
        self._bar = _make_bar(has_total=bool(total))
        self._bar.add_task(_escape(step), total=total)
        self._timer = threading.Timer(_SECONDS_BEFORE_BAR, self._show, [self._bar])
        self._timer.daemon = True
        self._timer.start()

    def _show(self, bar: "Progress") -> None:
        with self._lock:
            if bar is self._bar:  # otherwise the step has already ended
                bar.start()

    def _end(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._bar is not None:
                self._bar.stop()
            self._bar = None
            self._timer = None
            self._step = None


def _make_bar(has_total: bool) -> "Progress":
    # rich is imported only when there is progress to show, because it is slow to import
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%" if has_total else "{task.completed:,.0f}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _escape(step: str) -> str:
    from rich.markup import escape

    return escape(tables.one_line(step))
