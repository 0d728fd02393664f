"""Models as folders: a manifest that people can read, and arrays. Nothing in them is executed."""

import json
import os
import platform
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b, file_digest
from importlib import metadata
from operator import methodcaller
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from wordclass import catalogue
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import FormatError, InputError, StorageError
from wordclass.storage import files as storage
from wordclass.storage.metadata import restore_codeframe, restore_options
from wordclass.storage.state import ModelState, digest, parse_json

MANIFEST, ARRAYS = "manifest.json", "model.safetensors"

_FORMAT, _VERSION = "wordclass model", 1
_KIND = "model"
_PACKAGES = ("wordclass", "numpy", "scipy", "scikit-learn")
_FIELDS = {
    "created": str, "classifier": str, "settings": dict, "labels": str, "classes": list,
    "training": dict, "scores": dict, "facts": dict, "versions": dict, "arrays": dict,
}  # fmt: skip
_NO_DIGEST = b'"digest": ""'


def load(folder: str | PathLike[str], **functions: object) -> Any:  # noqa: ANN401 - by its name
    """Read a classifier that its method `save` wrote.

    A function (`analyzer`, `weighting`, `correlation`) of the user's own is not in the folder,
    only its name: it must be given again, as `load("model/", analyzer=...)`.
    """
    place = Path(folder)
    manifest, parts = read(place)
    name, version = manifest["classifier"], manifest.get("classifier_version", 1)
    with storage.as_format_error(place, f"not a model of {name!r} that this wordclass can use"):
        estimators = {"WordClassEmbeddings": WordClassEmbeddings}
        options = restore_options(place, manifest["settings"], functions, estimators)
        frame = restore_codeframe(
            manifest["classes"], manifest["labels"], manifest["matrix_columns"]
        )
        make = catalogue.entry("classifiers", name).make
        if version > make.version:
            raise ValueError(f"version {version}; it knows {make.version}: {_newer(manifest)}")
        model = make.restore(options, frame, parts)
        model.scores_ = manifest["scores"]
        model.fields_ = dict(manifest.get("fields", {}))  # those of the corpus, for the commands
        return model


# --- writing --------------------------------------------------------------------------------


def write(
    folder: Path, about: Mapping[str, Any], parts: ModelState, packages: Iterable[str] = ()
) -> None:
    """Write a model; the folder appears when it is complete.

    A model that is there already is replaced as a whole.

    Parameters
    ----------
    folder : Path
    about : mapping
        What the manifest tells beside what was learned, when and with what.
    parts : ModelState
        What was learned.
    packages : iterable of str, default=()
        Which packages it needs beside those that everything needs.

    Raises
    ------
    InputError
        Something else is there; or JSON cannot hold what the manifest should tell.
    StorageError
        The disk is full, or the like.
    """
    with storage.replace_folder_atomically(folder, partial(_check_model, folder)) as temporary:
        ModelState({}, parts.arrays).save(temporary / ARRAYS, _KIND)
        with (temporary / ARRAYS).open("rb") as file:
            checksum = file_digest(file, partial(blake2b, digest_size=32)).hexdigest()
            n_bytes = os.fstat(file.fileno()).st_size
        versions = {package: metadata.version(package) for package in (*_PACKAGES, *packages)}
        manifest = {
            "format": _FORMAT,
            "version": _VERSION,
            "digest": "",
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            **about,
            "facts": parts.metadata,
            "versions": {"python": platform.python_version(), **versions},
            "arrays": {"file": ARRAYS, "bytes": n_bytes, "digest": checksum},
        }
        (temporary / MANIFEST).write_bytes(seal_manifest(manifest))


def seal_manifest(manifest: Mapping[str, Any]) -> bytes:
    """Return the bytes of a manifest, with a checksum of all others in them."""
    try:
        numbers = methodcaller("item")  # of NumPy
        text = json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False, default=numbers)
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"the manifest of the model cannot be written: {error}") from error
    content = f"{text}\n".encode("utf-8", "backslashreplace")  # of a lone surrogate, JSON's escape
    return content.replace(_NO_DIGEST, f'"digest": "{digest(content)}"'.encode(), 1)


def check_replaceable(folder: Path) -> None:
    """Refuse a place for a model where something else is."""
    storage.check_folder(folder, partial(_check_model, folder))


