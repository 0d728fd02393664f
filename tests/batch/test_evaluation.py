import numpy as np
import pytest
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.batch.evaluation import evaluate_model
from wordclass.corpus.documents import LabelledCorpus
from wordclass.decision.measures import ndcg_at, precision_at

TEXTS, LABELS = corpus(90)


@pytest.fixture(scope="module")
def model():
    return wc.classifier("nearest", min_docs=2).fit(TEXTS[:60], LABELS[:60])


def test_the_scores_are_those_of_evaluate(model):
    test = LabelledCorpus(TEXTS[60:], LABELS[60:], False)
    measures = evaluate_model(model, test).to_dict(with_classes=True)
    plain = wc.evaluate(LABELS[60:], model.predict(TEXTS[60:]), model.classes_)
    assert measures["macro_f1"] == pytest.approx(plain.macro_f1, abs=1e-6)
    assert measures["accuracy"] == pytest.approx(plain.accuracy, abs=1e-6)
    assert (measures["n_docs"], measures["n_classes"]) == (30, 3)
    assert (measures["n_trained_on"], measures["n_dropped"]) == (0, 0)
    assert measures["per_class"]["space"]["n_true"] == 10


def test_training_documents_are_counted(model):
    assert evaluate_model(model, LabelledCorpus(TEXTS, LABELS, False)).n_shared == 60


def test_labels_unknown_to_the_model_are_dropped_or_refused(model):
    labels = ["sports", "war", *LABELS[62:]]
    test = LabelledCorpus(TEXTS[60:], labels, False)
    assert evaluate_model(model, test).scores.n_dropped == 2
    with pytest.raises(
        wc.InputError, match="2 classes that the model does not know: 'sports', 'war'"
    ):
        evaluate_model(model, test, strict=True)


@pytest.mark.parametrize("label", ["sports", ""])
def test_documents_that_share_no_label_with_the_model_are_refused(model, label):
    labels = [label] * 30
    with pytest.raises(wc.InputError, match="none of the 30 true labels is a known class"):
        evaluate_model(model, LabelledCorpus(TEXTS[60:], labels, False))


def test_documents_without_any_label_are_refused():
    texts, labels = multilabel_corpus()
    model = wc.classifier("nearest", min_docs=2).fit(texts, labels)
    with pytest.raises(wc.InputError, match="none of the documents has a label"):
        evaluate_model(model, LabelledCorpus(texts, [[] for _ in texts], True))


def test_a_multilabel_evaluation_has_ranks_empty_classes_and_subset_accuracy():
    texts, labels = multilabel_corpus()
    model = wc.classifier("nearest", min_docs=2).fit(texts, labels)
    # "space" is neither true nor predicted: by the rule of 0/0, its F1 is 1
    predicted = model.predict(texts)
    rows = [k for k in range(len(texts)) if "space" not in {*predicted[k], *labels[k]}]
    test = LabelledCorpus([texts[k] for k in rows], [labels[k] for k in rows], True)
    evaluation = evaluate_model(model, test)
    facts = evaluation.to_dict()
    shown = evaluation.to_text(0)
    assert facts["n_classes_without_docs"] == 1
    assert facts["macro_f1"] == pytest.approx((1 + 2 * facts["macro_f1_with_positives"]) / 3)
    assert "1 of 3 classes have no test document" in shown
    assert "; they are left out of macro F1" in shown
    assert "macro F1 of the paper" not in shown
    assert "macro F1 of the paper" in evaluation.to_text(0, paper=True)
    Y = [[name in labels for name in model.classes_] for labels in test.labels]
    ranks = model.decision_function(test.texts)
    for k in (1, 3):
        assert facts[f"P@{k}"] == pytest.approx(precision_at(k, Y, ranks), abs=1e-6)
        assert facts[f"nDCG@{k}"] == pytest.approx(ndcg_at(k, Y, ranks), abs=1e-6)
        assert (f"P@{k} " in shown) == (k == 1)
    assert "P@5" not in facts  # of three classes


def test_ranks_belong_to_their_classes_where_numbers_became_strings():
    texts, labels = multilabel_corpus()
    number = {"space": 10, "garden": 9, "music": 2}  # "10" comes before "2"
    numbers = [[number[name] for name in names] for names in labels]
    model = wc.classifier("nearest", min_docs=2).fit(texts, numbers)
    as_text = [[*map(str, document_numbers)] for document_numbers in numbers]
    expected = evaluate_model(model, LabelledCorpus(texts, numbers, True)).ranking
    assert evaluate_model(model, LabelledCorpus(texts, as_text, True)).ranking == expected
    assert expected["P@1"] > 0.8


def test_a_single_label_task_has_accuracy_and_no_ranks(model):
    evaluation = evaluate_model(model, LabelledCorpus(TEXTS[60:], ["space", *LABELS[61:]], False))
    assert "P@1" not in evaluation.to_dict()
    assert "micro F1" not in evaluation.to_text(0)  # it equals accuracy
    only = LabelledCorpus(["rocket orbit moon"], ["space"], False)
    assert "2 of 3 classes have no test document" in evaluate_model(model, only).to_text(0)
    assert "; their F1 counts as 0" in evaluate_model(model, only).to_text(0)


def test_numbers_that_a_csv_file_made_strings_are_recognized():
    numbers = [{"space": 10, "garden": 9, "music": 2}[label] for label in LABELS]
    model = wc.classifier("nearest", min_docs=2).fit(TEXTS, numbers)
    test = LabelledCorpus(TEXTS, [*map(str, numbers[:-1]), "new"], False)
    evaluation = evaluate_model(model, test)
    assert evaluation.scores.n_dropped == 1
    assert evaluation.scores.accuracy > 0.9


def test_a_model_of_a_matrix_is_measured_on_lists():
    texts, labels = multilabel_corpus()
    Y = np.array([[name in names for name in ("space", "garden", "music")] for names in labels])
    model = wc.classifier("nearest", min_docs=2)
    model.fit(texts, Y.astype(int), class_names=["space", "garden", "music"])
    evaluation = evaluate_model(model, LabelledCorpus(texts, labels, True))
    assert evaluation.scores.micro_f1 > 0.8


def test_the_table_has_the_best_and_the_worst_classes(model):
    test = LabelledCorpus(TEXTS, LABELS, False)
    lines = evaluate_model(model, test).to_text(5).splitlines()
    assert lines[1].startswith("accuracy   ")
    assert len(lines) == 5 + 2 + 3
    assert "..." in evaluate_model(model, test).to_text(1)
    assert len(evaluate_model(model, test).to_text(0).splitlines()) == 5
