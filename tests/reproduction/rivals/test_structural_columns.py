import json

import numpy as np
import pytest
from made_up import corpus
from saved_by_0_1_0.make_files import TEXTS
from saved_by_0_1_0.make_files import corpus as corpus_0_1
from saved_by_0_1_0.make_files import vectors as vectors_0_1
from saved_with_removed_options.make_files import HERE

import wordclass as wc
from wordclass.arrays import to_sparse
from wordclass.reproduction.rivals.structural_columns import (
    StructuralEmbeddings,
    append_presence,
    find_discriminative_terms,
    with_structural_columns,
)

EXPECTED = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))


def binary():
    return corpus(classes=("space", "garden"))


def test_embeddings_of_the_extended_matrix_are_those_of_version_0_1():
    texts, labels = corpus_0_1()
    expected = EXPECTED["embeddings"]["structural"]
    Y, names = with_structural_columns(texts, labels, 3, min_docs=2)
    assert names == expected["columns"]
    plain = wc.WordClassEmbeddings(min_docs=2).fit(texts, Y, class_names=names)
    in_order = [plain.classes_.index(name) for name in names]
    np.testing.assert_array_equal(plain.vectors_[:, in_order], np.float32(expected["vectors"]))
    wce = StructuralEmbeddings(structural_problems=3, min_docs=2).fit(texts, labels)
    assert wce.classes_ == names
    np.testing.assert_array_equal(wce.vectors_, np.float32(expected["vectors"]))


def test_svm_reads_structural_columns_as_in_version_0_1():
    texts, labels = corpus_0_1()
    wce = StructuralEmbeddings(structural_problems=3, min_docs=2)
    options = {"features": "vectors+wce", "vectors": vectors_0_1(), "min_docs": 2, "C": 1.0}
    model = wc.classifier("svm", wce=wce, **options).fit(texts, labels)
    expected = EXPECTED["models"]["svm_structural_embeddings"]["scores"]
    np.testing.assert_allclose(model.decision_function(TEXTS), expected, atol=1e-6)


def test_a_network_reads_structural_columns_as_in_version_0_1():
    pytest.importorskip("torch")
    tiny = {"max_epochs": 2, "batch_size": 20, "max_length": 12, "channels": 2, "windows": (2,)}
    wce = StructuralEmbeddings(structural_problems=3, min_docs=2)
    model = wc.classifier("cnn", min_docs=2, wce=wce, **tiny).fit(*corpus_0_1())
    block = model.embedding_.blocks["word_class"]
    assert block.stop - block.start == 4 + 3
    expected = EXPECTED["models"]["cnn_structural"]["scores"]
    # version 0.1 learned from the documents in the order in which they came, now they are sorted
    np.testing.assert_allclose(model.decision_function(TEXTS), expected, atol=0.05)


def test_cross_fitted_features_have_structural_columns():
    texts, labels = binary()
    wce = StructuralEmbeddings(structural_problems=4)
    assert wce.fit_transform(texts, labels).shape == (len(texts), 6)
    assert np.linalg.matrix_rank(wce.vectors_) > 1


def test_the_most_discriminative_terms_are_chosen():
    # term 1 decides the class, term 0 says nothing, term 2 something
    X = to_sparse(np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 0, 0]], float))
    Y = to_sparse(np.array([[1, 0], [1, 0], [0, 1], [0, 1]], float))
    assert find_discriminative_terms(X, Y, 2) == [1, 2]


def test_a_column_is_one_if_a_document_has_the_term():
    X = to_sparse([[0.5, 0.0], [0.0, 2.0]])
    Y = to_sparse([[1.0], [0.0]])
    assert append_presence(X, Y, [1]).toarray().tolist() == [[1, 0], [0, 1]]


def test_a_term_correlates_with_terms_of_the_same_documents():
    texts = ["aa bb", "aa bb", "cc dd", "cc dd", "aa bb", "cc dd"]
    wce = StructuralEmbeddings(min_docs=1, structural_problems=4)
    wce.fit(texts, ["x", "x", "y", "y", "x", "y"])
    (best, _), (second, _) = wce.top_terms("has aa", 2)
    assert {best, second} == {"aa", "bb"}


@pytest.mark.parametrize("wrong", [-1, 1.5, "many", True])
def test_an_invalid_number_of_columns_is_refused(wrong):
    with pytest.raises(wc.InputError, match="n_columns is"):
        with_structural_columns(*binary(), wrong)
