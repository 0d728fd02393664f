"""The commands that use models: evaluate, predict, explain, export."""

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.text import Text

from wordclass import naming
from wordclass.cli.command import Settings, command, standard_output
from wordclass.cli.corpora import Corpus, Texts
from wordclass.corpus import ReadOptions, Record
from wordclass.corpus_formats._lines import line_blocks
from wordclass.errors import InputError

if TYPE_CHECKING:
    from wordclass.explanation import Explanation
    from wordclass.folds import Holdout

Model = Annotated[Path, typer.Argument(help="The folder of a model.")]

_FOR, _AGAINST = (0, 130, 60), (190, 40, 40)  # red, green and blue of a word at its strongest
_GRAY = 140  # of each, where a word adds nothing
_FAINT = 0.15  # of the strongest: what is below stays uncolored


@command
def evaluate(
    model: Model,
    corpus: Corpus,
    settings: Settings,
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
) -> None:
    """Measure a model on labelled texts."""
    settings.check_output(confusion)

    from wordclass import persistence
    from wordclass.report.evaluation import evaluate_model

    aside = _kept_aside(model) if holdout else None
    loaded = persistence.load(model)
    is_multilabel = loaded.codeframe_.is_multilabel
    if confusion is not None and is_multilabel:
        raise InputError("a multilabel model has no confusion picture: one label is not another")
    usual_split = "test" if aside is None else "train"
    documents = corpus.read(usual_split, settings.encoding, is_multilabel, loaded)
    if aside is not None:
        documents = documents.part(aside.contains(documents.texts))
    found = evaluate_model(loaded, documents, strict=strict_labels)
    if found.n_shared:
        settings.say(
            f"warning: {found.n_shared:,} of these {len(documents):,} documents are among those "
            "the model was trained on, which flatters the scores"
        )
    if found.scores.n_dropped:
        settings.say(
            f"warning: {found.scores.n_dropped:,} labels of classes that training never saw "
            "were left out; --strict-labels makes this an error"
        )
    if confusion is not None:
        naming.extra("matplotlib", "to draw a picture")
        from wordclass.report.pictures import draw_confusion

        draw_confusion(confusion, found.true, found.predicted, found.scores.classes)
    n_shown = len(found.scores.classes) if per_class else n
    settings.show(found.to_dict(with_classes=per_class), found.to_text(n_shown))


def _kept_aside(model: Path) -> "Holdout":
    """Return which documents training with --holdout kept aside."""
    from wordclass import persistence
    from wordclass.folds import Holdout

    aside = persistence.read_manifest(model)["scores"].get("holdout")
    if aside is None:
        raise InputError(f"{model} was trained without --holdout: nothing was kept aside")
    return Holdout(aside["share"], aside["seed"])


@command
def predict(
    settings: Settings,
    model: Model,
    corpus: Texts,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A .csv, .tsv, .jsonl or .parquet file; else printed."),
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Scores of so many classes, best first.")
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities of all classes, or of the -k best.")
    ] = False,
    threshold: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Labels are the classes at least so probable."),
    ] = None,
    holdout: Annotated[
        bool, typer.Option("--holdout", help="Only what training with --holdout kept aside.")
    ] = False,
) -> None:
    """Predict the labels of texts: one JSON object per text, or a row of a table.

    For DATA, - reads standard input: JSON lines, or one text per line. All columns are kept; those
    named labels or scores, as the prediction is, as given_labels and given_scores.
    """
    settings.check_output(output)

    from wordclass import persistence
    from wordclass.report.predictions import beside, predictions
    from wordclass.report.row_files import check_ending, rows_to

    if output is not None:
        check_ending(output)
    aside = _kept_aside(model) if holdout else None
    loaded = persistence.load(model)
    made: list[dict[str, Any]] = []
    n_docs = 0
    is_one_object = settings.as_json and output is None
    writer = (
        nullcontext(made.extend if is_one_object else _print) if output is None else rows_to(output)
    )
    with writer as write:
        for records in _records(corpus, settings.encoding, loaded, aside):
            texts = [record.text for record in records]
            found = predictions(loaded, texts, k, proba=proba, threshold=threshold)
            write([beside(each.row, one) for each, one in zip(records, found, strict=True)])
            n_docs += len(texts)
    if output is not None:
        result = {"output": str(output), "n_docs": n_docs}
        settings.tell(result, f"{output}: predictions for {n_docs:,} documents")
    elif is_one_object:
        settings.show({"predictions": made}, "")


def _print(rows: list[dict[str, Any]]) -> None:
    from wordclass.report.row_files import json_line

    with standard_output() as stream:
        stream.writelines(json_line(row).decode() for row in rows)


