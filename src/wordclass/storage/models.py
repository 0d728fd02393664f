"""Save and load models: folders with a readable manifest and arrays. No code is executed."""

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

MANIFEST = "manifest.json"
ARRAYS = "model.safetensors"

_FORMAT = "wordclass model"
_VERSION = 1
_KIND = "model"
_PACKAGES = ("wordclass", "numpy", "scipy", "scikit-learn")
_FIELDS = {
    "created": str, "classifier": str, "settings": dict, "labels": str, "classes": list,
    "training": dict, "scores": dict, "facts": dict, "versions": dict, "arrays": dict,
}  # fmt: skip
_JSON_NAMES = {str: "a string", dict: "an object", list: "a list"}
_NO_DIGEST = b'"digest": ""'


def load(folder: str | PathLike[str], **functions: object) -> Any:  # noqa: ANN401 - by its name
    """Load a classifier that its method `save` wrote.

    Parameters
    ----------
    folder : str or path
        The folder of the model.
    **functions : callable
        The user-defined functions that the classifier was created with (`analyzer`, `weighting`,
        `correlation`), by option. A model stores only their names, because loading never executes
        code from a file.

    Returns
    -------
    classifier
        The fitted classifier. It predicts the same as the saved one.

    Raises
    ------
    MissingDataError
        The folder does not exist.
    FormatError
        The folder is not a model, is incomplete or damaged, or needs a newer version.
    InputError
        A user-defined function is missing, or `functions` names an unknown option.

    See Also
    --------
    WordClassEmbeddings.load : Load word-class embeddings.
    WordVectors.load : Load word vectors.

    Examples
    --------
    >>> import tempfile
    >>> import wordclass as wc
    >>> texts = ["the red rose", "a white rose", "the full moon", "a new moon"]
    >>> labels = ["garden", "garden", "sky", "sky"]
    >>> classifier = wc.classifier("nearest", min_docs=1).fit(texts, labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     classifier.save(f"{folder}/model")
    ...     loaded = wc.load(f"{folder}/model")
    >>> loaded.predict(["rose", "moon"]).tolist()
    ['garden', 'sky']
    """
    path = Path(folder)
    manifest, state = read(path)
    name = manifest["classifier"]
    version = manifest.get("classifier_version", 1)
    with storage.as_format_error(path, f"not a model of {name!r} that this wordclass can use"):
        estimators = {"WordClassEmbeddings": WordClassEmbeddings}
        options = restore_options(path, manifest["settings"], functions, estimators)
        codeframe = restore_codeframe(
            manifest["classes"], manifest["labels"], manifest["matrix_columns"]
        )
        kind = catalogue.entry("classifiers", name).make
        if version > kind.version:
            raise InputError(
                f"version {version} of its state",
                expected=f"at most {kind.version}",
                hint=_describe_versions(manifest),
            )
        model = kind.restore(options, codeframe, state)
        model.scores_ = manifest["scores"]
        model.fields_ = dict(manifest.get("fields", {}))  # of the corpus, for the commands
        return model


# --- writing --------------------------------------------------------------------------------


def write(
    folder: Path, about: Mapping[str, Any], state: ModelState, packages: Iterable[str] = ()
) -> None:
    """Write a model atomically. An existing model is replaced as a whole.

    Parameters
    ----------
    folder : Path
        The folder of the model.
    about : mapping
        The description of the model in the manifest, such as its classes and options.
    state : ModelState
        The fitted state.
    packages : iterable of str, default=()
        The packages that this kind of model needs in addition to the usual ones.

    Raises
    ------
    InputError
        The folder holds something else, or JSON cannot hold the description.
    StorageError
        The folder cannot be written, for example because the disk is full.
    """
    with storage.replace_folder_atomically(folder, partial(_check_model, folder)) as temporary:
        ModelState({}, state.arrays).save(temporary / ARRAYS, _KIND)
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
            "facts": state.metadata,
            "versions": {"python": platform.python_version(), **versions},
            "arrays": {"file": ARRAYS, "bytes": n_bytes, "digest": checksum},
        }
        (temporary / MANIFEST).write_bytes(seal_manifest(manifest))


def seal_manifest(manifest: Mapping[str, Any]) -> bytes:
    """Return the bytes of a manifest, including a checksum of the other bytes."""
    try:
        from_numpy = methodcaller("item")
        text = json.dumps(
            manifest, indent=2, ensure_ascii=False, allow_nan=False, default=from_numpy
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"the manifest of the model cannot be written: {error}") from error
    # a lone surrogate becomes an escape of JSON
    content = f"{text}\n".encode("utf-8", "backslashreplace")
    return content.replace(_NO_DIGEST, f'"digest": "{digest(content)}"'.encode(), 1)


def check_replaceable(folder: Path) -> None:
    """Raise an InputError if the folder exists and is not a model."""
    storage.check_folder(folder, partial(_check_model, folder))


