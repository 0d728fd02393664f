"""The OpenAPI document of the service, and the validation of request bodies against it."""

from collections.abc import Mapping
from typing import Any

from wordclass.errors import WordClassError
from wordclass.explorer.views import JsonObject

Schema = dict[str, Any]

MAX_ANNIF_BATCH_DOCS = 32
_MAX_NUMBER_CHARS_SHOWN = 24
_STR: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_INTEGER: Schema = {"type": "integer"}
_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str, "integer": int, "number": (int, float), "array": list, "object": dict,
    "null": type(None),
}  # fmt: skip
_JSON_NAMES = {str: "a string", int: "a number", float: "a number", list: "a list"}


class RequestError(Exception):
    """An error of a request, which is answered with a status and one line.

    Parameters
    ----------
    status : int
        The HTTP status.
    problem : str
        What is wrong.
    expected : str, optional
        The values that are accepted.
    hint : str, optional
        The remedy.
    headers : dict, optional
        Additional headers of the answer.
    """

    def __init__(
        self,
        status: int,
        problem: str,
        *,
        expected: str | None = None,
        hint: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        message = WordClassError(problem, expected=expected, hint=hint)
        super().__init__(str(message))
        self.status = status
        self.detail = str(message)
        self.headers = headers or {}


def check(value: Any, schema: Schema, place: str = "the body") -> None:  # noqa: ANN401 - of JSON
    """Raise a RequestError if a JSON value does not follow a schema.

    Parameters
    ----------
    value
        The JSON value.
    schema : dict
        A schema with the keywords that `body_schemas` uses.
    place : str, default="the body"
        The place of the value, for the message.
    """
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_has_type(value, kind) for kind in kinds):
        raise RequestError(400, f"{place} is {_describe(value)}", expected=" or ".join(kinds))
    if isinstance(value, str):
        _check_size(len(value), schema.get("maxLength"), place, "characters")
    elif isinstance(value, list):
        _check_size(len(value), schema.get("maxItems"), place, "items")
        for index, item in enumerate(value):
            check(item, schema["items"], f"{place}[{index}]")
    elif isinstance(value, dict):
        _check_fields(value, schema, place)
    elif isinstance(value, int | float):
        low = schema.get("minimum", value)
        high = schema.get("maximum", value)
        if not low <= value <= high:
            raise RequestError(400, f"{place} is {_shorten(value)}", expected=f"{low} to {high}")


def _shorten(number: float) -> str:
    """Return a number as text, cut off if it has very many digits."""
    digits = repr(number)
    if len(digits) <= _MAX_NUMBER_CHARS_SHOWN:
        return digits
    return f"{digits[:_MAX_NUMBER_CHARS_SHOWN]}..."


def _check_size(size: int, max_size: int | None, place: str, unit: str) -> None:
    if max_size is not None and size > max_size:
        raise RequestError(400, f"{place} has {size:,} {unit}", expected=f"at most {max_size:,}")


def _check_fields(value: dict[str, Any], schema: Schema, place: str) -> None:
    known = schema["properties"]
    for name in schema.get("required", ()):
        if name not in value:
            raise RequestError(400, f"{place} has no field {name!r}")
    for name, field in value.items():
        if name in known:
            check(field, known[name], f"{name!r}")
        elif not schema.get("additionalProperties", True):
            problem = f"{place} has an unknown field {name[:60]!r}"
            raise RequestError(400, problem, expected=", ".join(known))


def _has_type(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):  # 3.0 is an integer in JSON
        return value.is_integer()
    return isinstance(value, _PYTHON_TYPES[kind])


