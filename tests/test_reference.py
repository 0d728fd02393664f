"""The reference against scikit-learn, scipy and arithmetic done by hand."""

import math

import numpy as np
import pytest
import reference
from scipy.stats import chi2_contingency, entropy, zscore
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import f_classif
from sklearn.metrics import accuracy_score, f1_score, mutual_info_score

SEEDS = pytest.mark.parametrize("seed", range(5))
CORRELATIONS = pytest.mark.parametrize(
    "correlation",
    [
        reference.dot,
        reference.ppmi,
        reference.pmi,
        reference.information_gain,
        reference.chi_square,
        reference.gss,
        reference.gain_ratio,
        reference.odds_ratio,
        reference.relevance_frequency,
        reference.conf_weight,
        reference.fisher,
    ],
    ids=lambda correlation: correlation.__name__,
)

TEXTS = [
    "The orbit of the Moon: 384,400 km, 27.3 days.",
    "A moon, the moon; THE MOON!",
    "Straße und STRASSE, größer als 3",
    "",
    "? ! a b c",
    "on 1994-05-17 version2 of the orbit-37 engine, 2x faster",
    "İstanbul ΟΔΟΣ \u4e2d\u6587 \u0663\u0664 e\u0301t\u00e9 orbit",
    "the orbit",
]


def weights_and_labels(seed, n=30, v=7, m=4):
    """Weights with empty, rare, common and ubiquitous terms; an empty and a full class."""
    rng = np.random.default_rng(seed)
    density = np.linspace(0, 1, v)
    X = np.where(rng.random((n, v)) < density, rng.random((n, v)) + 0.1, 0.0)
    Y = (rng.random((n, m)) < np.linspace(0, 1, m)).astype(int)
    return X, Y


def table(tp, fp, fn, tn):
    """X and Y of one term and one class with these document counts."""
    X = [[1.0]] * (tp + fp) + [[0.0]] * (fn + tn)
    Y = [[1]] * tp + [[0]] * fp + [[1]] * fn + [[0]] * tn
    return X, Y


def score(correlation, *cells):
    return correlation(*table(*cells))[0][0]


# Text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The orbit, 384,400 km.", ["the", "orbit", "numbermask", "km"]),
        ("1994-05-17", ["numbermask"]),
        # no word boundary between 2 and x, nor between n and 2: digits glued to letters stay
        ("version2 2x 3", ["version2", "2x", "numbermask"]),
        ("orbit-37-", ["orbit", "numbermask"]),
        # a match may end in punctuation before a word: the mask and the word grow together
        ("5,word 3.14abc 7-year", ["numbermaskword", "numbermask14abc", "numbermaskyear"]),
        ("\u0663\u0664", ["\u0663\u0664"]),  # Arabic digits are not [0-9]
        ("a I x", []),
        ("", []),
    ],
)
def test_numbers_are_masked_and_words_of_two_letters_kept(text, expected):
    assert reference.tokens(text) == expected


def test_numbers_stay_where_no_mask_is_wanted():
    assert reference.tokens("27.35 days, 5", mask_numbers=False) == ["27", "35", "days"]


def test_ngrams_are_made_after_stop_words_left():
    found = reference.tokens("The Moon of the Earth", ngrams=(1, 2), stop_words={"the", "of"})
    assert found == ["moon", "earth", "moon earth"]
    assert reference.tokens("one two three", ngrams=(2, 3)) == [
        "one two",
        "two three",
        "one two three",
    ]
    assert reference.tokens("one", ngrams=(2, 3)) == []


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2), (2, 3), (3, 3)])
@pytest.mark.parametrize("stop_words", [[], ["the", "of"]])
def test_tokens_are_those_of_scikit_learn(ngrams, stop_words):
    theirs = CountVectorizer(ngram_range=ngrams, stop_words=stop_words or None).build_analyzer()
    for text in TEXTS:
        mine = reference.tokens(text, mask_numbers=False, ngrams=ngrams, stop_words=stop_words)
        assert mine == theirs(text)


