"""Explanations: how much each term and word of a text adds to the score of a class."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy import sparse

from wordclass import progress
from wordclass.arrays import Floats32, Ints, Sparse
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import Codeframe
from wordclass.text.analyzer import (
    NUMBER_MASK,
    Analyze,
    Analyzer,
    CharacterAnalyzer,
    Token,
    text_between_tokens,
)

PathTo = Callable[[int], list[tuple[str, float]]]  # from a column to names and probabilities
Columns = Sequence[int] | slice

ENCODER = "(encoder)"  # stands for the contribution of an encoder, which reads the whole text
_ACCOUNT = ("score", "intercept", "sum")
_MAX_NUMBERS_LISTED = 3
_NGRAMS_PER_REPORT = 1 << 14
_STEP = "explaining characters"


class WordShare(NamedTuple):
    """The contribution of one word of a text to a score.

    Parameters
    ----------
    word : str
        The word as it is written in the text.
    start, end : int or None
        The position of the word in the text; None if it is unknown.
    contribution : float
        The part of the score that the word adds.
    """

    word: str
    start: int | None
    end: int | None
    contribution: float


@dataclass(frozen=True, eq=False)
class Contributions:
    """Contributions of the terms of a text to scores, computed for the requested columns.

    The table of all terms and all classes may be large: a caller that needs a few classes never
    allocates it.

    Parameters
    ----------
    terms : list of str
        The distinct terms of the text that the classifier knows.
    intercept : array of shape (m,)
        The scores of a text without any term.
    columns : callable
        Function that returns the table (t, k) of the terms and the given columns.
    """

    terms: list[str]
    intercept: Floats32
    columns: Callable[[Columns], Floats32]

    @classmethod
    def of_table(cls, terms: list[str], table: Floats32, intercept: Floats32) -> "Contributions":
        """Return the contributions in a table (t, m) that is small and already computed."""
        return cls(terms, intercept, lambda columns: table[:, columns])

    def table(self) -> Floats32:
        """Return the contribution (t, m) of each term to the score of each class."""
        return self.columns(slice(None))


@dataclass(frozen=True, eq=False)
class Explanation:
    """The contribution of each term of a text to the score of each class.

    Contributions and intercept sum to the scores, up to rounding.

    Parameters
    ----------
    text : str
        The text.
    codeframe : Codeframe
        The classes: the columns of all arrays.
    predicted : tuple of str or int
        The predicted labels, possibly none in a multilabel task.
    added : Contributions
        The contributions of the terms.
    scores : array of shape (m,)
        The scores of the text.
    analyze : callable
        The analyzer that cut the text into terms.
    path_to : callable, optional
        Function that returns the path to a class, for classifiers with a tree of classes.

    See Also
    --------
    Predictions : The result of a prediction.

    Examples
    --------
    >>> import wordclass as wc
    >>> model = wc.classifier("nearest", min_docs=1).fit(["red apple", "blue sky"], ["food", "air"])
    >>> explanation = model.explanation("a red, red sky")
    >>> explanation.labels
    ('food',)
    >>> [term for term, contribution in explanation.top("food")]
    ['red', 'sky']
    """

    text: str
    codeframe: Codeframe
    predicted: tuple[Label, ...]
    added: Contributions
    scores: Floats32
    analyze: Analyze
    path_to: PathTo | None = None

    @property
    def terms(self) -> list[str]:
        """The distinct terms of the text that the classifier knows.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> model.explanation("a red apple").terms
        ['apple']
        """
        return self.added.terms

    @property
    def intercept(self) -> Floats32:
        """The scores (m,) of a text without any term.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> model.explanation("apple").intercept.shape
        (2,)
        """
        return self.added.intercept

    @cached_property
    def contributions(self) -> Floats32:
        """The contribution (t, m) of each term to the score of each class."""
        return self.added.table()

    def column(self, number: int) -> Floats32:
        """Return the contributions (t,) of all terms to the score of one class.

        Parameters
        ----------
        number : int
            The position of the class in the codeframe.

        Returns
        -------
        array of shape (t,)
            The contributions, in the order of `terms`.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> model.explanation("apple sky").column(0).shape
        (2,)
        """
        return self.added.columns([number])[:, 0]

    @property
    def labels(self) -> tuple[Label, ...]:
        """The predicted labels, or the class with the highest score if there are none.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> model.explanation("apple").labels
        ('food',)
        """
        return self.predicted or (self.codeframe.classes[int(self.scores.argmax())],)

    def top(self, label: Label, n: int | None = 10) -> list[tuple[str, float]]:
        """Return the terms that changed the score of a class most, up or down.

        A number that the model counts as "any number" is returned as the text writes it.

        Parameters
        ----------
        label : str or int
            The class.
        n : int or None, default=10
            The number of terms. None returns all terms.

        Returns
        -------
        list of (str, float)
            Terms and contributions, sorted by the absolute value of the contribution, then by term.

        Raises
        ------
        InputError
            If the model does not know the class.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> [term for term, contribution in model.explanation("apple").top("food", n=1)]
        ['apple']
        """
        added = self.column(self.codeframe.column(label))
        order = sorted(range(len(self.terms)), key=lambda t: (-abs(added[t]), self.terms[t]))
        chosen = order if n is None else order[: max(n, 0)]
        return [(self._written(self.terms[t]), float(added[t])) for t in chosen]

    def account(self, label: Label) -> dict[str, float]:
        """Return the summands of the score of a class.

        Parameters
        ----------
        label : str or int
            The class.

        Returns
        -------
        dict
            The "score", the "intercept", and the "sum" of the contributions of all terms.

        Raises
        ------
        InputError
            If the model does not know the class.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> sorted(model.explanation("apple").account("food"))
        ['intercept', 'score', 'sum']
        """
        j = self.codeframe.column(label)
        values = (self.scores[j], self.intercept[j], self.column(j).sum())
        return {name: round(float(value), 6) for name, value in zip(_ACCOUNT, values, strict=True)}

    def path(self, label: Label) -> list[tuple[str, float]]:
        """Return the path to a class in a tree of classes.

        Parameters
        ----------
        label : str or int
            The class.

        Returns
        -------
        list of (str, float)
            The name and probability of each step; the last step is the class itself. Without a
            tree, the list is empty.

        Raises
        ------
        InputError
            If the model does not know the class.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> model.explanation("apple").path("food")
        []
        """
        return [] if self.path_to is None else self.path_to(self.codeframe.column(label))

    def tipping(self, predicted: Collection[str], true: Collection[str], n: int = 10) -> list[str]:
        """Return the terms that contributed most to a wrong prediction.

        Parameters
        ----------
        predicted : collection of str
            The predicted labels.
        true : collection of str
            The true labels.
        n : int, default=10
            The largest number of terms.

        Returns
        -------
        list of str
            The terms that contributed most to wrong labels and against missing ones, best first.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> model.explanation("apple").tipping(["food"], ["air"])
        ['apple']
        """
        names = [*map(str, self.codeframe.classes)]
        signs = np.array([(name in predicted) - (name in true) for name in names], np.float32)
        (chosen,) = np.nonzero(signs)
        added = self.added.columns(chosen.tolist()) @ signs[chosen]
        order = np.argsort(-added, kind="stable")[:n]
        return [self._written(self.terms[t]) for t in order if added[t] > 0]

    def per_word(self, label: Label) -> list[WordShare]:
        """Return the contribution of each word of the text to the score of a class.

        The contribution of a term is divided evenly among its occurrences, and that of several
        words among these words, so the contributions of words sum to those of the terms. Text
        between words is listed if it contributes. If the terms are n-grams of characters, words are
        separated by white space.

        Parameters
        ----------
        label : str or int
            The class.

        Returns
        -------
        list of WordShare
            The words in the order of the text. The contribution of an encoder has no position and
            comes last. For a user-defined analyzer, positions are unknown, and the terms themselves
            are returned, the largest contribution first.

        Raises
        ------
        InputError
            If the model does not know the class.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> [word.word for word in model.explanation("Apple sky!").per_word("food")]
        ['Apple', 'sky']
        """
        column = self.codeframe.column(label)
        added = dict(zip(self.terms, self.column(column).tolist(), strict=True))
        of_encoder = [WordShare(ENCODER, None, None, added[ENCODER])] if ENCODER in added else []
        if isinstance(self.analyze, CharacterAnalyzer):
            return [*_shares_by_characters(self.text, self.analyze, added), *of_encoder]
        if not isinstance(self.analyze, Analyzer):
            return [WordShare(term, None, None, share) for term, share in self.top(label, None)]
        tokens = self.analyze.tokens(self.text)
        between = [
            token for token in text_between_tokens(self.text, tokens) if token.token in added
        ]
        terms = self.analyze.terms([token.token for token in tokens])
        occurrences = [(term, positions) for term, positions in terms if term in added]
        counted = {term for term, _ in occurrences}
        pieces = [*tokens, *between]
        # words that are no terms by themselves may contribute by their characters
        occurrences += [
            (piece.token, range(k, k + 1))
            for k, piece in enumerate(pieces)
            if piece.token in added and (k >= len(tokens) or piece.token not in counted)
        ]
        n_occurrences = Counter(term for term, _ in occurrences)
        shares = np.zeros(len(pieces))
        for term, positions in occurrences:
            share = added[term] / (n_occurrences[term] * len(positions))
            shares[positions.start : positions.stop] += share
        words = [
            WordShare(self.text[piece.start : piece.end], piece.start, piece.end, share)
            for piece, share in zip(pieces, shares.tolist(), strict=True)
        ]
        return [*sorted(words, key=lambda word: (word.start, word.end)), *of_encoder]

    def _written(self, term: str) -> str:
        """Return a term with its numbers as the text writes them."""
        if NUMBER_MASK not in term:
            return term
        written = self._written_numbers.get(term, [])
        listed = ", ".join(written[:_MAX_NUMBERS_LISTED])
        return listed + ", ..." * (len(written) > _MAX_NUMBERS_LISTED) or term

    @cached_property
    def _written_numbers(self) -> dict[str, list[str]]:
        """The distinct forms of each term that contains a masked number."""
        if not isinstance(self.analyze, Analyzer) or not self.analyze.mask_numbers:
            return {}
        tokens = self.analyze.tokens(self.text)
        written = [
            self.text[token.start : token.end] if NUMBER_MASK in token.token else token.token
            for token in tokens
        ]
        names = [token.token for token in tokens]
        forms: dict[str, dict[str, None]] = defaultdict(dict)  # distinct, in the order of the text
        words = ((name, range(k, k + 1)) for k, name in enumerate(names))
        for term, positions in chain(words, self.analyze.terms(names)):
            if NUMBER_MASK in term:
                forms[term][" ".join(written[positions.start : positions.stop])] = None
        return {term: [*distinct] for term, distinct in forms.items()}


def _shares_by_characters(
    text: str, ngrams: CharacterAnalyzer, added: Mapping[str, float]
) -> list[WordShare]:
    """Return the contribution of each word of a text by the n-grams of its characters."""
    pieces = text_between_tokens(text, ())
    occurrences = _find_ngrams(text, ngrams, [*added])
    shares = occurrences.shares(_owners(len(text), pieces), len(pieces))
    by_piece = shares @ np.array([*added.values()])
    return [
        WordShare(*piece, share) for piece, share in zip(pieces, by_piece.tolist(), strict=True)
    ]


def words_of_characters(
    text: str, analyze: Analyze, ngrams: CharacterAnalyzer, known: Sequence[str]
) -> tuple[list[str], Sparse]:
    """Return the words of a text, and the share (w, g) of each n-gram of characters in each word.

    The contribution of an n-gram is divided evenly among its occurrences, and among the characters
    of each. A word has the shares of its characters, so each column sums to 1. Text between words
    counts as a word.

    Parameters
    ----------
    text : str
        The text.
    analyze : callable
        The analyzer that cuts the text into words. If it is user-defined, words are separated by
        white space.
    ngrams : CharacterAnalyzer
        The analyzer that cuts the text into n-grams of characters.
    known : sequence of str
        The g distinct n-grams of the text that the model knows.

    Returns
    -------
    words : list of str
        The w distinct words that contain known n-grams.
    shares : sparse matrix of shape (w, g)
        The share of each n-gram in each word.
    """
    tokens = analyze.tokens(text) if isinstance(analyze, Analyzer) else []
    pieces = [*tokens, *text_between_tokens(text, tokens)]
    numbers: dict[str, int] = {}
    word_of_piece = np.array(
        [numbers.setdefault(piece.token, len(numbers)) for piece in pieces], np.int64
    )
    owners = _owners(len(text), pieces)
    is_owned = owners >= 0
    owners[is_owned] = word_of_piece[owners[is_owned]]
    shares = _find_ngrams(text, ngrams, known).shares(owners, len(numbers))
    is_used = np.diff(shares.indptr) > 0
    words = [word for word, has_share in zip(numbers, is_used, strict=True) if has_share]
    return words, shares[is_used]


@dataclass(frozen=True, eq=False)
class _Occurrences:
    """Occurrences of known n-grams of characters in a text.

    Parameters
    ----------
    numbers : array of shape (n,)
        The number of the n-gram of each occurrence.
    starts, ends : array of shape (n,)
        The range of the text that each occurrence covers.
    n_known : int
        The number of known n-grams.
    """

    numbers: Ints
    starts: Ints
    ends: Ints
    n_known: int

    def shares(self, owners: Ints, n_owners: int) -> Sparse:
        """Return the share (owners, n-grams) of each n-gram in each owner of characters.

        Characters without an owner, such as a lone surrogate inside a word, have no share.
        """
        n_owned_before = np.concatenate([[0], np.cumsum(owners >= 0)])
        n_owned = n_owned_before[self.ends] - n_owned_before[self.starts]
        per_ngram = np.bincount(self.numbers, minlength=self.n_known)
        fractions = 1.0 / (per_ngram[self.numbers] * np.maximum(n_owned, 1))
        sizes = self.ends - self.starts
        total = sparse.csr_matrix((n_owners, self.n_known), dtype=np.float64)
        longest = int(sizes.max(initial=0))
        for offset in range(longest):
            (reaching,) = np.nonzero(sizes > offset)
            holders = owners[self.starts[reaching] + offset]
            reaching = reaching[holders >= 0]
            holders = holders[holders >= 0]
            cells = (holders, self.numbers[reaching])
            total = total + sparse.csr_matrix((fractions[reaching], cells), shape=total.shape)
        return sparse.csr_matrix(total)


def _find_ngrams(text: str, ngrams: CharacterAnalyzer, known: Sequence[str]) -> _Occurrences:
    """Return the occurrences of the known n-grams in a text, in time linear in its length."""
    number_of = {ngram: number for number, ngram in enumerate(known)}
    rows = array("q")
    for n_read, (ngram, start, end) in enumerate(ngrams.spans(text)):
        if n_read % _NGRAMS_PER_REPORT == 0:
            progress.report(_STEP, n_read)
        number = number_of.get(ngram)
        if number is not None:
            rows.extend((number, start, end))
    table = np.frombuffer(rows, np.int64).reshape(-1, 3)
    return _Occurrences(table[:, 0], table[:, 1], table[:, 2], len(number_of))


def _owners(n_characters: int, pieces: Sequence[Token]) -> Ints:
    """Return the number of the piece that each character of a text belongs to, or -1."""
    owners = np.full(n_characters, -1, np.int64)
    for number in range(len(pieces) - 1, -1, -1):  # if pieces overlap, the first one counts
        _, start, end = pieces[number]
        owners[start:end] = number
    return owners
