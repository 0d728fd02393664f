"""Progress as a bar on standard error, for anything that takes longer than a second."""

import threading
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from wordclass import progress

_PATIENCE = 1.0  # seconds before a bar appears


class ProgressBar:
    """Shows the step that is being done, once it has taken a second; then takes it away again."""

    def __init__(self, is_shown: bool) -> None:
        self._console = Console(stderr=True)
        self._is_shown = is_shown and self._console.is_terminal
        self._lock = threading.Lock()
        self._step: str | None = None
        self._bar: Progress | None = None
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        self._telling = progress.told_to(self.update)
        self._telling.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._telling.__exit__(kind, error, trace)
        self._end()

    def update(self, step: str, done: int, total: int | None) -> None:
        """Take note of progress: the listener of `wordclass.progress`."""
        if not self._is_shown:
            return
        name = step.partition(":")[0]
        if name != self._step:
            self._end()
            self._begin(name, total)
        if self._bar is not None:
            task = self._bar.task_ids[0]
            self._bar.update(task, description=escape(step), completed=done, total=total)
        if total is not None and done >= total:
            self._end()

    def _begin(self, step: str, total: int | None) -> None:
        self._step = step
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%" if total else "{task.completed:,.0f}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )
        self._bar.add_task(step, total=total)
        self._timer = threading.Timer(_PATIENCE, self._show, [self._bar])
        self._timer.daemon = True
        self._timer.start()

    def _show(self, bar: Progress) -> None:
        with self._lock:
            if bar is self._bar:  # else the step ended in the meantime
                bar.start()

    def _end(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._bar is not None:
                self._bar.stop()
            self._bar = self._timer = self._step = None
