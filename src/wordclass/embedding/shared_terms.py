"""What is learned from the terms that have a pretrained vector and a word-class vector."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from wordclass import naming, progress
from wordclass.arrays import Floats, Floats32, Ints, first_not_finite, unit
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import InputError
from wordclass.regressors import regressor as regressor_named
from wordclass.word_vectors import WordVectors

_ASIDE = 0.1  # of the shared terms, to measure with
_BLOCK = 16_384  # rows that are predicted at a time


@dataclass(frozen=True)
class HeldOutQuality:
    """How well word-class vectors were predicted for terms that were kept aside.

    Parameters
    ----------
    r2
        The share of their squared distance from the mean of the other terms that the predictions
        explain: 1 is perfect, 0 is as good as that mean, and there is no lower limit.
    cosine
        The mean cosine of prediction and truth.
    n_terms
        How many terms were kept aside; all other shared terms were learned from.
    """

    r2: float
    cosine: float
    n_terms: int


@dataclass(frozen=True)
class ChosenRows:
    """Rows of a matrix, which are taken out when they are needed."""

    matrix: Floats32
    places: Ints

    def __len__(self) -> int:
        return len(self.places)

    def blocks(self) -> Iterator[tuple[slice, Floats32]]:
        """Give some rows at a time, and where they stand among those chosen."""
        for start in range(0, len(self), _BLOCK):
            place = slice(start, start + _BLOCK)
            yield place, self.matrix[self.places[place]]


@dataclass(frozen=True)
class SharedTerms:
    """The terms that have both kinds of vector, and how to learn from them.

    Parameters
    ----------
    rows
        Their pretrained vectors (n_terms, q).
    places
        Their rows in the vocabulary.
    vectors, class_vectors
        Those of the whole vocabulary.
    regressor, seed
        As in `UnseenTerms.predict`.
    """

    rows: Floats32
    places: Ints
    vectors: Floats32
    class_vectors: Floats32
    regressor: Any
    seed: int

    @classmethod
    def of(cls, U: WordVectors, wce: WordClassEmbeddings, regressor: object, seed: int) -> Self:
        """Find the terms; fewer than two are an error."""
        found = U.rows(wce.terms_)
        # a term whose documents were all removed has zeros, which mean nothing
        places = np.flatnonzero((found >= 0) & wce.learned_.counts.known)
        if len(places) < 2:
            raise InputError(
                f"terms that both the pretrained vectors and the embeddings know: {len(places)}; "
                "expected at least 2: is it another language, or are the terms of the vectors not "
                "in lower case?"
            )
        kept = copy.deepcopy(regressor)
        return cls(U.matrix[found[places]], places, wce.vectors_, wce.class_vectors_, kept, seed)

    @property
    def is_projected(self) -> bool:
        """Whether the columns of `vectors` are no longer those of the classes."""
        return self.vectors is not self.class_vectors

    @property
    def n_terms(self) -> int:
        """How many there are."""
        return len(self.places)

    def learn(self, S: Floats32, part: Ints | None = None) -> Any:  # noqa: ANN401
        """Return a regressor that learned from all these terms, or from a part of them.

        S has a row for every term of the vocabulary.
        """
        chosen = np.arange(self.n_terms) if part is None else part
        model = _made(self.regressor, self.seed)
        model.fit(self.rows[chosen], S[self.places[chosen]])
        return model

    def quality(self) -> HeldOutQuality | None:
        """Keep a tenth aside, learn from the others, and compare; None where there are only two."""
        if self.n_terms < 3:
            return None
        S = self.vectors
        order = np.random.default_rng(self.seed).permutation(self.n_terms)
        aside, rest = np.split(order, [max(1, round(_ASIDE * self.n_terms))])
        model = self.learn(S, rest)
        truth = S[self.places[aside]].astype(np.float64)
        made = np.empty_like(truth)
        for place, block in predictions(model, ChosenRows(self.rows, aside), truth.shape[1]):
            made[place] = block
        mean = S[self.places[rest]].mean(axis=0, dtype=np.float64)
        return _compared(made, truth, mean)


def predictions(
    model: Any,  # noqa: ANN401
    rows: ChosenRows,
    n_columns: int,
) -> Iterator[tuple[slice, Floats32]]:
    """Give predictions for some rows at a time, and refuse what is none."""
    for place, block in rows.blocks():
        made = np.asarray(model.predict(block))
        if made.shape != (len(block), n_columns):
            raise InputError(
                f"the regressor predicted an array of shape {made.shape} for {len(block)} terms; "
                f"expected {(len(block), n_columns)}"
            )
        if first_not_finite(made) is not None:
            raise InputError("the regressor predicted a NaN or an infinity")
        yield place, made
        progress.report("predicting", min(place.stop, len(rows)), len(rows))


def _made(regressor: Any, seed: int) -> Any:  # noqa: ANN401
    """Return a regressor that has learned nothing of ours."""
    if isinstance(regressor, str):
        return regressor_named(regressor, seed=int(seed))
    if not hasattr(regressor, "fit") or not hasattr(regressor, "predict"):
        raise InputError(
            f"regressor is {regressor!r}; expected one of "
            f"{', '.join(naming.names('regressors'))}, or an object with fit and predict"
        )
    return copy.deepcopy(regressor)


def _compared(made: Floats, truth: Floats, mean: Floats) -> HeldOutQuality:
    error, spread = float(((truth - made) ** 2).sum()), float(((truth - mean) ** 2).sum())
    # where there is nothing to explain: as scikit-learn has it
    r2 = 1 - error / spread if spread > 0 else float(error == 0)
    cosine = float((unit(made) * unit(truth)).sum(axis=1).mean())
    return HeldOutQuality(r2, cosine, len(truth))
