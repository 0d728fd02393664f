"""Prior shift: the shares of classes among documents without labels, and what follows from them.

A model learns how frequent its classes are, and is wrong about it where it is used on documents of
another time or place. Expectation-maximisation finds the shares that make the documents most likely
(Saerens, Latinne and Decaestecker, 2002), from probabilities alone: what a document says of its
class is believed, how frequent the class was in training is not. The probabilities must be
calibrated, and within a class the documents must look as they did in training.
"""

from dataclasses import dataclass

import numpy as np

from wordclass.arrays import Floats, Ints
from wordclass.errors import InputError
from wordclass.options import check_int, check_number

FEWEST = 50  # documents: the shares of fewer are an accident
_TOLERANCE = 1e-4  # mean change of the shares in a step
_FEWEST_STEPS, _MOST_STEPS = 12, 1000
_MOST_CELLS = 1 << 31  # probabilities that all samples of a bootstrap look at together
_ROUNDING = 1e-3
_NO_DIFFERENCE = 1e-6  # between documents, relative to their probabilities
_CLEAR = 0.1  # of all labels are of other classes than in training: a shift that is worth a word


@dataclass(frozen=True, eq=False)
class PriorShift:
    """Shares of classes, and the probabilities of documents that go with them.

    Parameters
    ----------
    trained : array of shape (m,)
        The share of each class in training, above 0.
    shares : array of shape (m,)
        Its share among these documents. In a single-label task they sum to 1.
    probabilities : array of shape (n, m)
        Of the classes of each document, if these are the shares; from the probabilities that the
        shares were estimated from.
    is_single_label : bool
        Whether a document has exactly one label.
    trust : array of shape (m,), optional
        How much of what each step finds is believed, from 0 (the share stays that of training) to
        1; None: all of it.
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
        """Estimate the shares of classes from calibrated probabilities (n, m).

        Parameters
        ----------
        probabilities : array of shape (n, m)
            As a model tells them that was trained with the shares `trained`.
        trained : array of shape (m,)
            The share of each class in training.
        is_single_label : bool, default=True
            Whether the classes share out each document; else each class is a task of its own.
        tolerance : float, default=1e-4
            It ends, after 12 steps or more, where the shares change by less on average.
        pull : float, default=0.0
            How strongly the share of a class is held to that of training where probabilities hardly
            differ from document to document: what each step finds is believed by r / (r + pull), r
            the part of the variance of labels that probabilities explain, in a single-label task of
            all classes together. A class that cannot be told from others would end at 0 or 1 else.

        Raises
        ------
        InputError
            There are fewer than 50 documents, or something is no probability.
        """
        check_number("tolerance", tolerance, above=0.0)
        check_number("pull", pull)
        given, known = _checked(probabilities, trained, is_single_label)
        before = _above_zero(known, tolerance, is_single_label)
        trust = _trust(given, pull, is_single_label) if pull else None
        estimate = _single_label if is_single_label else _multilabel
        return cls(before, *estimate(given, before, None, tolerance, trust), is_single_label, trust)

    def adjust(self, probabilities: Floats) -> Floats:
        """Return probabilities (n, m), as the model tells them, under the shares that were found.

        Where the shares are those of training, they stay what they are.
        """
        given = _checked_probabilities(probabilities, len(self.shares))
        if self.is_single_label:
            return _shared_out(given, self.shares / self.trained)
        own, opposite = self.shares / self.trained, (1 - self.shares) / (1 - self.trained)
        return _against_opposite(given, own, opposite)

    def interval(self, level: float = 0.95, n_samples: int = 200, seed: int = 0) -> Floats:
        """Return the lower and upper end (2, m) of an interval of each share, by a bootstrap.

        Documents are drawn anew, with replacement, and the shares estimated again; of very many
        documents and classes, fewer times than `n_samples`. All that they tell is believed then, so
        that an interval is wide where it is little; it holds the share that was found, too.
        """
        check_int("n_samples", n_samples, 2)
        check_number("level", level, above=0.0, below=1.0)
        check_int("seed", seed, 0)
        n_docs = len(self.probabilities)
        n_fit = _MOST_CELLS // (self.probabilities.size * _FEWEST_STEPS)
        generator = np.random.default_rng(seed)
        # the probabilities under the shares that were found are as good a start as those given
        start = _above_zero(self.shares, _TOLERANCE, self.is_single_label)
        estimate = _single_label if self.is_single_label else _multilabel
        drawn = []
        for _ in range(int(np.clip(n_fit, 20, n_samples))):
            weights = generator.multinomial(n_docs, np.full(n_docs, 1 / n_docs)) / n_docs
            drawn.append(estimate(self.probabilities, start, weights, _TOLERANCE, None)[0])
        low, high = np.quantile(np.array(drawn), ((1 - level) / 2, (1 + level) / 2), axis=0)
        tells_nothing = False if self.trust is None else self.trust == 0
        low = np.where(tells_nothing, 0.0, np.minimum(low, self.shares))
        high = np.where(tells_nothing, 1.0, np.maximum(high, self.shares))
        return np.stack([low, high])


def clear_shift(trained: Floats, counts: Ints, n_docs: int) -> Ints:
    """Return the classes whose shares differ most from training, where shares clearly do; or none.

    They do where at least a tenth of all labels would have to be of other classes to have the
    shares of training, and that is more than twice what an accident of so few documents makes.

    Parameters
    ----------
    trained : array of shape (m,)
        The share of each class in training.
    counts : array of shape (m,)
        How many of the documents have each class.
    n_docs : int

    Examples
    --------
    >>> clear_shift(np.array([0.5, 0.3, 0.2]), np.array([200, 300, 500]), 1000)
    array([0, 2, 1])
    >>> clear_shift(np.array([0.5, 0.3, 0.2]), np.array([480, 310, 210]), 1000)
    array([], dtype=int64)
    """
    changes = np.abs(counts / n_docs - trained)
    total = trained.sum() + counts.sum() / n_docs
    by_accident = np.sqrt(2 * trained * (1 - trained) / (np.pi * n_docs)).sum()
    if changes.sum() <= max(_CLEAR * total, 2 * by_accident):
        return np.zeros(0, np.int64)
    return np.argsort(-changes, kind="stable")


def _checked(
    probabilities: Floats, trained: Floats, is_single_label: bool
) -> tuple[Floats, Floats]:
    try:
        before = np.asarray(trained, np.float64)
    except (TypeError, ValueError):
        raise InputError("trained must be numbers, one share per class") from None
    if before.ndim != 1 or not before.size:
        raise InputError(f"trained has shape {before.shape}; expected one share per class")
    given = _checked_probabilities(probabilities, len(before))
    if len(given) < FEWEST:
        raise InputError(
            f"{len(given)} documents are too few to tell the shares of classes; {FEWEST} or more"
        )
    if not (np.isfinite(before).all() and (before >= 0).all() and (before <= 1).all()):
        raise InputError("trained must be between 0 and 1")
    sums = np.append(given.sum(axis=1), before.sum())
    if is_single_label and np.abs(sums - 1).max() > _ROUNDING:
        told = "probabilities of a document, and trained shares, must sum to 1"
        raise InputError(f"{told} in a single-label task")
    return given, before


def _checked_probabilities(given: object, n_classes: int) -> Floats:
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise InputError("probabilities must be numbers, a row per document") from None
    if values.ndim != 2 or values.shape[1] != n_classes:
        told = f"probabilities of shape {values.shape} do not go with {n_classes} shares of classes"
        raise InputError(told)
    if not (np.isfinite(values).all() and (values >= 0).all() and (values <= 1).all()):
        raise InputError("probabilities must be between 0 and 1")
    return values


def _above_zero(before: Floats, tolerance: float, is_single_label: bool) -> Floats:
    """Return shares that can be divided by: of classes that no document, or each one, has."""
    if is_single_label:
        raised = before + tolerance if (before == 0).any() else before
        return np.asarray(raised / raised.sum())
    is_inside = (before > 0) & (before < 1)
    return np.where(is_inside, before, (before + tolerance) / (1 + 2 * tolerance))


def _trust(given: Floats, pull: float, is_single_label: bool) -> Floats:
    """Return r / (r + pull) of each class (m,), r as in `PriorShift.of`."""
    means, variances = given.mean(axis=0), given.var(axis=0)
    most = means * (1 - means)  # the variance of labels, were each document's known
    variances[np.ptp(given, axis=0) <= _NO_DIFFERENCE * means] = 0.0
    if is_single_label:
        variances, most = np.full_like(most, variances.sum()), np.full_like(most, most.sum())
    explained = np.divide(variances, most, out=np.zeros_like(most), where=most > 0)
    return np.asarray(explained / (explained + pull))


def _shared_out(given: Floats, ratios: Floats) -> Floats:
    """Return probabilities (n, m) times ratios (m,), so that those of a document sum to 1."""
    made = given * ratios
    totals = made.sum(axis=1, keepdims=True)
    # of classes whose share has become 0 there is nothing to say
    return np.asarray(np.divide(made, totals, out=given.copy(), where=totals > 0))


def _against_opposite(given: Floats, own: Floats, opposite: Floats) -> Floats:
    """Do the same for each class and its opposite, each with ratios (m,) of their own."""
    made = given * own
    totals = made + (1 - given) * opposite
    return np.divide(made, totals, out=given.copy(), where=totals > 0)


def _single_label(
    given: Floats, before: Floats, weights: Floats | None, tolerance: float, trust: Floats | None
) -> tuple[Floats, Floats]:
    """Return shares (m,) and probabilities (n, m); `weights` (n,) of documents sum to 1.

    What a step finds is believed by `trust` (m,), else the shares `before` (m,) are.
    """
    shares, last = before, np.full_like(before, np.inf)
    for step in range(_MOST_STEPS):
        made = _shared_out(given, shares / before)
        shares = made.mean(axis=0) if weights is None else weights @ made
        if trust is not None:
            shares = before + trust * (shares - before)  # all are trusted the same
        if step + 1 >= _FEWEST_STEPS and np.abs(shares - last).mean() < tolerance:
            break
        last = shares
    return shares, made


def _multilabel(
    given: Floats, before: Floats, weights: Floats | None, tolerance: float, trust: Floats | None
) -> tuple[Floats, Floats]:
    """Do the same for each class and its opposite, all classes side by side."""
    shares, made = before.copy(), given.copy()
    going = np.arange(len(before))
    for step in range(_MOST_STEPS):
        own, opposite = shares[going] / before[going], (1 - shares[going]) / (1 - before[going])
        made[:, going] = _against_opposite(given[:, going], own, opposite)
        found = made[:, going].mean(axis=0) if weights is None else weights @ made[:, going]
        if trust is not None:
            found = before[going] + trust[going] * (found - before[going])
        is_over = (np.abs(found - shares[going]) < tolerance) & (step + 1 >= _FEWEST_STEPS)
        shares[going] = found
        going = going[~is_over]
        if not len(going):
            break
    return shares, made
