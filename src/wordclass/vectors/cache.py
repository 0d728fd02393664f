"""Vectors that were read once, kept in a file that is mapped into memory the next time.

The file stands beside the vectors as `<name>.wcache`, or below `storage.data_home()` where their
folder is read-only. It tells which state of the vectors it was made from; where that is no longer
theirs, or the file is damaged, there simply is no cache. It holds numbers and text only, and it
appears when it is complete, so processes that make it at the same time do not disturb each other.

Why no safetensors file: its reader copies, 0.08 s for GloVe (341,479 x 100) where all of this takes
0.03. The layout: the numbers, little-endian float32, those of terms before those of subwords; a
JSON list of all the rest, and its size in 8 bytes; a checksum of all that.
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
Contents = tuple[Sequence[str], Floats32, tuple[str | int, ...] | None, Subwords | None]

_VERSION = 3
_WORTH_IT = 5_000_000  # bytes; a smaller file is read at once anyway
_N_SAMPLES, _SAMPLE = 16, 1 << 14  # blocks of a file that are looked at, and their size
_PAGE_WORDS = 512  # of 8 bytes, that the checksum adds up, each times an odd number
_FACTORS = np.arange(_PAGE_WORDS, dtype=np.uint64) * 2 * 0x9E3779B97F4A7C15 + 1
_CHECKSUM, _SIZE = 16, 8  # bytes at the end of the file


def key_of(format: str, paths: Sequence[Path]) -> str | None:
    """Describe the state of the files that vectors are read from, the main one first.

    Returns None where a cache is not worth its room, or the files cannot be read.
    """
    with suppress(OSError):
        if paths[0].stat().st_size >= _WORTH_IT:
            return json.dumps([_VERSION, format, [_state(path) for path in paths]])
    return None


def _state(path: Path) -> list[object] | None:
    """Return size, time and a checksum of some blocks of a file; None where there is no file."""
    if (state := file_identity(path)) is None:
        return None
    last, blocks = max(0, state[0] - _SAMPLE), []
    with open_raw(path) as file:
        for k in range(_N_SAMPLES):  # the first block, the last one, and some between
            file.seek(last * k // (_N_SAMPLES - 1))
            blocks.append(file.read(_SAMPLE))
    return [*state[:2], digest(*blocks)]


def _places(path: Path) -> list[Path]:
    """Return where the cache of a file may be, the better place first."""
    name = digest(os.fsencode(os.path.abspath(path)))
    beside = path.with_name(f"{path.name}.wcache")
    return [beside, data_home() / "vector-cache" / f"{name}.wcache"]


def find(path: Path, key: str) -> Contents | None:
    """Map the cache of a file; None where there is none, or not of this state of the file."""
    for place in _places(path):
        with suppress(
            OSError, *CONTENT_ERRORS
        ):  # there is none; it is empty, or holds something else
            # what was written after it, whatever its time was set to, is not what it was made of
            is_later = place.stat().st_ctime_ns >= path.stat().st_ctime_ns
            with open_raw(place) as file:
                content = np.asarray(np.memmap(file, np.uint8, mode="r"))
            if is_later and (found := _read(content, key)) is not None:
                return found
    return None


def _read(content: NDArray[np.uint8], key: str) -> Contents | None:
    body = content[:-_CHECKSUM]
    if content[-_CHECKSUM:].tobytes() != _checksum(body):
        return None
    start = -_SIZE - int.from_bytes(body[-_SIZE:].tobytes(), "little")
    found_key, n_dims, names, lengths, terms = parse_json(body[start:-_SIZE].tobytes())
    rows: Floats32 = body[:start].view("<f4").reshape(-1, n_dims)
    subwords = Subwords(rows[len(terms) :], *lengths) if lengths else None
    "".join(terms)  # they are str, or this fails
    n_pieces = len(rows) - len(terms)
    # whoever makes up a cache can make up its numbers: what is checked is that it can be used
    is_sound = (
        found_key == key
        and isinstance(terms, list)
        and (names is None or len(names) == n_dims)
        and {*map(type, names or ())} <= {str, int}
        and {*map(type, lengths or ())} <= {int}
        and (n_pieces > 0 if lengths else n_pieces == 0)
    )
    found = terms, rows[: len(terms)], None if names is None else tuple(names), subwords
    return found if is_sound else None


def keep(path: Path, key: str, parts: Contents) -> None:
    """Write the cache of a file, in the first place that can be written to, if there is one."""
    terms, matrix, names, subwords = parts
    lengths = subwords and [subwords.shortest, subwords.longest]
    header = json.dumps([key, matrix.shape[1], names, lengths, list(terms)]).encode("ascii")
    matrices = [matrix, subwords.matrix] if subwords else [matrix]
    numbers = [np.ascontiguousarray(each, dtype="<f4").data for each in matrices]
    for place in _places(path):
        with suppress(OSError):  # StorageError is one
            place.parent.mkdir(parents=True, exist_ok=True)
            with replace_atomically(place) as temporary, temporary.open("w+b") as out:
                out.writelines([*numbers, header, len(header).to_bytes(_SIZE, "little")])
                out.flush()
                out.write(_checksum(np.memmap(out, np.uint8, mode="r")))
            return


def _checksum(content: NDArray[np.uint8]) -> bytes:
    """Hash a product of each page with odd numbers, which takes a tenth of hashing all bytes.

    No byte can change alone without changing it, and words that change places change it too.
    """
    end = len(content) // (8 * _PAGE_WORDS) * (8 * _PAGE_WORDS)
    pages = content[:end].view("<u8").reshape(-1, _PAGE_WORDS)
    sums = np.einsum("ij,j->i", pages, _FACTORS)
    return bytes.fromhex(digest(sums.tobytes(), content[end:].tobytes(), size=_CHECKSUM))