def test_terms_are_sorted_by_code_point_and_counted_once_a_text():
    texts = ["éa zz zz Zb", "zz éa", "zb éa zy zy"]
    assert reference.vocabulary(texts, 2) == ["zb", "zz", "éa"]
    assert reference.vocabulary(texts, 1) == ["zb", "zy", "zz", "éa"]
    assert reference.vocabulary(texts, 4) == []


@pytest.mark.parametrize("min_docs", [1, 2, 3])
@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
def test_tfidf_is_that_of_scikit_learn(min_docs, ngrams):
    def mask_and_lower(text):
        return reference.NUMBER.sub("numbermask", text).lower()

    theirs = TfidfVectorizer(
        preprocessor=mask_and_lower, sublinear_tf=True, min_df=min_docs, ngram_range=ngrams
    )
    X = theirs.fit_transform(TEXTS).toarray()
    terms = reference.vocabulary(TEXTS, min_docs, ngrams=ngrams)
    assert terms == list(theirs.get_feature_names_out())
    np.testing.assert_allclose(reference.tfidf(TEXTS, terms, ngrams=ngrams), X, rtol=1e-12)
    unseen = ["the moon moon of 1 new world", "nothing known"]
    np.testing.assert_allclose(
        reference.tfidf(unseen, terms, training_texts=TEXTS, ngrams=ngrams),
        theirs.transform(unseen).toarray(),
        rtol=1e-12,
    )


def test_tfidf_by_hand():
    rare, common = math.log(3 / 2) + 1, 1.0
    ours = reference.tfidf(["aa aa bb", "bb"], ["aa", "bb"])
    tf_two = 1 + math.log(2)
    length = math.hypot(tf_two * rare, common)
    np.testing.assert_allclose(ours, [[tf_two * rare / length, common / length], [0, 1]])


def test_bm25_by_hand():
    texts = ["aa aa bb", "bb unknown words", "", "bb"]
    # lengths in terms 3, 1, 0, 1; average 5/4; document frequencies 1 and 3 of 4
    idf_aa, idf_bb = math.log(1 + 3.5 / 1.5), math.log(1 + 1.5 / 3.5)
    long, short = 1.5 * (0.25 + 0.75 * 3 / 1.25), 1.5 * (0.25 + 0.75 * 1 / 1.25)
    expected = [
        [idf_aa * 2 * 2.5 / (2 + long), idf_bb * 2.5 / (1 + long)],
        [0, idf_bb * 2.5 / (1 + short)],
        [0, 0],
        [0, idf_bb * 2.5 / (1 + short)],
    ]
    np.testing.assert_allclose(reference.bm25(texts, ["aa", "bb"]), expected)
    np.testing.assert_allclose(
        reference.bm25(["bb", "zz"], ["aa", "bb"], training_texts=texts), [expected[3], [0, 0]]
    )


def test_bm25_of_texts_without_terms_is_zero():
    assert reference.bm25(["aa", ""], ["bb"]) == [[0.0], [0.0]]


def test_bm25_ignores_lengths_where_b_is_zero_and_repetitions_where_k1_is():
    texts = ["aa aa bb", "aa", "cc"]
    X = np.array(reference.bm25(texts, ["aa", "bb", "cc"], k1=0))
    assert X[0][0] == pytest.approx(X[1][0]) == pytest.approx(math.log(1 + 1.5 / 2.5))
    X = np.array(reference.bm25(texts, ["aa", "bb", "cc"], b=0))
    assert X[0][1] == pytest.approx(X[2][2])


# Correlations -------------------------------------------------------------------------------


@CORRELATIONS
@SEEDS
def test_corners_are_finite_and_lists_serve_as_well_as_arrays(correlation, seed):
    X, Y = weights_and_labels(seed)
    A = correlation(X, Y)
    assert np.shape(A) == (7, 4)
    assert np.isfinite(A).all()
    np.testing.assert_array_equal(A, correlation(X.tolist(), Y.tolist()))


