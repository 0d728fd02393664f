"""Analyzers, which cut texts into terms: words and their n-grams, or n-grams of characters."""

import operator
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from wordclass.errors import InputError

Analyze = Callable[[str], Sequence[str]]
Span = tuple[int, int]  # start and end in the raw text

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
NUMBER_PATTERN = r"\b[0-9][0-9.,-]*\b"
NUMBER_MASK = "numbermask"
# U+0000 and lone surrogates count as white space: neither the native dictionary nor UTF-8 has them
VISIBLE_PATTERN = r"[^\s\0\ud800-\udfff]+"
CHARACTERS = "characters"
_NUMBER = re.compile(NUMBER_PATTERN)
_VISIBLE = re.compile(VISIBLE_PATTERN)
_MAX_NGRAM_SIZE = 1000  # tokens or characters
_MAX_SAMPLED_TEXTS = 1000  # for the detection of scripts
_MAX_SAMPLED_CHARACTERS = 1000  # per text
_LETTER = re.compile(r"\w")
# Thai to Tibetan, Myanmar, Khmer; Japanese; Chinese and Japanese characters; their half-width forms
_LETTER_OF_UNSPACED_SCRIPT = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff]"
)


class Token(NamedTuple):
    """A token with its start and end in the raw text."""

    token: str
    start: int
    end: int


@dataclass(frozen=True)
class Analyzer:
    """Function from a text to its words and n-grams of words, as in the paper's experiments.

    Numbers are masked in the raw text. Then the text is lowercased, stripped of accents if that is
    requested, and searched for tokens. Stop words are removed. The n-grams of the remaining tokens
    are joined by spaces.

    Parameters
    ----------
    mask_numbers : bool, default=True
        Replace each number by the single word `numbermask`.
    lowercase : bool, default=True
        Convert the text to lower case.
    token_pattern : str, default=TOKEN_PATTERN
        Regular expression of a token. By default, a token is a word of two or more letters, digits
        or underscores, as in scikit-learn.
    strip_accents : {"unicode", "ascii"}, optional
        "unicode" decomposes characters and removes combining marks, and "ascii" removes all
        characters that are not ASCII after the decomposition.
    stop_words : frozenset of str, default=frozenset()
        Tokens to remove, in the form that they have after lowercasing.
    ngrams : (int, int), default=(1, 1)
        Minimum and maximum number of tokens of a term.

    Examples
    --------
    >>> Analyzer(ngrams=(1, 2))("Two of 12 moons")
    ['two', 'of', 'numbermask', 'moons', 'two of', 'of numbermask', 'numbermask moons']
    """

    mask_numbers: bool = True
    lowercase: bool = True
    token_pattern: str = TOKEN_PATTERN
    strip_accents: str | None = None
    stop_words: frozenset[str] = frozenset()
    ngrams: tuple[int, int] = (1, 1)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return check_token_pattern(self.token_pattern)

    def __call__(self, text: str) -> list[str]:
        """Return the terms of a text: all single tokens, then all pairs, and so on."""
        if self.lowercase:
            text = mask_and_lower(text, self.mask_numbers)
        elif self.mask_numbers:
            text = _NUMBER.sub(NUMBER_MASK, text)
        if self.strip_accents is not None:
            text = _strip_accents(text, self.strip_accents)
        tokens = self._pattern.findall(text)
        if self.stop_words:
            tokens = [token for token in tokens if token not in self.stop_words]
        return tokens if self.ngrams == (1, 1) else _join_ngrams(tokens, *self.ngrams)

    def tokens(self, text: str) -> list[Token]:
        """Return the tokens of a text with their spans, without stop words.

        The span of a masked number is that of the number.
        """
        normalized, spans = self._normalize(text)
        tokens: list[Token] = []
        for match in self._pattern.finditer(normalized):
            start, end = match.span(self._pattern.groups)
            token = normalized[start:end] if start >= 0 else ""
            if token not in self.stop_words:
                token_spans = spans[start:end] or [(len(text), len(text))]
                tokens.append(Token(token, token_spans[0][0], token_spans[-1][1]))
        return tokens

    def terms(self, tokens: Sequence[str]) -> Iterator[tuple[str, range]]:
        """Yield the terms that tokens form, in the order of `__call__`, with their token numbers.

        Examples
        --------
        >>> list(Analyzer(ngrams=(1, 2)).terms(["full", "moon"]))
        [('full', range(0, 1)), ('moon', range(1, 2)), ('full moon', range(0, 2))]
        """
        shortest, longest = self.ngrams
        for size in range(shortest, longest + 1):
            for first in range(len(tokens) - size + 1):
                yield " ".join(tokens[first : first + size]), range(first, first + size)

    def _normalize(self, text: str) -> tuple[str, list[Span]]:
        """Return the text that is searched for tokens, and the raw span of each character."""
        spans = [(k, k + 1) for k in range(len(text))]
        if self.mask_numbers:
            spans = []
            start = 0
            for match in _NUMBER.finditer(text):
                spans += [(k, k + 1) for k in range(start, match.start())]
                spans += [match.span()] * len(NUMBER_MASK)
                start = match.end()
            spans += [(k, k + 1) for k in range(start, len(text))]
            text = _NUMBER.sub(NUMBER_MASK, text)
        return _fold(text, spans, self.lowercase, self.strip_accents)


@dataclass(frozen=True)
class CharacterAnalyzer:
    """Function from a text to its n-grams of characters, like scikit-learn's "char_wb" analyzer.

    Words are separated by white space, and each word is padded with one space on either side. An
    n-gram never extends from one word into the next. A padded word that is shorter than an n-gram
    is returned once, as a whole. Numbers are not masked. The only difference from scikit-learn is
    that U+0000 and lone surrogates count as white space.

    Parameters
    ----------
    ngrams : (int, int), default=(2, 5)
        Minimum and maximum number of characters of an n-gram.
    lowercase, strip_accents
        See `Analyzer`.

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
            text = _strip_accents(text, self.strip_accents)
        terms = []
        for word in _VISIBLE.findall(text):
            padded = f" {word} "
            terms += [padded[start:end] for start, end in self._ngram_bounds(len(padded))]
        return terms

    def spans(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Yield the n-grams of a text, in the order of `__call__`, with start and end in the text.

        Padding has no characters in the text: the span of " a" is that of the "a", and the span of
        a single padding space is that of the whole word.
        """
        identity = [(k, k + 1) for k in range(len(text))]
        folded, spans = _fold(text, identity, self.lowercase, self.strip_accents)
        for match in _VISIBLE.finditer(folded):
            padded = f" {match[0]} "
            word_start, word_end = match.span()
            for start, end in self._ngram_bounds(len(padded)):
                first = word_start + max(start - 1, 0)
                last = min(word_start + end - 1, word_end)
                if first >= last:  # a single padding space
                    first = word_start
                    last = word_end
                yield padded[start:end], spans[first][0], spans[last - 1][1]

    def _ngram_bounds(self, n_characters: int) -> Iterator[Span]:
        """Yield start and end of the n-grams of a padded word with this number of characters."""
        shortest, longest = self.ngrams
        for size in range(shortest, max(shortest, min(longest, n_characters)) + 1):
            for start in range(max(n_characters - size, 0) + 1):
                yield start, min(start + size, n_characters)


def display_term(term: str) -> str:
    """Return a term for people to read, with "(number)" for the word that replaces numbers.

    Examples
    --------
    >>> display_term("version numbermask")
    'version (number)'
    """
    return term.replace(NUMBER_MASK, "(number)")


def text_between_tokens(text: str, tokens: Sequence[Token]) -> list[Token]:
    """Return the visible pieces of a text that do not belong to any of its tokens."""
    ends = [0, *(token.end for token in tokens)]
    starts = [*(token.start for token in tokens), len(text)]
    return [
        Token(match[0], *match.span())
        for end, start in zip(ends, starts, strict=True)
        for match in _VISIBLE.finditer(text, end, max(start, end))
    ]


