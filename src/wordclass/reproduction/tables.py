"""Tables: what was measured beside what the paper has, and how sure a difference is.

`make` turns a plan and its results into `Table` values; `report.experiment_tables` writes them.
"""

import itertools
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

from wordclass.catalogue import unknown_name_error
from wordclass.errors import InputError, MissingDataError
from wordclass.reproduction import paper, sources, statistics
from wordclass.reproduction.paper import Published
from wordclass.reproduction.plan import MEASUREMENTS, NETWORKS, PEER, VARIANTS, Plan
from wordclass.reproduction.rivals.plan_options import is_record
from wordclass.reproduction.runs import Results, Run, RunResult
from wordclass.reproduction.statistics import Summary, holm, randomization_test

MEASURES = {"macro_f1": "Macro F1", "micro_f1": "Micro F1"}
Kind = Literal["share", "seconds", "count", "difference"]
Row = tuple[str, ...]
Place = tuple[Row, str]  # a row and a column

IMPROVED = "Average relative improvement (networks)"
DIFFERENCES = "What the first adds to the second"
HELPED = "Structural columns that helped: the number with the best macro F1, if not by chance"
_TITLES = {
    **MEASURES,
    "accuracy": "Accuracy",
    "run_times": "Seconds of the processor for training and testing",
    "all_times": "Seconds of the processor: "
    "learning vectors, encoding, choice of settings, training, testing",
}
# what is measured without training: its title, and its kind of number
_MEASURED: Mapping[str, tuple[str, Kind]] = {
    "counts": ("Data sets", "count"),
    "embedding_times": ("Seconds to make word-class embeddings", "seconds"),
    "unseen_terms": ("Terms outside the vocabulary, in test texts", "count"),
    "prior_shift": ("Shares of classes that are not those of training", "share"),
    "map": ("Share of a term's nearest neighbors that have its class", "share"),
}
_HEADS = ("learner", "variant", "protocol", "settings")
_STRUCTURAL = "structural_problems="
_NOT_SHOWN = ("in percent", "least gain of a draw")  # of prior shift
_SEARCH = "search"  # the settings of a run that chose them
_ALPHA = 0.05
_MOST_PAIRS = 3  # runs of a system whose documents are compared
_SEEDED = ("fasttext", *NETWORKS)
_LEARNERS = ("svm", *_SEEDED, "linear", "nearest", PEER)
_ALL_VARIANTS = [each for own in VARIANTS.values() for each in own]
_VARIANTS = [*dict.fromkeys(["tfidf", *VARIANTS["cnn"], "words", "default", *_ALL_VARIANTS])]


@dataclass(frozen=True)
class Cell:
    """One cell: a summary of the runs that are done, and what it is compared with."""

    measured: Summary | None
    published: Published | None = None
    is_best: bool = False
    is_best_of_learner: bool = False
    n_daggers: int = 0
    p: float | None = None  # of a paired test: against the best, or of an improvement
    results: tuple[RunResult, ...] = field(default=(), repr=False)
    missing: tuple[Run, ...] = ()
    is_record: bool = False  # made by an older version; this one cannot repeat it

    @property
    def difference(self) -> float | None:
        """What was measured less what was published."""
        if self.measured is None or self.published is None:
            return None
        return self.measured.mean - self.published.value

    @property
    def is_equal(self) -> bool:
        """Whether the paired test sees no difference."""
        return self.p is not None and self.p > _ALPHA


