"""The command that chooses the settings of a classifier."""

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordclass.cli import arguments
from wordclass.cli.arguments import (
    ClassifierName,
    Data,
    LabelField,
    Multilabel,
    Output,
    Separator,
    Set,
    Split,
    TextField,
    Vectors,
)
from wordclass.cli.corpora import CorpusChoice
from wordclass.cli.settings import Settings, command

if TYPE_CHECKING:
    from wordclass.tuning import Trial, Tuned


def add_to(app: typer.Typer) -> None:
    """Make the function below a command of the app."""
    command(app)(tune)


def tune(
    settings: Settings,
    data: Data,
    output: Output,
    classifier: ClassifierName = "linear",
    budget: Annotated[
        str, typer.Option(help="Time for all trials: 90s, 10m, 1h; none: try everything.")
    ] = "10m",
    target: Annotated[
        str, typer.Option(help="What is best: macro_f1, micro_f1, accuracy, or both F1.")
    ] = "both",
    grid: Annotated[
        list[str] | None,
        typer.Option(help="What to choose from, instead of the classifier's own: name=v1,v2."),
    ] = None,
    set_: Set = None,
    vectors: Vectors = None,
    validation: Annotated[float, typer.Option(help="Share of the documents that decides.")] = 0.2,
    split: Split = None,
    text_field: TextField = None,
    label_field: LabelField = None,
    label_separator: Separator = ";",
    multilabel: Multilabel = None,
) -> None:
    """Choose the settings of a classifier on held-out documents, and train it on all.

    Each trial is added to OUTPUT.trials.jsonl as soon as it is over; the same command goes on from
    there, whatever ended it.
    """
    settings.check_output(output)
    start = time.perf_counter()
    n_seconds = arguments.seconds(budget)

    from wordclass import persistence
    from wordclass.tuning import tune
    from wordclass.word_vectors import WordVectors

    persistence.check_replaceable(output)
    journal = journal_of(output)
    choice = CorpusChoice(
        data, split, text_field, label_field, label_separator, settings.encoding, multilabel
    )
    corpus = choice.read(usual_split="train")
    teller = _Teller(settings, journal)
    try:
        tuned = tune(
            corpus.texts,
            corpus.labels,
            classifier,
            grid=arguments.named_choices(grid or []),
            options=arguments.named_values(set_ or []),
            vectors=None if vectors is None else WordVectors.load(vectors),
            budget=n_seconds,
            target=target,
            validation=validation,
            journal=journal,
            tell=teller.tell,
            seed=settings.seed,
            n_jobs=settings.jobs,
        )
    except KeyboardInterrupt:
        teller.say_how_to_go_on()
        raise
    tuned.model.save(output, scores={"tuning": tuned.to_dict()})
    result = {
        "output": str(output),
        "trials_file": str(journal),
        "classifier": classifier,
        "n_docs": len(corpus),
        "n_classes": len(tuned.model.classes_),
        "seconds": round(time.perf_counter() - start, 3),
        **tuned.to_dict(),
        "trials": [trial.to_dict() for trial in tuned.trials],
    }
    settings.show(result, _text(tuned, output, journal))


def journal_of(output: Path) -> Path:
    """Return where the trials for a model are kept: beside its folder, which holds no others."""
    return arguments.beside(output, "trials.jsonl")


class _Teller:
    """Tells the user of each trial, and where they are kept."""

    def __init__(self, settings: Settings, journal: Path) -> None:
        self.settings, self.journal = settings, journal
        self.n_told = 0

    def tell(self, trial: "Trial") -> None:
        self.n_told += 1
        scores = f"macro F1 {trial.macro_f1:.4f}  micro F1 {trial.micro_f1:.4f}"
        found = scores if trial.is_done else f"failed: {trial.message}"
        again = ", from the journal" if trial.is_resumed else ""
        shown = as_text(trial.resolved)
        self.settings.say(f"trial {self.n_told}: {found}  ({trial.seconds:.1f} s{again})  {shown}")

    def say_how_to_go_on(self) -> None:
        command = shlex.join(["wordclass", *sys.argv[1:]])
        self.settings.say(
            f"\n{self.n_told} finished trials are kept in {self.journal}. To go on from there:\n"
            f"  {command}\nWith --budget 0s, the best of them becomes the model."
        )


def as_text(settings: dict[str, Any]) -> str:
    """Write settings as they would be given to `--set`."""
    return " ".join(f"{name}={_value(value)}" for name, value in settings.items())


def _value(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _text(tuned: "Tuned", output: Path, journal: Path) -> str:
    best = tuned.ranked[0]
    rows = {
        "chosen": as_text(tuned.best),
        "validation": f"macro F1 {best.macro_f1:.4f}, micro F1 {best.micro_f1:.4f}, accuracy "
        f"{best.accuracy:.4f} on {tuned.n_validation:,} documents",
        "trials": f"{len(tuned.trials)}, kept in {journal}",
        "ended": tuned.ended,
        "model": f"{output}, fitted on all {tuned.n_train + tuned.n_validation:,} documents",
    }
    return "\n".join(f"{name:<10}  {value}" for name, value in rows.items())
