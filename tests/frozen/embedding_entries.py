"""Frozen fits of X, word-class embeddings and engines."""

import json
import tempfile
from pathlib import Path

import numpy as np
from frozen import corpora
from frozen.corpora import TEXTS
from frozen.entry import OF_NETWORKS, embeddings, entry

import wordclass as wc

CORRELATIONS = (
    "chi_square", "conf_weight", "dot", "fisher", "gain_ratio", "gss", "information_gain",
    "odds_ratio", "pmi", "ppmi", "relevance_frequency",
)  # fmt: skip
WEIGHTINGS = ("binary", "bm25", "count", "tfidf")
PROJECTORS = ("pca", "random", "truncated_svd")


def _of_correlation(correlation):
    return {
        "single": embeddings(correlation=correlation).fit(*corpora.single_label()),
        "multilabel": embeddings(correlation=correlation, shrinkage=2.0)
        .fit(*corpora.multilabel())
        .vectors_,
    }


for _name in CORRELATIONS:
    entry(lambda name=_name: _of_correlation(name), name=f"correlation_{_name}")


@entry
def correlation_function():
    return _of_correlation(corpora.share_in_class)


def _of_weighting(weighting):
    texts, labels = corpora.single_label()
    vectorizer = wc.DocumentVectorizer(weighting=weighting, min_docs=2, ngrams=(1, 2))
    return {
        "X": vectorizer.fit_transform(texts),
        "terms": vectorizer.get_feature_names_out().tolist(),
        "new": vectorizer.transform(TEXTS),
        "embeddings": embeddings(weighting=weighting).fit(texts, labels).vectors_,
    }


for _name in WEIGHTINGS:
    entry(lambda name=_name: _of_weighting(name), name=f"weighting_{_name}")


@entry
def weighting_function():
    return _of_weighting(corpora.square_root_weights)


@entry
def vectorizer_of_words():
    texts = [*corpora.single_label()[0], *TEXTS]
    options = {
        "lists": {"stop_words": ["the", "and"], "max_df": 0.2, "max_terms": 60},
        "letters": {"mask_numbers": False, "lowercase": False, "strip_accents": "unicode"},
        "pattern": {"token_pattern": r"(?u)\b\w{4,}\b", "ngrams": (2, 3), "dtype": np.float32},
        "analyzer": {"analyzer": corpora.split_at_spaces, "stop_words": None},
    }
    results = {}
    for name, own_options in options.items():
        vectorizer = wc.DocumentVectorizer(min_docs=2, **own_options)
        results[name] = vectorizer.fit_transform(texts)
        results[f"{name} terms"] = vectorizer.get_feature_names_out().tolist()
    return results


@entry
def vectorizer_of_characters():
    vectorizer = wc.DocumentVectorizer(analyzer="characters", ngrams=(2, 4), min_docs=3)
    X = vectorizer.fit_transform([*corpora.single_label(60)[0], *TEXTS])
    return {"X": X, "terms": vectorizer.get_feature_names_out().tolist()}


def _of_projector(projector):
    projected = embeddings(projector=projector, max_dims=4, seed=3)
    features = projected.fit_transform(*corpora.many_classes())
    return {"": projected, "cross-fitted": features}


for _name in PROJECTORS:
    entry(lambda name=_name: _of_projector(name), name=f"projector_{_name}")


@entry(suffix=".wce")
def embeddings_of_characters():
    options = {"analyzer": "characters", "ngrams": (2, 3), "min_docs": 5, "weighting": "bm25"}
    return wc.WordClassEmbeddings(**options).fit(*corpora.multilabel(60))


@entry(suffix=".wce")
def embeddings_random_projector():
    options = {"projector": "random", "max_dims": 3, "seed": 5, "correlation": "pmi"}
    return embeddings(**options).fit(*corpora.multilabel())


@entry(suffix=".wce")
def embeddings_added_and_removed():
    texts, labels = corpora.multilabel(120)
    wce = embeddings(shrinkage=1.0, keep_documents=True).fit(texts[:60], labels[:60])
    wce.partial_fit(texts[60:], labels[60:])
    return wce.remove(texts[20:50], labels[20:50])


