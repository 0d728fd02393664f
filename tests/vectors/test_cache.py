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

N_TERMS, N_DIMS = 300, 7
TERMS = [f"t{k}" for k in range(N_TERMS - 3)] + ["new york", "a\u0085b", "\u2028"]
MATRIX = np.random.default_rng(0).normal(size=(N_TERMS, N_DIMS)).astype(np.float32)


@pytest.fixture(autouse=True)
def everything_is_worth_a_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(vector_cache, "_WORTH_IT", 0)
    monkeypatch.setenv("WORDCLASS_HOME", str(tmp_path / "home"))


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "vectors"
    folder.mkdir()
    WordVectors.of(TERMS, MATRIX).save(folder / "glove.txt")
    return folder / "glove.txt"


@pytest.fixture
def reads(monkeypatch):
    """Which terms were asked for, each time the file itself was read."""
    heard, read = [], glove_text.read

    def listening(path, terms=None):
        heard.append(terms)
        return read(path, terms)

    monkeypatch.setattr(glove_text, "read", listening)
    return heard


def cache_of(path):
    return path.with_name(path.name + ".wcache")


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


def assert_same(found, expected):
    assert list(found.terms) == list(expected.terms)
    assert found.matrix.dtype == np.float32
    assert found.matrix.tobytes() == expected.matrix.tobytes()
    assert found.dimension_names == expected.dimension_names


def test_the_second_load_maps_the_same_bits(path, reads):
    first, second = WordVectors.load(path), WordVectors.load(path)
    assert reads == [None]
    assert_same(second, first)
    assert second.matrix.tobytes() == MATRIX.tobytes()
    assert is_mapped(second.matrix)
    assert not is_mapped(first.matrix)
    assert type(second.matrix) is np.ndarray
    assert second.matrix.ctypes.data % 64 == 0
    assert second["new york"].tolist() == first["new york"].tolist()
    assert second.nearest("t5") == first.nearest("t5")


