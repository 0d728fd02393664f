import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from made_up import corpus
from sklearn.metrics import f1_score, ndcg_score
from sklearn.model_selection import GridSearchCV, cross_val_score

import wordclass as wc
from wordclass.decision.measures import DroppedLabelsWarning, ndcg_at, precision_at

CLASSES = ["a", "b", "c"]
SETS = st.lists(st.sets(st.sampled_from(CLASSES)), min_size=6, max_size=6)
SINGLE = st.lists(st.sampled_from(CLASSES), min_size=6, max_size=6)


def assert_equals_loops(scores, expected):
    assert scores.macro_f1 == pytest.approx(expected["macro_f1"])
    assert scores.micro_f1 == pytest.approx(expected["micro_f1"])
    assert scores.accuracy == pytest.approx(expected["accuracy"])
    assert {name: each.f1 for name, each in scores.per_class.items()} == pytest.approx(
        expected["per_class"]
    )


@given(true=SETS, predicted=SETS)
def test_multilabel_scores_equal_slow_loops(true, predicted):
    scores = wc.evaluate(true, predicted, CLASSES)
    assert_equals_loops(scores, reference.f1_scores(true, predicted, CLASSES, True))


@given(true=SINGLE, predicted=SINGLE)
def test_single_label_scores_equal_slow_loops_and_scikit_learn(true, predicted):
    scores = wc.evaluate(true, predicted, CLASSES)
    sets = [{label} for label in true], [{label} for label in predicted]
    assert_equals_loops(scores, reference.f1_scores(*sets, CLASSES, False))
    for average in ("macro", "micro"):
        expected = f1_score(true, predicted, labels=CLASSES, average=average, zero_division=0)
        assert getattr(scores, f"{average}_f1") == pytest.approx(expected)
    occurring = wc.evaluate(true, predicted)
    assert occurring.macro_f1 == pytest.approx(f1_score(true, predicted, average="macro"))


@given(true=SETS, predicted=SETS, cut=st.integers(1, 5))
def test_the_scores_of_batches_add_up(true, predicted, cut):
    parts = [
        wc.evaluate(true[part], predicted[part], CLASSES) for part in (slice(cut), slice(cut, None))
    ]
    whole = wc.evaluate(true, predicted, CLASSES)
    total = parts[0] + parts[1]
    assert (total.macro_f1, total.micro_f1, total.accuracy) == pytest.approx(
        (whole.macro_f1, whole.micro_f1, whole.accuracy)
    )


def test_a_class_that_nobody_has_and_nobody_predicts_counts_1_if_multilabel_and_0_if_not():
    assert wc.evaluate([["a"]], [["a"]], ["a", "b"]).macro_f1 == 1
    assert wc.evaluate(["a"], ["a"], ["a", "b"]).macro_f1 == 0.5


def test_true_labels_outside_the_codeframe_are_dropped_and_counted():
    with pytest.warns(DroppedLabelsWarning, match="2 true labels are outside") as warned:
        scores = wc.evaluate([["a", "x"], ["y"]], [["a"], []], ["a", "b"])
    assert (scores.n_dropped, scores.accuracy, scores.micro_f1) == (2, 1.0, 1.0)
    assert warned[0].filename == __file__  # it is told where the call was


def test_a_predicted_label_outside_the_codeframe_is_an_error():
    with pytest.raises(wc.InputError, match="unknown class 'x'"):
        wc.evaluate(["a"], ["x"], ["a", "b"])


def test_matrices_are_compared_column_by_column():
    true, predicted = np.array([[1, 0], [1, 1]]), np.array([[1, 0], [0, 1]])
    scores = wc.evaluate(true, predicted, ["any", "names"])
    assert scores.micro_f1 == pytest.approx(0.8)
    assert scores.accuracy == 0.5


def test_precision_and_recall_and_sizes_are_told_by_class():
    a = wc.evaluate(["a", "a", "b"], ["a", "b", "a"]).per_class["a"]
    assert (a.precision, a.recall, a.n_true, a.n_predicted) == (0.5, 0.5, 2, 2)


@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [(["a"], ["a", "b"], "1 true labels but 2"), ([], [], "no labels to evaluate")],
)
def test_labels_that_do_not_fit_are_refused(true, predicted, message):
    with pytest.raises(wc.InputError, match=message):
        wc.evaluate(true, predicted)


def test_scores_of_different_classes_do_not_add_up():
    with pytest.raises(wc.InputError, match="do not add up"):
        wc.evaluate(["a"], ["a"], ["a", "b"]) + wc.evaluate(["a"], ["a"], ["a", "c"])


def test_ranking_measures():
    Y = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0]])
    scores = np.array([[0.9, 0.5, 0.1], [0.2, 0.1, 0.3], [1, 2, 3]])
    assert precision_at(1, Y, scores) == pytest.approx(1 / 3)
    assert precision_at(2, Y, scores) == pytest.approx((0.5 + 0 + 0) / 3)
    assert ndcg_at(2, Y[:2], scores[:2]) == pytest.approx(ndcg_score(Y[:2], scores[:2], k=2))
    assert ndcg_at(3, Y, scores) == pytest.approx(ndcg_score(Y[:2], scores[:2], k=3) * 2 / 3)
    with pytest.raises(wc.InputError, match="k is 4"):
        precision_at(4, Y, scores)
    with pytest.raises(wc.InputError, match="of shape"):
        ndcg_at(1, Y, scores[:, :2])


