"""Word-class vectors of terms outside the vocabulary."""

import pickle

import numpy as np
import pytest
from made_up import COMMON, WORDS, corpus
from saved_by_0_1_0.make_files import vectors
from saved_with_removed_options.make_files import HERE
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsRegressor

import wordclass as wc
from wordclass.embedding.unseen_terms import UnseenTerms, regressor
from wordclass.vectors.subwords import Subwords

TEXTS, LABELS = corpus()
SYNONYMS = {"space": ["comet", "probe"], "garden": ["tulip", "weed"], "music": ["cello", "tune"]}


def made_up_vectors(n_dims=8, seed=0):
    """Words of a class stand close together, those that training never saw among them."""
    generator = np.random.default_rng(seed)
    rows = {}
    for name, words in WORDS.items():
        center = 2 * generator.normal(size=n_dims)
        for word in [*words, *SYNONYMS[name]]:
            rows[word] = center + generator.normal(size=n_dims) / 2
    rows |= {word: generator.normal(size=n_dims) / 2 for word in COMMON}
    order = generator.permutation(list(rows))
    return wc.WordVectors.of(order.tolist(), np.array([rows[word] for word in order]))


U = made_up_vectors()


@pytest.fixture(scope="module")
def wce():
    return wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def projected():
    return wc.WordClassEmbeddings(min_docs=2, max_dims=2).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def found(wce):
    return UnseenTerms.predict(U, wce)


def by_hand(U, wce, S, penalty):
    """The predictions of all terms of U, by the normal equations of the shared ones."""
    shared = [term for term in wce.terms_ if term in U]
    X = np.array([[*U[term], 1.0] for term in shared], float)
    Y = np.array([S[wce.terms_.index(term)] for term in shared], float)
    punished = np.diag([penalty] * U.n_dims + [0.0])
    solved = np.linalg.solve(X.T @ X + punished, X.T @ Y)
    return {term: np.append(U[term], 1.0) @ solved for term in U.terms if term not in wce}


def test_the_terms_are_those_of_the_pretrained_vectors_outside_the_vocabulary(found, wce):
    assert list(found.terms) == [term for term in U.terms if term not in wce.terms_]
    assert set(found.terms) == {word for words in SYNONYMS.values() for word in words}
    assert len(found) == 6
    assert found.n_shared == len([term for term in wce.terms_ if term in U.terms])
    assert repr(found) == "<UnseenTerms: 6, predicted from 24 shared terms>"


def test_unseen_synonyms_get_the_class_of_their_neighbors(found):
    classes = {term: name for term, name, _ in found.report()}
    assert classes == {word: name for name, words in SYNONYMS.items() for word in words}


def test_the_vectors_are_those_of_the_normal_equations(wce):
    found = UnseenTerms.predict(U, wce, regressor("ridge", penalty=2.0))
    expected = by_hand(U, wce, wce.vectors_, 2.0)
    assert found.vectors.shape == (6, 3)
    assert found.vectors.dtype == np.float32
    assert not found.vectors.flags.writeable
    for term, vector in zip(found.terms, found.vectors, strict=True):
        np.testing.assert_allclose(vector, expected[term], rtol=1e-4, atol=1e-5)


def test_rows_are_matched_by_term_and_not_by_position(found, wce):
    turned = wc.WordVectors.of(U.terms[::-1], U.matrix[::-1])
    again = UnseenTerms.predict(turned, wce)
    assert list(again.terms) == list(found.terms)[::-1]
    np.testing.assert_allclose(again.vectors, found.vectors[::-1], rtol=1e-5, atol=1e-6)


def test_more_terms_than_are_predicted_at_a_time_are_all_predicted(wce, projected):
    rows = np.random.default_rng(0).normal(size=(40_000, 8))
    names = [f"new{k}" for k in range(40_000)]
    many = wc.WordVectors.of([*U.terms, *names], [*U.matrix, *rows])
    for embeddings in (wce, projected):
        ridge = regressor("ridge", penalty=2.0)
        found = UnseenTerms.predict(many, embeddings, ridge)
        assert len(found) == 40_006
        chosen = ["new0", "new16383", "new16384", "new39999"]
        few = UnseenTerms.predict(many, embeddings, ridge, terms=chosen)
        places = [list(found.terms).index(term) for term in chosen]
        np.testing.assert_allclose(found.vectors[places], few.vectors, rtol=1e-4, atol=1e-5)
        expected = by_hand(many, embeddings, embeddings.class_vectors_, 2.0)
        best = max(expected, key=lambda term: expected[term].max())
        assert found.report(1)[0][0] == best
        assert found.report(1)[0][2] == pytest.approx(expected[best].max(), rel=1e-4)


