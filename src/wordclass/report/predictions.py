"""What a model says of texts, one plain dict per text."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from wordclass.arrays import Floats, Floats32
from wordclass.errors import InputError


def shown_scores(model: Any, scores: Floats32, *, strict: bool = False) -> Floats | Floats32:  # noqa: ANN401
    """Return the probabilities of scores (n, m); where a model has none, the scores themselves.

    Parameters
    ----------
    model
        A fitted classifier.
    scores
        What its `class_scores` returned.
    strict
        That it has none is an error.
    """
    try:
        probabilities: Floats = model.calibrated(scores)
    except InputError:
        if strict:
            raise
        return scores
    return probabilities


def predictions(
    model: Any,  # noqa: ANN401 - any classifier of texts
    texts: Sequence[str],
    k: int | None = None,
    *,
    proba: bool = False,
) -> list[dict[str, Any]]:
    """Return the labels of each text, with scores of classes, best first.

    Parameters
    ----------
    model
        A fitted classifier.
    texts
        The texts.
    k
        How many classes get a score, whatever was predicted. None: those predicted.
    proba
        Scores are probabilities, of all classes where `k` is None; an error where there are none.

    Returns
    -------
    For each text `labels`, and `scores`: probabilities where the model has them, else what its
    `class_scores` returns.
    """
    scores = model.class_scores(texts)  # (n, m)
    decisions = model.decide(scores)
    shown = shown_scores(model, scores, strict=proba)
    names = model.classes_.tolist()
    made = []
    for values, decision in zip(shown, decisions, strict=True):
        order = np.argsort(-values, kind="stable")
        chosen = [j for j in order if decision[j]] if k is None and not proba else order[:k]
        made.append(
            {
                "labels": [names[j] for j in np.flatnonzero(decision)],
                "scores": {str(names[j]): round(float(values[j]), 6) for j in chosen},
            }
        )
    return made
