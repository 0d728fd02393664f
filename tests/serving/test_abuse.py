"""Malicious requests, most of them generated: sizes, structures, numbers and headers."""

import asyncio
import json
import random
import re
import threading
import time

import httpx
import pytest
from explored_models import model
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")

import wordclass as wc
from wordclass import progress
from wordclass.explorer.views import Exploration
from wordclass.serving import openapi
from wordclass.serving.access import AccessPolicy
from wordclass.serving.app import Limits, Service
from wordclass.serving.batching import AbandonedError, Batcher, Worker, _slices
from wordclass.serving.journal import Counters
from wordclass.serving.json_bodies import LARGE_BODY_BYTES, parse_json
from wordclass.serving.openapi import RequestError

JSON = {"Content-Type": "application/json"}
ROUTES = {
    "/models/m/predict": {"texts": ["moon"], "k": 2},
    "/models/m/explain": {"text": "moon", "label": None, "against": None},
    "/v1/projects/m/suggest-batch": {"documents": [{"text": "moon", "metadata": {"a": 1}}]},
}


def service(**options):
    return Service({"m": Exploration(model("linear"))}, **options)


def ask_all(app, requests):
    """Return the answers of a service to consecutive requests (method, path, options)."""

    async def ask():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [await client.request(*request[:2], **request[2]) for request in requests]

    return asyncio.run(ask())


# --- numbers ------------------------------------------------------------------------------------

NUMBERS = [
    "9" * 4000, "-" + "9" * 4000, "9" * 4299, "9" * 5000, "1" + "0" * 308, "1" + "0" * 309,
    "1e308", "1e309", "-1e309", "1e999999999", "1e-999999999", "0." + "0" * 5000 + "1",
    "1." + "0" * 5000, "-0", "-0.0", "0", "2.0", "2.5", "1e0", "1E+2", "true", "false", "null",
    "9007199254740993", "18446744073709551616", '"2"', "[]", "{}", "[1e999]", "NaN", "Infinity",
    "-Infinity", "01", "+1", "1_0", "0x10", "\u0663",
]  # fmt: skip


def number_templates(body):
    """Yield JSON texts with %s at every place where a body can have a number."""
    for key in body:
        yield json.dumps({**body, key: "@"}).replace('"@"', "%s")
    yield json.dumps(body)[:-1] + ', "unknown": %s}'
    yield json.dumps(body)[:-1] + ', "texts": [%s], "documents": [{"text": "a", "metadata": %s}]}'
    yield "%s"


@pytest.mark.parametrize("path", ROUTES)
def test_no_number_in_a_body_breaks_the_service(path):
    requests = [
        ("POST", path, {"content": place.replace("%s", number).encode(), "headers": JSON})
        for place in number_templates(ROUTES[path])
        for number in NUMBERS
    ]
    for request, answer in zip(requests, ask_all(service(), requests), strict=True):
        assert answer.status_code in (200, 400, 404), request[2]["content"][:100]
        if answer.status_code == 400:
            assert len(answer.json()["detail"]) < 300


def test_no_number_in_a_form_or_query_breaks_the_service():
    requests = []
    for number in [*NUMBERS, "1" * 300, "1" * 301, "1e", "", " ", "1" * 300 + "e999"]:
        form = {"text": "moon", "limit": number}
        requests.append(("POST", "/v1/projects/m/suggest", {"data": form}))
        form = {"text": "moon", "threshold": number}
        requests.append(("POST", "/v1/projects/m/suggest", {"data": form}))
        options = {"params": {"limit": number, "threshold": number}, "json": {"documents": []}}
        requests.append(("POST", "/v1/projects/m/suggest-batch", options))
    for request, answer in zip(requests, ask_all(service(), requests), strict=True):
        assert answer.status_code in (200, 400), request


def test_an_integer_may_have_a_decimal_point_in_json():
    texts = ["moon rose", "song sun"] * 20
    numbered = wc.classifier("nearest", min_docs=1).fit(texts, [3, 7] * 20)
    app = Service({"m": Exploration(numbered)})
    bodies = [{"text": "moon", "label": label, "against": 3} for label in (7, 7.0, "7", 7e0)]
    answers = ask_all(app, [("POST", "/models/m/explain", {"json": body}) for body in bodies])
    assert [answer.json()["label"] for answer in answers] == ["7"] * 4


SCHEMA = openapi.body_schemas(100, 10, 50)
PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
PLAIN |= st.floats(allow_nan=False, allow_infinity=False)
HUGE = st.sampled_from([10**400, -(10**400), 10**17, float("inf"), -0.0])
FIELDS = st.sampled_from(["texts", "text", "k", "label", "documents", "metadata", "x"])


