"""The claims of the paper's sections 4.4 to 4.11, and whether they hold in our results.

Comparisons of table cells decide a claim: each comparison votes yes or no, and the claim holds if
enough vote yes. The paper does not define "almost always" or "weak". Such limits are ours and part
of the text of the claim.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import ge, gt, le, lt
from statistics import mean
from typing import Literal

from wordclass.explorer.term_map import TermMap, shared_neighbors
from wordclass.reproduction import paper
from wordclass.reproduction.cells import Cell, Position, Table
from wordclass.reproduction.comparisons import IMPROVED, MEASURES, average_improvements
from wordclass.reproduction.outlook import Times
from wordclass.reproduction.paper import NETWORKS, NEURAL
from wordclass.reproduction.plan import missing_sources, presets
from wordclass.reproduction.runs import Run
from wordclass.reproduction.statistics import Summary

Conditions = Mapping[str, Collection[str]]  # accepted values for parts of a cell's name
Predicate = Callable[[float, float], bool]
VerdictName = Literal["holds", "does not hold", "not run yet", "cannot be run here"]
_CURVE = ("dataset", "learner", "protocol")
_SWEPT = ("dataset", "learner", "variant", "protocol")  # equal in runs that differ in an option
_CLOSE = 0.01  # F1 scores that differ by less are comparable
_ALMOST_ALWAYS = 0.8  # share of comparisons
_IN_SOME_CASES = 1e-9  # a single yes is enough


@dataclass(frozen=True)
class Vote:
    """The result of one comparison for a claim.

    Parameters
    ----------
    text : str
        The comparison in words.
    is_yes : bool
        Whether it supports the claim.
    first, second : float, optional
        The two compared values.
    n_runs : int, default=0
        The smallest number of runs (seeds) of a compared cell.
    """

    text: str
    is_yes: bool
    first: float | None = None
    second: float | None = None
    n_runs: int = 0


@dataclass(frozen=True)
class Evidence:
    """The tables and maps that decide claims.

    Parameters
    ----------
    tables : dict of lists of Table
        The tables of each plan, by its name.
    maps : dict of TermMap, default={}
        The maps of terms, by data set.
    times : Times, optional
        Estimates the seconds of unfinished runs.
    """

    tables: Mapping[str, Sequence[Table]]
    maps: Mapping[str, TermMap] = field(default_factory=dict)
    times: Times = field(default_factory=lambda: Times([]))

    def cells(self) -> Iterator[tuple[dict[str, str], Cell]]:
        """Yield all cells with their names: plan, table, dataset, and the parts of the row."""
        for plan, tables in self.tables.items():
            for table in tables:
                for (row, column), cell in table.cells.items():
                    names = dict(zip(table.heads, row, strict=True))
                    yield {"plan": plan, "table": table.title, "dataset": column, **names}, cell

    def select(self, datasets: Collection[str]) -> "Evidence":
        """Return the evidence of some data sets, with the averages over all data sets."""
        selected = {
            plan: [
                replace(table, cells={
                    position: cell
                    for position, cell in table.cells.items()
                    if position[1] in datasets or table.title == IMPROVED
                })
                for table in tables
            ]
            for plan, tables in self.tables.items()
        }  # fmt: skip
        return replace(self, tables=selected)

    def hours(self, runs: Iterable[Run]) -> float:
        """Estimate the hours of runs, one after the other."""
        return sum(map(self.times.expected, runs)) / 3600


@dataclass(frozen=True)
class Comparison:
    """Compare cells of two sides within groups whose names agree in some parts.

    Parameters
    ----------
    first, second : dict of lists
        Conditions that select the cells of each side. No cell is on both sides. `second` may be a
        number instead.
    predicate : callable of two numbers
        The claimed relation of the values picked from the two sides.
    among : dict of lists
        Conditions that both sides share.
    by : list of str
        The parts of names that agree within a group.
    pick : callable, default=max
        Picks one of the values of a side.
    measure : str, default=""
        A measure of the training histories. Empty: the number in the cell.
    epoch : int, default=0
        The epoch of that measure. 0: the last one that all cells of a group have.
    accepts_ties : bool, default=False
        Whether a cell of the first side with a dagger also supports the claim.
    """

    first: Conditions
    second: Conditions | float
    predicate: Predicate
    among: Conditions
    by: Sequence[str] = ("table", "dataset", "learner", "protocol", "settings")
    pick: Callable[[Iterable[float]], float] = max
    measure: str = ""
    epoch: int = 0
    accepts_ties: bool = False

    def __call__(self, evidence: Evidence) -> list[Vote]:
        """Return the vote of each group with both sides."""
        votes = []
        for group, sides in self._groups(evidence).items():
            cells = [cell for side in sides for cell in side.values()]
            lengths = [len(run.history or ()) for cell in cells for run in cell.results]
            epoch = self.epoch or min(lengths, default=0)
            values = [self._values(side, epoch) for side in sides]
            if isinstance(self.second, float):
                values[1] = {"the limit": self.second}
            if all(values):
                first, second = (self.pick(side.values()) for side in values)
                sides_text = f"{_describe(values[0], first)} against {_describe(values[1], second)}"
                is_tie = self.accepts_ties and any(cell.n_daggers for cell in sides[0].values())
                is_yes = self.predicate(first, second) or is_tie
                n_runs = min(cell.measured.n_runs for cell in cells if cell.measured)
                votes.append(Vote(f"{group}: {sides_text}", is_yes, first, second, n_runs))
        return votes

    def missing(self, evidence: Evidence) -> list[list[Run]]:
        """Return the missing runs of each side that has no measured cell."""
        sides: list[list[Run]] = [[], []]
        is_measured = [False, isinstance(self.second, float)]
        for names, cell in evidence.cells():
            side = self._side(names)
            if side is not None:
                sides[side] += cell.missing
                is_measured[side] |= cell.measured is not None
        return [runs for runs, has_cell in zip(sides, is_measured, strict=True) if not has_cell]

    def _side(self, names: Mapping[str, str]) -> int | None:
        """Return 0 for a cell of the first side, 1 for one of the second, None for others."""
        for side, conditions in enumerate((self.first, self.second)):
            merged = {} if isinstance(conditions, float) else {**self.among, **conditions}
            if merged and all(names.get(name, "") in merged[name] for name in merged):
                return side
        return None

    def _groups(self, evidence: Evidence) -> dict[str, list[dict[str, Cell]]]:
        """Return the measured cells of both sides in each group, by the other parts of names."""
        groups: dict[str, list[dict[str, Cell]]] = {}
        for names, cell in evidence.cells():
            side = self._side(names)
            if side is None or cell.measured is None:
                continue
            group = " ".join(names[name] for name in self.by if names.get(name))
            other_parts = [names[name] for name in names if name not in ("plan", "table", *self.by)]
            sides = groups.setdefault(group, [{}, {}])
            sides[side][" ".join(filter(None, other_parts))] = cell
        return groups

    def _values(self, cells: Mapping[str, Cell], epoch: int) -> dict[str, float]:
        """Return the numbers of cells, or the mean of the measure if all runs of a cell have it."""
        if not self.measure:
            return {name: cell.measured.mean for name, cell in cells.items() if cell.measured}
        means = {}
        for name, cell in cells.items():
            epochs = [record for run in cell.results for record in run.history or ()]
            values = [
                float(record[self.measure])
                for record in epochs
                if record["epoch"] == epoch and record.get(self.measure) is not None
            ]
            if values and len(values) == len(cell.results):
                means[name] = mean(values)
        return means


def _describe(values: Mapping[str, float], picked: float) -> str:
    """Write the values of a side, or the picked one if there are more than three."""
    by_text = {f"{name} {value:.3g}".strip(): value for name, value in values.items()}
    return ", ".join(
        text for text, value in by_text.items() if len(by_text) <= 3 or value == picked
    )


def _where(**conditions: str | Collection[str]) -> Conditions:
    return {
        name: [values] if isinstance(values, str) else values for name, values in conditions.items()
    }


_SCORES = _where(plan="f1", table=list(MEASURES.values()))


def _compare_f1(
    new: str,
    old: str,
    learners: Sequence[str],
    predicate: Predicate = gt,
    **conditions: str,
) -> Comparison:
    """Compare the F1 of two variants. By default the claim is that the first is better."""
    among = {**_SCORES, **_where(learner=learners, **conditions)}
    return Comparison(_where(variant=new), _where(variant=old), predicate, among)


class _ImprovementsAreSignificant:
    """Judges the average improvements, without micro F1 on static embeddings."""

    def __call__(self, evidence: Evidence) -> list[Vote]:
        """Return a vote per improvement with a p-value."""
        votes = []
        for names, cell in evidence.cells():
            is_improvement = (names["plan"], names["table"]) == ("f1", IMPROVED)
            if is_improvement and cell.measured and cell.p is not None:
                name = f"{names['what']}, {names['dataset']}"
                if name != "vectors+wce over vectors, Micro F1":
                    text = f"{name}: {cell.measured.mean:+.1%}, p = {cell.p:.2g}"
                    is_yes = cell.measured.mean > 0 and not cell.is_equal
                    votes.append(Vote(text, is_yes, n_runs=cell.measured.n_runs))
        return votes

    def missing(self, evidence: Evidence) -> list[list[Run]]:
        """Return the missing runs of networks in the tables of F1."""
        cells = [cell for names, cell in evidence.cells() if _is_network_score(names)]
        return [[run for cell in cells for run in cell.missing]]


_NEED_RUNS = (Comparison, _ImprovementsAreSignificant)  # they know which runs they need


def _is_network_score(names: Mapping[str, str]) -> bool:
    return names["plan"] == "f1" and names.get("learner") in NETWORKS


def _sizes_agree(_: Evidence) -> list[Vote]:
    """Compare the sizes that the authors' validation chose with and without WCEs."""
    names = presets()["variants"]
    pairs = [("vectors", "vectors+wce"), ("vectors-trainable", "vectors+wce-trainable")]
    changes = [
        sizes[names.index(new)] - sizes[names.index(old)]
        for learners in presets()["sizes"].values()
        for sizes in learners.values()
        for old, new in pairs
    ]
    shares = {
        "equal": sum(change == 0 for change in changes) / len(changes),
        "smaller": sum(change < 0 for change in changes) / len(changes),
        "larger": sum(change > 0 for change in changes) / len(changes),
    }
    claimed = {"equal": 0.5, "smaller": 0.4, "larger": 0.1}
    return [
        Vote(f"{name}: {shares[name]:.0%} of {len(changes)}", abs(shares[name] - share) < 0.05)
        for name, share in claimed.items()
    ]


