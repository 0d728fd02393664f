"""spaCy's vectors: the file `vectors` in the folder `vocab` of a pipeline, read without spaCy.

`vectors` is a matrix in numpy's format. `key2row` beside it maps the hashes of words to rows, and
many words may share a row. The words themselves are listed in `strings.json`, if that is there; any
other word is found by its hash when it is asked for (`terms`).
"""

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordclass.arrays import Floats32
from wordclass.errors import FormatError
from wordclass.storage import files
from wordclass.storage.compression import ARCHIVE_ERRORS
from wordclass.storage.state import parse_json
from wordclass.vectors.formats import _file
from wordclass.vectors.word_vectors import WordVectors

ENDINGS = ()
MAGIC = b"\x93NUMPY"
IS_QUICK = True  # and a cache would hold shared rows once per word

_SEED = 1
_MULTIPLIER = np.uint64(0xC6A4A7935BD1E995)
_SHIFT = np.uint64(47)
# MessagePack: the first byte of a whole number, and what follows it
_NUMBERS = {
    0xCC: struct.Struct(">B"), 0xCD: struct.Struct(">H"),
    0xCE: struct.Struct(">I"), 0xCF: struct.Struct(">Q"),
    0xD0: struct.Struct(">b"), 0xD1: struct.Struct(">h"),
    0xD2: struct.Struct(">i"), 0xD3: struct.Struct(">q"),
}  # fmt: skip
_MAP_SIZES = {0xDE: struct.Struct(">H"), 0xDF: struct.Struct(">I")}


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read the vectors of these terms, or of all words in `strings.json`.

    Raises
    ------
    FormatError
        A file is damaged; `key2row` is missing or points outside the matrix; or all vectors are
        asked for and there is no `strings.json`, without which nobody knows the words.
    """
    matrix = _read_matrix(path)
    row_of_key = _read_rows(path.with_name("key2row"))
    words = _candidates(path, terms)
    keys = hash_words(words).tolist()
    rows = {
        word: row_of_key[key] for word, key in zip(words, keys, strict=True) if key in row_of_key
    }
    rows = {word: row for word, row in rows.items() if row >= 0}  # -1: the word has no vector
    is_inside = max(rows.values(), default=-1) < len(matrix)
    _file.expect(path, is_inside, f"key2row points outside the {len(matrix)} rows of the matrix")
    return _file.to_vectors(path, rows, matrix[list(rows.values())], None)


def _read_matrix(path: Path) -> Floats32:
    with (
        files.open_for_reading(path) as stream,
        files.as_format_error(path, "damaged", *ARCHIVE_ERRORS),
    ):
        matrix = np.lib.format.read_array(stream, allow_pickle=False)
    is_matrix = matrix.ndim == 2 and matrix.shape[1] > 0 and matrix.dtype.kind == "f"
    _file.expect(path, is_matrix, "expected a matrix of floats, one row per vector")
    return matrix.astype(np.float32, copy=False)


def _candidates(path: Path, terms: frozenset[str] | None) -> list[str]:
    """Return the words to look for: those that are listed, then others that are asked for."""
    file = path.with_name("strings.json")
    if not file.exists():
        if terms is None:
            problem = "key2row holds hashes, not words, and there is no strings.json beside it"
            raise FormatError(path, None, f"{problem}; name the words that you need (terms)")
        return sorted(terms)
    with files.as_format_error(file, "not a JSON list of words"):
        listed = parse_json(files.read_content(file))
        if not isinstance(listed, list) or not all(isinstance(word, str) for word in listed):
            raise TypeError("expected a list of str")
    words = dict.fromkeys(word for word in listed if terms is None or word in terms)
    return [*words, *sorted((terms or frozenset()) - words.keys())]


def _read_rows(path: Path) -> dict[int, int]:
    """Return the row of each hash."""
    content = files.read_content(path)
    with files.as_format_error(path, "no MessagePack map of numbers", struct.error, IndexError):
        n_entries, at = _map_size(content)
        rows = {}
        for _ in range(n_entries):
            key, at = _number(content, at)
            rows[key], at = _number(content, at)
    return rows


def _map_size(content: bytes) -> tuple[int, int]:
    """Return how many entries a map has, and where the first begins."""
    kind = content[0]
    if kind in _MAP_SIZES:
        size: int = _MAP_SIZES[kind].unpack_from(content, 1)[0]
        return size, 1 + _MAP_SIZES[kind].size
    if kind & 0xF0 == 0x80:
        return kind & 0x0F, 1
    raise ValueError(f"it begins with byte {kind:#x}")


def _number(content: bytes, at: int) -> tuple[int, int]:
    """Return the whole number that begins at a byte, and where the next one does."""
    kind = content[at]
    if kind < 0x80:
        return kind, at + 1
    if kind >= 0xE0:
        return kind - 0x100, at + 1
    if kind not in _NUMBERS:
        raise ValueError(f"byte {at} is {kind:#x}, which begins no whole number")
    number: int = _NUMBERS[kind].unpack_from(content, at + 1)[0]
    return number, at + 1 + _NUMBERS[kind].size


def hash_words(words: Sequence[str]) -> NDArray[np.uint64]:
    """Return the hashes that spaCy gives to words: MurmurHash64A of UTF-8, seed 1.

    Examples
    --------
    >>> hash_words(["coffee"]).tolist()
    [3197928453018144401]
    """
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    hashes = np.empty(len(words), np.uint64)
    for length, numbers in _by_length(encoded).items():
        same = b"".join(encoded[number] for number in numbers)
        characters = np.frombuffer(same, np.uint8).reshape(len(numbers), length)
        hashes[numbers] = _murmur(characters)
    return hashes


def _by_length(encoded: Iterable[bytes]) -> dict[int, list[int]]:
    numbers: dict[int, list[int]] = {}
    for number, word in enumerate(encoded):
        numbers.setdefault(len(word), []).append(number)
    return numbers


def _murmur(characters: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return MurmurHash64A of each row of bytes."""
    n_words, length = characters.shape
    n_whole = length // 8
    with np.errstate(over="ignore"):  # it is arithmetic modulo 2**64
        start = np.uint64(_SEED) ^ (np.uint64(length) * _MULTIPLIER)
        hashes = np.full(n_words, start, np.uint64)
        for block in range(n_whole):
            part = np.ascontiguousarray(characters[:, 8 * block : 8 * block + 8])
            values = part.view("<u8")[:, 0] * _MULTIPLIER
            values = (values ^ (values >> _SHIFT)) * _MULTIPLIER
            hashes = (hashes ^ values) * _MULTIPLIER
        if length % 8:
            tail = np.zeros((n_words, 8), np.uint8)
            tail[:, : length % 8] = characters[:, 8 * n_whole :]
            hashes = (hashes ^ tail.view("<u8")[:, 0]) * _MULTIPLIER
        hashes = (hashes ^ (hashes >> _SHIFT)) * _MULTIPLIER
        return hashes ^ (hashes >> _SHIFT)
