"""The manifest of a model: JSON that people can read, with a checksum of itself in it."""

import json
from collections.abc import Mapping
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from wordclass.errors import FormatError, InputError

_FORMAT, _VERSION = "wordclass model", 1


def sealed(facts: Mapping[str, Any]) -> bytes:
    """Return facts as the bytes of a manifest."""
    manifest = {"format": _FORMAT, "version": _VERSION, "digest": "", **facts}
    try:
        content = _as_json(manifest, is_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate in a class
        content = _as_json(manifest, is_ascii=True).encode()
    return content.replace(b'"digest": ""', f'"digest": "{_seal(content)}"'.encode(), 1)


def _as_json(manifest: dict[str, Any], *, is_ascii: bool) -> str:
    try:
        text = json.dumps(
            manifest, indent=2, ensure_ascii=is_ascii, allow_nan=False, default=_as_number
        )
    except (TypeError, ValueError) as error:
        raise InputError(f"the manifest of the model cannot be written: {error}") from error
    return text + "\n"


def _as_number(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is a {type(value).__name__}, which JSON cannot hold")


def _seal(content: bytes, digest: str = "") -> str:
    """Return the checksum of a manifest: of all its bytes but those of the checksum."""
    rest = content.replace(f'"digest": "{digest}"'.encode("utf-8", "replace"), b'"digest": ""', 1)
    return blake2b(rest, digest_size=16).hexdigest()


def unsealed(path: Path, content: bytes) -> dict[str, Any]:
    """Return the facts of a manifest, of which not a byte was changed.

    Raises
    ------
    FormatError
        It is no manifest of ours, damaged, or of a later version.
    """
    manifest = parsed(path, content)
    _check_version(path, manifest)
    digest = manifest.get("digest")
    if not isinstance(digest, str) or not digest or digest != _seal(content, digest):
        raise FormatError(path, None, "damaged or changed: it does not match its own checksum")
    return manifest


def parsed(path: Path, content: bytes) -> dict[str, Any]:
    """Return what a manifest holds, sound or not; refuse what is no manifest of ours."""
    try:
        manifest = json.loads(content)
    except (ValueError, RecursionError) as error:
        reason = f"damaged, or no manifest of a model: {error}"
        raise FormatError(path, None, reason) from error
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise FormatError(path, None, "damaged, or not the manifest of a wordclass model")
    return manifest


def _check_version(path: Path, manifest: Mapping[str, Any]) -> None:
    version, versions = manifest.get("version"), manifest.get("versions")
    if not isinstance(version, int) or not isinstance(versions, dict):
        raise FormatError(path, None, "damaged: it does not tell its version")
    if version > _VERSION:
        raise FormatError(
            path,
            None,
            f"version {version} of the format, written by wordclass {versions.get('wordclass')}; "
            f"this is wordclass {metadata.version('wordclass')}, which reads up to {_VERSION}: "
            "use the newer wordclass",
        )
