import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from made_up import corpus
from scipy import sparse
from scipy.spatial.distance import pdist

from wordclass.corpus.documents import LabelledCorpus
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import InputError
from wordclass.explorer.term_map import (
    Panel,
    TermMap,
    choose_terms,
    find_vectors,
    information_gains,
    lay_out,
    learn_vectors,
    make_map,
    neighbor_share,
    rows_of,
    shared_neighbors,
)
from wordclass.vectors.word_vectors import WordVectors

pytest.importorskip("openTSNE")

VECTORS = np.random.default_rng(0).normal(size=(40, 5))


def test_the_same_seed_gives_the_same_places():
    first = lay_out(VECTORS, seed=3)
    assert np.array_equal(first, lay_out(VECTORS, seed=3))
    assert first.shape == (40, 2)
    assert first.min() == 0
    assert first.max() == 1


@pytest.mark.parametrize("n_terms", [0, 1, 2, 3, 4, 5, 7, 19])
def test_a_handful_of_terms_has_places_too(n_terms):
    positions = lay_out(VECTORS[:n_terms], seed=0)
    assert positions.shape == (n_terms, 2)
    assert np.isfinite(positions).all()


def test_vectors_of_one_dimension_have_places():
    assert np.isfinite(lay_out(VECTORS[:, :1], seed=0)).all()


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_terms_that_are_all_the_same_lie_in_the_middle(value):
    assert (lay_out(np.full((5, 3), value), seed=0) == 0.5).all()


def test_the_neighbors_of_two_bundles_are_of_the_own_class():
    bundles = np.array([[1.0, 0.1], [1.0, 0.0], [1.0, 0.2], [0.1, 1.0], [0.0, 1.0], [0.2, 1.0]])
    assert neighbor_share(bundles, np.array([0, 0, 0, 1, 1, 1]), 2) == 1.0
    # of three in a bundle, one is of the other class now
    assert neighbor_share(bundles, np.array([0, 0, 1, 1, 1, 0]), 2) == pytest.approx(1 / 3)


def test_length_does_not_matter_to_neighbors():
    classes = np.arange(40) % 4
    longer = VECTORS * np.arange(1, 41)[:, None]
    assert neighbor_share(longer, classes) == neighbor_share(VECTORS, classes)


def test_more_neighbors_than_terms_are_all_terms():
    assert neighbor_share(VECTORS[:3], np.array([0, 0, 1]), 10) == pytest.approx(1 / 3)
    assert neighbor_share(VECTORS[:1], np.array([0]), 10) == 0.0


ALL = np.ones(12, bool)
SCORES = hnp.arrays(np.float64, (12, 3), elements=st.integers(0, 5).map(float))


def test_the_classes_choose_in_turn():
    scores = np.array([[9.0, 8.0], [7.0, 0.0], [3.0, 6.0], [1.0, 5.0], [0.0, 0.0]])
    rows, columns = choose_terms(scores, 2, ALL[:5])
    # term 0 is the favorite of both, and goes to the class that chooses first
    assert rows.tolist() == [0, 2, 1, 3]
    assert columns.tolist() == [0, 1, 0, 1]


def test_a_term_without_score_is_never_chosen():
    rows, columns = choose_terms(np.array([[1.0, 0.0], [0.0, 0.0]]), 2, ALL[:2])
    assert (rows.tolist(), columns.tolist()) == ([0], [0])


def test_terms_that_are_not_allowed_are_passed_over():
    scores = np.array([[3.0, 3.0], [2.0, 2.0], [1.0, 1.0]])
    rows, _ = choose_terms(scores, 1, np.array([False, True, True]))
    assert rows.tolist() == [1, 2]


def test_nothing_to_choose_from_gives_empty_arrays():
    rows, columns = choose_terms(np.zeros((0, 2)), 3, ALL[:0])
    assert rows.shape == columns.shape == (0,)


