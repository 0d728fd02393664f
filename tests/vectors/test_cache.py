import mmap
import os
import shutil
import struct
import subprocess
import sys
import time
from contextlib import contextmanager
from hashlib import blake2b

import numpy as np
import pytest

from wordclass.errors import FormatError, StorageError
from wordclass.vectors import cache as vector_cache
from wordclass.vectors.formats import glove_text, word2vec_binary, word2vec_text
from wordclass.vectors.subwords import Subwords
from wordclass.vectors.word_vectors import WordVectors

N_TERMS = 300
N_DIMS = 7
TERMS = [f"t{k}" for k in range(N_TERMS - 3)] + ["new york", "a\u0085b", "\u2028"]
MATRIX = np.random.default_rng(0).normal(size=(N_TERMS, N_DIMS)).astype(np.float32)


@pytest.fixture(autouse=True)
def _cache_files_of_any_size(monkeypatch, tmp_path):
    monkeypatch.setattr(vector_cache, "_MIN_FILE_BYTES", 0)
    monkeypatch.setenv("WORDCLASS_HOME", str(tmp_path / "home"))


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "vectors"
    folder.mkdir()
    WordVectors.of(TERMS, MATRIX).save(folder / "glove.txt")
    return folder / "glove.txt"


@pytest.fixture
def reads(monkeypatch):
    """Record the requested terms of each call that reads the file itself."""
    requests = []
    read = glove_text.read

    def record_and_read(path, terms=None):
        requests.append(terms)
        return read(path, terms)

    monkeypatch.setattr(glove_text, "read", record_and_read)
    return requests


def cache_of(path):
    return path.with_name(path.name + ".wcache")


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


def assert_equal(vectors, expected):
    assert list(vectors.terms) == list(expected.terms)
    assert vectors.matrix.dtype == np.float32
    assert vectors.matrix.tobytes() == expected.matrix.tobytes()
    assert vectors.dimension_names == expected.dimension_names


def test_the_second_load_maps_the_same_bits(path, reads):
    first = WordVectors.load(path)
    second = WordVectors.load(path)
    assert reads == [None]
    assert_equal(second, first)
    assert second.matrix.tobytes() == MATRIX.tobytes()
    assert is_mapped(second.matrix)
    assert not is_mapped(first.matrix)
    assert type(second.matrix) is np.ndarray
    assert second.matrix.ctypes.data % 64 == 0
    assert second["new york"].tolist() == first["new york"].tolist()
    assert second.nearest("t5") == first.nearest("t5")


