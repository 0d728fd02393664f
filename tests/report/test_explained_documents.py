import pytest
from made_up import corpus

import wordclass as wc
from wordclass.corpus import LabelledCorpus
from wordclass.report.explained_documents import ExplainedDocument, explained_documents
from wordclass.report.explanation_section import colored


@pytest.fixture(scope="module")
def model():
    return wc.classifier("nearest", min_docs=2).fit(*corpus(90))


def labelled(texts, labels):
    return LabelledCorpus(texts, labels, is_multilabel=False)


def test_the_surest_right_one_and_the_surest_mistake_are_explained(model):
    texts, labels = corpus(30, seed=1)
    wrong = ["music" if label == "space" else label for label in labels]
    right, mistaken = explained_documents(model, labelled(texts, wrong))
    assert (right.kind, mistaken.kind) == ("right", "mistaken")
    assert right.predicted == right.true
    assert (mistaken.predicted, mistaken.true) == ("space", "music")
    assert set(right.terms) == {right.predicted}
    assert list(mistaken.terms) == ["space", "music"]
    probabilities = model.predict_proba(texts).max(axis=1)
    of_space = [p for p, label in zip(probabilities, labels, strict=True) if label == "space"]
    assert mistaken.probability == pytest.approx(max(of_space), abs=1e-4)


def test_the_words_add_up_to_what_the_terms_add(model):
    (document,) = explained_documents(model, labelled(["the moon, a rose and moon"], ["space"]))
    explanation = model.explanation(document.text)
    column = explanation.codeframe.column("space")
    total = sum(added for *_, added in document.words)
    assert total == pytest.approx(float(explanation.contributions[:, column].sum()), abs=1e-3)
    assert [document.text[start:end] for start, end, _ in document.words].count("moon") == 2


def test_where_nothing_is_wrong_there_is_no_mistake_to_explain(model):
    assert [each.kind for each in explained_documents(model, labelled(["moon"], ["space"]))] == [
        "right"
    ]


def test_texts_of_a_few_lines_are_preferred(model):
    texts = ["moon " * 200, "moon " * 40, "moon"]
    (document,) = explained_documents(model, labelled(texts, ["space"] * 3))
    assert document.text == texts[1]
    (document,) = explained_documents(model, labelled([texts[0], texts[2]], ["space"] * 2))
    assert document.text == "moon"


def explained(text, words):
    return ExplainedDocument("right", text, "a", "a", 0.5, words, {})


def test_words_are_marked_by_their_side_and_strength():
    shown = colored(explained("a moon, no rose <b>", [(2, 6, 1.0), (8, 10, 0.01), (11, 15, -0.5)]))
    assert shown == (
        'a <mark class="for" style="--s:100%">moon</mark>, no '
        '<mark class="against" style="--s:50%">rose</mark> &lt;b&gt;'
    )
    assert colored(explained("<b>", [])) == "&lt;b&gt;"
    assert colored(explained("moon", [(0, 4, 0.0)])) == "moon"


def test_nobody_is_told_of_certainty():
    sure = ExplainedDocument("right", "", "a", "a", 0.9999, [], {})
    assert sure.verdict == "over 99% sure, and right"
    unsure = ExplainedDocument("mistaken", "", "b", "a", 0.42, [], {})
    assert unsure.verdict == "42% sure, but it is b"
