"""The page of the demo: one HTML file that needs no other and no network."""

from pathlib import Path

from wordclass.report.card_sections import class_section, profile_section
from wordclass.report.colors import palette
from wordclass.report.explanation_section import explanation_section
from wordclass.report.findings import Findings
from wordclass.report.map_section import map_section
from wordclass.report.markup import Markup, tag
from wordclass.report.table_sections import number_section, score_section, time_section
from wordclass.report.term_map import TermMap

_STATIC = Path(__file__).parent / "static"
_EXPLAINED = (
    "A word-class embedding is a vector for a word in which every dimension is a class of your own "
    "task. It is counted, not trained: a high value means that the word occurs in documents of "
    "that class far more often than elsewhere, a value near zero that it tells nothing about the "
    "class. So the numbers can be read, they are there within seconds, and they can stand beside "
    "word vectors that were learned elsewhere."
)


def page(findings: Findings, term_map: TermMap, files: dict[str, str]) -> str:
    """Write the page.

    Parameters
    ----------
    findings, term_map
        What there is to show.
    files
        The names of the files beside the page, and what each is.
    """
    colors = {name: column for column, name in enumerate(term_map.classes)}
    body = tag(
        "main",
        _header(findings),
        number_section(findings),
        map_section(term_map),
        class_section(findings, colors),
        profile_section(findings, colors),
        score_section(findings),
        explanation_section(findings, colors),
        time_section(findings),
        _footer(findings, files),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"Word-class embeddings of {findings.corpus}"),
        tag("style", Markup(_static("demo.css") + _color_rules(len(term_map.classes)))),
    )
    script = tag("script", Markup(_static("demo.js")))
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', body, script), lang='en')}\n"


def _static(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8")


def _color_rules(n_classes: int) -> str:
    light = "".join(f".k{k}{{--c:{color}}}" for k, color in enumerate(palette(n_classes)))
    dark = "".join(f".k{k}{{--c:{color}}}" for k, color in enumerate(palette(n_classes, True)))
    return f"{light}@media(prefers-color-scheme:dark){{{dark}}}"


def _header(findings: Findings) -> Markup:
    return tag(
        "header",
        tag("p", "wordclass", class_="eyebrow"),
        tag("h1", "Words, described by your own classes"),
        tag("p", _EXPLAINED, class_="lead"),
        tag("p", findings.about),
    )


def _footer(findings: Findings, files: dict[str, str]) -> Markup:
    links = [tag("li", tag("a", name, href=name), f": {what}") for name, what in files.items()]
    return tag(
        "footer",
        tag("p", "Beside this page:"),
        tag("ul", links),
        [tag("p", note) for note in findings.notes],
        tag("p", f"Made by the command wordclass demo, with seed {findings.seed}."),
    )
