"""The commands that predict labels and class shares: predict and shares."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain, compress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordclass.cli.arguments import ModelFolder
from wordclass.cli.command import Settings, command
from wordclass.cli.corpora import BadRecordOptions, EngineOptions, Texts, report_skipped
from wordclass.cli.models import EncoderPath, EscapeFormulas, load_model, read_holdout
from wordclass.cli.output import standard_output
from wordclass.errors import InputError
from wordclass.storage.files import COMPRESSIONS, uncompressed_name
from wordclass.tables import escape_control_characters

if TYPE_CHECKING:
    from wordclass.corpus.documents import Record
    from wordclass.corpus.selection import ReadOptions, ReadSummary
    from wordclass.corpus.splits import Holdout


@command(
    "Use",
    uses=("force", "jobs", "encoding"),
    examples="""
wordclass predict model/ new.csv -o labelled.csv
wordclass predict model/ new.jsonl -k 3 --threshold 0.5
echo "svn merge" | wordclass predict model/ -
""",
)
def predict(
    settings: Settings,
    model: ModelFolder,
    corpus: Texts,
    engine_options: EngineOptions,
    output: Annotated[
        Path | None,
        "--output",
        "-o",
        "Output file: .csv, .tsv, .xlsx, .jsonl or .parquet. By default standard output.",
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("-k", min=1, metavar="N", help="Write the scores of the N best classes."),
    ] = None,
    proba: Annotated[bool, "Write probabilities of all classes, or of the -k best."] = False,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="P",
            help="Predict the classes with at least this probability.",
        ),
    ] = None,
    holdout: Annotated[bool, "Predict only the documents that train --holdout held out."] = False,
    adjust_priors: Annotated[
        bool, "Adjust probabilities to the class frequencies of these texts (see shares)."
    ] = False,
    escape_formulas: EscapeFormulas = False,
    encoder: EncoderPath = None,
) -> None:
    """Predict the labels of texts.

    DATA may be - to read standard input: JSON lines, or one text per line. The output contains all
    columns of the input. Input columns named labels or scores are renamed to given_labels and
    given_scores. With --engine, OUTPUT is a folder with one file per shard. If the command is run
    again, it writes only the files that are missing or out of date.
    """
    from wordclass.batch.predictions import RowMaker
    from wordclass.batch.row_files import SPREADSHEET_ENDINGS, check_output, open_row_writer

    options = {"k": k, "proba": proba, "threshold": threshold}
    if engine_options.engine:
        if adjust_priors:
            raise InputError(
                "--adjust-priors needs all texts in memory, and --engine does not hold them",
                hint="leave one of the two options out",
            )
        run = _ShardedRun(
            settings=settings,
            model=model,
            corpus=corpus,
            engine_options=engine_options,
            output=output,
            options=options,
            encoder=encoder,
            is_holdout=holdout,
            escape_formulas=escape_formulas,
        )
        run.predict()
        return
    settings.check_output(output)
    check_output(output, escape_formulas=escape_formulas)
    loaded = load_model(model, encoder)
    held_out = read_holdout(model, loaded) if holdout else None
    summary = _new_summary()
    blocks = _read_blocks(settings, corpus, engine_options, held_out, loaded, summary)
    is_one_object = settings.as_json and output is None
    printed: list[dict[str, Any]] = []
    n_docs = 0
    is_flat = output is not None and uncompressed_name(output).lower().endswith(SPREADSHEET_ENDINGS)
    make_row = RowMaker(loaded, is_flat=is_flat, is_ranked=proba or k is not None)
    if output is None:
        writer: Any = nullcontext(printed.extend if is_one_object else _print_rows)
    else:
        dialect = corpus.dialect(settings.encoding, loaded)
        writer = open_row_writer(output, escape_formulas=escape_formulas, dialect=dialect)
    with writer as write:
        for block, predictions in _predict_blocks(loaded, blocks, options, adjust_priors):
            pairs = zip(block, predictions, strict=True)
            write([make_row(record.row, prediction) for record, prediction in pairs])
            n_docs += len(block)
    report_skipped(settings, summary)
    if output is not None:
        result = {"output": str(output), "n_docs": n_docs}
        settings.report(result, f"{output}: predictions for {n_docs:,} documents")
    elif is_one_object:
        settings.show({"predictions": printed}, "")


def _predict_blocks(
    model: Any,  # noqa: ANN401 - a classifier
    blocks: "Iterable[list[Record]]",
    options: dict[str, Any],
    adjust_priors: bool,
) -> "Iterator[tuple[list[Record], list[dict[str, Any]]]]":
    """Yield blocks of records with their predictions."""
    from wordclass.batch.predictions import predict_rows

    shift = None
    all_scores = None
    if adjust_priors:
        blocks = [*blocks]
        all_scores = model.class_scores([record.text for block in blocks for record in block])
        shift = model.shift_of(all_scores)
    start = 0
    for block in blocks:
        texts = [record.text for record in block]
        scores = None if all_scores is None else all_scores[start : start + len(texts)]
        start += len(texts)
        yield block, predict_rows(model, texts, **options, shift=shift, scores=scores)


def _print_rows(rows: list[dict[str, Any]]) -> None:
    from wordclass.batch.row_files import json_line

    with standard_output() as stream:
        stream.writelines(escape_control_characters(json_line(row).decode()) for row in rows)


def _new_summary() -> "ReadSummary":
    from wordclass.corpus.selection import ReadSummary

    return ReadSummary()


def _read_blocks(
    settings: Settings,
    corpus: Texts,
    options: BadRecordOptions,
    holdout: "Holdout | None",
    model: Any,  # noqa: ANN401 - a classifier
    summary: "ReadSummary",
) -> "Iterable[list[Record]]":
    """Return blocks of the records of a corpus or of standard input.

    With a holdout, only held-out records are returned. Skipped records are counted in the summary.
    """
    split = None if holdout is None else "train"
    shards = corpus.shards(options, split, settings.encoding, None, model)
    if shards is not None:
        blocks: Iterator[list[Record]] = chain.from_iterable(
            shards.records(number, item, summary, texts_only=True)
            for number, item in enumerate(shards.items)
        )
    elif corpus.name == "-":
        blocks = _read_standard_input(corpus.reader(split, settings.encoding, None, model).options)
    else:
        blocks = corpus.records(corpus.reader(split, settings.encoding, None, model))
    if holdout is None:
        return blocks
    return (
        [*compress(block, holdout.contains(record.text for record in block))] for block in blocks
    )


def _read_standard_input(options: "ReadOptions") -> "Iterator[list[Record]]":
    """Yield the lines of standard input as texts, or as objects if the input begins as JSON."""
    from wordclass.corpus.documents import Record
    from wordclass.corpus.formats import jsonl

    options = replace(options, texts_only=True, keep_rows=True)
    is_json = None
    n_lines = 0
    blocks = read_input_lines(options.encoding)
    for lines in blocks:
        if is_json is None:
            start = "".join("".join(lines).split())[:3]
            is_json = start.startswith('{"') or start == '[{"'
            if start == '[{"':  # the end of an array is the end of the input
                lines += chain(*blocks)
        numbered = enumerate(lines, start=n_lines + 1)
        n_lines += len(lines)
        if is_json:
            records: Iterator[Any] = jsonl.records_of(Path("standard input"), numbered, options)
            yield [*records]
        else:
            yield [Record(line, []) for line in lines]


def read_input_lines(encoding: str) -> Iterator[list[str]]:
    """Yield the lines of standard input in blocks, as soon as they arrive."""
    from wordclass.corpus.lines import iterate_line_blocks

    if sys.stdin is None:
        raise InputError("standard input is closed", hint="give a file, or pipe texts to it")
    for lines in iterate_line_blocks(sys.stdin.buffer, True, "standard input", encoding):
        yield [line.removesuffix("\n").removesuffix("\r") for line in lines]


@dataclass(frozen=True)
class _ShardedRun:
    """Predictions by an engine, written to a folder with one file per shard."""

    settings: Settings
    model: Path
    corpus: Texts
    engine_options: EngineOptions
    output: Path | None
    options: dict[str, Any]
    encoder: str | None
    is_holdout: bool
    escape_formulas: bool

    def predict(self) -> None:
        """Write the predictions and report them."""
        from wordclass.batch.row_files import check_output
        from wordclass.batch.sharded import ShardPredictor, predict_shards
        from wordclass.storage import models

        if self.output is None:
            raise InputError(
                "--engine writes a folder of predictions", hint="use -o to name the folder"
            )
        ending = _ending_of_files(self.output)
        file = self.output if self.output.suffix else self.output.with_suffix(ending)
        check_output(file, escape_formulas=self.escape_formulas)
        identity = models.read_manifest(self.model)["digest"]
        loaded = load_model(self.model, self.encoder)
        held_out = read_holdout(self.model, loaded) if self.is_holdout else None
        split = "train" if self.is_holdout else None
        encoding = self.settings.encoding
        shards = self.corpus.shards(self.engine_options, split, encoding, None, loaded)
        if shards is None:
            raise InputError("--engine needs files", hint="give files or a folder as DATA")
        predictor = ShardPredictor(
            corpus=shards.without_items(),
            model=loaded,
            folder=str(self.output.absolute()),
            ending=ending,
            identity=identity,
            options=self.options,
            holdout=held_out,
            escape_formulas=self.escape_formulas,
        )
        with self.engine_options.open_engine(self.settings) as engine:
            summary = predict_shards(shards, engine, predictor)
        report_skipped(self.settings, summary.reading)
        n_files = len(summary.files)
        result = {
            "output": str(self.output),
            "n_parts": n_files,
            "n_parts_kept": summary.n_reused,
            "n_docs": summary.n_docs,
            "n_skipped": summary.reading.n_skipped,
        }
        reused = f" ({summary.n_reused:,} were up to date)" if summary.n_reused else ""
        self.settings.report(
            result,
            f"{self.output}: {n_files:,} files{reused}; predictions for "
            f"{summary.n_docs:,} documents",
        )


def _ending_of_files(folder: Path) -> str:
    """Return the ending of the files in a folder of predictions, which is that of the folder.

    Examples
    --------
    >>> _ending_of_files(Path("out.csv.zst")), _ending_of_files(Path("out"))
    ('.csv.zst', '.jsonl')
    """
    if folder.suffix.lower() not in COMPRESSIONS:
        return folder.suffix.lower() or ".jsonl"
    return Path(folder.stem).suffix.lower() + folder.suffix.lower()


@command(
    "Use",
    uses=("seed", "encoding"),
    examples="""
