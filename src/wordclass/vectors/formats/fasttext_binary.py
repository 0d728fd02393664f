"""fastText models (.bin): vectors of known words, and subwords for all other words.

The vector of a word is the mean of the word's own row and those of its subwords. The format can
only be read, because a model contains more than vectors. Its first bytes distinguish it from
word2vec's .bin.
"""

import struct
from pathlib import Path
from typing import Any

import numpy as np

from wordclass import progress
from wordclass.arrays import Floats32, find_nonfinite_row
from wordclass.errors import FormatError
from wordclass.storage.files import open_for_reading
from wordclass.vectors.formats._file import (
    MAX_DIMS,
    ByteReader,
    find_first_rows,
    require,
    to_vectors,
)
from wordclass.vectors.subwords import Subwords
from wordclass.vectors.word_vectors import WordVectors

ENDINGS = ()
MAGIC = (793712314).to_bytes(4, "little")

_SUPERVISED = 3
_SKIPPED_BYTES = 1 << 24  # at a time
_ENTRIES_PER_REPORT = 10_000

# dim ws epoch minCount neg wordNgrams loss model bucket minn maxn lrUpdateRate, then t
_SETTINGS = struct.Struct("<12id")
# number of words and labels, of words, of labels, of tokens read in training; size of the table of
# pruned subwords, or -1 if there is none
_DICTIONARY = struct.Struct("<iiiqq")
_ENTRY_END = struct.Struct("<qb")  # number of occurrences; 0 for a word, 1 for a label
_MATRIX_START = struct.Struct("<bqq")  # whether the matrix is quantized, and its shape


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read the vectors of some words, or of all words of the model by default.

    `WordVectors.subwords` gives vectors to all other words, unless the model was trained without
    subwords. Words that were not requested count as unknown, too. Bytes that are not UTF-8, which
    some published models contain, become escapes, as with Python's "backslashreplace".

    Raises
    ------
    FormatError
        The file is too short, quantized, of an unknown version or not a fastText model, or it
        contains a number that is not finite.
    """
    with open_for_reading(path) as stream:
        model = ByteReader(stream)
        n_dims, n_buckets, shortest, longest = _read_settings(path, model)
        words = _read_words(path, model)
        is_quantized, *shape = _unpack(model, _MATRIX_START)
        _require_unquantized(path, not is_quantized)
        expected = [len(words) + n_buckets, n_dims]
        require(path, shape == expected, f"damaged: a matrix of {shape}; expected {expected}")
        word_rows = _read_matrix(model, len(words), n_dims)
        # without subwords, the buckets, if there are any, belong to pairs of words
        subword_rows = _read_matrix(model, n_buckets, n_dims)
        _skip_output(path, model, n_dims)
    decoded = (word.decode("utf-8", "backslashreplace") for word in words)
    row_of_term = find_first_rows(decoded, terms)
    if len(row_of_term) < len(words):
        rows = list(row_of_term.values())
        word_rows = word_rows[rows]
        words = [words[row] for row in rows]
    if not longest:
        return to_vectors(path, row_of_term, word_rows, None)
    is_finite = find_nonfinite_row(subword_rows) is None
    require(path, is_finite, "the vector of a subword holds a NaN or an infinity")
    subwords = Subwords(subword_rows, shortest, longest)
    means, n_subwords = subwords.sums(words)
    means += word_rows
    means /= (n_subwords + 1).astype(np.float32)[:, None]
    return to_vectors(path, row_of_term, means, None, subwords)


def _unpack(model: ByteReader, layout: struct.Struct) -> tuple[Any, ...]:
    return layout.unpack(model.read(layout.size))


def _require_unquantized(path: Path, is_unquantized: bool) -> None:
    if not is_unquantized:
        raise FormatError(
            path,
            None,
            "a quantized model, which cannot be read",
            hint="use the .bin file from which it was made",
        )


def _read_settings(path: Path, model: ByteReader) -> tuple[int, int, int, int]:
    """Return the numbers of dimensions and buckets, and the lengths of subwords.

    The maximum length is 0 if there are no subwords.
    """
    magic = model.read(4)
    version = int.from_bytes(model.read(4), "little")
    require(path, magic == MAGIC, "not a fastText model: its first bytes are different")
    require(path, version in (11, 12), f"version {version} of fastText's format", "11 or 12")
    n_dims, *_, kind, n_buckets, shortest, longest, _, _ = _unpack(model, _SETTINGS)
    sizes = f"{n_dims} dimensions, {n_buckets} buckets for subwords"
    require(path, 0 < n_dims <= MAX_DIMS and n_buckets >= 0, f"damaged: {sizes}")
    is_old_classifier = version == 11 and kind == _SUPERVISED  # these ignore their setting
    has_subwords = n_buckets > 0 and not is_old_classifier
    return n_dims, n_buckets, shortest, max(0, longest) if has_subwords else 0


def _read_words(path: Path, model: ByteReader) -> list[bytes]:
    """Read the words of the dictionary. Labels, if there are any, follow them."""
    n_entries, n_words, n_labels, _, n_pruned = _unpack(model, _DICTIONARY)
    adds_up = min(n_words, n_labels) >= 0 and n_entries == n_words + n_labels
    sizes = f"{n_entries} entries for {n_words} words, {n_labels} labels"
    require(path, adds_up, f"damaged: {sizes}")
    _require_unquantized(path, n_pruned == -1)
    words = []
    for row in range(n_entries):
        words.append(model.read_until(b"\0"))
        _, is_label = _unpack(model, _ENTRY_END)
        if is_label != (row >= n_words):
            problem = f"damaged: entry {row + 1} of the dictionary is of the wrong kind"
            raise FormatError(path, None, problem)
        if row % _ENTRIES_PER_REPORT == 0:
            progress.report("reading the dictionary", row, n_entries)
    return words[:n_words]


def _read_matrix(model: ByteReader, n_rows: int, n_dims: int) -> Floats32:
    return np.frombuffer(model.read(4 * n_rows * n_dims), dtype="<f4").reshape(n_rows, n_dims)


def _skip_output(path: Path, model: ByteReader, n_dims: int) -> None:
    """Read the output matrix, which vectors do not need, to make sure that the file is complete."""
    _, n_rows, n_columns = _unpack(model, _MATRIX_START)
    shape = f"an output of {n_rows} rows of {n_columns}, not {n_dims}"
    require(path, n_rows >= 0 and n_columns == n_dims, f"damaged: {shape}")
    n_bytes = 4 * n_rows * n_dims
    for start in range(0, n_bytes, _SKIPPED_BYTES):
        model.read(min(_SKIPPED_BYTES, n_bytes - start))
    require(path, not model.peek(1), "damaged: more bytes follow the model")
