"""docs/results.md: what was measured beside what was to be reached."""

from typing import Any

from results_rows import CORPORA, ROWS, Row

Results = dict[str, dict[str, Any]]  # by the name of the row

_PEERS = ("svm-tfidf", "svm-tfidf-all-terms", "fasttext")
_HEADS = (
    "row", "paper", "must reach", "macro F1", "micro F1", "training s", "its CPU s",
    "prediction s", "peak MB", "settings chosen on training data",
)  # fmt: skip
_INTRODUCTION = """\
# Results

Made by `make results` (`benchmarks/results.py`); do not edit. Every row was measured on the test
part once. Settings were chosen on training documents only: inside `fit` by `linear` and by the
paper's rows of `svm`, elsewhere by `wordclass.tune` on a fifth of them. F1 as in the paper:
multilabel macro F1 is over the whole codeframe, and 1 for a class without true, false or missed
positives; so a row that predicts nothing for the classes without test documents gains by it. A
second table leaves out those classes. Seconds are by the clock on the wall, without reading
files; the machine has two cores and no GPU, and is not always idle. *Peak MB* is the whole
process, corpus and vectors included. Vectors are GloVe 6B of 100 dimensions; the paper's have 300.
Sizes are training documents / test documents / classes.
"""


def page(results: Results) -> str:
    """Write the page from what there is."""
    parts = [_INTRODUCTION, _origin(results)]
    for corpus, facts in CORPORA.items():
        rows = [row for row in ROWS if row.corpus == corpus]
        measured = [results[row.name] for row in rows if "macro_f1" in results.get(row.name, {})]
        sizes = ""
        if measured:
            first = measured[0]
            sizes = f": {first['n_train']:,} / {first['n_test']:,} / {first['n_classes']:,}"
        parts.append(f"## {facts.title}{sizes}\n")
        parts.append(table(_HEADS, [_cells(row, results.get(row.name)) for row in rows]))
        if any("precision_at_5" in each for each in measured):
            parts.append(_ranking(rows, results))
    parts.append("## Reached, or not\n")
    parts.append(table(("what", "measured", ""), verdicts(results)))
    return "\n".join(parts)


def verdicts(results: Results) -> list[tuple[str, str, str]]:
    """Return each demand, what was measured, and whether that is enough."""
    found = [
        _near(results, "20ng/svm-tfidf", (0.670, 0.679), 0.002),
        _at_least(results, "20ng/svm-vectors+wce", (0.675, 0.685)),
        _near(results, "20ng/fasttext-random", (0.614,), 0.02),
        _near(results, "20ng/fasttext-vectors+wce", (0.693,), 0.02),
        _ahead(results, "20ng/fasttext-vectors+wce", "20ng/fasttext-random", "macro_f1", 0.04),
        _at_least(results, "20ng/linear", (0.700, 0.712)),
        _ahead(results, "20ng/linear", "20ng/svm-tfidf", "macro_f1", 0.02),
        _near(results, "reuters/svm-tfidf", (0.636, 0.881), 0.012),
        _at_least(results, "reuters/linear", (0.638, 0.876)),
    ]
    for corpus in ("ohsumed", "arxiv", "arxiv-categories", "eurlex"):
        more = ("macro_f1_with_positives", "precision_at_5") if corpus == "eurlex" else ()
        for peer in _PEERS:
            for measure in ("macro_f1", "micro_f1", *more):
                found.append(
                    _ahead(results, f"{corpus}/linear", f"{corpus}/{peer}", measure, -0.005)
                )
    found.append(_below(results, "arxiv/linear", "train_seconds", 600))
    found.append(_below(results, "arxiv/linear", "peak_megabytes", 6000))
    return found


def _near(
    results: Results, name: str, wanted: tuple[float, ...], distance: float
) -> tuple[str, str, str]:
    values = _measured(results, name)[: len(wanted)]
    # numbers are published with three digits
    is_near = all(
        abs(round(value, 3) - each) < distance + 1e-9
        for value, each in zip(values, wanted, strict=False)
    )
    what = f"{name} within {distance:g} of {pair(wanted, 3)}"
    return what, pair(values), told(bool(values) and is_near, values)


