"""The default: tf-idf beside cross-fitted word-class scores, one linear model a class."""

from collections.abc import Collection, Iterable, Mapping
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from wordclass.arrays import Floats, Floats32, Ints
from wordclass.classifiers._linear_features import (
    N_FOLDS,
    LabelledDocuments,
    LinearFeatures,
    LinearSettings,
)
from wordclass.classifiers._linear_search import (
    BLOCK_WEIGHTS,
    NGRAMS,
    PENALTIES,
    SHRINKAGES,
    VECTOR_WEIGHTS,
    Choices,
    Search,
    held_out_scores,
    n_rotations,
)
from wordclass.classifiers._text_classifier import TextClassifier
from wordclass.corpus import Label
from wordclass.errors import InputError
from wordclass.folds import stratified_folds
from wordclass.labels import Codeframe, EncodedLabels
from wordclass.linear_scorer import LinearScorer
from wordclass.measures import Target
from wordclass.native import n_threads
from wordclass.probabilities import Calibration
from wordclass.storage.parts import Parts
from wordclass.text.analyzer import Analyze
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.thresholds import tuned_thresholds
from wordclass.word_vectors import WordVectors

GRID = {
    "ngrams": [(1, 1), (1, 2), (1, 3)],
    "min_docs": [1, 2, 3, 5],
    "shrinkage": [0.0, 1.0, 5.0, 20.0, 50.0],
    "block_weight": [0.0, 0.1, 0.3, 1.0],
    "C": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0],
}

_MOST_SEARCHED = 20_000  # documents: of more, settings are chosen on a sample
_SAMPLE = 10_000
_FEWEST_SEARCHED = 20  # fewer tell nothing
_MANY_FOR_THRESHOLDS = 30_000  # documents: so many need only a fifth of them scored
_MANY_FOR_PROBABILITIES = 2_000  # in a single-label task