@CORRELATIONS
def test_the_order_of_documents_is_nothing_to_a_correlation(correlation):
    X, Y = weights_and_labels(1)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(correlation(X, Y), correlation(X[order], Y[order]), rtol=1e-12)


@SEEDS
def test_dot_is_the_matrix_product_of_equation_2(seed):
    X, Y = weights_and_labels(seed)
    total = X.sum(axis=0)
    X1 = X / np.where(total > 0, total, 1)
    np.testing.assert_allclose(reference.dot(X, Y), X1.T @ Y, rtol=1e-12)
    assert total[0] == 0
    assert reference.dot(X, Y)[0] == [0, 0, 0, 0]


@SEEDS
def test_information_gain_is_mutual_information_in_bits(seed):
    X, Y = weights_and_labels(seed)
    gain = reference.information_gain(X, Y)
    ratio = reference.gain_ratio(X, Y)
    for t in range(X.shape[1]):
        for c in range(Y.shape[1]):
            expected = mutual_info_score(X[:, t] > 0, Y[:, c]) / math.log(2)
            assert gain[t][c] == pytest.approx(expected, abs=1e-12)
            bits = entropy([Y[:, c].mean(), 1 - Y[:, c].mean()], base=2)
            assert ratio[t][c] == pytest.approx(expected / bits if bits else 0, abs=1e-12)


@SEEDS
def test_chi_square_is_the_statistic_over_n_and_the_square_of_gss_over_the_variances(seed):
    X, Y = weights_and_labels(seed)
    chi_square, gss = reference.chi_square(X, Y), reference.gss(X, Y)
    present = X > 0
    for t in range(X.shape[1]):
        for c in range(Y.shape[1]):
            covariance = np.cov(present[:, t], Y[:, c], ddof=0)
            assert gss[t][c] == pytest.approx(covariance[0, 1], abs=1e-12)
            if covariance[0, 0] * covariance[1, 1] == 0:
                assert chi_square[t][c] == 0
                continue
            cells = [
                [np.sum((present[:, t] == p) & (Y[:, c] == y)) for y in (1, 0)] for p in (1, 0)
            ]
            statistic = chi2_contingency(cells, correction=False).statistic
            assert chi_square[t][c] == pytest.approx(statistic / len(X), abs=1e-12)


@SEEDS
def test_fisher_is_the_f_statistic_over_its_degrees_of_freedom(seed):
    X, Y = weights_and_labels(seed)
    X, Y = X[:, 1:], Y[:, 1:3]  # f_classif warns where nothing varies
    ours = np.array(reference.fisher(X, Y))
    for c in range(Y.shape[1]):
        statistic, _ = f_classif(X, Y[:, c])
        np.testing.assert_allclose(ours[:, c], statistic / (len(X) - 2), rtol=1e-9)


def test_fisher_by_hand():
    # means 2 and 5, overall 4; between 2 * 4 + 4 * 1, within 2 + 4
    X, Y = [[1.0], [3.0], [4.0], [6.0], [4.0], [6.0]], [[1], [1], [0], [0], [0], [0]]
    assert reference.fisher(X, Y) == [[2.0]]


def test_fisher_takes_the_mean_square_where_groups_do_not_vary_and_is_zero_where_one_is_empty():
    Y = [[1, 1, 0], [1, 1, 0], [0, 1, 0]]
    assert reference.fisher([[0.125], [0.125], [0.75]], Y) == [[25 / 19, 0, 0]]
    assert reference.fisher([[0.1], [0.2], [0.7]], Y)[0][1:] == [0, 0]


