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
    kept = SentenceCache("0123abcd", "minilm")
    assert kept.keep(KEYS, VECTORS)
    return kept


def same(found, keys=KEYS, vectors=VECTORS):
    return list(found) == list(keys) and np.array_equal(np.array([*found.values()]), vectors)


def in_order(found):
    return {key: found[key] for key in KEYS if key in found}


def changed(cache, statement, *values):
    with closing(sqlite3.connect(cache.path)) as file, file:
        file.execute(statement, values)


def test_what_was_kept_is_found_to_the_bit_and_nothing_else(cache):
    found = cache.find([*KEYS, hash_text("another")])
    assert same(in_order(found))
    assert len(cache) == len(found) == 700


def test_without_a_file_there_is_nothing_and_none_is_made(home):
    empty = SentenceCache("none")
    assert empty.find(KEYS) == {}
    assert len(empty) == 0
    assert not home.exists()


def test_texts_are_not_in_the_file(cache):
    cache.keep([hash_text("a secret text")], VECTORS[:1])
    assert b"secret" not in cache.path.read_bytes()
    assert b"minilm" in cache.path.read_bytes()


def test_a_vector_may_be_kept_again(cache):
    cache.keep(KEYS[:2], VECTORS[2:4])
    assert same(cache.find(KEYS[:2]), KEYS[:2], VECTORS[2:4])
    assert len(cache) == 700


def test_keys_are_hashes_also_of_lone_surrogates():
    keys = {hash_text(text) for text in ("", "a", "\ud800", "\udfff", "\ufffd")}
    assert len(keys) == 5
    assert {len(key) for key in keys} == {16}


@pytest.mark.parametrize(
    "content",
    [b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000, b"x"],
    ids=["garbage", "a bad header", "short"],
)
def test_a_file_of_something_else_is_made_again(cache, content):
    cache.path.write_bytes(content)
    with pytest.warns(
        CacheWarning, match="was damaged .* and is removed; its vectors are computed again"
    ):
        assert cache.find(KEYS) == {}
    assert not cache.path.exists()
    assert cache.keep(KEYS, VECTORS)
    assert len(cache.find(KEYS)) == 700


def test_a_file_that_was_cut_is_made_again(cache):
    cache.path.write_bytes(cache.path.read_bytes()[:20_000])
    with pytest.warns(CacheWarning, match="was damaged"):
        assert cache.find(KEYS) == {}
    assert cache.keep(KEYS, VECTORS)
    assert len(cache) == 700


def test_an_empty_file_is_as_good_as_none(cache):
    cache.path.write_bytes(b"")
    assert cache.find(KEYS) == {}
    assert cache.keep(KEYS, VECTORS)


def test_a_file_that_another_process_has_begun_is_no_damage(cache):
    new = replace(cache, fingerprint="another model")
    with closing(sqlite3.connect(new.path)) as other:
        other.executescript(sentence_cache._SETUP)
        assert new.find(KEYS) == {}
    assert new.keep(KEYS, VECTORS)
    assert same(in_order(new.find(KEYS)))


@pytest.mark.parametrize(
    "schema", ["CREATE TABLE vectors (name, numbers)", "CREATE VIEW vectors AS SELECT 1 AS key"]
)
def test_a_file_of_another_schema_is_made_again(cache, schema):
    cache.path.unlink()
    changed(cache, schema)
    with pytest.warns(CacheWarning, match="was damaged"):
        assert cache.find(KEYS) == {}
    assert cache.keep(KEYS, VECTORS)
    assert len(cache) == 700


def test_a_damaged_vector_is_made_again_and_the_others_are_found(cache):
    with closing(sqlite3.connect(cache.path)) as file:
        asked = "SELECT vector FROM vectors WHERE key = ?"
        (kept,) = file.execute(asked, [KEYS[3]]).fetchone()
    flipped = kept[:12] + bytes([kept[12] ^ 4]) + kept[13:]
    put = "UPDATE vectors SET vector = ? WHERE key = ?"
    for k, value in enumerate([flipped, kept[:-4], kept[:-1], b"", "text", None, 5]):
        changed(cache, put, value, KEYS[k])
    changed(cache, put, kept, KEYS[9])  # the vector of another text
    with pytest.warns(CacheWarning, match="8 vectors are damaged"):
        found = cache.find(KEYS)
    assert found.keys() == {*KEYS} - {*KEYS[:7], KEYS[9]}


def test_times_of_use_that_make_no_sense_are_no_problem(cache):
    changed(cache, "UPDATE vectors SET used = 'yesterday'")
    assert len(cache.find(KEYS)) == 700


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_a_warning(cache, home):
    home.chmod(stat.S_IRUSR | stat.S_IXUSR)
    cache.path.chmod(stat.S_IRUSR)
    try:
        assert len(cache.find(KEYS)) == 700
        with pytest.warns(CacheWarning, match="cannot be used"):
            assert not cache.keep(KEYS, VECTORS)
    finally:
        home.chmod(stat.S_IRWXU)


def test_a_file_that_may_not_be_written_is_still_read(cache, monkeypatch):
    connect = sqlite3.connect

    def read_only(path, timeout):
        return connect(f"file:{path}?mode=ro", uri=True, timeout=timeout)

    changed(cache, "UPDATE vectors SET used = 5")  # long ago: a use would be noted
    monkeypatch.setattr(sqlite3, "connect", read_only)
    assert len(cache.find(KEYS)) == 700
    with pytest.warns(CacheWarning, match=r"cannot be used \(attempt to write a readonly"):
        assert not cache.keep(KEYS, VECTORS)


def test_a_home_that_is_a_file_is_a_warning(home):
    home.write_text("x")
    with pytest.warns(CacheWarning, match="cannot be used"):
        assert not SentenceCache("0123").keep(KEYS, VECTORS)


