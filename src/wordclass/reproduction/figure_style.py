"""Style of all figures: colors, marks, readable names, legend, and file types."""

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator

from wordclass.explorer.pictures import save_figure
from wordclass.reproduction.cells import Row
from wordclass.storage import files

ENDINGS = ("png", "pdf", "svg")
PAGE_INCHES = 7.0
# The palette of Okabe and Ito is made for all kinds of color vision. In every figure, a color means
# one kind of vectors; rows without vectors are grey.
COLORS = {
    "tfidf": "#000000",
    "random": "#0072B2",
    "vectors": "#D55E00",
    "vectors-trainable": "#D55E00",
    "vectors+random": "#CC79A7",
    "wce": "#56B4E9",
    "vectors+wce": "#009E73",
    "vectors+wce-trainable": "#009E73",
    "fixed": "#9AA5B1",
}
OTHER_COLOR = "#5B6B7B"
COLOR_NAMES = {
    "#000000": "tf-idf",
    "#0072B2": "random vectors",
    "#D55E00": "vectors",
    "#CC79A7": "vectors + random columns",
    "#56B4E9": "WCEs",
    "#009E73": "vectors + WCEs",
}
# values of one option, from low to high
SHADES = ("#440154", "#3B528B", "#21918C", "#5EC962", "#A5740D", "#8C2D04")
DASHES = ("-", "--", "-.", ":")
_DATASET_NAMES = {
    "newsgroups20": "20 Newsgroups",
    "reuters21578": "Reuters-21578",
    "ohsumed20k": "Ohsumed (20,000)",
    "ohsumed_single23_7400": "Ohsumed (single label)",
    "banking77": "Banking77",
    "goemotions": "GoEmotions",
    "arxiv_abstracts_120k": "arXiv",
    "arxiv_categories": "arXiv (all categories)",
    "eurlex_triples_eurovoc_1504": "EUR-Lex",
    "goemotions_sentiment": "Sentiment",
}
_LEARNER_NAMES = {
    "svm": "SVM",
    "fasttext": "fastText",
    "cnn": "CNN",
    "lstm": "LSTM",
    "attention": "ATTN",
    "leam": "LEAM",
    "peer": "",  # the variant is the name of the package
}
VARIANT_NAMES = {
    "default": "",
    "tfidf": "tf-idf",
    "vectors-trainable": "vectors, trainable",
    "vectors+wce": "vectors+WCEs",
    "vectors+wce-trainable": "vectors+WCEs, trainable",
    "wce": "WCEs",
}
LEARNER_MARKERS = {
    "svm": "o",
    "fasttext": "s",
    "cnn": "^",
    "lstm": "v",
    "attention": "P",
    "leam": "X",
    "linear": "D",
    "nearest": "h",
    "peer": "*",
}
MARKERS = "osD^vPX*"
PUBLISHED: dict[str, Any] = {"marker": "|", "ms": 10, "mec": "black", "mew": 1.6, "ls": "none"}
STYLE: dict[Any, Any] = {
    "font.size": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 8,
    "figure.titlesize": 9,
    "axes.grid": True,
    "grid.color": "#e3e6ea",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 6.5,
    "legend.handletextpad": 0.4,
    "legend.columnspacing": 1.2,
    "text.parse_math": False,  # a dollar sign in a name is no formula
    "svg.hashsalt": "wordclass",  # the same figure gives the same file
    "pdf.fonttype": 42,
}


def save(figure: Figure, folder: Path, name: str, endings: Sequence[str] = ENDINGS) -> list[Path]:
    """Write a figure in several file types and return the paths."""
    paths = [folder / f"{file_stem(name)}.{ending}" for ending in endings]
    with files.as_storage_error(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        metadata = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(path.suffix)
        with rc_context(STYLE):
            save_figure(figure, path, dpi=160, metadata=metadata)
    return paths


def file_stem(name: str) -> str:
    """Return a name with hyphens for signs that file names should not have."""
    return re.sub(r"[^\w.+=-]+", "-", name)


def finish(figure: Figure, title: str, handles: Sequence[Line2D]) -> Figure:
    """Add title and legend, hide empty panels, and choose readable ticks of log axes."""
    lines = [textwrap.fill(line, 88) for line in title.replace("`", "").splitlines()]
    figure.suptitle("\n".join(lines), weight="bold", x=0.01, ha="left")
    longest = max(len(str(handle.get_label())) for handle in handles)
    n_columns = max(1, min(5, int(PAGE_INCHES * 18 / (longest + 7))))
    figure.legend(handles=handles, loc="outside lower center", ncols=n_columns)
    for panel in figure.axes:
        panel.set_visible(panel.has_data())
        for axis in (panel.xaxis, panel.yaxis):
            if axis.get_scale() == "log":
                low, high = axis.get_view_interval()
                wide = LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,))
                narrow = MaxNLocator(4, steps=[1, 2, 5, 10])
                axis.set_major_locator(narrow if high < 4 * low else wide)
                axis.set_major_formatter("{x:,g}")
                axis.set_minor_formatter("")
    return figure


def row_color(row: Row) -> str:
    """Return the color of a row, which means the vectors of its variant and settings."""
    if "+wce" in row[-1]:  # pretrained and word-class vectors in one set of vectors
        return COLORS["vectors+wce"]
    return COLORS.get(row[1] if len(row) > 1 else "", OTHER_COLOR)


def row_name(row: Row) -> str:
    """Return a readable name of a row: learner and variant, then protocol and settings."""
    if len(row) < 2 or row[0] not in LEARNER_MARKERS:
        return ", ".join(filter(None, row))
    learner, variant, *details = row
    readable = VARIANT_NAMES.get(variant, variant)
    if learner != "peer":
        readable = readable.replace("wce", "WCEs").replace("tfidf", "tf-idf")
    name = f"{learner_name(learner)} {readable}".strip()
    return ", ".join([name, *filter(None, details)])


def learner_name(learner: str) -> str:
    """Return the readable name of a learner."""
    return _LEARNER_NAMES.get(learner, learner)


def dataset_name(dataset: str) -> str:
    """Return a readable name of a data set, with selected classes and documents per class."""
    base, _, classes = dataset.partition(":")
    base, _, n_per_class = base.partition("@")
    name = _DATASET_NAMES.get(base, base)
    if classes:
        name += f": {classes.replace('+', ' + ')}"
    return f"{name}, {int(n_per_class):,} per class" if n_per_class else name
