"""`linear` from end to end, its solver alone, and prediction: against scikit-learn and fastText.

Four parts, each left out with `--without`: "commands" compares the CPU time of `wordclass train`
and `evaluate` with that of scikit-learn's usual search; "solver" compares our solver with LinearSVC
on the same matrix; "one_text" compares the prediction of a single short text with that of
scikit-learn's pipeline; "prediction" compares documents per second, from raw text, with fastText's
own, on the arXiv abstracts of WORDCLASS_DATA.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import fasttext
import measuring
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import wordclass as wc
from wordclass.corpus.labels import encode_labels
from wordclass.linear.one_vs_rest import OneVsRest
from wordclass.linear.problem import Costs, Features, Problem

PARTS = ("commands", "solver", "one_text", "prediction")
VALUES_OF_C = np.array([0.03, 0.1, 0.3, 1.0, 3.0])  # those that `linear` would try
N_FOLDS = 5
_HOME = measuring.ROOT / ".cache" / "tests-home"
_ARXIV = measuring.DATA / "arxiv_abstracts_120k.jsonl.zst"


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="?", help="a file with two parts; default: docstrings")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--without", nargs="*", default=[], choices=PARTS)
    parser.add_argument("--peer", type=int, help=argparse.SUPPRESS)  # the peer's own process
    arguments = parser.parse_args()
    if arguments.peer is not None:
        train_with_scikit_learn(arguments.corpus, arguments.peer)
        return
    measured: dict[str, object] = {}
    if "commands" not in arguments.without:
        measured["commands"] = compare_commands(arguments.corpus)
    if "solver" not in arguments.without:
        measured["solver"] = compare_solvers(arguments.corpus, arguments.repeats)
    if "one_text" not in arguments.without:
        measured["one_text"] = compare_one_text(arguments.corpus, arguments.repeats)
    if "prediction" not in arguments.without and _ARXIV.exists():
        measured["prediction"] = compare_prediction(arguments.repeats)
    measuring.print_result("linear", **measured)


# --- the commands, in processes of their own -------------------------------------------------


def compare_commands(corpus: str | None) -> dict[str, object]:
    """Compare CPU seconds, start of Python and reading of files included."""
    data = corpus or "dataset:docstrings"
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model")
        train = cpu_seconds("-m", "wordclass", "train", data, "-o", model, "--quiet")
        evaluate = cpu_seconds("-m", "wordclass", "evaluate", model, data, "--json", "--quiet")
        settings = wc.load(model)
        scored = settings.settings_ | {"min_docs": settings.min_docs}
    peer = cpu_seconds(__file__, *([corpus] if corpus else []), "--peer", str(scored["min_docs"]))
    ours = train + evaluate
    return {
        "cpu_seconds": {"train": train, "evaluate": evaluate, "scikit_learn": peer},
        "vs_scikit_learn": peer / ours,
        "settings": scored,
    }


def cpu_seconds(*arguments: str) -> float:
    """Run Python, and return the CPU time it took."""
    environment = {**os.environ, "WORDCLASS_HOME": str(_HOME)}
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, env=environment
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(arguments)}")
    return used.ru_utime + used.ru_stime


def train_with_scikit_learn(corpus: str | None, min_docs: int) -> None:
    """Do what a user of scikit-learn does: tf-idf with bigrams, a search for C, a score."""
    train, test = both_parts(corpus)
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=min_docs, sublinear_tf=True)
    X = vectorizer.fit_transform(train.texts)
    search = GridSearchCV(LinearSVC(), {"C": VALUES_OF_C}, cv=N_FOLDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the largest C
        search.fit(X, train.labels)
    print(search.score(vectorizer.transform(test.texts), test.labels), file=sys.stderr)


def both_parts(corpus: str | None) -> tuple[wc.LabelledCorpus, wc.LabelledCorpus]:
    """Return the training and the test part."""
    if corpus is None:
        dataset = wc.load_dataset("docstrings", home=_HOME)
        return dataset.train, dataset.test
    return wc.read_corpus(corpus, split="train"), wc.read_corpus(corpus, split="test")


# --- the solver ------------------------------------------------------------------------------


def compare_solvers(corpus: str | None, repeats: int) -> dict[str, object]:
    """Compare CPU seconds on the same X, C and costs, one thread."""
    train = measuring.training_corpus(corpus)
    X = wc.DocumentVectorizer().fit_transform(train.texts)
    labels = encode_labels(train.labels)
    costs = Costs.equal(*labels.Y.shape)
    y = labels.Y.indices
    peer = LinearSVC(C=1.0)

    def solve() -> np.ndarray:
        return OneVsRest(Problem(Features.of(X), labels.Y, costs)).solve(1.0).weights

    contestants = {"wordclass": solve, "scikit_learn": lambda: peer.fit(X, y).coef_}
    ours, theirs = (run() for run in contestants.values())
    seconds = measuring.best_seconds(contestants, repeats)
    same = ((X @ ours).argmax(axis=1) == (X @ theirs.T).argmax(axis=1)).mean()
    return {
        "n_docs": X.shape[0],
        "n_terms": X.shape[1],
        "n_classes": labels.Y.shape[1],
        "seconds": seconds,
        "vs_scikit_learn": seconds["scikit_learn"] / seconds["wordclass"],
        "equal_predictions": float(same),
    }


# --- prediction ------------------------------------------------------------------------------


def compare_one_text(corpus: str | None, repeats: int) -> dict[str, object]:
    """Compare the CPU milliseconds of predicting one short text, one thread."""
    train = measuring.training_corpus(corpus)
    text, n_times = " ".join(train.texts[0].split()[:12]), 300
    ours = wc.classifier("linear", ngrams=(1, 1), shrinkage=5, block_weight=0.1, C=0.3)
    ours.fit(train.texts, train.labels)
    theirs = make_pipeline(TfidfVectorizer(min_df=2, sublinear_tf=True), LinearSVC())
    theirs.fit(train.texts, train.labels)
    models = {"wordclass": ours, "scikit_learn": theirs}
    seconds = measuring.best_seconds(
        {
            name: lambda model=model: [model.predict([text]) for _ in range(n_times)]
            for name, model in models.items()
        },
        repeats,
    )
    return {
        "cpu_milliseconds": {name: 1000 * each / n_times for name, each in seconds.items()},
        "vs_scikit_learn": seconds["scikit_learn"] / seconds["wordclass"],
    }


def compare_prediction(repeats: int) -> dict[str, object]:
    """Compare documents per second, one thread; both get the texts as they are in the file."""
    train, test = both_parts(str(_ARXIV))
    start = time.perf_counter()
    ours = wc.classifier("linear", n_jobs=2).fit(train.texts, train.labels)
    train_seconds = time.perf_counter() - start
    ours.scorer_.vectorizer.n_jobs = 1
    theirs = fasttext_model(train)
    lines = [one_line(text) for text in test.texts]
    contestants = {
        "wordclass": lambda: ours.predict(test.texts),
        "fasttext": lambda: theirs.predict(lines),
    }
    seconds = measuring.best_seconds(contestants, repeats)
    per_second = {name: len(test) / spent for name, spent in seconds.items()}
    return {
        "n_docs": len(test),
        "docs_per_second": per_second,
        "vs_fasttext": per_second["wordclass"] / per_second["fasttext"],
        "train_seconds": train_seconds,
        "settings": ours.settings_,
    }


def fasttext_model(train: wc.LabelledCorpus) -> fasttext.FastText._FastText:
    """Train fastText for one epoch: how good it is does not change how fast it is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        with path.open("w", encoding="utf-8") as file:
            for text, label in zip(train.texts, train.labels, strict=True):
                file.write(f"__label__{label} {one_line(text)}\n")
        return fasttext.train_supervised(str(path), epoch=1, thread=1, verbose=0)


def one_line(text: str) -> str:
    """Return a text as fastText takes it."""
    return " ".join(text.split())


if __name__ == "__main__":
    main()
