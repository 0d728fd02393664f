"""The page that answers whether the paper replicates, in Markdown and from the results alone.

It has the answer in ten sentences, the coverage, every claim with its verdict, the paper's two
tables beside ours, all deviations and looks at test data, and the commands that complete it.
`presets.toml` decides whether a run is possible, not the data folder, so that the page is the same
on every machine.
"""

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from wordclass.explorer.term_map import TermMap
from wordclass.reproduction import best_scores, paper, tables
from wordclass.reproduction.cells import Cell, Table
from wordclass.reproduction.claim_table import (
    claim_table,
    format_difference,
    format_hours,
    format_share,
    markdown_table,
)
from wordclass.reproduction.claims import CLAIMS, Claim, Evidence, Verdict, published_evidence
from wordclass.reproduction.comparisons import MEASURES
from wordclass.reproduction.outlook import Times
from wordclass.reproduction.plan import Plan, missing_sources
from wordclass.reproduction.runs import Results, Run

PAPER_PLANS = (
    "f1", "datasets", "learning_curves", "dropout", "run_times", "embedding_times",
    "correlations", "vectors", "visualization", "unseen_terms", "fasttext_settings",
)  # fmt: skip
_LEARNERS = {
    "svm": "SVM",
    "fasttext": "fastText",
    "cnn": "CNN",
    "lstm": "LSTM",
    "attention": "ATTN",
}
_VARIANTS = {
    "tfidf": "tfidf",
    "random": "Random",
    "vectors": "GloVe (static)",
    "vectors-trainable": "GloVe (trainable)",
    "vectors+random": "GloVe+Random",
    "vectors+wce": "GloVe+WCEs (static)",
    "vectors+wce-trainable": "GloVe+WCEs (trainable)",
}
_DATASETS = {
    "newsgroups20": "20 Newsgroups",
    "reuters21578": "Reuters-21578",
    "ohsumed": "Ohsumed",
    "rcv1": "RCV1-v2",
    "jrc_acquis": "JRC-Acquis",
    "wipo_gamma": "WIPO-gamma",
}
_VECTORS = {"glove.6B.100d": "GloVe, 100 dimensions", "spacy-en-md": "spaCy, 300 dimensions"}
_AVAILABLE = ("newsgroups20", "reuters21578")  # data sets of the paper that can be had here
_PLAN_TITLES = {
    "learning_curves": "Learning curves (4.5)",
    "dropout": "Supervised dropout (4.6)",
    "run_times": "Run times (4.7)",
    "correlations": "Other correlations (4.8)",
    "vectors": "Other vectors (4.9)",
    "unseen_terms": "Terms outside the vocabulary (4.11)",
}
_MEASUREMENT_TITLES = {
    "datasets": "Data sets (4.1)",
    "embedding_times": "Times of X and S (4.7)",
    "visualization": "Maps of terms (4.10)",
}
_TEXTS = Path(__file__).with_name("replication.toml")
MARK = "Made by `wordclass experiment report"  # how the second line of generated pages starts
_MAX_LISTED_CLAIMS = 8
_CLOSE = 0.02  # macro F1 that differs by less from the published number counts as equal


@dataclass(frozen=True)
class _Gain:
    """Mean gain of one variant over another, here and published, over the cells with both."""

    here: float
    published: float | None
    n_better: int
    n_cells: int

    def __str__(self) -> str:
        """Write the gain."""
        here = f"{format_difference(self.here)} macro F1 on average, better in {self.n_better} of"
        cells = f"{self.n_cells} {'cell' if self.n_cells == 1 else 'cells'}"
        if self.published is None:
            return f"{here} {cells}"
        return f"{here} {cells} (the paper, same cells: {format_difference(self.published)})"


