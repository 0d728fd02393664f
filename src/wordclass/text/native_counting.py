"""Counting by the native engine, behind the same interface as plain Python's."""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass.arrays import Flags, Floats, Ints, Sparse
from wordclass.counts import WordClassCounts, label_arrays
from wordclass.errors import InputError
from wordclass.native import engine, n_threads
from wordclass.text.analyzer import TOKEN_PATTERN, Analyze, Analyzer, mask_and_lower
from wordclass.vocabulary import TermCounts, Vocabulary, kept_terms
from wordclass.weightings import tfidf

_LONGEST_NGRAM = 3
_WORD = re.compile(r"\w")
_WIDTH_ENDS = {1: 0x100, 2: 0x10000, 4: 0x110000}  # the characters of texts, by bytes a character
_learned = 0x80  # ASCII is known to the engine
_learning = Lock()


def serves(analyze: Analyze) -> bool:
    """Whether the engine gives the same tokens as this analyzer."""
    return (
        engine is not None
        and type(analyze) is Analyzer  # a subclass may cut texts in another way
        and analyze.token_pattern == TOKEN_PATTERN
        and analyze.strip_accents is None
        and analyze.ngrams[1] <= _LONGEST_NGRAM
    )


class NativeCountedTexts:
    """Every term of every text, with ids in no order; which become columns is chosen later."""

    def __init__(self, texts: list[str], analyze: Analyzer, n_jobs: int | None) -> None:
        with _told_as_input_errors():
            documents = _documents(texts, analyze)
            self._counted = engine.CountedTexts(documents, _options(analyze), n_threads(n_jobs))  # type: ignore[union-attr]
        self.n_docs: int = self._counted.n_docs
        self.doc_freq: Ints = self._counted.doc_freq()
        self.term_freq: Ints = self._counted.term_freq()

    def sorted_terms(self, kept: Flags) -> tuple[list[str], Ints]:
        """Return the kept terms, sorted by code point, and their ids."""
        ids, terms = self._counted.sorted(np.flatnonzero(kept))
        return terms, ids

    def occurrences_of(self, ids: Ints) -> Sparse:
        """Return the occurrences (n, len(ids)) of terms; they can be had once."""
        with _told_as_input_errors():
            parts = self._counted.occurrences(self._columns(ids), len(ids))
        return _matrix(parts, (self.n_docs, len(ids)))

    def tfidf_of(self, ids: Ints, vocabulary: Vocabulary) -> Sparse:
        """Return X (n, v) weighted by tf-idf, made in one go; in place of `occurrences_of`."""
        with _told_as_input_errors():
            parts = self._counted.tfidf_rows(self._columns(ids), *self._tfidf_tables(vocabulary))
        return _matrix(parts, (self.n_docs, len(ids)))

    def tfidf_counts(
        self, ids: Ints, vocabulary: Vocabulary, Y: Sparse, needs: Collection[str]
    ) -> WordClassCounts:
        """Return the sums over documents weighted by tf-idf, without making X.

        In place of `occurrences_of`; `ids` are the terms of the vocabulary.
        """
        sums = self._counted.tfidf_sums(
            self._columns(ids),
            *self._tfidf_tables(vocabulary),
            *label_arrays(Y),
            Y.shape[1],
            *("joint_weight" in needs, "joint_docs" in needs),
        )
        return WordClassCounts.of_sums(Y, sums)

    def _tfidf_tables(self, vocabulary: Vocabulary) -> tuple[Floats, Floats]:
        idf = tfidf.inverse_document_frequency(vocabulary)
        return idf, tfidf.damped_counts(self._counted.max_count)

    def _columns(self, ids: Ints) -> NDArray[np.int32]:
        columns = np.full(len(self.doc_freq), -1, np.int32)
        columns[ids] = np.arange(len(ids), dtype=np.int32)
        return columns


