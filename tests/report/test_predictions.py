import pytest
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.report.predictions import predictions


@pytest.fixture(scope="module")
def model():
    return wc.classifier("nearest", min_docs=2).fit(*corpus())


def test_the_predicted_labels_come_with_their_probabilities(model):
    (found,) = predictions(model, ["moon orbit"])
    assert found["labels"] == ["space"]
    (shown,) = model.predict_proba(["moon orbit"])
    assert found["scores"] == {"space": pytest.approx(shown.max(), abs=1e-6)}


def test_the_k_best_classes_come_best_first(model):
    (found,) = predictions(model, ["moon orbit rose"], k=2)
    assert [*found["scores"]] == ["space", "garden"]
    (found,) = predictions(model, ["moon orbit rose"], k=100)
    assert len(found["scores"]) == 3


def test_probabilities_of_all_classes_can_be_asked_for(model):
    (found,) = predictions(model, ["moon"], proba=True)
    assert sum(found["scores"].values()) == pytest.approx(1.0, abs=1e-5)
    plain = wc.classifier("nearest", min_docs=2, probabilities=False).fit(*corpus())
    (found,) = predictions(plain, ["moon"])
    assert found["scores"]["space"] == pytest.approx(plain.decision_function(["moon"]).max())
    with pytest.raises(wc.InputError, match="without probabilities"):
        predictions(plain, ["moon"], proba=True)


def test_several_labels_are_in_the_order_of_the_classes():
    model = wc.classifier("nearest", min_docs=2).fit(*multilabel_corpus())
    (found,) = predictions(model, ["moon orbit rose soil seed"])
    assert found["labels"] == ["garden", "space"]
    assert predictions(model, []) == []
