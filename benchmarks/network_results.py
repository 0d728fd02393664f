"""Train the networks on real data, and write docs/network-results.md: `make network-results`.

Every training is kept as soon as it is done. One that was stopped goes on from its checkpoint.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from journal import Journal, write_page
from network_results_page import page
from results_measuring import cpu_seconds
from results_rows import CORPORA, DATA, ROOT, VECTORS

import wordclass as wc
from wordclass.arrays import Floats32, Sparse
from wordclass.measures import Scores
from wordclass.network.embedding_layer import EmbeddingLayer
from wordclass.storage.parts import Parts
from wordclass.thresholds import best_thresholds

FOLDER = ROOT / ".cache" / "results"
JOURNAL = Journal(FOLDER / "networks.jsonl", ("wordclass", "numpy", "torch"))
PAGE = ROOT / "docs" / "network-results.md"
_EPOCHS = ("1", "2", "5", "10")


@dataclass(frozen=True)
class Row:
    """One training: a network on a corpus, one of the paper's variants, a protocol, a seed."""

    corpus: str
    network: str
    variant: str
    seed: int = 1
    protocol: str = "clean"
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """All of it."""
        options = "".join(f" {name}={value}" for name, value in self.options.items())
        return f"{self.corpus}/{self.network}/{self.variant}/{self.protocol}/{self.seed}{options}"


VARIANTS: dict[str, dict[str, Any]] = {
    "random": {"wce": False, "vectors": None, "random_dims": 200},
    "glove": {"wce": False},
    "glove trainable": {"wce": False, "trainable": True},
    "glove+random": {"wce": False, "random_dims": 20, "trainable": True},
    "glove+wce": {},
    "glove+wce trainable": {"trainable": True},
    "wce": {"vectors": None},
}
_TEN = {"max_epochs": 10}
ROWS = [
    *(Row("reuters", "cnn", "glove+wce", seed) for seed in (1, 2, 3)),
    Row("20ng", "cnn", "glove+wce"),
    Row("20ng", "cnn", "glove+wce", 1, "paper"),
    *(
        Row("20ng", network, each, options=_TEN)
        for each in ("glove+wce", "glove")
        for network in ("lstm", "attention")
    ),
    Row("20ng", "cnn", "glove"),
    Row("20ng", "cnn", "glove+wce", 2),
    Row("20ng", "cnn", "glove+wce", 3),
    Row("reuters", "cnn", "glove"),
    Row("20ng", "cnn", "glove", 2),
    Row("20ng", "cnn", "glove", 3),
    *(
        Row("20ng", "cnn", each)
        for each in ("glove+wce trainable", "glove trainable", "glove+random", "wce", "random")
    ),
    *(Row("20ng", "leam", each) for each in ("glove+wce", "glove")),
]


