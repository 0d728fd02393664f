"""A file of GloVe vectors: read the first time, from the cache, and by gensim."""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import measuring
import numpy as np
from gensim.models import KeyedVectors

import wordclass as wc

DATA = measuring.ROOT / os.environ.get("WORDCLASS_DATA", "../shared/data")
N_TERMS, N_DIMS = 50_000, 100  # of made-up vectors, where there are no real ones
N_WANTED = 20_000
N_TURNS = 5  # of ours for one of gensim's, which takes a minute


def write_vectors(path: Path) -> None:
    """Write the vectors of WORDCLASS_DATA as text, or else made-up ones of the same kind."""
    if (DATA / "glove_text.py").exists():
        subprocess.run([sys.executable, DATA / "glove_text.py", path], check=True)
        return
    matrix = np.random.default_rng(0).normal(scale=0.4, size=(N_TERMS, N_DIMS))
    with path.open("w", encoding="utf-8") as out:
        for k, row in enumerate(matrix):
            out.write(f"term{k} " + " ".join(f"{value:.5f}" for value in row) + "\n")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=2, help="of gensim's reader")
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "glove.txt"
        write_vectors(path)
        measure(path, repeats)


def measure(path: Path, repeats: int) -> None:
    """Let the readers take turns."""
    cache = path.with_name(path.name + ".wcache")

    def read_by_gensim() -> KeyedVectors:
        return KeyedVectors.load_word2vec_format(path, binary=False, no_header=True)

    def read_first() -> wc.WordVectors:  # and write the cache
        cache.unlink(missing_ok=True)
        return wc.WordVectors.load(path)

    def read_cached_and_look_up() -> np.ndarray:
        return wc.WordVectors.load(path)[last_term]

    theirs, vectors = read_by_gensim(), read_first()
    if vectors.terms != theirs.index_to_key or not np.array_equal(vectors.matrix, theirs.vectors):
        raise SystemExit("the vectors differ")
    n_terms, n_dims = vectors.matrix.shape
    last_term, wanted = vectors.terms[-1], frozenset(vectors.terms[:: n_terms // N_WANTED])
    del theirs, vectors
    ours: dict[str, Callable[[], object]] = {
        "wanted_terms": lambda: wc.WordVectors.load(path, terms=wanted, cache=False),
        "without_cache": lambda: wc.WordVectors.load(path, cache=False),
        "first": read_first,
        "cached": lambda: wc.WordVectors.load(path),
        "cached_lookup": read_cached_and_look_up,
    }
    seconds = {name: float("inf") for name in ("gensim", *ours)}
    for _ in range(repeats):
        measured = measuring.best_seconds({"gensim": read_by_gensim}, 1)
        measured |= measuring.best_seconds(ours, N_TURNS)
        seconds = {name: min(best, measured[name]) for name, best in seconds.items()}
    measuring.print_result(
        "vectors",
        n_terms=n_terms,
        n_dims=n_dims,
        megabytes=path.stat().st_size / 1e6,
        gensim_seconds=seconds["gensim"],
        **{f"{name}_load_seconds": seconds[name] for name in ours},
        **{f"{name}_load_ratio": seconds["gensim"] / seconds[name] for name in ours},
    )


if __name__ == "__main__":
    main()
