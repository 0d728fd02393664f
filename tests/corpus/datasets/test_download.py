"""Downloads from a server on this machine that does what servers do, good and bad."""

import hashlib
import multiprocessing
import os
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from wordclass import progress
from wordclass.corpus.datasets import _download
from wordclass.corpus.datasets._download import Download, fetch
from wordclass.errors import FormatError, MissingDataError, StorageError

CONTENT = bytes(range(256)) * 2000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Server of CONTENT. `cuts` are the numbers of bytes after which connections are lost."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.version = '"one"'
        self.cuts = []
        self.requested_ranges = []
        self.knows_ranges = True
        self.sends_length = True

    def url(self, path="file"):
        return f"http://127.0.0.1:{self.server_port}/{path}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        range_header = self.headers.get("Range")
        server.requested_ranges.append(range_header)
        if "missing" in self.path:
            self.send_error(404)
            return
        start = self._start(range_header)
        if start and start >= len(server.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(server.content)}")
            self.end_headers()
            return
        body = server.content[start:]
        self.send_response(206 if start else 200)
        if start:
            last = len(server.content) - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{len(server.content)}")
        if server.sends_length:
            self.send_header("Content-Length", str(len(body)))
        if server.version:
            self.send_header("ETag", server.version)
        self.end_headers()
        cut = server.cuts.pop(0) if server.cuts else len(body)
        self.wfile.write(body[:cut])

    def _start(self, range_header):
        valid = self.headers.get("If-Range") in (None, self.server.version)
        if not range_header or not self.server.knows_ranges or not valid:
            return 0
        return int(range_header.removeprefix("bytes=").rstrip("-"))

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as running:
        threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture
def file(server):
    return Download("corpus.tar.gz", (server.url(),), SHA256)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_downloaded_once(tmp_path, server, file):
    reports = []
    with progress.on_progress(lambda *step: reports.append(step)):
        path = fetch(file, tmp_path / "new" / "folder")
    assert path.read_bytes() == CONTENT
    assert names(path.parent) == ["corpus.tar.gz"]
    assert reports[0] == ("downloading corpus.tar.gz", 0, len(CONTENT))
    assert reports[-1] == ("downloading corpus.tar.gz", len(CONTENT), len(CONTENT))
    assert fetch(file, path.parent) == path
    assert server.requested_ranges == [None]


def test_a_lost_connection_is_resumed(tmp_path, server, file):
    server.cuts = [100_000, 50_000]
    assert fetch(file, tmp_path).read_bytes() == CONTENT
    assert server.requested_ranges == [None, "bytes=100000-", "bytes=150000-"]


def test_the_next_call_resumes_the_download_of_the_last_one(tmp_path, server, file):
    server.cuts = [100_000, 0, 0]
    with pytest.raises(MissingDataError, match=r"lost after 100,000 of 512,000 bytes.*put it into"):
        fetch(file, tmp_path)
    assert not (tmp_path / "corpus.tar.gz").exists()
    assert fetch(file, tmp_path).read_bytes() == CONTENT
    assert server.requested_ranges[-1] == "bytes=100000-"
    assert names(tmp_path) == ["corpus.tar.gz"]


def test_without_a_checksum_the_version_of_the_server_decides(tmp_path, server):
    file = Download("corpus.tar.gz", (server.url(),))
    server.cuts = [100_000, 0, 0]
    with pytest.raises(MissingDataError):
        fetch(file, tmp_path)
    server.content = CONTENT[::-1]
    server.version = '"two"'
    assert fetch(file, tmp_path).read_bytes() == CONTENT[::-1]
    assert names(tmp_path) == ["corpus.tar.gz"]


@pytest.mark.parametrize("version", ["", 'W/"weak"'])
def test_without_checksum_and_version_a_download_begins_anew(tmp_path, server, version):
    server.version = version
    server.cuts = [100_000]
    assert fetch(Download("a", (server.url(),)), tmp_path).read_bytes() == CONTENT
    assert server.requested_ranges == [None, None]


def test_a_server_without_ranges_gives_all_again(tmp_path, server, file):
    server.knows_ranges = False
    server.cuts = [100_000]
    assert fetch(file, tmp_path).read_bytes() == CONTENT


