"""Where the corpora and vectors of a run come from, and checksums that tell them apart."""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b, file_digest
from pathlib import Path

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
from wordclass.reproduction.rivals.pte import pte
from wordclass.storage import files as storage
from wordclass.storage.state import digest
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.vectors.word_vectors import WordVectors

# the names of vectors that are learned from the data set: from its texts; from its labels, too
OWN_VECTORS, PTE = "corpus", "pte"
_VECTOR_ENDINGS = (".npz", ".txt", ".vec", ".bin")
# data sets that are made of another one
_MADE: Mapping[str, tuple[str, Callable[[Dataset], Dataset]]] = {
    "goemotions_emotions": ("goemotions", emotions.source_of),
    "goemotions_sentiment": ("goemotions", emotions.target_of),
}


def _data_folder() -> Path | None:
    given = os.environ.get("WORDCLASS_DATA")
    return Path(given).expanduser() if given else None


# --- data sets ----------------------------------------------------------------------------------


def _corpora() -> dict[str, Path]:
    """Return the corpus files below `WORDCLASS_DATA`, by their names without endings."""
    folder = _data_folder()
    files = [] if folder is None else sorted(folder.glob("*"), reverse=True)
    return {
        Path(storage.uncompressed_name(path)).stem: path
        for path in files
        if path.is_file() and path.suffix not in _VECTOR_ENDINGS
    }


def parts_of(name: str) -> tuple[str, list[str], int | None]:
    """Return what the name of a run's data set tells.

    The name of the whole data set; the classes behind a colon that are kept of it; and, behind an
    @, how many training documents per class are drawn: "newsgroups20:sci.med+sci.space@8".
    """
    whole, at, number = name.partition("@")
    base, colon, chosen = whole.partition(":")
    classes = sorted(chosen.split("+")) if colon else []
    if not all(classes):
        raise InputError(f"the data set {name!r} lacks a class; expected {base} or {base}:one+two")
    if at and not (number.isdecimal() and int(number)):
        told = f"the data set {name!r} has {number!r} documents per class"
        raise InputError(f"{told}; expected a number above 0, as in {whole}@8")
    return base, classes, int(number) if at else None


def check_dataset(name: str) -> None:
    """Refuse a data set that is neither in the catalogue nor a corpus file.

    A data set of the catalogue need not be here, nor a file where `WORDCLASS_DATA` is not set.
    """
    base = parts_of(name)[0]
    known = [*catalogue.names("datasets"), *_corpora(), *_MADE]
    if base not in known and _data_folder() is not None:
        raise catalogue.unknown_name_error("data set", base, known)


def dataset_files(name: str) -> list[Path]:
    """Return the files that hold a data set; none where it needs none.

    Raises
    ------
    MissingDataError
        It is not here; the message says how to get it.
    """
    base = parts_of(name)[0]
    if base in _MADE:
        base, _ = _MADE[base]
    if base in catalogue.names("datasets"):
        source = catalogue.entry("datasets", base).SOURCE
        return [] if source.is_built else list(source.require(storage.data_home()))
    if base not in (corpora := _corpora()):
        raise MissingDataError(f"the corpus {base} is not in the folder that WORDCLASS_DATA names")
    return [corpora[base]]


def dataset_digest(name: str) -> str:
    """Return a checksum of the files of a data set, or of its texts where it is built."""
    files = dataset_files(name)
    return digest(name, *map(_file_digest, files)) if files else fingerprint(load(name))


def load(name: str) -> Dataset:
    """Read a data set: of the catalogue, a corpus file, or some classes of one (`name:one+two`).

    All of its training documents, also where a run draws some of them: see `drawn`.
    """
    return _load(name.partition("@")[0], _states(name))


def _states(name: str) -> tuple[object, ...]:
    """Return sizes and times of the files of a data set: what was read of others is read anew."""
    return tuple(map(storage.file_identity, dataset_files(name)))


@lru_cache(maxsize=1)
def _load(name: str, _state: object) -> Dataset:
    base, chosen, _ = parts_of(name)
    if base in _MADE:
        whole, make = _MADE[base]
        dataset = replace(make(load(whole)), name=base)
    elif base in catalogue.names("datasets"):
        dataset = load_dataset(base)
    else:
        (path,) = dataset_files(base)
        train, test = (read_corpus(path, split=split) for split in ("train", "test"))
        own = encode_labels(train.labels).codeframe.classes
        dataset = Dataset(base, train, test, list(own))
    return _only(dataset, chosen) if chosen else dataset


def _only(dataset: Dataset, classes: list[str]) -> Dataset:
    """Return the documents of some classes of a single-label data set."""
    if dataset.is_multilabel:
        told = f"{dataset.name} is multilabel"
        raise InputError(f"{told}; only single-label data sets can be cut to some classes")
    for each in classes:
        if each not in dataset.classes:
            raise catalogue.unknown_name_error(
                f"class of {dataset.name}", each, map(str, dataset.classes)
            )
    train, test = (
        part.part(own in classes for own in part.labels) for part in (dataset.train, dataset.test)
    )
    return Dataset(dataset.name, train, test, [*classes])


