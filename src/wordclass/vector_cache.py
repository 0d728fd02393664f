"""Vectors that were read once, kept in a file that is mapped into memory the next time.

The file stands beside the vectors as `<name>.wcache`, or below `storage.data_home()` where their
folder is read-only. It tells which state of the vectors it was made from; where that is no longer
theirs, or the file is damaged, there simply is no cache. It holds numbers and text only, and it
appears when it is complete, so processes that make it at the same time do not disturb each other.
"""

import json
import os
import struct
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from wordclass.arrays import Floats32
from wordclass.errors import StorageError
from wordclass.storage import data_home, replacing
from wordclass.subwords import Subwords

_VERSION = 1
_WORTH_IT = 5_000_000  # bytes; a smaller file is read at once anyway
_N_SAMPLES, _SAMPLE = 16, 1 << 14  # blocks of a file that are looked at, and their size

# magic, sizes of header and terms, checksum of both; then these two, and from the next multiple of
# _ALIGNMENT on the numbers, little-endian float32: first the matrix, then that of the subwords
_START = struct.Struct("<8sQQ16s")
_MAGIC = b"wcache\n\0"
_ALIGNMENT = 64


class Source(NamedTuple):
    """A file of vectors, and all that tells whether it is still the same."""

    path: Path
    key: str


class Kept(NamedTuple):
    """What a cache holds: the fields of `WordVectors`."""

    terms: Sequence[str]
    matrix: Floats32
    dimension_names: tuple[str | int, ...] | None
    subwords: Subwords | None


def look_at(format: str, paths: Sequence[Path]) -> Source | None:
    """Note the state of the files that vectors are read from, the main one first.

    Returns None where a cache is not worth its room, or the file cannot be read.
    """
    try:
        if paths[0].stat().st_size < _WORTH_IT:
            return None
        states = [_state(path) for path in paths]
    except OSError:
        return None
    return Source(paths[0], json.dumps([_VERSION, format, states]))


def _state(path: Path) -> list[object] | None:
    """Return size, time and a checksum of some blocks of a file; None where there is no file."""
    if not path.exists():
        return None
    checksum = blake2b(digest_size=16)
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        last = max(0, status.st_size - _SAMPLE)
        for k in range(_N_SAMPLES):  # the first block, the last one, and some between
            file.seek(last * k // (_N_SAMPLES - 1))
            checksum.update(file.read(_SAMPLE))
    return [status.st_size, status.st_mtime_ns, checksum.hexdigest()]


def places(path: Path) -> list[Path]:
    """Return where the cache of a file may be, the better place first."""
    name = blake2b(os.path.abspath(path).encode("utf-8", "surrogateescape"), digest_size=16)
    return [
        path.with_name(f"{path.name}.wcache"),
        data_home() / "vector-cache" / f"{name.hexdigest()}.wcache",
    ]


def find(source: Source) -> Kept | None:
    """Map the cache of a file; None where there is none, or not of this state of the file."""
    for place in places(source.path):
        with suppress(OSError), place.open("rb") as file:
            if (kept := _read(file, source.key)) is not None:
                return kept
    return None


def _read(file: BinaryIO, key: str) -> Kept | None:
    start = file.read(_START.size)
    if len(start) < _START.size:
        return None
    magic, n_header, n_terms_bytes, checksum = _START.unpack(start)
    n_bytes = os.fstat(file.fileno()).st_size
    if magic != _MAGIC or _START.size + n_header + n_terms_bytes > n_bytes:
        return None
    packed = file.read(n_header + n_terms_bytes)
    if blake2b(packed, digest_size=16).digest() != checksum:
        return None
    header: dict[str, Any] = json.loads(packed[:n_header])
    if header["key"] != key:
        return None
    shapes = [header["shape"], *([header["subwords"]["shape"]] if header["subwords"] else [])]
    offset = _aligned(_START.size + len(packed))
    if n_bytes != offset + 4 * sum(rows * columns for rows, columns in shapes):
        return None
    numbers = np.asarray(np.memmap(file, dtype="<f4", mode="r", offset=offset))
    return _unpacked(header, packed[n_header:].decode("utf-8").split("\n"), numbers)


def _unpacked(header: dict[str, Any], terms: list[str], numbers: Floats32) -> Kept:
    n_terms, n_dims = header["shape"]
    matrix = numbers[: n_terms * n_dims].reshape(n_terms, n_dims)
    names = header["dimension_names"]
    subwords = None
    if (described := header["subwords"]) is not None:
        rest = numbers[n_terms * n_dims :].reshape(described["shape"])
        subwords = Subwords(rest, described["shortest"], described["longest"])
    return Kept(terms, matrix, None if names is None else tuple(names), subwords)


def keep(source: Source, vectors: Kept) -> None:
    """Write the cache of a file, in the first place that can be written to.

    Where there is none, or terms hold newlines, there is no cache: the vectors are read again.
    """
    text = "\n".join(vectors.terms)
    if not vectors.terms or text.count("\n") != len(vectors.terms) - 1:
        return
    with suppress(UnicodeEncodeError):
        content = _packed(source, vectors, text.encode("utf-8"))
        for place in places(source.path):
            with suppress(StorageError, OSError):
                if place.parent != source.path.parent:
                    place.parent.mkdir(parents=True, exist_ok=True)
                _write(place, content)
                return


def _packed(source: Source, vectors: Kept, terms: bytes) -> list[bytes | memoryview]:
    """Return the pieces of the file, the large ones not copied."""
    subwords = vectors.subwords
    header = json.dumps(
        {
            "key": source.key,
            "shape": vectors.matrix.shape,
            "dimension_names": vectors.dimension_names,
            "subwords": subwords
            and {
                "shape": subwords.matrix.shape,
                "shortest": subwords.shortest,
                "longest": subwords.longest,
            },
        }
    ).encode("ascii")
    checksum = blake2b(header + terms, digest_size=16).digest()
    start = _START.pack(_MAGIC, len(header), len(terms), checksum) + header + terms
    padding = bytes(_aligned(len(start)) - len(start))
    matrices = [vectors.matrix, *([subwords.matrix] if subwords else [])]
    return [start, padding, *(np.ascontiguousarray(each, dtype="<f4").data for each in matrices)]


def _write(place: Path, content: Sequence[bytes | memoryview]) -> None:
    with replacing(place) as temporary, temporary.open("wb") as out:
        out.writelines(content)


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT
