"""Word-class vectors for terms that training never saw, predicted from their pretrained vectors."""

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from wordclass import catalogue, progress
from wordclass.arrays import Floats32, Ints, find_nonfinite_row, normalize_rows
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import describe_unknown_name
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import InputError
from wordclass.options import check_int
from wordclass.vectors.word_vectors import WordVectors, list_terms

_ASIDE = 0.1  # of the shared terms, to measure with
_BLOCK = 16_384  # rows that are predicted at a time


def regressor(name: str, **options: Any) -> Any:  # noqa: ANN401 - whatever the entry makes
    """Make a regressor from its name and options.

    Examples
    --------
    >>> line = regressor("ridge", penalty=1e-9).fit([[0], [1], [2]], [[1], [3], [5]])
    >>> line.predict([[10]]).round(3)
    array([[21.]], dtype=float32)
    """
    return catalogue.entry("regressors", name).make(**options)


@dataclass(frozen=True)
class HeldOutQuality:
    """Quality of predicted word-class vectors, measured on held-out terms.

    Parameters
    ----------
    r2 : float
        The share of their squared distance from the mean of the other terms that the predictions
        explain: 1 is perfect, 0 is as good as that mean, and there is no lower limit.
    cosine : float
        The mean cosine of prediction and truth.
    n_terms : int
        How many terms were kept aside; all other shared terms were learned from.
    """

    r2: float
    cosine: float
    n_terms: int


@dataclass(frozen=True)
class _SharedTerms:
    """The terms that have both a pretrained and a word-class vector, and how to learn from them."""

    rows: Floats32  # (n_shared, q) their pretrained vectors
    places: Ints  # (n_shared,) their rows in the vocabulary
    vectors: Floats32  # (v, r) the word-class vectors of the whole vocabulary
    class_vectors: Floats32  # (v, m) the same before projection
    regressor: Any
    seed: int

    @classmethod
    def of(cls, U: WordVectors, wce: WordClassEmbeddings, regressor: object, seed: int) -> Self:
        """Find the shared terms, or raise an InputError if there are fewer than two."""
        U_rows = U.rows(wce.terms_)
        # a term whose documents were all removed has zeros, which mean nothing
        places = np.flatnonzero((U_rows >= 0) & wce.learned_.counts.known)
        if len(places) < 2:
            raise InputError(
                f"terms that both the pretrained vectors and the embeddings know: {len(places)}; "
                "expected at least 2: is it another language, or are the terms of the vectors not "
                "in lower case?"
            )
        copied = copy.deepcopy(regressor)
        if wce.class_vectors_ is None:
            n_cells = f"{len(wce):,} terms by {len(wce.columns_):,} classes"
            raise InputError(f"the vectors of {n_cells} are not held: too many for unseen terms")
        return cls(U.matrix[U_rows[places]], places, wce.vectors_, wce.class_vectors_, copied, seed)

    def learn(self, S: Floats32, part: Ints | None = None) -> Any:  # noqa: ANN401
        """Return a regressor that learned the rows of S from all these terms, or a part of them."""
        chosen = np.arange(len(self.places)) if part is None else part
        model = self.regressor
        if isinstance(model, str):
            model = regressor(model, seed=int(self.seed))
        elif hasattr(model, "fit") and hasattr(model, "predict"):
            model = copy.deepcopy(model)
        else:
            raise InputError(
                f"regressor is {model!r}; expected one of "
                f"{', '.join(catalogue.names('regressors'))}, or an object with fit and predict"
            )
        model.fit(self.rows[chosen], S[self.places[chosen]])
        return model


def _predictions(
    model: Any,  # noqa: ANN401
    matrix: Floats32,
    rows: Ints,
    n_columns: int,
) -> Iterator[tuple[slice, Floats32]]:
    """Yield predictions for blocks of rows, and raise an InputError if they are invalid."""
    for start in range(0, len(rows), _BLOCK):
        place = slice(start, min(start + _BLOCK, len(rows)))
        block = matrix[rows[place]]
        predicted = np.asarray(model.predict(block))
        if predicted.shape != (len(block), n_columns):
            raise InputError(
                f"the regressor predicted shape {predicted.shape} for {len(block)} terms",
                expected=f"{(len(block), n_columns)}",
            )
        if find_nonfinite_row(predicted) is not None:
            raise InputError("the regressor predicted a NaN or an infinity")
        yield place, predicted
        progress.report("predicting", place.stop, len(rows))


