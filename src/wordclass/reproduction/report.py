"""Reports on experiments: a folder with a web page, or two pages of Markdown with figures.

The web page has everything: the best scores, the paper's claims, tables and figures by plan, the
unfinished runs, and the environment. In Markdown, `replication.md` answers whether the paper
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
from wordclass.reproduction import best_scores, replication, table_formats, tables
from wordclass.reproduction import plan as plans
from wordclass.reproduction.best_scores import Score
from wordclass.reproduction.cells import Table
from wordclass.reproduction.claim_table import format_hours
from wordclass.reproduction.claims import CLAIMS, Evidence
from wordclass.reproduction.comparisons import DIFFERENCES, MEASURES
from wordclass.reproduction.outlook import Times
from wordclass.reproduction.page import Markup, fill, static
from wordclass.reproduction.plan import Plan, missing_sources
from wordclass.reproduction.runs import Results, Run, RunResult
from wordclass.reproduction.table_formats import format_number
from wordclass.storage import files as storage

PAGE = "index.html"
TABLES = "tables"
FIGURES = "figures"
REPLICATION = "replication.md"
EXTENSIONS = "beyond.md"
_TABLE_ENDINGS = {"csv": "csv", "latex": "tex"}
_MAX_VOTES = 12  # comparisons that are listed for a claim
_MAX_UNFOLDED_ROWS = 15
_MAIN_PLAN = "f1"
_SMOKE_PLAN = "smoke"  # it shows nothing about the paper
_RUN_FIELDS = ("plan", "dataset", "learner", "variant", "protocol")
Log = Callable[[str], None]
Section = tuple[str, list[str]]  # a title and its content


@dataclass(frozen=True)
class PageFormat:
    """Markup of a page format. All texts are escaped before they are inserted."""

    name: str
    text: str
    strong: str
    code: str
    figure: str
    files: str

    @property
    def mark(self) -> str:
        """The start of the introduction, by which generated pages are recognized."""
        text_start = self.text.partition("{}")[0]
        code_start = self.code.partition("{}")[0]
        return f"{text_start}Made by {code_start}wordclass experiment report "

    def grid(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Write a table of texts."""
        if self.name == "markdown":
            lines = [heads, ["---"] * len(heads), *rows]
            return "\n".join(f"| {' | '.join(line)} |" for line in lines)
        head = "".join(f'<th scope="col">{text}</th>' for text in heads)
        body = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>\n" for row in rows)
        return f'<div class="wide"><table><tr>{head}</tr>\n{body}</table></div>'

    def tables(self, plan_tables: Sequence[Table]) -> Iterator[str]:
        """Write the measured cells of tables, without references to unfinished runs.

        Markdown has the first table and the table of differences only, and folds long ones.
        """
        measured = [table.select_measured() for table in plan_tables]
        for number, table in enumerate(table for table in measured if table.cells):
            cells = {position: replace(cell, missing=()) for position, cell in table.cells.items()}
            written = table_formats.format_tables([replace(table, cells=cells)], self.name)
            if self.name == "html":
                yield f'<div class="wide">{written}</div>'
            elif number and table.title != DIFFERENCES:
                continue
            elif number or len(table.rows) > _MAX_UNFOLDED_ROWS:
                yield folded(_escape(table.title), written)
            else:
                yield written

    def command(self, arguments: str) -> str:
        """Write a command `wordclass experiment ...`."""
        return self.code.format(_escape(f"wordclass experiment {arguments}"))


PAGE_FORMATS = {
    "html": PageFormat(
        "html", "<p>{}</p>", "<strong>{}</strong>", "<code>{}</code>",
        '<figure><a href="figures/{name}.pdf"><img src="figures/{name}.png" alt="{title}" '
        'loading="lazy"></a><figcaption>{title} (<a href="figures/{name}.pdf">PDF</a>, '
        '<a href="figures/{name}.svg">SVG</a>)</figcaption></figure>',
        'All cells: <a href="tables/{0}.csv">CSV</a>; as <a href="tables/{0}.tex">LaTeX</a>.',
    ),
    "markdown": PageFormat(
        "markdown", "{}", "**{}**", "`{}`", "![{title}](figures/{name}.png)", "",
    ),
}  # fmt: skip


def folded(summary: str, content: str) -> str:
    """Write content that a reader unfolds, in HTML that Markdown accepts as well."""
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def _escape(text: str) -> str:
    return html.escape(" ".join(text.split())).replace("&#x27;", "'").replace("|", "&#124;")


