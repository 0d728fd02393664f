"""The processes of a service: one that loads the models, and those that answer requests.

The first one reads the models and then forks, so that all share the same memory. On SIGHUP it reads
them again, forks anew, and lets the old processes finish: they accept no more connections, answer
what comes on those they have, and ask for these to be closed. So no request is lost, and a model
that cannot be read changes nothing. What dies is started again.
"""

import asyncio
import gc
import logging
import os
import select
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from wordclass.errors import InputError, StorageError, WordClassError
from wordclass.serving.app import Service
from wordclass.serving.journal import Counters, Journal

_BACKLOG = 2048
_KEEP_ALIVE = 15  # seconds
_FAREWELL = 20.0  # seconds that old processes keep their connections after a reload
_GRACE = 10  # seconds for requests under way when the service stops
_LARGEST_HEAD = 64 << 10  # bytes of request line and headers
_MAX_OVERHEAD_PER_BYTE = 8  # bytes of chunk sizes: a chunk of one byte has five of them
_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}
_LEAVE = signal.SIGUSR1
_PATIENCE = 5.0  # seconds for old processes to stop accepting
_SOON = 1.0  # seconds: a process that dies so early is not started again at once

Make = Callable[[], Service]


def open_listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any free one."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        told = getattr(error, "strerror", None) or error
        raise StorageError(f"{host}:{port} cannot be listened on: {told}") from None