@pytest.mark.parametrize(
    ("correlation", "cells", "expected"),
    [
        # 2 of 8 documents have both; term in 4, class in 4: independent
        (reference.pmi, (2, 2, 2, 2), 0),
        (reference.ppmi, (2, 2, 2, 2), 0),
        (reference.information_gain, (2, 2, 2, 2), 0),
        (reference.chi_square, (2, 2, 2, 2), 0),
        (reference.gss, (2, 2, 2, 2), 0),
        (reference.gain_ratio, (2, 2, 2, 2), 0),
        (reference.odds_ratio, (2, 2, 2, 2), 0),
        (reference.relevance_frequency, (2, 2, 2, 2), math.log2(3)),
        (reference.conf_weight, (2, 2, 2, 2), 0),
        # term and class are one
        (reference.pmi, (2, 0, 0, 6), math.log(4)),
        (reference.ppmi, (2, 0, 0, 6), math.log(4)),
        (reference.information_gain, (4, 0, 0, 4), 1),
        (reference.information_gain, (2, 0, 0, 6), 2 - 0.75 * math.log2(3)),
        (reference.chi_square, (2, 0, 0, 6), 1),
        (reference.gss, (2, 0, 0, 6), 12 / 64),
        (reference.gain_ratio, (2, 0, 0, 6), 1),
        (reference.odds_ratio, (2, 0, 0, 6), math.log(2.5 * 6.5 / 0.25)),
        (reference.relevance_frequency, (6, 0, 0, 2), 3),
        (reference.relevance_frequency, (6, 3, 0, 2), 2),
        # term and class never meet
        (reference.pmi, (0, 2, 4, 2), math.log((0.5 / 8) / (2 / 8 * 4 / 8))),
        (reference.ppmi, (0, 2, 4, 2), 0),
        (reference.information_gain, (0, 4, 4, 0), 1),
        (reference.chi_square, (0, 4, 4, 0), 1),
        (reference.gss, (0, 4, 4, 0), -1 / 4),
        (reference.odds_ratio, (0, 4, 4, 0), -2 * math.log(9)),
        (reference.relevance_frequency, (0, 4, 4, 0), 1),
        (reference.conf_weight, (0, 40, 40, 0), 0),
        # met less than chance has it
        (reference.pmi, (1, 3, 3, 1), math.log(1 / 2)),
        (reference.ppmi, (1, 3, 3, 1), 0),
        # no document has the term, or the class
        (reference.pmi, (0, 0, 4, 4), 0),
        (reference.pmi, (0, 4, 0, 4), 0),
        (reference.gain_ratio, (0, 4, 0, 4), 0),
        (reference.chi_square, (4, 0, 4, 0), 0),
        (reference.conf_weight, (0, 0, 4, 4), 0),
        (reference.conf_weight, (0, 4, 0, 4), 0),
    ],
)
def test_small_tables_by_hand(correlation, cells, expected):
    assert score(correlation, *cells) == pytest.approx(expected, abs=1e-14)


def test_conf_weight_by_hand():
    # z^2 = 3.8416. Inside 8 of 10: 9.9208 / 13.8416; outside 1 of 20: 2.9208 / 23.8416
    inside, outside = 0.71674, 0.12251
    lowest = inside - 1.96 * math.sqrt(inside * (1 - inside) / 13.8416)
    highest = outside + 1.96 * math.sqrt(outside * (1 - outside) / 23.8416)
    assert lowest == pytest.approx(0.47937, abs=1e-4)
    assert highest == pytest.approx(0.25412, abs=1e-4)
    expected = math.log2(2 * lowest / (lowest + highest)) ** 2
    assert expected == pytest.approx(0.1496, abs=1e-3)
    assert score(reference.conf_weight, 8, 1, 2, 19) == pytest.approx(expected, abs=1e-4)


@SEEDS
def test_pmi_and_ppmi_differ_only_below_zero(seed):
    X, Y = weights_and_labels(seed)
    pmi, ppmi = np.array(reference.pmi(X, Y)), np.array(reference.ppmi(X, Y))
    never = ((X > 0).T.astype(int) @ Y) == 0
    np.testing.assert_array_equal(ppmi, np.where(never, 0, np.maximum(pmi, 0)))


def test_the_sign_of_a_term_that_leaves_with_the_class_turns():
    for correlation in (reference.gss, reference.odds_ratio):
        assert score(correlation, 3, 1, 2, 9) == pytest.approx(-score(correlation, 2, 9, 3, 1))


# Embeddings ---------------------------------------------------------------------------------