def nested(values):
    """Make JSON of lists and objects that hold the values."""
    return st.recursive(
        values, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS, inner)
    )


def refusal(check, *arguments):
    """Return the RequestError that a function raises, or None."""
    try:
        check(*arguments)
    except RequestError as error:
        return error
    return None


@settings(deadline=None, max_examples=300)
@given(value=nested(PLAIN | HUGE), kind=st.sampled_from([*SCHEMA]))
def test_a_check_accepts_or_refuses_every_value(value, kind):
    error = refusal(openapi.check, value, SCHEMA[kind])
    assert error is None or (error.status == 400 and len(error.detail) < 300)


# --- structure ----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=200)
@given(
    value=nested(PLAIN), is_ascii=st.booleans(), indent=st.sampled_from([None, 0, 3]),
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-32-le"]),
)  # fmt: skip
def test_bodies_are_parsed_as_by_python(value, is_ascii, indent, encoding):
    text = 'a\\"b\\\\' * 50_000 + ",[{" * 50_000  # in a string nothing counts
    for written in (value, {"text": text, "value": value}):
        body = json.dumps(written, ensure_ascii=is_ascii, indent=indent)
        content = (body + " ").encode(encoding, "surrogatepass")
        assert parse_json(content, 1000) == json.loads(content)


