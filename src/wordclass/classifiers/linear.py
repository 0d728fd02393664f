"""The default: tf-idf beside cross-fitted word-class scores, one linear model per class."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from wordclass import progress
from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.checks import check_int, check_number, check_one_of, check_table, is_auto, n_threads
from wordclass.classifiers._text_classifier import LinearScorer, TextClassifier
from wordclass.corpus import Label
from wordclass.embedding.cross_fit import FoldScores
from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.errors import InputError
from wordclass.folds import stratified_folds
from wordclass.labels import Codeframe, EncodedLabels
from wordclass.linear_solver.one_vs_rest import ROUGH_TOLERANCE, Costs, Features, OneVsRest
from wordclass.measures import checked_target
from wordclass.search import Documents, Search, Settings, Trial, held_out_scores
from wordclass.storage.parts import Parts
from wordclass.text.analyzer import Analyze, checked_ngrams
from wordclass.text.vectorizer import DocumentVectorizer, shared_options
from wordclass.thresholds import Calibration, decided, tuned_thresholds
from wordclass.word_vectors import WordVectors

GRID = {
    "ngrams": [(1, 1), (1, 2), (1, 3)],
    "min_docs": [1, 2, 3, 5],
    "shrinkage": [0.0, 1.0, 5.0, 20.0, 50.0],
    "block_weight": [0.0, 0.1, 0.3, 1.0],
    "C": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0],
}

# what `fit` chooses from where it is left to it: one setting after the other, in this order,
# beginning with the first value of each; all values of C are tried with each of the others
_CHOICES: dict[str, tuple[Any, ...]] = {
    "ngrams": ((1, 1), (1, 2)),
    "vector_weight": (0.5, 0.0),
    "block_weight": (0.1, 0.03, 0.0),
    "shrinkage": (5.0, 1.0, 20.0),
    "C": (0.1, 0.3, 1.0),
}
_BEYOND = {0.1: (0.03,), 1.0: (3.0, 10.0)}  # tried where the best C is at an end

_N_FOLDS = 10
_N_FIFTHS = 5  # of the documents, two folds each, that are held out in turn
_ENOUGH = 2  # documents a class needs to have a word-class column: one alone is never crossed
_MOST_WEIGHTS = 1 << 28  # terms times classes: more n-grams than these would need are not tried
_MOST_SEARCHED = 20_000  # documents: of more, settings are chosen on a sample
_SAMPLE = 10_000
_FEWEST_SEARCHED = 20  # fewer tell nothing
# documents: so many need only a fifth of them scored
_MANY_FOR_SEARCH = 4_000
_MANY_FOR_THRESHOLDS = 30_000
_MANY_FOR_PROBABILITIES = 2_000  # in a single-label task


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(TextClassifier):
    """Tf-idf of words (and maybe pairs of words) beside the word-class score of each class.

    For each class a linear support vector machine sees the document's row of X and one number
    more: how much its words speak for this class, X·S, by an S that was learned without the
    document's fold. Where pretrained vectors are given, it sees X·U too. After training all of this
    folds into one weight per term and class, so predicting is one sparse product and explanations
    are exact.

    The settings that are "auto" are chosen inside `fit`, on documents held out from training. Of
    more than 20,000 documents, 10,000 take part in that, drawn evenly from the classes. Fewer than
    20 documents are not worth a search: the first value of each setting is taken, and C = 1.

    Parameters
    ----------
    vectors : WordVectors, optional
        Pretrained word vectors.
    ngrams : (int, int) or "auto", default="auto"
        Shortest and longest run of words that makes a term; "auto" tries words, and words with
        pairs of words.
    shrinkage : float or "auto", default="auto"
        Pseudo-count of the word-class scores, a pull on rare terms; "auto" tries 1, 5 and 20.
    block_weight : float or "auto", default="auto"
        Weight of the word-class score beside X; "auto" tries 0, .03 and .1.
    vector_weight : float or "auto", default="auto"
        Weight of the pretrained vectors beside X; "auto" tries 0 and .5.
    C : float or "auto", default="auto"
        How much errors weigh against small weights; "auto" tries .1, .3 and 1, and more
        beyond the end that is best.
    min_docs : int or float, default=2
    mask_numbers : bool, default=True
    analyzer : callable, optional
    stop_words : str or collection of str, optional
        Which terms there are: see `DocumentVectorizer`.
    class_weight : "balanced", dict or None, default="balanced"
        "balanced": errors on a small class weigh more; None: all the same; or a weight for each
        class that is not to have 1.
    target : str, default="both"
        What the settings and thresholds are chosen for: "macro_f1", "micro_f1", "both", the mean
        of these two, or "accuracy".
    probabilities : bool, default=True
        Whether `predict_proba` is to work, which costs a little.
    seed : int, default=0
        For the folds.
    n_jobs : int, optional
        Number of threads; None is one, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    settings_ : dict
        The settings, those that were chosen too.
    trials_ : list of dict
        What was tried, with macro and micro F1 on documents held out.
    scorer_ : LinearScorer
        The weights.
    """

    vectors: WordVectors | None = None
    ngrams: tuple[int, int] | Literal["auto"] = "auto"
    shrinkage: float | Literal["auto"] = "auto"
    block_weight: float | Literal["auto"] = "auto"
    vector_weight: float | Literal["auto"] = "auto"
    C: float | Literal["auto"] = "auto"
    min_docs: int | float = 2
    mask_numbers: bool = True
    analyzer: Analyze | None = None
    stop_words: str | Collection[str] | None = None
    class_weight: Literal["balanced"] | Mapping[Label, float] | None = "balanced"
    target: str = "both"
    probabilities: bool = True
    seed: int = 0
    n_jobs: int | None = None

    name = "linear"

    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        choices = self._choices()
        documents = Documents(texts, labels, sample_weight)
        folds = stratified_folds(texts, labels.Y, _N_FOLDS, self.seed)
        features: LinearFeatures | None = None
        settings, trials = _first(choices), []
        is_fixed = all(len(values) == 1 for values in choices.values())
        if not is_fixed and len(texts) >= _FEWEST_SEARCHED:
            search, features = self._search(*self._searched(documents, folds), choices)
            settings = search.best.settings
            trials = [
                {**trial.settings, "macro_f1": trial.macro_f1, "micro_f1": trial.micro_f1}
                for trial in search.trials
            ]
        if features is None or features.documents is not documents:
            features = self._features(documents, folds, settings["ngrams"])
        self._set_decisions(features, settings)
        self.scorer_ = features.solve(settings)
        self.settings_, self.trials_ = settings, trials

    def _choices(self) -> dict[str, tuple[Any, ...]]:
        """Check the options, and list the values that each setting may take."""
        checked_target(self.target)
        check_int("seed", self.seed)
        if self.vectors is not None and not isinstance(self.vectors, WordVectors):
            raise InputError(
                f"vectors is a {type(self.vectors).__name__}; expected WordVectors, as "
                "WordVectors.load returns them"
            )
        choices = {**_CHOICES}
        for name in choices:
            given = getattr(self, name)
            if is_auto(given):
                continue
            if name == "ngrams":
                choices[name] = (checked_ngrams(given),)
            else:
                above = 0.0 if name == "C" else None
                choices[name] = (check_number(name, given, above=above),)
        if self.vectors is None:
            choices["vector_weight"] = (0.0,)
        if self.analyzer is not None:  # terms of a function of the user's have no n-grams of ours
            choices["ngrams"] = choices["ngrams"][:1]
        return choices

    def _searched(self, documents: Documents, folds: Ints) -> tuple[Documents, Ints]:
        """Return the documents on which settings are chosen, all or a fair sample; their folds."""
        n_docs = len(documents.texts)
        if n_docs <= _MOST_SEARCHED:
            return documents, folds
        n_parts = -(-n_docs // _SAMPLE)
        parts = stratified_folds(documents.texts, documents.labels.Y, n_parts * _N_FOLDS, self.seed)
        rows = np.flatnonzero(parts < _N_FOLDS)
        return documents.part(rows), parts[rows]

    def _search(
        self, documents: Documents, folds: Ints, choices: Mapping[str, tuple[Any, ...]]
    ) -> tuple[Search, "LinearFeatures"]:
        """Choose settings by trials on documents held out; return the features of the best, too."""
        values = {name: choices[name] for name in choices if name != "C"}
        penalties, first = choices["C"], _first(choices)
        search = Search(values, first, checked_target(self.target))
        n_steps = 1 + sum(len(each) - 1 for each in values.values())
        kept: dict[tuple[int, int], LinearFeatures] = {}
        for step, settings in enumerate(search.proposals()):
            progress.report("choosing settings", step, n_steps)
            if not settings["block_weight"] and settings["shrinkage"] != first["shrinkage"]:
                continue  # of no word-class scores at all
            ngrams = settings["ngrams"]
            features = kept.get(ngrams) or self._features(documents, folds, ngrams)
            if search.trials and features.n_weights > _MOST_WEIGHTS:
                continue
            search.trials += features.trials(settings, penalties)
            kept[ngrams] = features
            best = search.best.settings["ngrams"]
            kept = {best: kept[best]}
        progress.report("choosing settings", n_steps, n_steps)
        (features,) = kept.values()
        best_settings = search.best.settings
        if len(penalties) > 1 and best_settings["C"] in _BEYOND:
            search.trials += features.trials(best_settings, _BEYOND[best_settings["C"]])
        return search, features

    def _set_decisions(self, features: "LinearFeatures", settings: Settings) -> None:
        """Set thresholds and calibration by the scores of documents held out."""
        self.thresholds_, self.calibration_ = None, None
        labels = features.documents.labels
        is_multilabel = labels.codeframe.is_multilabel
        if not is_multilabel and not self.probabilities:
            return
        many = _MANY_FOR_THRESHOLDS if is_multilabel else _MANY_FOR_PROBABILITIES
        rows, (scores,) = features.held_out_scores(settings, [settings["C"]], many)
        Y = labels.Y[rows]
        if is_multilabel:
            # the documents that were held out together, unless all were
            folds = features.folds[rows]
            groups = folds // 2 if features.n_rotations(many) > 1 else folds
            target = checked_target(self.target)
            self.thresholds_ = tuned_thresholds(scores, Y, groups, target)
        if self.probabilities:
            self.calibration_ = Calibration.fit(scores, Y, is_single_label=not is_multilabel)

    def _features(
        self, documents: Documents, folds: Ints, ngrams: tuple[int, int]
    ) -> "LinearFeatures":
        vectorizer = self._vectorizer(ngrams)
        class_weights = self._class_weights(documents.labels.codeframe)
        return LinearFeatures(documents, folds, vectorizer, self.vectors, class_weights)

    def _vectorizer(self, ngrams: tuple[int, int]) -> DocumentVectorizer:
        options = shared_options(self, DocumentVectorizer)
        return DocumentVectorizer(**options | {"ngrams": ngrams})

    def _class_weights(self, codeframe: Codeframe) -> Floats | None:
        """Return a cost for each class (m,); None: balanced."""
        weights = np.ones(len(codeframe.classes))
        if not isinstance(self.class_weight, Mapping):
            check_one_of("class_weight", self.class_weight, ("balanced", None), ", or a dict")
            return weights if self.class_weight is None else None
        for label, weight in self.class_weight.items():
            weights[codeframe.column(label)] = check_number("class_weight", weight, above=0.0)
        return weights

    def _analyzer(self) -> Analyze:
        analyze: Analyze = self.scorer_.vectorizer.build_analyzer()
        return analyze

    def _to_parts(self) -> Parts:
        told = {"settings": self.settings_, "trials": self.trials_}
        return super()._to_parts() | Parts.of(told)

    def _from_parts(self, parts: Parts) -> None:
        facts = parts.facts
        self.settings_ = {**facts["settings"], "ngrams": tuple(facts["settings"]["ngrams"])}
        self.trials_ = [{**trial, "ngrams": tuple(trial["ngrams"])} for trial in facts["trials"]]
        vectorizer = self._vectorizer(self.settings_["ngrams"])
        self._choices()
        self._class_weights(self.codeframe_)
        self.scorer_ = LinearScorer.from_parts(vectorizer, parts)


def _first(choices: Mapping[str, tuple[Any, ...]]) -> Settings:
    """Return the settings where a search begins; without a search, C is the highest."""
    return {name: values[-1 if name == "C" else 0] for name, values in choices.items()}


@dataclass(eq=False)
class LinearFeatures:
    """What documents look like for one choice of n-grams: X, word-class scores, sums of vectors.

    Parameters
    ----------
    documents : Documents
        To learn from.
    folds : array of shape (n,)
        The fold of each document.
    vectorizer : DocumentVectorizer
        With options, not fitted yet.
    vectors : WordVectors or None
        Pretrained ones.
    class_weights : array of shape (m,) or None
        Factors for the costs of errors on the documents of a class; None: balanced.
    """

    documents: Documents
    folds: Ints
    vectorizer: DocumentVectorizer
    vectors: WordVectors | None
    class_weights: Floats | None

    def __post_init__(self) -> None:
        self.X: Sparse = self.vectorizer.fit_transform(self.documents.texts)
        vocabulary, n_classes = self.vectorizer.vocabulary_, self.documents.labels.Y.shape[1]
        what = f"the weights of {len(vocabulary):,} terms by {n_classes:,} classes"
        check_table(what, vocabulary.doc_freq, 8 * n_classes)  # and what is added to them
        self.n_weights = len(vocabulary) * n_classes
        self._with_vectors = {0.0: Features.of(self.X)}  # by their weight
        self._own_shrinkage: float | None = None
        self._own_scores: dict[tuple[int, ...], Floats32] = {}

    # --- documents held out -------------------------------------------------------------------

    def trials(self, settings: Settings, penalties: Sequence[float]) -> list[Trial]:
        """Try settings with several values of C on documents held out."""
        rows, scores = self.held_out_scores(settings, penalties, _MANY_FOR_SEARCH)
        labels = self.documents.labels
        found = [decided(each, labels.Y[rows], labels.codeframe) for each in scores]
        return [
            Trial({**settings, "C": C}, 0.0, each.macro_f1, each.micro_f1, each.accuracy)
            for C, each in zip(sorted(penalties), found, strict=True)
        ]

    def held_out_scores(
        self, settings: Settings, penalties: Sequence[float], many: int
    ) -> tuple[Ints, Floats32]:
        """Return documents, and their scores (values of C, documents, m) by what the others tell.

        A fifth of the documents at a time; where there are `many`, only the first fifth. The values
        of C rise.
        """
        rising = np.array(sorted(penalties))
        fifths = self.folds // 2
        splits = [
            (np.flatnonzero(fifths != fifth), np.flatnonzero(fifths == fifth))
            for fifth in range(self.n_rotations(many))
        ]

        def validate(rows: Ints, tested: Ints) -> Floats32:
            problem, _ = self._problem(settings, rows)
            return problem.validate(rising, rows, tested, ROUGH_TOLERANCE)

        return held_out_scores(validate, progress.over(splits, "validating"))

    def n_rotations(self, many: int) -> int:
        """Return how many fifths of the documents to hold out in turn."""
        return int(np.clip(np.ceil(many / max(len(self.folds), 1)), 1, _N_FIFTHS))

    # --- learning -----------------------------------------------------------------------------

    def solve(self, settings: Settings) -> LinearScorer:
        """Learn from all documents, and fold everything into one weight per term and class."""
        problem, factor = self._problem(settings, np.arange(len(self.folds)))
        solution = problem.solve(settings["C"])
        weights = solution.weights
        if factor:
            S = self._fold_scores.embedding(settings["shrinkage"])  # (v, m)
            S *= solution.own_weights * np.float32(factor)
            weights += S  # a class without a column has a weight of 0
        if weight := settings["vector_weight"]:
            weights += self._vector_rows @ (solution.block_weights * np.float32(weight))
        return LinearScorer(self.vectorizer, weights, solution.intercept)

    def _problem(self, settings: Settings, rows: Ints) -> tuple[OneVsRest, float]:
        """Return the problem to solve, and the factor that made word-class scores its features.

        The documents outside the rows are seen by nothing that was learned from labels.
        """
        labels, weight, factor = self.documents.labels, settings["vector_weight"], 0.0
        if weight not in self._with_vectors:
            block = np.asarray(self.X @ (self._vector_rows * np.float32(weight)), np.float32)
            self._with_vectors[weight] = self._with_vectors[0.0].with_block(block)
        features = self._with_vectors[weight]
        if settings["block_weight"]:
            own = self._own(settings["shrinkage"], rows)
            size = float(np.sqrt(np.sum(own[rows] ** 2) / max(own[rows].size, 1)))
            factor = settings["block_weight"] / size if size > 0 else 0.0
            features = features.with_own(own * np.float32(factor))
        threads = n_threads(self.vectorizer.n_jobs)
        return OneVsRest(features, labels.Y, self._costs(rows), threads), factor

    def _own(self, shrinkage: float, rows: Ints) -> Floats32:
        """Return the word-class scores (n, m) by the labels of some rows, never a document's own.

        A class with fewer than two documents has zeros.
        """
        if self._own_shrinkage != shrinkage:  # only the last one's are kept: they are large
            self._own_shrinkage, self._own_scores = shrinkage, {}
        held_out = tuple(sorted(set(self.folds.tolist()) - set(self.folds[rows].tolist())))
        if held_out not in self._own_scores:
            made = self._fold_scores.scores(shrinkage, held_out)
            n_members = np.asarray(self.documents.labels.Y[rows].sum(axis=0)).ravel()
            made[:, n_members < _ENOUGH] = 0.0
            self._own_scores[held_out] = made
        return self._own_scores[held_out]

    @cached_property
    def _fold_scores(self) -> FoldScores:
        documents = self.documents
        return FoldScores(self.X, documents.labels.Y, self.folds, _N_FOLDS, documents.weights)

    @cached_property
    def _vector_rows(self) -> Floats32:
        """The pretrained vectors (v, q) of the vocabulary, stretched so that a document's is 1."""
        terms = self.vectorizer.vocabulary_.terms
        E = EmbeddingMatrix.of(self.vectors, vocabulary=terms, keep_unseen=False)
        rows = E.matrix[: self.X.shape[1]]
        length = np.sqrt(np.mean(np.sum((self.X @ rows) ** 2, axis=1)))
        return np.asarray(rows / max(float(length), 1e-12), dtype=np.float32)

    def _costs(self, rows: Ints) -> Costs:
        labels, weights = self.documents.labels, self.documents.weights
        if self.class_weights is None:
            is_multilabel = labels.codeframe.is_multilabel
            return Costs.balanced(labels.Y, weights, rows, is_multilabel=is_multilabel)
        return replace(Costs.equal(*labels.Y.shape, weights), positive=self.class_weights)


make = LinearClassifier
