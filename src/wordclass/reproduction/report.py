"""What experiments showed: a folder with a web page, or two pages of Markdown with pictures.

The web page has everything: the best scores, the paper's claims, tables and figures by plan, what
was not run, and the environment. In Markdown, `replication.md` answers whether the paper
replicates, and `beyond.md` has the plans that go beyond it.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from wordclass import catalogue
from wordclass.errors import InputError
from wordclass.reproduction import paper, replication, table_formats, tables
from wordclass.reproduction import plan as plans
from wordclass.reproduction.claims import CLAIMS, Evidence
from wordclass.reproduction.outlook import Times
from wordclass.reproduction.page import Markup, fill, static
from wordclass.reproduction.plan import Plan, unavailable
from wordclass.reproduction.runs import Results, Run, RunResult
from wordclass.reproduction.table_formats import written_number
from wordclass.reproduction.tables import MEASURES, Table
from wordclass.storage import files as storage

PAGE, TABLES, FIGURES = "index.html", "tables", "figures"
REPLICATION, BEYOND = "replication.md", "beyond.md"
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

        Markdown has the first table and the differences; long ones are folded.
        """
        done = [table.measured() for table in made]
        for number, table in enumerate(table for table in done if table.cells):
            cells = {place: replace(cell, missing=()) for place, cell in table.cells.items()}
            written = table_formats.format_tables([replace(table, cells=cells)], self.name)
            if self.name == "html":
                yield f'<div class="wide">{written}</div>'
            elif number and table.title != tables.DIFFERENCES:
                continue
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
    """Write what the results say about every built-in plan.

    Parameters
    ----------
    results : Results
    to : Path
        For a web page, its folder: an earlier report is replaced, anything else there is an error.
        For Markdown, the folder of `replication.md`, `beyond.md` and `figures`, whatever else it
        holds: earlier pages are replaced, with the figures that they show.
    tell : callable
        Is told what is being made.
    form : {"html", "markdown"}, default="html"
    force : bool, default=False
        Whether pages that this command did not write are replaced too.

    Returns
    -------
    The path of the (first) page.
    """
    catalogue.import_extra("matplotlib", "to draw the figures of a report")
    if form not in FORMS:
        raise catalogue.unknown_name_error("format", form, FORMS)
    if form == "markdown":
        return _write_markdown(results, to, tell, force=force)

    def check(names: set[str]) -> None:
        if strange := sorted(names - {PAGE, TABLES, FIGURES}):
            raise InputError(
                f"{to} is no report of experiments (it holds {strange[0]}); choose another folder"
            )
        _check_page(to / PAGE, FORMS["html"].mark, force=force)

    storage.check_folder(to, check)
    _check_results(results)
    with storage.replace_folder_atomically(to, check) as folder:
        introduction = _introduction(FORMS["html"], results)
        sections = _sections(FORMS["html"], results, folder, tell)
        _write(folder / PAGE, _page(introduction, sections))
    return to / PAGE


def _write_markdown(
    results: Results, to: Path, tell: Callable[[str], None], *, force: bool
) -> Path:
    """Write replication.md, beyond.md and their figures."""

    def check(names: set[str]) -> None:
        for name in {REPLICATION, BEYOND} & names:
            _check_page(to / name, replication.MARK, force=force)

    storage.check_folder(to, check)
    _check_results(results)
    shown_before = _figures_in(_text_of(to / REPLICATION) + _text_of(to / BEYOND))
    drawn = _draw_replication(results, to / FIGURES, tell)
    pages = {
        REPLICATION: replication.Page.of(results).text(drawn),
        BEYOND: _beyond(results, to / FIGURES, tell),
    }
    for name, text in pages.items():
        _write(to / name, text)
    for name in shown_before - _figures_in("".join(pages.values())):
        with storage.as_storage_error(to / FIGURES / name, "removed"):
            (to / FIGURES / name).unlink(missing_ok=True)
    return to / REPLICATION


def _draw_replication(results: Results, folder: Path, tell: Callable[[str], None]) -> list[str]:
    """Draw the figures of replication.md that there are results for; return their names."""
    from wordclass.reproduction import figures as experiment_figures

    drawn = []
    for plan in map(Plan.read, replication.PAPER_PLANS):
        tell(f"{plan.name}: figures")
        made = replication.of_the_paper(tables.make(plan, results, tests=False)[:1])
        for name, figure in experiment_figures.figures_of(plan, results, made):
            if name in replication.figure_names():
                experiment_figures.save(figure, folder, name, ["png"])
                drawn.append(name)
    return drawn


def _beyond(results: Results, folder: Path, tell: Callable[[str], None]) -> str:
    """Return the text of beyond.md."""
    form = FORMS["markdown"]
    sections = [
        ("Best scores", [_summary(form, results)]),
        ("What word-class features add to `linear`", [_word_class_features(form, results)]),
        *_chapters(form, results, folder, tell, without=replication.PAPER_PLANS)[1],
        *_others(form, results),
        ("Not run", list(_not_run(form, results, without=replication.PAPER_PLANS))),
        ("Environment", [_environment_table(form, results)]),
    ]
    written = [part for title, parts in sections for part in (f"## {title}", *parts) if part]
    return "\n\n".join(["# Beyond the paper", _introduction(form, results), *written, ""])


