"""From texts to counted terms: by the native engine where it serves, else by plain Python.

Three questions are answered here: which terms occur how often in each text (`count`, or
`term_counter` for texts that come block by block), the same for a fixed vocabulary
(`count_known`), and which terms follow each other (`index_texts`). Plain Python is the
specification; the engine is tested against it. What either of them counted answers the same
questions, so that nobody has to ask which one it was.
"""

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from threading import Lock
from typing import Any, Self, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass import progress
from wordclass.arrays import Flags, Floats32, Ints, Sparse
from wordclass.embedding.counts import WordClassCounts, fits_dense_table, index_arrays
from wordclass.errors import InputError
from wordclass.native import extension
from wordclass.options import n_threads, native_errors_as_input_errors
from wordclass.text.analyzer import (
    CHARACTERS,
    TOKEN_PATTERN,
    VISIBLE_PATTERN,
    Analyze,
    Analyzer,
    CharacterAnalyzer,
    mask_and_lower,
)
from wordclass.text.vocabulary import TermCounts, Vocabulary, damped_counts
from wordclass.text.weightings import tfidf

Weight = Callable[[Sparse, Vocabulary], Sparse]

_BLOCK = 2_000  # documents between two reports of progress, and the unit of parallel work
_STEP = "counting words"


def count(texts: list[str], analyze: Analyze, n_jobs: int | None = None) -> "Counted":
    """Count every term of every text."""
    if serves(analyze):
        # the engine says nothing on the way; a bar shows at least that it is at work
        progress.report(_STEP, 0, 1)
        counted = NativeCountedTexts(texts, analyze, n_jobs)
        progress.report(_STEP, 1, 1)
        return counted
    extension.warn_if_missing()
    return count_in_python(texts, analyze, n_jobs)


def term_counter(analyze: Analyze, n_jobs: int | None) -> "TermCounter":
    """Return a counter of terms for texts that are not all at hand at once."""
    if serves(analyze):
        return NativeTermCounter(analyze, n_jobs)
    extension.warn_if_missing()
    return PythonTermCounter(analyze)


def count_known(
    texts: list[str], analyze: Analyze, vocabulary: Vocabulary, n_jobs: int | None = None
) -> Sparse:
    """Count the terms of each text that are in the vocabulary; all others are passed over.

    Returns
    -------
    occurrences : sparse int32 matrix of shape (n, v)
        Rows sorted.
    """
    if serves(analyze):
        with native_errors_as_input_errors():
            documents = _documents(texts, analyze)
            parts = _fixed(vocabulary, analyze).count(documents, n_threads(n_jobs))
        return _csr(parts, (len(texts), len(vocabulary)))
    extension.warn_if_missing()
    return count_known_in_python(texts, analyze, vocabulary.index, n_jobs)


def weighted_sums(
    texts: list[str],
    analyze: Analyze,
    vocabulary: Vocabulary,
    weights: Floats32,
    intercept: Floats32,
    n_jobs: int | None = None,
) -> Floats32 | None:
    """Return X @ weights + intercept (n, m) of the tf-idf X (n, v) of texts, without making X.

    None where the engine does not serve. A row depends on its text alone, to the bit.
    """
    if not serves(analyze):
        return None
    table = np.ascontiguousarray(weights, np.float32), np.ascontiguousarray(intercept, np.float32)
    with native_errors_as_input_errors():
        documents = _documents(texts, analyze)
        sums: Floats32 = _fixed(vocabulary, analyze).weighted_sums(
            documents, vocabulary.idf, damped_counts(0), *table, n_threads(n_jobs)
        )
    return sums


