"""The commands `wordclass experiment`: plans, their runs, tables, figures and a report."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordclass import catalogue
from wordclass.cli.command import Settings, app, command
from wordclass.cli.help import GroupedCommands
from wordclass.errors import InputError, MissingDataError, WordClassError
from wordclass.options import n_threads

if TYPE_CHECKING:
    from wordclass.reproduction.runs import Results

experiments = typer.Typer(
    cls=GroupedCommands,
    help="Run the experiments of the paper and show the results.",
    no_args_is_help=True,
)
app.add_typer(experiments, name="experiment", rich_help_panel="Reproduce")
experiment_command = partial(command, within=experiments)

ResultsFolder = Annotated[Path, "--output", "-o", "FOLDER", "Folder of the results."]
PlanName = Annotated[str, "PLAN", "Name of a plan, or a .toml file."]
Filter = Annotated[
    str | None,
    "NAME=VALUE,...",
    "Select runs by dataset, learner, variant, seed, protocol or vectors.",
]

_RUN_FIELDS = ("dataset", "learner", "variant", "seed", "protocol", "vectors")
_SECONDS_PER_UNIT = {"days": 86400, "h": 3600, "min": 60}


def parse_filter(text: str | None) -> dict[str, list[str]]:
    """Parse the value of `--only`: names of fields with the values they may have.

    Examples
    --------
    >>> parse_filter("learner=svm,seed=1,seed=2")
    {'learner': ['svm'], 'seed': ['1', '2']}
    """
    values: dict[str, list[str]] = {}
    for pair in [] if text is None else text.split(","):
        name, _, value = map(str.strip, pair.partition("="))
        if name not in _RUN_FIELDS or not value:
            raise InputError(
                f"--only contains {pair!r}",
                expected=f"NAME=VALUE, where NAME is one of {', '.join(_RUN_FIELDS)}",
            )
        values.setdefault(name, []).append(value)
    return values


@experiment_command(
    examples="""
wordclass experiment list
wordclass experiment list -o results/
""",
)
def list_(settings: Settings, output: ResultsFolder = Path("results")) -> None:
    """List the plans, with the number and time of their runs.

    The table shows how many runs each plan has, how many are finished, how many cannot run here
    because data or a package is missing, and how long the remaining ones take.
    """
    from wordclass.reproduction import plan as plans
    from wordclass.reproduction.outlook import Outlook
    from wordclass.tables import align_columns

    results = _open_results(settings, output)
    rows: list[tuple[str, ...]] = [
        ("plan", "runs", "finished", "not here", "remaining", "what it shows")
    ]
    descriptions = []
    for name in plans.names():
        plan = plans.Plan.read(name)
        outlook = Outlook.of(plan, results)
        n_missing = sum(outlook.missing.values())
        sizes = {
            "runs": len(outlook.runs) + n_missing,
            "done": len(outlook.runs) - len(outlook.unfinished),
            "not_here": n_missing,
        }
        descriptions.append(
            {"plan": name, **sizes, "seconds": outlook.seconds, "title": plan.title}
        )
        duration = _format_duration(outlook.seconds)
        rows.append((name, *map(str, sizes.values()), duration, plan.title))
    settings.show({"plans": descriptions}, "\n".join(align_columns(rows)))


@experiment_command(
    uses=("jobs",),
    examples="""
wordclass experiment run smoke
wordclass experiment run f1 -j 2 --only dataset=reuters21578,learner=svm
""",
)
def run(
    plan: PlanName,
    settings: Settings,
    output: ResultsFolder = Path("results"),
    only: Filter = None,
) -> None:
    """Run the unfinished runs of a plan.

    If the command is interrupted, the same command resumes. With -j N, N runs are executed at once,
    each with one thread. Several commands may share a folder of results, and each run is executed
    once.
    """
    from wordclass.reproduction.outlook import Outlook
    from wordclass.reproduction.plan import Plan
    from wordclass.reproduction.runner import run_all
    from wordclass.reproduction.sources import CORPUS_VECTORS

    loaded = Plan.read(plan)
    results = _open_results(settings, output)
    outlook = Outlook.of(loaded, results, parse_filter(only))
    for reason, number in outlook.missing.items():
        settings.say(f"{_count_runs(number)} cannot be executed here: {reason}")
    if not outlook.runs:
        raise MissingDataError(next(iter(outlook.missing)))
    n_runs = len(outlook.runs)
    n_remaining = len(outlook.unfinished)
    n_parallel = min(n_threads(settings.jobs), max(n_remaining, 1))
    duration = _format_duration(outlook.seconds / n_parallel)
    settings.say(
        f"{loaded.name}: {_count_runs(n_runs)}, {n_runs - n_remaining} finished, "
        f"{n_remaining} remaining; about {duration} on this machine"
    )
    if any(run.vectors == CORPUS_VECTORS for run in outlook.runs):
        settings.say(
            "GloVe is missing; the word vectors are small ones that are learned from the corpus"
        )
    failures = run_all(
        output, outlook.unfinished, loaded.name, n_jobs=settings.jobs, log=settings.say
    )
    finished_keys = {result.key for result in results.runs()}
    n_finished = sum(run.key in finished_keys for run in outlook.runs)
    settings.report(
        {"plan": loaded.name, "runs": n_runs, "done": n_finished, "failed": failures},
        f"{n_finished} of {_count_runs(n_runs)} finished: {results.path}",
    )
    if failures:
        raise WordClassError(
            f"{_count_runs(len(failures))} failed; the first: {failures[0]}",
            hint="repair the cause and run the same command again",
        )


@experiment_command(
    examples="""
