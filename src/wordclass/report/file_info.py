"""What a saved file is, and with which settings it was made."""

from pathlib import Path
from typing import Any

from wordclass import tensor_file
from wordclass.errors import MissingDataError
from wordclass.word_vectors import WordVectors


def describe(path: Path) -> dict[str, Any]:
    """Return the facts about a .wce file or a file of word vectors."""
    if not path.exists():
        raise MissingDataError(f"{path}: no such file")
    if path.suffix == ".wce":
        return _describe_embeddings(path)
    vectors = WordVectors.load(path)
    facts = {"what": "word vectors", "terms": len(vectors), "dimensions": vectors.n_dims}
    if vectors.dimension_names is not None:
        facts["classes"] = list(vectors.dimension_names)
    return facts


def _describe_embeddings(path: Path) -> dict[str, Any]:
    header, arrays = tensor_file.read(path, "wce")
    matrix = arrays.get("vectors", arrays["class_vectors"])
    options = {f"option {name}": value for name, value in header["options"].items()}
    return {
        "what": "word-class embeddings",
        "terms": matrix.shape[0],
        "dimensions": matrix.shape[1],
        "documents": int(header["n_docs"]),
        "labels": header["kind"],
        "classes": list(header["classes"]),
        "keeps documents": header["keeps_documents"],
        "made by": f"wordclass {header['wordclass']}",
        **options,
    }
