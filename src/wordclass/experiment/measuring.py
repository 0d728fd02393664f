"""What runs measure that are no trainings: each returns facts, and arrays to keep."""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from wordclass.corpus import Dataset
from wordclass.word_vectors import WordVectors

Measured = tuple[dict[str, Any], dict[str, NDArray[Any]]]
Measure = Callable[[Dataset, WordVectors | None, Mapping[str, Any]], Measured]

MEASURE: Mapping[str, Measure] = {}
