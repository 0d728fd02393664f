"""Word-class vectors without z-scores or L1 normalization."""

import numpy as np
import pytest
from made_up import corpus

import wordclass as wc
from wordclass.reproduction import sources
from wordclass.reproduction.rivals.ablations import ABLATIONS, ablated_vectors
from wordclass.reproduction.runner import execute
from wordclass.reproduction.runs import Results, Run

TEXTS, LABELS = corpus(60)


def test_vectors_with_all_steps_are_word_class_embeddings():
    vectors = ablated_vectors(TEXTS, LABELS, "wce")
    embeddings = wc.WordClassEmbeddings().fit(TEXTS, LABELS)
    assert list(vectors.terms) == list(embeddings.terms_)
    np.testing.assert_allclose(vectors.matrix, embeddings.vectors_, atol=1e-5)


def test_l1_normalized_vectors_are_shares_and_z_scores_have_unit_deviation():
    shares = ablated_vectors(TEXTS, LABELS, "wce_without_z_scores").matrix
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)
    for name in ("wce", "wce_without_l1"):
        matrix = ablated_vectors(TEXTS, LABELS, name).matrix
        np.testing.assert_allclose(matrix.mean(axis=0), 0, atol=1e-5)
        np.testing.assert_allclose(matrix.std(axis=0, ddof=1), 1, atol=1e-4)


def test_without_both_steps_frequent_terms_have_large_vectors():
    vectors = ablated_vectors(TEXTS, LABELS, "wce_without_both")
    X = wc.DocumentVectorizer().fit_transform(TEXTS)
    np.testing.assert_allclose(vectors.matrix.sum(axis=1), np.asarray(X.sum(axis=0)).ravel(), 1e-5)


def test_an_svm_with_all_steps_is_that_of_the_paper(data, tmp_path):
    results = Results(tmp_path / "out")
    run = Run("tiny", "svm", "vectors", 0, "paper", "small+wce")
    ablated = execute(run, results)
    published = execute(Run("tiny", "svm", "vectors+wce", 0, "paper", "small"), results)
    assert ablated.scores == published.scores
    assert ablated.vectors["dims"] == 4 + 3


@pytest.mark.parametrize("name", ABLATIONS)
def test_ablated_vectors_are_learned_from_the_data_set(name):
    assert sources.is_learned(f"small+{name}")
    assert sources.vectors_file(name) is None


def test_an_unknown_name_is_refused():
    with pytest.raises(wc.InputError, match="name is 'wce_without'"):
        ablated_vectors(TEXTS, LABELS, "wce_without")
