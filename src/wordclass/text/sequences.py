"""From texts to the numbers of their tokens, in order: what networks read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from wordclass.arrays import Ints
from wordclass.errors import InputError

Side = Literal["left", "right"]


@dataclass(frozen=True, eq=False)
class IdBatch:
    """Texts as rows of ids, padded to the longest of them.

    Parameters
    ----------
    ids
        Int64 of shape (b, l), l at least 1, so that a batch of empty texts is a matrix too.
    lengths
        Int64 of shape (b,): how many ids of each row stand for tokens; 0 for an empty text.

    Examples
    --------
    >>> batch = IdBatch.of(np.array([7, 8, 9, 7]), np.array([0, 3, 3, 4]), padding=1, max_length=2)
    >>> batch.ids.tolist(), batch.lengths.tolist()
    ([[7, 8], [1, 1], [7, 1]], [2, 0, 1])
    """

    ids: Ints
    lengths: Ints

    @classmethod
    def of(
        cls, flat: Ints, ends: Ints, *, padding: int, max_length: int, pad: Side = "right"
    ) -> "IdBatch":
        """Put the ids of texts that follow each other below each other.

        Parameters
        ----------
        flat
            The ids of all tokens, text after text.
        ends
            (b + 1,) where each text ends; the first is 0.
        padding
            The id that fills up short texts.
        max_length
            Of a longer text the first so many tokens are kept.
        pad
            Where the padding goes: "right", behind the text, or "left" as in the paper's runs.
        """
        if isinstance(max_length, bool) or not isinstance(max_length, int) or max_length < 1:
            raise InputError(f"max_length is {max_length!r}; expected a whole number, 1 or more")
        if pad not in ("left", "right"):
            raise InputError(f"pad is {pad!r}; expected 'left' or 'right'")
        sizes = np.diff(ends)
        lengths = np.minimum(sizes, max_length).astype(np.int64)
        longest = max(1, int(lengths.max(initial=0)))
        places = np.arange(longest)
        # True where a token stands; tokens and places are both in the order of the texts
        is_token = places < lengths[:, None]
        if pad == "left":
            is_token = is_token[:, ::-1]
        ids = np.full((len(lengths), longest), padding, np.int64)
        ids[is_token] = flat[np.arange(len(flat)) - np.repeat(ends[:-1], sizes) < max_length]
        return cls(ids, lengths)

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True, eq=False)
class Sequences:
    """Texts as ids one after the other, without padding.

    Parameters
    ----------
    ids
        Int64, of all tokens, text after text.
    ends
        Int64 of shape (n + 1,): where each text ends; the first is 0.

    Examples
    --------
    >>> texts = Sequences(np.array([7, 8, 9, 7]), np.array([0, 3, 3, 4]))
    >>> texts.cut(2).part([2, 0]).ids.tolist()
    [7, 7, 8]
    """

    ids: Ints
    ends: Ints

    @property
    def lengths(self) -> Ints:
        """How many tokens each text has (n,)."""
        return np.diff(self.ends)

    def cut(self, max_length: int) -> "Sequences":
        """Keep the first so many tokens of each text."""
        if isinstance(max_length, bool) or not isinstance(max_length, int) or max_length < 1:
            raise InputError(f"max_length is {max_length!r}; expected a whole number, 1 or more")
        lengths = np.minimum(self.lengths, max_length)
        return self._taken(self.ends[:-1], lengths)

    def part(self, rows: Ints | Sequence[int]) -> "Sequences":
        """Return some of the texts, in the order given."""
        chosen = np.asarray(rows, np.int64)
        return self._taken(self.ends[:-1][chosen], self.lengths[chosen])

    def _taken(self, starts: Ints, lengths: Ints) -> "Sequences":
        ends = np.concatenate(([0], np.cumsum(lengths)))
        places = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], lengths)
        return Sequences(self.ids[places], ends)

    def padded(self, padding: int, pad: Side = "right") -> IdBatch:
        """Return the texts below each other, filled up with the id of the padding."""
        longest = max(1, int(self.lengths.max(initial=0)))
        return IdBatch.of(self.ids, self.ends, padding=padding, max_length=longest, pad=pad)

    def __len__(self) -> int:
        return len(self.ends) - 1
