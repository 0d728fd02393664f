"""The service as seen by clients: the real command and real HTTP."""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import threading
import time

import httpx
import numpy as np
import pytest
from explored_models import model
from made_up import corpus
from running_service import running

import wordclass as wc

pytest.importorskip("uvicorn")

pytestmark = pytest.mark.xdist_group("service")  # so that its fixtures are created once

TEXTS = ["the moon in orbit", "roses in the soil", "", "nothing \ud800 of it is known \x00 <b>"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    models_folder = tmp_path_factory.mktemp("service")
    model("linear").save(models_folder / "news")
    model("nearest", True).save(models_folder / "topics")
    model("svm").save(models_folder / "plain")
    model("cnn").save(models_folder / "net")
    return models_folder


@pytest.fixture(scope="module")
def service(folder):
    names = [folder / name for name in ("news", "topics", "plain", "net")]
    with running(folder, *names, "--workers", "2", "--read-timeout", "1.5") as service:
        yield service


def test_the_models_are_listed(service):
    listed = {
        description["id"]: description for description in service.get("/models").json()["models"]
    }
    assert list(listed) == ["news", "topics", "plain", "net"]
    assert listed["topics"] == {"id": "topics", "classifier": "nearest", "n_classes": 3}
    assert service.get("/health").json()["status"] == "ok"
    assert service.get("/ready").status_code == 200


@pytest.mark.parametrize("name", ["news", "topics", "plain", "net"])
def test_predictions_equal_those_of_the_model(service, folder, name):
    loaded = wc.load(folder / name)
    # a lone surrogate is legal in JSON, but httpx cannot write it
    body = json.dumps({"texts": TEXTS, "k": 2})
    answer = service.client.post(
        f"/models/{name}/predict", content=body, headers={"Content-Type": "application/json"}
    )
    results = answer.json()["results"]
    assert [len(classes) for classes in results] == [2] * len(TEXTS)
    scores = loaded.class_scores(TEXTS)
    order = loaded.classes_.tolist()
    for text_scores, classes in zip(scores, results, strict=True):
        for prediction in classes:
            assert prediction["score"] == pytest.approx(
                text_scores[order.index(prediction["label"])], abs=1e-5
            )
    if name == "plain":
        assert results[0][0]["probability"] is None
    else:
        probabilities = loaded.predict_proba(TEXTS)
        first = results[0][0]
        assert first["probability"] == pytest.approx(
            probabilities[0, order.index(first["label"])], abs=1e-5
        )
    if name != "topics":
        assert [classes[0]["label"] for classes in results] == loaded.predict(TEXTS).tolist()


def test_no_texts_and_a_k_above_the_number_of_classes(service):
    assert service.post("/models/news/predict", {"texts": []}).json() == {"results": []}
    answer = service.post("/models/news/predict", {"texts": ["moon"], "k": 99})
    assert len(answer.json()["results"][0]) == 3


def test_an_explanation_sums_up(service, folder):
    text = "the moon in orbit"
    explanation = service.post("/models/news/explain", {"text": text, "label": None}).json()
    loaded = wc.load(folder / "news")
    assert explanation["label"] == loaded.predict([text])[0] == "space"
    total = explanation["intercept"] + sum(added for _, added in explanation["terms"])
    expected = loaded.class_scores([text])[0][loaded.classes_.tolist().index("space")]
    assert total == pytest.approx(expected, abs=1e-4)
    other = service.post("/models/news/explain", {"text": text, "label": "music"}).json()
    assert other["label"] == "music"


def test_a_class_and_a_word(service):
    profile = service.get("/models/news/classes/space").json()
    assert "orbit" in dict(profile["terms"])
    assert profile["scores"] is None
    word = service.get("/models/news/words/Orbit").json()
    assert word["profile"][0][0] == "space"
    assert service.get("/models/news/words/unheard").status_code == 404
    missing = service.get("/models/news/classes/spaec")
    assert missing.status_code == 404
    assert "close: space" in missing.json()["detail"]


def test_the_clients_of_annif_work_unchanged(service, folder):
    projects = service.get("/v1/projects").json()["projects"]
    assert [project["project_id"] for project in projects] == ["news", "topics", "plain", "net"]
    assert service.get("/v1/projects/news").json()["backend"] == {"backend_id": "linear"}
    form = {"text": "the moon in orbit", "limit": "2", "threshold": "0.0"}
    suggestions = service.client.post("/v1/projects/news/suggest", data=form).json()["results"]
    assert suggestions[0]["uri"] == "urn:wordclass:news:space"
    assert suggestions[0]["label"] == "space"
    assert len(suggestions) == 2
    strict = {**form, "threshold": str(suggestions[0]["score"])}
    strict_suggestions = service.client.post("/v1/projects/news/suggest", data=strict).json()[
        "results"
    ]
    assert strict_suggestions == suggestions[:1]
    body = {"documents": [{"text": text, "document_id": str(k)} for k, text in enumerate("ab")]}
    batch = service.post("/v1/projects/plain/suggest-batch?limit=1", body).json()
    assert [document["document_id"] for document in batch] == ["0", "1"]
    assert all(0 <= document["results"][0]["score"] <= 1 for document in batch)
    many = {"documents": [{"text": "moon"}] * 33}
    refused = service.post("/v1/projects/news/suggest-batch", many)
    assert refused.status_code == 400
    unknown = service.get("/v1/projects/none")
    assert (unknown.status_code, unknown.headers["content-type"]) == (
        404, "application/problem+json",
    )  # fmt: skip
    assert {"title", "status", "detail"} <= unknown.json().keys()


PREDICT = "/models/news/predict"
BAD_BODIES = [
    (PREDICT, b"{", 400, "not JSON"),
    (PREDICT, b'{"texts": [NaN]}', 400, "not a JSON number"),
    (PREDICT, b'{"texts": ["a"], "k": 1e999}', 400, "expected"),
    (PREDICT, b"\xff\xfe", 400, "not JSON"),
    (PREDICT, b"[" * 20_000, 400, "not JSON"),
    (PREDICT, b"[" * 100_000, 413, "JSON values; send fewer texts per request"),
    (PREDICT, b'{"texts": ["a"], "k": ' + b"9" * 4000 + b"}", 400, "a number has 4,000 characters"),
    (PREDICT, b"null", 400, "the body is null"),
    (PREDICT, b"[]", 400, "the body is a list; expected object"),
    (PREDICT, b"{}", 400, "the body has no field 'texts'"),
    (PREDICT, b'{"texts": "moon"}', 400, "'texts' is a string; expected array"),
    (PREDICT, b'{"texts": [1]}', 400, "is a number; expected string"),
    (PREDICT, b'{"texts": [null]}', 400, "is null; expected string"),
    (PREDICT, b'{"texts": ["a"], "k": 0}', 400, "'k' is 0; expected 1 to"),
    (PREDICT, b'{"texts": ["a"], "k": true}', 400, "'k' is true; expected integer"),
    (PREDICT, b'{"texts": ["a"], "k": "3"}', 400, "'k' is a string"),
    (PREDICT, b'{"text": "a", "texts": []}', 400, "has an unknown field 'text'; expected texts, k"),
    (PREDICT, b'{"texts": [' + b'"a",' * 2000 + b'"a"]}', 400, "at most 2,000"),
    (PREDICT, b'{"texts": ["' + b"a" * 1_000_001 + b'"]}', 400, "at most 1,000,000"),
    ("/models/news/explain", b'{"text": "a", "label": "x"}', 404, "unknown class 'x'"),
    ("/models/none/predict", b'{"texts": []}', 404, "expected news, topics"),
]


@pytest.mark.parametrize(("path", "body", "status", "message"), BAD_BODIES, ids=lambda _: "")
def test_bad_bodies_are_refused_in_one_line(service, path, body, status, message):
    answer = service.client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert message in problem["detail"]
    assert "\n" not in problem["detail"]


def test_content_types_and_forms_are_checked(service):
    assert service.client.post(PREDICT, content=b"{}").status_code == 415
    assert service.client.post("/v1/projects/news/suggest", json={}).status_code == 415
    for form in ({}, {"text": "a", "limit": "x"}, {"text": "a", "threshold": "nan"},
                 {"text": "a", "limit": "-1"}, {"text": "a", "threshold": "2"}):  # fmt: skip
        answer = service.client.post("/v1/projects/news/suggest", data={"x": "1", **form})
        assert answer.status_code == 400, form
    assert service.client.post(
        "/v1/projects/news/suggest", data={"text": "a", "limit": "0"}
    ).json() == {"results": []}
    assert (
        service.post("/v1/projects/news/suggest-batch?limit=x", {"documents": []}).status_code
        == 400
    )


TRICKS = [
    "/../etc/passwd", "/models/../../etc/passwd", "/models/%2e%2e/predict", "/static/../app.py",
    "/models/news%00/classes/space", "//models", "/models/", "/v1/projects/..%2f..%2fetc",
    "/models/news/classes/..%2f..%2fetc%2fpasswd", "/%ff%fe", "/" + "a" * 4000,
]  # fmt: skip


@pytest.mark.parametrize("path", TRICKS)
def test_tricks_with_paths_find_nothing(service, path):
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as wire:
        wire.sendall(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )
        answer = b"".join(iter(lambda: wire.recv(65536), b""))
    status = int(answer.split(b" ", 2)[1])
    assert status in (307, 404, 405), answer
    assert b"root:" not in answer


def test_other_methods_are_refused_with_the_allowed_ones(service):
    answer = service.get(PREDICT)
    assert answer.status_code == 405
    assert "POST" in answer.headers["allow"]
    assert service.client.delete("/models").status_code == 405


def test_large_bodies_are_refused_with_and_without_chunks(service):
    headers = {"Content-Type": "application/json"}
    answer = service.client.post(PREDICT, content=b"x" * 50_000_000, headers=headers)
    assert (answer.status_code, answer.json()["detail"]) == (
        413, "the body has more than 16,777,216 bytes; send fewer or shorter texts per request",
    )  # fmt: skip
    chunks = (b"x" * 1_000_000 for _ in range(30))
    assert service.client.post(PREDICT, content=chunks, headers=headers).status_code == 413
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as wire:
        head = f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n"
        wire.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode())
        assert b" 413 " in wire.recv(4096)
    assert service.get("/health").status_code == 200


