"""The claims of the paper's sections 4.4 to 4.11, and whether they hold in results of ours.

A claim is decided by comparing cells of tables: each comparison says yes or no, and a claim holds
where enough say yes. What "almost always" or "weak" means is not in the paper: such limits are
ours, and stand in the text of the claim.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import ge, gt, le, lt
from statistics import mean

from wordclass.experiment.paper import NETWORKS, NEURAL
from wordclass.experiment.tables import IMPROVED, MEASURES, Cell, Table

Parts = Mapping[str, Collection[str]]  # what the parts of a cell's name may be
Holds = Callable[[float, float], bool]
Votes = list[tuple[str, bool]]
_CURVE = ("dataset", "learner", "protocol")
_SWEPT = ("dataset", "learner", "variant", "protocol")  # what runs that differ in an option share
_CLOSE = 0.01  # F1 that differs by less is comparable
_MOSTLY = 0.8  # the share of comparisons that "almost always" means
_SOME, _NOT_ALL = 1e-9, 1 - 1e-9  # one yes is enough, one no is


@dataclass(frozen=True)
class Evidence:
    """The tables of each plan, by its name."""

    tables: Mapping[str, Sequence[Table]]

    def cells(self) -> Iterator[tuple[dict[str, str], Cell]]:
        """Give the cells that were measured, with their names: plan, table, dataset, ..."""
        for plan, tables in self.tables.items():
            for table in tables:
                for (row, column), cell in table.cells.items():
                    names = dict(zip(table.heads, row, strict=True))
                    if cell.measured is not None:
                        yield {"plan": plan, "table": table.title, "dataset": column, **names}, cell


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

    def __call__(self, evidence: Evidence) -> Votes:
        """Return in words what each group with both sides compares, and whether it says yes."""
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
                votes.append((f"{group}: {told}", self.holds(first, second) or is_alike))
        return votes

    def _groups(self, evidence: Evidence) -> dict[str, list[dict[str, Cell]]]:
        """Return the cells of both sides, by the rest of their names, of each group."""
        groups: dict[str, list[dict[str, Cell]]] = {}
        for names, cell in evidence.cells():
            group = " ".join(names[name] for name in self.by if names.get(name))
            own = [names[name] for name in names if name not in ("plan", "table", *self.by)]
            for k, parts in enumerate((self.first, self.second)):
                wanted = {} if isinstance(parts, float) else {**self.among, **parts}
                if wanted and all(names.get(name, "") in wanted[name] for name in wanted):
                    sides = groups.setdefault(group, [{}, {}])
                    sides[k][" ".join(filter(None, own))] = cell
                    break
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


def _are_significant(evidence: Evidence) -> Votes:
    """Judge the average improvements; micro F1 with static embeddings is not claimed to improve."""
    votes = []
    for names, cell in evidence.cells():
        is_wanted = (names["plan"], names["table"]) == ("f1", IMPROVED)
        if is_wanted and cell.measured and cell.p is not None:
            what = f"{names['what']}, {names['dataset']}"
            if what != "vectors+wce over vectors, Micro F1":
                told = f"{what}: {cell.measured.mean:+.1%}, p = {cell.p:.2g}"
                votes.append((told, cell.measured.mean > 0 and not cell.is_equal))
    return votes


@dataclass(frozen=True)
class Claim:
    """A claim in words of ours, what decides it, and which share of comparisons must say yes."""

    section: str
    text: str
    votes: Callable[[Evidence], Votes] | None = None
    least: float = 1.0
    most: float = 1.0

    def verdict(self, evidence: Evidence) -> tuple[str, Votes]:
        """Return "holds here", "does not" or "could not be run", and what each comparison says."""
        votes = [] if self.votes is None else self.votes(evidence)
        if not votes:
            return "could not be run", votes
        share = sum(is_so for _, is_so in votes) / len(votes)
        return "holds here" if self.least <= share <= self.most else "does not", votes


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
_OTHER_FILES = ("vectors=GoogleNews-vectors-negative300", "vectors=crawl-300d-2M")
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
    Claim("4.4", "SVM cannot be trained on WIPO-gamma"),
    Claim("4.4", "The best neural method has word-class embeddings, or is not different from one",
          Compared(_of(variant=("vectors+wce", "vectors+wce-trainable")), {}, gt,
                   {**_SCORES, "learner": NEURAL}, ("table", "dataset"), or_alike=True)),
    Claim("4.4", "Word-class embeddings beside static pretrained ones almost always help",
          _f1("vectors+wce", "vectors", ("svm", *NETWORKS)), _MOSTLY),
    Claim("4.4", "Word-class embeddings beside trainable pretrained ones almost always help",
          _f1("vectors+wce-trainable", "vectors-trainable", NEURAL), _MOSTLY),
    Claim("4.4", "The average improvements are significant at .05 (over pairs of cells), micro F1 "
          "with static embeddings left out", _are_significant),
    Claim("4.4", "Not because there are more parameters: random columns help less",
          _f1("vectors+wce-trainable", "vectors+random", NEURAL), _MOSTLY),
    Claim("4.4", "Nor does model selection choose larger networks for them, but in one of ten"),
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
    Claim("4.7", "Word-class embeddings make training faster in some cases, slower in others",
          Compared(_of(variant="vectors+wce-trainable"), {}, lt, {**_TIMES, "learner": NEURAL}),
          _SOME, _NOT_ALL),
    Claim("4.7", "Making S typically (half of the data sets) takes below a tenth of making X and S",
          Compared(_of(what="S"), _of(what="total"), lambda own, total: own < 0.1 * total, _MADE,
                   ("dataset",)), 0.5),
    Claim("4.7", "Making word-class embeddings takes less time than any training",
          Compared({**_MADE, "what": ["total"]}, {**_TIMES, "learner": _PAPERS}, lt, {},
                   ("dataset",), min)),
    Claim("4.8", "The dot product is almost always the best correlation, or within .01 of it",
          Compared(_DOT, {}, _is_close, _CORRELATIONS, _SWEPT), _MOSTLY),
    Claim("4.8", "PPMI is weak on Reuters (.01 below the dot product)",
          Compared(_PPMI, _DOT, _is_weak, {**_CORRELATIONS, "dataset": ["reuters21578"]}, _SWEPT)),
    Claim("4.8", "PPMI is weak on JRC-Acquis with CNN and LSTM",
          Compared(_PPMI, _DOT, _is_weak, {**_CORRELATIONS, "dataset": ["jrc_acquis"],
                   "learner": NETWORKS[:2]}, _SWEPT)),
    Claim("4.8", "PPMI is competitive on WIPO-gamma (within .01 of the best)",
          Compared(_PPMI, {}, _is_close, {**_CORRELATIONS, "dataset": ["wipo_gamma"]}, _SWEPT)),
    Claim("4.8", "Information gain and chi-square take ten times as long as the dot product",
          Compared(_of(what="S"), _of(what=("S (information_gain)", "S (chi_square)")),
                   lambda dot, other: 10 * dot < other, _MADE, ("dataset",), min)),
    Claim("4.9", "Word-class embeddings help beside other pretrained vectors as well",
          Compared(_WCE, _STATIC, gt, {**_VECTORS, "settings": _OTHER_FILES})),
    Claim("4.10", "Pretrained vectors gather terms by class to some extent (a fifth of neighbors)",
          Compared(_of(what="Without the classes"), 0.2, ge, _MAPS, ("dataset",))),
    Claim("4.10", "Word-class vectors gather nearly all terms by class (nine of ten neighbors)",
          Compared(_of(what="Word-class embeddings"), 0.9, ge, _MAPS, ("dataset",))),
    Claim("4.10", "Both vectors together are closer to that than to pretrained ones alone",
          Compared(_BOTH, {}, gt, _MAPS, ("dataset",), mean)),
    Claim("4.10", "Within a class, word-class vectors lose how words are related; both together "
          "keep it (a judgement: see the maps)"),
    Claim("4.11", "Few words of test texts are outside the vocabulary (below a twentieth)",
          Compared(_of(what="share"), 0.05, lt, _of(plan="unseen_terms"), ("dataset",))),
    Claim("4.11", "Predicted word-class vectors for them change macro F1 by less than .01",
          Compared(_of(settings=("unseen=network", "unseen=ridge")), _of(settings=""),
                   lambda own, zeros: abs(own - zeros) < _CLOSE, _UNSEEN, _SWEPT)),
    Claim("4.11", "Predicted word-class vectors look meaningful, misspelled and foreign words' too "
          "(a judgement: `wordclass unseen`)"),
)  # fmt: skip