def write_report(
    results: Results,
    to: Path,
    log: Log,
    format_name: str = "html",
    *,
    force: bool = False,
) -> Path:
    """Write a report on the results of all built-in plans.

    Parameters
    ----------
    results : Results
        The results.
    to : Path
        For a web page, its folder: an earlier report is replaced, anything else there is an error.
        For Markdown, the folder of `replication.md`, `beyond.md` and `figures`, which can hold
        other files: earlier pages are replaced with the figures that they show.
    log : callable
        Receives a line of text per plan.
    format_name : {"html", "markdown"}, default="html"
        The format.
    force : bool, default=False
        Whether to replace pages that this command did not write.

    Returns
    -------
    Path
        The path of the page, in Markdown that of `replication.md`.

    Raises
    ------
    InputError
        There are no results, the format is unknown, or the folder holds other files.
    """
    catalogue.import_extra("matplotlib", "to draw the figures of a report")
    if format_name not in PAGE_FORMATS:
        raise catalogue.unknown_name_error("format", format_name, PAGE_FORMATS)
    if format_name == "markdown":
        return _write_markdown(results, to, log, force=force)
    page_format = PAGE_FORMATS["html"]

    def check(names: set[str]) -> None:
        if other_files := sorted(names - {PAGE, TABLES, FIGURES}):
            raise InputError(
                f"{to} is no report of experiments (it holds {other_files[0]})",
                hint="choose another folder",
            )
        _check_page(to / PAGE, page_format.mark, force=force)

    storage.check_folder(to, check)
    _check_results(results)
    with storage.replace_folder_atomically(to, check) as folder:
        introduction = _introduction(page_format, results)
        sections = _sections(page_format, results, folder, log)
        _write(folder / PAGE, _page(introduction, sections))
    return to / PAGE


def _write_markdown(results: Results, to: Path, log: Log, *, force: bool) -> Path:
    """Write replication.md, beyond.md and their figures."""

    def check(names: set[str]) -> None:
        for name in {REPLICATION, EXTENSIONS} & names:
            _check_page(to / name, replication.MARK, force=force)

    storage.check_folder(to, check)
    _check_results(results)
    old_figures = _figures_in(_read_page(to / REPLICATION) + _read_page(to / EXTENSIONS))
    drawn = _draw_replication(results, to / FIGURES, log)
    page = replication.Page.of(results)
    replicating = {run.identity for runs in page.unfinished().values() for run in runs}
    pages = {
        REPLICATION: page.text(drawn),
        EXTENSIONS: _extensions_page(results, to / FIGURES, log, replicating),
    }
    for name, text in pages.items():
        _write(to / name, text)
    for name in old_figures - _figures_in("".join(pages.values())):
        with storage.as_storage_error(to / FIGURES / name, "removed"):
            (to / FIGURES / name).unlink(missing_ok=True)
    return to / REPLICATION


def _draw_replication(results: Results, folder: Path, log: Log) -> list[str]:
    """Draw the figures of replication.md that have results, and return their names."""
    from wordclass.reproduction.figure_style import save
    from wordclass.reproduction.figures import figures_of

    drawn = []
    for plan in map(Plan.read, replication.PAPER_PLANS):
        log(f"{plan.name}: figures")
        first_table = tables.make(plan, results, tests=False)[:1]
        shown = replication.select_paper_cells(first_table)
        for name, figure in figures_of(plan, results, shown):
            if name in replication.figure_names():
                save(figure, folder, name, ["png"])
                drawn.append(name)
    return drawn


def _extensions_page(results: Results, folder: Path, log: Log, replicating: Collection[str]) -> str:
    """Return the text of beyond.md.

    Parameters
    ----------
    results, folder, log
        As for `write_report`.
    replicating : collection of str
        Identities of the unfinished runs that replication.md lists.
    """
    page_format = PAGE_FORMATS["markdown"]
    weights = _word_class_weights(page_format, results)
    sections = [
        ("Best scores", [_summary(page_format, results)]),
        ("Word-class features of `linear`", [replication.linear_note(), weights]),
        *_chapters(page_format, results, folder, log, without=replication.PAPER_PLANS)[1],
        *_other_runs(page_format, results),
        ("Unfinished runs", list(_unfinished(page_format, results, replicating))),
        ("Environment", [_environment_table(page_format, results)]),
    ]
    lines = ["# Beyond the paper", _introduction(page_format, results)]
    for title, content in sections:
        lines += [text for text in (f"## {title}", *content) if text]
    return "\n\n".join([*lines, ""])


