"""What is to be done of a plan, and how long it will take here."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import median
from typing import Any

from wordclass import catalogue
from wordclass.errors import MissingDataError, MissingExtraError
from wordclass.reproduction import peers, sources
from wordclass.reproduction.plan import NETWORKS, PEER, Plan, presets
from wordclass.reproduction.rivals.plan_options import RECORDED, is_record
from wordclass.reproduction.runs import Results, Run, RunResult

_USUAL_TEXTS, _USUAL_CLASSES = 11_314, 20  # of newsgroups20, on which times were measured
_USUAL_LENGTH = 200  # words that a text has there
_USUAL_SIZE = {"channels": 128, "hidden": 256}
_PACKAGES = {**dict.fromkeys(NETWORKS, "torch"), "fasttext": "fasttext", "map": "openTSNE"}


@dataclass(frozen=True)
class Outlook:
    """What is to be done of a plan in a folder of results.

    Parameters
    ----------
    runs : list of Run
        All of them, but those whose data, or the package that they need, are not here.
    left : list of Run
        Those that are not finished.
    missing : dict
        Why the others cannot be done here: the reason, and how many.
    seconds : float
        How long the rest takes, one run after the other.
    """

    runs: list[Run]
    left: list[Run]
    missing: Mapping[str, int]
    seconds: float

    @classmethod
    def of(
        cls, plan: Plan, results: Results, only: Mapping[str, Sequence[str]] | None = None
    ) -> "Outlook":
        """Look at a plan; nothing is done."""
        finished = results.runs()
        done, times = {result.key for result in finished}, Times(finished)
        runs, left, missing = [], [], Counter[str]()
        for run in plan.runs(only):
            try:
                if run.key not in done:
                    _require_repeatable(run)
                    _require_package(run.learner)
                    left.append(run)
                runs.append(run)
            except (MissingDataError, MissingExtraError) as error:
                missing[str(error)] += 1
        return cls(runs, left, missing, sum(map(times.expected, left)))


def _require_repeatable(run: Run) -> None:
    if is_record(run.learner, run.variant, run.options):
        raise MissingDataError(RECORDED)


def _require_package(learner: str) -> None:
    """Refuse what needs a package that is not here; it is not imported, which takes seconds."""
    if learner == PEER:
        peers.python()
    package = _PACKAGES.get(learner)
    if package is not None and find_spec(package) is None:
        purpose = "networks" if learner in NETWORKS else learner
        told = f"{package} is needed for {purpose}"
        raise MissingExtraError(f"{told}: pip install 'wordclass[{package.lower()}]'")


class Times:
    """How long runs take: a table of measured times, corrected by how long finished runs took."""

    def __init__(self, finished: Sequence[RunResult]) -> None:
        self._sizes = {each.dataset: each.data for each in finished if "n_train" in each.data}
        self._finished = [(each, _seconds(each) / self._usual(each)) for each in finished]

    def expected(self, run: Run) -> float:
        """Estimate the seconds of a run.

        The correction is that of the finished runs of its learner that are most like it: first
        those of the same data set, then those with the same options, then the same variant.
        """
        ratios = defaultdict(list)
        for result, ratio in self._finished:
            if result.learner == run.learner:
                names = "dataset", "options", "variant"
                likeness = tuple(getattr(result, name) == getattr(run, name) for name in names)
                ratios[likeness].append(ratio)
        correction = median(ratios[max(ratios)]) if ratios else 1.0
        return correction * self._usual(run)

    def _usual(self, run: Run | RunResult) -> float:
        """Return the seconds that the table has, scaled by the size of data set and network."""
        known, options = presets()["seconds"], run.options
        n_texts, n_classes = self._size(run.dataset)
        seconds = float(known.get(f"{run.learner} {run.variant}", known.get(run.learner, 0.0)))
        seconds *= n_texts / _USUAL_TEXTS
        if run.learner in NETWORKS:
            name = presets()["size_of"].get(run.learner)
            size = _number(options, name, _USUAL_SIZE[name]) / _USUAL_SIZE[name] if name else 1.0
            size *= min(1.0, _number(options, "max_length", _USUAL_LENGTH) / _USUAL_LENGTH)
            seconds *= size * min(_number(options, "max_epochs", known["epochs"]), known["epochs"])
        elif run.learner in ("svm", "linear") and run.variant != "tfidf":  # whose time hardly grows
            seconds *= n_classes / _USUAL_CLASSES
        return float(known["start"] + seconds)

    def _size(self, dataset: str) -> tuple[float, float]:
        """Return how many training texts and classes a data set is known to have, or usual ones."""
        if dataset in self._sizes:
            return self._sizes[dataset]["n_train"], self._sizes[dataset]["n_classes"]
        base, chosen, n_per_class = sources.parts_of(dataset)
        is_known = base in catalogue.names("datasets")
        sizes = catalogue.entry("datasets", base).SOURCE.sizes if is_known else None
        if sizes is None:
            return _USUAL_TEXTS, _USUAL_CLASSES
        n_chosen = len(chosen) or sizes.n_classes
        per_class = sizes.n_train / sizes.n_classes
        return n_chosen * min(per_class, n_per_class or per_class), n_chosen


def _number(options: Mapping[str, Any], name: str, usual: float) -> float:
    """Return an option, or the usual number where it is none: the classifier will refuse it."""
    given = options.get(name)
    return given if isinstance(given, int | float) else usual


def _seconds(result: RunResult) -> float:
    """Return how long a run took, or would have taken alone: one processor, and no pause."""
    alone = result.times.get("total_cpu", result.times["total"])
    return max(alone, result.times.get("fit_cpu", 0.0))  # which has the epochs before a stop
