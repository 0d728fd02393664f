import errno
import gzip
import itertools
import os
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard

from wordclass import naming, storage
from wordclass.errors import (
    FormatError,
    InputError,
    MissingDataError,
    MissingExtraError,
    StorageError,
)

CONTENT = b"".join(b"line %d of some text\n" % k for k in range(20_000))
ZSTD = zstandard.ZstdCompressor(write_checksum=True)


def read(path):
    with storage.reading(path) as stream:
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
def test_files_are_read_as_they_are_compressed_or_not(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert read(tmp_path / name) == CONTENT


def test_lines_can_be_iterated_over_frames_that_end_inside_a_line(tmp_path):
    frames = [ZSTD.compress(CONTENT[k : k + 1001]) for k in range(0, len(CONTENT), 1001)]
    (tmp_path / "x.zst").write_bytes(b"".join(frames))
    with storage.reading(tmp_path / "x.zst") as stream:
        assert list(stream) == CONTENT.splitlines(keepends=True)


@pytest.mark.parametrize("has_checksum", [True, False])
def test_a_zstd_file_cut_short_anywhere_is_an_error_and_not_a_short_file(tmp_path, has_checksum):
    compressor = zstandard.ZstdCompressor(write_checksum=has_checksum)
    first, second = compressor.compress(CONTENT[:50]), compressor.compress(CONTENT[50:])
    whole = first + second
    path = tmp_path / "x.zst"
    for end in [*range(1, len(first)), *range(len(first) + 1, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:end])
        with pytest.raises(FormatError, match="damaged or cut short") as caught:
            read(path)
        assert caught.value.path == path


def test_a_gzip_file_cut_short_anywhere_is_an_error_and_not_a_short_file(tmp_path):
    whole = gzip.compress(CONTENT)
    path = tmp_path / "x.gz"
    for end in [*range(1, 30), *range(30, len(whole), 997), len(whole) - 1]:
        path.write_bytes(whole[:end])
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


def test_without_zstandard_the_pip_command_is_given(tmp_path, monkeypatch):
    (tmp_path / "x.zst").write_bytes(ZSTD.compress(b"x"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'wordclass\[zstandard\]'"):
        read(tmp_path / "x.zst")
    with (
        pytest.raises(MissingExtraError, match=r"wordclass\[zstandard\]"),
        storage.writing(tmp_path / "y.zst"),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["x.zst"]


def test_a_missing_file_a_folder_and_an_impossible_name_have_errors_of_their_own(tmp_path):
    with pytest.raises(MissingDataError, match=r"x\.gz: no such file"):
        read(tmp_path / "x.gz")
    with pytest.raises(StorageError, match="directory"):
        read(tmp_path)
    with pytest.raises(StorageError, match="too long"):
        read(tmp_path / ("x" * 5000))


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything"
)
def test_a_file_that_may_not_be_read_is_a_storage_error(tmp_path):
    (tmp_path / "x").write_bytes(b"x")
    (tmp_path / "x").chmod(0)
    with pytest.raises(StorageError, match="Permission denied"):
        read(tmp_path / "x")


@pytest.mark.parametrize("error", [InputError, StorageError, MissingDataError])
@pytest.mark.parametrize("opened", [storage.reading, storage.writing, storage.replacing])
def test_an_error_of_the_user_of_a_file_passes_unchanged(tmp_path, opened, error):
    (tmp_path / "x").write_bytes(b"x")
    with pytest.raises(error, match=r"^mine$"), opened(tmp_path / "x"):
        raise error("mine")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"x"]


@pytest.mark.parametrize("name", ["x", "x.gz", "x.zst"])
def test_what_is_written_is_read_again_and_is_the_same_file_at_any_time(
    tmp_path, monkeypatch, name
):
    monkeypatch.setattr("time.time", itertools.count(1_000_000_000, step=1000).__next__)
    path = tmp_path / name
    written = []
    for _ in range(2):
        with storage.writing(path) as stream:
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
    with suppress(KeyboardInterrupt), storage.writing(path) as stream:
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
        storage.writing(path) as stream,
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
        storage.replacing(tmp_path / "x") as path,
    ):
        path.write_bytes(b"new")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_a_file_does_not_replace_a_folder(tmp_path):
    (tmp_path / "x").mkdir()
    with pytest.raises(StorageError, match="cannot be written"), storage.writing(tmp_path / "x"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_the_data_home_is_the_one_the_environment_names(monkeypatch, tmp_path):
    monkeypatch.setenv("WORDCLASS_HOME", str(tmp_path))
    assert storage.data_home() == tmp_path
    monkeypatch.delenv("WORDCLASS_HOME")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert storage.data_home() == tmp_path / "xdg" / "wordclass"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert storage.data_home().parts[-3:] == ("Library", "Application Support", "wordclass")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert storage.data_home() == tmp_path / "local" / "wordclass"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.jsonl.zst", "a.jsonl"), ("a.CSV.GZ", "a.CSV"), ("a.jsonl", "a.jsonl"), ("b/a", "a")],
)
def test_the_ending_of_a_compression_is_taken_off_a_name(name, expected):
    assert storage.uncompressed_name(Path(name)) == expected


def test_zstandard_is_asked_for_only_where_it_is_needed(tmp_path, monkeypatch):
    def fail(package, purpose):
        raise AssertionError(package)

    monkeypatch.setattr(naming, "extra", fail)
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"x"))
    assert read(tmp_path / "x.gz") == b"x"


