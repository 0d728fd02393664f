"""Counting of terms, by the native engine if it supports the analyzer, else in plain Python.

The module answers three questions. How often does each term occur in each text: `count`, or
`term_counter` if the texts come in blocks. The same for a given vocabulary: `count_known`. In which
order do the terms of a text follow each other: `index_texts`. Plain Python is the specification,
and tests compare the engine with it. The results of both have the same methods.
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

_BLOCK_DOCS = 2_000  # documents between two reports of progress, and the unit of parallel work
_STEP = "counting words"


def accepts_weighting(value: object) -> bool:
    """Return True for names, functions, and objects that learn from labels."""
    return isinstance(value, str) or callable(value) or hasattr(value, "fit")


def count(texts: list[str], analyze: Analyze, n_jobs: int | None = None) -> "Counted":
    """Count every term of every text.

    Parameters
    ----------
    texts : list of str
        The texts.
    analyze : callable
        Function from a text to its terms.
    n_jobs : int, optional
        Number of threads, or of processes in plain Python. None is one, -1 is all cores.
    """
    if has_native_support(analyze):
        # the engine does not report progress, so only its start and end are shown
        progress.report(_STEP, 0, 1)
        counted = NativeCountedTexts(texts, analyze, n_jobs)
        progress.report(_STEP, 1, 1)
        return counted
    extension.warn_if_missing()
    return count_in_python(texts, analyze, n_jobs)


def term_counter(analyze: Analyze, n_jobs: int | None) -> "TermCounter":
    """Return a counter for the terms of texts that come in blocks."""
    if has_native_support(analyze):
        return NativeTermCounter(analyze, n_jobs)
    extension.warn_if_missing()
    return PythonTermCounter(analyze)


def count_known(
    texts: list[str], analyze: Analyze, vocabulary: Vocabulary, n_jobs: int | None = None
) -> Sparse:
    """Count the terms of each text that belong to a vocabulary.

    Returns
    -------
    occurrences : sparse int32 matrix of shape (n, v)
        Numbers of occurrences, with sorted rows.
    """
    if has_native_support(analyze):
        with native_errors_as_input_errors():
            documents = _to_native_documents(texts, analyze)
            csr_arrays = _native_vocabulary(vocabulary, analyze).count(documents, n_threads(n_jobs))
        return _csr(csr_arrays, (len(texts), len(vocabulary)))
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
    """Return X @ weights + intercept (n, m) for the tf-idf matrix X (n, v), without making X.

    The sums of a text do not depend on the other texts, to the last bit. If the native engine does
    not support the analyzer, None is returned.
    """
    if not has_native_support(analyze):
        return None
    with native_errors_as_input_errors():
        documents = _to_native_documents(texts, analyze)
        sums: Floats32 = _native_vocabulary(vocabulary, analyze).weighted_sums(
            documents,
            vocabulary.idf,
            damped_counts(0),
            np.ascontiguousarray(weights, np.float32),
            np.ascontiguousarray(intercept, np.float32),
            n_threads(n_jobs),
        )
    return sums


def index_texts(
    texts: list[str], analyze: Analyze, vocabulary: Vocabulary, n_jobs: int | None = None
) -> tuple[NDArray[np.int32], Ints]:
    """Return the column of every token, text after text.

    Returns
    -------
    columns : int32 array
        Columns of all tokens; -1 for a token outside the vocabulary.
    ends : int64 array of shape (n + 1,)
        Position after the last token of each text. The first number is 0.

    Raises
    ------
    InputError
        The analyzer does not produce sequences of single words.
    """
    if isinstance(analyze, CharacterAnalyzer):
        raise InputError(
            f"analyzer={CHARACTERS!r} does not cut texts into sequences of words",
            hint="use analyzer=None, or a function from a text to its words",
        )
    if isinstance(analyze, Analyzer) and analyze.ngrams != (1, 1):
        # n-grams of different sizes overlap, so they do not form one sequence
        raise InputError(
            f"texts are sequences of single words, not of ngrams={analyze.ngrams}",
            hint="use ngrams=(1, 1)",
        )
    if has_native_support(analyze):
        with native_errors_as_input_errors():
            documents = _to_native_documents(texts, analyze)
            indexed: tuple[NDArray[np.int32], Ints] = _native_vocabulary(vocabulary, analyze).index(
                documents, n_threads(n_jobs)
            )
        return indexed
    extension.warn_if_missing()
    return index_in_python(texts, analyze, vocabulary.index)


# --- plain Python, with any analyzer ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CountedTexts:
    """Number of occurrences of every term in every text.

    Parameters
    ----------
    terms : list of str
        All terms. In the results of this module, they are sorted by code point.
    occurrences : sparse int32 matrix of shape (n, len(terms))
        Numbers of occurrences, with sorted rows.
    """

    terms: list[str]
    occurrences: Sparse

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
        return np.bincount(
            self.occurrences.indices, self.occurrences.data, minlength=len(self.terms)
        ).astype(np.int64)

    def sorted_terms(self, is_selected: Flags) -> tuple[list[str], Ints]:
        """Return the selected terms, sorted by code point, and their positions."""
        return list(compress(self.terms, is_selected.tolist())), np.flatnonzero(is_selected)

    def occurrences_of(self, positions: Ints) -> Sparse:
        """Return the occurrences (n, len(positions)) of the terms at these positions."""
        return self.occurrences[:, positions]

    def weigh(self, positions: Ints, vocabulary: Vocabulary, weight: Weight) -> Sparse:
        """Return X (n, v) for a vocabulary whose terms have these positions."""
        return weight(self.occurrences_of(positions), vocabulary)

    def sums(
        self,
        positions: Ints,
        vocabulary: Vocabulary,
        weight: Weight,
        Y: Sparse,
        needs: Collection[str],
    ) -> WordClassCounts:
        """Return the sums over X and Y (n, m) that a correlation needs."""
        return WordClassCounts.of(self.weigh(positions, vocabulary, weight), Y, needs)


class PythonTermCounter:
    """Counter for the terms of texts that come in blocks. It does not keep the texts."""

    def __init__(self, analyze: Analyze) -> None:
        self._analyze = analyze
        self.n_docs = 0
        self._doc_freq: Counter[str] = Counter()
        self._term_freq: Counter[str] = Counter()

    def add(self, texts: list[str]) -> None:
        """Count the terms of a block of texts."""
        for text in texts:
            terms = self._analyze(text)
            self._term_freq.update(terms)
            self._doc_freq.update(set(terms))
        self.n_docs += len(texts)

    def finish(self) -> TermCounts:
        """Return the sums over all texts."""
        terms = sorted(self._doc_freq)
        doc_freq = np.array([self._doc_freq[term] for term in terms], np.int64)
        term_freq = np.array([self._term_freq[term] for term in terms], np.int64)
        return TermCounts(terms, doc_freq, term_freq, self.n_docs)


def count_in_python(texts: list[str], analyze: Analyze, n_jobs: int | None = None) -> CountedTexts:
    """Count every term of every text, with any analyzer."""
    return merge_counted(_map_blocks(texts, lambda block: _count_block(block, analyze), n_jobs))


def count_known_in_python(
    texts: list[str], analyze: Analyze, index: Mapping[str, int], n_jobs: int | None = None
) -> Sparse:
    """Count the terms of each text that have a column, with any analyzer."""

    def count_block(block: list[str]) -> Sparse:
        columns, ends = _find_columns(block, analyze, index.get)
        return _count_columns(columns, ends, len(index))

    return _stack(_map_blocks(texts, count_block, n_jobs), len(index))


def index_in_python(
    texts: list[str], analyze: Analyze, index: Mapping[str, int]
) -> tuple[NDArray[np.int32], Ints]:
    """Return the column of every token, or -1 if it has none, with any analyzer."""
    return _find_columns(texts, analyze, lambda token: index.get(token, -1))


def merge_counted(blocks: list[CountedTexts]) -> CountedTexts:
    """Concatenate counted texts, with one sorted list of terms for all of them."""
    terms = sorted(set().union(*(block.terms for block in blocks)))
    column_of_term = {term: j for j, term in enumerate(terms)}
    matrices = []
    for block in blocks:
        occurrences = block.occurrences
        n_terms = len(block.terms)
        columns = np.fromiter(map(column_of_term.__getitem__, block.terms), np.int32, n_terms)
        matrix = sparse.csr_matrix(
            (occurrences.data, columns[occurrences.indices], occurrences.indptr),
            shape=(occurrences.shape[0], len(terms)),
        )
        matrix.sort_indices()
        matrices.append(matrix)
    return CountedTexts(terms, _stack(matrices, len(terms)))


def _count_block(texts: list[str], analyze: Analyze) -> CountedTexts:
    """Count the terms of a few texts. The terms are in the order of their first occurrence."""
    index: defaultdict[str, int] = defaultdict()
    index.default_factory = index.__len__  # a new term gets the next number
    columns, ends = _find_columns(texts, analyze, index.__getitem__)
    return CountedTexts(list(index), _count_columns(columns, ends, len(index)))


def _find_columns(
    texts: list[str], analyze: Analyze, find_column: Callable[[str], int | None]
) -> tuple[NDArray[np.int32], Ints]:
    """Return the columns of the tokens that have one, text after text, and the ends of the texts.

    Parameters
    ----------
    texts : list of str
        The texts.
    analyze : callable
        Function from a text to its tokens.
    find_column : callable
        Function from a token to its column, or None if it has none.
    """
    columns = array("i")
    ends = array("q", [0])
    for k, text in enumerate(texts):
        try:
            # compared with None, because column 0 is false too
            columns.extend([j for j in map(find_column, analyze(text)) if j is not None])
        except TypeError as error:
            raise InputError(
                f"the analyzer did not return terms for text {k}: {error}",
                expected="a sequence of str for every text",
            ) from error
        ends.append(len(columns))
    return np.array(columns, np.int32), np.array(ends, np.int64)


def _count_columns(columns: NDArray[np.int32], ends: Ints, n_terms: int) -> Sparse:
    ones = np.ones(len(columns), np.int32)
    matrix = sparse.csr_matrix((ones, columns, ends), shape=(len(ends) - 1, n_terms))
    matrix.sum_duplicates()  # this also sorts the rows
    return matrix


def _stack(matrices: list[Sparse], n_terms: int) -> Sparse:
    if not matrices:
        return sparse.csr_matrix(np.zeros((0, n_terms), np.int32))
    return matrices[0] if len(matrices) == 1 else sparse.vstack(matrices, format="csr")


_Result = TypeVar("_Result")


def _map_blocks(
    texts: list[str], work: Callable[[list[str]], _Result], n_jobs: int | None
) -> list[_Result]:
    """Apply a function to each block of texts, in several processes if that is requested."""
    blocks = [texts[start : start + _BLOCK_DOCS] for start in range(0, len(texts), _BLOCK_DOCS)]
    results: Iterable[_Result] = map(work, blocks)
    if n_jobs not in (None, 1) and len(blocks) > 1:
        import joblib

        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
        results = parallel(joblib.delayed(work)(block) for block in blocks)
    steps = progress.track(blocks, _STEP)
    return [result for _, result in zip(steps, results, strict=True)]


# --- the native engine --------------------------------------------------------------------------

BuiltInAnalyzer = Analyzer | CharacterAnalyzer

_MAX_NATIVE_NGRAM_WORDS = 3
_MAX_NATIVE_NGRAM_CHARACTERS = 16
# by the bytes per character of a text: the first code point that it cannot contain
_CODE_POINT_LIMITS = {1: 0x100, 2: 0x10000, 4: 0x110000}
# by the kind of analyzer: native function that stores characters, and pattern of the characters
_CHARACTER_TABLES: dict[type[BuiltInAnalyzer], tuple[str, str]] = {
    Analyzer: ("learn_characters", r"\w+"),
    CharacterAnalyzer: ("learn_visible_characters", VISIBLE_PATTERN),
}
_n_stored_code_points = dict.fromkeys(_CHARACTER_TABLES, 0x80)  # the engine has ASCII built in
_storing = Lock()


def has_native_support(analyze: Analyze) -> TypeGuard[BuiltInAnalyzer]:
    """Return True if the native engine is available and cuts texts like this analyzer."""
    if extension.engine is None:
        return False
    # compared by type, because a subclass may cut texts in another way
    if type(analyze) is CharacterAnalyzer:
        is_short = analyze.ngrams[1] <= _MAX_NATIVE_NGRAM_CHARACTERS
        return analyze.strip_accents is None and is_short
    return (
        type(analyze) is Analyzer
        and analyze.token_pattern == TOKEN_PATTERN
        and analyze.strip_accents is None
        and analyze.ngrams[1] <= _MAX_NATIVE_NGRAM_WORDS
    )


class NativeCountedTexts:
    """Number of occurrences of every term in every text, held by the native engine.

    The position of a term is an id of the engine, and ids are not sorted. The occurrences are
    handed over only once: by `occurrences_of`, `weigh` or `sums`.

    Parameters
    ----------
    texts : list of str
        The texts.
    analyze : Analyzer or CharacterAnalyzer
        Analyzer with native support.
    n_jobs : int or None
        Number of threads.
    """

    def __init__(self, texts: list[str], analyze: BuiltInAnalyzer, n_jobs: int | None) -> None:
        with native_errors_as_input_errors():
            self._counted = extension.engine.CountedTexts(  # type: ignore[union-attr]
                _to_native_documents(texts, analyze), _to_native_options(analyze), n_threads(n_jobs)
            )
        self.n_docs: int = self._counted.n_docs
        self.doc_freq: Ints = self._counted.doc_freq()
        self.term_freq: Ints = self._counted.term_freq()

    def sorted_terms(self, is_selected: Flags) -> tuple[list[str], Ints]:
        """Return the selected terms, sorted by code point, and their ids."""
        ids, terms = self._counted.sorted(np.flatnonzero(is_selected))
        return terms, ids

    def occurrences_of(self, positions: Ints) -> Sparse:
        """Return the occurrences (n, len(positions)) of the terms at these positions."""
        with native_errors_as_input_errors():
            csr_arrays = self._counted.occurrences(self._to_columns(positions), len(positions))
        return _csr(csr_arrays, (self.n_docs, len(positions)))

    def weigh(self, positions: Ints, vocabulary: Vocabulary, weight: Weight) -> Sparse:
        """Return X (n, v) for a vocabulary whose terms have these positions."""
        if weight is not tfidf.weight:
            return weight(self.occurrences_of(positions), vocabulary)
        with native_errors_as_input_errors():  # tf-idf is computed in a single pass
            csr_arrays = self._counted.tfidf_rows(
                self._to_columns(positions),
                vocabulary.idf,
                damped_counts(self._counted.max_count),
            )
        return _csr(csr_arrays, (self.n_docs, len(positions)))

    def sums(
        self,
        positions: Ints,
        vocabulary: Vocabulary,
        weight: Weight,
        Y: Sparse,
        needs: Collection[str],
    ) -> WordClassCounts:
        """Return the sums over X and Y (n, m) that a correlation needs.

        With tf-idf, X is not made unless the sums are very large.
        """
        if weight is not tfidf.weight or not fits_dense_table(len(vocabulary), Y.shape[1]):
            return WordClassCounts.of(self.weigh(positions, vocabulary, weight), Y, needs)
        sums = self._counted.tfidf_sums(
            self._to_columns(positions),
            vocabulary.idf,
            damped_counts(self._counted.max_count),
            *index_arrays(Y),
            Y.shape[1],
            *("joint_weight" in needs, "joint_docs" in needs),
        )
        return WordClassCounts.of_sums(Y, sums)

    def _to_columns(self, positions: Ints) -> NDArray[np.int32]:
        """Return the column of each term of the engine, or -1 if it is not in the vocabulary."""
        columns = np.full(len(self.doc_freq), -1, np.int32)
        columns[positions] = np.arange(len(positions), dtype=np.int32)
        return columns


class NativeTermCounter:
    """Counter for the terms of texts that come in blocks. It does not keep the texts.

    Parameters
    ----------
    analyze : Analyzer or CharacterAnalyzer
        Analyzer with native support.
    n_jobs : int or None
        Number of threads.
    """

    def __init__(self, analyze: BuiltInAnalyzer, n_jobs: int | None) -> None:
        self._analyze = analyze
        self._counter = extension.engine.TermCounter(  # type: ignore[union-attr]
            _to_native_options(analyze), n_threads(n_jobs)
        )

    def add(self, texts: list[str]) -> None:
        """Count the terms of a block of texts."""
        with native_errors_as_input_errors():
            self._counter.add(_to_native_documents(texts, self._analyze))

    def finish(self) -> Self:
        """Compute the sums over all texts and return the counter, which accepts no more texts."""
        self._counter.finish()
        self.n_docs: int = self._counter.n_docs
        self.doc_freq: Ints = self._counter.doc_freq()
        self.term_freq: Ints = self._counter.term_freq()
        return self

    def sorted_terms(self, is_selected: Flags) -> tuple[list[str], Ints]:
        """Return the selected terms, sorted by code point, and their ids."""
        ids, terms = self._counter.sorted(np.flatnonzero(is_selected))
        return terms, ids


Counted = CountedTexts | NativeCountedTexts
TermCounter = PythonTermCounter | NativeTermCounter
CountedTerms = TermCounts | NativeTermCounter


def _to_native_documents(texts: list[str], analyze: BuiltInAnalyzer) -> Any:  # noqa: ANN401 - native
    """Hand texts over to the engine, which holds references to them and no copies."""
    documents = extension.engine.Documents(texts)  # type: ignore[union-attr]
    _store_characters(type(analyze), _CODE_POINT_LIMITS[documents.width()])
    if analyze.lowercase:
        # texts with characters whose lower case depends on their neighbors: Python lowers them
        mask_numbers = isinstance(analyze, Analyzer) and analyze.mask_numbers
        for k in documents.special():
            documents.replace(k, mask_and_lower(texts[k], mask_numbers))
    return documents


def _store_characters(kind: type[BuiltInAnalyzer], end: int) -> None:
    """Store the characters of terms below a code point, with their lower case, in the engine."""
    if end > _n_stored_code_points[kind]:
        with _storing:  # a range is written once, before any thread reads it
            first = _n_stored_code_points[kind]
            if end > first:
                function, pattern = _CHARACTER_TABLES[kind]
                getattr(extension.engine, function)(first, fold_characters(first, end, pattern))
                _n_stored_code_points[kind] = end


def fold_characters(first: int, end: int, pattern: str) -> NDArray[np.uint32]:
    """Return Python's lower case of the characters that match a pattern, and 0 for all others.

    The two characters whose lower case is not a single character get an arbitrary one.

    Parameters
    ----------
    first, end : int
        Range of code points.
    pattern : str
        Regular expression of runs of characters.
    """
    characters = "".join(map(chr, range(first, end)))
    lower = characters.replace("\u0130", "i").lower().encode("utf-32-le", "surrogatepass")
    folded = np.zeros(end - first, np.uint32)
    for match in re.finditer(pattern, characters):
        folded[slice(*match.span())] = np.frombuffer(lower, np.uint32)[slice(*match.span())]
    return folded


def _to_native_options(analyze: BuiltInAnalyzer) -> Any:  # noqa: ANN401 - native
    engine: Any = extension.engine
    if isinstance(analyze, CharacterAnalyzer):
        return engine.character_options(analyze.lowercase, *analyze.ngrams)
    stop_words = sorted(word for word in analyze.stop_words if _is_representable(word))
    return engine.options(analyze.mask_numbers, analyze.lowercase, *analyze.ngrams, stop_words)


def _native_vocabulary(vocabulary: Vocabulary, analyze: BuiltInAnalyzer) -> Any:  # noqa: ANN401
    """Return the engine's form of a vocabulary, which is made once per analyzer."""
    if analyze not in vocabulary.native_forms:
        # the column of a term that the engine cannot represent stays empty
        terms = [term if _is_representable(term) else "" for term in vocabulary.terms]
        frequent_first = np.argsort(-vocabulary.doc_freq, kind="stable")
        vocabulary.native_forms[analyze] = extension.engine.FixedVocabulary(  # type: ignore[union-attr]
            terms, _to_native_options(analyze), frequent_first
        )
    return vocabulary.native_forms[analyze]


def _is_representable(term: str) -> bool:
    """Return False if a term contains U+0000 or a lone surrogate, which the engine never finds."""
    try:
        return b"\0" not in term.encode("utf-8")
    except UnicodeEncodeError:
        return False


def _csr(csr_arrays: tuple[Any, Any, Any], shape: tuple[int, int]) -> Sparse:
    """Return a CSR matrix of values, columns and row ends whose rows are sorted and unique."""
    matrix = sparse.csr_matrix(csr_arrays, shape=shape)
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix
