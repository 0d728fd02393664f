import numpy as np
import pytest
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.corpus import LabelledCorpus
from wordclass.report.evaluation import evaluate_model

TEXTS, LABELS = corpus(90)


@pytest.fixture(scope="module")
def model():
    return wc.classifier("nearest", min_docs=2).fit(TEXTS[:60], LABELS[:60])


def test_the_scores_are_those_of_evaluate(model):
    test = LabelledCorpus(TEXTS[60:], LABELS[60:], False)
    found = evaluate_model(model, test).to_dict(with_classes=True)
    plain = wc.evaluate(LABELS[60:], model.predict(TEXTS[60:]), model.classes_)
    assert found["macro_f1"] == pytest.approx(plain.macro_f1, abs=1e-6)
    assert found["accuracy"] == pytest.approx(plain.accuracy, abs=1e-6)
    assert (found["n_docs"], found["n_classes"]) == (30, 3)
    assert (found["n_trained_on"], found["n_dropped"]) == (0, 0)
    assert found["per_class"]["space"]["n_true"] == 10


def test_documents_of_the_training_are_counted(model):
    assert evaluate_model(model, LabelledCorpus(TEXTS, LABELS, False)).n_shared == 60


def test_labels_that_training_never_saw_are_left_out_or_refused(model):
    labels = ["sports", "war", *LABELS[62:]]
    test = LabelledCorpus(TEXTS[60:], labels, False)
    assert evaluate_model(model, test).scores.n_dropped == 2
    with pytest.raises(wc.InputError, match="2 classes that training never saw: 'sports', 'war'"):
        evaluate_model(model, test, strict=True)


def test_numbers_that_a_csv_file_made_strings_are_recognized():
    numbers = [{"space": 10, "garden": 9, "music": 2}[label] for label in LABELS]
    model = wc.classifier("nearest", min_docs=2).fit(TEXTS, numbers)
    test = LabelledCorpus(TEXTS, [*map(str, numbers[:-1]), "new"], False)
    found = evaluate_model(model, test)
    assert found.scores.n_dropped == 1
    assert found.scores.accuracy > 0.9


def test_a_model_of_a_matrix_is_measured_on_lists():
    texts, labels = multilabel_corpus()
    Y = np.array([[name in each for name in ("space", "garden", "music")] for each in labels])
    model = wc.classifier("nearest", min_docs=2)
    model.fit(texts, Y.astype(int), class_names=["space", "garden", "music"])
    found = evaluate_model(model, LabelledCorpus(texts, labels, True))
    assert found.scores.micro_f1 > 0.8


def test_the_table_has_the_best_and_the_worst_classes(model):
    test = LabelledCorpus(TEXTS, LABELS, False)
    lines = evaluate_model(model, test).to_text(5).splitlines()
    assert lines[0].startswith("macro F1   ")
    assert len(lines) == 5 + 2 + 3
    assert "..." in evaluate_model(model, test).to_text(1)
    assert len(evaluate_model(model, test).to_text(0).splitlines()) == 5
