"""Prior shift: estimated shares of classes among unlabelled documents, and adjusted probabilities.

A model learns how frequent its classes are, and is wrong about it for documents of another time or
source. Expectation-maximization finds the shares that make the documents most likely (Saerens,
Latinne and Decaestecker, 2002). It uses probabilities alone: they say what a document is about, and
the part of them that is the share in training is replaced. The probabilities must be calibrated,
and the documents of a class must look as they did in training.
"""

from dataclasses import dataclass

import numpy as np

from wordclass.arrays import Floats, Ints
from wordclass.errors import InputError
from wordclass.options import check_int, check_number

MIN_DOCS_FOR_SHARES = 50  # the shares of fewer documents are left to chance
_TOLERANCE = 1e-4  # mean change of the shares in a step
_MIN_STEPS = 12
_MAX_STEPS = 1000
_MAX_BOOTSTRAP_CELLS = 1 << 31  # probabilities that all bootstrap samples read together
_MIN_BOOTSTRAP_SAMPLES = 20
_MAX_SUM_ERROR = 1e-3
_MIN_RELATIVE_RANGE = 1e-6  # of the probabilities of a class, else they are equal
_MIN_SHIFT = 0.1  # share of all labels that must have changed for a shift to be reported


@dataclass(frozen=True, eq=False)
class PriorShift:
    """Estimated shares of classes, and the probabilities of documents under these shares.

    Parameters
    ----------
    trained : array of shape (m,)
        The share of each class in training, above 0.
    shares : array of shape (m,)
        The share of each class among these documents. In a single-label task they sum to 1.
    probabilities : array of shape (n, m)
        The probabilities of the documents from which the shares were estimated, under these
        shares.
    is_single_label : bool
        Whether a document has exactly one label.
    trust : array of shape (m,), optional
        The fraction of each estimated change that is applied: from 0, where the share remains that
        of training, to 1. By default, changes are applied in full.

    Examples
    --------
    >>> import numpy as np
    >>> from wordclass.decision.prior_shift import PriorShift
    >>> probabilities = np.array([[0.9, 0.1]] * 80 + [[0.1, 0.9]] * 20)
    >>> PriorShift.of(probabilities, np.array([0.5, 0.5])).shares.round(1).tolist()
    [0.9, 0.1]
    """

    trained: Floats
    shares: Floats
    probabilities: Floats
    is_single_label: bool
    trust: Floats | None = None

    @classmethod
    def of(
        cls,
        probabilities: Floats,
        trained: Floats,
        *,
        is_single_label: bool = True,
        tolerance: float = _TOLERANCE,
        pull: float = 0.0,
    ) -> "PriorShift":
        """Estimate the shares of classes from calibrated probabilities.

        Parameters
        ----------
        probabilities : array of shape (n, m)
            Probabilities from a model that was trained with the shares `trained`.
        trained : array of shape (m,)
            The share of each class in training.
        is_single_label : bool, default=True
            Whether each document has exactly one of the classes. If not, each class is a task of
            its own.
        tolerance : float, default=1e-4
            The estimation ends when the mean change of the shares is smaller, but not before 12
            steps.
        pull : float, default=0.0
            Pulls the share of a class toward that of training if its probabilities hardly differ
            between documents: a change is multiplied by r / (r + pull), where r is the part of the
            variance of labels that the probabilities explain. In a single-label task, r is computed
            over all classes. Without this pull, the share of a class that cannot be distinguished
            from others would end at 0 or 1.

        Returns
        -------
        PriorShift
            The estimated shares.

        Raises
        ------
        InputError
            If there are fewer than 50 documents, or the values are not probabilities.

        Examples
        --------
        >>> import numpy as np
        >>> from wordclass.decision.prior_shift import PriorShift
        >>> probabilities = np.array([[0.9, 0.1]] * 80 + [[0.1, 0.9]] * 20)
        >>> PriorShift.of(probabilities, np.array([0.5, 0.5])).shares.round(1).tolist()
        [0.9, 0.1]
        """
        check_number("tolerance", tolerance, above=0.0)
        check_number("pull", pull)
        values, trained_shares = _check(probabilities, trained, is_single_label)
        before = _keep_above_zero(trained_shares, tolerance, is_single_label)
        trust = _compute_trust(values, pull, is_single_label) if pull else None
        estimate = _estimate_single_label if is_single_label else _estimate_multilabel
        shares, adjusted = estimate(values, before, None, tolerance, trust)
        return cls(before, shares, adjusted, is_single_label, trust)

    def adjust(self, probabilities: Floats) -> Floats:
        """Return probabilities under the estimated shares.

        If the shares are those of training, the probabilities do not change.

        Parameters
        ----------
        probabilities : array of shape (n, m)
            Probabilities of the model under the shares of training.

        Returns
        -------
        array of shape (n, m)
            The adjusted probabilities.

        Raises
        ------
        InputError
            If the values are not probabilities of these classes.

        Examples
        --------
        >>> import numpy as np
        >>> from wordclass.decision.prior_shift import PriorShift
        >>> probabilities = np.array([[0.9, 0.1]] * 80 + [[0.1, 0.9]] * 20)
        >>> shift = PriorShift.of(probabilities, np.array([0.5, 0.5]))
        >>> shift.adjust(np.array([[0.5, 0.5]])).round(1).tolist()
        [[0.9, 0.1]]
        """
        values = _check_probabilities(probabilities, len(self.shares))
        if self.is_single_label:
            return _reweight_and_normalize(values, self.shares / self.trained)
        ratios = self.shares / self.trained
        opposite_ratios = (1 - self.shares) / (1 - self.trained)
        return _reweight_against_opposite(values, ratios, opposite_ratios)

    def interval(self, level: float = 0.95, n_samples: int = 200, seed: int = 0) -> Floats:
        """Return a confidence interval of each share, computed by a bootstrap.

        Documents are drawn with replacement, and the shares are estimated again without a pull
        toward those of training, so that the interval is wide if the documents say little. The
        interval always contains the estimated share.

        Parameters
        ----------
        level : float, default=0.95
            The confidence level.
        n_samples : int, default=200
            The number of samples. Fewer are drawn from very many documents and classes.
        seed : int, default=0
            The seed of the random draws.

        Returns
        -------
        array of shape (2, m)
            The lower and the upper end of each interval.

        Raises
        ------
        InputError
            If an argument is out of range.

        Examples
        --------
        >>> import numpy as np
        >>> from wordclass.decision.prior_shift import PriorShift
        >>> probabilities = np.array([[0.9, 0.1]] * 80 + [[0.1, 0.9]] * 20)
        >>> shift = PriorShift.of(probabilities, np.array([0.5, 0.5]))
        >>> low, high = shift.interval()
        >>> bool((low <= shift.shares).all() and (shift.shares <= high).all())
        True
        """
        check_int("n_samples", n_samples, 2)
        check_number("level", level, above=0.0, below=1.0)
        check_int("seed", seed, 0)
        n_docs = len(self.probabilities)
        n_affordable = _MAX_BOOTSTRAP_CELLS // (self.probabilities.size * _MIN_STEPS)
        generator = np.random.default_rng(seed)
        # probabilities under the estimated shares are as good a start as the original ones
        start = _keep_above_zero(self.shares, _TOLERANCE, self.is_single_label)
        estimate = _estimate_single_label if self.is_single_label else _estimate_multilabel
        samples = []
        for _ in range(int(np.clip(n_affordable, _MIN_BOOTSTRAP_SAMPLES, n_samples))):
            weights = generator.multinomial(n_docs, np.full(n_docs, 1 / n_docs)) / n_docs
            shares, _ = estimate(self.probabilities, start, weights, _TOLERANCE, None)
            samples.append(shares)
        low, high = np.quantile(np.array(samples), ((1 - level) / 2, (1 + level) / 2), axis=0)
        is_unknown = False if self.trust is None else self.trust == 0
        low = np.where(is_unknown, 0.0, np.minimum(low, self.shares))
        high = np.where(is_unknown, 1.0, np.maximum(high, self.shares))
        return np.stack([low, high])


