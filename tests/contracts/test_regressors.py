"""What every regressor promises: a row in, a row out, learned from pairs of rows."""

import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("torch")

from wordclass import catalogue
from wordclass.embedding.unseen_terms import regressor
from wordclass.errors import InputError

NAMES = catalogue.names("regressors")
GENERATOR = np.random.default_rng(7)
U = GENERATOR.normal(size=(300, 6)).astype(np.float32)
S = (U @ GENERATOR.normal(size=(6, 3)) + [1, 0, -2]).astype(np.float32)
OTHERS = GENERATOR.normal(size=(9_000, 6)).astype(np.float32)


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(name):
    return regressor(name, seed=1).fit(U, S)


def test_the_regressors_of_the_task_are_all_there():
    assert NAMES == ["network", "ridge"]


def test_it_can_be_shown_before_and_after_it_has_learned(name):
    made = regressor(name)
    shown = repr(made)
    assert type(made).__name__ in shown
    assert repr(made.fit(U, S)) == shown


def test_fit_returns_the_object_and_predict_a_row_a_term(name):
    made = regressor(name)
    assert made.fit(U, S) is made
    predicted = made.predict(OTHERS[:5])
    assert predicted.shape == (5, 3)
    assert predicted.dtype == np.float32


def test_it_predicts_better_than_the_mean(fitted):
    truth = OTHERS[:500] @ np.linalg.lstsq(U, S - S.mean(axis=0), rcond=None)[0] + S.mean(axis=0)
    error = ((fitted.predict(OTHERS[:500]) - truth) ** 2).mean()
    assert error < 0.5 * ((S.mean(axis=0) - truth) ** 2).mean()


def test_a_prediction_depends_on_its_own_row_alone(fitted):
    together = fitted.predict(OTHERS)  # more than are computed at a time
    for part in (slice(0, 1), slice(4_000, 4_200), slice(8_999, None)):
        np.testing.assert_allclose(fitted.predict(OTHERS[part]), together[part], rtol=1e-5)
    assert fitted.predict(OTHERS[:0]).shape == (0, 3)


def test_the_same_seed_gives_the_same_bits(name, fitted):
    again = regressor(name, seed=1).fit(U.copy(), S.copy())
    np.testing.assert_array_equal(again.predict(OTHERS), fitted.predict(OTHERS))


def test_fitting_again_forgets_what_was_learned(name):
    made = regressor(name, seed=1).fit(-U[:50], S[:50])
    expected = regressor(name, seed=1).fit(U, S).predict(OTHERS)
    np.testing.assert_array_equal(made.fit(U, S).predict(OTHERS), expected)


def test_what_was_given_is_not_changed(name):
    rows, targets = U.copy(), S.copy()
    regressor(name).fit(rows, targets).predict(rows)
    np.testing.assert_array_equal(rows, U)
    np.testing.assert_array_equal(targets, S)


def test_a_copy_predicts_the_same(fitted):
    for again in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(again.predict(OTHERS[:9]), fitted.predict(OTHERS[:9]))


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_units_of_the_vectors_do_not_matter(name, fitted, scale):
    expected = fitted.predict(OTHERS[:20])
    scaled = regressor(name, seed=1).fit(scale * U, S).predict(scale * OTHERS[:20])
    np.testing.assert_allclose(scaled, expected, atol=0.02)
    targets = regressor(name, seed=1).fit(U, scale * S).predict(OTHERS[:20])
    np.testing.assert_allclose(targets / scale, expected, atol=0.02)


def test_two_terms_are_enough_and_rows_may_be_all_alike(name):
    assert np.isfinite(regressor(name).fit(U[:2], S[:2]).predict(U)).all()
    alike = regressor(name).fit(np.zeros((40, 2)), np.ones((40, 1)))
    assert np.isfinite(alike.predict(np.zeros((3, 2)))).all()
    nothing = regressor(name).fit(U, np.zeros((300, 2)))
    np.testing.assert_allclose(nothing.predict(U), 0, atol=0.1)


def with_bad(matrix, value):
    bad = matrix.copy()
    bad[3, 1] = value
    return bad


@pytest.mark.parametrize(
    ("rows", "targets", "message"),
    [
        (U, S[:299], "U has 300 rows and S 299; expected a row of each"),
        (U[:1], S[:1], "terms to learn from: 1; expected at least 2"),
        (U[:0], S[:0], "terms to learn from: 0; expected at least 2"),
        (with_bad(U, np.nan), S, "row 3 of U holds a NaN, an infinity"),
        (U, with_bad(S, np.inf), "row 3 of S holds a NaN, an infinity"),
        (U, S[:, 0], r"S: the vectors have shape \(300,\)"),
        (U, S[:, :0], r"S: the vectors have shape \(300, 0\)"),
        (U.astype(str), S, "U: the vectors have shape"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(name, rows, targets, message):
    with pytest.raises(InputError, match=message):
        regressor(name).fit(rows, targets)


def test_what_cannot_be_predicted_from_is_refused(name, fitted):
    with pytest.raises(InputError, match="U has 5 columns; expected 6"):
        fitted.predict(U[:, :5])
    with pytest.raises(InputError, match="row 3 of U holds a NaN"):
        fitted.predict(with_bad(U, np.nan))
    with pytest.raises(InputError, match=r"fit\(U, S\) comes first"):
        regressor(name).predict(U)


def test_an_unknown_regressor_is_an_error_that_names_those_there_are():
    with pytest.raises(InputError, match=r"unknown regressor 'rigde' \(did you mean 'ridge'"):
        regressor("rigde")
