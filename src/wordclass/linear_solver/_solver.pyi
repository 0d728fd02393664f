"""The compiled solver: solver.cpp."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]

class Documents: ...
class Task: ...

def documents(
    values: Floats32, columns: Ints32, starts: Ints, block: Floats32, n_columns: int
) -> Documents: ...
def task(
    members: Ints32,
    class_starts: Ints,
    positive_cost: Floats,
    negative_cost: Floats,
    doc_cost: Floats,
    own: Floats32,
    rows: Ints32,
    C: Floats,
    tolerance: float,
    max_passes: int,
    n_threads: int,
) -> Task: ...
def solve(
    documents: Documents, task: Task
) -> tuple[Floats32, Floats32, Floats32, Floats32, Ints32]: ...
def solve_products(
    products: Floats32, task: Task
) -> tuple[Floats32, Floats32, Floats32, Ints32]: ...
def validate(documents: Documents, task: Task, test_rows: Ints32) -> Floats32: ...
def validate_products(products: Floats32, task: Task, test_rows: Ints32) -> Floats32: ...
def multiply(
    values: Floats,
    columns: Ints32,
    starts: Ints,
    weights: Floats32,
    intercept: Floats32,
    n_threads: int,
) -> Floats32: ...
