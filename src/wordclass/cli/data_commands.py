"""The commands that show what is on disk: datasets, cache, info."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordclass import catalogue
from wordclass.cli.command import Settings, command
from wordclass.cli.completion import entry_names
from wordclass.errors import InputError, StorageError
from wordclass.storage.files import data_home

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_ITEMS_SHOWN = 12


@command(
    "Data",
    examples="""
wordclass datasets
wordclass datasets reuters21578 --download
wordclass train dataset:reuters21578 -o model/
""",
)
def datasets(
    settings: Settings,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Dataset to show in detail.",
            autocompletion=entry_names("datasets"),
        ),
    ] = None,
    download: Annotated[bool, "Download the dataset if its owner allows that."] = False,
) -> None:
    """List the available datasets, or show and download one.

    The list says which datasets are installed, and how to get the others.
    """
    from wordclass.cli.dataset_overview import look_up, look_up_all, to_table, to_text

    home = data_home()
    if name is None:
        if download:
            raise InputError(
                "--download needs a dataset", hint="use wordclass datasets NAME --download"
            )
        descriptions = look_up_all(home)
        settings.show({"datasets": descriptions}, to_table(descriptions))
        return
    if download:
        _download(settings, name, home)
    description = look_up(name, home)
    settings.show(description, to_text(description, home))
    if download and not description["is_here"]:
        raise InputError(
            f"{name} cannot be downloaded completely", hint=str(description["how_to_get"])
        )


def _download(settings: Settings, name: str, home: Path) -> None:
    source = catalogue.entry("datasets", name).SOURCE
    if source.is_built or (source.is_complete_download and source.find(home)):
        settings.say(f"{name} is already installed")
    else:
        settings.say(f"downloaded {source.fetch(home)}")


@command(
    "Data",
    examples="""
wordclass cache
wordclass cache --clear
""",
)
def cache(
    settings: Settings,
    clear: Annotated[bool, "Delete the cache."] = False,
) -> None:
    """Show or delete the cached vectors of texts.

    Vectors that a sentence encoder has computed are kept on disk, so that they are not computed
    again.
    """
    from wordclass.options import format_bytes
    from wordclass.sentence import cache as sentence_cache

    folder = sentence_cache.cache_folder()
    limit = sentence_cache.max_cache_bytes()
    files = sentence_cache.describe_files()
    result = {"home": str(folder), "limit_bytes": limit, "files": files}
    if clear:
        n_bytes = sentence_cache.clear()
        remaining = sentence_cache.cache_files()
        n_deleted = len(files) - len(remaining)
        settings.show(
            {**result, "files": [], "removed_bytes": n_bytes},
            f"{folder}: deleted {n_deleted} files, {format_bytes(n_bytes)}",
        )
        if remaining:
            raise StorageError(
                f"{remaining[0]}: cannot be deleted", hint="check who uses or owns the file"
            )
        return
    total = sum(file["n_bytes"] for file in files)
    summary = f"{format_bytes(total)} of at most {format_bytes(limit)} in {folder}"
    settings.show({**result, "total_bytes": total}, "\n".join([*_list_files(files), summary]))


def _list_files(files: "Sequence[dict[str, object]]") -> list[str]:
    from wordclass.options import format_bytes
    from wordclass.tables import align_columns

    if not files:
        return []
    rows = [("encoder", "vectors", "size", "last use", "file")]
    for file in files:
        n_vectors = "" if file["n_vectors"] is None else f"{file['n_vectors']:,}"
        last_use = str(file["last_use"])[:16].replace("T", " ")
        size = format_bytes(int(str(file["n_bytes"])))
        rows.append((str(file["encoder"] or "-"), n_vectors, size, last_use, str(file["file"])))
    return align_columns(rows)


@command(
    "Look",
    examples="""
wordclass info model/
wordclass info news.wce --json
""",
)
def info(
    settings: Settings,
    path: Annotated[Path, "FILE", "Model folder, .wce file or word vectors."],
) -> None:
    """Show the type, sizes and settings of a saved file."""
    from wordclass.cli.file_info import describe
    from wordclass.tables import align_columns

    description = describe(path)
    rows = [(name, _format_value(value)) for name, value in description.items()]
    settings.show(description, "\n".join(align_columns(rows)))


def _format_value(value: object) -> str:
    if isinstance(value, list):
        items = ", ".join(str(item) for item in value[:_MAX_ITEMS_SHOWN])
        return items + (f", ... ({len(value)} in all)" if len(value) > _MAX_ITEMS_SHOWN else "")
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
