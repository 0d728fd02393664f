"""The state of a fitted object: how metadata and arrays are stored and validated."""

import json
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass.arrays import Sparse
from wordclass.errors import FormatError
from wordclass.storage.files import (
    as_format_error,
    as_storage_error,
    open_for_writing,
    read_content,
)

Value = NDArray[Any] | Sparse | Sequence[str]

_KEY = "wordclass"
_VERSION = 1
_CSR_ARRAYS = ("data", "indices", "indptr")
_MIN_BYTES_FOR_COPY = 1 << 22  # NumPy allocates such arrays in large pages, which are read faster
_CHUNK_BYTES = 1 << 20
# NumPy's types and their names in safetensors, in the order in which its writer sorts the arrays
_SAFETENSORS_TYPES = {
    "uint64": "U64", "int64": "I64", "float64": "F64", "float32": "F32", "uint32": "U32",
    "int32": "I32", "float16": "F16", "uint16": "U16", "int16": "I16", "int8": "I8",
    "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
_COMPARISONS = {">=": operator.ge, "<=": operator.le}


def parse_json(text: str | bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Parse untrusted JSON.

    Raises
    ------
    ValueError, RecursionError
        The text is not JSON, holds a number that is not finite, or is nested too deeply.
    """
    return json.loads(
        text, parse_int=_parse_number, parse_float=_parse_number, parse_constant=_parse_number
    )


def _parse_number(digits: str) -> int | float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"it holds {digits[:20]}, which is not a finite number")
    return int(digits) if digits.lstrip("-").isdigit() else number


def digest(*pieces: bytes | str | NDArray[Any], size: int = 16) -> str:
    """Return the checksum of the concatenated pieces. The type and shape of arrays count too.

    Examples
    --------
    >>> digest("moon", np.zeros(3)) == digest("moon", np.zeros((3, 1)))
    False
    """
    checksum = blake2b(digest_size=size)
    for piece in pieces:
        if isinstance(piece, np.ndarray):
            checksum.update(f"{piece.dtype.str} {piece.shape}".encode())
            checksum.update(np.ascontiguousarray(piece).data.cast("B") if piece.size else b"")
        elif isinstance(piece, str):
            checksum.update(piece.encode("utf-8", "surrogatepass"))
        else:
            checksum.update(piece)
    return checksum.hexdigest()


def layout_of(array: NDArray[Any]) -> str:
    """Return the layout that describes the type and shape of an array. See `ModelState.take`."""
    return " ".join([array.dtype.name, *map(str, array.shape)])


@dataclass(eq=False)
class ModelState:
    """The state of a fitted object: metadata that JSON can hold, and arrays by name.

    An object that can be saved has a method that builds its state with `of`, and one that restores
    the object from a state. The latter reads the arrays with `take`, which validates them.

    Parameters
    ----------
    metadata : dict
        The values that JSON can hold.
    arrays : dict of arrays
        The arrays by name. A list of strings takes two of them, a sparse matrix takes four.
    sizes : dict of int
        The sizes that are known so far, by their names in layouts. See `take`.
    """

    metadata: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    sizes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, metadata: Mapping[str, Any] | None = None, /, **values: Value | None
    ) -> "ModelState":
        """Build a state from metadata, arrays, sparse matrices and lists of strings.

        Values that are None are omitted.
        """
        arrays: dict[str, NDArray[Any]] = {}
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                arrays[name] = np.ascontiguousarray(value)
            elif isinstance(value, sparse.csr_matrix):
                arrays |= {f"{name}.{array}": getattr(value, array) for array in _CSR_ARRAYS}
                arrays[f"{name}.shape"] = np.array(value.shape, np.int64)
            elif value is not None:
                encoded = [string.encode("utf-8", "surrogatepass") for string in value]
                lengths = [len(string) for string in encoded]
                arrays[name] = np.frombuffer(b"".join(encoded), np.uint8)
                arrays[_name_of_ends(name)] = np.cumsum(lengths, dtype=np.int64)
        return cls(dict(metadata or {}), arrays)

    @classmethod
    def of_fields(cls, instance: object, layout: Mapping[str, str]) -> "ModelState":
        """Build a state from the attributes of an object that a layout names. See `take`."""
        return cls.of(**{name: getattr(instance, name) for name in layout})

    def __or__(self, other: "ModelState") -> "ModelState":
        return ModelState({**self.metadata, **other.metadata}, {**self.arrays, **other.arrays})

    def add_prefix(self, prefix: str) -> "ModelState":
        """Return a state whose names begin with a prefix and a dot."""
        metadata = {f"{prefix}.{key}": value for key, value in self.metadata.items()}
        arrays = {f"{prefix}.{key}": array for key, array in self.arrays.items()}
        return ModelState(metadata, arrays)

    # --- reading ---------------------------------------------------------------------------

    def strip_prefix(self, prefix: str) -> "ModelState":
        """Return the entries whose names begin with a prefix and a dot, without both.

        The size of the codeframe stays known.
        """
        start = f"{prefix}."
        metadata = {
            key.removeprefix(start): value
            for key, value in self.metadata.items()
            if key.startswith(start)
        }
        arrays = {
            key.removeprefix(start): array
            for key, array in self.arrays.items()
            if key.startswith(start)
        }
        sizes = {name: size for name, size in self.sizes.items() if name == "classes"}
        return ModelState(metadata, arrays, sizes)

    def take(self, **layout: str) -> dict[str, Any]:
        """Return the stored values of these names, each validated against its layout.

        A layout is a type, then sizes, then bounds, separated by spaces:

        - The type is a NumPy type or several (`int32|int64`). `infinite:float64` permits infinite
          values, which are refused otherwise. `str` is a list of strings, `distinct:str` one
          without repetitions, and `sorted:str` one that is also sorted. `csr:float64` is a sparse
          matrix. A type that ends in `?` is optional: a missing value is None.
        - A size is a number, `any`, or a name that stands for the same number in all layouts
          (`float32 terms classes`).
        - A bound applies to all values and is a number or the name of a size
          (`int64 terms >=0 <=documents`).

        Raises
        ------
        ValueError
            A value is missing or does not follow its layout.

        Examples
        --------
        >>> state = ModelState.of(terms=["moon", "rose"], weights=np.zeros((2, 3)))
        >>> values = state.take(terms="str terms", weights="float64 terms classes")
        >>> values["terms"], state.sizes
        (['moon', 'rose'], {'terms': 2, 'classes': 3})
        """
        return {name: self._take(name, *words.split()) for name, words in layout.items()}

    def _take(self, name: str, kind: str, *limits: str) -> Any:  # noqa: ANN401 - see `take`
        if kind.endswith("?") and name not in self.arrays:
            return None
        form, _, kind = kind.removesuffix("?").rpartition(":")
        bounds = [limit for limit in limits if limit[0] in "<>"]
        sizes = limits[: len(limits) - len(bounds)]
        if kind == "str":
            return self._take_strings(name, form, *sizes)
        if form == "csr":
            return self._check_size(name, self._take_sparse(name, kind, *bounds), kind, *sizes)
        if name not in self.arrays:
            raise ValueError(f"{name} is missing")
        array = self._check_size(name, self.arrays[name], kind, *sizes)
        is_valid = ~np.isnan(array) if form == "infinite" else np.isfinite(array)
        for bound in bounds:
            is_valid &= _COMPARISONS[bound[:2]](array, self._size_of(bound[2:]))
        if not is_valid.all():
            expected = " ".join(["finite numbers", *bounds])
            raise ValueError(f"{name} holds invalid numbers; expected {expected}")
        return array

    def _take_sparse(self, name: str, kind: str, *bounds: str) -> Sparse:
        n_rows, n_columns = self._take(f"{name}.shape", "int64", "2", ">=0").tolist()
        data = self._take(f"{name}.data", kind, "any", *bounds)
        limits = (str(len(data)), ">=0", f"<={n_columns - 1}") if len(data) else ("0",)
        indices = self._take(f"{name}.indices", "int32|int64", *limits)
        starts = self._take(f"{name}.indptr", "int32|int64", str(n_rows + 1))
        if starts[0] != 0 or starts[-1] != len(data) or (starts[1:] < starts[:-1]).any():
            raise ValueError(f"{name}.indptr does not divide {name}.indices into rows")
        matrix = sparse.csr_matrix((data, indices, starts), shape=(n_rows, n_columns))
        if not matrix.has_sorted_indices:
            matrix = matrix.sorted_indices()
        if not matrix.has_canonical_format:
            raise ValueError(f"{name} has two values at the same row and column")
        return matrix

    def _take_strings(self, name: str, form: str, *sizes: str) -> list[str]:
        content = self._take(name, "uint8", "any").tobytes()
        ends = self._take(_name_of_ends(name), "int64", *sizes).tolist()
        starts = [0, *ends]
        if sorted(starts) != starts or starts[-1] != len(content):
            raise ValueError(f"{_name_of_ends(name)} does not divide {name} into strings")
        encoded = (content[start:end] for start, end in zip(starts, ends, strict=False))
        strings = [string.decode("utf-8", "surrogatepass") for string in encoded]
        distinct = set(strings) if form else strings
        if len(distinct) < len(strings) or (form == "sorted" and sorted(distinct) != strings):
            raise ValueError(f"{name} are not {form}, or some occur twice")
        return strings

    def _check_size(self, name: str, array: Any, kind: str, *sizes: str) -> Any:  # noqa: ANN401
        """Return an array or a sparse matrix, or raise ValueError if its type or size is wrong."""
        for size, length in zip(sizes, array.shape, strict=False):
            if size != "any" and not size.isdigit():
                # a matrix without rows does not tell its width
                self.sizes.setdefault(size, length if array.ndim == 1 or array.shape[0] else 0)
        expected = tuple(array.size if size == "any" else self._size_of(size) for size in sizes)
        if array.dtype.name not in kind.split("|") or array.shape != expected:
            problem = f"{name} is {array.dtype} {array.shape}"
            raise ValueError(f"{problem}; expected {kind} {expected}: {', '.join(sizes)}")
        return array

    def _size_of(self, size: str) -> int:
        return int(size) if size.lstrip("-").isdigit() else self.sizes.get(size, -1)

    # --- files -----------------------------------------------------------------------------

    def save(self, path: Path, kind: str) -> None:
        """Write a safetensors file with a checksum of its content.

        The same state gives the same bytes. The file is not written atomically, so nobody else may
        read the path yet. Use `write` otherwise.
        """
        with as_storage_error(path, "written"), path.open("wb") as stream:
            self._write_to(stream, kind)

    def _write_to(self, stream: BinaryIO, kind: str) -> None:
        """Write the bytes of `safetensors.numpy.save_file` without a copy of the arrays.

        That function writes a temporary file and renames it, which loses the lock of the file that
        it replaces.
        """
        description = {"kind": kind, "version": _VERSION, "header": self.metadata}
        description["digest"] = self._digest(description)
        # one entry only: safetensors writes several in an order that changes from run to run
        header: dict[str, Any] = {"__metadata__": {_KEY: json.dumps(description, sort_keys=True)}}
        by_type = {code: number for number, code in enumerate(_SAFETENSORS_TYPES)}
        names = sorted(self.arrays, key=lambda name: (by_type[self.arrays[name].dtype.name], name))
        end = 0
        for name in names:
            array = self.arrays[name]
            start = end
            end = start + array.nbytes
            code = _SAFETENSORS_TYPES[array.dtype.name]
            header[name] = {"dtype": code, "shape": array.shape, "data_offsets": (start, end)}
        encoded = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        encoded += b" " * (-len(encoded) % 8)
        stream.write(len(encoded).to_bytes(8, "little") + encoded)
        for name in names:
            array = self.arrays[name]
            array_in_byte_order = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
            content = array_in_byte_order.reshape(-1).view(np.uint8).data
            for first in range(0, len(content), _CHUNK_BYTES):
                stream.write(content[first : first + _CHUNK_BYTES])

    @classmethod
    def from_bytes(
        cls, path: Path, kind: str, content: bytes, is_checked: bool = False
    ) -> "ModelState":
        """Return the state in the bytes that `save` wrote, after a check of their checksum.

        Parameters
        ----------
        path : Path
            The file, for messages.
        kind : str
            The kind of state that is expected.
        content : bytes
            The content of the file.
        is_checked : bool, default=False
            Whether the caller has verified another checksum, so that this one can be skipped.

        Raises
        ------
        FormatError
            The content is not such a state, of a later version, or damaged.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load

        with as_format_error(path, f"not a {kind} file, or damaged", SafetensorError):
            arrays = load(content)
            for name, array in arrays.items():
                if array.nbytes >= _MIN_BYTES_FOR_COPY:
                    arrays[name] = array.copy()
            n_bytes = int.from_bytes(content[:8], "little")
            stored = (parse_json(content[8 : 8 + n_bytes]).get("__metadata__") or {}).get(_KEY)
        if stored is None:
            problem = f"a safetensors file, but not a {kind} file of wordclass"
            raise FormatError(path, None, problem)
        with as_format_error(path, "damaged: its description is unreadable"):
            description = parse_json(stored)
            checksum = description.pop("digest")
            version = description["version"]
            metadata = description["header"]
            if description["kind"] != kind:
                problem = f"holds {description['kind']!r}"
                raise FormatError(path, None, problem, expected=repr(kind))
            if not isinstance(version, int) or not isinstance(metadata, dict):
                raise ValueError("the version is not an integer, or the header is not an object")
            state = cls(metadata, arrays)
        if version > _VERSION:
            raise FormatError(
                path,
                None,
                f"version {version} of the format",
                expected=f"at most {_VERSION}",
                hint="use a newer wordclass",
            )
        if not is_checked and state._digest(description) != checksum:
            raise FormatError(path, None, "damaged: its content does not match its checksum")
        return state

    def _digest(self, description: Mapping[str, object]) -> str:
        pieces = [
            piece for name in sorted(self.arrays) for piece in (f"{name} ", self.arrays[name])
        ]
        return digest(json.dumps(description, sort_keys=True), *pieces)

    def write(self, path: Path, kind: str) -> None:
        """Write one file atomically, compressed if its name ends in .gz or .zst."""
        with open_for_writing(path) as stream:
            self._write_to(stream, kind)

    @classmethod
    def read(cls, path: Path, kind: str) -> "ModelState":
        """Read a file that `write` wrote.

        Raises
        ------
        MissingDataError, StorageError
            The file does not exist or cannot be read.
        FormatError
            The file is not a state of this kind, of a later version, or damaged.
        """
        return cls.from_bytes(path, kind, read_content(path))


def _name_of_ends(name: str) -> str:
    """Return the name of the array with the ends of strings: `term_ends` for `terms`."""
    return f"{name.removesuffix('s')}_ends"
