"""One file of arrays with a description: safetensors, checked when it is read, nothing executed."""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordclass.errors import FormatError, MissingDataError, StorageError
from wordclass.storage import is_there, replacing

Arrays = Mapping[str, NDArray[Any]]

_KEY = "wordclass"
_VERSION = 1


def write(path: Path, kind: str, header: Mapping[str, object], arrays: Arrays) -> None:
    """Write arrays and what describes them; the file appears when it is complete."""
    from safetensors.numpy import save

    stored = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    described = {"kind": kind, "version": _VERSION, "header": header}
    described["digest"] = _digest(described, stored)
    # one entry only: safetensors writes several in an order that changes from run to run
    content = save(stored, metadata={_KEY: json.dumps(described, sort_keys=True)})
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def read(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `write` wrote.

    Raises
    ------
    MissingDataError, StorageError
        There is no such file; it cannot be read.
    FormatError
        It is no file of ours, of another kind, of a later version, or damaged.
    """
    from safetensors import SafetensorError, safe_open

    if not is_there(path):
        raise MissingDataError(f"{path}: no such file")
    if path.is_dir():
        raise StorageError(f"{path}: a folder; expected a file")
    try:
        with safe_open(path, framework="numpy") as file:
            described = _checked(path, kind, (file.metadata() or {}).get(_KEY))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise FormatError(path, None, f"not a {kind} file, or damaged: {error}") from error
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error
    if described.pop("digest") != _digest(described, arrays):
        raise FormatError(path, None, "damaged: its content does not match its checksum")
    header: dict[str, Any] = described["header"]
    return header, arrays


def _checked(path: Path, kind: str, described: str | None) -> dict[str, Any]:
    if described is None:
        raise FormatError(path, None, f"a safetensors file, but not a {kind} file of wordclass")
    try:
        found: dict[str, Any] = json.loads(described)
        found_kind, version, _ = found["kind"], int(found["version"]), found["digest"]
    except (ValueError, TypeError, KeyError) as error:
        raise FormatError(path, None, f"damaged: its description is unreadable: {error}") from error
    if found_kind != kind:
        raise FormatError(path, None, f"holds {found_kind!r}; expected {kind!r}")
    if version > _VERSION:
        raise FormatError(
            path, None, f"version {version} of the format; this wordclass reads up to {_VERSION}"
        )
    return found


def _digest(described: Mapping[str, object], arrays: Arrays) -> str:
    """Return a checksum of the description and all arrays, names and shapes included."""
    checksum = blake2b(json.dumps(described, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        array = arrays[name]
        checksum.update(f"{name} {array.dtype.str} {array.shape}".encode())
        checksum.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return checksum.hexdigest()


def pack_strings(strings: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the UTF-8 bytes of strings one after the other, and where each ends.

    Lone surrogates, legal in a str, are kept.
    """
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    ends = np.cumsum([len(piece) for piece in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), ends


def unpack_strings(packed: NDArray[np.uint8], ends: NDArray[np.int64]) -> list[str]:
    """Return the strings that were packed."""
    everything = packed.tobytes()
    starts = np.concatenate(([0], ends[:-1])).tolist()
    return [
        everything[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip(starts, ends.tolist(), strict=True)
    ]
