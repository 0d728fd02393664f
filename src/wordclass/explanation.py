"""Which words made this label: exact for every classifier whose scores are sums over terms."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wordclass.arrays import Floats32
from wordclass.corpus import Label
from wordclass.labels import Codeframe
from wordclass.text.analyzer import Analyze, Analyzer

_ACCOUNT = ("score", "intercept", "sum")


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

    def account(self, label: Label) -> dict[str, float]:
        """Return the score of a class: the intercept, and the sum of what all terms add."""
        j = self.codeframe.column(label)
        found = self.scores[j], self.intercept[j], self.contributions[:, j].sum()
        return {name: round(float(each), 6) for name, each in zip(_ACCOUNT, found, strict=True)}

    def tipping(self, given: Collection[str], true: Collection[str], n: int = 10) -> list[str]:
        """Return the terms that did most for the classes that were given, and against true ones."""
        names = [*map(str, self.codeframe.classes)]
        signs = np.array([(name in given) - (name in true) for name in names], np.float32)
        added = self.contributions @ signs
        return [self.terms[t] for t in np.argsort(-added, kind="stable")[:n] if added[t] > 0]

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
        tokens = self.analyze.tokens(self.text)
        added = dict(zip(self.terms, self.contributions[:, column].tolist(), strict=True))
        cut = self.analyze.terms([each.token for each in tokens])
        occurrences = [(term, places) for term, places in cut if term in added]
        n_occurrences = Counter(term for term, _ in occurrences)
        shares = np.zeros(len(tokens))
        for term, places in occurrences:
            share = added[term] / (n_occurrences[term] * len(places))
            shares[places.start : places.stop] += share
        return [
            WordShare(self.text[token.start : token.end], token.start, token.end, share)
            for token, share in zip(tokens, shares.tolist(), strict=True)
        ]