@pytest.mark.parametrize("change", ["size", "time", "gone", "new"])
def test_a_file_that_changes_inside_the_block_is_an_error(tmp_path, change):
    path, beside = tmp_path / "x", tmp_path / "y"
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
        storage.unchanged(path, beside),
    ):
        meddle()


def test_what_a_change_led_to_is_not_said_in_its_place(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"ab")

    def stumble():
        path.write_bytes(b"a")
        raise FormatError(path, None, "cut short")

    with pytest.raises(StorageError, match="changed") as caught, storage.unchanged(path):
        stumble()
    assert isinstance(caught.value.__context__, FormatError)


def test_errors_of_files_that_do_not_change_stay_as_they_are(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"ab")
    with storage.unchanged(path, tmp_path / "missing"):
        assert read(path) == b"ab"
    with pytest.raises(FormatError, match="cut short"), storage.unchanged(path):
        raise FormatError(path, None, "cut short")
    with pytest.raises(MissingDataError), storage.unchanged(tmp_path / "missing"):
        read(tmp_path / "missing")


def test_a_name_that_cannot_be_is_refused(tmp_path):
    assert storage.is_there(tmp_path)
    assert not storage.is_there(tmp_path / "nothing")
    with pytest.raises(StorageError, match="File name too long"):
        storage.is_there(tmp_path / ("a" * 300))
    with pytest.raises(StorageError, match="File name too long"):
        storage.check_folder(tmp_path / ("a" * 300), lambda _: None)


