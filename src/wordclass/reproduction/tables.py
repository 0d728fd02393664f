"""Tables: measured numbers beside published ones, with significance tests.

`make` turns a plan and its results into `Table` values; `table_formats` writes them.
"""

import itertools
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wordclass.errors import InputError
from wordclass.reproduction import paper, sources
from wordclass.reproduction.cells import HEADS, Cell, Kind, Position, Row, Table
from wordclass.reproduction.comparisons import (
    MEASURES,
    TITLES,
    DocumentTest,
    average_improvements,
    compare_with_best,
    difference_table,
    helpful_column_tables,
    known_pairs,
    mark_best,
)
from wordclass.reproduction.paper import Published
from wordclass.reproduction.plan import (
    CLASS_MEASURES,
    MEASUREMENTS,
    NETWORKS,
    PEER,
    VARIANTS,
    Plan,
)
from wordclass.reproduction.rivals.plan_options import is_record
from wordclass.reproduction.runs import Results, Run, RunResult
from wordclass.reproduction.statistics import Summary

_TEST_DOCS_PER_CLASS = {
    "rare_f1": range(1, 10),
    "medium_f1": range(10, 100),
    "frequent_f1": range(100, 1_000_000_000),
}
# title and kind of number of each measurement
_MEASUREMENT_TITLES: Mapping[str, tuple[str, Kind]] = {
    "counts": ("Data sets", "count"),
    "embedding_times": ("Seconds to make word-class embeddings", "seconds"),
    "unseen_terms": ("Terms outside the vocabulary, in test texts", "count"),
    "prior_shift": ("Macro F1 and error ratios of class shares", "share"),
    "map": ("Share of a term's nearest neighbors that have its class", "share"),
}
# numbers of prior shift on another scale or about a single draw; they are in the results only
_OMITTED_SUFFIXES = ("in percent", "least gain of a draw")
_SEARCH = "search"  # the settings of a run that chose them
_LEARNERS = ("svm", "fasttext", *NETWORKS, "linear", "nearest", PEER)
_ALL_VARIANTS = [variant for variants in VARIANTS.values() for variant in variants]
_VARIANTS = [*dict.fromkeys(["tfidf", *VARIANTS["cnn"], "words", "default", *_ALL_VARIANTS])]


def make(
    plan: Plan,
    results: Results,
    only: Mapping[str, Sequence[str]] | None = None,
    *,
    tests: bool = True,
) -> list[Table]:
    """Make the tables of a plan.

    Parameters
    ----------
    plan : Plan
        The plan.
    results : Results
        Results of its runs, whatever plan they were executed for.
    only : dict of lists, optional
        Conditions that select some of the runs, as for `Plan.runs`.
    tests : bool, default=True
        Whether to compare cells by the paired test over documents, which takes seconds.
    """
    runs = plan.runs(only)
    trials = {needed.identity for run in runs for needed in run.needs}
    runs = [run for run in runs if run.identity not in trials]
    if not runs:
        raise InputError(f"the plan {plan.name} has no such runs", hint="remove a condition")
    by_identity = {result.identity: result for result in results.runs()}
    tables = []
    for kind in MEASUREMENTS:
        if measurement_runs := [run for run in runs if run.learner == kind]:
            tables.append(_measurement_table(measurement_runs, kind, by_identity))
    trained = [run for run in runs if run.learner not in MEASUREMENTS]
    by_measure: dict[str, Table] = {}
    for measure in plan.measures if trained else ():
        by_measure[measure] = _training_table(trained, measure, by_identity)
    scores = {name: by_measure[name] for name in MEASURES if name in by_measure}
    class_scores = {name: by_measure[name] for name in CLASS_MEASURES if name in by_measure}
    if tests:
        test = DocumentTest(results)
        by_measure |= {name: compare_with_best(scores[name], name, test) for name in scores}
    tables += by_measure.values()
    tables += average_improvements(scores) if plan.is_built_in("f1", "smoke") else []
    if tests and plan.pairs:
        compared = scores | class_scores
        pairs = known_pairs(plan.pairs, compared, is_selection=bool(only))
        tables.append(difference_table(compared, pairs, test))
    if tests and "macro_f1" in scores:
        tables += helpful_column_tables(scores["macro_f1"], test)
    name = str(plan.file or plan.name)
    words = ["wordclass", "experiment", "run", name, "-o", str(results.folder)]
    return [replace(table, run_command=shlex.join(words)) for table in tables]


# --- from runs to cells -------------------------------------------------------------------------


def _make_cell(
    runs: Sequence[Run],
    by_identity: Mapping[str, RunResult],
    values: Mapping[str, float],
    published: Published | None,
) -> Cell:
    """Summarize the values of the runs of a cell, which are keyed by identity."""
    finished = [run.identity for run in runs if run.identity in values]
    return Cell(
        Summary.of([values[identity] for identity in finished]) if finished else None,
        published,
        results=tuple(by_identity[identity] for identity in finished),
        missing=tuple(
            run for run in runs if run.identity not in by_identity and not _is_record(run)
        ),
        is_record=any(map(_is_record, runs)),
    )


def _is_record(run: Run) -> bool:
    return is_record(run.learner, run.variant, run.options)