@dataclass(frozen=True)
class Table:
    """Cells by row and column; `heads` name the parts of a row.

    `start` is the command that does the runs of the plan.
    """

    title: str
    kind: Kind
    heads: Row
    columns: tuple[str, ...]
    cells: Mapping[Place, Cell]
    start: str = "wordclass experiment run"

    @property
    def rows(self) -> list[Row]:
        """The rows, in order."""
        return list(dict.fromkeys(row for row, _ in self.cells))

    @property
    def missing(self) -> list[Run]:
        """The runs that are not done."""
        return [run for cell in self.cells.values() for run in cell.missing]

    def measured(self, columns: Sequence[str] = ()) -> "Table":
        """Return the rows and columns that have something measured; of some columns, if given."""
        wanted = columns or self.columns
        done = [at for at, cell in self.cells.items() if cell.measured and at[1] in wanted]
        rows, kept = {row for row, _ in done}, {column for _, column in done}
        cells = {at: self.cells[at] for at in self.cells if at[0] in rows and at[1] in kept}
        return replace(self, columns=tuple(each for each in wanted if each in kept), cells=cells)

    def command(self, runs: Sequence[Run], names: Sequence[str] = ("dataset", *_HEADS[:3])) -> str:
        """Return the command that does some runs, told by the values that some fields have."""
        told = dict.fromkeys(f"{name}={getattr(run, name)}" for name in names for run in runs)
        return f"{self.start} --only {shlex.quote(','.join(told))}"

    def facts(self) -> list[dict[str, Any]]:
        """Return the cells as JSON can hold them, one after the other."""
        return [
            {
                **dict(zip(self.heads, row, strict=True)),
                "column": column,
                "measured": cell.measured and cell.measured.mean,
                "deviation": cell.measured and cell.measured.deviation,
                "runs": cell.measured.n_runs if cell.measured else 0,
                "published": cell.published and cell.published.value,
                "published_deviation": cell.published and cell.published.deviation,
                "difference": cell.difference,
                "best": int(cell.is_best),
                "best_of_learner": int(cell.is_best_of_learner),
                "daggers": cell.n_daggers,
                "p": cell.p,
                "command": self.command(cell.missing) if cell.missing else None,
                "record": int(cell.is_record),
            }
            for (row, column), cell in self.cells.items()
        ]


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
    results : Results
        Whatever plan they were done for.
    only : dict of lists, optional
        Some of the runs, as for `Plan.runs`.
    tests : bool, default=True
        Whether cells are compared by the paired test over documents, which takes seconds.
    """
    runs = plan.runs(only)
    trials = {each.identity for run in runs for each in run.needs}
    runs = [run for run in runs if run.identity not in trials]
    if not runs:
        raise InputError(f"the plan {plan.name} has no such runs")
    found = {result.identity: result for result in results.runs()}
    made = [
        _of_measurements(own, kind, found)
        for kind in MEASUREMENTS
        if (own := [run for run in runs if run.learner == kind])
    ]
    trained = [run for run in runs if run.learner not in MEASUREMENTS]
    by_measure = {each: _of_trainings(trained, each, found) for each in plan.measures if trained}
    scores = {each: by_measure[each] for each in MEASURES if each in by_measure}
    if tests:
        test = _Test(results)
        by_measure |= {each: _tested(table, each, test) for each, table in scores.items()}
    made += by_measure.values()
    made += improvements(scores) if plan.is_our("f1", "smoke") else []
    if tests and plan.pairs:
        pairs = _checked_pairs(plan.pairs, scores, is_part=bool(only))
        made.append(_differences(scores, pairs, test))
    made += columns_that_helped(scores["macro_f1"], test) if tests and "macro_f1" in scores else []
    name = str(plan.file or plan.name)
    start = ["wordclass", "experiment", "run", name, "-o", str(results.folder)]
    return [replace(table, start=shlex.join(start)) for table in made]


# --- from runs to cells -------------------------------------------------------------------------


def _cell(
    runs: Sequence[Run],
    found: Mapping[str, RunResult],
    values: Mapping[str, float],
    published: Published | None,
) -> Cell:
    """Summarize the values that the runs of a cell have, by their identities."""
    done = [run.identity for run in runs if run.identity in values]
    return Cell(
        Summary.of([values[each] for each in done]) if done else None,
        published,
        results=tuple(found[each] for each in done),
        missing=tuple(run for run in runs if run.identity not in found and not _is_record(run)),
        is_record=any(map(_is_record, runs)),
    )


def _is_record(run: Run) -> bool:
    return is_record(run.learner, run.variant, run.options)


def _of_measurements(runs: Sequence[Run], kind: str, found: Mapping[str, RunResult]) -> Table:
    """Make a table of what runs measured that are no trainings: a row per number and settings."""
    done = [run.identity for run in runs if run.identity in found]
    numbers = {each: _numbers(kind, found[each].extra) for each in done}
    known = dict.fromkeys(name for each in numbers.values() for name in each)
    told, groups = told_apart(runs), dict[tuple[str, str], list[Run]]()
    for run in runs:
        groups.setdefault((settings_of(run, told), run.dataset), []).append(run)
    cells: dict[Place, Cell] = {}
    for name in known or ["(not measured)"]:
        values = {each: own[name] for each, own in numbers.items() if name in own}
        for (settings, dataset), same in groups.items():
            published = None if settings else paper.measurement(kind, dataset, name)
            row = (name, settings) if told else (name,)
            cells[row, dataset] = _cell(same, found, values, published)
    columns = tuple(dict.fromkeys(run.dataset for run in runs))
    return Table(*_MEASURED[kind], ("what", "settings")[: 1 + bool(told)], columns, cells)


def _numbers(kind: str, extra: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a measurement by name."""
    if kind == "map":
        return {panel["title"]: panel["neighbor_share"] for panel in extra["panels"]}
    if kind == "embedding_times":
        timed = extra.get("by_correlation", {}).items()
        others = {f"S ({name})": each for name, each in timed if name != "dot"}  # which is S
        return {"X": extra["X"], "S": extra["S"], "total": extra["X"] + extra["S"], **others}
    if kind == "prior_shift":  # what has another scale, or is about one draw, is in the results
        extra = {name: each for name, each in extra.items() if not name.endswith(_NOT_SHOWN)}
    return {name: float(value) for name, value in extra.items()}