def test_the_report_has_the_strongest_class_of_each_term_best_first(found):
    reported = found.report()
    assert [score for *_, score in reported] == sorted((s for *_, s in reported), reverse=True)
    for term, name, score in reported:
        row = found.vectors[list(found.terms).index(term)]
        assert score == row.max()
        assert name == ("garden", "music", "space")[row.argmax()]
    assert found.report(2) == reported[:2]
    assert found.report(0) == []


def test_the_report_of_one_class_has_its_terms_first(found):
    reported = found.report(name="music")
    assert {term for term, *_ in reported[:2]} == {"cello", "tune"}
    assert {name for _, name, _ in reported} == {"music"}
    column = dict(zip(found.terms, found.vectors[:, 1].tolist(), strict=True))
    assert [(term, column[term]) for term, *_ in reported] == sorted(
        column.items(), key=lambda pair: -pair[1]
    )
    with pytest.raises(wc.InputError, match="unknown class 'musik'; close: music"):
        found.report(name="musik")
    with pytest.raises(wc.InputError, match="n is -1; expected"):
        found.report(-1)


def test_where_vectors_are_projected_the_report_has_scores_as_before(projected):
    ridge = regressor("ridge", penalty=2.0)
    found = UnseenTerms.predict(U, projected, ridge)
    assert found.vectors.shape == (6, 2)
    assert found.dimension_names is None
    expected = by_hand(U, projected, projected.vectors_, 2.0)
    for term, vector in zip(found.terms, found.vectors, strict=True):
        np.testing.assert_allclose(vector, expected[term], rtol=1e-4, atol=1e-5)
    scores = by_hand(U, projected, projected.class_vectors_, 2.0)
    for term, name, score in found.report():
        assert score == pytest.approx(scores[term].max(), rel=1e-4)
        assert name == projected.classes_[scores[term].argmax()]
    assert found.report(1, "music")[0][2] == pytest.approx(
        max(row[1] for row in scores.values()), rel=1e-4
    )


def test_extra_columns_of_an_old_file_are_predicted_but_no_classes():
    wce = wc.WordClassEmbeddings.load(HERE / "embeddings" / "structural.wce")
    found = UnseenTerms.predict(vectors(), wce)
    assert found.vectors.shape == (2, 7)
    assert {name for _, name, _ in found.report()} <= set(wce.classes_)
    assert found.to_word_vectors().dimension_names == tuple(wce.columns_)


def test_terms_can_be_chosen(found, wce):
    chosen = UnseenTerms.predict(U, wce, terms=["tune", "moon", "nobody", "comet", "tune"])
    assert list(chosen.terms) == ["tune", "comet"]
    rows = [list(found.terms).index(term) for term in chosen.terms]
    np.testing.assert_allclose(chosen.vectors, found.vectors[rows], rtol=1e-6)
    assert UnseenTerms.predict(U, wce, terms=["moon"]).vectors.shape == (0, 3)
    with pytest.raises(wc.InputError, match="terms is one str"):
        UnseenTerms.predict(U, wce, terms="tune")


def test_a_chosen_term_may_have_a_vector_made_of_pieces(wce):
    subwords = Subwords(np.tile(U["comet"], (3, 1)), 3, 3)
    pieces = wc.WordVectors.of(U.terms, U.matrix, subwords=subwords)
    chosen = UnseenTerms.predict(pieces, wce, terms=["unheardof", "comet"])
    np.testing.assert_allclose(chosen.vectors[0], chosen.vectors[1], rtol=1e-6)


