"""Prediction with a classifier: the scikit-learn API of a fitted model."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from wordclass.arrays import Flags, Floats, Floats32, Ints
from wordclass.classifiers._saving import SavedClassifier
from wordclass.decision.fitted_model import FittedModel
from wordclass.decision.predictions import Predictions
from wordclass.decision.prior_shift import PriorShift
from wordclass.options import check_int


class PredictingClassifier(SavedClassifier):
    """Base class of classifiers that predict with a `FittedModel`."""

    @property
    def _fitted_model(self) -> FittedModel:
        """The fitted attributes as a model that needs no estimator."""
        if not hasattr(self, "codeframe_"):  # much faster than scikit-learn's check
            check_is_fitted(self)
        return FittedModel(
            name=self.name,
            codeframe=self.codeframe_,
            scorer=self.scorer_,
            thresholds=self.thresholds_,
            calibration=self.calibration_,
            share_calibration=self.share_calibration_,
            shares=self.training_.shares,
            has_probabilities=getattr(self, "probabilities", True),
        )

    def predict(self, X: Iterable[str]) -> Any:  # noqa: ANN401 - see Codeframe.to_labels
        """Return the labels of texts.

        Parameters
        ----------
        X : iterable of str
            The texts.

        Returns
        -------
        array or list
            Labels in the form that was given to `fit`: an array with one label per text, a list
            with a tuple of labels per text, or a 0/1 matrix.

        Raises
        ------
        InputError
            The texts are not str, or so many that their scores do not fit into memory.

        See Also
        --------
        predictions : Return labels, scores and probabilities as one object.
        predict_proba : Return the probabilities of all classes.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> model.predict(["an apple", "the sky"]).tolist()
        ['food', 'air']
        """
        return self._fitted_model.predict(X)

    def predictions(self, X: Iterable[str]) -> Predictions:
        """Return the labels, scores and probabilities of texts as one object.

        Parameters
        ----------
        X : iterable of str
            The texts.

        Returns
        -------
        Predictions
            The result for all texts.

        Raises
        ------
        InputError
            The texts are not str, or so many that their scores do not fit into memory.

        See Also
        --------
        prediction_blocks : Return the same for more texts than fit into memory.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> predictions = model.predictions(["an apple"])
        >>> predictions.labels.tolist()
        ['food']
        >>> [label for label, probability in predictions.top(2)[0]]
        ['food', 'air']
        """
        model = self._fitted_model
        return model.predictions_of(model.scores(X))

    def prediction_blocks(self, X: Iterable[str]) -> Iterator[Predictions]:
        """Return the predictions of texts in blocks that fit into memory.

        Parameters
        ----------
        X : iterable of str
            The texts.

        Yields
        ------
        Predictions
            The result for the next texts.

        See Also
        --------
        predictions : Return the result for all texts at once.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> [len(block) for block in model.prediction_blocks(["apple", "sky", "red"])]
        [3]
        """
        yield from self._fitted_model.prediction_blocks(X)

    def predictions_of(
        self, scores: Floats | Floats32, shift: PriorShift | None = None
    ) -> Predictions:
        """Return the predictions that follow from scores.

        Parameters
        ----------
        scores : array of shape (n, m)
            The result of `class_scores`.
        shift : PriorShift, optional
            Adjust probabilities and labels to the shares of this shift.

        Returns
        -------
        Predictions
            The result for the texts that have these scores.

        See Also
        --------
        predictions : Return the predictions of texts.
        prior_shift : Estimate the shift of the shares of classes.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> scores = model.class_scores(["apple"])
        >>> model.predictions_of(scores).labels.tolist()
        ['food']
        """
        return self._fitted_model.predictions_of(scores, shift)

    def predict_proba(self, X: Iterable[str]) -> Floats:
        """Return the probability of each class.

        In a single-label task the probabilities of a text sum to 1. In a multilabel task each class
        has its own.

        Parameters
        ----------
        X : iterable of str
            The texts.

        Returns
        -------
        array of shape (n, m)
            The probabilities; the columns are `classes_`.

        Raises
        ------
        InputError
            The classifier was fitted with `probabilities=False`.

        See Also
        --------
        decision_function : Return scores instead of probabilities.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> model.predict_proba(["an apple"]).sum().round(6)
        np.float64(1.0)
        """
        return self._fitted_model.predict_proba(X)

    def class_scores(self, X: Iterable[str]) -> Floats32:
        """Return the score of each class, also if there are only two classes.

        Parameters
        ----------
        X : iterable of str
            The texts.

        Returns
        -------
        array of shape (n, m)
            The scores; the columns are `classes_`.

        Raises
        ------
        InputError
            The texts are not str, or so many that their scores do not fit into memory.

        See Also
        --------
        decision_function : Return scores in the form of scikit-learn.
        top_classes : Return the scores of the best classes only.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> model.class_scores(["an apple", "the sky"]).shape
        (2, 2)
        """
        return self._fitted_model.scores(X)

    def decision_function(self, X: Iterable[str]) -> Floats32:
        """Return the score of each class in the form of scikit-learn.

        Parameters
        ----------
        X : iterable of str
            The texts.

        Returns
        -------
        array of shape (n, m) or (n,)
            The scores. In a single-label task with two classes, half the difference between the
            scores of `classes_[1]` and `classes_[0]`, which is above 0 if `predict` returns
            `classes_[1]`.

        See Also
        --------
        class_scores : Return one score per class, also if there are two classes.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> (model.decision_function(["an apple", "the sky"]) > 0).tolist()
        [True, False]
        """
        scores = self.class_scores(X)
        if self.codeframe_.is_multilabel or scores.shape[1] > 2:
            return scores
        return (scores[:, 1] - scores[:, 0]) / np.float32(2)

    def top_classes(self, X: Iterable[str], k: int = 5) -> tuple[Ints, Floats32]:
        """Return the classes with the highest scores.

        The scores of all classes are never held at once, so this works for any number of texts.

        Parameters
        ----------
        X : iterable of str
            The texts.
        k : int, default=5
            The number of classes per text. All are returned if there are fewer.

        Returns
        -------
        columns : array of shape (n, k)
            Positions in `classes_`, best first.
        scores : array of shape (n, k)
            The scores of these classes.

        Raises
        ------
        InputError
            The number of classes is below 1.

        See Also
        --------
        Predictions.top : Return the best classes with their probabilities.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> columns, scores = model.top_classes(["an apple"], k=1)
        >>> model.classes_[columns].tolist()
        [['food']]
        """
        check_is_fitted(self)
        check_int("k", k, 1)
        return self._fitted_model.top(X, k)

    def decide(self, scores: Floats | Floats32) -> Flags:
        """Turn scores into decisions.

        A text has the class with the highest score; in a multilabel task all classes with scores
        above their thresholds. A text without a known term has no evidence for any class. In a
        multilabel task it gets only classes that more than half of the training texts have.

        Parameters
        ----------
        scores : array of shape (n, m)
            The result of `class_scores`.

        Returns
        -------
        array of shape (n, m)
            True for each class of a text.

        See Also
        --------
        predict : Return labels instead of decisions.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> model.decide(model.class_scores(["an apple"])).tolist()
        [[False, True]]
        """
        return self._fitted_model.decide(scores)

    def calibrated(self, scores: Floats | Floats32) -> Floats:
        """Turn scores into probabilities.

        Parameters
        ----------
        scores : array of shape (n, m)
            The result of `class_scores`.

        Returns
        -------
        array of shape (n, m)
            The probabilities.

        Raises
        ------
        InputError
            The classifier was fitted with `probabilities=False`.

        See Also
        --------
        predict_proba : Return the probabilities of texts.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> model.calibrated(model.class_scores(["an apple"])).shape
        (1, 2)
        """
        return self._fitted_model.probabilities(scores)

    @property
    def is_calibrated(self) -> bool:
        """Whether probabilities were fitted to held-out documents.

        The probabilities of a tree are always fitted, node by node.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model.fit(["red apple", "blue sky"], ["food", "air"]).is_calibrated
        True
        """
        return self._fitted_model.is_calibrated

    def prior_shift(self, X: Iterable[str]) -> PriorShift:
        """Estimate the share of each class among texts without labels.

        If the shares differ from those of training, `predict_adjusted` and `PriorShift.adjust` take
        that into account.

        Parameters
        ----------
        X : iterable of str
            The texts, 50 or more.

        Returns
        -------
        PriorShift
            The shares, and the probabilities of these texts under them.

        Raises
        ------
        InputError
            There are too few texts, or the probabilities of the classifier are not calibrated.

        See Also
        --------
        predict_adjusted : Return labels under the estimated shares.

        Examples
        --------
        >>> import wordclass as wc
        >>> sizes = ["big", "small", "new", "old"]
        >>> texts = [f"{size} {noun}" for size in sizes for noun in ("apple", "pear", "sky", "fog")]
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(texts, ["food", "food", "air", "air"] * 4)
        >>> shift = model.prior_shift(["big apple"] * 80 + ["old sky"] * 20)
        >>> shift.shares.round(1).tolist()
        [0.2, 0.8]
        """
        return self.shift_of(self.class_scores(X))

    def shift_of(self, scores: Floats | Floats32) -> PriorShift:
        """Estimate the share of each class among texts with known scores.

        Parameters
        ----------
        scores : array of shape (n, m)
            The result of `class_scores`.

        Returns
        -------
        PriorShift
            The shares, and the probabilities of these texts under them.

        Raises
        ------
        InputError
            There are too few texts, or the probabilities of the classifier are not calibrated.

        See Also
        --------
        prior_shift : Estimate the shares among texts.

        Examples
        --------
        >>> import wordclass as wc
        >>> sizes = ["big", "small", "new", "old"]
        >>> texts = [f"{size} {noun}" for size in sizes for noun in ("apple", "pear", "sky", "fog")]
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(texts, ["food", "food", "air", "air"] * 4)
        >>> scores = model.class_scores(["big apple", "old sky"] * 50)
        >>> model.shift_of(scores).shares.round(1).tolist()
        [0.5, 0.5]
        """
        return self._fitted_model.estimate_shift(scores)

    def predict_adjusted(self, X: Iterable[str], shift: PriorShift | None = None) -> Any:  # noqa: ANN401
        """Return labels that are adjusted to other shares of classes than in training.

        Parameters
        ----------
        X : iterable of str
            The texts.
        shift : PriorShift, optional
            The result of `prior_shift`. By default it is estimated from these texts.

        Returns
        -------
        array or list
            Labels in the form that `predict` returns.

        Raises
        ------
        InputError
            The shift is not one of this model, or cannot be estimated.

        See Also
        --------
        prior_shift : Estimate the shares of classes.

        Examples
        --------
        >>> import wordclass as wc
        >>> sizes = ["big", "small", "new", "old"]
        >>> texts = [f"{size} {noun}" for size in sizes for noun in ("apple", "pear", "sky", "fog")]
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(texts, ["food", "food", "air", "air"] * 4)
        >>> model.predict_adjusted(["big apple", "old sky"] * 50)[:2].tolist()
        ['food', 'air']
        """
        model = self._fitted_model
        scores = model.scores(X)
        shift = model.estimate_shift(scores) if shift is None else shift
        return self.codeframe_.to_labels(model.adjust(scores, shift)[1])

    def adjusted(self, scores: Floats | Floats32, shift: PriorShift) -> tuple[Floats, Flags]:
        """Turn scores into probabilities and decisions under the shares of a shift.

        A threshold is the same probability as without a shift. If a probability equals it, as does
        that of a class without evidence, the score decides.

        Parameters
        ----------
        scores : array of shape (n, m)
            The result of `class_scores`.
        shift : PriorShift
            The result of `prior_shift`.

        Returns
        -------
        probabilities : array of shape (n, m)
            The adjusted probabilities.
        decisions : array of shape (n, m)
            True for each class of a text.

        Raises
        ------
        InputError
            The shift is not one of this model.

        See Also
        --------
        predict_adjusted : Return the adjusted labels of texts.

        Examples
        --------
        >>> import wordclass as wc
        >>> sizes = ["big", "small", "new", "old"]
        >>> texts = [f"{size} {noun}" for size in sizes for noun in ("apple", "pear", "sky", "fog")]
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(texts, ["food", "food", "air", "air"] * 4)
        >>> scores = model.class_scores(["big apple", "old sky"] * 50)
        >>> probabilities, decisions = model.adjusted(scores, model.shift_of(scores))
        >>> decisions[:2].tolist()
        [[False, True], [True, False]]
        """
        return self._fitted_model.adjust(scores, shift)
