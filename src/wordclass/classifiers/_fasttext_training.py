"""Training with fastText, and the scorer that averages word vectors as fastText does."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
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
_END_OF_LINE = "</s>"  # fastText's word for it
_OFFSET_OF_ABSENT_CLASS = -100.0  # the score of a class without training texts
_BLOCK_DOCS = 8192
_LAYOUT = {
    "word_vectors": "float32 words dimensions",
    "end_vector": "float32 dimensions",
    "class_vectors": "float32 classes dimensions",
    "offset": "float32 classes",
}

# vectors of the words (v, d), of the end of a line (d,), of the classes (m, d), and offsets (m,)
TrainedVectors = tuple[Floats32, Floats32, Floats32, Floats32]


class DivergedError(InputError):
    """The training diverged because the learning rate is too high."""


@dataclass(frozen=True)
class FastTextSettings:
    """Settings of a training with fastText.

    Parameters
    ----------
    n_dims : int
        The number of dimensions.
    lr : float
        The learning rate.
    epochs : int
        The number of passes over the texts.
    loss : str
        The loss: "softmax" or "ova".
    seed : int
        Seed of the random numbers.
    n_threads : int
        Number of threads.
    """

    n_dims: int
    lr: float
    epochs: int
    loss: str
    seed: int
    n_threads: int

    def to_arguments(self) -> dict[str, Any]:
        """Return the settings by the names that fastText has for them."""
        return {
            "dim": self.n_dims,
            "lr": self.lr,
            "epoch": self.epochs,
            "loss": self.loss,
            "seed": self.seed,
            "thread": self.n_threads,
        }


def train(
    occurrences: Sparse,
    Y: Sparse,
    initial: tuple[Ints, Floats32] | None,
    settings: FastTextSettings,
) -> TrainedVectors:
    """Train fastText with counted words and labels.

    Parameters
    ----------
    occurrences : sparse matrix of shape (n, v)
        The counts of the words; fastText does not use their order.
    Y : sparse 0/1 matrix of shape (n, m)
        The labels.
    initial : tuple of arrays or None
        Columns of occurrences, and the vectors (·, d) that these words start with. All other words
        start with small random numbers.
    settings : FastTextSettings
        The settings of the training.

    Raises
    ------
    DivergedError
        The learning rate is too high.
    """
    fasttext = catalogue.import_extra("fasttext", "for the classifier 'fasttext'")
    with _scratch_folder() as folder:
        _write_texts(folder / "texts", occurrences, Y)
        arguments = {
            **settings.to_arguments(),
            "label": _LABEL,
            "minCount": 1,
            "verbose": 0,
            "input": str(folder / "texts"),
        }
        if initial is not None:
            _write_vectors(folder / "vectors", *initial)
            arguments["pretrainedVectors"] = str(folder / "vectors")
        if message := _run_process(arguments, folder):
            error_type = DivergedError if "NaN" in message else InputError
            raise error_type(
                f"fastText failed with lr={settings.lr} and epochs={settings.epochs}: {message}",
                hint="a lower learning rate may help",
            )
        model = fasttext.load_model(str(folder / "model"))
    return _read_vectors(model, occurrences.shape[1], Y.shape[1])


def _run_process(arguments: dict[str, Any], folder: Path) -> str:
    """Train in a separate process, which Ctrl-C can stop, and return its error message if any."""
    order = {"path": sys.path, "arguments": arguments, "model": str(folder / "model")}
    script = str(Path(__file__).with_name("_fasttext_process.py"))
    command = [sys.executable, "-I", script, json.dumps(order, default=np.generic.item)]
    log = folder / "log"
    # leaving the block closes the standard input of the process, which ends it
    with (
        log.open("wb") as stream,
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=stream) as process,
    ):
        process.wait()
    if process.returncode < 0:
        return f"its process was killed by signal {-process.returncode}; is there enough memory?"
    lines = log.read_text("utf-8", "replace").splitlines()
    return (lines or ["it gives no reason"])[-1] if process.returncode else ""


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """Create a private folder that is removed at the end of the block."""
    try:
        with tempfile.TemporaryDirectory(prefix="wordclass-") as folder:
            yield Path(folder)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"temporary files for fastText cannot be written: {reason}") from error


def _write_texts(path: Path, occurrences: Sparse, Y: Sparse) -> None:
    """Write one line per text: its labels and words, all as numbers."""
    words = [str(column) for column in range(occurrences.shape[1])]
    labels = [f"{_LABEL}{j}" for j in range(Y.shape[1])]
    with path.open("w", encoding="ascii") as file:
        for row in range(occurrences.shape[0]):
            cells = slice(occurrences.indptr[row], occurrences.indptr[row + 1])
            columns = np.repeat(occurrences.indices[cells], occurrences.data[cells]).tolist()
            classes = Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist()
            line = " ".join([labels[j] for j in classes] + [words[column] for column in columns])
            file.write(f"{line}\n")


def _write_vectors(path: Path, columns: Ints, vectors: Floats32) -> None:
    """Write the vectors of some words in word2vec's text format."""
    n_dims = vectors.shape[1]
    line = "%d " + " ".join(["%.9g"] * n_dims) + "\n"
    smallest = np.finfo(np.float32).tiny  # C++ libraries read smaller numbers in different ways
    with path.open("w", encoding="ascii") as file:
        file.write(f"{len(columns)} {n_dims}\n")
        for column, vector in zip(columns.tolist(), vectors, strict=True):
            file.write(line % (column, *np.where(abs(vector) < smallest, 0, vector).tolist()))


