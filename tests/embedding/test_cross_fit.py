import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from made_up import LABELS, N_DOCS, WEIGHTS, corpus, multilabel_corpus

import wordclass as wc
from wordclass.arrays import to_sparse
from wordclass.corpus.splits import fold_numbers
from wordclass.embedding.cross_fit import cross_fit_features
from wordclass.embedding.vectors import Recipe

FOLDS = hnp.arrays(np.int64, N_DOCS, elements=st.integers(0, 2))


@pytest.mark.parametrize("shrinkage", [0.0, 5.0])
@given(X=WEIGHTS, Y=LABELS, folds=FOLDS)
def test_it_equals_slow_loops_written_from_the_definition(shrinkage, X, Y, folds):
    recipe = Recipe.of("dot", shrinkage)
    features = cross_fit_features(to_sparse(X), to_sparse(Y), folds, recipe.count, recipe.embed)
    expected = reference.cross_fitted_scores(X, Y, folds.tolist(), shrinkage)
    np.testing.assert_allclose(features, expected, rtol=1e-4, atol=1e-4)


def test_the_fold_of_a_text_depends_on_seed_and_text_only():
    texts = [f"text {k}" for k in range(1000)]
    folds = fold_numbers(texts, 10, 0)
    order = np.random.default_rng(0).permutation(1000)
    np.testing.assert_array_equal(fold_numbers([texts[k] for k in order], 10, 0), folds[order])
    assert (fold_numbers(texts, 10, 1) != folds).mean() > 0.8
    assert np.bincount(folds).min() > 60
    assert fold_numbers(["\ud800"], 3, -5)[0] in range(3)


def test_no_document_sees_its_own_labels():
    texts, labels = corpus()
    wce = wc.WordClassEmbeddings(min_docs=2, folds=5)
    features = wce.fit_transform(texts, labels)
    folds = fold_numbers(texts, 5, 0)
    # other labels for the documents of one fold leave that fold's features as they were
    fold = folds[0]
    swapped = ["music" if folds[k] == fold else label for k, label in enumerate(labels)]
    again = wc.WordClassEmbeddings(min_docs=2, folds=5).fit_transform(texts, swapped)
    np.testing.assert_allclose(again[folds == fold], features[folds == fold], atol=1e-5)
    assert not np.allclose(again[folds != fold], features[folds != fold], atol=1e-3)


@pytest.mark.parametrize("options", [{}, {"max_dims": 2}])
def test_order_does_not_matter(options):
    texts, labels = multilabel_corpus()
    features = wc.WordClassEmbeddings(min_docs=2, **options).fit_transform(texts, labels)
    order = np.random.default_rng(1).permutation(len(texts))
    again = wc.WordClassEmbeddings(min_docs=2, **options).fit_transform(
        [texts[k] for k in order], [labels[k] for k in order]
    )
    np.testing.assert_allclose(again, features[order], atol=1e-4)


def test_features_have_the_dimensions_of_the_projection():
    texts, labels = corpus()
    wce = wc.WordClassEmbeddings(max_dims=2, min_docs=2)
    assert wce.fit_transform(texts, labels).shape == (len(texts), 2)
    assert wce.transform(texts).shape == (len(texts), 2)


def test_the_projection_is_the_one_of_all_documents():
    texts, labels = multilabel_corpus()
    full = wc.WordClassEmbeddings(max_dims=None, min_docs=2)
    small = wc.WordClassEmbeddings(max_dims=2, min_docs=2)
    unprojected = full.fit_transform(texts, labels)
    projected = small.fit_transform(texts, labels)
    directions, *_ = np.linalg.lstsq(full.vectors_, small.vectors_, rcond=None)
    np.testing.assert_allclose(projected, unprojected @ directions, atol=1e-3)


def test_a_fold_with_every_document_leaves_zeros():
    texts, labels = ["aa bb", "aa bb"], ["x", "y"]  # the same text: the same fold
    features = wc.WordClassEmbeddings(min_docs=1).fit_transform(texts, labels)
    assert not features.any()


def test_a_seed_may_be_an_integer_of_numpy():
    texts = ["moon", "rose", "tax"]
    assert fold_numbers(texts, 7, np.int64(3)).tolist() == fold_numbers(texts, 7, 3).tolist()
