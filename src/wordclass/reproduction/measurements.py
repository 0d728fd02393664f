"""Measurements: runs that train no classifier. Each returns numbers and arrays to store."""

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

_N_REPEATS = 3
_MAX_DIMS = 300
_N_MAPPED_TERMS = 5000
# concentrations of Dirichlet and deviations of log-normal distributions
_CONCENTRATIONS = {"strong shift": 0.1, "middle shift": 1.0, "weak shift": 10.0}
_DEVIATIONS = {"strong shift": 1.5, "middle shift": 1.0, "weak shift": 0.5}
_N_DRAWS = 20
_CORRELATIONS = ("dot", "ppmi", "information_gain", "chi_square")  # those of the paper


def count(dataset: Dataset, vectors: WordVectors | None, run: Run) -> Measured:
    """Count documents, terms, words and classes, as in the paper's table of data sets."""
    train = dataset.train
    test = dataset.test
    vectorizer = DocumentVectorizer(**run.options).fit(train.texts)
    counted = counting.count([*train.texts, *test.texts], vectorizer.build_analyzer())
    sizes = np.asarray(encode_labels(train.labels).Y.sum(axis=0)).ravel()
    n_known = len(vectorizer.vocabulary_.terms)
    numbers = {
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
    return numbers, {}


def time_embeddings(dataset: Dataset, vectors: WordVectors | None, run: Run) -> Measured:
    """Measure the seconds from texts to X and from X to S, for each correlation of the paper.

    These are CPU seconds of one thread, which a busy machine changes little: the shortest of three
    times.
    """
    texts = dataset.train.texts
    Y = encode_labels(dataset.train.labels).Y
    vectorizer = DocumentVectorizer(**run.options)
    X, seconds = _time(lambda: vectorizer.fit_transform(texts))
    by_correlation = {name: _time(partial(_embed, X, Y, name))[1] for name in _CORRELATIONS}
    return {"X": seconds, "S": by_correlation["dot"], "by_correlation": by_correlation}, {}


def _embed(X: Sparse, Y: Sparse, correlation: str) -> NDArray[Any]:
    recipe = Recipe.of(correlation, 0.0)
    counts = recipe.count(X, Y)
    return Projection("pca", _MAX_DIMS, 0).fit(recipe.embed(counts), counts.known)


def _time(function: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a function and its shortest CPU time over several calls."""
    seconds = []
    for _ in range(_N_REPEATS):
        start = time.process_time()
        result = function()
        seconds.append(time.process_time() - start)
    return result, min(seconds)


def count_unseen(dataset: Dataset, vectors: WordVectors | None, run: Run) -> Measured:
    """Count words of test texts that are outside the vocabulary and may have a pretrained vector.

    Word-class vectors of the latter are zeros, or predicted from the pretrained ones.
    """
    vectorizer = DocumentVectorizer(**run.options).fit(dataset.train.texts)
    counted = counting.count(dataset.test.texts, vectorizer.build_analyzer())
    terms, columns = counted.sorted_terms(np.ones(len(counted.doc_freq), bool))
    known = vectorizer.vocabulary_.index
    is_unseen = np.array([term not in known for term in terms], bool)
    occurrences = counted.term_freq[columns]
    n_occurrences = max(occurrences.sum(), 1)
    numbers = {
        "n_terms": int(is_unseen.sum()),
        "occurrences": int(occurrences[is_unseen].sum()),
        "share": float(occurrences[is_unseen].sum() / n_occurrences),
    }
    if vectors is not None:
        has_vector = is_unseen & (vectors.rows(terms) >= 0)
        numbers["n_predicted"] = int(has_vector.sum())
        numbers["predicted_share"] = float(occurrences[has_vector].sum() / n_occurrences)
    return numbers, {}


def lay_out(dataset: Dataset, vectors: WordVectors | None, run: Run) -> Measured:
    """Lay out 5,000 terms on a map: the most discriminative ones of each class, as in the paper."""
    train = dataset.train
    n_terms = run.options.get("n_terms", _N_MAPPED_TERMS)
    embeddings = WordClassEmbeddings().fit(train.texts, train.labels)
    has_own_vectors = run.vectors == sources.CORPUS_VECTORS
    source = "Latent semantic analysis of the same texts" if has_own_vectors else str(run.vectors)
    n_per_class = -(-n_terms // len(embeddings.classes_))
    return make_map(
        train,
        embeddings,
        vectors,
        source,
        n_per_class=n_per_class,
        seed=run.seed,
        as_published=True,
    ).to_parts()


def shift_priors(dataset: Dataset, vectors: WordVectors | None, run: Run) -> Measured:
    """Measure a classifier on test documents with other class shares than in training.

    It is tested on the test documents unchanged, then on as many documents drawn from them with
    replacement by other class shares: 20 draws each of strong, middle and weak shift. Draws with
    labels drawn by the probabilities give the errors that exact probabilities would have.
    """
    model = classifier(run.options.get("classifier", "linear"), seed=run.seed)
    model.fit(dataset.train.texts, dataset.train.labels)
    truth, _, codeframe, _ = align_labels(
        dataset.test.labels, model.predict(dataset.test.texts), model.classes_.tolist()
    )
    tested = _TestedModel(model, model.class_scores(dataset.test.texts), truth, codeframe)
    unchanged = np.array([tested.measure(tested.usable_rows)])
    draws = tested.measure_draws(run.seed)
    exact_draws = tested.with_labels_by_probabilities(run.seed).measure_draws(run.seed)
    numbers = _means("as it is", unchanged)
    for name, measured in draws.items():
        numbers |= _means(name, measured)
    numbers |= _share_errors("all draws", np.concatenate([*draws.values()]))
    numbers |= _share_errors(
        "all draws, exact probabilities", np.concatenate([*exact_draws.values()])
    )
    return numbers, {}


@dataclass(frozen=True, eq=False)
class _TestedModel:
    """A model with its scores (n, m) and the true classes (n, m) of test documents."""

    model: Any
    scores: Floats32
    truth: Sparse
    codeframe: Codeframe

    @property
    def usable_rows(self) -> Ints:
        """The documents with a known label. Single labels may be missing in training."""
        if self.codeframe.is_multilabel:
            return np.arange(len(self.scores))
        return np.flatnonzero(self.truth.getnnz(axis=1))

    def with_labels_by_probabilities(self, seed: int) -> "_TestedModel":
        """Return the same documents with labels drawn by their probabilities."""
        probabilities = self.model.shift_of(self.scores).probabilities
        generator = np.random.default_rng(seed)
        if self.codeframe.is_multilabel:
            is_drawn = generator.random(probabilities.shape) < probabilities
            return replace(self, truth=to_sparse(is_drawn))
        sums = probabilities.cumsum(axis=1)
        labels = (sums <= generator.random((len(sums), 1)) * sums[:, -1:]).sum(axis=1)
        return replace(self, truth=to_sparse(np.eye(probabilities.shape[1])[labels]))

    def measure_draws(self, seed: int) -> dict[str, Floats]:
        """Return the measured numbers (20, 4) of draws of documents, by strength of the shift.

        In single-label tasks, the shares of classes follow a Dirichlet distribution. In multilabel
        tasks, each class has a weight from a log-normal distribution, and the probability of a
        document is proportional to the product of the weights of its labels.
        """
        is_multilabel = self.codeframe.is_multilabel
        draw = self._draw_by_weights if is_multilabel else self._draw_by_shares
        strengths = _DEVIATIONS if is_multilabel else _CONCENTRATIONS
        generator = np.random.default_rng(seed)
        return {
            name: np.array([self.measure(draw(strength, generator)) for _ in range(_N_DRAWS)])
            for name, strength in strengths.items()
        }

    def _draw_by_shares(self, concentration: float, generator: np.random.Generator) -> Ints:
        members = [column.indices for column in self.truth.T.tocsr() if column.nnz]
        shares = generator.dirichlet(np.full(len(members), concentration))
        counts = generator.multinomial(self.truth.nnz, shares)
        return np.concatenate([*map(generator.choice, members, counts)])

    def _draw_by_weights(self, deviation: float, generator: np.random.Generator) -> Ints:
        n_docs, n_classes = self.truth.shape
        weights = np.exp(self.truth @ generator.normal(0, deviation, n_classes))
        return generator.choice(n_docs, n_docs, p=weights / weights.sum())

    def measure(self, rows: Ints) -> tuple[float, float, float, float]:
        """Return F1 without and with adjustment, and the errors of counted and estimated shares.

        Counted shares are the shares of the predicted labels without a correction.
        """
        scores = self.scores[rows]
        truth = self.truth[rows]
        shift = self.model.shift_of(scores)
        decided = self.model.decide(scores)
        adjusted = self.model.adjusted(scores, shift)[1]
        f1 = [score(truth, labels, self.codeframe).macro_f1 for labels in (decided, adjusted)]
        true_shares = np.asarray(truth.mean(axis=0)).ravel()
        errors = [
            float(np.abs(shares - true_shares).mean())
            for shares in (decided.mean(axis=0), shift.shares)
        ]
        return f1[0], f1[1], errors[0], errors[1]


def _means(name: str, measured: Floats) -> dict[str, float]:
    """Return means over draws of the numbers (n, 4) that `_TestedModel.measure` returns."""
    plain, adjusted, _, _ = measured.mean(axis=0)
    return {
        f"{name}: macro F1": plain,
        f"{name}: macro F1, adjusted": adjusted,
        f"{name}: least gain of a draw": (measured[:, 1] - measured[:, 0]).min(),
        **_share_errors(name, measured),
    }


def _share_errors(name: str, measured: Floats) -> dict[str, float]:
    _, _, counted, estimated = measured.mean(axis=0)
    numbers = {
        f"{name}: error of counted shares, by class, in percent": 100 * counted,
        f"{name}: error of estimated shares, by class, in percent": 100 * estimated,
    }
    if counted:
        numbers[f"{name}: error ratio of shares"] = estimated / counted
    return numbers


MEASURE: Mapping[str, Measure] = {
    "counts": count,
    "embedding_times": time_embeddings,
    "unseen_terms": count_unseen,
    "map": lay_out,
    "prior_shift": shift_priors,
}
