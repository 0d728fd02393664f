import errno
import gzip
import itertools
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard

from wordclass import catalogue
from wordclass.errors import (
    FormatError,
    InputError,
    MissingDataError,
    MissingExtraError,
    StorageError,
)
from wordclass.storage import files

CONTENT = b"".join(b"line %d of some text\n" % k for k in range(20_000))
ZSTD = zstandard.ZstdCompressor(write_checksum=True)


def read(path):
    with files.open_for_reading(path) as stream:
        return stream.read()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.txt", CONTENT),
        ("x.txt.gz", gzip.compress(CONTENT)),
        ("X.TXT.GZ", gzip.compress(CONTENT)),
        ("x.gz", gzip.compress(CONTENT[:7]) + gzip.compress(CONTENT[7:])),
        ("x.zst", ZSTD.compress(CONTENT)),
        ("x.zst", ZSTD.compress(CONTENT[:7]) + ZSTD.compress(b"") + ZSTD.compress(CONTENT[7:])),
        ("x.zst", b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + ZSTD.compress(CONTENT)),
    ],
    ids=[
        "plain",
        "gzip",
        "upper case",
        "two gzip members",
        "zstd",
        "three frames",
        "skippable frame",
    ],
)
def test_compressed_and_plain_files_are_read(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert read(tmp_path / name) == CONTENT


def test_lines_can_be_iterated_over_frames_that_end_inside_a_line(tmp_path):
    frames = [ZSTD.compress(CONTENT[k : k + 1001]) for k in range(0, len(CONTENT), 1001)]
    (tmp_path / "x.zst").write_bytes(b"".join(frames))
    with files.open_for_reading(tmp_path / "x.zst") as stream:
        assert list(stream) == CONTENT.splitlines(keepends=True)


@pytest.mark.parametrize("has_checksum", [True, False])
def test_a_zstd_file_cut_short_anywhere_is_an_error_and_not_a_short_file(tmp_path, has_checksum):
    compressor = zstandard.ZstdCompressor(write_checksum=has_checksum)
    first = compressor.compress(CONTENT[:50])
    second = compressor.compress(CONTENT[50:])
    compressed = first + second
    path = tmp_path / "x.zst"
    for end in [
        *range(1, len(first)),
        *range(len(first) + 1, len(compressed), 97),
        len(compressed) - 1,
    ]:
        path.write_bytes(compressed[:end])
        with pytest.raises(FormatError, match="damaged or cut short") as caught:
            read(path)
        assert caught.value.path == path


def test_a_gzip_file_cut_short_anywhere_is_an_error_and_not_a_short_file(tmp_path):
    compressed = gzip.compress(CONTENT)
    path = tmp_path / "x.gz"
    for end in [*range(1, 30), *range(30, len(compressed), 997), len(compressed) - 1]:
        path.write_bytes(compressed[:end])
        with pytest.raises(FormatError, match="damaged or cut short"):
            read(path)


@pytest.mark.parametrize("name", ["x.gz", "x.zst"])
@pytest.mark.parametrize("compress", [gzip.compress, ZSTD.compress, bytes])
def test_damaged_or_other_data_is_an_error(tmp_path, name, compress):
    content = bytearray(compress(CONTENT))
    content[len(content) // 2] ^= 0x55
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError):
        read(tmp_path / name)


def test_garbage_after_the_last_frame_is_an_error(tmp_path):
    (tmp_path / "x.zst").write_bytes(ZSTD.compress(b"x") + b"garbage")
    with pytest.raises(FormatError):
        read(tmp_path / "x.zst")


def test_without_zstandard_the_error_has_the_pip_command(tmp_path, monkeypatch):
    (tmp_path / "x.zst").write_bytes(ZSTD.compress(b"x"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'wordclass\[zstandard\]'"):
        read(tmp_path / "x.zst")
    with (
        pytest.raises(MissingExtraError, match=r"wordclass\[zstandard\]"),
        files.open_for_writing(tmp_path / "y.zst"),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["x.zst"]


def test_a_missing_file_a_folder_and_an_invalid_name_raise_different_errors(tmp_path):
    with pytest.raises(MissingDataError, match=r"x\.gz: no such file"):
        read(tmp_path / "x.gz")
    with pytest.raises(StorageError, match="directory"):
        read(tmp_path)
    with pytest.raises(StorageError, match="too long"):
        read(tmp_path / ("x" * 5000))


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything"
)
def test_a_file_without_permission_is_a_storage_error(tmp_path):
    (tmp_path / "x").write_bytes(b"x")
    (tmp_path / "x").chmod(0)
    with pytest.raises(StorageError, match="Permission denied"):
        read(tmp_path / "x")


@pytest.mark.parametrize("error", [InputError, StorageError, MissingDataError])
@pytest.mark.parametrize(
    "opened", [files.open_for_reading, files.open_for_writing, files.replace_atomically]
)
def test_an_error_of_the_caller_passes_unchanged(tmp_path, opened, error):
    (tmp_path / "x").write_bytes(b"x")
    with pytest.raises(error, match=r"^mine$"), opened(tmp_path / "x"):
        raise error("mine")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"x"]


@pytest.mark.parametrize("name", ["x", "x.gz", "x.zst"])
def test_written_content_is_read_back_and_the_bytes_do_not_depend_on_the_time(
    tmp_path, monkeypatch, name
):
    monkeypatch.setattr("time.time", itertools.count(1_000_000_000, step=1000).__next__)
    path = tmp_path / name
    written = []
    for _ in range(2):
        with files.open_for_writing(path) as stream:
            stream.write(CONTENT)
        written.append(path.read_bytes())
    assert read(path) == CONTENT
    assert written[0] == written[1]
    assert (len(written[0]) < len(CONTENT) / 2) == (name != "x")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["x", "x.gz", "x.zst"])
def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"old")
    with suppress(KeyboardInterrupt), files.open_for_writing(path) as stream:
        stream.write(CONTENT)
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("name", ["x", "x.gz", "x.zst"])
@pytest.mark.parametrize("content", [b"small", os.urandom(1 << 20)], ids=["small", "large"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, name, content):
    path = tmp_path / name
    path.write_bytes(b"old")
    opened = Path.open
    monkeypatch.setattr(
        Path, "open", lambda self, mode: opened(Path("/dev/full") if mode == "wb" else self, mode)
    )
    with (
        pytest.raises(StorageError, match=r"No space left.*nothing was changed"),
        files.open_for_writing(path) as stream,
    ):
        stream.write(content)
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_fills_up_at_the_last_moment_leaves_the_old_file(tmp_path, monkeypatch):
    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    (tmp_path / "x").write_bytes(b"old")
    with (
        pytest.raises(StorageError, match="No space left"),
        files.replace_atomically(tmp_path / "x") as path,
    ):
        path.write_bytes(b"new")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_a_file_does_not_replace_a_folder(tmp_path):
    (tmp_path / "x").mkdir()
    with (
        pytest.raises(StorageError, match="cannot be written"),
        files.open_for_writing(tmp_path / "x"),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_the_environment_chooses_the_data_home(monkeypatch, tmp_path):
    monkeypatch.setenv("WORDCLASS_HOME", str(tmp_path))
    assert files.data_home() == tmp_path
    monkeypatch.delenv("WORDCLASS_HOME")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert files.data_home() == tmp_path / "xdg" / "wordclass"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert files.data_home().parts[-3:] == ("Library", "Application Support", "wordclass")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert files.data_home() == tmp_path / "local" / "wordclass"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.jsonl.zst", "a.jsonl"), ("a.CSV.GZ", "a.CSV"), ("a.jsonl", "a.jsonl"), ("b/a", "a")],
)
def test_the_ending_of_a_compression_is_removed_from_a_name(name, expected):
    assert files.uncompressed_name(Path(name)) == expected


def test_zstandard_is_required_only_for_zst_files(tmp_path, monkeypatch):
    def fail(package, purpose):
        raise AssertionError(package)

    monkeypatch.setattr(catalogue, "import_extra", fail)
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"x"))
    assert read(tmp_path / "x.gz") == b"x"