def _of_trainings(runs: Sequence[Run], what: str, found: Mapping[str, RunResult]) -> Table:
    """Make a table of scores or times, with a row per learner, variant, protocol and settings."""
    values = {
        run.identity: _value(found[run.identity], what) for run in runs if run.identity in found
    }
    told, groups = told_apart(runs), dict[Place, list[Run]]()
    for run in sorted(
        runs, key=lambda run: (_LEARNERS.index(run.learner), _VARIANTS.index(run.variant))
    ):
        groups.setdefault((row_of(run, told), run.dataset), []).append(run)
    # a part that is the same in all rows tells nothing
    used = [k for k in range(4) if k < 2 or len({row[k] for row, _ in groups}) > 1]
    cells = {}
    for (row, dataset), own in groups.items():
        # the paper has no other settings; it searched for them
        published = (
            None
            if row[3] not in ("", _SEARCH)
            else paper.cells(what).get((dataset, row[0], row[1]))
        )
        place = tuple(row[k] for k in used), dataset
        cells[place] = _cell(own, found, values, published)
    kind: Kind = "seconds" if what.endswith("times") else "share"
    columns = tuple(dict.fromkeys(run.dataset for run in runs))
    heads = tuple(_HEADS[k] for k in used)
    return _marked(Table(_TITLES[what], kind, heads, columns, cells))


def _value(result: RunResult, what: str) -> float:
    times = result.times
    if what == "run_times":  # without the choice of settings
        return times["fit_cpu"] + times["predict_cpu"]
    if what == "all_times":  # the choice of settings ends with the same training
        chosen = times.get("select_cpu", times["fit_cpu"])
        is_learned = result.vectors is not None and sources.is_learned(result.vectors["name"])
        learned = times["vectors_cpu"] if is_learned else 0.0
        return learned + times.get("encode_cpu", 0.0) + chosen + times["predict_cpu"]
    return result.scores[what]


def told_apart(runs: Sequence[Run]) -> list[str]:
    """Return the options that differ between runs which are the same in all else but the seed."""

    def group(run: Run) -> str:
        return str((run.dataset, run.learner, run.variant, run.protocol, bool(run.needs)))

    told: dict[str, None] = {}
    for _, same in itertools.groupby(sorted(runs, key=group), group):
        options = [_options(run) for run in same]
        for name in sorted({name for each in options for name in each}):
            if len({json.dumps(each.get(name)) for each in options}) > 1:
                told[name] = None
    return list(told)


def _options(run: Run) -> dict[str, Any]:
    return {**run.options, **({} if run.vectors is None else {"vectors": run.vectors})}


def row_of(run: Run, told: Sequence[str]) -> Row:
    """Return learner, variant, protocol and settings of a run."""
    return run.learner, run.variant, run.protocol, settings_of(run, told)


