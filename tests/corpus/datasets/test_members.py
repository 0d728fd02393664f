import io
import tarfile
import zipfile

import pytest

from wordclass import progress
from wordclass.corpus.datasets import _members
from wordclass.errors import FormatError, StorageError

FILES = {"top/b/2": b"two", "top/a/1": b"one" * 1000, "top/.hidden": b"no", "other": b"no"}


def is_accepted(name):
    return name.startswith("top/")


def read(*paths):
    return {member.name: member.data for member in _members.read(paths, is_accepted, "reading")}


ACCEPTED = {"top/a/1": b"one" * 1000, "top/b/2": b"two"}


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tgz", "tar.xz", "tar.bz2"])
def test_a_tar_archive_is_read(tmp_path, write_tar, ending):
    mode = {"tar": "w", "tar.xz": "w:xz", "tar.bz2": "w:bz2"}.get(ending, "w:gz")
    assert read(write_tar(tmp_path / f"corpus.{ending}", FILES, mode)) == ACCEPTED


def test_a_zip_archive_and_a_folder_are_read_in_the_order_of_names(
    tmp_path, write_zip, write_folder
):
    assert list(read(write_zip(tmp_path / "corpus.zip", FILES))) == sorted(ACCEPTED)
    write_folder(tmp_path / "corpus", FILES)
    assert list(read(tmp_path / "corpus" / "top").items()) == sorted(ACCEPTED.items())


def test_plain_files_are_members_too(tmp_path):
    (tmp_path / "a.sgm").write_bytes(b"text")
    (member,) = _members.read([tmp_path / "a.sgm"], lambda name: True, "reading")
    assert (member.name, member.data, member.stem) == ("a.sgm", b"text", "a")
    assert member.place == str(tmp_path / "a.sgm")


def test_zip_archives_inside_a_tar_archive_are_opened(tmp_path, write_tar, write_zip):
    inner = write_zip(tmp_path / "inner.zip", FILES).read_bytes()
    assert read(write_tar(tmp_path / "corpus.tar.gz", {"days/1.zip": inner})) == ACCEPTED


def test_nothing_is_written_whatever_the_names_in_an_archive(tmp_path, write_tar, write_zip):
    evil = {"../../top/evil": b"x", "/top/evil": b"x"}
    folder = tmp_path / "deep" / "folder"
    for path in (write_tar(folder / "a.tar.gz", evil), write_zip(folder / "a.zip", evil)):
        assert len(list(_members.read([path], lambda name: True, "reading"))) == 2
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "a.tar.gz",
        "a.zip",
        "deep",
        "folder",
    ]


def test_links_in_an_archive_are_skipped(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        info = tarfile.TarInfo("top/link")
        info.type = tarfile.SYMTYPE
        info.linkname = "/etc/passwd"
        archive.addfile(info)
    assert read(tmp_path / "a.tar") == {}


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("kind", ["tar.gz", "tar.xz", "zip"])
def test_an_archive_that_was_cut_short_is_refused(tmp_path, write_tar, write_zip, kind, share):
    path = tmp_path / f"corpus.{kind}"
    noise = {f"top/{k}": bytes((k * j * j) % 251 for j in range(3000)) for k in range(1, 20)}
    if kind == "zip":
        write_zip(path, noise)
    else:
        write_tar(path, noise, "w:xz" if kind.endswith("xz") else "w:gz")
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(FormatError, match=f"corpus.{kind}: damaged"):
        read(path)


def test_a_flipped_bit_is_noticed(tmp_path, write_tar, write_zip):
    for path in (
        write_tar(tmp_path / "a.tar.gz", {"top/1": b"abc" * 999}),
        write_zip(tmp_path / "a.zip", {"top/1": b"abc" * 999}),
    ):
        content = bytearray(path.read_bytes())
        content[60] ^= 0x10
        path.write_bytes(content)
        with pytest.raises(FormatError, match="damaged"):
            read(path)


@pytest.mark.parametrize(
    "content", [b"", b"<html>not found</html>" * 99, b"\x1f\x8b", b"PK\x03\x04"]
)
@pytest.mark.parametrize("name", ["a.tar.gz", "a.zip", "a.tgz"])
def test_what_is_no_archive_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match="damaged or cut short"):
        read(tmp_path / name)


def test_a_file_too_large_for_a_document_is_refused(tmp_path, write_tar, write_zip, monkeypatch):
    monkeypatch.setattr(_members, "_MAX_MEMBER_BYTES", 100)
    bomb = {"top/bomb": b"0" * 101}
    for path in (write_tar(tmp_path / "a.tar.gz", bomb), write_zip(tmp_path / "a.zip", bomb)):
        with pytest.raises(FormatError, match="too many"):
            read(path)


def test_an_encrypted_zip_is_refused(tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("top/1", b"secret")
    content = bytearray(stream.getvalue())
    content[6] |= 1  # the flag in the header of the file and in the directory
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(FormatError, match="password"):
        read(tmp_path / "a.zip")


def test_a_file_that_is_gone_is_an_error_of_storage(tmp_path):
    with pytest.raises(StorageError):
        list(_members.read([tmp_path / "gone.sgm"], lambda name: True, "reading"))


def test_progress_is_reported(tmp_path, write_zip):
    paths = [write_zip(tmp_path / f"{k}.zip", FILES) for k in range(3)]
    reports = []
    with progress.on_progress(lambda *step: reports.append(step)):
        list(_members.read(paths, is_accepted, "reading zips"))
    assert reports[0] == ("reading zips", 0, 3)
    assert reports[-1] == ("reading zips", 3, 3)
