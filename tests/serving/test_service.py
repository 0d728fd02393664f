"""The service as its clients see it: the real command, real HTTP."""

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

pytestmark = pytest.mark.xdist_group("service")  # which makes its fixtures once

TEXTS = ["the moon in orbit", "roses in the soil", "", "nothing \ud800 of it is known \x00 <b>"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("service")
    model("linear").save(made / "news")
    model("nearest", True).save(made / "topics")
    model("svm").save(made / "plain")
    model("cnn").save(made / "net")
    return made


@pytest.fixture(scope="module")
def service(folder):
    names = [folder / name for name in ("news", "topics", "plain", "net")]
    with running(folder, *names, "--workers", "2", "--read-timeout", "1.5") as found:
        yield found


def test_the_models_are_listed(service):
    listed = {each["id"]: each for each in service.get("/models").json()["models"]}
    assert list(listed) == ["news", "topics", "plain", "net"]
    assert listed["topics"] == {"id": "topics", "classifier": "nearest", "n_classes": 3}
    assert service.get("/health").json()["status"] == "ok"
    assert service.get("/ready").status_code == 200


@pytest.mark.parametrize("name", ["news", "topics", "plain", "net"])
def test_predictions_are_those_of_the_model(service, folder, name):
    loaded = wc.load(folder / name)
    # a lone surrogate is legal in JSON, but httpx cannot write it
    body = json.dumps({"texts": TEXTS, "k": 2})
    answer = service.client.post(
        f"/models/{name}/predict", content=body, headers={"Content-Type": "application/json"}
    )
    results = answer.json()["results"]
    assert [len(each) for each in results] == [2] * len(TEXTS)
    scores, order = loaded.class_scores(TEXTS), loaded.classes_.tolist()
    for own, found in zip(scores, results, strict=True):
        for each in found:
            assert each["score"] == pytest.approx(own[order.index(each["label"])], abs=1e-5)
    if name == "plain":
        assert results[0][0]["probability"] is None
    else:
        shares = loaded.predict_proba(TEXTS)
        first = results[0][0]
        assert first["probability"] == pytest.approx(
            shares[0, order.index(first["label"])], abs=1e-5
        )
    if name != "topics":
        assert [each[0]["label"] for each in results] == loaded.predict(TEXTS).tolist()


def test_no_texts_and_more_classes_than_there_are(service):
    assert service.post("/models/news/predict", {"texts": []}).json() == {"results": []}
    answer = service.post("/models/news/predict", {"texts": ["moon"], "k": 99})
    assert len(answer.json()["results"][0]) == 3


def test_an_explanation_sums_up(service, folder):
    text = "the moon in orbit"
    found = service.post("/models/news/explain", {"text": text, "label": None}).json()
    loaded = wc.load(folder / "news")
    assert found["label"] == loaded.predict([text])[0] == "space"
    total = found["intercept"] + sum(added for _, added in found["terms"])
    wanted = loaded.class_scores([text])[0][loaded.classes_.tolist().index("space")]
    assert total == pytest.approx(wanted, abs=1e-4)
    other = service.post("/models/news/explain", {"text": text, "label": "music"}).json()
    assert other["label"] == "music"


def test_a_class_and_a_word(service):
    found = service.get("/models/news/classes/space").json()
    assert "orbit" in dict(found["terms"])
    assert found["scores"] is None
    word = service.get("/models/news/words/Orbit").json()
    assert word["profile"][0][0] == "space"
    assert service.get("/models/news/words/unheard").status_code == 404
    missing = service.get("/models/news/classes/spaec")
    assert missing.status_code == 404
    assert "close: space" in missing.json()["detail"]


def test_the_clients_of_annif_work_unchanged(service, folder):
    projects = service.get("/v1/projects").json()["projects"]
    assert [each["project_id"] for each in projects] == ["news", "topics", "plain", "net"]
    assert service.get("/v1/projects/news").json()["backend"] == {"backend_id": "linear"}
    form = {"text": "the moon in orbit", "limit": "2", "threshold": "0.0"}
    found = service.client.post("/v1/projects/news/suggest", data=form).json()["results"]
    assert found[0]["uri"] == "urn:wordclass:news:space"
    assert found[0]["label"] == "space"
    assert len(found) == 2
    strict = {**form, "threshold": str(found[0]["score"])}
    kept = service.client.post("/v1/projects/news/suggest", data=strict).json()["results"]
    assert kept == found[:1]
    body = {"documents": [{"text": text, "document_id": str(k)} for k, text in enumerate("ab")]}
    batch = service.post("/v1/projects/plain/suggest-batch?limit=1", body).json()
    assert [each["document_id"] for each in batch] == ["0", "1"]
    assert all(0 <= each["results"][0]["score"] <= 1 for each in batch)
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
    (PREDICT, b'{"texts": [NaN]}', 400, "no number of JSON"),
    (PREDICT, b'{"texts": ["a"], "k": 1e999}', 400, "expected"),
    (PREDICT, b"\xff\xfe", 400, "not JSON"),
    (PREDICT, b"[" * 20_000, 400, "not JSON"),
    (PREDICT, b"[" * 100_000, 413, "JSON values; send fewer at once"),
    (PREDICT, b'{"texts": ["a"], "k": ' + b"9" * 4000 + b"}", 400, "a number has 4,000 characters"),
    (PREDICT, b"null", 400, "the body is null"),
    (PREDICT, b"[]", 400, "the body is a list; expected object"),
    (PREDICT, b"{}", 400, "the body has no 'texts'"),
    (PREDICT, b'{"texts": "moon"}', 400, "'texts' is a string; expected array"),
    (PREDICT, b'{"texts": [1]}', 400, "is a number; expected string"),
    (PREDICT, b'{"texts": [null]}', 400, "is null; expected string"),
    (PREDICT, b'{"texts": ["a"], "k": 0}', 400, "'k' is 0; expected 1 to"),
    (PREDICT, b'{"texts": ["a"], "k": true}', 400, "'k' is true; expected integer"),
    (PREDICT, b'{"texts": ["a"], "k": "3"}', 400, "'k' is a string"),
    (PREDICT, b'{"text": "a", "texts": []}', 400, "has a field 'text'; known: texts, k"),
    (PREDICT, b'{"texts": [' + b'"a",' * 2000 + b'"a"]}', 400, "at most 2,000"),
    (PREDICT, b'{"texts": ["' + b"a" * 1_000_001 + b'"]}', 400, "at most 1,000,000"),
    ("/models/news/explain", b'{"text": "a", "label": "x"}', 404, "unknown class 'x'"),
    ("/models/none/predict", b'{"texts": []}', 404, "known: news, topics"),
]


