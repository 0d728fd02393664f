"""What the demo found, shown twice: as text for the terminal and as a page.

Both are made of the facts that `demo.find` returns, which are also those of result.json.
"""

import textwrap
from typing import Any

from wordclass.experiment.term_map import N_NEIGHBORS, TermMap
from wordclass.report import map_svg
from wordclass.report.colors import palette
from wordclass.report.page import Markup, fill, join, static, tag
from wordclass.report.tables import aligned

Facts = dict[str, Any]
Scored = list[tuple[str, float]]

_COLUMNS = 96  # of a line on the terminal, besides its indentation
_BAR = 12  # characters of the longest bar
_SHOWN = 180  # characters of an explained text
_SHOWN_FIRST = 1  # the panel of the word-class vectors
_N_RANKED = 6  # classes shown at each end
_FAINT = 0.12  # of the strongest word: what is below stays uncolored


def to_text(facts: Facts) -> str:
    """Write what was found for the terminal, in at most a hundred columns."""
    sizes, first = facts["sizes"], facts["classifiers"][0]["name"]
    corpus = [
        ("documents", f"{sizes['train_docs']:,} to learn from, {sizes['test_docs']:,} to test"),
        ("classes", f"{sizes['classes']:,}"),
        ("terms", f"{sizes['terms']:,}, each a vector of {sizes['dimensions']:,} dimensions"),
    ]
    top_terms = [
        (name, "  ".join(term for term, _ in facts["top_terms"][name])) for name in _featured(facts)
    ]
    reasons = [row for document in facts["explained"] for row in _reasons(document)]
    panels = [
        (panel["title"], f"{100 * panel['neighbor_share']:5.1f}%  {panel['caption']}")
        for panel in facts["panels"]
    ]
    times = [*facts["seconds"].items(), ("all together", sum(facts["seconds"].values()))]
    sections = {
        f"The corpus {facts['corpus']}": aligned(corpus, _COLUMNS),
        "The most telling terms of some classes": aligned(top_terms, _COLUMNS),
        "What some words speak for: their two best classes": _profile_lines(facts["profiles"]),
        "The classifiers, on the test documents": _score_lines(facts),
        f"Why {first} said so": aligned(reasons, _COLUMNS),
        f"Of a term's {N_NEIGHBORS} nearest neighbors, so many have its class": aligned(
            panels, _COLUMNS
        ),
        "Time": aligned([(step, f"{seconds:6.1f} s") for step, seconds in times]),
    }
    written = [
        "\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in sections.items()
    ]
    return "\n\n".join([*written, "\n".join([f"The report: {facts['report']}", *facts["notes"]])])


def _profile_lines(profiles: list[Facts]) -> list[str]:
    """Show the two best classes of each word, with bars on one scale."""
    shown = [(profile["word"], profile["classes"][:2]) for profile in profiles]
    width = max((len(name) for _, classes in shown for name, _ in classes), default=0)
    largest = max((score for _, classes in shown for _, score in classes), default=1.0)
    rows = []
    for word, classes in shown:
        cells = []
        for name, score in classes:
            bar = "#" * round(_BAR * max(score, 0.0) / max(largest, 1e-9))
            cells.append(f"{name:<{width}} {score:5.1f} {bar:<{_BAR}}")
        rows.append((word, "  ".join(cells)))
    return aligned(rows)


def _score_lines(facts: Facts) -> list[str]:
    rows = [("", "macro F1  micro F1  accuracy   seconds")]
    for each in facts["classifiers"]:
        figures = "  ".join(f"{each[key]:8.1%}" for key in ("macro_f1", "micro_f1", "accuracy"))
        rows.append((each["name"], f"{figures}{_seconds(facts, each):10.1f}"))
    chosen = f"{facts['classifiers'][0]['name']} chose: {_settings(facts)}"
    return [*aligned(rows), *textwrap.wrap(chosen, _COLUMNS)]


def _reasons(document: Facts) -> list[tuple[str, str]]:
    begun = " ".join(document["text"].split())
    shown = begun if len(begun) <= _SHOWN else begun[:_SHOWN].rsplit(" ", 1)[0] + " ..."
    return [
        (document["kind"], f"{document['predicted']}: {verdict(document)}"),
        ("", shown),
        *(("", f"{label}: {_contributions(terms)}") for label, terms in document["terms"].items()),
    ]


