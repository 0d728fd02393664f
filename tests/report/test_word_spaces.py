import numpy as np
import pytest
from scipy import sparse

from wordclass.errors import InputError
from wordclass.report.word_spaces import ClassBlindVectors, find_vectors, word_spaces
from wordclass.word_vectors import WordVectors


@pytest.fixture
def vector_file(tmp_path):
    path = tmp_path / "some.npz"
    WordVectors.of(["moon", "rose"], [[1.0, 2.0], [3.0, 4.0]]).save(path)
    return path


def test_pretrained_vectors_are_matched_by_term(vector_file):
    blind = ClassBlindVectors.read(vector_file, ["rose", "unheard", "moon"])
    assert blind.known.tolist() == [True, False, True]
    assert blind.matrix.tolist() == [[3, 4], [0, 0], [1, 2]]
    assert "some.npz" in blind.source


def test_pretrained_vectors_of_none_of_the_terms_are_an_error(vector_file):
    with pytest.raises(InputError, match="has no vector for any"):
        ClassBlindVectors.read(vector_file, ["unheard"])


def test_terms_of_the_same_documents_get_similar_vectors():
    X = sparse.csr_matrix(np.kron(np.eye(3), np.ones((4, 2))))  # pairs of terms
    blind = ClassBlindVectors.learn(X, seed=0)
    assert blind.matrix.shape == (6, 5)
    assert np.allclose(blind.matrix[0], blind.matrix[1])
    assert not np.allclose(blind.matrix[0], blind.matrix[2])


def test_the_blocks_side_by_side_count_the_same():
    blind = ClassBlindVectors("", np.array([[3.0, 4.0], [1.0, 0.0]]), np.ones(2, bool))
    without, by_class, both = word_spaces(blind, np.float32([[0, 9], [2, 0]]), np.array([0]))
    assert without.tolist() == [[0.6, 0.8]]
    assert by_class.tolist() == [[0, 1]]
    assert np.allclose(both, np.array([[0.6, 0.8, 0, 1]]) / np.sqrt(2))


def test_vectors_are_looked_for_only_where_the_variable_points(tmp_path, monkeypatch):
    assert find_vectors(None) is None
    monkeypatch.setenv("WORDCLASS_DATA", str(tmp_path))
    assert find_vectors(None) is None
    (tmp_path / "glove.6B.100d.npz").touch()
    assert find_vectors(None) == tmp_path / "glove.6B.100d.npz"
    assert find_vectors(tmp_path / "own.txt") == tmp_path / "own.txt"
