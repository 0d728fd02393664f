"""All commands: those about embeddings, training and models, and the few that are defined here."""

from pathlib import Path
from typing import Annotated

import typer

from wordclass import catalogue
from wordclass.cli import (  # noqa: F401 - importing them registers their commands
    embedding_commands,
    experiment_commands,
    learning_commands,
    model_commands,
    serving_commands,
)
from wordclass.cli.command import Settings, app, command, run
from wordclass.errors import InputError
from wordclass.storage.files import data_home

__all__ = ["run"]


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        import wordclass

        typer.echo(f"wordclass {wordclass.__version__}")
        raise typer.Exit


@command
def info(
    settings: Settings,
    path: Annotated[Path, typer.Argument(help="A model, a .wce file, or word vectors.")],
) -> None:
    """Tell what a saved file is, and with which settings it was made."""
    from wordclass.cli.file_info import describe
    from wordclass.tables import align_columns

    facts = describe(path)
    rows = [(name, _as_text(value)) for name, value in facts.items()]
    settings.show(facts, "\n".join(align_columns(rows)))


@command
def demo(
    settings: Settings,
    output: Annotated[Path, "--output", "-o", "Folder of the report."] = Path("demo-report"),
    vectors: Annotated[Path | None, "Pretrained vectors to put beside the word-class ones."] = None,
) -> None:
    """Do the main job end to end on a corpus that is always there, and write a report."""
    settings.check_output(output, is_folder=True)

    from wordclass.cli import demo

    facts = demo.run(output, vectors, settings.seed, settings.jobs)
    settings.show(facts, demo.to_text(facts))


@command
def datasets(
    settings: Settings,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show all about this one.")
    ] = None,
    download: Annotated[bool, "Fetch it, where its owner allows that."] = False,
) -> None:
    """Show what data sets there are, which are here, and how to get the rest."""
    from wordclass.cli.dataset_overview import look_up, look_up_all, to_table, to_text

    home = data_home()
    if name is None:
        if download:
            raise InputError("--download needs the name of a data set: wordclass datasets NAME")
        everything = look_up_all(home)
        settings.show({"datasets": everything}, to_table(everything))
        return
    if download:
        _download(settings, name, home)
    facts = look_up(name, home)
    settings.show(facts, to_text(facts, home))
    if download and not facts["is_here"]:
        raise InputError(f"{name} cannot be downloaded as a whole: {facts['how_to_get']}")


@command
def cache(
    settings: Settings,
    clear: Annotated[bool, "Remove it all."] = False,
) -> None:
    """Show which vectors of texts are kept on disk, so that no encoder makes them twice."""
    from wordclass.options import format_bytes
    from wordclass.sentence import cache as sentence_cache
    from wordclass.tables import align_columns

    home, limit = sentence_cache.cache_folder(), sentence_cache.max_cache_bytes()
    files = sentence_cache.describe_files()
    result = {"home": str(home), "limit_bytes": limit, "files": files}
    if clear:
        n_bytes = sentence_cache.clear()
        left = sentence_cache.cache_files()
        told = f"{home}: {len(files) - len(left)} files removed, {format_bytes(n_bytes)}"
        settings.show({**result, "files": [], "removed_bytes": n_bytes}, told)
        if left:
            raise InputError(f"{left[0]}: cannot be removed")
        return
    total = sum(each["n_bytes"] for each in files)
    rows = [("encoder", "vectors", "size", "last use", "file")] if files else []
    for each in files:
        n_vectors = "" if each["n_vectors"] is None else f"{each['n_vectors']:,}"
        used = each["last_use"][:16].replace("T", " ")
        rows.append(
            (each["encoder"] or "-", n_vectors, format_bytes(each["n_bytes"]), used, each["file"])
        )
    last = f"{format_bytes(total)} of at most {format_bytes(limit)} in {home}"
    settings.show({**result, "total_bytes": total}, "\n".join([*align_columns(rows), last]))


def _download(settings: Settings, name: str, home: Path) -> None:
    source = catalogue.entry("datasets", name).SOURCE
    if source.is_built or (source.is_complete_download and source.find(home)):
        settings.say(f"{name} is here already, nothing to download")
    else:
        settings.say(f"fetched {source.fetch(home)}")


def _as_text(value: object) -> str:
    if isinstance(value, list):
        shown = ", ".join(str(each) for each in value[:12])
        return shown + (f", ... ({len(value)} in all)" if len(value) > 12 else "")
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