wordclass experiment table f1
wordclass experiment table f1 --format markdown --only dataset=reuters21578
""",
)
def table(
    plan: PlanName,
    settings: Settings,
    output: ResultsFolder = Path("results"),
    only: Filter = None,
    format_: Annotated[str, "--format", "FORMAT", "text, markdown, latex, html or csv."] = "text",
    tests: Annotated[
        bool, "Compare cells by tests over the test documents, which takes seconds."
    ] = True,
) -> None:
    """Show the tables of a plan next to the published numbers.

    Missing cells are marked, and the table ends with the commands that run them. Rows and columns
    without any run are left out. CSV has one line per cell, with the measured value, the published
    value and their difference.
    """
    from wordclass.reproduction import tables
    from wordclass.reproduction.plan import Plan
    from wordclass.reproduction.table_formats import check_format, format_tables

    results = _open_results(settings, output)
    check_format(format_)
    plan_tables = tables.make(Plan.read(plan), results, parse_filter(only), tests=tests)
    descriptions = [{"title": table.title, "cells": table.to_dicts()} for table in plan_tables]
    settings.show({"tables": descriptions}, format_tables(plan_tables, format_).rstrip("\n"))


@experiment_command(
    examples="""
wordclass experiment figure learning_curves --to figures/
""",
)
def figure(
    plan: PlanName,
    to: Annotated[Path, "--to", "FOLDER", "Folder of the figures."],
    settings: Settings,
    output: ResultsFolder = Path("results"),
    only: Filter = None,
) -> None:
    """Draw the figures of a plan as PNG, PDF and SVG.

    Maps of terms are also written as TSV files.
    """
    from wordclass.reproduction import tables
    from wordclass.reproduction.plan import Plan

    catalogue.import_extra("matplotlib", "to draw figures")
    from wordclass.reproduction.figures import write

    loaded = Plan.read(plan)
    results = _open_results(settings, output)
    plan_tables = tables.make(loaded, results, parse_filter(only), tests=False)
    paths = [str(path) for path in write(loaded, results, plan_tables, to, parse_filter(only))]
    if not paths:
        raise InputError(
            f"{results.path} has no results of the plan {loaded.name}",
            hint=f"run it first: wordclass experiment run {loaded.name}",
        )
    settings.show({"figures": paths}, "\n".join(paths))


@experiment_command(
    uses=("force",),
    examples="""
wordclass experiment report results/ --to report/
wordclass experiment report results/ --to docs/ --format markdown
""",
)
def report(
    results: Annotated[Path, "RESULTS", "Folder of the results."],
    to: Annotated[Path, "--to", "FOLDER", "Folder of the report."],
    settings: Settings,
    format_: Annotated[
        str, "--format", "FORMAT", "html writes a page, markdown the pages of the documentation."
    ] = "html",
) -> None:
    """Write a report about all results.

    The report contains the claims of the paper, tables, figures and a description of the machine.
    """
    from wordclass.reproduction.report import write_report

    opened = _open_results(settings, results)
    page = write_report(opened, to, settings.say, format_, force=settings.force)
    settings.report({"report": str(page)}, f"report: {page}")


def _open_results(settings: Settings, folder: Path) -> "Results":
    """Open a folder of results, and report lines that cannot be parsed."""
    from wordclass.reproduction.runs import Results

    results = Results(folder)
    results.runs()
    for number in results.skipped:
        settings.say(
            f"{results.path}, line {number}: skipped, because it cannot be parsed; "
            "its run will be repeated"
        )
    return results


def _count_runs(number: int) -> str:
    return f"{number} run{'s' * (number != 1)}"


def _format_duration(seconds: float) -> str:
    """Write a duration in the largest unit that fits.

    Examples
    --------
    >>> [_format_duration(seconds) for seconds in (0, 42, 600, 9000, 900000)]
    ['0 s', '42 s', '10 min', '2.5 h', '10.4 days']
    """
    for unit, size in _SECONDS_PER_UNIT.items():
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{seconds:.0f} s"
