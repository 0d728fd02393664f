"""From texts to counted terms: by the native engine where it serves, else by plain Python.

Two questions are answered here: which terms occur how often in each text, and the same for terms
that are given. Plain Python is the specification; the engine is tested against it.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass import native, progress
from wordclass.arrays import Flags, Ints, Sparse, to_sparse
from wordclass.errors import InputError
from wordclass.text import native_counting
from wordclass.text.analyzer import Analyze, Analyzer
from wordclass.text.native_counting import NativeCountedTexts, NativeTermCounter
from wordclass.vocabulary import TermCounts, Vocabulary

_BLOCK = 2_000  # documents between two reports of progress, and the unit of parallel work

Counted = TypeVar("Counted")


@dataclass(frozen=True, eq=False)
class CountedTexts:
    """Every term of every text: terms sorted by code point, occurrences with sorted rows."""

    terms: list[str]
    occurrences: Sparse  # int32 (n, len(terms))

    @property
    def n_docs(self) -> int:
        """How many texts."""
        return int(self.occurrences.shape[0])

    @cached_property
    def doc_freq(self) -> Ints:
        """In how many texts each term occurs."""
        return np.bincount(self.occurrences.indices, minlength=len(self.terms)).astype(np.int64)

    @cached_property
    def term_freq(self) -> Ints:
        """How often each term occurs in all texts."""
        columns, counts = self.occurrences.indices, self.occurrences.data
        return np.bincount(columns, counts, minlength=len(self.terms)).astype(np.int64)

    def sorted_terms(self, kept: Flags) -> tuple[list[str], Ints]:
        """Return the kept terms, sorted by code point, and their places here."""
        places = np.flatnonzero(kept)
        return [self.terms[j] for j in places], places

    def occurrences_of(self, places: Ints) -> Sparse:
        """Return the occurrences (n, len(places)) of terms."""
        return self.occurrences[:, places]


def count(
    texts: list[str], analyze: Analyze, n_jobs: int | None = None
) -> CountedTexts | NativeCountedTexts:
    """Count every term of every text."""
    if isinstance(analyze, Analyzer) and native_counting.serves(analyze):
        # the engine says nothing on the way; a bar shows at least that it is at work
        progress.report("counting words", 0, 1)
        counted = NativeCountedTexts(texts, analyze, n_jobs)
        progress.report("counting words", 1, 1)
        return counted
    native.warn_if_missing()
    return count_in_python(texts, analyze, n_jobs)


def count_in_python(texts: list[str], analyze: Analyze, n_jobs: int | None = None) -> CountedTexts:
    """Count every term of every text, with any analyzer."""
    blocks = _over_blocks(texts, lambda block: _count_block(block, analyze), n_jobs)
    return merge_counted(blocks)


class PythonTermCounter:
    """Counts the terms of texts that come block by block, and forgets the texts."""

    def __init__(self, analyze: Analyze) -> None:
        self._analyze = analyze
        self._n_docs = 0
        self._doc_freq: Counter[str] = Counter()
        self._term_freq: Counter[str] = Counter()

    def add(self, texts: list[str]) -> None:
        """Count some more texts."""
        for text in texts:
            tokens = self._analyze(text)
            self._term_freq.update(tokens)
            self._doc_freq.update(set(tokens))
        self._n_docs += len(texts)

    def vocabulary(
        self, min_docs: int | float, max_df: int | float, max_terms: int | None
    ) -> Vocabulary:
        """Return the terms to keep."""
        terms = sorted(self._doc_freq)
        doc_freq = np.fromiter((self._doc_freq[term] for term in terms), np.int64, len(terms))
        term_freq = np.fromiter((self._term_freq[term] for term in terms), np.int64, len(terms))
        counts = TermCounts(self._n_docs, terms, doc_freq, term_freq)
        return counts.vocabulary(min_docs, max_df, max_terms)


def term_counter(analyze: Analyze, n_jobs: int | None) -> PythonTermCounter | NativeTermCounter:
    """Return a counter of terms for texts that are not all at hand at once."""
    if isinstance(analyze, Analyzer) and native_counting.serves(analyze):
        return NativeTermCounter(analyze, n_jobs)
    native.warn_if_missing()
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
    if isinstance(analyze, Analyzer) and native_counting.serves(analyze):
        return native_counting.count_known(texts, analyze, vocabulary, n_jobs)
    native.warn_if_missing()
    return count_known_in_python(texts, analyze, vocabulary.index, n_jobs)


def count_known_in_python(
    texts: list[str], analyze: Analyze, index: Mapping[str, int], n_jobs: int | None = None
) -> Sparse:
    """Count the terms that have a column, with any analyzer."""
    blocks = _over_blocks(texts, lambda block: _count_known(block, analyze, index), n_jobs)
    return _stacked(blocks, len(index))


def merge_counted(blocks: Iterable[CountedTexts]) -> CountedTexts:
    """Put counted texts below each other, with one sorted list of terms for all of them."""
    parts = list(blocks)
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
    occurrences = _counted(texts, analyze, index.__getitem__)
    return CountedTexts(list(index), _matrix(*occurrences, len(index)))


def _count_known(texts: list[str], analyze: Analyze, index: Mapping[str, int]) -> Sparse:
    occurrences = _counted(texts, analyze, index.get)
    return _matrix(*occurrences, len(index))


def _counted(
    texts: list[str], analyze: Analyze, column_of: Callable[[str], int | None]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the column of every known token, text after text, and where each text ends."""
    columns = array("i")
    ends = array("q", [0])
    for k, text in enumerate(texts):
        try:
            # 0 is a column too, so None is sifted out by identity, not by truth
            found = [j for j in map(column_of, analyze(text)) if j is not None]
        except TypeError as error:
            raise InputError(
                f"the analyzer must return a sequence of str for every text; for text {k} it "
                f"did not ({error})"
            ) from error
        columns.extend(found)
        ends.append(len(columns))
    return np.frombuffer(columns, np.int32), np.frombuffer(ends, np.int64)


def _matrix(columns: NDArray[np.int32], ends: NDArray[np.int64], n_terms: int) -> Sparse:
    ones = np.ones(len(columns), np.int32)
    matrix = sparse.csr_matrix((ones, columns.copy(), ends), shape=(len(ends) - 1, n_terms))
    matrix.sum_duplicates()  # sorts the rows on the way
    return matrix


def _stacked(blocks: Iterable[Sparse], n_terms: int) -> Sparse:
    parts = list(blocks)
    if not parts:
        return to_sparse(np.zeros((0, n_terms))).astype(np.int32)
    return parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr")


def _over_blocks(
    texts: list[str], work: Callable[[list[str]], Counted], n_jobs: int | None
) -> list[Counted]:
    """Do the work for each block of texts, in order; in several processes where asked."""
    blocks = [texts[start : start + _BLOCK] for start in range(0, len(texts), _BLOCK)]
    if n_jobs in (None, 1) or len(blocks) == 1:
        return [work(block) for block in progress.over(blocks, "counting words")]
    import joblib

    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    results = parallel(joblib.delayed(work)(block) for block in blocks)
    steps = progress.over(blocks, "counting words")
    return [result for _, result in zip(steps, results, strict=True)]
