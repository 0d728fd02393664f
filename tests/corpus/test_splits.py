import numpy as np
import pytest
from made_up import corpus, multilabel_corpus

from wordclass import progress
from wordclass.corpus.labels import encode_labels
from wordclass.corpus.splits import (
    ChosenHoldout,
    Holdout,
    Split,
    TrainingData,
    cross_fit,
    fold_splits,
    stratified_folds,
    validation_split,
)
from wordclass.errors import InputError


def test_every_class_is_dealt_out_evenly():
    texts, labels = corpus(300)
    Y = encode_labels(labels).Y
    texts = [f"{text} {k}" for k, text in enumerate(texts)]  # no two alike
    folds = stratified_folds(texts, Y, 5, seed=0)
    assert set(folds) == set(range(5))
    for fold in range(5):
        sizes = np.asarray(Y[folds == fold].sum(axis=0)).ravel()
        assert abs(sizes - 20).max() <= 1


def test_the_rarest_class_of_a_document_decides():
    Y = np.ones((100, 2))
    Y[:10, 1], Y[10:, 1] = 1, 0
    texts = [f"text {k}" for k in range(100)]
    folds = stratified_folds(texts, encode_labels(Y).Y, 10, seed=3)
    assert sorted(folds[:10]) == list(range(10))
    assert np.bincount(folds).tolist() == [10] * 10


def test_documents_without_labels_are_dealt_out_too():
    texts, _ = corpus(40)
    folds = stratified_folds(
        [f"{t}{k}" for k, t in enumerate(texts)], encode_labels([[]] * 39 + [["a"]]).Y, 4, 0
    )
    assert np.bincount(folds).tolist() == [10] * 4


def test_the_order_of_documents_does_not_matter():
    texts, labels = multilabel_corpus()
    order = np.random.default_rng(1).permutation(len(texts))
    folds = stratified_folds(texts, encode_labels(labels).Y, 4, seed=0)
    moved = stratified_folds(
        [texts[k] for k in order], encode_labels([labels[k] for k in order]).Y, 4, seed=0
    )
    assert moved.tolist() == folds[order].tolist()


def test_copies_of_a_text_stay_together_unless_they_are_blank():
    texts = ["same words"] * 20 + [""] * 20 + [f"text {k}" for k in range(20)]
    folds = stratified_folds(texts, encode_labels(["a", "b"] * 30).Y, 5, seed=0)
    assert len(set(folds[:20])) == 1
    assert len(set(folds[20:40])) == 5


@pytest.mark.parametrize("seed", [0, 1, -7])
def test_another_seed_deals_in_another_way(seed):
    texts = [f"text {k}" for k in range(60)]
    Y = encode_labels(["a", "b"] * 30).Y
    folds = stratified_folds(texts, Y, 5, seed)
    assert folds.tolist() == stratified_folds(texts, Y, 5, seed).tolist()
    assert folds.tolist() != stratified_folds(texts, Y, 5, seed + 1).tolist()


def test_a_seed_may_be_an_integer_of_numpy_but_not_larger_than_16_bytes():
    texts, labels = corpus(20)
    Y = encode_labels(labels).Y
    same = stratified_folds(texts, Y, 5, np.int64(3))
    assert same.tolist() == stratified_folds(texts, Y, 5, 3).tolist()
    with pytest.raises(InputError, match=r"seed is 16069.*; expected one between"):
        stratified_folds(texts, Y, 5, 1 << 200)


def test_the_fingerprint_does_not_depend_on_the_order_but_on_every_text():
    one = TrainingData.of(["a", "b", "b"])
    assert one.n_docs == 3
    assert one.fingerprint == TrainingData.of(["b", "a", "b"]).fingerprint
    assert one.fingerprint != TrainingData.of(["a", "b"]).fingerprint
    assert one.fingerprint != TrainingData.of(["a", "b", "c"]).fingerprint
    assert (np.diff(one.fingerprints.astype(object)) >= 0).all()


def test_shared_texts_are_counted_and_blank_ones_are_not():
    known = TrainingData.of(["moon", "rose", "", "\ud800"])
    assert known.n_shared(["moon", "moon", "sun", "", "  ", "\ud800"]) == 3
    assert known.n_shared([]) == 0


TEXTS = [f"text {k}" for k in range(5_000)]


def test_about_that_share_is_kept_aside_and_always_the_same():
    for share in (0.05, 0.2, 0.9):
        is_aside = Holdout(share).contains(TEXTS)
        assert is_aside.mean() == pytest.approx(share, abs=0.02)
        np.testing.assert_array_equal(Holdout(share).contains(TEXTS[::-1]), is_aside[::-1])


def test_a_larger_share_keeps_the_same_and_more_aside():
    assert not (Holdout(0.1).contains(TEXTS) & ~Holdout(0.3).contains(TEXTS)).any()


def test_another_seed_keeps_others_aside():
    both = Holdout(0.2, seed=1).contains(TEXTS) & Holdout(0.2, seed=2).contains(TEXTS)
    assert both.mean() == pytest.approx(0.04, abs=0.02)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 2.0, float("nan")])
def test_a_share_is_between_0_and_1(share):
    with pytest.raises(InputError, match=r"holdout is .*; expected a number above 0 and below 1"):
        Holdout(share)


