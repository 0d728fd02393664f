"""The options that every command has, given to it as one value."""

import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from wordclass import progress, storage
from wordclass.cli.progress_bar import ProgressBar
from wordclass.errors import InputError, StorageError


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

    def check_output(self, path: Path) -> None:
        """Refuse to overwrite, before any work is done."""
        if storage.is_there(path) and not self.force:
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


def command(app: typer.Typer) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a command of the app; its first parameter is the `Settings`."""

    def register(run: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(run, eval_str=True).parameters.values())[1:]
        shared = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=field.type,
            )
            for field in fields(Settings)
        ]

        @functools.wraps(run)
        def wrapper(**given: Any) -> None:  # noqa: ANN401 - typer has checked them
            settings = Settings(**{each.name: given.pop(each.name) for each in shared})
            try:
                with ProgressBar(is_shown=not settings.quiet):
                    run(settings, **given)
            except KeyboardInterrupt:
                # finished files are complete, unfinished ones were never there
                sys.stderr.write("wordclass: stopped; run the same command again to go on\n")
                raise typer.Exit(130) from None
            except BrokenPipeError:
                # whoever read our output (`| head`) has seen enough
                _forget_output()
                raise typer.Exit(0) from None

        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own] + shared
        vars(wrapper)["__signature__"] = inspect.Signature(parameters)
        wrapper.__annotations__ = {each.name: each.annotation for each in parameters}
        return app.command()(wrapper)

    return register