def test_a_folder_that_cannot_be_written_is_told_by_its_own_name(tmp_path):
    folder = tmp_path / "model"
    with (
        pytest.raises(StorageError, match=rf"^{folder}/part: cannot be written"),
        storage.replacing_folder(folder, lambda _: None) as temporary,
        storage.replacing(temporary / "part"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert not any(tmp_path.iterdir())


# --- what is no regular file, links, permissions --------------------------------------------

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")


def in_background(run, *arguments):
    thread = threading.Thread(target=run, args=arguments, daemon=True)
    thread.start()
    return thread


@needs_pipes
@pytest.mark.parametrize("name", ["x", "x.gz", "x.zst"])
def test_a_pipe_is_refused_at_once_and_read_where_a_stream_may_be(tmp_path, monkeypatch, name):
    monkeypatch.setattr(storage, "_PATIENCE", 60.0)
    pipe = tmp_path / name
    with storage.writing(tmp_path / f"file-{name}") as stream:
        stream.write(CONTENT)
    os.mkfifo(pipe)
    for read_all in (read, storage.content_of):
        with pytest.raises(FormatError, match="a pipe or a device; expected a regular file"):
            read_all(pipe)
    in_background(pipe.write_bytes, (tmp_path / f"file-{name}").read_bytes())
    with storage.reading(pipe, stream=True) as stream:
        assert stream.read() == CONTENT


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero here")
def test_a_device_without_end_is_refused():
    with pytest.raises(FormatError, match="a pipe or a device"):
        read(Path("/dev/zero"))


@needs_pipes
@pytest.mark.parametrize("name", ["x", "x.gz", "x.zst"])
def test_what_is_written_to_a_pipe_goes_through_and_the_pipe_stays(tmp_path, name):
    pipe, found = tmp_path / name, []
    os.mkfifo(pipe)
    reader = in_background(lambda: found.append(pipe.read_bytes()))
    with storage.writing(pipe) as stream:
        stream.write(CONTENT)
    reader.join(60)
    assert storage.is_stream(pipe)
    assert list(tmp_path.iterdir()) == [pipe]
    pipe.unlink()
    pipe.write_bytes(*found)
    assert read(pipe) == CONTENT


@needs_pipes
def test_a_failure_writes_nothing_to_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "x")
    with suppress(KeyboardInterrupt), storage.writing(tmp_path / "x") as stream:
        stream.write(CONTENT)
        raise KeyboardInterrupt
    assert storage.is_stream(tmp_path / "x")


@pytest.mark.skipif(
    not hasattr(os, "mknod") or os.geteuid() != 0, reason="only root may make devices"
)
def test_a_device_stays_a_device(tmp_path):
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.write_bytes(b"")
    except PermissionError:
        pytest.skip("devices cannot be made here")
    storage.check_writable(device)
    with storage.writing(device) as stream:
        stream.write(CONTENT)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert list(tmp_path.iterdir()) == [device]
    with pytest.raises(InputError, match="is a file; expected a folder"):
        storage.check_folder(device, lambda _: None)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path, is_there):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "x", tmp_path / "link"
    if is_there:
        target.write_bytes(b"old")
    link.symlink_to(Path("folder", "x"))
    with storage.writing(link) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["folder", "link", "x"]
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(StorageError, match="symbolic links"), storage.writing(link):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="has other permissions")
def test_permissions_are_kept_and_new_ones_follow_the_umask(tmp_path):
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_bytes(b"")
    old.chmod(0o604)
    found = []
    before = os.umask(0o027)
    try:
        for path in (new, old):
            with storage.replacing(path) as temporary:
                temporary.write_bytes(b"x")
                found.append(permissions(temporary))
    finally:
        os.umask(before)
    assert found == [0o640, 0o600]  # nobody else reads what is to replace something
    assert [permissions(new), permissions(old)] == [0o640, 0o604]


def permissions(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away"
)
def test_the_owner_is_kept_where_that_is_allowed(tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.write_bytes(b"old")
    os.chown(path, 12345, 54321)
    with storage.writing(path):
        pass
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)

    def refuse(*_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "chown", refuse)
    path.chmod(0o640)
    with storage.writing(path) as stream:
        stream.write(b"new")
    assert path.read_bytes() == b"new"
    assert (path.stat().st_uid, permissions(path)) == (os.geteuid(), 0o640)


# --- what killed processes leave ------------------------------------------------------------

