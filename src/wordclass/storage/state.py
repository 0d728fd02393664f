"""Facts and arrays: the one form in which whatever was learned is stored, and how it is checked."""

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
_CSR = ("data", "indices", "indptr")
_LARGE = 1 << 22  # bytes: from here on memory of NumPy's own is in large pages, and read faster
_CHUNK_BYTES = 1 << 20
# names of NumPy's types in safetensors, in the order in which its own writer puts the arrays
_SAFETENSORS_TYPES = {
    "uint64": "U64", "int64": "I64", "float64": "F64", "float32": "F32", "uint32": "U32",
    "int32": "I32", "float16": "F16", "uint16": "U16", "int16": "I16", "int8": "I8",
    "uint8": "U8", "bool": "BOOL",
}  # fmt: skip
_HOLDS = {">=": operator.ge, "<=": operator.le}


def parse_json(text: str | bytes) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Parse JSON that anybody may have written.

    Raises
    ------
    ValueError, RecursionError
        It is no JSON, or a number in it is no finite float; or it is nested too deeply.
    """
    return json.loads(text, parse_int=_finite, parse_float=_finite, parse_constant=_finite)


def _finite(digits: str) -> int | float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"it holds {digits[:20]}, which is no finite number")
    return int(digits) if digits.lstrip("-").isdigit() else number


def digest(*pieces: bytes | str | NDArray[Any], size: int = 16) -> str:
    """Return a checksum of all pieces, one after the other; of arrays, type and shape count too.

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
    """Return the layout of arrays like this one; see `ModelState.take`."""
    return " ".join([array.dtype.name, *map(str, array.shape)])


