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
    assert {
        name: class_scores.f1 for name, class_scores in scores.per_class.items()
    } == pytest.approx(expected["per_class"])


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
    halves = [
        wc.evaluate(true[half], predicted[half], CLASSES) for half in (slice(cut), slice(cut, None))
    ]
    all_scores = wc.evaluate(true, predicted, CLASSES)
    total = halves[0] + halves[1]
    assert (total.macro_f1, total.micro_f1, total.accuracy) == pytest.approx(
        (all_scores.macro_f1, all_scores.micro_f1, all_scores.accuracy)
    )


def test_a_class_without_true_or_predicted_documents_counts_1_if_multilabel_and_0_if_not():
    assert wc.evaluate([["a"]], [["a"]], ["a", "b"]).macro_f1 == 1
    assert wc.evaluate(["a"], ["a"], ["a", "b"]).macro_f1 == 0.5


def test_true_labels_outside_the_codeframe_are_dropped_and_counted():
    with pytest.warns(DroppedLabelsWarning, match="2 true labels are outside") as warned:
        scores = wc.evaluate([["a", "x"], ["y"]], [["a"], []], ["a", "b"])
    assert (scores.n_dropped, scores.accuracy, scores.micro_f1) == (2, 1.0, 1.0)
    assert warned[0].filename == __file__  # the warning points to the call


def test_a_predicted_label_outside_the_codeframe_is_an_error():
    with pytest.raises(wc.InputError, match="unknown class 'x'"):
        wc.evaluate(["a"], ["x"], ["a", "b"])


def test_matrices_are_compared_column_by_column():
    true, predicted = np.array([[1, 0], [1, 1]]), np.array([[1, 0], [0, 1]])
    scores = wc.evaluate(true, predicted, ["any", "names"])
    assert scores.micro_f1 == pytest.approx(0.8)
    assert scores.accuracy == 0.5


def test_each_class_has_precision_recall_and_sizes():
    a = wc.evaluate(["a", "a", "b"], ["a", "b", "a"]).per_class["a"]
    assert (a.precision, a.recall, a.n_true, a.n_predicted) == (0.5, 0.5, 2, 2)


@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        (["a"], ["a", "b"], "there are 1 true labels but 2 predicted ones"),
        ([], [], "no labels to evaluate"),
    ],
)
def test_labels_of_different_or_zero_length_are_refused(true, predicted, message):
    with pytest.raises(wc.InputError, match=message):
        wc.evaluate(true, predicted)


def test_scores_of_different_classes_do_not_add_up():
    with pytest.raises(wc.InputError, match="these scores have different classes"):
        wc.evaluate(["a"], ["a"], ["a", "b"]) + wc.evaluate(["a"], ["a"], ["a", "c"])


def test_ranking_measures():
    Y = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0]])
    scores = np.array([[0.9, 0.5, 0.1], [0.2, 0.1, 0.3], [1, 2, 3]])
    assert precision_at(1, Y, scores) == pytest.approx(1 / 3)
    assert precision_at(2, Y, scores) == pytest.approx((0.5 + 0 + 0) / 3)
    assert ndcg_at(2, Y[:2], scores[:2]) == pytest.approx(ndcg_score(Y[:2], scores[:2], k=2))
    assert ndcg_at(3, Y, scores) == pytest.approx(ndcg_score(Y[:2], scores[:2], k=3) * 2 / 3)
    with pytest.raises(wc.InputError, match="k is 4; expected an int from 1 to 3"):
        precision_at(4, Y, scores)
    with pytest.raises(wc.InputError, match="labels have the shape"):
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
def test_a_matrix_without_names_takes_those_of_the_data_frame_it_is_compared_with(frame):
    true = frame({"z": [1, 0, 1], "b": [0, 1, 1], "a": [0, 0, 0]})
    predicted = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0]], np.int8)
    for scores in (wc.evaluate(true, predicted), wc.evaluate(predicted, true)):
        assert scores.classes == ("a", "b", "z")
        assert scores.true_positives.tolist() == [0, 2, 1]
        assert scores.accuracy == pytest.approx(2 / 3)
    with pytest.raises(wc.InputError, match="mix str and int"):
        wc.evaluate(true, predicted[:, :2])


def test_column_numbers_in_another_order_are_names():
    frame = pd.DataFrame([[1, 0], [1, 0], [0, 1]], columns=[1, 0])
    predicted = np.array([[1, 0], [1, 0], [0, 0]])
    for scores in (wc.evaluate(frame, predicted), wc.evaluate(predicted, frame)):
        assert scores.classes == (0, 1)
        assert scores.true_positives.tolist() == [0, 2]
    # if both have names, columns are matched by name
    assert wc.evaluate(frame, frame[[0, 1]]).accuracy == 1
    assert wc.evaluate(frame[[0, 1]], frame).accuracy == 1


def test_a_matrix_gives_no_names_to_labels_of_another_form():
    scores = wc.evaluate(np.array([[1, 0], [0, 1]]), [[1], [1]])
    assert scores.classes == (0, 1)
    assert scores.true_positives.tolist() == [0, 1]


def test_the_target_selects_the_measure():
    scores = wc.evaluate(["a", "a", "a", "b"], ["a", "a", "b", "a"])
    macro, micro = scores.macro_f1, scores.micro_f1
    assert macro != micro
    targets = ("macro_f1", "micro_f1", "both", "accuracy")
    assert [scores.of(target) for target in targets] == pytest.approx(
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
def test_macro_f1_with_positives_equals_scikit_learn_over_the_true_labels(true, predicted):
    columns = [name for name in CLASSES if any(name in labels for labels in true)]
    by_class = [
        f1_score(
            *([name in labels for labels in sets] for sets in (true, predicted)), zero_division=0
        )
        for name in columns
    ]
    scores = wc.evaluate(true, predicted, CLASSES).macro_f1_with_positives
    assert scores == pytest.approx(np.mean(by_class))


@pytest.mark.parametrize("true", [["x", "y"], [["x"], []]])
def test_labels_that_are_all_outside_the_codeframe_are_refused(true):
    predicted = ["a", "b"] if isinstance(true[0], str) else [["a"], []]
    message = r"none of the \d true labels is a known class; expected some of 'a', 'b'"
    with pytest.warns(DroppedLabelsWarning), pytest.raises(wc.InputError, match=message):
        wc.evaluate(true, predicted, classes=["a", "b"])


def test_a_text_of_an_unknown_class_counts_as_wrong_in_score():
    model = wc.classifier("nearest", min_docs=2).fit(*corpus())
    with pytest.warns(DroppedLabelsWarning):
        assert model.score(["moon"], ["sports"]) == 0


def test_documents_without_labels_are_accepted():
    assert wc.evaluate([[], []], [[], ["a"]], classes=["a", "b"]).macro_f1 == 0.5


def test_documents_are_ranked_independently_of_their_number():
    rng = np.random.default_rng(0)
    Y, scores = rng.random((3000, 6)) < 0.3, rng.random((3000, 6))
    hits = np.take_along_axis(Y, np.argsort(-scores, axis=1), axis=1)[:, :3]
    assert precision_at(3, Y, scores) == pytest.approx(hits.mean())
