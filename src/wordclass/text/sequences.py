"""Texts as sequences of token ids, which are the input of networks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from wordclass.arrays import Ints
from wordclass.options import check_int, check_one_of

Side = Literal["left", "right"]


@dataclass(frozen=True, eq=False)
class IdBatch:
    """Texts as rows of token ids that are padded to the length of the longest text.

    `EmbeddingMatrix.index` makes such batches.

    Parameters
    ----------
    ids : int64 array of shape (b, l)
        Ids of the tokens. There is at least one column, even if all texts are empty.
    lengths : int64 array of shape (b,)
        Number of tokens of each text, without padding. It is 0 for an empty text.

    See Also
    --------
    EmbeddingMatrix.index : Make a batch from texts.

    Examples
    --------
    >>> import wordclass as wc
    >>> U = wc.WordVectors.of(["moon", "tax"], [[1, 2], [3, 4]])
    >>> batch = wc.EmbeddingMatrix.of(U).index(["moon tax moon", "tax"])
    >>> batch.ids.tolist(), batch.lengths.tolist()
    ([[0, 1, 0], [1, 3, 3]], [3, 1])
    >>> len(batch)
    2
    """

    ids: Ints
    lengths: Ints

    @classmethod
    def of(
        cls, flat: Ints, ends: Ints, *, padding: int, max_length: int, pad: Side = "right"
    ) -> "IdBatch":
        """Make a batch from the concatenated ids of several texts.

        Parameters
        ----------
        flat : int64 array
            Ids of all tokens, text after text.
        ends : int64 array of shape (b + 1,)
            Position after the last token of each text. The first number is 0.
        padding : int
            Id that fills up short texts.
        max_length : int
            Maximum number of tokens per text. Later tokens are dropped.
        pad : {"right", "left"}, default="right"
            Side of the text on which padding is added.

        Returns
        -------
        IdBatch
            The batch.

        Raises
        ------
        InputError
            `max_length` is not a positive integer, or `pad` is unknown.

        See Also
        --------
        EmbeddingMatrix.index : Make a batch from texts.

        Examples
        --------
        >>> import numpy as np
        >>> flat = np.array([7, 8, 9, 7])
        >>> ends = np.array([0, 3, 4])
        >>> IdBatch.of(flat, ends, padding=0, max_length=2).ids.tolist()
        [[7, 8], [7, 0]]
        """
        return Sequences(flat, ends).truncate(max_length).padded(padding, pad)

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True, eq=False)
class Sequences:
    """Token ids of several texts in one array, without padding.

    Parameters
    ----------
    ids : int64 array
        Ids of all tokens, text after text.
    ends : int64 array of shape (n + 1,)
        Position after the last token of each text. The first number is 0.

    Examples
    --------
    >>> texts = Sequences(np.array([7, 8, 9, 7]), np.array([0, 3, 3, 4]))
    >>> texts.truncate(2).part([2, 0]).ids.tolist()
    [7, 7, 8]
    >>> batch = texts.truncate(2).padded(1)
    >>> batch.ids.tolist(), batch.lengths.tolist()
    ([[7, 8], [1, 1], [7, 1]], [2, 0, 1])
    """

    ids: Ints
    ends: Ints

    @property
    def lengths(self) -> Ints:
        """Number of tokens of each text (n,)."""
        return np.diff(self.ends)

    def truncate(self, max_length: int) -> "Sequences":
        """Return the first `max_length` tokens of each text."""
        check_int("max_length", max_length, 1)
        return self._slice(self.ends[:-1], np.minimum(self.lengths, max_length))

    def part(self, rows: Ints | Sequence[int]) -> "Sequences":
        """Return the texts with these row numbers, in this order."""
        selected = np.asarray(rows, np.int64)
        return self._slice(self.ends[:-1][selected], self.lengths[selected])

    def _slice(self, starts: Ints, lengths: Ints) -> "Sequences":
        ends = np.concatenate(([0], np.cumsum(lengths)))
        positions = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], lengths)
        return Sequences(self.ids[positions], ends)

    def padded(self, padding: int, pad: Side = "right") -> IdBatch:
        """Return the texts as rows of equal length.

        Parameters
        ----------
        padding : int
            Id that fills up short texts.
        pad : {"right", "left"}, default="right"
            Side of the text on which padding is added. The paper's experiments used "left".
        """
        check_one_of("pad", pad, ("left", "right"))
        lengths = self.lengths
        positions = np.arange(max(1, int(lengths.max(initial=0))))
        # tokens and the true values of the mask are both in the order of the texts
        is_token = (positions if pad == "right" else positions[::-1]) < lengths[:, None]
        ids = np.full(is_token.shape, padding, np.int64)
        ids[is_token] = self.ids
        return IdBatch(ids, lengths)

    def __len__(self) -> int:
        return len(self.ends) - 1