WRITER = """
import sys, time
from pathlib import Path
from wordclass import storage
path = Path(sys.argv[1])
replacing = storage.replacing if sys.argv[2] == "file" else (
    lambda path: storage.replacing_folder(path, lambda _: None))
with replacing(path) as temporary:
    print(temporary, flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is locked there")
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_is_not(tmp_path, kind):
    path = tmp_path / "x"
    command = [sys.executable, "-c", WRITER, path, kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            temporary = Path(process.stdout.readline().strip())
            assert temporary.parent == tmp_path
            storage.sweep(path)
            with storage.writing(tmp_path / "other"), storage.writing(path):
                pass
            assert temporary.exists()
        finally:
            process.kill()
    storage.sweep(tmp_path / "y")
    assert temporary.exists()
    path.unlink()
    with storage.writing(path):
        pass
    assert sorted(os.listdir(tmp_path)) == ["other", "x"]


def test_only_what_has_the_name_of_something_unfinished_here_is_removed(tmp_path):
    machine = storage._MACHINE
    left = f".x.{machine}-{'0' * 16}.tmp"
    kept = [
        f".x.{machine}{'0' * 16}.tmp",
        f".x.{'0' * 8}-{'0' * 16}.tmp",
        f".xx.{machine}-{'0' * 16}.tmp",
        f".x.y.{machine}-{'0' * 16}.tmp",
        f".{left}",
        "x.tmp",
    ]
    for name in [left, *kept]:
        (tmp_path / name).touch()
    storage.sweep(tmp_path / "x")
    assert sorted(os.listdir(tmp_path)) == sorted(kept)
    storage.sweep(tmp_path / "nowhere" / "x")


def test_what_is_swept_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    locked = storage._locked
    swept = []

    def late(path, **options):
        if not swept:
            swept.append(path)
            path.unlink()
        return locked(path, **options)

    monkeypatch.setattr(storage, "_locked", late)
    with storage.writing(tmp_path / "x") as stream:
        stream.write(b"x")
    assert len(swept) == 1
    assert os.listdir(tmp_path) == ["x"]


def test_without_locks_all_is_written_and_nothing_is_swept(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", fail)
    left = tmp_path / f".x.{storage._MACHINE}-{'0' * 16}.tmp"
    left.touch()
    with storage.writing(tmp_path / "x") as stream:
        stream.write(b"x")
    assert (tmp_path / "x").read_bytes() == b"x"
    assert left.exists()


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_folder_is_replaced_with_and_without_an_exchange(tmp_path, monkeypatch, exchanges):
    if not exchanges:
        monkeypatch.setattr(storage, "_exchange", lambda one, other: False)
    elif not sys.platform.startswith("linux"):
        pytest.skip("folders are exchanged on Linux only")
    else:
        monkeypatch.setattr(os, "replace", None)
        (tmp_path / "folder").mkdir()
    for content in ("old", "new"):
        with storage.replacing_folder(tmp_path / "folder", lambda _: None) as temporary:
            (temporary / content).touch()
        assert os.listdir(tmp_path) == ["folder"]
        assert os.listdir(tmp_path / "folder") == [content]


def test_a_folder_that_was_put_aside_is_found_until_there_is_another(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "_exchange", lambda one, other: False)
    folder = tmp_path / "folder"
    assert storage.present(folder) == folder

    def first_of_two(one, other, replace=os.replace):
        replace(one, other)
        raise SystemExit  # killed before the second

    for name in ("first", "second"):
        folder.mkdir()
        with (
            monkeypatch.context() as patch,
            suppress(SystemExit),
            storage.replacing_folder(folder, lambda _: None),
        ):
            (folder / name).touch()
            patch.setattr(os, "replace", first_of_two)
        assert not folder.exists()
        assert os.listdir(storage.present(folder)) == [name]
        with storage.replacing_folder(folder, lambda _: None):
            pass
        assert storage.present(folder) == folder
        assert os.listdir(tmp_path) == ["folder"]
        folder.rmdir()


# --- before there is anything to write -------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "folder_too"),
    [("file/x", True), ("x" * 250, True), ("file/x/y", True), ("missing/x", False)],
)
def test_a_place_that_cannot_be_written_is_refused_before(tmp_path, place, folder_too):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        storage.check_writable(tmp_path / place)
    if folder_too:
        with pytest.raises(StorageError, match="cannot be written"):
            storage.check_writable(tmp_path / place, is_folder=True)
    else:
        storage.check_writable(tmp_path / place, is_folder=True)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
@pytest.mark.parametrize("is_folder", [False, True])
def test_a_file_system_that_takes_no_files_is_refused_before(is_folder):
    with pytest.raises(StorageError, match="cannot be written"):
        storage.check_writable(Path("/proc/x"), is_folder=is_folder)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything"
)
def test_a_folder_that_may_not_be_written_is_refused_before(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="cannot be written: Permission denied"):
        storage.check_writable(tmp_path / "x")
    tmp_path.chmod(0o700)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything"
)
def test_a_folder_that_is_read_only_is_not_replaced(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir(0o500)
    with (
        pytest.raises(StorageError, match="it is read-only"),
        storage.replacing_folder(folder, lambda _: None),
    ):
        pass
    assert os.listdir(tmp_path) == ["folder"]


def test_a_folder_in_the_place_of_a_file_is_refused_before(tmp_path):
    with pytest.raises(InputError, match="is a folder; expected a file"):
        storage.check_writable(tmp_path)
    storage.check_writable(tmp_path, is_folder=True)


def test_what_can_be_written_is_left_as_it_is(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    storage.check_writable(tmp_path / "file")
    storage.check_writable(tmp_path / "new")
    storage.check_writable(tmp_path / "a" / "b" / "c", is_folder=True)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


# --- compressed data that grows -------------------------------------------------------------


def test_a_zstd_bomb_is_refused_before_it_fills_the_memory(tmp_path):
    path = tmp_path / "x.zst"
    path.write_bytes(ZSTD.compress(bytes(400 << 20)))
    assert path.stat().st_size < 50_000
    pieces = []

    def read_all():
        with storage.reading(path) as stream:
            pieces.extend(iter(lambda: len(stream.read(1 << 20)), 0))

    with pytest.raises(FormatError, match="more than 1,000 times its size when decompressed"):
        read_all()
    assert sum(pieces) < 300 << 20
