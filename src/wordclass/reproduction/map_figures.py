"""Figures of maps of terms, and their files for the Embedding Projector."""

from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from wordclass.explorer.colors import palette
from wordclass.explorer.map_layout import SIDE, Box, to_drawing_units
from wordclass.explorer.pictures import draw_terms, marker, write_classes, write_term
from wordclass.explorer.term_map import N_NEIGHBORS, Panel, TermMap
from wordclass.reproduction.figure_style import PAGE_INCHES, STYLE, dataset_name, file_stem, finish
from wordclass.storage import files

_LETTER_UNITS = 25  # height of a letter on a map
_LETTER_POINTS = 5.5
_MAX_ENLARGED_TERMS = 60
_SQUARE = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]])


@rc_context(STYLE)
def draw_map(term_map: TermMap, panel: Panel, name: str) -> Figure:
    """Draw a panel of a map with an enlarged square and its terms.

    The square surrounds the class whose terms are closest together in the last panel, so that all
    panels enlarge the same class.
    """
    n_classes = len(term_map.classes)
    chosen = _densest_class(term_map)
    figure = Figure((PAGE_INCHES, 4.2 + 0.12 * n_classes / 4), layout="constrained")
    overview, square = figure.subplots(1, 2)
    points = to_drawing_units(panel)
    colors = palette(n_classes)
    draw_terms(overview, term_map, points, dot=4)
    write_classes(overview, term_map, panel, _LETTER_UNITS, _LETTER_POINTS)
    class_points = points[term_map.class_of == chosen]
    middle = np.median(class_points, axis=0)
    distances = np.sort(np.abs(points - middle).max(axis=1))
    reach = max(distances[: min(2 * len(class_points), _MAX_ENLARGED_TERMS)][-1], 1.0)
    low = np.clip(middle - reach, 0, max(SIDE - 2 * reach, 0))
    overview.plot(*(low + 2 * reach * _SQUARE).T, color="black", linewidth=0.8)
    enlarged = (points - low) / (2 * reach) * SIDE
    draw_terms(square, term_map, enlarged, dot=10)
    occupied: list[Box] = []
    for term, column, point in zip(term_map.terms, term_map.class_of, enlarged, strict=True):
        if (abs(point - SIDE / 2) < SIDE / 2).all():
            write_term(
                square, term, point, occupied, _LETTER_UNITS, _LETTER_POINTS, color=colors[column]
            )
    overview.set_title(panel.caption, loc="left")
    share = f"{panel.neighbor_share:.0%} of {N_NEIGHBORS} nearest neighbors have the same class"
    overview.set_xlabel(share, loc="left")
    square.set_title(f"the square, around {term_map.classes[chosen]}", loc="left")
    handles = [
        Line2D([], [], linestyle="none", marker=marker(k), color=colors[k], label=class_name, ms=4)
        for k, class_name in enumerate(term_map.classes)
    ]
    title = f"{dataset_name(name)}, {len(term_map.terms):,} terms: {panel.title}"
    return finish(figure, title, handles)


def _densest_class(term_map: TermMap) -> int:
    """Return the class whose terms are closest to their median in the last panel."""
    points = term_map.panels[-1].places
    spreads: dict[int, float] = {}
    for column in set(term_map.class_of.tolist()):
        class_points = points[term_map.class_of == column]
        distances = np.linalg.norm(class_points - np.median(class_points, axis=0), axis=1)
        spreads[column] = float(np.median(distances))
    return min(spreads, key=lambda column: spreads[column])


def write_projector_files(term_map: TermMap, folder: Path, name: str) -> list[Path]:
    """Write vectors and metadata of a map as two TSV files for the Embedding Projector.

    The vectors are rounded, because a map stores rounded vectors (`TermMap.to_parts`).
    """
    paths = [folder / f"{file_stem(name)}-{kind}.tsv" for kind in ("vectors", "metadata")]
    rows = ["\t".join(f"{value:.4g}" for value in row) for row in term_map.vectors.tolist()]
    metadata = [
        "\t".join(" ".join(field.split()) for field in (term, term_map.classes[column]))
        for term, column in zip(term_map.terms, term_map.class_of.tolist(), strict=True)
    ]
    for path, lines in zip(paths, (rows, ["term\tclass", *metadata]), strict=True):
        with files.open_for_writing(path) as file:
            file.write("\n".join([*lines, ""]).encode("utf-8", "replace"))
    return paths
