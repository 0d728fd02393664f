"""How a page is written: templates filled with markup that is escaped by construction."""

import html
from pathlib import Path
from string import Template
from typing import Any

_STATIC = Path(__file__).parent / "static"
_WITHOUT_END = frozenset({"meta", "input", "br", "link"})


class Markup(str):
    """Text that is markup already; only `tag` and its like make it."""

    __slots__ = ()


Child = str | int | float | None | list[Any]


def tag(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Markup:
    """Make an element; children that are not markup are escaped, None is left out.

    An attribute is left out where it is None or False, and has no value where it is True. A
    trailing underscore is dropped, others become hyphens: `class_`, `aria_label`.

    Examples
    --------
    >>> tag("p", "a < b", class_="note", hidden=True)
    '<p class="note" hidden>a &lt; b</p>'
    """
    opened = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _WITHOUT_END:
        return Markup(f"<{name}{opened}>")
    return Markup(f"<{name}{opened}>{join(*children)}</{name}>")


def join(*children: Child) -> Markup:
    """Put children one after the other; lists are opened."""
    return Markup("".join(map(_written, children)))


def static(name: str) -> Markup:
    """Return a file of ours as it is: a script or a style sheet."""
    return Markup((_STATIC / name).read_text(encoding="utf-8"))


def fill(template: str, **parts: Child) -> str:
    """Return a page: a template of ours with each `$name` replaced by the part of that name."""
    return Template(static(template)).substitute(
        {name: _written(part) for name, part in parts.items()}
    )


def _written(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, list):
        return join(*child)
    return child if isinstance(child, Markup) else html.escape(str(child))


def _attribute(key: str, value: str | int | float | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'
