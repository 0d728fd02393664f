"""The command `export`."""

from pathlib import Path
from typing import Annotated

from wordclass import catalogue
from wordclass.cli.arguments import ModelFolder
from wordclass.cli.command import Settings, command
from wordclass.errors import InputError


@command(
    "Use",
    uses=("force",),
    examples="""
wordclass export model/ model.onnx
wordclass export model/ model.pt2
wordclass export model/ web/ --format web
""",
)
def export(
    settings: Settings,
    model: ModelFolder,
    output: Annotated[Path, "OUT", "Output file, .onnx or .pt2. With --format web, a folder."],
    format_: Annotated[
        str | None,
        "--format",
        "FORMAT",
        "Use web to write a linear or nearest model for JavaScript.",
    ] = None,
) -> None:
    """Export a model to use it without wordclass.

    A network is written as ONNX or for torch, and OUT.json describes its input and its output
    labels. With --format web, a linear or nearest model is written as model.bin with the JavaScript
    module wordclass.mjs, which reads it in browsers, Node and Deno.
    """
    from wordclass.storage import models

    if format_ is not None:
        _export_web(settings, model, output, format_)
        return
    name = models.read_manifest(model)["classifier"]
    if not hasattr(catalogue.entry("classifiers", name).make, "export"):
        raise InputError(
            f"{model}: a {name!r} model has no network to export",
            expected="a cnn, lstm, attention or leam model",
        )
    from wordclass.network.export import description_path, export_format

    format_name = export_format(output)
    description = description_path(output)
    settings.check_output(output)
    settings.check_output(description)
    loaded = models.load(model)
    loaded.export(output)
    n_bytes = output.stat().st_size
    n_classes = len(loaded.classes_)
    n_rows = len(loaded.embedding_)
    result = {
        "output": str(output),
        "description": str(description),
        "format": format_name,
        "classifier": loaded.name,
        "n_classes": n_classes,
        "n_rows": n_rows,
        "bytes": n_bytes,
    }
    settings.report(
        result,
        f"{output}: {loaded.name} with {n_classes:,} classes and {n_rows:,} vectors, "
        f"{n_bytes:,} bytes; {description} describes its use",
    )


def _export_web(settings: Settings, model: Path, output: Path, format_name: str) -> None:
    """Write a linear or nearest model as a folder for JavaScript."""
    from wordclass.explorer.portable import export_web
    from wordclass.storage import models

    if format_name != "web":
        raise InputError(f"--format is {format_name!r}", expected="'web'")
    settings.check_output(output, is_folder=True)
    loaded = models.load(model)
    n_bytes = export_web(loaded, output)
    n_classes = len(loaded.classes_)
    result = {
        "output": str(output),
        "format": "web",
        "classifier": loaded.name,
        "n_classes": n_classes,
        "bytes": n_bytes,
    }
    settings.report(
        result,
        f"{output}: {loaded.name} of {n_classes:,} classes, {n_bytes:,} bytes; "
        "wordclass.mjs reads model.bin",
    )
