"""The service under load, with a real model whose analyzer is slow."""

import asyncio
import time

import httpx
import pytest

import wordclass as wc
from wordclass.explorer.views import Exploration

pytest.importorskip("starlette")

from wordclass.serving.app import Limits, Service

ANALYZED_TEXTS = []


def slow_words(text):
    if "slow" in text:
        time.sleep(0.15)
    if "broken" in text:
        raise RuntimeError("cannot be cut into words")
    ANALYZED_TEXTS.append(text)
    return text.split()


@pytest.fixture(scope="module")
def views():
    slow = wc.classifier("nearest", min_docs=1, analyzer=slow_words)
    return Exploration(slow.fit(["moon sun", "rose tree"] * 5, ["sky", "garden"] * 5))


def ask(views, texts, **limits):
    """Send one request per text at the same time, and return the answers."""
    service = Service({"m": views}, limits=Limits(**limits))

    async def all_at_once():
        transport = httpx.ASGITransport(service)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            jobs = [client.post("/models/m/predict", json={"texts": [text]}) for text in texts]
            return await asyncio.gather(*jobs)

    return asyncio.run(all_at_once())


def test_requests_that_arrive_together_are_predicted_together(views):
    calls = []
    predict = views.predict
    object.__setattr__(
        views, "predict", lambda texts, k: calls.append(len(texts)) or predict(texts, k)
    )
    try:
        answers = ask(views, ["slow"] + ["moon", "rose"] * 10)
    finally:
        object.__delattr__(views, "predict")
    labels = [answer.json()["results"][0][0]["label"] for answer in answers]
    assert labels[1:] == ["sky", "garden"] * 10
    assert sum(calls) == 21
    assert len(calls) <= 3


def test_requests_beyond_the_limit_are_asked_to_retry(views):
    answers = ask(views, ["slow moon"] * 12, waiting_requests=4)
    statuses = [answer.status_code for answer in answers]
    assert statuses.count(200) == 4
    error = answers[-1]
    assert (error.status_code, error.headers["retry-after"]) == (503, "1")
    assert "try again" in error.json()["detail"]


def test_an_answer_that_takes_too_long_is_abandoned(views):
    (answer,) = ask(views, ["slow " * 2], answer_seconds=0.05)
    assert answer.status_code == 503
    assert "within 0.05 seconds" in answer.json()["detail"]


def test_a_text_that_breaks_the_model_does_not_affect_other_requests(views):
    answers = ask(views, ["slow", "broken", "moon", "rose"])
    assert [answer.status_code for answer in answers] == [200, 500, 200, 200]
    assert "cannot be cut" not in answers[1].text


def test_explanations_wait_in_the_same_queue(views):
    service = Service({"m": views}, limits=Limits(waiting_requests=2))

    async def several():
        transport = httpx.ASGITransport(service)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            jobs = [client.post("/models/m/explain", json={"text": "slow moon"}) for _ in range(5)]
            return await asyncio.gather(*jobs)

    statuses = [answer.status_code for answer in asyncio.run(several())]
    assert sorted(statuses) == [200, 200, 503, 503, 503]
