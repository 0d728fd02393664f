"""Fixtures for tests of pages and figures, loaded by `tests/conftest.py`."""

import numpy as np
import pytest
from made_up import corpus

from wordclass.cli import demo
from wordclass.corpus.documents import Dataset, LabelledCorpus
from wordclass.explorer.term_map import Panel, TermMap

HOSTILE = '</script><b>&"'


@pytest.fixture(scope="session")
def hostile():
    return HOSTILE


@pytest.fixture(scope="session")
def dataset():
    names = {"space": "space", "garden": "garden", "music": HOSTILE}

    def part(n_docs, seed):
        texts, labels = corpus(n_docs, seed)
        return LabelledCorpus(texts, [names[label] for label in labels], is_multilabel=False)

    return Dataset("made up", part(90, 0), part(30, 1), sorted(names.values()))


@pytest.fixture
def no_shared_vectors(monkeypatch):
    monkeypatch.delenv("WORDCLASS_DATA", raising=False)


@pytest.fixture
def report_on(dataset, no_shared_vectors):
    pytest.importorskip("openTSNE")

    def run(output, **options):
        return demo.report_on(dataset, "A <made up> corpus.", output, **options)

    return run


@pytest.fixture(scope="session")
def term_map():
    """Sixty terms of three classes in three panels, without t-SNE."""
    generator = np.random.default_rng(0)
    class_of = np.arange(60) % 3
    panels = [
        Panel(title, f"{title} <i>", generator.random((60, 2)), 0.5)
        for title in ("without", "by class", "both")
    ]
    terms = [f"term{k}" for k in range(59)] + ["</script><script>alert(1)"]
    vectors = np.zeros((len(terms), 2), np.float32)
    return TermMap(terms, [HOSTILE, "garden", "space"], class_of, panels, vectors)
