"""The commands of experiments: plans, and runs that go on where they were stopped."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordclass import catalogue
from wordclass.cli.command import Settings, app, command
from wordclass.errors import InputError, MissingDataError, WordClassError
from wordclass.options import n_threads

if TYPE_CHECKING:
    from wordclass.reproduction.runs import Results

experiments = typer.Typer(
    help="The paper's tables and figures: run plans, and show what came out.",
    no_args_is_help=True,
)
app.add_typer(experiments, name="experiment")
experiment_command = partial(command, within=experiments)

Folder = Annotated[Path, "--output", "-o", "Folder of the results."]
PlanName = Annotated[str, typer.Argument(metavar="PLAN", help="Name of a plan, or a .toml file.")]
Only = Annotated[str | None, "Some of its runs: dataset=NAME,learner=NAME,variant=NAME,seed=N,..."]

_RUN_FIELDS = ("dataset", "learner", "variant", "seed", "protocol", "vectors")


def chosen(only: str | None) -> dict[str, list[str]]:
    """Read what `--only` was given: names and the values that they may have.

    Examples
    --------
    >>> chosen("learner=svm,seed=1,seed=2")
    {'learner': ['svm'], 'seed': ['1', '2']}
    """
    found: dict[str, list[str]] = {}
    for pair in [] if only is None else only.split(","):
        name, _, value = map(str.strip, pair.partition("="))
        if name not in _RUN_FIELDS or not value:
            known = ", ".join(_RUN_FIELDS)
            raise InputError(f"--only has {pair!r}; expected NAME=VALUE, with NAME of {known}")
        found.setdefault(name, []).append(value)
    return found


@experiment_command
def list_(settings: Settings, output: Folder = Path("results")) -> None:
    """Show the plans: how many runs each holds, how many are done, how long the rest takes."""
    from wordclass.reproduction import plan as plans
    from wordclass.reproduction.outlook import Outlook
    from wordclass.tables import align_columns

    results = _results(settings, output)
    rows: list[tuple[str, ...]] = [("plan", "runs", "done", "not here", "left", "what it shows")]
    facts = []
    for name in plans.names():
        plan = plans.Plan.read(name)
        outlook = Outlook.of(plan, results)
        sizes = {
            "runs": len(outlook.runs) + sum(outlook.missing.values()),
            "done": len(outlook.runs) - len(outlook.unfinished),
            "not_here": sum(outlook.missing.values()),
        }
        facts.append({"plan": name, **sizes, "seconds": outlook.seconds, "title": plan.title})
        rows.append((name, *map(str, sizes.values()), _time(outlook.seconds), plan.title))
    settings.show({"plans": facts}, "\n".join(align_columns(rows)))


@experiment_command
def run(
    plan: PlanName, settings: Settings, output: Folder = Path("results"), only: Only = None
) -> None:
    """Do the runs of a plan that are not done yet; killed or stopped, the same command goes on.

    With -j N, N runs are done at once, each by one thread. Several such commands may share a folder
    of results: every run is done once.
    """
    from wordclass.reproduction.outlook import Outlook
    from wordclass.reproduction.plan import Plan
    from wordclass.reproduction.runner import run_all
    from wordclass.reproduction.sources import CORPUS_VECTORS

    read, results = Plan.read(plan), _results(settings, output)
    outlook = Outlook.of(read, results, chosen(only))
    for reason, number in outlook.missing.items():
        settings.say(f"{_n_runs(number)} cannot be done here: {reason}")
    if not outlook.runs:
        raise MissingDataError(next(iter(outlook.missing)))
    n_runs, n_left, jobs = len(outlook.runs), len(outlook.unfinished), n_threads(settings.jobs)
    settings.say(
        f"{read.name}: {_n_runs(n_runs)}, {n_runs - n_left} done, {n_left} left: "
        f"about {_time(outlook.seconds / min(jobs, max(n_left, 1)))} on this machine"
    )
    if any(each.vectors == CORPUS_VECTORS for each in outlook.runs):
        settings.say("its vectors are small ones, learned here from the corpus itself: no GloVe")
    failures = run_all(output, outlook.unfinished, read.name, n_jobs=jobs, log=settings.say)
    finished = {result.key for result in results.runs()}
    n_done = sum(each.key in finished for each in outlook.runs)
    settings.tell(
        {"plan": read.name, "runs": n_runs, "done": n_done, "failed": failures},
        f"{n_done} of {_n_runs(n_runs)} done: {results.path}",
    )
    if failures:
        raise WordClassError(f"{_n_runs(len(failures))} failed; the first: {failures[0]}")


@experiment_command
def table(
    plan: PlanName,
    settings: Settings,
    output: Folder = Path("results"),
    only: Only = None,
    format_: Annotated[str, "--format", "text, markdown, latex, html or csv."] = "text",
    tests: Annotated[bool, "Compare cells over the test documents; takes seconds."] = True,
) -> None:
    """Show the tables of a plan: what was measured, beside what the paper has.

    Cells that were not run are marked, and rows and columns without any run are left out; the
    commands that run them stand below. CSV has one line per cell, of all of them, with what was
    measured, what was published and the difference in columns.
    """
    from wordclass.reproduction import tables
    from wordclass.reproduction.plan import Plan
    from wordclass.reproduction.table_formats import check_format, format_tables

    results = _results(settings, output)
    check_format(format_)
    made = tables.make(Plan.read(plan), results, chosen(only), tests=tests)
    facts = {"tables": [{"title": each.title, "cells": each.to_dicts()} for each in made]}
    settings.show(facts, format_tables(made, format_).rstrip("\n"))


@experiment_command
def figure(
    plan: PlanName,
    to: Annotated[Path, "Folder to write the figures to."],
    settings: Settings,
    output: Folder = Path("results"),
    only: Only = None,
) -> None:
    """Draw the figures of a plan, as PNG, PDF and SVG; maps of terms as TSV too."""
    from wordclass.reproduction import tables
    from wordclass.reproduction.plan import Plan

    catalogue.import_extra("matplotlib", "to draw figures")
    from wordclass.reproduction.figures import write

    read, results = Plan.read(plan), _results(settings, output)
    made = tables.make(read, results, chosen(only), tests=False)
    paths = [str(path) for path in write(read, results, made, to, chosen(only))]
    if not paths:
        raise InputError(f"{results.path} has no results of the plan {read.name}; run it first")
    settings.show({"figures": paths}, "\n".join(paths))


@experiment_command
def report(
    results: Annotated[Path, typer.Argument(help="Folder of the results.")],
    to: Annotated[Path, "Folder to write the report to."],
    settings: Settings,
    format_: Annotated[
        str, "--format", "html: a web page; markdown: replication.md, beyond.md."
    ] = "html",
) -> None:
    """Write one page about all results: the paper's claims, tables, figures, environment."""
    from wordclass.reproduction.report import write_report

    found, force = _results(settings, results), settings.force
    page = write_report(found, to, settings.say, format_, force=force)
    settings.tell({"report": str(page)}, f"the report: {page}")


def _results(settings: Settings, folder: Path) -> "Results":
    """Open a folder of results, and tell of its lines that are not understood."""
    from wordclass.reproduction.runs import Results

    results = Results(folder)
    results.runs()
    for number in results.skipped:
        settings.say(
            f"{results.path}, line {number}: not understood, and skipped; its run is done again"
        )
    return results


def _n_runs(number: int) -> str:
    return f"{number} run{'s' * (number != 1)}"


def _time(seconds: float) -> str:
    """Write a time as people say it.

    Examples
    --------
    >>> [_time(each) for each in (0, 42, 600, 9000, 900000)]
    ['0 s', '42 s', '10 min', '2.5 h', '10.4 days']
    """
    for unit, size in {"days": 86400, "h": 3600, "min": 60}.items():
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{seconds:.0f} s"
