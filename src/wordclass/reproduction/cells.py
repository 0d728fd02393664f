"""Cells and tables of numbers: the types that plans, claims, figures and pages share."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from wordclass.reproduction.paper import Published
from wordclass.reproduction.runs import Run, RunResult
from wordclass.reproduction.statistics import Summary

Kind = Literal["share", "seconds", "count", "difference"]
Row = tuple[str, ...]
Position = tuple[Row, str]  # a row and a column

HEADS = ("learner", "variant", "protocol", "settings")  # names of the parts of a row
ALPHA = 0.05


@dataclass(frozen=True)
class Cell:
    """A cell: a summary of its finished runs, and the number to compare it with."""

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
        """The measured minus the published number."""
        if self.measured is None or self.published is None:
            return None
        return self.measured.mean - self.published.value

    @property
    def is_equal(self) -> bool:
        """True if the paired test finds no significant difference."""
        return self.p is not None and self.p > ALPHA


@dataclass(frozen=True)
class Table:
    """Cells by row and column.

    Parameters
    ----------
    title : str
        The title.
    kind : {"share", "seconds", "count", "difference"}
        The kind of the numbers.
    heads : tuple of str
        Names of the parts of a row.
    columns : tuple of str
        Names of the columns.
    cells : dict
        Cells by row and column.
    run_command : str, default="wordclass experiment run"
        The command that executes the runs of the plan.
    """

    title: str
    kind: Kind
    heads: Row
    columns: tuple[str, ...]
    cells: Mapping[Position, Cell]
    run_command: str = "wordclass experiment run"

    @property
    def rows(self) -> list[Row]:
        """The rows, in order."""
        return list(dict.fromkeys(row for row, _ in self.cells))

    @property
    def missing(self) -> list[Run]:
        """The unfinished runs."""
        return [run for cell in self.cells.values() for run in cell.missing]

    def select_measured(self, columns: Sequence[str] = ()) -> "Table":
        """Return the rows and columns with a measured cell.

        Parameters
        ----------
        columns : list of str, default=()
            The columns to choose from. Empty: all columns.
        """
        candidates = columns or self.columns
        measured = [
            position
            for position, cell in self.cells.items()
            if cell.measured and position[1] in candidates
        ]
        rows = {row for row, _ in measured}
        measured_columns = {column for _, column in measured}
        cells = {
            (row, column): cell
            for (row, column), cell in self.cells.items()
            if row in rows and column in measured_columns
        }
        shown = tuple(column for column in candidates if column in measured_columns)
        return replace(self, columns=shown, cells=cells)

    def command(self, runs: Sequence[Run], names: Sequence[str] = ("dataset", *HEADS[:3])) -> str:
        """Return the command that executes some runs, selected by the values of some fields."""
        conditions = dict.fromkeys(f"{name}={getattr(run, name)}" for name in names for run in runs)
        return f"{self.run_command} --only {shlex.quote(','.join(conditions))}"

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dict of JSON values per cell."""
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