def _records(
    corpus: Texts,
    encoding: str,
    model: Any,  # noqa: ANN401 - any classifier of texts
    aside: "Holdout | None",
) -> Iterator[list[Record]]:
    """Give the records of a corpus, or, for `-`, of standard input; or those kept aside of them."""
    if corpus.data == "-":
        blocks = _input_records(corpus.options(encoding, model))
    else:
        blocks = corpus.records(None if aside is None else "train", encoding, model)
    for block in blocks:
        if aside is not None:
            is_aside = aside.contains(record.text for record in block)
            block = [record for record, is_kept in zip(block, is_aside, strict=True) if is_kept]
        if block:
            yield block


def _input_records(options: ReadOptions) -> Iterator[list[Record]]:
    """Give the lines of standard input as texts, or, where the first is a JSON object, as JSONL."""
    from wordclass.corpus_formats import jsonl

    options = replace(options, texts_only=True, keep_rows=True)
    is_json, n_lines = None, 0
    for lines in _input_lines(options.encoding):
        if is_json is None:
            is_json = jsonl.is_object(lines[0])
        numbered = enumerate(lines, start=n_lines + 1)
        n_lines += len(lines)
        if is_json:
            yield [*jsonl.records_of(Path("standard input"), numbered, options)]
        else:
            yield [Record(line, []) for line in lines]


def _input_lines(encoding: str) -> Iterator[list[str]]:
    """Give the lines of standard input, as many at a time as have come."""
    if sys.stdin is None:
        raise InputError("standard input is closed; give a file, or send texts to it")
    for lines in line_blocks(sys.stdin.buffer, "standard input", encoding):
        yield [line.removesuffix("\n").removesuffix("\r") for line in lines]


@command
def explain(
    settings: Settings,
    model: Model,
    text: Annotated[str, typer.Argument(help="The text; - reads it from standard input.")] = "-",
    n: Annotated[int, typer.Option("-n", help="How many terms per label.")] = 10,
    color: Annotated[
        bool | None, typer.Option("--color/--no-color", help="By default on a terminal only.")
    ] = None,
) -> None:
    """Show which words made the labels of a text."""
    from wordclass import persistence
    from wordclass.report.predictions import shown_scores

    loaded = persistence.load(model)
    if text == "-":
        text = "\n".join(line for block in _input_lines(settings.encoding) for line in block)
    found = loaded.explanation(text)
    (shown,) = shown_scores(loaded, found.scores[None])
    scores = {
        str(label): round(float(shown[found.codeframe.column(label)]), 6) for label in found.labels
    }
    if not settings.as_json:
        with standard_output() as stream:
            _print_explanation(stream, found, scores, n, color)
        return
    best = _best_label(found)
    result = {
        "labels": list(found.predicted),
        "scores": scores,
        "terms": {str(label): found.top(label, n) for label in found.labels},
        "words": {str(best): [list(word) for word in found.per_word(best)]},
    }
    settings.show(result, "")


def _print_explanation(
    stream: TextIO, found: "Explanation", scores: dict[str, float], n: int, color: bool | None
) -> None:
    """Print an explanation: on a terminal with the text in color, unless told otherwise."""
    from wordclass.report.tables import scored_lines

    console = Console(
        file=stream, force_terminal=color, no_color=color is False, highlight=False,
        soft_wrap=True, color_system="truecolor" if color else "auto",
    )  # fmt: skip
    if not found.predicted:
        console.print(Text("no label; the class with the highest score:"))
    for name, score in scores.items():
        console.print(Text(f"{name}  {score:.4f}"))
    if not found.terms:
        console.print(Text("no word of this text is known to the model"))
        return
    if console.is_terminal and color is not False:
        console.print()
        console.print(_colored(found))
    for label in found.labels:
        console.print(Text(f"\n{label}\n{scored_lines(found.top(label, n))}"))


def _best_label(found: "Explanation") -> Any:  # noqa: ANN401 - a label
    return max(found.labels, key=lambda label: found.scores[found.codeframe.column(label)])


def _colored(found: "Explanation") -> Text:
    """Return the text, its words colored by what they add to the score of the best label."""
    words = found.per_word(_best_label(found))
    text = Text(found.text.encode("utf-8", "replace").decode("utf-8"))
    strongest = max((abs(word.contribution) for word in words), default=0.0)
    for word in words:
        strength = abs(word.contribution) / strongest if strongest else 0.0
        if word.start is not None and word.end is not None and strength >= _FAINT:
            color = _FOR if word.contribution > 0 else _AGAINST
            mixed = ",".join(str(round(_GRAY + (part - _GRAY) * strength)) for part in color)
            text.stylize(f"bold rgb({mixed})", word.start, word.end)
    return text


@command
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
    from wordclass import persistence

    name = persistence.read_manifest(model)["classifier"]
    if not hasattr(naming.entry("classifiers", name).make, "export"):
        raise InputError(
            f"{model}: a {name!r} model has no network to export; "
            "expected one of cnn, lstm, attention or leam"
        )
    from wordclass.network.export import beside, format_of

    chosen, described = format_of(output), beside(output)
    settings.check_output(output)
    settings.check_output(described)
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
