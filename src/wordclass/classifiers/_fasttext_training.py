"""Training by fastText: files that it reads, and the matrices that it makes of them."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordclass import naming
from wordclass.arrays import Floats32, Ints, Sparse
from wordclass.errors import InputError, StorageError

_LABEL = "__label__"  # words are numbers in the files, so none of them can look like this
_END = "</s>"  # fastText's word for the end of a line
_NEVER = -100.0  # the score of a class without training texts


class DivergedError(InputError):
    """The numbers grew beyond all bounds: the learning rate is too high."""


@dataclass(frozen=True)
class Settings:
    """What fastText is to do; the names are ours, the meanings its own."""

    n_dims: int
    lr: float
    epochs: int
    loss: str
    seed: int
    n_threads: int


@dataclass(frozen=True, eq=False)
class Trained:
    """Vectors of the words (v, d), of the end of a line (d,) and of the classes (m, d)."""

    word_vectors: Floats32
    end_vector: Floats32
    class_vectors: Floats32
    offset: Floats32  # (m,) 0, or very low for a class without texts


def train(
    occurrences: Sparse, Y: Sparse, initial: tuple[Ints, Floats32] | None, settings: Settings
) -> Trained:
    """Let fastText learn from counted words and labels.

    Parameters
    ----------
    occurrences
        (n, v); fastText does not look at the order of words.
    Y
        0/1 (n, m).
    initial
        Some words, as columns of the occurrences, and the vectors (·, d) they start with. All
        others start with small random numbers.
    """
    fasttext = naming.extra("fasttext", "for the classifier 'fasttext'")
    with _files() as folder:
        _write_texts(folder / "texts", occurrences, Y)
        options: dict[str, Any] = {}
        if initial is not None:
            _write_vectors(folder / "vectors", *initial)
            options["pretrainedVectors"] = str(folder / "vectors")
        try:
            model = fasttext.train_supervised(
                input=str(folder / "texts"),
                dim=settings.n_dims,
                lr=settings.lr,
                epoch=settings.epochs,
                loss=settings.loss,
                seed=settings.seed,
                thread=settings.n_threads,
                label=_LABEL,
                minCount=1,
                verbose=0,
                **options,
            )
        except (RuntimeError, ValueError) as error:
            kind = DivergedError if "NaN" in str(error) else InputError
            raise kind(
                f"fastText failed: {error} (with lr={settings.lr}, epochs={settings.epochs}; a "
                "lower learning rate may help)"
            ) from error
    return _taken_out(model, occurrences.shape[1], Y.shape[1])


@contextmanager
def _files() -> Iterator[Path]:
    """Give a private folder that is gone afterwards, whatever happens."""
    try:
        with tempfile.TemporaryDirectory(prefix="wordclass-") as folder:
            yield Path(folder)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"temporary files for fastText cannot be written: {reason}") from error


def _write_texts(path: Path, occurrences: Sparse, Y: Sparse) -> None:
    """Write one line a text: its labels and words, all as numbers."""
    names = [str(column) for column in range(occurrences.shape[1])]
    labels = [f"{_LABEL}{j}" for j in range(Y.shape[1])]
    with path.open("w", encoding="ascii") as file:
        for k in range(occurrences.shape[0]):
            place = slice(occurrences.indptr[k], occurrences.indptr[k + 1])
            words = np.repeat(occurrences.indices[place], occurrences.data[place]).tolist()
            own = Y.indices[Y.indptr[k] : Y.indptr[k + 1]].tolist()
            line = " ".join([labels[j] for j in own] + [names[word] for word in words])
            file.write(f"{line}\n")


def _write_vectors(path: Path, columns: Ints, vectors: Floats32) -> None:
    """Write the vectors of some words in word2vec's text format."""
    n_dims = vectors.shape[1]
    line = "%d " + " ".join(["%.9g"] * n_dims) + "\n"
    smallest = np.finfo(np.float32).tiny  # below it, C++ libraries differ in what they read
    with path.open("w", encoding="ascii") as file:
        file.write(f"{len(columns)} {n_dims}\n")
        for column, vector in zip(columns.tolist(), vectors, strict=True):
            file.write(line % (column, *np.where(abs(vector) < smallest, 0, vector).tolist()))


def _taken_out(model: Any, n_words: int, n_classes: int) -> Trained:  # noqa: ANN401 - untyped
    """Return the matrices of a model, with the words and classes in our order."""
    rows = np.asarray(model.get_input_matrix(), np.float32)
    places = {name: row for row, name in enumerate(model.get_words())}
    end_vector = rows[places.pop(_END)].copy()
    word_vectors = np.zeros((n_words, rows.shape[1]), np.float32)
    word_vectors[[int(name) for name in places]] = rows[list(places.values())]
    class_vectors = np.zeros((n_classes, rows.shape[1]), np.float32)
    offset = np.full(n_classes, _NEVER, np.float32)
    columns = [int(name.removeprefix(_LABEL)) for name in model.get_labels()]
    class_vectors[columns] = np.asarray(model.get_output_matrix(), np.float32)
    offset[columns] = 0
    return Trained(word_vectors, end_vector, class_vectors, offset)
