"""Small networks and texts to train them on, for the tests of the training."""

from types import SimpleNamespace

import numpy as np
import pytest
from made_up import corpus

torch = pytest.importorskip("torch")

import wordclass as wc  # noqa: E402
from wordclass.corpus.labels import encode_labels  # noqa: E402
from wordclass.network.embedding_layer import EmbeddingLayer  # noqa: E402
from wordclass.network.modules import encoder  # noqa: E402
from wordclass.network.text_network import TextNetwork  # noqa: E402
from wordclass.network.training import LabelledSequences  # noqa: E402

TEXTS, LABELS = corpus()
WCE = wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, LABELS)
U = wc.WordVectors.of(["moon", "rose", "the"], np.arange(6).reshape(3, 2) / 4 - 1.0)
E = wc.EmbeddingMatrix.of(U, WCE, random_dims=3, seed=3)
N_TRAINED = 44  # the last batch of eight has four texts


def documents(texts=TEXTS, labels=LABELS, **options):
    encoded = encode_labels(labels)
    is_multilabel = encoded.codeframe.is_multilabel
    return LabelledSequences(E.sequences(texts), encoded.Y, is_multilabel, E.padding, **options)


def two_parts(**options):
    both = documents(**options)
    return both.part(np.arange(N_TRAINED)), both.part(np.arange(N_TRAINED, len(TEXTS)))


def network_of(name="cnn", trainable=False, dropout=0.0, layer_dropout=None, seed=0):
    options = {"cnn": {"channels": 4, "windows": (2, 3)}, "lstm": {"hidden": 4}, "mean": {}}[name]
    layer = EmbeddingLayer(E, trainable, layer_dropout)
    read = encoder(name, E.n_dims, **options, seed=seed)
    return TextNetwork(layer, read, 3, dropout=dropout, seed=seed + 1)


class Judged(SimpleNamespace):
    def of(self, target):
        return getattr(self, target)


def judge_of(macros):
    """Return the next scores of a list for each epoch, regardless of the logits."""
    left = iter(macros)
    return lambda _scores, _Y: Judged(macro_f1=next(left), micro_f1=0.5)


def honest(scores, Y):
    right = scores.argmax(axis=1) == Y.toarray().argmax(axis=1)
    return Judged(macro_f1=float(right.mean()), micro_f1=float(right.mean()))


def weights_of(network):
    return {name: weight.detach().clone() for name, weight in network.named_parameters()}


def assert_same_weights(ours, theirs, tolerance=0.0):
    assert ours.keys() == theirs.keys()
    for name, weight in ours.items():
        torch.testing.assert_close(weight, theirs[name], atol=tolerance, rtol=0, msg=name)
