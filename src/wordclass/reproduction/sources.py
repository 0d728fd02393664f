"""Corpora and vectors of runs, and the checksums that identify them."""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wordclass import catalogue
from wordclass.corpus.documents import Dataset, LabelledCorpus
from wordclass.corpus.labels import encode_labels
from wordclass.corpus.reader import load_dataset, read_corpus
from wordclass.corpus.splits import fingerprint_texts
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import InputError, MissingDataError
from wordclass.explorer.term_map import learn_vectors
from wordclass.reproduction import emotions
from wordclass.reproduction.rivals.ablations import ABLATIONS, ablated_vectors
from wordclass.reproduction.rivals.pte import pte
from wordclass.storage import files as storage
from wordclass.storage.state import digest
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.vectors.word_vectors import WordVectors

CORPUS_VECTORS = "corpus"  # vectors learned from the texts of the data set, without labels
PTE = "pte"  # vectors learned from its texts and labels
_LEARNED_VECTORS = (CORPUS_VECTORS, PTE, *ABLATIONS)
_VECTOR_ENDINGS = (".npz", ".txt", ".vec", ".bin")
# data sets that are made from another one
_DERIVED: Mapping[str, tuple[str, Callable[[Dataset], Dataset]]] = {
    "goemotions_emotions": ("goemotions", emotions.select_source),
    "goemotions_sentiment": ("goemotions", emotions.select_target),
}
# data sets that read their labels from another field of a corpus file
_OTHER_LABELS: Mapping[str, tuple[str, str]] = {
    "arxiv_categories": ("arxiv_abstracts_120k", "categories"),
}


def _data_folder() -> Path | None:
    folder = os.environ.get("WORDCLASS_DATA")
    return Path(folder).expanduser() if folder else None


# --- data sets ----------------------------------------------------------------------------------


def _corpus_files() -> dict[str, Path]:
    """Return the corpus files in `WORDCLASS_DATA` by their names without endings."""
    folder = _data_folder()
    paths = [] if folder is None else sorted(folder.glob("*"), reverse=True)
    return {
        Path(storage.uncompressed_name(path)).stem: path
        for path in paths
        if path.is_file() and path.suffix not in _VECTOR_ENDINGS
    }


class DatasetName(NamedTuple):
    """The name of a run's data set, such as "newsgroups20:sci.med+sci.space@8", in its parts.

    Parameters
    ----------
    base : str
        The name of the whole data set.
    classes : list of str
        The selected classes. Empty: all of them.
    n_per_class : int or None
        How many training documents per class are drawn. None: all of them.
    """

    base: str
    classes: list[str]
    n_per_class: int | None


def parse_dataset_name(name: str) -> DatasetName:
    """Split the name of a run's data set into its parts.

    Examples
    --------
    >>> parse_dataset_name("newsgroups20:sci.space+sci.med@8")
    DatasetName(base='newsgroups20', classes=['sci.med', 'sci.space'], n_per_class=8)
    """
    selected, at, number = name.partition("@")
    base, colon, selection = selected.partition(":")
    classes = sorted(selection.split("+")) if colon else []
    if not all(classes):
        raise InputError(
            f"the data set {name!r} lacks a class", expected=f"{base} or {base}:one+two"
        )
    if at and not (number.isdecimal() and int(number)):
        raise InputError(
            f"the data set {name!r} has {number!r} documents per class",
            expected=f"a number above 0, as in {selected}@8",
        )
    return DatasetName(base, classes, int(number) if at else None)


def check_dataset(name: str) -> None:
    """Refuse a data set that is neither in the catalogue nor a corpus file.

    The files of a catalogued data set may be missing. Without `WORDCLASS_DATA` every name passes.
    """
    base = parse_dataset_name(name).base
    known = [*catalogue.names("datasets"), *_corpus_files(), *_DERIVED, *_OTHER_LABELS]
    if base not in known and _data_folder() is not None:
        raise catalogue.unknown_name_error("data set", base, known)


def dataset_files(name: str) -> list[Path]:
    """Return the files of a data set. The list is empty for a data set that needs no file.

    Raises
    ------
    MissingDataError
        The data set is missing. The message says how to get it.
    """
    base = parse_dataset_name(name).base
    if base in _DERIVED:
        base, _ = _DERIVED[base]
    if base in _OTHER_LABELS:
        base, _ = _OTHER_LABELS[base]
    if base in catalogue.names("datasets"):
        source = catalogue.entry("datasets", base).SOURCE
        return [] if source.is_built else list(source.require(storage.data_home()))
    if base not in (corpora := _corpus_files()):
        raise MissingDataError(
            f"the corpus {base} is not in the folder that WORDCLASS_DATA names",
            hint=f"put {base}.jsonl or another corpus file of this name there",
        )
    return [corpora[base]]


