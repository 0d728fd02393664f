"""Comparisons of the cells of tables, with significance tests."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from wordclass.catalogue import unknown_name_error
from wordclass.errors import MissingDataError
from wordclass.reproduction import paper, statistics
from wordclass.reproduction.cells import ALPHA, Cell, Position, Row, Table
from wordclass.reproduction.paper import Published
from wordclass.reproduction.plan import NETWORKS
from wordclass.reproduction.runs import Results
from wordclass.reproduction.statistics import Summary, holm, randomization_test

MEASURES = {"macro_f1": "Macro F1", "micro_f1": "Micro F1"}
TITLES = {
    **MEASURES,
    "accuracy": "Accuracy",
    "rare_f1": "Macro F1 of rare classes, with 1 to 9 test documents",
    "medium_f1": "Macro F1 of medium classes, with 10 to 99 test documents",
    "frequent_f1": "Macro F1 of frequent classes, with 100 or more test documents",
    "run_times": "CPU seconds for training and testing",
    "all_times": "CPU seconds: learning vectors, encoding, choice of settings, training, testing",
}
IMPROVED = "Average relative improvement (networks)"
DIFFERENCES = "What the first adds to the second"
HELPFUL_COLUMNS = "Number of structural columns with the best macro F1, if the gain is significant"
_STRUCTURAL = "structural_problems="
_MAX_TESTED_RUNS = 3  # runs of a system whose documents are compared
_NEURAL_LEARNERS = ("fasttext", *NETWORKS)


def mark_best(table: Table) -> Table:
    """Mark the best cells, and cells that do not differ from the best neural one by a t-test.

    The best neural cell is chosen among those with several runs, because a single run has no
    deviation. The best times are the lowest, and they are not tested.
    """
    cells = dict(table.cells)
    is_time = table.kind == "seconds"
    for column in table.columns:
        means = {
            position: cell.measured
            for position, cell in cells.items()
            if position[1] == column and cell.measured is not None
        }
        ranked = sorted(means, key=lambda position: means[position].mean, reverse=not is_time)
        neural = [
            position
            for position in ranked
            if position[0][0] in _NEURAL_LEARNERS and means[position].deviation is not None
        ]
        for position in ranked:
            of_learner = [rival for rival in ranked if rival[0][0] == position[0][0]]
            p = None
            if position in neural[1:] and not is_time:
                p = statistics.t_test(means[position], means[neural[0]])
            cells[position] = replace(
                cells[position],
                is_best=position == ranked[0] and len(ranked) > 1,
                is_best_of_learner=position == of_learner[0] and len(of_learner) > 1,
                n_daggers=statistics.daggers(p),
            )
    return replace(table, cells=cells)


class DocumentTest:
    """Paired test over documents of the results in a folder. Each test is computed once."""

    def __init__(self, results: Results) -> None:
        self._truth = cache(results.truth)
        self._predictions = cache(results.predictions)
        self._p_values = cache(self._compare)

    def __call__(self, first: Cell, second: Cell, measure: str) -> float | None:
        """Return the p-value of two cells, or None.

        None: they have different test documents, a run has no predictions, or the measure has no
        test.
        """
        cells = first, second
        fingerprints = [{result.data["fingerprint"] for result in cell.results} for cell in cells]
        if not all(fingerprints) or len(set.union(*fingerprints)) > 1 or measure not in MEASURES:
            return None
        keys = (tuple(result.key for result in cell.results[:_MAX_TESTED_RUNS]) for cell in cells)
        try:
            return self._p_values(second.results[0].data["multilabel"], *keys)[measure]
        except MissingDataError:
            return None

    def _compare(self, is_multilabel: bool, *systems: tuple[str, ...]) -> dict[str, float]:
        first, second = ([self._predictions(key) for key in keys] for keys in systems)
        truth = self._truth(systems[0][0])
        return randomization_test(truth, first, second, is_multilabel=is_multilabel)


def _with_p_values(
    cells: Mapping[Position, Cell], p_values: Mapping[Position, float | None]
) -> dict[Position, Cell]:
    """Return cells with the known p-values, after Holm's correction for all of them."""
    known = {position: p for position, p in p_values.items() if p is not None}
    adjusted = dict(zip(known, holm([*known.values()]), strict=True))
    return {
        position: replace(cell, p=adjusted.get(position, cell.p))
        for position, cell in cells.items()
    }


def compare_with_best(table: Table, measure: str, test: DocumentTest) -> Table:
    """Compare the cells of each column with its best one over the test documents."""
    cells = dict(table.cells)
    best_cells = [(column, cell) for (_, column), cell in cells.items() if cell.is_best]
    for column, best in best_cells:
        p_values = {
            position: test(cell, best, measure)
            for position, cell in cells.items()
            if position[1] == column and not cell.is_best
        }
        cells = _with_p_values(cells, p_values)
    return replace(table, cells=cells)


def difference_table(
    scores: Mapping[str, Table], pairs: Sequence[Sequence[str]], test: DocumentTest
) -> Table:
    """Compare pairs of rows in each column that has both of them, by each measure.

    The p-values are corrected for all pairs and columns of a measure.
    """
    cells: dict[Position, Cell] = {}
    columns: dict[str, None] = {}
    for measure, table in scores.items():
        rows = _rows_by_name(table)
        p_values: dict[Position, float | None] = {}
        columns |= dict.fromkeys(table.columns)
        for names, column in itertools.product(pairs, table.columns):
            new, old = (table.cells.get((rows[name], column), Cell(None)) for name in names)
            if new.measured and old.measured:
                position = (TITLES[measure], *names), column
                n_runs = min(new.measured.n_runs, old.measured.n_runs)
                gain = new.measured.mean - old.measured.mean
                cells[position] = Cell(Summary(gain, None, n_runs))
                p_values[position] = test(new, old, measure)
        cells = _with_p_values(cells, p_values)
    return Table(DIFFERENCES, "difference", ("measure", "first", "second"), (*columns,), cells)


def helpful_column_tables(table: Table, test: DocumentTest) -> list[Table]:
    """Return a table of the best numbers of structural columns, if runs differ in their number.

    The best number has the highest macro F1. It is 0 if the test over documents, corrected for all
    tried numbers, does not distinguish it from no columns.
    """
    tried: dict[Position, dict[int, Cell]] = {}
    for (row, column), cell in table.cells.items():
        settings = row[-1].split(", ")
        for setting in settings:
            if setting.startswith(_STRUCTURAL) and cell.measured:
                other_settings = ", ".join(name for name in settings if name != setting)
                n_columns = int(setting.removeprefix(_STRUCTURAL))
                tried.setdefault(((*row[:-1], other_settings), column), {})[n_columns] = cell
    cells = {
        position: Cell(Summary(float(number), None, 1))
        for position, by_number in tried.items()
        if (number := _best_number(by_number, test)) is not None
    }
    has_other_settings = any(row[-1] for row, _ in cells)
    heads = table.heads if has_other_settings else table.heads[:-1]
    shown = {(row[: len(heads)], column): cell for (row, column), cell in cells.items()}
    return [Table(HELPFUL_COLUMNS, "count", heads, table.columns, shown)] if cells else []


def _best_number(by_number: Mapping[int, Cell], test: DocumentTest) -> int | None:
    """Return the number of columns that helped, or None if the comparison lacks a run."""
    numbers = sorted(by_number.keys() - {0})
    if 0 not in by_number or not numbers:
        return None
    p_values = [test(by_number[number], by_number[0], "macro_f1") for number in numbers]
    if None in p_values:
        return None
    adjusted = dict(zip(numbers, holm([p for p in p_values if p is not None]), strict=True))
    # the smallest of several best numbers
    best = max([0, *numbers], key=lambda number: _mean(by_number[number]))
    return best if best and adjusted[best] <= ALPHA else 0


def _mean(cell: Cell) -> float:
    return cell.measured.mean if cell.measured else -1.0


def _rows_by_name(table: Table) -> dict[str, Row]:
    return {" ".join(filter(None, row)): row for row in table.rows}


def known_pairs(
    pairs: Sequence[Sequence[str]], scores: Mapping[str, Table], *, is_selection: bool
) -> list[Sequence[str]]:
    """Return the pairs whose rows exist. Unless runs were selected, refuse unknown rows."""
    rows = {name for table in scores.values() for name in _rows_by_name(table)}
    for name in (name for pair in pairs for name in pair):
        if name not in rows and not is_selection:
            raise unknown_name_error("row", name, rows)
    return [pair for pair in pairs if rows.issuperset(pair)]


def average_improvements(tables: Mapping[str, Table]) -> list[Table]:
    """Return the average relative improvements of the paper's text, computed from measured cells.

    The average covers the networks and data sets with both variants under the same protocol. The
    p-values are those of a paired t-test over these pairs.
    """
    cells: dict[Position, Cell] = {}
    for comparison, published in paper.numbers()["improvements"].items():
        new, old = comparison.split(" over ")
        for measure, table in tables.items():
            pairs = [
                (cell.measured.mean, base.measured.mean)
                for (row, column), cell in table.cells.items()
                if row[0] in paper.NETWORKS and row[1] == new and cell.measured
                if (base := table.cells.get(((row[0], old, *row[2:]), column))) and base.measured
            ]
            if pairs:
                new_scores, old_scores = zip(*pairs, strict=True)
                gain = statistics.relative_improvement(new_scores, old_scores)
                position = (comparison, f"{len(pairs)} pairs"), MEASURES[measure]
                cells[position] = Cell(
                    Summary(gain, None, len(pairs)),
                    Published(published[measure] / 100),
                    p=statistics.paired_t_test(new_scores, old_scores),
                )
    columns = tuple(MEASURES.values())
    return [Table(IMPROVED, "share", ("what", "of"), columns, cells)] if cells else []
