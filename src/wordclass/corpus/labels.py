"""The codeframe: the classes of a task, and the conversion of labels to the matrix Y and back."""

import difflib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from wordclass.arrays import Flags, Sparse, to_sparse
from wordclass.corpus.documents import Label
from wordclass.errors import InputError, list_some
from wordclass.options import check_lengths, list_texts

Kind = Literal["single", "multilabel", "matrix"]


@dataclass(frozen=True)
class Codeframe:
    """The sorted classes of a task and the form of its labels.

    Parameters
    ----------
    classes : tuple
        Sorted strings (by code point) or sorted integers, never both.
    kind : {"single", "multilabel", "matrix"}
        "single": one label per document. "multilabel": a list of labels, which may be empty.
        "matrix": a 0/1 matrix, which is then also the form of predictions.
    matrix_columns : tuple of int, optional
        For each column of the matrix given to `fit` the index of its class in `classes`, as these
        columns may be in another order.
    """

    classes: tuple[Label, ...]
    kind: Kind
    matrix_columns: tuple[int, ...] | None = None

    @property
    def is_multilabel(self) -> bool:
        """Whether a document may have any number of labels."""
        return self.kind != "single"

    @cached_property
    def index(self) -> dict[Label, int]:
        """Column of Y by class."""
        return {label: j for j, label in enumerate(self.classes)}

    @cached_property
    def _class_array(self) -> NDArray[Any]:
        return np.asarray(self.classes)

    def column(self, label: Label) -> int:
        """Return the column of a class. The error for an unknown class names similar ones."""
        if label not in self.index:
            raise InputError(describe_unknown_name("class", label, self.classes))
        return self.index[label]

    def __or__(self, other: "Codeframe") -> "Codeframe":
        """Return the codeframe with the classes of both, multilabel if one of them is."""
        classes = _sorted_classes({*self.classes, *other.classes})
        if classes == self.classes and other.kind in (self.kind, "single"):
            return self
        kind: Kind = self.kind if self.kind == other.kind else "multilabel"
        in_order = tuple(range(len(classes))) if kind == "matrix" else None
        return Codeframe(classes, kind, in_order)

    def without(self, dropped: Flags) -> "Codeframe":
        """Return the codeframe without some of its classes (one flag per class)."""
        flags = zip(self.classes, dropped, strict=True)
        classes = tuple(label for label, is_dropped in flags if not is_dropped)
        in_order = tuple(range(len(classes))) if self.kind == "matrix" else None
        return Codeframe(classes, self.kind, in_order)

    def to_labels(self, decisions: Flags) -> Any:  # noqa: ANN401 - three forms, see Returns
        """Convert decisions (n, m), one flag per document and class, to labels.

        Returns
        -------
        array, list of tuple, or matrix
            The form of the training labels: an array of labels, a list of tuples in the order of
            `classes`, or a 0/1 matrix of int8 with the columns of the matrix given to `fit`.
        """
        if self.kind == "matrix":
            columns = self.matrix_columns or range(len(self.classes))
            return decisions[:, list(columns)].astype(np.int8)
        if self.kind == "single":
            return self._class_array[decisions.argmax(axis=1)]
        names = self.classes
        return [tuple(names[j] for j in np.flatnonzero(row)) for row in decisions]


@dataclass(frozen=True)
class EncodedLabels:
    """The labels of documents as a codeframe and a 0/1 matrix Y with its classes as columns."""

    codeframe: Codeframe
    Y: Sparse  # (n, m)

    def align_to(self, codeframe: Codeframe) -> Sparse:
        """Return Y with the columns of a larger codeframe."""
        columns = [codeframe.column(label) for label in self.codeframe.classes]
        return move_columns(self.Y, columns, len(codeframe.classes))


def move_columns(matrix: Sparse, columns: Sequence[int], n_columns: int) -> Sparse:
    """Move the columns of a sparse matrix to new positions. The other columns are empty."""
    new_columns = np.asarray(columns, dtype=matrix.indices.dtype)
    arrays = (matrix.data, new_columns[matrix.indices], matrix.indptr)
    result = sparse.csr_matrix(arrays, shape=(matrix.shape[0], n_columns))
    result.sort_indices()
    return result


def encode_labels(labels: object, class_names: Iterable[Label] | None = None) -> EncodedLabels:
    """Encode labels of any form.

    Parameters
    ----------
    labels : iterable, matrix or EncodedLabels
        One str or int per document, or a list, set or tuple of them per document, which may be
        empty. Or a 0/1 matrix: a 2-D array, a sparse matrix or a data frame. Encoded labels are
        returned unchanged.
    class_names : iterable, optional
        Names of the columns of a matrix. By default those of the data frame, else 0, 1, 2, ... For
        other forms of labels all classes of the codeframe, and any other label is an error.

    Returns
    -------
    EncodedLabels
        The codeframe and the matrix Y.

    Raises
    ------
    InputError
        A label is None, NaN or a float, str and int are mixed, a matrix has values other than 0
        and 1, or names are missing or repeated.
    """
    if isinstance(labels, EncodedLabels):
        return labels
    names = (
        None if class_names is None else [_check_label(name, "class name") for name in class_names]
    )
    if names is not None and len(set(names)) < len(names):
        raise InputError("class_names has a repeated name", expected="one name per class")
    if len(getattr(labels, "shape", ())) == 2:  # a polars data frame has no ndim
        return _encode_matrix(labels, names)
    label_list: list[Any] = _to_list(labels)
    if names is None and set(map(type, label_list)) <= {str}:
        return _encode_strings(label_list)
    is_single = _is_single_label(label_list)
    sets = [
        {
            _check_label(label, f"label of document {k}")
            for label in ([value] if is_single else value)
        }
        for k, value in enumerate(label_list)
    ]
    classes = _sorted_classes(set(names) if names is not None else set().union(*sets))
    codeframe = Codeframe(classes, "single" if is_single else "multilabel")
    lengths = np.fromiter(map(len, sets), np.int64, len(sets))
    columns = [j for labels in sets for j in sorted(map(codeframe.column, labels))]
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    Y = sparse.csr_matrix(
        (np.ones(len(columns)), np.asarray(columns, dtype=np.int32), indptr),
        shape=(len(sets), len(classes)),
    )
    return EncodedLabels(codeframe, Y)


