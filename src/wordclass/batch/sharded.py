"""Prediction and evaluation of a corpus in shards, by any engine."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, compress
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordclass.arrays import Floats
from wordclass.batch.evaluation import Evaluation, evaluate_block
from wordclass.batch.predictions import RowMaker, predict_rows
from wordclass.batch.row_files import SPREADSHEET_ENDINGS, open_row_writer
from wordclass.corpus.cells import detect_dialect
from wordclass.corpus.documents import Label, LabelledCorpus, Record
from wordclass.corpus.labels import encode_labels
from wordclass.corpus.selection import ReadSummary
from wordclass.corpus.shards import Shard, ShardedCorpus
from wordclass.corpus.splits import ChosenHoldout, Holdout, fingerprint_texts
from wordclass.engines.engine import Job
from wordclass.engines.tasks import Engine, tree_sum
from wordclass.errors import InputError
from wordclass.storage import files as storage
from wordclass.storage.files import uncompressed_name
from wordclass.storage.state import digest

_FILE_PREFIX = "part-"


@dataclass
class PredictionSummary:
    """Facts about the predictions of shards. Summaries add up.

    Parameters
    ----------
    reading : ReadSummary
        Facts about the records.
    n_docs : int
        Number of documents with new predictions.
    n_reused : int
        Number of shards whose predictions existed before.
    files : list of str
        Names of the files of predictions.
    """

    reading: ReadSummary = field(default_factory=ReadSummary)
    n_docs: int = 0
    n_reused: int = 0
    files: list[str] = field(default_factory=list)

    def __add__(self, other: "PredictionSummary") -> "PredictionSummary":
        return PredictionSummary(
            reading=self.reading + other.reading,
            n_docs=self.n_docs + other.n_docs,
            n_reused=self.n_reused + other.n_reused,
            files=self.files + other.files,
        )


@dataclass
class _HashedDocuments:
    """Hashes and labels of documents, which add up."""

    reading: ReadSummary
    fingerprints: list[NDArray[np.uint64]]
    hashes: list[Floats]
    labels: list[list[Label]]

    def __add__(self, other: "_HashedDocuments") -> "_HashedDocuments":
        return _HashedDocuments(
            self.reading + other.reading,
            self.fingerprints + other.fingerprints,
            self.hashes + other.hashes,
            self.labels + other.labels,
        )


@dataclass
class _DocumentHasher:
    """Hashing of the documents of consecutive shards."""

    corpus: ShardedCorpus
    holdout: Holdout

    def __call__(self, items: Iterable[tuple[int, Any]]) -> _HashedDocuments:
        """Return the hashes and labels of some shards."""
        documents = _HashedDocuments(ReadSummary(), [], [], [])
        for number, item in items:
            for block in self.corpus.records(number, item, documents.reading):
                texts = [record.text for record in block]
                documents.fingerprints.append(fingerprint_texts(texts))
                documents.hashes.append(self.holdout.hash_texts(texts))
                documents.labels += [record.labels for record in block]
        return documents


def choose_holdout(corpus: ShardedCorpus, engine: Engine, holdout: Holdout) -> ChosenHoldout:
    """Choose the documents to hold out, with the same share of every class, in one pass."""
    hasher = _DocumentHasher(corpus.without_items(), holdout)
    job = Job(engine, corpus.items, "choosing documents to hold out", 1)
    documents = job.run(hasher, f"{len(corpus):,} shards")
    fingerprints = np.concatenate([np.zeros(0, np.uint64), *documents.fingerprints])
    hashes = np.concatenate([np.zeros(0), *documents.hashes])
    Y = encode_labels(documents.labels).Y
    return holdout.choose_fingerprints(fingerprints, hashes, Y)


@dataclass
class ShardPredictor:
    """Writer of predictions for consecutive shards, with one file per shard.

    The name of a file contains a checksum of the model, the shard and the options. A file is
    renamed to this name when it is complete, so an existing file is not written again.

    Parameters
    ----------
    corpus : ShardedCorpus
        The corpus without its shards.
    model : classifier
        A fitted classifier.
    folder : str
        Folder of the files.
    ending : str
        Ending of the files, such as ".jsonl".
    identity : str
        Checksum of the model.
    options : dict
        Options of `predict_rows`.
    holdout : Holdout, optional
        Predict only the documents that were held out.
    escape_formulas : bool, default=False
        See `open_row_writer`.
    """

    corpus: ShardedCorpus
    model: Any
    folder: str
    ending: str
    identity: str
    options: dict[str, Any]
    holdout: Holdout | None = None
    escape_formulas: bool = False

    def __call__(self, items: Iterable[tuple[int, Any]]) -> PredictionSummary:
        """Write the files of some shards."""
        return tree_sum((self._predict_shard(number, item) for number, item in items), add)

    def _predict_shard(self, number: int, item: Any) -> PredictionSummary:  # noqa: ANN401
        path = Path(self.folder, f"{_FILE_PREFIX}{number:05}-{self._key(item)}{self.ending}")
        if storage.path_exists(path):
            return PredictionSummary(n_reused=1, files=[path.name])
        reading = ReadSummary()
        n_docs = 0
        make_row = RowMaker(
            self.model,
            is_flat=uncompressed_name(path).endswith(SPREADSHEET_ENDINGS),
            is_ranked=bool(self.options.get("proba")) or self.options.get("k") is not None,
        )
        dialect = None
        if isinstance(item, Shard) and item.format in ("csv", "tsv"):
            dialect = detect_dialect(item.path, self.corpus.options)
        with open_row_writer(path, escape_formulas=self.escape_formulas, dialect=dialect) as write:
            for block in self.corpus.records(number, item, reading, texts_only=True):
                records = _select_held_out(block, self.holdout)
                texts = [record.text for record in records]
                predictions = predict_rows(self.model, texts, **self.options)
                write(
                    [
                        make_row(record.row, prediction)
                        for record, prediction in zip(records, predictions, strict=True)
                    ]
                )
                n_docs += len(texts)
        return PredictionSummary(reading, n_docs, files=[path.name])

    def _key(self, shard: Shard) -> str:
        dependencies = [
            *(self.identity, str(shard.path), shard.format, shard.span, shard.state),
            *(asdict(self.corpus.options), asdict(self.corpus.selection), self.options),
            None if self.holdout is None else asdict(self.holdout),
            *(["formulas escaped"] if self.escape_formulas else []),
            *(["flat columns"] if self.ending.startswith(SPREADSHEET_ENDINGS) else []),
        ]
        return digest(json.dumps(dependencies, default=str).encode())[:16]


def predict_shards(
    corpus: ShardedCorpus, engine: Engine, predictor: ShardPredictor
) -> PredictionSummary:
    """Write the predictions for all shards into the folder of the predictor.

    At the end, files of other shards, another model or other options are removed.
    """
    folder = Path(predictor.folder)
    _check_folder(folder, predictor.ending)
    with storage.as_storage_error(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
    job = Job(engine, corpus.items, "predicting", 1)
    summary = job.run(predictor, f"{len(corpus):,} shards")
    for path in folder.glob(f"{_FILE_PREFIX}*"):
        if path.name not in summary.files:
            path.unlink()
    return summary


def _check_folder(folder: Path, ending: str) -> None:
    """Refuse a folder with other files, so that only predictions are ever removed."""
    if not storage.path_exists(folder):
        return
    if not folder.is_dir():
        raise InputError(
            f"{folder} is a file",
            expected="a folder, as --engine writes one file per shard",
            hint="choose another output",
        )
    visible = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    foreign = [
        name for name in visible if not (name.startswith(_FILE_PREFIX) and name.endswith(ending))
    ]
    if foreign:
        raise InputError(
            f"{folder} holds {foreign[0]}, which is not one of the predictions in {ending} files",
            hint="choose another folder",
        )


@dataclass
class ShardEvaluator:
    """Evaluation of a model on consecutive shards, block by block.

    Parameters
    ----------
    corpus : ShardedCorpus
        The corpus without its shards.
    model : classifier
        A fitted classifier.
    strict : bool, default=False
        Whether labels unknown to the model are an error.
    holdout : Holdout, optional
        Evaluate only on the documents that were held out.
    threshold : float, optional
        See `evaluate_block`.
    """

    corpus: ShardedCorpus
    model: Any
    strict: bool = False
    holdout: Holdout | None = None
    threshold: float | None = None

    def __call__(self, items: Iterable[tuple[int, Any]]) -> tuple[ReadSummary, Evaluation | None]:
        """Return the summary of the records and the evaluation, or None without documents."""
        reading = ReadSummary()
        evaluations = (
            # the labels themselves are dropped to save memory
            replace(self._evaluate(block), true=[], predicted=[])
            for number, item in items
            for block in self._blocks(number, item, reading)
        )
        first = next(evaluations, None)
        return reading, None if first is None else tree_sum(chain([first], evaluations), add)

    def _evaluate(self, block: LabelledCorpus) -> Evaluation:
        return evaluate_block(self.model, block, strict=self.strict, threshold=self.threshold)

    def _blocks(
        self,
        number: int,
        item: Any,  # noqa: ANN401
        reading: ReadSummary,
    ) -> Iterator[LabelledCorpus]:
        is_multilabel = self.model.codeframe_.is_multilabel
        for block in self.corpus.records(number, item, reading):
            records = _select_held_out(block, self.holdout)
            if not is_multilabel:  # a missing label is reported after all shards
                records = [record for record in records if record.labels]
            if records:
                yield LabelledCorpus.of(records, is_multilabel)


def evaluate_shards(
    corpus: ShardedCorpus, engine: Engine, evaluator: ShardEvaluator
) -> tuple[ReadSummary, Evaluation]:
    """Evaluate a model on all shards. Counts of right and wrong decisions add up exactly."""
    job = Job(engine, corpus.items, "evaluating", 1)
    reading, evaluation = job.run(evaluator, f"{len(corpus):,} shards", _add_results)
    corpus.is_multilabel(reading)  # raises an error if a label is missing
    if evaluation is None:
        raise InputError("there are no documents to evaluate", expected="at least one")
    return reading, evaluation.checked()


def _add_results(
    one: tuple[ReadSummary, Evaluation | None], other: tuple[ReadSummary, Evaluation | None]
) -> tuple[ReadSummary, Evaluation | None]:
    evaluations = [evaluation for _, evaluation in (one, other) if evaluation is not None]
    return one[0] + other[0], tree_sum(evaluations, add) if evaluations else None


def _select_held_out(records: list[Record], holdout: Holdout | None) -> list[Record]:
    if holdout is None:
        return records
    return [*compress(records, holdout.contains(record.text for record in records))]
