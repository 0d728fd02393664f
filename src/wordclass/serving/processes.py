"""The processes of a service: a supervisor, which loads the models, and workers, which answer.

The supervisor reads the models and then forks, so that all processes share the same memory. On
SIGHUP it reads the models again, forks new workers, and drains the old ones: they accept no more
connections, answer the requests on existing connections, and ask the clients to reconnect. No
request is lost, and if a model cannot be read, nothing changes. Crashed workers are restarted.
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
_KEEP_ALIVE_SECONDS = 15
_DRAIN_SECONDS = 20.0  # for which old workers keep their connections after a reload
_SHUTDOWN_SECONDS = 10  # for running requests when the service stops
_MAX_HEAD_BYTES = 64 << 10  # of the request line and the headers
_MAX_OVERHEAD_PER_BYTE = 8  # bytes of chunk sizes: a chunk of one byte has five of them
_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}
_DRAIN_SIGNAL = signal.SIGUSR1
_STOP_ACCEPTING_SECONDS = 5.0  # for old workers to stop accepting connections
_MIN_UPTIME_SECONDS = 1.0  # a worker that crashes earlier is restarted after a delay

ServiceFactory = Callable[[], Service]


def open_listening_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket. Port 0 selects a free port.

    Raises
    ------
    StorageError
        The address cannot be listened on, for example because it is in use.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        problem = f"{host}:{port} cannot be listened on: {reason}"
        raise StorageError(problem, hint="choose another --host or --port") from None


@dataclass(eq=False)
class Supervisor:
    """The process that loads the models, and starts, restarts and replaces the workers.

    Parameters
    ----------
    make_service : callable
        A function that reads the models and returns the service.
    sock : socket
        The listening socket.
    n_workers : int
        The number of workers.
    journal : Journal
        The log of the service.
    counters : Counters
        The counters of the service.
    """

    make_service: ServiceFactory
    sock: socket.socket
    n_workers: int
    journal: Journal
    counters: Counters
    _service: Service | None = None
    _workers: dict[int, tuple[int, float]] = field(default_factory=dict)  # number and start time
    _draining: set[int] = field(default_factory=set)
    _n_reloads: int = 0
    # each worker writes a byte once it has stopped accepting connections
    _stop_pipe: tuple[int, int] = field(default_factory=os.pipe)

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        if not hasattr(os, "fork"):
            problem = "wordclass serve cannot run on this system"
            raise InputError(problem, expected="a system that can fork, such as Linux or macOS")
        self._service = self.make_service()
        _freeze_memory()
        _raise_file_limit()
        previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            for number in range(self.n_workers):
                self._fork(number)
            self.journal.write("started", workers=self.n_workers, address=self._address())
            while (received := signal.sigwait(_SIGNALS)) not in (signal.SIGTERM, signal.SIGINT):
                if received == signal.SIGHUP:
                    self._reload()
                else:
                    self._reap_workers()
            self.journal.write("stopping")
            self._stop()
            self.journal.write("stopped")
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)

    def _address(self) -> str:
        host, port, *_ = self.sock.getsockname()
        return f"{host}:{port}"

    def _fork(self, number: int) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        if child := os.fork():
            self._workers[child] = (number, time.monotonic())
            return
        status = 1
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the supervisor handles it
            assert self._service is not None  # noqa: S101 - set by `run`
            self.counters.select_row(number + self.n_workers * (self._n_reloads % 2))
            _run_worker(self._service, self.sock, parent, self._stop_pipe[1])
            status = 0
        except BaseException as error:
            self.journal.write("worker failed", level="error", error=repr(error))
        finally:
            os._exit(status)

    def _reload(self) -> None:
        """Read the models again and replace the workers. If that fails, change nothing."""
        gc.unfreeze()  # so that the memory of the old models can be freed
        try:
            service = self.make_service()
        except (WordClassError, OSError, MemoryError) as error:
            self.journal.write(
                "reload failed; the old models stay", level="error", error=str(error)
            )
            return
        self._service = service
        _freeze_memory()
        self._n_reloads += 1
        old_workers = [*self._workers]
        self._workers = {}
        for number in range(self.n_workers):
            self._fork(number)
        for process in old_workers:
            self._draining.add(process)
            with suppress(ProcessLookupError):
                os.kill(process, _DRAIN_SIGNAL)
        self._wait_until_not_accepting(len(old_workers))
        self.journal.write("reloaded", models=[*service.models])

    def _wait_until_not_accepting(self, n_workers: int) -> None:
        """Wait until the old workers accept no more connections, so that new ones get the rest."""
        deadline = time.monotonic() + _STOP_ACCEPTING_SECONDS
        reader = self._stop_pipe[0]
        while n_workers > 0 and (seconds := deadline - time.monotonic()) > 0:
            if select.select([reader], [], [], seconds)[0]:
                n_workers -= len(os.read(reader, n_workers))

    def _reap_workers(self) -> None:
        """Reap exited workers and restart crashed ones."""
        for process in [*self._workers, *self._draining]:
            exited, status = os.waitpid(process, os.WNOHANG)
            if not exited:
                continue
            self._draining.discard(process)
            if process in self._workers:
                number, start_time = self._workers.pop(process)
                self.journal.write("worker died", level="error", status=status)
                if time.monotonic() - start_time < _MIN_UPTIME_SECONDS:
                    time.sleep(_MIN_UPTIME_SECONDS)
                self._fork(number)

    def _stop(self) -> None:
        running = {*self._workers, *self._draining}
        for process in running:
            os.kill(process, signal.SIGTERM)
        deadline = time.monotonic() + _SHUTDOWN_SECONDS + 2
        while running and time.monotonic() < deadline:
            running -= {process for process in running if os.waitpid(process, os.WNOHANG)[0]}
            time.sleep(0.02)
        for process in running:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def _freeze_memory() -> None:
    """Exclude existing objects from garbage collection, which would copy their shared memory."""
    gc.collect()
    gc.freeze()


def _raise_file_limit() -> None:
    """Allow as many connections as the system permits."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))