@pytest.mark.parametrize(("path", "body", "status", "told"), BAD_BODIES, ids=lambda _: "")
def test_bad_bodies_are_refused_in_one_line(service, path, body, status, told):
    answer = service.client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert found["status"] == status
    assert told in found["detail"]
    assert "\n" not in found["detail"]


def test_content_types_and_forms_are_checked(service):
    assert service.client.post(PREDICT, content=b"{}").status_code == 415
    assert service.client.post("/v1/projects/news/suggest", json={}).status_code == 415
    for form in ({}, {"text": "a", "limit": "x"}, {"text": "a", "threshold": "nan"},
                 {"text": "a", "limit": "-1"}, {"text": "a", "threshold": "2"}):  # fmt: skip
        found = service.client.post("/v1/projects/news/suggest", data={"x": "1", **form})
        assert found.status_code == 400, form
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


def test_other_methods_are_told_which_there_are(service):
    answer = service.get(PREDICT)
    assert answer.status_code == 405
    assert "POST" in answer.headers["allow"]
    assert service.client.delete("/models").status_code == 405


def test_large_bodies_are_refused_whole_or_in_pieces(service):
    headers = {"Content-Type": "application/json"}
    whole = service.client.post(PREDICT, content=b"x" * 50_000_000, headers=headers)
    assert (whole.status_code, whole.json()["detail"]) == (
        413, "the body has more than 16,777,216 bytes",
    )  # fmt: skip
    pieces = (b"x" * 1_000_000 for _ in range(30))
    assert service.client.post(PREDICT, content=pieces, headers=headers).status_code == 413
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as wire:
        head = f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n"
        wire.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode())
        assert b" 413 " in wire.recv(4096)
    assert service.get("/health").status_code == 200


