"""From texts to counted terms: the place where a native engine takes over the default path.

Two questions are answered here, both by plain Python, which is the specification: which terms
occur how often in each text, and the same for terms that are given.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass import progress
from wordclass.arrays import Sparse, to_sparse
from wordclass.errors import InputError
from wordclass.text.analyzer import Analyze

_BLOCK = 2_000  # documents between two reports of progress, and the unit of parallel work

CountedBlock = tuple[list[str], Sparse]
Counted = TypeVar("Counted")


def count(
    texts: list[str], analyze: Analyze, n_jobs: int | None = None
) -> tuple[list[str], Sparse]:
    """Count every term of every text.

    Returns
    -------
    terms : list of str
        Sorted by code point.
    occurrences : sparse int32 matrix of shape (n, len(terms))
        Rows sorted.
    """
    blocks = _over_blocks(texts, lambda block: _count_block(block, analyze), n_jobs)
    return merge_counted(blocks)


def count_known(
    texts: list[str], analyze: Analyze, index: Mapping[str, int], n_jobs: int | None = None
) -> Sparse:
    """Count the terms of each text that have a column; all others are passed over.

    Returns
    -------
    occurrences : sparse int32 matrix of shape (n, len(index))
        Rows sorted.
    """
    n_terms = len(index)
    blocks = _over_blocks(texts, lambda block: _count_known(block, analyze, index), n_jobs)
    return _stacked(blocks, n_terms)


def merge_counted(blocks: Iterable[CountedBlock]) -> CountedBlock:
    """Put counted blocks below each other, with one sorted list of terms for all of them."""
    parts = list(blocks)
    terms = sorted(set().union(*(block_terms for block_terms, _ in parts)))
    column = {term: j for j, term in enumerate(terms)}
    moved = []
    for block_terms, occurrences in parts:
        columns = np.fromiter(map(column.__getitem__, block_terms), np.int32, len(block_terms))
        matrix = sparse.csr_matrix(
            (occurrences.data, columns[occurrences.indices], occurrences.indptr),
            shape=(occurrences.shape[0], len(terms)),
        )
        matrix.sort_indices()
        moved.append(matrix)
    return terms, _stacked(moved, len(terms))


def _count_block(texts: list[str], analyze: Analyze) -> CountedBlock:
    index: defaultdict[str, int] = defaultdict()
    index.default_factory = index.__len__  # a new term gets the next number
    occurrences = _counted(texts, analyze, index.__getitem__)
    return list(index), _matrix(*occurrences, len(index))


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
