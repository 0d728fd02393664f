"""The page: its files, as a service hands them out, or all in one file that works from disk."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from wordclass import progress
from wordclass.decision.scorers import LinearScorer
from wordclass.errors import InputError, MissingExtraError
from wordclass.explorer.character_tables import character_tables
from wordclass.explorer.views import Exploration, JsonObject
from wordclass.text.analyzer import TOKEN_PATTERN, Analyzer, CharacterAnalyzer

MAX_PAGE_BYTES = 2_950_000  # of the one file

_STATIC = Path(__file__).parent / "static"
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}
_MODULES = (
    "parts.js",
    "model.js",
    "plot.js",
    "source.js",
    "views.js",
    "app.js",
)  # lower ones first
_STYLE_LINK = '<link rel="stylesheet" href="static/style.css">'
_SCRIPT_LINK = '<script type="module" src="static/app.js"></script>'
_CLASSES_BYTES, _CELLS_BYTES = 300_000, 200_000
_MANY_CLASSES = 100  # of more, no documents are carried
_SHOWN = 300  # characters of a document
_MOST_CELLS, _MOST_CELL_DOCUMENTS = 60, 6
_N_NEIGHBORS, _MOST_NEIGHBORED = 8, 1000
_ESCAPED = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True)
class Page:
    """The files of the page, to be handed out by a service."""

    @cached_property
    def files(self) -> dict[str, tuple[bytes, str]]:
        """The content of each file, and its media type."""
        return {
            path.name: (path.read_bytes(), _MEDIA[path.suffix])
            for path in sorted(_STATIC.iterdir())
            if path.suffix in _MEDIA
        }


def export_page(
    name: str,
    views: Exploration,
    *,
    overview: JsonObject | None = None,
    map_facts: JsonObject | None = None,
    seed: int = 0,
) -> bytes:
    """Return the page and all that it shows of a model as one file, below 3 MB.

    What does not fit is left out, and the page says so: documents beyond the first ones, cells
    beyond the most frequent ones, and terms beyond the most frequent ones.

    Parameters
    ----------
    name : str
        Of the model.
    views : Exploration
        The model, maybe with documents.
    overview : dict, optional
        A first view: `title`, `paragraphs`, `numbers`, `tables` and `files`.
    map_facts : dict, optional
        A map that was made before; by default one is made.
    seed : int, default=0
        Of the map.
    """
    data: JsonObject = {"name": name, "about": views.about(), "overview": overview}
    data["characters"] = character_tables()
    data["map"], data["no_map"] = _map(views, map_facts, seed)
    data["classes"] = _class_facts(views)
    data["mistakes"], data["cells"] = _mistakes(views)
    on_map = [] if data["map"] is None else data["map"]["terms"]
    data["neighbor_source"], data["neighbors"] = _neighbors(views, on_map[:_MOST_NEIGHBORED])
    whole = len(_written({**data, "model": None, "no_model": None}))
    telling = [term for each in data["classes"] for term, _ in each["terms"]]
    data["model"], data["no_model"] = _model(views, MAX_PAGE_BYTES - whole, [*telling, *on_map])
    return _written(data)


def _written(data: JsonObject) -> bytes:
    """Return the page with its style, its scripts and the data inside."""
    style = (_STATIC / "style.css").read_text(encoding="utf-8")
    script = "".join(_as_script(_STATIC / each) for each in _MODULES)
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = (_STATIC / "index.html").read_text(encoding="utf-8")
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    inside = f'<script type="application/json" id="data">{_embedded(data)}</script>\n'
    for mark, made in (
        ("<title>", f"{head}<title>"),
        (_STYLE_LINK, f"<style>{style}</style>"),
        (_SCRIPT_LINK, f'<script type="module">{script}</script>'),
        ("</body>", f"{inside}</body>"),
    ):
        before, _, after = page.partition(mark)
        page = before + made + after
    return page.encode("utf-8")


def _as_script(path: Path) -> str:
    """Return a module without what ties it to others: all are in one script, lower ones first."""
    source = path.read_text(encoding="utf-8")
    source = re.sub(r"^import [^;]*;\n", "", source, flags=re.MULTILINE)
    return re.sub(r"^export ", "", source, flags=re.MULTILINE)


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _embedded(value: object) -> str:
    """Write JSON that can end no element, whatever is in it; lone surrogates are escaped."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


def _size(value: object) -> int:
    return len(_embedded(value).encode("utf-8"))


# --- what is carried ----------------------------------------------------------------------------


def _map(
    views: Exploration, made: JsonObject | None, seed: int
) -> tuple[JsonObject | None, str | None]:
    try:
        found = views.map(seed=seed) if made is None else made
    except (MissingExtraError, InputError) as error:
        return None, str(error)
    panels = [{**each, "places": np.round(each["places"], 3).tolist()} for each in found["panels"]]
    # the profiles are in the model, where it is carried
    is_carried = _reason_against(views) is None
    return {**found, "panels": panels, "profiles": [] if is_carried else found["profiles"]}, None


def _cut(documents: Sequence[JsonObject], n: int) -> list[JsonObject]:
    return [
        {
            **each,
            "text": each["text"][:_SHOWN],
            "is_cut": each["is_cut"] or len(each["text"]) > _SHOWN,
        }
        for each in documents[:n]
    ]


