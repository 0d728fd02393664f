"""Words that were chosen to collide cost no more time, and results do not depend on hash seeds."""

import subprocess
import sys
import time

import numpy as np
import pytest

import wordclass as wc
from wordclass.native import extension

pytestmark = pytest.mark.skipif(extension.engine is None, reason="the engine was not built")

N_WORDS = 15_000
FIRST = np.uint64(0xC2B2AE3D27D4EB4F)
SECOND = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


def hash_with_known_seeds(low, high):
    """Return hashes with fixed multipliers, which an attacker could know."""
    return (low ^ (high * FIRST)) * SECOND


def hash_words(eights):
    """Return the hashes of words of 8, 16 or 24 bytes, which are columns of 8 bytes each."""
    if len(eights) == 1:
        return hash_with_known_seeds(eights[0], eights[0] >> HALF)
    if len(eights) == 2:
        return hash_with_known_seeds(*eights)
    low = np.zeros_like(eights[0])
    for k, eight in enumerate(eights):
        low = hash_with_known_seeds(low ^ eight, np.full_like(low, 8 * k))
        low ^= low >> HALF
    return hash_with_known_seeds(low, np.full_like(low, 0xFF << 56 | 24))


def collide(hashes):
    """Return True for hashes in one 64th of the table, where linear probing is slowest."""
    return hashes >> np.uint64(58) == 0


def words(n_bytes):
    generator = np.random.default_rng(0)
    letters = generator.integers(ord("a"), ord("z") + 1, (70 * N_WORDS, n_bytes), dtype=np.uint8)
    hashes = hash_words(list(letters.view(np.uint64).T))
    chosen = letters[collide(hashes)][:N_WORDS]
    return [[bytes(row).decode() for row in rows] for rows in (chosen, letters[:N_WORDS])]


def pairs():
    """Return texts with pairs of the words that have the ids 0, 1, 2, ..."""
    ids = np.arange(1_000, dtype=np.uint64)
    keys = ((ids[:, None] << HALF) | ids).ravel()
    chosen = keys[collide(hash_with_known_seeds(keys, keys >> HALF))][:N_WORDS]
    random_keys = np.random.default_rng(0).choice(keys, N_WORDS, replace=False)
    first = " ".join(f"w{k:03}" for k in range(len(ids)))
    return [
        [first, *(f"w{key >> 32:03} w{key % 2**32:03}" for key in chosen_keys.tolist())]
        for chosen_keys in (chosen, random_keys)
    ]


def best_seconds(work):
    seconds = []
    for _ in range(3):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


@pytest.mark.parametrize("make", [lambda: words(8), lambda: words(16), lambda: words(24), pairs])
def test_words_chosen_to_collide_cost_no_more_time(make):
    fit = wc.DocumentVectorizer(ngrams=(1, 2), min_docs=1).fit
    chosen, random = (best_seconds(lambda texts=texts: fit(texts)) for texts in make())
    assert chosen < 5 * random


RESULTS = """
import hashlib
import wordclass as wc
texts = [f"w{k % 97} x{k % 89} Straße longer_than_sixteen_bytes_{k % 83}" for k in range(2_000)]
for n_jobs in (1, 3):
    X = wc.DocumentVectorizer(ngrams=(1, 3), min_docs=1, n_jobs=n_jobs)
    matrix = X.fit_transform(texts)
    result = [str(X.vocabulary_.terms), matrix.data.tolist(), matrix.indices.tolist()]
    print(hashlib.sha256(repr(result).encode("utf-8", "surrogatepass")).hexdigest())
"""


def test_results_do_not_depend_on_the_seed_that_a_process_draws():
    checksums = {
        line
        for _ in range(3)
        for line in subprocess.run(
            [sys.executable, "-c", RESULTS], stdout=subprocess.PIPE, text=True, check=True
        ).stdout.split()
    }
    assert len(checksums) == 1