def clear_shift(trained: Floats, counts: Ints, n_docs: int) -> Ints:
    """Return the classes sorted by the change of their shares, or none if there is no clear shift.

    A shift is clear if at least a tenth of all labels would have to change to restore the shares of
    training, and if that is more than twice the change expected by chance.

    Parameters
    ----------
    trained : array of shape (m,)
        The share of each class in training.
    counts : array of shape (m,)
        The number of documents of each class.
    n_docs : int
        The number of documents.

    Returns
    -------
    array of int
        The columns of all classes, the largest change first, or an empty array.

    Examples
    --------
    >>> clear_shift(np.array([0.5, 0.3, 0.2]), np.array([200, 300, 500]), 1000)
    array([0, 2, 1])
    >>> clear_shift(np.array([0.5, 0.3, 0.2]), np.array([480, 310, 210]), 1000)
    array([], dtype=int64)
    """
    changes = np.abs(counts / n_docs - trained)
    total = trained.sum() + counts.sum() / n_docs
    expected_by_chance = np.sqrt(2 * trained * (1 - trained) / (np.pi * n_docs)).sum()
    if changes.sum() <= max(_MIN_SHIFT * total, 2 * expected_by_chance):
        return np.zeros(0, np.int64)
    return np.argsort(-changes, kind="stable")


