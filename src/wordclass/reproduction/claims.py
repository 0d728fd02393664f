"""The claims of the paper's sections 4.4 to 4.11, and whether they hold in our results.

A claim is decided by comparing cells of tables: each comparison votes yes or no, and a claim holds
if enough vote yes. What "almost always" or "weak" means is not in the paper: such limits are
ours, and stand in the text of the claim.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import ge, gt, le, lt
from statistics import mean
from typing import Literal

from wordclass.explorer.term_map import TermMap, shared_neighbors
from wordclass.reproduction import paper
from wordclass.reproduction.outlook import Times
from wordclass.reproduction.paper import NETWORKS, NEURAL
from wordclass.reproduction.plan import presets, unavailable
from wordclass.reproduction.runs import Run
from wordclass.reproduction.statistics import Summary
from wordclass.reproduction.tables import IMPROVED, MEASURES, Cell, Place, Table, improvements

Parts = Mapping[str, Collection[str]]  # what the parts of a cell's name may be
Holds = Callable[[float, float], bool]
VerdictName = Literal["holds", "does not hold", "not run yet", "cannot be run here"]
_CURVE = ("dataset", "learner", "protocol")
_SWEPT = ("dataset", "learner", "variant", "protocol")  # what runs that differ in an option share
_CLOSE = 0.01  # F1 that differs by less is comparable
_MOSTLY = 0.8  # the share of comparisons that "almost always" means
_SOME = 1e-9  # one yes is enough


@dataclass(frozen=True)
class Vote:
    """What one comparison says about a claim.

    Parameters
    ----------
    text : str
        The comparison in words.
    is_so : bool
        Whether it supports the claim.
    first, second : float, optional
        The two values that were compared.
    n_runs : int, default=0
        The smallest number of runs (seeds) behind a compared cell.
    """

    text: str
    is_so: bool
    first: float | None = None
    second: float | None = None
    n_runs: int = 0


@dataclass(frozen=True)
class Evidence:
    """What claims are judged by.

    Parameters
    ----------
    tables : dict of lists of Table
        The tables of each plan, by its name.
    maps : dict of TermMap, default={}
        The maps of terms, by data set.
    times : Times, optional
        Estimates the seconds of runs that are not done.
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

    def only(self, datasets: Collection[str]) -> "Evidence":
        """Return the evidence from some data sets alone; averages over data sets stay."""
        made = {
            plan: [
                replace(table, cells={
                    place: cell
                    for place, cell in table.cells.items()
                    if place[1] in datasets or table.title == IMPROVED
                })
                for table in tables
            ]
            for plan, tables in self.tables.items()
        }  # fmt: skip
        return replace(self, tables=made)

    def hours(self, runs: Iterable[Run]) -> float:
        """Estimate how long runs take, one after the other."""
        return sum(map(self.times.expected, runs)) / 3600


