"""Vectors of unknown words, computed from the vectors of their character n-grams as in fastText."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass.arrays import Floats32, Ints

_END_OF_SENTENCE = b"</s>"  # fastText's token for it, which has no subwords
_FNV_BASIS = 2166136261
_FNV_PRIME = np.uint32(16777619)
_BLOCK_WORDS = 10_000  # processed at a time


@dataclass(frozen=True, eq=False)
class Subwords:
    """Vectors of character n-grams, which are found by their hash.

    Parameters
    ----------
    matrix : float32 array of shape (n_buckets, n_dims)
        The vectors. N-grams whose hashes belong to the same bucket share a row. There is at least
        one bucket.
    shortest, longest : int
        Minimum and maximum number of characters of an n-gram.

    Examples
    --------
    >>> Subwords(np.eye(2, dtype=np.float32), 3, 3).vector("a")
    array([1., 0.], dtype=float32)
    """

    matrix: Floats32
    shortest: int
    longest: int

    def vector(self, term: str) -> Floats32 | None:
        """Return the mean vector of the n-grams of a term, or None if the term has no n-grams."""
        sums, n_ngrams = self.sums([term.encode("utf-8", "surrogatepass")])
        if not n_ngrams[0]:
            return None
        mean: Floats32 = sums[0] / np.float32(n_ngrams[0])
        mean.flags.writeable = False
        return mean

    def sums(self, words: Sequence[bytes]) -> tuple[Floats32, Ints]:
        """Add up the vectors of the n-grams of each word.

        Parameters
        ----------
        words : sequence of bytes
            Words in UTF-8.

        Returns
        -------
        sums : float32 array of shape (n_words, n_dims)
            Sum of the vectors for each word.
        n_ngrams : int64 array of shape (n_words,)
            Number of n-grams of each word.
        """
        sums = np.zeros((len(words), self.matrix.shape[1]), dtype=np.float32)
        n_ngrams = np.zeros(len(words), dtype=np.int64)
        for start in range(0, len(words), _BLOCK_WORDS):
            block = slice(start, start + _BLOCK_WORDS)
            word_numbers, hashes = map(np.concatenate, zip(*self._hash(words[block]), strict=True))
            buckets = (hashes % np.uint32(len(self.matrix))).astype(np.int64)
            counts: sparse.csr_matrix[np.float32] = sparse.csr_matrix(
                (np.ones(len(buckets), dtype=np.float32), (word_numbers, buckets)),
                shape=(len(words[block]), len(self.matrix)),
            )
            sums[block] = counts @ self.matrix
            n_ngrams[block] = np.bincount(word_numbers, minlength=len(words[block]))
        return sums, n_ngrams

    def _hash(self, words: Sequence[bytes]) -> Iterator[tuple[Ints, NDArray[np.uint32]]]:
        """Yield word numbers and FNV-1a hashes of all n-grams, one length after the other."""
        # marks around a word make n-grams at its start and end differ from those inside
        marked = [b"" if word == _END_OF_SENTENCE else b"<%s>" % word for word in words]
        # fastText uses signed bytes, so that bytes from 128 up set the upper bits of a hash, too
        units = np.frombuffer(b"".join(marked), dtype=np.int8).astype(np.int32).view(np.uint32)
        # bytes of the form 10xxxxxx continue a character, and all others start one
        character_starts = np.flatnonzero((units & 0xC0) != 0x80)
        n_bytes = np.diff(character_starts, append=len(units))
        word_of_byte = np.repeat(np.arange(len(words)), [len(word) for word in marked])
        word_numbers = word_of_byte[character_starts]
        word_ends = np.cumsum(np.bincount(word_numbers, minlength=len(words)))
        is_first = np.diff(word_numbers, prepend=-1) != 0
        is_last = np.diff(word_numbers, append=-1) != 0
        is_mark = is_first | is_last
        starts = np.arange(len(character_starts))  # first characters of the n-grams
        hashes = np.full(len(starts), _FNV_BASIS, dtype=np.uint32)
        yield word_numbers[:0], hashes[:0]  # at least one pair, even without n-grams
        for length in range(1, self.longest + 1):
            fits = starts + length <= word_ends[word_numbers[starts]]
            starts = starts[fits]
            hashes = hashes[fits]
            if not len(starts):
                return
            ends = starts + length - 1  # the character by which the n-grams grow
            for k in range(int(n_bytes[ends].max())):
                grown = np.flatnonzero(n_bytes[ends] > k)
                unit = units[character_starts[ends[grown]] + k]
                hashes[grown] = (hashes[grown] ^ unit) * _FNV_PRIME
            if length >= self.shortest:
                is_ngram = ~is_mark[ends] | (length > 1)  # a single mark is not an n-gram
                yield word_numbers[starts[is_ngram]], hashes[is_ngram]
