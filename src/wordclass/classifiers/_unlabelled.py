"""Learn from texts without labels: a model labels them, and a new model learns from all texts.

The teacher learns from the labelled documents alone. Its class probabilities become fractional
labels of the other texts. The student learns from both. Documents that are held out from teacher
and student decide whether the student replaces the teacher.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from scipy import sparse

from wordclass import progress
from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse
from wordclass.corpus.labels import EncodedLabels
from wordclass.corpus.splits import fingerprint_texts, fold_splits, stratified_folds
from wordclass.decision.fitted_model import FittedModel
from wordclass.decision.measures import score
from wordclass.linear.neighbors import NeighborGraph
from wordclass.linear.search import Documents
from wordclass.text.vectorizer import DocumentVectorizer

# methods in the order in which they are tried: a later one must be better on held-out documents
NO_METHOD = "none"
PROBABILITIES = "probabilities"  # the teacher's probabilities are the labels
ADAPTED = "adapted"  # by `adapt`, without labelled documents
NEIGHBORS = "neighbors"  # they are mixed with those of similar texts first

# chosen on training documents of 20 Newsgroups, Ohsumed, Banking77 and GoEmotions
_TEXT_WEIGHTS = {PROBABILITIES: 1.0, NEIGHBORS: 0.5}  # of an unlabelled text; a labelled one has 1
_NEIGHBOR_SHARE = 0.8
_SHARPNESS = 2  # the exponent of mixed probabilities of single labels
_MIN_PROBABILITY = 0.05  # of a fractional label
_MAX_FRACTIONAL_LABELS = 4  # of a single-label text
_QUANTILES = (0.125, 0.375, 0.625, 0.875)  # a multilabel text has the classes above each of them
_MAX_GRAPH_DOCS = 20_000  # the time of a graph grows with their square
_MIN_FAMILIARITY = 0.05  # a text with fewer known words is left out
_TOLERATED_DOCS = 6  # held-out documents that decide by chance: their share is tolerated
_N_JUDGING_FOLDS = 3
_MAX_JUDGING_DOCS = 3_000


@runtime_checkable
class Learner(Protocol):
    """Interface of a classifier that can learn from unlabelled texts."""

    n_jobs: int | None
    seed: int
    _max_few_shot_docs_per_class: int  # if there are no more, no documents are held out

    def _make_teacher(self) -> Self:
        """Return an unfitted copy with the chosen settings, which learns from labels alone."""

    def _make_student(self) -> Self:
        """Return an unfitted copy with the settings for learning from fractional labels."""

    def _learn_all(self, documents: Documents) -> None:
        """Learn from weighted documents."""

    @property
    def _fitted_model(self) -> FittedModel:
        """The model that was learned."""

    def _neighbor_features(self, texts: list[str]) -> tuple[Sparse, Floats32 | None]:
        """Return the weighted terms (n, v) of texts, and dense vectors (n, d) if there are any."""


# --- the pool of unlabelled texts -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pool:
    """Unlabelled texts to learn from.

    Parameters
    ----------
    texts : list of str
        Distinct texts that are not among the labelled ones, sorted by a hash.
    familiarity : array of shape (n,)
        The weight of each text, from 0 to 1: texts with few known words count little.
    n_blank, n_repeated, n_labelled, n_unfamiliar : int
        Numbers of texts that are left out: without content, copies of other unlabelled texts,
        copies of labelled texts, and texts of which hardly any word is known.
    """

    texts: list[str]
    familiarity: Floats
    n_blank: int
    n_repeated: int
    n_labelled: int
    n_unfamiliar: int

    @classmethod
    def of(cls, texts: Sequence[str], labelled_texts: Sequence[str]) -> "Pool":
        """Select the texts that can be learned from."""
        nonblank = [text for text in texts if text.strip()]
        hashes = fingerprint_texts(nonblank)
        _, first = np.unique(hashes, return_index=True)  # sorted by hash
        is_labelled = np.isin(hashes[first], fingerprint_texts(labelled_texts))
        distinct = [nonblank[row] for row in first[~is_labelled].tolist()]
        familiarity = measure_familiarity(distinct, labelled_texts)
        is_familiar = familiarity >= _MIN_FAMILIARITY
        return cls(
            texts=[distinct[row] for row in np.flatnonzero(is_familiar).tolist()],
            familiarity=familiarity[is_familiar],
            n_blank=len(texts) - len(nonblank),
            n_repeated=len(nonblank) - len(first),
            n_labelled=int(is_labelled.sum()),
            n_unfamiliar=int(len(distinct) - is_familiar.sum()),
        )


def measure_familiarity(texts: list[str], labelled_texts: Sequence[str]) -> Floats:
    """Return how familiar the words of texts are, from 0 to 1.

    Parameters
    ----------
    texts : list of str
        Texts without labels.
    labelled_texts : sequence of str
        Labelled texts.

    Returns
    -------
    array of shape (n,)
        The squared ratio of two shares of words, at most 1: the words of the text that labelled
        texts have, and the words of an average labelled text that other labelled texts have.
    """
    if not texts:
        return np.zeros(0)
    vectorizer = DocumentVectorizer(weighting="binary", min_docs=1)
    X = vectorizer.fit_transform([*labelled_texts, *texts])
    n_labelled = len(labelled_texts)
    n_words = np.diff(X.indptr)
    doc_freq = np.bincount(X.indices[: X.indptr[n_labelled]], minlength=X.shape[1])
    shared_word_ratios = (X[:n_labelled] @ (doc_freq >= 2)) / np.maximum(n_words[:n_labelled], 1)
    expected = shared_word_ratios[n_words[:n_labelled] > 0].mean()
    shares = (X[n_labelled:] @ (doc_freq >= 1)) / np.maximum(n_words[n_labelled:], 1)
    familiarity: Floats = np.minimum(shares / max(expected, 1e-12), 1) ** 2
    return familiarity


# --- fractional labels ------------------------------------------------------------------------


def split_into_documents(
    probabilities: Floats, *, is_multilabel: bool
) -> tuple[Ints, Sparse, Floats]:
    """Turn class probabilities of texts into documents with labels and weights.

    A single-label text becomes one document per likely class, weighted by the probability. A
    multilabel text becomes documents with the classes above several quantiles, so that the share of
    its documents with a class is about the probability of the class.

    Parameters
    ----------
    probabilities : array of shape (n, m)
        Class probabilities of the texts.
    is_multilabel : bool
        True if a text may have any number of classes.

    Returns
    -------
    rows : array of shape (k,)
        The text of each document.
    Y : sparse matrix of shape (k, m)
        The labels of each document.
    weights : array of shape (k,)
        The weights of the documents.

    Examples
    --------
    >>> rows, Y, weights = split_into_documents(np.array([[0.7, 0.3]]), is_multilabel=False)
    >>> rows.tolist(), Y.toarray().tolist(), weights.tolist()
    ([0, 0], [[1.0, 0.0], [0.0, 1.0]], [0.7, 0.3])
    """
    n_texts, n_classes = probabilities.shape
    if not is_multilabel:
        n_labels = min(_MAX_FRACTIONAL_LABELS, n_classes)
        columns = np.argsort(-probabilities, axis=1, kind="stable")[:, :n_labels]
        values = np.take_along_axis(probabilities, columns, axis=1)
        is_likely = values >= _MIN_PROBABILITY
        rows = np.nonzero(is_likely)[0]
        labels = (np.ones(len(rows)), (np.arange(len(rows)), columns[is_likely]))
        return rows, sparse.csr_matrix(labels, shape=(len(rows), n_classes)), values[is_likely]
    weight = 1 / len(_QUANTILES)
    parts = [sparse.csr_matrix(probabilities > quantile, dtype=float) for quantile in _QUANTILES]
    sizes = np.array([np.diff(part.indptr) for part in parts])  # nested sets: equal if equal sizes
    is_first = np.vstack([np.ones((1, n_texts), bool), sizes[1:] != sizes[:-1]])
    run = np.cumsum(is_first, axis=0) - 1
    n_equal = np.array([(run == run[level]).sum(axis=0) for level in range(len(parts))])
    rows = np.concatenate([np.flatnonzero(flags) for flags in is_first])
    Y = sparse.vstack(
        [part[np.flatnonzero(flags)] for part, flags in zip(parts, is_first, strict=True)],
        format="csr",
    )
    return rows, Y, n_equal[is_first] * weight


def mix_with_neighbors(
    graph: NeighborGraph, Y: Sparse, probabilities: Floats, *, is_multilabel: bool
) -> Floats:
    """Mix the probabilities of unlabelled texts with labels and probabilities of similar texts.

    Parameters
    ----------
    graph : NeighborGraph
        Of the labelled documents, then the unlabelled texts.
    Y : sparse matrix of shape (n, m)
        The labels of the labelled documents.
    probabilities : array of shape (k, m)
        The probabilities of the unlabelled texts.
    is_multilabel : bool
        True if a text may have any number of classes.

    Returns
    -------
    array of shape (k, m)
        The mixed probabilities.
    """
    start = np.vstack([Y.toarray(), probabilities])
    mixed = graph.spread(start, _NEIGHBOR_SHARE)[Y.shape[0] :]
    if is_multilabel:
        total = graph.spread(np.ones((len(start), 1)), _NEIGHBOR_SHARE)[Y.shape[0] :]
        return np.minimum(mixed / np.maximum(total, 1e-12), 1)
    sharp = (mixed / np.maximum(mixed.max(axis=1, keepdims=True), 1e-300)) ** _SHARPNESS
    normalized: Floats = sharp / sharp.sum(axis=1, keepdims=True)
    return normalized


# --- teacher and student ----------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """How a classifier learned from unlabelled texts.

    Parameters
    ----------
    method : str
        "none", "probabilities" or "neighbors".
    gains : dict
        For each method that was tried, the gain of the mean of macro and micro F1 on documents that
        were held out from teacher and student. Empty if there were too few documents.
    n_texts : int
        Number of unlabelled texts that were learned from, or could have been.
    n_blank, n_repeated, n_labelled, n_unfamiliar : int
        Numbers of texts that were left out. See `Pool`.
    """

    method: str
    gains: Mapping[str, float]
    n_texts: int
    n_blank: int
    n_repeated: int
    n_labelled: int
    n_unfamiliar: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


class SelfTraining:
    """Learns from labelled documents and a pool of texts without labels.

    Parameters
    ----------
    learner : Learner
        A classifier that has learned from the labelled documents.
    documents : Documents
        The labelled documents.
    pool : Pool
        The unlabelled texts.
    """

    def __init__(self, learner: Learner, documents: Documents, pool: Pool) -> None:
        self.learner = learner
        self.documents = documents
        self.pool = pool
        self.is_multilabel = documents.labels.codeframe.is_multilabel

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that the number of documents allows."""
        if len(self.documents.texts) >= _MAX_GRAPH_DOCS:
            return (PROBABILITIES,)
        return (PROBABILITIES, NEIGHBORS)

    @cached_property
    def _graph(self) -> NeighborGraph:
        """The labelled documents, then as many unlabelled texts as the graph may have."""
        n_pool = _MAX_GRAPH_DOCS - len(self.documents.texts)
        texts = [*self.documents.texts, *self.pool.texts[:n_pool]]
        return NeighborGraph.of(*self.learner._neighbor_features(texts))

    def run(self, teacher: FittedModel) -> tuple[Choice, Learner | None]:
        """Choose a method, and learn by it.

        Parameters
        ----------
        teacher : FittedModel
            The model of the labelled documents.

        Returns
        -------
        choice : Choice
            The chosen method with its gain.
        student : Learner or None
            The classifier that learned from all documents; None if the teacher is better.
        """
        pool = self.pool
        gains = self._judge() if self._can_judge else {}
        method = self._choose(gains) if pool.texts else NO_METHOD
        choice = Choice(
            method=method,
            gains=gains,
            n_texts=len(pool.texts),
            n_blank=pool.n_blank,
            n_repeated=pool.n_repeated,
            n_labelled=pool.n_labelled,
            n_unfamiliar=pool.n_unfamiliar,
        )
        if method == NO_METHOD:
            return choice, None
        rows = np.arange(len(self.documents.texts))
        student = self.learner._make_student()
        student._learn_all(self._label(teacher, rows, method))
        return choice, student

    def _choose(self, gains: Mapping[str, float]) -> str:
        """Return the boldest method whose gain is the highest, or differs from it by chance."""
        if not gains:
            return self.methods[-1]
        tolerance = _TOLERATED_DOCS / len(self.documents.texts)
        enough = max(0.0, *gains.values()) - tolerance
        return next(
            name for name in (*self.methods[::-1], NO_METHOD) if gains.get(name, 0) >= enough
        )

    @property
    def _can_judge(self) -> bool:
        n_docs, n_classes = self.documents.labels.Y.shape
        return (
            bool(self.pool.texts) and n_docs > self.learner._max_few_shot_docs_per_class * n_classes
        )

    def _judge(self) -> dict[str, float]:
        """Return the gain of each method on documents held out from teacher and student."""
        texts = self.documents.texts
        labels = self.documents.labels
        folds = stratified_folds(texts, labels.Y, _N_JUDGING_FOLDS, self.learner.seed)
        n_folds = min(-(-_MAX_JUDGING_DOCS * _N_JUDGING_FOLDS // len(texts)), _N_JUDGING_FOLDS)
        splits = fold_splits(folds)[:n_folds]
        decisions: dict[str, list[Flags]] = {name: [] for name in (NO_METHOD, *self.methods)}
        for split in progress.track(splits, "judging"):
            held_out = [texts[row] for row in split.held_out.tolist()]
            teacher = _learn(self.learner._make_teacher(), self.documents.part(split.train))
            decisions[NO_METHOD].append(teacher.decide(teacher.scores(held_out)))
            for method in self.methods:
                documents = self._label(teacher, split.train, method)
                student = _learn(self.learner._make_student(), documents)
                decisions[method].append(student.decide(student.scores(held_out)))
        Y = labels.Y[np.concatenate([split.held_out for split in splits])]
        quality = {
            name: score(Y, np.vstack(blocks), labels.codeframe).of("both")
            for name, blocks in decisions.items()
        }
        return {name: quality[name] - quality[NO_METHOD] for name in self.methods}

    def _label(self, teacher: FittedModel, rows: Ints, method: str) -> Documents:
        """Return some labelled documents, and the pool as the teacher labels it."""
        pool = self.pool
        probabilities = teacher.predict_proba(pool.texts)
        labelled = self.documents.part(rows)
        if method == NEIGHBORS:
            probabilities = self._mix(rows, probabilities)
        sources, Y, weights = split_into_documents(probabilities, is_multilabel=self.is_multilabel)
        weights = weights * _TEXT_WEIGHTS[method] * pool.familiarity[sources]
        n_labelled = len(labelled.texts)
        ones = np.ones(n_labelled) if labelled.weights is None else labelled.weights
        all_Y = sparse.vstack([labelled.labels.Y, Y], format="csr")
        return Documents(
            texts=[*labelled.texts, *(pool.texts[row] for row in sources.tolist())],
            labels=EncodedLabels(labelled.labels.codeframe, all_Y),
            weights=np.concatenate([ones, weights]),
            sources=np.concatenate([np.arange(n_labelled), n_labelled + sources]),
            n_labelled=n_labelled,
        )

    def _mix(self, rows: Ints, probabilities: Floats) -> Floats:
        """Mix the probabilities of the texts in the graph and copy all others."""
        n_labelled = len(self.documents.texts)
        n_mixed = self._graph.similarities.shape[0] - n_labelled
        graph = self._graph.part(np.concatenate([rows, n_labelled + np.arange(n_mixed)]))
        mixed = mix_with_neighbors(
            graph,
            self.documents.labels.Y[rows],
            probabilities[:n_mixed],
            is_multilabel=self.is_multilabel,
        )
        return np.vstack([mixed, probabilities[n_mixed:]])


def _learn(learner: Learner, documents: Documents) -> FittedModel:
    learner._learn_all(documents)
    return learner._fitted_model