def _check_page(page: Path, mark: str, *, force: bool) -> None:
    """Refuse to replace a page that this command did not write."""
    if not force and mark not in _text_of(page):
        raise InputError(
            f"{page} was not made by wordclass experiment report; --force overwrites it"
        )


def _check_results(results: Results) -> None:
    if not results.runs():
        raise InputError(f"{results.path} has no results; wordclass experiment run makes some")


def _text_of(page: Path) -> str:
    return (
        storage.read_content(page).decode("utf-8", "replace") if storage.path_exists(page) else ""
    )


def _figures_in(text: str) -> set[str]:
    """Return the pictures that Markdown of ours shows, by their names."""
    named = "|".join(plans.names())
    return set(re.findall(rf"\]\({FIGURES}/((?:{named})-[\w.+=-]+\.png)\)", text))


def _write(path: Path, text: str) -> None:
    with storage.as_storage_error(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
    with storage.open_for_writing(path) as file:
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
    """Write everything that results say, one section after the other."""
    made, chapters = _chapters(form, results, folder, tell)
    return [
        ("Best scores", [_summary(form, results)]),
        ("The paper's claims", _claims(form, Evidence(made, times=Times(results.runs())))),
        *chapters,
        *_others(form, results),
        ("Not run", list(_not_run(form, results))),
        ("Environment", [_environment_table(form, results)]),
    ]


def _chapters(
    form: Form,
    results: Results,
    folder: Path,
    tell: Callable[[str], None],
    without: Collection[str] = (),
) -> tuple[dict[str, list[Table]], list[Section]]:
    """Return the tables of all plans with results but some, and a section about each."""
    done = results.runs()
    plans_done = {each.plan for each in done}
    identities = {each.identity for each in done}
    made = dict[str, list[Table]]()
    chapters = list[Section]()
    names = [name for name in plans.names() if name not in without]
    for plan in map(Plan.read, sorted(names, key=lambda name: name != _FIRST)):
        is_shown = plan.name != _SMALL or _SMALL in plans_done
        if is_shown and not identities.isdisjoint(run.identity for run in plan.runs()):
            tell(f"{plan.name}: tables and figures")
            own = made[plan.name] = tables.make(plan, results)
            figures = _files(form, plan, results, own, folder)
            command = form.command(f"run {plan.name} -o {results.folder}")
            files = form.files.format(plan.name)
            if form.name == "markdown":
                more = form.command(f"table {plan.name} -o {results.folder}")
                files = f"does its runs, {more} shows all its tables."
            told = form.text.format(f"{command} {files}")
            title = f"{plan.name}: {_escape(plan.title)}"
            paragraphs = [_escape(each) for each in plan.about.strip().split("\n\n") if each]
            about = [form.text.format(each) for each in paragraphs]
            chapters.append((title, [*about, told, *form.tables(own), *figures]))
    return made, chapters


def _environment_table(form: Form, results: Results) -> str:
    known = [[name, _escape(value)] for name, value in environment(results.runs()).items()]
    return form.grid(["what", "which"], known)


def _files(
    form: Form, plan: Plan, results: Results, made: Sequence[Table], folder: Path
) -> list[str]:
    """Write the files of a plan; return its figures as they stand on the page.

    Beside Markdown there is a picture of the first table only.
    """
    from wordclass.reproduction import figures as experiment_figures

    if form.name == "html":
        for kind, ending in _TABLE_FILES.items():
            _write(
                folder / TABLES / f"{plan.name}.{ending}", table_formats.format_tables(made, kind)
            )
        drawn = experiment_figures.write(plan, results, made, folder / FIGURES)
    else:
        drawn = experiment_figures.write(plan, results, made[:1], folder, endings=["png"])
    pictures = {path.stem: _escape(title) for path, title in drawn.items() if path.suffix == ".png"}
    return [form.figure.format(name=name, title=title) for name, title in pictures.items()]


def _summary(form: Form, results: Results) -> str:
    """Write the best scores of each data set, over the runs of all plans: means of seeds."""
    groups: dict[str, dict[tuple[str, ...], list[RunResult]]] = {}
    for result in results.runs():
        if result.scores and ":" not in result.dataset and "@" not in result.dataset:
            options = [f"{name}={value}" for name, value in result.options.items()]
            vectors = [result.vectors["name"]] if result.vectors else []
            row = (result.learner, result.variant, result.protocol, *vectors, *options)
            groups.setdefault(result.dataset, {}).setdefault(row, []).append(result)
    rows = []
    for dataset, named in groups.items():
        for measure, title in MEASURES.items():
            here = {row: fmean(run.scores[measure] for run in runs) for row, runs in named.items()}
            theirs = {
                row: mean
                for row, mean in here.items()
                if row[0] in ("svm", *paper.NEURAL) and not any(_is_ours(part) for part in row[3:])
            }
            published = {
                tuple(row): cell.value
                for (column, *row), cell in paper.cells(measure).items()
                if column == dataset
            }
            rows.append([dataset, title, *map(_best, (here, theirs, published))])
    ours = ["highest of all runs", "highest of the paper's learners and variants"]
    written = form.grid(["data set", "measure", *ours, "the paper's highest"], rows)
    told = "The highest test scores of all plans, means over seeds. Nothing was chosen by them."
    return f"{form.text.format(told)}\n\n{written}"


def _is_ours(part: str) -> bool:
    """Return True for vectors and options of runs that the paper does not have."""
    name = part.partition("=")[0]
    return name not in (
        "channels",
        "hidden",
        "lr",
        "epochs",
        "random_dims",
        "supervised_dropout",
    ) and ("=" in part or "pte" in part)


def _best(scores: Mapping[tuple[str, ...], float]) -> str:
    if not scores:
        return "-"
    row = max(scores, key=lambda each: scores[each])
    return _escape(" ".join([written_number("share", scores[row]), *filter(None, row)]))


def _word_class_features(form: Form, results: Results) -> str:
    """Write the weight of word-class features that `linear` chose, and its scores without them."""
    chosen: dict[str, dict[bool, RunResult]] = {}
    for result in results.runs():
        is_default = (result.learner, result.variant) == ("linear", "default") and result.scores
        if is_default and result.options in ({}, {"block_weight": 0.0}):
            chosen.setdefault(result.dataset, {})[bool(result.options)] = result
    rows = []
    for dataset, own in chosen.items():
        if False in own and "@" not in dataset:
            weight = own[False].settings.get("block_weight")
            scores = [_both_scores(own.get(is_without)) for is_without in (False, True)]
            rows.append([dataset, "-" if weight is None else f"{weight:g}", *scores])
    heads = ["data set", "weight chosen by validation", "macro / micro F1", "without (weight 0)"]
    return form.grid(heads, rows)


def _both_scores(result: RunResult | None) -> str:
    if result is None:
        return "not run"
    return " / ".join(written_number("share", result.scores[name]) for name in MEASURES)


def _claims(form: Form, evidence: Evidence) -> list[str]:
    rows = []
    counts = Counter[str]()
    for claim in CLAIMS:
        verdict = claim.verdict(evidence)
        counts[verdict.name] += 1
        # those that say no come first, as they are what one wants to see
        ordered = sorted(verdict.votes, key=lambda vote: vote.is_so)[:_MOST_VOTES]
        lines = [f"{'yes' if vote.is_so else 'no'}: {_escape(vote.text)}" for vote in ordered]
        n_more = len(verdict.votes) - len(lines)
        lines += [f"and {n_more} more"] if n_more else []
        n_so = sum(vote.is_so for vote in verdict.votes)
        said = f"{n_so} of {len(verdict.votes)} cells say yes"
        cells = f"<details><summary>{said}</summary>{'<br>'.join(lines)}</details>"
        why = f"{', '.join(verdict.missing)}{f'{verdict.hours:.1f} hours' * (not verdict.missing)}"
        name = form.strong.format(verdict.name)
        rows.append([claim.section, _escape(claim.text), name, cells if lines else _escape(why)])
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


def _not_run(form: Form, results: Results, without: Collection[str] = ()) -> Iterator[str]:
    """List the runs of plans that are not done: how many, how long they take, and the command."""
    done = results.runs()
    times = Times(done)
    known = {result.identity for result in done}
    left: dict[bool, dict[tuple[str, str], list[Run]]] = {True: {}, False: {}}
    for name in plans.names():
        for run in Plan.read(name).runs() if name not in (_SMALL, *without) else ():
            if run.identity not in known:
                known.add(run.identity)  # several plans share runs
                group = left[not unavailable(run)]
                group.setdefault((name, run.learner), []).append(run)
    for is_possible, groups in left.items():
        rows, hours = [], 0.0
        for (name, learner), runs in groups.items():
            seconds = sum(map(times.expected, runs))
            hours += seconds / 3600
            datasets = ", ".join(dict.fromkeys(run.dataset.partition(":")[0] for run in runs))
            command = form.command(f"run {name} -o {results.folder} --only learner={learner}")
            sizes = f"{len(runs):,}", f"{seconds / 3600:,.1f}"
            rows.append([name, learner, _escape(datasets), *sizes, command])
        written = form.grid(["plan", "learner", "data sets", "runs", "hours", "command"], rows)
        where = "Not run yet" if is_possible else "Needs data or vectors that cannot be had here"
        if rows:
            yield folded(f"{where}: about {hours:,.0f} hours", written)


def environment(done: Sequence[RunResult]) -> dict[str, str]:
    """Return what the results were made with: all values that occur, newest last."""
    found: dict[str, dict[str, None]] = {}
    for result in sorted(done, key=lambda each: each.finished):
        for name, value in {**result.versions, **result.machine}.items():
            found.setdefault(name, {})[str(value)] = None
    return {name: ", ".join(values) for name, values in found.items()}