def _class_facts(views: Exploration) -> list[JsonObject]:
    n_classes = len(views.classes)
    n_terms = int(np.clip(_CLASSES_BYTES // (40 * n_classes), 5, 30))
    n_docs = 5 if n_classes <= _MANY_CLASSES // 4 else 2 if n_classes <= _MANY_CLASSES else 0
    made = []
    for name in progress.track(views.classes, "describing classes"):
        found = views.class_(name, n_terms)
        for key in ("typical", "doubtful"):
            if key in found:
                found[key] = _cut(found[key], n_docs)
        made.append(found)
    return made


def _mistakes(views: Exploration) -> tuple[JsonObject | None, dict[str, JsonObject]]:
    """Return the table of mistakes, and the most frequent cells, as many as there is room for."""
    if views.documents is None:
        return None, {}
    table, cells, size = views.mistakes(), {}, 0
    names = [*views.classes, None]
    frequent = table["cells"][:_MOST_CELLS]
    for true, predicted, _ in progress.track(frequent, "explaining mistakes"):
        found = views.cell(names[true], names[predicted], 20)
        found["documents"] = _cut(found["documents"], _MOST_CELL_DOCUMENTS)
        size += _size(found)
        if size > _CELLS_BYTES:
            break
        cells[f"{true},{predicted}"] = found
    return table, cells


def _neighbors(views: Exploration, terms: Sequence[str]) -> tuple[str | None, dict[str, list[str]]]:
    """Return what the other vectors are, and the nearest words of some terms by them."""
    source = None
    found: dict[str, list[str]] = {}
    for term in terms:
        source, nearest = views.nearest_by_vectors(term, _N_NEIGHBORS)
        if nearest:
            found[term] = [word for word, _ in nearest]
    return source, found


def _reason_against(views: Exploration) -> str | None:
    """Return why a model cannot be used in a page without a service; None: it can."""
    if views.scorer.encoder is not None:
        return "a model with an encoder cannot predict inside a file; wordclass explore can"
    if not views.scorer.linear_scorers:
        name = views.model.name
        return f"a model of {name!r} cannot predict inside a file; wordclass explore can"
    for part in views.scorer.linear_scorers:
        analyze: Any = part.vectorizer.build_analyzer()
        is_ours = isinstance(analyze, CharacterAnalyzer) or (
            isinstance(analyze, Analyzer) and analyze.token_pattern == TOKEN_PATTERN
        )
        if not (is_ours and analyze.lowercase and analyze.strip_accents is None):
            return "the file cannot cut texts into words as this model does; wordclass explore can"
        has_factors = part.vectorizer.vocabulary_.factors is not None  # in the place of idf
        if part.vectorizer.weighting != "tfidf" or has_factors:
            return "the file can weigh words by tf-idf only; wordclass explore can by others"
    return None


def _model(
    views: Exploration, n_bytes: int, first: Iterable[str]
) -> tuple[JsonObject | None, str | None]:
    """Return the model with as many terms as there is room for, the given ones first."""
    if (reason := _reason_against(views)) is not None:
        return None, reason
    model = views.model
    parts = views.scorer.linear_scorers
    kept = _kept_rows(parts, n_bytes - 200 * len(views.classes) - 2000, first)
    n_terms = sum(len(part.weights) for part in parts)
    thresholds, calibration = model.thresholds_, model.calibration_
    shares = model.training_.shares
    facts = {
        "is_single": not views.is_multilabel,
        "has_all": sum(map(len, kept)) == n_terms,
        "n_terms": n_terms,
        "intercept": np.sum([part.intercept for part in parts], axis=0, dtype=np.float64).tolist(),
        "thresholds": None
        if thresholds is None
        else [each if np.isfinite(each) else None for each in thresholds.tolist()],
        # a text without a known term gets only these classes
        "is_frequent": None if shares is None else (shares > 0.5).tolist(),
        "calibration": None if calibration is None else calibration.parameters.tolist(),
        "keeps_highest": calibration is not None and calibration.keeps_highest,
        "parts": [_part_facts(part, rows) for part, rows in zip(parts, kept, strict=True)],
    }
    return facts, None


def _kept_rows(
    parts: Sequence[LinearScorer], n_bytes: int, first: Iterable[str]
) -> list[list[int]]:
    wanted = {*first}
    ranked = []
    for number, part in enumerate(parts):
        vocabulary = part.vectorizer.vocabulary_
        for row, (term, n) in enumerate(
            zip(vocabulary.terms, vocabulary.doc_freq.tolist(), strict=True)
        ):
            ranked.append((not (number == 0 and term in wanted), -n, number, row, term))
    ranked.sort()
    kept: list[list[int]] = [[] for _ in parts]
    for _, n, number, row, term in ranked:
        width = parts[number].weights.shape[1]
        n_bytes -= 16 * width // 3 + len(json.dumps(term)) + len(str(n)) + 2
        if n_bytes < 0:
            break
        kept[number].append(row)
    return [sorted(rows) for rows in kept]


def _part_facts(part: LinearScorer, rows: list[int]) -> JsonObject:
    analyze: Any = part.vectorizer.build_analyzer()
    vocabulary = part.vectorizer.vocabulary_
    is_words = isinstance(analyze, Analyzer)
    weights = np.ascontiguousarray(part.weights[rows], "<f4")
    return {
        "kind": "words" if is_words else "characters",
        "ngrams": [*analyze.ngrams],
        "mask_numbers": is_words and analyze.mask_numbers,
        "stop_words": sorted(analyze.stop_words) if is_words else [],
        "n_docs": int(vocabulary.n_docs),
        "terms": [vocabulary.terms[row] for row in rows],
        "doc_freq": vocabulary.doc_freq[rows].tolist(),
        "weights": base64.b64encode(weights.tobytes()).decode(),
    }
