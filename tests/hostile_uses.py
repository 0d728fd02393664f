"""Create valid files, and use modified ones in Python and in commands."""

import io
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
from made_up import corpus, multilabel_corpus

TEXTS, LABELS = corpus(24)
MULTILABEL = multilabel_corpus(24)
MORE = corpus(6, seed=1)
ASKED = [TEXTS[0], "orbit of the moon and a rose", "", "never seen 42", " ".join(TEXTS)]
NETWORK = {"min_docs": 2, "max_epochs": 1, "batch_size": 12, "seed": 3}
VECTORS = {"moon": [1.0, 2, 3], "rose": [4, 5, 6.5], "song": [-1, 0, 1], "tax": [0.5, 0, 2]}


class FailedError(Exception):
    """An unexpected error was raised, or an answer is wrong."""


def _texts_of(name):
    return MULTILABEL if name in ("linear", "lstm", "fasttext") else (TEXTS, LABELS)


def make_model(name, path):
    import wordclass as wc

    options = {
        "linear": {"C": 1.0, "ngrams": (1, 2), "class_weight": {"space": 2.0}},
        "linear-tree": {"classes": {"space": "sky", "music": "arts", "garden": "arts"}},
        "tree": {"hierarchy": {"space": "sky", "music": "arts", "garden": "arts"}},
        "nearest": {"min_docs": 2, "stop_words": ["the", "and"]},
        "svm": {"min_docs": 2, "C": 1.0, "features": "wce", "wce": {"min_docs": 2}},
        "fasttext": {"epochs": 5, "random_dims": 4},
        "cnn": {**NETWORK, "channels": 4, "windows": (1, 2)},
        "lstm": {**NETWORK, "hidden": 4, "wce": False, "random_dims": 4},
        "attention": {**NETWORK, "hidden": 4, "supervised_dropout": {"word_class": 0.2}},
        "leam": {**NETWORK, "window": 3, "wce": wc.WordClassEmbeddings(min_docs=2)},
    }[name]
    if name == "cnn":
        options["vectors"] = wc.WordVectors.of(VECTORS, list(VECTORS.values()))
    learned = wc.classifier(name.removesuffix("-tree"), **options).fit(*_texts_of(name))
    learned.fields_ = {"text_field": ["text"], "label_field": ["label"], "label_separator": ";"}
    learned.save(path, scores={"accuracy": 0.5, "holdout": {"share": 0.5, "seed": 3}})


def use_model(path, calls):
    import wordclass as wc
    from wordclass.cli.file_info import describe

    calls(describe, path)
    model = calls(wc.load, path)
    if model is None:
        return
    calls(model.predict, ASKED)
    is_tree = path.parent.parent.name in ("tree", "linear-tree")  # scores are logarithms
    for function in (model.predict_proba, model.decision_function, _top_scores(model)):
        check_finite(calls(function, ASKED), is_tree and function != model.predict_proba)
    calls(model.explain, ASKED[1])
    calls(
        lambda: [model.explanation(ASKED[1]).per_word(label) for label in model.classes_.tolist()]
    )
    calls(model.training_.n_shared, ASKED)
    calls(repr, model)
    calls(
        lambda: (model.save(path.parent / "again"), wc.load(path.parent / "again").predict(ASKED))
    )


def _top_scores(model):
    return lambda texts: model.top_classes(texts, 2)[1]


def check_finite(numbers, may_be_minus_infinity):
    """Fail if an accepted model returns invalid numbers."""
    if numbers is None:
        return
    is_sound = np.isfinite(numbers)
    if may_be_minus_infinity:
        is_sound |= np.isneginf(numbers)
    if not is_sound.all():
        raise FailedError(f"it predicts {numbers[~is_sound][:3]}")


COMMANDS = [
    ["info", "MODEL"],
    ["evaluate", "MODEL", "CORPUS"],
    ["evaluate", "MODEL", "CORPUS", "--holdout"],
    ["predict", "MODEL", "CORPUS", "--holdout", "--proba"],
    ["predict", "MODEL", "CORPUS", "--adjust-priors"],
    ["predict", "MODEL", "CORPUS", "-k", "2"],
    ["shares", "MODEL", "CORPUS", "--json"],
    ["explain", "MODEL", "orbit of the moon"],
]


def use_model_by_commands(path, calls):
    import wordclass as wc

    calls(wc.load, path)
    texts, labels = corpus(60)  # enough to tell the shares of classes
    rows = "".join(f'"{text}","{label}"\n' for text, label in zip(texts, labels, strict=True))
    data = path.parent / "corpus.csv"
    data.write_text(f"text,label\n{rows}", encoding="utf-8")
    names = {"MODEL": str(path), "CORPUS": str(data)}
    for command in COMMANDS:
        run_command([names.get(word, word) for word in command], calls)


def run_command(arguments, calls):
    """Run a command in this process. An error must be one line with status 1."""
    from wordclass.cli import main
    from wordclass.errors import WordClassError

    sys.argv = ["wordclass", *arguments]
    out, err = io.StringIO(), io.StringIO()
    status = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main.main()
        except SystemExit as stop:
            status = stop.code or 0
    lines = [line for line in err.getvalue().splitlines() if line.startswith("wordclass:")]
    if status not in (0, 1) or len(lines) != status or "out of memory" in err.getvalue():
        raise FailedError(f"{arguments[0]}: status {status}: {err.getvalue()[-300:]}")

    def raise_message():
        if status:
            raise WordClassError(lines[0])

    calls(raise_message)


