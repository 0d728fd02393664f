"""Addresses on a web server of this machine that is silent, refuses, or breaks off."""

import socket
import threading
from contextlib import contextmanager, suppress

import pytest

from wordclass.corpus.shards import ShardedCorpus
from wordclass.errors import MissingDataError, StorageError
from wordclass.storage import addresses, files
from wordclass.storage.files import Address

pytest.importorskip("aiohttp")

MISSING_FILE_RESPONSE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
TRUNCATED_RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nthe first bytes"


@contextmanager
def server_that_sends(answer):
    """Give the address of a file, and a list of connections: each gets this, and stays open."""
    connections = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept():
            while True:
                try:
                    connection, _ = server.accept()
                    connections.append(connection)
                    connection.recv(1 << 16)
                    connection.sendall(answer)
                except OSError:
                    return

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/docs.jsonl", connections
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for connection in connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            thread.join(60)
            for connection in connections:
                connection.close()


USES = {
    "exists": Address.exists,
    "is_file": Address.is_file,
    "is_dir": Address.is_dir,
    "identity": Address.identity,
    "size": lambda address: address.size,
    "files": Address.files,
    "content": files.read_content,
    "corpus": lambda address: ShardedCorpus.of([address.url]),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_silent_server_is_asked_at_most_twice(monkeypatch, use):
    monkeypatch.setattr(addresses, "_MAX_SILENCE_SECONDS", 0.2)
    with (
        server_that_sends(b"") as (url, connections),
        pytest.raises(StorageError, match=rf"{url}: cannot be read: no answer within 0\.2 seconds"),
    ):
        use(Address(url))
    assert 1 <= len(connections) <= 2


def test_two_timeouts_take_less_than_a_minute():
    assert 2 * addresses._MAX_SILENCE_SECONDS < 60


def test_a_server_that_stops_sending_raises_an_error(monkeypatch):
    monkeypatch.setattr(addresses, "_MAX_SILENCE_SECONDS", 0.2)
    with (
        server_that_sends(TRUNCATED_RESPONSE) as (url, _),
        pytest.raises(StorageError, match=r"cannot be read: no answer within 0\.2 seconds"),
    ):
        files.read_content(Address(url))


@pytest.mark.parametrize("name", ["exists", "is_file"])
def test_a_missing_file_is_not_an_error_but_a_missing_server_is(name):
    with server_that_sends(MISSING_FILE_RESPONSE) as (url, _):
        assert USES[name](Address(url)) is False
        assert Address(url).identity() is None
        with pytest.raises(MissingDataError, match="no such file"):
            files.read_content(Address(url))
    with pytest.raises(StorageError, match="cannot be read"):
        USES[name](Address(url))
