"""How many instructions the engine takes a byte: a measure that no busy machine changes."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import wordclass as wc

N_BYTES = 4_000_000
N_CALLS = 2
MOST = 60  # instructions a byte; scikit-learn takes about 1,000

# text to weighted matrix, so many times
WORK = """
import json, sys
from wordclass.text.analyzer import Analyzer
from wordclass.text.counting import NativeCountedTexts
from wordclass.text.vocabulary import Vocabulary, kept_terms
from wordclass.text.weightings import tfidf

with open(sys.argv[1]) as file:
    texts = json.load(file)
for _ in range(int(sys.argv[2])):
    counted = NativeCountedTexts(texts, Analyzer(), 1)
    kept = kept_terms(counted.n_docs, counted.doc_freq, 5, 1.0)
    terms, ids = counted.sorted_terms(kept)
    doc_freq, term_freq = counted.doc_freq[ids], counted.term_freq[ids]
    vocabulary = Vocabulary(terms, doc_freq, term_freq, len(texts))
    tfidf.weight(counted.occurrences_of(ids), vocabulary)
"""


@pytest.fixture
def texts(request, data_home):
    """The newsgroups where they are, else the docstrings; only the first few megabytes."""
    try:
        path = request.getfixturevalue("shared_data")("20ng_bydate_stripped.jsonl.zst")
        found = wc.read_corpus(path, split="train").texts
    except pytest.skip.Exception:
        found = wc.load_dataset("docstrings", home=data_home).train.texts
    sizes = [len(text.encode()) for text in found]
    enough = next((k for k in range(len(sizes)) if sum(sizes[:k]) >= N_BYTES), len(sizes))
    return found[:enough]


def start(path, n_calls):
    """Start Python under callgrind."""
    return subprocess.Popen(
        [
            *("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"),
            *(sys.executable, "-c", WORK, str(path), str(n_calls)),
        ],
        env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )


def instructions(process):
    """Wait for it; the number is at the end of what it says."""
    _, told = process.communicate(timeout=1_200)
    assert process.returncode == 0, told
    return int(re.search(r"Collected : (\d+)", told)[1])


@pytest.mark.slow
def test_text_to_weights_takes_few_instructions_a_byte(texts, tmp_path, capsys):
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    path = tmp_path / "texts.json"
    path.write_text(json.dumps(texts))
    # the first call pays for the start, and the difference to more calls is theirs alone
    once, often = (start(path, n_calls) for n_calls in (1, 1 + N_CALLS))
    n_bytes = sum(len(text.encode()) for text in texts)
    each = (instructions(often) - instructions(once)) / N_CALLS / n_bytes
    with capsys.disabled():
        print(f"\n{each:.1f} instructions a byte over {n_bytes / 1e6:.1f} MB")  # noqa: T201
    assert each <= MOST
