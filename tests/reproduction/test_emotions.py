"""Sentiment and emotions, two tasks made of one data set."""

import itertools
from collections import Counter

import pytest
from reproduction.conftest import write_corpus

from wordclass.corpus.documents import Dataset, LabelledCorpus
from wordclass.reproduction import emotions, sources
from wordclass.reproduction.runner import do
from wordclass.reproduction.runs import Results, Run

LABELS = [
    ["joy"], ["anger"], ["joy", "love"], ["fear", "grief"], ["joy", "fear"], ["neutral"],
    ["joy", "neutral"], ["surprise"], ["anger", "confusion"], [],
]  # fmt: skip
WORDS = {"joy": "happy", "love": "heart", "anger": "angry", "fear": "afraid", "grief": "tears"}


def documents(n, start=0):
    """Texts of all kinds of labels, each with a number; every tenth is one of the first again."""
    own = list(itertools.islice(itertools.cycle(LABELS), n))
    texts = [
        f"text {k + start} {' '.join(WORDS.get(label, 'so so') for label in labels)}"
        for k, labels in enumerate(own)
    ]
    return texts, own


@pytest.fixture(scope="module")
def whole():
    train, test = documents(600), documents(100, 1000)
    train[0][30:32] = test[0][0:2]  # two that are also tested
    train[0][40] = train[0][50]  # copies of each other
    parts = (LabelledCorpus(*each, is_multilabel=True) for each in (train, test))
    return Dataset("goemotions", *parts, sorted({each for own in LABELS for each in own}))


def test_the_two_tasks_share_no_text_with_each_other_or_with_the_test(whole):
    source, target = emotions.source_of(whole), emotions.target_of(whole)
    learned, helped, tested = ({*each.texts} for each in (source.train, target.train, target.test))
    assert not learned & helped
    assert not (learned | helped) & {*whole.test.texts}
    assert tested <= {*whole.test.texts}
    assert learned | helped < {*whole.train.texts}
    assert 0.25 < len(source.train) / 600 < 0.42


def test_a_text_has_a_sentiment_where_all_its_emotions_have_it(whole):
    target = emotions.target_of(whole)
    assert (target.classes, target.is_multilabel) == (["negative", "positive"], False)
    given = dict(zip(whole.train.texts, whole.train.labels, strict=True))
    expected = {("joy",): "positive", ("joy", "love"): "positive", ("anger",): "negative",
                ("fear", "grief"): "negative"}  # fmt: skip
    for text, label in zip(target.train.texts, target.train.labels, strict=True):
        assert label == expected[tuple(given[text])]
    assert Counter(target.test.labels) == {"positive": 20, "negative": 20}


def test_the_source_has_the_emotions_as_they_are(whole):
    source = emotions.source_of(whole)
    given = dict(zip(whole.train.texts, whole.train.labels, strict=True))
    assert source.train.labels == [given[text] for text in source.train.texts]
    assert source.is_multilabel
    assert source.classes == whole.classes


def test_every_emotion_of_the_data_set_has_its_group():
    groups = emotions._SENTIMENTS
    assert Counter(groups.values()) == {"positive": 12, "negative": 11}
    assert not {"neutral", "confusion", "curiosity", "realization", "surprise"} & {*groups}


def test_they_are_data_sets_of_runs_and_follow_their_file(data, tmp_path):
    texts, labels = documents(700)
    write_corpus(data / "goemotions.jsonl", texts, labels, 600)
    sources.check_dataset("goemotions_sentiment@20")
    source = {"other": ["goemotions_emotions"]}
    run = Run("goemotions_sentiment@20", "svm", "wce", 0, "paper", None, source)
    result = do(run, Results(tmp_path / "out"))
    assert (result.data["n_train"], result.data["n_classes"]) == (40, 2)
    assert result.classes["names"] == ["negative", "positive"]
    assert result.scores["accuracy"] > 0.9
    names = ["goemotions", "goemotions_emotions", "goemotions_sentiment"]
    before = [sources.dataset_digest(name) for name in names]
    assert len({*before}) == 3
    write_corpus(data / "goemotions.jsonl", texts[1:], labels[1:], 600)
    assert not {*before} & {sources.dataset_digest(name) for name in names}
