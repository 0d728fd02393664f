"""The best test scores of a data set over the runs of all plans, for every page that states them.

Trials are excluded: the maximum over settings that were tried would be chosen by test scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean

from wordclass.reproduction import paper
from wordclass.reproduction.plan import Plan
from wordclass.reproduction.runs import RunResult

_TRIAL_PLANS = ("fasttext_settings",)
_PAPER_LEARNERS = ("svm", *paper.NEURAL)
# options whose values the paper chose or fixed as well
_PAPER_OPTIONS = ("channels", "hidden", "lr", "epochs", "random_dims", "supervised_dropout")


@dataclass(frozen=True)
class Score:
    """A mean test score over seeds.

    Parameters
    ----------
    value : float
        The score.
    learner, variant, protocol : str
        As in `Run`; empty if the number is published.
    vectors : str
        The name of the pretrained vectors, or an empty string.
    options : tuple of str
        The options as NAME=VALUE.
    """

    value: float
    learner: str
    variant: str
    protocol: str = ""
    vectors: str = ""
    options: tuple[str, ...] = ()

    @property
    def is_of_paper(self) -> bool:
        """True if the paper has the learner with such vectors and options."""
        names = [option.partition("=")[0] for option in self.options]
        has_paper_options = all(name in _PAPER_OPTIONS for name in names)
        is_learned = self.vectors.endswith(("pte", "corpus")) or "+wce" in self.vectors
        return self.learner in _PAPER_LEARNERS and has_paper_options and not is_learned

    def parts(self) -> list[str]:
        """Return the non-empty parts of the name: learner, variant, protocol, vectors, options."""
        names = [self.learner, self.variant, self.protocol, self.vectors, *self.options]
        return [name for name in names if name]


def mean_scores(results: Sequence[RunResult], measure: str) -> Mapping[str, Sequence[Score]]:
    """Return the mean scores over seeds of all settings, by data set.

    Trials, parts of data sets and runs without scores are left out.

    Parameters
    ----------
    results : list of RunResult
        The results.
    measure : str
        A name in `RunResult.scores`.
    """
    trials = _trial_identities() | {identity for result in results for identity in result.needs}
    groups: dict[tuple[str, Score], list[float]] = {}
    for result in results:
        is_complete = ":" not in result.dataset and "@" not in result.dataset
        if result.scores and is_complete and result.identity not in trials:
            group = Score(
                value=0.0,
                learner=result.learner,
                variant=result.variant,
                protocol=result.protocol,
                vectors=result.vectors["name"] if result.vectors else "",
                options=tuple(f"{name}={value}" for name, value in result.options.items()),
            )
            groups.setdefault((result.dataset, group), []).append(result.scores[measure])
    by_dataset: dict[str, list[Score]] = {}
    for (dataset, group), values in groups.items():
        parts = group.learner, group.variant, group.protocol, group.vectors, group.options
        by_dataset.setdefault(dataset, []).append(Score(fmean(values), *parts))
    return by_dataset


def best(scores: Sequence[Score]) -> Score | None:
    """Return the highest score, or None."""
    return max(scores, key=lambda score: score.value, default=None)


def best_of_paper(scores: Sequence[Score]) -> Score | None:
    """Return the highest score of a learner, variant and options that the paper has, or None."""
    return best([score for score in scores if score.is_of_paper])


def best_published(dataset: str, measure: str) -> Score | None:
    """Return the highest published score of a data set, or None."""
    return best(
        [
            Score(cell.value, learner, variant)
            for (column, learner, variant), cell in paper.cells(measure).items()
            if column == dataset
        ]
    )


@cache
def _trial_identities() -> frozenset[str]:
    return frozenset(run.identity for name in _TRIAL_PLANS for run in Plan.read(name).runs())
