"""What runs measure that are no trainings: each returns facts, and arrays to keep."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordclass.arrays import Floats, Floats32, Ints, Sparse, to_sparse
from wordclass.classifiers.factory import classifier
from wordclass.corpus.documents import Dataset
from wordclass.corpus.labels import Codeframe, encode_labels
from wordclass.decision.measures import align_labels, score
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.vectors import Projection, Recipe
from wordclass.explorer.term_map import make_map
from wordclass.reproduction import sources
from wordclass.reproduction.runs import Run
from wordclass.text import counting
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.vectors.word_vectors import WordVectors

Measured = tuple[dict[str, Any], dict[str, NDArray[Any]]]
Measure = Callable[[Dataset, WordVectors | None, Run], Measured]

_REPEATS = 3
_MAX_DIMS = 300
_N_MAPPED = 5000
# of Dirichlet and of log-normal distributions
_CONCENTRATIONS = {"strong shift": 0.1, "middle shift": 1.0, "weak shift": 10.0}
_DEVIATIONS = {"strong shift": 1.5, "middle shift": 1.0, "weak shift": 0.5}
_N_DRAWS = 20
_CORRELATIONS = ("dot", "ppmi", "information_gain", "chi_square")  # the paper's


def count(dataset: Dataset, vectors: WordVectors | None, run: Run) -> Measured:
    """Count documents, terms, words and classes, as the paper's table of data sets has them."""
    train, test = dataset.train, dataset.test
    vectorizer = DocumentVectorizer(**run.options).fit(train.texts)
    counted = counting.count([*train.texts, *test.texts], vectorizer.build_analyzer())
    sizes = np.asarray(encode_labels(train.labels).Y.sum(axis=0)).ravel()
    n_known = len(vectorizer.vocabulary_.terms)
    facts = {
        "multilabel": dataset.is_multilabel,
        "n_classes": len(sizes),
        "n_train": len(train),
        "n_test": len(test),
        "n_docs": len(train) + len(test),
        "vocabulary": n_known,
        "unseen": int((counted.doc_freq > 0).sum()) - n_known,
        "words": int(counted.term_freq.sum()),
        "prevalence_mean": float(sizes.mean()),
        "prevalence_std": float(sizes.std(ddof=0)),
        "prevalence_min": int(sizes.min()),
        "prevalence_max": int(sizes.max()),
    }
    return facts, {}


def time_embeddings(dataset: Dataset, vectors: WordVectors | None, run: Run) -> Measured:
    """Time the making of X from texts, and of S from X; by each correlation of the paper.

    CPU seconds of one thread, which a busy machine changes little; the shortest of three times.
    """
    texts, Y = dataset.train.texts, encode_labels(dataset.train.labels).Y
    vectorizer = DocumentVectorizer(**run.options)
    X, seconds = _timed(lambda: vectorizer.fit_transform(texts))
    by_correlation = {name: _timed(partial(_embed, X, Y, name))[1] for name in _CORRELATIONS}
    return {"X": seconds, "S": by_correlation["dot"], "by_correlation": by_correlation}, {}


def _embed(X: Sparse, Y: Sparse, correlation: str) -> NDArray[Any]:
    recipe = Recipe.of(correlation, 0.0)
    counts = recipe.count(X, Y)
    return Projection("pca", _MAX_DIMS, 0).fit(recipe.embed(counts), counts.known)


def _timed(make: Callable[[], Any]) -> tuple[Any, float]:
    spent = []
    for _ in range(_REPEATS):
        start = time.process_time()
        made = make()
        spent.append(time.process_time() - start)
    return made, min(spent)


def count_unseen(dataset: Dataset, vectors: WordVectors | None, run: Run) -> Measured:
    """Count the words of test texts outside the vocabulary, and those of them that have a vector.

    Their word-class vectors are zeros, or predicted from the pretrained ones.
    """
    vectorizer = DocumentVectorizer(**run.options).fit(dataset.train.texts)
    counted = counting.count(dataset.test.texts, vectorizer.build_analyzer())
    terms, places = counted.sorted_terms(np.ones(len(counted.doc_freq), bool))
    known = vectorizer.vocabulary_.index
    is_unseen = np.array([term not in known for term in terms], bool)
    occurrences = counted.term_freq[places]
    facts = {
        "n_terms": int(is_unseen.sum()),
        "occurrences": int(occurrences[is_unseen].sum()),
        "share": float(occurrences[is_unseen].sum() / max(occurrences.sum(), 1)),
    }
    if vectors is not None:
        has_vector = is_unseen & (vectors.rows(terms) >= 0)
        facts["n_predicted"] = int(has_vector.sum())
        facts["predicted_share"] = float(occurrences[has_vector].sum() / max(occurrences.sum(), 1))
    return facts, {}


