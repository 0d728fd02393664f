"""The script that unpacks the vectors of word2vec-wordlist."""

import json
import lzma
import runpy
from pathlib import Path

import numpy as np
import pytest

import wordclass as wc

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "word2vec_wordlist.py"


@pytest.mark.skipif(not SCRIPT.is_file(), reason="not a checkout")
def test_words_and_vectors_are_unpacked(tmp_path):
    vectors = {"THE": [1.0, -2.0], "MOON": [0.5, 4.0]}
    rows = {word: np.array(row, "<f4").tobytes().hex() for word, row in vectors.items()}
    packed = tmp_path / "packed.json.7z"
    packed.write_bytes(lzma.compress(json.dumps(rows).encode(), format=lzma.FORMAT_ALONE))
    path = runpy.run_path(str(SCRIPT))["unpack"](packed, tmp_path)
    unpacked = wc.WordVectors.load(path)
    assert unpacked["moon"].tolist() == [0.5, 4.0]
    assert set(unpacked.terms) == {"the", "moon"}
