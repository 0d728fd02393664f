"""How the files of this folder were made: run once, with version 0.1.0, and never again.

    python tests/saved_by_0_1_0/make_files.py

A model of every kind, embeddings, word vectors, and in `expected.json` what version 0.1.0 made of
`TEXTS` with them. Later versions must read them and answer the same: see
`tests/test_saved_by_0_1_0.py`. It stays here to tell what the files are.
"""

import json
from importlib import metadata
from pathlib import Path

import numpy as np

import wordclass as wc

HERE = Path(__file__).parent

WORDS = {
    "garden": ["rose", "soil", "seed", "plant", "water", "bloom"],
    "music": ["chord", "piano", "song", "melody", "violin", "rhythm"],
    "space": ["orbit", "moon", "rocket", "launch", "lunar", "star"],
    "été": ["plage", "soleil", "été", "vacances", "mer", "glace"],
}
COMMON = ["the", "and", "with", "about", "some", "often", "in 1999", "42"]
NUMBERS = {name: number for number, name in enumerate(WORDS, start=3)}

# what is asked: ordinary texts, mixed ones, an unknown word, numbers, nothing at all, a surrogate
TEXTS = [
    "the moon and a rocket in orbit",
    "Rose water with some soil",
    "a song about the star and the moon",
    "piano melody with violin, often",
    "plage soleil été 1999",
    "seed plant bloom launch lunar",
    "unheard of",
    "in 1984 the 42 chords of 7",
    "",
    "moon \ud800 moon",
]


def corpus(n_docs=80, seed=1):
    generator = np.random.default_rng(seed)
    classes = list(WORDS)
    labels = [classes[k % len(classes)] for k in range(n_docs)]
    return [_text([label], generator) for label in labels], labels


def multilabel_corpus(n_docs=80, seed=2):
    generator = np.random.default_rng(seed)
    sizes = [0 if k % 10 == 9 else 1 + (k % 3 == 0) for k in range(n_docs)]
    labels = [sorted(generator.choice(list(WORDS), size, replace=False).tolist()) for size in sizes]
    return [_text(names, generator) for names in labels], labels


def _text(labels, generator):
    own = [word for label in labels for word in generator.choice(WORDS[label], 4)]
    stray = generator.choice([word for words in WORDS.values() for word in words], 2)
    return " ".join(generator.permutation([*own, *stray, *generator.choice(COMMON, 3)]))


def vectors():
    terms = [*(word for words in WORDS.values() for word in words), "unheard", "comet"]
    matrix = np.random.default_rng(3).normal(size=(len(terms), 5)).astype(np.float32)
    return wc.WordVectors.of(terms, matrix)


def models():
    """Yield every model: name, classifier, what `load` needs, what `save` is told."""
    single, multi = corpus(), multilabel_corpus()
    numbers = single[0], [NUMBERS[label] for label in single[1]]
    matrix = multi[0], np.array([[name in labels for name in WORDS] for labels in multi[1]], int)
    U = vectors()
    tiny = {
        "min_docs": 2, "max_epochs": 3, "batch_size": 20, "lr": 0.02, "max_length": 12, "seed": 1,
    }  # fmt: skip

    def fitted(name, data, **options):
        return wc.classifier(name, **options).fit(*data)

    nearest = {"min_docs": 2, "shrinkage": 5.0}
    yield "nearest", fitted("nearest", single, **nearest), {}, None
    yield "nearest_multilabel", fitted("nearest", multi, **nearest, ngrams=(1, 2)), {}, None
    yield "nearest_numbers", fitted("nearest", numbers, min_docs=2, probabilities=False), {}, None
    columns = wc.classifier("nearest", **nearest).fit(*matrix, class_names=["z", "y", "x", "w"])
    yield "nearest_matrix", columns, {}, None
    function = {"analyzer": str.split}
    yield "nearest_analyzer", fitted("nearest", single, min_docs=2, **function), function, None

    scores = {"tuning": {"macro_f1": 0.75, "settings": {"C": 1.0}}, "holdout": {"share": 0.2}}
    yield "linear", fitted("linear", single), {}, scores
    yield "linear_multilabel", fitted("linear", multi, vectors=U), {}, None
    yield "linear_without_block", fitted("linear", single, block_weight=0.0, C=1.0), {}, None
    without = fitted("linear", multi, block_weight=0.0, stop_words=frozenset({"the", "and"}))
    yield "linear_without_block_multilabel", without, {}, None
    weights = {number: number / 3 for number in NUMBERS.values()}
    yield "linear_class_weight", fitted("linear", numbers, class_weight=weights), {}, None

    yield "svm_tfidf", fitted("svm", single, min_docs=2), {}, None
    both = {"features": "vectors+wce", "vectors": U, "min_docs": 2, "C": 1.0}
    yield "svm_vectors_wce", fitted("svm", single, **both), {}, None
    embeddings = wc.WordClassEmbeddings(shrinkage=2.0, min_docs=2)
    yield "svm_vectors_wce_multilabel", fitted("svm", multi, **both, wce=embeddings), {}, None

    fast = {"min_docs": 2, "random_dims": 4, "epochs": 20, "lr": 0.5}
    yield "fasttext", fitted("fasttext", single, **fast), {}, None
    yield "fasttext_multilabel", fitted("fasttext", multi, **fast, wce=True), {}, None

    cnn = {**tiny, "channels": 4, "windows": (2, 3)}
    yield "cnn", fitted("cnn", single, **cnn, vectors=U, unseen="ridge"), {}, None
    dropout = {"word_class": 0.25, "random": 0.0}
    options = {"random_dims": 3, "trainable": True, "supervised_dropout": dropout}
    yield "cnn_multilabel", fitted("cnn", multi, **cnn, **options, protocol="paper"), {}, None
    shrunk = wc.WordClassEmbeddings(shrinkage=2.0, min_docs=2, max_dims=2)
    yield "lstm", fitted("lstm", single, **tiny, hidden=5, wce=shrunk), {}, None
    yield "attention_multilabel", fitted("attention", multi, **tiny, hidden=5, vectors=U), {}, None
    yield "leam", fitted("leam", single, **tiny, window=3), {}, None


