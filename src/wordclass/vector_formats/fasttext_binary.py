"""fastText's models (.bin): vectors of the words it knows, and subwords for all others.

Its vector of a word is the mean of the word's own row and those of its subwords. Only reading: a
model holds more than vectors. Told from word2vec's .bin by its first bytes.
"""

import struct
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from wordclass import progress
from wordclass.arrays import Floats32
from wordclass.errors import FormatError
from wordclass.storage import reading
from wordclass.subwords import Subwords
from wordclass.vector_checks import first_not_finite
from wordclass.vector_formats._selection import Selection
from wordclass.word_vectors import WordVectors

ENDINGS = ()
MAGIC = (793712314).to_bytes(4, "little")

_VERSIONS = (11, 12)
_SUPERVISED = 3
_NOT_PRUNED = -1
_CHUNK = 1 << 24
_READ_AHEAD = 1 << 20
_REPORT_EVERY = 10_000
_QUANTIZED = "a quantized model, which is not read; take the .bin it was made from"

# dim ws epoch minCount neg wordNgrams loss model bucket minn maxn lrUpdateRate, then t
_SETTINGS = struct.Struct("<12id")
# words and labels, words, labels, tokens read in training, size of the table of pruned subwords
_DICTIONARY = struct.Struct("<iiiqq")
_ENTRY_END = struct.Struct("<qb")  # how often the word was read; 0 for a word, 1 for a label
_SHAPE = struct.Struct("<qq")


class _Settings(NamedTuple):
    n_dims: int
    n_buckets: int
    shortest: int
    longest: int  # 0 where words have no subwords


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
    with reading(path) as stream:
        model = _Model(path, stream)
        settings = _read_settings(model)
        words = _read_words(model)
        _expect_shape(model, len(words) + settings.n_buckets, settings.n_dims)
        own = model.read_matrix(len(words), settings.n_dims)
        # without subwords the buckets, if there are any, are those of pairs of words
        pieces = model.read_matrix(settings.n_buckets, settings.n_dims)
        _skip_output(model, settings.n_dims)
    selection = Selection(path, terms)
    for row, word in enumerate(words):
        selection.takes(word.decode("utf-8", "backslashreplace"), row)
    if len(kept := selection.places()) < len(words):
        own, words = own[kept], [words[row] for row in kept]
    if not settings.longest:
        return selection.to_vectors(own, None)
    if first_not_finite(pieces) is not None:
        raise FormatError(path, None, "the vector of a subword holds a NaN or an infinity")
    subwords = Subwords(pieces, settings.shortest, settings.longest)
    means, n_pieces = subwords.sums(words)
    means += own
    means /= (n_pieces + 1).astype(np.float32)[:, None]
    return selection.to_vectors(means, None, subwords=subwords)


def sources(path: Path) -> list[Path]:
    """Return the files that decide what is read: a cache of it depends on them."""
    return [path]


class _Model:
    """A file that holds as many bytes as it promises; where it does not, an error."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self._path, self._stream = path, stream
        self._buffer, self._at = b"", 0  # bytes read ahead, and the first not handed out

    def error(self, reason: str) -> FormatError:
        """Make an error that names the file."""
        return FormatError(self._path, None, reason)

    def read(self, n_bytes: int) -> bytearray:
        """Read bytes in chunks: a size that is too large asks for no memory."""
        found = bytearray(self._buffer[self._at : self._at + n_bytes])
        self._at += len(found)
        while len(found) < n_bytes:
            found += self._chunk(min(_CHUNK, n_bytes - len(found)))
        return found

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        """Read numbers."""
        return layout.unpack(self.read(layout.size))

    def read_word(self) -> bytes:
        """Read up to a zero byte, which is left out."""
        while (end := self._buffer.find(b"\0", self._at)) < 0:
            self._buffer = self._buffer[self._at :] + self._chunk(_READ_AHEAD)
            self._at = 0
        word = self._buffer[self._at : end]
        self._at = end + 1
        return word

    def read_matrix(self, n_rows: int, n_columns: int) -> Floats32:
        """Read float32 numbers, row by row."""
        numbers = np.frombuffer(self.read(4 * n_rows * n_columns), dtype="<f4")
        return numbers.reshape(n_rows, n_columns)

    def skip(self, n_bytes: int) -> None:
        """Read bytes that nobody needs, to see that they are there."""
        while n_bytes > 0:
            n_bytes -= len(self.read(min(_CHUNK, n_bytes)))

    def is_at_end(self) -> bool:
        """Say whether nothing follows."""
        return self._at == len(self._buffer) and not self._stream.read(1)

    def _chunk(self, n_bytes: int) -> bytes:
        chunk = self._stream.read(n_bytes)
        if not chunk:
            raise self.error("cut short: the file ends before the model does")
        return chunk


def _read_settings(model: _Model) -> _Settings:
    if model.read(len(MAGIC)) != MAGIC:
        raise model.error("no model of fastText's: its first bytes are others")
    version = int.from_bytes(model.read(4), "little")
    if version not in _VERSIONS:
        raise model.error(f"version {version} of fastText's format; expected 11 or 12")
    n_dims, *_, kind, n_buckets, shortest, longest, _, _ = model.unpack(_SETTINGS)
    if n_dims < 1 or n_buckets < 0:
        raise model.error(f"damaged: {n_dims} dimensions, {n_buckets} buckets for subwords")
    is_old_classifier = version == 11 and kind == _SUPERVISED  # these ignore their setting
    if is_old_classifier or n_buckets == 0:
        longest = 0
    return _Settings(n_dims, n_buckets, shortest, max(0, longest))


def _read_words(model: _Model) -> list[bytes]:
    """Read the dictionary, where labels, if there are any, follow the words."""
    n_entries, n_words, n_labels, _, n_pruned = model.unpack(_DICTIONARY)
    if n_words < 0 or n_labels < 0 or n_entries != n_words + n_labels:
        raise model.error(f"damaged: {n_entries} entries for {n_words} words, {n_labels} labels")
    if n_pruned != _NOT_PRUNED:
        raise model.error(_QUANTIZED)
    words = []
    for row in range(n_entries):
        words.append(model.read_word())
        _, is_label = model.unpack(_ENTRY_END)
        if is_label != (row >= n_words):
            raise model.error(f"damaged: entry {row + 1} of the dictionary is of the wrong kind")
        if row % _REPORT_EVERY == 0:
            progress.report("reading the dictionary", row, n_entries)
    if model.read(1) != b"\0":
        raise model.error(_QUANTIZED)
    return words[:n_words]


def _expect_shape(model: _Model, n_rows: int, n_dims: int) -> None:
    found = model.unpack(_SHAPE)
    if found != (n_rows, n_dims):
        raise model.error(f"damaged: a matrix of {found}, expected {(n_rows, n_dims)}")


def _skip_output(model: _Model, n_dims: int) -> None:
    """Read the rest, which vectors do not need, to see that nothing is missing."""
    model.skip(1)
    n_rows, n_columns = model.unpack(_SHAPE)
    if n_rows < 0 or n_columns != n_dims:
        raise model.error(f"damaged: an output of {n_rows} rows of {n_columns}, not {n_dims}")
    model.skip(4 * n_rows * n_columns)
    if not model.is_at_end():
        raise model.error("damaged: more bytes follow the model")
