"""The page `/docs`: the OpenAPI document as HTML, without scripts or outside resources."""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from wordclass.explorer.views import JsonObject

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --panel: #f4f6f8; --line: #dde2e8; --ink: #1b1f24;
  --quiet: #57606a; --get: #0a5fb4; --post: #1f7a45; }
@media (prefers-color-scheme: dark) { :root { --paper: #121519; --panel: #1a1f25; --line: #303843;
  --ink: #e9edf2; --quiet: #a3adb8; --get: #79b8ff; --post: #56d08b; } }
* { box-sizing: border-box; }
body { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; }
h2 { margin: 1rem 0 .3rem; font-size: 1rem; }
p { margin: .3rem 0 1rem; }
.quiet { color: var(--quiet); }
a { color: var(--get); }
details { margin: .5rem 0; border: 1px solid var(--line); border-radius: 8px; }
summary { padding: .5rem .8rem; cursor: pointer; }
details > div { padding: 0 .8rem .8rem; }
summary b { display: inline-block; min-width: 3.2rem; }
.get b { color: var(--get); }
.post b { color: var(--post); }
code, pre { font: 14px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { margin: 0; padding: .7rem; background: var(--panel); border-radius: 6px; overflow-x: auto;
  white-space: pre-wrap; }
table { border-collapse: collapse; }
td, th { padding: .15rem 1rem .15rem 0; text-align: left; vertical-align: top; }
"""
_EXAMPLES: dict[str, object] = {
    "texts": ["a text"], "text": "a text", "k": 3, "label": None, "against": None,
    "documents": [{"text": "a text"}], "limit": 10, "threshold": 0, "language": "en",
}  # fmt: skip


def docs_policy() -> bytes:
    """Return the content security policy of the page. It permits the style of the page only."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ).encode()


def render_docs(document: JsonObject, address: str) -> str:
    """Return an OpenAPI document as an HTML page.

    Parameters
    ----------
    document : dict
        The OpenAPI document.
    address : str
        The address of the service, for the examples.
    """
    info = document["info"]
    needs_token = "security" in document
    operations = [
        _render_operation(path, method, operation, address, needs_token)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return "".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(info['title'])} API</title>"
            f'<link rel="icon" href="data:,"><style>{_STYLE}</style></head><body>',
            f"<h1>{escape(info['title'])} API</h1>",
            f'<p class="quiet">{escape(info["description"])} Version {escape(info["version"])}. '
            'The same as a machine-readable document: <a href="openapi.json">openapi.json</a>.</p>',
            *operations,
            "</body></html>\n",
        ]
    )


def _render_operation(
    path: str, method: str, operation: JsonObject, address: str, needs_token: bool
) -> str:
    sections = [*_render_parameters(operation["parameters"])]
    body = operation.get("requestBody")
    if body is not None:
        ((media, content),) = body["content"].items()
        sections += [
            f"<h2>Body <code>{escape(media)}</code></h2><p>{escape(body['description'])}</p>",
            _render_json(content["schema"]),
        ]
    command = _curl_command(path, method, operation, address, needs_token)
    sections.append(f"<h2>Example</h2><pre>{escape(command)}</pre>")
    success = operation["responses"]["200"]["content"]
    for media, content in success.items():
        sections.append(f"<h2>Answer <code>{escape(media)}</code></h2>")
        sections.append(_render_json(content["schema"]))
    errors = [
        f"<tr><td>{status}</td><td>{escape(response['description'])}</td></tr>"
        for status, response in operation["responses"].items()
        if status != "200"
    ]
    sections.append(
        "<h2>Errors <code>application/problem+json</code></h2>"
        f"<table><tbody>{''.join(errors)}</tbody></table>"
    )
    return (
        f'<details class="{method}"><summary><b>{method.upper()}</b> <code>{escape(path)}</code> '
        f'<span class="quiet">{escape(operation["summary"])}</span></summary>'
        f"<div>{''.join(sections)}</div></details>\n"
    )


def _render_parameters(parameters: Iterable[JsonObject]) -> Iterator[str]:
    rows = []
    for parameter in parameters:
        schema = parameter["schema"]
        kind = ", ".join(schema["enum"]) if "enum" in schema else str(schema["type"])
        cells = (parameter["name"], parameter["in"], kind)
        rows.append("".join(f"<td>{escape(cell)}</td>" for cell in cells))
    if rows:
        yield f"<h2>Parameters</h2><table><tbody><tr>{'</tr><tr>'.join(rows)}</tr></tbody></table>"


def _render_json(value: object) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2, ensure_ascii=False))}</pre>"


def _curl_command(
    path: str, method: str, operation: JsonObject, address: str, needs_token: bool
) -> str:
    for parameter in operation["parameters"]:
        if parameter["in"] == "path":
            names = parameter["schema"].get("enum") or [parameter["name"].upper()]
            path = path.replace(f"{{{parameter['name']}}}", names[0])
    words = ["curl", "-s", f"{address}{path}"]
    if needs_token:
        words += ["-H", "'Authorization: Bearer TOKEN'"]
    if method == "post":
        ((media, content),) = operation["requestBody"]["content"].items()
        words += _curl_body(media, content["schema"])
    return " ".join(words)


def _curl_body(media: str, schema: JsonObject) -> list[str]:
    values: dict[str, Any] = {name: _EXAMPLES[name] for name in schema["properties"]}
    if media == "application/json":
        return ["-H", "'Content-Type: application/json'", "-d", f"'{json.dumps(values)}'"]
    fields = [("--data-urlencode", f"'{name}={value}'") for name, value in values.items()]
    return [word for field in fields for word in field]