def lacks_spaces(texts: Sequence[str]) -> bool:
    """Return True if most letters of the texts belong to scripts without spaces between words.

    At most a thousand texts are inspected. They are spread evenly over all texts.
    """
    sample = texts[:: -(-len(texts) // _MAX_SAMPLED_TEXTS) or 1]
    starts = [text[:_MAX_SAMPLED_CHARACTERS] for text in sample if not text.isascii()]
    n_letters = sum(len(_LETTER.findall(start)) for start in starts)
    n_unspaced_letters = sum(len(_LETTER_OF_UNSPACED_SCRIPT.findall(start)) for start in starts)
    n_ascii = sum(min(len(text), _MAX_SAMPLED_CHARACTERS) for text in sample if text.isascii())
    return 2 * n_unspaced_letters > n_letters + n_ascii


def mask_and_lower(text: str, mask_numbers: bool) -> str:
    """Replace numbers by the mask, if that is requested, and convert the text to lower case."""
    return (_NUMBER.sub(NUMBER_MASK, text) if mask_numbers else text).lower()


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
    """Return the analyzer with these options.

    Parameters
    ----------
    analyzer : callable or "characters", optional
        A user-defined function, which is returned; or "characters" for n-grams of characters, to
        which `mask_numbers`, `stop_words` and `token_pattern` do not apply. By default, terms are
        words and their n-grams.
    ngrams, stop_words, mask_numbers, lowercase, token_pattern, strip_accents
        See `Analyzer`. Stop words may also be "english" or any collection of words.

    Returns
    -------
    callable
        Function from a text to its terms.

    Raises
    ------
    InputError
        Options contradict each other.
    """
    ngram_sizes = check_ngrams(ngrams)
    stop_word_set = check_stop_words(stop_words)
    if callable(analyzer):
        if stop_word_set or ngram_sizes != (1, 1):
            raise InputError(
                "ngrams and stop_words do not apply to a user-defined analyzer",
                hint="leave them out, and return the terms in the form to count",
            )
        return analyzer
    if analyzer == CHARACTERS:
        if stop_word_set:
            raise InputError(
                f"stop_words do not apply to analyzer={CHARACTERS!r}", hint="leave them out"
            )
        return CharacterAnalyzer(ngram_sizes, bool(lowercase), strip_accents)
    return Analyzer(
        mask_numbers=bool(mask_numbers),
        lowercase=bool(lowercase),
        token_pattern=token_pattern,
        strip_accents=strip_accents,
        stop_words=stop_word_set,
        ngrams=ngram_sizes,
    )


def check_token_pattern(pattern: str) -> re.Pattern[str]:
    """Compile the regular expression of a token.

    Parameters
    ----------
    pattern : str
        The regular expression. If it has a group, the group is the token.

    Raises
    ------
    InputError
        The expression is invalid or has more than one group.
    """
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise InputError(
            f"token_pattern {pattern!r} is not a valid regular expression: {error}"
        ) from None
    if compiled.groups > 1:
        raise InputError(
            f"token_pattern {pattern!r} has more than one capturing group",
            hint="use (?:...) for groups that are not the token",
        )
    return compiled


def accepts_token_pattern(value: Any) -> bool:  # noqa: ANN401 - any value of a user
    """Return True for a valid regular expression, and raise an InputError for all other values."""
    check_token_pattern(value)
    return True


def _strip_accents(text: str, form: str) -> str:
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    if form == "ascii":
        return decomposed.encode("ascii", "ignore").decode("ascii")
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _fold(
    text: str, spans: list[Span], lowercase: bool, strip_accents: str | None
) -> tuple[str, list[Span]]:
    """Lowercase a text and strip its accents, as requested, and update the spans of characters.

    Characters change independently of their neighbors, with two exceptions that do not affect
    spans: the Greek final sigma, and the order of accents, which are removed anyway.
    """
    if lowercase:
        spans = _repeat_spans(spans, [len(char.lower()) for char in text])
        text = text.lower()
    if strip_accents is not None:
        spans = _repeat_spans(spans, [len(_strip_accents(char, strip_accents)) for char in text])
        text = _strip_accents(text, strip_accents)
    return text, spans


def _repeat_spans(spans: list[Span], n_repeats: list[int]) -> list[Span]:
    return [span for span, n in zip(spans, n_repeats, strict=True) for _ in range(n)]


def _join_ngrams(tokens: list[str], shortest: int, longest: int) -> list[str]:
    terms = tokens[:] if shortest == 1 else []
    for size in range(max(shortest, 2), min(longest, len(tokens)) + 1):
        shifted = (tokens[start:] for start in range(size))
        terms.extend(map(" ".join, zip(*shifted, strict=False)))
    return terms


def check_ngrams(
    ngrams: tuple[int, int], name: str = "ngrams", example: tuple[int, int] = (1, 2)
) -> tuple[int, int]:
    """Return the minimum and maximum size of n-grams as plain integers.

    Parameters
    ----------
    ngrams : (int, int)
        Minimum and maximum number of tokens or characters.
    name : str, default="ngrams"
        Name of the option, for the message.
    example : (int, int), default=(1, 2)
        Valid value, for the message.

    Raises
    ------
    InputError
        The value is not a pair of integers with 1 <= minimum <= maximum <= 1000.
    """
    try:
        shortest, longest = (operator.index(size) for size in ngrams)
    except (TypeError, ValueError, OverflowError):
        shortest = longest = 0
    if not 1 <= shortest <= longest <= _MAX_NGRAM_SIZE:
        raise InputError(
            f"{name} is {ngrams!r}",
            expected=f"(shortest, longest) from 1 to {_MAX_NGRAM_SIZE:,}, such as {example}",
        )
    return shortest, longest


def accepts_analyzer(value: object) -> bool:
    """Return True for "characters" and functions."""
    return callable(value) or (isinstance(value, str) and value == CHARACTERS)


def accepts_ngrams(value: Any) -> bool:  # noqa: ANN401 - any value of a user
    """Return True for valid sizes of n-grams."""
    try:
        check_ngrams(value)
    except InputError:
        return False
    return True


def check_stop_words(stop_words: str | Collection[str] | None) -> frozenset[str]:
    """Return stop words as a set.

    Parameters
    ----------
    stop_words : "english" or collection of str, optional
        The words. "english" stands for scikit-learn's list.

    Raises
    ------
    InputError
        The value is neither "english" nor a collection of str.
    """
    if stop_words is None:
        return frozenset()
    if isinstance(stop_words, str) and stop_words == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)
    expected = "'english', a collection of words, or None"
    if isinstance(stop_words, str) or not isinstance(stop_words, Collection):
        raise InputError(f"stop_words is {stop_words!r}", expected=expected)
    words = [*stop_words]
    for word in words:
        if not isinstance(word, str):
            raise InputError(f"stop_words contains {word!r}", expected="words of type str")
    return frozenset(words)


def accepts_stop_words(value: Any) -> bool:  # noqa: ANN401 - any value of a user
    """Return True for valid stop words, and raise an InputError for all other values."""
    check_stop_words(value)
    return True