@given(scores=SCORES, n_per_class=st.integers(1, 5))
def test_each_term_is_chosen_once_and_no_class_gets_more_than_its_number(scores, n_per_class):
    rows, columns = choose_terms(scores, n_per_class, ALL)
    assert len(set(rows.tolist())) == len(rows)
    assert np.bincount(columns, minlength=3).max() <= n_per_class
    assert (scores[rows, columns] > 0).all()


@given(scores=SCORES.map(lambda scores: scores + 1))
def test_every_class_gets_the_same_number_where_there_are_enough(scores):
    _, columns = choose_terms(scores, 4, ALL)
    assert np.bincount(columns).tolist() == [4, 4, 4]


def test_a_term_has_no_gain_for_a_class_that_it_keeps_away_from():
    X = sparse.csr_matrix([[1.0], [1.0], [0.0], [0.0]])
    Y = sparse.csr_matrix([[1, 0], [1, 0], [0, 1], [0, 1]])
    assert information_gains(X, Y).tolist() == [[1.0, 0.0]]


SOME = WordVectors.of(["moon", "rose"], [[1.0, 2.0], [3.0, 4.0]])


def test_pretrained_vectors_are_matched_by_term():
    matrix, known = rows_of(SOME, ["rose", "unheard", "moon"])
    assert known.tolist() == [True, False, True]
    assert matrix.tolist() == [[3, 4], [0, 0], [1, 2]]


def test_pretrained_vectors_of_none_of_the_terms_are_an_error():
    with pytest.raises(InputError, match="the vectors have none of the 1 terms"):
        rows_of(SOME, ["unheard"])


def test_terms_of_the_same_documents_get_similar_vectors():
    X = sparse.csr_matrix(np.kron(np.eye(3), np.ones((4, 2))))  # pairs of terms
    matrix, source = learn_vectors(X, seed=0)
    assert matrix.shape == (6, 5)
    assert source == "Latent semantic analysis of the same texts, 5 dimensions"
    assert np.allclose(matrix[0], matrix[1])
    assert not np.allclose(matrix[0], matrix[2])


@pytest.fixture(scope="module")
def learned():
    texts, labels = corpus(60, 0)
    embeddings = WordClassEmbeddings(min_docs=2).fit(texts, labels)
    return LabelledCorpus(texts, labels, is_multilabel=False), embeddings


def vectors_for(embeddings, n_dims=3):
    terms = embeddings.terms_[1:]  # one is unknown
    return WordVectors.of(terms, 5 * np.random.default_rng(0).normal(size=(len(terms), n_dims)))


def test_the_blocks_side_by_side_count_the_same(learned):
    vectors = vectors_for(learned[1])
    term_map = make_map(*learned, vectors, n_per_class=4)
    lengths = (
        np.linalg.norm(term_map.vectors[:, :3], axis=1),
        np.linalg.norm(term_map.vectors[:, 3:], axis=1),
    )
    assert np.allclose(lengths, 1)
    assert term_map.panels[2].caption == "Both vectors of a term, with equal lengths"


def test_the_published_map_has_the_vectors_as_they_are(learned):
    texts, embeddings = learned
    vectors = vectors_for(embeddings)
    term_map = make_map(texts, embeddings, vectors, n_per_class=4, as_published=True)
    for term, row in zip(term_map.terms, term_map.vectors, strict=True):
        assert np.allclose(row[:3], vectors[term])
        assert np.allclose(row[3:], embeddings[term])
    assert embeddings.terms_[0] not in term_map.terms


def test_a_published_class_also_chooses_terms_that_are_rare_in_it():
    X = sparse.csr_matrix([[1.0], [1.0], [0.0], [0.0]])
    Y = sparse.csr_matrix([[1, 0], [1, 0], [0, 1], [0, 1]])
    assert information_gains(X, Y, includes_negative=True).tolist() == [[1.0, 1.0]]


