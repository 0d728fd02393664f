"""The numbers that the paper published, read from `paper_numbers.toml`."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

NEURAL = ("fasttext", "cnn", "lstm", "attention")  # learners whose runs depend on a seed
NETWORKS = NEURAL[1:]


@dataclass(frozen=True)
class Published:
    """A number of the paper, with the marks of its cell that paper_numbers.toml explains."""

    value: float
    deviation: float | None = None
    marks: str = ""


@cache
def numbers() -> dict[str, Any]:
    """Return the content of the file with all published numbers."""
    path = Path(__file__).with_name("paper_numbers.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def cells(table: str) -> dict[tuple[str, str, str], Published]:
    """Return the cells of a published table by data set, learner and variant.

    Parameters
    ----------
    table : str
        "macro_f1", "micro_f1" or "run_times" (in seconds). Other names have no cells.
    """
    return {
        (dataset, learner, variant): _parse_cell(values)
        for learner, variants in numbers().get(table, {}).items()
        for variant, datasets in variants.items()
        for dataset, values in datasets.items()
    }


def _parse_cell(values: list[Any]) -> Published:
    """Read [number], [number, deviation], [number, marks] or all three."""
    *figures, marks = values if isinstance(values[-1], str) else [*values, ""]
    value, deviation = [*figures, None][:2]
    return Published(float(value), deviation, marks)


def measurement(kind: str, dataset: str, name: str) -> Published | None:
    """Return a published number that is no score, such as a count, or None.

    Parameters
    ----------
    kind : str
        The learner of the run, such as "counts".
    dataset, name : str
        The data set and the name of the number in `RunResult.extra`.
    """
    value = numbers().get(kind, {}).get(dataset, {}).get(name)
    return None if value is None else Published(float(value))
