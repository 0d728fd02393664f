"""Word-class embeddings as one file: options, terms, classes, vectors and sums."""

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass import tensor_file
from wordclass.arrays import Floats32, Sparse
from wordclass.counts import WordClassCounts
from wordclass.embedding.documents import CountedDocuments
from wordclass.embedding.learning import Learned
from wordclass.errors import FormatError, InputError
from wordclass.labels import Codeframe, EncodedLabels
from wordclass.vocabulary import Vocabulary

KIND = "wce"

_Arrays = dict[str, NDArray[Any]]


def write(
    path: Path, options: dict[str, Any], learned: Learned, vectors: Mapping[str, Floats32]
) -> None:
    """Write embeddings; the file appears when it is complete."""
    vocabulary, codeframe, counts = learned.vocabulary, learned.codeframe, learned.counts
    header = {
        # how many processes did the work is no part of the result
        "options": {name: _storable(value) for name, value in {**options, "n_jobs": None}.items()},
        "classes": codeframe.classes,
        "kind": codeframe.kind,
        "matrix_columns": codeframe.matrix_columns,
        "structural": learned.structural,
        "n_docs": counts.n_docs,
        "vocabulary_docs": vocabulary.n_docs,
        "joints": sorted(counts.joints),
        "keeps_documents": learned.documents is not None,
        "wordclass": metadata.version("wordclass"),
    }
    arrays: _Arrays = {
        **vectors,
        "doc_freq": vocabulary.doc_freq,
        "term_freq": vocabulary.term_freq,
        "class_docs": counts.class_docs,
        "term_docs": counts.term_docs,
        "term_weight": counts.term_weight,
        "term_squares": counts.term_squares,
    }
    arrays["terms"], arrays["term_ends"] = tensor_file.pack_strings(vocabulary.terms)
    for name, joint in counts.joints.items():
        arrays |= _flattened(name, sparse.csr_matrix(joint))
    if learned.documents is not None:
        arrays |= _flattened_documents(learned.documents)
    tensor_file.write(path, KIND, header, arrays)


def read(
    path: Path, functions: Mapping[str, object]
) -> tuple[dict[str, Any], Learned, dict[str, Floats32]]:
    """Read embeddings: options, what was learned, and the vectors.

    Raises
    ------
    InputError
        They were made with a function that is not among the given ones.
    """
    header, arrays = tensor_file.read(path, KIND)
    options: dict[str, Any] = {
        name: _restored(path, name, value, functions) for name, value in header["options"].items()
    }
    if strange := set(functions) - set(options):
        raise InputError(f"load does not know the option {sorted(strange)[0]!r}")
    try:
        learned = _learned(header, arrays)
        names = arrays.keys() & {"class_vectors", "vectors"}
        vectors = {name: arrays[name] for name in names}
    except (KeyError, IndexError, ValueError) as error:
        raise FormatError(path, None, f"not complete: {error}") from error
    return options, learned, vectors


def _learned(header: dict[str, Any], arrays: _Arrays) -> Learned:
    vocabulary = Vocabulary(
        tensor_file.unpack_strings(arrays["terms"], arrays["term_ends"]),
        arrays["doc_freq"],
        arrays["term_freq"],
        header["vocabulary_docs"],
    )
    columns = header["matrix_columns"]
    codeframe = Codeframe(
        tuple(header["classes"]), header["kind"], None if columns is None else tuple(columns)
    )
    counts = WordClassCounts(
        header["n_docs"],
        arrays["class_docs"],
        arrays["term_docs"],
        arrays["term_weight"],
        arrays["term_squares"],
        {name: _restored_matrix(name, arrays) for name in header["joints"]},
    )
    documents = _restored_documents(codeframe, arrays) if header["keeps_documents"] else None
    return Learned(vocabulary, codeframe, tuple(header["structural"]), counts, documents)


def _storable(value: object) -> object:
    """Return an option as JSON can hold it; a function or object by its name only."""
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, tuple | list):
        return list(value)
    if isinstance(value, set | frozenset):
        return {"set": sorted(value)}
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return {"function": f"{getattr(value, '__module__', '?')}.{name}"}


def _restored(path: Path, name: str, stored: object, functions: Mapping[str, object]) -> object:
    if name in functions:
        return functions[name]
    if isinstance(stored, dict) and "function" in stored:
        raise InputError(
            f"{path} was made with the {name} {stored['function']}, which is not in the file; "
            f"give it again: load(path, {name}=...)"
        )
    if isinstance(stored, dict):
        return frozenset(stored["set"])
    return tuple(stored) if name == "ngrams" and isinstance(stored, list) else stored


def _flattened(name: str, matrix: Sparse) -> _Arrays:
    return {
        f"{name}.data": matrix.data,
        f"{name}.indices": matrix.indices,
        f"{name}.indptr": matrix.indptr,
        f"{name}.shape": np.array(matrix.shape, np.int64),
    }


def _restored_matrix(name: str, arrays: _Arrays) -> Sparse:
    parts = (arrays[f"{name}.data"], arrays[f"{name}.indices"], arrays[f"{name}.indptr"])
    n_rows, n_columns = arrays[f"{name}.shape"].tolist()
    return sparse.csr_matrix(parts, shape=(n_rows, n_columns))


def _flattened_documents(documents: CountedDocuments) -> _Arrays:
    terms, ends = tensor_file.pack_strings(documents.terms)
    return {
        "document_terms": terms,
        "document_term_ends": ends,
        "fingerprints": documents.fingerprints,
        **_flattened("occurrences", documents.occurrences),
        **_flattened("document_labels", documents.labels.Y),
    }


def _restored_documents(codeframe: Codeframe, arrays: _Arrays) -> CountedDocuments:
    return CountedDocuments(
        tensor_file.unpack_strings(arrays["document_terms"], arrays["document_term_ends"]),
        _restored_matrix("occurrences", arrays),
        EncodedLabels(codeframe, _restored_matrix("document_labels", arrays)),
        arrays["fingerprints"],
    )
