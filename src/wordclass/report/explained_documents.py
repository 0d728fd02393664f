"""Test documents whose labels a classifier explains: one that it got right, and one mistake."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordclass.arrays import Flags, Floats, Ints
from wordclass.corpus import LabelledCorpus

_LONGEST = 420  # characters of a text that is read to its end
_SHORTEST = 120
_N_TERMS = 6


@dataclass(frozen=True)
class ExplainedDocument:
    """A document, its labels, and what its words added to the score of the predicted one.

    Parameters
    ----------
    kind
        "right" or "mistaken".
    probability
        Of the predicted label.
    words
        Where each word begins and ends, and what it adds.
    terms
        For the predicted label and, where that is another one, for the true one: the terms that
        moved its score most, with what they added.
    """

    kind: str
    text: str
    true: str
    predicted: str
    probability: float
    words: list[tuple[int, int, float]]
    terms: dict[str, list[tuple[str, float]]]

    @property
    def verdict(self) -> str:
        """How sure the classifier is, and whether it is right, in words."""
        sure = "over 99%" if self.probability > 0.99 else f"{self.probability:.0%}"
        return f"{sure} sure, " + (
            "and right" if self.kind == "right" else f"but it is {self.true}"
        )

    @classmethod
    def of(cls, model: Any, text: str, true: object, probability: float) -> "ExplainedDocument":  # noqa: ANN401
        """Let a single-label classifier explain a text."""
        explanation = model.explanation(text)
        (predicted,) = explanation.labels
        words = [
            (word.start, word.end, round(word.contribution, 4))
            for word in explanation.per_word(predicted)
            if word.start is not None and word.end is not None
        ]
        terms = {
            str(label): [
                (term, round(added, 4)) for term, added in explanation.top(label, _N_TERMS)
            ]
            for label in dict.fromkeys((predicted, true))
        }
        kind = "right" if predicted == true else "mistaken"
        return cls(kind, text, str(true), str(predicted), round(probability, 4), words, terms)


def explained_documents(model: Any, corpus: LabelledCorpus) -> list[ExplainedDocument]:  # noqa: ANN401
    """Return the most confident right prediction and the most confident mistake, where there are.

    Texts of a few lines are preferred.
    """
    scores = model.decision_function(corpus.texts)
    columns = model.decide(scores).argmax(axis=1)
    probabilities = model.calibrated(scores)[np.arange(len(columns)), columns]
    is_right = model.classes_[columns] == np.asarray(corpus.labels)
    lengths = np.array([len(text) for text in corpus.texts])
    chosen = [
        _most_confident(probabilities, lengths, kind)
        for kind in (is_right, ~is_right)
        if kind.any()
    ]
    return [
        ExplainedDocument.of(model, corpus.texts[k], corpus.labels[k], float(probabilities[k]))
        for k in chosen
    ]


def _most_confident(probabilities: Floats, lengths: Ints, candidates: Flags) -> int:
    fitting = candidates & (lengths >= _SHORTEST) & (lengths <= _LONGEST)
    if not fitting.any():
        fitting = candidates & (lengths == lengths[candidates].min())
    return int(np.where(fitting, probabilities, -1.0).argmax())
