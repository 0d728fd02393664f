"""The answers of the service without a network, in this process."""

import asyncio
import base64
import hashlib
import html
import io
import json
import re
import shlex
from itertools import pairwise

import httpx
import pytest
from explored_models import documents, model

pytest.importorskip("starlette")

from wordclass.explorer.page import Page
from wordclass.explorer.views import Exploration
from wordclass.serving.access import AccessPolicy
from wordclass.serving.app import Limits, Service
from wordclass.serving.journal import Counters, Journal


def service(**options):
    return Service({"m": Exploration(model("linear"), documents())}, **options)


def ask(app, method, path, **options):
    """Return the answer of a service to one request."""

    async def one():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **options)

    return asyncio.run(one())


def test_every_route_answers_with_the_view():
    app = service(page=Page())
    views = app.models["m"]
    for path, expected in [
        ("/models/m/about", views.about()),
        ("/models/m/mistakes", views.mistakes()),
        ("/models/m/cell?true=space&predicted=garden", views.cell("space", "garden")),
        ("/models/m/cell?true=space", views.cell("space", None)),
        ("/models/m/against/space", views.against_other_classes("space")),
        ("/models/m/classes/space", views.class_("space")),
        ("/models/m/words/moon", views.word("moon")),
    ]:
        assert ask(app, "GET", path).json() == json.loads(json.dumps(expected))
    answer = ask(app, "POST", "/models/m/explain", json={"text": "moon", "against": "music"})
    assert answer.json() == views.explain("moon", None, "music")
    answer = ask(app, "POST", "/models/m/predict", json={"texts": ["moon"], "k": 2.0})
    assert answer.json() == {"results": views.predict(["moon"], 2)}