def test_the_quality_is_measured_on_terms_that_were_not_learned_from(wce):
    seen = []

    class Mean:
        def fit(self, rows, targets):
            seen.append(rows)
            self.mean = targets.mean(axis=0)

        def predict(self, rows):
            seen.append(rows)
            return np.tile(self.mean, (len(rows), 1))

    found = UnseenTerms.predict(U, wce, Mean())
    learned_from_all, predicted_for, *_ = seen
    assert (len(learned_from_all), len(predicted_for)) == (24, 6)
    assert len(seen) == 2  # the quality costs nothing before it is asked for
    quality = found.quality
    rest, aside = seen[2:]
    assert quality.n_terms == len(aside) == 2
    assert sorted(map(tuple, [*rest, *aside])) == sorted(map(tuple, learned_from_all))
    # a regressor that knows no more than the mean
    assert quality.r2 == pytest.approx(0, abs=1e-6)
    assert found.quality is quality


def test_the_quality_is_what_its_definition_says(wce):
    found = UnseenTerms.predict(U, wce, regressor("ridge", penalty=1.0), seed=4)
    shared = [term for term in wce.terms_ if term in U]
    order = np.random.default_rng(4).permutation(len(shared))
    aside, rest = [shared[k] for k in order[:2]], [shared[k] for k in order[2:]]
    learned = wc.WordVectors.of(rest, [U[term] for term in rest])
    made = by_hand(
        wc.WordVectors.of([*rest, *map(str.upper, aside)], [U[t] for t in [*rest, *aside]]),
        wce,
        wce.vectors_,
        1.0,
    )
    mean = np.mean([wce[term] for term in learned.terms], axis=0)
    error = sum(((made[term.upper()] - wce[term]) ** 2).sum() for term in aside)
    spread = sum(((mean - wce[term]) ** 2).sum() for term in aside)
    cosines = [
        made[term.upper()] @ wce[term] / np.linalg.norm(made[term.upper()])
        / np.linalg.norm(wce[term]) for term in aside
    ]  # fmt: skip
    assert found.quality.r2 == pytest.approx(1 - error / spread, rel=1e-4)
    assert found.quality.cosine == pytest.approx(np.mean(cosines), rel=1e-4)


def test_a_map_that_is_there_is_found_and_one_that_is_not_is_not(wce):
    generator = np.random.default_rng(0)
    planted = wce.vectors_ @ generator.normal(size=(3, 5))
    exact = UnseenTerms.predict(wc.WordVectors.of(wce.terms_, planted), wce)
    assert exact.quality.r2 > 0.999
    assert exact.quality.cosine > 0.999
    noise = generator.normal(size=(len(wce), 5))
    assert UnseenTerms.predict(wc.WordVectors.of(wce.terms_, noise), wce).quality.r2 < 0.3


def test_the_seed_chooses_the_terms_that_are_kept_aside(wce):
    first, same, other = (UnseenTerms.predict(U, wce, seed=seed).quality for seed in (1, 1, 2))
    assert first == same
    assert first != other


