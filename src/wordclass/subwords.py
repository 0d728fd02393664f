"""Vectors of terms nobody has seen, made of the pieces they are written with, as in fastText."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass.arrays import Floats32, Ints

# around a word, so that the pieces at its start and end differ from those inside
_START, _END = b"<", b">"
_END_OF_SENTENCE = b"</s>"  # fastText's own mark for it, which has no pieces
_FNV_BASIS, _FNV_PRIME = 2166136261, 16777619
_BLOCK = 10_000  # words whose pieces are held at a time


@dataclass(frozen=True, eq=False)
class Subwords:
    """The vectors of pieces of words: n-grams of characters, found by their hash.

    Parameters
    ----------
    matrix
        Float32 of shape (n_buckets, n_dims), n_buckets at least 1; pieces whose hashes fall into
        the same bucket share its row.
    shortest, longest
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
        sums : float32 of shape (n_words, n_dims)
        n_pieces : int64 of shape (n_words,)
        """
        sums = np.zeros((len(words), self.matrix.shape[1]), dtype=np.float32)
        n_pieces = np.zeros(len(words), dtype=np.int64)
        for start in range(0, len(words), _BLOCK):
            block = slice(start, min(start + _BLOCK, len(words)))
            sums[block], n_pieces[block] = self._block_sums(words[block])
        return sums, n_pieces

    def _block_sums(self, words: Sequence[bytes]) -> tuple[Floats32, Ints]:
        found = list(self._pieces(words))
        rows = np.concatenate([rows for rows, _ in found]) if found else np.zeros(0, np.int64)
        hashes = np.concatenate([each for _, each in found]) if found else np.zeros(0, np.uint32)
        buckets = (hashes % np.uint32(len(self.matrix))).astype(np.int64)
        counts: sparse.csr_matrix[np.float32] = sparse.csr_matrix(
            (np.ones(len(rows), dtype=np.float32), (rows, buckets)),
            shape=(len(words), len(self.matrix)),
        )
        return counts @ self.matrix, np.bincount(rows, minlength=len(words))

    def _pieces(self, words: Sequence[bytes]) -> Iterator[tuple[Ints, NDArray[np.uint32]]]:
        """Give the pieces of every length: the number of their word, and their hash."""
        text = _Characters(words)
        starts = np.arange(len(text.word_of))  # the characters that pieces start at
        hashes = np.full(len(starts), _FNV_BASIS, dtype=np.uint32)
        for length in range(1, self.longest + 1):
            last = starts + length - 1
            fits = last < text.ends[text.word_of[starts]]
            starts, hashes, last = starts[fits], hashes[fits], last[fits]
            if not len(starts):
                return
            text.hash_on(hashes, last)
            if length >= self.shortest:
                # a mark alone is no piece
                is_piece = (length > 1) | ~text.is_mark[last]
                yield text.word_of[starts[is_piece]], hashes[is_piece]


class _Characters:
    """The characters of many words in a row, a mark before and behind each word."""

    def __init__(self, words: Sequence[bytes]) -> None:
        marked = [b"" if w == _END_OF_SENTENCE else _START + w + _END for w in words]
        self._bytes = np.frombuffer(b"".join(marked), dtype=np.uint8)
        sizes = np.array([len(word) for word in marked], dtype=np.int64)
        word_of_byte = np.repeat(np.arange(len(words)), sizes)
        # bytes 10xxxxxx go on with a character, all others start one
        self._firsts = np.flatnonzero((self._bytes & 0xC0) != 0x80)
        self._sizes = np.diff(self._firsts, append=len(self._bytes))
        self.word_of: Ints = word_of_byte[self._firsts]
        self.ends: Ints = np.cumsum(np.bincount(self.word_of, minlength=len(words)))
        self.is_mark = np.zeros(len(self._firsts), dtype=bool)
        self.is_mark[self.ends[sizes > 0] - 1] = True
        self.is_mark[np.flatnonzero(np.diff(self.word_of, prepend=-1))] = True

    def hash_on(self, hashes: NDArray[np.uint32], characters: Ints) -> None:
        """Take one more character, of one byte or several, into each hash (FNV-1a)."""
        sizes = self._sizes[characters]
        for k in range(int(sizes.max(initial=0))):
            more = np.flatnonzero(sizes > k)
            # fastText takes bytes as signed, so those from 128 on set the upper bits as well
            signed = self._bytes[self._firsts[characters[more]] + k].view(np.int8)
            mixed = hashes[more] ^ signed.astype(np.int32).view(np.uint32)
            hashes[more] = mixed * np.uint32(_FNV_PRIME)
