"""Engines process the shards of a corpus: one file per engine.

An engine knows nothing about what is computed. Each entry defines `make(**options)`, which returns
a context manager with

- `n_workers`, the number of shards that are processed at the same time;
- `map_and_add(work, items, add, report)`, which returns the sum over all items. `work` is a
  picklable function from consecutive items, as pairs of number and item, to their sum; `add` adds
  the sums of neighbors, the earlier one first; `report(n)` is called when n more items are done.

Sums are added in a tree that depends only on the numbers of the items (`tasks.py`), so neither the
engine nor the number of workers nor their speed changes a bit. A task that runs twice because a
worker died is counted once: its result has a fixed position in the tree.
"""

SHARED_MODULES = ("engine", "tasks")  # these are not entries