def index_texts(
    texts: list[str], analyze: Analyze, vocabulary: Vocabulary, n_jobs: int | None = None
) -> tuple[NDArray[np.int32], Ints]:
    """Return the column of every token, text after text, and where each text ends.

    Returns
    -------
    columns : int32 array
        -1 for a token outside the vocabulary.
    ends : int64 array of shape (n + 1,)
        The first is 0.
    """
    if isinstance(analyze, CharacterAnalyzer):
        raise InputError(
            f"texts are sequences of words, which analyzer={CHARACTERS!r} does not cut"
        )
    if isinstance(analyze, Analyzer) and analyze.ngrams != (1, 1):  # they are in no one order
        raise InputError(f"texts are sequences of single words, not of ngrams={analyze.ngrams}")
    if serves(analyze):
        with native_errors_as_input_errors():
            documents = _documents(texts, analyze)
            indexed: tuple[NDArray[np.int32], Ints] = _fixed(vocabulary, analyze).index(
                documents, n_threads(n_jobs)
            )
        return indexed
    extension.warn_if_missing()
    return index_in_python(texts, analyze, vocabulary.index)


# --- plain Python, with any analyzer ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CountedTexts:
    """Every term of every text: terms sorted by code point, occurrences with sorted rows."""

    terms: list[str]
    occurrences: Sparse  # int32 (n, len(terms))

    @property
    def n_docs(self) -> int:
        """Number of texts."""
        return int(self.occurrences.shape[0])

    @cached_property
    def doc_freq(self) -> Ints:
        """Number of texts in which each term occurs."""
        return np.bincount(self.occurrences.indices, minlength=len(self.terms)).astype(np.int64)

    @cached_property
    def term_freq(self) -> Ints:
        """Number of occurrences of each term in all texts."""
        columns, counts = self.occurrences.indices, self.occurrences.data
        return np.bincount(columns, counts, minlength=len(self.terms)).astype(np.int64)

    def sorted_terms(self, kept: Flags) -> tuple[list[str], Ints]:
        """Return the kept terms, sorted by code point, and their places."""
        return list(compress(self.terms, kept.tolist())), np.flatnonzero(kept)

    def occurrences_of(self, places: Ints) -> Sparse:
        """Return the occurrences (n, len(places)) of terms."""
        return self.occurrences[:, places]

    def weigh(self, places: Ints, vocabulary: Vocabulary, weight: Weight) -> Sparse:
        """Return X (n, v) of the vocabulary, whose terms have these places."""
        return weight(self.occurrences_of(places), vocabulary)

    def sums(
        self,
        places: Ints,
        vocabulary: Vocabulary,
        weight: Weight,
        Y: Sparse,
        needs: Collection[str],
    ) -> WordClassCounts:
        """Return the sums over X and Y (n, m) that a correlation needs."""
        return WordClassCounts.of(self.weigh(places, vocabulary, weight), Y, needs)


class PythonTermCounter:
    """Counts the terms of texts that come block by block, and forgets the texts."""

    def __init__(self, analyze: Analyze) -> None:
        self._analyze = analyze
        self.n_docs = 0
        self._doc_freq: Counter[str] = Counter()
        self._term_freq: Counter[str] = Counter()

    def add(self, texts: list[str]) -> None:
        """Count some more texts."""
        for text in texts:
            tokens = self._analyze(text)
            self._term_freq.update(tokens)
            self._doc_freq.update(set(tokens))
        self.n_docs += len(texts)

    def finished(self) -> TermCounts:
        """Return the sums over all texts."""
        terms = sorted(self._doc_freq)
        doc_freq = np.array([self._doc_freq[term] for term in terms], np.int64)
        term_freq = np.array([self._term_freq[term] for term in terms], np.int64)
        return TermCounts(terms, doc_freq, term_freq, self.n_docs)


def count_in_python(texts: list[str], analyze: Analyze, n_jobs: int | None = None) -> CountedTexts:
    """Count every term of every text, with any analyzer."""
    return merge_counted(_over_blocks(texts, lambda block: _count_block(block, analyze), n_jobs))


def count_known_in_python(
    texts: list[str], analyze: Analyze, index: Mapping[str, int], n_jobs: int | None = None
) -> Sparse:
    """Count the terms that have a column, with any analyzer."""

    def count_block(block: list[str]) -> Sparse:
        return _matrix(*_columns(block, analyze, index.get), len(index))

    return _stacked(_over_blocks(texts, count_block, n_jobs), len(index))


