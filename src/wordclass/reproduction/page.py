"""HTML pages: templates filled with markup that is escaped by construction."""

import html
from pathlib import Path
from string import Template
from typing import Any

_STATIC = Path(__file__).parent / "static"
_VOID_ELEMENTS = frozenset({"meta", "input", "br", "link"})


class Markup(str):
    """Text that is already markup. Only functions of this module and of formats create it."""

    __slots__ = ()


Child = str | int | float | None | list[Any]


def tag(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Markup:
    """Make an element from its name, children and attributes.

    Children that are not markup are escaped, and None is omitted. An attribute that is None or
    False is omitted, and True gives an attribute without a value. A trailing underscore of a name
    is dropped and other underscores become hyphens: `class_`, `aria_label`.

    Examples
    --------
    >>> tag("p", "a < b", class_="note", hidden=True)
    '<p class="note" hidden>a &lt; b</p>'
    """
    written = "".join(_format_attribute(key, value) for key, value in attributes.items())
    if name in _VOID_ELEMENTS:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: Child) -> Markup:
    """Concatenate children, including the items of lists."""
    return Markup("".join(map(_escape_child, children)))


def static(name: str) -> Markup:
    """Return the content of a file in `static`: a template, script or style sheet."""
    return Markup((_STATIC / name).read_text(encoding="utf-8"))


def fill(template: str, **content: Child) -> str:
    """Return a template of `static` with each `$name` replaced by the content of that name."""
    return Template(static(template)).substitute(
        {name: _escape_child(child) for name, child in content.items()}
    )


def _escape_child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, list):
        return join(*child)
    return child if isinstance(child, Markup) else html.escape(str(child))


def _format_attribute(key: str, value: str | int | float | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'
