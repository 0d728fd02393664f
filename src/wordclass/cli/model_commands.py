"""The commands that use models: evaluate, predict, shares, explain, export."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain, compress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from wordclass import catalogue
from wordclass.cli import arguments
from wordclass.cli.command import Settings, command, standard_output
from wordclass.cli.corpora import Corpus, InParts, Texts, tell_skipped
from wordclass.corpus.documents import Label, Record
from wordclass.corpus.lines import iterate_line_blocks
from wordclass.corpus.selection import ReadOptions, ReadSummary
from wordclass.errors import InputError
from wordclass.storage.files import COMPRESSIONS, uncompressed_name
from wordclass.tables import escape_control_characters, join_lines

if TYPE_CHECKING:
    from wordclass.batch.evaluation import Evaluation
    from wordclass.corpus.splits import Holdout
    from wordclass.decision.explanation import Explanation

Model = Annotated[Path, typer.Argument(help="The folder of a model.")]
EscapeFormulas = Annotated[
    bool, "Put ' before cells of a .csv or .tsv that a spreadsheet would take for a formula."
]
Encoder = Annotated[str | None, "Where the encoder of the model is, if it was moved."]

_FOR, _AGAINST = (0, 130, 60), (190, 40, 40)  # red, green and blue of a word at its strongest
_GRAY = 140  # of each, where a word adds nothing
_FAINT = 0.15  # of the strongest: what is below stays uncolored


@command
def evaluate(
    model: Model,
    corpus: Corpus,
    in_parts: InParts,
    settings: Settings,
    n: Annotated[int, "-n", "How many of the best and worst classes."] = 5,
    per_class: Annotated[bool, "Tell the scores of all classes."] = False,
    strict_labels: Annotated[bool, "Labels that training never saw are an error."] = False,
    holdout: Annotated[bool, "Only what training with --holdout kept aside."] = False,
    confusion: Annotated[Path | None, "Draw which classes are taken for which: FILE.png."] = None,
    errors: Annotated[
        Path | None, "Write what was wrong, and why: a .csv, .xlsx, .jsonl, .parquet."
    ] = None,
    escape_formulas: EscapeFormulas = False,
    encoder: Encoder = None,
) -> None:
    """Measure a model on labelled texts.

    F1 of a class is 2 tp / (2 tp + fp + fn). Where all three are 0, it is 1 in a multilabel task,
    and 0 in a single-label one, as in scikit-learn; a second macro F1 is that of the classes alone
    that have test documents.
    """
    settings.check_output(confusion)
    settings.check_output(errors)

    from wordclass.batch.evaluation import evaluate_model, write_errors
    from wordclass.batch.row_files import check_output
    from wordclass.batch.sharded import ShardEvaluator, evaluate_shards

    check_output(errors, escape_formulas=escape_formulas)
    loaded = _loaded(model, encoder)
    aside = _kept_aside(model, loaded) if holdout else None
    is_multilabel = loaded.codeframe_.is_multilabel
    if confusion is not None and is_multilabel:
        raise InputError("a multilabel model has no confusion picture: one label is not another")
    split, keep = "train" if holdout else "test", errors is not None
    parts = corpus.parts(in_parts, split, settings.encoding, is_multilabel, loaded)
    if parts is not None:
        if errors is not None or confusion is not None:
            raise InputError("--errors and --confusion need a corpus that is one file, in memory")
        work = ShardEvaluator(parts.without_items(), loaded, strict_labels, aside)
        with in_parts.opened(settings) as engine:
            seen, found = evaluate_shards(parts, engine, work)
        tell_skipped(settings, seen)
        _show_evaluation(settings, loaded, found, found.scores.n_docs, n, per_class)
        return
    documents = corpus.read(split, settings.encoding, is_multilabel, loaded, keep_rows=keep)
    if aside is not None:
        documents = documents.part(aside.contains(documents.texts))
    found = evaluate_model(loaded, documents, strict=strict_labels)
    if confusion is not None:
        catalogue.import_extra("matplotlib", "to draw a picture")
        from wordclass.explorer.pictures import draw_confusion

        draw_confusion(confusion, found.true, found.predicted, found.scores.classes)
    if errors is not None:
        n_errors = write_errors(errors, loaded, documents, found, escape_formulas=escape_formulas)
        settings.say(f"{errors}: {n_errors:,} documents whose labels are not exactly right")
    _show_evaluation(settings, loaded, found, len(documents), n, per_class)


def _show_evaluation(
    settings: Settings,
    loaded: Any,  # noqa: ANN401 - a model
    found: "Evaluation",
    n_docs: int,
    n: int,
    per_class: bool,
) -> None:
    from wordclass.decision.prior_shift import MIN_DOCS_FOR_SHARES

    if found.n_shared:
        shared = f"{found.n_shared:,} of these {n_docs:,} documents are among those"
        settings.say(f"warning: {shared} the model was trained on, which flatters the scores")
    if found.scores.n_dropped:
        dropped = f"{found.scores.n_dropped:,} labels of classes that training never saw"
        settings.say(f"warning: {dropped} were left out; --strict-labels makes this an error")
    if shifted := found.shifted_classes():
        most = ", ".join(f"{name} {here:.1%} (was {was:.1%})" for name, was, here in shifted[:3])
        told = f"warning: the shares of classes are not those of training: {most}"
        can_adjust = loaded.is_calibrated and n_docs >= MIN_DOCS_FOR_SHARES
        hint = "; predict --adjust-priors takes that into account" if can_adjust else ""
        settings.say(told + hint)
    n_shown = len(found.scores.classes) if per_class else n
    settings.show(found.to_dict(with_classes=per_class), found.to_text(n_shown))


def _kept_aside(model: Path, loaded: Any) -> "Holdout":  # noqa: ANN401 - a classifier
    """Return the rule for the documents that training with --holdout set aside."""
    from wordclass.corpus.splits import ChosenHoldout, Holdout
    from wordclass.storage import files, models

    stored = models.read_manifest(model)["scores"].get("holdout")
    if stored is None:
        raise InputError(f"{model} was trained without --holdout: nothing was kept aside")
    # scores are whatever `save` was given, so this is no reason to refuse the model itself
    with files.as_format_error(model / models.MANIFEST, "the holdout among its scores"):
        if not stored.get("is_stratified", False):  # models of version 0.1
            return Holdout(share=stored["share"], seed=stored["seed"])
        fingerprints = loaded.training_.fingerprints
        return ChosenHoldout(stored["share"], stored["seed"], fingerprints, are_training=True)


def _loaded(model: Path, encoder: str | None) -> Any:  # noqa: ANN401 - by its name
    """Return a model, maybe with its encoder from another place."""
    from wordclass.storage import models

    if encoder is None:
        return models.load(model)
    is_network = "context" in models.read_manifest(model)["settings"]
    return models.load(model, **{"context" if is_network else "encoder": encoder})


@command
def predict(
    settings: Settings,
    model: Model,
    corpus: Texts,
    in_parts: InParts,
    output: Annotated[
        Path | None, "--output", "-o", "A .csv, .tsv, .xlsx, .jsonl or .parquet file; else printed."
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Scores of so many classes, best first.")
    ] = None,
    proba: Annotated[bool, "Probabilities of all classes, or of the -k best."] = False,
    threshold: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Labels are the classes at least so probable."),
    ] = None,
    holdout: Annotated[bool, "Only what training with --holdout kept aside."] = False,
    adjust_priors: Annotated[
        bool, "Adjust to the shares of classes that these texts seem to have: see shares."
    ] = False,
    escape_formulas: EscapeFormulas = False,
    encoder: Encoder = None,
) -> None:
    """Predict the labels of texts: one JSON object per text, or a row of a table.

    For DATA, - reads standard input: JSON lines, or one text per line. All columns are kept; those
    named labels or scores, as the prediction is, as given_labels and given_scores. With
    --adjust-priors, all texts are read before the first is predicted. With --engine,
    OUTPUT is a folder with one file per part of the corpus; the same command, run again, makes
    those that are missing, and those whose part, model or options changed.
    """
    from wordclass.batch.predictions import RowMaker, predict_rows
    from wordclass.batch.row_files import SPREADSHEET_ENDINGS, check_output, open_row_writer

    if in_parts.engine:
        if adjust_priors:
            told = "--adjust-priors looks at all texts at once, which --engine does not"
            raise InputError(f"{told}; leave one of them out")
        options = {"k": k, "proba": proba, "threshold": threshold}
        _predict_in_parts(
            settings=settings,
            model=model,
            corpus=corpus,
            in_parts=in_parts,
            output=output,
            options=options,
            encoder=encoder,
            holdout=holdout,
            escape_formulas=escape_formulas,
        )
        return
    settings.check_output(output)
    check_output(output, escape_formulas=escape_formulas)
    loaded = _loaded(model, encoder)
    aside = _kept_aside(model, loaded) if holdout else None
    made: list[dict[str, Any]] = []
    n_docs = 0
    is_one_object = settings.as_json and output is None
    show = made.extend if is_one_object else _print
    writer = (
        nullcontext(show)
        if output is None
        else open_row_writer(
            output,
            escape_formulas=escape_formulas,
            dialect=corpus.dialect(settings.encoding, loaded),
        )
    )
    is_flat = output is not None and uncompressed_name(output).lower().endswith(SPREADSHEET_ENDINGS)
    make_row = RowMaker(loaded, is_flat=is_flat, is_ranked=proba or k is not None)
    seen, shift, scores = ReadSummary(), None, None
    blocks = _blocks(settings, corpus, in_parts, aside, loaded, seen)
    if adjust_priors:
        blocks = [*blocks]
        scores = loaded.class_scores([each.text for records in blocks for each in records])
        shift = loaded.shift_of(scores)
    with writer as write:
        for records in blocks:
            texts = [record.text for record in records]
            own = None if scores is None else scores[n_docs : n_docs + len(texts)]
            found = predict_rows(
                loaded, texts, k, proba=proba, threshold=threshold, shift=shift, scores=own
            )
            write([make_row(each.row, one) for each, one in zip(records, found, strict=True)])
            n_docs += len(texts)
    tell_skipped(settings, seen)
    if output is not None:
        result = {"output": str(output), "n_docs": n_docs}
        settings.tell(result, f"{output}: predictions for {n_docs:,} documents")
    elif is_one_object:
        settings.show({"predictions": made}, "")


def _blocks(
    settings: Settings,
    corpus: Texts,
    in_parts: InParts,
    aside: "Holdout | None",
    loaded: Any,  # noqa: ANN401 - a model
    seen: ReadSummary,
) -> Iterable[list[Record]]:
    """Give the records of a corpus, or of standard input; only those that were kept aside, if any.

    Those that are skipped are counted in `seen`.
    """
    split = None if aside is None else "train"
    if (parts := corpus.parts(in_parts, split, settings.encoding, None, loaded)) is not None:
        blocks: Iterator[list[Record]] = chain.from_iterable(
            parts.records(number, item, seen, texts_only=True)
            for number, item in enumerate(parts.items)
        )
    else:
        reader = corpus.blocks(split, settings.encoding, None, loaded)
        blocks = _input_records(reader.options) if corpus.name == "-" else corpus.records(reader)
    if aside is None:
        return blocks
    return ([*compress(each, aside.contains(one.text for one in each))] for each in blocks)


def _predict_in_parts(
    *,
    settings: Settings,
    model: Path,
    corpus: Texts,
    in_parts: InParts,
    output: Path | None,
    options: dict[str, Any],
    encoder: str | None,
    holdout: bool,
    escape_formulas: bool,
) -> None:
    """Predict by an engine, into a folder."""
    from wordclass.batch.row_files import check_output
    from wordclass.batch.sharded import ShardPredictor, predict_shards
    from wordclass.storage import models

    if output is None:
        raise InputError("with --engine, predictions are a folder of parts: name it by -o")
    ending = _ending_of_parts(output)
    check_output(
        output if output.suffix else output.with_suffix(ending), escape_formulas=escape_formulas
    )
    identity = models.read_manifest(model)["digest"]
    loaded = _loaded(model, encoder)
    aside = _kept_aside(model, loaded) if holdout else None
    split = "train" if holdout else None
    parts = corpus.parts(in_parts, split, settings.encoding, None, loaded)
    if parts is None:
        raise InputError("with --engine, DATA is a corpus in parts")
    folder = str(output.absolute())
    work = ShardPredictor(
        corpus=parts.without_items(),
        model=loaded,
        folder=folder,
        ending=ending,
        identity=identity,
        options=options,
        holdout=aside,
        escape_formulas=escape_formulas,
    )
    with in_parts.opened(settings) as engine:
        made = predict_shards(parts, engine, work)
    tell_skipped(settings, made.reading)
    result = {
        "output": str(output),
        "n_parts": len(made.files),
        "n_parts_kept": made.n_reused,
        "n_docs": made.n_docs,
        "n_skipped": made.reading.n_skipped,
    }
    kept = f", {made.n_reused:,} of which were there already" if made.n_reused else ""
    told = f"{output}: {len(made.files):,} parts{kept}; predictions for {made.n_docs:,} documents"
    settings.tell(result, told)


def _ending_of_parts(folder: Path) -> str:
    """Return the ending of the files in a folder of predictions: that of the folder's name.

    Examples
    --------
    >>> _ending_of_parts(Path("out.csv.zst")), _ending_of_parts(Path("out"))
    ('.csv.zst', '.jsonl')
    """
    if folder.suffix.lower() not in COMPRESSIONS:
        return folder.suffix.lower() or ".jsonl"
    return Path(folder.stem).suffix.lower() + folder.suffix.lower()


def _print(rows: list[dict[str, Any]]) -> None:
    from wordclass.batch.row_files import json_line

    with standard_output() as stream:
        stream.writelines(escape_control_characters(json_line(row).decode()) for row in rows)


def _input_records(options: ReadOptions) -> Iterator[list[Record]]:
    """Give the lines of standard input as texts; where it begins as JSON does, its objects."""
    from wordclass.corpus.formats import jsonl

    options = replace(options, texts_only=True, keep_rows=True)
    is_json, n_lines = None, 0
    blocks = _input_lines(options.encoding)
    for lines in blocks:
        if is_json is None:
            start = "".join("".join(lines).split())[:3]
            is_json = start.startswith('{"') or start == '[{"'
            if start == '[{"':  # an array, which is known at its end
                lines += chain(*blocks)
        numbered = enumerate(lines, start=n_lines + 1)
        n_lines += len(lines)
        if is_json:
            found: Iterator[Any] = jsonl.records_of(Path("standard input"), numbered, options)
            yield [*found]
        else:
            yield [Record(line, []) for line in lines]


def _input_lines(encoding: str) -> Iterator[list[str]]:
    """Give the lines of standard input, as many at a time as have come."""
    if sys.stdin is None:
        raise InputError("standard input is closed; give a file, or send texts to it")
    for lines in iterate_line_blocks(sys.stdin.buffer, True, "standard input", encoding):
        yield [line.removesuffix("\n").removesuffix("\r") for line in lines]


@command
def shares(
    settings: Settings,
    model: Model,
    corpus: Texts,
    in_parts: InParts,
    level: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="How sure the intervals are.")
    ] = 0.95,
    n: Annotated[
        int,
        typer.Option("-n", min=0, help="How many classes to print, most frequent first; 0: all."),
    ] = 20,
    encoder: Encoder = None,
) -> None:
    """Estimate the share of each class among texts without labels.

    By expectation-maximisation on the model's probabilities (Saerens and others), with intervals by
    a bootstrap, beside the shares in training. It is assumed that texts of a class look as they did
    in training, and that only the shares have changed. For DATA, - reads standard input.
    """
    from wordclass.cli.class_shares import estimate, to_text

    if in_parts.engine:
        raise InputError("shares looks at all texts at once, which --engine does not: leave it out")
    loaded, seen = _loaded(model, encoder), ReadSummary()
    blocks = _blocks(settings, corpus, in_parts, None, loaded, seen)
    texts = [each.text for records in blocks for each in records]
    tell_skipped(settings, seen)
    facts = estimate(loaded, texts, level, settings.seed)
    settings.show(facts, to_text(facts, n))


@command
def explain(
    settings: Settings,
    model: Model,
    text: Annotated[str, typer.Argument(help="The text; - reads it from standard input.")] = "-",
    name: Annotated[str | None, "--class", "Explain this class, predicted or not."] = None,
    n: Annotated[int, "-n", "How many terms per label."] = 10,
    color: Annotated[bool | None, "--color/--no-color", "By default on a terminal only."] = None,
    encoder: Encoder = None,
) -> None:
    """Show which words made the labels of a text.

    What the terms add and the intercept sum to the score; a probability is made of all scores.
    """
    loaded = _loaded(model, encoder)
    if text == "-":
        text = "\n".join(line for block in _input_lines(settings.encoding) for line in block)
    found = loaded.explanation(text)
    labels = found.labels
    if name is not None:
        labels = (arguments.class_named(name, found.codeframe.classes),)
    predictions = loaded.predictions_of(found.scores[None])
    (values,) = predictions.values
    scores = {str(each): round(float(values[found.codeframe.column(each)]), 6) for each in labels}
    best = max(labels, key=lambda label: found.account(label)["score"])
    if not settings.as_json:
        kind = "probability" if predictions.has_probabilities else "score"
        head = [f"{label}  {kind} {score:.4f}" for label, score in scores.items()]
        head += [_path(found, label) for label in labels if found.path(label)]
        if best not in found.predicted:
            head.insert(0, f"predicted: {', '.join(map(str, found.predicted)) or 'no label'}")
        _print_explanation(head, _reasons(found, labels, n), color, found, best)
        return
    result = {
        "labels": list(found.predicted),
        "scores": scores,
        "accounts": {str(label): found.account(label) for label in labels},
        "terms": {str(label): found.top(label, n) for label in labels},
        "paths": {str(label): found.path(label) for label in labels},
        "words": {str(best): [list(word) for word in found.per_word(best)]},
    }
    settings.show(result, "")


def _path(found: "Explanation", label: Label) -> str:
    """Write the way to a class in a tree of classes."""
    steps = [f"{name or '(no name)'} {share:.4f}" for name, share in found.path(label)]
    return f"path: {' > '.join(steps)}"


def _reasons(found: "Explanation", labels: Sequence[Label], n: int) -> list[str]:
    """Write what the terms of a text add to the score of each label."""
    from wordclass.tables import format_scores

    if not found.terms:
        return ["no word of this text is known to the model"]
    lines: list[str] = []
    for label in labels:
        score, intercept, added = found.account(label).values()
        lines += ["", str(label), *format_scores(found.top(label, n)).split("\n")]
        of_terms = f"{added:.4f} of {len(found.terms)} terms"
        lines.append(f"score {score:.4f} = intercept {intercept:.4f} + {of_terms}")
    return lines


def _print_explanation(
    head: list[str], reasons: list[str], color: bool | None, found: "Explanation", best: Label
) -> None:
    """Print an explanation: on a terminal with the text in color, unless told otherwise."""
    with standard_output() as stream:
        stream.write(join_lines(head))
        wanted = stream.isatty() and not os.environ.get("NO_COLOR") if color is None else color
        if wanted and found.terms:
            system: Any = "truecolor" if color else "auto"
            console = Console(file=stream, force_terminal=True, color_system=system, soft_wrap=True)
            console.print()
            console.print(_colored(found, best))
        stream.write(join_lines(reasons))


def _colored(found: "Explanation", label: Label) -> Text:
    """Return the text, its words colored by what they add to the score of a label."""
    words = [word for word in found.per_word(label) if word.start is not None]
    strongest = max((abs(word.contribution) for word in words), default=0.0)
    colored, end = Text(), 0
    for word in words:
        strength = abs(word.contribution) / strongest if strongest else 0.0
        if word.end is not None and strength >= _FAINT:
            color = _FOR if word.contribution > 0 else _AGAINST
            mixed = ",".join(str(round(_GRAY + (part - _GRAY) * strength)) for part in color)
            colored.append(escape_control_characters(found.text[end : word.start]))
            colored.append(
                escape_control_characters(found.text[word.start : word.end]), f"bold rgb({mixed})"
            )
            end = word.end
    return colored.append(escape_control_characters(found.text[end:]))


@command
def export(
    settings: Settings,
    model: Model,
    output: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="A .onnx or .pt2 file; with --format web a folder."),
    ],
    format_: Annotated[
        str | None,
        "--format",
        "Write a linear or nearest model for programs without Python: web.",
    ] = None,
) -> None:
    """Export a model to use it without wordclass.

    A network is written as ONNX or for torch; OUT.json describes its input and its output labels.
    With --format web, a linear or nearest model is written as model.bin with the JavaScript module
    wordclass.mjs, which reads it in browsers, Node and Deno.
    """
    from wordclass.storage import models

    if format_ is not None:
        _export_web(settings, model, output, format_)
        return
    name = models.read_manifest(model)["classifier"]
    if not hasattr(catalogue.entry("classifiers", name).make, "export"):
        expected = "expected one of cnn, lstm, attention or leam"
        raise InputError(f"{model}: a {name!r} model has no network to export; {expected}")
    from wordclass.network.export import description_path, export_format

    chosen, described = export_format(output), description_path(output)
    settings.check_output(output)
    settings.check_output(described)
    loaded = models.load(model)
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
    sizes = f"{result['n_classes']:,} classes and {result['n_rows']:,} rows of vectors"
    made = f"{loaded.name} of {sizes}, {result['bytes']:,} bytes"
    settings.tell(result, f"{output}: {made}; {described} says how to use it")


def _export_web(settings: Settings, model: Path, output: Path, format_name: str) -> None:
    """Write a linear or nearest model as a folder for JavaScript."""
    from wordclass.explorer.portable import export_web
    from wordclass.storage import models

    if format_name != "web":
        raise InputError(f"--format is {format_name!r}", expected="'web'")
    settings.check_output(output, is_folder=True)
    loaded = models.load(model)
    n_bytes = export_web(loaded, output)
    result = {
        "output": str(output),
        "format": "web",
        "classifier": loaded.name,
        "n_classes": len(loaded.classes_),
        "bytes": n_bytes,
    }
    size = f"{result['n_classes']:,} classes, {n_bytes:,} bytes"
    settings.tell(result, f"{output}: {loaded.name} of {size}; wordclass.mjs reads model.bin")
