"""Docstrings of the standard library, numpy, scipy and scikit-learn, labelled by package.

This corpus needs no download. It is built once for each set of installed versions.
"""

import hashlib
import importlib.metadata
import json
import platform
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sklearn.feature_extraction.text import TfidfVectorizer

from wordclass.corpus.datasets import _docstring_prose
from wordclass.corpus.datasets._source import Source
from wordclass.corpus.documents import Dataset, Record
from wordclass.errors import MissingDataError
from wordclass.storage.files import open_for_reading, open_for_writing

SOURCE = Source(
    name="docstrings",
    title="docstrings of Python's standard library, numpy, scipy and scikit-learn",
    url="https://docs.python.org/3/library/",
    license="PSF-2.0 (standard library), BSD-3-Clause (numpy, scipy, scikit-learn)",
    advice="nothing to do: built from the installed packages",
    is_verified_here=True,
)

# A fixed list, so that the task stays the same: areas with at least 40 documents that are not
# mainly the methods of one class and that every Python since 3.11 has. Areas that serve all others,
# such as sklearn.utils, and modules that some systems install separately (tkinter, turtle) are not
# classes.
_CLASS_NAMES = """
asyncio email http importlib inspect io logging numpy numpy.ma numpy.polynomial scipy.cluster
scipy.integrate scipy.interpolate scipy.io scipy.linalg scipy.ndimage scipy.optimize
scipy.signal scipy.sparse scipy.spatial scipy.special scipy.stats sklearn.cluster
sklearn.datasets sklearn.decomposition sklearn.ensemble sklearn.linear_model sklearn.metrics
sklearn.model_selection sklearn.neighbors sklearn.preprocessing threading typing unittest urllib
xml
"""
CLASSES = tuple(_CLASS_NAMES.split())

_RECIPE_VERSION = 1  # part of the name of the cache, increased if the documents change
_MIN_WORDS = 12
_MAX_COSINE = 0.9
_TEST_SHARE = 0.25
# the best of the salts from 0 to 299: each class has close to a quarter of test documents
_SPLIT_SALT = 218


class Document(NamedTuple):
    """A cleaned docstring with the module and top-level object that it belongs to, its `owner`."""

    text: str
    label: str
    split: str
    owner: str


def load(home: Path) -> Dataset:
    """Return the corpus from the cache below `home`, or build and cache it.

    If the folder cannot be written, the corpus is built each time.
    """
    path = cache_path(home)
    documents = read_cache(path)
    if documents is None:
        documents = build()
        with suppress(OSError):
            write_cache(path, documents)
    records = (Record(document.text, [document.label], document.split) for document in documents)
    return SOURCE.to_dataset(home, enumerate(records), is_multilabel=False)


def build() -> list[Document]:
    """Read, clean and split the docstrings of the installed packages, which takes seconds.

    The documents are sorted by area, module and name.
    """
    hidden_words = _docstring_prose.words_of(CLASSES)
    documents = []
    for docstring in _docstring_prose.read_all(CLASSES):
        text = _docstring_prose.clean(docstring.text, hidden_words)
        if _docstring_prose.count_words(text) >= _MIN_WORDS:
            split = split_of(docstring.owner)
            documents.append(Document(text, docstring.area, split, docstring.owner))
    if not documents:
        raise MissingDataError(
            "no docstrings found: this Python has no source files (.py) of its standard library, "
            "numpy, scipy or scikit-learn",
            hint="install them with their sources",
        )
    return distinct(documents, _MAX_COSINE)


def distinct(documents: Sequence[Document], limit: float) -> list[Document]:
    """Leave out documents that are nearly equal to an earlier document of their class.

    Parameters
    ----------
    documents : sequence of Document
        Documents with at least one word each.
    limit : float
        The largest allowed cosine between tf-idf rows of two documents of a class.
    """
    texts = [document.text for document in documents]
    X = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)  # (n, v)
    rows: defaultdict[str, list[int]] = defaultdict(list)  # by class
    for k, document in enumerate(documents):
        rows[document.label].append(k)
    distinct_rows: list[int] = []
    for members in rows.values():
        cosines = (X[members] @ X[members].T).toarray()
        chosen: list[int] = []
        for k in range(len(members)):
            if (cosines[k, chosen] <= limit).all():
                chosen.append(k)
        distinct_rows += [members[k] for k in chosen]
    return [documents[k] for k in sorted(distinct_rows)]


def split_of(owner: str) -> str:
    """Choose the split of a top-level object and all its methods, which resemble each other."""
    digest = hashlib.sha256(f"{_SPLIT_SALT}:{owner}".encode()).digest()
    return "test" if digest[0] < _TEST_SHARE * 256 else "train"


def cache_path(home: Path) -> Path:
    """Return the cache file for the installed versions."""
    packages = ("numpy", "scipy", "scikit-learn")
    versions = [f"{name} {importlib.metadata.version(name)}" for name in packages]
    identity = (
        f"recipe {_RECIPE_VERSION}, python {platform.python_version()}, {', '.join(versions)}"
    )
    key = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return home / "docstrings" / f"{key}.jsonl.gz"


def read_cache(path: Path) -> list[Document] | None:
    """Read the cache, or return None if it is missing or damaged."""
    try:
        with open_for_reading(path) as stream:
            return [Document(**json.loads(line)) for line in stream] or None
    except (OSError, ValueError, TypeError):
        return None


def write_cache(path: Path, documents: list[Document]) -> None:
    """Write documents as JSON lines, which `read_corpus` can also read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(document._asdict(), ensure_ascii=False) for document in documents)
    with open_for_writing(path) as stream:
        stream.write("\n".join(lines).encode())
