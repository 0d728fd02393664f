"""Which words made this label: exact for every classifier whose scores are sums over terms."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats32, Sparse
from wordclass.corpus import Label
from wordclass.labels import Codeframe
from wordclass.text.analyzer import Analyze, Analyzer, Token


class WordShare(NamedTuple):
    """What one word of a text adds to a score; its place is None where it is not known."""

    word: str
    start: int | None
    end: int | None
    contribution: float


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
    terms
        The distinct terms of the text that the classifier knows.
    contributions
        (t, m) what each term adds.
    intercept
        (m,) what a text without any term scores.
    scores
        (m,) of the text.
    analyze
        What cut the text into terms.
    """

    text: str
    codeframe: Codeframe
    predicted: tuple[Label, ...]
    terms: list[str]
    contributions: Floats32
    intercept: Floats32
    scores: Floats32
    analyze: Analyze

    @property
    def labels(self) -> tuple[Label, ...]:
        """The predicted labels; where there are none, the class with the highest score."""
        return self.predicted or (self.codeframe.classes[int(self.scores.argmax())],)

    def top(self, label: Label, n: int | None = 10) -> list[tuple[str, float]]:
        """Return the terms that moved the score of a class most, up or down; None: all of them.

        Sorted by the absolute value of the contribution, ties by term.
        """
        added = self.contributions[:, self.codeframe.column(label)]
        order = sorted(range(len(self.terms)), key=lambda t: (-abs(added[t]), self.terms[t]))
        chosen = order if n is None else order[: max(n, 0)]
        return [(self.terms[t], float(added[t])) for t in chosen]

    def per_word(self, label: Label) -> list[WordShare]:
        """Return what each word of the text adds to the score of a class, in the text's order.

        What a term adds is shared evenly by its occurrences, and what one of several words adds by
        its words; so the shares sum to what the terms add. A masked number stands where the number
        does. Where an analyzer of the user's own cut the text, places are not known, and the terms
        themselves are returned.
        """
        column = self.codeframe.column(label)
        if not isinstance(self.analyze, Analyzer):
            return [WordShare(term, None, None, added) for term, added in self.top(label, None)]
        added = self._shares @ self.contributions[:, column].astype(np.float64)
        return [
            WordShare(self.text[token.start : token.end], token.start, token.end, float(share))
            for token, share in zip(self._tokens, added, strict=True)
        ]

    @cached_property
    def _tokens(self) -> list[Token]:
        return self.analyze.tokens(self.text) if isinstance(self.analyze, Analyzer) else []

    @property
    def _shares(self) -> Sparse:
        """(words, t) how much of each term belongs to each word; columns sum to 1."""
        tokens = [each.token for each in self._tokens]
        row_of = {term: t for t, term in enumerate(self.terms)}
        places: dict[int, list[range]] = defaultdict(list)
        if isinstance(self.analyze, Analyzer):
            for term, numbers in self.analyze.terms(tokens):
                if term in row_of:
                    places[row_of[term]].append(numbers)
        found = [
            (number, t, 1 / (len(occurrences) * len(numbers)))
            for t, occurrences in places.items()
            for numbers in occurrences
            for number in numbers
        ]
        words, terms, shares = zip(*found, strict=True) if found else ((), (), ())
        # never dense: a long text has many words, and many terms
        return sparse.csr_matrix((shares, (words, terms)), shape=(len(tokens), len(self.terms)))