def drawn(dataset: Dataset, name: str, seed: int) -> Dataset:
    """Draw as many training documents per class as the name of a run's data set asks for.

    Each seed draws others. A class without so many has all of its documents; one of a multilabel
    data set may have more, with those that were drawn for other classes.
    """
    n_per_class = parts_of(name)[2]
    if n_per_class is None:
        return dataset
    n_drawn, rows = Counter[object](), set[int]()
    for row in np.random.default_rng(seed).permutation(len(dataset.train)).tolist():
        own = dataset.train.labels[row]
        labels = own if isinstance(own, list) else [own]
        if any(n_drawn[label] < n_per_class for label in labels):
            n_drawn.update(labels)
            rows.add(row)
    return replace(dataset, train=dataset.train.part(k in rows for k in range(len(dataset.train))))


def other_tasks(names: Sequence[str], dataset: str) -> dict[str, WordClassEmbeddings]:
    """Learn word-class embeddings from the training parts of other data sets.

    The data set itself may be among their names, and is left out: it is no help to itself.
    """
    own = parts_of(dataset)[0]
    tasks = {name: _embeddings(name, _states(name)) for name in names if parts_of(name)[0] != own}
    if not tasks:
        raise InputError(f"other names no data set but {own} itself, which is to be helped")
    return tasks


@lru_cache(maxsize=8)
def _embeddings(name: str, _state: object) -> WordClassEmbeddings:
    train = load(name).train
    return WordClassEmbeddings().fit(train.texts, train.labels)


def fingerprint(dataset: Dataset) -> str:
    """Return a checksum of all texts and labels of a data set."""
    pieces = []
    for part in (dataset.train, dataset.test):
        pieces += [digest(fingerprint_texts(part.texts)), digest(repr(part.labels))]
    return digest(*pieces)


# --- vectors ------------------------------------------------------------------------------------


def is_learned(name: str) -> bool:
    """Whether vectors, or some of their dimensions, are learned from the data set of a run."""
    return _parts_of_vectors(name)[1] is not None


def _parts_of_vectors(name: str) -> tuple[str | None, str | None]:
    """Return the pretrained and the learned part of a name such as "glove.6B.100d+pte"."""
    if name in (OWN_VECTORS, PTE):
        return None, name
    file, plus, learned = name.rpartition("+")
    return (file, learned) if plus and learned in (OWN_VECTORS, PTE) else (name, None)


def vectors_file(name: str) -> Path | None:
    """Return the file of pretrained vectors: a path, or a name below `WORDCLASS_DATA`.

    None where all of them are learned.
    """
    own, _ = _parts_of_vectors(name)
    if own is None:
        return None
    folder = _data_folder()
    places = [] if folder is None else [folder / f"{own}{ending}" for ending in _VECTOR_ENDINGS]
    places += [] if folder is None else [folder / own / "vectors"]  # as spaCy has it
    for path in (Path(own).expanduser(), *places):
        if path.is_file():
            return path
    raise MissingDataError(
        f"the vectors {own} are not here; put {own}.txt (.vec, .bin, .npz) or {own}/vectors into "
        "the folder that WORDCLASS_DATA names, or give a path in the plan"
    )


def vectors_digest(name: str) -> str:
    """Return a checksum of the file of vectors; learned ones are told by the data set."""
    path = vectors_file(name)
    return "" if path is None else _file_digest(path)


def load_vectors(name: str, dataset: str, train: LabelledCorpus) -> WordVectors:
    """Read vectors, learn them from the training documents of a data set, or both side by side.

    Parameters
    ----------
    name : str
        Of a file; "corpus": learned from all training texts, without labels; "pte": learned by PTE
        from texts and labels; or that of a file and one of these, with a + between them.
    dataset : str
        As a run names it.
    train : LabelledCorpus
        The documents that the run may see the labels of.
    """
    path, (_, learned) = vectors_file(name), _parts_of_vectors(name)
    given = None if path is None else _load_vectors(path, storage.file_identity(path))
    if learned is None and given is not None:
        return given
    if learned == PTE:
        own = pte(train.texts, train.labels)  # anew for each run, so that its times tell of it
    else:
        own = _own_vectors(dataset, _states(dataset))
    return own if given is None else _side_by_side(given, own)


def _side_by_side(first: WordVectors, second: WordVectors) -> WordVectors:
    """Return the vectors of all terms of both; what one of them lacks is zero."""
    terms = [*first.terms, *(term for term in second.terms if term not in first)]
    matrix = np.zeros((len(terms), first.n_dims + second.n_dims), np.float32)
    matrix[: len(first), : first.n_dims] = first.matrix
    rows = {term: row for row, term in enumerate(terms)}
    matrix[[rows[term] for term in second.terms], first.n_dims :] = second.matrix
    return WordVectors.of(terms, matrix)


@lru_cache(maxsize=1)
def _load_vectors(path: Path, _state: object) -> WordVectors:
    return WordVectors.load(path)


@lru_cache(maxsize=1)
def _own_vectors(dataset: str, _state: object) -> WordVectors:
    """Learn vectors by latent semantic analysis: terms of the same texts get similar ones."""
    vectorizer = DocumentVectorizer(min_docs=2)
    X = vectorizer.fit_transform(load(dataset).train.texts)
    return WordVectors.of(vectorizer.vocabulary_.terms, learn_vectors(X, seed=0)[0])


def _file_digest(path: Path) -> str:
    return _digest_of(path, storage.file_identity(path))


@lru_cache
def _digest_of(path: Path, _state: object) -> str:
    """Return a checksum of a file, or of all files below a folder and their names."""
    inner = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    pieces = []
    for each in inner:
        with storage.as_storage_error(each), each.open("rb") as file:
            content = file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
        pieces += [each.relative_to(path).as_posix(), content]
    return digest(*pieces) if path.is_dir() else content
