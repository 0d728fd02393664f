"""Does the paper replicate? One page of Markdown, made of the results and nothing else.

It has the answer in ten sentences, what was run, every claim with its verdict, the paper's two
tables beside ours, all deviations, and the commands that do what is missing. Whether a run can be
done is decided by `presets.toml`, not by the data folder, so that the page is the same everywhere.
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
from wordclass.reproduction import paper, tables
from wordclass.reproduction.claims import (
    CLAIMS,
    Claim,
    Compared,
    Evidence,
    Verdict,
    Vote,
    published_evidence,
)
from wordclass.reproduction.outlook import Times
from wordclass.reproduction.plan import Plan, unavailable
from wordclass.reproduction.runs import Results, Run
from wordclass.reproduction.statistics import paired_t_test
from wordclass.reproduction.tables import Cell, Table

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
_HERE = ("newsgroups20", "reuters21578")  # of the paper's data sets
_ITEMS = {
    "learning_curves": "Learning curves (4.5)",
    "dropout": "Supervised dropout (4.6)",
    "run_times": "Run times (4.7)",
    "correlations": "Other correlations (4.8)",
    "vectors": "Other vectors (4.9)",
    "unseen_terms": "Terms outside the vocabulary (4.11)",
}
_NO_LEARNER = {
    "datasets": "Data sets (4.1)",
    "embedding_times": "Times of X and S (4.7)",
    "visualization": "Maps of terms (4.10)",
}
_TEXTS = Path(__file__).with_name("replication.toml")
MARK = "Made by `wordclass experiment report"  # the start of every page of this command
_MAX_NAMES = 8  # claims that are named in a sentence


@dataclass(frozen=True)
class _Gain:
    """How much one variant is above another, over the cells that have both, here and published."""

    here: float
    published: float | None
    n_better: int
    n_cells: int

    def __str__(self) -> str:
        """Write the gain."""
        here = f"{_signed(self.here)} macro F1 on average"
        said = f"; the paper, same cells: {_signed(self.published)}" if self.published else ""
        return f"{self.n_better} of {self.n_cells} cells, {here}{said}"


@dataclass(frozen=True)
class Page:
    """What the page is made of.

    Parameters
    ----------
    results : Results
    evidence : Evidence
        The tables of the plans that reproduce the paper.
    """

    results: Results
    evidence: Evidence

    @classmethod
    def of(cls, results: Results) -> "Page":
        """Gather the evidence of a folder of results."""
        done = results.runs()
        made = {name: tables.make(Plan.read(name), results, tests=False) for name in PAPER_PLANS}
        maps = {
            result.dataset: TermMap.of_parts(result.extra, results.arrays(result.key))
            for result in done
            if result.learner == "map" and result.dataset in _DATASETS
        }
        return cls(results, Evidence(made, maps, Times(done)).only(_DATASETS))

    def text(self, figures: Iterable[str] = ()) -> str:
        """Write the page; `figures` are the names of those that there are."""
        verdicts = [(claim, claim.verdict(self.evidence)) for claim in CLAIMS]
        lines = [
            "# Does the paper replicate?",
            "",
            f"{MARK}` from {len(self.results.runs()):,} runs; do not edit.",
            "[beyond.md](beyond.md) has what the paper does not ask.",
            "",
            "## The answer",
            "",
            *(f"{number}. {each}" for number, each in enumerate(self._answer(verdicts), start=1)),
            "",
            "## What was run",
            "",
            *self._coverage(),
            "",
            "## Claims",
            "",
            *self._claims(verdicts),
            "",
        ]
        for title in tables.MEASURES.values():
            lines += [f"## {title}", "", *self._scores(title), ""]
        lines += ["## Macro F1 with vectors of 300 dimensions", "", *self._other_vectors(), ""]
        lines += ["## Deviations from the paper", "", *_items("deviations"), ""]
        lines += ["## Looks at test data", "", *_items("looks"), ""]
        lines += ["## What is missing", "", *self._missing(), ""]
        captions: Mapping[str, str] = _texts()["figures"]
        shown = [name for name in captions if name in set(figures)]
        if shown:
            lines += ["## Figures", ""]
            lines += [f"![{captions[name]}](figures/{name}.png)" for name in shown]
            lines += [""]
        return "\n".join(lines)

    # --- the answer -------------------------------------------------------------------------

    def _answer(self, verdicts: Sequence[tuple[Claim, Verdict]]) -> list[str]:
        counts = Counter(verdict.name for _, verdict in verdicts)
        decided = counts["holds"] + counts["does not hold"]
        share = counts["holds"] / max(decided, 1)
        verdict = "Yes" if share >= 0.9 else "Mostly" if share >= 0.7 else "In part"
        hours = self._hours_left()
        sentences = [
            f"**{verdict}**: of {len(verdicts)} claims of the paper's experiments "
            f"{counts['holds']} hold here, {counts['does not hold']} do not, "
            f"{counts['not run yet']} are not run yet, "
            f"{counts['cannot be run here']} cannot be run here.",
            self._gain_sentence("WCEs beside static GloVe help", "vectors+wce", "vectors"),
            self._gain_sentence(
                "WCEs beside trainable GloVe help", "vectors+wce-trainable", "vectors-trainable"
            ),
            self._gain_sentence(
                "They help more than as many random columns",
                "vectors+wce-trainable",
                "vectors+random",
            ),
            self._level_sentence(),
            self._protocol_sentence(),
            self._best_sentence(),
            self._failed_sentence(verdicts),
            f"What can be run here and is not yet takes about {hours:.0f} hours on one core "
            "([commands](#what-is-missing)).",
            "The vectors here have 100 dimensions, the networks are smaller and have fewer seeds "
            "([all deviations](#deviations-from-the-paper)).",
        ]
        return [sentence for sentence in sentences if sentence]

    def _gain_sentence(self, text: str, new: str, old: str) -> str:
        gain = self._gain(new, old)
        return f"{text}: {gain}." if gain else ""

    def _gain(self, new: str, old: str, protocol: str | None = None) -> _Gain | None:
        published = paper.cells("macro_f1")
        cells = self._cells("Macro F1")
        pairs = []
        for (dataset, learner, variant, own), cell in cells.items():
            other = cells.get((dataset, learner, old, own))
            is_wanted = variant == new and protocol in (None, own) and dataset in _HERE
            if is_wanted and cell.measured and other and other.measured:
                theirs = [published.get((dataset, learner, name)) for name in (new, old)]
                gap = theirs[0].value - theirs[1].value if theirs[0] and theirs[1] else None
                pairs.append((cell.measured.mean - other.measured.mean, gap))
        if not pairs:
            return None
        gaps = [gap for _, gap in pairs if gap is not None]
        gains = [gain for gain, _ in pairs]
        n_better = sum(gain > 0 for gain in gains)
        return _Gain(fmean(gains), fmean(gaps) if gaps else None, n_better, len(gains))

    def _level_sentence(self) -> str:
        differences = [
            cell.difference
            for (dataset, learner, _, protocol), cell in self._cells("Macro F1").items()
            if cell.difference is not None and protocol == "paper"
            if dataset in _HERE and learner in _LEARNERS
        ]
        if not differences:
            return ""
        n_close = sum(abs(difference) <= 0.02 for difference in differences)
        return (
            "In the paper's protocol macro F1 differs from the published number by "
            f"{_signed(fmean(differences))} on average over {len(differences)} cells, by at most "
            f".02 in {n_close} of them."
        )

    def _protocol_sentence(self) -> str:
        leaky = self._network_gains("paper")
        clean = self._network_gains("clean")
        shared = leaky.keys() & clean.keys()
        if not shared:
            return ""
        gains = [_signed(fmean(own[place] for place in sorted(shared))) for own in (clean, leaky)]
        return (
            "With vectors that no training text's own label made (protocol clean), WCEs beside "
            f"static GloVe bring networks {gains[0]} macro F1, in the paper's protocol {gains[1]} "
            f"({len(shared)} cells that have both)."
        )

    def _network_gains(self, protocol: str) -> dict[tuple[str, str], float]:
        """Return what WCEs add to static GloVe, by data set and network, under one protocol."""
        cells = self._cells("Macro F1")
        return {
            (dataset, learner): cell.measured.mean - other.measured.mean
            for (dataset, learner, variant, own), cell in cells.items()
            if variant == "vectors+wce" and own == protocol
            if learner in paper.NETWORKS and cell.measured
            if (other := cells.get((dataset, learner, "vectors", own))) and other.measured
        }

    def _best_sentence(self) -> str:
        parts = []
        for dataset in _HERE:
            scores = {
                (learner, variant): cell.measured.mean
                for (own, learner, variant, _), cell in self._cells("Macro F1").items()
                if own == dataset and cell.measured and learner in _LEARNERS
            }
            if scores:
                learner, variant = max(scores, key=lambda at: scores[at])
                score = _share(scores[learner, variant])
                name = f"{_LEARNERS[learner]} {_VARIANTS[variant]}"
                parts.append(f"{name} on {_DATASETS[dataset]} ({score})")
        return f"The best of the paper's learners here: {'; '.join(parts)}." if parts else ""

    def _failed_sentence(self, verdicts: Sequence[tuple[Claim, Verdict]]) -> str:
        failed = [claim for claim, verdict in verdicts if verdict.name == "does not hold"]
        if not failed:
            return "No claim that was tested fails."
        names = "; ".join(f"{claim.text} ({claim.section})" for claim in failed[:_MAX_NAMES])
        more = f"; and {len(failed) - _MAX_NAMES} more" if len(failed) > _MAX_NAMES else ""
        return f"What does not hold here: {names}{more}."

    # --- what was run -----------------------------------------------------------------------

    def _coverage(self) -> list[str]:
        done = {result.identity for result in self.results.runs()}
        rows = []
        for dataset, name in _DATASETS.items():
            runs = [run for run in Plan.read("f1").runs() if run.dataset == dataset]
            rows.append([f"F1, {name} (4.4)", *self._by_learner(runs, done)])
        for plan, name in _ITEMS.items():
            rows.append([name, *self._by_learner(Plan.read(plan).runs(), done)])
        for plan, name in _NO_LEARNER.items():
            runs = [run for run in Plan.read(plan).runs() if run.dataset in _DATASETS]
            rows.append([name, self._count(runs, done), *[""] * (len(_LEARNERS) - 1)])
        legend = "Runs done of those that can be done here, and the hours of the others."
        return [legend, "", *_grid(["", *_LEARNERS.values()], rows)]

    def _by_learner(self, runs: Sequence[Run], done: set[str]) -> list[str]:
        by_learner = [[run for run in runs if run.learner == name] for name in _LEARNERS]
        return [self._count(own, done) for own in by_learner]

    def _count(self, runs: Sequence[Run], done: set[str]) -> str:
        if not runs:
            return ""
        possible = [run for run in runs if not unavailable(run)]
        if not possible:
            return "no data"
        left = [run for run in possible if run.identity not in done]
        hours = f", {self.evidence.hours(left):.1f} h" if left else ""
        return f"{len(possible) - len(left)} of {len(possible)}{hours}"

    # --- claims -----------------------------------------------------------------------------

    def _claims(self, verdicts: Sequence[tuple[Claim, Verdict]]) -> list[str]:
        published = published_evidence().only(_HERE)
        rows = []
        for claim, verdict in verdicts:
            theirs = [] if claim.votes is None else claim.votes(published)
            rows.append([
                claim.section,
                claim.text,
                f"**{verdict.name}**{_reason(claim, verdict)}",
                _effect(claim, verdict.votes),
                _effect(claim, theirs) if claim.votes is not None else "",
                _votes_for(verdict.votes),
                _seeds(verdict.votes),
                _p_value(verdict.votes),
            ])  # fmt: skip
        heads = ["§", "claim", "verdict", "here", "paper", "cells", "seeds", "p"]
        legend = (
            "*here*, *paper*: the mean difference between the two sides that are compared (of "
            "times, their ratio), here and in the paper's tables for 20 Newsgroups and Reuters. "
            "*cells*: how many comparisons say yes. *seeds*: the fewest runs behind one. *p*: "
            "paired t-test over the comparisons."
        )
        return [legend, "", *_grid(heads, rows)]

    # --- the paper's tables -----------------------------------------------------------------

    def _cells(self, title: str) -> dict[tuple[str, str, str, str], Cell]:
        """Return the cells of a table of F1 by data set, learner, variant and protocol."""
        (table,) = (each for each in self.evidence.tables["f1"] if each.title == title)
        cells = {}
        for (row, dataset), cell in table.cells.items():
            names = dict(zip(table.heads, row, strict=True))
            if not names.get("settings"):
                cells[dataset, names["learner"], names["variant"], names.get("protocol", "")] = cell
        return cells

    def _scores(self, title: str) -> list[str]:
        (measure,) = (name for name, own in tables.MEASURES.items() if own == title)
        cells, published = self._cells(title), paper.cells(measure)
        variants = dict.fromkeys((learner, variant) for _, learner, variant in published)
        rows = []
        for learner, variant in variants:
            row = [_LEARNERS[learner], _VARIANTS[variant]]
            for dataset in _HERE:
                theirs = published.get((dataset, learner, variant))
                row.append(_share(theirs.value) if theirs else "-")
                for protocol in ("paper", "clean"):
                    row.append(_score(cells.get((dataset, learner, variant, protocol))))
            rows.append(row)
        heads = ["", ""]
        for dataset in _HERE:
            heads += [f"{_DATASETS[dataset]}: paper", "here, its protocol", "here, clean"]
        legend = "± is the deviation over n seeds. SVM and fastText have the paper's protocol only."
        return [legend, "", *_grid(heads, rows)]

    def _other_vectors(self) -> list[str]:
        (table,) = (each for each in self.evidence.tables["vectors"] if each.title == "Macro F1")
        cells = {}
        for (row, dataset), cell in table.cells.items():
            names = dict(zip(table.heads, row, strict=True))
            vectors = names["settings"].removeprefix("vectors=")
            cells[names["learner"], names["variant"], dataset, vectors] = cell
        published = paper.cells("macro_f1")
        pairs = {(learner, variant): None for learner, variant, own, _ in cells if own in _HERE}
        rows = []
        for learner, variant in pairs:
            line = [_LEARNERS[learner], _VARIANTS[variant].replace("GloVe", "Vectors")]
            for dataset in _HERE:
                theirs = published.get((dataset, learner, variant))
                line.append(_share(theirs.value) if theirs else "-")
                line += [_score(cells.get((learner, variant, dataset, name))) for name in _VECTORS]
            rows.append(line)
        heads = ["", ""]
        for dataset in _HERE:
            heads += [f"{_DATASETS[dataset]}: paper", *_VECTORS.values()]
        legend = (
            "The paper's GloVe has 300 dimensions. spaCy's vectors have as many, but 20,000 "
            "distinct ones for 684,830 words. CNN: 250 channels."
        )
        return [legend, "", *_grid(heads, rows)]

    # --- what is missing --------------------------------------------------------------------

    def _missing(self) -> list[str]:
        rows = []
        for (plan, learner), runs in self._left().items():
            datasets = list(dict.fromkeys(run.dataset for run in runs))
            only = ",".join([f"learner={learner}", *(f"dataset={name}" for name in datasets)])
            command = f"`wordclass experiment run {plan} -o results --only {only}`"
            rows.append([str(len(runs)), f"{self.evidence.hours(runs):.1f}", command])
        return _grid(["runs", "hours", "command"], rows) if rows else ["Nothing."]

    def _left(self) -> dict[tuple[str, str], list[Run]]:
        """Return the runs that can be done here and are not, by plan and learner, each once."""
        known = {result.identity for result in self.results.runs()}
        left: dict[tuple[str, str], list[Run]] = {}
        for name in PAPER_PLANS:
            for run in Plan.read(name).runs():
                if run.identity not in known and not unavailable(run):
                    known.add(run.identity)
                    left.setdefault((name, run.learner), []).append(run)
        return left

    def _hours_left(self) -> float:
        return sum(map(self.evidence.hours, self._left().values()))


def of_the_paper(made: Sequence[Table]) -> list[Table]:
    """Return tables with the data sets and learners of the paper that have results here."""
    return [
        replace(
            table,
            columns=tuple(column for column in table.columns if column in _HERE),
            cells={
                place: cell
                for place, cell in table.cells.items()
                if place[1] in _HERE and (place[0][0] in _LEARNERS or table.heads[0] != "learner")
            },
        )
        for table in made
    ]


def figure_names() -> list[str]:
    """Return the names of the figures that the page shows."""
    return list(_texts()["figures"])


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads(_TEXTS.read_text(encoding="utf-8"))


def _items(name: str) -> list[str]:
    return [f"- {text}" for text in _texts()[name]]


def _reason(claim: Claim, verdict: Verdict) -> str:
    if verdict.name == "not run yet":
        return f" ({verdict.hours:.1f} h)"
    if verdict.missing:
        return f": {', '.join(verdict.missing)}"
    return f" ({claim.note})" if claim.note and verdict.name == "does not hold" else ""


def _effect(claim: Claim, votes: Sequence[Vote]) -> str:
    """Write the mean difference of what was compared; of times, the mean ratio."""
    pairs = [(vote.first, vote.second) for vote in votes if vote.first is not None and vote.second]
    if not pairs:
        return ""
    if _is_about_times(claim):
        return f"{fmean(first / second for first, second in pairs if first is not None):.2g}x"
    return _signed(fmean(first - second for first, second in pairs if first is not None))


def _is_about_times(claim: Claim) -> bool:
    if not isinstance(claim.votes, Compared):
        return False
    names = {**claim.votes.among, **claim.votes.first}.get("plan", ())
    return any(name in ("run_times", "embedding_times") for name in names)


def _votes_for(votes: Sequence[Vote]) -> str:
    return f"{sum(vote.is_so for vote in votes)} of {len(votes)}" if votes else ""


def _seeds(votes: Sequence[Vote]) -> str:
    counts = [vote.n_runs for vote in votes if vote.n_runs]
    return str(min(counts)) if counts else ""


def _p_value(votes: Sequence[Vote]) -> str:
    compared = [vote for vote in votes if vote.first is not None and vote.second is not None]
    firsts = [vote.first for vote in compared if vote.first is not None]
    seconds = [vote.second for vote in compared if vote.second is not None]
    p = paired_t_test(firsts, seconds)
    return "" if p is None else f"{p:.2g}"


def _score(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    if cell.measured is None:
        return "not yet"
    spread = f"±{_share(cell.measured.deviation)}" if cell.measured.deviation is not None else ""
    seeds = f" n={cell.measured.n_runs}" if cell.measured.n_runs > 1 else ""
    return f"{_share(cell.measured.mean)}{spread}{seeds}"


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{_share(abs(value))}"


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(each.replace('|', '&#124;') for each in line)} |" for line in lines]
