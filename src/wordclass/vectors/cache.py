"""Cache of vectors that were read from a file. The cache file is mapped into memory.

The cache of a file is `<name>.wcache` in the same folder, or a file below `storage.data_home()` if
that folder is read-only. It stores the state of the files that it was made from. If the state has
changed or the cache is damaged, it is ignored. A cache holds only numbers and text and is written
atomically, so several processes can write it at the same time.

The format is not safetensors because its reader copies: 0.08 s for GloVe (341,479 x 100), where
mapping with all checks takes 0.03 s. The layout is: the numbers of terms and then of subwords, as
little-endian float32; a JSON list of everything else; the size of the list, in 8 bytes; a checksum
of all that.
"""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordclass.arrays import Floats32
from wordclass.storage.files import (
    CONTENT_ERRORS,
    data_home,
    file_identity,
    open_raw,
    replace_atomically,
)
from wordclass.storage.state import digest, parse_json
from wordclass.vectors.subwords import Subwords

# the fields of `WordVectors`: terms, matrix, dimension_names, subwords
Content = tuple[Sequence[str], Floats32, tuple[str | int, ...] | None, Subwords | None]

_VERSION = 3
_MIN_FILE_BYTES = 5_000_000  # smaller files are read quickly without a cache
_N_SAMPLES = 16  # blocks of a file in its checksum
_SAMPLE_BYTES = 1 << 14
_PAGE_WORDS = 512  # words of 8 bytes that are multiplied by odd numbers and added up
_FACTORS = np.arange(_PAGE_WORDS, dtype=np.uint64) * 2 * 0x9E3779B97F4A7C15 + 1
_CHECKSUM_BYTES = 16
_SIZE_BYTES = 8


def make_key(format: str, paths: Sequence[Path]) -> str | None:
    """Return a description of the state of the files that vectors are read from.

    Parameters
    ----------
    format : str
        Name of the format.
    paths : sequence of Path
        The files, the main one first. The others need not exist.

    Returns
    -------
    str or None
        The description. None if the main file is small or a file cannot be read.
    """
    with suppress(OSError):
        if paths[0].stat().st_size >= _MIN_FILE_BYTES:
            return json.dumps([_VERSION, format, [_describe_file(path) for path in paths]])
    return None


def _describe_file(path: Path) -> list[object] | None:
    """Return size, time and a checksum of some blocks of a file, or None if it does not exist."""
    identity = file_identity(path)
    if identity is None:
        return None
    last_start = max(0, identity[0] - _SAMPLE_BYTES)
    samples = []
    with open_raw(path) as file:
        for k in range(_N_SAMPLES):  # the first block, the last one, and some between them
            file.seek(last_start * k // (_N_SAMPLES - 1))
            samples.append(file.read(_SAMPLE_BYTES))
    return [*identity[:2], digest(*samples)]


def _cache_files(path: Path) -> list[Path]:
    """Return the possible paths of the cache of a file, the preferred one first."""
    path_digest = digest(os.fsencode(os.path.abspath(path)))
    in_same_folder = path.with_name(f"{path.name}.wcache")
    return [in_same_folder, data_home() / "vector-cache" / f"{path_digest}.wcache"]


def find(path: Path, key: str) -> Content | None:
    """Map the cache of a file into memory.

    Parameters
    ----------
    path : Path
        The file with the vectors.
    key : str
        The state of the file, from `make_key`.

    Returns
    -------
    tuple or None
        The fields of `WordVectors`. None if there is no cache of this state of the file.
    """
    for cache_file in _cache_files(path):
        # a missing, empty or damaged cache is ignored
        with suppress(OSError, *CONTENT_ERRORS):
            # The change time cannot be set by programs. If the file has a later one, it was
            # written after the cache, even if its modification time claims otherwise.
            is_newer = cache_file.stat().st_ctime_ns >= path.stat().st_ctime_ns
            with open_raw(cache_file) as file:
                mapped = np.asarray(np.memmap(file, np.uint8, mode="r"))
            content = _read(mapped, key) if is_newer else None
            if content is not None:
                return content
    return None


def _read(mapped: NDArray[np.uint8], key: str) -> Content | None:
    """Return the content of a mapped cache, or None if it is damaged or has another key."""
    body = mapped[:-_CHECKSUM_BYTES]
    if mapped[-_CHECKSUM_BYTES:].tobytes() != _checksum(body):
        return None
    start = -_SIZE_BYTES - int.from_bytes(body[-_SIZE_BYTES:].tobytes(), "little")
    header = parse_json(body[start:-_SIZE_BYTES].tobytes())
    stored_key, n_dims, names, lengths, terms = header
    rows: Floats32 = body[:start].view("<f4").reshape(-1, n_dims)
    subwords = Subwords(rows[len(terms) :], *lengths) if lengths else None
    "".join(terms)  # raises TypeError unless all terms are str
    n_subwords = len(rows) - len(terms)
    # A forged cache may hold any numbers. The checks only make sure that it can be used.
    is_valid = (
        stored_key == key
        and isinstance(terms, list)
        and (names is None or len(names) == n_dims)
        and {*map(type, names or ())} <= {str, int}
        and {*map(type, lengths or ())} <= {int}
        and (n_subwords > 0 if lengths else n_subwords == 0)
    )
    if not is_valid:
        return None
    return terms, rows[: len(terms)], None if names is None else tuple(names), subwords


def write(path: Path, key: str, content: Content) -> None:
    """Write the cache of a file to the first possible path that is writable, if there is one.

    Parameters
    ----------
    path : Path
        The file with the vectors.
    key : str
        The state of the file, from `make_key`.
    content : tuple
        The fields of `WordVectors`.
    """
    terms, matrix, names, subwords = content
    lengths = subwords and [subwords.shortest, subwords.longest]
    header = json.dumps([key, matrix.shape[1], names, lengths, list(terms)]).encode("ascii")
    matrices = [matrix, subwords.matrix] if subwords else [matrix]
    numbers = [np.ascontiguousarray(rows, dtype="<f4").data for rows in matrices]
    for cache_file in _cache_files(path):
        with suppress(OSError):  # this includes StorageError
            cache_file.parent.mkdir(parents=True, exist_ok=True)
            with replace_atomically(cache_file) as temporary, temporary.open("w+b") as out:
                out.writelines([*numbers, header, len(header).to_bytes(_SIZE_BYTES, "little")])
                out.flush()
                out.write(_checksum(np.memmap(out, np.uint8, mode="r")))
            return


def _checksum(body: NDArray[np.uint8]) -> bytes:
    """Return a hash of the sum of the words of each page, each multiplied by an odd number.

    This takes a tenth of the time of a hash of all bytes. It changes if any single byte changes,
    or if words are swapped.
    """
    page_bytes = 8 * _PAGE_WORDS
    end = len(body) // page_bytes * page_bytes
    pages = body[:end].view("<u8").reshape(-1, _PAGE_WORDS)
    sums = np.einsum("ij,j->i", pages, _FACTORS)
    return bytes.fromhex(digest(sums.tobytes(), body[end:].tobytes(), size=_CHECKSUM_BYTES))
