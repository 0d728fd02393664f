import json

import pytest

from wordclass.errors import FormatError, StorageError
from wordclass.tuning.journal import Journal

TRIAL = {"settings": {"C": 1}, "status": "done", "seconds": 1.0}


def test_what_was_added_is_found_again_by_its_key(tmp_path):
    path = tmp_path / "new" / "trials.jsonl"
    journal = Journal.open(path)
    assert not path.exists()
    journal.add("a", TRIAL)
    journal.add("b", {**TRIAL, "seconds": 2.0})
    assert Journal.open(path).kept["b"] == {"key": "b", **TRIAL, "seconds": 2.0}
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["a", "b"]


@pytest.mark.parametrize("n_cut", [1, 2, 30])
def test_a_last_line_that_was_never_finished_is_forgotten(tmp_path, n_cut):
    path = tmp_path / "trials.jsonl"
    for key in ("a", "b"):
        Journal.open(path).add(key, TRIAL)
    path.write_bytes(path.read_bytes()[:-n_cut])
    journal = Journal.open(path)
    assert set(journal.kept) == {"a"}
    journal.add("c", TRIAL)
    assert set(Journal.open(path).kept) == {"a", "c"}


@pytest.mark.parametrize(
    "line", ["a thesis", "{}", "[1]", '{"text": "moon", "labels": []}', "\xff"]
)
def test_a_file_that_is_no_journal_is_refused_and_left_as_it_is(tmp_path, line):
    path = tmp_path / "docs.jsonl"
    path.write_bytes(f"{line}\n".encode("latin-1"))
    with pytest.raises(FormatError, match=r"docs.jsonl, line 1: no trial"):
        Journal.open(path)
    assert path.read_bytes() == f"{line}\n".encode("latin-1")


def test_without_a_file_nothing_is_kept(tmp_path):
    Journal.open(None).add("a", TRIAL)
    assert Journal.open(None).kept == {}
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        Journal.open(tmp_path / "file" / "trials.jsonl").add("a", TRIAL)
