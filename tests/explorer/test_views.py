import json

import numpy as np
import pytest
from explored_models import KINDS, documents, model

import wordclass as wc
from wordclass.corpus.documents import LabelledCorpus
from wordclass.errors import InputError
from wordclass.explorer.views import Exploration

TASKS = [(kind, several) for kind in KINDS for several in (False, True)]
TEXT = "The moon and a rocket in orbit, some roses; the piano 42"


def explored(kind="linear", is_multilabel=False, **options):
    return Exploration(model(kind, is_multilabel), documents(is_multilabel), **options)


@pytest.fixture(params=TASKS, ids=lambda task: f"{task[0]}{'-multilabel' * task[1]}")
def views(request):
    return explored(*request.param)


def test_every_answer_can_be_written_as_json(views):
    pytest.importorskip("openTSNE")
    answers = [
        views.about(), views.predict([TEXT, ""], 2), views.explain(TEXT), views.class_("space"),
        views.word("moon"), views.word("unheard"), views.mistakes(), views.cell("space", "garden"),
        views.against_other_classes("music"), views.map(12),
    ]  # fmt: skip
    assert json.loads(json.dumps(answers, allow_nan=False)) == answers


def test_predictions_are_those_of_the_model(views):
    texts = [*documents(views.is_multilabel).texts, "", "nothing known"]
    clf = views.model
    scores = clf.class_scores(texts)
    order = clf.classes_.tolist()
    for k, classes in enumerate(views.predict(texts, 3)):
        assert sorted(prediction["label"] for prediction in classes) == order
        for prediction in classes:
            assert prediction["score"] == pytest.approx(
                scores[k, order.index(prediction["label"])], abs=1e-5
            )
    if not views.is_multilabel:
        assert [classes[0]["label"] for classes in views.predict(texts, 1)] == clf.predict(
            texts
        ).tolist()
    if views.has_probabilities:
        probabilities = clf.predict_proba(texts)
        for classes, expected in zip(views.predict(texts, 2), probabilities, strict=True):
            for prediction in classes:
                assert prediction["probability"] == pytest.approx(
                    expected[order.index(prediction["label"])], abs=1e-5
                )
    else:
        assert views.predict(texts, 1)[0][0]["probability"] is None


def test_the_contributions_of_words_sum_up_to_the_score(views):
    for label, against in (("space", None), ("garden", None), ("space", "garden")):
        view = views.explain(TEXT, label, against)
        scores = views.model.class_scores([TEXT])[0]
        expected = scores[views.column(label)] - (scores[views.column(against)] if against else 0.0)
        assert view["score"] == pytest.approx(expected, abs=1e-5)
        assert view["intercept"] + view["sum"] == pytest.approx(expected, abs=1e-4)
        assert sum(contribution for _, contribution in view["terms"]) == pytest.approx(
            view["sum"], abs=1e-4
        )
        assert sum(word[-1] for word in view["words"]) == pytest.approx(view["sum"], abs=1e-4)
        for word, start, end, _ in view["words"]:
            assert TEXT[start:end] == word


def test_without_a_label_the_predicted_one_is_explained():
    views = explored()
    (label,) = views.model.predict(["moon orbit rocket"])
    assert views.explain("moon orbit rocket")["label"] == label == "space"


def test_the_contributions_in_a_cell_sum_up_to_the_scores_of_its_documents(views):
    truth = [
        {*labels} if views.is_multilabel else {labels}
        for labels in documents(views.is_multilabel).labels
    ]
    texts = documents(views.is_multilabel).texts
    clf = views.model
    scores = clf.class_scores(texts)
    decisions = clf.decide(scores)
    names = [*views.classes, None]
    cells = {(names[i], names[j]): n for i, j, n in views.mistakes()["cells"]}
    assert cells
    for (true, predicted), n in cells.items():
        view = views.cell(true, predicted, n=3)
        rows = []
        for k, true_names in enumerate(truth):
            predicted_names = {views.classes[j] for j in np.flatnonzero(decisions[k])}
            missed = true_names - predicted_names or {None}
            wrong = predicted_names - true_names or {None}
            if true_names != predicted_names and true in missed and predicted in wrong:
                rows.append(k)
        assert view["n_docs"] == view["n_summed"] == n == len(rows)
        total = 0.0
        for name, sign in ((predicted, 1), (true, -1)):
            if name is not None:
                j = views.column(name)
                threshold = clf.thresholds_[j] if None in (true, predicted) else 0.0
                total += sign * float((scores[rows, j] - threshold).sum())
        assert view["total"] == pytest.approx(total, abs=1e-3)
        summed = (
            view["constant"]
            + view["rest"]
            + sum(contribution for _, contribution, _ in view["words"])
        )
        assert summed == pytest.approx(view["total"], abs=1e-3)
        assert sum(labels["total"] for labels in view["documents"]) == pytest.approx(
            total, abs=1e-3
        )
        for labels in view["documents"]:
            assert all(contribution > 0 for _, contribution in labels["words"])


def test_the_diagonal_has_the_correctly_predicted_documents(views):
    view = views.cell("space", "space")
    assert view["n_docs"] == views.mistakes()["right"][views.column("space")]
    for document in view["documents"]:
        assert "space" in document["true"]
        assert "space" in document["predicted"]