def settings_of(run: Run, told: Sequence[str]) -> str:
    """Write those of the told options that a run has, and whether it searched for others."""
    options = _options(run)
    settings = [f"{name}={_written(options[name])}" for name in told if name in options]
    return ", ".join([*settings, *([_SEARCH] if run.needs else [])])


def _written(value: Any) -> Any:  # noqa: ANN401 - of an option
    return "+".join(map(str, value)) if isinstance(value, list) else value


# --- comparisons --------------------------------------------------------------------------------


def _marked(table: Table) -> Table:
    """Mark the best of several cells, and those that a t-test cannot tell from the best neural one.

    That is the best of those with several runs: the deviation of a single run is not known. The
    best times are the lowest; no test is made of them.
    """
    cells, is_time = dict(table.cells), table.kind == "seconds"
    for column in table.columns:
        means = {
            place: cell.measured
            for place, cell in cells.items()
            if place[1] == column and cell.measured is not None
        }
        ranked = sorted(means, key=lambda place: means[place].mean, reverse=not is_time)
        neural = [at for at in ranked if at[0][0] in _SEEDED and means[at].deviation is not None]
        for place in ranked:
            rivals = [each for each in ranked if each[0][0] == place[0][0]]
            p = None
            if place in neural[1:] and not is_time:
                p = statistics.t_test(means[place], means[neural[0]])
            cells[place] = replace(
                cells[place],
                is_best=place == ranked[0] and len(ranked) > 1,
                is_best_of_learner=place == rivals[0] and len(rivals) > 1,
                n_daggers=statistics.daggers(p),
            )
    return replace(table, cells=cells)


class _Test:
    """The paired test over documents, of the results in a folder; each is made once."""

    def __init__(self, results: Results) -> None:
        self._truth, self._predictions = cache(results.truth), cache(results.predictions)
        self._p_values = cache(self._compare)

    def __call__(self, first: Cell, second: Cell, measure: str) -> float | None:
        """Return the p-value of two cells; None where they cannot be compared.

        They need the same test texts, and the predictions of their runs.
        """
        cells = first, second
        texts = [{result.data["fingerprint"] for result in cell.results} for cell in cells]
        if not all(texts) or len(set.union(*texts)) > 1:
            return None
        keys = (tuple(each.key for each in cell.results[:_MOST_PAIRS]) for cell in cells)
        try:
            return self._p_values(second.results[0].data["multilabel"], *keys)[measure]
        except MissingDataError:
            return None

    def _compare(self, is_multilabel: bool, *systems: tuple[str, ...]) -> dict[str, float]:
        first, second = ([self._predictions(key) for key in keys] for keys in systems)
        truth = self._truth(systems[0][0])
        return randomization_test(truth, first, second, is_multilabel=is_multilabel)


def _corrected(
    cells: Mapping[Place, Cell], p_values: Mapping[Place, float | None]
) -> dict[Place, Cell]:
    """Return cells with p-values, those that there are, after Holm's correction for all of them."""
    found = {place: p for place, p in p_values.items() if p is not None}
    adjusted = dict(zip(found, holm([*found.values()]), strict=True))
    return {at: replace(cell, p=adjusted.get(at, cell.p)) for at, cell in cells.items()}


def _tested(table: Table, measure: str, test: _Test) -> Table:
    """Compare the cells of each column with its best one over the test documents."""
    cells = dict(table.cells)
    for (_, column), best in [each for each in cells.items() if each[1].is_best]:
        others = {at: each for at, each in cells.items() if at[1] == column and not each.is_best}
        cells = _corrected(cells, {at: test(each, best, measure) for at, each in others.items()})
    return replace(table, cells=cells)


def _differences(scores: Mapping[str, Table], pairs: Sequence[Sequence[str]], test: _Test) -> Table:
    """Compare pairs of rows in each column that has both of them, by each measure.

    The p-values are corrected for all pairs and columns of a measure.
    """
    made: dict[Place, Cell] = {}
    columns: dict[str, None] = {}
    for measure, table in scores.items():
        rows, p_values = _rows_by_name(table), dict[Place, float | None]()
        columns |= dict.fromkeys(table.columns)
        for names, column in itertools.product(pairs, table.columns):
            new, old = (table.cells.get((rows[name], column), Cell(None)) for name in names)
            if new.measured and old.measured:
                place = (MEASURES[measure], *names), column
                n_runs = min(new.measured.n_runs, old.measured.n_runs)
                made[place] = Cell(Summary(new.measured.mean - old.measured.mean, None, n_runs))
                p_values[place] = test(new, old, measure)
        made = _corrected(made, p_values)
    return Table(DIFFERENCES, "difference", ("measure", "first", "second"), (*columns,), made)