@pytest.mark.parametrize("scorer", [wc.macro_f1, wc.micro_f1])
def test_scorers_work_in_grid_search(scorer):
    texts, labels = corpus()
    grid = {"shrinkage": [0.0, 5.0]}
    search = GridSearchCV(wc.classifier("nearest", min_docs=2), grid, scoring=scorer, cv=3)
    search.fit(texts, labels)
    assert search.best_score_ > 0.9
    Y = np.array([[label == name for name in ("garden", "music", "space")] for label in labels])
    assert cross_val_score(wc.classifier("nearest"), texts, Y.astype(int), scoring=scorer).min() > 0


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_matrix_without_names_has_the_names_of_the_data_frame_beside_it(frame):
    true = frame({"z": [1, 0, 1], "b": [0, 1, 1], "a": [0, 0, 0]})
    predicted = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0]], np.int8)
    for found in (wc.evaluate(true, predicted), wc.evaluate(predicted, true)):
        assert found.classes == ("a", "b", "z")
        assert found.true_positives.tolist() == [0, 2, 1]
        assert found.accuracy == pytest.approx(2 / 3)
    with pytest.raises(wc.InputError, match="mix str and int"):
        wc.evaluate(true, predicted[:, :2])


def test_numbers_that_are_no_places_are_names_too():
    frame = pd.DataFrame([[1, 0], [1, 0], [0, 1]], columns=[1, 0])
    predicted = np.array([[1, 0], [1, 0], [0, 0]])
    for found in (wc.evaluate(frame, predicted), wc.evaluate(predicted, frame)):
        assert found.classes == (0, 1)
        assert found.true_positives.tolist() == [0, 2]
    # where both have names, these decide
    assert wc.evaluate(frame, frame[[0, 1]]).accuracy == 1
    assert wc.evaluate(frame[[0, 1]], frame).accuracy == 1


def test_a_matrix_has_no_names_for_labels_of_another_form():
    found = wc.evaluate(np.array([[1, 0], [0, 1]]), [[1], [1]])
    assert found.classes == (0, 1)
    assert found.true_positives.tolist() == [0, 1]


def test_the_target_says_which_f1_counts():
    scores = wc.evaluate(["a", "a", "a", "b"], ["a", "a", "b", "a"])
    macro, micro = scores.macro_f1, scores.micro_f1
    assert macro != micro
    targets = ("macro_f1", "micro_f1", "both", "accuracy")
    assert [scores.of(each) for each in targets] == pytest.approx(
        [macro, micro, (macro + micro) / 2, 0.5]
    )
    assert scores.n_dropped == 0


def test_classes_without_a_true_document_are_left_out_of_one_macro_f1():
    scores = wc.evaluate([["a"], ["a", "b"], []], [["a"], [], ["d"]], classes=["a", "b", "c", "d"])
    assert scores.f1.tolist() == pytest.approx([2 / 3, 0, 1, 0])
    assert scores.macro_f1 == pytest.approx((2 / 3 + 1) / 4)
    assert scores.macro_f1_with_positives == pytest.approx(1 / 3)
    assert np.isnan(wc.evaluate([[], []], [["a"], []]).macro_f1_with_positives)


@given(true=SETS.filter(any), predicted=SETS)
def test_macro_f1_with_positives_is_scikit_learns_over_the_true_labels(true, predicted):
    columns = [name for name in CLASSES if any(name in each for each in true)]
    by_class = [
        f1_score(*([name in each for each in sets] for sets in (true, predicted)), zero_division=0)
        for name in columns
    ]
    found = wc.evaluate(true, predicted, CLASSES).macro_f1_with_positives
    assert found == pytest.approx(np.mean(by_class))


@pytest.mark.parametrize("true", [["x", "y"], [["x"], []]])
def test_labels_none_of_which_is_in_the_codeframe_are_refused(true):
    predicted = ["a", "b"] if isinstance(true[0], str) else [["a"], []]
    told = r"not one of the \d true labels is among the classes 'a', 'b'"
    with pytest.warns(DroppedLabelsWarning), pytest.raises(wc.InputError, match=told):
        wc.evaluate(true, predicted, classes=["a", "b"])


def test_a_text_of_an_unknown_class_is_wrong_for_the_score_of_scikit_learn():
    model = wc.classifier("nearest", min_docs=2).fit(*corpus())
    with pytest.warns(DroppedLabelsWarning):
        assert model.score(["moon"], ["sports"]) == 0


def test_documents_that_have_no_label_to_share_are_no_mistake():
    assert wc.evaluate([[], []], [[], ["a"]], classes=["a", "b"]).macro_f1 == 0.5


def test_ranks_of_many_documents_are_those_of_each():
    rng = np.random.default_rng(0)
    Y, scores = rng.random((3000, 6)) < 0.3, rng.random((3000, 6))
    hits = np.take_along_axis(Y, np.argsort(-scores, axis=1), axis=1)[:, :3]
    assert precision_at(3, Y, scores) == pytest.approx(hits.mean())
