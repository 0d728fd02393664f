"""Many documents to X: time, and memory above that of the texts; ours and scikit-learn's.

Each contestant has a process of its own, so that the peaks are told apart, and makes the same
synthetic documents there. `--documents 1000000 --repeats 1` takes about ten minutes.
"""

import argparse
import gc
import json
import subprocess
import sys
import time
from operator import itemgetter
from pathlib import Path

import measuring
import synthetic

import wordclass as wc

CONTESTANTS = ("wordclass", "scikit_learn")


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", nargs="?", help="a file with a train part; default: docstrings")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--contestant", choices=CONTESTANTS, help="run one of them, in here")
    return parser.parse_args()


def run(contestant: str, corpus: str | None, n_docs: int) -> dict[str, float]:
    """Make the documents, turn them into X, and tell what that took."""
    small = measuring.training_corpus(corpus).texts
    texts = list(synthetic.documents(small, n_docs))
    is_ours = contestant == "wordclass"
    vectorizer = wc.DocumentVectorizer() if is_ours else measuring.peer()
    vectorizer.fit_transform(small[:100])  # what is imported on first use is no part of it
    gc.collect()
    before = memory("VmRSS")
    # the peak is that of X, not of the making of texts
    Path("/proc/self/clear_refs").write_text("5")
    start = time.process_time()
    X = vectorizer.fit_transform(texts)
    seconds = time.process_time() - start
    return {
        "seconds": seconds,
        "peak_megabytes": memory("VmHWM") / 1e6,
        "megabytes_above_texts": (memory("VmHWM") - before) / 1e6,
        "megabytes": sum(map(len, texts)) / 1e6,
        "n_terms": X.shape[1],
        "n_values": X.nnz,
        "sum_of_weights": float(X.sum()),
    }


def memory(name: str) -> int:
    """Return a number of bytes that Linux tells about this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith(name))
    return int(line.split()[1]) * 1024


def run_apart(contestant: str, arguments: argparse.Namespace) -> dict[str, float]:
    """Run one contestant in a process of its own."""
    command = [sys.executable, __file__, "--contestant", contestant]
    command += ["--documents", str(arguments.documents)]
    command += [arguments.corpus] if arguments.corpus else []
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    told: dict[str, float] = json.loads(done.stdout)
    return told


def main() -> None:
    """Measure."""
    arguments = read_arguments()
    if arguments.contestant:
        print(json.dumps(run(arguments.contestant, arguments.corpus, arguments.documents)))
        return
    rounds = [
        {contestant: run_apart(contestant, arguments) for contestant in CONTESTANTS}
        for _ in range(arguments.repeats)
    ]
    told = {
        contestant: min((each[contestant] for each in rounds), key=itemgetter("seconds"))
        for contestant in CONTESTANTS
    }
    ours, theirs = told.values()
    if (ours["n_terms"], ours["n_values"]) != (theirs["n_terms"], theirs["n_values"]):
        raise SystemExit("the matrices differ")
    measuring.print_result(
        "large",
        n_docs=arguments.documents,
        megabytes=ours["megabytes"],
        n_terms=ours["n_terms"],
        n_values=ours["n_values"],
        **{
            measure: {contestant: each[measure] for contestant, each in told.items()}
            for measure in ("seconds", "peak_megabytes", "megabytes_above_texts")
        },
        vs_scikit_learn=theirs["seconds"] / ours["seconds"],
        sums_differ_by=abs(ours["sum_of_weights"] - theirs["sum_of_weights"]),
    )


if __name__ == "__main__":
    main()