def _relations_survive(evidence: Evidence) -> list[Vote]:
    """Compare the nearest terms within a class: pretrained vectors against the other two."""
    votes = []
    for dataset, term_map in evidence.maps.items():
        wce_alone, both = shared_neighbors(term_map)
        text = f"{dataset}: WCEs share {wce_alone:.0%} of them, both together {both:.0%}"
        votes.append(Vote(text, wce_alone < 1 / 3 and both > 1 / 2, both, wce_alone, 1))
    return votes


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim.

    Parameters
    ----------
    name : str
        "holds", "does not hold", "not run yet" or "cannot be run here".
    votes : list of Vote
        The comparisons that decided.
    hours : float, default=0.0
        For "not run yet": the expected hours of the runs that would decide.
    missing : list of str, default=()
        For "cannot be run here": what is missing.
    """

    name: VerdictName
    votes: Sequence[Vote]
    hours: float = 0.0
    missing: Sequence[str] = ()


@dataclass(frozen=True)
class Claim:
    """A claim of the paper in our words.

    Parameters
    ----------
    section : str
        The section of the paper.
    text : str
        The claim.
    votes : callable, optional
        Returns the votes of all comparisons. None: no comparison can decide the claim.
    min_share : float, default=1.0
        The share of comparisons that must vote yes.
    needs : str, default=""
        What would decide a claim without comparisons.
    note : str, default=""
        Explains the verdict if our software differs from the authors'.
    """

    section: str
    text: str
    votes: Callable[[Evidence], list[Vote]] | None = None
    min_share: float = 1.0
    needs: str = ""
    note: str = ""

    def verdict(self, evidence: Evidence) -> Verdict:
        """Judge the claim by the evidence."""
        votes = [] if self.votes is None else self.votes(evidence)
        if votes:
            share = sum(vote.is_yes for vote in votes) / len(votes)
            return Verdict("holds" if share >= self.min_share else "does not hold", votes)
        sides = self.votes.missing(evidence) if isinstance(self.votes, _NEED_RUNS) else []
        for runs in sides:
            if runs and all(map(missing_sources, runs)):
                names = dict.fromkeys(name for run in runs for name in missing_sources(run))
                return Verdict("cannot be run here", votes, missing=[*names])
        if self.votes is None:
            return Verdict("cannot be run here", votes, missing=[self.needs])
        unfinished = {
            run.identity: run for runs in sides for run in runs if not missing_sources(run)
        }
        return Verdict("not run yet", votes, evidence.hours(unfinished.values()))


def published_evidence() -> Evidence:
    """Return the tables of the paper as evidence for its own claims."""
    f1 = {
        measure: Table(title, "share", ("learner", "variant"), (), {
            ((learner, variant), dataset): Cell(
                Summary(cell.value, cell.deviation, 10), n_daggers=cell.marks.count("d"))
            for (dataset, learner, variant), cell in paper.cells(measure).items()
        })
        for measure, title in MEASURES.items()
    }  # fmt: skip
    times: dict[Position, Cell] = {
        ((learner, variant), dataset): Cell(Summary(cell.value, None, 10))
        for (dataset, learner, variant), cell in paper.cells("run_times").items()
    }
    embedding_times: dict[Position, Cell] = {
        ((name,), dataset): Cell(Summary(float(seconds), None, 1))
        for dataset, by_name in paper.numbers()["embedding_times"].items()
        for name, seconds in by_name.items()
    }
    return Evidence({
        "f1": [*f1.values(), *average_improvements(f1)],
        "run_times": [Table("Seconds of training", "seconds", ("learner", "variant"), (), times)],
        "embedding_times": [Table("Seconds", "seconds", ("what",), (), embedding_times)],
    })  # fmt: skip


_PAPER_LEARNERS = ("svm", *NEURAL)
_CURVES = _where(plan="learning_curves", table="Macro F1")
_DROPOUT = _where(plan="dropout", table="Macro F1")
_VECTORS = _where(plan="vectors", table="Macro F1")
_UNSEEN = _where(plan="unseen_terms", table="Macro F1")
_CORRELATIONS = _where(plan="correlations", table="Macro F1", learner=("svm", *NETWORKS))
_TIMES = _where(plan="run_times")
_EMBEDDING_TIMES = _where(plan="embedding_times")
_MAPS = _where(plan="visualization")
_RANDOM = _where(variant="random")
_STATIC = _where(variant="vectors")
_WCE = _where(variant="vectors+wce")
_TRAINABLE_WCE = _where(variant="vectors+wce-trainable")
_TFIDF = _where(variant="tfidf")
_SVM_TIMES = {**_TIMES, "learner": ["svm"]}
_NEURAL_TIMES = {**_TIMES, "learner": NEURAL}
_NO_DROPOUT = _where(settings="supervised_dropout=0.0")
_HALF_DROPOUT = _where(settings="supervised_dropout=0.5")
_DOT = _where(settings="correlation=dot")
_PPMI = _where(settings="correlation=ppmi")
_OTHER_CORRELATIONS = _where(settings=[
    "correlation=ppmi", "correlation=information_gain", "correlation=chi_square",
])  # fmt: skip
_OTHER_FILES = [
    f"vectors={name}"
    for name in (
        "spacy-en-md", "word2vec-wordlist", "GoogleNews-vectors-negative300", "crawl-300d-2M",
    )
]  # fmt: skip
_BOTH = _where(what="Both, side by side")


def _is_close(first: float, second: float) -> bool:
    """Return True if the first F1 is above the second or less than .01 below it."""
    return first > second - _CLOSE


def _is_weak(first: float, second: float) -> bool:
    return first < second - _CLOSE


CLAIMS = (
    Claim("4.4", "SVM with tf-idf is hard to beat in macro F1 (within .01 of the best neural "
          "method on half of the data sets)",
          Comparison(_TFIDF, _where(learner=NEURAL), _is_close,
                     _where(plan="f1", table="Macro F1"), ("dataset",)), 0.5),
    Claim("4.4", "WCEs raise SVM above tf-idf on 20 Newsgroups",
          _compare_f1("vectors+wce", "tfidf", ["svm"], dataset="newsgroups20")),
    Claim("4.4", "WCEs do not raise SVM above tf-idf on Reuters",
          _compare_f1("vectors+wce", "tfidf", ["svm"], le, dataset="reuters21578")),
    Claim("4.4", "SVM cannot be trained on WIPO-gamma", needs="WIPO-gamma"),
    Claim("4.4", "The best neural method has WCEs, or does not differ from one that has",
          Comparison(_where(variant=("vectors+wce", "vectors+wce-trainable")), {}, gt,
                     {**_SCORES, "learner": NEURAL}, ("table", "dataset"), accepts_ties=True)),
    Claim("4.4", "WCEs beside static pretrained vectors almost always help (80 % of cells)",
          _compare_f1("vectors+wce", "vectors", ("svm", *NETWORKS)), _ALMOST_ALWAYS),
    Claim("4.4", "WCEs beside trainable pretrained vectors almost always help (80 % of cells)",
          _compare_f1("vectors+wce-trainable", "vectors-trainable", NEURAL), _ALMOST_ALWAYS),
    Claim("4.4", "The average improvements are significant at the .05 level over pairs of cells, "
          "except micro F1 with static vectors", _ImprovementsAreSignificant()),
    Claim("4.4", "The gain is not due to more parameters: random columns help less (80 % of cells)",
          _compare_f1("vectors+wce-trainable", "vectors+random", NEURAL), _ALMOST_ALWAYS),
    Claim("4.4", "With WCEs, validation chose networks of equal size in 50 % of the cases, smaller "
          "ones in 40 %, larger ones in 10 % (decided by the authors' published sizes)",
          _sizes_agree),
    Claim("4.4", "Training the vectors always helps the CNN (GloVe)",
          _compare_f1("vectors-trainable", "vectors", ["cnn"])),
    Claim("4.4", "Training the vectors always helps the CNN (GloVe+WCEs)",
          _compare_f1("vectors+wce-trainable", "vectors+wce", ["cnn"])),
    Claim("4.4", "Training the vectors does not always help LSTM and ATTN (GloVe)",
          _compare_f1("vectors-trainable", "vectors", NETWORKS[1:], le), _IN_SOME_CASES),
    Claim("4.4", "Training the vectors does not always help LSTM and ATTN (GloVe+WCEs)",
          _compare_f1("vectors+wce-trainable", "vectors+wce", NETWORKS[1:], le), _IN_SOME_CASES),
    Claim("4.5", "With random vectors the training loss falls faster than with static pretrained "
          "ones, with or without WCEs",
          Comparison(_RANDOM, {}, lt, _CURVES, _CURVE, min, "loss")),
    Claim("4.5", "With random vectors the validation loss ends higher",
          Comparison(_RANDOM, {}, gt, _CURVES, _CURVE, max, "validation_loss")),
    Claim("4.5", "With WCEs fewer epochs are needed (best validation macro F1 after 3 epochs)",
          Comparison(_WCE, {}, gt, _CURVES, _CURVE, max, "validation_macro_f1", 3)),
    Claim("4.6", "Without supervised dropout the training loss falls fastest",
          Comparison(_NO_DROPOUT, {}, lt, _DROPOUT, _SWEPT, min, "loss")),
    Claim("4.6", "Without supervised dropout new documents are classified worst",
          Comparison(_NO_DROPOUT, {}, lt, _DROPOUT, _SWEPT, min)),
    Claim("4.6", "p = .5 is the best supervised dropout",
          Comparison(_HALF_DROPOUT, {}, ge, _DROPOUT, _SWEPT)),
    Claim("4.6", "p = .5 is a good choice in general (within .01 of the best)",
          Comparison(_HALF_DROPOUT, {}, _is_close, _DROPOUT, _SWEPT)),
    Claim("4.7", "SVM with tf-idf is typically the fastest (on half of the data sets)",
          Comparison(_TFIDF, _where(learner=_PAPER_LEARNERS), lt, _TIMES, ("dataset",), min), 0.5),
    Claim("4.7", "SVM is slower with dense features",
          Comparison(_TFIDF, {}, lt, _SVM_TIMES, ("dataset",), min)),
    Claim("4.7", "SVM takes at least twice as long on JRC-Acquis, which has the most classes, as "
          "on any other data set",
          Comparison(_where(dataset="jrc_acquis"), {}, lambda jrc, other: jrc > 2 * other,
                     _SVM_TIMES, ("variant",))),
    Claim("4.7", "fastText is the fastest neural method",
          Comparison(_where(learner="fasttext"), _where(learner=NEURAL), lt, _TIMES, ("dataset",),
                     min)),
    Claim("4.7", "WCEs make training faster in some cases",
          Comparison(_TRAINABLE_WCE, {}, lt, _NEURAL_TIMES), _IN_SOME_CASES),
    Claim("4.7", "WCEs make training slower in other cases",
          Comparison(_TRAINABLE_WCE, {}, gt, _NEURAL_TIMES), _IN_SOME_CASES),
    Claim("4.7", "Making S typically takes less than a tenth of the time for X and S (on half of "
          "the data sets)",
          Comparison(_where(what="S"), _where(what="total"),
                     lambda seconds, total: seconds < 0.1 * total, _EMBEDDING_TIMES,
                     ("dataset",)), 0.5,
          note="X is made some 20 times faster here"),
    Claim("4.7", "Making WCEs takes less time than any training",
          Comparison({**_EMBEDDING_TIMES, "what": ["total"]},
                     {**_TIMES, "learner": _PAPER_LEARNERS}, lt, {}, ("dataset",), min)),
    Claim("4.8", "The dot product is almost always the best correlation, or within .01 of it "
          "(80 % of cells)",
          Comparison(_DOT, _OTHER_CORRELATIONS, _is_close, _CORRELATIONS, _SWEPT), _ALMOST_ALWAYS),
    Claim("4.8", "PPMI is weak on Reuters (.01 below the dot product)",
          Comparison(_PPMI, _DOT, _is_weak, {**_CORRELATIONS, "dataset": ["reuters21578"]},
                     _SWEPT)),
    Claim("4.8", "PPMI is weak on JRC-Acquis with CNN and LSTM (.01 below the dot product)",
          Comparison(_PPMI, _DOT, _is_weak, {**_CORRELATIONS, "dataset": ["jrc_acquis"],
                     "learner": NETWORKS[:2]}, _SWEPT)),
    Claim("4.8", "PPMI is competitive on WIPO-gamma (within .01 of the best)",
          Comparison(_PPMI, {}, _is_close, {**_CORRELATIONS, "dataset": ["wipo_gamma"]}, _SWEPT)),
    Claim("4.8", "Information gain and chi-square take ten times as long as the dot product",
          Comparison(_where(what="S"), _where(what=("S (information_gain)", "S (chi_square)")),
                     lambda dot, other: 10 * dot < other, _EMBEDDING_TIMES, ("dataset",), min),
          note="closed forms on sparse counts here"),
    Claim("4.9", "WCEs also help beside other pretrained vectors",
          Comparison(_WCE, _STATIC, gt, {**_VECTORS, "settings": _OTHER_FILES})),
    Claim("4.10", "Pretrained vectors group terms by class to some extent (20 % of neighbors)",
          Comparison(_where(what="Without the classes"), 0.2, ge, _MAPS, ("dataset",))),
    Claim("4.10", "WCEs group nearly all terms by class (90 % of neighbors)",
          Comparison(_where(what="Word-class embeddings"), 0.9, ge, _MAPS, ("dataset",))),
    Claim("4.10", "Both vectors together are closer to WCEs than to pretrained vectors alone",
          Comparison(_BOTH, {}, gt, _MAPS, ("dataset",), mean)),
    Claim("4.10", "Within a class, WCEs lose the relations between words (they keep less than a "
          "third of the ten nearest terms); both together preserve them (more than half)",
          _relations_survive),
    Claim("4.11", "Few words of test texts are outside the vocabulary (less than 5 %)",
          Comparison(_where(what="share"), 0.05, lt, _where(plan="unseen_terms"), ("dataset",))),
    Claim("4.11", "Predicting WCEs for these words changes macro F1 by less than .01",
          Comparison(_where(settings=("unseen=network", "unseen=ridge")), _where(settings=""),
                     lambda score, zeros: abs(score - zeros) < _CLOSE, _UNSEEN, _SWEPT)),
    Claim("4.11", "Predicted WCEs look meaningful, even for misspelled and foreign words (judged "
          "by eye: `wordclass unseen`)", needs="a reader's judgment"),
)  # fmt: skip
