"""From texts to the numbers of their tokens, in order: what networks read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from wordclass.arrays import Ints
from wordclass.options import check_int, check_one_of

Side = Literal["left", "right"]


@dataclass(frozen=True, eq=False)
class IdBatch:
    """Texts as rows of ids, padded to the longest of them.

    Parameters
    ----------
    ids : int64 array of shape (b, l)
        l is at least 1, so that a batch of empty texts is a matrix too.
    lengths : int64 array of shape (b,)
        How many ids of each row stand for tokens; 0 for an empty text.
    """

    ids: Ints
    lengths: Ints

    @classmethod
    def of(
        cls, flat: Ints, ends: Ints, *, padding: int, max_length: int, pad: Side = "right"
    ) -> "IdBatch":
        """Put the ids of texts that follow each other below each other; see `Sequences`."""
        return Sequences(flat, ends).cut(max_length).padded(padding, pad)

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True, eq=False)
class Sequences:
    """Texts as ids one after the other, without padding.

    Parameters
    ----------
    ids : int64 array
        Of all tokens, text after text.
    ends : int64 array of shape (n + 1,)
        Where each text ends; the first is 0.

    Examples
    --------
    >>> texts = Sequences(np.array([7, 8, 9, 7]), np.array([0, 3, 3, 4]))
    >>> texts.cut(2).part([2, 0]).ids.tolist()
    [7, 7, 8]
    >>> batch = texts.cut(2).padded(1)
    >>> batch.ids.tolist(), batch.lengths.tolist()
    ([[7, 8], [1, 1], [7, 1]], [2, 0, 1])
    """

    ids: Ints
    ends: Ints

    @property
    def lengths(self) -> Ints:
        """How many tokens each text has (n,)."""
        return np.diff(self.ends)

    def cut(self, max_length: int) -> "Sequences":
        """Keep the first so many tokens of each text."""
        check_int("max_length", max_length, 1)
        return self._taken(self.ends[:-1], np.minimum(self.lengths, max_length))

    def part(self, rows: Ints | Sequence[int]) -> "Sequences":
        """Return some of the texts, in the order given."""
        chosen = np.asarray(rows, np.int64)
        return self._taken(self.ends[:-1][chosen], self.lengths[chosen])

    def _taken(self, starts: Ints, lengths: Ints) -> "Sequences":
        ends = np.concatenate(([0], np.cumsum(lengths)))
        places = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], lengths)
        return Sequences(self.ids[places], ends)

    def padded(self, padding: int, pad: Side = "right") -> IdBatch:
        """Return the texts below each other.

        Parameters
        ----------
        padding : int
            The id that fills up short texts.
        pad : "right" or "left", default="right"
            Where the padding goes: behind the text, or before it as in the paper's runs.
        """
        check_one_of("pad", pad, ("left", "right"))
        lengths = self.lengths
        places = np.arange(max(1, int(lengths.max(initial=0))))
        # True where a token stands; tokens and places are both in the order of the texts
        is_token = (places if pad == "right" else places[::-1]) < lengths[:, None]
        ids = np.full(is_token.shape, padding, np.int64)
        ids[is_token] = self.ids
        return IdBatch(ids, lengths)

    def __len__(self) -> int:
        return len(self.ends) - 1
