"""The service without a network: what it answers, and whom, asked in this process."""

import asyncio
import io
import json

import httpx
import pytest
from explored_models import documents, model

pytest.importorskip("starlette")

from wordclass.explorer.page import Page
from wordclass.explorer.views import Exploration
from wordclass.serving.app import AccessPolicy, Limits, Service
from wordclass.serving.journal import Counters, Journal


def service(**options):
    return Service({"m": Exploration(model("linear"), documents())}, **options)


def ask(asked, method, path, **options):
    """Return the answer of a service to one request."""

    async def one():
        transport = httpx.ASGITransport(asked)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **options)

    return asyncio.run(one())


def test_every_route_answers_what_the_views_say():
    asked = service(page=Page())
    views = asked.models["m"]
    for path, wanted in [
        ("/models/m/about", views.about()),
        ("/models/m/mistakes", views.mistakes()),
        ("/models/m/cell?true=space&predicted=garden", views.cell("space", "garden")),
        ("/models/m/cell?true=space", views.cell("space", None)),
        ("/models/m/against/space", views.against_rest("space")),
        ("/models/m/classes/space", views.class_("space")),
        ("/models/m/words/moon", views.word("moon")),
    ]:
        assert ask(asked, "GET", path).json() == json.loads(json.dumps(wanted))
    answer = ask(asked, "POST", "/models/m/explain", json={"text": "moon", "against": "music"})
    assert answer.json() == views.explain("moon", None, "music")
    answer = ask(asked, "POST", "/models/m/predict", json={"texts": ["moon"], "k": 2.0})
    assert answer.json() == {"results": views.predict(["moon"], 2)}


def test_the_page_is_there_only_where_it_is_wanted():
    page = ask(service(page=Page()), "GET", "/")
    assert page.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    script = ask(service(page=Page()), "GET", "/static/app.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert ask(service(page=Page()), "GET", "/static/none.js").status_code == 404
    assert ask(service(), "GET", "/").status_code == 404
    assert ask(service(), "GET", "/models/m/mistakes").status_code == 404


def test_the_map_is_made_once():
    pytest.importorskip("openTSNE")
    asked = service(page=Page())

    async def twice():
        transport = httpx.ASGITransport(asked)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [await client.get("/models/m/map") for _ in range(2)]

    first, second = asyncio.run(twice())
    assert first.json() == second.json()
    assert len(first.json()["terms"]) == len(first.json()["class_of"])


def test_annifs_routes():
    asked = service()
    (project,) = ask(asked, "GET", "/v1/projects").json()["projects"]
    assert ask(asked, "GET", "/v1/projects/m").json() == project
    form = {"text": "moon", "limit": "1", "threshold": "0.1"}
    (found,) = ask(asked, "POST", "/v1/projects/m/suggest", data=form).json()["results"]
    assert found["uri"] == "urn:wordclass:m:space"
    body = {"documents": [{"text": "moon", "document_id": "a", "metadata": {"x": "y"}}]}
    answer = ask(asked, "POST", "/v1/projects/m/suggest-batch?limit=1", json=body)
    assert answer.json() == [{"document_id": "a", "results": [found]}]
    strange = ["x", "1_0", "\u0663", " 1", "1.5", "1e999", "nan", ""]
    wrong = [{"text": "a", "limit": each} for each in strange]
    for data in ({}, {"text": ["a", "b"]}, {"text": "a", "threshold": "2"}, *wrong):
        assert (
            ask(asked, "POST", "/v1/projects/m/suggest", data={"x": "", **data}).status_code == 400
        )
    plain = Service({"m": Exploration(model("svm"))})
    (found,) = ask(plain, "POST", "/v1/projects/m/suggest", data=form).json()["results"]
    assert 0 < found["score"] < 1


def test_who_is_served():
    asked = service(
        access_policy=AccessPolicy(
            tokens=("secret",), hosts=("a.example:8000",), origins=("https://b",)
        )
    )
    right = {"Authorization": "Bearer secret", "Host": "a.example"}
    assert ask(asked, "GET", "/models", headers=right).status_code == 200
    assert ask(asked, "GET", "/models", headers={"Authorization": "Bearer x"}).status_code == 401
    assert ask(asked, "GET", "/models").json()["detail"].startswith("a token is needed")
    assert ask(asked, "GET", "/ready").status_code == 200
    assert ask(asked, "GET", "/ready", headers={"Host": "b.example"}).status_code == 400
    asking = {"Origin": "https://b", "Access-Control-Request-Method": "POST"}
    assert ask(asked, "OPTIONS", "/models/m/predict", headers=asking).status_code == 200
    assert "security" in ask(asked, "GET", "/openapi.json", headers=right).json()


def test_bodies_are_limited():
    asked = service(limits=Limits(body=50, text=10, batch=2))
    long = {"texts": ["a" * 60]}
    assert ask(asked, "POST", "/models/m/predict", json=long).status_code == 413
    expecting = {"Expect": "100-continue", "Content-Type": "application/json"}
    assert (
        ask(asked, "POST", "/models/m/predict", content=b"x" * 99, headers=expecting).status_code
        == 413
    )
    assert ask(asked, "POST", "/models/m/predict", json={"texts": ["a" * 11]}).status_code == 400
    assert ask(asked, "POST", "/models/m/predict", json={"texts": [""] * 3}).status_code == 400
    assert ask(asked, "POST", "/models/m/predict", content=b"{}").status_code == 415
    assert ask(asked, "POST", "/v1/projects/m/suggest", content=b"{}").status_code == 415


def test_requests_are_counted_and_written_down_without_their_texts():
    stream, counters = io.StringIO(), Counters(2)
    counters.own(1)
    asked = service(journal=Journal(stream), counters=counters)
    ask(asked, "POST", "/models/m/predict", json={"texts": ["moonword"] * 3})
    ask(asked, "GET", "/models/m/words/moonword")
    ask(asked, "GET", "/nowhere")
    told = ask(asked, "GET", "/metrics").text
    assert 'wordclass_requests_total{route="/models/{id}/predict",status="200"} 1' in told
    assert "wordclass_texts_total 3" in told
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["status"] for line in lines] == [200, 404, 404, 200]
    assert lines[0]["model"] == "m"
    assert "moonword" not in stream.getvalue()


def test_a_log_that_cannot_be_written_stops_nothing():
    stream = io.StringIO()
    stream.close()
    assert ask(service(journal=Journal(stream)), "GET", "/health").status_code == 200


def test_a_process_that_leaves_asks_for_connections_to_be_closed():
    asked = service()
    asked.is_leaving = True
    assert ask(asked, "GET", "/health").headers["connection"] == "close"
