import json
import os
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from wordclass.errors import InputError
from wordclass.sentence import cache as sentence_cache
from wordclass.sentence.cache import CacheWarning, SentenceCache, hash_text

KEYS = [hash_text(f"text {k}") for k in range(700)]
VECTORS = np.random.default_rng(0).normal(size=(700, 6)).astype(np.float32)


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("WORDCLASS_HOME", str(tmp_path))
    monkeypatch.delenv("WORDCLASS_CACHE_BYTES", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def cache():
    cache = SentenceCache("0123abcd", "minilm")
    assert cache.keep(KEYS, VECTORS)
    return cache


def equals(stored, keys=KEYS, vectors=VECTORS):
    return list(stored) == list(keys) and np.array_equal(np.array([*stored.values()]), vectors)


def sort_by_key(stored):
    return {key: stored[key] for key in KEYS if key in stored}


def change(cache, statement, *values):
    with closing(sqlite3.connect(cache.path)) as file, file:
        file.execute(statement, values)


def test_stored_vectors_are_found_to_the_bit_and_nothing_else(cache):
    stored = cache.find([*KEYS, hash_text("another")])
    assert equals(sort_by_key(stored))
    assert len(cache) == len(stored) == 700


def test_a_search_without_a_file_finds_nothing_and_creates_no_file(home):
    empty = SentenceCache("none")
    assert empty.find(KEYS) == {}
    assert len(empty) == 0
    assert not home.exists()


def test_texts_are_not_in_the_file(cache):
    cache.keep([hash_text("a secret text")], VECTORS[:1])
    assert b"secret" not in cache.path.read_bytes()
    assert b"minilm" in cache.path.read_bytes()


def test_a_vector_can_be_replaced(cache):
    cache.keep(KEYS[:2], VECTORS[2:4])
    assert equals(cache.find(KEYS[:2]), KEYS[:2], VECTORS[2:4])
    assert len(cache) == 700


def test_texts_with_lone_surrogates_have_hashes():
    keys = {hash_text(text) for text in ("", "a", "\ud800", "\udfff", "\ufffd")}
    assert len(keys) == 5
    assert {len(key) for key in keys} == {16}


@pytest.mark.parametrize(
    "content",
    [b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000, b"x"],
    ids=["garbage", "a bad header", "short"],
)
def test_a_file_with_other_content_is_replaced(cache, content):
    cache.path.write_bytes(content)
    with pytest.warns(
        CacheWarning, match="was damaged .* and is removed; its vectors are computed again"
    ):
        assert cache.find(KEYS) == {}
    assert not cache.path.exists()
    assert cache.keep(KEYS, VECTORS)
    assert len(cache.find(KEYS)) == 700


def test_a_truncated_file_is_replaced(cache):
    cache.path.write_bytes(cache.path.read_bytes()[:20_000])
    with pytest.warns(CacheWarning, match="was damaged"):
        assert cache.find(KEYS) == {}
    assert cache.keep(KEYS, VECTORS)
    assert len(cache) == 700


def test_an_empty_file_counts_as_missing(cache):
    cache.path.write_bytes(b"")
    assert cache.find(KEYS) == {}
    assert cache.keep(KEYS, VECTORS)


def test_a_file_that_another_process_is_creating_is_not_damaged(cache):
    new = replace(cache, fingerprint="another model")
    with closing(sqlite3.connect(new.path)) as other:
        other.executescript(sentence_cache._SETUP)
        assert new.find(KEYS) == {}
    assert new.keep(KEYS, VECTORS)
    assert equals(sort_by_key(new.find(KEYS)))


@pytest.mark.parametrize(
    "schema", ["CREATE TABLE vectors (name, numbers)", "CREATE VIEW vectors AS SELECT 1 AS key"]
)
def test_a_file_with_another_schema_is_replaced(cache, schema):
    cache.path.unlink()
    change(cache, schema)
    with pytest.warns(CacheWarning, match="was damaged"):
        assert cache.find(KEYS) == {}
    assert cache.keep(KEYS, VECTORS)
    assert len(cache) == 700


def test_damaged_vectors_count_as_missing(cache):
    with closing(sqlite3.connect(cache.path)) as file:
        query = "SELECT vector FROM vectors WHERE key = ?"
        (content,) = file.execute(query, [KEYS[3]]).fetchone()
    flipped = content[:12] + bytes([content[12] ^ 4]) + content[13:]
    update = "UPDATE vectors SET vector = ? WHERE key = ?"
    for k, value in enumerate([flipped, content[:-4], content[:-1], b"", "text", None, 5]):
        change(cache, update, value, KEYS[k])
    change(cache, update, content, KEYS[9])  # the vector of another text
    with pytest.warns(CacheWarning, match="8 vectors are damaged"):
        vectors = cache.find(KEYS)
    assert vectors.keys() == {*KEYS} - {*KEYS[:7], KEYS[9]}


def test_invalid_times_of_use_are_ignored(cache):
    change(cache, "UPDATE vectors SET used = 'yesterday'")
    assert len(cache.find(KEYS)) == 700


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_causes_a_warning(cache, home):
    home.chmod(stat.S_IRUSR | stat.S_IXUSR)
    cache.path.chmod(stat.S_IRUSR)
    try:
        assert len(cache.find(KEYS)) == 700
        with pytest.warns(CacheWarning, match="cannot be used"):
            assert not cache.keep(KEYS, VECTORS)
    finally:
        home.chmod(stat.S_IRWXU)


def test_a_read_only_file_is_still_read(cache, monkeypatch):
    connect = sqlite3.connect

    def read_only(path, timeout):
        return connect(f"file:{path}?mode=ro", uri=True, timeout=timeout)

    change(cache, "UPDATE vectors SET used = 5")  # long ago, so a use would be recorded
    monkeypatch.setattr(sqlite3, "connect", read_only)
    assert len(cache.find(KEYS)) == 700
    with pytest.warns(CacheWarning, match=r"cannot be used \(attempt to write a readonly"):
        assert not cache.keep(KEYS, VECTORS)


def test_a_home_that_is_a_file_causes_a_warning(home):
    home.write_text("x")
    with pytest.warns(CacheWarning, match="cannot be used"):
        assert not SentenceCache("0123").keep(KEYS, VECTORS)


def test_a_full_disk_causes_a_warning(cache, monkeypatch):
    connect = sqlite3.connect

    class Full(sqlite3.Connection):
        def executemany(self, *_):
            self.execute("PRAGMA max_page_count = 1")
            return self.execute("INSERT INTO vectors VALUES (?, zeroblob(1000000), 0)", [b"x"])

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Full))
    with pytest.warns(CacheWarning, match=r"cannot be used \(database or disk is full\)"):
        assert not cache.keep(KEYS, VECTORS)
    monkeypatch.undo()


def test_a_file_that_another_process_locks_causes_a_warning(cache, monkeypatch):
    monkeypatch.setattr(sentence_cache, "_LOCK_TIMEOUT_SECONDS", 0.1)
    with closing(sqlite3.connect(cache.path)) as file:
        file.execute("BEGIN EXCLUSIVE")
        with pytest.warns(CacheWarning, match=r"cannot be used \(database is locked\)"):
            assert not cache.keep(KEYS, VECTORS)
    assert len(cache) == 700


# --- the limit ----------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, 1000, 20_000, 60_000, 150_000, 400_000])
def test_all_files_together_stay_below_the_limit(monkeypatch, home, limit):
    monkeypatch.setenv("WORDCLASS_CACHE_BYTES", str(limit))
    generator = np.random.default_rng(0)
    for name in ("one", "two"):
        for start in range(0, 400, 40):
            keys = [hash_text(f"{name} {k}") for k in range(start, start + 40)]
            SentenceCache(name).keep(keys, generator.normal(size=(40, 100)).astype(np.float32))
            assert sum(path.stat().st_size for path in home.glob("*")) <= limit
    if limit >= 150_000:
        assert len(SentenceCache("two").find(keys)) == 40  # the last ones remain


def test_recently_used_vectors_remain(cache, monkeypatch):
    SentenceCache("older").keep(KEYS, VECTORS)
    tokens = cache.path.with_name("x.tokens")
    tokens.write_bytes(bytes(50_000))
    os.utime(SentenceCache("older").path, (1, 1))
    os.utime(tokens, (2, 2))
    change(cache, "UPDATE vectors SET used = 5 WHERE key < ?", sorted(KEYS)[100])
    size = cache.path.stat().st_size
    monkeypatch.setenv("WORDCLASS_CACHE_BYTES", str(size + 60_000))
    cache.keep(KEYS[:1], VECTORS[:1])
    assert sentence_cache.cache_files() == [tokens, cache.path]
    monkeypatch.setenv("WORDCLASS_CACHE_BYTES", str(size - 8192))
    cache.keep(KEYS[:1], VECTORS[:1])
    assert sentence_cache.cache_files() == [cache.path]
    remaining = cache.find(KEYS)
    assert 0 < len(remaining) < 700
    assert not remaining.keys() & {*sorted(KEYS)[:100]} - {KEYS[0]}