@dataclass(frozen=True)
class Compared:
    """Compare cells with others, in each group of cells that have some parts of their names alike.

    Parameters
    ----------
    first, second : dict of lists
        The cells of either side; none is on both. `second` may be a number.
    holds : callable of two numbers
        What is claimed of the values that are picked of either side.
    among : dict of lists
        What the cells of both sides have in common.
    by : list of str
        The parts that are alike in a group.
    pick : callable, default=max
        Picks one of the values of a side.
    measure : str, default=""
        A measure of the histories, instead of the number in the cell.
    epoch : int, default=0
        The epoch of that measure; 0: the last that all of a group have.
    or_alike : bool, default=False
        Whether it is enough that a cell of the first side has a dagger.
    """

    first: Parts
    second: Parts | float
    holds: Holds
    among: Parts
    by: Sequence[str] = ("table", "dataset", "learner", "protocol", "settings")
    pick: Callable[[Iterable[float]], float] = max
    measure: str = ""
    epoch: int = 0
    or_alike: bool = False

    def __call__(self, evidence: Evidence) -> list[Vote]:
        """Return the vote of each group that has both sides."""
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
                told = f"{_told(values[0], first)} against {_told(values[1], second)}"
                is_alike = self.or_alike and any(cell.n_daggers for cell in sides[0].values())
                is_so = self.holds(first, second) or is_alike
                n_runs = min(cell.measured.n_runs for cell in cells if cell.measured)
                votes.append(Vote(f"{group}: {told}", is_so, first, second, n_runs))
        return votes

    def missing(self, evidence: Evidence) -> list[list[Run]]:
        """Return the runs that each side lacks; none for a side that has something measured."""
        sides: list[list[Run]] = [[], []]
        is_measured = [False, isinstance(self.second, float)]
        for names, cell in evidence.cells():
            side = self._side(names)
            if side is not None:
                sides[side] += cell.missing
                is_measured[side] |= cell.measured is not None
        # a side without cells of its own lacks nothing: it is what the other is compared with
        return [runs for runs, is_done in zip(sides, is_measured, strict=True) if not is_done]

    def _side(self, names: Mapping[str, str]) -> int | None:
        """Return 0 for cells of the first side, 1 for those of the second, None for others."""
        for side, parts in enumerate((self.first, self.second)):
            wanted = {} if isinstance(parts, float) else {**self.among, **parts}
            if wanted and all(names.get(name, "") in wanted[name] for name in wanted):
                return side
        return None

    def _groups(self, evidence: Evidence) -> dict[str, list[dict[str, Cell]]]:
        """Return the measured cells of both sides, by the rest of their names, of each group."""
        groups: dict[str, list[dict[str, Cell]]] = {}
        for names, cell in evidence.cells():
            side = self._side(names)
            if side is None or cell.measured is None:
                continue
            group = " ".join(names[name] for name in self.by if names.get(name))
            own = [names[name] for name in names if name not in ("plan", "table", *self.by)]
            sides = groups.setdefault(group, [{}, {}])
            sides[side][" ".join(filter(None, own))] = cell
        return groups

    def _values(self, cells: Mapping[str, Cell], epoch: int) -> dict[str, float]:
        """Return the numbers of cells, or means of the measure where all runs of a cell have it."""
        if not self.measure:
            return {name: cell.measured.mean for name, cell in cells.items() if cell.measured}
        values = {}
        for name, cell in cells.items():
            epochs = [each for run in cell.results for each in run.history or ()]
            own = [each.get(self.measure) for each in epochs if each["epoch"] == epoch]
            found = [float(value) for value in own if value is not None]
            if found and len(found) == len(cell.results):
                values[name] = mean(found)
        return values


def _told(values: Mapping[str, float], picked: float) -> str:
    """Write the values of a side; of many, the one that was picked."""
    written = {f"{name} {value:.3g}".strip(): value for name, value in values.items()}
    return ", ".join(each for each in written if len(written) <= 3 or written[each] == picked)


def _of(**parts: str | Collection[str]) -> Parts:
    return {name: [own] if isinstance(own, str) else own for name, own in parts.items()}


_SCORES = _of(plan="f1", table=list(MEASURES.values()))


def _f1(new: str, old: str, learners: Sequence[str], holds: Holds = gt, **parts: str) -> Compared:
    """Compare the F1 of two variants; by default, whether the first is better."""
    among = {**_SCORES, **_of(learner=learners, **parts)}
    return Compared(_of(variant=new), _of(variant=old), holds, among)


class _AreSignificant:
    """Judges the average improvements, but for micro F1 with static embeddings."""

    def __call__(self, evidence: Evidence) -> list[Vote]:
        """Return a vote per improvement that has a p-value."""
        votes = []
        for names, cell in evidence.cells():
            is_wanted = (names["plan"], names["table"]) == ("f1", IMPROVED)
            if is_wanted and cell.measured and cell.p is not None:
                what = f"{names['what']}, {names['dataset']}"
                if what != "vectors+wce over vectors, Micro F1":
                    text = f"{what}: {cell.measured.mean:+.1%}, p = {cell.p:.2g}"
                    is_so = cell.measured.mean > 0 and not cell.is_equal
                    votes.append(Vote(text, is_so, n_runs=cell.measured.n_runs))
        return votes

    def missing(self, evidence: Evidence) -> list[list[Run]]:
        """Return the runs of networks that the tables of F1 lack."""
        cells = [cell for names, cell in evidence.cells() if _is_network_score(names)]
        return [[run for cell in cells for run in cell.missing]]


_NEED_RUNS = (Compared, _AreSignificant)  # what is decided by runs, and knows which


def _is_network_score(names: Mapping[str, str]) -> bool:
    return names["plan"] == "f1" and names.get("learner") in NETWORKS


def _sizes_agree(_: Evidence) -> list[Vote]:
    """Compare the sizes that the authors' validation chose with and without word-class vectors."""
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


