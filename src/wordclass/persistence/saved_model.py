"""A model as a folder: a manifest that people can read, and arrays. Nothing in it is executed."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from wordclass import naming, storage, tensor_file
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import FormatError, InputError, MissingDataError, StorageError
from wordclass.labels import Codeframe, Kind
from wordclass.persistence import manifest
from wordclass.persistence.training_data import TrainingData
from wordclass.stored_options import Functions, restored, storable

MANIFEST, ARRAYS = "manifest.json", "model.safetensors"

_KIND = "model"
_FINGERPRINTS = "training.fingerprints"
_PACKAGES = ("wordclass", "numpy", "scipy", "scikit-learn")
_ESTIMATORS = {"WordClassEmbeddings": WordClassEmbeddings}
_FIELDS = {
    "created": str, "classifier": str, "settings": dict, "labels": str, "classes": list,
    "training": dict, "scores": dict, "facts": dict, "versions": dict, "arrays": dict,
}  # fmt: skip
_CHUNK = 1 << 20


@dataclass(frozen=True, eq=False)
class SavedModel:
    """All there is to know of a fitted classifier.

    Parameters
    ----------
    classifier
        Its name in the catalogue.
    options
        With which it was made.
    codeframe
        Its classes, and the form in which labels come and go.
    training
        The texts it was trained on.
    facts, arrays
        What it learned: values that JSON can hold, and arrays.
    scores
        What is known of its quality.
    packages
        Which packages it needs beside those that everything needs.
    """

    classifier: str
    options: dict[str, Any]
    codeframe: Codeframe
    training: TrainingData
    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    scores: dict[str, Any]
    packages: tuple[str, ...] = ()


def write(folder: Path, model: SavedModel) -> None:
    """Write a model; the folder appears when it is complete.

    A model that is there already is replaced as a whole.

    Raises
    ------
    InputError
        Something else is there.
    StorageError
        The disk is full, or the like.
    """
    with storage.replacing_folder(folder, lambda found: _check_model(folder, found)) as temporary:
        arrays = {**model.arrays, _FINGERPRINTS: model.training.fingerprints}
        tensor_file.write(temporary / ARRAYS, _KIND, {}, arrays)
        facts = _facts(model, temporary / ARRAYS)
        (temporary / MANIFEST).write_bytes(manifest.sealed(facts))


def load(folder: str | PathLike[str], **functions: object) -> Any:  # noqa: ANN401 - by its name
    """Read a classifier that its method `save` wrote.

    A function (`analyzer`, `weighting`, `correlation`) of the user's own is not in the folder,
    only its name: it must be given again, as `load("model/", analyzer=...)`.
    """
    place = Path(folder)
    model = read(place, functions)
    make = naming.entry("classifiers", model.classifier).make
    try:
        return make.restore(model, model.options)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        reason = f"not a model of {model.classifier!r} that this wordclass can use: {error}"
        raise FormatError(place, None, reason) from error


def read(folder: Path, functions: Functions | None = None) -> SavedModel:
    """Read what `write` wrote, every byte of it checked.

    Raises
    ------
    MissingDataError
        There is no such folder.
    FormatError
        It is no model, or not complete, or damaged, or of a later version.
    InputError
        The model was made with a function that is not among the given ones.
    """
    found = read_manifest(folder)
    check_arrays(folder, found)
    arrays = tensor_file.read(folder / ARRAYS, _KIND)[1]
    try:
        training = TrainingData.of_hashes(arrays.pop(_FINGERPRINTS).astype(np.uint64, copy=False))
        codeframe = _codeframe(found)
        options = restored(folder, found["settings"], functions or {}, _ESTIMATORS)
    except InputError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormatError(folder / MANIFEST, None, f"not complete: {error}") from error
    return SavedModel(
        found["classifier"], options, codeframe, training, found["facts"], arrays, found["scores"]
    )


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a model, and check that nobody changed it; see `read`."""
    storage.require(folder)
    if not folder.is_dir():
        raise FormatError(folder, None, "a file; expected the folder of a model")
    path = folder / MANIFEST
    found = manifest.unsealed(path, _content(path))
    for key, kind in _FIELDS.items():
        if not isinstance(found.get(key), kind):
            raise FormatError(path, None, f"{key!r} is missing, or not what it should be")
    name = found["classifier"]
    if name not in naming.names("classifiers"):
        known = ", ".join(naming.names("classifiers"))
        raise FormatError(path, None, f"unknown classifier {name!r}; known: {known}")
    return found


def check_arrays(folder: Path, found: Mapping[str, Any]) -> None:
    """Refuse a model whose arrays are not those that its manifest was written with."""
    path, expected = folder / ARRAYS, found["arrays"]
    if not path.exists():
        raise MissingDataError(f"{folder}: the model is not complete: {ARRAYS} is missing")
    n_bytes = path.stat().st_size
    if n_bytes != expected.get("bytes"):
        reason = f"{n_bytes:,} bytes; the manifest says {expected.get('bytes')}: cut or replaced"
        raise FormatError(path, None, reason)
    if _digest(path) != expected.get("digest"):
        raise FormatError(path, None, "damaged: it does not match the checksum in the manifest")


def check_replaceable(folder: Path) -> None:
    """Refuse a place for a model where something else is."""
    storage.check_folder(folder, lambda names: _check_model(folder, names))


def _facts(model: SavedModel, arrays: Path) -> dict[str, Any]:
    codeframe = model.codeframe
    versions = {package: metadata.version(package) for package in (*_PACKAGES, *model.packages)}
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "classifier": model.classifier,
        "settings": storable(model.options),
        "labels": codeframe.kind,
        "classes": codeframe.classes,
        "matrix_columns": codeframe.matrix_columns,
        "training": {"n_docs": model.training.n_docs, "fingerprint": model.training.fingerprint},
        "scores": model.scores,
        "facts": model.facts,
        "versions": {"python": platform.python_version(), **versions},
        "arrays": {"file": ARRAYS, "bytes": arrays.stat().st_size, "digest": _digest(arrays)},
    }


def _content(path: Path) -> bytes:
    if not path.exists():
        reason = f"not a model, or not complete: {path.name} is missing"
        raise FormatError(path.parent, None, reason)
    with storage.reading(path) as stream:
        return stream.read()


def _digest(path: Path) -> str:
    checksum = blake2b(digest_size=32)
    with storage.reading(path) as stream:
        while chunk := stream.read(_CHUNK):
            checksum.update(chunk)
    return checksum.hexdigest()


def _codeframe(found: Mapping[str, Any]) -> Codeframe:
    classes, kind = found["classes"], found["labels"]
    columns = found["matrix_columns"]
    is_sound = (
        isinstance(classes, list)
        and {type(label) for label in classes} in ({str}, {int})
        and classes == sorted(set(classes))
        and kind in get_args(Kind)
        and (columns is None or sorted(columns) == list(range(len(classes))))
    )
    if not is_sound:
        raise ValueError("its classes are not a codeframe")
    return Codeframe(tuple(classes), kind, None if columns is None else tuple(columns))


def _check_model(folder: Path, found: set[str]) -> None:
    """Refuse to replace a folder that is no model."""
    strange = sorted(found - {MANIFEST, ARRAYS})
    if strange or MANIFEST not in found:
        reason = f"it holds {strange[0]}" if strange else f"it has no {MANIFEST}"
        raise InputError(f"{folder} is no model ({reason}); choose another folder")
    try:
        manifest.parsed(folder / MANIFEST, _content(folder / MANIFEST))
    except (FormatError, StorageError) as error:
        raise InputError(f"{folder} is no model ({error}); choose another folder") from error
