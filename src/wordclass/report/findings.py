"""What the demo found out, as plain values: for the page, the terminal and result.json."""

from dataclasses import asdict, dataclass, field
from typing import Any

from wordclass.measures import Scores
from wordclass.report.explained_documents import ExplainedDocument
from wordclass.report.word_profiles import WordProfile


@dataclass(frozen=True)
class ClassifierScores:
    """How good one classifier is on the test documents; `by_class` holds F1 and sizes."""

    name: str
    macro_f1: float
    micro_f1: float
    accuracy: float
    by_class: dict[str, dict[str, float]]

    @classmethod
    def of(cls, name: str, scores: Scores) -> "ClassifierScores":
        """Take the measures off scores."""
        by_class = {str(label): asdict(each) for label, each in scores.per_class.items()}
        return cls(name, scores.macro_f1, scores.micro_f1, scores.accuracy, by_class)

    def ranked(self) -> list[str]:
        """Return the classes, highest F1 first, of equal ones the first by name."""
        return sorted(self.by_class, key=lambda name: (-self.by_class[name]["f1"], name))


@dataclass(frozen=True)
class Sizes:
    """How much there is of everything."""

    train_docs: int
    test_docs: int
    classes: int
    terms: int
    dimensions: int


@dataclass(frozen=True)
class PanelFacts:
    """What is said about one panel of the map."""

    title: str
    caption: str
    neighbor_share: float


@dataclass(frozen=True)
class Findings:
    """All that the demo found out.

    Parameters
    ----------
    about
        What the corpus is, in a sentence or two.
    top_terms
        The ten most telling terms of each class, with their scores.
    classifiers
        The default one first.
    settings
        What the first classifier chose by itself.
    explained
        Test documents, and why the first classifier gave them their labels.
    seconds
        The time of each step: all that differs when the demo is run again.
    notes
        What was left out, and why.
    """

    corpus: str
    about: str
    seed: int
    sizes: Sizes
    top_terms: dict[str, list[tuple[str, float]]]
    profiles: list[WordProfile]
    classifiers: list[ClassifierScores]
    settings: dict[str, Any]
    explained: list[ExplainedDocument]
    panels: list[PanelFacts]
    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def featured(self, n: int = 6) -> list[str]:
        """Return some classes that are spread over all of them, so that they are varied."""
        names = list(self.top_terms)
        n = min(n, len(names))
        return [names[round(k * (len(names) - 1) / max(n - 1, 1))] for k in range(n)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON knows."""
        return asdict(self)