def _check_page(page: Path, mark: str, *, force: bool) -> None:
    """Refuse to replace a page that this command did not write."""
    if not force and mark not in _read_page(page):
        raise InputError(
            f"{page} was not made by wordclass experiment report",
            hint="--force overwrites it",
        )


def _check_results(results: Results) -> None:
    if not results.runs():
        raise InputError(
            f"{results.path} has no results", hint="execute some with wordclass experiment run"
        )


def _read_page(page: Path) -> str:
    """Return the text of a page, or an empty string if it does not exist."""
    if not storage.path_exists(page):
        return ""
    return storage.read_content(page).decode("utf-8", "replace")


def _figures_in(text: str) -> set[str]:
    """Return the file names of generated figures in a Markdown page."""
    names = "|".join(plans.names())
    return set(re.findall(rf"\]\({FIGURES}/((?:{names})-[\w.+=-]+\.png)\)", text))


def _write(path: Path, text: str) -> None:
    with storage.as_storage_error(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
    with storage.open_for_writing(path) as file:
        file.write(text.encode("utf-8", "replace"))


def _page(introduction: str, sections: Sequence[Section]) -> str:
    links = ""
    written = ""
    for number, (title, content) in enumerate(sections):
        links += f'<a href="#s{number}">{title.partition(":")[0]}</a>\n'
        inner = "\n".join([f"<h2>{title}</h2>", *content])
        written += f'<section id="s{number}">{inner}</section>\n'
    return fill(
        "experiment.html",
        style=static("experiment.css"),
        introduction=Markup(introduction),
        links=Markup(links),
        sections=Markup(written),
    )


# --- content of the pages -----------------------------------------------------------------------


def _introduction(page_format: PageFormat, results: Results) -> str:
    finished = results.runs()
    hours = sum(result.times.get("total", 0.0) for result in finished) / 3600
    days = sorted(result.finished[:10] for result in finished)
    vectors = sorted({result.vectors["name"] for result in finished if result.vectors}) or ["none"]
    arguments = f"report {results.folder} --to FOLDER --format {page_format.name}"
    return page_format.text.format(
        f"Made by {page_format.command(arguments)} from {len(finished):,} runs, which took "
        f"{hours:.1f} hours and ended between {days[0]} and {days[-1]}. "
        f"Pretrained vectors: {_escape(', '.join(vectors))}; the paper has GloVe of 300 "
        "dimensions. Protocols: paper is that of the paper; in clean, no training document is read "
        "with word-class vectors made from its own label. Variants: wce means word-class "
        "embeddings, vectors means pretrained ones, static unless trainable. In brackets: the "
        "paper's number and the difference from it."
    )


def _sections(page_format: PageFormat, results: Results, folder: Path, log: Log) -> list[Section]:
    """Write all sections of the web page."""
    tables_by_plan, chapters = _chapters(page_format, results, folder, log)
    evidence = Evidence(tables_by_plan, times=Times(results.runs()))
    return [
        ("Best scores", [_summary(page_format, results)]),
        ("The paper's claims", _claims(page_format, evidence)),
        *chapters,
        *_other_runs(page_format, results),
        ("Unfinished runs", list(_unfinished(page_format, results))),
        ("Environment", [_environment_table(page_format, results)]),
    ]


def _chapters(
    page_format: PageFormat,
    results: Results,
    folder: Path,
    log: Log,
    without: Collection[str] = (),
) -> tuple[dict[str, list[Table]], list[Section]]:
    """Return the tables of all plans with results, and a section about each plan."""
    finished = results.runs()
    plans_of_results = {result.plan for result in finished}
    identities = {result.identity for result in finished}
    tables_by_plan: dict[str, list[Table]] = {}
    chapters: list[Section] = []
    names = [name for name in plans.names() if name not in without]
    for plan in map(Plan.read, sorted(names, key=lambda name: name != _MAIN_PLAN)):
        is_shown = plan.name != _SMOKE_PLAN or _SMOKE_PLAN in plans_of_results
        if is_shown and not identities.isdisjoint(run.identity for run in plan.runs()):
            log(f"{plan.name}: tables and figures")
            plan_tables = tables.make(plan, results)
            tables_by_plan[plan.name] = plan_tables
            figures = _write_files(page_format, plan, results, plan_tables, folder)
            title = f"{plan.name}: {_escape(plan.title)}"
            paragraphs = plan.about.strip().split("\n\n")
            about = [page_format.text.format(_escape(text)) for text in paragraphs if text]
            commands = _commands(page_format, plan, results)
            chapters.append((title, [*about, commands, *page_format.tables(plan_tables), *figures]))
    return tables_by_plan, chapters


def _commands(page_format: PageFormat, plan: Plan, results: Results) -> str:
    """Write the commands of a plan and, on a web page, the links to its files."""
    run_command = page_format.command(f"run {plan.name} -o {results.folder}")
    if page_format.name == "html":
        return page_format.text.format(f"{run_command} {page_format.files.format(plan.name)}")
    table_command = page_format.command(f"table {plan.name} -o {results.folder}")
    return page_format.text.format(
        f"{run_command} executes its runs; {table_command} shows all its tables."
    )


def _environment_table(page_format: PageFormat, results: Results) -> str:
    rows = [[name, _escape(value)] for name, value in environment(results.runs()).items()]
    return page_format.grid(["name", "values"], rows)


def _write_files(
    page_format: PageFormat,
    plan: Plan,
    results: Results,
    plan_tables: Sequence[Table],
    folder: Path,
) -> list[str]:
    """Write the files of a plan, and return the markup of its figures.

    In Markdown there are only figures of the first table.
    """
    from wordclass.reproduction import figures as experiment_figures

    if page_format.name == "html":
        for table_format, ending in _TABLE_ENDINGS.items():
            content = table_formats.format_tables(plan_tables, table_format)
            _write(folder / TABLES / f"{plan.name}.{ending}", content)
        drawn = experiment_figures.write(plan, results, plan_tables, folder / FIGURES)
    else:
        drawn = experiment_figures.write(plan, results, plan_tables[:1], folder, endings=["png"])
    titles = {path.stem: _escape(title) for path, title in drawn.items() if path.suffix == ".png"}
    return [page_format.figure.format(name=name, title=title) for name, title in titles.items()]


def _summary(page_format: PageFormat, results: Results) -> str:
    """Write the best scores of each data set over the runs of all plans."""
    finished = results.runs()
    scores = {measure: best_scores.mean_scores(finished, measure) for measure in MEASURES}
    rows = []
    for dataset in scores["macro_f1"]:
        for measure, title in MEASURES.items():
            dataset_scores = scores[measure][dataset]
            columns = [
                best_scores.best(dataset_scores),
                best_scores.best_of_paper(dataset_scores),
                best_scores.best_published(dataset, measure),
            ]
            rows.append([dataset, title, *map(_format_score, columns)])
    heads = ["data set", "measure", "highest of all runs", "highest of the paper's learners",
             "highest in the paper"]  # fmt: skip
    legend = (
        "The highest test scores over all plans: means over seeds, without the trials of searches. "
        "They describe the runs; no setting was chosen by them."
    )
    return f"{page_format.text.format(legend)}\n\n{page_format.grid(heads, rows)}"


def _format_score(score: Score | None) -> str:
    if score is None:
        return "-"
    return _escape(" ".join([format_number("share", score.value), *score.parts()]))


def _word_class_weights(page_format: PageFormat, results: Results) -> str:
    """Write the weight of word-class features that `linear` chose, and its scores without them."""
    by_dataset: dict[str, dict[bool, RunResult]] = {}
    for result in results.runs():
        is_default = (result.learner, result.variant) == ("linear", "default") and result.scores
        if is_default and result.options in ({}, {"block_weight": 0.0}):
            is_without = bool(result.options)
            by_dataset.setdefault(result.dataset, {})[is_without] = result
    rows = []
    for dataset, pair in by_dataset.items():
        if False in pair and "@" not in dataset:
            weight = pair[False].settings.get("block_weight")
            scores = [_format_both_scores(pair.get(is_without)) for is_without in (False, True)]
            rows.append([dataset, "-" if weight is None else f"{weight:g}", *scores])
    heads = ["data set", "weight chosen by validation", "macro / micro F1", "without (weight 0)"]
    return page_format.grid(heads, rows)


def _format_both_scores(result: RunResult | None) -> str:
    if result is None:
        return "not run yet"
    return " / ".join(format_number("share", result.scores[name]) for name in MEASURES)


def _claims(page_format: PageFormat, evidence: Evidence) -> list[str]:
    rows = []
    counts = Counter[str]()
    for claim in CLAIMS:
        verdict = claim.verdict(evidence)
        counts[verdict.name] += 1
        # comparisons that contradict the claim come first
        votes = sorted(verdict.votes, key=lambda vote: vote.is_yes)[:_MAX_VOTES]
        lines = [f"{'yes' if vote.is_yes else 'no'}: {_escape(vote.text)}" for vote in votes]
        n_more = len(verdict.votes) - len(lines)
        lines += [f"and {n_more} more"] if n_more else []
        n_yes = sum(vote.is_yes for vote in verdict.votes)
        summary = f"{n_yes} of {len(verdict.votes)} cells support it"
        cells = f"<details><summary>{summary}</summary>{'<br>'.join(lines)}</details>"
        reason = ", ".join(verdict.missing) if verdict.missing else f"{verdict.hours:.1f} hours"
        name = page_format.strong.format(verdict.name)
        last = cells if lines else _escape(reason)
        rows.append([claim.section, _escape(claim.text), name, last])
    summary = ", ".join(f"{verdict}: {number}" for verdict, number in counts.most_common())
    heads = ["section", "claim", "verdict", "cells"]
    return [page_format.text.format(summary), page_format.grid(heads, rows)]


def _other_runs(page_format: PageFormat, results: Results) -> Iterator[Section]:
    """List the runs that no built-in plan has, as means over seeds."""
    finished = results.runs()
    known = {identity for result in finished for identity in result.needs}  # trials of a search
    known |= {run.identity for name in plans.names() for run in Plan.read(name).runs()}
    groups: dict[tuple[str, ...], list[RunResult]] = {}
    for result in finished:
        if result.identity not in known:
            settings = [f"{name}={value}" for name, value in result.options.items()]
            settings += [f"vectors={result.vectors['name']}"] if result.vectors else []
            settings += ["search"] if result.needs else []
            names = [getattr(result, name) for name in _RUN_FIELDS]
            groups.setdefault((*names, ", ".join(settings)), []).append(result)
    rows = []
    for row_names, group in groups.items():
        scores = [
            format_number("share", fmean(result.scores[name] for result in group))
            if all(name in result.scores for result in group)
            else "-"
            for name in MEASURES
        ]
        rows.append([*map(_escape, row_names), str(len(group)), *scores])
    if rows:
        command = page_format.command(f"table FILE.toml -o {results.folder}")
        heads = [*_RUN_FIELDS, "settings", "runs", *MEASURES.values()]
        text = f"Runs of no built-in plan; {command} shows those of a plan file."
        yield "Other runs", [page_format.text.format(text), page_format.grid(heads, rows)]


def _unfinished(
    page_format: PageFormat, results: Results, without: Collection[str] = ()
) -> Iterator[str]:
    """List the unfinished runs of plans, except some identities, with hours and commands."""
    finished = results.runs()
    times = Times(finished)
    known = {result.identity for result in finished} | {*without}
    possible: dict[tuple[str, str], list[Run]] = {}
    impossible: dict[tuple[str, str], list[Run]] = {}
    for name in plans.names():
        for run in Plan.read(name).runs() if name != _SMOKE_PLAN else ():
            if run.identity not in known:
                known.add(run.identity)  # several plans share runs
                groups = impossible if missing_sources(run) else possible
                groups.setdefault((name, run.learner), []).append(run)
    for title, groups in [
        ("Not run yet", possible),
        ("Needs data or vectors that cannot be had here", impossible),
    ]:
        rows = []
        total_hours = 0.0
        for (name, learner), runs in groups.items():
            hours = sum(map(times.expected, runs)) / 3600
            total_hours += hours
            datasets = ", ".join(dict.fromkeys(run.dataset.partition(":")[0] for run in runs))
            command = page_format.command(
                f"run {name} -o {results.folder} --only learner={learner}"
            )
            sizes = f"{len(runs):,}", format_hours(hours)
            rows.append([name, learner, _escape(datasets), *sizes, command])
        heads = ["plan", "learner", "data sets", "runs", "hours", "command"]
        if rows:
            yield folded(f"{title}: about {total_hours:,.0f} hours", page_format.grid(heads, rows))


def environment(finished: Sequence[RunResult]) -> Mapping[str, str]:
    """Return versions and machines of the results: all values that occur, newest last."""
    values_by_name: dict[str, dict[str, None]] = {}
    for result in sorted(finished, key=lambda result: result.finished):
        for name, value in {**result.versions, **result.machine}.items():
            values_by_name.setdefault(name, {})[str(value)] = None
    return {name: ", ".join(values) for name, values in values_by_name.items()}
