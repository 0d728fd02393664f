"""A folder about experiments: one page with everything, and its tables and figures as files."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from wordclass import naming, storage
from wordclass.errors import InputError
from wordclass.experiment import plans, tables
from wordclass.experiment.claims import CLAIMS, Evidence
from wordclass.experiment.plans import Plan
from wordclass.experiment.runs import Results, RunResult
from wordclass.experiment.tables import Table
from wordclass.report.page import Markup, fill, static, tag

PAGE, MARKDOWN, TABLES, FIGURES = "index.html", "results.md", "tables", "figures"
_FILES = {PAGE, MARKDOWN, TABLES, FIGURES}
_TABLE_FILES = {"csv": "csv", "latex": "tex"}
_MOST_VOTES = 12  # cells that are named for a claim
Only = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Chapter:
    """A plan with results: its tables, and the names of its figures."""

    plan: Plan
    command: str
    tables: list[Table]
    figures: list[str]


def write_report(results: Results, to: Path, tell: Callable[[str], None]) -> Path:
    """Write what the results say about every plan of ours; return the path of the page.

    An earlier report in the folder is replaced, anything else is an error.
    """
    naming.extra("matplotlib", "to draw the figures of a report")
    storage.check_folder(to, partial(check_report, to))
    done = results.runs()
    if not done:
        raise InputError(f"{results.path} has no results; wordclass experiment run makes some")
    identities = {result.identity for result in done}
    chapters = []
    with storage.replacing_folder(to, partial(check_report, to)) as folder:
        for name in plans.names():
            plan = Plan.read(name)
            if identities.isdisjoint(run.identity for run in plan.runs()):
                continue
            tell(f"{name}: tables and figures")
            made = tables.make(plan, results)
            write_tables(plan.name, made, folder / TABLES)
            drawn = [
                path.stem
                for path in write_figures(plan, results, made, folder / FIGURES)
                if path.suffix == ".png"
            ]
            command = f"wordclass experiment run {name} -o {results.folder}"
            chapters.append(Chapter(plan, command, made, drawn))
        evidence = Evidence({chapter.plan.name: chapter.tables for chapter in chapters})
        with storage.writing(folder / PAGE) as file:
            file.write(_page(results, done, chapters, evidence, folder).encode("utf-8", "replace"))
        with storage.writing(folder / MARKDOWN) as file:
            file.write(_markdown(results, done, chapters, evidence).encode("utf-8", "replace"))
    return to / PAGE


def check_report(folder: Path, found: set[str]) -> None:
    """Refuse to replace what is no report: replacing deletes what was there."""
    if strange := sorted(found - _FILES):
        raise InputError(
            f"{folder} is no report of experiments (it holds {strange[0]}); choose another folder"
        )


def write_tables(name: str, made: Sequence[Table], folder: Path) -> None:
    """Write tables as CSV and LaTeX."""
    with storage.accessing(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
    for form, ending in _TABLE_FILES.items():
        with storage.writing(folder / f"{name}.{ending}") as file:
            file.write(tables.written(made, form).encode("utf-8", "replace"))


def write_figures(
    plan: Plan, results: Results, made: Sequence[Table], folder: Path, only: Only | None = None
) -> list[Path]:
    """Draw the figures of a plan, and write the maps for the Embedding Projector as well."""
    naming.extra("matplotlib", "to draw figures")
    from wordclass.report import experiment_figures

    return experiment_figures.write(plan, results, made, folder, only)


def environment(done: Sequence[RunResult]) -> dict[str, str]:
    """Return what the results were made with: all values that occur, newest last."""
    found: dict[str, dict[str, None]] = {}
    for result in sorted(done, key=lambda each: each.finished):
        for name, value in {**result.versions, **result.machine}.items():
            found.setdefault(name, {})[str(value)] = None
    return {name: ", ".join(values) for name, values in found.items()}


def verdicts(evidence: Evidence) -> list[tuple[str, str, str, list[tuple[str, bool]]]]:
    """Return section, claim, verdict, and the cells that say so."""
    return [(claim.section, claim.text, *claim.verdict(evidence)) for claim in CLAIMS]


def _votes(votes: Sequence[tuple[str, bool]]) -> list[str]:
    """Write what cells say; those that say no come first, as they are what one wants to see."""
    ordered = sorted(votes, key=lambda vote: vote[1])
    written = [f"{'yes' if is_so else 'no'}: {told}" for told, is_so in ordered[:_MOST_VOTES]]
    n_more = len(votes) - len(written)
    return [*written, *([f"and {n_more} more cells"] if n_more else [])]


def _introduction(results: Results, done: Sequence[RunResult]) -> str:
    hours = sum(result.times.get("total", 0.0) for result in done) / 3600
    first, last = min(each.finished for each in done), max(each.finished for each in done)
    return f"{len(done):,} runs in {results.folder}, {hours:.1f} hours, finished {first} to {last}."


def _page(
    results: Results,
    done: Sequence[RunResult],
    chapters: Sequence[Chapter],
    evidence: Evidence,
    folder: Path,
) -> str:
    claims = [
        tag("tr", tag("td", section), tag("td", text), tag("td", verdict, class_="verdict"),
            tag("td", tag("details", tag("summary", f"{len(votes)} cells"),
                          tag("ul", [tag("li", line) for line in _votes(votes)]))))
        for section, text, verdict, votes in verdicts(evidence)
    ]  # fmt: skip
    sections = [
        tag(
            "section",
            tag("h2", f"{chapter.plan.name}: {chapter.plan.title}"),
            tag("pre", chapter.command),
            [tag("div", Markup(table.written("html")), class_="wide") for table in chapter.tables],
            [_picture(folder / FIGURES / f"{name}.png", name) for name in chapter.figures],
        )
        for chapter in chapters
    ]
    known = environment(done).items()
    return fill(
        "experiment.html",
        style=static("experiment.css"),
        introduction=_introduction(results, done),
        claims=claims,
        sections=sections,
        environment=[tag("tr", tag("th", name), tag("td", value)) for name, value in known],
    )


def _picture(path: Path, name: str) -> Markup:
    content = base64.b64encode(storage.content_of(path)).decode("ascii")
    picture = tag("img", src=f"data:image/png;base64,{content}", alt=name, loading="lazy")
    return tag("figure", picture, tag("figcaption", name))


def _markdown(
    results: Results, done: Sequence[RunResult], chapters: Sequence[Chapter], evidence: Evidence
) -> str:
    lines = ["# Results", "", "Made by `wordclass experiment report`; do not edit.", ""]
    lines += [_introduction(results, done), "", "## The paper's claims", ""]
    lines += ["| section | claim | here | cells |", "| --- | --- | --- | --- |"]
    for section, text, verdict, votes in verdicts(evidence):
        told = "<br>".join(each.replace("|", r"\|") for each in _votes(votes))
        lines.append(f"| {section} | {text} | **{verdict}** | {told} |")
    for chapter in chapters:
        lines += ["", f"## {chapter.plan.name}: {chapter.plan.title}", "", f"`{chapter.command}`"]
        for table in chapter.tables:
            lines += ["", table.written("markdown")]
        for name in chapter.figures:
            lines += ["", f"![{name}]({FIGURES}/{name}.png)"]
    lines += ["", "## Environment", "", "| what | which |", "| --- | --- |"]
    lines += [f"| {name} | {value} |" for name, value in environment(done).items()]
    return "\n".join([*lines, ""])