def _relations_are_kept(evidence: Evidence) -> list[Vote]:
    """Compare the nearest terms within a class: pretrained vectors against the other two."""
    votes = []
    for dataset, term_map in evidence.maps.items():
        alone, both = shared_neighbors(term_map)
        text = f"{dataset}: word-class vectors share {alone:.0%} of them, both together {both:.0%}"
        votes.append(Vote(text, alone < 1 / 3 and both > 1 / 2, both, alone, 1))
    return votes


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds here, and why it is not known if it is not.

    Parameters
    ----------
    name : str
        "holds", "does not hold", "not run yet" or "cannot be run here".
    votes : list of Vote
    hours : float, default=0.0
        How long the runs take that would decide a claim that is not run yet.
    missing : list of str, default=()
        What a claim needs that cannot be had here.
    """

    name: VerdictName
    votes: Sequence[Vote]
    hours: float = 0.0
    missing: Sequence[str] = ()


@dataclass(frozen=True)
class Claim:
    """A claim in our words.

    Parameters
    ----------
    section : str
        Of the paper.
    text : str
    votes : callable, optional
        Returns what each comparison says; None: no comparison can decide the claim.
    least : float, default=1.0
        The share of comparisons that must say yes.
    needs : str, default=""
        What would decide a claim that no comparison decides.
    note : str, default=""
        Why the verdict is what it is, if our software differs from the authors'.
    """

    section: str
    text: str
    votes: Callable[[Evidence], list[Vote]] | None = None
    least: float = 1.0
    needs: str = ""
    note: str = ""

    def verdict(self, evidence: Evidence) -> Verdict:
        """Judge the claim by the evidence."""
        votes = [] if self.votes is None else self.votes(evidence)
        if votes:
            share = sum(vote.is_so for vote in votes) / len(votes)
            return Verdict("holds" if share >= self.least else "does not hold", votes)
        sides = self.votes.missing(evidence) if isinstance(self.votes, _NEED_RUNS) else []
        for runs in sides:
            if runs and all(map(unavailable, runs)):
                lacking = dict.fromkeys(name for run in runs for name in unavailable(run))
                return Verdict("cannot be run here", votes, missing=[*lacking])
        if self.votes is None:
            return Verdict("cannot be run here", votes, missing=[self.needs])
        left = {run.identity: run for runs in sides for run in runs if not unavailable(run)}
        return Verdict("not run yet", votes, evidence.hours(left.values()))


def published_evidence() -> Evidence:
    """Return the paper's own tables, as if they had been measured here."""
    f1 = {
        measure: Table(title, "share", ("learner", "variant"), (), {
            ((learner, variant), dataset): Cell(
                Summary(cell.value, cell.deviation, 10), n_daggers=cell.marks.count("d"))
            for (dataset, learner, variant), cell in paper.cells(measure).items()
        })
        for measure, title in MEASURES.items()
    }  # fmt: skip
    times: dict[Place, Cell] = {
        ((learner, variant), dataset): Cell(Summary(cell.value, None, 10))
        for (dataset, learner, variant), cell in paper.cells("run_times").items()
    }
    embedding: dict[Place, Cell] = {
        ((name,), dataset): Cell(Summary(float(seconds), None, 1))
        for dataset, own in paper.numbers()["embedding_times"].items()
        for name, seconds in own.items()
    }
    return Evidence({
        "f1": [*f1.values(), *improvements(f1)],
        "run_times": [Table("Seconds of training", "seconds", ("learner", "variant"), (), times)],
        "embedding_times": [Table("Seconds to make", "seconds", ("what",), (), embedding)],
    })  # fmt: skip


_PAPERS = ("svm", *NEURAL)
# what a plan that varies an option has in its table of macro F1
_CURVES, _DROPOUT, _VECTORS, _UNSEEN = (
    _of(plan=plan, table="Macro F1")
    for plan in ("learning_curves", "dropout", "vectors", "unseen_terms")
)
_CORRELATIONS = _of(plan="correlations", table="Macro F1", learner=("svm", *NETWORKS))
_TIMES, _MADE, _MAPS = (
    _of(plan=plan) for plan in ("run_times", "embedding_times", "visualization")
)
_RANDOM, _STATIC, _WCE = (_of(variant=name) for name in ("random", "vectors", "vectors+wce"))
_TFIDF, _SVM = _of(variant="tfidf"), {**_TIMES, "learner": ["svm"]}
_NO_DROPOUT, _HALF = (_of(settings=f"supervised_dropout={p}") for p in (0.0, 0.5))
_DOT, _PPMI = (_of(settings=f"correlation={name}") for name in ("dot", "ppmi"))
_OTHER_CORRELATIONS = _of(settings=[
    "correlation=ppmi", "correlation=information_gain", "correlation=chi_square",
])  # fmt: skip
_OTHER_FILES = [
    f"vectors={name}"
    for name in (
        "spacy-en-md", "word2vec-wordlist", "GoogleNews-vectors-negative300", "crawl-300d-2M",
    )
]  # fmt: skip
_BOTH = _of(what="Both, side by side")


