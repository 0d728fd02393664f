"""Training by fastText; and scores that are a mean over words as fastText's, but without it."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from wordclass import catalogue
from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.decision.explanation import Columns, Contributions
from wordclass.decision.scorers import Scorer
from wordclass.embedding.counts import sparse_times_dense
from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.errors import InputError, StorageError
from wordclass.options import check_one_of, list_texts
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import Analyze
from wordclass.text.counting import count_known
from wordclass.text.vocabulary import Vocabulary

_LABEL = "__label__"  # words are numbers in the files, so none of them can look like this
_END = "</s>"  # fastText's word for the end of a line
_NEVER = -100.0  # the score of a class without training texts
_BLOCK = 8192  # documents scored at once
_LAYOUT = {
    "word_vectors": "float32 words dimensions",
    "end_vector": "float32 dimensions",
    "class_vectors": "float32 classes dimensions",
    "offset": "float32 classes",
}

# vectors of the words (v, d), of the end of a line (d,), of the classes (m, d); an offset (m,)
Trained = tuple[Floats32, Floats32, Floats32, Floats32]


class DivergedError(InputError):
    """The numbers grew beyond all bounds: the learning rate is too high."""


def train(
    occurrences: Sparse,
    Y: Sparse,
    initial: tuple[Ints, Floats32] | None,
    settings: Mapping[str, Any],
) -> Trained:
    """Let fastText learn from counted words and labels.

    Parameters
    ----------
    occurrences : sparse matrix of shape (n, v)
        fastText does not look at the order of words.
    Y : sparse 0/1 matrix of shape (n, m)
    initial : tuple of arrays or None
        Some words, as columns of the occurrences, and the vectors (·, d) they start with. All
        others start with small random numbers.
    settings : dict
        What fastText is to do, by its own names.
    """
    fasttext = catalogue.import_extra("fasttext", "for the classifier 'fasttext'")
    with _files() as folder:
        _write_texts(folder / "texts", occurrences, Y)
        options = {**settings, "label": _LABEL, "minCount": 1, "verbose": 0}
        options["input"] = str(folder / "texts")
        if initial is not None:
            _write_vectors(folder / "vectors", *initial)
            options["pretrainedVectors"] = str(folder / "vectors")
        if message := _run(options, folder):
            kind = DivergedError if "NaN" in message else InputError
            raise kind(
                f"fastText failed: {message} (with lr={settings['lr']}, "
                f"epochs={settings['epoch']}; a lower learning rate may help)"
            )
        model = fasttext.load_model(str(folder / "model"))
    return _taken_out(model, occurrences.shape[1], Y.shape[1])


def _run(options: dict[str, Any], folder: Path) -> str:
    """Train in a process of its own, which Ctrl-C can end; return what went wrong, if anything."""
    order = {"path": sys.path, "options": options, "model": str(folder / "model")}
    script = str(Path(__file__).with_name("_fasttext_process.py"))
    command = [sys.executable, "-I", script, json.dumps(order, default=np.generic.item)]
    told = folder / "told"
    # leaving the block closes the process's standard input, which ends it
    with (
        told.open("wb") as stream,
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=stream) as process,
    ):
        process.wait()
    if process.returncode < 0:
        return f"its process was killed by signal {-process.returncode}; is there enough memory?"
    lines = told.read_text("utf-8", "replace").splitlines()
    return (lines or ["it tells no reason"])[-1] if process.returncode else ""


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
    """Write one line per text: its labels and words, all as numbers."""
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
    return word_vectors, end_vector, class_vectors, offset


@dataclass(frozen=True, eq=False)
class WordAverage(Scorer):
    """The mean of the vectors of a text's words, times the vectors of the classes.

    Every text ends with one more word, the end of the text, so that none is empty; words outside
    the vocabulary do not count.

    Parameters
    ----------
    tokenize
        What cuts a text into words.
    vocabulary
        The v words that have a vector.
    word_vectors
        (v, d)
    end_vector
        (d,) of the end of the text.
    class_vectors
        (m, d)
    offset
        (m,) added to every score: 0, or far below it for a class without training texts.
    n_jobs
        Number of threads.
    loss
        The loss of the training: "softmax" or "ova".
    is_single_label
        Whether the probabilities of a text sum to 1.
    """

    tokenize: Analyze
    vocabulary: Vocabulary
    word_vectors: Floats32
    end_vector: Floats32
    class_vectors: Floats32
    offset: Floats32
    n_jobs: int | None
    loss: str
    is_single_label: bool

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.class_vectors)

    @property
    def analyze(self) -> Analyze:
        """What cuts a text into words."""
        return self.tokenize

    @property
    def terms(self) -> Sequence[str]:
        """The words that have a vector."""
        return self.vocabulary.terms

    def with_unseen(self, E: EmbeddingMatrix) -> "WordAverage":
        """Return the same with more words: all others of E, with the vectors they have there."""
        known = self.vocabulary.index
        unseen = [term for term in (*E.terms, *E.unseen_terms) if term not in known]
        added = E.matrix[[E.row(term) for term in unseen]]
        words, vectors = [*self.vocabulary.terms, *unseen], [self.word_vectors, added]
        order = sorted(range(len(words)), key=words.__getitem__)
        vocabulary = fixed_vocabulary([words[k] for k in order])
        return replace(self, vocabulary=vocabulary, word_vectors=np.concatenate(vectors)[order])

    def scores(self, texts: Iterable[str]) -> Floats32:
        """Return the scores (n, m) of texts."""
        listed = list_texts(texts)
        scores = np.empty((len(listed), len(self.class_vectors)), np.float32)
        classes = self.class_vectors.T.astype(np.float64)
        for start in range(0, len(listed), _BLOCK):
            counted = self._count(listed[start : start + _BLOCK])
            sums = sparse_times_dense(counted, self.word_vectors, self.end_vector, self.n_jobs)
            # in float64, the size of a block leaves no trace in what is rounded to float32
            means = sums / _lengths(counted)[:, None]  # (block, d)
            scores[start : start + _BLOCK] = means @ classes + self.offset
        return scores

    def probabilities(self, scores: Floats | Floats32) -> Floats:
        """Return the probabilities (n, m) of scores, without fastText's table of sigmoids."""
        scores = scores.astype(np.float64)
        if self.loss == "softmax":
            return np.asarray(special.softmax(scores, axis=1))
        probabilities = np.asarray(special.expit(scores))
        if self.is_single_label:  # one class against the rest
            total = probabilities.sum(axis=1, keepdims=True)
            probabilities /= np.maximum(total, np.finfo(np.float64).tiny)
        return probabilities

    def contributions(self, text: str) -> Contributions:
        """Return the words of a text and their contributions to the scores."""
        counted = self._count([text])
        words = [self.vocabulary.terms[j] for j in counted.indices]
        share = counted.data[:, None] / _lengths(counted)
        intercept = self.end_vector @ self.class_vectors.T / _lengths(counted) + self.offset

        def columns(chosen: Columns) -> Floats32:
            products = self.word_vectors[counted.indices] @ self.class_vectors[chosen].T
            added: Floats32 = (share * products).astype(np.float32)
            return added

        return Contributions(words, intercept.astype(np.float32), columns)

    def _count(self, texts: list[str]) -> Sparse:
        return count_known(texts, self.tokenize, self.vocabulary, self.n_jobs)

    def to_state(self) -> ModelState:
        """Return what is stored of the scorer: everything but the analyzer."""
        state = ModelState.of({"loss": self.loss}, words=self.vocabulary.terms)
        return state | ModelState.of_fields(self, _LAYOUT)

    @classmethod
    def from_state(
        cls, state: ModelState, analyze: Analyze, n_jobs: int | None, *, is_single_label: bool
    ) -> "WordAverage":
        """Return the stored scorer with an analyzer, which follows from the options."""
        loss = state.metadata["loss"]
        check_one_of("loss", loss, ("softmax", "ova"))
        words = state.take(words="sorted:str words")["words"]
        return cls(
            tokenize=analyze,
            vocabulary=fixed_vocabulary(words),
            **state.take(**_LAYOUT),
            n_jobs=n_jobs,
            loss=loss,
            is_single_label=is_single_label,
        )


def fixed_vocabulary(terms: list[str]) -> Vocabulary:
    """Return a vocabulary to count with, without frequencies."""
    nothing = np.zeros(len(terms), np.int64)
    return Vocabulary(terms, nothing, nothing, 0)


def _lengths(counted: Sparse) -> Floats:
    """Return how many words each text has (n,), its end included."""
    lengths: Floats = np.asarray(counted.sum(axis=1), np.float64).ravel() + 1
    return lengths
