"""What would not fit into memory is refused before the work starts, with a remedy."""

import subprocess
import sys

import numpy as np
import pytest

import wordclass as wc
from wordclass import options as checks
from wordclass.classifiers import base
from wordclass.errors import InputError

N_DOCS, N_CLASSES = 1200, 600
TEXTS = [f"word{chr(97 + k % 26)} term{chr(97 + k // 26 % 26)} both" for k in range(N_DOCS)]
LABELS = [f"class {k % N_CLASSES}" for k in range(N_DOCS)]
LISTED = [[label] for label in LABELS]


@pytest.fixture
def free(monkeypatch):
    """Set how many bytes are free."""
    monkeypatch.setattr(checks, "_MAX_SCORES_UNCHECKED", 0)

    def limit(n_bytes):
        monkeypatch.setattr(checks, "free_bytes", lambda: n_bytes)

    return limit


@pytest.fixture
def uncounted(monkeypatch):
    """Fail if texts are counted: the first work of every classifier."""
    from wordclass.text import counting

    def count(*_args, **_options):
        pytest.fail("texts were counted before memory was estimated")

    monkeypatch.setattr(counting, "count", count)


@pytest.mark.parametrize("name", ["nearest", "svm"])
@pytest.mark.parametrize("labels", [LABELS, LISTED], ids=["single", "multilabel"])
def test_scores_of_training_documents_are_estimated_before_any_work(name, labels, free, uncounted):
    free(1_000_000)
    expected = r"scores of 1,200 documents by 600 classes need .* 1\.0 MB are free; .*'tree'"
    with pytest.raises(InputError, match=expected) as error:
        wc.classifier(name).fit(TEXTS, labels)
    assert ("probabilities=False" in str(error.value)) == (labels is LABELS)


def test_the_remedy_that_is_named_helps(free):
    free(20_000_000)
    with pytest.raises(InputError, match="use probabilities=False"):
        wc.classifier("nearest").fit(TEXTS, LABELS)
    wc.classifier("nearest", probabilities=False).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("svm", {"C": 1.0, "probabilities": False}),
        ("linear", {"classes": "flat", "ngrams": (1, 1), "characters": None}),
    ],
)
def test_weights_of_terms_by_classes_are_estimated(name, options, free):
    free(100_000)
    with pytest.raises(InputError, match=r"the weights of .* terms by 600 classes.* 0\.1 MB are f"):
        wc.classifier(name, **options).fit(TEXTS, LABELS)


def test_the_nodes_of_a_tree_are_estimated(free):
    free(100)
    with pytest.raises(InputError, match=r"need .* of memory; 0\.0 MB are free"):
        wc.classifier("linear", classes="tree", ngrams=(1, 1)).fit(TEXTS, LABELS)


@pytest.mark.parametrize("options", [{"thresholds": "tuned"}, {"protocol": "paper"}])
def test_fasttext_estimates_the_scores_of_documents_held_out(options, free, uncounted):
    pytest.importorskip("fasttext", reason="the extra 'fasttext' is not installed")
    free(100_000)
    with pytest.raises(InputError, match=r"scores of .* documents by 600 classes need"):
        wc.classifier("fasttext", **options).fit(TEXTS, LISTED)


def test_networks_estimate_the_scores_of_documents_that_validate(free, uncounted):
    pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    free(100_000)
    with pytest.raises(InputError, match=r"scores of .* documents by 600 classes need") as error:
        wc.classifier("cnn").fit(TEXTS, LABELS)
    assert "probabilities=False" not in str(error.value)  # networks have no such option


def test_predictions_are_estimated(free):
    model = wc.classifier("nearest").fit(TEXTS, LABELS)
    free(1_000_000)
    for predict in (model.predict, model.class_scores, model.predict_proba):
        with pytest.raises(InputError, match="predict fewer texts at a time, or use top_classes"):
            predict(iter(TEXTS))
    assert len(model.predict(TEXTS[:10])) == 10
    assert model.top_classes(TEXTS[:20], 3)[0].shape == (20, 3)


def test_the_estimate_covers_what_learning_takes():
    """Measured in a process of its own, whose peak is that of one fit."""
    code = f"""
import sys
sys.path.insert(0, {str(__file__.rsplit("/", 1)[0])!r})
import wordclass as wc
from test_memory import LABELS, TEXTS

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024

wc.classifier("nearest").fit(TEXTS[:700], LABELS[:100] * 7)
before = peak()
wc.classifier("nearest").fit(TEXTS * 4, LABELS * 4)
print(peak() - before)
"""
    if sys.platform != "linux":
        pytest.skip("peaks are known on Linux")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    estimated = 4 * N_DOCS * N_CLASSES * base._BYTES_TO_CALIBRATE
    assert estimated / 3 < int(run.stdout) < estimated * 1.25


def test_compiled_code_that_runs_out_of_memory_says_what_would_help():
    resource = pytest.importorskip("resource")
    native = pytest.importorskip("wordclass.native.extension._native", reason="not compiled")
    n_rows = 4000
    indptr = np.arange(n_rows + 1)
    values = np.ones(n_rows)
    indices = np.zeros(n_rows, np.int64)
    one = (np.ones(1), np.zeros(1, np.int64), np.array([0, 1]))
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    try:
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), before[1]))
        with pytest.raises(MemoryError, match="fewer documents, classes or terms"):
            native.solver.multiply_sparse(values, indices, indptr, *one, 1 << 20)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