def _describe(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return _JSON_NAMES.get(type(value), "a JSON object")


def body_schemas(
    max_text_chars: int, max_texts: int, max_explained_chars: int
) -> dict[str, Schema]:
    """Return the schemas of all request bodies by name.

    Parameters
    ----------
    max_text_chars : int
        The maximum length of a text.
    max_texts : int
        The maximum number of texts per request.
    max_explained_chars : int
        The maximum length of a text to explain.
    """
    text: Schema = {"type": "string", "maxLength": max_text_chars}
    document = _object({"text": text, "document_id": _STR, "metadata": {"type": "object"}}, "text")
    explained_text = {"type": "string", "maxLength": min(max_text_chars, max_explained_chars)}
    return {
        "Predict": _object(
            {
                "texts": {"type": "array", "items": text, "maxItems": max_texts},
                "k": {"type": "integer", "minimum": 1, "maximum": 1_000_000, "default": 3},
            },
            "texts",
            is_closed=True,
        ),
        "Explain": _object(
            {
                "text": explained_text,
                "label": {"type": ["string", "integer", "null"]},
                "against": {"type": ["string", "integer", "null"]},
            },
            "text",
            is_closed=True,
        ),
        "Suggest": _object(
            {
                "text": text,
                "limit": {"type": "integer", "minimum": 0, "maximum": 1_000_000, "default": 10},
                "threshold": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
                "language": _STR,
            },
            "text",
        ),
        "SuggestBatch": _object(
            {
                "documents": {
                    "type": "array",
                    "items": document | {"properties": _with_any_metadata(document)},
                    "maxItems": MAX_ANNIF_BATCH_DOCS,
                }
            },
            "documents",
        ),
    }


def _with_any_metadata(document: Schema) -> Schema:
    metadata = {"type": "object", "properties": {}}
    return {**document["properties"], "metadata": metadata}


def build_document(
    version: str,
    ids: list[str],
    schemas: dict[str, Schema],
    max_bytes: Mapping[str, int],
    needs_token: bool,
) -> JsonObject:
    """Return the OpenAPI document of a service.

    Parameters
    ----------
    version : str
        The version of wordclass.
    ids : list of str
        The ids of the models.
    schemas : dict
        The result of `body_schemas`.
    max_bytes : mapping
        The maximum size of a request body by the name of its schema.
    needs_token : bool
        Whether requests need a token.
    """
    scored = _object({"label": {"type": ["string", "integer"]},
                      "probability": {"type": ["number", "null"]}, "score": _NUMBER},
                     "label", "probability", "score")  # fmt: skip
    pairs = {"type": "array", "items": {"type": "array"}}
    suggested = _object(
        {"uri": _STR, "label": _STR, "notation": {"type": ["string", "null"]}, "score": _NUMBER},
        *("uri", "label", "score"),
    )
    results: Schema = {"type": "array", "items": suggested}
    project = _object(
        {"project_id": _STR, "name": _STR, "language": _STR, "is_trained": {"type": "boolean"},
         "backend": _object({"backend_id": _STR}, "backend_id"),
         "modification_time": {"type": ["string", "null"]}},
        *("project_id", "name", "language", "backend"),
    )  # fmt: skip
    model = _object(
        {"id": _STR, "classifier": _STR, "n_classes": _INTEGER}, "id", "classifier", "n_classes"
    )
    explanation = _object(
        {"label": _STR, "against": {"type": ["string", "null"]}, "score": _NUMBER,
         "intercept": _NUMBER, "sum": _NUMBER, "terms": pairs, "words": pairs,
         "predicted": {"type": "array"}},
        *("label", "score", "intercept", "sum", "terms", "words"),
    )  # fmt: skip
    status = _object({"status": _STR}, "status")
    class_profile = _object(
        {"class": _STR, "terms": pairs, "scores": {"type": ["object", "null"]}}, "class", "terms"
    )
    word_profile = _object({"word": _STR, "profile": pairs, "nearest": pairs}, "word", "profile")
    limits = [
        _parameter("query", "limit", schemas["Suggest"]["properties"]["limit"]),
        _parameter("query", "threshold", schemas["Suggest"]["properties"]["threshold"]),
        _parameter("query", "language", _STR),
    ]
    batch: Schema = {
        "type": "array",
        "items": _object({"document_id": {"type": ["string", "null"]}, "results": results}),
    }
    paths = {
        "/health": {"get": _get("Report that the process is alive", status)},
        "/ready": {"get": _get("Report that the service answers requests", status)},
        "/metrics": {"get": _get("Return counters for Prometheus", _STR, "text/plain")},
        "/openapi.json": {"get": _get("Return this document", {"type": "object"})},
        "/docs": {"get": _get("Show this document as a page", _STR, "text/html")},
        "/models": {"get": _get("List the models", _object({"models": _list(model)}, "models"))},
        "/models/{id}/predict": {
            "post": _post(
                "Predict the k best classes of each text, best first",
                schemas["Predict"],
                _object({"results": _list(_list(scored))}, "results"),
                "id",
                max_bytes=max_bytes["Predict"],
            )
        },
        "/models/{id}/explain": {
            "post": _post(
                "Explain a score: the contribution of each word of a text",
                schemas["Explain"], explanation, "id", max_bytes=max_bytes["Explain"],
            )
        },
        "/models/{id}/classes/{class}": {
            "get": _get(
                "List the highest-scoring terms of a class", class_profile, names=("id", "class")
            )
        },
        "/models/{id}/words/{word}": {
            "get": _get(
                "Return the scores of a word for all classes", word_profile, names=("id", "word")
            )
        },
        "/v1/projects": {
            "get": _get("Annif: list the models", _object({"projects": _list(project)}, "projects"))
        },
        "/v1/projects/{id}": {"get": _get("Annif: describe a model", project, names=("id",))},
        "/v1/projects/{id}/suggest": {
            "post": _post(
                "Annif: suggest the best classes of a text", schemas["Suggest"],
                _object({"results": results}, "results"), "id",
                media="application/x-www-form-urlencoded", max_bytes=max_bytes["Suggest"],
            )
        },
        "/v1/projects/{id}/suggest-batch": {
            "post": _post(
                "Annif: suggest the best classes of several texts",
                schemas["SuggestBatch"], batch, "id", max_bytes=max_bytes["SuggestBatch"],
            )
            | {"parameters": [_parameter("path", "id", _STR), *limits]}
        },
    }  # fmt: skip
    for operations in paths.values():
        for operation in operations.values():
            for parameter in operation["parameters"]:
                if parameter["name"] == "id":
                    parameter["schema"] = {"type": "string", "enum": ids}
    document: JsonObject = {
        "openapi": "3.1.0",
        "info": {
            "title": "wordclass",
            "version": version,
            "description": "Predictions of text classifiers and their explanations.",
        },
        "paths": paths,
        "components": {"schemas": {"Problem": _PROBLEM}},
    }
    if needs_token:
        token = {"type": "http", "scheme": "bearer"}
        document["components"]["securitySchemes"] = {"token": token}
        document["security"] = [{"token": []}]
    return document


_PROBLEM = {
    "type": "object",
    "properties": {"type": _STR, "title": _STR, "status": _INTEGER, "detail": _STR},
    "required": ["type", "title", "status", "detail"],
}
_STATUSES = {
    400: "Invalid request", 401: "Missing or wrong token", 404: "Not found",
    405: "Method not allowed", 408: "The body arrived too slowly", 413: "The body is too large",
    415: "Unsupported content type", 503: "The service is overloaded; try again",
}  # fmt: skip


def _object(properties: Schema, *required: str, is_closed: bool = False) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = [*required]
    if is_closed:
        schema["additionalProperties"] = False
    return schema


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _parameter(location: str, name: str, schema: Schema) -> Schema:
    is_required = location == "path"
    return {"in": location, "name": name, "required": is_required, "schema": schema}


def _get(
    summary: str, answer: Schema, media: str = "application/json", names: tuple[str, ...] = ()
) -> Schema:
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    responses = {"200": {"description": "Success", "content": {media: {"schema": answer}}}}
    return {
        "summary": summary,
        "parameters": [_parameter("path", name, _STR) for name in names],
        "responses": responses
        | {
            str(status): {"description": description, "content": problem}
            for status, description in _STATUSES.items()
        },
    }


def _post(
    summary: str,
    body: Schema,
    answer: Schema,
    *names: str,
    max_bytes: int,
    media: str = "application/json",
) -> Schema:
    request_body = {
        "required": True,
        "description": f"At most {max_bytes:,} bytes; a larger body is refused with status 413.",
        "x-max-bytes": max_bytes,
        "content": {media: {"schema": body}},
    }
    return _get(summary, answer, names=names) | {"requestBody": request_body}