@SEEDS
def test_standardized_columns_are_z_scores(seed):
    A = np.random.default_rng(seed).random((9, 3))
    np.testing.assert_allclose(reference.standardize(A), zscore(A, ddof=1), rtol=1e-12)


def test_unknown_rows_are_zero_and_do_not_count():
    A = [[1.0, 5.0], [100.0, 100.0], [3.0, 5.0]]
    z = 1 / math.sqrt(2)
    expected = [[-z, 0], [0, 0], [z, 0]]
    np.testing.assert_allclose(reference.standardize(A, known=[True, False, True]), expected)


def test_constant_columns_and_lonely_rows_become_zeros():
    assert reference.standardize([[2.0], [2.0], [2.0]]) == [[0], [0], [0]]
    assert reference.standardize([[2.0, 7.0]]) == [[0, 0]]
    assert reference.standardize([[2.0], [7.0]], known=[False, True]) == [[0], [0]]
    assert reference.standardize([[2.0], [7.0]], known=[False, False]) == [[0], [0]]


def test_a_tiny_deviation_is_taken_for_one_in_a_hundred_thousand():
    np.testing.assert_allclose(reference.standardize([[0.0], [2e-6]]), [[-0.1], [0.1]])


def test_shrinkage_by_hand():
    X = [[2.0, 0.0], [1.0, 3.0]]
    Y = [[1, 0], [0, 1]]
    # mean weight 2, all weight 6, of which 2 in the first class and 4 in the second
    A = reference.shrunken_dot(X, Y, 0.5)
    np.testing.assert_allclose(
        A, [[(2 + 1 / 3) / 4, (1 + 2 / 3) / 4], [(0 + 1 / 3) / 4, (3 + 2 / 3) / 4]]
    )


@SEEDS
def test_shrinkage_goes_from_dot_to_the_share_of_the_classes(seed):
    X, Y = weights_and_labels(seed)
    np.testing.assert_allclose(reference.shrunken_dot(X, Y, 0), reference.dot(X, Y), rtol=1e-12)
    share = X.sum(axis=1) @ Y / X.sum()
    A = np.array(reference.shrunken_dot(X, Y, 1e12))
    np.testing.assert_allclose(A, np.tile(share, (7, 1)), atol=1e-8)
    A = np.array(reference.shrunken_dot(X, Y, 3))
    np.testing.assert_allclose(A[0], share, atol=1e-12)  # the term without weight


def test_shrinkage_of_nothing_is_nothing():
    assert reference.shrunken_dot([[0.0], [0.0]], [[1], [0]], 2) == [[0.0]]


def test_multiply_is_the_matrix_product():
    X, S = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(reference.multiply(X, S), X @ S)


def test_cross_fitting_by_hand():
    X = [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 2.0, 0.0]]
    Y = [[1], [0], [1]]
    z = 1 / math.sqrt(2)
    # without document 0: term 0 in class 0 of 1, term 1 in class 2 of 3, term 2 unknown
    # without document 1: terms 0 and 2 in class by 1, term 1 by 1: constant
    # without document 2: term 0 by 1/2, term 1 by 0, term 2 by 1: z-scores 0, -1, 1
    np.testing.assert_allclose(
        reference.cross_fitted_scores(X, Y, [0, 1, 2], 0), [[-z], [0], [-2]], atol=1e-12
    )


@pytest.mark.parametrize("shrinkage", [0, 5.0])
@SEEDS
def test_cross_fitted_scores_do_not_see_the_labels_of_their_fold(seed, shrinkage):
    X, Y = weights_and_labels(seed, n=20)
    folds = np.arange(20) % 3
    scores = np.array(reference.cross_fitted_scores(X, Y, folds, shrinkage))
    assert scores.shape == (20, 4)
    assert scores.any()
    changed = np.where(folds[:, None] == 1, 1 - Y, Y)
    again = np.array(reference.cross_fitted_scores(X, changed, folds, shrinkage))
    np.testing.assert_array_equal(again[folds == 1], scores[folds == 1])
    assert (again[folds != 1] != scores[folds != 1]).any()