@dataclass(frozen=True)
class Page:
    """The page and the evidence behind it.

    Parameters
    ----------
    results : Results
        The results.
    evidence : Evidence
        The tables of the plans that reproduce the paper.
    """

    results: Results
    evidence: Evidence

    @classmethod
    def of(cls, results: Results) -> "Page":
        """Gather the evidence in a folder of results."""
        finished = results.runs()
        by_plan = {name: tables.make(Plan.read(name), results, tests=False) for name in PAPER_PLANS}
        maps = {
            result.dataset: TermMap.of_parts(result.extra, results.arrays(result.key))
            for result in finished
            if result.learner == "map" and result.dataset in _DATASETS
        }
        return cls(results, Evidence(by_plan, maps, Times(finished)).select(_DATASETS))

    def text(self, figures: Iterable[str] = ()) -> str:
        """Write the page.

        Parameters
        ----------
        figures : iterable of str, default=()
            Names of the existing figures.
        """
        verdicts = [(claim, claim.verdict(self.evidence)) for claim in CLAIMS]
        sentences = self._answer(verdicts)
        lines = [
            "# Does the paper replicate?",
            "",
            f"{MARK}` from {len(self.results.runs()):,} runs; do not edit.",
            "[beyond.md](beyond.md) has the experiments that go beyond the paper.",
            "",
            "## The answer",
            "",
            *(f"{number}. {sentence}" for number, sentence in enumerate(sentences, start=1)),
            "",
            "## Coverage",
            "",
            *self._coverage(),
            "",
            "## Claims",
            "",
            *claim_table(verdicts, published_evidence().select(_AVAILABLE)),
            "",
        ]
        for title in MEASURES.values():
            lines += [f"## {title}", "", *self._scores(title), ""]
        lines += ["## Macro F1 with vectors of 300 dimensions", "", *self._other_vectors(), ""]
        lines += ["## Settings of fastText", "", *self._fasttext_settings(), ""]
        lines += ["## Deviations and looks at test data", "", *_deviation_box(), ""]
        lines += ["## Unfinished runs", "", *self._missing(), ""]
        captions: Mapping[str, str] = _texts()["figures"]
        existing = set(figures)
        shown = [name for name in captions if name in existing]
        if shown:
            lines += ["## Figures", ""]
            lines += [f"![{captions[name]}](figures/{name}.png)" for name in shown]
            lines += [""]
        return "\n".join(lines)

    # --- the answer -------------------------------------------------------------------------

    def _answer(self, verdicts: Sequence[tuple[Claim, Verdict]]) -> list[str]:
        sentences = [
            _verdict_sentence(verdicts),
            self._gain_sentence(
                "Word-class embeddings (WCEs) help beside static GloVe vectors",
                "vectors+wce",
                "vectors",
            ),
            self._gain_sentence(
                "WCEs help beside trainable GloVe vectors",
                "vectors+wce-trainable",
                "vectors-trainable",
            ),
            self._gain_sentence(
                "WCEs help more than the same number of random columns",
                "vectors+wce-trainable",
                "vectors+random",
            ),
            self._level_sentence(),
            self._protocol_sentence(),
            self._best_sentence(),
            _failure_sentence(verdicts),
            self._hours_sentence(),
            "The vectors here have 100 dimensions instead of 300, and the networks are smaller and "
            "have fewer seeds ([all deviations](#deviations-and-looks-at-test-data)).",
        ]
        return [sentence for sentence in sentences if sentence]

    def _gain_sentence(self, text: str, new: str, old: str) -> str:
        gain = self._gain(new, old)
        return f"{text}: {gain}." if gain else ""

    def _gain(self, new: str, old: str) -> _Gain | None:
        published = paper.cells("macro_f1")
        cells = self._cells("Macro F1")
        gains = []
        published_gains = []
        for (dataset, learner, variant, protocol), cell in cells.items():
            base = cells.get((dataset, learner, old, protocol))
            is_comparable = variant == new and dataset in _AVAILABLE
            if is_comparable and cell.measured and base and base.measured:
                gains.append(cell.measured.mean - base.measured.mean)
                new_cell = published.get((dataset, learner, new))
                old_cell = published.get((dataset, learner, old))
                if new_cell and old_cell:
                    published_gains.append(new_cell.value - old_cell.value)
        if not gains:
            return None
        published_gain = fmean(published_gains) if published_gains else None
        return _Gain(fmean(gains), published_gain, sum(gain > 0 for gain in gains), len(gains))

    def _level_sentence(self) -> str:
        differences = [
            cell.difference
            for (dataset, learner, _, protocol), cell in self._cells("Macro F1").items()
            if cell.difference is not None and protocol == "paper"
            if dataset in _AVAILABLE and learner in _LEARNERS
        ]
        if not differences:
            return ""
        n_close = sum(abs(difference) <= _CLOSE for difference in differences)
        return (
            "In the paper's protocol, macro F1 differs from the published numbers by "
            f"{format_difference(fmean(differences))} on average over {len(differences)} cells, "
            f"and by at most .02 in {n_close} of them."
        )

    def _protocol_sentence(self) -> str:
        leaky = self._network_gains("paper")
        clean = self._network_gains("clean")
        shared = sorted(leaky.keys() & clean.keys())
        if not shared:
            return ""
        clean_gain = format_difference(fmean(clean[cell] for cell in shared))
        leaky_gain = format_difference(fmean(leaky[cell] for cell in shared))
        cells = f"{len(shared)} {'cell' if len(shared) == 1 else 'cells'} with both protocols"
        return (
            "Cross-fitted WCEs, which have not seen a training document's own label (protocol "
            f"clean), add {clean_gain} macro F1 to static GloVe vectors in networks; in the "
            f"paper's protocol they add {leaky_gain} ({cells})."
        )

    def _network_gains(self, protocol: str) -> dict[tuple[str, str], float]:
        """Return the gains of WCEs beside static GloVe by data set and network in a protocol."""
        cells = self._cells("Macro F1")
        gains = {}
        for (dataset, learner, variant, cell_protocol), cell in cells.items():
            base = cells.get((dataset, learner, "vectors", cell_protocol))
            is_comparable = variant == "vectors+wce" and cell_protocol == protocol
            is_network = learner in paper.NETWORKS
            if is_comparable and is_network and cell.measured and base and base.measured:
                gains[dataset, learner] = cell.measured.mean - base.measured.mean
        return gains

    def _best_sentence(self) -> str:
        scores = best_scores.mean_scores(self.results.runs(), "macro_f1")
        parts = []
        for dataset in _AVAILABLE:
            best = best_scores.best_of_paper(scores.get(dataset, []))
            if best is not None:
                name = f"{_LEARNERS[best.learner]} {_variant_name(best.variant, best.vectors)}"
                parts.append(f"{name} on {_DATASETS[dataset]} ({format_share(best.value)})")
        if not parts:
            return ""
        return f"The best of the paper's learners here by macro F1: {'; '.join(parts)}."

    def _hours_sentence(self) -> str:
        hours = sum(map(self.evidence.hours, self.unfinished().values()))
        if not hours:
            return "Every run that is possible here is finished."
        return (
            f"The unfinished runs that are possible here take about {hours:.0f} hours on one core "
            "([commands](#unfinished-runs))."
        )

    # --- coverage ---------------------------------------------------------------------------

    def _coverage(self) -> list[str]:
        finished = {result.identity for result in self.results.runs()}
        rows = []
        for dataset, name in _DATASETS.items():
            runs = [run for run in Plan.read("f1").runs() if run.dataset == dataset]
            rows.append([f"F1, {name} (4.4)", *self._count_by_learner(runs, finished), ""])
        for plan, name in _PLAN_TITLES.items():
            rows.append([name, *self._count_by_learner(Plan.read(plan).runs(), finished), ""])
        for plan, name in _MEASUREMENT_TITLES.items():
            runs = [run for run in Plan.read(plan).runs() if run.dataset in _DATASETS]
            rows.append([name, *[""] * len(_LEARNERS), self._count(runs, finished)])
        legend = (
            "Finished runs of those that are possible here, and the hours of the others. "
            "*impossible*: the corpus or the vectors cannot be had here."
        )
        return [legend, "", *markdown_table(["", *_LEARNERS.values(), "no learner"], rows)]

    def _count_by_learner(self, runs: Sequence[Run], finished: set[str]) -> list[str]:
        return [
            self._count([run for run in runs if run.learner == learner], finished)
            for learner in _LEARNERS
        ]

    def _count(self, runs: Sequence[Run], finished: set[str]) -> str:
        if not runs:
            return ""
        possible = [run for run in runs if not missing_sources(run)]
        if not possible:
            return "*impossible*"
        unfinished = [run for run in possible if run.identity not in finished]
        hours = f", {format_hours(self.evidence.hours(unfinished))} h" if unfinished else ""
        return f"{len(possible) - len(unfinished)} of {len(possible)}{hours}"

    # --- the paper's tables -----------------------------------------------------------------

    def _cells(self, title: str) -> dict[tuple[str, str, str, str], Cell]:
        """Return the cells of a table of F1 by data set, learner, variant and protocol."""
        (table,) = (table for table in self.evidence.tables["f1"] if table.title == title)
        cells = {}
        for (row, dataset), cell in table.cells.items():
            names = dict(zip(table.heads, row, strict=True))
            if not names.get("settings"):
                cells[dataset, names["learner"], names["variant"], names.get("protocol", "")] = cell
        return cells

    def _scores(self, title: str) -> list[str]:
        (measure,) = (name for name, text in MEASURES.items() if text == title)
        cells = self._cells(title)
        published = paper.cells(measure)
        variants = dict.fromkeys((learner, variant) for _, learner, variant in published)
        rows = []
        for learner, variant in variants:
            row = [_LEARNERS[learner], _VARIANTS[variant]]
            for dataset in _AVAILABLE:
                row.append(_published_score(published.get((dataset, learner, variant))))
                for protocol in ("paper", "clean"):
                    row.append(_score(cells.get((dataset, learner, variant, protocol))))
            rows.append(row)
        heads = ["", ""]
        for dataset in _AVAILABLE:
            heads += [f"{_DATASETS[dataset]}: paper", "here, its protocol", "here, clean"]
        legend = (
            "±: standard deviation over n seeds; one seed without it. SVM and fastText have the "
            "paper's protocol only, and the plans have LSTM and ATTN in the clean one only."
        )
        return [legend, "", *markdown_table(heads, rows)]

    def _other_vectors(self) -> list[str]:
        (table,) = (table for table in self.evidence.tables["vectors"] if table.title == "Macro F1")
        cells = {}
        for (row, dataset), cell in table.cells.items():
            names = dict(zip(table.heads, row, strict=True))
            vectors = names["settings"].removeprefix("vectors=")
            cells[names["learner"], names["variant"], dataset, vectors] = cell
        published = paper.cells("macro_f1")
        pairs = {
            (learner, variant): None
            for learner, variant, dataset, _ in cells
            if dataset in _AVAILABLE
        }
        rows = []
        for learner, variant in pairs:
            line = [_LEARNERS[learner], _VARIANTS[variant].replace("GloVe", "Vectors")]
            for dataset in _AVAILABLE:
                line.append(_published_score(published.get((dataset, learner, variant))))
                line += [_score(cells.get((learner, variant, dataset, name))) for name in _VECTORS]
            rows.append(line)
        heads = ["", ""]
        for dataset in _AVAILABLE:
            heads += [f"{_DATASETS[dataset]}: paper", *_VECTORS.values()]
        legend = (
            "The paper's GloVe vectors have 300 dimensions. spaCy's vectors also have 300, but "
            "684,830 words share 20,000 distinct ones. The CNN has 250 channels."
        )
        return [legend, "", *markdown_table(heads, rows)]

    def _fasttext_settings(self) -> list[str]:
        """Compare the settings chosen by validation with the settings of the tables."""
        finished = {result.identity: result for result in self.results.runs()}
        trials: dict[tuple[str, str], list[Run]] = {}
        for run in Plan.read("fasttext_settings").runs():
            trials.setdefault((run.dataset, run.variant), []).append(run)
        used = {
            (run.dataset, run.variant): run.options
            for run in Plan.read("f1").runs()
            if run.learner == "fasttext"
        }
        rows = []
        for (dataset, variant), runs in trials.items():
            done = [finished[run.identity] for run in runs if run.identity in finished]
            chosen = max(
                done, key=lambda result: result.scores["validation_macro_f1"], default=None
            )
            is_complete = chosen is not None and len(done) == len(runs)
            rows.append([
                _DATASETS[dataset],
                _VARIANTS[variant],
                f"{len(done)} of {len(runs)}",
                _format_fasttext_settings(chosen.options) if chosen and is_complete else "not yet",
                _format_fasttext_settings(_with_defaults(variant, used[dataset, variant])),
            ])  # fmt: skip
        heads = ["", "", "trials", "chosen by validation", "in the tables"]
        legend = "Learning rate and epochs of the paper's grid: 16 trials per variant and corpus."
        return [legend, "", *markdown_table(heads, rows)]

    # --- unfinished runs --------------------------------------------------------------------

    def _missing(self) -> list[str]:
        rows = []
        for (plan, learner), runs in self.unfinished().items():
            datasets = list(dict.fromkeys(run.dataset for run in runs))
            only = ",".join([f"learner={learner}", *(f"dataset={name}" for name in datasets)])
            command = f"`wordclass experiment run {plan} -o results --only {only}`"
            rows.append([str(len(runs)), format_hours(self.evidence.hours(runs)), command])
        return markdown_table(["runs", "hours", "command"], rows) if rows else ["None."]

    def unfinished(self) -> dict[tuple[str, str], list[Run]]:
        """Return the unfinished runs on the paper's data by plan and learner, each run once."""
        known = {result.identity for result in self.results.runs()}
        unfinished: dict[tuple[str, str], list[Run]] = {}
        for name in PAPER_PLANS:
            for run in Plan.read(name).runs():
                is_possible = run.dataset in _DATASETS and not missing_sources(run)
                if run.identity not in known and is_possible:
                    known.add(run.identity)
                    unfinished.setdefault((name, run.learner), []).append(run)
        return unfinished


