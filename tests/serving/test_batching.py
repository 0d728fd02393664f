"""What happens when there is too much to do: a real model whose analyzer takes its time."""

import asyncio
import time

import httpx
import pytest

import wordclass as wc
from wordclass.explorer.views import Exploration

pytest.importorskip("starlette")

from wordclass.serving.app import Limits, Service

SEEN = []


def slow_words(text):
    if "slow" in text:
        time.sleep(0.15)
    if "broken" in text:
        raise RuntimeError("cannot be cut into words")
    SEEN.append(text)
    return text.split()


@pytest.fixture(scope="module")
def views():
    slow = wc.classifier("nearest", min_docs=1, analyzer=slow_words)
    return Exploration(slow.fit(["moon sun", "rose tree"] * 5, ["sky", "garden"] * 5))


def ask(views, texts, **limits):
    """Send one request per text, all at once; return the answers."""
    service = Service({"m": views}, limits=Limits(**limits))

    async def all_at_once():
        transport = httpx.ASGITransport(service)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            jobs = [client.post("/models/m/predict", json={"texts": [each]}) for each in texts]
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
    labels = [each.json()["results"][0][0]["label"] for each in answers]
    assert labels[1:] == ["sky", "garden"] * 10
    assert sum(calls) == 21
    assert len(calls) <= 3


def test_what_finds_no_room_is_told_to_come_again(views):
    answers = ask(views, ["slow moon"] * 12, waiting=4)
    statuses = [each.status_code for each in answers]
    assert statuses.count(200) == 4
    refused = answers[-1]
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert "try again" in refused.json()["detail"]


def test_an_answer_that_takes_too_long_is_given_up(views):
    (answer,) = ask(views, ["slow " * 2], seconds=0.05)
    assert answer.status_code == 503
    assert "within 0.05 seconds" in answer.json()["detail"]


def test_a_text_that_breaks_the_model_breaks_nobody_elses_answer(views):
    answers = ask(views, ["slow", "broken", "moon", "rose"])
    assert [each.status_code for each in answers] == [200, 500, 200, 200]
    assert "cannot be cut" not in answers[1].text


def test_explanations_wait_in_the_same_queue(views):
    service = Service({"m": views}, limits=Limits(waiting=2))

    async def several():
        transport = httpx.ASGITransport(service)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            jobs = [client.post("/models/m/explain", json={"text": "slow moon"}) for _ in range(5)]
            return await asyncio.gather(*jobs)

    statuses = [each.status_code for each in asyncio.run(several())]
    assert sorted(statuses) == [200, 200, 503, 503, 503]
