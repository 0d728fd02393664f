"""The part of the page with the term map, its legend and its search box."""

from wordclass.report.map_svg import large_panel, map_values, small_panel
from wordclass.report.markup import Markup, tag
from wordclass.report.term_map import N_NEIGHBORS, Panel, TermMap

_SHOWN_FIRST = 1  # the panel of the word-class vectors


def map_section(term_map: TermMap) -> Markup:
    """Write the section; without its script, it shows the word-class panel and tooltips."""
    shown = min(_SHOWN_FIRST, len(term_map.panels) - 1)
    thumbs = [
        _thumb(term_map, panel, k, is_shown=k == shown) for k, panel in enumerate(term_map.panels)
    ]
    explained = (
        f"The {len(term_map.terms):,} terms that tell most about the classes, as many for each, "
        "placed by t-SNE so that near points have similar vectors. The percentage says how many "
        f"of a term's {N_NEIGHBORS} nearest neighbors were chosen for the same class."
    )
    return tag(
        "section",
        tag("h2", "A map of the terms"),
        tag("p", explained),
        tag("div", thumbs, class_="thumbs", role="group", aria_label="Panels"),
        tag("div", _stage(term_map, term_map.panels[shown]), _legend(term_map), class_="map"),
        map_values(term_map),
        id="terms",
    )


def _thumb(term_map: TermMap, panel: Panel, number: int, is_shown: bool) -> Markup:
    return tag(
        "button",
        small_panel(term_map, panel),
        tag("span", panel.title, class_="title"),
        tag("strong", f"{panel.neighbor_share:.0%}"),
        tag("span", panel.caption, class_="caption"),
        type="button",
        data_panel=number,
        aria_pressed="true" if is_shown else "false",
    )


def _stage(term_map: TermMap, panel: Panel) -> Markup:
    box = tag(
        "input",
        type="search",
        id="find",
        placeholder="Find a word",
        aria_label="Find a word on the map",
        autocomplete="off",
        spellcheck="false",
    )
    said = tag("output", "Point at a dot, or choose a class.", id="said", for_="find")
    return tag(
        "div",
        tag("div", box, said, class_="tools"),
        large_panel(term_map, panel),
        class_="stage",
    )


def _legend(term_map: TermMap) -> Markup:
    chips = [
        tag(
            "button",
            tag("i", aria_hidden="true"),
            name,
            type="button",
            class_=f"k{column}",
            data_class=column,
            aria_pressed="false",
        )
        for column, name in enumerate(term_map.classes)
    ]
    return tag("div", chips, class_="legend", role="group", aria_label="Classes")
