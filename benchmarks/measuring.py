"""What the benchmarks share: a corpus, contestants taking turns, one line of JSON."""

import argparse
import gc
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import one_thread  # noqa: F401 - first of all
from sklearn.feature_extraction.text import TfidfVectorizer

import wordclass as wc

ROOT = Path(__file__).parents[1]
DATA = ROOT / os.environ.get("WORDCLASS_DATA", "../shared/data")
_NUMBER = re.compile(r"\b[0-9][0-9.,-]*\b")


def read_arguments() -> argparse.Namespace:
    """Read the command line: the corpus, and how many times each contestant runs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", nargs="?", help="a file with a train part; default: docstrings")
    parser.add_argument("--repeats", type=int, default=5)
    return parser.parse_args()


def training_corpus(path: str | None) -> wc.LabelledCorpus:
    """Return the training documents of a file, or of the docstrings."""
    if path is None:
        return wc.load_dataset("docstrings", home=ROOT / ".cache" / "tests-home").train
    return wc.read_corpus(path, split="train")


def mask_numbers(text: str) -> str:
    """Make numbers one word, as the paper's code does."""
    return _NUMBER.sub("numbermask", text)


def mask_and_lower(text: str) -> str:
    """Do what our analyzer does before it looks for words, as a preprocessor of scikit-learn's."""
    return mask_numbers(text).lower()


def peer(**options: object) -> TfidfVectorizer:
    """Return scikit-learn's vectorizer with the options that give the same X as ours."""
    return TfidfVectorizer(sublinear_tf=True, min_df=5, preprocessor=mask_and_lower, **options)


def best_seconds(
    contestants: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """Let contestants take turns, so that a busy moment hits all; return the best of each."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(repeats):
        for name, run in contestants.items():
            gc.collect()
            start = clock()
            result = run()
            best[name] = min(best[name], clock() - start)
            del result
    return best


def sizes(texts: list[str]) -> dict[str, float]:
    """Return the sizes of a corpus."""
    n_bytes = sum(len(text.encode("utf-8", "replace")) for text in texts)
    return {"n_docs": len(texts), "megabytes": n_bytes / 1e6}


def print_result(benchmark: str, **measured: object) -> None:
    """Print one line of JSON: what was measured, peak memory, commit."""
    line = {
        "benchmark": benchmark,
        "commit": commit(),
        "peak_megabytes": peak_memory() / 1e6,
        **measured,
        "python": ".".join(map(str, sys.version_info[:3])),
        "load": os.getloadavg()[0],
    }
    print(json.dumps({name: _rounded(value) for name, value in line.items()}))


def peak_memory() -> int:
    """Return the most bytes that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def commit() -> str:
    """Return the commit that is measured, and whether files differ from it."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    told = subprocess.run(command, capture_output=True, text=True)
    return told.stdout.strip() or "unknown"