def _check(probabilities: Floats, trained: Floats, is_single_label: bool) -> tuple[Floats, Floats]:
    try:
        shares = np.asarray(trained, np.float64)
    except (TypeError, ValueError):
        raise InputError("trained is not numeric", expected="one share per class") from None
    if shares.ndim != 1 or not shares.size:
        raise InputError(f"trained has shape {shares.shape}", expected="one share per class")
    values = _check_probabilities(probabilities, len(shares))
    if len(values) < MIN_DOCS_FOR_SHARES:
        raise InputError(
            f"{len(values)} documents are too few to estimate the shares of classes",
            expected=f"at least {MIN_DOCS_FOR_SHARES}",
        )
    if not (np.isfinite(shares).all() and (shares >= 0).all() and (shares <= 1).all()):
        raise InputError("trained is out of range", expected="shares from 0 to 1")
    sums = np.append(values.sum(axis=1), shares.sum())
    if is_single_label and np.abs(sums - 1).max() > _MAX_SUM_ERROR:
        raise InputError(
            "the probabilities of a document, or the trained shares, do not sum to 1",
            hint="use is_single_label=False for a multilabel task",
        )
    return values, shares


def _check_probabilities(probabilities: object, n_classes: int) -> Floats:
    try:
        values = np.asarray(probabilities, np.float64)
    except (TypeError, ValueError):
        raise InputError("probabilities are not numeric", expected="a row per document") from None
    if values.ndim != 2 or values.shape[1] != n_classes:
        raise InputError(
            f"probabilities have the shape {values.shape}",
            expected=f"a row per document and {n_classes} columns, one per class",
        )
    if not (np.isfinite(values).all() and (values >= 0).all() and (values <= 1).all()):
        raise InputError("probabilities are out of range", expected="numbers from 0 to 1")
    return values


def _keep_above_zero(shares: Floats, tolerance: float, is_single_label: bool) -> Floats:
    """Return shares that are safe to divide by, also for classes that no document, or all, have."""
    if is_single_label:
        raised = shares + tolerance if (shares == 0).any() else shares
        return np.asarray(raised / raised.sum())
    is_inside = (shares > 0) & (shares < 1)
    return np.where(is_inside, shares, (shares + tolerance) / (1 + 2 * tolerance))