@dataclass(eq=False)
class Supervisor:
    """The processes of a service, seen from the one that started them.

    Parameters
    ----------
    make
        What reads the models and returns the service.
    sock
        Where to listen.
    n_workers
        How many processes answer.
    journal, counters
        Of the service.
    """

    make: Make
    sock: socket.socket
    n_workers: int
    journal: Journal
    counters: Counters
    _service: Service | None = None
    _workers: dict[int, tuple[int, float]] = field(default_factory=dict)  # number, start
    _leaving: set[int] = field(default_factory=set)
    _n_reloads: int = 0
    _doors: tuple[int, int] = field(default_factory=os.pipe)  # a byte for each that was closed

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        if not hasattr(os, "fork"):
            raise InputError("wordclass serve needs a system that can fork, such as Linux")
        self._service = self.make()
        _keep_shared()
        _raise_file_limit()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            for number in range(self.n_workers):
                self._fork(number)
            self.journal.write("started", workers=self.n_workers, address=self._address())
            while (found := signal.sigwait(_SIGNALS)) not in (signal.SIGTERM, signal.SIGINT):
                if found == signal.SIGHUP:
                    self._reload()
                else:
                    self._bury()
            self.journal.write("stopping")
            self._stop()
            self.journal.write("stopped")
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _address(self) -> str:
        host, port, *_ = self.sock.getsockname()
        return f"{host}:{port}"

    def _fork(self, number: int) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        if child := os.fork():
            self._workers[child] = number, time.monotonic()
            return
        status = 1
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the first process sees to it
            assert self._service is not None  # noqa: S101 - `run` made it
            self.counters.own(number + self.n_workers * (self._n_reloads % 2))
            _answer(self._service, self.sock, parent, self._doors[1])
            status = 0
        except BaseException as error:
            self.journal.write("worker failed", level="error", error=repr(error))
        finally:
            os._exit(status)

    def _reload(self) -> None:
        """Read the models again; where that fails, leave everything as it is."""
        gc.unfreeze()  # the models that are replaced can go
        try:
            service = self.make()
        except (WordClassError, OSError, MemoryError) as error:
            self.journal.write(
                "reload failed; the old models stay", level="error", error=str(error)
            )
            return
        self._service = service
        _keep_shared()
        self._n_reloads += 1
        old = [*self._workers]
        self._workers = {}
        for number in range(self.n_workers):
            self._fork(number)
        for process in old:
            self._leaving.add(process)
            with suppress(ProcessLookupError):
                os.kill(process, _LEAVE)
        self._wait_for_doors(len(old))
        self.journal.write("reloaded", models=[*service.models])

    def _wait_for_doors(self, n_old: int) -> None:
        """Wait until old processes accept no more connections: all new ones meet the new models."""
        deadline = time.monotonic() + _PATIENCE
        while n_old > 0 and (left := deadline - time.monotonic()) > 0:
            if select.select([self._doors[0]], [], [], left)[0]:
                n_old -= len(os.read(self._doors[0], n_old))

    def _bury(self) -> None:
        """Take note of processes that ended, and start others where they should not have."""
        for process in [*self._workers, *self._leaving]:
            ended, status = os.waitpid(process, os.WNOHANG)
            if not ended:
                continue
            self._leaving.discard(process)
            if process in self._workers:
                number, started = self._workers.pop(process)
                self.journal.write("worker died", level="error", status=status)
                if time.monotonic() - started < _SOON:
                    time.sleep(_SOON)
                self._fork(number)

    def _stop(self) -> None:
        left = {*self._workers, *self._leaving}
        for process in left:
            os.kill(process, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE + 2
        while left and time.monotonic() < deadline:
            left -= {process for process in left if os.waitpid(process, os.WNOHANG)[0]}
            time.sleep(0.02)
        for process in left:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def _keep_shared() -> None:
    """Keep the garbage collector off what is there now: looking at it would copy it."""
    gc.collect()
    gc.freeze()


def _raise_file_limit() -> None:
    """Allow as many connections as the system does."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _answer(service: Service, sock: socket.socket, parent: int, door: int) -> None:
    """Answer requests until told to stop, or to leave."""
    config = uvicorn.Config(
        service, http=_Protocol, loop="auto", lifespan="off", ws="none", log_config=None,
        access_log=False, server_header=False, proxy_headers=False, backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE, timeout_graceful_shutdown=_GRACE,
    )  # fmt: skip
    _Protocol.head_seconds = service.limits.body_seconds
    logger = logging.getLogger("uvicorn.error")
    logger.handlers, logger.propagate = [_ToJournal(service.journal)], False
    logger.setLevel(logging.WARNING)
    server = _Server(config, service, parent, door)
    signal.signal(_LEAVE, lambda *_: server.leave())
    server.run(sockets=[sock])


class _ToJournal(logging.Handler):
    """Writes down what uvicorn has to say, such as of a request that is no HTTP."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        self._journal.write(record.getMessage(), level=record.levelname.lower())


class _Server(uvicorn.Server):
    """uvicorn's, which can also leave: finish with its connections while another takes over."""

    def __init__(self, config: uvicorn.Config, service: Service, parent: int, door: int) -> None:
        super().__init__(config)
        self._service, self._parent, self._door = service, parent, door

    def leave(self) -> None:
        self._service.is_leaving = True
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        is_orphan = os.getppid() != self._parent
        return await super().on_tick(counter) or is_orphan

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._service.is_leaving:
            for server in self.servers:
                server.close()
            os.write(self._door, b"x")
            deadline = time.monotonic() + _FAREWELL
            while self.server_state.connections and time.monotonic() < deadline:
                await asyncio.sleep(0.05)
        await super().shutdown(sockets)


class _Protocol(HttpToolsProtocol):
    """uvicorn's protocol with limits on the head of a request, and without trailers.

    The head must arrive within a time and a size; what surrounds the body (sizes of chunks,
    trailers) may not be much larger than the body.
    """

    head_seconds = 10.0

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401 - asyncio's
        super().connection_made(transport)
        self._n_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._n_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._n_bytes > _LARGEST_HEAD:
            self.send_400_response("The head of the request is too large.")
        elif self._timer is None and (self.cycle is None or self.cycle.response_complete):
            self._wait()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()
        # The application has the list of headers: trailers, which arrive later, are not among them.
        self.headers = deque(maxlen=0)  # type: ignore[assignment]

    def on_body(self, body: bytes) -> None:
        self._n_bytes -= (1 + _MAX_OVERHEAD_PER_BYTE) * len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._n_bytes = 0
        super().on_message_complete()

    def _wait(self) -> None:
        self._n_bytes = 0
        self._timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        self.transport.close()
