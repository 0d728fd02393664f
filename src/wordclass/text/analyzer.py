"""From a text to its terms: words and their n-grams, or n-grams of characters."""

import operator
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
# U+0000 and lone surrogates, which UTF-8 or our dictionary cannot hold, are white space too
VISIBLE_PATTERN = r"[^\s\0\ud800-\udfff]+"
CHARACTERS = "characters"
_NUMBER = re.compile(NUMBER_PATTERN)
_VISIBLE = re.compile(VISIBLE_PATTERN)
_LONGEST = 1000  # tokens or characters of an n-gram
_MOST_LOOKED_AT = 1000  # texts, and characters of each, to see which script they are in
_LETTER = re.compile(r"\w")
# Thai to Tibetan, Myanmar, Khmer; Japanese; Chinese and Japanese characters; their half-width forms
_WITHOUT_SPACES = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff]"
)


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
        """Return the text that is searched for tokens, and where each of its characters is from."""
        places = [(k, k + 1) for k in range(len(text))]
        if self.mask_numbers:
            places, start = [], 0
            for match in _NUMBER.finditer(text):
                places += [(k, k + 1) for k in range(start, match.start())]
                places += [match.span()] * len(NUMBER_MASK)
                start = match.end()
            places += [(k, k + 1) for k in range(start, len(text))]
            text = _NUMBER.sub(NUMBER_MASK, text)
        return _folded(text, places, self.lowercase, self.strip_accents)


