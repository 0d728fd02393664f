"""What the demo prints: at most a hundred columns of plain text."""

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wordclass.report.demo_result import DemoResult

_COLUMNS = 98
_BAR = 24  # characters of the longest bar


def written(result: "DemoResult") -> str:
    """Write a result as text for the terminal."""
    sections = [
        _sizes(result),
        _top_terms(result),
        _profiles(result),
        _scores(result),
        _panels(result),
        _times(result),
        "\n".join([f"The report is in {result.folder / 'index.html'}", *result.notes]),
    ]
    return "\n\n".join(sections)


def _sizes(result: "DemoResult") -> str:
    sizes = result.sizes
    rows = [
        ("documents", f"{sizes.train_docs:,} to learn from, {sizes.test_docs:,} to test"),
        ("classes", f"{sizes.classes:,}"),
        ("terms", f"{sizes.terms:,}, each a vector of {sizes.dimensions:,} dimensions"),
    ]
    return _titled(f"The corpus {result.corpus}", _aligned(rows))


def _top_terms(result: "DemoResult") -> str:
    rows = [
        (name, "  ".join(term for term, _ in result.top_terms[name])) for name in result.featured()
    ]
    return _titled("The most telling terms of some classes", _aligned(rows))


def _profiles(result: "DemoResult") -> str:
    """Show the first classes of each word with a bar, all on one scale."""
    shown = [(profile, profile.classes[:3]) for profile in result.profiles]
    names = [name for _, classes in shown for name, _ in classes]
    widths = (
        max((len(profile.word) for profile, _ in shown), default=0),
        max(map(len, names), default=0),
    )
    largest = max((score for _, classes in shown for _, score in classes), default=1.0)
    lines = []
    for profile, classes in shown:
        for k, (name, score) in enumerate(classes):
            word = profile.word if k == 0 else ""
            bar = "#" * round(_BAR * max(score, 0.0) / max(largest, 1e-9))
            lines.append(f"{word:<{widths[0]}}  {name:<{widths[1]}} {score:6.1f}  {bar}".rstrip())
    return _titled("What some words speak for", lines)


def _scores(result: "DemoResult") -> str:
    width = max(len(each.name) for each in result.classifiers)
    lines = [f"{'':<{width}}  macro F1  micro F1  accuracy"]
    for each in result.classifiers:
        figures = (each.macro_f1, each.micro_f1, each.accuracy)
        lines.append(f"{each.name:<{width}}" + "".join(f"{100 * value:9.1f}%" for value in figures))
    return _titled("The classifier without training, on the test documents", lines)


def _panels(result: "DemoResult") -> str:
    rows = [
        (panel.title, f"{100 * panel.neighbor_share:5.1f}%  {panel.caption}")
        for panel in result.panels
    ]
    return _titled(
        "Of a term's 10 nearest neighbors on the map, so many have its class", _aligned(rows)
    )


def _times(result: "DemoResult") -> str:
    rows = [(step, f"{seconds:6.1f} s") for step, seconds in result.seconds.items()]
    rows.append(("all together", f"{sum(result.seconds.values()):6.1f} s"))
    return _titled("Time", _aligned(rows))


def _titled(title: str, lines: list[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)])


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    """Put the second column under one another, and break it where it is too long."""
    width = max(len(name) for name, _ in rows)
    lines = []
    for name, value in rows:
        # wrapping would take the double spaces between terms for one, were they not protected
        parts = textwrap.wrap(value, _COLUMNS - width - 4, drop_whitespace=True) or [""]
        lines.append(f"{name:<{width}}  {parts[0]}")
        lines += [f"{'':<{width}}  {part}" for part in parts[1:]]
    return lines