def embeddings():
    """Yield every kind of embeddings: their name, what is fitted."""
    single, multi = corpus(), multilabel_corpus()

    def made(**options):
        return wc.WordClassEmbeddings(**{"min_docs": 2, **options})

    yield "plain", made().fit(*single)
    yield "keep_documents", made(keep_documents=True, shrinkage=3.0).fit(*multi)
    yield "projected", made(max_dims=2, ngrams=(1, 2), correlation="ppmi").fit(*single)
    yield "structural", made(structural_problems=2, weighting="bm25").fit(*single)
    yield "numbers", made(correlation="fisher").fit(single[0], [NUMBERS[y] for y in single[1]])
    Y = np.array([[name in labels for name in WORDS] for labels in multi[1]], int)
    yield "matrix", made(stop_words=["the"]).fit(multi[0], Y, class_names=["z", "y", "x", "w"])


def answers(model):
    """Return what a classifier makes of `TEXTS`, as JSON can hold it."""
    found = {
        "classes": model.classes_.tolist(),
        "predictions": _listed(model.predict(TEXTS)),
        "scores": model.decision_function(TEXTS).tolist(),
        "shared": model.training_.n_shared([*TEXTS, corpus()[0][0], multilabel_corpus()[0][0]]),
    }
    if getattr(model, "probabilities", True):
        found["probabilities"] = model.predict_proba(TEXTS).tolist()
    explained = [model.explain(text, 3) for text in TEXTS[:3]]
    found["explanations"] = [
        [[label, [[word, float(x)] for word, x in words]] for label, words in each.items()]
        for each in explained
    ]
    return found


def _listed(predictions):
    """Return labels, sets of labels, or a matrix of labels, as lists."""
    as_lists = predictions.tolist() if hasattr(predictions, "tolist") else predictions
    return [list(each) if isinstance(each, tuple) else each for each in as_lists]


def vectors_of(wce):
    """Return what embeddings are and make of `TEXTS`; ends by adding documents to them."""
    found = {
        "terms": wce.terms_,
        "classes": wce.classes_,
        "columns": wce.columns_,
        "vectors": wce.vectors_.tolist(),
        "transformed": wce.transform(TEXTS).tolist(),
        "top_terms": [[term, float(x)] for term, x in wce.top_terms(wce.classes_[0], 5)],
        "profile": [[label, float(x)] for label, x in wce.profile("moon")],
    }
    labels = [wce.classes_[k % 2] for k in range(len(TEXTS))]
    many = [[label] for label in labels]
    wce.partial_fit(TEXTS, many if wce.learned_.codeframe.is_multilabel else labels)
    return {**found, "terms_added": wce.terms_, "vectors_added": wce.vectors_.tolist()}


def main():
    if metadata.version("wordclass") != "0.1.0":
        raise SystemExit("these files tell what version 0.1.0 wrote; this is a later one")
    expected = {"texts": TEXTS, "models": {}, "embeddings": {}}
    for name, model, _, scores in models():
        model.save(HERE / "models" / name, scores=scores)
        expected["models"][name] = {"scores_kept": scores or {}, **answers(model)}
    (HERE / "embeddings").mkdir(exist_ok=True)
    for name, wce in embeddings():
        wce.save(HERE / "embeddings" / f"{name}.wce")
        expected["embeddings"][name] = vectors_of(wce)
    U = vectors()
    U.save(HERE / "vectors.npz")
    expected["vectors"] = {"terms": list(U.terms), "matrix": U.matrix.tolist()}
    (HERE / "expected.json").write_text(json.dumps(expected), encoding="utf-8")


if __name__ == "__main__":
    main()
