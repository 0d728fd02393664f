"""Options that say how a corpus is read, the selection of records, and a summary of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordclass.corpus.documents import Record
from wordclass.errors import FormatError, InputError, list_some
from wordclass.options import check_one_of
from wordclass.storage.addresses import Address

_NO_LABEL = "no label, in a single-label task"
_NO_LABEL_HINT = (
    "use on_missing_label='skip' (--on-missing-label skip) to leave such records out, "
    "or 'empty' to make the task multilabel"
)


class ColumnGuessWarning(UserWarning):
    """The columns of a corpus were guessed. The message names them."""


@dataclass(frozen=True)
class ReadOptions:
    """Options that say how the records of a file are read.

    Parameters
    ----------
    text_field, label_field : str or list of str, optional
        Names of columns. By default `text`, and `labels`, else `label`. Several text columns are
        joined by line breaks. Several label columns hold 0 and 1 and are named after the classes.
    label_separator : str or None, default=";"
        Separator of several labels in one cell of a CSV, TSV or XLSX file. With None or "none", a
        cell is one label.
    delimiter : str, optional
        Delimiter of the cells of a CSV or TSV file, such as ";" or "tab". By default a tab in TSV
        files. In CSV files, the one of `,` `;` tab and `|` that splits the first lines into the
        most cells.
    header : bool, default=True
        Whether the first line of a CSV, TSV or XLSX file names the columns. If False, the columns
        are named 1, 2, 3, ...
    quote : str or None, default='"'
        Quote character of a CSV or TSV file. With None or "none", no cell is quoted. In a TSV file
        a quote is part of the text unless the cell starts and ends with it.
    encoding : str, default="utf-8"
        Encoding of text files. A byte order mark of UTF-8 is dropped.
    format : str, optional
        Name of the format. By default the ending of the file decides.
    texts_only : bool, default=False
        Whether labels are ignored. They may then be missing, and no record has labels.
    keep_rows : bool, default=False
        Whether records hold all their columns.
    are_remembered : bool, default=False
        Whether the fields are those that a model was trained with. A format without fields ignores
        them.
    has_split : bool, optional
        Whether all records have a field `split`. By default the first record decides.
    on_bad_record : {"stop", "skip"}, default="stop"
        Whether a record that cannot be read raises an error, or the error takes its place in the
        block.
    """

    text_field: str | Sequence[str] | None = None
    label_field: str | Sequence[str] | None = None
    label_separator: str | None = ";"
    delimiter: str | None = None
    header: bool = True
    encoding: str = "utf-8"
    format: str | None = None
    texts_only: bool = False
    keep_rows: bool = False
    are_remembered: bool = False
    has_split: bool | None = None
    on_bad_record: str = "stop"
    quote: str | None = '"'

    def __post_init__(self) -> None:
        check_one_of("on_bad_record", self.on_bad_record, ("stop", "skip"))
        for option in ("text_field", "label_field", "label_separator", "delimiter", "quote"):
            value = getattr(self, option)
            is_list = option.endswith("field") and isinstance(value, list | tuple)
            values = value if is_list else [value]
            if not all(isinstance(item, str | None) for item in values):
                raise InputError(f"{option} is {value!r:.60}", expected="a str")


@dataclass
class ReadSummary:
    """Facts about the records of a corpus or shard. Summaries add up in the order of the shards.

    Parameters
    ----------
    n_docs, n_skipped : int
        Number of texts that were read, and of records that could not be read and were left out.
    splits : set of str
        Names of the splits.
    label_counts : set of int
        The numbers of labels that records have, in all splits.
    first_unlabelled, first_skipped : FormatError, optional
        The first record of the split without a label, and the first record that was left out.
        Each is an error that names its line.
    """

    n_docs: int = 0
    n_skipped: int = 0
    splits: set[str | None] = field(default_factory=set)
    label_counts: set[int] = field(default_factory=set)
    first_unlabelled: FormatError | None = None
    first_skipped: FormatError | None = None

    def __add__(self, other: "ReadSummary") -> "ReadSummary":
        return ReadSummary(
            n_docs=self.n_docs + other.n_docs,
            n_skipped=self.n_skipped + other.n_skipped,
            splits=self.splits | other.splits,
            label_counts=self.label_counts | other.label_counts,
            first_unlabelled=self.first_unlabelled or other.first_unlabelled,
            first_skipped=self.first_skipped or other.first_skipped,
        )


@dataclass(frozen=True)
class Selection:
    """The records of a corpus to read, and the rules for their labels.

    Parameters
    ----------
    split : str, optional
        Read the records of this split. By default all records are read.
    default_split : str, optional
        The split to read if the records have splits and `split` is None.
    multilabel : bool, optional
        See `read_corpus`.
    on_missing_label : str, default="error"
        See `read_corpus`.
    """

    split: str | None = None
    default_split: str | None = None
    multilabel: bool | None = None
    on_missing_label: str = "error"

    def __post_init__(self) -> None:
        check_one_of("on_missing_label", self.on_missing_label, ("error", "skip", "empty"))
        if self.multilabel is False and self.on_missing_label == "empty":
            raise InputError(
                "on_missing_label is 'empty' in a single-label task",
                expected="'error' or 'skip'",
                hint="use multilabel=True (--multilabel) for documents without a label",
            )

    def select(
        self,
        path: Path | Address | str,
        blocks: Iterable[list[Any]],
        summary: ReadSummary,
        *,
        texts_only: bool,
    ) -> Iterator[list[Record]]:
        """Yield the records of the split, block by block, and update the summary of all records."""
        for block_with_errors in blocks:
            block = self._without_errors(block_with_errors, summary)
            if not block:
                continue
            summary.splits.update(record.split for record in block)
            summary.label_counts.update(len(record.labels) for record in block)
            chosen = self._in_split(block)
            if 0 in summary.label_counts and summary.first_unlabelled is None:
                summary.first_unlabelled = _find_unlabelled(path, chosen)
            if not texts_only:
                chosen = self._check_labels(chosen, summary.n_docs)
            if chosen:
                summary.n_docs += len(chosen)
                yield chosen

    @staticmethod
    def _without_errors(block: list[Any], summary: ReadSummary) -> list[Record]:
        """Return the records of a block, and count the errors in the summary."""
        errors = [record for record in block if isinstance(record, FormatError)]
        if not errors:
            return block
        summary.first_skipped = summary.first_skipped or errors[0]
        summary.n_skipped += len(errors)
        return [record for record in block if not isinstance(record, FormatError)]

    def _in_split(self, block: list[Record]) -> list[Record]:
        has_splits = block[0].split is not None
        split = self.split or (self.default_split if has_splits else None)
        if split is None:
            return block
        if not has_splits:
            raise InputError(
                f"there is no split {split!r}: the records have no field 'split'",
                hint="leave --split (split=) out to read all records",
            )
        return [record for record in block if record.split == split]

    def _check_labels(self, block: list[Record], n_before: int) -> list[Record]:
        """Return the records to keep. Refuse several labels in a single-label task."""
        if self.on_missing_label == "skip":
            block = [record for record in block if record.labels]
        for number, record in enumerate(block, start=n_before + 1):
            if self.multilabel is False and len(record.labels) > 1:
                raise InputError(
                    f"record {number} has {len(record.labels)} labels",
                    expected="exactly one per document in a single-label corpus",
                    hint="use multilabel=True (--multilabel)",
                )
        return block

    def check_not_empty(self, summary: ReadSummary, name: object) -> None:
        """Refuse a corpus without a readable record in the split."""
        if summary.first_skipped is not None and not summary.label_counts:
            raise summary.first_skipped
        if summary.n_docs:
            return
        if summary.first_unlabelled:
            raise InputError(f"{name}: no record has a label")
        split = self.split or self.default_split
        splits = list_some(sorted(map(str, summary.splits)))
        raise InputError(f"no record is in split {split!r}", expected=f"one of {splits}")

    def conclude(self, summary: ReadSummary) -> bool:
        """Return whether the task is multilabel, which depends on all records."""
        is_multilabel = bool(self.multilabel)
        if self.multilabel is None:
            has_empty = 0 in summary.label_counts and self.on_missing_label == "empty"
            is_multilabel = max(summary.label_counts) > 1 or has_empty
        if summary.first_unlabelled and not is_multilabel and self.on_missing_label == "error":
            raise summary.first_unlabelled
        return is_multilabel


def _find_unlabelled(path: Path | Address | str, records: list[Record]) -> FormatError | None:
    """Return an error that names the first record without a label, or None."""
    for record in records:
        if not record.labels:
            return FormatError(path, record.place, _NO_LABEL, hint=_NO_LABEL_HINT)
    return None
