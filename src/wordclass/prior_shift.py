"""Prior shift: the shares of classes among documents without labels, and what follows from them.

A model learns how frequent its classes are, and is wrong about it where it is used on documents of
another time or place. Expectation-maximisation finds the shares that make the documents most likely
(Saerens, Latinne and Decaestecker, 2002), from probabilities alone: what a document says of its
class is believed, how frequent the class was in training is not. The probabilities must be
calibrated, and within a class the documents must look as they did in training.
"""

from dataclasses import dataclass

import numpy as np

from wordclass.arrays import Flags, Floats
from wordclass.checks import check_int, check_number
from wordclass.errors import InputError

FEWEST = 50  # documents: the shares of fewer are an accident
_TOLERANCE = 1e-4  # mean change of the shares in a step
_FEWEST_STEPS, _MOST_STEPS = 12, 1000
_MOST_CELLS = 1 << 31  # probabilities that all samples of a bootstrap look at together


@dataclass(frozen=True, eq=False)
class PriorShift:
    """Shares of classes, and the probabilities of documents that go with them.

    Parameters
    ----------
    trained : array of shape (m,)
        The share of each class in training.
    shares : array of shape (m,)
        Its share among these documents. In a single-label task they sum to 1.
    probabilities : array of shape (n, m)
        Of the classes of each document, if these are the shares.
    is_single_label : bool
        Whether a document has exactly one label.
    """

    trained: Floats
    shares: Floats
    probabilities: Floats
    is_single_label: bool

    @classmethod
    def of(
        cls,
        probabilities: Floats,
        trained: Floats,
        *,
        is_single_label: bool = True,
        tolerance: float = _TOLERANCE,
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

        Raises
        ------
        InputError
            There are fewer than 50 documents, or something is no probability.
        """
        given, before = _checked(probabilities, trained)
        check_number("tolerance", tolerance, above=0.0)
        if is_single_label:
            shares, made = _single_label(given, before, None, tolerance)
        else:
            shares, made = _multilabel(given, before, None, tolerance)
        return cls(before, shares, made, is_single_label)

    def decisions(self, thresholds: Floats | None = None) -> Flags:
        """Return which classes (n, m) are given: the most probable one, or all above thresholds.

        Parameters
        ----------
        thresholds : array of shape (m,), optional
            Of probabilities; for a multilabel task, where .5 is the default.
        """
        if not self.is_single_label:
            return np.asarray(self.probabilities > (0.5 if thresholds is None else thresholds))
        given = np.zeros(self.probabilities.shape, np.bool_)
        given[np.arange(len(given)), self.probabilities.argmax(axis=1)] = True
        return given

    def interval(self, level: float = 0.95, n_samples: int = 200, seed: int = 0) -> Floats:
        """Return the lower and upper end (2, m) of an interval of each share, by a bootstrap.

        Documents are drawn anew, with replacement, and the shares estimated again; of very many
        documents and classes, fewer times than `n_samples`.
        """
        check_int("n_samples", n_samples, 2)
        check_number("level", level, above=0.0)
        n_docs = len(self.probabilities)
        n_fit = _MOST_CELLS // (self.probabilities.size * _FEWEST_STEPS)
        generator = np.random.default_rng(seed)
        # the probabilities under the shares that were found are as good a start as those given
        estimate = _single_label if self.is_single_label else _multilabel
        drawn = [
            estimate(
                self.probabilities,
                self.shares,
                generator.multinomial(n_docs, np.full(n_docs, 1 / n_docs)) / n_docs,
                _TOLERANCE,
            )[0]
            for _ in range(int(np.clip(n_fit, 20, n_samples)))
        ]
        ends = (1 - level) / 2, (1 + level) / 2
        return np.asarray(np.quantile(np.array(drawn), ends, axis=0))


def _checked(probabilities: Floats, trained: Floats) -> tuple[Floats, Floats]:
    given, before = np.asarray(probabilities, np.float64), np.asarray(trained, np.float64)
    if given.ndim != 2 or before.shape != given.shape[1:]:
        raise InputError(
            f"probabilities of shape {given.shape} do not go with {before.shape} shares of classes"
        )
    if len(given) < FEWEST:
        raise InputError(
            f"{len(given)} documents are too few to tell the shares of classes; {FEWEST} or more"
        )
    for name, values in (("probabilities", given), ("trained", before)):
        if not (np.isfinite(values).all() and (values >= 0).all() and (values <= 1).all()):
            raise InputError(f"{name} must be between 0 and 1")
    return given, before


def _single_label(
    given: Floats, before: Floats, weights: Floats | None, tolerance: float
) -> tuple[Floats, Floats]:
    """Return shares (m,) and probabilities (n, m); `weights` (n,) of documents sum to 1."""
    if (before == 0).any():
        before = before + tolerance
    before = before / before.sum()
    shares, last = before, np.full_like(before, np.inf)
    for step in range(_MOST_STEPS):
        made = given * (shares / before)
        # of classes whose share has become 0 there is nothing to say
        totals = made.sum(axis=1, keepdims=True)
        made = np.divide(made, totals, out=given.copy(), where=totals > 0)
        shares = made.mean(axis=0) if weights is None else weights @ made
        if step + 1 >= _FEWEST_STEPS and np.abs(shares - last).mean() < tolerance:
            break
        last = shares
    return shares, made


def _multilabel(
    given: Floats, before: Floats, weights: Floats | None, tolerance: float
) -> tuple[Floats, Floats]:
    """Do the same for each class and its opposite, all classes side by side."""
    is_inside = (before > 0) & (before < 1)
    before = np.where(is_inside, before, (before + tolerance) / (1 + 2 * tolerance))
    shares, made = before.copy(), given.copy()
    going = np.arange(len(before))
    for step in range(_MOST_STEPS):
        own, opposite = shares[going] / before[going], (1 - shares[going]) / (1 - before[going])
        positive = given[:, going] * own
        total = positive + (1 - given[:, going]) * opposite
        made[:, going] = np.divide(positive, total, out=given[:, going].copy(), where=total > 0)
        found = made[:, going].mean(axis=0) if weights is None else weights @ made[:, going]
        is_over = (np.abs(found - shares[going]) < tolerance) & (step + 1 >= _FEWEST_STEPS)
        shares[going] = found
        going = going[~is_over]
        if not len(going):
            break
    return shares, made