def _measurement_table(
    runs: Sequence[Run], kind: str, by_identity: Mapping[str, RunResult]
) -> Table:
    """Make a table of measurements, with a row per number and settings."""
    numbers = {
        run.identity: _numbers(kind, by_identity[run.identity].extra)
        for run in runs
        if run.identity in by_identity
    }
    names = dict.fromkeys(name for by_name in numbers.values() for name in by_name)
    varying = varying_options(runs)
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((format_settings(run, varying), run.dataset), []).append(run)
    cells: dict[Position, Cell] = {}
    for name in names or ["(not measured)"]:
        values = {
            identity: by_name[name] for identity, by_name in numbers.items() if name in by_name
        }
        for (settings, dataset), group in groups.items():
            published = None if settings else paper.measurement(kind, dataset, name)
            row = (name, settings) if varying else (name,)
            cells[row, dataset] = _make_cell(group, by_identity, values, published)
    columns = tuple(dict.fromkeys(run.dataset for run in runs))
    heads = ("what", "settings") if varying else ("what",)
    return Table(*_MEASUREMENT_TITLES[kind], heads, columns, cells)


def _numbers(kind: str, extra: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a measurement by name."""
    if kind == "map":
        return {panel["title"]: panel["neighbor_share"] for panel in extra["panels"]}
    if kind == "embedding_times":
        by_correlation = extra.get("by_correlation", {}).items()
        # "S" is the time of the dot product
        seconds = {f"S ({name})": value for name, value in by_correlation if name != "dot"}
        return {"X": extra["X"], "S": extra["S"], "total": extra["X"] + extra["S"], **seconds}
    if kind == "prior_shift":
        extra = {
            name: value for name, value in extra.items() if not name.endswith(_OMITTED_SUFFIXES)
        }
    return {name: float(value) for name, value in extra.items()}


def _training_table(
    runs: Sequence[Run], measure: str, by_identity: Mapping[str, RunResult]
) -> Table:
    """Make a table of scores or times, with a row per learner, variant, protocol and settings."""
    values = {}
    for run in runs:
        result = by_identity.get(run.identity)
        value = None if result is None else _value(result, measure)
        if value is not None:
            values[run.identity] = value
    varying = varying_options(runs)
    groups: dict[Position, list[Run]] = {}
    for run in sorted(
        runs, key=lambda run: (_LEARNERS.index(run.learner), _VARIANTS.index(run.variant))
    ):
        groups.setdefault((row_of(run, varying), run.dataset), []).append(run)
    # protocol and settings are shown only if they differ between rows
    shown = [part for part in range(4) if part < 2 or len({row[part] for row, _ in groups}) > 1]
    cells = {}
    for (row, dataset), group in groups.items():
        # the paper has no other settings than those that it searched
        has_published = row[3] in ("", _SEARCH)
        published = paper.cells(measure).get((dataset, row[0], row[1])) if has_published else None
        position = tuple(row[part] for part in shown), dataset
        cells[position] = _make_cell(group, by_identity, values, published)
    kind: Kind = "seconds" if measure.endswith("times") else "share"
    columns = tuple(dict.fromkeys(run.dataset for run in runs))
    heads = tuple(HEADS[part] for part in shown)
    return mark_best(Table(TITLES[measure], kind, heads, columns, cells))


def _value(result: RunResult, measure: str) -> float | None:
    """Return a score or time of a result, or None if it has no class of that frequency."""
    times = result.times
    if measure in _TEST_DOCS_PER_CLASS:
        return f1_of_classes(result, _TEST_DOCS_PER_CLASS[measure])
    if measure == "run_times":  # without the choice of settings
        return times["fit_cpu"] + times["predict_cpu"]
    if measure == "all_times":
        # the choice of settings ends with the training that "fit" repeats
        selection = times.get("select_cpu", times["fit_cpu"])
        is_learned = result.vectors is not None and sources.is_learned(result.vectors["name"])
        learning = times["vectors_cpu"] if is_learned else 0.0
        return learning + times.get("encode_cpu", 0.0) + selection + times["predict_cpu"]
    return result.scores[measure]


def f1_of_classes(result: RunResult, n_test_docs: range) -> float | None:
    """Return the mean F1 of the classes with a number of test documents in a range, or None."""
    counts = zip(*(result.classes.get(name, []) for name in ("tp", "fp", "fn")), strict=True)
    scores = [2 * tp / (2 * tp + fp + fn) for tp, fp, fn in counts if round(tp + fn) in n_test_docs]
    return sum(scores) / len(scores) if scores else None


def varying_options(runs: Sequence[Run]) -> list[str]:
    """Return the options that differ between runs of one learner, variant and protocol."""

    def group_key(run: Run) -> str:
        return str((run.dataset, run.learner, run.variant, run.protocol, bool(run.needs)))

    varying: dict[str, None] = {}
    for _, group in itertools.groupby(sorted(runs, key=group_key), group_key):
        options = [_options(run) for run in group]
        for name in sorted({name for run_options in options for name in run_options}):
            if len({json.dumps(run_options.get(name)) for run_options in options}) > 1:
                varying[name] = None
    return list(varying)


def _options(run: Run) -> dict[str, Any]:
    return {**run.options, **({} if run.vectors is None else {"vectors": run.vectors})}


def row_of(run: Run, varying: Sequence[str]) -> Row:
    """Return learner, variant, protocol and settings of a run."""
    return run.learner, run.variant, run.protocol, format_settings(run, varying)


def format_settings(run: Run, varying: Sequence[str]) -> str:
    """Write the varying options of a run, and "search" if it searched for others."""
    options = _options(run)
    settings = [f"{name}={_format_option(options[name])}" for name in varying if name in options]
    return ", ".join([*settings, *([_SEARCH] if run.needs else [])])


def _format_option(value: Any) -> Any:  # noqa: ANN401 - of an option
    return "+".join(map(str, value)) if isinstance(value, list) else value
