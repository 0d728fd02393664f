"""Draw the pictures of the documentation from real corpora and results.

`python docs/make_pictures.py [NAME...]` writes docs/pictures/NAME.png. It needs 20 Newsgroups in
the folder of WORDCLASS_DATA, the extra plots, and the runs in results/.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox

import wordclass as wc
from wordclass.arrays import Floats, Ints
from wordclass.corpus.reader import LabelledCorpus

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
RUNS = DOCS.parent / "results" / "runs.jsonl"

INK = "#1b1f24"
BLUE, ORANGE, GREEN, GRAY = "#2166ac", "#d6604d", "#1b7837", "#8a929a"
HALO = [withStroke(linewidth=2.5, foreground="white")]
STYLE = {
    "font.size": 10, "axes.edgecolor": GRAY, "axes.labelcolor": INK, "text.color": INK,
    "xtick.color": INK, "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False,
    "figure.dpi": 150, "savefig.bbox": "tight",
}  # fmt: skip

EIGHT_TEXTS = [
    "the rocket reached orbit",
    "a new moon orbit for the probe",
    "the probe photographed the moon",
    "roses need water and sun",
    "water the roses in the morning",
    "the soil under the roses is dry",
    "boil the water and add salt",
    "add salt and pepper to the soup",
]
EIGHT_LABELS = ["space"] * 3 + ["garden"] * 3 + ["kitchen"] * 2

# four classes that everybody knows, for the picture of the README
SHOWN_CLASSES = ["sci.space", "rec.sport.hockey", "rec.motorcycles", "sci.crypt"]

TRAINING_SIZES = {5: "newsgroups20@5", 15: "newsgroups20@15", 50: "newsgroups20@50",
                  150: "newsgroups20@150"}  # fmt: skip
LEARNERS = {
    "linear": ("linear", "default", BLUE, "o"),
    "SVM on tf-idf": ("svm", "tfidf", GRAY, "s"),
    "SVM on GloVe and word-class vectors": ("svm", "vectors+wce", GREEN, "^"),
    "SVM on GloVe": ("svm", "vectors", ORANGE, "D"),
}


def read_newsgroups() -> tuple[LabelledCorpus, LabelledCorpus]:
    """Return the training and test documents of 20 Newsgroups."""
    dataset = wc.load_dataset("newsgroups20")
    return dataset.train, dataset.test


# --- pictures -----------------------------------------------------------------------------------


def draw_eight_documents() -> None:
    """Draw the scores of the worked example as a table of colors."""
    embeddings = wc.WordClassEmbeddings(min_docs=2).fit(EIGHT_TEXTS, EIGHT_LABELS)
    columns = [embeddings.classes_.index(name) for name in ("space", "garden", "kitchen")]
    order = sorted(
        range(len(embeddings.terms_)),
        key=lambda row: (int(embeddings.vectors_[row, columns].argmax()), embeddings.terms_[row]),
    )
    scores = embeddings.vectors_[np.ix_(order, columns)]
    _, axes = plt.subplots(figsize=(4.2, 4.2))
    axes.imshow(scores, cmap="RdBu_r", vmin=-2.2, vmax=2.2, aspect="auto")
    for (row, column), score in np.ndenumerate(scores):
        color = "white" if abs(score) > 1.4 else INK
        axes.text(column, row, f"{score:+.2f}", ha="center", va="center", color=color)
    axes.set_xticks(range(3), ["space", "garden", "kitchen"])
    axes.set_yticks(range(len(order)), [embeddings.terms_[row] for row in order])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    save("eight-documents")


def draw_words() -> None:
    """Draw the highest-scoring words of four newsgroups."""
    train, _ = read_newsgroups()
    embeddings = wc.WordClassEmbeddings(shrinkage=20).fit(train.texts, train.labels)
    figure, panels = plt.subplots(1, 4, figsize=(11, 2.7))
    for axes, name in zip(panels, SHOWN_CLASSES, strict=True):
        terms, scores = zip(*embeddings.top_terms(name, n=8), strict=True)
        axes.barh(range(8), scores, color=BLUE, height=0.7)
        axes.set_yticks(range(8), terms)
        axes.invert_yaxis()
        axes.set_title(name, loc="left", weight="bold", size=11)
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0, 16)
    figure.supxlabel("score: standard deviations above the average word", size=10)
    figure.tight_layout()
    save("words")


def draw_term_map() -> None:
    """Place the most frequent words of 20 Newsgroups by t-SNE of their word-class vectors."""
    from openTSNE import TSNE

    train, _ = read_newsgroups()
    embeddings = wc.WordClassEmbeddings(shrinkage=20, min_docs=40).fit(train.texts, train.labels)
    vectors = embeddings.vectors_
    columns = vectors.argmax(axis=1)
    strengths = vectors.max(axis=1)
    map_ = TSNE(metric="cosine", random_state=0, n_jobs=1, perplexity=40).fit(vectors)
    places = np.asarray(map_)
    colors = mpl.colormaps["tab20"](np.linspace(0, 1, len(embeddings.classes_)))

    _, axes = plt.subplots(figsize=(10, 7.6))
    is_strong = strengths > 2
    for chosen, size, alpha in [(~is_strong, 5, 0.35), (is_strong, 13, 0.9)]:
        axes.scatter(
            *places[chosen].T, c=colors[columns[chosen]], s=size, alpha=alpha, linewidths=0
        )
    axes.set_axis_off()
    label_boxes: list[Bbox] = []
    for column, name in enumerate(embeddings.classes_):
        members = np.flatnonzero((columns == column) & is_strong)
        members = members[np.argsort(-strengths[members])][:12]
        words = ", ".join(embeddings.terms_[member] for member in members[:3])
        place = np.median(places[members], axis=0)
        write_class(axes, place, name, words, 0.6 * colors[column][:3], label_boxes)
    save("term-map")


def write_class(
    axes: Axes, place: Floats, name: str, words: str, color: Floats, label_boxes: list[Bbox]
) -> None:  # fmt: skip
    """Write the name and the words of a class, below earlier labels if they would overlap."""
    style: dict[str, Any] = {"path_effects": HALO, "ha": "center"}
    texts = [
        axes.text(*place, name, size=9.5, weight="bold", color=color, va="bottom", **style),
        axes.text(*place, words, size=7.5, color=INK, va="top", **style),
    ]
    box = Bbox.union([text.get_window_extent() for text in texts])
    while any(box.overlaps(earlier) for earlier in label_boxes):
        for text in texts:
            x, y = text.get_position()
            text.set_position((x, y - 1))
        box = Bbox.union([text.get_window_extent() for text in texts])
    label_boxes.append(box)


def draw_learning_curve() -> None:
    """Draw macro F1 by the number of training texts per class."""
    runs = [json.loads(line) for line in RUNS.read_text(encoding="utf-8").splitlines()]
    _, axes = plt.subplots(figsize=(6.5, 4))
    for label, (learner, variant, color, marker) in LEARNERS.items():
        scores = [scores_of(runs, name, learner, variant) for name in TRAINING_SIZES.values()]
        means = [np.mean(values) for values in scores]
        deviations = [np.std(values) for values in scores]
        axes.errorbar([*TRAINING_SIZES], means, deviations, label=label, color=color,
                      marker=marker, capsize=3)  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks([*TRAINING_SIZES], [str(size) for size in TRAINING_SIZES])
    axes.minorticks_off()
    axes.set_xlabel("training texts per class (three draws; bars: standard deviation)")
    axes.set_ylabel("macro F1 on the test texts")
    axes.set_ylim(0, 0.75)
    axes.grid(axis="y", color="#e4e7ea")
    axes.set_axisbelow(True)
    axes.legend(frameon=False, loc="lower right")
    save("learning-curve")


def scores_of(
    runs: Sequence[dict[str, Any]], dataset: str, learner: str, variant: str
) -> list[float]:
    """Return the macro F1 of the runs of a learner on a dataset."""
    return [
        run["scores"]["macro_f1"]
        for run in runs
        if run["plan"] == "training_sizes"
        and (run["dataset"], run["learner"], run["variant"]) == (dataset, learner, variant)
    ]


def draw_calibration_and_confusion() -> None:
    """Draw how reliable the probabilities of `linear` are, and which classes it confuses."""
    train, test = read_newsgroups()
    model = wc.classifier("linear").fit(train.texts, train.labels)
    probabilities = model.predict_proba(test.texts)
    columns = {name: column for column, name in enumerate(model.classes_)}
    truth = np.array([columns[label] for label in test.labels])
    draw_calibration(probabilities, truth)
    draw_confusion(probabilities.argmax(axis=1), truth, [*columns])


def draw_calibration(probabilities: Floats, truth: Ints) -> None:
    """Draw the share of right predictions by the predicted probability."""
    best = probabilities.max(axis=1)
    is_right = probabilities.argmax(axis=1) == truth
    edges = np.linspace(0, 1, 11)
    bins = np.clip(np.digitize(best, edges) - 1, 0, 9)
    filled = [number for number in range(10) if (bins == number).sum() >= 20]
    x = [best[bins == number].mean() for number in filled]
    y = [is_right[bins == number].mean() for number in filled]
    sizes = [(bins == number).sum() for number in filled]
    figure, (axes, counts) = plt.subplots(
        2, 1, figsize=(4.6, 5.4), sharex=True, height_ratios=[4, 1]
    )
    axes.plot([0, 1], [0, 1], color=GRAY, linestyle="--", label="exactly right")
    axes.plot(x, y, color=BLUE, marker="o", label="linear")
    axes.set_ylabel("share of right predictions")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.legend(frameon=False, loc="upper left")
    counts.bar(x, sizes, width=0.07, color=BLUE)
    counts.set_ylabel("texts")
    counts.set_xlabel("probability of the predicted class")
    figure.tight_layout()
    save("calibration")


def draw_confusion(predicted: Ints, truth: Ints, names: Sequence[str]) -> None:
    """Draw the share of each true class that is predicted as each class."""
    counts = np.zeros((len(names), len(names)))
    np.add.at(counts, (truth, predicted), 1)
    shares = counts / counts.sum(axis=1, keepdims=True)
    _, axes = plt.subplots(figsize=(8.4, 7.6))
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), share in np.ndenumerate(shares):
        if share >= 0.03:
            color = "white" if share > 0.5 else INK
            axes.text(column, row, f"{100 * share:.0f}", ha="center", va="center", size=7,
                      color=color)  # fmt: skip
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right", size=8)
    axes.set_yticks(range(len(names)), names, size=8)
    axes.set_xlabel("predicted class (percent of the true class; below 3 not shown)")
    axes.set_ylabel("true class")
    axes.tick_params(length=0)
    save("confusion")


def save(name: str) -> None:
    """Write the current figure and close it."""
    PICTURES.mkdir(exist_ok=True)
    plt.savefig(PICTURES / f"{name}.png")
    plt.close()


DRAWINGS: dict[str, Callable[[], None]] = {
    "eight-documents": draw_eight_documents,
    "words": draw_words,
    "term-map": draw_term_map,
    "learning-curve": draw_learning_curve,
    "calibration-and-confusion": draw_calibration_and_confusion,
}


def main() -> None:
    """Draw the pictures that are named, by default all."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(DRAWINGS))
    names = parser.parse_args().names or [*DRAWINGS]
    mpl.use("agg")
    mpl.rcParams.update(STYLE)
    for name in names:
        DRAWINGS[name]()


if __name__ == "__main__":
    main()