def test_a_map_is_restored_from_a_file(learned, tmp_path):
    term_map = make_map(*learned, None, n_per_class=4)
    metadata, arrays = term_map.to_parts()
    np.savez(tmp_path / "map.npz", **arrays)
    with np.load(tmp_path / "map.npz", allow_pickle=False) as stored:
        restored = TermMap.of_parts(json.loads(json.dumps(metadata)), stored)
    assert (restored.terms, restored.classes) == (term_map.terms, term_map.classes)
    assert restored.class_of.tolist() == term_map.class_of.tolist()
    assert (
        np.abs(restored.vectors - term_map.vectors) <= np.abs(term_map.vectors).max(axis=0) / 62
    ).all()
    for panel, expected in zip(restored.panels, term_map.panels, strict=True):
        assert (panel.title, panel.neighbor_share) == (expected.title, expected.neighbor_share)
        assert np.allclose(panel.places, expected.places, atol=1 / 8192)


def test_the_papers_map_takes_below_500_kilobytes(tmp_path):
    chance = np.random.default_rng(0)
    terms = ["".join(row) for row in chance.choice(list("etaoinshrdlu"), (5000, 8))]
    panels = [Panel("title", "caption", chance.random((5000, 2)), 0.5) for _ in range(3)]
    vectors = chance.normal(size=(5000, 120)).astype(np.float32)
    vectors[:, 7] = 0
    term_map = TermMap(terms, ["class"], np.zeros(5000, np.int64), panels, vectors)
    metadata, arrays = term_map.to_parts()
    np.savez_compressed(tmp_path / "map.npz", **arrays)
    assert (tmp_path / "map.npz").stat().st_size < 500_000
    restored = TermMap.of_parts(metadata, arrays)
    assert (restored.vectors[:, 7] == 0).all()
    assert np.abs(restored.vectors - vectors).max() < 0.1


def test_bundles_far_apart_are_laid_out_apart():
    bundles = np.repeat(np.eye(3), 12, axis=0) + 0.05 * np.random.default_rng(0).normal(
        size=(36, 3)
    )
    positions = lay_out(bundles, seed=0).reshape(3, 12, 2)
    spread = positions.std(axis=1).max()
    middles = positions.mean(axis=1)
    assert pdist(middles).min() > 2 * spread


def test_vectors_are_searched_only_in_the_folder_of_the_variable(tmp_path, monkeypatch):
    monkeypatch.delenv("WORDCLASS_DATA", raising=False)
    assert find_vectors(None) is None
    monkeypatch.setenv("WORDCLASS_DATA", str(tmp_path))
    assert find_vectors(None) is None
    (tmp_path / "glove.6B.100d.npz").touch()
    assert find_vectors(None) == tmp_path / "glove.6B.100d.npz"
    assert find_vectors(tmp_path / "own.txt") == tmp_path / "own.txt"


def test_the_nearest_terms_of_a_class_are_shared_by_vectors_that_agree():
    random = np.random.default_rng(0)
    blind = random.normal(size=(60, 8))
    class_of = np.repeat([0, 1], 30)
    none = np.zeros((60, 2))
    panels = [Panel("a", "b", 1.0, np.zeros((60, 2)))] * 3
    terms = [f"term{k}" for k in range(60)]
    unrelated = random.normal(size=(60, 2))
    for by_class, alone, both in [(1e-6 * unrelated, 0.5, 0.99), (1e6 * unrelated, 0.5, 0.5)]:
        vectors = np.hstack([blind, by_class]).astype(np.float32)
        term_map = TermMap(terms, ["one", "two"], class_of, panels, vectors)
        share_alone, share_both = shared_neighbors(term_map)
        assert share_alone < alone  # of 29 others, ten are near by chance in a third of the cases
        assert share_both >= both if both > 0.9 else share_both < both
    same = np.hstack([none + blind[:, :2], blind[:, :2]]).astype(np.float32)
    assert shared_neighbors(TermMap(terms, ["one", "two"], class_of, panels, same)) == (1.0, 1.0)
