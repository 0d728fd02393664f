"""Prediction and evaluation of a corpus in parts, by any engine."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, compress
from operator import add
from pathlib import Path
from typing import Any

from wordclass.batch.evaluation import Evaluation, evaluate_part
from wordclass.batch.predictions import merge_prediction, predict_rows
from wordclass.batch.row_files import open_row_writer
from wordclass.corpus.reader import LabelledCorpus, ReadSummary, Record
from wordclass.corpus.shards import Shard, ShardedCorpus
from wordclass.corpus.splits import Holdout
from wordclass.engines.engine import Job
from wordclass.engines.tasks import Engine, tree_sum
from wordclass.errors import InputError
from wordclass.storage import files as storage
from wordclass.storage.state import digest

_STEM = "part-"


@dataclass
class Predicted:
    """What came of predicting parts; adds up."""

    seen: ReadSummary = field(default_factory=ReadSummary)
    n_docs: int = 0
    n_kept: int = 0  # parts that were there already
    files: list[str] = field(default_factory=list)

    def __add__(self, other: "Predicted") -> "Predicted":
        return Predicted(
            self.seen + other.seen,
            self.n_docs + other.n_docs,
            self.n_kept + other.n_kept,
            self.files + other.files,
        )


@dataclass
class ShardPredictor:
    """Writes the predictions for consecutive parts, one file per part.

    The name of a file has a checksum in it of all that it depends on: the model, the part, and the
    options. A file of that name is complete, since it appears when it is, and is not made again.

    Parameters
    ----------
    corpus : ShardedCorpus
        Without its parts.
    model : classifier
        Fitted.
    folder : str
        Where the files go.
    ending : str
        That of the files, such as ".jsonl".
    identity : str
        A checksum of the model.
    options : dict
        Those of `predictions`.
    aside : Holdout, optional
        Predict only what was kept aside.
    escape_formulas : bool, default=False
        See `rows_to`.
    """

    corpus: ShardedCorpus
    model: Any
    folder: str
    ending: str
    identity: str
    options: dict[str, Any]
    aside: Holdout | None = None
    escape_formulas: bool = False

    def __call__(self, items: Iterable[tuple[int, Any]]) -> Predicted:
        """Write the files of some parts."""
        return tree_sum((self._of_part(number, item) for number, item in items), add)

    def _of_part(self, number: int, item: Any) -> Predicted:  # noqa: ANN401
        path = Path(self.folder, f"{_STEM}{number:05}-{self._key(item)}{self.ending}")
        if storage.path_exists(path):
            return Predicted(n_kept=1, files=[path.name])
        seen, n_docs = ReadSummary(), 0
        with open_row_writer(path, escape_formulas=self.escape_formulas) as write:
            for block in self.corpus.records(number, item, seen, texts_only=True):
                records = _kept_aside(block, self.aside)
                texts = [record.text for record in records]
                found = predict_rows(self.model, texts, **self.options)
                write(
                    [
                        merge_prediction(each.row, one)
                        for each, one in zip(records, found, strict=True)
                    ]
                )
                n_docs += len(texts)
        return Predicted(seen, n_docs, 0, [path.name])

    def _key(self, part: Shard) -> str:
        told = [
            *(self.identity, str(part.path), part.format, part.span, part.state),
            *(asdict(self.corpus.options), asdict(self.corpus.selection), self.options),
            None if self.aside is None else asdict(self.aside),
            *(["formulas escaped"] if self.escape_formulas else []),
        ]
        return digest(json.dumps(told, default=str).encode())[:16]


def predict_shards(corpus: ShardedCorpus, engine: Engine, work: ShardPredictor) -> Predicted:
    """Write the predictions for all parts into the folder that the work names.

    What is there from other parts, another model or other options is removed in the end.
    """
    folder = Path(work.folder)
    _check_folder(folder, work.ending)
    with storage.as_storage_error(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
    made = Job(engine, corpus.items, "predicting", 1).run(work, f"{len(corpus):,} parts")
    for path in folder.glob(f"{_STEM}*"):
        if path.name not in made.files:
            path.unlink()
    return made


def _check_folder(folder: Path, ending: str) -> None:
    """Refuse a place where something else is: what is not ours is not removed."""
    if not storage.path_exists(folder):
        return
    if not folder.is_dir():
        raise InputError(f"{folder} is a file; with an engine, predictions are a folder of parts")
    visible = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    strange = [name for name in visible if not (name.startswith(_STEM) and name.endswith(ending))]
    if strange:
        told = f"{folder} holds {strange[0]}, which is no part of predictions in {ending} files"
        raise InputError(f"{told}; choose another folder")


@dataclass
class ShardEvaluator:
    """Measures a model on consecutive parts, block by block.

    Parameters
    ----------
    corpus : ShardedCorpus
        Without its parts.
    model : classifier
        Fitted.
    strict : bool, default=False
        Labels that training never saw are an error.
    aside : Holdout, optional
        Measure only on what was kept aside.
    """

    corpus: ShardedCorpus
    model: Any
    strict: bool = False
    aside: Holdout | None = None

    def __call__(self, items: Iterable[tuple[int, Any]]) -> tuple[ReadSummary, Evaluation | None]:
        """Return what was seen, and the evaluation; None where there are no documents."""
        seen = ReadSummary()
        found = (
            # the labels themselves are not kept
            replace(evaluate_part(self.model, block, strict=self.strict), true=[], predicted=[])
            for number, item in items
            for block in self._blocks(number, item, seen)
        )
        first = next(found, None)
        return seen, None if first is None else tree_sum(chain([first], found), add)

    def _blocks(self, number: int, item: Any, seen: ReadSummary) -> Iterator[LabelledCorpus]:  # noqa: ANN401
        is_multilabel = self.model.codeframe_.is_multilabel
        for block in self.corpus.records(number, item, seen):
            records = _kept_aside(block, self.aside)
            if not is_multilabel:  # a missing label is told of in the end
                records = [record for record in records if record.labels]
            if records:
                yield LabelledCorpus.of(records, is_multilabel)


def evaluate_shards(
    corpus: ShardedCorpus, engine: Engine, work: ShardEvaluator
) -> tuple[ReadSummary, Evaluation]:
    """Measure a model on all parts; the counts of right and wrong decisions add up exactly."""
    job = Job(engine, corpus.items, "evaluating", 1)
    seen, found = job.run(work, f"{len(corpus):,} parts", _both)
    corpus.is_multilabel(seen)  # or a label is missing
    if found is None:
        raise InputError("there are no documents to evaluate")
    return seen, found.checked()


def _both(
    one: tuple[ReadSummary, Evaluation | None], other: tuple[ReadSummary, Evaluation | None]
) -> tuple[ReadSummary, Evaluation | None]:
    found = [each for each in (one[1], other[1]) if each is not None]
    return one[0] + other[0], tree_sum(found, add) if found else None


def _kept_aside(records: list[Record], aside: Holdout | None) -> list[Record]:
    if aside is None:
        return records
    return [*compress(records, aside.contains(each.text for each in records))]
