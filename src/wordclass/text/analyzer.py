"""From a text to its tokens: number mask, case, token pattern, stop words, n-grams."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from wordclass.errors import InputError

Analyze = Callable[[str], Sequence[str]]

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
NUMBER_PATTERN = r"\b[0-9][0-9.,-]*\b"
NUMBER_MASK = "numbermask"
_NUMBER = re.compile(NUMBER_PATTERN)
_LONGEST = 1000  # tokens of an n-gram


class Token(NamedTuple):
    """A token and the stretch of the raw text that it was made of."""

    token: str
    start: int
    end: int


@dataclass(frozen=True)
class Analyzer:
    """Cuts a text into tokens, the way the paper's runs did (method-notes, section 1).

    Numbers are masked in the raw text; then it is lowercased, stripped of accents if wanted, and
    searched for tokens; stop words are dropped; n-grams of the rest are joined with a space.

    Parameters
    ----------
    mask_numbers
        Replace each number by the one word `numbermask`.
    lowercase, token_pattern
        As scikit-learn has them: words of two or more letters, digits or underscores.
    strip_accents
        "unicode" (drop combining marks after decomposition), "ascii" (drop all that is not ASCII
        after it), or None.
    stop_words
        Tokens to drop, as they look after lowercasing.
    ngrams
        Shortest and longest run of tokens that makes a term.
    """

    mask_numbers: bool = True
    lowercase: bool = True
    token_pattern: str = TOKEN_PATTERN
    strip_accents: str | None = None
    stop_words: frozenset[str] = frozenset()
    ngrams: tuple[int, int] = (1, 1)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return _compiled(self.token_pattern)

    def __call__(self, text: str) -> list[str]:
        """Return the terms of a text: all single tokens first, then the pairs, and so on."""
        if self.lowercase:
            text = mask_and_lower(text, self.mask_numbers)
        elif self.mask_numbers:
            text = _NUMBER.sub(NUMBER_MASK, text)
        if self.strip_accents is not None:
            text = _without_accents(text, self.strip_accents)
        tokens = self._pattern.findall(text)
        if self.stop_words:
            tokens = [token for token in tokens if token not in self.stop_words]
        return tokens if self.ngrams == (1, 1) else _ngrams(tokens, *self.ngrams)

    def tokens(self, text: str) -> list[Token]:
        """Return the single tokens of a text, stop words left out, with their places in it.

        The place of a masked number is that of the number.
        """
        changed, places = self._changed(text)
        found: list[Token] = []
        for match in self._pattern.finditer(changed):
            start, end = match.span(self._pattern.groups)
            token = changed[start:end] if start >= 0 else ""
            if token not in self.stop_words:
                covered = places[start:end] or [(len(text), len(text))]
                found.append(Token(token, covered[0][0], covered[-1][1]))
        return found

    def terms(self, tokens: Sequence[str]) -> Iterator[tuple[str, range]]:
        """Give the terms that tokens make, as calling does, with the numbers of their tokens."""
        shortest, longest = self.ngrams
        for size in range(shortest, longest + 1):
            for first in range(len(tokens) - size + 1):
                yield " ".join(tokens[first : first + size]), range(first, first + size)

    def _changed(self, text: str) -> tuple[str, list[tuple[int, int]]]:
        """Return the text that is searched for tokens, and where each of its characters is from.

        What is done to a character does not depend on its neighbors, but for two things that
        change no place: the Greek final sigma, and the order of accents that are dropped anyway.
        """
        places = [(k, k + 1) for k in range(len(text))]
        if self.mask_numbers:
            places, start = [], 0
            for match in _NUMBER.finditer(text):
                places += [(k, k + 1) for k in range(start, match.start())]
                places += [match.span()] * len(NUMBER_MASK)
                start = match.end()
            places += [(k, k + 1) for k in range(start, len(text))]
            text = _NUMBER.sub(NUMBER_MASK, text)
        if self.lowercase:
            places = _repeated(places, [len(char.lower()) for char in text])
            text = text.lower()
        if self.strip_accents is not None:
            how = self.strip_accents
            places = _repeated(places, [len(_without_accents(char, how)) for char in text])
            text = _without_accents(text, how)
        return text, places


def mask_and_lower(text: str, masks: bool) -> str:
    """Make numbers one word, if wanted, and letters lower case."""
    return (_NUMBER.sub(NUMBER_MASK, text) if masks else text).lower()


def choose_analyzer(
    analyzer: Analyze | None,
    *,
    ngrams: tuple[int, int],
    stop_words: str | Collection[str] | None,
    mask_numbers: bool,
    lowercase: bool = True,
    token_pattern: str = TOKEN_PATTERN,
    strip_accents: str | None = None,
) -> Analyze:
    """Return the user's own analyzer, or ours with these options, after checking them."""
    shortest_longest = checked_ngrams(ngrams)
    dropped = _checked_stop_words(stop_words)
    if analyzer is not None:
        if not callable(analyzer):
            raise InputError(f"analyzer is {analyzer!r}; expected a function from str to tokens")
        if dropped or shortest_longest != (1, 1):
            raise InputError(
                "ngrams and stop_words do not apply to an analyzer of your own: it returns the "
                "terms as they are to be counted"
            )
        return analyzer
    for name, flag in (("mask_numbers", mask_numbers), ("lowercase", lowercase)):
        if not isinstance(flag, bool | int | np.bool_):
            raise InputError(f"{name} is {flag!r}; expected True or False")
    if strip_accents not in (None, "unicode", "ascii"):
        raise InputError(f"strip_accents is {strip_accents!r}; expected 'unicode', 'ascii' or None")
    if _compiled(token_pattern).groups > 1:
        raise InputError(f"token_pattern {token_pattern!r} has more than one capturing group")
    return Analyzer(
        bool(mask_numbers), bool(lowercase), token_pattern, strip_accents, dropped, shortest_longest
    )


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        raise InputError(f"token_pattern {pattern!r} is no regular expression: {error}") from None


def _without_accents(text: str, how: str) -> str:
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    if how == "ascii":
        return decomposed.encode("ascii", "ignore").decode("ascii")
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _repeated(places: list[tuple[int, int]], sizes: list[int]) -> list[tuple[int, int]]:
    pairs = zip(places, sizes, strict=True)
    return [place for place, size in pairs for _ in range(size)]


def _ngrams(tokens: list[str], shortest: int, longest: int) -> list[str]:
    terms = tokens[:] if shortest == 1 else []
    for size in range(max(shortest, 2), min(longest, len(tokens)) + 1):
        shifted = (tokens[start:] for start in range(size))
        terms.extend(map(" ".join, zip(*shifted, strict=False)))
    return terms


def checked_ngrams(ngrams: tuple[int, int]) -> tuple[int, int]:
    """Return the shortest and the longest run of tokens that makes a term, or refuse them."""
    try:
        shortest, longest = (int(size) for size in ngrams)
    except (TypeError, ValueError, OverflowError):
        shortest = longest = 0
    if not 1 <= shortest <= longest <= _LONGEST:
        raise InputError(f"ngrams is {ngrams!r}; expected (shortest, longest), such as (1, 2)")
    return shortest, longest


def _checked_stop_words(stop_words: str | Collection[str] | None) -> frozenset[str]:
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str) and stop_words == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)
    if isinstance(stop_words, str) or not isinstance(stop_words, Collection):
        raise InputError(
            f"stop_words is {stop_words!r}; expected 'english', a collection of words, or None"
        )
    words = [*stop_words]
    for word in words:
        if not isinstance(word, str):
            raise InputError(f"stop_words holds {word!r}; expected words of type str")
    return frozenset(words)