@entry
def embeddings_frozen_vocabulary():
    texts, labels = corpora.single_label(160)
    wce = embeddings(shrinkage=2.0).fit(texts[:80], labels[:80])
    added = embeddings(shrinkage=2.0).fit(texts[:80], labels[:80])
    added.partial_fit([*texts[80:], "moon of a new class"], [*labels[80:], "new"])
    results = {"added": added.vectors_, "added classes": added.classes_}
    results["merged"] = wce.merge(added).vectors_
    results["removed"] = wce.remove(texts[:40], labels[:40]).vectors_
    return results


@entry
def embeddings_merged_documents():
    texts, labels = corpora.multilabel(120)
    wce = embeddings(keep_documents=True).fit(texts[:60], labels[:60])
    return wce.merge(embeddings(keep_documents=True).fit(texts[60:], labels[60:]))


@entry
def embeddings_two_classes():
    return embeddings(shrinkage=20.0).fit(*corpora.single_label(100, ("music", "space")))


@entry
def embeddings_label_matrix():
    texts, Y = corpora.label_matrix()
    return embeddings(stop_words=["the"]).fit(texts, Y, class_names=["v", "y", "x", "w", "z"])


@entry
def embeddings_cross_fitted():
    results = {}
    for name, data in (("single", corpora.single_label()), ("multi", corpora.multilabel())):
        for shrinkage in (0.0, 5.0):
            wce = embeddings(shrinkage=shrinkage, folds=5, seed=2)
            results[f"{name} {shrinkage}"] = wce.fit_transform(*data)
    return results


@entry
def embedding_matrix():
    wce = embeddings().fit(*corpora.single_label())
    other = {"place": corpora.other_task()}
    E = wc.EmbeddingMatrix.of(
        corpora.word_vectors(), wce, random_dims=3, seed=4, other=other, unseen="ridge"
    )
    batch = E.index(TEXTS, max_length=6)
    return {
        "matrix": E.matrix,
        "terms": [list(E.terms), list(E.unseen_terms)],
        "blocks": {name: [block.start, block.stop] for name, block in E.blocks.items()},
        "ids": batch.ids,
        "lengths": batch.lengths,
    }


def _unseen_terms(regressor):
    wce = embeddings().fit(*corpora.single_label())
    unseen = wc.UnseenTerms.predict(corpora.word_vectors(), wce, regressor, seed=3)
    quality = unseen.quality
    return {
        "terms": list(unseen.terms),
        "vectors": unseen.vectors,
        "quality": np.array([quality.r2, quality.cosine]),
    }


@entry
def unseen_terms_ridge():
    return _unseen_terms("ridge")


@entry(**OF_NETWORKS)
def unseen_terms_network():
    return _unseen_terms("network")


@entry
def word_vectors():
    U = corpora.word_vectors()
    options = {"min_docs": 2, "seed": 2}
    learned = wc.pte(*corpora.multilabel(60), n_dims=5, n_samples=2000, **options)
    distilled = wc.distill(corpora.count_letters, corpora.single_label()[0], 4, min_docs=2)
    return {
        "nearest": [term for term, _ in U.nearest("moon", n=5)],
        "pte": learned.matrix,
        "distilled": distilled.matrix,
    }


# --- engines ------------------------------------------------------------------------------------


def fit_in_shards(engine):
    """Return embeddings, features and a classifier of a corpus in three files, by an engine."""
    texts, labels = corpora.multilabel()
    with tempfile.TemporaryDirectory() as folder:
        shards = Path(folder) / "shards"
        write_shards(shards, texts, labels, 3)
        wce = embeddings(correlation="ppmi", shrinkage=1.0, folds=4)
        files = wce.fit_transform_parts(shards, Path(folder) / "features", engine=engine)
        features = np.concatenate([np.load(file) for file in files])
        model = wc.classifier("linear", C=1.0, ngrams=(1, 1), shrinkage=5.0, characters=None)
        model.set_params(block_weight=0.1).fit_parts(shards, engine=engine, folder=folder)
    return {
        "vectors": wce.vectors_,
        "terms": wce.terms_,
        "features": features,
        "scores": model.decision_function(TEXTS),
        "thresholds": model.thresholds_,
    }


def write_shards(folder, texts, labels, n_shards):
    """Write documents into files of JSON lines."""
    folder.mkdir()
    for k in range(n_shards):
        pairs = zip(texts[k::n_shards], labels[k::n_shards], strict=True)
        lines = [json.dumps({"text": text, "labels": names}) for text, names in pairs]
        (folder / f"shard-{k}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


@entry
def engine_in_sequence():
    return fit_in_shards("in_sequence")
