"""Fixtures of several test files of classifiers."""

from dataclasses import replace

import pytest

from wordclass.classifiers import linear
from wordclass.linear.search import LinearTrial


@pytest.fixture
def judged_by(monkeypatch):
    """Let a function of settings say how good they are, in place of documents held out."""

    def patch(macro, micro=None):
        def trials(_features, settings, penalties, target):
            tried = []
            for C in sorted(penalties):
                with_C = replace(settings, C=C)
                options = with_C.to_dict()
                scores = {"macro_f1": macro(options), "micro_f1": (micro or macro)(options)}
                quality = scores.get(target, sum(scores.values()) / 2)
                tried.append(LinearTrial(with_C, **scores, quality=quality))
            return tried

        monkeypatch.setattr(linear.LinearFeatures, "trials", trials)

    return patch
