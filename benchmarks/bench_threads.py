"""Counting words with two threads and with one, by the clock on the wall.

CPU time cannot show what threads gain. Two cores must be free: on a busy machine the ratio says
nothing, so the load is printed with it.
"""

import os
import time

import measuring

import wordclass as wc

MIN_BYTES = 20_000_000  # below that, starting threads is what is measured


def main() -> None:
    """Measure."""
    arguments = measuring.read_arguments()
    texts = measuring.training_corpus(arguments.corpus).texts
    texts = texts * (1 + MIN_BYTES // sum(map(len, texts)))
    one, two = (wc.DocumentVectorizer(n_jobs=n_jobs) for n_jobs in (1, 2))
    contestants = {"one_thread": lambda: one.count(texts), "two_threads": lambda: two.count(texts)}
    # a moment in which both cores are free has to be met
    repeats = 5 * arguments.repeats
    seconds = measuring.best_seconds(contestants, repeats, time.perf_counter)
    measuring.print_result(
        "threads",
        **measuring.sizes(texts),
        seconds=seconds,
        two_threads_vs_one=seconds["one_thread"] / seconds["two_threads"],
        cores=os.cpu_count(),
    )


if __name__ == "__main__":
    main()
