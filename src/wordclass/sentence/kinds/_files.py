"""The files of a model, which anybody may have made: what they say is checked, none is executed."""

import os
from pathlib import Path
from typing import Any

from wordclass import catalogue
from wordclass.errors import FormatError
from wordclass.storage.files import path_exists, read_content, wrap_foreign_errors
from wordclass.storage.state import parse_json

_PACKAGE = "sentence_transformers."


def read_facts(path: Path) -> dict[str, Any]:
    """Return the JSON object that a file holds; an empty one where there is no such file."""
    facts = _from_json(path) if path_exists(path) else {}
    if not isinstance(facts, dict):
        raise FormatError(path, None, f"it holds a {type(facts).__name__}; expected a JSON object")
    return facts


def read_modules(folder: Path) -> list[tuple[str, str]]:
    """Return the name of each module that a folder of sentence-transformers lists, and its place.

    Without `modules.json` there are none.

    Raises
    ------
    FormatError
        One of them is not of that package, so that foreign code would be needed; or is elsewhere.
    """
    path = folder / "modules.json"
    if not path_exists(path):
        return []
    listed = _from_json(path)
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise FormatError(path, None, "expected a list of JSON objects, one per module")
    modules = []
    for each in listed:
        kind, place = each.get("type"), each.get("path")
        if not isinstance(kind, str) or not isinstance(place, str):
            raise FormatError(path, None, "expected the type and the path of each module")
        if not kind.startswith(_PACKAGE):
            told = f"it asks for the code of {kind:.80}, which is not executed"
            raise FormatError(path, None, f"{told}; only modules of sentence-transformers are")
        if not (folder / place).resolve().is_relative_to(folder.resolve()):
            raise FormatError(path, None, f"the path {place:.80} leads out of the folder")
        modules.append((kind.rpartition(".")[2], place))
    if not modules:
        raise FormatError(path, None, "it lists no module")
    return modules


def has_weights(folder: Path) -> bool:
    """Whether a folder, or one in it, has weights for PyTorch."""
    return any(
        True
        for name in ("*.safetensors", "pytorch_model*.bin")
        for _ in [*folder.glob(name), *folder.glob(f"*/{name}")]
    )


def is_transformer(folder: Path) -> bool:
    """Whether a folder's configuration is that of a network of transformers."""
    return read_facts(folder / "config.json").get("model_type") not in (None, "model2vec")


def read_tokenizer(path: Path, brought_by: str = "encoder") -> Any:  # noqa: ANN401 - an extra's
    """Return the tokenizer that a JSON file describes; it neither pads nor cuts."""
    tokenizers = catalogue.import_extra("tokenizers", f"to read {path}", brought_by)
    keep_to_one_thread()
    with wrap_foreign_errors(path):
        tokenizer = tokenizers.Tokenizer.from_str(read_content(path).decode())
        tokenizer.no_padding()
        tokenizer.no_truncation()
    return tokenizer


def keep_to_one_thread() -> None:
    """Keep tokenizers from starting threads, unasked, that a process forked later would miss."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def _from_json(path: Path) -> Any:  # noqa: ANN401 - whatever JSON can hold
    with wrap_foreign_errors(path, "damaged or cut short, no JSON"):
        return parse_json(read_content(path))