class LinearClassifier(TextClassifier):
    """Tf-idf of words (and maybe pairs of words) beside the word-class score of each class.

    For each class a linear support vector machine sees the document's row of X and one number
    more: how much its words speak for this class, X·S, by an S that was learned without the
    document's fold. Where pretrained vectors are given, it sees X·U too. After training all of this
    folds into one weight a term and class, so predicting is one sparse product and explanations
    are exact.

    The settings that are "auto" are chosen inside `fit`, on documents held out from training. Of
    more than 20,000 documents, 10,000 take part in that, drawn evenly from the classes. Fewer than
    20 documents are not worth a search: the first value of each setting is taken, and C = 1.

    Parameters
    ----------
    vectors
        Pretrained word vectors, or None.
    ngrams
        Shortest and longest run of words that makes a term; "auto" tries words, and words with
        pairs of words.
    shrinkage
        Pull on rare terms in the word-class scores; "auto" tries 1, 5 and 20.
    block_weight
        Weight of the word-class score beside X; "auto" tries 0, .03 and .1.
    vector_weight
        Weight of the pretrained vectors beside X; "auto" tries 0 and .5.
    C
        How much errors weigh against small weights; "auto" tries .1, .3 and 1, and more
        beyond the end that is best.
    min_docs, mask_numbers, analyzer, stop_words
        Which terms there are: see `DocumentVectorizer`.
    class_weight
        "balanced": errors on a small class weigh more; None: all the same; or a weight for each
        class that is not to have 1.
    target
        What the settings and thresholds are chosen for: "macro" F1, "micro" F1, or "both".
    probabilities
        Whether `predict_proba` is to work, which costs a little.
    seed
        For the folds.
    n_jobs
        Threads; None is one. The result does not depend on it.

    Attributes
    ----------
    settings_ : dict
        The settings, those that were chosen too.
    trials_ : list of dict
        What was tried, with macro and micro F1 on documents held out.
    scorer_ : LinearScorer
        The weights.
    """

    name = "linear"

    def __init__(
        self,
        *,
        vectors: WordVectors | None = None,
        ngrams: tuple[int, int] | Literal["auto"] = "auto",
        shrinkage: float | Literal["auto"] = "auto",
        block_weight: float | Literal["auto"] = "auto",
        vector_weight: float | Literal["auto"] = "auto",
        C: float | Literal["auto"] = "auto",
        min_docs: int | float = 2,
        mask_numbers: bool = True,
        analyzer: Analyze | None = None,
        stop_words: str | Collection[str] | None = None,
        class_weight: Literal["balanced"] | Mapping[Label, float] | None = "balanced",
        target: Target = "both",
        probabilities: bool = True,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.vectors = vectors
        self.ngrams = ngrams
        self.shrinkage = shrinkage
        self.block_weight = block_weight
        self.vector_weight = vector_weight
        self.C = C
        self.min_docs = min_docs
        self.mask_numbers = mask_numbers
        self.analyzer = analyzer
        self.stop_words = stop_words
        self.class_weight = class_weight
        self.target = target
        self.probabilities = probabilities
        self.seed = seed
        self.n_jobs = n_jobs

    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        choices = self._choices()
        codeframe, Y = labels.codeframe, labels.Y
        folds = stratified_folds(texts, Y, N_FOLDS, self.seed)
        documents = LabelledDocuments(texts, Y, folds, sample_weight, codeframe.is_multilabel)
        features: LinearFeatures | None = None
        settings, trials = choices.first(), []
        if not choices.are_fixed and len(texts) >= _FEWEST_SEARCHED:
            searched = self._searched(documents)
            search = Search(
                searched,
                choices,
                self.target,
                lambda ngrams: self._features(searched, ngrams, codeframe),
            )
            settings = search.run()
            trials = [trial.to_dict() for trial in search.trials]
            if searched is documents:
                features = search.features(settings.ngrams)
        if features is None:
            features = self._features(documents, settings.ngrams, codeframe)
        thresholds, calibration = self._decisions(features, settings)
        scorer = features.solve(settings)
        self.thresholds_, self.calibration_ = thresholds, calibration
        self.scorer_ = scorer
        self.settings_ = settings.to_dict()
        self.trials_ = trials

    def _decisions(
        self, features: LinearFeatures, settings: LinearSettings
    ) -> tuple[Floats | None, Calibration | None]:
        """Return thresholds and calibration by the scores of documents held out."""
        documents = features.documents
        is_multilabel = documents.is_multilabel
        thresholds: Floats | None = None
        calibration: Calibration | None = None
        if not is_multilabel and not self.probabilities:
            return thresholds, calibration
        many = _MANY_FOR_THRESHOLDS if is_multilabel else _MANY_FOR_PROBABILITIES
        rotations = n_rotations(len(documents.texts), many)
        parts = list(held_out_scores(features, settings, [settings.C], rotations))
        rows: Ints = np.concatenate([tested for tested, _ in parts])
        scores = np.concatenate([made[0] for _, made in parts])  # (rows, m)
        Y = documents.Y[rows]
        if is_multilabel:
            # the documents that were held out together, unless all were
            groups = documents.folds[rows] // (2 if rotations > 1 else 1)
            thresholds = tuned_thresholds(scores, Y, groups, self.target)
        if self.probabilities:
            calibration = Calibration.fit(scores, Y, is_single_label=not is_multilabel)
        return thresholds, calibration

    def _searched(self, documents: LabelledDocuments) -> LabelledDocuments:
        """Return the documents on which settings are chosen: all, or a fair sample of them."""
        if len(documents.texts) <= _MOST_SEARCHED:
            return documents
        n_parts = -(-len(documents.texts) // _SAMPLE)
        parts = stratified_folds(documents.texts, documents.Y, n_parts * N_FOLDS, self.seed)
        rows = np.flatnonzero(parts < N_FOLDS)
        return documents.part(rows, parts[rows])

    def _features(
        self, documents: LabelledDocuments, ngrams: tuple[int, int], codeframe: Codeframe
    ) -> LinearFeatures:
        return LinearFeatures(
            documents,
            self._vectorizer(ngrams),
            self.vectors,
            self._class_weights(codeframe),
            n_threads(self.n_jobs),
        )

    def _vectorizer(self, ngrams: tuple[int, int]) -> DocumentVectorizer:
        return DocumentVectorizer(
            min_docs=self.min_docs,
            ngrams=ngrams,
            mask_numbers=self.mask_numbers,
            analyzer=self.analyzer,
            stop_words=self.stop_words,
            n_jobs=self.n_jobs,
        )

    def _class_weights(self, codeframe: Codeframe) -> Floats | None:
        """Return a cost for each class (m,); None: balanced."""
        if self.class_weight == "balanced":
            return None
        weights = np.ones(len(codeframe.classes))
        if self.class_weight is None:
            return weights
        if not isinstance(self.class_weight, Mapping):
            raise InputError(
                f"class_weight is {self.class_weight!r}; expected 'balanced', None or a mapping "
                "from class to weight"
            )
        for label, weight in self.class_weight.items():
            weights[codeframe.column(label)] = _number("class_weight", weight, above=True)
        return weights

    def _choices(self) -> Choices:
        """Check the settings, and list the values that each may take."""
        if self.target not in ("macro", "micro", "both"):
            raise InputError(f"target is {self.target!r}; expected 'macro', 'micro' or 'both'")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer):
            raise InputError(f"seed is {self.seed!r}; expected an int")
        if self.vectors is not None and not isinstance(self.vectors, WordVectors):
            raise InputError(
                f"vectors is a {type(self.vectors).__name__}; expected WordVectors, as "
                "WordVectors.load returns them"
            )
        # terms of a function of the user's have no n-grams of ours
        ngrams = NGRAMS if self.analyzer is None else NGRAMS[:1]
        return Choices(
            ngrams if self.ngrams == "auto" else (self.ngrams,),
            self._values("shrinkage", SHRINKAGES),
            self._values("block_weight", BLOCK_WEIGHTS),
            self._values("vector_weight", VECTOR_WEIGHTS) if self.vectors is not None else (0.0,),
            self._values("C", PENALTIES, above=True),
        )

    def _values(
        self, name: str, usual: tuple[float, ...], *, above: bool = False
    ) -> tuple[float, ...]:
        given = getattr(self, name)
        return usual if given == "auto" else (_number(name, given, above=above),)

    def decision_function(self, texts: Iterable[str]) -> Floats32:
        """Return the score (n, m) of each class; also for two classes, unlike scikit-learn."""
        check_is_fitted(self)
        return self.scorer_.scores(texts)

    def _contributions(self, text: str) -> tuple[list[str], Floats32, Floats32]:
        return *self.scorer_.contributions(text), self.scorer_.intercept

    def _analyzer(self) -> Analyze:
        return self.scorer_.vectorizer.build_analyzer()

    def _to_parts(self) -> Parts:
        told = {"settings": self.settings_, "trials": self.trials_}
        return self.scorer_.to_parts() | Parts.of(told)

    def _from_parts(self, parts: Parts) -> None:
        facts = parts.facts
        self.settings_ = {**facts["settings"], "ngrams": tuple(facts["settings"]["ngrams"])}
        self.trials_ = [{**trial, "ngrams": tuple(trial["ngrams"])} for trial in facts["trials"]]
        vectorizer = self._vectorizer(self.settings_["ngrams"])
        self.scorer_ = LinearScorer.from_parts(vectorizer, parts)


def _number(name: str, value: object, *, above: bool) -> float:
    number = float("nan")
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        number = float(value)
    if not 0 <= number < float("inf") or (above and number == 0):
        expected = "a number above 0" if above else "a number from 0 up"
        raise InputError(f"{name} is {value!r}; expected {expected}")
    return number


make = LinearClassifier
