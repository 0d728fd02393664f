"""From the documents that a reader found to the data set that everybody uses."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wordclass.corpus import Dataset, Label, LabelledCorpus
from wordclass.errors import FormatError


@dataclass(frozen=True)
class Document:
    """A text with its labels, of which a single-label data set has exactly one."""

    text: str
    labels: Sequence[str]


def to_dataset(
    name: str,
    origin: Path,
    train: Sequence[Document],
    test: Sequence[Document],
    *,
    is_multilabel: bool,
) -> Dataset:
    """Put two lists of documents together; the classes are those of the training documents.

    Test documents keep labels that no training document has: `evaluate` drops and counts them.

    Raises
    ------
    FormatError
        One of the parts is empty: `origin` is not the corpus, or not all of it.
    """
    for part, documents in (("training", train), ("test", test)):
        if not documents:
            reason = f"there are no {part} documents of {name}: another corpus, or part of it"
            raise FormatError(origin, None, reason)
    classes = sorted({label for document in train for label in document.labels})
    train_corpus, test_corpus = (_to_corpus(part, is_multilabel) for part in (train, test))
    return Dataset(name, train_corpus, test_corpus, [*classes])


def _to_corpus(documents: Sequence[Document], is_multilabel: bool) -> LabelledCorpus:
    texts = [document.text for document in documents]
    if is_multilabel:
        label_lists: list[list[Label]] = [[*document.labels] for document in documents]
        return LabelledCorpus(texts, label_lists, True)
    labels: list[Label] = [document.labels[0] for document in documents]
    return LabelledCorpus(texts, labels, False)