def select_paper_cells(plan_tables: Sequence[Table]) -> list[Table]:
    """Return tables cut to the data sets and learners of the paper that can be run here."""
    return [
        replace(
            table,
            columns=tuple(column for column in table.columns if column in _AVAILABLE),
            cells={
                (row, column): cell
                for (row, column), cell in table.cells.items()
                if column in _AVAILABLE and (row[0] in _LEARNERS or table.heads[0] != "learner")
            },
        )
        for table in plan_tables
    ]


def linear_note() -> str:
    """Return the note on scores of `linear`: which of its choices followed test scores."""
    note: str = _texts()["linear_note"]
    return note


def figure_names() -> list[str]:
    """Return the names of the figures that the page shows."""
    return list(_texts()["figures"])


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads(_TEXTS.read_text(encoding="utf-8"))


def _verdict_sentence(verdicts: Sequence[tuple[Claim, Verdict]]) -> str:
    counts = Counter(verdict.name for _, verdict in verdicts)
    n_decided = counts["holds"] + counts["does not hold"]
    share = counts["holds"] / max(n_decided, 1)
    answer = "Yes" if share >= 0.9 else "Mostly" if share >= 0.7 else "In part"
    return (
        f"**{answer}**: of {len(verdicts)} claims of the paper's experiments, "
        f"{counts['holds']} hold here, {counts['does not hold']} do not hold, "
        f"{counts['not run yet']} are not run yet and "
        f"{counts['cannot be run here']} cannot be run here."
    )


