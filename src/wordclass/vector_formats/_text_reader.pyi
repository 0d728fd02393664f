"""The types of the compiled reader of lines; what it does is told in text_reader.cpp."""

import numpy as np
from numpy.typing import NDArray

# terms, lines, values, fields left to Python, number of good lines, whether one is bad
_Block = tuple[
    bytes, NDArray[np.int64], NDArray[np.float32], list[tuple[int, int, int, int]], int, bool
]

class TextReader:
    def __init__(self, n_dims: int, wanted: list[bytes] | None) -> None: ...
    def read(self, block: bytes, /) -> _Block: ...