def test_what_is_mapped_cannot_be_changed(path):
    WordVectors.load(path)
    vectors = WordVectors.load(path)
    with pytest.raises(ValueError, match="read-only"):
        vectors.matrix[0, 0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        vectors.matrix.flags.writeable = True


def test_checked_vectors_of_a_map_are_the_map_itself(path):
    WordVectors.load(path)
    mapped = WordVectors.load(path)
    again = WordVectors.of(mapped.terms, mapped.matrix)
    assert np.shares_memory(again.matrix, mapped.matrix)
    assert not again.matrix.flags.writeable


def test_wanted_terms_are_taken_from_the_cache(path, reads):
    WordVectors.load(path)
    found = WordVectors.load(path, terms=["new york", "t7", "unknown"])
    assert reads == [None]
    assert found.terms == ["t7", "new york"]
    assert found.matrix.tobytes() == MATRIX[[7, N_TERMS - 3]].tobytes()
    assert not found.matrix.flags.writeable
    assert not is_mapped(found.matrix)


def test_wanted_terms_alone_make_no_cache(path, reads):
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
    monkeypatch.setattr(vector_cache, "_WORTH_IT", path.stat().st_size + 1)
    WordVectors.load(path)
    assert not cache_of(path).exists()
    monkeypatch.setattr(vector_cache, "_WORTH_IT", path.stat().st_size)
    WordVectors.load(path)
    assert cache_of(path).exists()


def test_a_format_that_is_quick_to_read_has_no_cache(tmp_path):
    WordVectors.of(["a"], [[1.0]]).save(tmp_path / "out.npz")
    WordVectors.load(tmp_path / "out.npz")
    assert [file.name for file in tmp_path.iterdir()] == ["out.npz"]


@pytest.mark.parametrize("ending", ["vec", "bin", "txt"])
def test_names_of_dimensions_are_kept_and_watched(tmp_path, ending):
    vectors = WordVectors.of(["a", "b"], [[1.0, 2.0], [3.0, 4.0]], ["x", 3])
    vectors.save(tmp_path / f"out.{ending}")
    for _ in range(2):
        assert_same(WordVectors.load(tmp_path / f"out.{ending}"), vectors)
    side = tmp_path / f"out.{ending}.classes.json"
    side.write_text('["y", 4]')
    assert WordVectors.load(tmp_path / f"out.{ending}").dimension_names == ("y", 4)
    side.unlink()
    assert WordVectors.load(tmp_path / f"out.{ending}").dimension_names is None


def rewritten(path, old, new, keep_time):
    """Change some bytes in place, and perhaps pretend that nothing happened."""
    status = path.stat()
    content = path.read_bytes()
    assert content.count(old) == 1
    assert len(old) == len(new)
    path.write_bytes(content.replace(old, new))
    later = status.st_mtime_ns + (0 if keep_time else 1_000_000)
    os.utime(path, ns=(status.st_atime_ns, later))


@pytest.mark.parametrize("keep_time", [False, True])
@pytest.mark.parametrize("term", ["t0", "t9", "\u2028"])
def test_a_change_of_the_same_size_makes_the_cache_anew(path, reads, term, keep_time):
    WordVectors.load(path)
    old = term.encode() + b" "
    new = b"x".rjust(len(old) - 1, b"x") + b" "
    rewritten(path, old, new, keep_time)
    for _ in range(2):
        vectors = WordVectors.load(path)
        assert new.decode().strip() in vectors
        assert term not in vectors
    assert reads == [None, None]


def test_a_new_time_alone_makes_the_cache_anew(path, reads):
    WordVectors.load(path)
    os.utime(path, ns=(1, 1))
    WordVectors.load(path)
    WordVectors.load(path)
    assert reads == [None, None]


def test_blocks_of_the_middle_are_looked_at_in_large_files(tmp_path):
    path = tmp_path / "large"
    content = bytearray(20 * vector_cache._SAMPLE * vector_cache._N_SAMPLES)
    n_bytes = len(content)
    keys = set()
    for place in [0, n_bytes - 1, (n_bytes - vector_cache._SAMPLE) * 7 // 15 + 5]:
        changed = content.copy()
        changed[place] = 1
        path.write_bytes(changed)
        os.utime(path, ns=(5, 5))
        keys.add(vector_cache.key_of("glove_text", [path]))
    assert len(keys) == 3


def test_the_same_file_read_as_another_format_has_another_cache(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("2 1\n5 3\n6 4\n")
    assert WordVectors.load(path, format="word2vec_text").terms == ["5", "6"]
    assert WordVectors.load(path, format="glove_text").terms == ["2", "5", "6"]
    assert WordVectors.load(path, format="word2vec_text").terms == ["5", "6"]


def test_a_cache_cut_short_anywhere_is_made_anew(path, reads):
    expected = WordVectors.load(path)
    content = cache_of(path).read_bytes()
    cuts = [*range(0, 700, 13), *range(700, len(content), 501), len(content) - 1]
    for cut in cuts:
        cache_of(path).write_bytes(content[:cut])
        assert_same(WordVectors.load(path), expected)
        assert cache_of(path).read_bytes() == content
    assert len(reads) == 1 + len(cuts)


def test_no_byte_of_a_cache_changes_unnoticed(path, reads):
    expected = WordVectors.load(path)
    content = cache_of(path).read_bytes()
    places = [*range(0, len(content), 37), *range(len(content) - 30, len(content))]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        cache_of(path).write_bytes(damaged)
        assert_same(WordVectors.load(path), expected)
        assert cache_of(path).read_bytes() == content
    cache_of(path).write_bytes(content + b"\0\0\0\0")
    assert_same(WordVectors.load(path), expected)
    assert len(reads) == 2 + len(places)


@pytest.mark.parametrize("n_bytes", [1, 4095, 4096, 4097, 3 * 4096, 10_000])
def test_the_checksum_knows_every_byte_and_the_order_of_pages(n_bytes):
    content = np.random.default_rng(0).integers(0, 256, n_bytes, dtype=np.uint8)
    expected = vector_cache._checksum(content)
    for place in {*range(0, n_bytes, 101), n_bytes - 1}:
        changed = content.copy()
        changed[place] ^= 1
        assert vector_cache._checksum(changed) != expected
    assert vector_cache._checksum(content[:-1]) != expected
    if n_bytes > 4096:
        assert vector_cache._checksum(np.roll(content, 4096)) != expected


def test_the_checksum_knows_the_order_of_words_in_a_page():
    content = np.random.default_rng(0).integers(0, 2**64, 1024, dtype=np.uint64)
    expected = vector_cache._checksum(content.view(np.uint8))
    for one, other in [(0, 1), (0, 511), (510, 511), (600, 700)]:
        swapped = content.copy()
        swapped[[one, other]] = content[[other, one]]
        assert vector_cache._checksum(swapped.view(np.uint8)) != expected


def test_an_edit_that_neither_size_nor_time_nor_samples_tell_makes_the_cache_anew(
    path, reads, monkeypatch
):
    monkeypatch.setattr(vector_cache, "_SAMPLE", 8)
    WordVectors.load(path)
    key = vector_cache.key_of("glove_text", [path])
    time.sleep(0.05)  # longer than a tick of the file system's clock
    rewritten(path, b"\nt151 ", b"\nxxxx ", keep_time=True)
    assert vector_cache.key_of("glove_text", [path]) == key
    assert "xxxx" in WordVectors.load(path)
    assert "xxxx" in WordVectors.load(path)
    assert reads == [None, None]


@pytest.mark.parametrize("is_last", [True, False])
def test_a_cache_that_is_copied_after_its_source_is_used_there(path, reads, tmp_path, is_last):
    expected = WordVectors.load(path)
    copied = tmp_path / "copied"
    copied.mkdir()
    for each in (path, cache_of(path)) if is_last else (cache_of(path), path):
        shutil.copy2(each, copied)
        time.sleep(0.05)
    for _ in range(2):
        assert_same(WordVectors.load(copied / path.name), expected)
    assert reads == ([None] if is_last else [None, None])


def test_a_cache_of_version_0_1_0_is_replaced(path, reads):
    header = b'{"key": "[1]", "shape": [1, 1], "dimension_names": null, "subwords": null}'
    digest = blake2b(header + b"a", digest_size=16).digest()
    old = struct.pack("<8sQQ16s", b"wcache\n\0", len(header), 1, digest) + header + b"a"
    cache_of(path).write_bytes(old + bytes(-len(old) % 64) + struct.pack("<f", 1))
    for _ in range(2):
        assert_same(WordVectors.load(path), WordVectors.of(TERMS, MATRIX))
    assert reads == [None]


def test_a_cache_of_a_later_version_is_not_read(path, reads, monkeypatch):
    WordVectors.load(path)
    monkeypatch.setattr(vector_cache, "_VERSION", vector_cache._VERSION + 1)
    WordVectors.load(path)
    assert reads == [None, None]


def read_only(folder, monkeypatch):
    """Make writing fail as in a read-only folder (which stops everybody but root)."""
    replacing = vector_cache.replace_atomically

    @contextmanager
    def refusing(path):
        if path.parent == folder:
            raise StorageError(f"{path}: cannot be written: Read-only file system")
        with replacing(path) as temporary:
            yield temporary

    monkeypatch.setattr(vector_cache, "replace_atomically", refusing)


def test_beside_a_file_in_a_read_only_folder_there_is_no_cache_but_in_the_home(
    path, reads, monkeypatch, tmp_path
):
    read_only(path.parent, monkeypatch)
    expected = WordVectors.load(path)
    assert_same(WordVectors.load(path), expected)
    assert reads == [None]
    assert [file.name for file in path.parent.iterdir()] == ["glove.txt"]
    (kept,) = (tmp_path / "home" / "vector-cache").iterdir()
    assert kept.suffix == ".wcache"
    monkeypatch.chdir(path.parent)
    assert_same(WordVectors.load("glove.txt"), expected)  # the same file by another name
    assert reads == [None]


def test_a_stale_cache_that_cannot_be_replaced_does_not_hide_the_one_in_the_home(
    path, reads, monkeypatch
):
    WordVectors.load(path)
    rewritten(path, b"t0 ", b"tX ", keep_time=False)
    read_only(path.parent, monkeypatch)
    for _ in range(2):
        assert "tX" in WordVectors.load(path)
    assert reads == [None, None]


def test_where_nothing_can_be_written_vectors_are_read_each_time(
    path, reads, monkeypatch, tmp_path
):
    read_only(path.parent, monkeypatch)
    (tmp_path / "home").write_text("a file where the folder should be")
    for _ in range(2):
        assert_same(WordVectors.load(path), WordVectors.of(TERMS, MATRIX))
    assert reads == [None, None]


def test_terms_of_any_kind_and_none_at_all_are_kept(tmp_path, monkeypatch):
    (tmp_path / "out.bin").write_bytes(b"1 1\na\nb " + struct.pack("<f", 2))
    (tmp_path / "none.vec").write_text("0 3\n")
    for name, module in [("out.bin", word2vec_binary), ("none.vec", word2vec_text)]:
        first = WordVectors.load(tmp_path / name)
        with monkeypatch.context() as context:
            context.setattr(module, "read", None)
            assert_same(WordVectors.load(tmp_path / name), first)
    assert WordVectors.load(tmp_path / "out.bin").terms == ["a\nb"]
    assert WordVectors.load(tmp_path / "none.vec").matrix.shape == (0, 3)


def test_a_damaged_file_leaves_no_cache(path):
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FormatError):
        WordVectors.load(path)
    assert [file.name for file in path.parent.iterdir()] == ["glove.txt"]


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("how", ["grows", "shrinks", "is touched", "vanishes"])
def test_a_file_that_changes_while_it_is_read_is_an_error(path, monkeypatch, how, cache):
    read = glove_text.read

    def meddled(place, terms=None):
        vectors = read(place, terms)
        if how == "grows":
            place.write_bytes(place.read_bytes() + b"late 1 2 3 4 5 6 7\n")
        elif how == "shrinks":
            place.write_bytes(place.read_bytes()[:-30])
            read(place, terms)  # stumbles over the last line
        elif how == "is touched":
            os.utime(place, ns=(1, 1))
        else:
            place.unlink()
        return vectors

    monkeypatch.setattr(glove_text, "read", meddled)
    with pytest.raises(StorageError, match=r"glove\.txt: changed while it was read"):
        WordVectors.load(path, cache=cache)
    assert not cache_of(path).exists()


def test_subwords_are_kept_with_the_vectors(tmp_path):
    pieces = np.arange(12, dtype=np.float32).reshape(4, 3)
    path = tmp_path / "model.bin"
    path.touch()
    key = vector_cache.key_of("fasttext_binary", [path])
    matrix = np.eye(2, 3, dtype=np.float32)
    vector_cache.keep(path, key, (["a", "\ud800"], matrix, None, Subwords(pieces, 2, 5)))
    terms, found, names, subwords = vector_cache.find(path, key)
    assert (terms, names) == (["a", "\ud800"], None)
    assert found.tolist() == matrix.tolist()
    assert subwords.matrix.tolist() == pieces.tolist()
    assert (subwords.shortest, subwords.longest) == (2, 5)
    assert is_mapped(subwords.matrix)


WORKER = """
import sys, time
from pathlib import Path
from wordclass.vectors import cache
from wordclass.vectors.word_vectors import WordVectors

cache._WORTH_IT = 0
path = Path(sys.argv[1])
sizes = set()
while not path.with_name("start").exists():
    time.sleep(0.001)
for _ in range(25):
    one, other = WordVectors.load(path), WordVectors.load(path)
    sizes.add((len(one.terms), one.matrix.tobytes() == other.matrix.tobytes()))
    path.with_name(path.name + ".wcache").unlink(missing_ok=True)  # for all to make it anew
print(sizes)
"""


def test_processes_that_make_the_cache_at_once_do_not_disturb_each_other(path):
    command = [sys.executable, "-c", WORKER, str(path)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    path.with_name("start").touch()
    shown = [worker.communicate(timeout=60)[0] for worker in workers]
    assert shown == [f"{{({N_TERMS}, True)}}\n"] * 3
    assert_same(WordVectors.load(path), WordVectors.of(TERMS, MATRIX))
    assert {file.name for file in path.parent.iterdir()} == {
        "glove.txt",
        "glove.txt.wcache",
        "start",
    }
