"""The page: its files for a service, or a single file that works from disk."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from wordclass import progress
from wordclass.errors import InputError, MissingExtraError
from wordclass.explorer.portable import MODULE_FILE, PortableModel
from wordclass.explorer.views import Exploration, JsonObject

MAX_PAGE_BYTES = 2_950_000
MAX_COMPLETE_PAGE_BYTES = 8_000_000  # if this is enough for all terms of the model

_STATIC = Path(__file__).parent / "static"
_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}
# each module imports only from modules before it
_MODULES = ("components.js", MODULE_FILE, "plot.js", "source.js", "views.js", "app.js")
_STYLE_LINK = '<link rel="stylesheet" href="static/style.css">'
_SCRIPT_LINK = '<script type="module" src="static/app.js"></script>'
_MAX_CLASSES_BYTES = 300_000
_MAX_CELLS_BYTES = 200_000
_BYTES_PER_TERM = 40  # of a class view
_MAX_CLASSES_WITH_DOCUMENTS = 100
_MAX_CLASSES_WITH_ALL_DOCUMENTS = 25
_MAX_DOCUMENT_CHARS = 300
_MAX_CELLS = 60
_MAX_CELL_DOCUMENTS = 6
_N_NEIGHBORS = 8
_MAX_TERMS_WITH_NEIGHBORS = 1000
_ESCAPED = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True)
class Page:
    """The files of the page for a service."""

    @cached_property
    def files(self) -> dict[str, tuple[bytes, str]]:
        """The content and the media type of each file."""
        return {
            path.name: (path.read_bytes(), _MEDIA_TYPES[path.suffix])
            for path in sorted(_STATIC.iterdir())
            if path.suffix in _MEDIA_TYPES
        }


def export_page(
    name: str,
    views: Exploration,
    *,
    overview: JsonObject | None = None,
    map_facts: JsonObject | None = None,
    seed: int = 0,
) -> bytes:
    """Return the page and the views of a model as a single file.

    The file has the first documents and the most frequent cells. It takes at most 3 MB, or 8 MB if
    the complete model needs them. A larger model lacks its rarest terms. The page says so and
    shows no probabilities, because they would differ from those of the model.

    Parameters
    ----------
    name : str
        The name of the model.
    views : Exploration
        The model with optional documents.
    overview : dict, optional
        A first view with `title`, `paragraphs`, `numbers`, `tables` and `files`.
    map_facts : dict, optional
        A precomputed map. By default the map is computed.
    seed : int, default=0
        The seed of the map.
    """
    data: JsonObject = {"name": name, "about": views.about(), "overview": overview}
    data["map"], data["no_map"] = _map_view(views, map_facts, seed)
    data["classes"] = _class_views(views)
    data["mistakes"], data["cells"] = _mistakes_views(views)
    map_terms = [] if data["map"] is None else data["map"]["terms"]
    data["neighbor_source"], data["neighbors"] = _neighbors(
        views, map_terms[:_MAX_TERMS_WITH_NEIGHBORS]
    )
    n_bytes = len(_render({**data, "model": None, "no_model": None}))
    class_terms = [term for view in data["classes"] for term, _ in view["terms"]]
    data["model"], data["no_model"] = _encode_model(views, n_bytes, [*class_terms, *map_terms])
    return _render(data)


def _render(data: JsonObject) -> bytes:
    """Return the page with its style, scripts and data inside."""
    style = (_STATIC / "style.css").read_text(encoding="utf-8")
    script = "".join(_as_script(_STATIC / module) for module in _MODULES)
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = (_STATIC / "index.html").read_text(encoding="utf-8")
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    embedded = f'<script type="application/json" id="data">{_embed(data)}</script>\n'
    for mark, replacement in (
        ("<title>", f"{head}<title>"),
        (_STYLE_LINK, f"<style>{style}</style>"),
        (_SCRIPT_LINK, f'<script type="module">{script}</script>'),
        ("</body>", f"{embedded}</body>"),
    ):
        before, _, after = page.partition(mark)
        page = before + replacement + after
    return page.encode("utf-8")


def _as_script(path: Path) -> str:
    """Return a module without imports and exports, so that all modules form one script."""
    source = path.read_text(encoding="utf-8")
    source = re.sub(r"^import [^;]*;\n", "", source, flags=re.MULTILINE)
    return re.sub(r"^export ", "", source, flags=re.MULTILINE)


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _embed(value: object) -> str:
    """Return JSON that cannot end a script element. Lone surrogates are escaped."""
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", content)


def _size(value: object) -> int:
    return len(_embed(value).encode("utf-8"))


# --- views in the file --------------------------------------------------------------------------


def _map_view(
    views: Exploration, map_facts: JsonObject | None, seed: int
) -> tuple[JsonObject | None, str | None]:
    """Return the map and None, or None and the reason why there is no map."""
    try:
        view = views.map(seed=seed) if map_facts is None else map_facts
    except (MissingExtraError, InputError) as error:
        return None, str(error)
    panels = [
        {**panel, "places": np.round(panel["places"], 3).tolist()} for panel in view["panels"]
    ]
    profiles = view["profiles"] if _portable_model(views)[0] is None else []  # else in the model
    return {**view, "panels": panels, "profiles": profiles}, None


def _shorten(documents: Sequence[JsonObject], n: int) -> list[JsonObject]:
    return [
        {
            **document,
            "text": document["text"][:_MAX_DOCUMENT_CHARS],
            "is_cut": document["is_cut"] or len(document["text"]) > _MAX_DOCUMENT_CHARS,
        }
        for document in documents[:n]
    ]


def _class_views(views: Exploration) -> list[JsonObject]:
    n_classes = len(views.classes)
    n_terms = int(np.clip(_MAX_CLASSES_BYTES // (_BYTES_PER_TERM * n_classes), 5, 30))
    n_docs = 0
    if n_classes <= _MAX_CLASSES_WITH_ALL_DOCUMENTS:
        n_docs = 5
    elif n_classes <= _MAX_CLASSES_WITH_DOCUMENTS:
        n_docs = 2
    class_views = []
    for name in progress.track(views.classes, "describing classes"):
        view = views.class_(name, n_terms)
        for key in ("typical", "doubtful"):
            if key in view:
                view[key] = _shorten(view[key], n_docs)
        class_views.append(view)
    return class_views


def _mistakes_views(views: Exploration) -> tuple[JsonObject | None, dict[str, JsonObject]]:
    """Return the confusion table, and its most frequent cells if they fit into the limit."""
    if views.documents is None:
        return None, {}
    table = views.mistakes()
    cells: dict[str, JsonObject] = {}
    size = 0
    names = [*views.classes, None]
    for true, predicted, _ in progress.track(table["cells"][:_MAX_CELLS], "explaining mistakes"):
        view = views.cell(names[true], names[predicted], 20)
        view["documents"] = _shorten(view["documents"], _MAX_CELL_DOCUMENTS)
        size += _size(view)
        if size > _MAX_CELLS_BYTES:
            break
        cells[f"{true},{predicted}"] = view
    return table, cells


def _neighbors(views: Exploration, terms: Sequence[str]) -> tuple[str | None, dict[str, list[str]]]:
    """Return a description of the unsupervised vectors, and nearest words of terms by them."""
    source = None
    neighbors: dict[str, list[str]] = {}
    for term in terms:
        source, nearest = views.nearest_by_vectors(term, _N_NEIGHBORS)
        if nearest:
            neighbors[term] = [word for word, _ in nearest]
    return source, neighbors


# --- the model in the file ----------------------------------------------------------------------


def _portable_model(views: Exploration) -> tuple[PortableModel | None, str | None]:
    """Return the portable model and None, or None and the reason why there is none."""
    try:
        return PortableModel.of(views.model), None
    except InputError as error:
        return None, f"this file cannot classify texts: {error}"


def _encode_model(
    views: Exploration, n_page_bytes: int, preferred: Iterable[str]
) -> tuple[str | None, str | None]:
    """Return the model file in base64 and None, or None and the reason why there is none.

    Weights are float32 if the page stays small, else float16. Terms are omitted only if the page
    would become too large.
    """
    portable, reason = _portable_model(views)
    if portable is None:
        return None, reason
    for dtype, max_bytes in (
        ("float32", MAX_PAGE_BYTES),
        ("float16", MAX_PAGE_BYTES),
        ("float16", MAX_COMPLETE_PAGE_BYTES),
    ):
        content = portable.to_bytes(dtype=dtype)
        if n_page_bytes + _base64_size(len(content)) <= max_bytes:
            return base64.b64encode(content).decode(), None
    no_rows: list[list[int]] = [[] for _ in portable.parts]
    n_fixed_bytes = len(portable.to_bytes(no_rows, dtype))
    n_bytes = (MAX_PAGE_BYTES - n_page_bytes) // 4 * 3 - n_fixed_bytes
    rows = portable.select_rows(n_bytes, preferred, dtype)
    return base64.b64encode(portable.to_bytes(rows, dtype)).decode(), None


def _base64_size(n_bytes: int) -> int:
    return (n_bytes + 2) // 3 * 4
