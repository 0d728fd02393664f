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
        views.against_rest("music"), views.map(12),
    ]  # fmt: skip
    assert json.loads(json.dumps(answers, allow_nan=False)) == answers


def test_predictions_are_those_of_the_model(views):
    texts = [*documents(views.is_multilabel).texts, "", "nothing known"]
    clf = views.model
    scores, order = clf.class_scores(texts), clf.classes_.tolist()
    for k, found in enumerate(views.predict(texts, 3)):
        assert sorted(each["label"] for each in found) == order
        for each in found:
            assert each["score"] == pytest.approx(scores[k, order.index(each["label"])], abs=1e-5)
    if not views.is_multilabel:
        assert [found[0]["label"] for found in views.predict(texts, 1)] == clf.predict(
            texts
        ).tolist()
    if views.has_probabilities:
        shares = clf.predict_proba(texts)
        for found, own in zip(views.predict(texts, 2), shares, strict=True):
            for each in found:
                assert each["probability"] == pytest.approx(
                    own[order.index(each["label"])], abs=1e-5
                )
    else:
        assert views.predict(texts, 1)[0][0]["probability"] is None


def test_the_words_of_a_text_sum_up_to_its_score(views):
    for label, against in (("space", None), ("garden", None), ("space", "garden")):
        found = views.explain(TEXT, label, against)
        scores = views.model.class_scores([TEXT])[0]
        wanted = scores[views.column(label)] - (scores[views.column(against)] if against else 0.0)
        assert found["score"] == pytest.approx(wanted, abs=1e-5)
        assert found["intercept"] + found["sum"] == pytest.approx(wanted, abs=1e-4)
        assert sum(added for _, added in found["terms"]) == pytest.approx(found["sum"], abs=1e-4)
        assert sum(each[-1] for each in found["words"]) == pytest.approx(found["sum"], abs=1e-4)
        for word, start, end, _ in found["words"]:
            assert TEXT[start:end] == word


def test_without_a_label_the_predicted_one_is_explained():
    views = explored()
    (label,) = views.model.predict(["moon orbit rocket"])
    assert views.explain("moon orbit rocket")["label"] == label == "space"


def test_the_words_of_a_cell_sum_up_to_the_scores_of_its_documents(views):
    truth = [
        {*each} if views.is_multilabel else {each} for each in documents(views.is_multilabel).labels
    ]
    texts = documents(views.is_multilabel).texts
    scores, clf = views.model.class_scores(texts), views.model
    decisions = clf.decide(scores)
    names = [*views.classes, None]
    cells = {(names[i], names[j]): n for i, j, n in views.mistakes()["cells"]}
    assert cells
    for (true, predicted), n in cells.items():
        found = views.cell(true, predicted, n=3)
        rows = []
        for k, own in enumerate(truth):
            given = {views.classes[j] for j in np.flatnonzero(decisions[k])}
            missed, wrong = own - given or {None}, given - own or {None}
            if own != given and true in missed and predicted in wrong:
                rows.append(k)
        assert found["n_docs"] == found["n_summed"] == n == len(rows)
        total = 0.0
        for name, sign in ((predicted, 1), (true, -1)):
            if name is not None:
                j = views.column(name)
                level = clf.thresholds_[j] if None in (true, predicted) else 0.0
                total += sign * float((scores[rows, j] - level).sum())
        assert found["total"] == pytest.approx(total, abs=1e-3)
        summed = found["constant"] + found["rest"] + sum(added for _, added, _ in found["words"])
        assert summed == pytest.approx(found["total"], abs=1e-3)
        assert sum(each["total"] for each in found["documents"]) == pytest.approx(total, abs=1e-3)
        for each in found["documents"]:
            assert all(added > 0 for _, added in each["words"])


def test_the_diagonal_holds_the_documents_that_are_right(views):
    found = views.cell("space", "space")
    assert found["n_docs"] == views.mistakes()["right"][views.column("space")]
    for each in found["documents"]:
        assert "space" in each["true"]
        assert "space" in each["predicted"]


def test_a_class_has_the_scores_that_evaluate_gives(views):
    corpus, clf = documents(views.is_multilabel), views.model
    wanted = wc.evaluate(corpus.labels, clf.predict(corpus.texts), classes=clf.classes_.tolist())
    for name in views.classes:
        found = views.class_(name, 5)
        assert found["scores"]["f1"] == pytest.approx(wanted.per_class[name].f1, abs=1e-6)
        assert found["scores"]["n_true"] == wanted.per_class[name].n_true
        assert [added for _, added in found["terms"]] == sorted(
            (added for _, added in found["terms"]), reverse=True
        )
        for each in found["typical"]:
            assert name in each["true"]
    assert views.about()["measures"]["macro_f1"] == pytest.approx(wanted.macro_f1, abs=1e-6)


