"""docs/network-results.md: the networks on real data beside the paper's numbers."""

from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np
from results_page import pair, table, told

Record = dict[str, Any]
Groups = dict[tuple[str, ...], list[Record]]  # corpus, network, variant, protocol -> seeds

# macro and micro F1 of the paper's two tables of results, with GloVe of 300 dimensions
PAPER = {
    ("20ng", "cnn", "random"): (0.636, 0.644),
    ("20ng", "cnn", "glove"): (0.670, 0.684),
    ("20ng", "cnn", "glove trainable"): (0.691, 0.703),
    ("20ng", "cnn", "glove+random"): (0.696, 0.707),
    ("20ng", "cnn", "glove+wce"): (0.703, 0.715),
    ("20ng", "cnn", "glove+wce trainable"): (0.706, 0.717),
    ("20ng", "lstm", "glove"): (0.624, 0.633),
    ("20ng", "lstm", "glove+wce"): (0.652, 0.661),
    ("20ng", "attention", "glove"): (0.624, 0.634),
    ("20ng", "attention", "glove+wce"): (0.682, 0.691),
    ("reuters", "cnn", "glove"): (0.505, 0.848),
    ("reuters", "cnn", "glove+wce"): (0.600, 0.858),
}
_INTRODUCTION = """\
# Networks on real data

Made by `make network-results` (`benchmarks/network_results.py`); do not edit. Vectors are GloVe 6B
of 100 dimensions, the paper's have 300. 128 channels, 256 hidden units, one thread, no GPU. *Final*
is the model that users get. *Chosen epoch* has the weights with the best validation score, before
the mean that the CNN keeps and before the last epoch, which is one on all texts, or, in the paper's
protocol, on the validation texts alone. Test scores of single epochs were recorded for this page;
nothing was chosen by them. LSTM and attention were stopped after ten epochs. Numbers are means over
the seeds.
"""
_HEADS = (
    "corpus", "network", "vectors", "protocol", "seeds", "paper (300 d)", "final macro / micro F1",
    "chosen epoch: validation", "test", "distance", "test after 2 epochs", "epochs",
    "CPU s an epoch",
)  # fmt: skip


def page(kept: dict[str, Record]) -> str:
    """Write the page from what there is."""
    groups = _groups(list(kept.values()))
    parts = [_INTRODUCTION, _origin(list(kept.values()))]
    parts.append(table(_HEADS, [_cells(key, records) for key, records in groups.items()]))
    parts.append("*CPU s an epoch* has the scoring of validation and test texts in it.\n")
    parts.append("## Reached, or not\n")
    parts.append(table(("what", "measured", ""), _verdicts(groups)))
    return "\n".join(parts)


def _groups(records: list[Record]) -> Groups:
    def key(record: Record) -> tuple[str, ...]:
        return tuple(record[name] for name in ("corpus", "network", "variant", "protocol"))

    return {name: list(own) for name, own in groupby(sorted(records, key=key), key)}


def _cells(key: tuple[str, ...], records: list[Record]) -> tuple[str, ...]:
    validation, test = _chosen(records)
    n_epochs = sum(len(each["history"]) for each in records)
    return (
        *key,
        ", ".join(str(each["seed"]) for each in records),
        pair(PAPER.get(key[:3], ()), 3),
        pair(_final(records)),
        *(pair((value,)) for value in (validation, test, validation - test)),
        pair((_after(records, 2),)),
        f"{n_epochs / len(records):.0f}",
        f"{sum(each['cpu_seconds'] for each in records) / n_epochs:.1f}",
    )


def _final(records: list[Record]) -> tuple[float, float]:
    found = np.array([[each["macro_f1"], each["micro_f1"]] for each in records]).mean(axis=0)
    return float(found[0]), float(found[1])


def _chosen(records: list[Record]) -> tuple[float, float]:
    """Return validation and test macro F1 of the epoch that validation chose."""
    pairs = []
    for each in records:
        best = each["best_epoch"]
        pairs.append((each["history"][best - 1]["macro_f1"], each["test_macro"][str(best)]))
    validation, test = np.mean(pairs, axis=0)
    return float(validation), float(test)


def _after(records: list[Record], n_epochs: int) -> float:
    """Return the test macro F1 after some epochs."""
    return float(np.mean([each["test_macro"][str(n_epochs)] for each in records]))


def _verdicts(groups: Groups) -> list[tuple[str, str, str]]:
    cnn, reuters = ("20ng", "cnn"), ("reuters", "cnn")
    found = [
        _least("20ng CNN, GloVe+WCE, final macro", groups, (*cnn, "glove+wce"), 0, 0.675),
        _ahead("20ng CNN, GloVe+WCE over GloVe, final macro", groups, cnn, 0.04, _macro),
        _ahead("the same after 2 epochs", groups, cnn, 0.10, lambda own: _after(own, 2)),
        _least("Reuters CNN, GloVe+WCE, final macro", groups, (*reuters, "glove+wce"), 0, 0.56),
        _least("Reuters CNN, GloVe+WCE, final micro", groups, (*reuters, "glove+wce"), 1, 0.85),
        _ahead("Reuters CNN, GloVe+WCE over GloVe, final macro", groups, reuters, 0.03, _macro),
        _distance(groups),
    ]
    for network in ("lstm", "attention"):
        for n_epochs in (2, 5, 10):
            what = f"20ng {network}, GloVe+WCE over GloVe, test macro after {n_epochs} epochs"
            found.append(
                _ahead(what, groups, ("20ng", network), 0.0, lambda own, n=n_epochs: _after(own, n))
            )
    return found


def _macro(records: list[Record]) -> float:
    return _final(records)[0]


def _least(
    what: str, groups: Groups, name: tuple[str, ...], place: int, wanted: float
) -> tuple[str, str, str]:
    records = groups.get((*name, "clean"))
    values = (_final(records)[place],) if records else ()
    return (
        f"{what} at least {wanted:g}",
        pair(values),
        told(bool(values) and values[0] >= wanted, values),
    )


def _ahead(
    what: str,
    groups: Groups,
    name: tuple[str, ...],
    margin: float,
    of: Callable[[list[Record]], float],
) -> tuple[str, str, str]:
    both = [groups.get((*name, variant, "clean")) for variant in ("glove+wce", "glove")]
    values = tuple(of(records) for records in both if records) if all(both) else ()
    is_ahead = bool(values) and values[0] - values[1] >= margin
    return f"{what}: by {margin:g}", pair(values), told(is_ahead, values)


def _distance(groups: Groups) -> tuple[str, str, str]:
    what = "20ng CNN, seed 1: distance of validation and test at most half of the paper protocol's"
    both = [
        [
            each
            for each in groups.get(("20ng", "cnn", "glove+wce", protocol), ())
            if each["seed"] == 1
        ]
        for protocol in ("clean", "paper")
    ]
    if not all(both):
        return what, "", told(False, ())
    clean, paper = (_chosen(records) for records in both)
    distances = clean[0] - clean[1], paper[0] - paper[1]
    return what, pair(distances), told(distances[0] <= distances[1] / 2, distances)


def _origin(records: list[Record]) -> str:
    dates = sorted({each["date"][:10] for each in records})
    versions = "; ".join(sorted({each["versions"] for each in records}))
    commits = ", ".join(sorted({each["commit"] for each in records}))
    return f"Measured: {' to '.join(dict.fromkeys(dates))}. With: {versions}. Commits: {commits}.\n"
