"""Requests that arrive together are predicted together, as far as there is room for them.

A prediction of one text has a fixed cost: on 20 classes about 100 microseconds, of which the text
itself is a tenth. So whatever has arrived when the model is free is predicted at once. What is done
in no time is done on the spot; the rest in the one thread that the models of a process share, so
that the process answers other requests in the meantime.

Work that nobody waits for any more, because its time is up or the client has gone, is not started,
or is stopped where it next reports its progress.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from wordclass import progress
from wordclass.explorer.views import Exploration, JsonObject
from wordclass.serving.openapi import Refused

Result = TypeVar("Result")

_MOST_TEXTS = 2048  # predicted together
_IN_NO_TIME = 0.002  # seconds that other requests may wait
_MAX_UNINTERRUPTED_CHARS = 1 << 20
_CHARS_PER_TEXT = 100  # what a text costs beside its characters
_SECONDS_BEFORE_WATCHING = 0.05  # most answers are there by then, and need no watching of clients


class Abandoned(Exception):  # noqa: N818 - not an error
    """Nobody waits for this work any more."""


@dataclass(eq=False)
class Worker:
    """One thread for all that takes time, and how many requests may wait for it."""

    most_waiting: int
    most_seconds: float
    n_waiting: int = 0
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    async def wait_for(self, future: "asyncio.Future[Result]", receive: Receive) -> Result:
        """Return the result of a future, or cancel the future if nobody needs it any more.

        Parameters
        ----------
        future
            The answer to a request.
        receive : callable
            Of the request, whose body was read.

        Raises
        ------
        Refused
            Too many requests wait already, or the answer takes too long.
        ClientDisconnect
            The client has gone.
        """
        if self.n_waiting >= self.most_waiting:
            future.cancel()
            problem = f"{self.n_waiting:,} requests wait already; try again in a second"
            raise Refused(503, problem, {"Retry-After": "1"})
        self.n_waiting += 1
        client = _Client(receive, future)
        try:
            async with asyncio.timeout(self.most_seconds):
                return await future
        except TimeoutError:
            problem = f"no answer within {self.most_seconds:g} seconds"
            raise Refused(503, problem, {"Retry-After": "5"}) from None
        except asyncio.CancelledError:
            if client.has_gone:
                raise ClientDisconnect from None
            raise
        finally:
            self.n_waiting -= 1
            client.stop_watching()

    def start(
        self, job: Callable[[], Result], is_wanted: Callable[[], bool]
    ) -> "asyncio.Future[Result]":
        """Run a job in the thread, as long as it is wanted."""

        def stop_if_unwanted(_step: str, _done: int, _total: int | None) -> None:
            if not is_wanted():
                raise Abandoned

        def run() -> Result:
            with progress.on_progress(stop_if_unwanted):
                stop_if_unwanted("", 0, None)
                return job()

        return asyncio.get_running_loop().run_in_executor(self._thread, run)

    async def run(self, job: Callable[[], Result], receive: Receive) -> Result:
        """Run a job in the thread, and wait for it."""
        is_abandoned = threading.Event()
        future = self.start(job, is_wanted=lambda: not is_abandoned.is_set())
        try:
            return await self.wait_for(future, receive)
        finally:
            is_abandoned.set()


class _Client:
    """Cancels a future when its client disconnects. Watching starts after a short while."""

    def __init__(self, receive: Receive, future: "asyncio.Future[Any]") -> None:
        self._receive = receive
        self._future = future
        self._task: asyncio.Task[None] | None = None
        self.has_gone = False
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_SECONDS_BEFORE_WATCHING, self._watch)

    def stop_watching(self) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _watch(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._cancel_when_gone())

    async def _cancel_when_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.has_gone = True
        self._future.cancel()


@dataclass(frozen=True, eq=False)
class _Request:
    texts: Sequence[str]
    k: int
    answer: "asyncio.Future[list[list[JsonObject]]]"


class Batcher:
    """Predicts the texts of several requests together, by one model."""

    def __init__(self, views: Exploration, worker: Worker) -> None:
        self._views, self._worker = views, worker
        self._waiting: list[_Request] = []
        self._is_busy = False
        self._per_character = 0.0  # seconds, of the slowest batch lately

    async def predict(
        self, texts: Sequence[str], k: int, receive: Receive
    ) -> list[list[JsonObject]]:
        """Return the k best classes of each text, unless the client disconnects before."""
        loop = asyncio.get_running_loop()
        request = _Request(texts, k, loop.create_future())
        self._waiting.append(request)
        if not self._is_busy:
            self._is_busy = True
            loop.call_soon(self._next)  # whatever has arrived by then goes with it
        return await self._worker.wait_for(request.answer, receive)

    def _next(self) -> None:
        """Predict what is waiting; then what has come in the meantime."""
        taken: list[_Request] = []
        n_texts = 0
        while self._waiting and (not taken or n_texts < _MOST_TEXTS):
            request = self._waiting.pop(0)
            if not request.answer.done():
                taken.append(request)
                n_texts += len(request.texts)
        if not taken:
            self._is_busy = False
            return
        n_characters = sum(len(text) + 100 for each in taken for text in each.texts) + 1000
        if self._per_character and n_characters * self._per_character < _IN_NO_TIME:
            self._answer(taken, self._predicted(taken, n_characters))
            asyncio.get_running_loop().call_soon(self._next)
            return

        def finish(done: "asyncio.Future[list[Any]]") -> None:
            if not isinstance(done.exception(), Abandoned):
                self._answer(taken, done.result())
            self._next()

        def is_wanted() -> bool:
            return not all(request.answer.done() for request in taken)

        job = self._worker.start(lambda: self._predicted(taken, n_characters), is_wanted)
        job.add_done_callback(finish)

    def _predicted(self, taken: list[_Request], n_characters: int) -> list[Any]:
        """Return what to answer to each request: its predictions, or the exception."""
        start = time.perf_counter()
        k = max(request.k for request in taken)
        try:
            texts = [text for request in taken for text in request.texts]
            found: list[Any] = []
            for some in _slices(texts):
                progress.report("predicting", len(found), len(texts))
                found += self._views.predict(some, k)
        except Abandoned:
            raise
        except Exception as error:
            if len(taken) == 1:
                return [error]
            # one of them, maybe: the others shall have their answers
            return [self._predicted([request], n_characters)[0] for request in taken]
        answers, end = [], 0
        for request in taken:
            begin, end = end, end + len(request.texts)
            answers.append([row[: request.k] for row in found[begin:end]])
        needed = (time.perf_counter() - start) / n_characters
        self._per_character = max(needed, 0.9 * self._per_character)
        return answers

    @staticmethod
    def _answer(taken: list[_Request], answers: list[Any]) -> None:
        for request, answer in zip(taken, answers, strict=True):
            if request.answer.done():
                continue  # nobody waits any more
            if isinstance(answer, Exception):
                request.answer.set_exception(answer)
            else:
                request.answer.set_result(answer)


def _slices(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Cut texts into slices, between which their prediction may be stopped."""
    start = 0
    while start < len(texts):
        end = start
        n_characters = 0
        while end < len(texts):
            n_characters += len(texts[end]) + _CHARS_PER_TEXT
            if end > start and n_characters > _MAX_UNINTERRUPTED_CHARS:
                break
            end += 1
        yield texts[start:end]
        start = end