def test_a_part_that_is_complete_needs_no_more(tmp_path, server, file):
    (tmp_path / ".corpus.tar.gz.part").write_bytes(CONTENT)
    assert fetch(file, tmp_path).read_bytes() == CONTENT


def test_a_partial_file_that_is_too_long_is_deleted(tmp_path, server, file):
    (tmp_path / ".corpus.tar.gz.part").write_bytes(CONTENT + b"more")
    assert fetch(file, tmp_path).read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_nothing(tmp_path, server):
    file = Download("corpus.tar.gz", (server.url(),), "0" * 64)
    with pytest.raises(FormatError, match=f"sha256 is {SHA256}, expected 000"):
        fetch(file, tmp_path)
    assert names(tmp_path) == []


def test_a_part_of_another_file_is_noticed_by_the_checksum(tmp_path, server, file):
    (tmp_path / ".corpus.tar.gz.part").write_bytes(b"something else")
    with pytest.raises(FormatError):
        fetch(file, tmp_path)
    assert fetch(file, tmp_path).read_bytes() == CONTENT


def test_the_next_place_is_tried_where_one_fails(tmp_path, server):
    urls = (server.url("missing"), "http://127.0.0.1:1/file", server.url())
    assert fetch(Download("a", urls, SHA256), tmp_path).read_bytes() == CONTENT


def test_the_error_for_a_missing_file_names_all_addresses(tmp_path, server):
    file = Download("a", (server.url("missing"), server.url("missing2")))
    with pytest.raises(MissingDataError, match=r"missing: .* answered 404.*missing2: .*404"):
        fetch(file, tmp_path)
    assert names(tmp_path) == []


def test_without_internet_the_error_says_so(tmp_path):
    with pytest.raises(MissingDataError, match="cannot be reached"):
        fetch(Download("a", ("http://no-such-host.invalid/a",)), tmp_path)


def test_a_server_that_never_answers_causes_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(_download, "_TIMEOUT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/a"
        with pytest.raises(MissingDataError, match="timed out"):
            fetch(Download("a", (url,)), tmp_path)
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):  # it was asked once
            silent.accept()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_a_pipe_named_like_a_part_is_left_alone(tmp_path, file):
    pipe = tmp_path / ".corpus.tar.gz.part"
    os.mkfifo(pipe)
    thread = threading.Thread(target=fetch, args=(file, tmp_path / "."), daemon=True)
    thread.start()
    thread.join(60)
    assert (tmp_path / "corpus.tar.gz").read_bytes() == CONTENT
    assert pipe.is_fifo()


def test_a_server_that_does_not_tell_the_length_is_believed(tmp_path, server, file):
    server.sends_length = False
    assert fetch(file, tmp_path).read_bytes() == CONTENT


def test_a_file_that_is_there_is_never_touched(tmp_path, server, file):
    (tmp_path / "corpus.tar.gz").write_bytes(b"mine")
    assert fetch(file, tmp_path).read_bytes() == b"mine"
    assert server.requested_ranges == []


def test_a_folder_that_cannot_be_written_is_an_error_of_storage(tmp_path, file):
    (tmp_path / "folder").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be written"):
        fetch(file, tmp_path / "folder" / "below")


def test_a_part_of_somebody_who_is_still_writing_is_left_alone(tmp_path, file):
    part = tmp_path / ".corpus.tar.gz.part-0123"
    part.write_bytes(b"theirs")
    assert fetch(file, tmp_path).read_bytes() == CONTENT
    assert part.read_bytes() == b"theirs"


def test_parts_of_somebody_who_was_killed_are_taken_over(tmp_path, server, file):
    hour_ago = time.time() - 3600
    for name in ("0123", "4567"):
        part = tmp_path / f".corpus.tar.gz.part-{name}"
        part.write_bytes(CONTENT[:1000])
        os.utime(part, (hour_ago, hour_ago))
    assert fetch(file, tmp_path).read_bytes() == CONTENT
    assert server.requested_ranges == ["bytes=1000-"]
    assert names(tmp_path) == ["corpus.tar.gz"]


def test_two_processes_may_fetch_the_same_file_at_once(tmp_path, server, file):
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=fetch, args=(file, tmp_path)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert (tmp_path / "corpus.tar.gz").read_bytes() == CONTENT
    assert names(tmp_path) == ["corpus.tar.gz"]
