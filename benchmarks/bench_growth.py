"""How cost grows: `linear` with more documents, classes and terms, beside LIBLINEAR and fastText.

CPU seconds of training from raw text, one thread each, in one run. Documents: the first 6,000 to
96,000 arXiv abstracts of WORDCLASS_DATA, with the micro F1 of 5,000 of its test part beside them.
Terms: 12,000 of them, with rarer words, then pairs of words. Classes: made-up documents
(`synthetic.class_documents`), flat. An exponent is the slope of the logarithms from the second size
to the last.

    python benchmarks/bench_growth.py                       # one line of JSON
    python benchmarks/bench_growth.py --picture docs/figures/growth.png
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import measuring
import numpy as np
import synthetic
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import wordclass as wc

FIXED = {"ngrams": (1, 1), "characters": None, "shrinkage": 5.0, "block_weight": 0.1, "C": 0.3}
GIVEN = "linear, settings given"
TERMS = (((1, 1), 20), ((1, 1), 5), ((1, 1), 1), ((1, 2), 2), ((1, 2), 1))
_ARXIV = measuring.DATA / "arxiv_abstracts_120k.jsonl.zst"
_N_TESTED = 5_000

Labels = Sequence[str] | Sequence[list[str]]
Predict = Callable[[list[str]], Sequence[str]]
Sizes = Mapping[int, float]  # what was measured at each size


def main() -> None:
    """Measure, and draw what was measured where a picture is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--docs", type=int, nargs="*", default=[6_000, 12_000, 24_000, 48_000, 96_000]
    )
    parser.add_argument("--classes", type=int, nargs="*", default=[250, 500, 1_000, 2_000])
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    curves = {"classes": {GIVEN: by_classes(given.classes)}}
    if _ARXIV.exists():
        curves |= {"terms": {GIVEN: by_terms()}, "documents": by_documents(given.docs)}
    if given.picture is not None:
        draw(curves, given.picture)
    measuring.print_result(
        "growth",
        cpu_seconds=curves,
        exponents={
            what: {name: exponent(sizes) for name, sizes in own.items()}
            for what, own in curves.items()
        },
    )


def by_documents(n_docs: Sequence[int]) -> dict[str, Sizes]:
    """Measure everyone on more and more abstracts; the scores are printed as they come."""
    train, test = (wc.read_corpus(_ARXIV, split=split) for split in ("train", "test"))
    tested, true = test.texts[:_N_TESTED], test.labels[:_N_TESTED]
    order = np.random.default_rng(0).permutation(len(train.texts))
    measured: dict[str, dict[int, float]] = {name: {} for name in CONTESTANTS}
    for n in n_docs:
        rows = order[:n]
        texts, labels = [train.texts[k] for k in rows], [train.labels[k] for k in rows]
        for name, learn in CONTESTANTS.items():
            start = time.process_time()
            predict = learn(texts, labels)
            measured[name][n] = time.process_time() - start
            scores = wc.evaluate(true, predict(tested), classes=sorted({*labels}))
            print(
                f"{n} {name}: {measured[name][n]:.1f} s, micro F1 {scores.micro_f1:.3f}", flush=True
            )
    return measured


def learn_linear(texts: list[str], labels: Sequence[str]) -> Predict:
    """Learn with settings chosen inside `fit`."""
    return wc.classifier("linear").fit(texts, labels).predict  # type: ignore[no-any-return]


def learn_liblinear(texts: list[str], labels: Sequence[str]) -> Predict:
    """Learn by scikit-learn: tf-idf of words and LinearSVC, with one C."""
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
    return make_pipeline(vectorizer, LinearSVC(class_weight="balanced")).fit(texts, labels).predict  # type: ignore[no-any-return]


def learn_fasttext(texts: list[str], labels: Sequence[str]) -> Predict:
    """Learn as fastText's tutorial does, but for pairs of words."""
    import fasttext

    lines = [" ".join(text.split()) for text in texts]
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(
            f"__label__{label} {line}\n" for label, line in zip(labels, lines, strict=True)
        )
        file.flush()
        model = fasttext.train_supervised(file.name, epoch=25, lr=0.5, thread=1, verbose=0)

    def predict(tested: list[str]) -> list[str]:
        found, _ = model.predict([" ".join(text.split()) for text in tested])
        return [marks[0].removeprefix("__label__") for marks in found]

    return predict


CONTESTANTS: dict[str, Callable[[list[str], Sequence[str]], Predict]] = {
    "linear, settings searched": learn_linear,
    "LIBLINEAR, C = 1": learn_liblinear,
    "fastText, 25 epochs": learn_fasttext,
}


def by_classes(n_classes: Sequence[int]) -> Sizes:
    """Measure flat models of 10,000 documents of more and more classes."""
    return {n: seconds(synthetic.class_documents(10_000, n)) for n in n_classes}


def by_terms() -> Sizes:
    """Measure models of 12,000 abstracts with more and more terms: rarer ones, then pairs."""
    train = wc.read_corpus(_ARXIV, split="train")
    texts, labels = train.texts[:12_000], train.labels[:12_000]
    measured = {}
    for ngrams, min_docs in TERMS:
        options = FIXED | {"ngrams": ngrams, "min_docs": min_docs}
        n_terms = len(
            wc.DocumentVectorizer(ngrams=ngrams, min_docs=min_docs).fit(texts).vocabulary_
        )
        measured[n_terms] = seconds((texts, labels), options)
    return measured


def seconds(corpus: tuple[list[str], Labels], options: Mapping[str, object] = FIXED) -> float:
    """Return the CPU seconds of a fit with settings given."""
    start = time.process_time()
    wc.classifier("linear", **options).fit(*corpus)
    return time.process_time() - start


def exponent(sizes: Sizes) -> float:
    """Return e of cost ~ size^e, from the second size to the last."""
    first, last = [*sizes][min(1, len(sizes) - 2)], [*sizes][-1]
    return float(np.log(sizes[last] / sizes[first]) / np.log(last / first))


def draw(curves: Mapping[str, Mapping[str, Sizes]], path: Path) -> None:
    """Draw CPU seconds by size, both as logarithms: a straight line is a power."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    figure = Figure(figsize=(11, 3.6), layout="constrained")
    for axes, (what, own) in zip(figure.subplots(1, len(curves)), curves.items(), strict=True):
        for name, sizes in own.items():
            axes.plot([*sizes], [*sizes.values()], "o-", label=f"{name}: n^{exponent(sizes):.2f}")
        axes.set(xscale="log", yscale="log", xlabel=what, ylabel="CPU seconds")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(ScalarFormatter())
            axis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.set_xticks(every := [*sizes], [f"{size / 1000:.3g}k" for size in every])
        axes.grid(which="both", alpha=0.2)
        axes.legend(fontsize=7)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