def read_labelled_texts(
    texts: Iterable[str], labels: object, class_names: Iterable[Label] | None
) -> tuple[list[str], EncodedLabels]:
    """Return texts as a list and their encoded labels, and check that their numbers are equal."""
    text_list = list_texts(texts)
    encoded = encode_labels(labels, class_names)
    check_lengths(text_list, encoded.Y.shape[0])
    return text_list, encoded


def check_class_count(codeframe: Codeframe) -> None:
    """Refuse a task with fewer than two classes."""
    if len(codeframe.classes) < 2:
        present = f"only one class, {codeframe.classes[0]!r}" if codeframe.classes else "no class"
        raise InputError(f"the labels have {present}", expected="at least two classes")


def describe_unknown_name(kind: str, name: object, known: Iterable[object]) -> str:
    """Return the message for an unknown name with the closest names, or the first few."""
    all_names = [*map(str, known)]
    close = difflib.get_close_matches(str(name), all_names, n=3)
    if close:
        return f"unknown {kind} {name!r}; close: {', '.join(close)}"
    more = ", ..." if len(all_names) > 8 else ""
    return f"unknown {kind} {name!r}; known: {', '.join(all_names[:8])}{more}"


def _encode_strings(labels: list[str]) -> EncodedLabels:
    """Encode one str per document, the most frequent form, without checking every label."""
    classes = tuple(sorted(set(labels)))
    codeframe = Codeframe(classes, "single")
    columns = np.fromiter(map(codeframe.index.__getitem__, labels), np.int32, len(labels))
    arrays = (np.ones(len(labels)), columns, np.arange(len(labels) + 1))
    return EncodedLabels(codeframe, sparse.csr_matrix(arrays, shape=(len(labels), len(classes))))


def _encode_matrix(labels: Any, names: list[Label] | None) -> EncodedLabels:  # noqa: ANN401
    if names is None and hasattr(labels, "columns"):
        names = [_check_label(name, "column name") for name in labels.columns]
    Y = to_sparse(labels if sparse.issparse(labels) else _to_numbers(labels)).copy()
    Y.sum_duplicates()
    Y.eliminate_zeros()
    if not np.all(Y.data == 1):
        wrong = Y.data[Y.data != 1][0]
        raise InputError(f"the label matrix holds {wrong:g}", expected="only 0 and 1")
    names = list(range(Y.shape[1])) if names is None else names
    if len(names) != Y.shape[1]:
        raise InputError(
            f"{len(names)} class_names for a label matrix of {Y.shape[1]} columns",
            expected="one name per column",
        )
    classes = _sorted_classes(set(names))
    if len(classes) < len(names):
        raise InputError(
            "the label matrix has two columns of the same name", hint="rename one of them"
        )
    index = {label: j for j, label in enumerate(classes)}
    columns = tuple(index[name] for name in names)
    codeframe = Codeframe(classes, "matrix", columns)
    return EncodedLabels(codeframe, move_columns(Y, columns, len(classes)))


def _to_numbers(labels: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(labels).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the label matrix holds no numbers ({error})", expected="0 and 1"
        ) from None


def _to_list(labels: object) -> list[Any]:
    # list() would return the keys of a dict, and a set has no order
    is_unsuitable = isinstance(labels, str | bytes | Mapping | Set)
    if is_unsuitable or not isinstance(labels, Iterable):
        raise InputError(
            f"labels is a {type(labels).__name__}", expected="one label or list per text"
        )
    return labels.to_pylist() if hasattr(labels, "to_pylist") else list(labels)


def _is_single_label(label_list: list[Any]) -> bool:
    """Return whether all items are labels or all are collections. A mixture is an error."""
    is_single = [
        isinstance(item, str | bytes) or not isinstance(item, Iterable) for item in label_list
    ]
    if any(is_single) and not all(is_single):
        k = is_single.index(not is_single[0])
        raise InputError(
            f"labels mix single labels and lists of labels: document 0 has {label_list[0]!r}, "
            f"document {k} has {label_list[k]!r}",
            hint="use a list of labels for every document",
        )
    return all(is_single)


def _check_label(label: object, description: str) -> Label:
    """Return a label as a plain str or int, and refuse anything else."""
    if isinstance(label, str):
        return str(label)
    if isinstance(label, bool | np.bool_):
        return bool(label)
    if isinstance(label, int | np.integer):
        return int(label)
    if label is None or (isinstance(label, float | np.floating) and np.isnan(label)):
        value = "None" if label is None else "NaN"
        raise InputError(f"{description} is {value}", expected="a str or int")
    problem = f"{description} is {label!r}, a {type(label).__name__}"
    raise InputError(problem, expected="a str or int")


def _sorted_classes(classes: set[Label]) -> tuple[Label, ...]:
    if len({type(label) for label in classes}) > 1:
        examples = {type(label).__name__: label for label in classes}
        kinds = " and ".join(sorted(examples, reverse=True))
        raise InputError(
            f"classes mix {kinds}: {list_some(examples.values())}", hint="use one of the two types"
        )
    return tuple(sorted(classes))
