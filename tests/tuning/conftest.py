"""A clock that stands still unless it is told otherwise, and a classifier that tells it."""

import pytest

from wordclass.classifiers import nearest


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def spy(monkeypatch, clock):
    """Take the place of `nearest`: remembers what it learned from, takes 10 s, fails if told."""

    class Spy(nearest.NearestClassifier):
        learned_from = []  # noqa: RUF012 - shared by all instances, on purpose
        failing = {}  # noqa: RUF012

        def fit(self, texts, labels, **options):
            texts = list(texts)
            Spy.learned_from.append((self.get_params(), texts))
            clock.now += 10.0
            for name, values in Spy.failing.items():
                if getattr(self, name) in values:
                    raise MemoryError("no room")
            return super().fit(texts, labels, **options)

    monkeypatch.setattr(nearest, "make", Spy)
    return Spy
