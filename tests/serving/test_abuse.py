"""Requests that are meant to hurt: sizes, structures, numbers, headers; most of them generated."""

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
from wordclass.serving.app import AccessPolicy, Limits, Service
from wordclass.serving.batching import Abandoned, Batcher, Worker, _slices
from wordclass.serving.journal import Counters
from wordclass.serving.json_bodies import LARGE_BODY_BYTES, parse_json
from wordclass.serving.openapi import Refused

JSON = {"Content-Type": "application/json"}
ROUTES = {
    "/models/m/predict": {"texts": ["moon"], "k": 2},
    "/models/m/explain": {"text": "moon", "label": None, "against": None},
    "/v1/projects/m/suggest-batch": {"documents": [{"text": "moon", "metadata": {"a": 1}}]},
}


def service(**options):
    return Service({"m": Exploration(model("linear"))}, **options)


def ask_all(asked, requests):
    """Return the answers of a service to requests (method, path, options), one after the other."""

    async def ask():
        transport = httpx.ASGITransport(asked)
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


def places_in(body):
    """Give every way to put a number into a body: JSON texts with %s for the number."""
    for key in body:
        yield json.dumps({**body, key: "@"}).replace('"@"', "%s")
    yield json.dumps(body)[:-1] + ', "unknown": %s}'
    yield json.dumps(body)[:-1] + ', "texts": [%s], "documents": [{"text": "a", "metadata": %s}]}'
    yield "%s"


@pytest.mark.parametrize("path", ROUTES)
def test_no_number_in_any_place_breaks_the_service(path):
    requests = [
        ("POST", path, {"content": place.replace("%s", number).encode(), "headers": JSON})
        for place in places_in(ROUTES[path])
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


def test_an_integer_may_have_a_point_in_json():
    texts = ["moon rose", "song sun"] * 20
    numbered = wc.classifier("nearest", min_docs=1).fit(texts, [3, 7] * 20)
    asked = Service({"m": Exploration(numbered)})
    bodies = [{"text": "moon", "label": label, "against": 3} for label in (7, 7.0, "7", 7e0)]
    answers = ask_all(asked, [("POST", "/models/m/explain", {"json": body}) for body in bodies])
    assert [answer.json()["label"] for answer in answers] == ["7"] * 4


SCHEMA = openapi.bodies(100, 10, 50)
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
    """Return the Refused that a function raises; None if it raises nothing."""
    try:
        check(*arguments)
    except Refused as refused:
        return refused
    return None


@settings(deadline=None, max_examples=300)
@given(value=nested(PLAIN | HUGE), kind=st.sampled_from([*SCHEMA]))
def test_a_check_passes_or_refuses_whatever_the_value(value, kind):
    refused = refusal(openapi.check, value, SCHEMA[kind])
    assert refused is None or (refused.status == 400 and len(refused.detail) < 300)


# --- structure ----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=200)
@given(
    value=nested(PLAIN), is_ascii=st.booleans(), indent=st.sampled_from([None, 0, 3]),
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-32-le"]),
)  # fmt: skip
def test_bodies_are_parsed_as_python_does(value, is_ascii, indent, encoding):
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


def test_what_is_not_json_after_a_stray_backslash_is_refused_by_the_parser():
    content = b'[1,2,\\"' + b",1" * 200_000 + b'"]'
    assert refusal(parse_json, content, 1000).status in (400, 413)


def test_batches_as_large_as_allowed_are_answered():
    body = {"texts": ['a, [b] {c} "d" \\ moon ' * 5] * 3000, "k": 1}
    request = ("POST", "/models/m/predict", {"json": body})
    (answer,) = ask_all(service(limits=Limits(batch=3000)), [request])
    assert len(answer.json()["results"]) == 3000


# --- sizes --------------------------------------------------------------------------------------


def test_each_route_has_a_limit_that_the_document_tells():
    asked = service(limits=Limits(body=3000, explain_body=500))
    (document,) = ask_all(asked, [("GET", "/openapi.json", {})])
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
            (answer,) = ask_all(asked, [request])
            assert answer.status_code in statuses, (path, extra)
        assert f"{body['x-max-bytes']:,} bytes" in body["description"]


# --- work that nobody waits for -----------------------------------------------------------------


class Job:
    """Work in steps, until it is let end; it tells how many steps it did."""

    def __init__(self):
        self.n_steps = 0
        self.is_released = threading.Event()
        self.was_stopped = threading.Event()

    def __call__(self):
        try:
            while not self.is_released.wait(0.005):
                self.n_steps += 1
                progress.report("working", self.n_steps)
        except Abandoned:
            self.was_stopped.set()
            raise


async def connected():
    """Receive as a client does that stays."""
    await asyncio.Event().wait()


def test_work_is_stopped_when_its_time_is_up():
    async def run():
        worker = Worker(10, 0.1)
        running, queued = Job(), Job()
        answers = await asyncio.gather(
            worker.run(running, connected), worker.run(queued, connected), return_exceptions=True
        )
        assert [answer.status for answer in answers] == [503, 503]
        assert await asyncio.to_thread(running.was_stopped.wait, 10)
        assert await worker.run(lambda: "free", connected) == "free"
        assert running.n_steps > 0
        assert queued.n_steps == 0
        assert worker.n_waiting == 0

    asyncio.run(run())


def test_work_is_stopped_when_the_client_goes():
    async def run():
        worker = Worker(10, 60)
        running, queued = Job(), Job()
        has_gone = asyncio.Event()

        async def receive():
            await has_gone.wait()
            return {"type": "http.disconnect"}

        tasks = [asyncio.create_task(worker.run(job, receive)) for job in (running, queued)]
        while not running.n_steps:
            await asyncio.sleep(0.005)
        has_gone.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(answer).__name__ for answer in answers] == ["ClientDisconnect"] * 2
        assert await asyncio.to_thread(running.was_stopped.wait, 10)
        assert await worker.run(lambda: "free", connected) == "free"
        assert queued.n_steps == 0

    asyncio.run(run())