def dataset_digest(name: str) -> str:
    """Return a checksum of the files of a data set, or of its texts if it has no files."""
    files = dataset_files(name)
    return digest(name, *map(_file_digest, files)) if files else fingerprint(load(name))


def load(name: str) -> Dataset:
    """Read a data set: one of the catalogue, a corpus file, or some of its classes (`name:a+b`).

    It has all training documents; `draw_documents` selects those of a run.
    """
    return _load(name.partition("@")[0], _file_identities(name))


def _file_identities(name: str) -> tuple[object, ...]:
    """Return sizes and times of the files of a data set, so that caches notice changed files."""
    return tuple(map(storage.file_identity, dataset_files(name)))


@lru_cache(maxsize=1)
def _load(name: str, _identities: object) -> Dataset:
    base, classes, _ = parse_dataset_name(name)
    if base in _DERIVED:
        source, derive = _DERIVED[base]
        dataset = replace(derive(load(source)), name=base)
    elif base in catalogue.names("datasets"):
        dataset = load_dataset(base)
    else:
        (path,) = dataset_files(base)
        _, label_field = _OTHER_LABELS.get(base, ("", None))
        train, test = (
            read_corpus(path, split=split, label_field=label_field) for split in ("train", "test")
        )
        train_classes = encode_labels(train.labels).codeframe.classes
        dataset = Dataset(base, train, test, list(train_classes))
    return _select_classes(dataset, classes) if classes else dataset


def _select_classes(dataset: Dataset, classes: list[str]) -> Dataset:
    """Return the documents of some classes of a single-label data set."""
    if dataset.is_multilabel:
        raise InputError(
            f"{dataset.name} is multilabel; only single-label data sets can be cut to some classes",
            hint=f"use {dataset.name} without a colon",
        )
    for name in classes:
        if name not in dataset.classes:
            raise catalogue.unknown_name_error(
                f"class of {dataset.name}", name, map(str, dataset.classes)
            )
    train, test = (
        corpus.part(label in classes for label in corpus.labels)
        for corpus in (dataset.train, dataset.test)
    )
    return Dataset(dataset.name, train, test, [*classes])


def undrawn_texts(complete: Dataset, drawn: Dataset) -> list[str]:
    """Return the training texts that were not drawn, without their labels."""
    texts = set(drawn.train.texts)
    return [text for text in complete.train.texts if text not in texts]


def draw_documents(dataset: Dataset, name: str, seed: int) -> Dataset:
    """Draw the number of training documents per class that the name of a run's data set gives.

    Each seed draws other documents. A class with fewer documents keeps all of them. A class of a
    multilabel data set can get more, from documents that were drawn for other classes.
    """
    n_per_class = parse_dataset_name(name).n_per_class
    if n_per_class is None:
        return dataset
    n_drawn = Counter[object]()
    rows = set[int]()
    for row in np.random.default_rng(seed).permutation(len(dataset.train)).tolist():
        row_labels = dataset.train.labels[row]
        labels = row_labels if isinstance(row_labels, list) else [row_labels]
        if any(n_drawn[label] < n_per_class for label in labels):
            n_drawn.update(labels)
            rows.add(row)
    is_drawn = (row in rows for row in range(len(dataset.train)))
    return replace(dataset, train=dataset.train.part(is_drawn))


def fit_other_tasks(names: Sequence[str], dataset: str) -> dict[str, WordClassEmbeddings]:
    """Learn word-class embeddings from the training documents of other data sets.

    The data set itself is skipped if it is among the names.
    """
    base = parse_dataset_name(dataset).base
    tasks = {
        name: _fit_embeddings(name, _file_identities(name))
        for name in names
        if parse_dataset_name(name).base != base
    }
    if not tasks:
        raise InputError(
            f"other names no data set but {base} itself",
            hint="add another data set, or remove the option",
        )
    return tasks


@lru_cache(maxsize=8)
def _fit_embeddings(name: str, _identities: object) -> WordClassEmbeddings:
    train = load(name).train
    return WordClassEmbeddings().fit(train.texts, train.labels)


def fingerprint(dataset: Dataset) -> str:
    """Return a checksum of all texts and labels of a data set."""
    checksums = []
    for corpus in (dataset.train, dataset.test):
        checksums += [digest(fingerprint_texts(corpus.texts)), digest(repr(corpus.labels))]
    return digest(*checksums)


