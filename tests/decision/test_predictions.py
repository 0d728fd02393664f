"""The result of a prediction: labels, best classes, thresholds, dicts and data frames."""

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.corpus.labels import Codeframe
from wordclass.decision.predictions import Predictions

CLASSES = ("a", "b", "c")
PROBABILITIES = np.array([[0.5, 0.3, 0.2], [0.2, 0.45, 0.35], [0.1, 0.1, 0.05]])


def predictions(kind, decisions, **options):
    """Return predictions whose scores are a tenth of their probabilities."""
    scores = (PROBABILITIES / 10).astype(np.float32)
    codeframe = Codeframe(CLASSES, kind)
    flags = np.array(decisions, bool)
    return Predictions(codeframe, scores, flags, lambda _: PROBABILITIES, **options)


def single():
    # the label of the second text is not its most probable class
    return predictions("single", [[1, 0, 0], [0, 0, 1], [1, 0, 0]])


def several(**options):
    return predictions("multilabel", [[1, 0, 1], [0, 1, 0], [0, 0, 0]], **options)


def test_the_best_classes_begin_with_the_single_label():
    assert single().top(3)[:2] == [
        [("a", 0.5), ("b", 0.3), ("c", 0.2)],
        [("c", 0.35), ("b", 0.45), ("a", 0.2)],
    ]
    assert several().top(2)[1] == [("b", 0.45), ("c", 0.35)]
    assert several().top(1)[2] == [("a", 0.1)]  # ties keep the order of the classes
    with pytest.raises(wc.InputError, match="k is 0"):
        single().top(0)


def test_a_threshold_keeps_the_classes_that_are_probable_enough():
    chosen = single().filter(0.45)
    assert chosen.labels.tolist() == ["a", "b", None]
    assert chosen.label_lists == [["a"], ["b"], []]
    assert single().filter(0.0).labels.tolist() == ["a", "b", "a"]
    assert several().filter(0.3).labels == [("a", "b"), ("b", "c"), ()]
    allowed = np.array([True, False, True])
    assert several(allowed=allowed).filter(0.0).labels == [("a", "c")] * 3
    assert several().labels == [("a", "c"), ("b",), ()]
    with pytest.raises(wc.InputError, match="threshold is 'high'"):
        single().filter("high")


def test_dicts_have_the_form_that_the_commands_print():
    assert several().to_dicts() == [
        {"labels": ["a", "c"], "scores": {"a": 0.5, "c": 0.2}},
        {"labels": ["b"], "scores": {"b": 0.45}},
        {"labels": [], "scores": {}},
    ]
    assert [*single().to_dicts(2)[1]["scores"]] == ["c", "b"]


def test_data_frames_have_a_row_per_text():
    frame = single().filter(0.2).to_polars()
    assert frame.columns == ["predicted", "probability"]
    assert frame.rows() == [("a", 0.5), ("b", 0.45), (None, None)]
    assert several().to_polars()["probability"].to_list() == [[0.5, 0.2], [0.45], []]
    pytest.importorskip("pandas")
    assert several().to_pandas()["predicted"].tolist() == [["a", "c"], ["b"], []]


def test_without_probabilities_scores_are_used():
    model = wc.classifier("nearest", min_docs=2, probabilities=False).fit(*corpus())
    texts = ["moon", "rose"]
    result = model.predictions(texts)
    assert not result.has_probabilities
    with pytest.raises(wc.InputError, match="fitted without probabilities"):
        result.probabilities  # noqa: B018 - a property that raises
    with pytest.raises(wc.InputError, match="fitted without probabilities"):
        result.filter(0.5)
    scores = model.class_scores(texts)
    assert [best[0][1] for best in result.top(1)] == scores.max(axis=1).tolist()
    assert result.to_polars().columns == ["predicted", "score"]


def test_a_prior_shift_changes_probabilities_and_labels():
    texts, labels = multilabel_corpus(90)
    model = wc.classifier("nearest", min_docs=2).fit(texts, labels)
    shift = model.prior_shift([text for text in texts if "moon" not in text])
    scores = model.class_scores(texts)
    probabilities, decisions = model.adjusted(scores, shift)
    result = model.predictions_of(scores, shift)
    np.testing.assert_array_equal(result.probabilities, probabilities)
    np.testing.assert_array_equal(result.decisions, decisions)
