"""Ohsumed as Moschitti distributes it: medical abstracts of 1991, multilabel, 23 diseases."""

import hashlib
import re
from collections import defaultdict
from pathlib import Path

from wordclass.corpus import Dataset
from wordclass.datasets import _members
from wordclass.datasets._documents import Document, to_dataset
from wordclass.datasets._download import Download
from wordclass.datasets._source import Sizes, Source

SOURCE = Source(
    name="ohsumed",
    title="MEDLINE abstracts of 1991 by cardiovascular disease",
    url="http://disi.unitn.it/moschitti/corpora.htm",
    license="free for research on information retrieval (Hersh et al. 1994)",
    how_to_get=(
        "Run `wordclass datasets ohsumed --download`, or fetch ohsumed-all-docs.tar.gz from "
        "http://disi.unitn.it/moschitti/corpora/ohsumed-all-docs.tar.gz"
    ),
    sizes=Sizes(n_train=24_061, n_test=10_328, n_classes=23),
    files=(
        "ohsumed-all-docs.tar.gz",
        "C[0-2][0-9]",
        "ohsumed-all/C[0-2][0-9]",
        "ohsumed-all-docs/C[0-2][0-9]",
    ),
    downloads=(
        Download(
            "ohsumed-all-docs.tar.gz",
            ("http://disi.unitn.it/moschitti/corpora/ohsumed-all-docs.tar.gz",),
        ),
    ),
)

_TRAINING_PERCENT = 70
_FILE = re.compile(r"(?:^|/)(C\d\d)/([^/]+)$")


def load(home: Path, *, seed: int = 0) -> Dataset:
    """Read the documents, each once however many of the folders C01 to C23 it is in.

    Nobody published a split. Here 70 % of the documents of each first class are for training,
    rounded down: the published sizes follow from that rounding, whatever the seed.

    Parameters
    ----------
    home
        Where corpora live.
    seed
        Chooses the documents of the two parts.
    """
    paths = SOURCE.require(home)
    texts: dict[str, str] = {}
    labels: defaultdict[str, set[str]] = defaultdict(set)
    for file in _members.read(paths, lambda name: bool(_FILE.search(name)), "reading ohsumed"):
        label, number = file.parts[-2:]
        texts[number] = file.data.decode("latin-1")
        labels[number].add(label)
    training = _choose_training(labels, seed)
    documents = {
        number: Document(texts[number], sorted(labels[number])) for number in sorted(texts)
    }
    train = [document for number, document in documents.items() if number in training]
    test = [document for number, document in documents.items() if number not in training]
    return to_dataset("ohsumed", paths[0], train, test, is_multilabel=True)


def _choose_training(labels: dict[str, set[str]], seed: int) -> set[str]:
    by_first: defaultdict[str, list[str]] = defaultdict(list)
    for number, classes in labels.items():
        by_first[min(classes)].append(number)
    chosen: set[str] = set()
    for numbers in by_first.values():
        numbers.sort(key=lambda number: hashlib.sha256(f"{seed}:{number}".encode()).digest())
        chosen.update(numbers[: len(numbers) * _TRAINING_PERCENT // 100])
    return chosen
