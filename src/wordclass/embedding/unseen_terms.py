"""Word-class vectors for terms that training never saw, predicted from their pretrained vectors."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from wordclass.arrays import Floats32, Ints, first_not_finite
from wordclass.corpus import Label
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.shared_terms import ChosenRows, HeldOutQuality, SharedTerms, predictions
from wordclass.errors import InputError
from wordclass.labels import unknown_name
from wordclass.word_vectors import WordVectors, list_terms


@dataclass(frozen=True, eq=False, repr=False)
class UnseenTerms:
    """Terms outside the vocabulary, and the word-class vectors they are predicted to have.

    Made by `predict`, which learns how the two kinds of vector go together from the terms that have
    both (the paper's "Can we Learn WCEs for Out-of-Vocabulary Terms?").

    Parameters
    ----------
    terms
        In the order of the rows.
    vectors
        Float32 of shape (k, r), read-only.
    dimension_names
        The columns of `vectors`; None where they are projected.
    n_shared
        How many terms were learned from.

    Examples
    --------
    >>> texts = ["moon orbit"] * 5 + ["tax budget"] * 5
    >>> wce = WordClassEmbeddings().fit(texts, ["space"] * 5 + ["money"] * 5)
    >>> terms = ["moon", "orbit", "tax", "budget", "lunar", "fiscal"]
    >>> U = WordVectors.of(terms, [[5, 1], [4, 2], [1, 5], [2, 4], [5, 2], [1, 4]])
    >>> [(term, name) for term, name, score in UnseenTerms.predict(U, wce).report()]
    [('lunar', 'space'), ('fiscal', 'money')]
    """

    terms: Sequence[str]
    vectors: Floats32
    dimension_names: tuple[Label, ...] | None
    n_shared: int
    _shared: SharedTerms
    _pretrained: ChosenRows
    _class_names: list[Label]

    def __post_init__(self) -> None:
        self.vectors.flags.writeable = False

    @classmethod
    def predict(
        cls,
        U: WordVectors,
        wce: WordClassEmbeddings,
        regressor: Any = "ridge",  # noqa: ANN401 - a name, or any object with the two methods
        *,
        terms: Iterable[str] | None = None,
        seed: int = 0,
    ) -> Self:
        """Predict word-class vectors for terms that have a pretrained vector only.

        Parameters
        ----------
        U
            Pretrained vectors.
        wce
            Fitted word-class embeddings.
        regressor
            A file name in `regressors/`, or an object with `fit(U, S)` and `predict(U)`, which is
            copied, not changed.
        terms
            For which of them; None: for all terms of U outside the vocabulary. Of those given,
            the ones in the vocabulary and those without a pretrained vector are left out; a vector
            made of pieces of words will do.
        seed
            Of the choice of terms kept aside, and of a regressor that is named.

        Raises
        ------
        InputError
            U and the embeddings share fewer than 2 terms; or a vector holds a NaN or an infinity.
        """
        _check(U, wce, seed)
        shared = SharedTerms.of(U, wce, regressor, seed)
        chosen, rows = _unseen(U, wce, terms)
        vectors = np.empty((len(rows), shared.vectors.shape[1]), np.float32)
        model = shared.learn(shared.vectors)
        for place, made in predictions(model, rows, vectors.shape[1]):
            vectors[place] = made
        names = None if shared.is_projected else tuple(wce.columns_)
        return cls(chosen, vectors, names, shared.n_terms, shared, rows, list(wce.classes_))

    @cached_property
    def quality(self) -> HeldOutQuality | None:
        """How well a tenth of the shared terms is predicted by what was learned from the others.

        Measured when it is first asked for; `vectors` come from a regressor that learned from all
        shared terms. None where these are only two.
        """
        return self._shared.quality()

    def report(self, n: int = 20, name: Label | None = None) -> list[tuple[str, Label, float]]:
        """Return the terms that are predicted to speak most for a class, with class and score.

        Best first; each term once, with the class it speaks for most. Where the vectors are
        projected, the scores are predictions of what they were before.

        Parameters
        ----------
        n
            How many terms; fewer come back where there are fewer.
        name
            A class: then the terms that speak most for this one.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise InputError(f"n is {n!r}; expected a whole number, 0 or more")
        if name is not None and name not in self._class_names:
            raise InputError(unknown_name("class", name, self._class_names))
        columns, scores = self._class_scores if name is None else self._scores_of(name)
        best = np.argsort(-scores, kind="stable")[:n]
        names = self._class_names
        return [(self.terms[k], names[columns[k]], float(scores[k])) for k in best.tolist()]

    @cached_property
    def _class_scores(self) -> tuple[Ints, Floats32]:
        """The class that each term speaks for most, as a column, and the score."""
        columns, scores = np.empty(len(self), np.int64), np.empty(len(self), np.float32)
        for place, block in self._class_blocks():
            columns[place] = block.argmax(axis=1)
            scores[place] = block.max(axis=1)
        return columns, scores

    def _scores_of(self, name: Label) -> tuple[Ints, Floats32]:
        """Return the column of one class a term, and the scores for it."""
        column = self._class_names.index(name)
        scores = np.empty(len(self), np.float32)
        for place, block in self._class_blocks():
            scores[place] = block[:, column]
        return np.full(len(self), column), scores

    def _class_blocks(self) -> Iterator[tuple[slice, Floats32]]:
        """Give predicted scores (block, m) of classes; those of all terms may be too many."""
        if self._shared.is_projected:
            n_columns = self._shared.class_vectors.shape[1]
            scored = predictions(self._class_model, self._pretrained, n_columns)
        else:
            scored = ChosenRows(self.vectors, np.arange(len(self))).blocks()
        return ((place, block[:, : len(self._class_names)]) for place, block in scored)

    @cached_property
    def _class_model(self) -> Any:  # noqa: ANN401
        """What predicts vectors as they were before projection."""
        return self._shared.learn(self._shared.class_vectors)

    def to_word_vectors(self) -> WordVectors:
        """Return the predictions as plain word vectors, with the names of their columns."""
        return WordVectors.of(self.terms, self.vectors, self.dimension_names)

    def __len__(self) -> int:
        return len(self.terms)

    def __repr__(self) -> str:
        return f"<UnseenTerms: {len(self)}, predicted from {self.n_shared} shared terms>"


def _check(U: object, wce: object, seed: object) -> None:
    if not isinstance(U, WordVectors):
        raise InputError(f"U is a {type(U).__name__}; expected WordVectors")
    if not isinstance(wce, WordClassEmbeddings):
        raise InputError(f"wce is a {type(wce).__name__}; expected WordClassEmbeddings")
    check_is_fitted(wce)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed is {seed!r}; expected a whole number, 0 or more")
    if (bad := first_not_finite(U.matrix)) is not None:
        raise InputError(f"the vector of {U.terms[bad]!r} holds a NaN or an infinity")


def _unseen(
    U: WordVectors, wce: WordClassEmbeddings, terms: Iterable[str] | None
) -> tuple[list[str], ChosenRows]:
    """Return the terms to predict for, and their pretrained vectors."""
    vocabulary = wce.learned_.vocabulary.index
    if terms is None:
        places = [row for row, term in enumerate(U.terms) if term not in vocabulary]
        return [U.terms[row] for row in places], ChosenRows(U.matrix, np.asarray(places, np.int64))
    found = {term: U.get(term) for term in list_terms(terms) if term not in vocabulary}
    known = {term: vector for term, vector in found.items() if vector is not None}
    matrix = np.array([*known.values()], np.float32).reshape(-1, U.n_dims)
    return list(known), ChosenRows(matrix, np.arange(len(known)))
