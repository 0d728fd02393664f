"""The app: all commands, and the option --version."""

from pathlib import Path
from typing import Annotated

import typer

from wordclass.cli import (  # noqa: F401 - importing these modules registers their commands
    data_commands,
    embedding_commands,
    evaluate_command,
    experiment_commands,
    explain_command,
    export_command,
    learning_commands,
    predict_commands,
    serving_commands,
)
from wordclass.cli.command import Settings, app, command, run

__all__ = ["run"]


@app.callback(invoke_without_command=True)
def _print_version(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        import wordclass

        typer.echo(f"wordclass {wordclass.__version__}")
        raise typer.Exit


@command(
    "Reproduce",
    uses=("force", "seed", "jobs"),
    examples="""
wordclass demo
wordclass demo -o report --vectors glove.6B.100d.txt
""",
)
def demo(
    settings: Settings,
    output: Annotated[Path, "--output", "-o", "FOLDER", "Folder of the report."] = Path(
        "demo-report"
    ),
    vectors: Annotated[Path | None, "Pretrained word vectors to compare with."] = None,
) -> None:
    """Train and compare classifiers on a built-in corpus.

    The command learns embeddings, trains three classifiers, evaluates them on test documents and
    writes a report: an HTML page with a map of the terms, words of the classes and mistakes.
    """
    settings.check_output(output, is_folder=True)

    from wordclass.cli import demo

    result = demo.run(output, vectors, settings.seed, settings.jobs)
    settings.show(result, demo.to_text(result))
