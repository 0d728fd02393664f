"""Pipes, devices, links, permissions, and leftovers of killed processes."""

import contextlib
import errno
import os
import socket
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from wordclass.errors import (
    FormatError,
    InputError,
    StorageError,
)
from wordclass.storage import files


def read(path):
    with files.open_for_reading(path) as stream:
        return stream.read()


CONTENT = b"".join(b"line %d of some text\n" % k for k in range(20_000))

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")


def in_background(run, *arguments):
    thread = threading.Thread(target=run, args=arguments, daemon=True)
    thread.start()
    return thread


@needs_pipes
@pytest.mark.parametrize("name", ["x", "x.gz", "x.zst"])
def test_a_pipe_is_refused_immediately_and_read_if_streams_are_allowed(tmp_path, monkeypatch, name):
    monkeypatch.setattr(files, "_PIPE_WAIT_SECONDS", 60.0)
    pipe = tmp_path / name
    with files.open_for_writing(tmp_path / f"file-{name}") as stream:
        stream.write(CONTENT)
    os.mkfifo(pipe)
    for read_all in (read, files.read_content):
        with pytest.raises(FormatError, match="a pipe or a device; expected a regular file"):
            read_all(pipe)
    in_background(pipe.write_bytes, (tmp_path / f"file-{name}").read_bytes())
    with files.open_for_reading(pipe, stream=True) as stream:
        assert stream.read() == CONTENT


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero here")
def test_a_device_without_end_is_refused():
    with pytest.raises(FormatError, match="a pipe or a device"):
        read(Path("/dev/zero"))


@needs_pipes
@pytest.mark.parametrize("name", ["x", "x.gz", "x.zst"])
def test_a_pipe_receives_the_content_and_stays_a_pipe(tmp_path, name):
    pipe = tmp_path / name
    received = []
    os.mkfifo(pipe)
    reader = in_background(lambda: received.append(pipe.read_bytes()))
    with files.open_for_writing(pipe) as stream:
        stream.write(CONTENT)
    reader.join(60)
    assert files.is_stream(pipe)
    assert list(tmp_path.iterdir()) == [pipe]
    pipe.unlink()
    pipe.write_bytes(*received)
    assert read(pipe) == CONTENT


@needs_pipes
def test_a_failure_writes_nothing_to_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "x")
    with suppress(KeyboardInterrupt), files.open_for_writing(tmp_path / "x") as stream:
        stream.write(CONTENT)
        raise KeyboardInterrupt
    assert files.is_stream(tmp_path / "x")


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
    files.check_writable(device)
    with files.open_for_writing(device) as stream:
        stream.write(CONTENT)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert list(tmp_path.iterdir()) == [device]
    with pytest.raises(InputError, match="is a file; expected a folder"):
        files.check_folder(device, lambda _: None)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_and_its_target_is_replaced(tmp_path, is_there):
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "x"
    link = tmp_path / "link"
    if is_there:
        target.write_bytes(b"old")
    link.symlink_to(Path("folder", "x"))
    with files.open_for_writing(link) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["folder", "link", "x"]
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(StorageError, match="symbolic links"), files.open_for_writing(link):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="has other permissions")
def test_permissions_are_kept_and_new_ones_follow_the_umask(tmp_path):
    new = tmp_path / "new"
    old = tmp_path / "old"
    old.write_bytes(b"")
    old.chmod(0o604)
    modes = []
    before = os.umask(0o027)
    try:
        for path in (new, old):
            with files.replace_atomically(path) as temporary:
                temporary.write_bytes(b"x")
                modes.append(permissions(temporary))
    finally:
        os.umask(before)
    assert modes == [0o640, 0o600]  # a replacement is private until it is complete
    assert [permissions(new), permissions(old)] == [0o640, 0o604]


def permissions(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away"
)
def test_the_owner_is_kept_if_the_system_allows(tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.write_bytes(b"old")
    os.chown(path, 12345, 54321)
    with files.open_for_writing(path):
        pass
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)

    def refuse(*_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "chown", refuse)
    path.chmod(0o640)
    with files.open_for_writing(path) as stream:
        stream.write(b"new")
    assert path.read_bytes() == b"new"
    assert (path.stat().st_uid, permissions(path)) == (os.geteuid(), 0o640)


# --- what killed processes leave ------------------------------------------------------------

