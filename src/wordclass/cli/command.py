"""What every command has: options of its own and shared ones, a bar, and streams to write to."""

import functools
import inspect
import io
import json
import os
import shlex
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TextIO, get_args

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from wordclass import progress, tables
from wordclass.errors import InputError, StorageError, WordClassError
from wordclass.storage import files

_PATIENCE = 1.0  # seconds before a bar appears
_UsageError: Any = typer.BadParameter.__base__  # which typer does not export

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

    force: Annotated[bool, "Overwrite what is there."] = False
    quiet: Annotated[bool, "No progress, no messages."] = False
    seed: Annotated[int, "For everything random."] = 0
    jobs: Annotated[int, "--jobs", "-j", "Threads that share the work; -1: all cores."] = 1
    encoding: Annotated[str, "Of text files."] = "utf-8"
    as_json: Annotated[bool, "--json", "Print one JSON object on standard output."] = False

    def check_output(self, path: Path | None, *, is_folder: bool = False) -> None:
        """Refuse what is not to be overwritten, or cannot be written, before any work is done.

        None is no file.
        """
        if path is None:
            return
        if files.path_exists(path) and not self.force:
            raise InputError(f"{path} exists; --force overwrites it")
        files.check_writable(path, is_folder=is_folder)

    def say(self, *lines: str) -> None:
        """Tell the user something that is not a result: on standard error, line by line."""
        if not self.quiet:
            progress.clear()  # lines that are written above a bar are folded
            tables.print_to_stderr(*lines)

    def tell(self, result: dict[str, Any], message: str) -> None:
        """Tell what was written: people by a message, programs by JSON where they asked for it."""
        if self.as_json:
            self.show(result, "")
        self.say(message)

    def show(self, result: dict[str, Any], text: str) -> None:
        """Print a result on standard output: as JSON where that was asked for, else as text."""
        with standard_output() as stream:
            if not self.as_json:
                stream.write(tables.join_lines(text.split("\n")))
                return
            is_unicode = (stream.encoding or "").lower().startswith("utf")
            written = json.dumps(result, ensure_ascii=not is_unicode, default=str)
            stream.write(tables.escape_control_characters(written) + "\n")


def command(run: Callable[..., None], within: typer.Typer = app) -> Callable[..., None]:
    """Make a function a command of the app, or of a group of commands.

    Its parameters are the options and arguments of the command; a parameter whose type is a
    dataclass, such as `Settings`, which every command has, stands for all the fields of that one.
    `Annotated[int, "-n", "How many."]` is an option with its help, and before that its names where
    they are not that of the parameter; one that is False by default is a flag that has no opposite.
    """
    signature = inspect.signature(run, eval_str=True).parameters.values()
    groups: dict[str, Any] = {
        each.name: each.annotation for each in signature if is_dataclass(each.annotation)
    }
    own = [each for each in signature if each.name not in groups]
    shared = [each for group in groups.values() for each in _fields(group).values()]
    parameters = [*map(_as_option, own + shared)]

    @functools.wraps(run)
    def wrapper(**given: Any) -> None:  # noqa: ANN401 - typer has checked them
        for name, group in groups.items():
            given[name] = group(**{field: given.pop(field) for field in _fields(group)})
        try:
            bar, say = ProgressBar(not given["settings"].quiet), given["settings"].say
            with bar.listening(), warnings.catch_warnings():
                warnings.simplefilter("default", UserWarning)
                warnings.showwarning = functools.partial(_show_warning, say)
                run(**given)
        except KeyboardInterrupt:
            # finished files are complete, unfinished ones were never there
            tables.print_to_stderr("wordclass: stopped")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # whoever read our output (`| head`) has seen enough
            _forget_output()
            raise typer.Exit(0) from None

    vars(wrapper)["__signature__"] = inspect.Signature(parameters)
    wrapper.__annotations__ = {each.name: each.annotation for each in parameters}
    return within.command(run.__name__.rstrip("_").replace("_", "-"))(wrapper)


def _show_warning(
    say: Callable[..., None],
    message: Warning | str,
    category: type[Warning],
    *_place: object,
) -> None:
    """Print a warning as one line. A guess of columns is a note and not a warning."""
    from wordclass.corpus.selection import ColumnGuessWarning

    is_note = issubclass(category, ColumnGuessWarning)
    say(str(message) if is_note else f"warning: {message}")


def _fields(group: Any) -> Mapping[str, inspect.Parameter]:  # noqa: ANN401 - a dataclass
    return inspect.signature(group).parameters


def _as_option(parameter: inspect.Parameter) -> inspect.Parameter:
    kind, *names, told = get_args(parameter.annotation)
    if isinstance(told, str):
        flag = [f"--{parameter.name.replace('_', '-')}"] if parameter.default is False else []
        told = typer.Option(*(names or flag), help=told)
    annotation = Annotated[kind, told]  # type: ignore[valid-type]
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=annotation)


def run() -> int:
    """Run the command that was given, and return its exit status."""
    try:
        status: int | None = app(prog_name="wordclass", standalone_mode=False)
    except _UsageError as error:
        said = io.StringIO()
        error.show(said)
        tables.print_to_stderr(*said.getvalue().splitlines())
        return int(error.exit_code)
    except OSError as error:
        if isinstance(error, WordClassError) or error.filename is not None:
            raise  # it was not --help that could not be printed
        raise _cannot_print(error) from error
    return status or 0


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
    if isinstance(sys.stdout, io.TextIOWrapper):  # what its encoding lacks is escaped
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _cannot_print(error) from error


def _cannot_print(error: OSError) -> StorageError:
    _forget_output()
    return StorageError(f"standard output: cannot be written: {error.strerror or error}")


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
            shown, task = escape(tables.one_line(step)), self._bar.task_ids[0]
            self._bar.update(task, description=shown, completed=done, total=total)
        if total is not None and done >= total:
            self._end()

    def _begin(self, step: str, total: int | None) -> None:
        self._step = step
        count = TextColumn("{task.percentage:>3.0f}%" if total else "{task.completed:,.0f}")
        columns = (TextColumn("{task.description}"), BarColumn(), count, TimeElapsedColumn())
        self._bar = Progress(*columns, TimeRemainingColumn(), console=self._console, transient=True)
        self._bar.add_task(escape(tables.one_line(step)), total=total)
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