def test_the_network_gets_the_seed_and_gives_synonyms_their_class(wce):
    pytest.importorskip("torch")
    first, same, other = (UnseenTerms.predict(U, wce, "network", seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.vectors, same.vectors)
    assert abs(first.vectors - other.vectors).max() > 1e-4
    classes = {term: name for term, name, _ in first.report()}
    assert classes == {word: name for name, words in SYNONYMS.items() for word in words}


def test_any_object_that_fits_and_predicts_will_do_and_is_left_as_it_is(wce):
    neighbors = KNeighborsRegressor(3)
    found = UnseenTerms.predict(U, wce, neighbors)
    assert not hasattr(neighbors, "n_features_in_")
    assert dict((term, name) for term, name, _ in found.report())["cello"] == "music"


def test_what_is_asked_first_changes_no_later_answer(projected):
    first, second = (UnseenTerms.predict(U, projected, KNeighborsRegressor(3)) for _ in range(2))
    by_class = first.report(name="music")
    quality = second.quality
    assert second.report(name="music") == by_class
    assert first.quality == quality
    assert first.report(name="music") == by_class


def test_terms_of_which_no_document_is_left_are_not_learned_from():
    wce = wc.WordClassEmbeddings(min_docs=1).fit([*TEXTS, "tune tune"], [*LABELS, "music"])
    before = UnseenTerms.predict(U, wce)
    wce.remove(["tune tune"], ["music"])
    assert "tune" in wce.terms_
    assert not wce["tune"].any()
    after = UnseenTerms.predict(U, wce)
    assert (before.n_shared, after.n_shared) == (25, 24)


def test_embeddings_that_learn_more_later_change_nothing(wce):
    grown = wc.WordClassEmbeddings(min_docs=2, keep_documents=True).fit(TEXTS, LABELS)
    found = UnseenTerms.predict(U, grown)
    expected = UnseenTerms.predict(U, grown)
    quality, reported = expected.quality, expected.report()
    grown.partial_fit(["tune comet tax"] * 9, ["money"] * 9)
    assert found.quality == quality
    assert found.report() == reported


def test_plain_word_vectors_can_be_made_of_them(found, wce, tmp_path):
    vectors = found.to_word_vectors()
    assert vectors.dimension_names == tuple(wce.columns_)
    vectors.save(tmp_path / "unseen.npz")
    again = wc.WordVectors.load(tmp_path / "unseen.npz")
    assert list(again.terms) == list(found.terms)
    np.testing.assert_array_equal(again.matrix, found.vectors)


def test_what_was_pickled_is_the_same(found):
    again = pickle.loads(pickle.dumps(found))
    assert again.report() == found.report()
    assert again.quality == found.quality


def test_two_shared_terms_are_enough_but_leave_none_to_measure_with(wce):
    few = wc.WordVectors.of(["moon", "rose", "tax"], [[1, 2], [3, 4], [5, 5]])
    found = UnseenTerms.predict(few, wce)
    assert (found.n_shared, found.quality) == (2, None)
    assert np.isfinite(found.vectors).all()
    one = wc.WordVectors.of(["moon", "tax"], [[1, 2], [3, 4]])
    with pytest.raises(wc.InputError, match="embeddings know: 1; expected at least 2"):
        UnseenTerms.predict(one, wce)


class Broken:
    def __init__(self, answer):
        self.answer = answer

    def fit(self, rows, targets):
        pass

    def predict(self, rows):
        return np.full((len(rows), *self.answer[1:]), self.answer[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"U": U.matrix}, "U is a ndarray; expected WordVectors"),
        ({"wce": U}, "wce is a WordVectors; expected WordClassEmbeddings"),
        ({"regressor": "forest"}, "unknown regressor 'forest'; expected one of network, ridge"),
        ({"regressor": 3}, "regressor is 3; expected one of network, ridge, or an object"),
        ({"regressor": Broken((1.0,))}, r"predicted shape \(6,\) for 6 terms; expected \(6, 3\)"),
        ({"regressor": Broken((1.0, 2))}, r"predicted shape \(6, 2\) for 6 terms"),
        ({"regressor": Broken((np.nan, 3))}, "predicted a NaN or an infinity"),
        ({"seed": -1}, "seed is -1; expected"),
        ({"seed": True}, "seed is True; expected"),
    ],
)
def test_what_cannot_be_used_is_refused(wce, options, message):
    with pytest.raises(wc.InputError, match=message):
        UnseenTerms.predict(**{"U": U, "wce": wce} | options)


def test_embeddings_must_be_fitted_and_vectors_finite(wce):
    with pytest.raises(NotFittedError):
        UnseenTerms.predict(U, wc.WordClassEmbeddings())
    bad = U.matrix.copy()
    bad[2, 0] = np.nan
    unchecked = wc.WordVectors(U.terms, bad)
    with pytest.raises(wc.InputError, match=f"vector of '{U.terms[2]}' holds a NaN"):
        UnseenTerms.predict(unchecked, wce)


def test_real_synonyms_get_the_class_of_their_neighbors(wce, shared_data):
    expected = {
        "space": ["spacecraft", "astronauts", "nasa", "orbiting"],
        "garden": ["tulip", "compost", "blossoms", "seedlings"],
        "music": ["cello", "sonata", "orchestra", "guitar"],
    }
    words = [word for words in [*WORDS.values(), *expected.values(), COMMON] for word in words]
    glove = wc.WordVectors.load(shared_data("glove.6B.100d.npz"), terms=words)
    found = UnseenTerms.predict(glove, wce)
    classes = {term: name for term, name, _ in found.report(100)}
    assert classes == {word: name for name, words in expected.items() for word in words}
