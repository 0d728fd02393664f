"""What every command has: options of its own and shared ones, a bar, and streams to write to."""

import functools
import inspect
import json
import os
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from wordclass import progress, storage
from wordclass.errors import InputError, StorageError

_PATIENCE = 1.0  # seconds before a bar appears

app = typer.Typer(
    help="Word-class embeddings: word vectors whose every dimension is a class of your own task.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class Settings:
    """What `--force`, `--quiet` and their like were set to."""

    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no messages.")] = False
    seed: Annotated[int, typer.Option(help="For everything random.")] = 0
    jobs: Annotated[int, typer.Option(help="Threads that share the work; -1: all cores.")] = 1
    encoding: Annotated[str, typer.Option(help="Of text files.")] = "utf-8"
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object on standard output.")
    ] = False

    def check_output(self, path: Path | None) -> None:
        """Refuse to overwrite, before any work is done; None is no file."""
        if path is not None and storage.is_there(path) and not self.force:
            raise InputError(f"{path} exists; --force overwrites it")

    def say(self, message: str) -> None:
        """Tell the user something that is not a result: on standard error."""
        if not self.quiet:
            progress.pause()  # lines that are written above a bar are folded
            sys.stderr.write(message + "\n")

    def tell(self, result: dict[str, Any], message: str) -> None:
        """Tell what was written: people by a message, programs by JSON where they asked for it."""
        if self.as_json:
            self.show(result, "")
        self.say(message)

    def show(self, result: dict[str, Any], text: str) -> None:
        """Print a result on standard output: as JSON where that was asked for, else as text."""
        written = json.dumps(result, ensure_ascii=False, default=str) if self.as_json else text
        # a lone surrogate in a term cannot be printed, and must not end in a traceback
        with standard_output() as stream:
            stream.write(written.encode("utf-8", "replace").decode("utf-8") + "\n")


def command(run: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command of the app.

    Its parameters are the options and arguments of the command; a parameter whose type is a
    dataclass, such as `Settings`, which every command has, stands for all the fields of that one.
    """
    signature = inspect.signature(run, eval_str=True).parameters.values()
    groups: dict[str, Any] = {
        each.name: each.annotation for each in signature if is_dataclass(each.annotation)
    }
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [each.replace(kind=keyword) for each in signature if each.name not in groups]
    for field in (field for group in groups.values() for field in fields(group)):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        parameters.append(
            inspect.Parameter(field.name, keyword, default=default, annotation=field.type)
        )

    @functools.wraps(run)
    def wrapper(**given: Any) -> None:  # noqa: ANN401 - typer has checked them
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        try:
            with ProgressBar(is_shown=not given["settings"].quiet).listening():
                run(**given)
        except KeyboardInterrupt:
            # finished files are complete, unfinished ones were never there
            sys.stderr.write("wordclass: stopped; run the same command again to go on\n")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # whoever read our output (`| head`) has seen enough
            _forget_output()
            raise typer.Exit(0) from None

    vars(wrapper)["__signature__"] = inspect.Signature(parameters)
    wrapper.__annotations__ = {each.name: each.annotation for each in parameters}
    return app.command()(wrapper)


def same_command() -> str:
    """Return the command that is running, as one would write it in a shell."""
    return shlex.join(["wordclass", *sys.argv[1:]])


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Give standard output; what the block writes is out when it ends.

    Raises
    ------
    StorageError
        It is closed, or goes to a disk that is full.
    """
    if sys.stdout is None:  # closed by whoever started us
        raise StorageError("standard output is closed; -o writes to a file")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _forget_output()
        reason = error.strerror or error
        raise StorageError(f"standard output: cannot be written: {reason}") from error


def _forget_output() -> None:
    """Send what is still to be written nowhere, to keep Python from complaining at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class ProgressBar:
    """Shows the step that is being done, once it has taken a second; then takes it away again."""

    def __init__(self, is_shown: bool) -> None:
        self._console = Console(stderr=True)
        self._is_shown = is_shown and self._console.is_terminal
        self._lock = threading.Lock()
        self._step: str | None = None
        self._bar: Progress | None = None
        self._timer: threading.Timer | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Show the progress of the `with` block, on standard error."""
        try:
            with progress.on_progress(self._update):
                yield
        finally:
            self._end()

    def _update(self, step: str, done: int, total: int | None) -> None:
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
