"""The compiled convolution: convolution.cpp."""

import numpy as np
from numpy.typing import NDArray

Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]

def strongest(
    table: Floats32,
    words: Ints32,
    tokens: Floats32,
    ends: Ints,
    windows: Ints,
    channels: int,
    bias: Floats32,
    left_padding: Ints,
    n_threads: int,
) -> tuple[Floats32, Ints32]: ...
def gradients(
    slopes: Floats32,
    where: Ints32,
    words: Ints32,
    ends: Ints,
    windows: Ints,
    channels: int,
    word_rows: Floats32,
    token_rows: Floats32,
    word_weights: Floats32,
    token_weights: Floats32,
    wants_words: bool,
    wants_tokens: bool,
    n_threads: int,
) -> tuple[Floats32, Floats32, Floats32, Floats32]: ...