def to_page(facts: Facts, term_map: TermMap, files: dict[str, str]) -> str:
    """Write one HTML file that needs no other and no network.

    Parameters
    ----------
    facts, term_map
        What there is to show.
    files
        The names of the files beside the page, and what each is.
    """
    first = facts["classifiers"][0]
    color_of = {name: f"k{column}" for column, name in enumerate(term_map.classes)}
    featured = _featured(facts)
    others = [name for name in facts["top_terms"] if name not in featured]
    ranked = sorted(first["by_class"], key=lambda name: (-first["by_class"][name]["f1"], name))
    n_ranked = min(_N_RANKED, len(ranked) // 2)
    return fill(
        "demo.html",
        style=join(static("demo.css"), _color_rules(len(term_map.classes))),
        script=static("demo.js"),
        **{name: facts[name] for name in ("corpus", "about", "seed")},
        **{name: f"{size:,}" for name, size in facts["sizes"].items()},
        seconds=f"{sum(facts['seconds'].values()):.0f} s",
        accuracy=f"{first['accuracy']:.1%}",
        shown_terms=f"{len(term_map.terms):,}",
        n_neighbors=N_NEIGHBORS,
        thumbs=[_thumb(term_map, number) for number in range(len(term_map.panels))],
        map=map_svg.large_panel(term_map, term_map.panels[_SHOWN_FIRST]),
        legend=[_chip(column, name) for column, name in enumerate(term_map.classes)],
        map_values=map_svg.map_values(term_map),
        featured_classes=[_class_card(facts, name, color_of) for name in featured],
        other_classes=_folded(
            f"The other {len(others)} classes",
            [_class_card(facts, name, color_of) for name in others],
        ),
        profiles=[_profile_card(profile, color_of) for profile in facts["profiles"]],
        classifiers=_classifier_table(facts),
        classifier=first["name"],
        settings=_settings(facts),
        best_classes=_class_table("Best", ranked[:n_ranked], first),
        worst_classes=_class_table("Worst", ranked[len(ranked) - n_ranked :], first),
        explained=[_explained_card(document, color_of) for document in facts["explained"]],
        times=_bars(list(facts["seconds"].items()), unit=" s"),
        files=[tag("li", tag("a", name, href=name), f": {what}") for name, what in files.items()],
        notes=[tag("p", note) for note in facts["notes"]],
    )


def _color_rules(n_classes: int) -> Markup:
    light, dark = (
        "".join(f".k{k}{{--c:{color}}}" for k, color in enumerate(palette(n_classes, on_black)))
        for on_black in (False, True)
    )
    return Markup(f"{light}@media(prefers-color-scheme:dark){{{dark}}}")


def _thumb(term_map: TermMap, number: int) -> Markup:
    panel = term_map.panels[number]
    return tag(
        "button",
        map_svg.small_panel(term_map, panel),
        tag("span", panel.title, class_="title"),
        tag("strong", f"{panel.neighbor_share:.0%}"),
        tag("span", panel.caption, class_="caption"),
        type="button",
        data_panel=number,
        aria_pressed="true" if number == _SHOWN_FIRST else "false",
    )


def _chip(column: int, name: str) -> Markup:
    dot, color = tag("i", aria_hidden="true"), f"k{column}"
    return tag(
        "button", dot, name, type="button", class_=color, data_class=column, aria_pressed="false"
    )


def _class_card(facts: Facts, name: str, color_of: dict[str, str]) -> Markup:
    terms = _bars(facts["top_terms"][name])
    return tag("article", tag("h3", name), terms, class_=f"card {color_of[name]}")


def _folded(summary: str, cards: list[Markup]) -> Markup | None:
    if not cards:
        return None
    return tag("details", tag("summary", summary), tag("div", cards, class_="cards"))


def _profile_card(profile: Facts, color_of: dict[str, str]) -> Markup:
    return tag(
        "article",
        tag("h3", profile["word"]),
        tag("p", "torn between two" if profile["is_torn"] else "clear", class_="kind"),
        _bars(profile["classes"], color_of),
        class_="card profile",
    )


def _explained_card(document: Facts, color_of: dict[str, str]) -> Markup:
    terms = [
        tag("p", tag("strong", label), f": {_contributions(terms)}", class_="terms")
        for label, terms in document["terms"].items()
    ]
    return tag(
        "article",
        tag("h3", document["predicted"]),
        tag("p", verdict(document), class_="kind"),
        tag("p", colored(document["text"], document["words"]), class_="text"),
        terms,
        class_=f"card {color_of[document['predicted']]}",
    )


def colored(text: str, words: list[tuple[int, int, float]]) -> Markup:
    """Mark the words of a text by what they add; the text itself stays as it is."""
    strongest = max((abs(added) for *_, added in words), default=0.0)
    parts: list[str] = []
    place = 0
    for start, end, added in words:
        strength = abs(added) / strongest if strongest else 0.0
        if strength >= _FAINT:
            side, percent = "for" if added > 0 else "against", f"--s:{round(100 * strength)}%"
            parts += [text[place:start], tag("mark", text[start:end], class_=side, style=percent)]
            place = end
    return join([*parts, text[place:]])


def _bars(scored: Scored, color_of: dict[str, str] | None = None, unit: str = "") -> Markup:
    """Draw names with a bar and a number each; the longest bar fills its place."""
    largest = max((score for _, score in scored), default=1.0)
    rows = []
    for name, score in scored:
        share = round(100 * max(score, 0.0) / max(largest, 1e-9))
        bar = tag("span", tag("i", style=f"width:{share}%"), class_="bar")
        number = tag("span", f"{score:.1f}{unit}", class_="number")
        color = color_of[name] if color_of else None
        rows.append(tag("li", tag("span", name, class_="name"), bar, number, class_=color))
    return tag("ul", rows, class_="bars")


def _classifier_table(facts: Facts) -> Markup:
    rows = []
    for each in facts["classifiers"]:
        shares = [f"{each[key]:.1%}" for key in ("macro_f1", "micro_f1", "accuracy")]
        rows.append([each["name"], *shares, f"{_seconds(facts, each):.1f}"])
    return _table(["Classifier", "macro F1", "micro F1", "accuracy", "seconds"], rows)


def _class_table(title: str, names: list[str], classifier: Facts) -> Markup:
    rows = []
    for name in names:
        scores = classifier["by_class"][name]
        shares = [f"{scores[key]:.0%}" for key in ("f1", "precision", "recall")]
        rows.append([name, *shares, f"{scores['n_true']:,}"])
    return _table([title, "F1", "precision", "recall", "texts"], rows)


def _table(heads: list[str], rows: list[list[str]]) -> Markup:
    body = [
        tag("tr", tag("th", name, scope="row"), [tag("td", cell) for cell in cells])
        for name, *cells in rows
    ]
    return tag(
        "table",
        tag("thead", tag("tr", [tag("th", head, scope="col") for head in heads])),
        tag("tbody", body),
    )


def step_of(classifier: str) -> str:
    """Return what the work with a classifier is called among the seconds."""
    return f"classifying ({classifier})"


def verdict(document: Facts) -> str:
    """Return how sure the classifier is of a document, and whether it is right, in words."""
    share = document["probability"]
    sure = "over 99%" if share > 0.99 else f"{share:.0%}"
    is_right = document["kind"] == "right"
    return f"{sure} sure, " + ("and right" if is_right else f"but it is {document['true']}")


def _featured(facts: Facts, n: int = 6) -> list[str]:
    """Return some classes that are spread over all of them, so that they are varied."""
    names = list(facts["top_terms"])
    n = min(n, len(names))
    return [names[round(k * (len(names) - 1) / max(n - 1, 1))] for k in range(n)]


def _seconds(facts: Facts, classifier: Facts) -> float:
    return float(facts["seconds"][step_of(classifier["name"])])


def _settings(facts: Facts) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts["settings"].items())


def _contributions(terms: Scored) -> str:
    return ", ".join(f"{term} {added:+.2f}" for term, added in terms)