def exchanged(service, sent):
    """Send bytes with pauses between; return what came back until the connection was closed."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as wire:
        for each in sent:
            wire.sendall(each)
            time.sleep(0.3)
        return b"".join(iter(lambda: wire.recv(65536), b""))


def test_slow_clients_are_let_go(service):
    head = f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    start = time.monotonic()
    slow_body = exchanged(service, [f"{head}Content-Length: 100\r\n\r\n{{".encode(), b" "])
    assert b" 408 " in slow_body.split(b"\r\n")[0]
    assert b"did not arrive within 1.5 seconds" in slow_body
    assert exchanged(service, [b"GET /health HT"]) == b""
    assert exchanged(service, []) == b""
    assert time.monotonic() - start < 10
    assert b" 400 " in exchanged(service, [b"nonsense\r\n\r\n"])
    long_head = b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"a" * 100_000
    assert b" 400 " in exchanged(service, [long_head])


def chunked(body, trailers=b"", extra=b""):
    """Write a request in one chunk, with trailers and further headers."""
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
    answer = exchanged(service, [chunked(BODY, trailer + b"\r\n", LOCAL)])
    assert answer.startswith(b"HTTP/1.1 200 "), answer[:300]
    # the trailer arrives when the application runs already
    request = chunked(BODY, trailer + b"\r\n", LOCAL)
    cut = request.index(b"\r\n0\r\n") + 2
    answer = exchanged(service, [request[:cut], request[cut:]])
    assert answer.startswith(b"HTTP/1.1 200 "), answer[:300]
    answer = exchanged(service, [chunked(BODY, LOCAL)])
    assert answer.startswith(b"HTTP/1.1 400 "), "a trailer is no Host"


def test_trailers_and_extensions_of_chunks_are_limited(service):
    for start in (b"0\r\nX: ", b"1;"):
        request = chunked(BODY, extra=LOCAL)
        cut = request.index(b"\r\n0\r\n") + 2
        answer = exchanged(service, [request[:cut] + start, *[b"a" * 50_000] * 2])
        assert answer.startswith(b"HTTP/1.1 400 "), answer[:300]
    head = chunked(b"", extra=LOCAL).partition(b"0\r\n")[0]
    one_by_one = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY.ljust(30_000))
    answer = exchanged(service, [head + one_by_one + b"0\r\n\r\n"])
    assert answer.startswith(b"HTTP/1.1 200 "), answer[:300]


@pytest.mark.parametrize("second", [LOCAL, b"hOST: evil.example\r\n"])
def test_two_hosts_are_refused(service, second):
    for hosts in (LOCAL + second, second + LOCAL):
        assert exchanged(service, [chunked(BODY, extra=hosts)]).startswith(b"HTTP/1.1 400 ")


def test_large_bodies_do_not_keep_others_waiting(folder, tmp_path):
    """While bodies that take long to parse arrive, the one process answers others."""
    keys = b"{" + b",".join(b'"%d":1' % number for number in range(1_000_000)) + b"}"
    numbers = b'{"texts":[' + b"1," * 5_000_000 + b"1]}"
    with running(tmp_path, folder / "news", "--quiet") as found:
        headers = {"Content-Type": "application/json"}
        statuses = []

        def attack():
            for content in (keys, numbers) * 2:
                answer = httpx.post(
                    found.address + PREDICT[1:], content=content, headers=headers, timeout=60
                )
                statuses.append(answer.status_code)

        attacker = threading.Thread(target=attack)
        slowest = [longest_wait(found, lambda: False, n=30)]
        attacker.start()
        slowest.append(longest_wait(found, attacker.is_alive))
        attacker.join()
    assert statuses == [413] * 4
    parsing = time.perf_counter()
    json.loads(keys)
    json.loads(numbers)
    parsing = time.perf_counter() - parsing
    assert slowest[1] < slowest[0] + parsing / 2


def longest_wait(found, goes_on, n=0):
    """Ask again and again, at least n times; return the longest time to an answer."""
    longest = 0.0
    while goes_on() or n > 0:
        start = time.perf_counter()
        assert found.get("/health").status_code == 200
        longest = max(longest, time.perf_counter() - start)
        n -= 1
    return longest


def test_an_explanation_whose_client_has_gone_is_given_up(tmp_path):
    texts, labels = corpus(60, seed=0)
    wc.classifier("linear", characters=(2, 5)).fit(texts, labels).save(tmp_path / "news")
    text = " ".join(f"moon{number}" for number in range(25_000))
    with running(tmp_path, tmp_path / "news") as found:
        assert found.post("/models/news/explain", {"text": text + text}).status_code == 413
        body = json.dumps({"text": text}).encode()
        head = b"POST /models/news/explain HTTP/1.1\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", found.port), timeout=10) as wire:
            wire.sendall(head + LOCAL + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        assert found.post(PREDICT, {"texts": ["moon"]}).status_code == 200
        found.wait_for("request", n=3)
        statuses = [each["status"] for each in found.events() if each["event"] == "request"]
        assert sorted(statuses) == [200, 413, 499]


def test_two_thousand_open_connections_do_not_stop_it(service):
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
    served, others = (
        ("localhost", "127.0.0.1:1", "[::1]:80"),
        ("evil.example", "", "localhost.x.org"),
    )
    for host, status in [*((each, 200) for each in served), *((each, 400) for each in others)]:
        answer = service.get("/models", headers={"Host": host})
        assert answer.status_code == status, host
    assert "--allow-host" in answer.json()["detail"]


def test_headers_are_strict_and_no_page_may_ask(service):
    answer = service.get("/models", headers={"Origin": "https://example.org"})
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers
    assert "server" not in answer.headers


def test_many_threads_get_their_own_answers(service, folder):
    loaded = wc.load(folder / "news")
    texts = [f"{word} rare{k}" for k in range(30) for word in ("moon orbit", "soil rose", "song")]
    wanted, failures = loaded.predict(texts).tolist(), []

    def ask(part):
        with httpx.Client(base_url=service.address) as client:
            for k in range(part, len(texts), 6):
                answer = client.post(PREDICT, json={"texts": [texts[k]], "k": 1})
                if answer.json()["results"][0][0]["label"] != wanted[k]:
                    failures.append(k)

    threads = [threading.Thread(target=ask, args=(part,)) for part in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
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
    line = next(each for each in service.events() if each["event"] == "request")
    assert {"time", "route", "status", "ms", "method"} <= line.keys()


def test_a_process_that_dies_is_replaced(service):
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
    ) as found:
        missing = found.get("/models")
        assert missing.status_code == 401
        assert missing.headers["www-authenticate"] == "Bearer"
        for given in ("wrong", "first-token-000", "first-token-00012", "clients", "#", "\xe9"):
            headers = {"Authorization": f"Bearer {given}".encode("latin-1")}
            assert found.get("/models", headers=headers).status_code == 401
        assert (
            found.get("/models", headers={"Authorization": "Basic first-token-0001"}).status_code
            == 401
        )
        right = {"Authorization": "Bearer second-token-0002", "Host": "models.example:8000"}
        assert found.get("/models", headers=right).status_code == 200
        assert found.get("/health").status_code == 200
        document = found.get("/openapi.json", headers=right).json()
        assert document["security"] == [{"token": []}]
        asked = {
            "Origin": "https://a.example", "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization",
        }  # fmt: skip
        allowed = found.client.options(PREDICT, headers=asked)
        assert allowed.headers["access-control-allow-origin"] == "https://a.example"
        other = found.client.options(PREDICT, headers={**asked, "Origin": "https://b.example"})
        assert "access-control-allow-origin" not in other.headers
        tokens.write_text("a passphrase of many words")
        found.reload()
        assert "line 1" in found.wait_for("reload failed")["error"]
        assert httpx.get(found.address + "models", headers=right).status_code == 200
        tokens.write_text("third-token-0003")
        found.reload()
        found.wait_for("reloaded")
        right["Authorization"] = "Bearer third-token-0003"
        assert httpx.get(found.address + "models", headers=right).status_code == 200
        assert not [each for each in found.events() if each["event"] == "request"]


def test_a_reload_loses_no_request_and_a_broken_model_changes_nothing(folder, tmp_path):
    place = tmp_path / "news"
    shutil.copytree(folder / "news", place)
    failures, labels, is_over = [], [], threading.Event()

    def ask():
        with httpx.Client(base_url=found.address) as client:
            while not is_over.is_set():
                try:
                    answer = client.post(PREDICT, json={"texts": ["moon"], "k": 9})
                    labels.append(frozenset(each["label"] for each in answer.json()["results"][0]))
                except Exception as error:
                    failures.append(repr(error))

    with running(tmp_path, place, "--workers", "2", "--quiet") as found:
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for each in threads:
            each.start()
        while len(labels) < 20 and not failures:
            time.sleep(0.01)
        # broken in the folder itself, as a careless copy does it
        (place / "model.safetensors").write_bytes(b"broken")
        found.reload()
        told = found.wait_for("reload failed")
        assert "model.safetensors" in told["error"]
        shutil.rmtree(place)
        found.reload()
        found.wait_for("reload failed", n=2)
        texts = ["sun sand", "snow ice"] * 10
        wc.classifier("nearest", min_docs=1).fit(texts, ["warm", "cold"] * 10).save(place)
        found.reload()
        found.wait_for("reloaded")
        time.sleep(1.0)
        is_over.set()
        for each in threads:
            each.join()
        assert not failures
        assert labels[0] == {"space", "garden", "music"}
        assert labels[-1] == {"warm", "cold"}


def test_the_weights_are_shared_by_the_processes(tmp_path):
    """Each further process takes little memory of its own."""
    rng = np.random.default_rng(0)
    words = [f"word{k}" for k in range(20_000)]
    texts = [" ".join(rng.choice(words, 300)) for _ in range(400)]
    large = wc.classifier("nearest", min_docs=1, probabilities=False)
    large.fit(texts, [f"c{k % 100}" for k in range(400)]).save(tmp_path / "large")
    n_bytes = (tmp_path / "large" / "model.safetensors").stat().st_size
    with running(tmp_path, tmp_path / "large", "--workers", "2", "--quiet") as found:
        for _ in range(20):
            httpx.post(found.address + "models/large/predict", json={"texts": texts[:5]})
        children = subprocess.run(
            ["pgrep", "-P", str(found.process.pid)], capture_output=True, text=True
        ).stdout.split()
        if len(children) != 2:
            pytest.skip("there is no pgrep")
        for child in children:
            with open(f"/proc/{child}/smaps_rollup") as lines:
                private = sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
            assert private * 1024 < 25e6 + 0.5 * n_bytes
