"""Small fitted models of several kinds for tests of the page and the service."""

from functools import cache

import numpy as np
from made_up import WORDS, corpus, multilabel_corpus

import wordclass as wc
from wordclass.corpus.documents import LabelledCorpus

KINDS = ("linear", "nearest", "svm", "cnn")
OPTIONS = {
    "linear": {"characters": None},
    "nearest": {"min_docs": 2, "shrinkage": 5.0},
    "svm": {"features": "tfidf", "min_docs": 2, "probabilities": False},
    "cnn": {"channels": 4, "max_epochs": 5, "seed": 1},
}


@cache
def model(kind, is_multilabel=False):
    texts, labels = (multilabel_corpus if is_multilabel else corpus)(90, seed=0)
    options = dict(OPTIONS[kind])
    if kind == "cnn":
        words = [word for topic_words in WORDS.values() for word in topic_words]
        rows = np.random.default_rng(0).normal(size=(len(words), 5)).astype(np.float32)
        options["vectors"] = wc.WordVectors.of(words, rows)
    return wc.classifier(kind, **options).fit(texts, labels)


@cache
def documents(is_multilabel=False):
    """Return forty documents, some with wrong labels, so that there are mistakes."""
    texts, labels = (multilabel_corpus if is_multilabel else corpus)(40, seed=1)
    if is_multilabel:
        labels = [["garden"] if k % 8 == 0 else names for k, names in enumerate(labels)]
    else:
        labels = ["garden" if k % 8 == 0 else names for k, names in enumerate(labels)]
    return LabelledCorpus(texts, labels, is_multilabel=is_multilabel)