@dataclass(eq=False)
class ModelState:
    """What is stored of something: facts that JSON can hold, and arrays by name.

    Whatever is saved has a method `to_parts` that returns these, made with `of`, and one that makes
    it from them again, which gets its arrays from `take` and thereby checked.

    Parameters
    ----------
    facts : dict
    arrays : dict of arrays
        A list of strings is two of them, a sparse matrix four.
    sizes : dict of int
        What the names of sizes stand for, as far as it is known; see `take`.
    """

    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    sizes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Mapping[str, Any] | None = None, /, **values: Value | None) -> "ModelState":
        """Put together facts and arrays, sparse matrices, lists of strings; None is left out."""
        arrays: dict[str, NDArray[Any]] = {}
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                arrays[name] = np.ascontiguousarray(value)
            elif isinstance(value, sparse.csr_matrix):
                arrays |= {f"{name}.{part}": getattr(value, part) for part in _CSR}
                arrays[f"{name}.shape"] = np.array(value.shape, np.int64)
            elif value is not None:
                encoded = [string.encode("utf-8", "surrogatepass") for string in value]
                arrays[name] = np.frombuffer(b"".join(encoded), np.uint8)
                arrays[_ends(name)] = np.cumsum([len(each) for each in encoded], dtype=np.int64)
        return cls(dict(facts or {}), arrays)

    @classmethod
    def of_fields(cls, thing: object, layout: Mapping[str, str]) -> "ModelState":
        """Put together those attributes of an object that a layout names; see `take`."""
        return cls.of(**{name: getattr(thing, name) for name in layout})

    def __or__(self, other: "ModelState") -> "ModelState":
        return ModelState({**self.facts, **other.facts}, {**self.arrays, **other.arrays})

    def under(self, name: str) -> "ModelState":
        """Return the same with a name, and a dot, before all others; `below` takes it away."""
        facts = {f"{name}.{key}": fact for key, fact in self.facts.items()}
        return ModelState(facts, {f"{name}.{key}": array for key, array in self.arrays.items()})

    # --- taking out ------------------------------------------------------------------------

    def below(self, name: str) -> "ModelState":
        """Return what `under` put below a name; the size of the codeframe stays known."""
        start = f"{name}."
        facts = {k.removeprefix(start): v for k, v in self.facts.items() if k.startswith(start)}
        arrays = {k.removeprefix(start): v for k, v in self.arrays.items() if k.startswith(start)}
        return ModelState(facts, arrays, {k: v for k, v in self.sizes.items() if k == "classes"})

    def take(self, **layout: str) -> dict[str, Any]:
        """Return what is stored under these names, each checked against its layout.

        A layout is a type, or several (`int32|int64`), sizes and bounds. A size is a number, or a
        name that stands for the same number in all layouts (`float32 terms classes`), or `any`. A
        bound of all values is such a number or name, too (`int64 terms >=0 <=documents`); floats
        are finite, but those of type `infinite:float64` need not be. Of type `str` is a list of
        strings, of `distinct:str` one without repetitions, and of `sorted:str` in order, too; of
        `csr:float64` is a sparse matrix. Where a type ends in `?`, what is missing is None.

        Raises
        ------
        ValueError
            Something is missing, or not what it should be.

        Examples
        --------
        >>> parts = ModelState.of(terms=["moon", "rose"], weights=np.zeros((2, 3)))
        >>> found = parts.take(terms="str terms", weights="float64 terms classes")
        >>> found["terms"], parts.sizes
        (['moon', 'rose'], {'terms': 2, 'classes': 3})
        """
        return {name: self._take(name, *each.split()) for name, each in layout.items()}

    def _take(self, name: str, kind: str, *rest: str) -> Any:  # noqa: ANN401 - see `take`
        if kind.endswith("?") and name not in self.arrays:
            return None
        form, _, kind = kind.removesuffix("?").rpartition(":")
        bounds = [each for each in rest if each[0] in "<>"]
        sizes = rest[: len(rest) - len(bounds)]
        if kind == "str":
            return self._strings(name, form, *sizes)
        if form == "csr":
            return self._sized(name, self._sparse(name, kind, *bounds), kind, *sizes)
        if name not in self.arrays:
            raise ValueError(f"{name} is missing")
        found = self._sized(name, self.arrays[name], kind, *sizes)
        is_sound = ~np.isnan(found) if form == "infinite" else np.isfinite(found)
        for bound in bounds:
            is_sound &= _HOLDS[bound[:2]](found, self._number(bound[2:]))
        if not is_sound.all():
            raise ValueError(f"{name} holds numbers that are not finite {' '.join(bounds)}")
        return found

    def _sparse(self, name: str, kind: str, *bounds: str) -> Sparse:
        n_rows, n_columns = self._take(f"{name}.shape", "int64", "2", ">=0").tolist()
        data = self._take(f"{name}.data", kind, "any", *bounds)
        within = (str(len(data)), ">=0", f"<={n_columns - 1}") if len(data) else ("0",)
        indices = self._take(f"{name}.indices", "int32|int64", *within)
        starts = self._take(f"{name}.indptr", "int32|int64", str(n_rows + 1))
        if starts[0] != 0 or starts[-1] != len(data) or (starts[1:] < starts[:-1]).any():
            raise ValueError(f"{name}.indptr does not cut {name}.indices into rows")
        matrix = sparse.csr_matrix((data, indices, starts), shape=(n_rows, n_columns))
        matrix = matrix if matrix.has_sorted_indices else matrix.sorted_indices()
        if not matrix.has_canonical_format:
            raise ValueError(f"{name} has two values in one place")
        return matrix

    def _strings(self, name: str, form: str, *sizes: str) -> list[str]:
        everything = self._take(name, "uint8", "any").tobytes()
        ends = self._take(_ends(name), "int64", *sizes).tolist()
        starts = [0, *ends]
        if sorted(starts) != starts or starts[-1] != len(everything):
            raise ValueError(f"{_ends(name)} does not cut {name} into strings")
        pieces = (everything[start:end] for start, end in zip(starts, ends, strict=False))
        strings = [piece.decode("utf-8", "surrogatepass") for piece in pieces]
        distinct = set(strings) if form else strings
        if len(distinct) < len(strings) or (form == "sorted" and sorted(distinct) != strings):
            raise ValueError(f"{name} are not {form}, or some are there twice")
        return strings

    def _sized(self, name: str, found: Any, kind: str, *sizes: str) -> Any:  # noqa: ANN401
        """Return an array or a sparse matrix if it has this type and these sizes."""
        for size, n_found in zip(sizes, found.shape, strict=False):
            if size != "any" and not size.isdigit():  # nothing of any width is of width 0
                self.sizes.setdefault(size, n_found if found.ndim == 1 or found.shape[0] else 0)
        expected = tuple(found.size if size == "any" else self._number(size) for size in sizes)
        if found.dtype.name not in kind.split("|") or found.shape != expected:
            told = f"{name} is {found.dtype} {found.shape}"
            raise ValueError(f"{told}; expected {kind} {expected}: {', '.join(sizes)}")
        return found

    def _number(self, size: str) -> int:
        return int(size) if size.lstrip("-").isdigit() else self.sizes.get(size, -1)

    # --- files -----------------------------------------------------------------------------

    def save(self, path: Path, kind: str) -> None:
        """Write a safetensors file with a checksum of all, straight from the arrays.

        The same parts give the same bytes. Only for a path that nobody else looks at yet: the file
        is there before it is complete; see `write`.
        """
        with as_storage_error(path, "written"), path.open("wb") as stream:
            self._write_to(stream, kind)

    def _write_to(self, stream: BinaryIO, kind: str) -> None:
        """Write the bytes that `safetensors.numpy.save_file` would, without a copy of the arrays.

        That function writes a temporary file of its own and renames it, which loses the lock of the
        file that it replaces.
        """
        description = {"kind": kind, "version": _VERSION, "header": self.facts}
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
            little_endian = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
            content = little_endian.reshape(-1).view(np.uint8).data
            for first in range(0, len(content), _CHUNK_BYTES):
                stream.write(content[first : first + _CHUNK_BYTES])

    @classmethod
    def from_bytes(
        cls, path: Path, kind: str, content: bytes, is_checked: bool = False
    ) -> "ModelState":
        """Return what `save` made a file of, if nothing of it was changed; see `read`.

        Where another checksum has told already that nothing was, its own is not looked at.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load

        with as_format_error(path, f"not a {kind} file, or damaged", SafetensorError):
            arrays = load(content)
            for name, array in arrays.items():
                if array.nbytes >= _LARGE:
                    arrays[name] = array.copy()
            n_bytes = int.from_bytes(content[:8], "little")
            stored = (parse_json(content[8 : 8 + n_bytes]).get("__metadata__") or {}).get(_KEY)
        if stored is None:
            raise FormatError(path, None, f"a safetensors file, but not a {kind} file of wordclass")
        with as_format_error(path, "damaged: its description is unreadable"):
            told = parse_json(stored)
            expected, version, facts = told.pop("digest"), told["version"], told["header"]
            if told["kind"] != kind:
                raise FormatError(path, None, f"holds {told['kind']!r}; expected {kind!r}")
            if not isinstance(version, int) or not isinstance(facts, dict):
                raise ValueError("version or header is not what it should be")
            parts = cls(facts, arrays)
        if version > _VERSION:
            known = f"this wordclass reads up to {_VERSION}"
            raise FormatError(path, None, f"version {version} of the format; {known}")
        if not is_checked and parts._digest(told) != expected:
            raise FormatError(path, None, "damaged: its content does not match its checksum")
        return parts

    def _digest(self, told: Mapping[str, object]) -> str:
        arrays = [each for name in sorted(self.arrays) for each in (f"{name} ", self.arrays[name])]
        return digest(json.dumps(told, sort_keys=True), *arrays)

    def write(self, path: Path, kind: str) -> None:
        """Write one file, which appears when it is complete; compressed where its name says so."""
        with open_for_writing(path) as stream:
            self._write_to(stream, kind)

    @classmethod
    def read(cls, path: Path, kind: str) -> "ModelState":
        """Read what `write` wrote.

        Raises
        ------
        MissingDataError, StorageError
            There is no such file; it cannot be read.
        FormatError
            It is no file of ours, of another kind, of a later version, or damaged.
        """
        return cls.from_bytes(path, kind, read_content(path))


def _ends(name: str) -> str:
    """Return under which name it is kept where each of some strings ends: term_ends for terms."""
    return f"{name.removesuffix('s')}_ends"