ATTACKS = {
    "keys": lambda n: b"{" + b",".join(b'"%d":1' % k for k in range(n)) + b"}",
    "numbers": lambda n: b'{"texts":[' + b"1," * n + b"1]}",
    "lists": lambda n: b'{"texts":[' + b"[]," * n + b"1]}",
    "objects": lambda n: b"[" + b"{}," * n + b"1]",
    "strings": lambda n: b'{"texts":[' + b'"",' * n + b'""]}',
    "backslashes": lambda n: b'{"texts":[' + b'"\\\\",' * n + b'""]}',
    "quotes": lambda n: b'{"texts":[' + b'"\\"",' * n + b'""]}',
    "depth": lambda n: b"[" * n,
    "objects in objects": lambda n: b'{"a":' * n,
    "utf-16": lambda n: ('["\ufffd"' + ",1" * n + "]").encode("utf-16"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_body_of_too_many_values_is_refused_before_it_is_parsed(name):
    content = ATTACKS[name](300_000)
    assert len(content) > LARGE_BODY_BYTES
    assert refusal(parse_json, content, 20_000).status == 413
    small = refusal(parse_json, ATTACKS[name](100), 20_000)
    assert small is None or small.status == 400


def test_content_after_a_stray_backslash_is_refused_by_the_parser():
    content = b'[1,2,\\"' + b",1" * 200_000 + b'"]'
    assert refusal(parse_json, content, 1000).status in (400, 413)


def test_batches_as_large_as_allowed_are_answered():
    body = {"texts": ['a, [b] {c} "d" \\ moon ' * 5] * 3000, "k": 1}
    request = ("POST", "/models/m/predict", {"json": body})
    (answer,) = ask_all(service(limits=Limits(batch_texts=3000)), [request])
    assert len(answer.json()["results"]) == 3000


# --- sizes --------------------------------------------------------------------------------------


def test_the_document_states_the_limit_of_each_route():
    app = service(limits=Limits(body_bytes=3000, explain_body_bytes=500))
    (document,) = ask_all(app, [("GET", "/openapi.json", {})])
    limits = {}
    for path, operations in document.json()["paths"].items():
        for operation in operations.values():
            if "requestBody" in operation:
                limits[path.replace("{id}", "m")] = operation["requestBody"]
    assert {path: body["x-max-bytes"] for path, body in limits.items()} == {
        "/models/m/predict": 3000,
        "/models/m/explain": 500,
        "/v1/projects/m/suggest": 3000,
        "/v1/projects/m/suggest-batch": 3000,
    }
    for path, body in limits.items():
        (media,) = body["content"]
        start = b"text=" if "form" in media else b'{"text": "'
        for extra, statuses in ((0, {200, 400}), (1, {413})):
            content = start.ljust(body["x-max-bytes"] + extra, b"a")
            request = ("POST", path, {"content": content, "headers": {"Content-Type": media}})
            (answer,) = ask_all(app, [request])
            assert answer.status_code in statuses, (path, extra)
        assert f"{body['x-max-bytes']:,} bytes" in body["description"]


# --- abandoned jobs -----------------------------------------------------------------------------


class Job:
    """A job that runs until it is released and counts its steps."""

    def __init__(self):
        self.n_steps = 0
        self.is_released = threading.Event()
        self.was_stopped = threading.Event()

    def __call__(self):
        try:
            while not self.is_released.wait(0.005):
                self.n_steps += 1
                progress.report("working", self.n_steps)
        except AbandonedError:
            self.was_stopped.set()
            raise


async def receive_forever():
    """Receive like a client that never disconnects."""
    await asyncio.Event().wait()


def test_a_job_is_stopped_after_its_time_limit():
    async def run():
        worker = Worker(10, 0.1)
        running, queued = Job(), Job()
        answers = await asyncio.gather(
            worker.run(running, receive_forever),
            worker.run(queued, receive_forever),
            return_exceptions=True,
        )
        assert [answer.status for answer in answers] == [503, 503]
        assert await asyncio.to_thread(running.was_stopped.wait, 10)
        assert await worker.run(lambda: "free", receive_forever) == "free"
        assert running.n_steps > 0
        assert queued.n_steps == 0
        assert worker.n_waiting == 0

    asyncio.run(run())


def test_a_job_is_stopped_when_the_client_disconnects():
    async def run():
        worker = Worker(10, 60)
        running, queued = Job(), Job()
        is_disconnected = asyncio.Event()

        async def receive():
            await is_disconnected.wait()
            return {"type": "http.disconnect"}

        tasks = [asyncio.create_task(worker.run(job, receive)) for job in (running, queued)]
        while not running.n_steps:
            await asyncio.sleep(0.005)
        is_disconnected.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(answer).__name__ for answer in answers] == ["ClientDisconnect"] * 2
        assert await asyncio.to_thread(running.was_stopped.wait, 10)
        assert await worker.run(lambda: "free", receive_forever) == "free"
        assert queued.n_steps == 0

    asyncio.run(run())


class Views:
    """A fake exploration that records the texts to predict."""

    def __init__(self):
        self.texts = []
        self.is_started = threading.Event()

    def predict(self, texts, k):
        self.texts += texts
        self.is_started.set()
        time.sleep(0.02)
        return [[{"label": text}][:k] for text in texts]


def test_a_batch_is_stopped_between_texts_unless_a_request_waits_for_it():
    async def run():
        views = Views()
        batcher = Batcher(views, Worker(10, 60))
        texts = [f"text {number}" for number in range(100_000)]
        left = asyncio.create_task(batcher.predict(texts, 1, receive_forever))
        await asyncio.to_thread(views.is_started.wait, 10)
        left.cancel()
        other = await batcher.predict(["other"], 1, receive_forever)
        assert other == [[{"label": "other"}]]
        assert views.texts[-1] == "other"
        assert len(views.texts) < len(texts)
        views.texts.clear()
        both = [
            asyncio.create_task(batcher.predict(part, 1, receive_forever))
            for part in (texts[:20_000], ["z"])
        ]
        await asyncio.sleep(0)
        both[1].cancel()
        assert len(await both[0]) == 20_000

    asyncio.run(run())


@given(st.lists(st.integers(0, 700_000), max_size=600))
@settings(deadline=None, max_examples=50)
def test_slices_have_the_texts_in_order_and_a_limited_size(sizes):
    texts = [range(size) for size in sizes]  # as long as a text, without its memory
    slices = [*_slices(texts)]
    assert [text for part in slices for text in part] == texts
    for part in slices:
        assert part
        assert len(part) == 1 or sum(len(text) + 100 for text in part) <= 1 << 20


# --- hosts, headers, statuses -------------------------------------------------------------------


def test_only_valid_names_of_allowed_hosts_are_served():
    app = service(
        access_policy=AccessPolicy(hosts=("models.example", "fe80::1", "[fe80::2]", "10.0.0.1:80"))
    )
    names = ["localhost", "127.0.0.1", "[::1]", "models.example"]
    names += ["[fe80::1]", "[fe80::2]", "10.0.0.1"]
    served = [name + port for name in names for port in ("", ":1", ":65535")]
    served += ["LOCALHOST", "Models.Example:80"]
    chance = random.Random(0)
    parts = [*names, *".:@[]/\\#?, \t", "evil.com", "80", "%00"]
    hosts = {"".join(chance.choices(parts, k=chance.randint(1, 4))) for _ in range(1500)}
    tails = (".evil.com", "evil", "@evil.com", ":", ":x", ":80:80", ":123456", "]", "%25x")
    hosts |= {name + tail for name in names for tail in tails}
    exact = re.compile(rf"({'|'.join(map(re.escape, names))})(:[0-9]{{1,5}})?")
    hosts = {host for host in hosts if host == host.strip()}
    requests = [
        ("GET", "/health", {"headers": {"Host": host}}) for host in [*served, *sorted(hosts)]
    ]
    for request, answer in zip(requests, ask_all(app, requests), strict=True):
        host = request[2]["headers"]["Host"]
        expected = 200 if exact.fullmatch(host.lower()) else 400
        assert answer.status_code == expected, host


def test_a_host_that_can_never_match_is_refused_when_the_service_starts():
    for host in ("", "a b", "http://models.example", "[::1", "a/b"):
        with pytest.raises(wc.InputError, match="is not a valid host name"):
            service(access_policy=AccessPolicy(hosts=(host,)))


@pytest.mark.parametrize("name", ["Host", "Authorization", "Content-Type", "Content-Length"])
def test_repeated_headers_are_refused(name):
    values = {"Host": "localhost", "Authorization": "Bearer x", "Content-Type": "application/json"}
    value = values.get(name, "0")
    headers = [(name, value), (name.lower(), value)]
    if name != "Host":
        headers.append(("Host", "localhost"))
    (answer,) = ask_all(service(), [("GET", "/health", {"headers": headers})])
    assert answer.status_code == 400
    assert name.lower() in answer.json()["detail"]


def test_an_allowed_page_can_read_every_error():
    origin = "https://a.example"
    token = {"Authorization": "Bearer 0123456789abcdef"}
    access_policy = AccessPolicy(tokens=("0123456789abcdef",), origins=(origin,))
    app = service(
        access_policy=access_policy,
        limits=Limits(body_bytes=200, waiting_requests=1, answer_seconds=0.5),
    )
    app.models["m"].__dict__["explain"] = lambda *_: 1 / 0
    predict = "/models/m/predict"
    expected = {
        401: ("GET", "/models", {}),
        404: ("GET", "/nothing", {"headers": token}),
        405: ("GET", predict, {"headers": token}),
        413: ("POST", predict, {"headers": token, "json": {"texts": ["a" * 500]}}),
        415: ("POST", predict, {"headers": token, "content": b"{}"}),
        500: ("POST", "/models/m/explain", {"headers": token, "json": {"text": "a"}}),
        400: ("GET", "/models", {"headers": {"Host": "evil.example"}}),
    }
    for status, (method, path, options) in expected.items():
        headers = {**options.get("headers", {}), "Origin": origin}
        request = (method, path, {**options, "headers": headers})
        other = (method, path, {**options, "headers": {**headers, "Origin": "https://b.example"}})
        answer, elsewhere = ask_all(app, [request, other])
        assert answer.status_code == elsewhere.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["access-control-allow-origin"] == origin, status
        assert "access-control-allow-origin" not in elsewhere.headers
    app.worker.n_waiting = 1
    options = {"headers": {**token, "Origin": origin}, "json": {"texts": ["a"]}}
    (busy,) = ask_all(app, [("POST", predict, options)])
    assert (busy.status_code, busy.headers["access-control-allow-origin"]) == (503, origin)
    preflight_headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Host": "evil.example",
    }
    (preflight,) = ask_all(app, [("OPTIONS", predict, {"headers": preflight_headers})])
    assert preflight.status_code == 400