def index_in_python(
    texts: list[str], analyze: Analyze, index: Mapping[str, int]
) -> tuple[NDArray[np.int32], Ints]:
    """Return the column of every token, with any analyzer; -1 for one that has none."""
    return _columns(texts, analyze, lambda token: index.get(token, -1))


def merge_counted(parts: list[CountedTexts]) -> CountedTexts:
    """Put counted texts below each other, with one sorted list of terms for all of them."""
    terms = sorted(set().union(*(part.terms for part in parts)))
    column = {term: j for j, term in enumerate(terms)}
    moved = []
    for part in parts:
        occurrences = part.occurrences
        columns = np.fromiter(map(column.__getitem__, part.terms), np.int32, len(part.terms))
        matrix = sparse.csr_matrix(
            (occurrences.data, columns[occurrences.indices], occurrences.indptr),
            shape=(occurrences.shape[0], len(terms)),
        )
        matrix.sort_indices()
        moved.append(matrix)
    return CountedTexts(terms, _stacked(moved, len(terms)))


def _count_block(texts: list[str], analyze: Analyze) -> CountedTexts:
    """Count a few texts; the terms are in the order in which they came."""
    index: defaultdict[str, int] = defaultdict()
    index.default_factory = index.__len__  # a new term gets the next number
    columns, ends = _columns(texts, analyze, index.__getitem__)
    return CountedTexts(list(index), _matrix(columns, ends, len(index)))


def _columns(
    texts: list[str], analyze: Analyze, column_of: Callable[[str], int | None]
) -> tuple[NDArray[np.int32], Ints]:
    """Return the column of every token that has one, text after text, and the texts' ends."""
    columns, ends = array("i"), array("q", [0])
    for k, text in enumerate(texts):
        try:
            # 0 is a column too, so None is sifted out by identity, not by truth
            columns.extend([j for j in map(column_of, analyze(text)) if j is not None])
        except TypeError as error:
            raise InputError(
                f"the analyzer must return a sequence of str for every text; for text {k} it "
                f"did not ({error})"
            ) from error
        ends.append(len(columns))
    return np.array(columns, np.int32), np.array(ends, np.int64)


def _matrix(columns: NDArray[np.int32], ends: Ints, n_terms: int) -> Sparse:
    ones = np.ones(len(columns), np.int32)
    matrix = sparse.csr_matrix((ones, columns, ends), shape=(len(ends) - 1, n_terms))
    matrix.sum_duplicates()  # sorts the rows on the way
    return matrix


def _stacked(parts: list[Sparse], n_terms: int) -> Sparse:
    if not parts:
        return sparse.csr_matrix(np.zeros((0, n_terms), np.int32))
    return parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr")


_Made = TypeVar("_Made")


def _over_blocks(
    texts: list[str], work: Callable[[list[str]], _Made], n_jobs: int | None
) -> list[_Made]:
    """Do the work for each block of texts, in order; in several processes where asked."""
    blocks = [texts[start : start + _BLOCK] for start in range(0, len(texts), _BLOCK)]
    results: Iterable[_Made] = map(work, blocks)
    if n_jobs not in (None, 1) and len(blocks) > 1:
        import joblib

        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
        results = parallel(joblib.delayed(work)(block) for block in blocks)
    steps = progress.track(blocks, _STEP)
    return [result for _, result in zip(steps, results, strict=True)]


# --- the native engine --------------------------------------------------------------------------

OurAnalyzer = Analyzer | CharacterAnalyzer

_LONGEST_NGRAM = 3  # words
_LONGEST_CHARACTERS = 16
_WIDTH_ENDS = {1: 0x100, 2: 0x10000, 4: 0x110000}  # the characters of texts, by bytes of each
_LEARNED_BY: dict[type[OurAnalyzer], tuple[str, str]] = {  # which characters, and by what function
    Analyzer: ("learn_characters", r"\w+"),
    CharacterAnalyzer: ("learn_visible_characters", VISIBLE_PATTERN),
}
_learned = dict.fromkeys(_LEARNED_BY, 0x80)  # ASCII is known to the engine
_learning = Lock()


