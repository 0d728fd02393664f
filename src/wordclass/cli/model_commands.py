"""The commands about models: train, evaluate, predict, explain."""

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from wordclass.cli import arguments
from wordclass.cli.arguments import (
    ClassifierName,
    Data,
    LabelField,
    Model,
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
from wordclass.errors import InputError


def add_to(app: typer.Typer) -> None:
    """Make the functions below commands of the app."""
    for run in (train, evaluate, predict, explain):
        command(app)(run)


def train(
    settings: Settings,
    data: Data,
    output: Output,
    classifier: ClassifierName = "linear",
    vectors: Vectors = None,
    set_: Set = None,
    holdout: Annotated[
        float | None, typer.Option(help="Share of the documents to keep aside and measure on.")
    ] = None,
    split: Split = None,
    text_field: TextField = None,
    label_field: LabelField = None,
    label_separator: Separator = ";",
    multilabel: Multilabel = None,
) -> None:
    """Train a classifier on labelled texts.

    A network keeps the state of its training in OUTPUT.checkpoint until the model is written; the
    same command goes on from there, whatever ended it.
    """
    settings.check_output(output)
    start = time.perf_counter()

    from wordclass import persistence
    from wordclass.cli.training import KeptTraining, make_classifier, train_on
    from wordclass.folds import Holdout

    persistence.check_replaceable(output)
    aside = None if holdout is None else Holdout(holdout, settings.seed)
    options = arguments.named_values(set_ or [])
    checkpoint = arguments.beside(output, "checkpoint")
    made = make_classifier(classifier, options, vectors, settings, checkpoint)
    choice = CorpusChoice(
        data, split, text_field, label_field, label_separator, settings.encoding, multilabel
    )
    corpus = choice.read(usual_split="train")
    training = KeptTraining(made, settings)
    scores = training.run(lambda: train_on(made, corpus, aside))
    if not training.is_ours_to_save:
        return
    made.save(output, scores=scores)
    training.forget()
    seconds = time.perf_counter() - start
    n_docs, n_classes = made.training_.n_docs, len(made.classes_)
    result = {
        "output": str(output),
        "classifier": classifier,
        "n_docs": n_docs,
        "n_classes": n_classes,
        "seconds": round(seconds, 3),
        **scores,
    }
    message = (
        f"{output}: {classifier}, from {n_docs:,} documents of {n_classes:,} classes, "
        f"in {seconds:.1f} s"
    )
    if aside is not None:
        found = scores["holdout"]
        message += (
            f"; on {found['n_docs']:,} documents kept aside: macro F1 {found['macro_f1']:.4f}, "
            f"micro F1 {found['micro_f1']:.4f}, accuracy {found['accuracy']:.4f}"
        )
    settings.tell(result, message)


def evaluate(
    settings: Settings,
    model: Model,
    data: Data,
    n: Annotated[int, typer.Option("-n", help="How many of the best and worst classes.")] = 5,
    per_class: Annotated[
        bool, typer.Option("--per-class", help="Tell the scores of all classes.")
    ] = False,
    strict_labels: Annotated[
        bool, typer.Option("--strict-labels", help="Labels that training never saw are an error.")
    ] = False,
    holdout: Annotated[
        bool, typer.Option("--holdout", help="Only what training with --holdout kept aside.")
    ] = False,
    confusion: Annotated[
        Path | None, typer.Option(help="Draw which classes are taken for which: FILE.png.")
    ] = None,
    split: Split = None,
    text_field: TextField = None,
    label_field: LabelField = None,
    label_separator: Separator = ";",
) -> None:
    """Measure a model on labelled texts."""
    if confusion is not None:
        settings.check_output(confusion)

    from wordclass import persistence
    from wordclass.cli.training import kept_aside
    from wordclass.report.evaluation import evaluate_model

    aside = kept_aside(model) if holdout else None
    loaded = persistence.load(model)
    if confusion is not None and loaded.codeframe_.is_multilabel:
        raise InputError("a multilabel model has no confusion picture: one label is not another")
    choice = CorpusChoice(
        data, split, text_field, label_field, label_separator, settings.encoding,
        loaded.codeframe_.is_multilabel,
    )  # fmt: skip
    corpus = choice.read(usual_split="test" if aside is None else "train")
    if aside is not None:
        corpus = corpus.part(aside.contains(corpus.texts))
    found = evaluate_model(loaded, corpus, strict=strict_labels)
    if found.n_shared:
        settings.say(
            f"warning: {found.n_shared:,} of these {len(corpus):,} documents are among those "
            "the model was trained on, which flatters the scores"
        )
    if found.scores.n_dropped:
        settings.say(
            f"warning: {found.scores.n_dropped:,} labels of classes that training never saw "
            "were left out; --strict-labels makes this an error"
        )
    if confusion is not None:
        from wordclass.report.confusion_picture import draw

        draw(confusion, found.true, found.predicted, found.scores.classes)
    n_shown = len(found.scores.classes) if per_class else n
    settings.show(found.to_dict(with_classes=per_class), found.to_text(n_shown))


def predict(
    settings: Settings,
    model: Model,
    data: Annotated[str, typer.Argument(help="A corpus, labelled or not; - reads lines.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write; else it is printed.")
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Scores of so many classes, best first.")
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities of all classes, or of the -k best.")
    ] = False,
    split: Split = None,
    text_field: TextField = None,
) -> None:
    """Predict the labels of texts: one JSON object a text."""
    if output is not None:
        settings.check_output(output)

    from wordclass import persistence
    from wordclass.cli.streams import lines_to, text_blocks
    from wordclass.report.predictions import predictions

    loaded = persistence.load(model)
    choice = CorpusChoice(data, split, text_field, None, ";", settings.encoding, None)
    made: list[dict[str, Any]] = []
    n_docs = 0
    is_one_object = settings.as_json and output is None
    with nullcontext(made.append) if is_one_object else lines_to(output) as write:
        for texts in text_blocks(choice):
            n_docs += len(texts)
            for each in predictions(loaded, texts, k, proba=proba):
                write(each)
    if output is not None:
        result = {"output": str(output), "n_docs": n_docs}
        settings.tell(result, f"{output}: predictions for {n_docs:,} documents")
    elif is_one_object:
        settings.show({"predictions": made}, "")


def explain(
    settings: Settings,
    model: Model,
    text: Annotated[str, typer.Argument(help="The text; - reads it from standard input.")] = "-",
    n: Annotated[int, typer.Option("-n", help="How many terms a label.")] = 10,
    color: Annotated[
        bool | None, typer.Option("--color/--no-color", help="By default on a terminal only.")
    ] = None,
) -> None:
    """Show which words made the labels of a text."""
    from wordclass import persistence
    from wordclass.cli.explained_text import ExplainedText
    from wordclass.cli.streams import whole_input

    loaded = persistence.load(model)
    given = whole_input(settings.encoding) if text == "-" else text
    explained = ExplainedText.of(loaded, given, n)
    if settings.as_json:
        settings.show(explained.to_dict(), "")
    else:
        explained.print(color)