def _read_vectors(model: Any, n_words: int, n_classes: int) -> TrainedVectors:  # noqa: ANN401
    """Return the matrices of a model, with the words and classes in our order."""
    rows = np.asarray(model.get_input_matrix(), np.float32)
    row_of_word = {word: row for row, word in enumerate(model.get_words())}
    end_vector = rows[row_of_word.pop(_END_OF_LINE)].copy()
    word_vectors = np.zeros((n_words, rows.shape[1]), np.float32)
    word_vectors[[int(word) for word in row_of_word]] = rows[list(row_of_word.values())]
    class_vectors = np.zeros((n_classes, rows.shape[1]), np.float32)
    offset = np.full(n_classes, _OFFSET_OF_ABSENT_CLASS, np.float32)
    columns = [int(label.removeprefix(_LABEL)) for label in model.get_labels()]
    class_vectors[columns] = np.asarray(model.get_output_matrix(), np.float32)
    offset[columns] = 0
    return word_vectors, end_vector, class_vectors, offset


@dataclass(frozen=True, eq=False)
class WordAverage(Scorer):
    """Scorer that multiplies the mean of the word vectors of a text by the vectors of classes.

    Every text ends with one more word, the end of the text, so that none is empty. Words outside
    the vocabulary do not count.

    Parameters
    ----------
    tokenize : callable
        The analyzer.
    vocabulary : Vocabulary
        The v words that have a vector.
    word_vectors : array of shape (v, d)
        Their vectors.
    end_vector : array of shape (d,)
        The vector of the end of a text.
    class_vectors : array of shape (m, d)
        The vectors of the classes.
    offset : array of shape (m,)
        Added to every score: 0, or far below 0 for a class without training texts.
    n_jobs : int or None
        Number of threads.
    loss : str
        The loss of the training: "softmax" or "ova".
    is_single_label : bool
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
        """The function from a text to its words."""
        return self.tokenize

    @property
    def terms(self) -> Sequence[str]:
        """The words that have a vector."""
        return self.vocabulary.terms

    def with_unseen(self, E: EmbeddingMatrix) -> "WordAverage":
        """Return a scorer that also knows all other words of E, with their vectors."""
        index = self.vocabulary.index
        unseen = [term for term in (*E.terms, *E.unseen_terms) if term not in index]
        unseen_vectors = E.matrix[[E.row(term) for term in unseen]]
        words = [*self.vocabulary.terms, *unseen]
        vectors = np.concatenate([self.word_vectors, unseen_vectors])
        order = sorted(range(len(words)), key=words.__getitem__)
        vocabulary = fixed_vocabulary([words[k] for k in order])
        return replace(self, vocabulary=vocabulary, word_vectors=vectors[order])

    def scores(self, texts: Iterable[str]) -> Floats32:
        """Return the scores (n, m) of texts."""
        listed = list_texts(texts)
        scores = np.empty((len(listed), len(self.class_vectors)), np.float32)
        classes = self.class_vectors.T.astype(np.float64)
        for start in range(0, len(listed), _BLOCK_DOCS):
            rows = slice(start, start + _BLOCK_DOCS)
            counted = self._count(listed[rows])
            sums = sparse_times_dense(counted, self.word_vectors, self.end_vector, self.n_jobs)
            # in float64, so that the rounded scores do not depend on the size of a block
            means = sums / _text_lengths(counted)[:, None]  # (block, d)
            scores[rows] = means @ classes + self.offset
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
        length = _text_lengths(counted)
        shares = counted.data[:, None] / length
        intercept = self.end_vector @ self.class_vectors.T / length + self.offset

        def columns(classes: Columns) -> Floats32:
            products = self.word_vectors[counted.indices] @ self.class_vectors[classes].T
            return np.asarray(shares * products, np.float32)

        return Contributions(words, intercept.astype(np.float32), columns)

    def _count(self, texts: list[str]) -> Sparse:
        return count_known(texts, self.tokenize, self.vocabulary, self.n_jobs)

    def to_state(self) -> ModelState:
        """Return the stored state: everything but the analyzer."""
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
    """Return a vocabulary for counting, without frequencies."""
    zeros = np.zeros(len(terms), np.int64)
    return Vocabulary(terms, zeros, zeros, 0)


def _text_lengths(counted: Sparse) -> Floats:
    """Return the number of words of each text (n,), its end included."""
    lengths: Floats = np.asarray(counted.sum(axis=1), np.float64).ravel() + 1
    return lengths