def _compute_trust(probabilities: Floats, pull: float, is_single_label: bool) -> Floats:
    """Return r / (r + pull) of each class (m,), with r as in `PriorShift.of`."""
    means = probabilities.mean(axis=0)
    variances = probabilities.var(axis=0)
    label_variances = means * (1 - means)
    variances[np.ptp(probabilities, axis=0) <= _MIN_RELATIVE_RANGE * means] = 0.0
    if is_single_label:
        variances = np.full_like(variances, variances.sum())
        label_variances = np.full_like(label_variances, label_variances.sum())
    explained = np.divide(
        variances,
        label_variances,
        out=np.zeros_like(label_variances),
        where=label_variances > 0,
    )
    return np.asarray(explained / (explained + pull))


def _reweight_and_normalize(probabilities: Floats, ratios: Floats) -> Floats:
    """Return probabilities (n, m) times ratios (m,), normalized for each document."""
    weighted = probabilities * ratios
    totals = weighted.sum(axis=1, keepdims=True)
    # documents whose classes all have a share of 0 keep their probabilities
    return np.asarray(np.divide(weighted, totals, out=probabilities.copy(), where=totals > 0))


def _reweight_against_opposite(
    probabilities: Floats, ratios: Floats, opposite_ratios: Floats
) -> Floats:
    """Return probabilities (n, m) times ratios (m,), normalized for each class and its opposite."""
    weighted = probabilities * ratios
    totals = weighted + (1 - probabilities) * opposite_ratios
    return np.divide(weighted, totals, out=probabilities.copy(), where=totals > 0)


def _estimate_single_label(
    probabilities: Floats,
    before: Floats,
    weights: Floats | None,
    tolerance: float,
    trust: Floats | None,
) -> tuple[Floats, Floats]:
    """Return shares (m,) and probabilities (n, m) by expectation-maximization.

    Parameters
    ----------
    probabilities : array of shape (n, m)
        The probabilities under the shares `before`.
    before : array of shape (m,)
        The shares of training.
    weights : array of shape (n,), optional
        The weights of the documents, which sum to 1. By default they are equal.
    tolerance : float
        The mean change of the shares below which the estimation ends.
    trust : array of shape (m,), optional
        The fraction of each change that is applied.
    """
    shares = before
    previous = np.full_like(before, np.inf)
    for step in range(_MAX_STEPS):
        adjusted = _reweight_and_normalize(probabilities, shares / before)
        shares = adjusted.mean(axis=0) if weights is None else weights @ adjusted
        if trust is not None:
            shares = before + trust * (shares - before)  # the sum stays 1, as all trusts are equal
        if step + 1 >= _MIN_STEPS and np.abs(shares - previous).mean() < tolerance:
            break
        previous = shares
    return shares, adjusted


def _estimate_multilabel(
    probabilities: Floats,
    before: Floats,
    weights: Floats | None,
    tolerance: float,
    trust: Floats | None,
) -> tuple[Floats, Floats]:
    """Return the shares of each class against its opposite, for all classes side by side.

    The arguments are those of `_estimate_single_label`.
    """
    shares = before.copy()
    adjusted = probabilities.copy()
    active = np.arange(len(before))
    for step in range(_MAX_STEPS):
        ratios = shares[active] / before[active]
        opposite_ratios = (1 - shares[active]) / (1 - before[active])
        adjusted[:, active] = _reweight_against_opposite(
            probabilities[:, active], ratios, opposite_ratios
        )
        updated = (
            adjusted[:, active].mean(axis=0) if weights is None else weights @ adjusted[:, active]
        )
        if trust is not None:
            updated = before[active] + trust[active] * (updated - before[active])
        has_converged = np.abs(updated - shares[active]) < tolerance
        shares[active] = updated
        if step + 1 >= _MIN_STEPS:
            active = active[~has_converged]
        if not len(active):
            break
    return shares, adjusted
