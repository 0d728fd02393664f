"""Measure the classifiers on real data, and write docs/results.md: `make results`.

Each row runs in a process of its own, is kept as soon as it is there, and is not measured again
unless `--again` says so: a run that was stopped goes on where it was.
"""

import argparse
import json
import subprocess
import sys
from typing import Any

from journal import Journal, write_page
from results_measuring import measure
from results_page import page
from results_rows import ROOT, ROWS, Row

JOURNAL = Journal(
    ROOT / ".cache" / "results" / "results.jsonl",
    ("wordclass", "numpy", "scipy", "scikit-learn", "fasttext-community"),
)
PAGE = ROOT / "docs" / "results.md"


def main() -> None:
    """Measure what is missing, and write the page after every row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="or the start of it")
    parser.add_argument("--again", action="store_true", help="also what was measured already")
    parser.add_argument("--list", action="store_true", help="show the rows, measure nothing")
    parser.add_argument("--page", action="store_true", help="write the page, measure nothing")
    parser.add_argument("--row", help=argparse.SUPPRESS)  # what the processes are called with
    arguments = parser.parse_args()
    if arguments.row is not None:
        (row,) = (each for each in ROWS if each.name == arguments.row)
        print(json.dumps(measure(row)))
        return
    chosen = [row for row in ROWS if _is_wanted(row, arguments.only)]
    if not chosen:
        raise SystemExit(f"no such row: {' '.join(arguments.only)}; --list shows them")
    if arguments.list:
        for row in chosen:
            print(row.name, "" if _is_measured(row) else "(not measured)")
        return
    for row in chosen if not arguments.page else []:
        if arguments.again or not _is_measured(row):
            JOURNAL.add(row.key, row.name, _measured_apart(row))
            _write_page()
    _write_page()


def _is_wanted(row: Row, only: list[str]) -> bool:
    return not only or any(row.name == name or row.name.startswith(f"{name}/") for name in only)


def _is_measured(row: Row) -> bool:
    return "macro_f1" in JOURNAL.kept().get(row.key, {})


def _measured_apart(row: Row) -> dict[str, Any]:
    """Measure a row in a process of its own; where that fails, return why."""
    print(f"{row.name} ...", end=" ", flush=True, file=sys.stderr)
    command = [sys.executable, __file__, "--row", row.name]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [""]
        print(f"failed: {said[-1]}", file=sys.stderr)
        return {"error": f"{said[-1]} (exit status {done.returncode})"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{found['macro_f1']:.4f} / {found['micro_f1']:.4f}, {found['train_seconds']:.0f} s",
        file=sys.stderr,
    )
    return found


def _write_page() -> None:
    kept = JOURNAL.kept()
    write_page(PAGE, page({row.name: kept[row.key] for row in ROWS if row.key in kept}))


if __name__ == "__main__":
    main()
