"""The routes of the HTTP service: access, limits and answers. `explorer.views` computes them."""

import asyncio
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
from wordclass.serving.access import AccessControl, AccessPolicy
from wordclass.serving.batching import Batcher, Worker
from wordclass.serving.docs_page import docs_policy, render_docs
from wordclass.serving.journal import Counters, Journal
from wordclass.serving.json_bodies import LARGE_BODY_BYTES, parse_json
from wordclass.serving.openapi import RequestError

Handler = Callable[[Request], Awaitable[Response]]

_CLIENT_DISCONNECTED = 499  # for the log and the counters: nobody receives this status
# a larger body is read up to this multiple of the limit and then refused: most clients read an
# answer only after they have sent everything
_MAX_DISCARDED_BODIES = 8
_MAP_SECONDS = 20.0  # the maximum time that a request waits for the map
_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cache-control": b"no-store",
    b"cross-origin-resource-policy": b"same-origin",
}
_DATA_POLICY = b"default-src 'none'; frame-ancestors 'none'"
_PAGE_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_JSON_TYPE = "application/json"
_FORM_TYPE = "application/x-www-form-urlencoded"
_LARGE_FORM_BYTES = 1 << 16  # larger forms are parsed in a thread, which may take seconds
_VALUES_PER_TEXT = 8  # JSON values of a document of a batch, including its metadata
_EXTRA_VALUES = 10_000
_NUMBER = re.compile(r"-?[0-9]{1,300}(\.[0-9]{1,300})?([eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of requests.

    Parameters
    ----------
    body_bytes : int
        The maximum size of a body.
    explain_body_bytes : int
        The maximum size of the body of an explanation, which takes longer than a prediction.
    text_chars : int
        The maximum length of a text.
    batch_texts : int
        The maximum number of texts per request.
    waiting_requests : int
        The maximum number of requests that wait per process.
    answer_seconds : float
        The maximum time until the answer.
    body_seconds : float
        The maximum time until the request has arrived.
    """

    body_bytes: int = 16 << 20
    explain_body_bytes: int = 1 << 18
    text_chars: int = 1_000_000
    batch_texts: int = 2000
    waiting_requests: int = 256
    answer_seconds: float = 30.0
    body_seconds: float = 10.0


class Service:
    """An ASGI application that serves models.

    Parameters
    ----------
    models : mapping
        The models by their ids.
    limits : Limits, optional
        The limits of requests.
    access_policy : AccessPolicy, optional
        The accepted tokens, host names and origins.
    journal : Journal, optional
        The log.
    counters : Counters, optional
        The counters of requests.
    page : Page, optional
        The page that explores the only model. By default there is no page.
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
        self.models = dict(models)
        self.page = page
        self.limits = limits or Limits()
        self.access_policy = access_policy or AccessPolicy()
        self.journal = journal or Journal()
        self.counters = counters or Counters(1)
        self.is_draining = False  # another process takes over: clients are asked to reconnect
        self.worker = Worker(self.limits.waiting_requests, self.limits.answer_seconds)
        self.batchers = {name: Batcher(views, self.worker) for name, views in self.models.items()}
        max_explain_bytes = min(self.limits.body_bytes, self.limits.explain_body_bytes)
        self._schemas = openapi.body_schemas(
            self.limits.text_chars, self.limits.batch_texts, max_explain_bytes
        )
        self._max_bytes = dict.fromkeys(self._schemas, self.limits.body_bytes)
        self._max_bytes["Explain"] = max_explain_bytes
        self._max_values = _VALUES_PER_TEXT * self.limits.batch_texts + _EXTRA_VALUES
        self._access = AccessControl(self.access_policy)
        self._maps: dict[str, asyncio.Task[bytes]] = {}
        self._app = self._with_cors(self._routes())

    def _with_cors(self, app: ASGIApp) -> ASGIApp:
        """Return an application whose answers and errors can be read by the allowed origins."""
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
            self._route("/health", self._health),
            self._route("/ready", self._health),
            self._route("/metrics", self._metrics),
            self._route("/openapi.json", self._openapi),
            self._route("/docs", self._docs),
            self._route("/models", self._list_models),
            self._route(f"{model}/classes/{{class:path}}", self._class),
            self._route(f"{model}/words/{{word:path}}", self._word),
            self._route("/v1/projects", self._list_projects),
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
            RequestError: _answer_request_error,
            HTTPException: _answer_http_error,
            WordClassError: _answer_user_error,
            ClientDisconnect: _answer_disconnect,
            Exception: _answer_internal_error,
        }
        return Starlette(routes=routes, exception_handlers=handlers)

    def _route(self, path: str, handler: Handler, method: str = "GET") -> Route:
        async def endpoint(request: Request) -> Response:
            request.scope["template"] = path
            return await handler(request)

        return Route(path, endpoint, methods=[method])

    # --- access ---------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and log and count it."""
        if scope["type"] != "http":
            return
        start = time.perf_counter()
        status = 500  # if the handler fails before it answers

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *self._headers(scope)]
            await send(message)

        try:
            await self._choose_app(scope)(scope, receive, send_with_headers)
        except Exception as error:  # `_answer_internal_error` has answered it
            self.journal.write("error", level="error", error=repr(error))
        seconds = time.perf_counter() - start
        template = scope.get("template", "(none)")
        self.counters.add(template, status, seconds)
        self.journal.request(scope["method"], template, status, seconds, scope.get("path_params"))

    def _choose_app(self, scope: Scope) -> ASGIApp:
        """Return the application, or one that answers with an error of access."""
        error = self._access.error(scope)
        if error is None:
            return self._app
        is_preflight = scope["method"] == "OPTIONS"  # the CORS middleware would answer it
        return _problem(error) if is_preflight else self._with_cors(_problem(error))

    def _headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        policy = _DATA_POLICY
        if self.page is not None and scope["path"] == "/":
            policy = _PAGE_POLICY
        elif scope["path"] == "/docs":
            policy = docs_policy()
        headers = [*_HEADERS.items(), (b"content-security-policy", policy)]
        if self.is_draining:
            headers.append((b"connection", b"close"))
        return headers

    # --- requests -------------------------------------------------------------------------------

    async def _read_body(self, request: Request, max_bytes: int) -> bytes:
        """Read the body. Raise a RequestError if it is too large or too slow."""
        content = bytearray()
        size = 0
        declared_size = int(request.headers.get("content-length", "0"))
        max_discarded = _MAX_DISCARDED_BODIES * self.limits.body_bytes
        too_large = RequestError(
            413,
            f"the body has more than {max_bytes:,} bytes",
            hint="send fewer or shorter texts per request",
            headers={"Connection": "close"},
        )
        waits_for_approval = "expect" in request.headers  # before it sends the body
        if declared_size > max_bytes and (waits_for_approval or declared_size > max_discarded):
            raise too_large
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size <= max_bytes:
                        content += chunk
                    elif size > max_discarded:
                        break
        except TimeoutError:
            problem = f"the body did not arrive within {self.limits.body_seconds:g} seconds"
            raise RequestError(408, problem, headers={"Connection": "close"}) from None
        if size > max_bytes:
            raise too_large
        return bytes(content)

    async def _read_typed_body(self, request: Request, kind: str, media: str) -> bytes:
        """Read the body of a kind. Raise a RequestError if it has another content type."""
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        content = await self._read_body(request, self._max_bytes[kind])
        if content_type != media:
            problem = "the request has no content type"
            if content_type:
                problem = f"the content type is {content_type[:60]!r}"
            hint = f"send the header Content-Type: {media}"
            raise RequestError(415, problem, expected=repr(media), hint=hint)
        return content

    async def _read_json(self, request: Request, kind: str) -> dict[str, Any]:
        content = await self._read_typed_body(request, kind, _JSON_TYPE)
        if len(content) > LARGE_BODY_BYTES:
            return await asyncio.to_thread(self._parse_body, content, kind)
        return self._parse_body(content, kind)

    def _parse_body(self, content: bytes, kind: str) -> dict[str, Any]:
        value: dict[str, Any] = parse_json(content, self._max_values)
        openapi.check(value, self._schemas[kind])
        return value

    async def _read_form(self, request: Request) -> dict[str, Any]:
        content = await self._read_typed_body(request, "Suggest", _FORM_TYPE)
        try:
            if len(content) > _LARGE_FORM_BYTES:
                fields = await asyncio.to_thread(_parse_form, content)
            else:
                fields = _parse_form(content)
        except ValueError:
            problem = "the body is not a valid form"
            raise RequestError(400, problem, expected="at most 100 fields in UTF-8") from None
        return self._suggest_options(fields)

    def _suggest_options(self, fields: Mapping[str, list[str]]) -> dict[str, Any]:
        """Return limit and threshold as numbers, and the text if there is one."""
        schema = self._schemas["Suggest"]
        options: dict[str, Any] = {"limit": 10, "threshold": 0.0}
        known = {name: values for name, values in fields.items() if name in schema["properties"]}
        for name, values in known.items():
            if len(values) > 1:
                raise RequestError(400, f"{name!r} occurs more than once")
        for name in options.keys() & known.keys():
            digits = known[name][0]
            if not _NUMBER.fullmatch(digits):  # Python would accept "1_0" too
                raise RequestError(400, f"{name!r} is {digits[:60]!r}", expected="a number")
            options[name] = float(digits)
        if "text" in known:
            options["text"] = known["text"][0]
        openapi.check(options, {**schema, "required": []})
        return {**options, "limit": int(options["limit"])}

    def _views(self, request: Request) -> tuple[str, Exploration]:
        name = request.path_params["id"]
        if name not in self.models:
            known = ", ".join(self.models)
            raise RequestError(404, f"unknown model {name[:80]!r}", expected=known)
        return name, self.models[name]

    # --- answers --------------------------------------------------------------------------------

    async def _predict(self, request: Request) -> Response:
        name, _ = self._views(request)
        body = await self._read_json(request, "Predict")
        texts = body["texts"]
        self.counters.add_texts(len(texts))
        k = int(body.get("k", 3))
        results = await self.batchers[name].predict(texts, k, request.receive)
        return _json({"results": results})

    async def _explain(self, request: Request) -> Response:
        self._views(request)
        body = await self._read_json(request, "Explain")
        names = [_class_name(body.get(key)) for key in ("label", "against")]
        return await self._answer_view(request, "explain", body["text"], *names)

    async def _health(self, request: Request) -> Response:
        return _json({"status": "ok", "models": len(self.models)})

    async def _metrics(self, request: Request) -> Response:
        text = self.counters.to_text(len(self.models), self.worker.n_waiting)
        return Response(text, media_type="text/plain; version=0.0.4")

    @cached_property
    def _openapi_document(self) -> JsonObject:
        from importlib.metadata import version

        return openapi.build_document(
            version("wordclass"),
            [*self.models],
            self._schemas,
            max_bytes=self._max_bytes,
            needs_token=self._access.needs_token,
        )

    async def _openapi(self, request: Request) -> Response:
        return _json(self._openapi_document)

    async def _docs(self, request: Request) -> Response:
        address = str(request.base_url).rstrip("/")
        content = render_docs(self._openapi_document, address)
        return Response(content, media_type="text/html")

    async def _list_models(self, request: Request) -> Response:
        models = [
            {"id": name, "classifier": views.model.name, "n_classes": len(views.classes)}
            for name, views in self.models.items()
        ]
        return _json({"models": models})

    async def _class(self, request: Request) -> Response:
        return await self._answer_view(request, "class_", request.path_params["class"])

    async def _word(self, request: Request) -> Response:
        _, views = self._views(request)
        word = request.path_params["word"]
        view = await self.worker.run(partial(views.word, word), request.receive)
        if not (view["is_known"] or view.get("n_docs") or view["nearest_by_vectors"]):
            raise RequestError(404, f"the model does not know the word {word[:80]!r}")
        return _json(view)

    async def _answer_view(self, request: Request, name: str, *arguments: str | None) -> Response:
        """Answer with the result of a method of the exploration."""
        _, views = self._views(request)
        try:
            job = partial(getattr(views, name), *arguments)
            return _json(await self.worker.run(job, request.receive))
        except InputError as error:
            raise RequestError(404, str(error)) from None

    # --- the interface of Annif -----------------------------------------------------------------

    async def _list_projects(self, request: Request) -> Response:
        return _json({"projects": [self._describe_project(name) for name in self.models]})

    async def _project(self, request: Request) -> Response:
        return _json(self._describe_project(self._views(request)[0]))

    def _describe_project(self, name: str) -> JsonObject:
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
        form = await self._read_form(request)
        if "text" not in form:
            raise RequestError(400, "the form has no field 'text'")
        (suggestions,) = await self._suggestions(request, [form["text"]], form)
        return _json({"results": suggestions})

    async def _suggest_batch(self, request: Request) -> Response:
        self._views(request)
        query = request.query_params
        options = self._suggest_options(
            {name: query.getlist(name) for name in query.keys() - {"text"}}
        )
        documents = (await self._read_json(request, "SuggestBatch"))["documents"]
        texts = [document["text"] for document in documents]
        suggestions = await self._suggestions(request, texts, options)
        return _json(
            [
                {"document_id": document.get("document_id"), "results": results}
                for document, results in zip(documents, suggestions, strict=True)
            ]
        )

    async def _suggestions(
        self, request: Request, texts: list[str], options: Mapping[str, Any]
    ) -> list[list[JsonObject]]:
        name, _ = self._views(request)
        self.counters.add_texts(len(texts))
        k = max(options["limit"], 1)
        predictions = await self.batchers[name].predict(texts, k, request.receive)
        suggestions = []
        for classes in predictions:
            rows = [
                {
                    "uri": f"urn:wordclass:{name}:{prediction['label']}",
                    "label": str(prediction["label"]),
                    "notation": None,
                    "score": _annif_score(prediction),
                }
                for prediction in classes[: options["limit"]]
            ]
            suggestions.append([row for row in rows if row["score"] >= options["threshold"]])
        return suggestions

    # --- the page -------------------------------------------------------------------------------

    async def _file(self, request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        file = None if self.page is None else self.page.files.get(name)
        if file is None:
            raise RequestError(404, f"the page has no file {name[:80]!r}")
        content, media = file
        return Response(content, media_type=media)

    async def _about(self, request: Request) -> Response:
        return await self._answer_view(request, "about")

    async def _mistakes(self, request: Request) -> Response:
        return await self._answer_view(request, "mistakes")

    async def _cell(self, request: Request) -> Response:
        names = [request.query_params.get(key) for key in ("true", "predicted")]
        return await self._answer_view(request, "cell", *names)

    async def _against(self, request: Request) -> Response:
        name = request.path_params["class"]
        return await self._answer_view(request, "against_other_classes", name)

    async def _map(self, request: Request) -> Response:
        """Answer with the map, which is computed once in a separate thread."""
        name, views = self._views(request)
        if name not in self._maps:
            job = asyncio.to_thread(lambda: json.dumps(views.map()).encode())
            self._maps[name] = asyncio.create_task(job)
        done, _ = await asyncio.wait([self._maps[name]], timeout=_MAP_SECONDS)
        if not done:
            problem = "the map is still being computed"
            headers = {"Retry-After": "1"}
            raise RequestError(503, problem, hint="try again in a second", headers=headers)
        return Response(self._maps[name].result(), media_type=_JSON_TYPE)


def _parse_form(content: bytes) -> dict[str, list[str]]:
    """Return the fields of a form. Raise ValueError if it is invalid."""
    return urllib.parse.parse_qs(
        content.decode(), keep_blank_values=True, errors="strict", max_num_fields=100
    )


def _annif_score(prediction: JsonObject) -> float:
    """Return a score from 0 to 1 as Annif expects: the probability or the logistic score."""
    if prediction["probability"] is not None:
        return float(prediction["probability"])
    return round(1 / (1 + math.exp(-max(min(prediction["score"], 500.0), -500.0))), 6)


def _class_name(label: str | float | None) -> str | None:
    """Return the class name of a request. In JSON, 3.0 is an integer."""
    return str(int(label)) if isinstance(label, int | float) else label


def _json(value: object) -> Response:
    return Response(json.dumps(value, separators=(",", ":")), media_type=_JSON_TYPE)


def _problem(error: RequestError) -> Response:
    problem = {
        "type": "about:blank",
        "title": HTTPStatus(error.status).phrase,
        "status": error.status,
        "detail": error.detail,
    }
    content = json.dumps(problem)
    return Response(content, error.status, error.headers, "application/problem+json")


async def _answer_request_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)  # noqa: S101 - registered for this type
    return _problem(error)


async def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this type
    path = request.url.path[:80]
    problem = str(error.detail)
    hint = None
    if error.status_code == 404:
        problem = f"unknown path {path!r}"
        hint = "see /docs for the routes"
    elif error.status_code == 405:
        problem = f"the method {request.method} is not allowed for {path!r}"
        hint = "see /docs for the routes"
    headers = dict(error.headers or {})
    return _problem(RequestError(error.status_code, problem, hint=hint, headers=headers))


async def _answer_user_error(request: Request, error: Exception) -> Response:
    status = 501 if isinstance(error, MissingExtraError) else 400
    return _problem(RequestError(status, str(error)))


async def _answer_disconnect(request: Request, error: Exception) -> Response:
    return Response(status_code=_CLIENT_DISCONNECTED)


async def _answer_internal_error(request: Request, error: Exception) -> Response:
    return _problem(RequestError(500, "internal server error; see the log of the service"))