@pytest.mark.parametrize("change", ["size", "time", "gone", "new"])
def test_a_file_that_changes_inside_the_block_is_an_error(tmp_path, change):
    path = tmp_path / "x"
    beside = tmp_path / "y"
    path.write_bytes(b"ab")

    def meddle():
        if change == "size":
            path.write_bytes(b"abc")
        elif change == "time":
            os.utime(path, ns=(1, 1))
        elif change == "gone":
            path.unlink()
        else:
            beside.touch()

    with (
        pytest.raises(StorageError, match="changed while it was read"),
        files.require_unchanged(path, beside),
    ):
        meddle()


def test_a_changed_file_is_reported_instead_of_the_errors_that_it_causes(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"ab")

    def stumble():
        path.write_bytes(b"a")
        raise FormatError(path, None, "cut short")

    with pytest.raises(StorageError, match="changed") as caught, files.require_unchanged(path):
        stumble()
    assert isinstance(caught.value.__context__, FormatError)


def test_errors_about_unchanged_files_pass_unchanged(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"ab")
    with files.require_unchanged(path, tmp_path / "missing"):
        assert read(path) == b"ab"
    with pytest.raises(FormatError, match="cut short"), files.require_unchanged(path):
        raise FormatError(path, None, "cut short")
    with pytest.raises(MissingDataError), files.require_unchanged(tmp_path / "missing"):
        read(tmp_path / "missing")