def test_requests_are_counted_by_the_status_of_the_answer():
    counters = Counters(1)
    app = service(counters=counters, limits=Limits(body_bytes=100))
    requests = [
        ("GET", path, {}) for path in ("/health", "/models/", "/nothing", "/models/m/predict")
    ]
    requests += [("GET", "/health", {"headers": {"Host": "evil"}}), ("OPTIONS", "/health", {})]
    requests += [("POST", "/models/m/predict", {"content": b"x" * size}) for size in (1, 200)]
    statuses = [answer.status_code for answer in ask_all(app, requests)]
    counted = {}
    for status, n in re.findall(r'status="(\d+)"\} (\d+)', counters.to_text(1, 0)):
        counted[int(status)] = counted.get(int(status), 0) + int(n)
    assert counted == {status: statuses.count(status) for status in statuses}
    assert {200, 307, 404, 405, 413, 415} <= counted.keys()


@given(st.lists(st.integers(100, 599), max_size=30))
def test_every_status_has_its_own_counter(statuses):
    counters = Counters(1)
    for status in statuses:
        counters.add("/health", status, 0.01)
    pairs = re.findall(r'status="(\d+)"\} (\d+)', counters.to_text(1, 0))
    assert {int(status): int(n) for status, n in pairs} == {
        status: statuses.count(status) for status in statuses
    }