def serves(analyze: Analyze) -> TypeGuard[OurAnalyzer]:
    """Whether the engine gives the same terms as this analyzer."""
    if extension.engine is None:
        return False
    if type(analyze) is CharacterAnalyzer:  # a subclass may cut texts in another way
        return analyze.strip_accents is None and analyze.ngrams[1] <= _LONGEST_CHARACTERS
    return (
        type(analyze) is Analyzer
        and analyze.token_pattern == TOKEN_PATTERN
        and analyze.strip_accents is None
        and analyze.ngrams[1] <= _LONGEST_NGRAM
    )


class NativeCountedTexts:
    """Every term of every text, its place an id in no order.

    What the texts contain is handed over once: by `occurrences_of`, `weigh` or `sums`.
    """

    def __init__(self, texts: list[str], analyze: OurAnalyzer, n_jobs: int | None) -> None:
        with native_errors_as_input_errors():
            self._counted = extension.engine.CountedTexts(  # type: ignore[union-attr]
                _documents(texts, analyze), _options(analyze), n_threads(n_jobs)
            )
        self.n_docs: int = self._counted.n_docs
        self.doc_freq: Ints = self._counted.doc_freq()
        self.term_freq: Ints = self._counted.term_freq()

    def sorted_terms(self, kept: Flags) -> tuple[list[str], Ints]:
        """Return the kept terms, sorted by code point, and their ids."""
        ids, terms = self._counted.sorted(np.flatnonzero(kept))
        return terms, ids

    def occurrences_of(self, places: Ints) -> Sparse:
        """Return the occurrences (n, len(places)) of terms."""
        with native_errors_as_input_errors():
            parts = self._counted.occurrences(self._columns(places), len(places))
        return _csr(parts, (self.n_docs, len(places)))

    def weigh(self, places: Ints, vocabulary: Vocabulary, weight: Weight) -> Sparse:
        """Return X (n, v) of the vocabulary; tf-idf is made in one go."""
        if weight is not tfidf.weight:
            return weight(self.occurrences_of(places), vocabulary)
        tables = vocabulary.idf, damped_counts(self._counted.max_count)
        with native_errors_as_input_errors():
            parts = self._counted.tfidf_rows(self._columns(places), *tables)
        return _csr(parts, (self.n_docs, len(places)))

    def sums(
        self,
        places: Ints,
        vocabulary: Vocabulary,
        weight: Weight,
        Y: Sparse,
        needs: Collection[str],
    ) -> WordClassCounts:
        """Return the sums over X and Y (n, m); those of tf-idf are made without X."""
        if weight is not tfidf.weight or not fits_dense_table(len(vocabulary), Y.shape[1]):
            return WordClassCounts.of(self.weigh(places, vocabulary, weight), Y, needs)
        sums = self._counted.tfidf_sums(
            self._columns(places),
            vocabulary.idf,
            damped_counts(self._counted.max_count),
            *index_arrays(Y),
            Y.shape[1],
            *("joint_weight" in needs, "joint_docs" in needs),
        )
        return WordClassCounts.of_sums(Y, sums)

    def _columns(self, places: Ints) -> NDArray[np.int32]:
        columns = np.full(len(self.doc_freq), -1, np.int32)
        columns[places] = np.arange(len(places), dtype=np.int32)
        return columns