def test_an_invalid_name_is_refused(tmp_path):
    assert files.path_exists(tmp_path)
    assert not files.path_exists(tmp_path / "nothing")
    with pytest.raises(StorageError, match="File name too long"):
        files.path_exists(tmp_path / ("a" * 300))
    with pytest.raises(StorageError, match="File name too long"):
        files.check_folder(tmp_path / ("a" * 300), lambda _: None)


def test_an_error_about_a_folder_names_the_folder(tmp_path):
    folder = tmp_path / "model"
    with (
        pytest.raises(StorageError, match=rf"^{folder}/part: cannot be written"),
        files.replace_folder_atomically(folder, lambda _: None) as temporary,
        files.replace_atomically(temporary / "part"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert not any(tmp_path.iterdir())


# --- before there is anything to write -------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "folder_too"),
    [("file/x", True), ("x" * 250, True), ("file/x/y", True), ("missing/x", False)],
)
def test_a_path_that_cannot_be_written_is_refused_early(tmp_path, place, folder_too):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        files.check_writable(tmp_path / place)
    if folder_too:
        with pytest.raises(StorageError, match="cannot be written"):
            files.check_writable(tmp_path / place, is_folder=True)
    else:
        files.check_writable(tmp_path / place, is_folder=True)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
@pytest.mark.parametrize("is_folder", [False, True])
def test_a_file_system_without_writable_files_is_refused_early(is_folder):
    with pytest.raises(StorageError, match="cannot be written"):
        files.check_writable(Path("/proc/x"), is_folder=is_folder)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything"
)
def test_a_folder_without_permission_is_refused_early(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="cannot be written: Permission denied"):
        files.check_writable(tmp_path / "x")
    tmp_path.chmod(0o700)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything"
)
def test_a_folder_that_is_read_only_is_not_replaced(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir(0o500)
    with (
        pytest.raises(StorageError, match="it is read-only"),
        files.replace_folder_atomically(folder, lambda _: None),
    ):
        pass
    assert os.listdir(tmp_path) == ["folder"]


def test_a_folder_with_the_name_of_the_output_file_is_refused_early(tmp_path):
    with pytest.raises(InputError, match="is a folder; expected a file"):
        files.check_writable(tmp_path)
    files.check_writable(tmp_path, is_folder=True)


def test_checking_a_writable_path_changes_nothing(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    files.check_writable(tmp_path / "file")
    files.check_writable(tmp_path / "new")
    files.check_writable(tmp_path / "a" / "b" / "c", is_folder=True)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


# --- compressed data that grows -------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "compress"),
    [("x.zst", ZSTD.compress), ("x.gz", lambda content: gzip.compress(content, 1))],
)
def test_a_small_file_that_decompresses_to_much_is_refused_early(tmp_path, name, compress):
    path = tmp_path / name
    path.write_bytes(compress(bytes(400 << 20)))
    assert path.stat().st_size < 2_000_000
    pieces = []

    def read_all():
        with files.open_for_reading(path) as stream:
            pieces.extend(iter(lambda: len(stream.read(1 << 20)), 0))

    with pytest.raises(FormatError, match=rf"{name}: expands to more than 200 times its size"):
        read_all()
    assert sum(pieces) < 300 << 20
