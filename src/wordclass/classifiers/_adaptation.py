"""Adapt a fitted classifier to texts of another source, and undo it."""

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Self

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats32
from wordclass.classifiers._prediction import PredictingClassifier
from wordclass.classifiers._unlabelled import ADAPTED, Choice, split_into_documents
from wordclass.corpus.labels import EncodedLabels
from wordclass.corpus.splits import fingerprint_texts
from wordclass.decision.scorers import Scorer, SumScorer
from wordclass.errors import InputError
from wordclass.linear.one_vs_rest import OneVsRest
from wordclass.linear.problem import Costs, Features, Problem
from wordclass.linear.search import Documents
from wordclass.options import list_texts, n_threads

_SHARE_OF_NEW_TEXTS = 0.5  # what their scores weigh beside those of the training texts
_TOLERANCE = 1e-3


class AdaptableClassifier(PredictingClassifier):
    """Base class of classifiers that can be adapted, which have one weight per term and class.

    Attributes
    ----------
    original_ : classifier or None
        The classifier before it learned from unlabelled texts, or None if it did not.
    unlabelled_ : dict or None
        How it learned from unlabelled texts: the method, its gain on held-out texts, and the
        numbers of texts that were used or left out.
    """

    n_jobs: int | None

    def adapt(self, X: Iterable[str]) -> Self:
        """Return a classifier that is adapted to texts without labels.

        The probabilities that this classifier gives to the texts become their labels. A second
        set of weights of the same terms is learned from them, and added to the weights of this
        classifier, which does not change. Nothing measures whether this helps: evaluate both on
        some labelled texts of the new source if you can.

        Parameters
        ----------
        X : iterable of str
            Texts of a new source or a later time. A few hundred are needed.

        Returns
        -------
        Self
            The adapted classifier.

        Raises
        ------
        InputError
            There are no texts with known terms, or the classifier has no weights of terms.

        See Also
        --------
        without_adaptation : Return the classifier before it was adapted.
        fit : Learn from labelled and unlabelled texts together.

        Examples
        --------
        >>> import wordclass as wc
        >>> texts = ["red apple", "green apple", "blue sky", "clear sky"]
        >>> model = wc.classifier("linear", min_docs=1).fit(texts, ["food", "food", "air", "air"])
        >>> adapted = model.adapt(["red apple pie", "clear blue sea"])
        >>> adapted.predict(["apple pie"]).tolist()
        ['food']
        >>> adapted.without_adaptation() is model
        True
        """
        model = self._fitted_model
        scorers = model.scorer.linear_scorers
        if not scorers:
            problem = f"this {self.name!r} model has no weights of terms alone"
            raise InputError(problem, hint="use 'linear' or 'nearest' without an encoder")
        listed = list_texts(X)
        _, first = np.unique(fingerprint_texts(listed), return_index=True)
        distinct = [listed[row] for row in first.tolist()]
        n_terms = sum(np.diff(scorer.weigher.transform(distinct).indptr) for scorer in scorers)
        texts = [distinct[row] for row in np.flatnonzero(n_terms).tolist()]
        if not texts:
            raise InputError(
                "no text to adapt to has a term that the model knows",
                expected="texts of the same task in the same language",
            )
        probabilities = model.predict_proba(texts)
        rows, Y, weights = split_into_documents(
            probabilities, is_multilabel=model.codeframe.is_multilabel
        )
        labels = EncodedLabels(model.codeframe, Y)
        adapted = copy(self)
        adapted._add_documents(Documents([texts[row] for row in rows], labels, weights, rows))
        adapted.original_ = self.without_adaptation()
        adapted.unlabelled_ = Choice(
            method=ADAPTED,
            gains={},
            n_texts=len(texts),
            n_blank=0,
            n_repeated=len(listed) - len(distinct),
            n_labelled=0,
            n_unfamiliar=len(distinct) - len(texts),
        ).to_dict()
        return adapted

    def _add_documents(self, documents: Documents) -> None:
        """Add weighted documents to a fitted classifier, without new terms.

        By default, a second set of weights is learned from them and averaged with the first.
        """
        distinct, places = documents.distinct()
        scorer: Scorer = self.scorer_
        blocks = [part.weigher.transform(distinct.texts) for part in scorer.linear_scorers]
        X = sparse.hstack(blocks, format="csr")[places]
        labels = documents.labels
        is_multilabel = labels.codeframe.is_multilabel
        costs = Costs.balanced(labels.Y, documents.weights, is_multilabel=is_multilabel)
        solver = OneVsRest(Problem(Features.of(X), labels.Y, costs), n_threads(self.n_jobs))
        solution = solver.solve(self._adaptation_penalty, tolerance=_TOLERANCE)
        self.scorer_ = _add_weights(scorer, solution.weights, solution.intercept)

    def without_adaptation(self) -> Self:
        """Return the classifier before it learned from unlabelled texts.

        Returns
        -------
        Self
            The classifier that learned from labelled texts alone, to the bit. A classifier that
            never learned from unlabelled texts returns itself.

        See Also
        --------
        adapt : Adapt the classifier to texts without labels.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> model.without_adaptation() is model
        True
        """
        original: Self | None = self.original_
        return self if original is None else original

    @property
    def _adaptation_penalty(self) -> float:
        """The C of the second set of weights: that of the first, if there was one."""
        settings = getattr(self, "settings_", {})
        return float(settings["C"]) if settings.get("loss") == "squared_hinge" else 1.0


def _add_weights(scorer: Scorer, weights: Floats32, intercept: Floats32) -> Scorer:
    """Return the weighted mean of a scorer and of other weights for the same terms."""
    trained_share = np.float32(1 / (1 + _SHARE_OF_NEW_TEXTS))
    added_share = np.float32(_SHARE_OF_NEW_TEXTS) * trained_share
    parts = []
    start = 0
    for part in scorer.linear_scorers:
        stop = start + len(part.weights)
        mean = part.weights * trained_share + weights[start:stop] * added_share
        mean_intercept = part.intercept * trained_share
        if start == 0:
            mean_intercept = mean_intercept + intercept * added_share
        parts.append(replace(part, weights=mean, intercept=mean_intercept))
        start = stop
    characters = parts[1] if len(parts) > 1 else None
    return SumScorer.of(parts[0], characters, None)
