"""fastText's models (.bin): vectors of the words it knows, and subwords for all others.

Its vector of a word is the mean of the word's own row and those of its subwords. Only reading: a
model holds more than vectors. Told from word2vec's .bin by its first bytes.
"""

import struct
from pathlib import Path
from typing import Any

import numpy as np

from wordclass import progress
from wordclass.arrays import Floats32, find_nonfinite_row
from wordclass.storage.files import open_for_reading
from wordclass.vectors.formats._file import MOST_DIMS, Bytes, expect, first_rows, to_vectors
from wordclass.vectors.subwords import Subwords
from wordclass.vectors.word_vectors import WordVectors

ENDINGS = ()
MAGIC = (793712314).to_bytes(4, "little")

_SUPERVISED = 3
_CHUNK = 1 << 24
_REPORT_EVERY = 10_000
_QUANTIZED = "a quantized model, which is not read; take the .bin it was made from"

# dim ws epoch minCount neg wordNgrams loss model bucket minn maxn lrUpdateRate, then t
_SETTINGS = struct.Struct("<12id")
# words and labels, words, labels, tokens read in training, size of the table of pruned subwords,
# -1 where there is none
_DICTIONARY = struct.Struct("<iiiqq")
_ENTRY_END = struct.Struct("<qb")  # how often the word was read; 0 for a word, 1 for a label
_MATRIX_START = struct.Struct("<bqq")  # whether it is quantized, its shape


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read the vectors of these words, or of all the model knows.

    Whatever the terms, `WordVectors.subwords` makes vectors of all others, unless the model was
    trained without subwords; a word that was left out counts as never seen. Bytes that are not
    UTF-8, which published models contain, become escapes, as by Python's
    "backslashreplace".

    Raises
    ------
    FormatError
        The file is cut short, quantized, of an unknown version or no model of fastText's, or it
        holds a number that is not finite.
    """
    with open_for_reading(path) as stream:
        model = Bytes(stream)
        n_dims, n_buckets, shortest, longest = _read_settings(path, model)
        words = _read_words(path, model)
        is_quantized, *shape = _unpack(model, _MATRIX_START)
        expect(path, not is_quantized, _QUANTIZED)
        expected = [len(words) + n_buckets, n_dims]
        expect(path, shape == expected, f"damaged: a matrix of {shape}, expected {expected}")
        own = _read_matrix(model, len(words), n_dims)
        # without subwords the buckets, if there are any, are those of pairs of words
        pieces = _read_matrix(model, n_buckets, n_dims)
        _skip_output(path, model, n_dims)
    kept = first_rows((word.decode("utf-8", "backslashreplace") for word in words), terms)
    if len(kept) < len(words):
        rows = list(kept.values())
        own, words = own[rows], [words[row] for row in rows]
    if not longest:
        return to_vectors(path, kept, own, None)
    are_finite = find_nonfinite_row(pieces) is None
    expect(path, are_finite, "the vector of a subword holds a NaN or an infinity")
    subwords = Subwords(pieces, shortest, longest)
    means, n_pieces = subwords.sums(words)
    means += own
    means /= (n_pieces + 1).astype(np.float32)[:, None]
    return to_vectors(path, kept, means, None, subwords)


def _unpack(model: Bytes, layout: struct.Struct) -> tuple[Any, ...]:
    return layout.unpack(model.read(layout.size))


def _read_settings(path: Path, model: Bytes) -> tuple[int, int, int, int]:
    """Return n_dims, n_buckets, and the shortest and longest subword; 0 where there are none."""
    magic, version = model.read(4), int.from_bytes(model.read(4), "little")
    expect(path, magic == MAGIC, "no model of fastText's: its first bytes are others")
    expect(path, version in (11, 12), f"version {version} of fastText's format; expected 11 or 12")
    n_dims, *_, kind, n_buckets, shortest, longest, _, _ = _unpack(model, _SETTINGS)
    sizes = f"{n_dims} dimensions, {n_buckets} buckets for subwords"
    expect(path, 0 < n_dims <= MOST_DIMS and n_buckets >= 0, f"damaged: {sizes}")
    is_old_classifier = version == 11 and kind == _SUPERVISED  # these ignore their setting
    has_subwords = n_buckets > 0 and not is_old_classifier
    return n_dims, n_buckets, shortest, max(0, longest) if has_subwords else 0


def _read_words(path: Path, model: Bytes) -> list[bytes]:
    """Read the dictionary, where labels, if there are any, follow the words."""
    n_entries, n_words, n_labels, _, n_pruned = _unpack(model, _DICTIONARY)
    adds_up = min(n_words, n_labels) >= 0 and n_entries == n_words + n_labels
    sizes = f"{n_entries} entries for {n_words} words, {n_labels} labels"
    expect(path, adds_up, f"damaged: {sizes}")
    expect(path, n_pruned == -1, _QUANTIZED)
    words = []
    for row in range(n_entries):
        words.append(model.read_until(b"\0"))
        _, is_label = _unpack(model, _ENTRY_END)
        if is_label != (row >= n_words):
            expect(path, False, f"damaged: entry {row + 1} of the dictionary is of the wrong kind")
        if row % _REPORT_EVERY == 0:
            progress.report("reading the dictionary", row, n_entries)
    return words[:n_words]


def _read_matrix(model: Bytes, n_rows: int, n_dims: int) -> Floats32:
    return np.frombuffer(model.read(4 * n_rows * n_dims), dtype="<f4").reshape(n_rows, n_dims)


def _skip_output(path: Path, model: Bytes, n_dims: int) -> None:
    """Read the rest, which vectors do not need, to see that nothing is missing."""
    _, n_rows, n_columns = _unpack(model, _MATRIX_START)
    shape = f"an output of {n_rows} rows of {n_columns}, not {n_dims}"
    expect(path, n_rows >= 0 and n_columns == n_dims, f"damaged: {shape}")
    n_bytes = 4 * n_rows * n_dims
    for start in range(0, n_bytes, _CHUNK):
        model.read(min(_CHUNK, n_bytes - start))
    expect(path, not model.rest(1), "damaged: more bytes follow the model")
