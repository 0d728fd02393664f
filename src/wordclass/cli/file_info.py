"""Descriptions of saved files: their type, sizes and settings."""

from pathlib import Path
from typing import Any

import numpy as np

from wordclass.storage import files, models
from wordclass.storage.metadata import display_option
from wordclass.storage.state import ModelState
from wordclass.vectors.word_vectors import WordVectors

_CHOSEN_ARRAYS = {"thresholds": "thresholds", "C": "chosen C"}


def describe(path: Path) -> dict[str, Any]:
    """Describe a model, a .wce file or a file of word vectors."""
    files.require_existing(path)
    with files.as_format_error(path, "damaged: its type cannot be determined"):
        if path.is_dir():
            return _describe_model(path)
        if path.suffix == ".wce":
            return _describe_embeddings(path)
    vectors = WordVectors.load(path)
    description = {"what": "word vectors", "terms": len(vectors), "dimensions": vectors.n_dims}
    if vectors.dimension_names is not None:
        description["classes"] = list(vectors.dimension_names)
    return description


def _describe_model(folder: Path) -> dict[str, Any]:
    manifest, state = models.read(folder)
    training = manifest["training"]
    metadata = manifest["facts"]
    with files.as_format_error(folder, "damaged: its settings cannot be read"):
        chosen = {f"chosen {name}": value for name, value in metadata.get("settings", {}).items()}
        if "history" in metadata:  # of a network
            chosen |= {"epochs": len(metadata["history"]), "best epoch": metadata["best_epoch"]}
        for name, title in _CHOSEN_ARRAYS.items():
            if name in state.arrays:
                chosen[title] = [_round(value) for value in state.arrays[name]]
    versions = manifest["versions"].items()
    return {
        "what": "model",
        "classifier": manifest["classifier"],
        "documents": training.get("n_docs"),
        "fingerprint": training.get("fingerprint"),
        "labels": manifest["labels"],
        "classes": manifest["classes"],
        "made": manifest["created"],
        "made by": ", ".join(f"{package} {version}" for package, version in versions),
        "bytes": manifest["arrays"]["bytes"],
        **chosen,
        **_flatten("score", manifest["scores"]),
        **_describe_options(manifest["settings"]),
    }


def _round(value: float) -> float | None:
    """Round a number, or return None if it is not finite.

    JSON has no infinity, which stands for a class that is never predicted.
    """
    return float(f"{value:.4g}") if np.isfinite(value) else None


def _describe_options(stored: dict[str, Any]) -> dict[str, Any]:
    return {f"option {name}": display_option(value) for name, value in stored.items()}


def _flatten(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return nested values under joined names, such as `score holdout macro_f1`."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        joined = f"{name} {key}"
        flat |= _flatten(joined, value) if isinstance(value, dict) else {joined: value}
    return flat


def _describe_embeddings(path: Path) -> dict[str, Any]:
    state = ModelState.read(path, "wce")
    metadata = state.metadata
    matrix = state.arrays.get("vectors", state.arrays["class_vectors"])
    return {
        "what": "word-class embeddings",
        "terms": matrix.shape[0],
        "dimensions": matrix.shape[1],
        "documents": int(metadata["n_docs"]),
        "labels": metadata["kind"],
        "classes": list(metadata["classes"]),
        "keeps documents": metadata["keeps_documents"],
        "made by": f"wordclass {metadata['wordclass']}",
        **_describe_options(metadata["options"]),
    }
