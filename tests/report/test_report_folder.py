import os
import sys

import pytest

from wordclass.errors import InputError, StorageError
from wordclass.report.report_folder import check_replaceable, replacing_folder

FILES = {"index.html", "result.json", "terms.png"}


def write_report(folder, text):
    with replacing_folder(folder, FILES) as temporary:
        for name in ("index.html", "result.json"):
            (temporary / name).write_text(text)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_new_folder_appears_with_its_parents(tmp_path):
    write_report(tmp_path / "a" / "b", "new")
    assert names_in(tmp_path / "a" / "b") == ["index.html", "result.json"]
    assert names_in(tmp_path / "a") == ["b"]


def test_an_earlier_report_is_replaced_as_a_whole(tmp_path):
    folder = tmp_path / "report"
    write_report(folder, "old")
    (folder / "terms.png").touch()
    write_report(folder, "new")
    assert names_in(folder) == ["index.html", "result.json"]
    assert (folder / "index.html").read_text() == "new"
    assert names_in(tmp_path) == ["report"]


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "report").mkdir()
    write_report(tmp_path / "report", "new")
    assert names_in(tmp_path / "report") == ["index.html", "result.json"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_everything_as_it_was(tmp_path, error):
    folder = tmp_path / "report"
    write_report(folder, "old")

    def fail_half_way():
        with replacing_folder(folder, FILES) as temporary:
            (temporary / "index.html").write_text("half")
            raise error

    with pytest.raises(error):
        fail_half_way()
    assert (folder / "index.html").read_text() == "old"
    assert names_in(tmp_path) == ["report"]


@pytest.mark.parametrize(
    "names",
    [
        ["thesis.txt"],
        ["index.html"],
        ["result.json"],
        ["index.html", "result.json", "thesis.txt"],
    ],
)
def test_a_folder_that_is_no_report_is_never_touched(tmp_path, names):
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in names:
        (folder / name).write_text("precious")
    with pytest.raises(InputError, match="no report of the demo"):
        write_report(folder, "new")
    assert names_in(folder) == sorted(names)
    assert names_in(tmp_path) == ["mine"]


def test_files_that_come_while_the_report_is_made_are_safe_too(tmp_path):
    folder = tmp_path / "report"

    def be_overtaken():
        with replacing_folder(folder, FILES):
            folder.mkdir()
            (folder / "thesis.txt").write_text("precious")

    with pytest.raises(InputError, match="thesis"):
        be_overtaken()
    assert names_in(tmp_path) == ["report"]


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file"):
        check_replaceable(tmp_path / "file", FILES)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_of_a_link_the_folder_behind_it_is_replaced(tmp_path):
    write_report(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_report(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "index.html").read_text() == "new"


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        write_report(tmp_path / "file" / "report", "new")


def test_the_old_report_comes_back_where_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    folder = tmp_path / "report"
    write_report(folder, "old")
    replace = os.replace

    def fail_for_new(source, target):
        if str(source).endswith(".tmp"):
            raise OSError("no")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_for_new)
    with pytest.raises(StorageError):
        write_report(folder, "new")
    assert (folder / "index.html").read_text() == "old"
    assert names_in(tmp_path) == ["report"]
