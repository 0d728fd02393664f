"""Ohsumed as Moschitti distributes it: medical abstracts of 1991, multilabel, 23 diseases."""

import hashlib
import re
from collections import defaultdict
from pathlib import Path

from wordclass.corpus.datasets._download import Download
from wordclass.corpus.datasets._source import Sizes, Source
from wordclass.corpus.documents import Dataset, Record

_URL = "http://disi.unitn.it/moschitti/corpora/ohsumed-all-docs.tar.gz"
_CODE = "C[0-2][0-9]"

SOURCE = Source(
    name="ohsumed",
    title="MEDLINE abstracts of 1991 by cardiovascular disease",
    url="http://disi.unitn.it/moschitti/corpora.htm",
    license="free for research on information retrieval (Hersh et al. 1994)",
    sizes=Sizes(n_train=24_061, n_test=10_328, n_classes=23),
    files=("ohsumed-all-docs.tar.gz", _CODE, f"ohsumed-all/{_CODE}", f"ohsumed-all-docs/{_CODE}"),
    download=Download("ohsumed-all-docs.tar.gz", (_URL,)),
)

_TRAINING_PERCENT = 70
_FILE = re.compile(r"(?:^|/)(C\d\d)/([^/]+)$")


def load(home: Path, *, seed: int = 0) -> Dataset:
    """Read each document once, although several of the folders C01 to C23 may hold it.

    There is no published split. Here 70 % of the documents of each first class are for training,
    rounded down, which gives the published sizes for every seed.

    Parameters
    ----------
    home : Path
        Folder of corpora.
    seed : int, default=0
        Another seed gives another split.
    """
    texts: dict[str, str] = {}
    labels: defaultdict[str, set[str]] = defaultdict(set)
    for file in SOURCE.members(home, lambda name: bool(_FILE.search(name))):
        label, number = file.parts[-2:]
        texts[number] = file.data.decode("latin-1")
        labels[number].add(label)
    training = _choose_training(labels, seed)
    records = (
        (number, Record(text, sorted(labels[number]), "train" if number in training else "test"))
        for number, text in texts.items()
    )
    return SOURCE.to_dataset(home, records, is_multilabel=True)


def _choose_training(labels: dict[str, set[str]], seed: int) -> set[str]:
    by_first: defaultdict[str, list[str]] = defaultdict(list)
    for number, classes in labels.items():
        by_first[min(classes)].append(number)
    chosen: set[str] = set()
    for numbers in by_first.values():
        numbers.sort(key=lambda number: hashlib.sha256(f"{seed}:{number}".encode()).digest())
        chosen.update(numbers[: len(numbers) * _TRAINING_PERCENT // 100])
    return chosen
