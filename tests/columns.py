"""The records of a corpus format as columns."""

from typing import NamedTuple


class Columns(NamedTuple):
    """Columns of records. `splits` is None if the records have no splits."""

    texts: list
    labels: list
    splits: list | None


def columns_of(blocks):
    records = [record for block in blocks for record in block]
    texts, labels, splits, *_ = (list(column) for column in zip(*records, strict=True))
    return Columns(texts, labels, None if set(splits) == {None} else splits)