def _is_close(first: float, second: float) -> bool:
    """Whether F1 is above another, or comparable."""
    return first > second - _CLOSE


def _is_weak(first: float, second: float) -> bool:
    return first < second - _CLOSE


CLAIMS = (
    Claim("4.4", "SVM with tf-idf is hard to beat in macro F1 (by .01, on half of the data sets)",
          Compared(_TFIDF, _of(learner=NEURAL), _is_close, _of(plan="f1", table="Macro F1"),
                   ("dataset",)), 0.5),
    Claim("4.4", "Word-class features raise SVM above tf-idf on 20 Newsgroups",
          _f1("vectors+wce", "tfidf", ["svm"], dataset="newsgroups20")),
    Claim("4.4", "Word-class features do not raise SVM above tf-idf on Reuters",
          _f1("vectors+wce", "tfidf", ["svm"], le, dataset="reuters21578")),
    Claim("4.4", "SVM cannot be trained on WIPO-gamma", needs="WIPO-gamma"),
    Claim("4.4", "The best neural method has word-class embeddings, or is not different from one",
          Compared(_of(variant=("vectors+wce", "vectors+wce-trainable")), {}, gt,
                   {**_SCORES, "learner": NEURAL}, ("table", "dataset"), or_alike=True)),
    Claim("4.4", "Word-class embeddings beside static pretrained ones almost always help",
          _f1("vectors+wce", "vectors", ("svm", *NETWORKS)), _MOSTLY),
    Claim("4.4", "Word-class embeddings beside trainable pretrained ones almost always help",
          _f1("vectors+wce-trainable", "vectors-trainable", NEURAL), _MOSTLY),
    Claim("4.4", "The average improvements are significant at .05 (over pairs of cells), micro F1 "
          "with static embeddings left out", _AreSignificant()),
    Claim("4.4", "Not because there are more parameters: random columns help less",
          _f1("vectors+wce-trainable", "vectors+random", NEURAL), _MOSTLY),
    Claim("4.4", "Model selection chose equal sizes with and without them in half of the cases, "
          "smaller ones in 40 %, larger ones in 10 % (the authors' own choices)", _sizes_agree),
    Claim("4.4", "Training the embeddings always helps the CNN (pretrained)",
          _f1("vectors-trainable", "vectors", ["cnn"])),
    Claim("4.4", "Training the embeddings always helps the CNN (with word-class embeddings)",
          _f1("vectors+wce-trainable", "vectors+wce", ["cnn"])),
    Claim("4.4", "It does not always help LSTM and attention (pretrained)",
          _f1("vectors-trainable", "vectors", NETWORKS[1:], le), _SOME),
    Claim("4.4", "It does not always help LSTM and attention (with word-class embeddings)",
          _f1("vectors+wce-trainable", "vectors+wce", NETWORKS[1:], le), _SOME),
    Claim("4.5", "Random embeddings lower the training loss faster than static pretrained ones, "
          "with or without word-class ones",
          Compared(_RANDOM, {}, lt, _CURVES, _CURVE, min, "loss")),
    Claim("4.5", "but their validation loss ends higher",
          Compared(_RANDOM, {}, gt, _CURVES, _CURVE, max, "validation_loss")),
    Claim("4.5", "With word-class embeddings fewer epochs are needed (validation macro F1 after 3)",
          Compared(_WCE, {}, gt, _CURVES, _CURVE, max, "validation_macro_f1", 3)),
    Claim("4.6", "Without supervised dropout the training loss falls fastest",
          Compared(_NO_DROPOUT, {}, lt, _DROPOUT, _SWEPT, min, "loss")),
    Claim("4.6", "and unseen data are classified worse than with any",
          Compared(_NO_DROPOUT, {}, lt, _DROPOUT, _SWEPT, min)),
    Claim("4.6", "p = .5 is the best", Compared(_HALF, {}, ge, _DROPOUT, _SWEPT)),
    Claim("4.6", "p = .5 is a good choice in general (within .01 of the best)",
          Compared(_HALF, {}, _is_close, _DROPOUT, _SWEPT)),
    Claim("4.7", "SVM with tf-idf is typically (half of the data sets) the fastest",
          Compared(_TFIDF, _of(learner=_PAPERS), lt, _TIMES, ("dataset",), min), 0.5),
    Claim("4.7", "SVM is slower with dense features",
          Compared(_TFIDF, {}, lt, _SVM, ("dataset",), min)),
    Claim("4.7", "SVM takes far longer (twice any other) on JRC-Acquis, which has most classes",
          Compared(_of(dataset="jrc_acquis"), {}, lambda own, other: own > 2 * other, _SVM,
                   ("variant",))),
    Claim("4.7", "fastText is the fastest neural method",
          Compared(_of(learner="fasttext"), _of(learner=NEURAL), lt, _TIMES, ("dataset",), min)),
    Claim("4.7", "Word-class embeddings make training faster in some cases",
          Compared(_of(variant="vectors+wce-trainable"), {}, lt, {**_TIMES, "learner": NEURAL}),
          _SOME),
    Claim("4.7", "Word-class embeddings make training slower in other cases",
          Compared(_of(variant="vectors+wce-trainable"), {}, gt, {**_TIMES, "learner": NEURAL}),
          _SOME),
    Claim("4.7", "Making S typically (half of the data sets) takes below a tenth of making X and S",
          Compared(_of(what="S"), _of(what="total"), lambda own, total: own < 0.1 * total, _MADE,
                   ("dataset",)), 0.5, note="X is made some 20 times faster here"),
    Claim("4.7", "Making word-class embeddings takes less time than any training",
          Compared({**_MADE, "what": ["total"]}, {**_TIMES, "learner": _PAPERS}, lt, {},
                   ("dataset",), min)),
    Claim("4.8", "The dot product is almost always the best correlation, or within .01 of it",
          Compared(_DOT, _OTHER_CORRELATIONS, _is_close, _CORRELATIONS, _SWEPT), _MOSTLY),
    Claim("4.8", "PPMI is weak on Reuters (.01 below the dot product)",
          Compared(_PPMI, _DOT, _is_weak, {**_CORRELATIONS, "dataset": ["reuters21578"]}, _SWEPT)),
    Claim("4.8", "PPMI is weak on JRC-Acquis with CNN and LSTM",
          Compared(_PPMI, _DOT, _is_weak, {**_CORRELATIONS, "dataset": ["jrc_acquis"],
                   "learner": NETWORKS[:2]}, _SWEPT)),
    Claim("4.8", "PPMI is competitive on WIPO-gamma (within .01 of the best)",
          Compared(_PPMI, {}, _is_close, {**_CORRELATIONS, "dataset": ["wipo_gamma"]}, _SWEPT)),
    Claim("4.8", "Information gain and chi-square take ten times as long as the dot product",
          Compared(_of(what="S"), _of(what=("S (information_gain)", "S (chi_square)")),
                   lambda dot, other: 10 * dot < other, _MADE, ("dataset",), min),
          note="closed forms on sparse counts here"),
    Claim("4.9", "Word-class embeddings help beside other pretrained vectors as well",
          Compared(_WCE, _STATIC, gt, {**_VECTORS, "settings": _OTHER_FILES})),
    Claim("4.10", "Pretrained vectors gather terms by class to some extent (a fifth of neighbors)",
          Compared(_of(what="Without the classes"), 0.2, ge, _MAPS, ("dataset",))),
    Claim("4.10", "Word-class vectors gather nearly all terms by class (nine of ten neighbors)",
          Compared(_of(what="Word-class embeddings"), 0.9, ge, _MAPS, ("dataset",))),
    Claim("4.10", "Both vectors together are closer to that than to pretrained ones alone",
          Compared(_BOTH, {}, gt, _MAPS, ("dataset",), mean)),
    Claim("4.10", "Within a class, word-class vectors lose how words are related (less than a "
          "third of the ten nearest terms), both together keep it (more than half)",
          _relations_are_kept),
    Claim("4.11", "Few words of test texts are outside the vocabulary (below a twentieth)",
          Compared(_of(what="share"), 0.05, lt, _of(plan="unseen_terms"), ("dataset",))),
    Claim("4.11", "Predicted word-class vectors for them change macro F1 by less than .01",
          Compared(_of(settings=("unseen=network", "unseen=ridge")), _of(settings=""),
                   lambda own, zeros: abs(own - zeros) < _CLOSE, _UNSEEN, _SWEPT)),
    Claim("4.11", "Predicted word-class vectors look meaningful, misspelled and foreign words' too "
          "(a judgement by eye: `wordclass unseen`)", needs="a reader's judgement"),
)  # fmt: skip