def _run_worker(service: Service, sock: socket.socket, parent: int, stop_pipe: int) -> None:
    """Answer requests until a signal stops or drains this process."""
    config = uvicorn.Config(
        service, http=_Protocol, loop="auto", lifespan="off", ws="none", log_config=None,
        access_log=False, server_header=False, proxy_headers=False, backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS, timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )  # fmt: skip
    _Protocol.head_seconds = service.limits.body_seconds
    logger = logging.getLogger("uvicorn.error")
    logger.handlers = [_JournalHandler(service.journal)]
    logger.propagate = False
    logger.setLevel(logging.WARNING)
    server = _Server(config, service, parent, stop_pipe)
    signal.signal(_DRAIN_SIGNAL, lambda *_: server.drain())
    server.run(sockets=[sock])


class _JournalHandler(logging.Handler):
    """A log handler that writes messages of uvicorn to the journal, such as of invalid HTTP."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        self._journal.write(record.getMessage(), level=record.levelname.lower())


class _Server(uvicorn.Server):
    """A server of uvicorn that can drain: it finishes its connections while another takes over."""

    def __init__(
        self, config: uvicorn.Config, service: Service, parent: int, stop_pipe: int
    ) -> None:
        super().__init__(config)
        self._service = service
        self._parent = parent
        self._stop_pipe = stop_pipe

    def drain(self) -> None:
        self._service.is_draining = True
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        is_orphan = os.getppid() != self._parent
        return await super().on_tick(counter) or is_orphan

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._service.is_draining:
            for server in self.servers:
                server.close()
            os.write(self._stop_pipe, b"x")
            deadline = time.monotonic() + _DRAIN_SECONDS
            while self.server_state.connections and time.monotonic() < deadline:
                await asyncio.sleep(0.05)
        await super().shutdown(sockets)


class _Protocol(HttpToolsProtocol):
    """The protocol of uvicorn with limits on the head of a request, and without trailers.

    The head must arrive within a limited time and have a limited size. The sizes of chunks and the
    trailers, which surround the body, may not be much larger than the body.
    """

    head_seconds = 10.0

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401 - asyncio's
        super().connection_made(transport)
        self._n_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._n_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._n_bytes > _MAX_HEAD_BYTES:
            self.send_400_response("The head of the request is too large.")
        elif self._timer is None and (self.cycle is None or self.cycle.response_complete):
            self._start_timer()

    def on_headers_complete(self) -> None:
        self._stop_timer()
        super().on_headers_complete()
        # The application already has the headers. Trailers, which arrive later, are discarded.
        self.headers = deque(maxlen=0)  # type: ignore[assignment]

    def on_body(self, body: bytes) -> None:
        self._n_bytes -= (1 + _MAX_OVERHEAD_PER_BYTE) * len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._n_bytes = 0
        super().on_message_complete()

    def _start_timer(self) -> None:
        self._n_bytes = 0
        self._timer = self.loop.call_later(self.head_seconds, self._close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        self.transport.close()
