"""The service: routes, checks and answers. What is answered is made in `explorer.views`."""

import asyncio
import hashlib
import hmac
import json
import math
import re
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wordclass.errors import InputError, MissingExtraError, WordClassError
from wordclass.explorer.page import Page
from wordclass.explorer.views import Exploration, JsonObject
from wordclass.serving import openapi
from wordclass.serving.batching import Batcher, Worker
from wordclass.serving.journal import Counters, Journal
from wordclass.serving.json_bodies import LARGE_BODY_BYTES, parse_json
from wordclass.serving.openapi import Refused

Handler = Callable[[Request], Awaitable[Response]]

_CLIENT_GONE = 499  # a status for the log and the counters: nobody receives it
_OPEN = frozenset({"/health", "/ready"})  # what asks whether we are alive has no token
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_DISCARDED = 8  # times the largest body: so much of a larger one is read before it is refused
_MAP_SECONDS = 20.0  # that a request waits for the map
_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cache-control": b"no-store",
    b"cross-origin-resource-policy": b"same-origin",
}
_NO_PAGE = b"default-src 'none'; frame-ancestors 'none'"
_PAGE = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_FORM = "application/x-www-form-urlencoded"
_LARGE_FORM_BYTES = 1 << 16  # a larger one takes up to seconds, in which others are answered
_VALUES_PER_TEXT = 8  # JSON values of a document of a batch, metadata included
_EXTRA_VALUES = 10_000
_SINGLE_HEADERS = frozenset({b"host", b"authorization", b"content-type", b"content-length"})
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?")
_NUMBER = re.compile(r"-?[0-9]{1,300}(\.[0-9]{1,300})?([eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much is taken at once."""

    body: int = 16 << 20  # bytes
    explain_body: int = 1 << 18  # bytes: an explanation takes longer than a prediction
    text: int = 1_000_000  # characters
    batch: int = 2000  # texts
    waiting: int = 256  # requests, per process
    seconds: float = 30.0  # for an answer
    body_seconds: float = 10.0  # for a request to arrive


@dataclass(frozen=True, kw_only=True)
class AccessPolicy:
    """Who is served: tokens, names of this host, origins of pages; no tokens: everybody."""

    tokens: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()


class Service:
    """An ASGI application that serves models.

    Parameters
    ----------
    models : mapping
        From the id of each model to it.
    limits, manners
        How much is taken, and from whom.
    journal, counters
        Where requests are written down, and counted.
    page : Page, optional
        A page to look at the one model by.
    """

    def __init__(
        self,
        models: Mapping[str, Exploration],
        *,
        limits: Limits | None = None,
        access_policy: AccessPolicy | None = None,
        journal: Journal | None = None,
        counters: Counters | None = None,
        page: Page | None = None,
    ) -> None:
        self.models, self.page = dict(models), page
        self.limits, self.access_policy = limits or Limits(), access_policy or AccessPolicy()
        self.journal, self.counters = journal or Journal(), counters or Counters(1)
        self.is_leaving = False  # connections are to be closed: another process takes over
        self.worker = Worker(self.limits.waiting, self.limits.seconds)
        self.batchers = {name: Batcher(views, self.worker) for name, views in self.models.items()}
        explain_body = min(self.limits.body, self.limits.explain_body)
        self._bodies = openapi.bodies(self.limits.text, self.limits.batch, explain_body)
        self._max_bytes = dict.fromkeys(self._bodies, self.limits.body) | {"Explain": explain_body}
        self._max_values = _VALUES_PER_TEXT * self.limits.batch + _EXTRA_VALUES
        self._digests = [
            hashlib.sha256(token.encode()).digest() for token in self.access_policy.tokens
        ]
        self._hosts = {*_LOOPBACK, *map(_allowed_host, self.access_policy.hosts)}
        self._maps: dict[str, asyncio.Task[bytes]] = {}
        self._app = self._with_cors(self._routes())

    def _with_cors(self, app: ASGIApp) -> ASGIApp:
        """Return an application whose answers, errors included, the allowed origins can read."""
        if not self.access_policy.origins:
            return app
        return CORSMiddleware(
            app,
            allow_origins=self.access_policy.origins,
            allow_methods=("GET", "POST"),
            allow_headers=("Authorization", "Content-Type"),
        )

    def _routes(self) -> Starlette:
        model = "/models/{id}"
        routes = [
            self._route(f"{model}/predict", self._predict, "POST"),
            self._route(f"{model}/explain", self._explain, "POST"),
            self._route("/health", self._alive),
            self._route("/ready", self._alive),
            self._route("/metrics", self._metrics),
            self._route("/openapi.json", self._openapi),
            self._route("/models", self._list),
            self._route(f"{model}/classes/{{class:path}}", self._class),
            self._route(f"{model}/words/{{word:path}}", self._word),
            self._route("/v1/projects", self._projects),
            self._route("/v1/projects/{id}", self._project),
            self._route("/v1/projects/{id}/suggest", self._suggest, "POST"),
            self._route("/v1/projects/{id}/suggest-batch", self._suggest_batch, "POST"),
        ]
        if self.page is not None:
            routes += [
                self._route("/", self._file),
                self._route("/static/{name}", self._file),
                self._route(f"{model}/about", self._about),
                self._route(f"{model}/mistakes", self._mistakes),
                self._route(f"{model}/cell", self._cell),
                self._route(f"{model}/map", self._map),
                self._route(f"{model}/against/{{class:path}}", self._against),
            ]
        handlers: Any = {
            Refused: _refused,
            HTTPException: _http_error,
            WordClassError: _our_error,
            ClientDisconnect: _client_gone,
            Exception: _internal_error,
        }
        return Starlette(routes=routes, exception_handlers=handlers)

    def _route(self, path: str, handler: Handler, method: str = "GET") -> Route:
        async def endpoint(request: Request) -> Response:
            request.scope["template"] = path
            return await handler(request)

        return Route(path, endpoint, methods=[method])

    # --- who is let in --------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; tell the journal and the counters of it."""
        if scope["type"] != "http":
            return
        start = time.perf_counter()
        status = 500  # unless an answer is sent

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *self._headers(scope)]
            await send(message)

        try:
            await self._choose_app(scope)(scope, receive, send_with_headers)
        except Exception as error:  # which `_internal_error` has answered
            self.journal.write("error", level="error", error=repr(error))
        seconds = time.perf_counter() - start
        template = scope.get("template", "(none)")
        self.counters.add(template, status, seconds)
        self.journal.request(scope["method"], template, status, seconds, scope.get("path_params"))

    def _choose_app(self, scope: Scope) -> ASGIApp:
        """Return the application, or one that refuses the request."""
        refused = self._not_let_in(scope)
        if refused is None:
            return self._app
        is_preflight = scope["method"] == "OPTIONS"  # which CORS would answer by itself
        return _problem(refused) if is_preflight else self._with_cors(_problem(refused))

    def _headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        is_page = self.page is not None and scope["path"] == "/"
        policy = (b"content-security-policy", _PAGE if is_page else _NO_PAGE)
        leaving = [(b"connection", b"close")] if self.is_leaving else []
        return [*_HEADERS.items(), policy, *leaving]

    def _not_let_in(self, scope: Scope) -> Refused | None:
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in headers and name in _SINGLE_HEADERS:
                return Refused(400, f"there is more than one header {name.decode()!r}")
            headers[name] = value
        host = headers.get(b"host", b"").decode("latin-1")
        if _host_name(host) not in self._hosts:
            return Refused(400, f"the host {host[:80]!r} is not served here; --allow-host adds it")
        if not self._digests or scope["path"] in _OPEN or scope["method"] == "OPTIONS":
            return None
        kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        digest = hashlib.sha256(token.strip().encode("latin-1")).digest()
        # all are compared, each in constant time: the duration reveals nothing
        n_equal = sum(hmac.compare_digest(digest, known) for known in self._digests)
        if kind.lower() == "bearer" and n_equal:
            return None
        problem = "a wrong token" if token else "a token is needed: Authorization: Bearer TOKEN"
        return Refused(401, problem, {"WWW-Authenticate": "Bearer"})

    # --- what is asked for ----------------------------------------------------------------------

    async def _body(self, request: Request, max_bytes: int) -> bytes:
        """Return the body, unless it is too large or comes too slowly."""
        content = bytearray()
        size = 0
        declared = int(request.headers.get("content-length", "0"))
        problem = f"the body has more than {max_bytes:,} bytes"
        too_large = Refused(413, problem, {"Connection": "close"})
        is_asking = "expect" in request.headers  # before it sends anything
        if declared > max_bytes and (is_asking or declared > _DISCARDED * self.limits.body):
            raise too_large
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size <= max_bytes:
                        content += chunk
                    elif size > _DISCARDED * self.limits.body:
                        break
        except TimeoutError:
            problem = f"the body did not arrive within {self.limits.body_seconds:g} seconds"
            raise Refused(408, problem, {"Connection": "close"}) from None
        if size > max_bytes:
            raise too_large
        return bytes(content)

    async def _typed_body(self, request: Request, kind: str, media: str) -> bytes:
        """Return the body of a kind, unless its media type is another one."""
        sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        content = await self._body(request, self._max_bytes[kind])
        if sent != media:
            raise Refused(415, f"the content type is {sent[:60]!r}; expected {media!r}")
        return content

    async def _json(self, request: Request, kind: str) -> dict[str, Any]:
        content = await self._typed_body(request, kind, "application/json")
        if len(content) > LARGE_BODY_BYTES:
            return await asyncio.to_thread(self._checked_json, content, kind)
        return self._checked_json(content, kind)

    def _checked_json(self, content: bytes, kind: str) -> dict[str, Any]:
        value: dict[str, Any] = parse_json(content, self._max_values)
        openapi.check(value, self._bodies[kind])
        return value

    async def _form(self, request: Request) -> dict[str, Any]:
        content = await self._typed_body(request, "Suggest", _FORM)
        try:
            if len(content) > _LARGE_FORM_BYTES:
                return self._suggest_options(await asyncio.to_thread(_fields, content))
            return self._suggest_options(_fields(content))
        except ValueError:
            raise Refused(400, "the body is no form in UTF-8 of at most 100 fields") from None

    def _suggest_options(self, fields: Mapping[str, list[str]]) -> dict[str, Any]:
        """Return limit and threshold as numbers, and a text where there is one."""
        schema = self._bodies["Suggest"]
        found: dict[str, Any] = {"limit": 10, "threshold": 0.0}
        known = {name: each for name, each in fields.items() if name in schema["properties"]}
        if repeated := [name for name, each in known.items() if len(each) > 1]:
            raise Refused(400, f"{repeated[0]!r} is given more than once")
        given = {name: each for name, (each,) in known.items()}
        for name in found.keys() & given.keys():
            if not _NUMBER.fullmatch(given[name]):  # Python would take "1_0", too
                raise Refused(400, f"{name!r} is {given[name][:60]!r}; expected a number")
            found[name] = float(given[name])
        if "text" in given:
            found["text"] = given["text"]
        openapi.check(found, {**schema, "required": []})
        return {**found, "limit": int(found["limit"])}

    def _views(self, request: Request) -> tuple[str, Exploration]:
        name = request.path_params["id"]
        if name not in self.models:
            raise Refused(404, f"there is no model {name[:80]!r}; known: {', '.join(self.models)}")
        return name, self.models[name]

    # --- answers --------------------------------------------------------------------------------

    async def _predict(self, request: Request) -> Response:
        name, _ = self._views(request)
        body = await self._json(request, "Predict")
        texts = body["texts"]
        self.counters.n_texts(len(texts))
        k = int(body.get("k", 3))
        return _json({"results": await self.batchers[name].predict(texts, k, request.receive)})

    async def _explain(self, request: Request) -> Response:
        self._views(request)
        body = await self._json(request, "Explain")
        names = [_class_name(body.get(key)) for key in ("label", "against")]
        return await self._looked_up(request, "explain", body["text"], *names)

    async def _alive(self, request: Request) -> Response:
        return _json({"status": "ok", "models": len(self.models)})

    async def _metrics(self, request: Request) -> Response:
        text = self.counters.to_text(len(self.models), self.worker.n_waiting)
        return Response(text, media_type="text/plain; version=0.0.4")

    @cached_property
    def _document(self) -> JsonObject:
        from importlib.metadata import version

        return openapi.document(
            version("wordclass"),
            [*self.models],
            self._bodies,
            max_bytes=self._max_bytes,
            needs_token=bool(self._digests),
        )

    async def _openapi(self, request: Request) -> Response:
        return _json(self._document)

    async def _list(self, request: Request) -> Response:
        models = [
            {"id": name, "classifier": each.model.name, "n_classes": len(each.classes)}
            for name, each in self.models.items()
        ]
        return _json({"models": models})

    async def _class(self, request: Request) -> Response:
        return await self._looked_up(request, "class_", request.path_params["class"])

    async def _word(self, request: Request) -> Response:
        _, views = self._views(request)
        word = request.path_params["word"]
        found = await self.worker.run(partial(views.word, word), request.receive)
        if not (found["is_known"] or found.get("n_docs") or found["nearest_by_vectors"]):
            raise Refused(404, f"the model does not know the word {word[:80]!r}")
        return _json(found)

    async def _looked_up(self, request: Request, question: str, *arguments: str | None) -> Response:
        _, views = self._views(request)
        try:
            job = partial(getattr(views, question), *arguments)
            return _json(await self.worker.run(job, request.receive))
        except InputError as error:
            raise Refused(404, str(error)) from None

    # --- Annif's --------------------------------------------------------------------------------

    async def _projects(self, request: Request) -> Response:
        return _json({"projects": [self._described(name) for name in self.models]})

    async def _project(self, request: Request) -> Response:
        return _json(self._described(self._views(request)[0]))

    def _described(self, name: str) -> JsonObject:
        return {
            "project_id": name,
            "name": name,
            "language": "und",
            "backend": {"backend_id": self.models[name].model.name},
            "vocab": None,
            "vocab_language": None,
            "is_trained": True,
            "modification_time": None,
        }

    async def _suggest(self, request: Request) -> Response:
        self._views(request)
        form = await self._form(request)
        if "text" not in form:
            raise Refused(400, "the form has no 'text'")
        (results,) = await self._suggested(request, [form["text"]], form)
        return _json({"results": results})

    async def _suggest_batch(self, request: Request) -> Response:
        self._views(request)
        query = request.query_params
        options = self._suggest_options(
            {name: query.getlist(name) for name in query.keys() - {"text"}}
        )
        documents = (await self._json(request, "SuggestBatch"))["documents"]
        found = await self._suggested(request, [each["text"] for each in documents], options)
        return _json(
            [
                {"document_id": each.get("document_id"), "results": results}
                for each, results in zip(documents, found, strict=True)
            ]
        )

    async def _suggested(
        self, request: Request, texts: list[str], options: Mapping[str, Any]
    ) -> list[list[JsonObject]]:
        name, _ = self._views(request)
        self.counters.n_texts(len(texts))
        k = max(options["limit"], 1)
        found = await self.batchers[name].predict(texts, k, request.receive)
        made = []
        for scored in found:
            rows = [
                {
                    "uri": f"urn:wordclass:{name}:{each['label']}",
                    "label": str(each["label"]),
                    "notation": None,
                    "score": _share(each),
                }
                for each in scored[: options["limit"]]
            ]
            made.append([row for row in rows if row["score"] >= options["threshold"]])
        return made

    # --- the page -------------------------------------------------------------------------------

    async def _file(self, request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        found = None if self.page is None else self.page.files.get(name)
        if found is None:
            raise Refused(404, f"there is no file {name[:80]!r}")
        content, media = found
        return Response(content, media_type=media)

    async def _about(self, request: Request) -> Response:
        return await self._looked_up(request, "about")

    async def _mistakes(self, request: Request) -> Response:
        return await self._looked_up(request, "mistakes")

    async def _cell(self, request: Request) -> Response:
        sides = [request.query_params.get(side) for side in ("true", "predicted")]
        return await self._looked_up(request, "cell", *sides)

    async def _against(self, request: Request) -> Response:
        return await self._looked_up(request, "against_rest", request.path_params["class"])

    async def _map(self, request: Request) -> Response:
        """Answer with the map, which is made once, in a thread of its own."""
        name, views = self._views(request)
        if name not in self._maps:
            job = asyncio.to_thread(lambda: json.dumps(views.map()).encode())
            self._maps[name] = asyncio.create_task(job)
        done, _ = await asyncio.wait([self._maps[name]], timeout=_MAP_SECONDS)
        if not done:
            raise Refused(503, "the map is being made", {"Retry-After": "1"})
        return Response(self._maps[name].result(), media_type="application/json")


def _fields(content: bytes) -> dict[str, list[str]]:
    """Return the fields of a form."""
    return urllib.parse.parse_qs(
        content.decode(), keep_blank_values=True, errors="strict", max_num_fields=100
    )


def _share(scored: JsonObject) -> float:
    """Return a score from 0 to 1, as Annif's are: the probability, or what is made of the score."""
    if scored["probability"] is not None:
        return float(scored["probability"])
    return round(1 / (1 + math.exp(-max(min(scored["score"], 500.0), -500.0))), 6)


def _host_name(host: str) -> str | None:
    """Return the name in a Host header without its port, or None if the header is malformed.

    Examples
    --------
    >>> _host_name("[::1]:8000"), _host_name("Example.org:80"), _host_name("localhost")
    ('::1', 'example.org', 'localhost')
    >>> _host_name("[::1].example.org"), _host_name("::1"), _host_name("")
    (None, None, None)
    """
    match = _HOST.fullmatch(host.lower())
    return match and (match[1] or match[2])


def _allowed_host(host: str) -> str:
    """Return the name of an allowed host. An IPv6 address may lack its brackets."""
    name = _host_name(f"[{host}]" if host.count(":") > 1 and host[0] != "[" else host)
    if name is None:
        problem = f"{host!r} is no name of a host"
        raise InputError(f"{problem}; expected a name such as models.example.org, or an address")
    return name


def _class_name(label: str | float | None) -> str | None:
    """Return the class name of a request. In JSON, 3.0 is an integer."""
    return str(int(label)) if isinstance(label, int | float) else label


def _json(value: object) -> Response:
    return Response(json.dumps(value, separators=(",", ":")), media_type="application/json")


def _problem(refused: Refused) -> Response:
    told = {
        "type": "about:blank",
        "title": HTTPStatus(refused.status).phrase,
        "status": refused.status,
        "detail": refused.detail,
    }
    content = json.dumps(told)
    return Response(content, refused.status, refused.headers, "application/problem+json")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)  # noqa: S101 - what it is registered for
    return _problem(error)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    told = {404: f"there is nothing at {request.url.path[:80]!r}"}
    if error.status_code == 405:
        told[405] = f"{request.method} is not possible here"
    detail = told.get(error.status_code, error.detail)
    return _problem(Refused(error.status_code, detail, dict(error.headers or {})))


async def _our_error(request: Request, error: Exception) -> Response:
    status = 501 if isinstance(error, MissingExtraError) else 400
    return _problem(Refused(status, str(error)))


async def _client_gone(request: Request, error: Exception) -> Response:
    return Response(status_code=_CLIENT_GONE)


async def _internal_error(request: Request, error: Exception) -> Response:
    return _problem(Refused(500, "internal server error; see the log"))
