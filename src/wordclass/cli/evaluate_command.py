"""The command `evaluate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordclass import catalogue
from wordclass.cli.arguments import ModelFolder
from wordclass.cli.command import Settings, command
from wordclass.cli.corpora import Corpus, EngineOptions, report_skipped
from wordclass.cli.models import EncoderPath, EscapeFormulas, load_model, read_holdout
from wordclass.errors import InputError

if TYPE_CHECKING:
    from wordclass.batch.evaluation import Evaluation

_MAX_SHIFTED_CLASSES = 3


@command(
    "Use",
    uses=("force", "jobs", "encoding"),
    examples="""
wordclass evaluate model/ test.csv
wordclass evaluate model/ news.csv --holdout
wordclass evaluate model/ test.csv --errors errors.csv --confusion confusion.png
wordclass evaluate model/ test.csv --threshold 0.8 --json
""",
)
def evaluate(
    model: ModelFolder,
    corpus: Corpus,
    engine_options: EngineOptions,
    settings: Settings,
    n: Annotated[
        int, typer.Option("-n", metavar="N", help="Number of best and of worst classes to show.")
    ] = 5,
    per_class: Annotated[bool, "Show the scores of all classes."] = False,
    paper: Annotated[
        bool, "Show the macro F1 of the paper, where the F1 of a class without cases is 1."
    ] = False,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="P",
            help="Predict the classes with at least this probability.",
        ),
    ] = None,
    strict_labels: Annotated[bool, "Stop if a label is unknown to the model."] = False,
    holdout: Annotated[
        bool, "Evaluate only on the documents that train --holdout held out."
    ] = False,
    confusion: Annotated[
        Path | None, "FILE.png", "Draw which classes are confused with which."
    ] = None,
    errors: Annotated[
        Path | None,
        "FILE",
        "Write wrong predictions, most confident first: .csv, .xlsx, .jsonl or .parquet.",
    ] = None,
    escape_formulas: EscapeFormulas = False,
    encoder: EncoderPath = None,
) -> None:
    """Measure a model on labelled texts.

    The report compares the model with always predicting the most frequent class. By default, the
    test split is used if there is one.
    """
    settings.check_output(confusion)
    settings.check_output(errors)

    from wordclass.batch.evaluation import evaluate_model, write_errors
    from wordclass.batch.row_files import check_output
    from wordclass.batch.sharded import ShardEvaluator, evaluate_shards

    check_output(errors, escape_formulas=escape_formulas)
    loaded = load_model(model, encoder)
    held_out = read_holdout(model, loaded) if holdout else None
    is_multilabel = loaded.codeframe_.is_multilabel
    if confusion is not None and is_multilabel:
        raise InputError(
            "--confusion is for single-label models, and this one is multilabel",
            hint="leave --confusion out; --per-class shows each class",
        )
    split = "train" if holdout else "test"
    shards = corpus.shards(engine_options, split, settings.encoding, is_multilabel, loaded)
    if shards is not None:
        if errors is not None or confusion is not None:
            raise InputError(
                "--errors and --confusion need a corpus in a single file",
                hint="leave them out, or evaluate one file without --engine",
            )
        evaluator = ShardEvaluator(
            shards.without_items(),
            loaded,
            strict=strict_labels,
            holdout=held_out,
            threshold=threshold,
        )
        with engine_options.open_engine(settings) as engine:
            summary, evaluation = evaluate_shards(shards, engine, evaluator)
        report_skipped(settings, summary)
    else:
        documents = corpus.read(
            split, settings.encoding, is_multilabel, loaded, keep_rows=errors is not None
        )
        if held_out is not None:
            documents = documents.part(held_out.contains(documents.texts))
        evaluation = evaluate_model(loaded, documents, strict=strict_labels, threshold=threshold)
        if confusion is not None:
            catalogue.import_extra("matplotlib", "to draw a picture")
            from wordclass.explorer.pictures import draw_confusion

            draw_confusion(
                confusion, evaluation.true, evaluation.predicted, evaluation.scores.classes
            )
        if errors is not None:
            n_errors = write_errors(
                errors, loaded, documents, evaluation, escape_formulas=escape_formulas
            )
            settings.say(f"{errors}: {n_errors:,} documents with wrong or missing labels")
    _report_warnings(settings, loaded, evaluation)
    n_shown = len(evaluation.scores.classes) if per_class else n
    settings.show(
        evaluation.to_dict(with_classes=per_class), evaluation.to_text(n_shown, paper=paper)
    )


def _report_warnings(
    settings: Settings,
    model: Any,  # noqa: ANN401 - a classifier
    evaluation: "Evaluation",
) -> None:
    """Warn if the scores are too good, incomplete, or about other class frequencies."""
    from wordclass.decision.prior_shift import MIN_DOCS_FOR_SHARES

    scores = evaluation.scores
    n_docs = scores.n_docs
    if evaluation.n_shared:
        settings.say(
            f"warning: the model was trained on {evaluation.n_shared:,} of these {n_docs:,} "
            "documents, so the scores are too high"
        )
    if scores.n_dropped:
        settings.say(
            f"warning: left out {scores.n_dropped:,} labels that the model does not know; "
            "use --strict-labels to make this an error"
        )
    if shifted := evaluation.shifted_classes():
        changes = ", ".join(
            f"{name} {here:.1%} instead of {before:.1%}"
            for name, before, here in shifted[:_MAX_SHIFTED_CLASSES]
        )
        can_adjust = model.is_calibrated and n_docs >= MIN_DOCS_FOR_SHARES
        hint = "; use predict --adjust-priors to account for that" if can_adjust else ""
        settings.say(f"warning: class frequencies differ from training: {changes}{hint}")