class NativeTermCounter:
    """Counts the terms of texts that come block by block, and forgets the texts."""

    def __init__(self, analyze: OurAnalyzer, n_jobs: int | None) -> None:
        self._analyze = analyze
        self._counter = extension.engine.TermCounter(_options(analyze), n_threads(n_jobs))  # type: ignore[union-attr]

    def add(self, texts: list[str]) -> None:
        """Count some more texts."""
        with native_errors_as_input_errors():
            self._counter.add(_documents(texts, self._analyze))

    def finished(self) -> Self:
        """Make the sums over all texts, and return them; no texts can be added afterwards."""
        self._counter.finish()
        self.n_docs: int = self._counter.n_docs
        self.doc_freq: Ints = self._counter.doc_freq()
        self.term_freq: Ints = self._counter.term_freq()
        return self

    def sorted_terms(self, kept: Flags) -> tuple[list[str], Ints]:
        """Return the kept terms, sorted by code point, and their ids."""
        ids, terms = self._counter.sorted(np.flatnonzero(kept))
        return terms, ids


Counted = CountedTexts | NativeCountedTexts
TermCounter = PythonTermCounter | NativeTermCounter
CountedTerms = TermCounts | NativeTermCounter


def _documents(texts: list[str], analyze: OurAnalyzer) -> Any:  # noqa: ANN401 - of the engine
    documents = extension.engine.Documents(texts)  # type: ignore[union-attr]
    _learn_characters(type(analyze), _WIDTH_ENDS[documents.width()])
    if analyze.lowercase:
        # their lower case is not made character by character: only Python knows
        masks = isinstance(analyze, Analyzer) and analyze.mask_numbers
        for k in documents.special():
            documents.replace(k, mask_and_lower(texts[k], masks))
    return documents


def _learn_characters(kind: type[OurAnalyzer], end: int) -> None:
    """Tell the engine which characters make terms, and their lower case, up to `end`."""
    if end > _learned[kind]:
        with _learning:  # each range is written once, before anybody reads it
            if end > (first := _learned[kind]):
                name, pattern = _LEARNED_BY[kind]
                getattr(extension.engine, name)(first, folded_characters(first, end, pattern))
                _learned[kind] = end


def folded_characters(first: int, end: int, pattern: str) -> NDArray[np.uint32]:
    """Return the lower case, as this Python has it, of characters that match; 0 for all others.

    For the two characters without a lower case of their own it is any character.
    """
    everything = "".join(map(chr, range(first, end)))
    lower = everything.replace("\u0130", "i").lower().encode("utf-32-le", "surrogatepass")
    folded = np.zeros(end - first, np.uint32)
    for match in re.finditer(pattern, everything):
        folded[slice(*match.span())] = np.frombuffer(lower, np.uint32)[slice(*match.span())]
    return folded


def _options(analyze: OurAnalyzer) -> Any:  # noqa: ANN401 - of the engine
    engine: Any = extension.engine
    if isinstance(analyze, CharacterAnalyzer):
        return engine.character_options(analyze.lowercase, *analyze.ngrams)
    stop_words = sorted(word for word in analyze.stop_words if _can_be_met(word))
    return engine.options(analyze.mask_numbers, analyze.lowercase, *analyze.ngrams, stop_words)


def _fixed(vocabulary: Vocabulary, analyze: OurAnalyzer) -> Any:  # noqa: ANN401 - of the engine
    """Return the engine's form of a vocabulary, made once."""
    if analyze not in vocabulary.native_forms:
        # the column of a term that is never met stays empty
        terms = [term if _can_be_met(term) else "" for term in vocabulary.terms]
        frequent_first = np.argsort(-vocabulary.doc_freq, kind="stable")
        made = extension.engine.FixedVocabulary(  # type: ignore[union-attr]
            terms, _options(analyze), frequent_first
        )
        vocabulary.native_forms[analyze] = made
    return vocabulary.native_forms[analyze]


def _can_be_met(term: str) -> bool:
    """Whether the engine could meet a term: none has a NUL or a lone surrogate."""
    try:
        return b"\0" not in term.encode("utf-8")
    except UnicodeEncodeError:
        return False


def _csr(parts: tuple[Any, Any, Any], shape: tuple[int, int]) -> Sparse:
    """Return a CSR matrix of (values, columns, ends) whose rows are sorted, without duplicates."""
    matrix = sparse.csr_matrix(parts, shape=shape)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix
