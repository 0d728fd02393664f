"""What experiments showed: a folder with a page, or Markdown with pictures.

Both have the same parts: our best beside the paper's, its claims, tables and figures by plan, what
was not run, and where all of it was made.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean

from wordclass import naming, storage
from wordclass.errors import InputError, MissingDataError
from wordclass.experiment import paper, plans, sources, tables
from wordclass.experiment.claims import CLAIMS, Evidence
from wordclass.experiment.outlook import Times
from wordclass.experiment.plans import Plan
from wordclass.experiment.runs import Results, Run, RunResult
from wordclass.experiment.tables import MEASURES, Table
from wordclass.report import experiment_tables
from wordclass.report.experiment_tables import written_number
from wordclass.report.page import Markup, fill, static

PAGE, MARKDOWN, TABLES, FIGURES = "index.html", "results.md", "tables", "figures"
_TABLE_FILES = {"csv": "csv", "latex": "tex"}
_MOST_VOTES = 12  # cells that are named for a claim
_MOST_ROWS = 15  # of a table that is not folded
_FIRST, _SMALL = "f1", "smoke"  # the main plan; the one that shows nothing about the paper
_ASKED = ("plan", "dataset", "learner", "variant", "protocol")
Section = tuple[str, list[str]]  # a title, and what stands below it


@dataclass(frozen=True)
class Form:
    """How a format writes what it is made of; all texts are escaped before."""

    name: str
    text: str
    strong: str
    code: str
    figure: str
    files: str

    @property
    def mark(self) -> str:
        """What only reports have: the start of their introduction."""
        start, code = (each.partition("{}")[0] for each in (self.text, self.code))
        return f"{start}Made by {code}wordclass experiment report "

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
        done = [each.measured() for each in made]
        for number, table in enumerate(each for each in done if each.cells):
            cells = {place: replace(cell, missing=()) for place, cell in table.cells.items()}
            written = experiment_tables.written([replace(table, cells=cells)], self.name)
            if self.name == "html":
                yield f'<div class="wide">{written}</div>'
            elif number or len(table.rows) > _MOST_ROWS:
                yield folded(_escape(table.title), written)
            else:
                yield written

    def command(self, written: str) -> str:
        """Write one of our commands."""
        return self.code.format(_escape(f"wordclass experiment {written}"))


FORMS = {
    "html": Form(
        "html", "<p>{}</p>", "<strong>{}</strong>", "<code>{}</code>",
        '<figure><a href="figures/{name}.pdf"><img src="figures/{name}.png" alt="{title}" '
        'loading="lazy"></a><figcaption>{title} (<a href="figures/{name}.pdf">PDF</a>, '
        '<a href="figures/{name}.svg">SVG</a>)</figcaption></figure>',
        'All cells: <a href="tables/{0}.csv">CSV</a>; as <a href="tables/{0}.tex">LaTeX</a>.',
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
    results: Results,
    to: Path,
    tell: Callable[[str], None],
    form: str = "html",
    *,
    force: bool = False,
) -> Path:
    """Write what the results say about every plan of ours.

    Parameters
    ----------
    results : Results
    to : Path
        For a page, its folder: an earlier report is replaced, anything else there is an error. For
        Markdown, the folder of `results.md` and `figures`, whatever else it holds: an earlier
        `results.md` is replaced, with those of its figures that are ours.
    tell : callable
        Is told what is being made.
    form : {"html", "markdown"}, default="html"
    force : bool, default=False
        Whether a page or `results.md` that is not of this command is replaced too.

    Returns
    -------
    The path of the page.
    """
    naming.extra("matplotlib", "to draw the figures of a report")
    if form not in FORMS:
        raise naming.unknown("format", form, FORMS)
    is_page = form == "html"
    page = to / (PAGE if is_page else MARKDOWN)

    def check(found: set[str]) -> None:
        if strange := sorted(found - {PAGE, TABLES, FIGURES}) if is_page else []:
            raise InputError(
                f"{to} is no report of experiments (it holds {strange[0]}); choose another folder"
            )
        is_taken = page.name in found or is_page
        if is_taken and not force and FORMS[form].mark not in _text_of(page):
            raise InputError(
                f"{page} was not made by wordclass experiment report; --force overwrites it"
            )

    storage.check_folder(to, check)
    if not results.runs():
        raise InputError(f"{results.path} has no results; wordclass experiment run makes some")
    introduction = _introduction(FORMS[form], results)
    if is_page:
        with storage.replacing_folder(to, check) as folder:
            sections = _sections(FORMS[form], results, folder, tell)
            _write(folder / PAGE, _page(introduction, sections))
    else:
        old = _figures_in(_text_of(page))
        sections = _sections(FORMS[form], results, to / FIGURES, tell)
        written = [part for title, parts in sections for part in (f"## {title}", *parts) if part]
        text = "\n\n".join(["# Results", introduction, *written, ""])
        _write(page, text)
        for name in old - _figures_in(text):
            with storage.accessing(to / FIGURES / name, "removed"):
                (to / FIGURES / name).unlink(missing_ok=True)
    return page


def _text_of(page: Path) -> str:
    return storage.content_of(page).decode("utf-8", "replace") if storage.is_there(page) else ""


def _figures_in(text: str) -> set[str]:
    """Return the pictures that Markdown of ours shows, by their names."""
    named = "|".join(plans.names())
    return set(re.findall(rf"\]\({FIGURES}/((?:{named})-[\w.+=-]+\.png)\)", text))


def _write(path: Path, text: str) -> None:
    with storage.accessing(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
    with storage.writing(path) as file:
        file.write(text.encode("utf-8", "replace"))


def _page(introduction: str, sections: Sequence[Section]) -> str:
    links, written = "", ""
    for number, (title, parts) in enumerate(sections):
        links += f'<a href="#s{number}">{title.partition(":")[0]}</a>\n'
        inner = "\n".join([f"<h2>{title}</h2>", *parts])
        written += f'<section id="s{number}">{inner}</section>\n'
    contents = {"introduction": introduction, "links": links, "sections": written}
    return fill("experiment.html", style=static("experiment.css"),
                **{name: Markup(part) for name, part in contents.items()})  # fmt: skip


# --- what stands on the page --------------------------------------------------------------------


def _introduction(form: Form, results: Results) -> str:
    done = results.runs()
    hours = sum(result.times.get("total", 0.0) for result in done) / 3600
    days = sorted(result.finished[:10] for result in done)
    vectors = sorted({result.vectors["name"] for result in done if result.vectors}) or ["none"]
    command = form.command(f"report {results.folder} --to FOLDER --format {form.name}")
    return form.text.format(
        f"Made by {command}: {len(done):,} runs, which took {hours:.1f} hours and ended between "
        f"{days[0]} and {days[-1]}. "
        f"Pretrained vectors: {_escape(', '.join(vectors))}; the paper's are GloVe of 300 "
        "dimensions. Protocol paper is the paper's; in protocol clean no training text is read "
        "with word-class vectors that its own labels have made. Variants: wce are word-class "
        "embeddings, vectors are pretrained ones, static unless trainable. In brackets: the "
        "paper's number, and the difference from it."
    )


def _sections(
    form: Form, results: Results, folder: Path, tell: Callable[[str], None]
) -> list[Section]:
    """Write the tables and figures of all plans with results, and all that is told of them."""
    done = results.runs()
    plans_done, identities = {each.plan for each in done}, {each.identity for each in done}
    made, chapters = dict[str, list[Table]](), list[Section]()
    for plan in map(Plan.read, sorted(plans.names(), key=lambda name: name != _FIRST)):
        is_shown = plan.name != _SMALL or _SMALL in plans_done
        if is_shown and not identities.isdisjoint(run.identity for run in plan.runs()):
            tell(f"{plan.name}: tables and figures")
            own = made[plan.name] = tables.make(plan, results)
            figures = _files(form, plan, results, own, folder)
            command = form.command(f"run {plan.name} -o {results.folder}")
            told = form.text.format(f"{command} {form.files.format(plan.name)}".rstrip())
            title = f"{plan.name}: {_escape(plan.title)}"
            paragraphs = [_escape(each) for each in plan.about.strip().split("\n\n") if each]
            about = [form.text.format(each) for each in paragraphs]
            chapters.append((title, [*about, told, *form.tables(own), *figures]))
    known = [[name, _escape(value)] for name, value in environment(done).items()]
    sections = [
        ("The paper's claims", _claims(form, Evidence(made))),
        *chapters,
        *_others(form, results),
        ("Not run", list(_not_run(form, results))),
        ("Environment", [form.grid(["what", "which"], known)]),
    ]
    if _FIRST in made:
        sections.insert(0, ("Our best beside the paper's", [_summary(form, made[_FIRST])]))
    return sections


def _files(
    form: Form, plan: Plan, results: Results, made: Sequence[Table], folder: Path
) -> list[str]:
    """Write the files of a plan; return its figures as they stand on the page.

    Beside Markdown there is a picture of the first table only.
    """
    from wordclass.report import experiment_figures

    if form.name == "html":
        for kind, ending in _TABLE_FILES.items():
            _write(folder / TABLES / f"{plan.name}.{ending}", experiment_tables.written(made, kind))
        drawn = experiment_figures.write(plan, results, made, folder / FIGURES)
    else:
        drawn = experiment_figures.write(plan, results, made[:1], folder, endings=["png"])
    pictures = {path.stem: _escape(title) for path, title in drawn.items() if path.suffix == ".png"}
    return [form.figure.format(name=name, title=title) for name, title in pictures.items()]


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


def _best(scores: Mapping[tuple[str, ...], float]) -> str:
    if not scores:
        return "-"
    row = max(scores, key=lambda each: scores[each])
    return " ".join([written_number("share", scores[row]), *filter(None, row)])


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


def _others(form: Form, results: Results) -> Iterator[Section]:
    """List the runs of no plan of ours, such as those of the user's plans: means over seeds."""
    done = results.runs()
    known = {identity for result in done for identity in result.needs}  # trials of a search
    known |= {run.identity for name in plans.names() for run in Plan.read(name).runs()}
    groups: dict[tuple[str, ...], list[RunResult]] = {}
    for result in done:
        if result.identity not in known:
            settings = [f"{name}={value}" for name, value in result.options.items()]
            settings += [f"vectors={result.vectors['name']}"] if result.vectors else []
            settings += ["search"] if result.needs else []
            own = [getattr(result, name) for name in _ASKED]
            groups.setdefault((*own, ", ".join(settings)), []).append(result)
    rows = []
    for names, same in groups.items():
        scores = [
            written_number("share", fmean(result.scores[name] for result in same))
            if all(name in result.scores for result in same)
            else "-"
            for name in MEASURES
        ]
        rows.append([*map(_escape, names), str(len(same)), *scores])
    if rows:
        command = form.command(f"table FILE.toml -o {results.folder}")
        heads = [*_ASKED, "settings", "runs"]
        told = form.text.format(f"Runs of no plan of ours; {command} shows those of a plan's file.")
        yield "Other runs", [told, form.grid([*heads, *MEASURES.values()], rows)]


def _not_run(form: Form, results: Results) -> Iterator[str]:
    """List what is left of the plans: how many runs, how long they take, and the command."""
    done = results.runs()
    times, seen, is_at_hand = Times(done), {result.identity for result in done}, cache(_is_here)
    left: dict[bool, dict[tuple[str, str], list[Run]]] = {True: {}, False: {}}
    for name in plans.names():
        for run in Plan.read(name).runs() if name != _SMALL else ():
            if run.identity not in seen:
                seen.add(run.identity)  # several plans share runs
                group = left[is_at_hand(run.dataset, run.vectors)]
                group.setdefault((name, run.learner), []).append(run)
    for is_here, groups in left.items():
        rows, hours = [], 0.0
        for (name, learner), runs in groups.items():
            seconds = sum(map(times.expected, runs))
            hours += seconds / 3600
            datasets = ", ".join(dict.fromkeys(run.dataset.partition(":")[0] for run in runs))
            command = form.command(f"run {name} -o {results.folder} --only learner={learner}")
            sizes = f"{len(runs):,}", f"{seconds / 3600:,.1f}"
            rows.append([name, learner, _escape(datasets), *sizes, command])
        written = form.grid(["plan", "learner", "data sets", "runs", "hours", "command"], rows)
        where = "With data that are here" if is_here else "With data or vectors that are not here"
        if rows:
            yield folded(f"{where}: about {hours:,.0f} hours", written)


def _is_here(dataset: str, vectors: str | None) -> bool:
    try:
        sources.dataset_files(dataset)
        if vectors is not None:
            sources.vectors_file(vectors)
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
