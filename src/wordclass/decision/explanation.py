"""Which words made this label: exact for every classifier whose scores are sums over terms."""

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from wordclass import progress
from wordclass.arrays import Floats32, Ints, Sparse
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import Codeframe
from wordclass.text.analyzer import Analyze, Analyzer, CharacterAnalyzer, Token, text_between_tokens

PathTo = Callable[[int], list[tuple[str, float]]]  # names and probabilities, to a class's column
Columns = Sequence[int] | slice

_ACCOUNT = ("score", "intercept", "sum")
ENCODER = "(encoder)"  # stands for what an encoder reads in the whole text
_NGRAMS_PER_REPORT = 1 << 14
_EXPLAINING = "explaining characters"


class WordShare(NamedTuple):
    """What one word of a text adds to a score; its place is None where it is not known."""

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
    terms
        The distinct terms of the text that the classifier knows.
    intercept
        (m,) the scores of a text without any term.
    columns
        Returns the table (t, k) of the terms and the given columns.
    """

    terms: list[str]
    intercept: Floats32
    columns: Callable[[Columns], Floats32]

    @classmethod
    def of_table(cls, terms: list[str], table: Floats32, intercept: Floats32) -> "Contributions":
        """Return contributions whose table (t, m) is small, and computed already."""
        return cls(terms, intercept, lambda columns: table[:, columns])

    def table(self) -> Floats32:
        """Return the contribution (t, m) of each term to the score of each class."""
        return self.columns(slice(None))


@dataclass(frozen=True, eq=False)
class Explanation:
    """What each term of a text adds to the score of each class.

    The contributions of the terms and the intercept sum to the scores, but for rounding.

    Parameters
    ----------
    text
        The text.
    codeframe
        The classes: the columns of all arrays.
    predicted
        The labels that the text was given; in a multilabel task maybe none.
    added
        What the terms of the text add to the scores.
    scores
        (m,) of the text.
    analyze
        What cut the text into terms.
    path_to
        What tells the path to a class, where the classifier has a tree of them.
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
        """The distinct terms of the text that the classifier knows."""
        return self.added.terms

    @property
    def intercept(self) -> Floats32:
        """The scores (m,) of a text without any term."""
        return self.added.intercept

    @cached_property
    def contributions(self) -> Floats32:
        """The contribution (t, m) of each term to the score of each class."""
        return self.added.table()

    def column(self, number: int) -> Floats32:
        """Return the contributions (t,) of all terms to the score of one class."""
        return self.added.columns([number])[:, 0]

    @property
    def labels(self) -> tuple[Label, ...]:
        """The predicted labels; where there are none, the class with the highest score."""
        return self.predicted or (self.codeframe.classes[int(self.scores.argmax())],)

    def top(self, label: Label, n: int | None = 10) -> list[tuple[str, float]]:
        """Return the terms that moved the score of a class most, up or down; None: all of them.

        Sorted by the absolute value of the contribution, ties by term.
        """
        added = self.column(self.codeframe.column(label))
        order = sorted(range(len(self.terms)), key=lambda t: (-abs(added[t]), self.terms[t]))
        chosen = order if n is None else order[: max(n, 0)]
        return [(self.terms[t], float(added[t])) for t in chosen]

    def account(self, label: Label) -> dict[str, float]:
        """Return the score of a class: the intercept, and the sum of what all terms add."""
        j = self.codeframe.column(label)
        values = (self.scores[j], self.intercept[j], self.column(j).sum())
        return {name: round(float(value), 6) for name, value in zip(_ACCOUNT, values, strict=True)}

    def path(self, label: Label) -> list[tuple[str, float]]:
        """Return the way to a class in a tree of classes: each step, and how probable it is.

        The last step is the class itself. Without a tree there is no step.
        """
        return [] if self.path_to is None else self.path_to(self.codeframe.column(label))

    def tipping(self, given: Collection[str], true: Collection[str], n: int = 10) -> list[str]:
        """Return the terms that did most for the classes that were given, and against true ones."""
        names = [*map(str, self.codeframe.classes)]
        signs = np.array([(name in given) - (name in true) for name in names], np.float32)
        (chosen,) = np.nonzero(signs)
        added = self.added.columns(chosen.tolist()) @ signs[chosen]
        return [self.terms[t] for t in np.argsort(-added, kind="stable")[:n] if added[t] > 0]

    def per_word(self, label: Label) -> list[WordShare]:
        """Return what each word of the text adds to the score of a class, in the text's order.

        What a term adds is shared evenly by its occurrences, and what one of several words adds by
        its words; so the shares sum to what the terms add. A masked number stands where the number
        does; what stands between words is listed where it adds something. Where the terms are
        n-grams of characters, words are what white space separates. What an encoder adds has no
        place, and comes last. Where an analyzer of the user's own cut the text, places are not
        known, and the terms themselves are returned.
        """
        column = self.codeframe.column(label)
        added = dict(zip(self.terms, self.column(column).tolist(), strict=True))
        rest = [WordShare(ENCODER, None, None, added[ENCODER])] if ENCODER in added else []
        if isinstance(self.analyze, CharacterAnalyzer):
            return [*_shares_by_characters(self.text, self.analyze, added), *rest]
        if not isinstance(self.analyze, Analyzer):
            return [WordShare(term, None, None, share) for term, share in self.top(label, None)]
        tokens = self.analyze.tokens(self.text)
        between = [each for each in text_between_tokens(self.text, tokens) if each.token in added]
        cut = self.analyze.terms([each.token for each in tokens])
        occurrences = [(term, places) for term, places in cut if term in added]
        whole = {term for term, _ in occurrences}
        # words that are no term by themselves may add something by their characters
        occurrences += [
            (each.token, range(k, k + 1))
            for k, each in enumerate([*tokens, *between])
            if each.token in added and (k >= len(tokens) or each.token not in whole)
        ]
        n_occurrences = Counter(term for term, _ in occurrences)
        pieces, shares = [*tokens, *between], np.zeros(len(tokens) + len(between))
        for term, places in occurrences:
            share = added[term] / (n_occurrences[term] * len(places))
            shares[places.start : places.stop] += share
        found = [
            WordShare(self.text[piece.start : piece.end], piece.start, piece.end, share)
            for piece, share in zip(pieces, shares.tolist(), strict=True)
        ]
        return [*sorted(found, key=lambda each: (each.start, each.end)), *rest]


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
    """Return the words that n-grams of characters stand in, and the n-grams' shares (w, g) of them.

    What an n-gram adds is shared evenly by its occurrences, and by the characters of each. A word
    has the shares of its characters, so each column sums to 1. What stands between words counts as
    a word.

    Parameters
    ----------
    text : str
    analyze : callable
        Cuts the text into words. If it is user-defined, words are what white space separates.
    ngrams : CharacterAnalyzer
        Cuts the text into n-grams of characters.
    known : sequence of str
        The g distinct n-grams of the text that the model knows.
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
    """The stretches of a text in which known n-grams of characters stand, one row per occurrence.

    Parameters
    ----------
    numbers
        The number of the n-gram.
    starts, ends
        The stretch of the text.
    n_known
        The number of known n-grams.
    """

    numbers: Ints
    starts: Ints
    ends: Ints
    n_known: int

    def shares(self, owners: Ints, n_owners: int) -> Sparse:
        """Return the share (owners, n-grams) of each n-gram that each owner of characters has.

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
            places = (holders, self.numbers[reaching])
            total = total + sparse.csr_matrix((fractions[reaching], places), shape=total.shape)
        return sparse.csr_matrix(total)


def _find_ngrams(text: str, ngrams: CharacterAnalyzer, known: Sequence[str]) -> _Occurrences:
    """Return the occurrences of the known n-grams in a text, in time linear in its length."""
    number_of = {ngram: number for number, ngram in enumerate(known)}
    rows = array("q")
    for n_read, (ngram, start, end) in enumerate(ngrams.spans(text)):
        if n_read % _NGRAMS_PER_REPORT == 0:
            progress.report(_EXPLAINING, n_read)
        number = number_of.get(ngram)
        if number is not None:
            rows.extend((number, start, end))
    table = np.frombuffer(rows, np.int64).reshape(-1, 3)
    return _Occurrences(table[:, 0], table[:, 1], table[:, 2], len(number_of))


def _owners(n_characters: int, pieces: Sequence[Token]) -> Ints:
    """Return the piece number of each character of a text, -1 for characters in no piece."""
    owners = np.full(n_characters, -1, np.int64)
    for number in range(len(pieces) - 1, -1, -1):  # where pieces overlap, the first one counts
        _, start, end = pieces[number]
        owners[start:end] = number
    return owners
