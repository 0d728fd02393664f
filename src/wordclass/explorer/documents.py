"""The documents of an exploration: their scores, and an index of their terms."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse
from wordclass.corpus.documents import LabelledCorpus
from wordclass.corpus.labels import encode_labels
from wordclass.decision.measures import Scores, score
from wordclass.errors import InputError, list_some
from wordclass.text import counting
from wordclass.text.analyzer import Analyze
from wordclass.text.vocabulary import Vocabulary
from wordclass.text.weightings import count


@dataclass(frozen=True, eq=False)
class ScoredDocuments:
    """Labelled documents with scores, true classes and decisions of a model, all (n, m)."""

    model: Any
    texts: list[str]
    class_scores: Floats32
    truth: Flags
    decisions: Flags
    scores: Scores

    @classmethod
    def of(cls, model: Any, documents: LabelledCorpus, classes: list[str]) -> "ScoredDocuments":  # noqa: ANN401
        """Score documents with a model. Labels that are not classes of the model are dropped."""
        known = {*classes}
        all_labels = [_label_names(labels) for labels in documents.labels]
        labels = [[name for name in names if name in known] for names in all_labels]
        if not any(labels):
            raise InputError(
                "no document has a label that is a class of the model",
                expected=f"labels such as {list_some(classes)}",
                hint="use documents of the same task as the model",
            )
        texts = [*documents.texts]
        # a single-label model cannot be right about a document without a known label
        if not model.codeframe_.is_multilabel:
            labelled = [k for k, names in enumerate(labels) if names]
            texts = [texts[k] for k in labelled]
            labels = [labels[k] for k in labelled]
        sorted_Y = encode_labels(labels, sorted(classes)).Y
        sorted_column = {name: j for j, name in enumerate(sorted(classes))}
        Y = sparse.csr_matrix(sorted_Y[:, [sorted_column[name] for name in classes]])
        predictions = model.predictions(texts)
        n_dropped = sum(map(len, all_labels)) - sum(map(len, labels))
        scores = score(Y, predictions.decisions, model.codeframe_, n_dropped)
        truth = np.asarray(Y.toarray() > 0)
        return cls(model, texts, predictions.scores, truth, predictions.decisions, scores)

    @cached_property
    def cells(self) -> dict[tuple[int, int], int]:
        """Number of documents per (true class, predicted class), where -1 means no class."""
        return {cell: len(rows) for cell, rows in self._rows.items()}

    @cached_property
    def _rows(self) -> dict[tuple[int, int], list[int]]:
        rows: dict[tuple[int, int], list[int]] = defaultdict(list)
        for k in np.flatnonzero((self.truth != self.decisions).any(axis=1)).tolist():
            missed = np.flatnonzero(self.truth[k] & ~self.decisions[k]).tolist() or [-1]
            wrong = np.flatnonzero(~self.truth[k] & self.decisions[k]).tolist() or [-1]
            for cell in ((i, j) for i in missed for j in wrong):
                rows[cell].append(k)
        return dict(rows)

    def rows_of(self, true: int, predicted: int) -> Ints:
        """Return the documents of a cell, sorted by descending score difference."""
        if true == predicted:
            rows = np.flatnonzero(self.truth[:, true] & self.decisions[:, true])
            return rows[np.argsort(-self.margins(true)[rows], kind="stable")]
        rows = np.array(self._rows.get((true, predicted), []), np.int64)
        strength = np.zeros(len(rows))
        for column, sign in ((predicted, 1.0), (true, -1.0)):
            if column >= 0:
                strength += sign * self.class_scores[rows, column]
        return rows[np.argsort(-strength, kind="stable")]

    def margins(self, column: int) -> Floats:
        """Return the score of a class minus its threshold, or minus the best other class (n,)."""
        scores = self.class_scores[:, column].astype(np.float64)
        if self.model.thresholds_ is not None:
            return np.asarray(scores - self.model.thresholds_[column])
        if self.class_scores.shape[1] == 1:
            return scores
        second, best = self._best_two
        return np.asarray(scores - np.where(self.class_scores[:, column] == best, second, best))

    @cached_property
    def _best_two(self) -> tuple[Floats32, Floats32]:
        """The second highest and the highest score of each document (n,)."""
        highest = np.partition(self.class_scores, -2, axis=1)[:, -2:]
        return highest[:, 0], highest[:, 1]

    @cached_property
    def per_class(self) -> list[dict[str, Any]]:
        """F1, precision, recall and sizes of each class, in the order of the columns."""
        return [asdict(measures) for measures in self.scores.per_class.values()]


@dataclass(frozen=True, eq=False)
class TermIndex:
    """An index from terms to documents, with the occurrences X (n, v)."""

    terms: list[str]
    doc_freq: Ints
    X: Sparse
    weighted: Sparse

    @classmethod
    def of(cls, model: Any, texts: Sequence[str]) -> "TermIndex":  # noqa: ANN401
        """Index texts by the terms that the model's analyzer finds in them."""
        if not texts:
            empty = sparse.csr_matrix((0, 0))
            return cls([], np.zeros(0, np.int64), empty, empty)
        from wordclass.text.weightings import tfidf

        counted = counting.count([*texts], analyzer_of(model), None)
        vocabulary, ids = Vocabulary.of(counted, 1, 1.0, None)
        X = counted.weigh(ids, vocabulary, count.weight)
        weighted = tfidf.weight(X.astype(np.int32), vocabulary)
        return cls([*vocabulary.terms], vocabulary.doc_freq, X, weighted)

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {term: column for column, term in enumerate(self.terms)}

    @cached_property
    def _by_term(self) -> Sparse:
        return sparse.csr_matrix(self.X.T)

    def documents_of(self, term: str) -> Ints:
        """Return the documents with a term, sorted by descending number of occurrences."""
        column = self._columns.get(term)
        if column is None:
            return np.zeros(0, np.int64)
        entries = slice(*self._by_term.indptr[column : column + 2])
        rows = self._by_term.indices[entries]
        counts = self._by_term.data[entries]
        return np.asarray(rows[np.argsort(-counts, kind="stable")], np.int64)

    def shares(self, terms: list[str], is_inside: Flags) -> tuple[Floats, Floats]:
        """Return the shares (v,) of documents with each term, inside and outside a class."""
        columns = np.array([self._columns.get(term, -1) for term in terms])
        occurs = sparse.csr_matrix(self.X > 0, dtype=np.float64)

        def share_of(is_selected: Flags) -> Floats:
            n_docs = np.asarray(occurs.T @ is_selected.astype(np.float64)).ravel()
            shares = n_docs / max(int(is_selected.sum()), 1)
            return np.asarray(np.append(shares, 0.0)[columns])  # 0 for column -1

        return share_of(is_inside), share_of(~is_inside)


def analyzer_of(model: Any) -> Analyze:  # noqa: ANN401 - any classifier
    """Return the analyzer of the fitted scorer, or else that of the options."""
    analyze: Analyze | None = model.scorer_.analyze
    return model._new_vectorizer().build_analyzer() if analyze is None else analyze


def _label_names(labels: Any) -> list[str]:  # noqa: ANN401 - one or several labels
    listed = labels if isinstance(labels, list | tuple | set) else [labels]
    return [str(label) for label in listed]
