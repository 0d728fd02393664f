"""The records that a corpus format reads, column by column."""

from typing import NamedTuple


class Columns(NamedTuple):
    """`splits` is None where the records have none."""

    texts: list
    labels: list
    splits: list | None


def columns_of(blocks):
    records = [record for block in blocks for record in block]
    texts, labels, splits, *_ = (list(column) for column in zip(*records, strict=True))
    return Columns(texts, labels, None if set(splits) == {None} else splits)
