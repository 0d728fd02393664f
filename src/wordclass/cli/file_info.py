"""What a saved file is, and with which settings it was made."""

from pathlib import Path
from typing import Any

import numpy as np

from wordclass.storage import files, models
from wordclass.storage.metadata import display_option
from wordclass.storage.state import ModelState
from wordclass.vectors.word_vectors import WordVectors


def describe(path: Path) -> dict[str, Any]:
    """Return the facts about a model, a .wce file or a file of word vectors."""
    files.require_existing(path)
    with files.as_format_error(path, "damaged: it does not tell what it is"):
        if path.is_dir():
            return _describe_model(path)
        if path.suffix == ".wce":
            return _describe_embeddings(path)
    vectors = WordVectors.load(path)
    facts = {"what": "word vectors", "terms": len(vectors), "dimensions": vectors.n_dims}
    if vectors.dimension_names is not None:
        facts["classes"] = list(vectors.dimension_names)
    return facts


def _describe_model(folder: Path) -> dict[str, Any]:
    manifest, parts = models.read(folder)
    training, facts = manifest["training"], manifest["facts"]
    with files.as_format_error(folder, "what was learned is not told as expected"):
        chosen = {f"chosen {name}": value for name, value in facts.get("settings", {}).items()}
        if "history" in facts:  # of a network
            chosen |= {"epochs": len(facts["history"]), "best epoch": facts["best_epoch"]}
        for name, told in (("thresholds", "thresholds"), ("C", "chosen C")):
            if name in parts.arrays:
                # JSON has no infinite numbers: None is the threshold of a class never predicted
                chosen[told] = [
                    float(f"{value:.4g}") if np.isfinite(value) else None
                    for value in parts.arrays[name]
                ]
    return {
        "what": "model",
        "classifier": manifest["classifier"],
        "documents": training.get("n_docs"),
        "fingerprint": training.get("fingerprint"),
        "labels": manifest["labels"],
        "classes": manifest["classes"],
        "made": manifest["created"],
        "made by": ", ".join(f"{name} {each}" for name, each in manifest["versions"].items()),
        "bytes": manifest["arrays"]["bytes"],
        **chosen,
        **_flat("score", manifest["scores"]),
        **_options(manifest["settings"]),
    }


def _options(stored: dict[str, Any]) -> dict[str, Any]:
    return {f"option {name}": display_option(value) for name, value in stored.items()}


def _flat(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return nested values under one name each, as in `score holdout macro_f1`."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        inner = f"{name} {key}"
        found |= _flat(inner, value) if isinstance(value, dict) else {inner: value}
    return found


def _describe_embeddings(path: Path) -> dict[str, Any]:
    parts = ModelState.read(path, "wce")
    header, arrays = parts.metadata, parts.arrays
    matrix = arrays.get("vectors", arrays["class_vectors"])
    return {
        "what": "word-class embeddings",
        "terms": matrix.shape[0],
        "dimensions": matrix.shape[1],
        "documents": int(header["n_docs"]),
        "labels": header["kind"],
        "classes": list(header["classes"]),
        "keeps documents": header["keeps_documents"],
        "made by": f"wordclass {header['wordclass']}",
        **_options(header["options"]),
    }