wordclass shares model/ new.csv
wordclass shares model/ new.csv --level 0.9 --json
""",
)
def shares(
    settings: Settings,
    model: ModelFolder,
    corpus: Texts,
    bad_records: BadRecordOptions,
    level: Annotated[
        float,
        typer.Option(min=0.5, max=0.999, metavar="P", help="Level of the confidence intervals."),
    ] = 0.95,
    n: Annotated[
        int,
        typer.Option(
            "-n",
            min=0,
            metavar="N",
            help="Number of classes to show, most frequent first. Use 0 for all.",
        ),
    ] = 20,
    encoder: EncoderPath = None,
) -> None:
    """Estimate the share of each class among unlabelled texts.

    Expectation-maximization estimates the shares from the probabilities of the model (Saerens and
    others), and a bootstrap their confidence intervals. The texts of a class must look as they did
    in training. DATA may be - to read standard input.
    """
    from wordclass.cli.class_shares import estimate, to_text

    loaded = load_model(model, encoder)
    summary = _new_summary()
    blocks = _read_blocks(settings, corpus, bad_records, None, loaded, summary)
    texts = [record.text for block in blocks for record in block]
    report_skipped(settings, summary)
    result = estimate(loaded, texts, level, settings.seed)
    settings.show(result, to_text(result, n))