# --- training and held-out rows -----------------------------------------------------------------


def test_every_fold_with_documents_is_held_out_once_and_the_others_train():
    splits = fold_splits(np.array([3, 0, -1, 3, 0]))
    assert [[rows.tolist() for rows in split] for split in splits] == [
        [[0, 3], [1, 4]],
        [[1, 4], [0, 3]],
    ]


def test_a_fifth_of_every_class_validates_unless_all_texts_are_copies():
    texts = [f"text {k}" for k in range(40)]
    Y = encode_labels(["a", "b", "b", "b"] * 10).Y
    split = validation_split(texts, Y, seed=0)
    assert sorted([*split.train, *split.held_out]) == list(range(40))
    assert Y[split.held_out].sum(axis=0).tolist() == [[2, 6]]
    assert not len(validation_split(["same"] * 40, Y, seed=0).held_out)
    assert not len(validation_split(texts[:9], Y[:9], seed=0).held_out)


# --- cross-fitting ------------------------------------------------------------------------------

SPLITS = [Split(np.array([0, 1]), np.array([3])), Split(np.array([3]), np.array([1, 0]))]


def score(split):
    """Return two candidates' scores of the held-out rows for two classes."""
    return np.array([[[row, 0] for row in split.held_out], [[0, row] for row in split.held_out]])


def test_held_out_rows_are_scored_split_after_split():
    trained = []
    rows, scores = cross_fit(SPLITS, lambda split: trained.append(split.train) or score(split))
    assert [rows.tolist() for rows in trained] == [[0, 1], [3]]
    assert rows.tolist() == [3, 1, 0]
    assert scores.tolist() == [[[3, 0], [1, 0], [0, 0]], [[0, 3], [0, 1], [0, 0]]]


def test_scores_of_all_documents_are_in_their_order_with_zeros_for_rows_never_held_out():
    rows, scores = cross_fit(SPLITS, lambda split: score(split) + 1, n_docs=4)
    assert rows.tolist() == [0, 1, 2, 3]
    assert scores[0].tolist() == [[1, 1], [2, 1], [0, 0], [4, 1]]
    assert cross_fit([], score, n_docs=0).scores.shape == (0, 0)


def test_progress_is_reported_per_split_under_the_name_of_the_step():
    reports = []
    with progress.on_progress(lambda *report: reports.append(report)):
        cross_fit(SPLITS, score)
        cross_fit(SPLITS, score, step="validating")
    assert reports == [("validating", done, 2) for done in range(3)]


# --- stratified holdout -------------------------------------------------------------------------


def held_out(texts, labels, share=0.2, seed=0):
    return Holdout(share, seed).choose(texts, encode_labels(labels).Y).contains(texts)


def test_a_holdout_of_few_documents_has_all_classes_on_both_sides():
    texts = [f"text {k}" for k in range(30)]
    labels = np.array(["a", "b", "c"] * 10)
    for seed in range(20):
        is_held_out = held_out(texts, labels, seed=seed)
        assert sorted(labels[is_held_out]) == ["a", "a", "b", "b", "c", "c"]


def test_a_holdout_has_the_same_share_of_large_and_small_classes():
    texts = [f"text {k}" for k in range(1_000)]
    labels = np.array(["a"] * 900 + ["b"] * 90 + ["c"] * 9 + ["d"])
    names, counts = np.unique(labels[held_out(texts, labels, 0.3)], return_counts=True)
    assert dict(zip(names, counts.tolist(), strict=True)) == {"a": 270, "b": 27, "c": 3}


def test_a_holdout_depends_on_neither_order_nor_names_and_grows_with_the_corpus():
    texts = [f"text {k}" for k in range(200)]
    labels = np.array(["a", "b"] * 100)
    is_held_out = held_out(texts, labels)
    order = np.random.default_rng(0).permutation(200)
    moved = held_out([texts[k] for k in order], np.where(labels == "a", "z", "y")[order])
    np.testing.assert_array_equal(moved, is_held_out[order])
    more = held_out([*texts, *(f"new {k}" for k in range(20))], [*labels, *"ab" * 10])
    assert (more[:200] & is_held_out).sum() >= 0.85 * is_held_out.sum()


def test_equal_texts_are_on_the_same_side_of_a_holdout():
    texts = [f"text {k % 40}" for k in range(120)]
    is_held_out = held_out(texts, ["a", "b", "c"] * 40).reshape(3, 40)
    assert (is_held_out == is_held_out[0]).all()
    assert 0 < is_held_out[0].sum() < 40


def test_multilabel_and_unlabelled_documents_are_held_out_by_their_smallest_class():
    texts = [f"text {k}" for k in range(100)]
    labels = [["big", "small"]] * 10 + [["big"]] * 70 + [[]] * 20
    is_held_out = held_out(texts, labels, 0.5)
    assert [is_held_out[a:b].sum() for a, b in ((0, 10), (10, 80), (80, 100))] == [5, 35, 10]


def test_documents_that_were_not_trained_on_are_held_out():
    training = TrainingData.of(["a", "b"])
    holdout = ChosenHoldout(0.2, 0, training.fingerprints, are_training=True)
    assert holdout.contains(["a", "c", "b"]).tolist() == [False, True, False]