def _failure_sentence(verdicts: Sequence[tuple[Claim, Verdict]]) -> str:
    failed = [claim for claim, verdict in verdicts if verdict.name == "does not hold"]
    if not failed:
        return "No tested claim fails."
    listed = failed[:_MAX_LISTED_CLAIMS]
    names = "; ".join(f"“{claim.text}” ({claim.section})" for claim in listed)
    more = f"; and {len(failed) - len(listed)} more" if len(failed) > len(listed) else ""
    return f"These claims do not hold here: {names}{more}."


def _variant_name(variant: str, vectors: str) -> str:
    """Return the paper's name of a variant, with the vectors if they are not GloVe."""
    name = _VARIANTS[variant]
    return name if not vectors or vectors.startswith("glove") else name.replace("GloVe", vectors)


def _deviation_box() -> list[str]:
    """Return the deviations and the looks at test data as one block quote."""
    texts = _texts()
    lines = ["> **Deviations from the paper**", ">"]
    lines += [f"> - {text}" for text in texts["deviations"]]
    lines += [">", "> **Looks at test data**", ">"]
    return lines + [f"> - {text}" for text in texts["looks"]]


def _with_defaults(variant: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return learning rate and epochs of a run, with the classifier's choice for missing ones."""
    lr, epochs = _texts()["fasttext_defaults"][variant]
    return {"lr": lr, "epochs": epochs, **options}


def _format_fasttext_settings(options: Mapping[str, Any]) -> str:
    return f"lr {_short(options['lr'])}, {options['epochs']} epochs"


def _score(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    if cell.measured is None:
        return "not yet"
    deviation = cell.measured.deviation
    spread = f"±{format_share(deviation)}" if deviation is not None else ""
    seeds = f" n={cell.measured.n_runs}" if cell.measured.n_runs > 1 else ""
    return f"{format_share(cell.measured.mean)}{spread}{seeds}"


def _published_score(cell: paper.Published | None) -> str:
    return format_share(cell.value) if cell else "-"


def _short(value: float) -> str:
    return f"{value:g}".removeprefix("0")