class Views:
    """Predicts nothing, but remembers of which texts."""

    def __init__(self):
        self.texts = []
        self.is_started = threading.Event()

    def predict(self, texts, k):
        self.texts += texts
        self.is_started.set()
        time.sleep(0.02)
        return [[{"label": text}][:k] for text in texts]


def test_a_batch_is_stopped_between_texts_unless_somebody_waits_for_it():
    async def run():
        views = Views()
        batcher = Batcher(views, Worker(10, 60))
        texts = [f"text {number}" for number in range(100_000)]
        left = asyncio.create_task(batcher.predict(texts, 1, connected))
        await asyncio.to_thread(views.is_started.wait, 10)
        left.cancel()
        other = await batcher.predict(["other"], 1, connected)
        assert other == [[{"label": "other"}]]
        assert views.texts[-1] == "other"
        assert len(views.texts) < len(texts)
        views.texts.clear()
        both = [
            asyncio.create_task(batcher.predict(some, 1, connected))
            for some in (texts[:20_000], ["z"])
        ]
        await asyncio.sleep(0)
        both[1].cancel()
        assert len(await both[0]) == 20_000

    asyncio.run(run())


@given(st.lists(st.integers(0, 700_000), max_size=600))
@settings(deadline=None, max_examples=50)
def test_slices_are_the_texts_in_order_and_of_a_limited_size(sizes):
    texts = [range(size) for size in sizes]  # as long as a text, without its memory
    slices = [*_slices(texts)]
    assert [text for some in slices for text in some] == texts
    for some in slices:
        assert some
        assert len(some) == 1 or sum(len(text) + 100 for text in some) <= 1 << 20


# --- hosts, headers, statuses -------------------------------------------------------------------


def test_only_exact_forms_of_hosts_are_served():
    asked = service(
        access_policy=AccessPolicy(hosts=("models.example", "fe80::1", "[fe80::2]", "10.0.0.1:80"))
    )
    names = ["localhost", "127.0.0.1", "[::1]", "models.example"]
    names += ["[fe80::1]", "[fe80::2]", "10.0.0.1"]
    served = [name + port for name in names for port in ("", ":1", ":65535")]
    served += ["LOCALHOST", "Models.Example:80"]
    chance = random.Random(0)
    parts = [*names, *".:@[]/\\#?, \t", "evil.com", "80", "%00"]
    made = {"".join(chance.choices(parts, k=chance.randint(1, 4))) for _ in range(1500)}
    tails = (".evil.com", "evil", "@evil.com", ":", ":x", ":80:80", ":123456", "]", "%25x")
    made |= {name + tail for name in names for tail in tails}
    exact = re.compile(rf"({'|'.join(map(re.escape, names))})(:[0-9]{{1,5}})?")
    made = {host for host in made if host == host.strip()}
    requests = [
        ("GET", "/health", {"headers": {"Host": host}}) for host in [*served, *sorted(made)]
    ]
    for request, answer in zip(requests, ask_all(asked, requests), strict=True):
        host = request[2]["headers"]["Host"]
        wanted = 200 if exact.fullmatch(host.lower()) else 400
        assert answer.status_code == wanted, host