def _at_least(results: Results, name: str, wanted: tuple[float, ...]) -> tuple[str, str, str]:
    values = _measured(results, name)
    is_enough = all(value >= each for value, each in zip(values, wanted, strict=False))
    return f"{name} at least {pair(wanted, 3)}", pair(values), told(is_enough, values)


def _ahead(
    results: Results, name: str, other: str, measure: str, margin: float
) -> tuple[str, str, str]:
    found = [results[each][measure] for each in (name, other) if measure in results.get(each, {})]
    values = tuple(found) if len(found) == 2 else ()
    is_ahead = bool(values) and values[0] - values[1] >= margin
    what = (
        f"{name}: {measure} at least that of {other} {'+' if margin > 0 else '-'} {abs(margin):g}"
    )
    return what, pair(values), told(is_ahead, values)


def _below(results: Results, name: str, measure: str, limit: float) -> tuple[str, str, str]:
    value = results.get(name, {}).get(measure)
    shown = "" if value is None else f"{value:,.0f}"
    is_below = value is not None and value < limit
    what = f"{name}: {measure} below {limit:,}"
    return what, shown, told(is_below, () if value is None else (value,))


def told(is_reached: bool, values: tuple[float, ...]) -> str:
    """Say whether a demand is met; nothing is, where there are no values."""
    if not values:
        return "not measured"
    return "yes" if is_reached else "**no**"


def _measured(results: Results, name: str) -> tuple[float, ...]:
    found = results.get(name, {})
    return (found["macro_f1"], found["micro_f1"]) if "macro_f1" in found else ()


def pair(values: tuple[float, ...], n_digits: int = 4) -> str:
    """Write scores as the paper does, without the zero."""
    return " / ".join(f"{value:.{n_digits}f}".removeprefix("0") for value in values)


def _cells(row: Row, found: dict[str, Any] | None) -> tuple[str, ...]:
    name = row.name.partition("/")[2]
    paper = pair(row.paper or (), 3) + (" (its best)" if row.paper and name == "linear" else "")
    told = (name, paper, row.required)
    if found is None:
        return (*told, *[""] * 6, "not measured")
    if "error" in found:
        return (*told, *[""] * 6, f"failed: {found['error']}".replace("|", "\\|"))
    threads = f"; {found['n_jobs']} threads" if found["n_jobs"] > 1 else ""
    return (
        *told,
        *(pair((found[measure],)) for measure in ("macro_f1", "micro_f1")),
        *(
            f"{found[each]:,.1f}"
            for each in ("train_seconds", "train_cpu_seconds", "predict_seconds")
        ),
        f"{found['peak_megabytes']:,.0f}",
        _settings(found["settings"]) + threads,
    )


def _settings(settings: dict[str, Any]) -> str:
    if not settings:
        return "none: fixed"
    return ", ".join(f"{name} {value}" for name, value in settings.items()).replace("|", "\\|")


def _ranking(rows: list[Row], results: Results) -> str:
    heads = ("row", "macro F1 over the classes with test positives", "precision at 5")
    measures = ("macro_f1_with_positives", "precision_at_5")
    lines = []
    for row in rows:
        found = results.get(row.name, {})
        if measures[0] in found:
            shown = [pair((found[measure],)) for measure in measures]
            lines.append((row.name.partition("/")[2], *shown))
    return table(heads, lines)


def _origin(results: Results) -> str:
    """Tell when, and with which versions."""
    dates = sorted({each["date"][:10] for each in results.values()})
    versions = sorted({each["versions"] for each in results.values()})
    commits = sorted({each["commit"] for each in results.values()})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "never"
    return f"Measured: {when}. With: {'; '.join(versions)}. Commits: {', '.join(commits)}.\n"


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Write a table of Markdown."""
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"