def test_a_mapped_matrix_cannot_be_changed(path):
    WordVectors.load(path)
    vectors = WordVectors.load(path)
    with pytest.raises(ValueError, match="read-only"):
        vectors.matrix[0, 0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        vectors.matrix.flags.writeable = True


def test_word_vectors_share_the_memory_of_a_mapped_matrix(path):
    WordVectors.load(path)
    mapped = WordVectors.load(path)
    again = WordVectors.of(mapped.terms, mapped.matrix)
    assert np.shares_memory(again.matrix, mapped.matrix)
    assert not again.matrix.flags.writeable


def test_requested_terms_are_read_from_the_cache(path, reads):
    WordVectors.load(path)
    vectors = WordVectors.load(path, terms=["new york", "t7", "unknown"])
    assert reads == [None]
    assert vectors.terms == ["t7", "new york"]
    assert vectors.matrix.tobytes() == MATRIX[[7, N_TERMS - 3]].tobytes()
    assert not vectors.matrix.flags.writeable
    assert not is_mapped(vectors.matrix)


def test_reading_some_terms_writes_no_cache(path, reads):
    assert WordVectors.load(path, terms=["t7"]).terms == ["t7"]
    assert reads == [{"t7"}]
    assert not cache_of(path).exists()


def test_the_cache_can_be_switched_off(path, reads):
    WordVectors.load(path, cache=False)
    assert not cache_of(path).exists()
    WordVectors.load(path)
    WordVectors.load(path, cache=False)
    assert reads == [None] * 3


def test_small_files_have_no_cache(path, monkeypatch):
    monkeypatch.setattr(vector_cache, "_MIN_FILE_BYTES", path.stat().st_size + 1)
    WordVectors.load(path)
    assert not cache_of(path).exists()
    monkeypatch.setattr(vector_cache, "_MIN_FILE_BYTES", path.stat().st_size)
    WordVectors.load(path)
    assert cache_of(path).exists()


def test_formats_that_are_quick_to_read_have_no_cache(tmp_path):
    WordVectors.of(["a"], [[1.0]]).save(tmp_path / "out.npz")
    WordVectors.load(tmp_path / "out.npz")
    assert [file.name for file in tmp_path.iterdir()] == ["out.npz"]


@pytest.mark.parametrize("ending", ["vec", "bin", "txt"])
def test_dimension_names_are_cached_and_their_changes_detected(tmp_path, ending):
    vectors = WordVectors.of(["a", "b"], [[1.0, 2.0], [3.0, 4.0]], ["x", 3])
    vectors.save(tmp_path / f"out.{ending}")
    for _ in range(2):
        assert_equal(WordVectors.load(tmp_path / f"out.{ending}"), vectors)
    names_file = tmp_path / f"out.{ending}.classes.json"
    names_file.write_text('["y", 4]')
    assert WordVectors.load(tmp_path / f"out.{ending}").dimension_names == ("y", 4)
    names_file.unlink()
    assert WordVectors.load(tmp_path / f"out.{ending}").dimension_names is None


def replace_bytes(path, old, new, keep_time):
    """Change some bytes of a file in place, and keep its modification time if requested."""
    status = path.stat()
    content = path.read_bytes()
    assert content.count(old) == 1
    assert len(old) == len(new)
    path.write_bytes(content.replace(old, new))
    time_ns = status.st_mtime_ns + (0 if keep_time else 1_000_000)
    os.utime(path, ns=(status.st_atime_ns, time_ns))


@pytest.mark.parametrize("keep_time", [False, True])
@pytest.mark.parametrize("term", ["t0", "t9", "\u2028"])
def test_a_change_of_the_same_size_replaces_the_cache(path, reads, term, keep_time):
    WordVectors.load(path)
    old = term.encode() + b" "
    new = b"x".rjust(len(old) - 1, b"x") + b" "
    replace_bytes(path, old, new, keep_time)
    for _ in range(2):
        vectors = WordVectors.load(path)
        assert new.decode().strip() in vectors
        assert term not in vectors
    assert reads == [None, None]


def test_a_new_modification_time_replaces_the_cache(path, reads):
    WordVectors.load(path)
    os.utime(path, ns=(1, 1))
    WordVectors.load(path)
    WordVectors.load(path)
    assert reads == [None, None]


def test_the_key_of_a_large_file_depends_on_samples_from_its_middle(tmp_path):
    path = tmp_path / "large"
    content = bytearray(20 * vector_cache._SAMPLE_BYTES * vector_cache._N_SAMPLES)
    n_bytes = len(content)
    keys = set()
    for position in [0, n_bytes - 1, (n_bytes - vector_cache._SAMPLE_BYTES) * 7 // 15 + 5]:
        changed = content.copy()
        changed[position] = 1
        path.write_bytes(changed)
        os.utime(path, ns=(5, 5))
        keys.add(vector_cache.make_key("glove_text", [path]))
    assert len(keys) == 3


def test_the_cache_depends_on_the_format(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("2 1\n5 3\n6 4\n")
    assert WordVectors.load(path, format="word2vec_text").terms == ["5", "6"]
    assert WordVectors.load(path, format="glove_text").terms == ["2", "5", "6"]
    assert WordVectors.load(path, format="word2vec_text").terms == ["5", "6"]


def test_a_truncated_cache_is_replaced(path, reads):
    expected = WordVectors.load(path)
    content = cache_of(path).read_bytes()
    cuts = [*range(0, 700, 13), *range(700, len(content), 501), len(content) - 1]
    for cut in cuts:
        cache_of(path).write_bytes(content[:cut])
        assert_equal(WordVectors.load(path), expected)
        assert cache_of(path).read_bytes() == content
    assert len(reads) == 1 + len(cuts)


def test_a_changed_byte_of_a_cache_is_detected(path, reads):
    expected = WordVectors.load(path)
    content = cache_of(path).read_bytes()
    positions = [*range(0, len(content), 37), *range(len(content) - 30, len(content))]
    for position in positions:
        damaged = bytearray(content)
        damaged[position] ^= 0x10
        cache_of(path).write_bytes(damaged)
        assert_equal(WordVectors.load(path), expected)
        assert cache_of(path).read_bytes() == content
    cache_of(path).write_bytes(content + b"\0\0\0\0")
    assert_equal(WordVectors.load(path), expected)
    assert len(reads) == 2 + len(positions)


@pytest.mark.parametrize("n_bytes", [1, 4095, 4096, 4097, 3 * 4096, 10_000])
def test_the_checksum_depends_on_every_byte_and_the_order_of_pages(n_bytes):
    content = np.random.default_rng(0).integers(0, 256, n_bytes, dtype=np.uint8)
    expected = vector_cache._checksum(content)
    for position in {*range(0, n_bytes, 101), n_bytes - 1}:
        changed = content.copy()
        changed[position] ^= 1
        assert vector_cache._checksum(changed) != expected
    assert vector_cache._checksum(content[:-1]) != expected
    if n_bytes > 4096:
        assert vector_cache._checksum(np.roll(content, 4096)) != expected


def test_the_checksum_depends_on_the_order_of_words_in_a_page():
    content = np.random.default_rng(0).integers(0, 2**64, 1024, dtype=np.uint64)
    expected = vector_cache._checksum(content.view(np.uint8))
    for one, other in [(0, 1), (0, 511), (510, 511), (600, 700)]:
        swapped = content.copy()
        swapped[[one, other]] = content[[other, one]]
        assert vector_cache._checksum(swapped.view(np.uint8)) != expected


def test_a_change_is_detected_without_a_new_size_time_or_sample(path, reads, monkeypatch):
    monkeypatch.setattr(vector_cache, "_SAMPLE_BYTES", 8)
    WordVectors.load(path)
    key = vector_cache.make_key("glove_text", [path])
    time.sleep(0.05)  # longer than a tick of the file system's clock
    replace_bytes(path, b"\nt151 ", b"\nxxxx ", keep_time=True)
    assert vector_cache.make_key("glove_text", [path]) == key
    assert "xxxx" in WordVectors.load(path)
    assert "xxxx" in WordVectors.load(path)
    assert reads == [None, None]


@pytest.mark.parametrize("is_last", [True, False])
def test_a_cache_is_used_if_it_is_copied_after_its_source(path, reads, tmp_path, is_last):
    expected = WordVectors.load(path)
    copied = tmp_path / "copied"
    copied.mkdir()
    for file in (path, cache_of(path)) if is_last else (cache_of(path), path):
        shutil.copy2(file, copied)
        time.sleep(0.05)
    for _ in range(2):
        assert_equal(WordVectors.load(copied / path.name), expected)
    assert reads == ([None] if is_last else [None, None])


def test_a_cache_of_version_0_1_0_is_replaced(path, reads):
    header = b'{"key": "[1]", "shape": [1, 1], "dimension_names": null, "subwords": null}'
    digest = blake2b(header + b"a", digest_size=16).digest()
    old_cache = struct.pack("<8sQQ16s", b"wcache\n\0", len(header), 1, digest) + header + b"a"
    padding = bytes(-len(old_cache) % 64)
    cache_of(path).write_bytes(old_cache + padding + struct.pack("<f", 1))
    for _ in range(2):
        assert_equal(WordVectors.load(path), WordVectors.of(TERMS, MATRIX))
    assert reads == [None]


def test_a_cache_of_another_version_is_not_read(path, reads, monkeypatch):
    WordVectors.load(path)
    monkeypatch.setattr(vector_cache, "_VERSION", vector_cache._VERSION + 1)
    WordVectors.load(path)
    assert reads == [None, None]


def forbid_writing(folder, monkeypatch):
    """Make writing fail as in a read-only folder, which does not restrict root."""
    replace_atomically = vector_cache.replace_atomically

    @contextmanager
    def refuse_or_replace(path):
        if path.parent == folder:
            raise StorageError(f"{path}: cannot be written: Read-only file system")
        with replace_atomically(path) as temporary:
            yield temporary

    monkeypatch.setattr(vector_cache, "replace_atomically", refuse_or_replace)


def test_the_cache_of_a_file_in_a_read_only_folder_is_in_the_home_folder(
    path, reads, monkeypatch, tmp_path
):
    forbid_writing(path.parent, monkeypatch)
    expected = WordVectors.load(path)
    assert_equal(WordVectors.load(path), expected)
    assert reads == [None]
    assert [file.name for file in path.parent.iterdir()] == ["glove.txt"]
    (cache_file,) = (tmp_path / "home" / "vector-cache").iterdir()
    assert cache_file.suffix == ".wcache"
    monkeypatch.chdir(path.parent)
    assert_equal(WordVectors.load("glove.txt"), expected)  # the same file by another name
    assert reads == [None]


def test_a_stale_cache_in_a_read_only_folder_does_not_hide_the_one_in_the_home_folder(
    path, reads, monkeypatch
):
    WordVectors.load(path)
    replace_bytes(path, b"t0 ", b"tX ", keep_time=False)
    forbid_writing(path.parent, monkeypatch)
    for _ in range(2):
        assert "tX" in WordVectors.load(path)
    assert reads == [None, None]


def test_vectors_are_read_each_time_if_no_cache_can_be_written(path, reads, monkeypatch, tmp_path):
    forbid_writing(path.parent, monkeypatch)
    (tmp_path / "home").write_text("a file where the folder should be")
    for _ in range(2):
        assert_equal(WordVectors.load(path), WordVectors.of(TERMS, MATRIX))
    assert reads == [None, None]


def test_unusual_terms_and_empty_vectors_are_cached(tmp_path, monkeypatch):
    (tmp_path / "out.bin").write_bytes(b"1 1\na\nb " + struct.pack("<f", 2))
    (tmp_path / "none.vec").write_text("0 3\n")
    for name, module in [("out.bin", word2vec_binary), ("none.vec", word2vec_text)]:
        first = WordVectors.load(tmp_path / name)
        with monkeypatch.context() as context:
            context.setattr(module, "read", None)
            assert_equal(WordVectors.load(tmp_path / name), first)
    assert WordVectors.load(tmp_path / "out.bin").terms == ["a\nb"]
    assert WordVectors.load(tmp_path / "none.vec").matrix.shape == (0, 3)


def test_a_damaged_file_leaves_no_cache(path):
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FormatError):
        WordVectors.load(path)
    assert [file.name for file in path.parent.iterdir()] == ["glove.txt"]


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("change", ["grow", "shrink", "touch", "remove"])
def test_a_file_that_changes_while_it_is_read_is_refused(path, monkeypatch, change, cache):
    read = glove_text.read

    def read_and_change(file, terms=None):
        vectors = read(file, terms)
        if change == "grow":
            file.write_bytes(file.read_bytes() + b"late 1 2 3 4 5 6 7\n")
        elif change == "shrink":
            file.write_bytes(file.read_bytes()[:-30])
            read(file, terms)  # fails at the last line
        elif change == "touch":
            os.utime(file, ns=(1, 1))
        else:
            file.unlink()
        return vectors

    monkeypatch.setattr(glove_text, "read", read_and_change)
    with pytest.raises(StorageError, match=r"glove\.txt: changed while it was read"):
        WordVectors.load(path, cache=cache)
    assert not cache_of(path).exists()


def test_subwords_are_cached_with_the_vectors(tmp_path):
    subword_rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    path = tmp_path / "model.bin"
    path.touch()
    key = vector_cache.make_key("fasttext_binary", [path])
    matrix = np.eye(2, 3, dtype=np.float32)
    content = (["a", "\ud800"], matrix, None, Subwords(subword_rows, 2, 5))
    vector_cache.write(path, key, content)
    terms, rows, names, subwords = vector_cache.find(path, key)
    assert (terms, names) == (["a", "\ud800"], None)
    assert rows.tolist() == matrix.tolist()
    assert subwords.matrix.tolist() == subword_rows.tolist()
    assert (subwords.shortest, subwords.longest) == (2, 5)
    assert is_mapped(subwords.matrix)


WORKER = """
import sys, time
from pathlib import Path
from wordclass.vectors import cache
from wordclass.vectors.word_vectors import WordVectors

cache._MIN_FILE_BYTES = 0
path = Path(sys.argv[1])
sizes = set()
while not path.with_name("start").exists():
    time.sleep(0.001)
for _ in range(25):
    one = WordVectors.load(path)
    other = WordVectors.load(path)
    sizes.add((len(one.terms), one.matrix.tobytes() == other.matrix.tobytes()))
    path.with_name(path.name + ".wcache").unlink(missing_ok=True)  # to be written again
print(sizes)
"""


def test_several_processes_can_write_the_cache_at_the_same_time(path):
    command = [sys.executable, "-c", WORKER, str(path)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    path.with_name("start").touch()
    outputs = [worker.communicate(timeout=60)[0] for worker in workers]
    assert outputs == [f"{{({N_TERMS}, True)}}\n"] * 3
    assert_equal(WordVectors.load(path), WordVectors.of(TERMS, MATRIX))
    assert {file.name for file in path.parent.iterdir()} == {
        "glove.txt",
        "glove.txt.wcache",
        "start",
    }
