"""Predict the texts of waiting requests in batches, and limit the number of waiting requests.

A prediction has a fixed cost: with 20 classes about 100 microseconds, ten times the cost of one
text. Therefore all requests that are waiting when the model is free are predicted together. Short
batches run in the event loop. Others run in the one thread that the models of a process share, so
that the process can answer other requests in the meantime.

Work is abandoned once its time is up or its client has disconnected: it is not started, or it is
stopped when it next reports its progress.
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
from wordclass.serving.openapi import RequestError

Result = TypeVar("Result")

_MAX_BATCH_TEXTS = 2048
_MAX_BLOCKING_SECONDS = 0.002  # for which a prediction may block the event loop
_MAX_UNINTERRUPTED_CHARS = 1 << 20
_CHARS_PER_TEXT = 100  # the fixed cost of a text, expressed in characters
_CHARS_PER_BATCH = 1000  # the fixed cost of a batch, expressed in characters
_SECONDS_BEFORE_WATCHING = 0.05  # most answers are ready before, without watching the client


class AbandonedError(Exception):
    """Nobody waits for the result of a job any more."""


@dataclass(eq=False)
class Worker:
    """A thread for long jobs, with a limited number of waiting requests.

    Parameters
    ----------
    max_waiting : int
        The maximum number of requests that wait.
    max_seconds : float
        The maximum duration of a job, including the wait for the thread.
    n_waiting : int, default=0
        The number of requests that wait now.
    """

    max_waiting: int
    max_seconds: float
    n_waiting: int = 0
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    async def wait_for(self, future: "asyncio.Future[Result]", receive: Receive) -> Result:
        """Return the result of a future. Cancel the future if nobody needs it any more.

        Parameters
        ----------
        future : asyncio.Future
            The answer to a request.
        receive : callable
            The `receive` of the request, whose body has been read.

        Raises
        ------
        RequestError
            Too many requests wait already, or the answer takes too long.
        ClientDisconnect
            The client has disconnected.
        """
        if self.n_waiting >= self.max_waiting:
            future.cancel()
            raise RequestError(
                503,
                f"{self.n_waiting:,} requests wait already",
                hint="try again in a second",
                headers={"Retry-After": "1"},
            )
        self.n_waiting += 1
        client = _Client(receive, future)
        try:
            async with asyncio.timeout(self.max_seconds):
                return await future
        except TimeoutError:
            problem = f"no answer within {self.max_seconds:g} seconds"
            hint = "send fewer or shorter texts, or try again later"
            raise RequestError(503, problem, hint=hint, headers={"Retry-After": "5"}) from None
        except asyncio.CancelledError:
            if client.is_disconnected:
                raise ClientDisconnect from None
            raise
        finally:
            self.n_waiting -= 1
            client.stop_watching()

    def start(
        self, job: Callable[[], Result], is_needed: Callable[[], bool]
    ) -> "asyncio.Future[Result]":
        """Run a job in the thread, and stop it once it is not needed any more."""

        def stop_if_abandoned(_step: str, _done: int, _total: int | None) -> None:
            if not is_needed():
                raise AbandonedError

        def run() -> Result:
            with progress.on_progress(stop_if_abandoned):
                stop_if_abandoned("", 0, None)
                return job()

        return asyncio.get_running_loop().run_in_executor(self._thread, run)

    async def run(self, job: Callable[[], Result], receive: Receive) -> Result:
        """Run a job in the thread and return its result."""
        is_abandoned = threading.Event()
        future = self.start(job, is_needed=lambda: not is_abandoned.is_set())
        try:
            return await self.wait_for(future, receive)
        finally:
            is_abandoned.set()


class _Client:
    """A client whose disconnection cancels a future. Watching starts after a short delay."""

    def __init__(self, receive: Receive, future: "asyncio.Future[Any]") -> None:
        self._receive = receive
        self._future = future
        self._task: asyncio.Task[None] | None = None
        self.is_disconnected = False
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_SECONDS_BEFORE_WATCHING, self._watch)

    def stop_watching(self) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _watch(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._cancel_on_disconnect())

    async def _cancel_on_disconnect(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.is_disconnected = True
        self._future.cancel()


@dataclass(frozen=True, eq=False)
class _Request:
    texts: Sequence[str]
    k: int
    answer: "asyncio.Future[list[list[JsonObject]]]"


class Batcher:
    """A queue that predicts the texts of several requests together with one model.

    Parameters
    ----------
    views : Exploration
        The model.
    worker : Worker
        The thread for long batches.
    """

    def __init__(self, views: Exploration, worker: Worker) -> None:
        self._views = views
        self._worker = worker
        self._waiting: list[_Request] = []
        self._is_busy = False
        self._seconds_per_char = 0.0  # of the slowest recent batch

    async def predict(
        self, texts: Sequence[str], k: int, receive: Receive
    ) -> list[list[JsonObject]]:
        """Return the k best classes of each text, unless the client disconnects before."""
        loop = asyncio.get_running_loop()
        request = _Request(texts, k, loop.create_future())
        self._waiting.append(request)
        if not self._is_busy:
            self._is_busy = True
            loop.call_soon(self._predict_next_batch)  # requests that arrive until then join it
        return await self._worker.wait_for(request.answer, receive)

    def _take_batch(self) -> list[_Request]:
        """Remove requests for one batch from the queue."""
        batch: list[_Request] = []
        n_texts = 0
        while self._waiting and (not batch or n_texts < _MAX_BATCH_TEXTS):
            request = self._waiting.pop(0)
            if not request.answer.done():
                batch.append(request)
                n_texts += len(request.texts)
        return batch

    def _predict_next_batch(self) -> None:
        """Predict the waiting requests, and then the next batch."""
        batch = self._take_batch()
        if not batch:
            self._is_busy = False
            return
        n_chars = _CHARS_PER_BATCH
        for request in batch:
            n_chars += sum(len(text) + _CHARS_PER_TEXT for text in request.texts)
        if self._seconds_per_char and n_chars * self._seconds_per_char < _MAX_BLOCKING_SECONDS:
            self._answer(batch, self._predict_batch(batch, n_chars))
            asyncio.get_running_loop().call_soon(self._predict_next_batch)
            return

        def finish(future: "asyncio.Future[list[Any]]") -> None:
            if not isinstance(future.exception(), AbandonedError):
                self._answer(batch, future.result())
            self._predict_next_batch()

        def is_needed() -> bool:
            return not all(request.answer.done() for request in batch)

        job = self._worker.start(lambda: self._predict_batch(batch, n_chars), is_needed)
        job.add_done_callback(finish)

    def _predict_batch(self, batch: list[_Request], n_chars: int) -> list[Any]:
        """Return the answer to each request: its predictions or an exception."""
        start_time = time.perf_counter()
        k = max(request.k for request in batch)
        try:
            texts = [text for request in batch for text in request.texts]
            predictions: list[Any] = []
            for part in _slices(texts):
                progress.report("predicting", len(predictions), len(texts))
                predictions += self._views.predict(part, k)
        except AbandonedError:
            raise
        except Exception as error:
            if len(batch) == 1:
                return [error]
            # perhaps a single request is the cause: the others get their answers
            return [self._predict_batch([request], n_chars)[0] for request in batch]
        answers = []
        start = 0
        for request in batch:
            end = start + len(request.texts)
            answers.append([classes[: request.k] for classes in predictions[start:end]])
            start = end
        seconds_per_char = (time.perf_counter() - start_time) / n_chars
        self._seconds_per_char = max(seconds_per_char, 0.9 * self._seconds_per_char)
        return answers

    @staticmethod
    def _answer(batch: list[_Request], answers: list[Any]) -> None:
        for request, answer in zip(batch, answers, strict=True):
            if request.answer.done():
                continue  # nobody waits any more
            if isinstance(answer, Exception):
                request.answer.set_exception(answer)
            else:
                request.answer.set_result(answer)


def _slices(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Divide texts into slices. Predictions can be stopped between slices."""
    start = 0
    while start < len(texts):
        end = start
        n_chars = 0
        while end < len(texts):
            n_chars += len(texts[end]) + _CHARS_PER_TEXT
            if end > start and n_chars > _MAX_UNINTERRUPTED_CHARS:
                break
            end += 1
        yield texts[start:end]
        start = end
