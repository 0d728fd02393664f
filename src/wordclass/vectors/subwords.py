"""Vectors of terms nobody has seen, made of the pieces they are written with, as in fastText."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass.arrays import Floats32, Ints

_END_OF_SENTENCE = b"</s>"  # fastText's own mark for it, which has no pieces
_FNV_BASIS, _FNV_PRIME = 2166136261, np.uint32(16777619)
_BLOCK = 10_000  # words whose pieces are held at a time


@dataclass(frozen=True, eq=False)
class Subwords:
    """The vectors of pieces of words: n-grams of characters, found by their hash.

    Parameters
    ----------
    matrix : float32 array of shape (n_buckets, n_dims)
        At least one bucket; pieces whose hashes fall into the same bucket share its row.
    shortest, longest : int
        How many characters a piece has.

    Examples
    --------
    >>> Subwords(np.eye(2, dtype=np.float32), 3, 3).vector("a")
    array([1., 0.], dtype=float32)
    """

    matrix: Floats32
    shortest: int
    longest: int

    def vector(self, term: str) -> Floats32 | None:
        """Return the mean of the pieces' vectors, or None where a term is too short to have any."""
        sums, n_pieces = self.sums([term.encode("utf-8", "surrogatepass")])
        if not n_pieces[0]:
            return None
        mean: Floats32 = sums[0] / np.float32(n_pieces[0])
        mean.flags.writeable = False
        return mean

    def sums(self, words: Sequence[bytes]) -> tuple[Floats32, Ints]:
        """Add up the vectors of the pieces of each word.

        Returns
        -------
        sums : float32 array of shape (n_words, n_dims)
        n_pieces : int64 array of shape (n_words,)
        """
        sums = np.zeros((len(words), self.matrix.shape[1]), dtype=np.float32)
        n_pieces = np.zeros(len(words), dtype=np.int64)
        for start in range(0, len(words), _BLOCK):
            block = slice(start, start + _BLOCK)
            of_word, hashes = map(np.concatenate, zip(*self._pieces(words[block]), strict=True))
            buckets = (hashes % np.uint32(len(self.matrix))).astype(np.int64)
            counts: sparse.csr_matrix[np.float32] = sparse.csr_matrix(
                (np.ones(len(buckets), dtype=np.float32), (of_word, buckets)),
                shape=(len(words[block]), len(self.matrix)),
            )
            sums[block] = counts @ self.matrix
            n_pieces[block] = np.bincount(of_word, minlength=len(words[block]))
        return sums, n_pieces

    def _pieces(self, words: Sequence[bytes]) -> Iterator[tuple[Ints, NDArray[np.uint32]]]:
        """Give the pieces of every length: the number of their word, and their hash (FNV-1a)."""
        # marks around a word, so that the pieces at its start and end differ from those inside
        marked = [b"" if word == _END_OF_SENTENCE else b"<%s>" % word for word in words]
        # signed, as fastText takes bytes: those from 128 on set the upper bits of a hash as well
        units = np.frombuffer(b"".join(marked), dtype=np.int8).astype(np.int32).view(np.uint32)
        # bytes 10xxxxxx go on with a character, all others start one
        firsts = np.flatnonzero((units & 0xC0) != 0x80)
        n_bytes = np.diff(firsts, append=len(units))
        of_word = np.repeat(np.arange(len(words)), [len(word) for word in marked])[firsts]
        ends = np.cumsum(np.bincount(of_word, minlength=len(words)))
        is_inside = (np.diff(of_word, prepend=-1) == 0) & (np.diff(of_word, append=-1) == 0)
        starts = np.arange(len(firsts))  # the characters that pieces start at
        hashes = np.full(len(starts), _FNV_BASIS, dtype=np.uint32)
        yield of_word[:0], hashes[:0]  # there may be no pieces at all
        for length in range(1, self.longest + 1):
            fits = starts + length <= ends[of_word[starts]]
            starts, hashes = starts[fits], hashes[fits]
            if not len(starts):
                return
            last = starts + length - 1
            for k in range(int(n_bytes[last].max())):  # one more character
                more = np.flatnonzero(n_bytes[last] > k)
                hashes[more] = (hashes[more] ^ units[firsts[last[more]] + k]) * _FNV_PRIME
            if length >= self.shortest:
                is_piece = is_inside[last] | (length > 1)  # a mark alone is none
                yield of_word[starts[is_piece]], hashes[is_piece]
