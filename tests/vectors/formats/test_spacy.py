import json
import struct

import numpy as np
import pytest

from wordclass.errors import FormatError, MissingDataError
from wordclass.vectors.formats.spacy import hash_words
from wordclass.vectors.word_vectors import WordVectors

# words of all lengths around the blocks of eight bytes; the last two share a row with the first
WORDS = [
    "a",
    "moon",
    "satellite",
    "eight888",
    "sixteen_letters_",
    "caf\u00e9",
    "\U0001f600",
    "",
    "tax",
]
ROWS = [0, 1, 2, 3, 4, 5, 6, 0, 0]
MATRIX = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)


def murmur(data, seed=1):
    """Return MurmurHash64A, computed byte by byte as in its definition."""
    m = 0xC6A4A7935BD1E995
    mask = 2**64 - 1
    h = seed ^ (len(data) * m & mask)
    for start in range(0, len(data) - len(data) % 8, 8):
        k = int.from_bytes(data[start : start + 8], "little") * m & mask
        k = (k ^ k >> 47) * m & mask
        h = (h ^ k) * m & mask
    if tail := data[len(data) - len(data) % 8 :]:
        h = (h ^ int.from_bytes(tail, "little")) * m & mask
    h = (h ^ h >> 47) * m & mask
    return h ^ h >> 47


def build_map(entries):
    """Return a MessagePack map with integers of several widths."""
    fields = [b"\xdf" + struct.pack(">I", len(entries))]
    for number, (key, row) in enumerate(entries.items()):
        fields.append(b"\xcf" + struct.pack(">Q", key))
        fields.append([bytes([row & 0xFF]), b"\xcc" + bytes([row & 0x7F])][number % 2])
    return b"".join(fields)


@pytest.fixture
def vectors(tmp_path):
    """Write the folder `vocab` of a pipeline and return the file of vectors."""
    with (tmp_path / "vectors").open("wb") as file:
        np.save(file, MATRIX)
    keys = [murmur(word.encode()) for word in WORDS]
    (tmp_path / "key2row").write_bytes(build_map(dict(zip(keys, ROWS, strict=True))))
    (tmp_path / "strings.json").write_text(json.dumps([*WORDS, "without a vector"]))
    return tmp_path / "vectors"


def test_hashes_equal_those_of_spacy():
    assert hash_words(["coffee"]).tolist() == [3197928453018144401]  # from spaCy's documentation
    assert hash_words(WORDS).tolist() == [murmur(word.encode()) for word in WORDS]
    assert hash_words([]).tolist() == []


def test_all_listed_words_with_a_vector_are_read_and_may_share_rows(vectors):
    loaded = WordVectors.load(vectors)
    assert loaded.terms == WORDS
    assert loaded.matrix.tobytes() == MATRIX[ROWS].tobytes()
    assert not vectors.with_name("vectors.wcache").exists()


def test_requested_words_are_found_by_their_hash_even_if_not_listed(vectors):
    requested = ["tax", "moon", "without a vector", "unknown"]
    assert WordVectors.load(vectors, requested).terms == ["moon", "tax"]
    vectors.with_name("strings.json").write_text("[]")
    assert WordVectors.load(vectors, requested).terms == ["moon", "tax"]
    vectors.with_name("strings.json").unlink()
    assert WordVectors.load(vectors, requested).terms == ["moon", "tax"]
    with pytest.raises(FormatError, match=r"no strings.json in its folder; name the words"):
        WordVectors.load(vectors)


def test_a_negative_row_means_no_vector(vectors):
    keys = [murmur(word.encode()) for word in ("moon", "tax")]
    vectors.with_name("key2row").write_bytes(build_map({keys[0]: -1, keys[1]: 2}))
    assert WordVectors.load(vectors).terms == ["tax"]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("key2row", b"", "not a MessagePack map"),
        ("key2row", b"\xc0", "not a MessagePack map"),
        ("key2row", b"\xdf\xff\xff\xff\xff\x01\x02", "not a MessagePack map"),
        ("key2row", b"\x81\xc0\x01", "not a MessagePack map"),
        ("key2row", b"\x81\xcf\x01", "not a MessagePack map"),
        ("key2row", build_map({murmur(b"moon"): 7}), "points outside the 7 rows"),
        ("strings.json", b"{}", "not a JSON list of words"),
        ("strings.json", b"[1]", "not a JSON list of words"),
        ("vectors", b"\x93NUMPY", "damaged"),
    ],
)
def test_damaged_files_are_refused(vectors, name, content, problem):
    vectors.with_name(name).write_bytes(content)
    with pytest.raises(FormatError, match=problem):
        WordVectors.load(vectors)


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 0)), np.array([["a"]])])
def test_other_arrays_are_refused(vectors, array):
    with vectors.open("wb") as file:
        np.save(file, array)
    with pytest.raises(FormatError, match="not a matrix of floats; expected"):
        WordVectors.load(vectors)


def test_key2row_is_required(vectors):
    vectors.with_name("key2row").unlink()
    with pytest.raises(MissingDataError, match="key2row"):
        WordVectors.load(vectors)
