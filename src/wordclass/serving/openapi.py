"""What the service takes and gives: the OpenAPI document, and the check of bodies against it."""

from collections.abc import Mapping
from typing import Any

from wordclass.explorer.views import JsonObject

Schema = dict[str, Any]

MOST_IN_ANNIF_BATCH = 32
_MAX_SHOWN_DIGITS = 24
_STR: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_INTEGER: Schema = {"type": "integer"}
_NAMES: dict[str, type | tuple[type, ...]] = {
    "string": str, "integer": int, "number": (int, float), "array": list, "object": dict,
    "null": type(None),
}  # fmt: skip


class Refused(Exception):  # noqa: N818 - an answer
    """A request that is answered with a status that is no success, and one clear line."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers or {}


def check(value: Any, schema: Schema, at: str = "the body") -> None:  # noqa: ANN401 - of JSON
    """Refuse a value that is not what a schema of ours says."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is_a(value, kind) for kind in kinds):
        raise Refused(400, f"{at} is {_told(value)}; expected {' or '.join(kinds)}")
    if isinstance(value, str):
        _check_size(len(value), schema.get("maxLength"), at, "characters")
    elif isinstance(value, list):
        _check_size(len(value), schema.get("maxItems"), at, "items")
        for number, each in enumerate(value):
            check(each, schema["items"], f"{at}[{number}]")
    elif isinstance(value, dict):
        _check_fields(value, schema, at)
    elif isinstance(value, int | float):
        low, high = schema.get("minimum", value), schema.get("maximum", value)
        if not low <= value <= high:
            raise Refused(400, f"{at} is {_shorten(value)}; expected {low} to {high}")


def _shorten(number: float) -> str:
    """Write a number, or the beginning of one that has very many digits."""
    written = repr(number)
    return written if len(written) <= _MAX_SHOWN_DIGITS else f"{written[:_MAX_SHOWN_DIGITS]}..."


def _check_size(size: int, most: int | None, at: str, unit: str) -> None:
    if most is not None and size > most:
        raise Refused(400, f"{at} has {size:,} {unit}; at most {most:,} are taken")


def _check_fields(value: dict[str, Any], schema: Schema, at: str) -> None:
    known = schema["properties"]
    for name in schema.get("required", ()):
        if name not in value:
            raise Refused(400, f"{at} has no {name!r}")
    for name, each in value.items():
        if name in known:
            check(each, known[name], f"{name!r}")
        elif not schema.get("additionalProperties", True):
            raise Refused(400, f"{at} has a field {name[:60]!r}; known: {', '.join(known)}")


def _is_a(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):  # 3.0 is one, in JSON
        return value.is_integer()
    return isinstance(value, _NAMES[kind])


def _told(value: object) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower() if value is not None else "null"
    return {"str": "a string", "int": "a number", "float": "a number"}.get(
        type(value).__name__, f"a {'list' if isinstance(value, list) else 'JSON object'}"
    )


def bodies(max_text: int, max_texts: int, max_explained: int) -> dict[str, Schema]:
    """Return the schemas of all request bodies.

    Parameters
    ----------
    max_text : int
        Characters of a text.
    max_texts : int
        Texts of a request.
    max_explained : int
        Characters of a text that is to be explained.
    """
    text: Schema = {"type": "string", "maxLength": max_text}
    document = _object({"text": text, "document_id": _STR, "metadata": {"type": "object"}}, "text")
    return {
        "Predict": _object(
            {
                "texts": {"type": "array", "items": text, "maxItems": max_texts},
                "k": {"type": "integer", "minimum": 1, "maximum": 1_000_000, "default": 3},
            },
            "texts",
            closed=True,
        ),
        "Explain": _object(
            {
                "text": {"type": "string", "maxLength": min(max_text, max_explained)},
                "label": {"type": ["string", "integer", "null"]},
                "against": {"type": ["string", "integer", "null"]},
            },
            "text",
            closed=True,
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
                    "items": document | {"properties": _documented(document)},
                    "maxItems": MOST_IN_ANNIF_BATCH,
                }
            },
            "documents",
        ),
    }


def _documented(document: Schema) -> Schema:
    metadata = {"type": "object", "properties": {}}
    return {**document["properties"], "metadata": metadata}