class NativeTermCounter:
    """Counts the terms of texts that come block by block, and forgets the texts."""

    def __init__(self, analyze: Analyzer, n_jobs: int | None) -> None:
        self._analyze = analyze
        self._counter = engine.TermCounter(_options(analyze), n_threads(n_jobs))  # type: ignore[union-attr]

    def add(self, texts: list[str]) -> None:
        """Count some more texts."""
        with _told_as_input_errors():
            self._counter.add(_documents(texts, self._analyze))

    def vocabulary(
        self, min_docs: int | float, max_df: int | float, max_terms: int | None
    ) -> Vocabulary:
        """Return the terms to keep; no texts can be added afterwards."""
        self._counter.finish()
        n_docs, doc_freq = self._counter.n_docs, self._counter.doc_freq()
        kept = kept_terms(n_docs, doc_freq, min_docs, max_df)
        ids, terms = self._counter.sorted(np.flatnonzero(kept))
        counts = TermCounts(n_docs, terms, doc_freq[ids], self._counter.term_freq()[ids])
        return counts.vocabulary(1, 1.0, max_terms)


def count_known(
    texts: list[str], analyze: Analyzer, vocabulary: Vocabulary, n_jobs: int | None
) -> Sparse:
    """Count the terms of the vocabulary; rows sorted."""
    with _told_as_input_errors():
        parts = _fixed(vocabulary, analyze).count(_documents(texts, analyze), n_threads(n_jobs))
    return _matrix(parts, (len(texts), len(vocabulary)))


def index_texts(
    texts: list[str], analyze: Analyzer, vocabulary: Vocabulary, n_jobs: int | None
) -> tuple[NDArray[np.int32], Ints]:
    """Return the column of every token, -1 for one outside the vocabulary, and the texts' ends.

    Only for single words: n-grams of a text are in no one order.
    """
    if analyze.ngrams != (1, 1):
        raise InputError(f"texts become the ids of single words, not of ngrams={analyze.ngrams}")
    with _told_as_input_errors():
        indexed: tuple[NDArray[np.int32], Ints] = _fixed(vocabulary, analyze).index(
            _documents(texts, analyze), n_threads(n_jobs)
        )
    return indexed


def _documents(texts: list[str], analyze: Analyzer) -> Any:  # noqa: ANN401 - of the engine
    documents = engine.Documents(texts)  # type: ignore[union-attr]
    _learn_characters(_WIDTH_ENDS[documents.width()])
    if analyze.lowercase:
        # their lower case is not made character by character: only Python knows
        for k in documents.special():
            documents.replace(k, mask_and_lower(texts[k], analyze.mask_numbers))
    return documents


def _learn_characters(end: int) -> None:
    """Tell the engine which characters make words, and their lower case, up to `end`."""
    global _learned
    with _learning:  # each range is written once, before anybody reads it
        if end > _learned:
            engine.learn_characters(_learned, folded_characters(_learned, end))  # type: ignore[union-attr]
            _learned = end


def folded_characters(first: int, end: int) -> NDArray[np.uint32]:
    """Return the lower case of each character as this Python has it; 0 for no word character.

    The two characters without a lower case of their own stay what they are.
    """
    everything = "".join(map(chr, range(first, end)))
    folded = np.zeros(end - first, np.uint32)
    for match in _WORD.finditer(everything):
        lower = match[0].lower()
        folded[match.start()] = ord(lower) if len(lower) == 1 else ord(match[0])
    return folded


def _options(analyze: Analyzer) -> Any:  # noqa: ANN401 - of the engine
    stop_words = sorted(word for word in analyze.stop_words if _can_be_met(word))
    return engine.options(  # type: ignore[union-attr]
        analyze.mask_numbers, analyze.lowercase, *analyze.ngrams, stop_words
    )


def _fixed(vocabulary: Vocabulary, analyze: Analyzer) -> Any:  # noqa: ANN401 - of the engine
    """Return the engine's form of a vocabulary, made once."""
    if analyze not in vocabulary.native_forms:
        # the column of a term that is never met stays empty
        terms = [term if _can_be_met(term) else "" for term in vocabulary.terms]
        made = engine.FixedVocabulary(terms, _options(analyze))  # type: ignore[union-attr]
        vocabulary.native_forms[analyze] = made
    return vocabulary.native_forms[analyze]


def _can_be_met(term: str) -> bool:
    """Whether the engine could meet a term: no token has a NUL or a lone surrogate."""
    try:
        return b"\0" not in term.encode("utf-8")
    except UnicodeEncodeError:
        return False


def _matrix(parts: tuple[Any, Any, Any], shape: tuple[int, int]) -> Sparse:
    matrix = sparse.csr_matrix(parts, shape=shape)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


@contextmanager
def _told_as_input_errors() -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(str(error)) from error
