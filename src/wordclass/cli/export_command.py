"""The command that writes a network for programs without wordclass."""

from pathlib import Path
from typing import Annotated

import typer

from wordclass.cli.arguments import Model
from wordclass.cli.settings import Settings, command
from wordclass.errors import InputError


def add_to(app: typer.Typer) -> None:
    """Make the function below a command of the app."""
    command(app)(export)


def export(
    settings: Settings,
    model: Model,
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="Where to write: a .onnx or .pt2 file.")
    ],
) -> None:
    """Write the network of a model as ONNX, or for torch, to use it without wordclass.

    OUT.json says how texts become its input, and its output labels.
    """
    _check_kind(model)

    from wordclass import persistence
    from wordclass.network.export import beside, format_of

    chosen, described = format_of(output), beside(output)
    for path in (output, described):
        settings.check_output(path)
    loaded = persistence.load(model)
    loaded.export(output)
    result = {
        "output": str(output),
        "description": str(described),
        "format": chosen,
        "classifier": loaded.name,
        "n_classes": len(loaded.classes_),
        "n_rows": len(loaded.embedding_),
        "bytes": output.stat().st_size,
    }
    settings.tell(
        result,
        f"{output}: {loaded.name} of {result['n_classes']:,} classes and {result['n_rows']:,} "
        f"rows of vectors, {result['bytes']:,} bytes; {described} says how to use it",
    )


def _check_kind(model: Path) -> None:
    """Refuse a model that has no network, before its arrays are read."""
    from wordclass import naming, persistence

    name = persistence.read_manifest(model)["classifier"]
    if not hasattr(naming.entry("classifiers", name).make, "export"):
        raise InputError(
            f"{model}: a {name!r} model has no network to export; "
            "expected one of cnn, lstm, attention or leam"
        )