def columns_that_helped(table: Table, test: _Test) -> list[Table]:
    """Return a table of how many structural columns helped, where runs differ in their number.

    That is the number with the highest macro F1; 0 where the test over documents, corrected for all
    the numbers that were tried, does not tell it from no such columns.
    """
    tried: dict[Place, dict[int, Cell]] = {}
    for (row, column), cell in table.cells.items():
        settings = row[-1].split(", ")
        for each in settings:
            if each.startswith(_STRUCTURAL) and cell.measured:
                others = ", ".join(other for other in settings if other != each)
                number = int(each.removeprefix(_STRUCTURAL))
                tried.setdefault(((*row[:-1], others), column), {})[number] = cell
    cells = {
        place: Cell(Summary(float(n), None, 1))
        for place, by_number in tried.items()
        if (n := _best_number(by_number, test)) is not None
    }
    has_others = any(row[-1] for row, _ in cells)
    heads = table.heads if has_others else table.heads[:-1]
    shown = {(row[: len(heads)], column): cell for (row, column), cell in cells.items()}
    return [Table(HELPED, "count", heads, table.columns, shown)] if cells else []


def _best_number(by_number: Mapping[int, Cell], test: _Test) -> int | None:
    """Return how many columns helped; None where that is not known."""
    numbers = sorted(by_number.keys() - {0})
    if 0 not in by_number or not numbers:
        return None
    p_values = [test(by_number[n], by_number[0], "macro_f1") for n in numbers]
    if None in p_values:
        return None
    sure = dict(zip(numbers, holm([p for p in p_values if p is not None]), strict=True))
    # of equals the fewest
    best = max([0, *numbers], key=lambda n: _mean(by_number[n]))
    return best if best and sure[best] <= _ALPHA else 0


def _mean(cell: Cell) -> float:
    return cell.measured.mean if cell.measured else -1.0


def _rows_by_name(table: Table) -> dict[str, Row]:
    return {" ".join(filter(None, row)): row for row in table.rows}


def _checked_pairs(
    pairs: Sequence[Sequence[str]], scores: Mapping[str, Table], *, is_part: bool
) -> list[Sequence[str]]:
    """Return the pairs whose rows there are; where these are rows of all runs, refuse others."""
    rows = {name for table in scores.values() for name in _rows_by_name(table)}
    for name in (name for pair in pairs for name in pair):
        if name not in rows and not is_part:
            raise unknown_name_error("row", name, rows)
    return [pair for pair in pairs if rows.issuperset(pair)]


def improvements(tables: Mapping[str, Table]) -> list[Table]:
    """Return the average relative improvements of the paper's text, over what was measured.

    Over the networks and data sets for which both variants are done, under the same protocol; their
    p-values are those of a paired t-test over these pairs.
    """
    cells: dict[Place, Cell] = {}
    for comparison, published in paper.numbers()["improvements"].items():
        new, old = comparison.split(" over ")
        for measure, table in tables.items():
            pairs = [
                (cell.measured.mean, other.measured.mean)
                for (row, column), cell in table.cells.items()
                if row[0] in paper.NETWORKS and row[1] == new and cell.measured
                if (other := table.cells.get(((row[0], old, *row[2:]), column))) and other.measured
            ]
            if pairs:
                both = list(zip(*pairs, strict=True))
                gain = Summary(statistics.relative_improvement(*both), None, len(pairs))
                said = Published(published[measure] / 100)
                place = (comparison, f"{len(pairs)} pairs"), MEASURES[measure]
                cells[place] = Cell(gain, said, p=statistics.paired_t_test(*both))
    columns = tuple(MEASURES.values())
    return [Table(IMPROVED, "share", ("what", "of"), columns, cells)] if cells else []
