"""The parts of the page made of cards with bars: terms of a class, classes of a word."""

from wordclass.report.findings import Findings
from wordclass.report.markup import Markup, tag


def class_section(findings: Findings, colors: dict[str, int]) -> Markup:
    """Show the most telling terms of some classes; those of the others can be unfolded."""
    featured = findings.featured()
    rest = [name for name in findings.top_terms if name not in featured]
    explained = (
        "Read down a dimension: the ten terms with the highest values, in standard deviations "
        "above the mean of all terms."
    )
    more = tag(
        "details",
        tag("summary", f"The other {len(rest)} classes"),
        tag("div", [_class_card(findings, name, colors) for name in rest], class_="cards"),
    )
    return tag(
        "section",
        tag("h2", "The most telling terms of a class"),
        tag("p", explained),
        tag("div", [_class_card(findings, name, colors) for name in featured], class_="cards"),
        more if rest else None,
    )


def profile_section(findings: Findings, colors: dict[str, int]) -> Markup:
    """Show the classes that some words speak for."""
    cards = [
        tag(
            "article",
            tag("h3", profile.word),
            tag("p", "torn between two" if profile.is_torn else "clear", class_="kind"),
            bars(profile.classes, colors),
            class_="card profile",
        )
        for profile in findings.profiles
    ]
    explained = (
        "Read along a row: some words belong to one class, others to two, and the vector says so."
    )
    return tag(
        "section",
        tag("h2", "What a word speaks for"),
        tag("p", explained),
        tag("div", cards, class_="cards"),
    )


def bars(
    scored: list[tuple[str, float]], colors: dict[str, int] | None = None, unit: str = ""
) -> Markup:
    """Draw names with a bar and a number each; the longest bar fills its place."""
    largest = max((score for _, score in scored), default=1.0)
    rows = []
    for name, score in scored:
        share = round(100 * max(score, 0.0) / max(largest, 1e-9))
        bar = tag("span", tag("i", style=f"width:{share}%"), class_="bar")
        number = tag("span", f"{score:.1f}{unit}", class_="number")
        color = None if colors is None else f"k{colors[name]}"
        rows.append(tag("li", tag("span", name, class_="name"), bar, number, class_=color))
    return tag("ul", rows, class_="bars")


def _class_card(findings: Findings, name: str, colors: dict[str, int]) -> Markup:
    terms = bars(findings.top_terms[name])
    return tag("article", tag("h3", name), terms, class_=f"card k{colors[name]}")