def lay_out(dataset: Dataset, vectors: WordVectors | None, run: Run) -> Measured:
    """Lay out 5,000 terms, the most telling ones of each class in turn, as in the paper's maps."""
    train = dataset.train
    n_terms = run.options.get("n_terms", _N_MAPPED)
    embeddings = WordClassEmbeddings().fit(train.texts, train.labels)
    is_own = run.vectors == sources.OWN_VECTORS
    source = "Latent semantic analysis of the same texts" if is_own else str(run.vectors)
    n_each, seed = -(-n_terms // len(embeddings.classes_)), run.seed
    return make_map(
        train, embeddings, vectors, source, n_per_class=n_each, seed=seed, as_published=True
    ).to_parts()


def shift_priors(dataset: Dataset, vectors: WordVectors | None, run: Run) -> Measured:
    """Measure a classifier on test documents whose shares of classes are not those of training.

    First on the test part as it is; then on as many documents, drawn from it with replacement by
    other shares: 20 draws each of strong, middle and weak shift. What the errors of shares would be
    if probabilities were exact is measured with labels drawn by them.
    """
    model = classifier(run.options.get("classifier", "linear"), seed=run.seed)
    model.fit(dataset.train.texts, dataset.train.labels)
    truth, _, codeframe, _ = align_labels(
        dataset.test.labels, model.predict(dataset.test.texts), model.classes_.tolist()
    )
    tested = _Tested(model, model.class_scores(dataset.test.texts), truth, codeframe)
    as_it_is = np.array([tested.measured(tested.usable)])
    drawn = tested.measured_draws(run.seed)
    exact = tested.with_labels_by_probabilities(run.seed).measured_draws(run.seed)
    facts = _means("as it is", as_it_is)
    for name, found in drawn.items():
        facts |= _means(name, found)
    facts |= _share_errors("all draws", np.concatenate([*drawn.values()]))
    facts |= _share_errors("all draws, exact probabilities", np.concatenate([*exact.values()]))
    return facts, {}


@dataclass(frozen=True, eq=False)
class _Tested:
    """A model, its scores (n, m) of test documents, and the classes (n, m) that each has."""

    model: Any
    scores: Floats32
    truth: Sparse
    codeframe: Codeframe

    @property
    def usable(self) -> Ints:
        """The documents whose labels are known: all, but for one label that training had not."""
        if self.codeframe.is_multilabel:
            return np.arange(len(self.scores))
        return np.flatnonzero(self.truth.getnnz(axis=1))

    def with_labels_by_probabilities(self, seed: int) -> "_Tested":
        """Return the same documents with labels drawn by their probabilities."""
        chances = self.model.shift_of(self.scores).probabilities
        generator = np.random.default_rng(seed)
        if self.codeframe.is_multilabel:
            return replace(self, truth=to_sparse(generator.random(chances.shape) < chances))
        sums = chances.cumsum(axis=1)
        labels = (sums <= generator.random((len(sums), 1)) * sums[:, -1:]).sum(axis=1)
        return replace(self, truth=to_sparse(np.eye(chances.shape[1])[labels]))

    def measured_draws(self, seed: int) -> dict[str, Floats]:
        """Return what is measured on draws of documents (20, 4), for each strength of shift.

        Where a document has one label, shares of the classes that have some are drawn from a
        Dirichlet distribution. Else each class has a weight, drawn from a log-normal distribution,
        and a document is drawn by the product of those of its labels.
        """
        is_multilabel = self.codeframe.is_multilabel
        draw = self._by_weights if is_multilabel else self._by_shares
        strengths = _DEVIATIONS if is_multilabel else _CONCENTRATIONS
        generator = np.random.default_rng(seed)
        return {
            name: np.array([self.measured(draw(each, generator)) for _ in range(_N_DRAWS)])
            for name, each in strengths.items()
        }

    def _by_shares(self, concentration: float, generator: np.random.Generator) -> Ints:
        members = [each.indices for each in self.truth.T.tocsr() if each.nnz]
        shares = generator.dirichlet(np.full(len(members), concentration))
        counts = generator.multinomial(self.truth.nnz, shares)
        return np.concatenate([*map(generator.choice, members, counts)])

    def _by_weights(self, deviation: float, generator: np.random.Generator) -> Ints:
        n_docs, n_classes = self.truth.shape
        weights = np.exp(self.truth @ generator.normal(0, deviation, n_classes))
        return generator.choice(n_docs, n_docs, p=weights / weights.sum())

    def measured(self, rows: Ints) -> tuple[float, float, float, float]:
        """Return F1 without and with adjustment, and the errors of counted and estimated shares.

        Counted shares are those of the predicted labels, without a correction.
        """
        scores, truth = self.scores[rows], self.truth[rows]
        shift = self.model.shift_of(scores)
        decisions = self.model.decide(scores), self.model.adjusted(scores, shift)[1]
        f1 = [score(truth, each, self.codeframe).macro_f1 for each in decisions]
        shares = np.asarray(truth.mean(axis=0)).ravel()
        told = decisions[0].mean(axis=0), shift.shares
        errors = [float(np.abs(each - shares).mean()) for each in told]
        return f1[0], f1[1], errors[0], errors[1]


def _means(name: str, found: Floats) -> dict[str, float]:
    """Return means over draws of what `_Tested.measured` found in each (n, 4)."""
    before, after, _, _ = found.mean(axis=0)
    return {
        f"{name}: macro F1": before,
        f"{name}: macro F1, adjusted": after,
        f"{name}: least gain of a draw": (found[:, 1] - found[:, 0]).min(),
        **_share_errors(name, found),
    }


def _share_errors(name: str, found: Floats) -> dict[str, float]:
    _, _, counted, estimated = found.mean(axis=0)
    facts = {
        f"{name}: error of counted shares, by class, in percent": 100 * counted,
        f"{name}: error of estimated shares, by class, in percent": 100 * estimated,
    }
    if counted:
        facts[f"{name}: error ratio of shares"] = estimated / counted
    return facts


MEASURE: Mapping[str, Measure] = {
    "counts": count,
    "embedding_times": time_embeddings,
    "unseen_terms": count_unseen,
    "map": lay_out,
    "prior_shift": shift_priors,
}
