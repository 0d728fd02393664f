"""Outlook on a plan: the unfinished runs, the impossible ones, and the hours they take."""

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

# sizes of 20 Newsgroups, on which the times of presets.toml were measured
_USUAL_DOCS = 11_314
_USUAL_CLASSES = 20
_USUAL_WORDS_PER_DOC = 200
_USUAL_SIZES = {"channels": 128, "hidden": 256}
_PACKAGES = {**dict.fromkeys(NETWORKS, "torch"), "fasttext": "fasttext", "map": "openTSNE"}


@dataclass(frozen=True)
class Outlook:
    """The state of a plan in a folder of results.

    Parameters
    ----------
    runs : list of Run
        All runs that are finished or can be executed here.
    unfinished : list of Run
        Those that are not finished.
    missing : dict
        Reasons why other runs cannot be executed here, with the number of runs.
    seconds : float
        Expected seconds of the unfinished runs, one after the other.
    """

    runs: list[Run]
    unfinished: list[Run]
    missing: Mapping[str, int]
    seconds: float

    @classmethod
    def of(
        cls, plan: Plan, results: Results, only: Mapping[str, Sequence[str]] | None = None
    ) -> "Outlook":
        """Compare a plan with the results without executing anything."""
        finished_results = results.runs()
        finished = {result.key for result in finished_results}
        times = Times(finished_results)
        runs = []
        unfinished = []
        missing = Counter[str]()
        for run in plan.runs(only):
            try:
                if run.key not in finished:
                    _require_repeatable(run)
                    _require_package(run.learner)
                    unfinished.append(run)
                runs.append(run)
            except (MissingDataError, MissingExtraError) as error:
                missing[str(error)] += 1
        return cls(runs, unfinished, missing, sum(map(times.expected, unfinished)))


def _require_repeatable(run: Run) -> None:
    if is_record(run.learner, run.variant, run.options):
        raise MissingDataError(RECORDED)


def _require_package(learner: str) -> None:
    """Refuse a learner whose package is missing, without the seconds that an import takes."""
    if learner == PEER:
        peers.python()
    package = _PACKAGES.get(learner)
    if package is not None and find_spec(package) is None:
        purpose = "networks" if learner in NETWORKS else learner
        extra = catalogue.extra_of(package)
        raise MissingExtraError(
            f"{package} is needed for {purpose}",
            hint=f"install it with: pip install 'wordclass[{extra}]'",
        )


class Times:
    """Expected seconds of runs: a table of measured times, corrected by finished runs."""

    def __init__(self, finished: Sequence[RunResult]) -> None:
        self._sizes = {
            result.dataset: result.data for result in finished if "n_train" in result.data
        }
        self._ratios = [(result, _seconds(result) / self._usual(result)) for result in finished]

    def expected(self, run: Run) -> float:
        """Estimate the seconds of a run.

        The correction is that of the most similar finished runs of its learner: first those of the
        same data set, then those with the same options, then those of the same variant.
        """
        by_similarity = defaultdict(list)
        for result, ratio in self._ratios:
            if result.learner == run.learner:
                names = "dataset", "options", "variant"
                similarity = tuple(getattr(result, name) == getattr(run, name) for name in names)
                by_similarity[similarity].append(ratio)
        correction = median(by_similarity[max(by_similarity)]) if by_similarity else 1.0
        return correction * self._usual(run)

    def _usual(self, run: Run | RunResult) -> float:
        """Return the seconds of the table, scaled by the sizes of the data set and the network."""
        table = presets()["seconds"]
        n_docs, n_classes = self._size(run.dataset)
        seconds = float(table.get(f"{run.learner} {run.variant}", table.get(run.learner, 0.0)))
        seconds *= n_docs / _USUAL_DOCS
        if run.learner in NETWORKS:
            seconds *= _relative_network_size(run.learner, run.options)
            epochs = table["epochs"]
            seconds *= min(_number(run.options, "max_epochs", epochs), epochs)
        elif run.learner in ("svm", "linear") and run.variant != "tfidf":
            # more classes hardly change the time on tf-idf
            seconds *= n_classes / _USUAL_CLASSES
        return float(table["start"] + seconds)

    def _size(self, dataset: str) -> tuple[float, float]:
        """Return the numbers of training documents and classes, as far as they are known."""
        if dataset in self._sizes:
            return self._sizes[dataset]["n_train"], self._sizes[dataset]["n_classes"]
        base, classes, n_per_class = sources.parse_dataset_name(dataset)
        is_known = base in catalogue.names("datasets")
        sizes = catalogue.entry("datasets", base).SOURCE.sizes if is_known else None
        if sizes is None:
            return _USUAL_DOCS, _USUAL_CLASSES
        n_classes = len(classes) or sizes.n_classes
        per_class = sizes.n_train / sizes.n_classes
        return n_classes * min(per_class, n_per_class or per_class), n_classes


def _relative_network_size(learner: str, options: Mapping[str, Any]) -> float:
    """Return the time of a network relative to one of the usual size and length of texts."""
    name = presets()["size_of"].get(learner)
    size = _number(options, name, _USUAL_SIZES[name]) / _USUAL_SIZES[name] if name else 1.0
    max_length = _number(options, "max_length", _USUAL_WORDS_PER_DOC)
    return size * min(1.0, max_length / _USUAL_WORDS_PER_DOC)


def _number(options: Mapping[str, Any], name: str, default: float) -> float:
    """Return an option, or a default if it is no number, which the classifier will refuse."""
    value = options.get(name)
    return value if isinstance(value, int | float) else default


def _seconds(result: RunResult) -> float:
    """Return how long a run takes alone: its CPU seconds, with epochs before an interruption."""
    cpu_seconds = result.times.get("total_cpu", result.times["total"])
    return max(cpu_seconds, result.times.get("fit_cpu", 0.0))