@dataclass(frozen=True, eq=False, repr=False)
class UnseenTerms:
    """Terms outside the vocabulary with predicted word-class vectors.

    Use `UnseenTerms.predict` to create them. It learns to predict word-class vectors from the terms
    that also have pretrained vectors (section "Can we Learn WCEs for Out-of-Vocabulary Terms?" of
    the paper).

    Parameters
    ----------
    terms : list of str
        The terms in the order of the rows.
    vectors : float32 array of shape (k, r)
        The predicted vectors. The array is read-only.
    dimension_names : tuple of str or int, or None
        Names of the columns. None if the vectors are projected.
    n_shared : int
        Number of terms from which the predictor was learned.
    _shared, _matrix, _rows, _class_names : object
        What `quality` and `report` need. They are set by `predict`.

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
    _shared: _SharedTerms
    _matrix: Floats32  # of pretrained vectors
    _rows: Ints  # those of the terms
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
        U : WordVectors
            Pretrained vectors.
        wce : WordClassEmbeddings
            Fitted word-class embeddings.
        regressor : str or object, default="ridge"
            A file name in `regressors/`, or an object with `fit(U, S)` and `predict(U)`, which is
            copied, not changed.
        terms : iterable of str, optional
            Terms to predict, without those that are in the vocabulary or have no pretrained vector.
            A vector from subwords is sufficient. By default, all terms of U outside the vocabulary.
        seed : int, default=0
            Seed of the choice of held-out terms, and of a regressor that is given by name.

        Returns
        -------
        UnseenTerms
            Terms and predicted vectors.

        Raises
        ------
        InputError
            U and the embeddings share fewer than 2 terms, or a vector has NaN or infinity.

        Examples
        --------
        >>> texts = ["moon orbit"] * 5 + ["tax budget"] * 5
        >>> wce = WordClassEmbeddings().fit(texts, ["space"] * 5 + ["money"] * 5)
        >>> terms = ["moon", "orbit", "tax", "budget", "lunar", "fiscal"]
        >>> U = WordVectors.of(terms, [[5, 1], [4, 2], [1, 5], [2, 4], [5, 2], [1, 4]])
        >>> UnseenTerms.predict(U, wce).terms
        ['lunar', 'fiscal']
        """
        if not isinstance(U, WordVectors):
            raise InputError(f"U is a {type(U).__name__}; expected WordVectors")
        if not isinstance(wce, WordClassEmbeddings):
            raise InputError(f"wce is a {type(wce).__name__}; expected WordClassEmbeddings")
        check_is_fitted(wce)
        check_int("seed", seed, 0)
        if (bad_row := find_nonfinite_row(U.matrix)) is not None:
            raise InputError(f"the vector of {U.terms[bad_row]!r} holds a NaN or an infinity")
        shared = _SharedTerms.of(U, wce, regressor, seed)
        chosen, matrix, rows = _unseen(U, wce, terms)
        vectors = np.empty((len(rows), shared.vectors.shape[1]), np.float32)
        model = shared.learn(shared.vectors)
        for place, block in _predictions(model, matrix, rows, vectors.shape[1]):
            vectors[place] = block
        is_projected = shared.vectors is not shared.class_vectors
        names = None if is_projected else tuple(wce.columns_)
        return cls(
            chosen, vectors, names, len(shared.places), shared, matrix, rows, list(wce.classes_)
        )

    @cached_property
    def quality(self) -> HeldOutQuality | None:
        """Quality of predictions for a held-out tenth of the shared terms.

        It is measured on first access. `vectors` are predicted by a regressor that learned from all
        shared terms. None if there are only two of them.
        """
        if self.n_shared < 3:
            return None
        shared = self._shared
        order = np.random.default_rng(shared.seed).permutation(self.n_shared)
        held_out, training = np.split(order, [max(1, round(_ASIDE * self.n_shared))])
        truth = shared.vectors[shared.places[held_out]].astype(np.float64)
        predicted = np.empty_like(truth)
        model = shared.learn(shared.vectors, training)
        for place, block in _predictions(model, shared.rows, held_out, truth.shape[1]):
            predicted[place] = block
        mean = shared.vectors[shared.places[training]].mean(axis=0, dtype=np.float64)
        error = float(((truth - predicted) ** 2).sum())
        spread = float(((truth - mean) ** 2).sum())
        # without variance, the same convention as in scikit-learn
        r2 = 1 - error / spread if spread > 0 else float(error == 0)
        cosine = float((normalize_rows(predicted) * normalize_rows(truth)).sum(axis=1).mean())
        return HeldOutQuality(r2, cosine, len(truth))

    def report(self, n: int = 20, name: Label | None = None) -> list[tuple[str, Label, float]]:
        """Return the terms with the highest predicted scores, best first.

        Each term occurs once, with its highest-scoring class. If the vectors are projected, the
        scores before projection are predicted.

        Parameters
        ----------
        n : int, default=20
            Maximum number of terms.
        name : str or int, optional
            Return the terms of this class only. By default, all classes count.

        Returns
        -------
        list of (str, class, float)
            Terms, classes and scores.

        Raises
        ------
        InputError
            The class is unknown.

        Examples
        --------
        >>> texts = ["moon orbit"] * 5 + ["tax budget"] * 5
        >>> wce = WordClassEmbeddings().fit(texts, ["space"] * 5 + ["money"] * 5)
        >>> terms = ["moon", "orbit", "tax", "budget", "lunar", "fiscal"]
        >>> U = WordVectors.of(terms, [[5, 1], [4, 2], [1, 5], [2, 4], [5, 2], [1, 4]])
        >>> UnseenTerms.predict(U, wce).report(n=1, name="money")[0][:2]
        ('fiscal', 'money')
        """
        check_int("n", n, 0)
        names = self._class_names
        if name is not None and name not in names:
            raise InputError(describe_unknown_name("class", name, names))
        columns = np.empty(len(self), np.int64)
        scores = np.empty(len(self), np.float32)
        for place, block in self._class_scores():
            of_classes = block[:, : len(names)]  # the rest are extra columns of an old file
            columns[place] = of_classes.argmax(axis=1) if name is None else names.index(name)
            scores[place] = of_classes[np.arange(len(block)), columns[place]]
        best = np.argsort(-scores, kind="stable")[:n]
        return [(self.terms[k], names[columns[k]], float(scores[k])) for k in best.tolist()]

    def _class_scores(self) -> Iterator[tuple[slice, Floats32]]:
        """Yield predicted vectors before projection, block by block to save memory."""
        if self._shared.vectors is self._shared.class_vectors:
            return iter([(slice(len(self)), self.vectors)])
        n_columns = self._shared.class_vectors.shape[1]
        return _predictions(self._class_model, self._matrix, self._rows, n_columns)

    @cached_property
    def _class_model(self) -> Any:  # noqa: ANN401
        return self._shared.learn(self._shared.class_vectors)

    def to_word_vectors(self) -> WordVectors:
        """Return the predictions as word vectors.

        Returns
        -------
        WordVectors
            Terms and vectors, with the names of the dimensions.

        Examples
        --------
        >>> texts = ["moon orbit"] * 5 + ["tax budget"] * 5
        >>> wce = WordClassEmbeddings().fit(texts, ["space"] * 5 + ["money"] * 5)
        >>> terms = ["moon", "orbit", "tax", "budget", "lunar", "fiscal"]
        >>> U = WordVectors.of(terms, [[5, 1], [4, 2], [1, 5], [2, 4], [5, 2], [1, 4]])
        >>> UnseenTerms.predict(U, wce).to_word_vectors().dimension_names
        ('money', 'space')
        """
        return WordVectors.of(self.terms, self.vectors, self.dimension_names)

    def __len__(self) -> int:
        return len(self.terms)

    def __repr__(self) -> str:
        return f"<UnseenTerms: {len(self)}, predicted from {self.n_shared} shared terms>"


def _unseen(
    U: WordVectors, wce: WordClassEmbeddings, terms: Iterable[str] | None
) -> tuple[list[str], Floats32, Ints]:
    """Return the terms to predict for, and their pretrained vectors: rows of a matrix."""
    vocabulary = wce.learned_.vocabulary.index
    if terms is None:
        places = [row for row, term in enumerate(U.terms) if term not in vocabulary]
        return [U.terms[row] for row in places], U.matrix, np.asarray(places, np.int64)
    vectors = {term: U.get(term) for term in list_terms(terms) if term not in vocabulary}
    known_vectors = {term: vector for term, vector in vectors.items() if vector is not None}
    matrix = np.array([*known_vectors.values()], np.float32).reshape(-1, U.n_dims)
    return list(known_vectors), matrix, np.arange(len(known_vectors))
