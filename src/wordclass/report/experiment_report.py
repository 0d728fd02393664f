"""What experiments showed: a folder with a page, or Markdown with pictures.

Both have the same parts: our best beside the paper's, its claims, tables and figures by plan, what
was not run, and where all of it was made.
"""

import html
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from wordclass import naming, storage
from wordclass.errors import InputError, MissingDataError
from wordclass.experiment import paper, plans, sources, tables
from wordclass.experiment.claims import CLAIMS, Evidence
from wordclass.experiment.plans import Plan
from wordclass.experiment.running import expected_seconds
from wordclass.experiment.runs import Results, Run, RunResult
from wordclass.experiment.tables import MEASURES, Table
from wordclass.report.page import Markup, fill, static

PAGE, MARKDOWN, TABLES, FIGURES = "index.html", "results.md", "tables", "figures"
_TABLE_FILES = {"csv": "csv", "latex": "tex"}
_MOST_VOTES = 12  # cells that are named for a claim
_MOST_ROWS = 15  # of a table that is not folded
_FIRST, _SMALL = "f1", "smoke"  # the main plan; the one that shows nothing about the paper
Only = Mapping[str, Sequence[str]]
Section = tuple[str, list[str]]  # a title, and what stands below it


@dataclass(frozen=True)
class Chapter:
    """A plan with results: its tables, and the names and titles of its figures."""

    plan: Plan
    tables: list[Table]
    figures: Mapping[str, str]


@dataclass(frozen=True)
class Form:
    """How a format writes what it is made of; all texts are escaped before."""

    name: str
    text: str
    strong: str
    code: str
    figure: str
    files: str

    def grid(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Write a table of texts."""
        if self.name == "markdown":
            lines = [heads, ["---"] * len(heads), *rows]
            return "\n".join(f"| {' | '.join(line)} |" for line in lines)
        head = "".join(f'<th scope="col">{each}</th>' for each in heads)
        body = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>\n" for row in rows)
        return f'<div class="wide"><table><tr>{head}</tr>\n{body}</table></div>'

    def tables(self, made: Sequence[Table]) -> Iterator[str]:
        """Write what was measured of tables; the list of what was not run has the rest.

        In Markdown, long tables and all but the first are folded.
        """
        for number, table in enumerate(each.measured() for each in made):
            cells = {place: replace(cell, command=None) for place, cell in table.cells.items()}
            written = replace(table, cells=cells).written(self.name)
            if self.name == "html":
                yield f'<div class="wide">{written}</div>' if cells else ""
            elif number or len(table.rows) > _MOST_ROWS:
                yield folded(_escape(table.title), written) if cells else ""
            else:
                yield written if cells else ""


FORMS = {
    "html": Form(
        "html", "<p>{}</p>", "<strong>{}</strong>", "<code>{}</code>",
        '<figure><a href="figures/{name}.pdf"><img src="figures/{name}.png" alt="{title}" '
        'loading="lazy"></a><figcaption>{title} (<a href="figures/{name}.pdf">PDF</a>, '
        '<a href="figures/{name}.svg">SVG</a>)</figcaption></figure>',
        'All cells: <a href="tables/{0}.csv">CSV</a>, <a href="tables/{0}.tex">LaTeX</a>.',
    ),
    "markdown": Form(
        "markdown", "{}", "**{}**", "`{}`", "![{title}](figures/{name}.png)", "",
    ),
}  # fmt: skip


def folded(summary: str, content: str) -> str:
    """Write what is shown when a reader opens it; Markdown understands it as well."""
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def _escape(text: str) -> str:
    return html.escape(" ".join(text.split())).replace("&#x27;", "'").replace("|", "&#124;")


def write_report(
    results: Results, to: Path, tell: Callable[[str], None], form: str = "html"
) -> Path:
    """Write what the results say about every plan of ours.

    Parameters
    ----------
    results : Results
    to : Path
        For a page, its folder: an earlier report is replaced, anything else there is an error. For
        Markdown, the folder of `results.md` and `figures`, whatever else it holds.
    tell : callable
        Is told what is being made.
    form : {"html", "markdown"}, default="html"

    Returns
    -------
    The path of the page.
    """
    naming.extra("matplotlib", "to draw the figures of a report")
    if form not in FORMS:
        raise sources.unknown("format", form, FORMS)
    is_page = form == "html"
    place = to if is_page else to / FIGURES
    check = partial(check_report, place, {PAGE, TABLES, FIGURES} if is_page else {".png"})
    storage.check_folder(place, check)
    done = results.runs()
    if not done:
        raise InputError(f"{results.path} has no results; wordclass experiment run makes some")
    with storage.replacing_folder(place, check) as folder:
        chapters = list(_chapters(results, done, folder, tell, is_page=is_page))
        introduction = _introduction(FORMS[form], results, done)
        sections = list(_sections(FORMS[form], results, done, chapters))
        if is_page:
            _write(folder / PAGE, _page(introduction, sections))
    if not is_page:
        written = ["# Results", introduction]
        for title, parts in sections:
            written += [f"## {title}", *parts]
        _write(to / MARKDOWN, "\n\n".join([*written, ""]))
    return to / (PAGE if is_page else MARKDOWN)


def check_report(folder: Path, known: set[str], found: set[str]) -> None:
    """Refuse to replace what is no report: replacing deletes what was there."""
    strange = sorted(name for name in found if not {name, Path(name).suffix} & known)
    if strange:
        raise InputError(
            f"{folder} is no report of experiments (it holds {strange[0]}); choose another folder"
        )


def _write(path: Path, text: str) -> None:
    with storage.accessing(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
    with storage.writing(path) as file:
        file.write(text.encode("utf-8", "replace"))


def _chapters(
    results: Results,
    done: Sequence[RunResult],
    folder: Path,
    tell: Callable[[str], None],
    *,
    is_page: bool,
) -> Iterator[Chapter]:
    """Make the tables and figures of all plans with results, and write them into the folder."""
    identities = {result.identity for result in done}
    for plan in map(Plan.read, sorted(plans.names(), key=lambda name: name != _FIRST)):
        own = {result.plan for result in done} if plan.name == _SMALL else {plan.name}
        if plan.name not in own or identities.isdisjoint(run.identity for run in plan.runs()):
            continue
        tell(f"{plan.name}: tables and figures")
        made = tables.make(plan, results)
        if is_page:
            for form, ending in _TABLE_FILES.items():
                _write(folder / TABLES / f"{plan.name}.{ending}", tables.written(made, form))
            drawn = write_figures(plan, results, made, folder / FIGURES)
        else:
            drawn = write_figures(plan, results, made[:1], folder, endings=["png"])
        pictures = {path.stem: title for path, title in drawn.items() if path.suffix == ".png"}
        yield Chapter(plan, made, pictures)


def write_figures(
    plan: Plan,
    results: Results,
    made: Sequence[Table],
    folder: Path,
    only: Only | None = None,
    **options: Sequence[str],
) -> dict[Path, str]:
    """Draw the figures of a plan: see `experiment_figures.write`."""
    naming.extra("matplotlib", "to draw figures")
    from wordclass.report import experiment_figures

    return experiment_figures.write(plan, results, made, folder, only, **options)


# --- what stands on the page --------------------------------------------------------------------


def _introduction(form: Form, results: Results, done: Sequence[RunResult]) -> str:
    hours = sum(result.times.get("total", 0.0) for result in done) / 3600
    days = sorted(result.finished[:10] for result in done)
    vectors = {result.vectors["name"] for result in done if result.vectors}
    command = f"wordclass experiment report {results.folder} --to FOLDER --format {form.name}"
    made_by, used = form.code.format(_escape(command)), ", ".join(sorted(vectors)) or "none"
    return form.text.format(
        f"Made by {made_by}: {len(done):,} runs, which took {hours:.1f} hours and ended between "
        f"{days[0]} and {days[-1]}. Pretrained vectors: {_escape(used)}; the paper's are GloVe of "
        "300 dimensions. "
        "Protocol paper is the paper's; in protocol clean no training text is read with word-class "
        "vectors that its own labels have made. Variants: wce are word-class embeddings, vectors "
        "are pretrained ones, static unless trainable. In brackets: the paper's number, and the "
        "difference from it."
    )


def _sections(
    form: Form, results: Results, done: Sequence[RunResult], chapters: Sequence[Chapter]
) -> Iterator[Section]:
    by_plan = {chapter.plan.name: chapter for chapter in chapters}
    if _FIRST in by_plan:
        yield "Our best beside the paper's", [_summary(form, by_plan[_FIRST].tables)]
    yield "The paper's claims", _claims(form, Evidence({n: c.tables for n, c in by_plan.items()}))
    for name, chapter in by_plan.items():
        command = f"wordclass experiment run {name} -o {results.folder}"
        told = f"{form.code.format(_escape(command))} {form.files.format(name)}".rstrip()
        yield (
            f"{name}: {chapter.plan.title}",
            [
                form.text.format(told),
                *form.tables(chapter.tables),
                *(
                    form.figure.format(name=each, title=_escape(title))
                    for each, title in chapter.figures.items()
                ),
            ],
        )
    yield "Not run", list(_not_run(form, results, done))
    known = [[name, _escape(value)] for name, value in environment(done).items()]
    yield "Environment", [form.grid(["what", "which"], known)]


def _summary(form: Form, made: Sequence[Table]) -> str:
    rows = []
    for dataset in made[0].measured().columns:
        for table, (measure, title) in zip(made, MEASURES.items(), strict=False):
            here = {
                row: cell.measured.mean
                for (row, column), cell in table.cells.items()
                if column == dataset and cell.measured
            }
            theirs = {row: mean for row, mean in here.items() if row[0] in ("svm", *paper.NEURAL)}
            published = {
                tuple(row): cell.value
                for (column, *row), cell in paper.cells(measure).items()
                if column == dataset
            }
            rows.append([dataset, title, *map(_best, (here, theirs, published))])
    ours = ["best here", "best here of the paper's learners"]
    return form.grid(["data set", "measure", *ours, "the paper's best"], rows)


def _best(scores: Mapping[Sequence[str], float]) -> str:
    if not scores:
        return "-"
    row = max(scores, key=lambda each: scores[each])
    return f"{scores[row]:.3f} {' '.join(filter(None, row))}".removeprefix("0")


def _claims(form: Form, evidence: Evidence) -> list[str]:
    rows = []
    for claim in CLAIMS:
        verdict, votes = claim.verdict(evidence)
        # those that say no come first, as they are what one wants to see
        ordered = sorted(votes, key=lambda vote: vote[1])[:_MOST_VOTES]
        lines = [f"{'yes' if is_so else 'no'}: {_escape(told)}" for told, is_so in ordered]
        lines += [f"and {len(votes) - len(lines)} more"] if len(votes) > len(lines) else []
        said = f"{sum(is_so for _, is_so in votes)} of {len(votes)} cells say yes"
        cells = f"<details><summary>{said}</summary>{'<br>'.join(lines)}</details>" if votes else ""
        rows.append([claim.section, _escape(claim.text), form.strong.format(verdict), cells])
    counts = Counter(verdict for *_, verdict, _ in rows)
    told = ", ".join(f"{verdict}: {number}" for verdict, number in counts.most_common())
    return [form.text.format(told), form.grid(["section", "claim", "verdict", "cells"], rows)]


def _not_run(form: Form, results: Results, done: Sequence[RunResult]) -> Iterator[str]:
    """List what is left of the plans: how many runs, how long they take, and the command."""
    seen = {result.identity for result in done}
    left: dict[bool, dict[tuple[str, str], list[Run]]] = {True: {}, False: {}}
    for name in plans.names():
        for run in Plan.read(name).runs() if name != _SMALL else ():
            if run.identity not in seen:
                seen.add(run.identity)  # several plans share runs
                group = left[_is_here(run.dataset, run.vectors)]
                group.setdefault((name, run.learner), []).append(run)
    for is_here, groups in left.items():
        rows, hours = [], 0.0
        for (name, learner), runs in groups.items():
            seconds = sum(expected_seconds(run, done) for run in runs)
            hours += seconds / 3600
            datasets = ", ".join(dict.fromkeys(run.dataset.partition(":")[0] for run in runs))
            command = (
                f"wordclass experiment run {name} -o {results.folder} --only learner={learner}"
            )
            row = [name, learner, _escape(datasets), f"{len(runs):,}", f"{seconds / 3600:,.1f}"]
            rows.append([*row, form.code.format(_escape(command))])
        written = form.grid(["plan", "learner", "data sets", "runs", "hours", "command"], rows)
        where = "With data that are here" if is_here else "With data or vectors that are not here"
        if rows:
            yield folded(f"{where}: about {hours:,.0f} hours", written)


@cache
def _is_here(dataset: str, vectors: str | None) -> bool:
    try:
        sources.dataset_files(dataset)
        if vectors not in (None, sources.OWN_VECTORS):
            sources.vectors_file(str(vectors))
    except MissingDataError:
        return False
    return True


def environment(done: Sequence[RunResult]) -> dict[str, str]:
    """Return what the results were made with: all values that occur, newest last."""
    found: dict[str, dict[str, None]] = {}
    for result in sorted(done, key=lambda each: each.finished):
        for name, value in {**result.versions, **result.machine}.items():
            found.setdefault(name, {})[str(value)] = None
    return {name: ", ".join(values) for name, values in found.items()}


def _page(introduction: str, sections: Sequence[Section]) -> str:
    links = [
        f'<a href="#s{k}">{title.partition(":")[0]}</a>' for k, (title, _) in enumerate(sections)
    ]
    written = [
        "\n".join([f'<section id="s{k}"><h2>{_escape(title)}</h2>', *parts, "</section>"])
        for k, (title, parts) in enumerate(sections)
    ]
    return fill(
        "experiment.html",
        style=static("experiment.css"),
        introduction=Markup(introduction),
        links=Markup("\n".join(links)),
        sections=Markup("\n".join(written)),
    )