@dataclass(frozen=True)
class CharacterAnalyzer:
    """Cuts a text into n-grams of characters, as scikit-learn's `analyzer="char_wb"` does.

    White space separates words, and each word is padded with one space on either side; n-grams
    never reach from one word into the next. A padded word that is shorter than an n-gram is taken
    as it is, once. Numbers are not masked. U+0000 and lone surrogates count as white space, which
    is the one difference from scikit-learn.

    Parameters
    ----------
    ngrams
        Fewest and most characters of an n-gram.
    lowercase, strip_accents
        As in `Analyzer`.

    Examples
    --------
    >>> CharacterAnalyzer(ngrams=(3, 4))("No 7")
    [' no', 'no ', ' no ', ' 7 ']
    """

    ngrams: tuple[int, int] = (2, 5)
    lowercase: bool = True
    strip_accents: str | None = None

    def __call__(self, text: str) -> list[str]:
        """Return the n-grams of a text, word by word."""
        if self.lowercase:
            text = text.lower()
        if self.strip_accents is not None:
            text = _without_accents(text, self.strip_accents)
        terms = []
        for word in _VISIBLE.findall(text):
            padded = f" {word} "
            terms += [padded[start:end] for start, end in self._stretches(len(padded))]
        return terms

    def places(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Give the n-grams of a text, as calling does, each with the stretch of the raw text.

        Padding is not in the text: " a" covers the "a", and a lone padding space the whole word.
        """
        origins = [(k, k + 1) for k in range(len(text))]
        changed, origins = _folded(text, origins, self.lowercase, self.strip_accents)
        for match in _VISIBLE.finditer(changed):
            padded = f" {match[0]} "
            begin, stop = match.span()
            for start, end in self._stretches(len(padded)):
                first = begin + max(start - 1, 0)
                last = min(begin + end - 1, stop)
                if first >= last:  # a lone padding space
                    first = begin
                    last = stop
                yield padded[start:end], origins[first][0], origins[last - 1][1]

    def _stretches(self, size: int) -> Iterator[tuple[int, int]]:
        """Give start and end of the n-grams of a padded word of so many characters."""
        shortest, longest = self.ngrams
        for n in range(shortest, max(shortest, min(longest, size)) + 1):
            for start in range(max(size - n, 0) + 1):
                yield start, min(start + n, size)


def text_between_tokens(text: str, tokens: Sequence[Token]) -> list[Token]:
    """Return what stands between the tokens of a text, white space aside, as it is there."""
    ends = [0, *(token.end for token in tokens)]
    starts = [*(token.start for token in tokens), len(text)]
    return [
        Token(match[0], *match.span())
        for end, start in zip(ends, starts, strict=True)
        for match in _VISIBLE.finditer(text, end, max(start, end))
    ]


def lacks_spaces(texts: Sequence[str]) -> bool:
    """Whether most letters of texts are of scripts that put no spaces between words.

    At most a thousand texts are looked at, spread over all of them.
    """
    some = texts[:: -(-len(texts) // _MOST_LOOKED_AT) or 1]
    wide = [text[:_MOST_LOOKED_AT] for text in some if not text.isascii()]
    n_letters = sum(len(_LETTER.findall(text)) for text in wide)
    n_without = sum(len(_WITHOUT_SPACES.findall(text)) for text in wide)
    n_ascii = sum(min(len(text), _MOST_LOOKED_AT) for text in some if text.isascii())
    return 2 * n_without > n_letters + n_ascii


def mask_and_lower(text: str, masks: bool) -> str:
    """Make numbers one word, if wanted, and letters lower case."""
    return (_NUMBER.sub(NUMBER_MASK, text) if masks else text).lower()


def choose_analyzer(
    analyzer: Analyze | str | None,
    *,
    ngrams: tuple[int, int],
    stop_words: str | Collection[str] | None,
    mask_numbers: bool,
    lowercase: bool = True,
    token_pattern: str = TOKEN_PATTERN,
    strip_accents: str | None = None,
) -> Analyze:
    """Return the user's own analyzer, or one of ours with these options, after checking them.

    "characters" are n-grams of characters, to which masked numbers, stop words and the token
    pattern do not apply.
    """
    shortest_longest = check_ngrams(ngrams)
    dropped = check_stop_words(stop_words)
    if callable(analyzer):
        if dropped or shortest_longest != (1, 1):
            raise InputError(
                "ngrams and stop_words do not apply to an analyzer of your own: it returns the "
                "terms as they are to be counted"
            )
        return analyzer
    _check_options(mask_numbers, lowercase, token_pattern, strip_accents)
    if analyzer is None:
        flags = bool(mask_numbers), bool(lowercase)
        return Analyzer(*flags, token_pattern, strip_accents, dropped, shortest_longest)
    if not isinstance(analyzer, str) or analyzer != CHARACTERS:
        raise InputError(
            f"analyzer is {analyzer!r}; expected {CHARACTERS!r}, a function from str to terms, or "
            "None for words"
        )
    if dropped:
        raise InputError(f"stop_words do not apply to analyzer={CHARACTERS!r}: leave them out")
    return CharacterAnalyzer(shortest_longest, bool(lowercase), strip_accents)


def _check_options(
    mask_numbers: bool, lowercase: bool, token_pattern: str, strip_accents: str | None
) -> None:
    for name, flag in (("mask_numbers", mask_numbers), ("lowercase", lowercase)):
        if not isinstance(flag, bool | int | np.bool_):
            raise InputError(f"{name} is {flag!r}; expected True or False")
    if strip_accents not in (None, "unicode", "ascii"):
        raise InputError(f"strip_accents is {strip_accents!r}; expected 'unicode', 'ascii' or None")
    if _compiled(token_pattern).groups > 1:
        raise InputError(f"token_pattern {token_pattern!r} has more than one capturing group")


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


def _folded(
    text: str, places: list[tuple[int, int]], lowercase: bool, strip_accents: str | None
) -> tuple[str, list[tuple[int, int]]]:
    """Return a text in lower case and without accents, as wanted, and the places of its characters.

    What is done to a character does not depend on its neighbors, but for two things that change no
    place: the Greek final sigma, and the order of accents that are dropped anyway.
    """
    if lowercase:
        places = _repeated(places, [len(char.lower()) for char in text])
        text = text.lower()
    if strip_accents is not None:
        sizes = [len(_without_accents(char, strip_accents)) for char in text]
        text, places = _without_accents(text, strip_accents), _repeated(places, sizes)
    return text, places


def _repeated(places: list[tuple[int, int]], sizes: list[int]) -> list[tuple[int, int]]:
    pairs = zip(places, sizes, strict=True)
    return [place for place, size in pairs for _ in range(size)]


def _ngrams(tokens: list[str], shortest: int, longest: int) -> list[str]:
    terms = tokens[:] if shortest == 1 else []
    for size in range(max(shortest, 2), min(longest, len(tokens)) + 1):
        shifted = (tokens[start:] for start in range(size))
        terms.extend(map(" ".join, zip(*shifted, strict=False)))
    return terms


def check_ngrams(
    ngrams: tuple[int, int], name: str = "ngrams", example: tuple[int, int] = (1, 2)
) -> tuple[int, int]:
    """Return the fewest and most tokens, or characters, of a term, or refuse them."""
    try:
        shortest, longest = (operator.index(size) for size in ngrams)
    except (TypeError, ValueError, OverflowError):
        shortest = longest = 0
    if not 1 <= shortest <= longest <= _LONGEST:
        raise InputError(f"{name} is {ngrams!r}; expected (shortest, longest), such as {example}")
    return shortest, longest


def check_stop_words(stop_words: str | Collection[str] | None) -> frozenset[str]:
    """Return stop words as a set, or raise an InputError."""
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