def test_a_use_is_recorded_once_a_day(cache):
    change(cache, "UPDATE vectors SET used = 5")
    os.utime(cache.path, (1, 1))
    cache.find(KEYS[:3])
    assert cache.path.stat().st_mtime > time.time() - 60
    with closing(sqlite3.connect(cache.path)) as file:
        n_old = file.execute("SELECT COUNT(*) FROM vectors WHERE used = 5").fetchone()
    assert n_old == (697,)


@pytest.mark.parametrize("setting", ["many", "-1", "1.5"])
def test_a_limit_that_is_not_a_number_is_refused(monkeypatch, setting):
    monkeypatch.setenv("WORDCLASS_CACHE_BYTES", setting)
    with pytest.raises(InputError, match="expected a number of bytes"):
        sentence_cache.max_cache_bytes()


def test_the_default_limit_is_five_gigabytes(monkeypatch):
    assert sentence_cache.max_cache_bytes() == 5_000_000_000
    monkeypatch.setenv("WORDCLASS_CACHE_BYTES", " 70 ")
    assert sentence_cache.max_cache_bytes() == 70


# --- overview ------------------------------------------------------------------------------


def test_files_are_described_without_being_changed(cache, home):
    (home / "damaged.sqlite").write_bytes(b"garbage")
    (home / "x.tokens").write_bytes(bytes(10))
    (home / "other.txt").write_text("not ours")
    for k, path in enumerate(sorted(home.iterdir())):
        os.utime(path, (k * 1000, k * 1000))
    files = sentence_cache.describe_files()
    assert [(file["file"], file["encoder"], file["n_vectors"]) for file in files] == [
        ("0123abcd.sqlite", "minilm", 700),
        ("damaged.sqlite", None, None),
        ("x.tokens", None, None),
    ]
    assert files[2]["n_bytes"] == 10
    assert files[0]["last_use"].startswith("1970-01-01T")
    assert json.dumps(files)


def test_clearing_removes_only_cache_files_and_returns_their_size(cache, home):
    size = cache.path.stat().st_size
    (home / "x.tokens").write_bytes(bytes(10))
    (home / "other.txt").write_text("not ours")
    assert sentence_cache.clear() == size + 10
    assert [path.name for path in home.iterdir()] == ["other.txt"]
    assert sentence_cache.clear() == 0


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "XDG_CACHE_HOME", "/somewhere/wordclass"),
        ("win32", "LOCALAPPDATA", "/somewhere/wordclass/cache"),
    ],
)
def test_the_folder_is_that_of_the_platform(monkeypatch, platform, variable, expected):
    monkeypatch.delenv("WORDCLASS_HOME")
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv(variable, "/somewhere")
    assert sentence_cache.cache_folder().as_posix() == expected


def test_the_folder_is_that_of_the_platform_on_a_mac(monkeypatch, tmp_path):
    monkeypatch.delenv("WORDCLASS_HOME")
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert sentence_cache.cache_folder() == tmp_path / "Library" / "Caches" / "wordclass"


# --- several processes --------------------------------------------------------------------------

WRITER = """
import sys, time
import numpy as np
from wordclass.sentence.cache import SentenceCache, hash_text
cache = SentenceCache("shared", "f")
first = int(sys.argv[1])
for start in range(0, 2000, 50):
    keys = [hash_text(str(k)) for k in range(first + start, first + start + 50)]
    cache.find(keys)
    vectors = np.repeat(np.arange(first + start, first + start + 50, dtype=np.float32), 8)
    assert cache.keep(keys, vectors.reshape(50, 8))
    print(start, flush=True)
"""


def start_writer(first):
    command = [sys.executable, "-W", "error", "-c", WRITER, str(first)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def count_found_vectors(n_texts):
    vectors = SentenceCache("shared").find([hash_text(str(k)) for k in range(n_texts)])
    for k in range(n_texts):
        vector = vectors.get(hash_text(str(k)))
        assert vector is None or (vector == k).all()
    return len(vectors)


def test_several_processes_may_write_and_read_at_once():
    writers = [start_writer(first) for first in (0, 0, 1000)]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert (writer.returncode, errors) == (0, "")
    assert count_found_vectors(3000) == 3000


def test_a_killed_process_loses_at_most_one_batch():
    writer = start_writer(0)
    while int(writer.stdout.readline()) < 500:
        pass
    writer.kill()
    later_lines = writer.stdout.read().split()  # `communicate` would miss buffered lines
    writer.communicate(timeout=60)
    n_reported = (int(later_lines[-1]) if later_lines else 500) + 50
    assert n_reported <= count_found_vectors(2000) <= n_reported + 50
