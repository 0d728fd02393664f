"""Definition of commands: a function with annotated parameters becomes a command of the app."""

import functools
import inspect
import io
import shlex
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

import typer
from typer.models import ArgumentInfo, OptionInfo

from wordclass import progress, tables
from wordclass.cli import output
from wordclass.cli.help import GroupedCommands, GroupTitle, HelpWithExamples
from wordclass.cli.progress_bar import ProgressBar
from wordclass.errors import InputError, WordClassError
from wordclass.storage import files

Shared = Literal["force", "seed", "jobs", "encoding"]

_EXIT_INTERRUPTED = 130
_METAVARS = {int: "N", float: "NUMBER", Path: "FILE", str: "NAME"}
_UsageError: Any = typer.BadParameter.__base__  # which typer does not export

app = typer.Typer(
    cls=GroupedCommands,
    help="Classify texts with word-class embeddings: word vectors whose dimensions are classes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class Settings:
    """Options that many commands share."""

    SECTION: ClassVar[str] = "General options"
    force: Annotated[bool, "Overwrite existing output."] = False
    seed: Annotated[int, "Seed of the random number generators."] = 0
    jobs: Annotated[
        int, "--jobs", "-j", "Number of parallel threads or processes. Use -1 for all cores."
    ] = 1
    encoding: Annotated[str, "Encoding of text files."] = "utf-8"
    quiet: Annotated[bool, "Show no progress and no messages."] = False
    as_json: Annotated[bool, "--json", "Print one JSON object on standard output."] = False

    def check_output(self, path: Path | None, *, is_folder: bool = False) -> None:
        """Raise an error before any work is done if an output cannot or must not be written."""
        if path is None:
            return
        if files.path_exists(path) and not self.force:
            raise InputError(f"{path} exists", hint="use --force to overwrite it")
        files.check_writable(path, is_folder=is_folder)

    def say(self, *lines: str) -> None:
        """Print messages to standard error, unless the command is quiet."""
        if not self.quiet:
            progress.clear()  # a progress bar would wrap the lines that are written above it
            tables.print_to_stderr(*lines)

    def report(self, result: dict[str, Any], message: str) -> None:
        """Print a message for people, and the result as JSON if that was requested."""
        if self.as_json:
            self.show(result, "")
        self.say(message)

    def show(self, result: dict[str, Any], text: str) -> None:
        """Print a result on standard output, as JSON if that was requested, otherwise as text."""
        output.print_result(result, text, as_json=self.as_json)


def command(
    group: GroupTitle | None = None,
    *,
    uses: tuple[Shared, ...] = (),
    examples: str = "",
    within: typer.Typer = app,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that makes a function a command of the app.

    The parameters of the function are the arguments and options of the command. A parameter whose
    type is a dataclass stands for all fields of the dataclass. `Annotated[int, "--size", "N",
    "Number of rows."]` is an option with its names, its metavar and its help. Names and metavar may
    be left out. A parameter without a name and without a default is an argument. An option that is
    False by default is a flag without an opposite.

    Parameters
    ----------
    group : str, optional
        The title of the section of `--help` that lists the command.
    uses : tuple of str, default=()
        The fields of `Settings` that are options of this command, besides --quiet and --json.
    examples : str, default=""
        Lines that `--help` shows as examples.
    within : typer.Typer
        The group of commands, such as `wordclass experiment`. By default the app itself.
    """

    def register(run: Callable[..., None]) -> Callable[..., None]:
        wrapper = _wrap(run, (*uses, "quiet", "as_json"))
        name = run.__name__.rstrip("_").replace("_", "-")
        decorator = within.command(
            name, cls=HelpWithExamples, epilog=examples.strip("\n"), rich_help_panel=group
        )
        return decorator(wrapper)

    return register


def _wrap(run: Callable[..., None], shared_fields: tuple[str, ...]) -> Callable[..., None]:
    """Return a function whose signature has one parameter per option, as typer needs it."""
    signature = inspect.signature(run, eval_str=True).parameters.values()
    dataclasses: dict[str, Any] = {
        parameter.name: parameter.annotation
        for parameter in signature
        if is_dataclass(parameter.annotation)
    }
    direct = [parameter for parameter in signature if parameter.name not in dataclasses]
    expanded = {
        name: _fields(kind, shared_fields if kind is Settings else None)
        for name, kind in dataclasses.items()
    }
    parameters = [_to_typer(parameter) for parameter in direct]
    for name, fields in expanded.items():
        parameters += [
            _to_typer(parameter, _section(dataclasses[name], field))
            for field, parameter in fields.items()
        ]

    @functools.wraps(run)
    def wrapper(**values: Any) -> None:  # noqa: ANN401 - typer has checked them
        for name, fields in expanded.items():
            values[name] = dataclasses[name](**{field: values.pop(field) for field in fields})
        settings: Settings = values["settings"]
        try:
            with (
                ProgressBar(is_shown=not settings.quiet).listening(),
                warnings.catch_warnings(),
            ):
                warnings.simplefilter("default", UserWarning)
                warnings.showwarning = functools.partial(_show_warning, settings)
                run(**values)
        except KeyboardInterrupt:
            # finished files are complete, and unfinished ones were never visible
            tables.print_to_stderr("wordclass: stopped")
            raise typer.Exit(_EXIT_INTERRUPTED) from None
        except BrokenPipeError:
            # the reader of the output, such as `head`, has read enough
            output.discard_output()
            raise typer.Exit(0) from None

    vars(wrapper)["__signature__"] = inspect.Signature(parameters)
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapper


def _show_warning(
    settings: Settings,
    message: Warning | str,
    category: type[Warning],
    *_place: object,
) -> None:
    """Print a warning as one line, or a note if columns were guessed."""
    from wordclass.corpus.selection import ColumnGuessWarning

    is_note = issubclass(category, ColumnGuessWarning)
    settings.say(str(message) if is_note else f"warning: {message}")


def _fields(kind: Any, names: tuple[str, ...] | None) -> Mapping[str, inspect.Parameter]:  # noqa: ANN401
    parameters = inspect.signature(kind, eval_str=True).parameters
    return parameters if names is None else {name: parameters[name] for name in names}


def _section(kind: type, field: str) -> str | None:
    """Return the section of `--help` that lists a field, which its own dataclass names."""
    owner = next(base for base in kind.__mro__ if field in inspect.get_annotations(base))
    return getattr(owner, "SECTION", None)


def _to_typer(parameter: inspect.Parameter, section: str | None = None) -> inspect.Parameter:
    """Return a parameter with the annotation that typer understands."""
    kind, *annotations = get_args(parameter.annotation)
    info = annotations[-1]
    if not isinstance(info, ArgumentInfo | OptionInfo):
        info = _describe(parameter, annotations)
    info.rich_help_panel = section
    if info.metavar is None and _METAVARS.get(_item_type(kind)):
        info.metavar = _METAVARS[_item_type(kind)]
    annotation = Annotated[kind, info]  # type: ignore[valid-type]
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=annotation)


def _describe(parameter: inspect.Parameter, annotations: list[Any]) -> ArgumentInfo | OptionInfo:
    """Return the description of an option or argument from its annotations."""
    *strings, help_text = [text for text in annotations if isinstance(text, str)]
    names = [text for text in strings if text.startswith("-")]
    metavar = next((text for text in strings if not text.startswith("-")), None)
    complete = next((item for item in annotations if callable(item)), None)
    if parameter.default is inspect.Parameter.empty and not names:
        argument: ArgumentInfo = typer.Argument(
            metavar=metavar, help=help_text, autocompletion=complete
        )
        return argument
    flag = [f"--{parameter.name.replace('_', '-')}"] if parameter.default is False else []
    option: OptionInfo = typer.Option(
        *(names or flag), metavar=metavar, help=help_text, autocompletion=complete
    )
    return option


def _item_type(kind: Any) -> Any:  # noqa: ANN401 - a type
    """Return the type of the value of an option, without None and lists."""
    if get_origin(kind) in (Union, UnionType):
        (kind,) = [choice for choice in get_args(kind) if choice is not type(None)]
    return get_args(kind)[0] if get_origin(kind) is list else kind


def run() -> int:
    """Run the command in the arguments of the process and return its exit status."""
    try:
        status: int | None = app(prog_name="wordclass", standalone_mode=False)
    except _UsageError as error:
        message = io.StringIO()
        error.show(message)
        tables.print_to_stderr(*message.getvalue().splitlines())
        return int(error.exit_code)
    except OSError as error:
        if isinstance(error, WordClassError) or error.filename is not None:
            raise
        raise output.cannot_print(error) from error  # typer could not print the help
    return status or 0


def current_command() -> str:
    """Return the running command as one would type it in a shell."""
    return shlex.join(["wordclass", *sys.argv[1:]])