WRITER = """
import sys, time
from pathlib import Path
from wordclass.storage import files
path = Path(sys.argv[1])
replacing = files.replace_atomically if sys.argv[2] == "file" else (
    lambda path: files.replace_folder_atomically(path, lambda _: None))
with replacing(path) as temporary:
    print(temporary, flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is locked there")
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_leftovers_of_a_killed_process_are_removed_but_files_of_a_living_one_are_not(
    tmp_path, kind
):
    path = tmp_path / "x"
    command = [sys.executable, "-c", WRITER, path, kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            temporary = Path(process.stdout.readline().strip())
            assert temporary.parent == tmp_path
            files.remove_leftovers(path)
            with files.open_for_writing(tmp_path / "other"), files.open_for_writing(path):
                pass
            assert temporary.exists()
        finally:
            process.kill()
    files.remove_leftovers(tmp_path / "y")
    assert temporary.exists()
    path.unlink()
    with files.open_for_writing(path):
        pass
    assert sorted(os.listdir(tmp_path)) == ["other", "x"]


def test_only_files_with_temporary_names_of_this_machine_are_removed(tmp_path):
    machine = files._MACHINE_ID
    leftover = f".x.{machine}-{'0' * 16}.tmp"
    unrelated = [
        f".x.{machine}{'0' * 16}.tmp",
        f".x.{'0' * 8}-{'0' * 16}.tmp",
        f".xx.{machine}-{'0' * 16}.tmp",
        f".x.y.{machine}-{'0' * 16}.tmp",
        f".{leftover}",
        "x.tmp",
    ]
    for name in [leftover, *unrelated]:
        (tmp_path / name).touch()
    files.remove_leftovers(tmp_path / "x")
    assert sorted(os.listdir(tmp_path)) == sorted(unrelated)
    files.remove_leftovers(tmp_path / "nowhere" / "x")


def make_socket(path):
    # a short name: there is a limit
    with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(path.parent):
        server.bind(path.name)


def make_device(path):
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("devices cannot be made here")


def make_link(path):
    target = path.parent / "target"
    target.mkdir()
    (target / "precious").touch()
    path.symlink_to(target)


@needs_pipes
@pytest.mark.parametrize("make", [os.mkfifo, make_socket, make_device, make_link])
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_special_files_with_temporary_names_are_not_opened(tmp_path, make, kind):
    unfinished = tmp_path / f".x.{files._MACHINE_ID}-{'0' * 16}.tmp"
    make(unfinished)
    command = [sys.executable, "-c", ONE_WRITE, tmp_path / "x", kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "x").exists()
    assert os.path.lexists(unfinished)
    assert make is not make_link or (tmp_path / "target" / "precious").exists()


ONE_WRITE = WRITER.replace("time.sleep(600)", "pass")


def test_a_temporary_file_removed_before_its_lock_is_created_again(tmp_path, monkeypatch):
    lock = files._lock
    removed = []

    def lock_after_removal(path, **options):
        if not removed:
            removed.append(path)
            path.unlink()
        return lock(path, **options)

    monkeypatch.setattr(files, "_lock", lock_after_removal)
    with files.open_for_writing(tmp_path / "x") as stream:
        stream.write(b"x")
    assert len(removed) == 1
    assert os.listdir(tmp_path) == ["x"]


def test_without_locks_files_are_written_and_leftovers_stay(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", fail)
    leftover = tmp_path / f".x.{files._MACHINE_ID}-{'0' * 16}.tmp"
    leftover.touch()
    with files.open_for_writing(tmp_path / "x") as stream:
        stream.write(b"x")
    assert (tmp_path / "x").read_bytes() == b"x"
    assert leftover.exists()


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_folder_is_replaced_with_and_without_an_exchange(tmp_path, monkeypatch, exchanges):
    if not exchanges:
        monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    elif not sys.platform.startswith("linux"):
        pytest.skip("folders are exchanged on Linux only")
    else:
        monkeypatch.setattr(os, "replace", None)
        (tmp_path / "folder").mkdir()
    for content in ("old", "new"):
        with files.replace_folder_atomically(tmp_path / "folder", lambda _: None) as temporary:
            (temporary / content).touch()
        assert os.listdir(tmp_path) == ["folder"]
        assert os.listdir(tmp_path / "folder") == [content]


def test_the_backup_of_a_folder_is_found_until_the_folder_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    folder = tmp_path / "folder"
    assert files.locate_folder(folder) == folder

    def first_of_two(one, other, replace=os.replace):
        replace(one, other)
        raise SystemExit  # killed before the second

    for name in ("first", "second"):
        folder.mkdir()
        with (
            monkeypatch.context() as patch,
            suppress(SystemExit),
            files.replace_folder_atomically(folder, lambda _: None),
        ):
            (folder / name).touch()
            patch.setattr(os, "replace", first_of_two)
        assert not folder.exists()
        assert os.listdir(files.locate_folder(folder)) == [name]
        with files.replace_folder_atomically(folder, lambda _: None):
            pass
        assert files.locate_folder(folder) == folder
        assert os.listdir(tmp_path) == ["folder"]
        folder.rmdir()