@SEEDS
def test_cross_fitting_equals_fitting_on_the_others_and_transforming(seed):
    X, Y = weights_and_labels(seed, n=20, v=5)
    X = X[:, 2:]  # every term occurs in both parts
    held_out = np.arange(20) < 8
    A = np.array(reference.shrunken_dot(X[~held_out], Y[~held_out], 2))
    scores = np.array(reference.cross_fitted_scores(X, Y, held_out, 2))
    S = zscore(A[:, 1:3], ddof=1)
    np.testing.assert_allclose(scores[held_out][:, 1:3], X[held_out] @ S, rtol=1e-9, atol=1e-9)
    # the empty and the full class have constant columns
    np.testing.assert_allclose(scores[:, [0, 3]], 0, atol=1e-9)


def test_one_fold_leaves_nothing_to_learn_from():
    assert reference.cross_fitted_scores([[1.0], [2.0]], [[1], [0]], [0, 0], 0) == [[0], [0]]


@SEEDS
def test_pca_is_that_of_scikit_learn_up_to_sign(seed):
    S = np.random.default_rng(seed).standard_normal((30, 6)) * np.arange(1, 7)
    ours, theirs = reference.pca(S, 3), PCA(3, svd_solver="full")
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs.fit_transform(S)), atol=1e-9)
    loadings = np.linalg.lstsq(S - S.mean(axis=0), ours, rcond=None)[0]  # (m, r)
    assert (loadings[np.abs(loadings).argmax(axis=0), range(3)] > 0).all()
    np.testing.assert_allclose(reference.pca(-S, 3), -ours, atol=1e-9)


def test_pca_by_hand():
    # all variance along (3, -4) / 5: the larger loading is made positive
    S = [[3.0, -4.0], [-3.0, 4.0], [0.0, 0.0]]
    np.testing.assert_allclose(reference.pca(S, 1), [[-5.0], [5.0], [0.0]], atol=1e-12)


# Quality ------------------------------------------------------------------------------------


@SEEDS
def test_single_label_scores_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    classes = ["a", "b", "c", "never"]
    true, predicted = rng.choice(classes[:3], 25), rng.choice(classes[:2], 25)
    ours = reference.f1_scores([{x} for x in true], [{x} for x in predicted], classes, False)
    for average in ("macro", "micro"):
        theirs = f1_score(true, predicted, labels=classes, average=average, zero_division=0)
        assert ours[f"{average}_f1"] == pytest.approx(theirs)
    assert ours["per_class"]["never"] == 0
    assert ours["accuracy"] == accuracy_score(true, predicted)


@SEEDS
def test_multilabel_scores_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    classes = ["a", "b", "c", "never"]
    shares = [0.3, 0.6, 0.1, 0]
    true, predicted = rng.random((25, 4)) < shares, rng.random((25, 4)) < shares
    sets = [[{classes[j] for j in np.flatnonzero(row)} for row in Y] for Y in (true, predicted)]
    ours = reference.f1_scores(*sets, classes, True)
    theirs = f1_score(true, predicted, average=None, zero_division=1)
    np.testing.assert_allclose(list(ours["per_class"].values()), theirs)
    assert ours["per_class"]["never"] == 1
    for average in ("macro", "micro"):
        theirs = f1_score(true, predicted, average=average, zero_division=1)
        assert ours[f"{average}_f1"] == pytest.approx(theirs)
    assert ours["accuracy"] == accuracy_score(true, predicted)


def test_f1_by_hand():
    true = [{"a"}, {"a", "b"}, set(), {"unseen"}]
    predicted = [("a",), ("b",), ("b",), ()]
    ours = reference.f1_scores(true, predicted, ["a", "b", "c"], multilabel=True)
    assert ours["per_class"] == {"a": 2 / 3, "b": 2 / 3, "c": 1.0}
    assert ours["macro_f1"] == pytest.approx(7 / 9)
    assert ours["micro_f1"] == pytest.approx(2 / 3)
    assert ours["accuracy"] == 0.5