def test_a_host_that_can_never_match_is_refused_when_the_service_starts():
    for host in ("", "a b", "http://models.example", "[::1", "a/b"):
        with pytest.raises(wc.InputError, match="is no name of a host"):
            service(access_policy=AccessPolicy(hosts=(host,)))


@pytest.mark.parametrize("name", ["Host", "Authorization", "Content-Type", "Content-Length"])
def test_headers_that_say_two_things_are_refused(name):
    values = {"Host": "localhost", "Authorization": "Bearer x", "Content-Type": "application/json"}
    value = values.get(name, "0")
    headers = [(name, value), (name.lower(), value)]
    if name != "Host":
        headers.append(("Host", "localhost"))
    (answer,) = ask_all(service(), [("GET", "/health", {"headers": headers})])
    assert answer.status_code == 400
    assert name.lower() in answer.json()["detail"]


def test_every_error_can_be_read_by_an_allowed_page():
    origin = "https://a.example"
    token = {"Authorization": "Bearer 0123456789abcdef"}
    access_policy = AccessPolicy(tokens=("0123456789abcdef",), origins=(origin,))
    asked = service(access_policy=access_policy, limits=Limits(body=200, waiting=1, seconds=0.5))
    asked.models["m"].__dict__["explain"] = lambda *_: 1 / 0
    predict = "/models/m/predict"
    wanted = {
        401: ("GET", "/models", {}),
        404: ("GET", "/nothing", {"headers": token}),
        405: ("GET", predict, {"headers": token}),
        413: ("POST", predict, {"headers": token, "json": {"texts": ["a" * 500]}}),
        415: ("POST", predict, {"headers": token, "content": b"{}"}),
        500: ("POST", "/models/m/explain", {"headers": token, "json": {"text": "a"}}),
        400: ("GET", "/models", {"headers": {"Host": "evil.example"}}),
    }
    for status, (method, path, options) in wanted.items():
        headers = {**options.get("headers", {}), "Origin": origin}
        request = (method, path, {**options, "headers": headers})
        other = (method, path, {**options, "headers": {**headers, "Origin": "https://b.example"}})
        answer, elsewhere = ask_all(asked, [request, other])
        assert answer.status_code == elsewhere.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["access-control-allow-origin"] == origin, status
        assert "access-control-allow-origin" not in elsewhere.headers
    asked.worker.n_waiting = 1
    options = {"headers": {**token, "Origin": origin}, "json": {"texts": ["a"]}}
    (busy,) = ask_all(asked, [("POST", predict, options)])
    assert (busy.status_code, busy.headers["access-control-allow-origin"]) == (503, origin)
    asked_by = {"Origin": origin, "Access-Control-Request-Method": "POST", "Host": "evil.example"}
    (preflight,) = ask_all(asked, [("OPTIONS", predict, {"headers": asked_by})])
    assert preflight.status_code == 400


def test_requests_are_counted_by_the_status_that_was_sent():
    counters = Counters(1)
    asked = service(counters=counters, limits=Limits(body=100))
    requests = [
        ("GET", path, {}) for path in ("/health", "/models/", "/nothing", "/models/m/predict")
    ]
    requests += [("GET", "/health", {"headers": {"Host": "evil"}}), ("OPTIONS", "/health", {})]
    requests += [("POST", "/models/m/predict", {"content": b"x" * size}) for size in (1, 200)]
    sent = [answer.status_code for answer in ask_all(asked, requests)]
    counted = {}
    for status, n in re.findall(r'status="(\d+)"\} (\d+)', counters.to_text(1, 0)):
        counted[int(status)] = counted.get(int(status), 0) + int(n)
    assert counted == {status: sent.count(status) for status in sent}
    assert {200, 307, 404, 405, 413, 415} <= counted.keys()


@given(st.lists(st.integers(100, 599), max_size=30))
def test_every_status_is_counted_as_itself(statuses):
    counters = Counters(1)
    for status in statuses:
        counters.add("/health", status, 0.01)
    pairs = re.findall(r'status="(\d+)"\} (\d+)', counters.to_text(1, 0))
    assert {int(status): int(n) for status, n in pairs} == {
        status: statuses.count(status) for status in statuses
    }