def test_a_class_has_the_measures_of_evaluate(views):
    corpus = documents(views.is_multilabel)
    clf = views.model
    expected = wc.evaluate(corpus.labels, clf.predict(corpus.texts), classes=clf.classes_.tolist())
    for name in views.classes:
        view = views.class_(name, 5)
        assert view["scores"]["f1"] == pytest.approx(expected.per_class[name].f1, abs=1e-6)
        assert view["scores"]["n_true"] == expected.per_class[name].n_true
        assert [score for _, score in view["terms"]] == sorted(
            (score for _, score in view["terms"]), reverse=True
        )
        for document in view["typical"]:
            assert name in document["true"]
    assert views.about()["measures"]["macro_f1"] == pytest.approx(expected.macro_f1, abs=1e-6)


def test_the_doubtful_documents_are_closest_to_the_decision_boundary():
    views = explored()
    texts = documents().texts
    scores = views.model.class_scores(texts)
    j = views.column("space")
    margin = scores[:, j] - np.delete(scores, j, axis=1).max(axis=1)
    rows = [document["number"] - 1 for document in views.class_("space")["doubtful"]]
    assert [abs(margin[k]) for k in rows] == sorted(abs(margin[k]) for k in rows)


def test_the_profile_of_a_word_has_the_scores_of_a_text_with_this_word(views):
    view = views.word("Moon")
    expected = views.model.class_scores(["moon"])[0] - views.model.class_scores([""])[0]
    assert view["term"] == "moon"
    for name, value in view["profile"]:
        assert value == pytest.approx(expected[views.column(name)], abs=1e-4)
    assert view["profile"][0][1] == max(value for _, value in view["profile"])
    assert view["n_docs"] == sum("moon" in text.split() for text in views.documents.texts)
    assert all("moon" in document["text"] for document in view["documents"])


def test_the_nearest_words_are_those_with_the_largest_cosine():
    views = explored("nearest")
    S = views.profiles / np.linalg.norm(views.profiles, axis=1, keepdims=True)
    cosines = S @ S[views.row_of["moon"]]
    nearest = views.word("moon", 4)["nearest"]
    assert len(nearest) == 4
    assert "moon" not in dict(nearest)
    order = np.sort(np.delete(cosines, views.row_of["moon"]))[::-1]
    np.testing.assert_allclose([cosine for _, cosine in nearest], order[:4], atol=1e-5)
    for word, cosine in nearest:
        assert cosines[views.row_of[word]] == pytest.approx(cosine, abs=1e-5)


def test_unsupervised_vectors_are_passed_or_of_the_network_or_learned_from_the_documents():
    vectors = wc.WordVectors.of(["moon", "song", "tune"], np.eye(3, dtype=np.float32))
    view = explored(vectors=vectors, source="given").word("moon")
    assert view["source"] == "given"
    assert {word for word, _ in view["nearest_by_vectors"]} == {"song", "tune"}
    assert "network" in explored("cnn").word("moon")["source"]
    assert "Latent semantic" in explored("linear").word("moon")["source"]
    assert Exploration(model("linear")).word("moon")["source"] is None


def test_a_class_against_the_rest_counts_documents():
    view = explored().against_other_classes("space")
    corpus = documents()
    has_moon = np.array(["moon" in text.split() for text in corpus.texts])
    is_space = np.array([label == "space" for label in corpus.labels])
    k = view["terms"].index("moon")
    assert view["inside"][k] == pytest.approx(has_moon[is_space].mean(), abs=1e-6)
    assert view["outside"][k] == pytest.approx(has_moon[~is_space].mean(), abs=1e-6)
    without = Exploration(model("linear")).against_other_classes("space")
    assert not without["has_sides"]
    with pytest.raises(InputError, match="--data"):
        Exploration(model("cnn")).against_other_classes("space")


def test_the_map_has_as_many_terms_for_each_class():
    pytest.importorskip("openTSNE")
    view = explored().map(9)
    assert np.bincount(view["class_of"]).tolist() == [3, 3, 3]
    (panel,) = view["panels"]
    assert np.shape(panel["places"]) == (9, 2)
    for term, profile, j in zip(view["terms"], view["profiles"], view["class_of"], strict=True):
        assert profile[0][1] == pytest.approx(
            max(explored().profiles[explored().row_of[term]]), abs=1e-3
        )
        assert explored().profiles[explored().row_of[term], j] > 0


def test_unknown_classes_and_missing_documents_are_refused():
    views = Exploration(model("linear"))
    with pytest.raises(InputError, match="unknown class 'spaec'; close: space"):
        views.class_("spaec")
    with pytest.raises(InputError, match="pass labelled texts with --data"):
        views.mistakes()
    strange = LabelledCorpus(["moon"], ["nonsense"], is_multilabel=False)
    with pytest.raises(InputError, match="no document has a label"):
        Exploration(model("linear"), strange).about()


def test_documents_without_a_known_label_are_ignored():
    corpus = documents()
    mixed = LabelledCorpus(
        ["rocket strange", *corpus.texts], ["strange", *corpus.labels], is_multilabel=False
    )
    views = Exploration(model("linear"), mixed)
    assert views.about()["n_docs"] == len(corpus)
    assert views.word("moon")["documents"] == explored().word("moon")["documents"]
    assert views.word("strange")["n_docs"] == 0


def test_labels_that_are_numbers_keep_their_type():
    texts = documents().texts
    labels = [int(label == "space") for label in documents().labels]
    numbered = wc.classifier("nearest", min_docs=1).fit(texts, labels)
    views = Exploration(numbered, LabelledCorpus(texts, labels, is_multilabel=False))
    assert views.predict(["moon"], 1)[0][0]["label"] in (0, 1)
    assert views.class_("1")["scores"]["n_true"] == sum(labels)
