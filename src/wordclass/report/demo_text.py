"""What the demo prints: at most a hundred columns of plain text."""

import textwrap
from pathlib import Path

from wordclass.report.demo_classifiers import step_of
from wordclass.report.explained_documents import ExplainedDocument
from wordclass.report.findings import Findings

_COLUMNS = 98
_BAR = 12  # characters of the longest bar
_SHOWN = 180  # characters of an explained text


def written(findings: Findings, page: Path) -> str:
    """Write what was found as text for the terminal, and where the page about it is."""
    sections = [
        _sizes(findings),
        _top_terms(findings),
        _profiles(findings),
        _scores(findings),
        *([_explained(findings)] if findings.explained else []),
        _panels(findings),
        _times(findings),
        "\n".join([f"The report: {page}", *findings.notes]),
    ]
    return "\n\n".join(sections)


def _sizes(findings: Findings) -> str:
    sizes = findings.sizes
    rows = [
        ("documents", f"{sizes.train_docs:,} to learn from, {sizes.test_docs:,} to test"),
        ("classes", f"{sizes.classes:,}"),
        ("terms", f"{sizes.terms:,}, each a vector of {sizes.dimensions:,} dimensions"),
    ]
    return _titled(f"The corpus {findings.corpus}", _aligned(rows))


def _top_terms(findings: Findings) -> str:
    rows = [
        (name, "  ".join(term for term, _ in findings.top_terms[name]))
        for name in findings.featured()
    ]
    return _titled("The most telling terms of some classes", _aligned(rows))


def _profiles(findings: Findings) -> str:
    """Show the two best classes of each word, with bars on one scale."""
    shown = [(profile.word, profile.classes[:2]) for profile in findings.profiles]
    word_width = max((len(word) for word, _ in shown), default=0)
    width = max((len(name) for _, classes in shown for name, _ in classes), default=0)
    largest = max((score for _, classes in shown for _, score in classes), default=1.0)
    lines = []
    for word, classes in shown:
        cells = []
        for name, score in classes:
            bar = "#" * round(_BAR * max(score, 0.0) / max(largest, 1e-9))
            cells.append(f"{name:<{width}} {score:5.1f} {bar:<{_BAR}}")
        lines.append(f"{word:<{word_width}}  {'  '.join(cells)}".rstrip())
    return _titled("What some words speak for: their two best classes", lines)


def _scores(findings: Findings) -> str:
    width = max(len(each.name) for each in findings.classifiers)
    lines = [f"{'':<{width}}  macro F1  micro F1  accuracy   seconds"]
    for each in findings.classifiers:
        figures = (each.macro_f1, each.micro_f1, each.accuracy)
        shares = "".join(f"{100 * value:9.1f}%" for value in figures)
        seconds = findings.seconds.get(step_of(each.name), 0.0)
        lines.append(f"{each.name:<{width}}{shares}{seconds:10.1f}")
    chosen = ", ".join(f"{name} {value}" for name, value in findings.settings.items())
    lines += textwrap.wrap(f"{findings.classifiers[0].name} chose: {chosen}", _COLUMNS - 2)
    return _titled("The classifiers, on the test documents", lines)


def _explained(findings: Findings) -> str:
    rows = [row for each in findings.explained for row in _reasons(each)]
    return _titled(f"Why {findings.classifiers[0].name} said so", _aligned(rows))


def _reasons(document: ExplainedDocument) -> list[tuple[str, str]]:
    begun = " ".join(document.text.split())
    shown = begun if len(begun) <= _SHOWN else begun[:_SHOWN].rsplit(" ", 1)[0] + " ..."
    return [
        (document.kind, f"{document.predicted}: {document.verdict}"),
        ("", shown),
        *(
            ("", f"{label}: " + ", ".join(f"{term} {added:+.2f}" for term, added in terms))
            for label, terms in document.terms.items()
        ),
    ]


def _panels(findings: Findings) -> str:
    rows = [
        (panel.title, f"{100 * panel.neighbor_share:5.1f}%  {panel.caption}")
        for panel in findings.panels
    ]
    return _titled("Of a term's 10 nearest neighbors, so many have its class", _aligned(rows))


def _times(findings: Findings) -> str:
    rows = [(step, f"{seconds:6.1f} s") for step, seconds in findings.seconds.items()]
    rows.append(("all together", f"{sum(findings.seconds.values()):6.1f} s"))
    return _titled("Time", _aligned(rows))


def _titled(title: str, lines: list[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)])


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    """Put the second column under one another, and break it where it is too long."""
    width = max(len(name) for name, _ in rows)
    lines = []
    for name, value in rows:
        parts = textwrap.wrap(value, _COLUMNS - width - 4) or [""]
        lines.append(f"{name:<{width}}  {parts[0]}")
        lines += [f"{'':<{width}}  {part}" for part in parts[1:]]
    return lines