def _check_model(folder: Path, found: set[str]) -> None:
    """Refuse to replace a folder that is no model."""
    strange = sorted(found - {MANIFEST, ARRAYS})
    if strange or MANIFEST not in found:
        reason = f"it holds {strange[0]}" if strange else f"it has no {MANIFEST}"
        raise InputError(f"{folder} is no model ({reason}); choose another folder")
    try:
        _parsed(folder / MANIFEST, storage.read_content(folder / MANIFEST))
    except (FormatError, StorageError) as error:
        raise InputError(f"{folder} is no model ({error}); choose another folder") from error


# --- reading --------------------------------------------------------------------------------


def read(folder: Path) -> tuple[dict[str, Any], ModelState]:
    """Return the manifest of a model and what was learned, every byte of it checked.

    Raises
    ------
    MissingDataError
        There is no such folder.
    FormatError
        It is no model, or not complete, or damaged, or of a later version.
    """
    path = folder / ARRAYS
    with ExitStack() as stack:
        described, arrays = _opened(stack, folder, MANIFEST, ARRAYS)
        manifest = _manifest(folder, described)
        expected, n_bytes = manifest["arrays"], os.fstat(arrays.fileno()).st_size
        if n_bytes != expected.get("bytes"):
            told = f"{n_bytes:,} bytes; the manifest says {expected.get('bytes')}"
            raise FormatError(path, None, f"{told}: cut or replaced")
        content = arrays.read()
    if digest(content, size=32) != expected.get("digest"):
        raise FormatError(path, None, "damaged: it does not match the checksum in the manifest")
    parts = ModelState.from_bytes(path, _KIND, content, is_checked=True)
    return manifest, ModelState(manifest["facts"], parts.arrays)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a model, of which not a byte was changed; see `read`."""
    with ExitStack() as stack:
        return _manifest(folder, *_opened(stack, folder, MANIFEST))


def _opened(stack: ExitStack, folder: Path, *names: str) -> list[BinaryIO]:
    """Open files of a model, all of the same one also while another takes its place."""
    place = storage.locate_folder(folder)
    if (state := storage.file_identity(place)) is None:
        storage.require_existing(folder)  # unless it got its place back
        return _opened(stack, folder, *names)
    with storage.as_storage_error(folder):
        try:
            files = [stack.enter_context(storage.open_raw(place / name)) for name in names]
        except (FileNotFoundError, NotADirectoryError) as error:
            if storage.file_identity(place) == state:
                told = f"{Path(error.filename).name} is missing; expected the folder of a model"
                raise FormatError(folder, None, told) from error
    return files if storage.file_identity(place) == state else _opened(stack, folder, *names)


def _manifest(folder: Path, file: BinaryIO) -> dict[str, Any]:
    """Return a manifest that is as it was written, and not by a later version."""
    path, content = folder / MANIFEST, file.read()
    manifest = _parsed(path, content)
    version = manifest.get("version")
    if not isinstance(version, int) or not isinstance(manifest.get("versions"), dict):
        raise FormatError(path, None, "damaged: it does not tell its version")
    if version > _VERSION:
        raise FormatError(path, None, f"version {version} of the format, {_newer(manifest)}")
    seal = json.dumps(manifest.get("digest"))
    rest = content.replace(f'"digest": {seal}'.encode(), _NO_DIGEST, 1)
    if digest(rest) != manifest.get("digest"):
        raise FormatError(path, None, "damaged or changed: it does not match its own checksum")
    for key, kind in _FIELDS.items():
        if not isinstance(manifest.get(key), kind):
            raise FormatError(path, None, f"{key!r} is missing, or not what it should be")
    if manifest["classifier"] not in (names := catalogue.names("classifiers")):
        reason = f"unknown classifier {manifest['classifier']!r}; known: {', '.join(names)}"
        raise FormatError(path, None, reason)
    return manifest


def _parsed(path: Path, content: bytes) -> dict[str, Any]:
    """Return what a manifest holds, sound or not; refuse what is no manifest of ours."""
    with storage.as_format_error(path, "damaged, or no manifest of a model"):
        manifest = parse_json(content)
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise FormatError(path, None, "damaged, or not the manifest of a wordclass model")
    return manifest


def _newer(manifest: Mapping[str, Any]) -> str:
    theirs, ours = manifest["versions"].get("wordclass"), metadata.version("wordclass")
    return f"written by wordclass {theirs}; this is wordclass {ours}: use the newer one"
