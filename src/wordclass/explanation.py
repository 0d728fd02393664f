"""Which words made this label: exact for every classifier whose scores are sums over terms."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wordclass.arrays import Floats, Floats32
from wordclass.corpus import Label
from wordclass.labels import Codeframe
from wordclass.text.analyzer import Analyze, Analyzer, CharacterAnalyzer, leftovers

PathTo = Callable[[int], list[tuple[str, float]]]  # names and probabilities, to a class's column

_ACCOUNT = ("score", "intercept", "sum")
ENCODER = "(encoder)"  # stands for what an encoder reads in the whole text


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
    path_to
        What tells the path to a class, where the classifier has a tree of them.
    """

    text: str
    codeframe: Codeframe
    predicted: tuple[Label, ...]
    terms: list[str]
    contributions: Floats32
    intercept: Floats32
    scores: Floats32
    analyze: Analyze
    path_to: PathTo | None = None

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

    def path(self, label: Label) -> list[tuple[str, float]]:
        """Return the way to a class in a tree of classes: each step, and how probable it is.

        The last step is the class itself. Without a tree there is no step.
        """
        return [] if self.path_to is None else self.path_to(self.codeframe.column(label))

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
        does; what stands between words is listed where it adds something. Where the terms are
        n-grams of characters, words are what white space separates. What an encoder adds has no
        place, and comes last. Where an analyzer of the user's own cut the text, places are not
        known, and the terms themselves are returned.
        """
        column = self.codeframe.column(label)
        added = dict(zip(self.terms, self.contributions[:, column].tolist(), strict=True))
        rest = [WordShare(ENCODER, None, None, added[ENCODER])] if ENCODER in added else []
        if isinstance(self.analyze, CharacterAnalyzer):
            shares = _by_character(self.text, self.analyze, added)
            pieces = leftovers(self.text, ())
            found = [
                WordShare(*each, float(shares[each.start : each.end].sum())) for each in pieces
            ]
            return [*found, *rest]
        if not isinstance(self.analyze, Analyzer):
            return [WordShare(term, None, None, share) for term, share in self.top(label, None)]
        tokens = self.analyze.tokens(self.text)
        between = [each for each in leftovers(self.text, tokens) if each.token in added]
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


def words_of_characters(
    text: str, analyze: Analyze, ngrams: CharacterAnalyzer, added: Mapping[str, Floats32]
) -> dict[str, Floats32]:
    """Return what the words of a text add by their characters, and what stands between words.

    Parameters
    ----------
    text : str
    analyze : callable
        What cuts it into words. Where it is the user's own, words are what white space separates.
    ngrams : CharacterAnalyzer
        What cuts it into n-grams of characters.
    added : dict of arrays of shape (m,)
        What each n-gram adds. It is shared evenly by its occurrences, and by the characters of
        each; a word has the shares of its characters, so that the words sum to what n-grams add.
    """
    shares = _by_character(text, ngrams, added)
    tokens = analyze.tokens(text) if isinstance(analyze, Analyzer) else []
    words: dict[str, Floats32] = {}
    for token, start, end in (*tokens, *leftovers(text, tokens)):
        share = shares[start:end].sum(axis=0)
        if share.any():
            words[token] = words.get(token, np.float32(0)) + share.astype(np.float32)
    return words


def _by_character(
    text: str, ngrams: CharacterAnalyzer, added: Mapping[str, float | Floats32]
) -> Floats:
    """Return what each character of a text adds (length, or length by m), as n-grams share it."""
    places = [(ngram, start, end) for ngram, start, end in ngrams.places(text) if ngram in added]
    n_occurrences = Counter(ngram for ngram, _, _ in places)
    shares = np.zeros((len(text), *np.shape(next(iter(added.values()), 0.0))))
    for ngram, start, end in places:
        shares[start:end] += added[ngram] / (n_occurrences[ngram] * (end - start))
    return shares