EMBEDDINGS = {
    "wce": {},
    "wce-documents": {"keep_documents": True, "correlation": "ppmi"},
    "wce-projected": {"max_dims": 2, "shrinkage": 5.0},
    "wce-structural": None,  # a file of an older version
    "wce-multilabel": {"correlation": "information_gain"},
}


def make_embeddings(name, path):
    import wordclass as wc

    if EMBEDDINGS[name] is None:
        saved = Path(__file__).parent / "saved_with_removed_options" / "embeddings"
        shutil.copyfile(saved / "structural_documents.wce", path)
        return
    texts, labels = MULTILABEL if name == "wce-multilabel" else (TEXTS, LABELS)
    wc.WordClassEmbeddings(min_docs=2, **EMBEDDINGS[name]).fit(texts, labels).save(path)


def use_embeddings(path, calls):
    import wordclass as wc
    from wordclass.cli.file_info import describe

    load = wc.WordClassEmbeddings.load
    calls(describe, path)
    calls(wc.WordVectors.load, path)
    wce = calls(load, path)
    if wce is None:
        return
    texts, labels = MULTILABEL if wce.learned_.codeframe.is_multilabel else (TEXTS, LABELS)
    calls(wce.transform, ASKED)
    calls(lambda: [wce.top_terms(name) for name in wce.columns_])
    calls(lambda: [wce.profile(term) for term in [*wce.terms_, "never"]])
    calls(wce.to_word_vectors)
    calls(wce.save, path.with_name("again.wce"))
    calls(lambda: wc.EmbeddingMatrix.of(None, wce).index(ASKED))
    if wce.learned_.extra_columns:
        return  # such embeddings refuse updates
    calls(lambda: load(path).remove(texts[:2], labels[:2]).transform(ASKED))
    calls(lambda: load(path).remove(texts[:8], labels[:8]).top_terms("space"))
    calls(lambda: load(path).partial_fit(*MORE).transform(ASKED))
    calls(lambda: load(path).partial_fit(["new words"], ["new"]).profile("moon"))
    calls(lambda: load(path).merge(wce).save(path.with_name("merged.wce")))
    sound = path.parent.parent / "original" / path.name
    calls(lambda: load(path).merge(load(sound)).transform(ASKED))


def make_vectors(path):
    import wordclass as wc

    wc.WordVectors.of(VECTORS, list(VECTORS.values()), ["a", "b", 3]).save(path)


def make_cached_vectors(path):
    import wordclass as wc

    wc.WordVectors.of(VECTORS, list(VECTORS.values()), ["a", "b", 3]).save(path, "glove_text")
    wc.WordVectors.load(path, format="glove_text")


def use_vectors(path, calls, format=None):
    import wordclass as wc

    vectors = calls(wc.WordVectors.load, path, format=format)
    calls(wc.WordVectors.load, path, terms=["moon", "never"], format=format)
    if vectors is None:
        return
    for function in (vectors.get, vectors.nearest):
        calls(function, "moon")
    calls(vectors.nearest, vectors.matrix[0] + 1)
    calls(lambda: [vectors[term] for term in vectors])
    calls(lambda: vectors.get("unknownword"))
    calls(vectors.save, path.parent / "again.npz")
    calls(vectors.save, path.parent / "again.vec")
    calls(lambda: wc.EmbeddingMatrix.of(vectors).index(ASKED))
    calls(wc.classifier("svm", min_docs=2, C=1.0, features="vectors", vectors=vectors).fit,
          TEXTS, LABELS)  # fmt: skip


def tune(path):
    from wordclass.classifiers.tuning import tune

    grid = {"shrinkage": [0.0, 5.0], "ngrams": [(1, 1), (1, 2)]}
    return tune(TEXTS, LABELS, "nearest", grid=grid, options={"min_docs": 2}, journal=path)


def tune_linear(path):
    from wordclass.classifiers.tuning import tune

    fixed = {"ngrams": (1, 1), "C": 1.0, "block_weight": 0.1}
    grid = {"shrinkage": ["auto", 5.0]}
    return tune(TEXTS, LABELS, "linear", grid=grid, options=fixed, journal=path)


def use_journal(path, calls):
    search = calls(tune, path)
    if search is not None:
        calls(lambda: (search.to_dict(), search.ranked, search.model.predict(ASKED)))
        calls(search.model.save, path.parent / "tuned")


def use_linear_journal(path, calls):
    search = calls(tune_linear, path)
    if search is not None:
        calls(lambda: (search.to_dict(), search.ranked, search.model.predict(ASKED)))


class Killed(BaseException):
    """Ends a training half-way."""


def trained_from(path):
    import wordclass as wc

    options = {**NETWORK, "max_epochs": 3, "channels": 4, "windows": (1, 2), "trainable": True}
    return wc.classifier("cnn", **options, checkpoint=path).fit(TEXTS, LABELS)


def make_checkpoint(path):
    from wordclass.network.checkpoint import Checkpoint

    write = Checkpoint.write
    remaining = [2]

    def write_and_die(self, *arguments):
        write(self, *arguments)
        remaining[0] -= 1
        if not remaining[0]:
            raise Killed

    Checkpoint.write = write_and_die
    try:
        trained_from(path)
    except Killed:
        return
    finally:
        Checkpoint.write = write


def use_checkpoint(path, calls):
    model = calls(trained_from, path)
    if model is not None:
        calls(model.predict, ASKED)
        calls(model.save, path.parent / "trained")
