import pytest
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.batch.predictions import predict_rows


@pytest.fixture(scope="module")
def model():
    return wc.classifier("nearest", min_docs=2).fit(*corpus())


def test_the_predicted_labels_come_with_their_probabilities(model):
    (row,) = predict_rows(model, ["moon orbit"])
    assert row["labels"] == ["space"]
    (shown,) = model.predict_proba(["moon orbit"])
    assert row["scores"] == {"space": pytest.approx(shown.max(), abs=1e-6)}


def test_the_k_best_classes_come_best_first(model):
    (row,) = predict_rows(model, ["moon orbit rose"], k=2)
    assert [*row["scores"]] == ["space", "garden"]
    (row,) = predict_rows(model, ["moon orbit rose"], k=100)
    assert len(row["scores"]) == 3


def test_probabilities_of_all_classes_can_be_asked_for(model):
    (row,) = predict_rows(model, ["moon"], proba=True)
    assert sum(row["scores"].values()) == pytest.approx(1.0, abs=1e-5)
    plain = wc.classifier("nearest", min_docs=2, probabilities=False).fit(*corpus())
    (row,) = predict_rows(plain, ["moon"])
    assert row["scores"]["space"] == pytest.approx(plain.decision_function(["moon"]).max())
    with pytest.raises(wc.InputError, match="without probabilities"):
        predict_rows(plain, ["moon"], proba=True)


def test_several_labels_are_in_the_order_of_the_classes():
    model = wc.classifier("nearest", min_docs=2).fit(*multilabel_corpus())
    (row,) = predict_rows(model, ["moon orbit rose soil seed"])
    assert row["labels"] == ["garden", "space"]
    assert predict_rows(model, []) == []


@pytest.mark.parametrize("texts_and_labels", [corpus(), multilabel_corpus()])
def test_a_tree_of_classes_says_what_it_says_everywhere(texts_and_labels):
    hierarchy = {"space": "sky", "music": "life", "garden": "life"}
    model = wc.classifier("linear", classes=hierarchy).fit(*texts_and_labels)
    texts = ["moon orbit", "rose soil seed", "", "moon orbit rose soil"]
    labels = model.predict(texts)
    shown = model.predict_proba(texts)
    rows = predict_rows(model, texts, k=2)
    for row, label, values in zip(rows, labels, shown, strict=True):
        assert row["labels"] == ([label] if isinstance(label, str) else [*label])
        best = sorted(zip(values, model.classes_.tolist(), strict=True), reverse=True)[:2]
        assert row["scores"] == {name: pytest.approx(value, abs=1e-5) for value, name in best}
    for row, values in zip(predict_rows(model, texts, threshold=0.4), shown, strict=True):
        expected = [*model.classes_[values >= 0.4]]
        if not model.codeframe_.is_multilabel:
            expected = [*model.classes_[(values >= 0.4) & (values == values.max())]]
        assert row["labels"] == expected
    (row, *_) = predict_rows(model, texts, proba=True)
    assert len(row["scores"]) == 3
