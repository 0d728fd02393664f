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
from wordclass.embedding.state import CountedDocuments, Learned
from wordclass.errors import FormatError
from wordclass.labels import Codeframe, EncodedLabels
from wordclass.stored_options import Functions, restored, storable
from wordclass.text.counting import CountedTexts
from wordclass.vocabulary import Vocabulary

KIND = "wce"

_Arrays = dict[str, NDArray[Any]]


def write(
    path: Path, options: Mapping[str, object], learned: Learned, vectors: Mapping[str, Floats32]
) -> None:
    """Write embeddings; the file appears when it is complete."""
    codeframe = learned.codeframe
    facts, arrays = packed(learned, vectors)
    header = {
        "options": storable(options),
        "classes": codeframe.classes,
        "kind": codeframe.kind,
        "matrix_columns": codeframe.matrix_columns,
        "wordclass": metadata.version("wordclass"),
        **facts,
    }
    tensor_file.write(path, KIND, header, arrays)


def read(path: Path, functions: Functions) -> tuple[dict[str, Any], Learned, dict[str, Floats32]]:
    """Read embeddings: options, what was learned, and the vectors.

    Raises
    ------
    InputError
        They were made with a function that is not among the given ones.
    """
    header, arrays = tensor_file.read(path, KIND)
    options = restored(path, header["options"], functions)
    try:
        columns = header["matrix_columns"]
        codeframe = Codeframe(
            tuple(header["classes"]), header["kind"], None if columns is None else tuple(columns)
        )
        learned, vectors = unpacked(codeframe, header, arrays)
    except (KeyError, IndexError, ValueError) as error:
        raise FormatError(path, None, f"not complete: {error}") from error
    return options, learned, vectors


def packed(learned: Learned, vectors: Mapping[str, Floats32]) -> tuple[dict[str, Any], _Arrays]:
    """Return everything but options and codeframe, as facts that JSON can hold, and arrays."""
    vocabulary, counts = learned.vocabulary, learned.counts
    facts = {
        "structural": [int(j) for j in learned.structural],
        "n_docs": counts.n_docs,
        "vocabulary_docs": vocabulary.n_docs,
        "joints": sorted(counts.joints),
        "keeps_documents": learned.documents is not None,
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
    return facts, arrays


def unpacked(
    codeframe: Codeframe, facts: Mapping[str, Any], arrays: _Arrays
) -> tuple[Learned, dict[str, Floats32]]:
    """Return what was packed: what was learned, and the vectors."""
    vocabulary = Vocabulary(
        tensor_file.unpack_strings(arrays["terms"], arrays["term_ends"]),
        arrays["doc_freq"],
        arrays["term_freq"],
        facts["vocabulary_docs"],
    )
    counts = WordClassCounts(
        facts["n_docs"],
        arrays["class_docs"],
        arrays["term_docs"],
        arrays["term_weight"],
        arrays["term_squares"],
        {name: _restored_matrix(name, arrays) for name in facts["joints"]},
    )
    documents = _restored_documents(codeframe, arrays) if facts["keeps_documents"] else None
    learned = Learned(vocabulary, codeframe, tuple(facts["structural"]), counts, documents)
    return learned, {name: arrays[name] for name in arrays.keys() & {"class_vectors", "vectors"}}


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
    terms, ends = tensor_file.pack_strings(documents.counted.terms)
    return {
        "document_terms": terms,
        "document_term_ends": ends,
        "fingerprints": documents.fingerprints,
        **_flattened("occurrences", documents.counted.occurrences),
        **_flattened("document_labels", documents.labels.Y),
    }


def _restored_documents(codeframe: Codeframe, arrays: _Arrays) -> CountedDocuments:
    terms = tensor_file.unpack_strings(arrays["document_terms"], arrays["document_term_ends"])
    return CountedDocuments(
        CountedTexts(terms, _restored_matrix("occurrences", arrays)),
        EncodedLabels(codeframe, _restored_matrix("document_labels", arrays)),
        arrays["fingerprints"],
    )
