"""Word-class embeddings as one file: options, terms, classes, vectors and sums."""

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from wordclass.arrays import to_sparse
from wordclass.counts import WordClassCounts
from wordclass.embedding.documents import CountedDocuments
from wordclass.embedding.learning import Learned
from wordclass.labels import Codeframe, EncodedLabels
from wordclass.storage.facts import Functions, codeframe_of, restored, storable
from wordclass.storage.parts import Parts
from wordclass.vocabulary import Vocabulary

KIND = "wce"

_SUMS = {
    "class_docs": "float64 columns",
    "term_docs": "float64 terms",
    "term_weight": "float64 terms",
    "term_squares": "float64 terms",
}


def write(path: Path, options: Mapping[str, object], codeframe: Codeframe, parts: Parts) -> None:
    """Write embeddings; the file appears when it is complete."""
    told = {
        "options": storable(options),
        "classes": codeframe.classes,
        "kind": codeframe.kind,
        "matrix_columns": codeframe.matrix_columns,
        "wordclass": metadata.version("wordclass"),
    }
    (Parts.of(told) | parts).write(path, KIND)


def read(path: Path, functions: Functions) -> tuple[dict[str, Any], Codeframe, Parts]:
    """Read embeddings: options, classes, and what `WordClassEmbeddings.from_parts` takes.

    Raises
    ------
    InputError
        They were made with a function that is not among the given ones.
    """
    parts = Parts.read(path, KIND)
    told = parts.facts
    codeframe = codeframe_of(told["classes"], told["kind"], told["matrix_columns"])
    return restored(path, told["options"], functions), codeframe, parts


def learned_to_parts(learned: Learned) -> Parts:
    """Return what is stored of what was learned: everything but the codeframe."""
    counts, documents = learned.counts, learned.documents
    facts = {
        "structural": [int(j) for j in learned.structural],
        "n_docs": counts.n_docs,
        "joints": sorted(counts.joints),
        "keeps_documents": documents is not None,
    }
    joints = {name: to_sparse(joint) for name, joint in counts.joints.items()}
    parts = learned.vocabulary.to_parts() | Parts.of(facts, **joints)
    parts |= Parts.of_fields(counts, _SUMS)
    if documents is None:
        return parts
    return parts | Parts.of(
        document_terms=documents.terms,
        occurrences=documents.occurrences,
        document_labels=documents.labels.Y,
        fingerprints=documents.fingerprints,
    )


def learned_from_parts(codeframe: Codeframe, parts: Parts) -> Learned:
    """Return what was learned and stored."""
    facts = parts.facts
    vocabulary = Vocabulary.from_parts(parts)
    structural = tuple(facts["structural"])
    parts.sizes["columns"] = len(codeframe.classes) + len(structural)
    joints = parts.take(**dict.fromkeys(facts["joints"], "csr:float64 terms columns"))
    counts = WordClassCounts(facts["n_docs"], **parts.take(**_SUMS), joints=joints)
    if not facts["keeps_documents"]:
        return Learned(vocabulary, codeframe, structural, counts)
    terms, occurrences, Y, fingerprints = parts.take(
        document_terms="str document_terms",
        occurrences="csr:int32|int64|float64 documents document_terms",
        document_labels=f"csr:float64 documents {len(codeframe.classes)}",
        fingerprints="uint64 documents",
    ).values()
    documents = CountedDocuments(terms, occurrences, EncodedLabels(codeframe, Y), fingerprints)
    return Learned(vocabulary, codeframe, structural, counts, documents)