# --- vectors ------------------------------------------------------------------------------------


def is_learned(name: str) -> bool:
    """Return True if vectors, or some of their dimensions, are learned from the data set."""
    return _split_vectors_name(name)[1] is not None


def _split_vectors_name(name: str) -> tuple[str | None, str | None]:
    """Return the pretrained and the learned part of a name such as "glove.6B.100d+pte"."""
    if name in _LEARNED_VECTORS:
        return None, name
    file, plus, learned = name.rpartition("+")
    return (file, learned) if plus and learned in _LEARNED_VECTORS else (name, None)


def vectors_file(name: str) -> Path | None:
    """Return the file of pretrained vectors, named by a path or by a name in `WORDCLASS_DATA`.

    None: all dimensions are learned from the data set.
    """
    pretrained, _ = _split_vectors_name(name)
    if pretrained is None:
        return None
    folder = _data_folder()
    candidates = [Path(pretrained).expanduser()]
    if folder is not None:
        candidates += [folder / f"{pretrained}{ending}" for ending in _VECTOR_ENDINGS]
        candidates += [folder / pretrained / "vectors"]  # the layout of spaCy
    for path in candidates:
        if path.is_file():
            return path
    raise MissingDataError(
        f"the vectors {pretrained} are missing",
        hint=f"put {pretrained}.txt (.vec, .bin, .npz) or {pretrained}/vectors into the folder "
        "that WORDCLASS_DATA names, or write a path in the plan",
    )


def vectors_digest(name: str) -> str:
    """Return a checksum of the file of vectors. Learned vectors depend on the data set alone."""
    path = vectors_file(name)
    return "" if path is None else _file_digest(path)


def load_vectors(name: str, dataset: str, train: LabelledCorpus) -> WordVectors:
    """Read vectors, learn them from a data set, or do both and put them side by side.

    Parameters
    ----------
    name : str
        The name of a file; "corpus": learned from all training texts, without labels; "pte":
        learned by PTE from texts and labels; a name of `ABLATIONS`; or a file and a learned part
        with a + between them.
    dataset : str
        The data set, as a run names it.
    train : LabelledCorpus
        The documents whose labels the run may use.
    """
    path = vectors_file(name)
    learned_part = _split_vectors_name(name)[1]
    pretrained = None if path is None else _load_vectors(path, storage.file_identity(path))
    if learned_part is None and pretrained is not None:
        return pretrained
    if learned_part == PTE:
        learned = pte(train.texts, train.labels)  # not cached, so that every run measures its time
    elif learned_part in ABLATIONS:
        learned = ablated_vectors(train.texts, train.labels, str(learned_part))
    else:
        learned = _learn_vectors(dataset, _file_identities(dataset))
    return learned if pretrained is None else _concatenate(pretrained, learned)


def _concatenate(first: WordVectors, second: WordVectors) -> WordVectors:
    """Put vectors side by side for all terms of both, with zeros for missing ones."""
    terms = [*first.terms, *(term for term in second.terms if term not in first)]
    matrix = np.zeros((len(terms), first.n_dims + second.n_dims), np.float32)
    matrix[: len(first), : first.n_dims] = first.matrix
    rows = {term: row for row, term in enumerate(terms)}
    matrix[[rows[term] for term in second.terms], first.n_dims :] = second.matrix
    return WordVectors.of(terms, matrix)


@lru_cache(maxsize=1)
def _load_vectors(path: Path, _identity: object) -> WordVectors:
    return WordVectors.load(path)


@lru_cache(maxsize=1)
def _learn_vectors(dataset: str, _identities: object) -> WordVectors:
    """Learn vectors from the texts of a data set by latent semantic analysis."""
    vectorizer = DocumentVectorizer(min_docs=2)
    X = vectorizer.fit_transform(load(dataset).train.texts)
    return WordVectors.of(vectorizer.vocabulary_.terms, learn_vectors(X, seed=0)[0])


def _file_digest(path: Path) -> str:
    return _digest_of(path, storage.file_identity(path))


@lru_cache
def _digest_of(path: Path, _identity: object) -> str:
    """Return a checksum of a file, or of all files in a folder and their names."""
    is_folder = path.is_dir()
    inner_files = sorted(file for file in path.rglob("*") if file.is_file()) if is_folder else []
    pieces = []
    for file_path in inner_files or [path]:
        with storage.as_storage_error(file_path), file_path.open("rb") as file:
            content = file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
        pieces += [file_path.relative_to(path).as_posix(), content]
    return digest(*pieces) if is_folder else content