def test_the_page_is_served_only_on_request():
    page = ask(service(page=Page()), "GET", "/")
    assert page.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    script = ask(service(page=Page()), "GET", "/static/app.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert ask(service(page=Page()), "GET", "/static/none.js").status_code == 404
    assert ask(service(), "GET", "/").status_code == 404
    assert ask(service(), "GET", "/models/m/mistakes").status_code == 404


def test_the_documentation_is_one_page_without_outside_resources():
    answer = ask(service(), "GET", "/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert "script-src" not in answer.headers["content-security-policy"]
    page = answer.text
    assert "<script" not in page
    assert not re.search(r"(src|href)=\"?(https?:)?//", page)
    document = ask(service(), "GET", "/openapi.json").json()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert f"<code>{path}</code>" in page
            assert operation["summary"] in page
    style = re.search("<style>(.*)</style>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in answer.headers["content-security-policy"]


def test_the_commands_of_the_documentation_work():
    app = service()
    page = ask(app, "GET", "/docs").text
    commands = [html.unescape(text) for text in re.findall("<pre>(curl .*?)</pre>", page)]
    assert len(commands) == len(ask(app, "GET", "/openapi.json").json()["paths"])
    for command in commands:
        words = shlex.split(command)
        options = {"headers": {}, "content": "", "method": "GET"}
        for flag, value in pairwise(words):
            if flag == "-H":
                name, _, content = value.partition(": ")
                options["headers"][name] = content
            elif flag in ("-d", "--data-urlencode"):
                options["method"] = "POST"
                options["content"] += value if flag == "-d" else value.replace(" ", "%20") + "&"
        if "--data-urlencode" in words:
            options["headers"]["Content-Type"] = "application/x-www-form-urlencoded"
        options["content"] = options["content"].rstrip("&")
        path = words[2].removeprefix("http://localhost")
        expected = (404,) if "/CLASS" in path or "/WORD" in path else (200,)
        assert ask(app, path=path, **options).status_code in expected, command


def test_the_documentation_mentions_tokens_and_escapes_names():
    views = Exploration(model("linear"))
    policy = AccessPolicy(tokens=("secret",))
    app = Service({"<b>": views}, access_policy=policy)
    assert ask(app, "GET", "/docs").status_code == 401
    page = ask(app, "GET", "/docs", headers={"Authorization": "Bearer secret"}).text
    assert "Authorization: Bearer TOKEN" in page
    assert "&lt;b&gt;" in page
    assert "<b>&" not in page


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ({}, "the request has no content type"),
        (
            {"Content-Type": "application/x-www-form-urlencoded"},
            "the content type is 'application/x-www-form-urlencoded'",
        ),
    ],
)
def test_a_wrong_content_type_names_the_header_to_send(headers, problem):
    content = b'{"texts": ["moon"]}'
    answer = ask(service(), "POST", "/models/m/predict", content=content, headers=headers)
    assert answer.status_code == 415
    hint = "expected 'application/json'; send the header Content-Type: application/json"
    assert answer.json()["detail"] == f"{problem}; {hint}"


def test_the_map_is_computed_once():
    pytest.importorskip("openTSNE")
    app = service(page=Page())

    async def twice():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [await client.get("/models/m/map") for _ in range(2)]

    first, second = asyncio.run(twice())
    assert first.json() == second.json()
    assert len(first.json()["terms"]) == len(first.json()["class_of"])


def test_routes_of_annif():
    app = service()
    (project,) = ask(app, "GET", "/v1/projects").json()["projects"]
    assert ask(app, "GET", "/v1/projects/m").json() == project
    form = {"text": "moon", "limit": "1", "threshold": "0.1"}
    (suggestion,) = ask(app, "POST", "/v1/projects/m/suggest", data=form).json()["results"]
    assert suggestion["uri"] == "urn:wordclass:m:space"
    body = {"documents": [{"text": "moon", "document_id": "a", "metadata": {"x": "y"}}]}
    answer = ask(app, "POST", "/v1/projects/m/suggest-batch?limit=1", json=body)
    assert answer.json() == [{"document_id": "a", "results": [suggestion]}]
    invalid_limits = ["x", "1_0", "\u0663", " 1", "1.5", "1e999", "nan", ""]
    invalid_forms = [{"text": "a", "limit": limit} for limit in invalid_limits]
    for data in ({}, {"text": ["a", "b"]}, {"text": "a", "threshold": "2"}, *invalid_forms):
        assert ask(app, "POST", "/v1/projects/m/suggest", data={"x": "", **data}).status_code == 400
    plain = Service({"m": Exploration(model("svm"))})
    (suggestion,) = ask(plain, "POST", "/v1/projects/m/suggest", data=form).json()["results"]
    assert 0 < suggestion["score"] < 1


def test_access_is_restricted():
    app = service(
        access_policy=AccessPolicy(
            tokens=("secret",), hosts=("a.example:8000",), origins=("https://b",)
        )
    )
    right = {"Authorization": "Bearer secret", "Host": "a.example"}
    assert ask(app, "GET", "/models", headers=right).status_code == 200
    assert ask(app, "GET", "/models", headers={"Authorization": "Bearer x"}).status_code == 401
    assert ask(app, "GET", "/models").json()["detail"].startswith("the request has no token")
    assert ask(app, "GET", "/ready").status_code == 200
    assert ask(app, "GET", "/ready", headers={"Host": "b.example"}).status_code == 400
    asking = {"Origin": "https://b", "Access-Control-Request-Method": "POST"}
    assert ask(app, "OPTIONS", "/models/m/predict", headers=asking).status_code == 200
    assert "security" in ask(app, "GET", "/openapi.json", headers=right).json()


def test_bodies_are_limited():
    app = service(limits=Limits(body_bytes=50, text_chars=10, batch_texts=2))
    long = {"texts": ["a" * 60]}
    assert ask(app, "POST", "/models/m/predict", json=long).status_code == 413
    expecting = {"Expect": "100-continue", "Content-Type": "application/json"}
    assert (
        ask(app, "POST", "/models/m/predict", content=b"x" * 99, headers=expecting).status_code
        == 413
    )
    assert ask(app, "POST", "/models/m/predict", json={"texts": ["a" * 11]}).status_code == 400
    assert ask(app, "POST", "/models/m/predict", json={"texts": [""] * 3}).status_code == 400
    assert ask(app, "POST", "/models/m/predict", content=b"{}").status_code == 415
    assert ask(app, "POST", "/v1/projects/m/suggest", content=b"{}").status_code == 415


def test_requests_are_counted_and_logged_without_their_texts():
    stream = io.StringIO()
    counters = Counters(2)
    counters.select_row(1)
    app = service(journal=Journal(stream), counters=counters)
    ask(app, "POST", "/models/m/predict", json={"texts": ["moonword"] * 3})
    ask(app, "GET", "/models/m/words/moonword")
    ask(app, "GET", "/nowhere")
    metrics = ask(app, "GET", "/metrics").text
    assert 'wordclass_requests_total{route="/models/{id}/predict",status="200"} 1' in metrics
    assert "wordclass_texts_total 3" in metrics
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["status"] for line in lines] == [200, 404, 404, 200]
    assert lines[0]["model"] == "m"
    assert "moonword" not in stream.getvalue()


def test_a_log_that_cannot_be_written_does_not_stop_the_service():
    stream = io.StringIO()
    stream.close()
    assert ask(service(journal=Journal(stream)), "GET", "/health").status_code == 200


def test_a_draining_process_asks_clients_to_reconnect():
    app = service()
    app.is_draining = True
    assert ask(app, "GET", "/health").headers["connection"] == "close"