def test_a_full_disk_is_a_warning(cache, monkeypatch):
    connect = sqlite3.connect

    class Full(sqlite3.Connection):
        def executemany(self, *_):
            self.execute("PRAGMA max_page_count = 1")
            return self.execute("INSERT INTO vectors VALUES (?, zeroblob(1000000), 0)", [b"x"])

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Full))
    with pytest.warns(CacheWarning, match=r"cannot be used \(database or disk is full\)"):
        assert not cache.keep(KEYS, VECTORS)
    monkeypatch.undo()


def test_a_file_that_somebody_else_keeps_locked_is_a_warning(cache, monkeypatch):
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
        assert len(SentenceCache("two").find(keys)) == 40  # the last ones are there


def test_what_was_used_last_is_kept(cache, monkeypatch):
    SentenceCache("older").keep(KEYS, VECTORS)
    tokens = cache.path.with_name("x.tokens")
    tokens.write_bytes(bytes(50_000))
    os.utime(SentenceCache("older").path, (1, 1))
    os.utime(tokens, (2, 2))
    changed(cache, "UPDATE vectors SET used = 5 WHERE key < ?", sorted(KEYS)[100])
    size = cache.path.stat().st_size
    monkeypatch.setenv("WORDCLASS_CACHE_BYTES", str(size + 60_000))
    cache.keep(KEYS[:1], VECTORS[:1])
    assert sentence_cache.cache_files() == [tokens, cache.path]
    monkeypatch.setenv("WORDCLASS_CACHE_BYTES", str(size - 8192))
    cache.keep(KEYS[:1], VECTORS[:1])
    assert sentence_cache.cache_files() == [cache.path]
    left = cache.find(KEYS)
    assert 0 < len(left) < 700
    assert not left.keys() & {*sorted(KEYS)[:100]} - {KEYS[0]}


def test_a_use_is_noted_once_a_day(cache):
    changed(cache, "UPDATE vectors SET used = 5")
    os.utime(cache.path, (1, 1))
    cache.find(KEYS[:3])
    assert cache.path.stat().st_mtime > time.time() - 60
    with closing(sqlite3.connect(cache.path)) as file:
        n_old = file.execute("SELECT COUNT(*) FROM vectors WHERE used = 5").fetchone()
    assert n_old == (697,)


@pytest.mark.parametrize("given", ["many", "-1", "1.5"])
def test_a_limit_that_is_no_number_is_refused(monkeypatch, given):
    monkeypatch.setenv("WORDCLASS_CACHE_BYTES", given)
    with pytest.raises(InputError, match="expected a number of bytes"):
        sentence_cache.max_cache_bytes()


def test_the_limit_is_five_gigabytes_unless_told_otherwise(monkeypatch):
    assert sentence_cache.max_cache_bytes() == 5_000_000_000
    monkeypatch.setenv("WORDCLASS_CACHE_BYTES", " 70 ")
    assert sentence_cache.max_cache_bytes() == 70


# --- what there is ------------------------------------------------------------------------------


def test_files_are_described_without_being_touched(cache, home):
    (home / "damaged.sqlite").write_bytes(b"garbage")
    (home / "x.tokens").write_bytes(bytes(10))
    (home / "other.txt").write_text("not ours")
    for k, path in enumerate(sorted(home.iterdir())):
        os.utime(path, (k * 1000, k * 1000))
    told = sentence_cache.describe_files()
    assert [(each["file"], each["encoder"], each["n_vectors"]) for each in told] == [
        ("0123abcd.sqlite", "minilm", 700),
        ("damaged.sqlite", None, None),
        ("x.tokens", None, None),
    ]
    assert told[2]["n_bytes"] == 10
    assert told[0]["last_use"].startswith("1970-01-01T")
    assert json.dumps(told)


def test_clearing_removes_our_files_only_and_tells_how_much_that_was(cache, home):
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


def test_the_folder_is_that_of_the_platform_also_on_a_mac(monkeypatch, tmp_path):
    monkeypatch.delenv("WORDCLASS_HOME")
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert sentence_cache.cache_folder() == tmp_path / "Library" / "Caches" / "wordclass"


# --- several processes --------------------------------------------------------------------------

WRITER = """
import sys, time
import numpy as np
from wordclass.sentence.cache import SentenceCache, hash_text
cache, first = SentenceCache("shared", "f"), int(sys.argv[1])
for start in range(0, 2000, 50):
    keys = [hash_text(str(k)) for k in range(first + start, first + start + 50)]
    found = cache.find(keys)
    made = np.repeat(np.arange(first + start, first + start + 50, dtype=np.float32), 8)
    assert cache.keep(keys, made.reshape(50, 8))
    print(start, flush=True)
"""


def started(first):
    command = [sys.executable, "-W", "error", "-c", WRITER, str(first)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def numbers_found(n_texts):
    found = SentenceCache("shared").find([hash_text(str(k)) for k in range(n_texts)])
    for k in range(n_texts):
        vector = found.get(hash_text(str(k)))
        assert vector is None or (vector == k).all()
    return len(found)


def test_several_processes_may_write_and_read_at_once():
    writers = [started(first) for first in (0, 0, 1000)]
    for writer in writers:
        _, told = writer.communicate(timeout=120)
        assert (writer.returncode, told) == (0, "")
    assert numbers_found(3000) == 3000


def test_a_process_that_is_killed_loses_one_batch_at_most():
    writer = started(0)
    while int(writer.stdout.readline()) < 500:
        pass
    writer.kill()
    rest = writer.stdout.read().split()  # `communicate` would miss what was read ahead
    writer.communicate(timeout=60)
    n_told = (int(rest[-1]) if rest else 500) + 50
    assert n_told <= numbers_found(2000) <= n_told + 50