def document(
    version: str,
    ids: list[str],
    taken: dict[str, Schema],
    max_bytes: Mapping[str, int],
    needs_token: bool,
) -> JsonObject:
    """Return the OpenAPI document of a service.

    Parameters
    ----------
    version : str
    ids : list of str
        The models.
    taken : dict
        The schemas of request bodies.
    max_bytes : mapping
        From the name of each schema to the size of the largest body.
    needs_token : bool
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
    explained = _object(
        {"label": _STR, "against": {"type": ["string", "null"]}, "score": _NUMBER,
         "intercept": _NUMBER, "sum": _NUMBER, "terms": pairs, "words": pairs,
         "predicted": {"type": "array"}},
        *("label", "score", "intercept", "sum", "terms", "words"),
    )  # fmt: skip
    status = _object({"status": _STR}, "status")
    a_class = _object(
        {"class": _STR, "terms": pairs, "scores": {"type": ["object", "null"]}}, "class", "terms"
    )
    a_word = _object({"word": _STR, "profile": pairs, "nearest": pairs}, "word", "profile")
    limits = [
        _parameter("query", "limit", taken["Suggest"]["properties"]["limit"]),
        _parameter("query", "threshold", taken["Suggest"]["properties"]["threshold"]),
        _parameter("query", "language", _STR),
    ]
    batch: Schema = {
        "type": "array",
        "items": _object({"document_id": {"type": ["string", "null"]}, "results": results}),
    }
    paths = {
        "/health": {"get": _get("Whether the process is alive", status)},
        "/ready": {"get": _get("Whether requests are answered", status)},
        "/metrics": {"get": _get("Counters, in the text format of Prometheus", _STR, "text/plain")},
        "/openapi.json": {"get": _get("This document", {"type": "object"})},
        "/models": {"get": _get("All models", _object({"models": _list(model)}, "models"))},
        "/models/{id}/predict": {
            "post": _post(
                "The k best classes of each text, best first",
                taken["Predict"],
                _object({"results": _list(_list(scored))}, "results"),
                "id",
                max_bytes=max_bytes["Predict"],
            )
        },
        "/models/{id}/explain": {
            "post": _post(
                "What each word of a text adds to the score of a class; against another",
                taken["Explain"], explained, "id", max_bytes=max_bytes["Explain"],
            )
        },
        "/models/{id}/classes/{class}": {
            "get": _get("The most telling terms of a class", a_class, names=("id", "class"))
        },
        "/models/{id}/words/{word}": {
            "get": _get("What a word says of the classes", a_word, names=("id", "word"))
        },
        "/v1/projects": {
            "get": _get("Annif: all models", _object({"projects": _list(project)}, "projects"))
        },
        "/v1/projects/{id}": {"get": _get("Annif: one model", project, names=("id",))},
        "/v1/projects/{id}/suggest": {
            "post": _post(
                "Annif: the best classes of a text", taken["Suggest"],
                _object({"results": results}, "results"), "id",
                media="application/x-www-form-urlencoded", max_bytes=max_bytes["Suggest"],
            )
        },
        "/v1/projects/{id}/suggest-batch": {
            "post": _post(
                "Annif: those of several texts", taken["SuggestBatch"], batch, "id",
                max_bytes=max_bytes["SuggestBatch"],
            )
            | {"parameters": [_parameter("path", "id", _STR), *limits]}
        },
    }  # fmt: skip
    for each in paths.values():
        for operation in each.values():
            for parameter in operation["parameters"]:
                if parameter["name"] == "id":
                    parameter["schema"] = {"type": "string", "enum": ids}
    made: JsonObject = {
        "openapi": "3.1.0",
        "info": {
            "title": "wordclass",
            "version": version,
            "description": "Predictions of text classifiers, and the words that made them.",
        },
        "paths": paths,
        "components": {"schemas": {"Problem": _PROBLEM}},
    }
    if needs_token:
        made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"token": []}]
    return made


_PROBLEM = {
    "type": "object",
    "properties": {"type": _STR, "title": _STR, "status": _INTEGER, "detail": _STR},
    "required": ["type", "title", "status", "detail"],
}
_STATUSES = {
    400: "Not what was expected", 401: "No token, or a wrong one", 404: "Not there",
    405: "Another method is expected", 408: "The body came too slowly", 413: "Too large",
    415: "Another content type is expected", 503: "Too much to do; try again",
}  # fmt: skip


def _object(properties: Schema, *required: str, closed: bool = False) -> Schema:
    made: Schema = {"type": "object", "properties": properties}
    if required:
        made["required"] = [*required]
    return made | ({"additionalProperties": False} if closed else {})


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _parameter(where: str, name: str, schema: Schema) -> Schema:
    return {"in": where, "name": name, "required": where == "path", "schema": schema}


def _get(
    summary: str, answer: Schema, media: str = "application/json", names: tuple[str, ...] = ()
) -> Schema:
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    answers = {"200": {"description": "Done", "content": {media: {"schema": answer}}}}
    return {
        "summary": summary,
        "parameters": [_parameter("path", name, _STR) for name in names],
        "responses": answers
        | {
            str(status): {"description": told, "content": problem}
            for status, told in _STATUSES.items()
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
    taken = {
        "required": True,
        "description": f"At most {max_bytes:,} bytes; a larger body is refused with status 413.",
        "x-max-bytes": max_bytes,
        "content": {media: {"schema": body}},
    }
    return _get(summary, answer, names=names) | {"requestBody": taken}
