"""Frozen fits of classifiers."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import small_encoders
from frozen import corpora
from frozen.corpora import TEXTS
from frozen.entry import OF_FASTTEXT, OF_NETWORKS, embeddings, entry
from frozen.observation import observe

import wordclass as wc

# tiny networks
NETWORK = {
    "min_docs": 2, "max_epochs": 2, "batch_size": 40, "lr": 0.02, "max_length": 10, "seed": 1,
    "device": "cpu",
}  # fmt: skip


# --- nearest and svm ----------------------------------------------------------------------------


@entry
def nearest():
    return wc.classifier("nearest", min_docs=2, shrinkage=20.0).fit(*corpora.single_label())


@entry
def nearest_multilabel():
    options = {"min_docs": 2, "ngrams": (1, 2), "correlation": "relevance_frequency"}
    return wc.classifier("nearest", **options).fit(*corpora.multilabel())


@entry
def nearest_two_classes():
    data = corpora.single_label(100, ("music", "space"))
    return wc.classifier("nearest", min_docs=2, weighting="bm25").fit(*data)


@entry(suffix="", functions={"encoder": corpora.count_letters})
def nearest_encoder():
    options = {"min_docs": 3, "shrinkage": 5.0, "encoder": corpora.count_letters}
    return wc.classifier("nearest", **options).fit(*corpora.multilabel())


@entry
def svm_tfidf():
    return wc.classifier("svm", min_docs=2).fit(*corpora.single_label())


@entry
def svm_tfidf_multilabel():
    options = {"min_docs": 2, "thresholds": "tuned", "target": "macro_f1"}
    return wc.classifier("svm", **options).fit(*corpora.multilabel())


@entry
def svm_vectors():
    options = {"features": "vectors", "vectors": corpora.word_vectors(), "min_docs": 2, "C": 1.0}
    return wc.classifier("svm", **options).fit(*corpora.single_label())


@entry
def svm_wce():
    options = {"features": "wce", "wce": {"shrinkage": 5.0}, "min_docs": 2}
    return wc.classifier("svm", **options).fit(*corpora.multilabel())


@entry
def svm_vectors_wce():
    options = {"features": "vectors+wce", "vectors": corpora.word_vectors(), "min_docs": 2}
    options |= {"other": {"place": corpora.other_task()}, "C": 0.1, "class_weight": None}
    return wc.classifier("svm", **options).fit(*corpora.single_label())


@entry(suffix="", functions={"encoder": corpora.count_letters})
def svm_encoder():
    options = {"features": "tfidf+encoder", "encoder": corpora.count_letters, "C": 1.0}
    return wc.classifier("svm", **options, min_docs=3).fit(*corpora.single_label())


@entry
def svm_encoder_beside_others():
    options = {"encoder": corpora.count_letters, "vectors": corpora.word_vectors(), "C": 1.0}
    results = {}
    for features in ("encoder", "vectors+encoder", "wce+encoder", "vectors+wce+encoder"):
        model = wc.classifier("svm", features=features, min_docs=2, **options)
        results[features] = model.fit(*corpora.multilabel()).decision_function(TEXTS)
    return results


# --- linear -------------------------------------------------------------------------------------


@entry
def linear():
    return wc.classifier("linear").fit(*corpora.single_label())


@entry
def linear_multilabel():
    return wc.classifier("linear", characters=None).fit(*corpora.multilabel())


@entry
def linear_label_matrix():
    options = {"characters": None, "class_weight": None, "target": "micro_f1", "C": 1.0}
    texts, Y = corpora.label_matrix()
    model = wc.classifier("linear", ngrams=(1, 1), **options)
    return model.fit(texts, Y, class_names=["v", "y", "x", "w", "z"])


@entry
def linear_two_classes():
    data = corpora.single_label(120, ("music", "space"))
    return wc.classifier("linear", characters=None).fit(*data)


@entry
def linear_sample_weight():
    texts, labels = corpora.single_label()
    weights = [1.0 + k % 3 for k in range(len(texts))]
    options = {"characters": None, "ngrams": (1, 2), "C": 0.3, "shrinkage": 1.0}
    model = wc.classifier("linear", block_weight=0.1, class_weight={"music": 2.0}, **options)
    return model.fit(texts, labels, sample_weight=weights)


@entry
def linear_vectors():
    options = {"vectors": corpora.word_vectors(), "characters": None, "ngrams": (1, 1)}
    return wc.classifier("linear", **options).fit(*corpora.multilabel())


@entry
def linear_other():
    options = {"other": {"place": corpora.other_task()}, "characters": None, "ngrams": (1, 1)}
    return wc.classifier("linear", other_weight=0.5, **options).fit(*corpora.single_label())


@entry(suffix="")
def linear_characters():
    options = {"ngrams": (1, 1), "min_docs": 4, "shrinkage": 5.0}
    return wc.classifier("linear", **options).fit(*corpora.misspelled())


@entry
def linear_without_spaces():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # words are no good terms here: characters help them
        return wc.classifier("linear", C=1.0).fit(*corpora.without_spaces())


@entry(suffix="")
def linear_few_documents():
    return wc.classifier("linear", characters=None).fit(*corpora.single_label(40, seed=9))


@entry
def linear_encoder():
    options = {"encoder": corpora.count_letters, "characters": None, "ngrams": (1, 1)}
    searched = wc.classifier("linear", **options).fit(*corpora.single_label())
    joint = wc.classifier("linear", encoder_weight=1.0, **options).fit(*corpora.single_label())
    return {"searched": searched, "joint": joint}


@entry(needs=("tokenizers",), tolerance=1e-5)
def linear_encoder_folder():
    with tempfile.TemporaryDirectory() as folder:
        encoder = small_encoders.static_folder(Path(folder) / "static")
        options = {"encoder": encoder, "encoder_weight": 2.0, "characters": None}
        return observe(wc.classifier("linear", **options).fit(*corpora.single_label(100)))


@entry(suffix="")
def linear_tree():
    return wc.classifier("linear", classes="tree", seed=1).fit(*corpora.many_classes())


@entry
def linear_tree_multilabel():
    return wc.classifier("linear", classes="tree", C=0.3).fit(*corpora.many_labels())


@entry
def linear_hierarchy():
    model = wc.classifier("linear", classes=corpora.hierarchy())
    model.fit(*corpora.many_classes())
    path = model.explanation(TEXTS[11]).path("topic 00")
    return {
        "": model,
        "path": [step for step, _ in path],
        "path probabilities": np.array([probability for _, probability in path]),
    }


@entry(suffix="")
def tree():
    options = {"hierarchy": corpora.hierarchy(), "ngrams": (1, 2), "min_docs": 3, "seed": 2}
    return wc.classifier("tree", **options).fit(*corpora.many_classes())


# --- fastText and networks ----------------------------------------------------------------------


@entry(**OF_FASTTEXT)
def fasttext():
    options = {"min_docs": 2, "random_dims": 4, "epochs": 10, "lr": 0.5}
    return wc.classifier("fasttext", **options).fit(*corpora.single_label())


@entry(suffix="", **OF_FASTTEXT)
def fasttext_multilabel():
    options = {"min_docs": 2, "vectors": corpora.word_vectors(), "wce": True, "unseen": "ridge"}
    options |= {"epochs": 5, "thresholds": "tuned", "ngrams": (1, 2)}
    return wc.classifier("fasttext", **options).fit(*corpora.multilabel(120))


@entry(suffix="", **OF_NETWORKS)
def cnn():
    options = {"channels": 4, "windows": (2, 3), "other": {"place": corpora.other_task()}}
    model = wc.classifier("cnn", **NETWORK, **options, vectors=corpora.word_vectors())
    return model.fit(*corpora.single_label(120))


@entry(**OF_NETWORKS)
def cnn_paper():
    options = {"channels": 4, "windows": (2, 3), "random_dims": 3, "trainable": True}
    model = wc.classifier("cnn", **NETWORK, **options, protocol="paper", vectors=None)
    return model.fit(*corpora.multilabel(120))


@entry(suffix="", **OF_NETWORKS)
def lstm():
    model = wc.classifier("lstm", **NETWORK, hidden=5, wce={"shrinkage": 2.0}, unseen=None)
    return model.fit(*corpora.multilabel(120))


@entry(suffix="", **OF_NETWORKS)
def attention():
    options = {"vectors": corpora.word_vectors(), "unseen": "ridge", "hidden": 5}
    return wc.classifier("attention", **NETWORK, **options).fit(*corpora.single_label(120))


@entry(suffix="", **OF_NETWORKS)
def leam():
    model = wc.classifier("leam", **NETWORK, window=3, trainable=True)
    return model.fit(*corpora.label_matrix(120))


@entry(needs=("torch", "sentence_transformers"), tolerance=2e-3)  # vectors in context are float16
def cnn_context():
    with tempfile.TemporaryDirectory() as folder:
        encoder = small_encoders.bert_folder(Path(folder) / "bert")
        model = wc.classifier("cnn", **NETWORK, channels=4, windows=(2,), context=encoder)
        return observe(model.fit(*corpora.single_label(60)))


@entry(**OF_NETWORKS)
def own_network():
    import torch

    wce = embeddings().fit(*corpora.single_label())
    E = wc.EmbeddingMatrix.of(corpora.word_vectors(), wce)
    layer = wc.torch.EmbeddingLayer(E, dropout={"word_class": 0.5})
    encoder = wc.torch.encoder("mean", input_dim=layer.embedding_dim)
    network = wc.torch.TextClassifier(layer, encoder, 3, seed=2).eval()
    batch = E.index(TEXTS, max_length=5)
    ids = torch.from_numpy(batch.ids)
    with torch.no_grad():
        logits = network(ids, torch.from_numpy(batch.lengths))
        return {"vectors": layer(ids).numpy(), "logits": logits.numpy()}
