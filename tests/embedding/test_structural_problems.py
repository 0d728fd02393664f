import numpy as np
import pytest
from made_up import corpus

import wordclass as wc
from wordclass.arrays import to_sparse
from wordclass.counts import WordClassCounts
from wordclass.embedding.state import telling_terms, with_structural_columns


def binary():
    return corpus(classes=("space", "garden"))


def test_a_binary_task_gets_k_more_dimensions():
    wce = wc.WordClassEmbeddings(structural_problems=4).fit(*binary())
    assert wce.vectors_.shape[1] == 6
    assert wce.classes_ == ["garden", "space"]
    assert len(wce.columns_) == 6
    assert all(name.startswith("has ") for name in wce.columns_[2:])
    assert np.linalg.matrix_rank(wce.vectors_) > 1


def test_without_them_a_binary_task_has_one_informative_dimension():
    wce = wc.WordClassEmbeddings().fit(*binary())
    np.testing.assert_allclose(wce.vectors_[:, 0], -wce.vectors_[:, 1], atol=1e-5)


def test_the_most_telling_terms_are_chosen():
    # term 1 tells the class, term 0 nothing, term 2 something
    X = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 0, 0]], float)
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], float)
    assert telling_terms(WordClassCounts.of(X, Y), 2) == (1, 2)


def test_a_structural_column_says_whether_a_document_has_the_term():
    X, Y = to_sparse([[0.5, 0.0], [0.0, 2.0]]), to_sparse([[1.0], [0.0]])
    assert with_structural_columns(X, Y, [1]).toarray().tolist() == [[1, 0], [0, 1]]


def test_a_term_goes_with_the_terms_it_occurs_with():
    texts = ["aa bb", "aa bb", "cc dd", "cc dd", "aa bb", "cc dd"]
    wce = wc.WordClassEmbeddings(min_docs=1, structural_problems=4)
    wce.fit(texts, ["x", "x", "y", "y", "x", "y"])
    (best, _), (second, _) = wce.top_terms("has aa", 2)
    assert {best, second} == {"aa", "bb"}


def test_structural_columns_never_win_a_profile():
    wce = wc.WordClassEmbeddings(structural_problems=4).fit(*binary())
    assert {name for name, _ in wce.profile("moon")} == {"garden", "space"}


def test_they_survive_adding_removing_saving(tmp_path):
    texts, labels = binary()
    wce = wc.WordClassEmbeddings(structural_problems=3, min_docs=2).fit(texts[:40], labels[:40])
    before = wce.vectors_.copy()
    wce.partial_fit(texts[40:], labels[40:]).remove(texts[40:], labels[40:])
    np.testing.assert_allclose(wce.vectors_, before, atol=1e-5)
    wce.save(tmp_path / "a.wce")
    assert wc.WordClassEmbeddings.load(tmp_path / "a.wce").columns_ == wce.columns_
    assert wc.WordVectors.load(tmp_path / "a.wce").dimension_names == tuple(wce.columns_)


@pytest.mark.parametrize("wrong", [-1, 1.5, "many", True])
def test_a_number_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(wc.InputError, match="structural_problems is"):
        wc.WordClassEmbeddings(structural_problems=wrong).fit(*binary())
