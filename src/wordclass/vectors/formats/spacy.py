"""spaCy's vectors: the file `vectors` in the folder `vocab` of a pipeline. spaCy is not needed.

`vectors` is a matrix in NumPy's format. The file `key2row` in the same folder maps the hashes of
words to rows, and many words may share a row. The words themselves are listed in `strings.json`, if
that exists. Other words are found by their hash if they are requested by `terms`.
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
IS_QUICK = True  # a cache would contain shared rows once per word

_SEED = 1
_MULTIPLIER = np.uint64(0xC6A4A7935BD1E995)
_SHIFT = np.uint64(47)
# MessagePack: the first byte of an integer, and the layout of the bytes after it
_INTEGERS = {
    0xCC: struct.Struct(">B"), 0xCD: struct.Struct(">H"),
    0xCE: struct.Struct(">I"), 0xCF: struct.Struct(">Q"),
    0xD0: struct.Struct(">b"), 0xD1: struct.Struct(">h"),
    0xD2: struct.Struct(">i"), 0xD3: struct.Struct(">q"),
}  # fmt: skip
_MAP_SIZES = {0xDE: struct.Struct(">H"), 0xDF: struct.Struct(">I")}


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read the vectors of some terms, or by default of all words in `strings.json`.

    Raises
    ------
    FormatError
        A file is damaged, `key2row` is missing or points outside the matrix, or all words are
        requested and `strings.json` is missing.
    """
    matrix = _read_matrix(path)
    row_of_hash = _read_rows(path.with_name("key2row"))
    words = _list_words(path, terms)
    row_of_word = {
        word: row_of_hash[word_hash]
        for word, word_hash in zip(words, hash_words(words).tolist(), strict=True)
        if word_hash in row_of_hash
    }
    rows = {word: row for word, row in row_of_word.items() if row >= 0}  # -1 means no vector
    is_inside = max(rows.values(), default=-1) < len(matrix)
    _file.require(path, is_inside, f"key2row points outside the {len(matrix)} rows of the matrix")
    return _file.to_vectors(path, rows, matrix[list(rows.values())], None)


def _read_matrix(path: Path) -> Floats32:
    with (
        files.open_for_reading(path) as stream,
        files.as_format_error(path, "damaged", *ARCHIVE_ERRORS),
    ):
        matrix = np.lib.format.read_array(stream, allow_pickle=False)
    is_matrix = matrix.ndim == 2 and matrix.shape[1] > 0 and matrix.dtype.kind == "f"
    _file.require(path, is_matrix, "not a matrix of floats", "one row per vector")
    return matrix.astype(np.float32, copy=False)


def _list_words(path: Path, terms: frozenset[str] | None) -> list[str]:
    """Return the words of `strings.json`, and then all other requested words."""
    word_file = path.with_name("strings.json")
    if not word_file.exists():
        if terms is None:
            raise FormatError(
                path,
                None,
                "key2row contains hashes, not words, and there is no strings.json in its folder",
                hint="name the words that you need (terms)",
            )
        return sorted(terms)
    with files.as_format_error(word_file, "not a JSON list of words"):
        all_words = parse_json(files.read_content(word_file))
        if not isinstance(all_words, list) or not all(isinstance(word, str) for word in all_words):
            raise TypeError("expected a list of str")
    words = dict.fromkeys(word for word in all_words if terms is None or word in terms)
    return [*words, *sorted((terms or frozenset()) - words.keys())]


def _read_rows(path: Path) -> dict[int, int]:
    """Return the row of each hash."""
    content = files.read_content(path)
    with files.as_format_error(path, "not a MessagePack map of integers", struct.error, IndexError):
        n_entries, position = _parse_map_size(content)
        row_of_hash = {}
        for _ in range(n_entries):
            word_hash, position = _parse_integer(content, position)
            row_of_hash[word_hash], position = _parse_integer(content, position)
    return row_of_hash


def _parse_map_size(content: bytes) -> tuple[int, int]:
    """Return the number of entries of a map, and the position of the first one."""
    kind = content[0]
    if kind in _MAP_SIZES:
        size: int = _MAP_SIZES[kind].unpack_from(content, 1)[0]
        return size, 1 + _MAP_SIZES[kind].size
    if kind & 0xF0 == 0x80:
        return kind & 0x0F, 1
    raise ValueError(f"it begins with byte {kind:#x}")


def _parse_integer(content: bytes, position: int) -> tuple[int, int]:
    """Return the integer at a position, and the position after it."""
    kind = content[position]
    if kind < 0x80:
        return kind, position + 1
    if kind >= 0xE0:
        return kind - 0x100, position + 1
    if kind not in _INTEGERS:
        raise ValueError(f"byte {position} is {kind:#x}, which does not begin an integer")
    integer: int = _INTEGERS[kind].unpack_from(content, position + 1)[0]
    return integer, position + 1 + _INTEGERS[kind].size


def hash_words(words: Sequence[str]) -> NDArray[np.uint64]:
    """Return spaCy's hashes of words: MurmurHash64A of UTF-8 with seed 1.

    Examples
    --------
    >>> hash_words(["coffee"]).tolist()
    [3197928453018144401]
    """
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    hashes = np.empty(len(words), np.uint64)
    for length, numbers in _group_by_length(encoded).items():
        concatenated = b"".join(encoded[number] for number in numbers)
        characters = np.frombuffer(concatenated, np.uint8).reshape(len(numbers), length)
        hashes[numbers] = _hash_rows(characters)
    return hashes


def _group_by_length(encoded: Iterable[bytes]) -> dict[int, list[int]]:
    """Return the numbers of the words of each length."""
    numbers: dict[int, list[int]] = {}
    for number, word in enumerate(encoded):
        numbers.setdefault(len(word), []).append(number)
    return numbers


def _hash_rows(characters: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return MurmurHash64A of each row of bytes."""
    n_words, length = characters.shape
    n_blocks = length // 8
    with np.errstate(over="ignore"):  # the arithmetic is modulo 2**64
        start = np.uint64(_SEED) ^ (np.uint64(length) * _MULTIPLIER)
        hashes = np.full(n_words, start, np.uint64)
        for block in range(n_blocks):
            block_bytes = np.ascontiguousarray(characters[:, 8 * block : 8 * block + 8])
            values = block_bytes.view("<u8")[:, 0] * _MULTIPLIER
            values = (values ^ (values >> _SHIFT)) * _MULTIPLIER
            hashes = (hashes ^ values) * _MULTIPLIER
        if length % 8:
            tail = np.zeros((n_words, 8), np.uint8)
            tail[:, : length % 8] = characters[:, 8 * n_blocks :]
            hashes = (hashes ^ tail.view("<u8")[:, 0]) * _MULTIPLIER
        hashes = (hashes ^ (hashes >> _SHIFT)) * _MULTIPLIER
        return hashes ^ (hashes >> _SHIFT)
