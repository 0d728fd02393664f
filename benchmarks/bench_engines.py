"""Corpora in parts: how cost grows with documents, how much memory it takes, and two processes.

`--what growth` fits synthetic documents of about 1.3 kB, out of core, in a process of its own for
each size; 5 million take about 10 minutes and 7 GB of disk. `--what processes` compares one process
with two on the same parts, taking turns; the counting passes alone, in processes that are up.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import measuring
import psutil
import synthetic

import wordclass as wc

N_CLASSES = 20


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--what", nargs="+", default=["growth", "processes"])
    parser.add_argument("--docs", nargs="+", type=int, default=[20_000, 80_000])
    parser.add_argument("--engine", default="in_sequence")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=measuring.ROOT / ".cache" / "engines")
    parser.add_argument("--keep", action="store_true", help="leave the documents on disk")
    parser.add_argument("--one", type=Path, help="fit this file, in here")
    return parser.parse_args()


def written(folder: Path, n_docs: int) -> Path:
    """Write documents as JSON lines, once; the class of one depends on its number."""
    path = folder / f"{n_docs}.jsonl"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        texts = measuring.training_corpus(None).texts
        unfinished = path.with_suffix(".unfinished")
        with unfinished.open("w") as file:
            for k, text in enumerate(synthetic.documents(texts, n_docs)):
                label = f"class {k * 7919 % 104729 % N_CLASSES}"
                file.write(json.dumps({"text": text, "label": label}) + "\n")
        unfinished.rename(path)
    return path


def fit(path: Path, engine: str) -> dict[str, float]:
    """Fit a file in parts, and tell what that took."""
    wc.WordClassEmbeddings(min_docs=1).fit(["aa bb", "bb cc"], ["x", "y"])  # everything is imported
    corpus = wc.ShardedCorpus.of(path)
    before = cpu_seconds()
    start = time.perf_counter()
    wce = wc.WordClassEmbeddings().fit_parts(corpus, engine=engine)
    return {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": cpu_seconds() - before,
        "n_docs": wce.seen_.n_docs,
        "n_parts": len(corpus),
        "n_terms": len(wce),
        "gigabytes": path.stat().st_size / 1e9,
        "fit_peak_megabytes": measuring.peak_memory() / 1e6,
    }


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of those it started that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def living_cpu_seconds() -> tuple[float, float]:
    """Return the CPU seconds of this process with those it started, and of this process alone."""
    here = psutil.Process()
    own, *others = [sum(each.cpu_times()[:2]) for each in (here, *here.children(recursive=True))]
    return own + sum(others), own


def growth(arguments: argparse.Namespace) -> None:
    """Fit corpora of several sizes, each in a process of its own."""
    for n_docs in arguments.docs:
        path = written(arguments.folder, n_docs)
        command = [sys.executable, __file__, "--one", str(path), "--engine", arguments.engine]
        shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        told = json.loads(shown.stdout)
        told["cpu_microseconds_per_document"] = 1e6 * told["cpu_seconds"] / told["n_docs"]
        measuring.print_result("engines: growth", engine=arguments.engine, **told)
        if not arguments.keep:
            path.unlink()


def processes(arguments: argparse.Namespace) -> None:
    """Compare two processes with one, on the largest of the sizes up to 400,000 documents."""
    n_docs = max([each for each in arguments.docs if each <= 400_000] or [min(arguments.docs)])
    path = written(arguments.folder, n_docs)
    corpus = wc.ShardedCorpus.of(path, part_bytes=path.stat().st_size // 32)
    engines = {n: wc.engine("processes", n_workers=n) for n in (1, 2)}

    def run(n_workers: int) -> wc.WordClassEmbeddings:
        return wc.WordClassEmbeddings().fit_parts(corpus, engine=engines[n_workers])

    run(2)  # the processes are up
    # what it takes in all, and in this process alone: tells what to expect of free cores
    cpu = {}
    for name, n_workers in (("one", 1), ("two", 2)):
        before = living_cpu_seconds()
        run(n_workers)
        after = living_cpu_seconds()
        cpu[name], cpu[f"{name}_here"] = after[0] - before[0], after[1] - before[1]
    contestants = {"one": lambda: run(1), "two": lambda: run(2)}
    best = measuring.best_seconds(contestants, arguments.repeats, time.perf_counter)
    measuring.print_result(
        "engines: processes",
        n_docs=n_docs,
        n_parts=len(corpus),
        n_cores=os.cpu_count(),
        seconds=best,
        cpu_seconds=cpu,
        two_against_one=best["one"] / best["two"],
    )
    if not arguments.keep:
        path.unlink()


def main() -> None:
    """Measure."""
    arguments = read_arguments()
    if arguments.one:
        print(json.dumps(fit(arguments.one, arguments.engine)))
        return
    for what in arguments.what:
        {"growth": growth, "processes": processes}[what](arguments)


if __name__ == "__main__":
    main()
