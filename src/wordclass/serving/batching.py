"""Requests that arrive together are predicted together, as far as there is room for them.

A prediction of one text has a fixed cost: on 20 classes about 100 microseconds, of which the text
itself is a tenth. So whatever has arrived when the model is free is predicted at once. What is done
in no time is done on the spot; the rest in the one thread that the models of a process share, so
that the process answers other requests in the meantime.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from wordclass.explorer.views import Exploration, Facts
from wordclass.serving.openapi import Refused

Result = TypeVar("Result")

_MOST_TEXTS = 2048  # predicted together
_IN_NO_TIME = 0.002  # seconds that other requests may wait


@dataclass(eq=False)
class Worker:
    """One thread for all that takes time, and how many requests may wait for it."""

    most_waiting: int
    most_seconds: float
    n_waiting: int = 0
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    async def wait_for(self, future: "asyncio.Future[Result]") -> Result:
        """Return what a future brings, unless too many wait already, or it takes too long."""
        if self.n_waiting >= self.most_waiting:
            future.cancel()
            told = f"{self.n_waiting:,} requests wait already; try again in a second"
            raise Refused(503, told, {"Retry-After": "1"})
        self.n_waiting += 1
        try:
            async with asyncio.timeout(self.most_seconds):
                return await future
        except TimeoutError:
            told = f"no answer within {self.most_seconds:g} seconds"
            raise Refused(503, told, {"Retry-After": "5"}) from None
        finally:
            self.n_waiting -= 1

    def start(self, job: Callable[[], Result]) -> "asyncio.Future[Result]":
        """Do something in the thread."""
        return asyncio.get_running_loop().run_in_executor(self._thread, job)

    async def run(self, job: Callable[[], Result]) -> Result:
        """Do something in the thread, and wait for it."""
        return await self.wait_for(self.start(job))


@dataclass(frozen=True, eq=False)
class _Request:
    texts: Sequence[str]
    k: int
    answer: "asyncio.Future[list[list[Facts]]]"


class Batcher:
    """Predicts the texts of several requests together, by one model."""

    def __init__(self, views: Exploration, worker: Worker) -> None:
        self._views, self._worker = views, worker
        self._waiting: list[_Request] = []
        self._is_busy = False
        self._per_character = 0.0  # seconds, of the slowest batch lately

    async def predict(self, texts: Sequence[str], k: int) -> list[list[Facts]]:
        """Return the k best classes of each text."""
        loop = asyncio.get_running_loop()
        request = _Request(texts, k, loop.create_future())
        self._waiting.append(request)
        if not self._is_busy:
            self._is_busy = True
            loop.call_soon(self._next)  # whatever has arrived by then goes with it
        return await self._worker.wait_for(request.answer)

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
            self._answer(taken, done.result())
            self._next()

        self._worker.start(lambda: self._predicted(taken, n_characters)).add_done_callback(finish)

    def _predicted(self, taken: list[_Request], n_characters: int) -> list[Any]:
        """Return what to answer to each request: its predictions, or the exception."""
        start = time.perf_counter()
        k = max(request.k for request in taken)
        try:
            texts = [text for request in taken for text in request.texts]
            found = self._views.predict(texts, k) if texts else []
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
