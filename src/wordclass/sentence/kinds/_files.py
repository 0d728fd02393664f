"""Read the files of a model. They are untrusted: they are validated and never executed."""

import os
from pathlib import Path
from typing import Any

from wordclass import catalogue
from wordclass.errors import FormatError
from wordclass.storage.files import path_exists, read_content, wrap_foreign_errors
from wordclass.storage.state import parse_json

_PACKAGE = "sentence_transformers."


def read_settings(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, or an empty one if the file does not exist."""
    settings = _read_json(path) if path_exists(path) else {}
    if not isinstance(settings, dict):
        raise FormatError(
            path, None, f"it holds a {type(settings).__name__}", expected="a JSON object"
        )
    return settings


def read_modules(folder: Path) -> list[tuple[str, str]]:
    """Return the name and the folder of each module in a folder of sentence-transformers.

    Without `modules.json`, there are none.

    Raises
    ------
    FormatError
        If a module belongs to another package, whose code would be needed, or its folder is outside
        this one.
    """
    path = folder / "modules.json"
    if not path_exists(path):
        return []
    entries = _read_json(path)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise FormatError(
            path, None, "it is not a list of modules", expected="a list of JSON objects"
        )
    modules = []
    for entry in entries:
        kind = entry.get("type")
        subfolder = entry.get("path")
        if not isinstance(kind, str) or not isinstance(subfolder, str):
            raise FormatError(
                path, None, f"a module is {entry!s:.80}", expected="its type and path as strings"
            )
        if not kind.startswith(_PACKAGE):
            raise FormatError(
                path,
                None,
                f"the module {kind:.80} needs code that is not executed",
                expected="only modules of sentence-transformers",
            )
        if not (folder / subfolder).resolve().is_relative_to(folder.resolve()):
            raise FormatError(path, None, f"the path {subfolder:.80} leads out of the folder")
        modules.append((kind.rpartition(".")[2], subfolder))
    if not modules:
        raise FormatError(path, None, "it lists no module", expected="at least one")
    return modules


def has_weights(folder: Path) -> bool:
    """Return True if a folder or one of its subfolders contains weights for PyTorch."""
    return any(
        True
        for name in ("*.safetensors", "pytorch_model*.bin")
        for _ in [*folder.glob(name), *folder.glob(f"*/{name}")]
    )


def is_transformer(folder: Path) -> bool:
    """Return True if the configuration in a folder describes a transformer."""
    return read_settings(folder / "config.json").get("model_type") not in (None, "model2vec")


def read_tokenizer(path: Path, extra: str = "encoder") -> Any:  # noqa: ANN401 - of an extra
    """Return the tokenizer in a JSON file, without padding or truncation."""
    tokenizers = catalogue.import_extra("tokenizers", f"to read {path}", extra)
    disable_tokenizer_threads()
    with wrap_foreign_errors(path):
        tokenizer = tokenizers.Tokenizer.from_str(read_content(path).decode())
        tokenizer.no_padding()
        tokenizer.no_truncation()
    return tokenizer


def disable_tokenizer_threads() -> None:
    """Prevent tokenizers from starting threads, which a process that is forked later lacks."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def _read_json(path: Path) -> Any:  # noqa: ANN401 - any JSON value
    with wrap_foreign_errors(path, "it is damaged or not JSON"):
        return parse_json(read_content(path))