def send_bytes(service, chunks):
    """Send chunks of bytes with pauses. Return the answer until the connection is closed."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as wire:
        for chunk in chunks:
            wire.sendall(chunk)
            time.sleep(0.3)
        return b"".join(iter(lambda: wire.recv(65536), b""))


def test_slow_clients_are_disconnected(service):
    head = f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    start = time.monotonic()
    slow_body = send_bytes(service, [f"{head}Content-Length: 100\r\n\r\n{{".encode(), b" "])
    assert b" 408 " in slow_body.split(b"\r\n")[0]
    assert b"did not arrive within 1.5 seconds" in slow_body
    assert send_bytes(service, [b"GET /health HT"]) == b""
    assert send_bytes(service, []) == b""
    assert time.monotonic() - start < 10
    assert b" 400 " in send_bytes(service, [b"nonsense\r\n\r\n"])
    long_head = b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"a" * 100_000
    assert b" 400 " in send_bytes(service, [long_head])


def chunked(body, trailers=b"", extra=b""):
    """Return a request with one chunk, trailers and additional headers."""
    head = f"POST {PREDICT} HTTP/1.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    return (
        head.encode() + extra + b"Transfer-Encoding: chunked\r\n\r\n"
        + b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(body), body, trailers)
    )  # fmt: skip


BODY = b'{"texts": ["moon"]}'
LOCAL = b"Host: localhost\r\n"


@pytest.mark.parametrize(
    "trailer",
    [b"Host: evil.example", b"Host: localhost", b"Content-Type: a/b", b"Expect: 100-continue",
     b"Authorization: Bearer x", b"X: " + b"a" * 1000],
)  # fmt: skip
def test_trailers_change_no_header(service, trailer):
    answer = send_bytes(service, [chunked(BODY, trailer + b"\r\n", LOCAL)])
    assert answer.startswith(b"HTTP/1.1 200 "), answer[:300]
    # the trailer arrives while the application is already running
    request = chunked(BODY, trailer + b"\r\n", LOCAL)
    cut = request.index(b"\r\n0\r\n") + 2
    answer = send_bytes(service, [request[:cut], request[cut:]])
    assert answer.startswith(b"HTTP/1.1 200 "), answer[:300]
    answer = send_bytes(service, [chunked(BODY, LOCAL)])
    assert answer.startswith(b"HTTP/1.1 400 "), "a trailer is no Host"


def test_trailers_and_extensions_of_chunks_are_limited(service):
    for start in (b"0\r\nX: ", b"1;"):
        request = chunked(BODY, extra=LOCAL)
        cut = request.index(b"\r\n0\r\n") + 2
        answer = send_bytes(service, [request[:cut] + start, *[b"a" * 50_000] * 2])
        assert answer.startswith(b"HTTP/1.1 400 "), answer[:300]
    head = chunked(b"", extra=LOCAL).partition(b"0\r\n")[0]
    one_by_one = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY.ljust(30_000))
    answer = send_bytes(service, [head + one_by_one + b"0\r\n\r\n"])
    assert answer.startswith(b"HTTP/1.1 200 "), answer[:300]


@pytest.mark.parametrize("second", [LOCAL, b"hOST: evil.example\r\n"])
def test_two_hosts_are_refused(service, second):
    for hosts in (LOCAL + second, second + LOCAL):
        assert send_bytes(service, [chunked(BODY, extra=hosts)]).startswith(b"HTTP/1.1 400 ")


def test_large_bodies_do_not_delay_other_requests(folder, tmp_path):
    """A single process answers other requests while it receives bodies that take long to parse."""
    keys = b"{" + b",".join(b'"%d":1' % number for number in range(1_000_000)) + b"}"
    numbers = b'{"texts":[' + b"1," * 5_000_000 + b"1]}"
    with running(tmp_path, folder / "news", "--quiet") as service:
        headers = {"Content-Type": "application/json"}
        statuses = []

        def attack():
            for content in (keys, numbers) * 2:
                answer = httpx.post(
                    service.address + PREDICT[1:], content=content, headers=headers, timeout=60
                )
                statuses.append(answer.status_code)

        attacker = threading.Thread(target=attack)
        slowest = [longest_wait(service, lambda: False, n=30)]
        attacker.start()
        slowest.append(longest_wait(service, attacker.is_alive))
        attacker.join()
    assert statuses == [413] * 4
    parsing = time.perf_counter()
    json.loads(keys)
    json.loads(numbers)
    parsing = time.perf_counter() - parsing
    assert slowest[1] < slowest[0] + parsing / 2


def longest_wait(service, is_running, n=0):
    """Send at least n requests, one after the other. Return the longest time to an answer."""
    longest = 0.0
    while is_running() or n > 0:
        start = time.perf_counter()
        assert service.get("/health").status_code == 200
        longest = max(longest, time.perf_counter() - start)
        n -= 1
    return longest


def test_an_explanation_is_abandoned_when_its_client_disconnects(tmp_path):
    texts, labels = corpus(60, seed=0)
    wc.classifier("linear", characters=(2, 5)).fit(texts, labels).save(tmp_path / "news")
    text = " ".join(f"moon{number}" for number in range(25_000))
    with running(tmp_path, tmp_path / "news") as service:
        assert service.post("/models/news/explain", {"text": text + text}).status_code == 413
        body = json.dumps({"text": text}).encode()
        head = b"POST /models/news/explain HTTP/1.1\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", service.port), timeout=10) as wire:
            wire.sendall(head + LOCAL + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        assert service.post(PREDICT, {"texts": ["moon"]}).status_code == 200
        service.wait_for("request", n=3)
        statuses = [event["status"] for event in service.events() if event["event"] == "request"]
        assert sorted(statuses) == [200, 413, 499]


def test_two_thousand_open_connections_do_not_stop_the_service(service):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4000:
        pytest.skip(f"this system allows {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    wires = []
    try:
        for _ in range(2000):
            wires.append(socket.create_connection(("127.0.0.1", service.port), timeout=10))
        answer = httpx.post(f"{service.address}models/news/predict", json={"texts": ["moon"]})
        assert answer.status_code == 200
    finally:
        for wire in wires:
            wire.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_only_known_hosts_are_served(service):
    served, refused = (
        ("localhost", "127.0.0.1:1", "[::1]:80"),
        ("evil.example", "", "localhost.x.org"),
    )
    for host, status in [*((host, 200) for host in served), *((host, 400) for host in refused)]:
        answer = service.get("/models", headers={"Host": host})
        assert answer.status_code == status, host
    assert "--allow-host" in answer.json()["detail"]


def test_headers_are_strict_and_other_pages_cannot_read_answers(service):
    answer = service.get("/models", headers={"Origin": "https://example.org"})
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers
    assert "server" not in answer.headers


def test_many_threads_get_their_own_answers(service, folder):
    loaded = wc.load(folder / "news")
    texts = [f"{word} rare{k}" for k in range(30) for word in ("moon orbit", "soil rose", "song")]
    expected = loaded.predict(texts).tolist()
    failures = []

    def ask(part):
        with httpx.Client(base_url=service.address) as client:
            for k in range(part, len(texts), 6):
                answer = client.post(PREDICT, json={"texts": [texts[k]], "k": 1})
                if answer.json()["results"][0][0]["label"] != expected[k]:
                    failures.append(k)

    threads = [threading.Thread(target=ask, args=(part,)) for part in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_counters_of_all_processes_are_summed_and_the_log_has_no_texts(service):
    def count():
        for line in service.get("/metrics").text.splitlines():
            if line.startswith(
                'wordclass_requests_total{route="/models/{id}/predict",status="200"}'
            ):
                return int(line.split()[-1])
        return 0

    before = count()
    for _ in range(20):
        assert httpx.post(service.address + PREDICT[1:], json={"texts": ["secretword"]}).is_success
    service.get("/models/news/words/secretword")
    assert count() == before + 20
    log = service.log.read_text()
    assert "secretword" not in log
    line = next(event for event in service.events() if event["event"] == "request")
    assert {"time", "route", "status", "ms", "method"} <= line.keys()


def test_a_crashed_worker_is_restarted(service):
    children = subprocess.run(
        ["pgrep", "-P", str(service.process.pid)], capture_output=True, text=True
    ).stdout.split()
    if not children:
        pytest.skip("there is no pgrep")
    os.kill(int(children[0]), signal.SIGKILL)
    service.wait_for("worker died")
    for _ in range(5):
        assert httpx.get(service.address + "models").status_code == 200


def test_tokens_hosts_and_origins(folder, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("# clients of the library\nfirst-token-0001\n\nsecond-token-0002\n")
    options = ["--token-file", tokens, "--allow-host", "models.example", "--quiet"]
    with running(
        tmp_path, folder / "news", *options, "--cors-origin", "https://a.example"
    ) as service:
        missing = service.get("/models")
        assert missing.status_code == 401
        assert missing.headers["www-authenticate"] == "Bearer"
        for token in ("wrong", "first-token-000", "first-token-00012", "clients", "#", "\xe9"):
            headers = {"Authorization": f"Bearer {token}".encode("latin-1")}
            assert service.get("/models", headers=headers).status_code == 401
        assert (
            service.get("/models", headers={"Authorization": "Basic first-token-0001"}).status_code
            == 401
        )
        valid_headers = {"Authorization": "Bearer second-token-0002", "Host": "models.example:8000"}
        assert service.get("/models", headers=valid_headers).status_code == 200
        assert service.get("/health").status_code == 200
        document = service.get("/openapi.json", headers=valid_headers).json()
        assert document["security"] == [{"token": []}]
        preflight = {
            "Origin": "https://a.example", "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization",
        }  # fmt: skip
        allowed = service.client.options(PREDICT, headers=preflight)
        assert allowed.headers["access-control-allow-origin"] == "https://a.example"
        other = service.client.options(
            PREDICT, headers={**preflight, "Origin": "https://b.example"}
        )
        assert "access-control-allow-origin" not in other.headers
        tokens.write_text("a passphrase of many words")
        service.reload()
        assert "line 1" in service.wait_for("reload failed")["error"]
        assert httpx.get(service.address + "models", headers=valid_headers).status_code == 200
        tokens.write_text("third-token-0003")
        service.reload()
        service.wait_for("reloaded")
        valid_headers["Authorization"] = "Bearer third-token-0003"
        assert httpx.get(service.address + "models", headers=valid_headers).status_code == 200
        assert not [event for event in service.events() if event["event"] == "request"]


def test_a_reload_loses_no_request_and_a_broken_model_changes_nothing(folder, tmp_path):
    place = tmp_path / "news"
    shutil.copytree(folder / "news", place)
    failures = []
    labels = []
    is_over = threading.Event()

    def ask():
        with httpx.Client(base_url=service.address) as client:
            while not is_over.is_set():
                try:
                    answer = client.post(PREDICT, json={"texts": ["moon"], "k": 9})
                    labels.append(
                        frozenset(prediction["label"] for prediction in answer.json()["results"][0])
                    )
                except Exception as error:
                    failures.append(repr(error))

    with running(tmp_path, place, "--workers", "2", "--quiet") as service:
        threads = [threading.Thread(target=ask, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        while len(labels) < 20 and not failures:
            time.sleep(0.01)
        # an interrupted copy breaks the folder in place
        (place / "model.safetensors").write_bytes(b"broken")
        service.reload()
        event = service.wait_for("reload failed")
        assert "model.safetensors" in event["error"]
        shutil.rmtree(place)
        service.reload()
        service.wait_for("reload failed", n=2)
        texts = ["sun sand", "snow ice"] * 10
        wc.classifier("nearest", min_docs=1).fit(texts, ["warm", "cold"] * 10).save(place)
        service.reload()
        service.wait_for("reloaded")
        time.sleep(1.0)
        is_over.set()
        for thread in threads:
            thread.join()
        assert not failures
        assert labels[0] == {"space", "garden", "music"}
        assert labels[-1] == {"warm", "cold"}


def test_the_weights_are_shared_by_the_processes(tmp_path):
    """Each additional process needs little private memory."""
    rng = np.random.default_rng(0)
    words = [f"word{k}" for k in range(20_000)]
    texts = [" ".join(rng.choice(words, 300)) for _ in range(400)]
    large = wc.classifier("nearest", min_docs=1, probabilities=False)
    large.fit(texts, [f"c{k % 100}" for k in range(400)]).save(tmp_path / "large")
    n_bytes = (tmp_path / "large" / "model.safetensors").stat().st_size
    with running(tmp_path, tmp_path / "large", "--workers", "2", "--quiet") as service:
        for _ in range(20):
            httpx.post(service.address + "models/large/predict", json={"texts": texts[:5]})
        children = subprocess.run(
            ["pgrep", "-P", str(service.process.pid)], capture_output=True, text=True
        ).stdout.split()
        if len(children) != 2:
            pytest.skip("there is no pgrep")
        for child in children:
            with open(f"/proc/{child}/smaps_rollup") as lines:
                private = sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
            assert private * 1024 < 25e6 + 0.5 * n_bytes