def main() -> None:
    """Train what is missing, and write the page after every row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="parts of keys, such as cnn/glove")
    parser.add_argument("--list", action="store_true", help="show the rows, train nothing")
    parser.add_argument("--page", action="store_true", help="write the page, train nothing")
    arguments = parser.parse_args()
    rows = [row for row in ROWS if all(part in row.key for part in arguments.only)]
    for row in rows if not arguments.page else []:
        is_known = row.key in JOURNAL.kept()
        if arguments.list:
            print(row.key, "" if is_known else "(not measured)")
        elif not is_known:
            JOURNAL.add(row.key, row.key, measure(row))
            write_page(PAGE, page(JOURNAL.kept()))
    if not arguments.list:
        write_page(PAGE, page(JOURNAL.kept()))


def measure(row: Row) -> dict[str, Any]:
    """Train once; return the scores of every epoch, validation and test, and of the end."""
    corpus = CORPORA[row.corpus]
    train, test = (
        wc.read_corpus(DATA / corpus.file, split=split, label_field=corpus.label_field)
        for split in ("train", "test")
    )
    checkpoint = FOLDER / f"{row.key.replace('/', '_').replace(' ', '_')}.checkpoint"
    options = {"vectors": wc.WordVectors.load(VECTORS), **VARIANTS[row.variant], **row.options}
    classifier = wc.classifier(
        row.network, **options, protocol=row.protocol, seed=row.seed, checkpoint=checkpoint
    )
    watch = _Watch(classifier, test, checkpoint)
    begun, begun_cpu = time.perf_counter(), cpu_seconds()
    watch.fit(train)
    seconds, cpu = time.perf_counter() - begun, cpu_seconds() - begun_cpu
    found = wc.evaluate(test.labels, classifier.predict(test.texts), classifier.classes_.tolist())
    checkpoint.unlink(missing_ok=True)
    watch.path.unlink(missing_ok=True)
    return {
        "corpus": row.corpus, "network": row.network, "variant": row.variant,
        "protocol": row.protocol, "seed": row.seed,
        "macro_f1": found.macro_f1, "micro_f1": found.micro_f1, "accuracy": found.accuracy,
        "best_epoch": classifier.best_epoch_, "history": classifier.history_,
        "test_macro": watch.macro, "seconds": seconds, "cpu_seconds": cpu,
    }  # fmt: skip


class _Watch:
    """Scores the test texts after every epoch, for the curves; training does not see them."""

    def __init__(self, classifier: Any, test: wc.LabelledCorpus, checkpoint: Path) -> None:  # noqa: ANN401
        self._classifier, self._test = classifier, test
        self.path = checkpoint.with_suffix(".json")
        self.macro: dict[str, float | None] = {}  # by epoch
        self._best = -1.0
        if checkpoint.exists() and self.path.exists():
            state = Parts.read(checkpoint, "training").facts["state"]
            n_epochs = len(state["history"])  # one more may have been scored
            self._best, kept = json.loads(self.path.read_text())
            self.macro = {epoch: kept[epoch] for epoch in list(kept)[:n_epochs]}

    def fit(self, train: wc.LabelledCorpus) -> None:
        """Fit the classifier, watched."""
        classifier, data_of, network_of, judge_of = (
            self._classifier, self._classifier._data, self._classifier._around,
            self._classifier._judge,
        )  # fmt: skip

        def data(*given: Any) -> Any:  # noqa: ANN401
            self._data = data_of(*given)
            self._ids = self._data.everything.sequences(self._test.texts, classifier.max_length)
            return self._data

        def new_network(*given: Any) -> Any:  # noqa: ANN401
            self._network = network_of(*given)
            return self._network

        def judge(codeframe: Any, scores: Floats32, Y: Sparse) -> Scores:  # noqa: ANN401
            found: Scores = judge_of(codeframe, scores, Y)
            self._score(codeframe, found, scores, Y)
            return found

        classifier._data, classifier._around, classifier._judge = data, new_network, judge
        classifier.fit(train.texts, train.labels)

    def _score(self, codeframe: Any, found: Scores, scores: Floats32, Y: Sparse) -> None:  # noqa: ANN401
        """Score what the page tells of: some epochs, and all that may be the chosen one."""
        number = str(len(self.macro) + 1)
        is_told = number in _EPOCHS or found.macro_f1 >= self._best
        self._best = max(self._best, found.macro_f1)
        self.macro[number] = self._test_macro(codeframe, scores, Y) if is_told else None
        self.path.write_text(json.dumps([self._best, self.macro]))
        print(
            f"{self.path.stem}, epoch {number}: validation {found.macro_f1:.4f}, "
            f"test {self.macro[number] or 0:.4f}, {cpu_seconds():.0f} CPU s",
            file=sys.stderr,
        )

    def _test_macro(self, codeframe: Any, scores: Floats32, Y: Sparse) -> float:  # noqa: ANN401
        classifier, network = self._classifier, self._network
        layer, E = network.layer, self._data.with_trained_rows(network.layer)
        network.layer = EmbeddingLayer(E, trainable=False, dropout=None)
        made = network.scores(self._ids, padding=E.padding, pad=classifier._pad)
        network.layer = layer
        if codeframe.is_multilabel:
            above = np.zeros(Y.shape[1])
            if classifier.protocol == "clean":
                above = best_thresholds(scores, Y, np.inf)
            decisions = made > above
        else:
            decisions = np.eye(len(codeframe.classes), dtype=bool)[made.argmax(axis=1)]
        predicted = codeframe.to_labels(decisions)
        return wc.evaluate(self._test.labels, predicted, list(codeframe.classes)).macro_f1


if __name__ == "__main__":
    main()
