"""Pages of the reference that are written from docstrings and from the commands."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import wordclass as wc
from wordclass import catalogue

# section of the Python reference -> public names; a classifier is named by its catalogue entry
SECTIONS = {
    "Data": ["read_corpus", "load_dataset", "Dataset", "LabelledCorpus", "ShardedCorpus"],
    "Word-class embeddings": ["WordClassEmbeddings", "DocumentVectorizer", "UnseenTerms"],
    "Word vectors": ["WordVectors", "EmbeddingMatrix", "IdBatch", "distill", "pte"],
    "Classifiers": ["classifier", "load", "tune"],
    "Evaluation": ["evaluate", "macro_f1", "micro_f1"],
    "Large corpora and progress": ["engine", "on_progress"],
    "Errors": [
        "WordClassError", "InputError", "FormatError", "StorageError", "MissingDataError",
        "MissingExtraError", "EngineError",
    ],
}  # fmt: skip

RESULT_TYPES = [
    "wordclass.decision.predictions.Predictions",
    "wordclass.decision.explanation.Explanation",
    "wordclass.decision.measures.Scores",
    "wordclass.decision.measures.ClassScores",
    "wordclass.decision.prior_shift.PriorShift",
    "wordclass.embedding.counts.WordClassCounts",
    "wordclass.classifiers.tuning.Tuned",
]

EXTRA_MODULES = ["torch", "dask", "spark"]

LIST_OF_COMMANDS = "list-of-commands.md"


# --- Python -------------------------------------------------------------------------------------


def write_api_pages(folder: Path) -> None:
    """Write one page per section of the Python reference."""
    covered = {name for names in SECTIONS.values() for name in names}
    public = {name for name in wc.__all__ if not name.endswith("Classifier")}
    if missing := public - covered:
        raise ValueError(f"public names without a section: {sorted(missing)}")
    for title, names in SECTIONS.items():
        targets = [f"wordclass.{name}" for name in names]
        write_api_page(folder, title, targets)
    kinds = [type(wc.classifier(name)) for name in catalogue.names("classifiers")]
    targets = [f"{kind.__module__}.{kind.__qualname__}" for kind in kinds]
    write_api_page(folder, "Classes of classifiers", targets)
    write_api_page(folder, "Results", RESULT_TYPES)
    for name in EXTRA_MODULES:
        module = getattr(wc, name)
        targets = [f"wordclass.{name}.{member}" for member in module.__all__]
        write_api_page(folder, f"wordclass.{name}", targets)


def write_api_page(folder: Path, title: str, targets: list[str]) -> None:
    """Write the page of a section: the docstrings of its functions, classes and methods."""
    lines = [title, "=" * len(title), ""]
    for target in targets:
        lines += [*api_entry(target), ""]
    file_name = f"api-{title.lower().replace(' ', '-').replace('.', '-')}.rst"
    (folder / file_name).write_text("\n".join(lines), encoding="utf-8")


def api_entry(target: str) -> Iterator[str]:
    """Yield the lines of one function or class, after a heading of its own."""
    public_name = target.rpartition(".")[2]
    value = find_target(target)
    yield public_name
    yield "-" * len(public_name)
    yield ""
    if not inspect.isclass(value):
        yield f".. autofunction:: {target}"
        return
    if value.__name__ != public_name:  # Sphinx would show an alias without its description
        target = f"{value.__module__}.{value.__qualname__}"
    yield f".. autoclass:: {target}"
    for name in public_members(value):
        kind = "property" if isinstance(getattr(value, name), property) else "method"
        yield ""
        yield f"   .. auto{kind}:: {target}.{name}"


def find_target(target: str) -> Any:  # noqa: ANN401 - any public object
    """Return the object with a dotted name."""
    module_name, _, name = target.rpartition(".")
    if module_name == "wordclass":
        return getattr(wc, name)
    if module_name.removeprefix("wordclass.") in EXTRA_MODULES:
        return getattr(getattr(wc, module_name.removeprefix("wordclass.")), name)
    return getattr(__import__(module_name, fromlist=[name]), name)


def public_members(owner: type) -> list[str]:
    """Return the methods and properties that classes of this package define."""
    ours = [base for base in owner.__mro__ if base.__module__.startswith("wordclass")]
    names = {
        name: None
        for base in reversed(ours)
        for name, member in vars(base).items()
        if not name.startswith("_") and is_documented(member)
    }
    return [*names]


def is_documented(member: object) -> bool:
    """Return True for a function or property that has a docstring."""
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    if not (inspect.isfunction(member) or isinstance(member, property)):
        return False
    return bool(member.__doc__)


# --- commands -----------------------------------------------------------------------------------


def write_command_pages(folder: Path) -> None:
    """Write one page per command, from the help that the command itself prints, and their list."""
    import typer

    from wordclass.cli.app import app

    sections: dict[str, list[str]] = {}
    group = typer.main.get_command(app)
    for words, command in walk_commands(group, ()):
        title = " ".join(["wordclass", *words])
        name = f"command-{'-'.join(words)}"
        lines = [f"# {title}", "", *command_lines(title, command)]
        (folder / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        summary = inspect.cleandoc(command.help or "").splitlines()[0]
        section = group.commands[words[0]].rich_help_panel or "Commands"
        row = f"| [{title}](generated/{name}.md) | {cell(summary)} |"
        sections.setdefault(str(section), []).append(row)
    (folder / LIST_OF_COMMANDS).write_text("\n".join(list_lines(sections)), encoding="utf-8")


def list_lines(sections: dict[str, list[str]]) -> Iterator[str]:
    """Yield tables of the commands by section."""
    for title, rows in sections.items():
        yield f"## {title}"
        yield ""
        yield "| command | what it does |"
        yield "|---|---|"
        yield from rows
        yield ""


def walk_commands(group: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401 - typer has no public types for these
    """Yield the words and the object of every command below a group."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from walk_commands(command, (*words, name))
        else:
            yield (*words, name), command


def command_lines(title: str, command: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield the description of a command and tables of its arguments and options."""
    from wordclass.cli.help import describe_argument

    context = command.make_context(title, [], resilient_parsing=True)
    yield inspect.cleandoc(command.help or "")
    yield ""
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{title} {usage}\n```"
    rows: dict[str, list[str]] = {}
    for parameter in command.params:
        is_argument = parameter.param_type_name == "argument"
        record = describe_argument(parameter) if is_argument else parameter.get_help_record(context)
        if record is not None and not parameter.hidden:
            heading = "Arguments" if is_argument else parameter.rich_help_panel or "Options"
            rows.setdefault(heading, []).append(f"| `{cell(record[0])}` | {cell(record[1])} |")
    for heading, lines in rows.items():
        yield ""
        yield f"## {heading}"
        yield ""
        yield "| name | meaning |"
        yield "|---|---|"
        yield from lines
    if command.epilog:
        yield ""
        yield "## Examples"
        yield ""
        yield f"```text\n{inspect.cleandoc(command.epilog)}\n```"


def cell(text: str) -> str:
    """Return a text that is safe inside a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
