import pytest
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.batch.predictions import predict_rows


@pytest.fixture(scope="module")
def model():
    return wc.classifier("nearest", min_docs=2).fit(*corpus())


def test_the_predicted_labels_come_with_their_probabilities(model):
    (found,) = predict_rows(model, ["moon orbit"])
    assert found["labels"] == ["space"]
    (shown,) = model.predict_proba(["moon orbit"])
    assert found["scores"] == {"space": pytest.approx(shown.max(), abs=1e-6)}


def test_the_k_best_classes_come_best_first(model):
    (found,) = predict_rows(model, ["moon orbit rose"], k=2)
    assert [*found["scores"]] == ["space", "garden"]
    (found,) = predict_rows(model, ["moon orbit rose"], k=100)
    assert len(found["scores"]) == 3


def test_probabilities_of_all_classes_can_be_asked_for(model):
    (found,) = predict_rows(model, ["moon"], proba=True)
    assert sum(found["scores"].values()) == pytest.approx(1.0, abs=1e-5)
    plain = wc.classifier("nearest", min_docs=2, probabilities=False).fit(*corpus())
    (found,) = predict_rows(plain, ["moon"])
    assert found["scores"]["space"] == pytest.approx(plain.decision_function(["moon"]).max())
    with pytest.raises(wc.InputError, match="without probabilities"):
        predict_rows(plain, ["moon"], proba=True)


def test_several_labels_are_in_the_order_of_the_classes():
    model = wc.classifier("nearest", min_docs=2).fit(*multilabel_corpus())
    (found,) = predict_rows(model, ["moon orbit rose soil seed"])
    assert found["labels"] == ["garden", "space"]
    assert predict_rows(model, []) == []


@pytest.mark.parametrize("given", [corpus(), multilabel_corpus()])
def test_a_tree_of_classes_says_what_it_says_everywhere(given):
    hierarchy = {"space": "sky", "music": "life", "garden": "life"}
    model = wc.classifier("linear", classes=hierarchy).fit(*given)
    texts = ["moon orbit", "rose soil seed", "", "moon orbit rose soil"]
    labels, shown = model.predict(texts), model.predict_proba(texts)
    for found, own, values in zip(predict_rows(model, texts, k=2), labels, shown, strict=True):
        assert found["labels"] == ([own] if isinstance(own, str) else [*own])
        best = sorted(zip(values, model.classes_.tolist(), strict=True), reverse=True)[:2]
        assert found["scores"] == {name: pytest.approx(value, abs=1e-5) for value, name in best}
    for found, values in zip(predict_rows(model, texts, threshold=0.4), shown, strict=True):
        given_by_threshold = [*model.classes_[values >= 0.4]]
        if not model.codeframe_.is_multilabel:
            given_by_threshold = [*model.classes_[(values >= 0.4) & (values == values.max())]]
        assert found["labels"] == given_by_threshold
    (found, *_) = predict_rows(model, texts, proba=True)
    assert len(found["scores"]) == 3
