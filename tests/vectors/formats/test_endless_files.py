"""Small compressed files with endless content are refused before they fill the memory."""

import gzip
import struct
import tracemalloc

import pytest

from wordclass.errors import FormatError
from wordclass.vectors.word_vectors import WordVectors

MEGABYTE = 1 << 20
MODEL = struct.pack("<iI12id", 793712314, 12, 5, 5, 1, 1, 5, 1, 1, 1, 10, 3, 6, 100, 1e-4)
STARTS = {
    "model.bin.gz": MODEL + struct.pack("<iiiqq", 2, 2, 0, 10, -1),
    "wide.bin.gz": MODEL[:8] + struct.pack("<i", 2**30) + MODEL[12:],
    "word2vec.bin.gz": b"2 3\n",
    "wide_word2vec.bin.gz": b"2 999999999999\n",
    "word2vec.vec.gz": b"2 3\n",
    "glove.txt.gz": b"moon 1 2 3\n",
    "glove_at_once.txt.gz": b"",
}


@pytest.mark.parametrize("name", STARTS)
def test_an_endless_word_or_line_is_refused_after_a_few_megabytes(tmp_path, name):
    path = tmp_path / name
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(STARTS[name])
        for _ in range(64):
            file.write(b"x" * MEGABYTE)
    tracemalloc.start()
    with pytest.raises(FormatError, match=r"(word|line) has more than|dimensions|0 are complete"):
        WordVectors.load(path, cache=False)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 24 * MEGABYTE
