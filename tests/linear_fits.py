"""A corpus, options and parts that the tests of `linear` share."""

import numpy as np
from made_up import corpus

import wordclass as wc
from wordclass.classifiers import linear
from wordclass.text.term_weigher import TermWeigher

TEXTS, LABELS = corpus(90)
FIXED = {
    **{"ngrams": (1, 1), "characters": None, "shrinkage": 5.0, "block_weight": 0.5, "C": 1.0},
    "min_docs": 2,
}


def vectors(seed=0):
    words = sorted({word for text in TEXTS for word in text.split()})
    return wc.WordVectors.of(words, np.random.default_rng(seed).normal(size=(len(words), 6)))


def linear_corpus(documents, folds):
    def make_weighers(_settings):
        return [TermWeigher.of(min_docs=1)]

    return linear.LinearCorpus(documents, folds, make_weighers, None, {}, None, np.ones(3), None)
