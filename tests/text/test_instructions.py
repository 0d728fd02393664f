"""Number of instructions of the engine per byte, which does not depend on the load."""

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
MAX_INSTRUCTIONS_PER_BYTE = 60  # scikit-learn needs about 1,000

# from texts to the weighted matrix, as often as requested
WORK = """
import json, sys
from wordclass.text.analyzer import Analyzer
from wordclass.text.counting import NativeCountedTexts
from wordclass.text.vocabulary import Vocabulary
from wordclass.text.weightings import tfidf

with open(sys.argv[1]) as file:
    texts = json.load(file)
for _ in range(int(sys.argv[2])):
    counted = NativeCountedTexts(texts, Analyzer(), 1)
    vocabulary, ids = Vocabulary.of(counted, min_docs=5)
    tfidf.weight(counted.occurrences_of(ids), vocabulary)
"""


@pytest.fixture
def texts(request, data_home):
    """Return the first megabytes of the newsgroups, or of the docstrings if they are missing."""
    try:
        path = request.getfixturevalue("shared_data")("20ng_bydate_stripped.jsonl.zst")
        all_texts = wc.read_corpus(path, split="train").texts
    except pytest.skip.Exception:
        all_texts = wc.load_dataset("docstrings", home=data_home).train.texts
    sizes = [len(text.encode()) for text in all_texts]
    n_texts = next((k for k in range(len(sizes)) if sum(sizes[:k]) >= N_BYTES), len(sizes))
    return all_texts[:n_texts]


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


def count_instructions(process):
    """Wait for callgrind and return the number of instructions that it reports."""
    _, errors = process.communicate(timeout=1_200)
    assert process.returncode == 0, errors
    return int(re.search(r"Collected : (\d+)", errors)[1])


@pytest.mark.slow
def test_text_to_weights_takes_few_instructions_per_byte(texts, tmp_path, capsys):
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    path = tmp_path / "texts.json"
    path.write_text(json.dumps(texts))
    # the start of Python cancels out in the difference
    single, repeated = (start(path, n_calls) for n_calls in (1, 1 + N_CALLS))
    n_bytes = sum(len(text.encode()) for text in texts)
    n_instructions = (count_instructions(repeated) - count_instructions(single)) / N_CALLS
    per_byte = n_instructions / n_bytes
    with capsys.disabled():
        print(f"\n{per_byte:.1f} instructions per byte over {n_bytes / 1e6:.1f} MB")  # noqa: T201
    assert per_byte <= MAX_INSTRUCTIONS_PER_BYTE
