"""Sentiment and emotions, two tasks made of one data set."""

import itertools
from collections import Counter

import pytest
from reproduction.conftest import write_corpus

from wordclass.corpus.documents import Dataset, LabelledCorpus
from wordclass.reproduction import emotions, sources
from wordclass.reproduction.runner import execute
from wordclass.reproduction.runs import Results, Run

LABELS = [
    ["joy"], ["anger"], ["joy", "love"], ["fear", "grief"], ["joy", "fear"], ["neutral"],
    ["joy", "neutral"], ["surprise"], ["anger", "confusion"], [],
]  # fmt: skip
WORDS = {"joy": "happy", "love": "heart", "anger": "angry", "fear": "afraid", "grief": "tears"}


def documents(n, start=0):
    """Return numbered texts with all kinds of labels, which repeat after ten texts."""
    label_lists = list(itertools.islice(itertools.cycle(LABELS), n))
    texts = [
        f"text {k + start} {' '.join(WORDS.get(label, 'so so') for label in labels)}"
        for k, labels in enumerate(label_lists)
    ]
    return texts, label_lists


@pytest.fixture(scope="module")
def complete():
    train = documents(600)
    test = documents(100, 1000)
    train[0][30:32] = test[0][0:2]  # two that are also tested
    train[0][40] = train[0][50]  # copies of each other
    corpora = (LabelledCorpus(*split, is_multilabel=True) for split in (train, test))
    return Dataset("goemotions", *corpora, sorted({label for labels in LABELS for label in labels}))


def test_the_two_tasks_share_no_text_with_each_other_or_with_the_test(complete):
    source = emotions.select_source(complete)
    target = emotions.select_target(complete)
    learned, helped, tested = (
        {*corpus.texts} for corpus in (source.train, target.train, target.test)
    )
    assert not learned & helped
    assert not (learned | helped) & {*complete.test.texts}
    assert tested <= {*complete.test.texts}
    assert learned | helped < {*complete.train.texts}
    assert 0.25 < len(source.train) / 600 < 0.42


def test_a_text_has_a_sentiment_if_all_its_emotions_have_it(complete):
    target = emotions.select_target(complete)
    assert (target.classes, target.is_multilabel) == (["negative", "positive"], False)
    labels_of = dict(zip(complete.train.texts, complete.train.labels, strict=True))
    expected = {("joy",): "positive", ("joy", "love"): "positive", ("anger",): "negative",
                ("fear", "grief"): "negative"}  # fmt: skip
    for text, label in zip(target.train.texts, target.train.labels, strict=True):
        assert label == expected[tuple(labels_of[text])]
    assert Counter(target.test.labels) == {"positive": 20, "negative": 20}


def test_the_source_has_the_emotions_as_they_are(complete):
    source = emotions.select_source(complete)
    labels_of = dict(zip(complete.train.texts, complete.train.labels, strict=True))
    assert source.train.labels == [labels_of[text] for text in source.train.texts]
    assert source.is_multilabel
    assert source.classes == complete.classes


def test_every_emotion_of_the_data_set_has_its_group():
    groups = emotions._SENTIMENTS
    assert Counter(groups.values()) == {"positive": 12, "negative": 11}
    assert not {"neutral", "confusion", "curiosity", "realization", "surprise"} & {*groups}


def test_both_tasks_are_data_sets_of_runs_and_follow_the_corpus_file(data, tmp_path):
    texts, labels = documents(700)
    write_corpus(data / "goemotions.jsonl", texts, labels, 600)
    sources.check_dataset("goemotions_sentiment@20")
    source = {"other": ["goemotions_emotions"]}
    run = Run("goemotions_sentiment@20", "svm", "wce", 0, "paper", None, source)
    result = execute(run, Results(tmp_path / "out"))
    assert (result.data["n_train"], result.data["n_classes"]) == (40, 2)
    assert result.classes["names"] == ["negative", "positive"]
    assert result.scores["accuracy"] > 0.9
    names = ["goemotions", "goemotions_emotions", "goemotions_sentiment"]
    before = [sources.dataset_digest(name) for name in names]
    assert len({*before}) == 3
    write_corpus(data / "goemotions.jsonl", texts[1:], labels[1:], 600)
    assert not {*before} & {sources.dataset_digest(name) for name in names}
