"""Which classes are taken for which: a picture of the confusion matrix."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wordclass import naming, storage
from wordclass.arrays import Floats, Ints
from wordclass.corpus import Label
from wordclass.errors import InputError

_MOST = 40  # classes that are drawn all
_CHOSEN = 30  # of more classes, the most confused


def draw(
    path: Path, true: Sequence[Any], predicted: Sequence[Any], classes: Sequence[Label]
) -> None:
    """Draw a row a true class and a column a predicted one, shares of the row in the cells.

    Of more than 40 classes, the 30 with most documents on the wrong side are drawn. Labels outside
    the classes are left out.
    """
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"{path}: a picture ends in .png, .pdf or .svg")
    counts = confusion_counts(true, predicted, classes)
    chosen = most_confused(counts)
    shares = row_shares(counts)[np.ix_(chosen, chosen)]
    _draw(path, shares, [str(classes[j]) for j in chosen], len(classes))


def confusion_counts(
    true: Sequence[Any], predicted: Sequence[Any], classes: Sequence[Label]
) -> Ints:
    """Count documents (m, m) by true and predicted class."""
    column = {label: j for j, label in enumerate(classes)}
    counts = np.zeros((len(classes), len(classes)), np.int64)
    for given, found in zip(true, predicted, strict=True):
        if given in column:
            counts[column[given], column[found]] += 1
    return counts


def most_confused(counts: Ints) -> list[int]:
    """Return the classes to draw, in their order."""
    if len(counts) <= _MOST:
        return list(range(len(counts)))
    wrong = counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)
    return sorted(np.argsort(-wrong, kind="stable")[:_CHOSEN].tolist())


def row_shares(counts: Ints) -> Floats:
    """Divide each row by its sum; a class without documents has zeros."""
    totals = counts.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
    return shares


def _draw(path: Path, shares: Floats, names: list[str], n_classes: int) -> None:
    naming.extra("matplotlib", "to draw a picture")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    n_shown = len(names)
    size = 3.0 + 0.36 * n_shown
    figure = Figure(figsize=(size + 1, size), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    image = axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    axes.set_xticks(range(n_shown), [_short(name) for name in names], rotation=90)
    axes.set_yticks(range(n_shown), [_short(name) for name in names])
    axes.set_xlabel("predicted class")
    axes.set_ylabel("true class")
    for (row, column), share in np.ndenumerate(shares):
        if share >= 0.01:
            color = "white" if share > 0.5 else "black"
            label = f"{100 * share:.0f}"
            axes.text(column, row, label, ha="center", va="center", color=color, fontsize=7)
    figure.colorbar(image, ax=axes, shrink=0.6, label="share of the true class")
    axes.set_title(
        "Percent of each true class by predicted class"
        + (f": the {n_shown} most confused of {n_classes}" if n_shown < n_classes else "")
    )
    with storage.replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lower()[1:], dpi=130)


def _short(name: str) -> str:
    plain = name.replace("$", r"\$").encode("utf-8", "replace").decode("utf-8")
    return plain if len(plain) <= 28 else plain[:27] + "…"