def _check_model(folder: Path, names: set[str]) -> None:
    """Raise an InputError if a folder with files of these names is not a model."""
    hint = "choose another folder"
    unknown = sorted(names - {MANIFEST, ARRAYS})
    if unknown or MANIFEST not in names:
        reason = f"it holds {unknown[0]}" if unknown else f"it has no {MANIFEST}"
        raise InputError(f"{folder} is not a model ({reason})", hint=hint)
    try:
        _parse_manifest(folder / MANIFEST, storage.read_content(folder / MANIFEST))
    except (FormatError, StorageError) as error:
        raise InputError(f"{folder} is not a model ({error})", hint=hint) from error


# --- reading --------------------------------------------------------------------------------


def read(folder: Path) -> tuple[dict[str, Any], ModelState]:
    """Read the manifest and the state of a model, and verify all checksums.

    Raises
    ------
    MissingDataError
        The folder does not exist.
    FormatError
        The folder is not a model, is incomplete or damaged, or of a later version.
    """
    path = folder / ARRAYS
    with ExitStack() as stack:
        manifest_file, arrays_file = _open_files(stack, folder, MANIFEST, ARRAYS)
        manifest = _read_manifest(folder, manifest_file)
        expected = manifest["arrays"]
        n_bytes = os.fstat(arrays_file.fileno()).st_size
        if n_bytes != expected.get("bytes"):
            raise FormatError(
                path,
                None,
                f"cut short or replaced: it has {n_bytes:,} bytes",
                expected=f"{expected.get('bytes')} bytes as in the manifest",
            )
        content = arrays_file.read()
    if digest(content, size=32) != expected.get("digest"):
        raise FormatError(path, None, "damaged: it does not match the checksum in the manifest")
    state = ModelState.from_bytes(path, _KIND, content, is_checked=True)
    return manifest, ModelState(manifest["facts"], state.arrays)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a model and verify its checksum. See `read`."""
    with ExitStack() as stack:
        return _read_manifest(folder, *_open_files(stack, folder, MANIFEST))


def _open_files(stack: ExitStack, folder: Path, *names: str) -> list[BinaryIO]:
    """Open files of a model. All belong to the same model even if it is being replaced."""
    place = storage.locate_folder(folder)
    identity = storage.file_identity(place)
    if identity is None:
        storage.require_existing(folder)  # it may have reappeared
        return _open_files(stack, folder, *names)
    with storage.as_storage_error(folder):
        try:
            files = [stack.enter_context(storage.open_raw(place / name)) for name in names]
        except (FileNotFoundError, NotADirectoryError) as error:
            if storage.file_identity(place) == identity:
                problem = f"{Path(error.filename).name} is missing"
                raise FormatError(
                    folder, None, problem, expected="the folder of a model"
                ) from error
    if storage.file_identity(place) == identity:
        return files
    return _open_files(stack, folder, *names)


def _read_manifest(folder: Path, file: BinaryIO) -> dict[str, Any]:
    """Read a manifest, and verify its checksum, version and fields."""
    path = folder / MANIFEST
    content = file.read()
    manifest = _parse_manifest(path, content)
    version = manifest.get("version")
    if not isinstance(version, int) or not isinstance(manifest.get("versions"), dict):
        raise FormatError(path, None, "damaged: its version is missing")
    if version > _VERSION:
        problem = f"version {version} of the format, {_describe_versions(manifest)}"
        raise FormatError(path, None, problem)
    stored_digest = json.dumps(manifest.get("digest"))
    without_digest = content.replace(f'"digest": {stored_digest}'.encode(), _NO_DIGEST, 1)
    if digest(without_digest) != manifest.get("digest"):
        raise FormatError(path, None, "damaged or changed: it does not match its own checksum")
    for key, kind in _FIELDS.items():
        if not isinstance(manifest.get(key), kind):
            raise FormatError(
                path, None, f"{key!r} is missing or invalid", expected=_JSON_NAMES[kind]
            )
    names = catalogue.names("classifiers")
    if manifest["classifier"] not in names:
        problem = f"unknown classifier {manifest['classifier']!r}"
        raise FormatError(path, None, problem, expected=", ".join(names))
    return manifest


def _parse_manifest(path: Path, content: bytes) -> dict[str, Any]:
    """Parse the JSON of a manifest. Its fields are not validated."""
    with storage.as_format_error(path, "damaged, or not the manifest of a model"):
        manifest = parse_json(content)
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise FormatError(path, None, "damaged, or not the manifest of a wordclass model")
    return manifest


def _describe_versions(manifest: Mapping[str, Any]) -> str:
    """Return the versions that wrote and read a manifest, and the remedy."""
    writer = manifest["versions"].get("wordclass")
    reader = metadata.version("wordclass")
    return f"written by wordclass {writer}; this is wordclass {reader}: use the newer one"
