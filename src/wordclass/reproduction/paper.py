"""The numbers that the paper published: `paper_numbers.toml`, read once."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

NEURAL = ("fasttext", "cnn", "lstm", "attention")  # the learners whose runs depend on a seed
NETWORKS = NEURAL[1:]


@dataclass(frozen=True)
class Published:
    """A number of the paper; `marks` are those of its cell, see paper_numbers.toml."""

    value: float
    deviation: float | None = None
    marks: str = ""


@cache
def numbers() -> dict[str, Any]:
    """Return everything the paper published, as the file has it."""
    path = Path(__file__).with_name("paper_numbers.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def cells(table: str) -> dict[tuple[str, str, str], Published]:
    """Return the cells of a published table by data set, learner and variant.

    Parameters
    ----------
    table : str
        "macro_f1", "micro_f1" or "run_times", in seconds; of others there are none.
    """
    return {
        (dataset, learner, variant): _cell(values)
        for learner, variants in numbers().get(table, {}).items()
        for variant, datasets in variants.items()
        for dataset, values in datasets.items()
    }


def _cell(values: list[Any]) -> Published:
    """Read [number], [number, deviation], [number, marks] or all three."""
    *figures, marks = values if isinstance(values[-1], str) else [*values, ""]
    value, deviation = [*figures, None][:2]
    return Published(float(value), deviation, marks)


def measurement(kind: str, dataset: str, name: str) -> Published | None:
    """Return what the paper measured other than trainings, such as counts; None where it did not.

    Names are those of the results of such runs.
    """
    value = numbers().get(kind, {}).get(dataset, {}).get(name)
    return None if value is None else Published(float(value))