def test_the_doubtful_documents_are_those_nearest_to_the_border():
    views = explored()
    texts = documents().texts
    scores = views.model.class_scores(texts)
    j = views.column("space")
    margin = scores[:, j] - np.delete(scores, j, axis=1).max(axis=1)
    listed = [each["number"] - 1 for each in views.class_("space")["doubtful"]]
    assert [abs(margin[k]) for k in listed] == sorted(abs(margin[k]) for k in listed)


def test_the_profile_of_a_word_is_what_a_text_of_this_word_scores(views):
    found = views.word("Moon")
    alone = views.model.class_scores(["moon"])[0] - views.model.class_scores([""])[0]
    assert found["term"] == "moon"
    for name, value in found["profile"]:
        assert value == pytest.approx(alone[views.column(name)], abs=1e-4)
    assert found["profile"][0][1] == max(value for _, value in found["profile"])
    assert found["n_docs"] == sum("moon" in text.split() for text in views.documents.texts)
    assert all("moon" in each["text"] for each in found["documents"])


def test_the_nearest_words_are_those_with_the_largest_cosine():
    views = explored("nearest")
    S = views.profiles / np.linalg.norm(views.profiles, axis=1, keepdims=True)
    cosines = S @ S[views.row_of["moon"]]
    found = views.word("moon", 4)["nearest"]
    assert len(found) == 4
    assert "moon" not in dict(found)
    order = np.sort(np.delete(cosines, views.row_of["moon"]))[::-1]
    np.testing.assert_allclose([cosine for _, cosine in found], order[:4], atol=1e-5)
    for word, cosine in found:
        assert cosines[views.row_of[word]] == pytest.approx(cosine, abs=1e-5)


def test_other_vectors_are_given_or_the_networks_own_or_learned_from_the_documents():
    given = wc.WordVectors.of(["moon", "song", "tune"], np.eye(3, dtype=np.float32))
    found = explored(vectors=given, source="given").word("moon")
    assert found["source"] == "given"
    assert {word for word, _ in found["nearest_by_vectors"]} == {"song", "tune"}
    assert "network" in explored("cnn").word("moon")["source"]
    assert "Latent semantic" in explored("linear").word("moon")["source"]
    assert Exploration(model("linear")).word("moon")["source"] is None


def test_a_class_against_the_rest_counts_documents():
    found = explored().against_rest("space")
    corpus = documents()
    has_moon = np.array(["moon" in text.split() for text in corpus.texts])
    is_space = np.array([label == "space" for label in corpus.labels])
    k = found["terms"].index("moon")
    assert found["inside"][k] == pytest.approx(has_moon[is_space].mean(), abs=1e-6)
    assert found["outside"][k] == pytest.approx(has_moon[~is_space].mean(), abs=1e-6)
    without = Exploration(model("linear")).against_rest("space")
    assert not without["has_sides"]
    with pytest.raises(InputError, match="--data"):
        Exploration(model("cnn")).against_rest("space")


def test_the_map_has_as_many_terms_for_each_class():
    pytest.importorskip("openTSNE")
    found = explored().map(9)
    assert np.bincount(found["class_of"]).tolist() == [3, 3, 3]
    (panel,) = found["panels"]
    assert np.shape(panel["places"]) == (9, 2)
    for term, profile, j in zip(found["terms"], found["profiles"], found["class_of"], strict=True):
        assert profile[0][1] == pytest.approx(
            max(explored().profiles[explored().row_of[term]]), abs=1e-3
        )
        assert explored().profiles[explored().row_of[term], j] > 0


def test_unknown_classes_and_missing_documents_are_told():
    views = Exploration(model("linear"))
    with pytest.raises(InputError, match="unknown class 'spaec'; close: space"):
        views.class_("spaec")
    with pytest.raises(InputError, match="give them by --data"):
        views.mistakes()
    strange = LabelledCorpus(["moon"], ["nonsense"], is_multilabel=False)
    with pytest.raises(InputError, match="not one of these documents"):
        Exploration(model("linear"), strange).about()


def test_documents_without_a_known_label_do_not_move_the_others():
    corpus = documents()
    mixed = LabelledCorpus(
        ["rocket strange", *corpus.texts], ["strange", *corpus.labels], is_multilabel=False
    )
    views = Exploration(model("linear"), mixed)
    assert views.about()["n_docs"] == len(corpus)
    assert views.word("moon")["documents"] == explored().word("moon")["documents"]
    assert views.word("strange")["n_docs"] == 0


def test_labels_that_are_numbers_keep_their_type():
    texts, labels = documents().texts, [int(label == "space") for label in documents().labels]
    numbered = wc.classifier("nearest", min_docs=1).fit(texts, labels)
    views = Exploration(numbered, LabelledCorpus(texts, labels, is_multilabel=False))
    assert views.predict(["moon"], 1)[0][0]["label"] in (0, 1)
    assert views.class_("1")["scores"]["n_true"] == sum(labels)
