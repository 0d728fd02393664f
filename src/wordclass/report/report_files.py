"""The files in the folder of a report."""

import json
from dataclasses import replace
from pathlib import Path

from wordclass import naming
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import MissingExtraError
from wordclass.report.findings import Findings
from wordclass.report.page import page
from wordclass.report.report_folder import PAGE, RESULT
from wordclass.report.stopwatch import Stopwatch
from wordclass.report.term_map import TermMap

PICTURE, EMBEDDINGS = "terms.png", "demo.wce"
FILES = {
    PAGE: "this page",
    PICTURE: "the map as a picture",
    EMBEDDINGS: "the embeddings, for the commands words, profile and info",
    RESULT: "all the numbers",
}


def write(
    folder: Path,
    findings: Findings,
    embeddings: WordClassEmbeddings,
    term_map: TermMap,
    watch: Stopwatch,
) -> Findings:
    """Write all files; return the findings with the times and notes that came up meanwhile.

    The page cannot tell how long it took to write itself; the result can.
    """
    embeddings.save(folder / EMBEDDINGS)
    with watch.step("drawing the picture"):
        notes = _draw(term_map, findings.corpus, folder / PICTURE)
    findings = replace(findings, notes=notes, seconds={**watch.seconds})
    with watch.step("writing the page"):
        written = {PICTURE} if not notes else set()
        beside = {name: FILES[name] for name in (*written, EMBEDDINGS, RESULT)}
        _write_text(folder / PAGE, page(findings, term_map, beside))
    findings = replace(findings, seconds={**watch.seconds})
    _write_text(folder / RESULT, json.dumps(findings.to_dict(), ensure_ascii=False, indent=1))
    return findings


def _draw(term_map: TermMap, corpus: str, path: Path) -> list[str]:
    """Draw the picture, or return a note why there is none."""
    try:
        naming.extra("matplotlib", "to draw the map of the demo")
    except MissingExtraError as error:
        return [f"{path.name} was left out: {error}"]
    from wordclass.report import map_picture

    title = f"The terms of {corpus}, with and without the classes"
    map_picture.draw(term_map, title, path)
    return []


def _write_text(path: Path, text: str) -> None:
    # terms may hold lone surrogates, which no file can
    path.write_bytes(text.encode("utf-8", "replace"))
