"""The optimum is the optimum: what `linear` solves is as good as LIBLINEAR's, on ten corpora."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

import wordclass as wc
from wordclass.corpus.labels import encode_labels
from wordclass.linear import features as linear_features
from wordclass.linear.one_vs_rest import OneVsRest
from wordclass.linear.problem import Costs, Features, Problem
from wordclass.native import extension

MOST_DOCS, N_JUDGED = 6_000, 5  # of a real corpus, and of its classes
REAL = {
    "20ng_bydate_stripped": 1.0,
    "reuters21578_modapte": 1.0,
    "ohsumed20k": 0.3,
    "banking77": 3.0,
    "goemotions": 0.3,
    "eurlex_triples_eurovoc_1504": 3.0,
    "arxiv_abstracts_120k": 1.0,
}

pytestmark = pytest.mark.skipif(extension.solver is None, reason="the native solver was not built")


@dataclass(frozen=True, eq=False)
class MadeUp:
    """Documents (n, v) of unit length with classes (n, m) that can be learned in part."""

    n_docs: int
    n_terms: int
    n_classes: int
    length: int
    is_multilabel: bool
    C: float

    def task(self):
        rng = np.random.default_rng(0)
        chance = 1 / np.arange(1, self.n_classes + 1)
        labels = rng.choice(self.n_classes, (self.n_docs, 2), p=chance / chance.sum())
        Y = np.eye(self.n_classes)[labels[:, 0]]
        if self.is_multilabel:
            Y = np.maximum(Y, np.eye(self.n_classes)[labels[:, 1]])
        common = rng.integers(0, self.n_terms, (self.n_docs, self.length))
        own = (labels[:, :1] * 7 + rng.integers(0, 20, (self.n_docs, 5))) % self.n_terms
        columns = np.hstack([common, own])
        rows = np.repeat(np.arange(self.n_docs), columns.shape[1])
        values = rng.random(columns.size)
        shape = self.n_docs, self.n_terms
        X = sparse.csr_matrix((values, (rows, columns.ravel())), shape=shape)
        X = sparse.diags_array(1 / np.sqrt(np.asarray(X.power(2).sum(axis=1)).ravel())) @ X
        return X.tocsr(), sparse.csr_matrix(Y), self.is_multilabel


def objectives(X, Y, cost, C, weights, intercept):
    """What is to be low, of each class (m,), for costs of errors (n, m)."""
    sign = np.where(Y.toarray() > 0, 1.0, -1.0)
    missing = np.maximum(0, 1 - sign * (X @ weights.astype(float) + intercept))
    size = np.sum(weights.astype(float) ** 2, axis=0) + intercept.astype(float) ** 2
    return size / 2 + C * np.sum(cost * missing**2, axis=0)


def assert_as_good_as_liblinear(X, Y, is_multilabel, C):
    costs = Costs.balanced(Y, None, is_multilabel=is_multilabel)
    features = Features.of(X)
    problem = OneVsRest(Problem(features, Y, costs))
    ours = problem.solve(C, tolerance=linear_features._TOLERANCE)
    # large, middling and small classes
    order = np.argsort(-np.asarray(Y.sum(axis=0)).ravel(), kind="stable")
    judged = order[np.linspace(0, len(order) - 1, N_JUDGED).astype(int)]
    truth = Y[:, judged].toarray() > 0
    cost = np.where(truth, costs.positive[judged], costs.negative[judged])
    given = features.X, Y[:, judged], cost, C
    found = objectives(*given, ours.weights[:, judged], ours.intercept[judged])
    theirs = []
    for own, weight in zip(truth.T, cost.T, strict=True):
        machine = LinearSVC(C=C, dual=False, tol=1e-6, max_iter=10_000)
        theirs.append(machine.fit(features.X, own, weight))
    weights = np.column_stack([each.coef_[0] for each in theirs])
    intercept = np.array([each.intercept_[0] for each in theirs])
    expected = objectives(*given, weights, intercept)
    assert (found <= expected * (1 + 1e-3)).all(), found / expected - 1
    return problem


@pytest.mark.parametrize(
    ("corpus", "has_long_documents"),
    [
        (MadeUp(2_500, 3_000, 12, 20, False, 1.0), False),  # looks at all documents
        (MadeUp(300, 2_000, 8, 100, True, 3.0), True),  # inner products
        (MadeUp(1_500, 500, 3, 30, True, 0.1), False),  # one class after the other
    ],
)
def test_made_up_corpora(corpus, has_long_documents):
    problem = assert_as_good_as_liblinear(*corpus.task(), corpus.C)
    assert problem._has_long_documents == has_long_documents


@pytest.mark.slow
@pytest.mark.parametrize(("name", "C"), REAL.items())
def test_real_corpora(name, C, shared_data):
    corpus = wc.read_corpus(shared_data(f"{name}.jsonl.zst"), split="train")
    rows = np.random.default_rng(0).permutation(len(corpus))[:MOST_DOCS]
    labels = encode_labels([corpus.labels[k] for k in rows])
    X = wc.DocumentVectorizer(min_docs=2).fit_transform([corpus.texts[k] for k in rows])
    assert_as_good_as_liblinear(X, labels.Y, labels.codeframe.is_multilabel, C)
