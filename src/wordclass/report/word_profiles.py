"""Words that show what a profile is: some that speak for one class, some torn between two."""

from dataclasses import dataclass

import numpy as np

from wordclass.arrays import Floats, Floats32

_MIN_LETTERS = 4
_N_SHOWN = 4  # classes of a profile


@dataclass(frozen=True)
class WordProfile:
    """The classes that a word speaks for most, best first, with their scores."""

    word: str
    is_torn: bool
    classes: list[tuple[str, float]]


def telling_profiles(
    terms: list[str], classes: list[str], class_vectors: Floats32, n_clear: int, n_torn: int
) -> list[WordProfile]:
    """Choose words that are far ahead in one class, then words that are so in two.

    No class is shown twice within a kind, and only plain words are taken, so that the choice is
    one that a reader understands.
    """
    scores = class_vectors.astype(np.float64)
    best = -np.sort(-scores, axis=1)[:, :3]  # (v, 3)
    clear = best[:, 0] - best[:, 1]
    torn = best[:, 1] - best[:, 2] if best.shape[1] > 2 else best[:, 1]
    chosen = [
        *((row, False) for row in _choose(terms, scores, clear, n_clear, 1)),
        *((row, True) for row in _choose(terms, scores, torn, n_torn, 2)),
    ]
    return [WordProfile(terms[k], is_torn, _profile(classes, scores[k])) for k, is_torn in chosen]


def _choose(
    terms: list[str], scores: Floats, interest: Floats, n: int, n_classes: int
) -> list[int]:
    chosen: list[int] = []
    shown: set[int] = set()
    for row in np.argsort(-interest, kind="stable").tolist():
        leading = set(np.argsort(-scores[row], kind="stable")[:n_classes].tolist())
        if len(chosen) < n and _is_plain(terms[row]) and not leading & shown:
            chosen.append(row)
            shown |= leading
    return chosen


def _is_plain(term: str) -> bool:
    return term.isalpha() and len(term) >= _MIN_LETTERS


def _profile(classes: list[str], scores: Floats) -> list[tuple[str, float]]:
    order = np.argsort(-scores, kind="stable")[:_N_SHOWN]
    return [(classes[j], float(scores[j])) for j in order.tolist()]
