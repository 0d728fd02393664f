"""The codeframe: which classes there are, and how labels become the matrix Y and back."""

import difflib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from wordclass.arrays import Flags, Sparse, to_sparse
from wordclass.corpus.reader import Label
from wordclass.errors import InputError, list_some
from wordclass.options import check_lengths, list_texts

Kind = Literal["single", "multilabel", "matrix"]


@dataclass(frozen=True)
class Codeframe:
    """The classes of a task, sorted, and the form in which labels came.

    Parameters
    ----------
    classes
        Sorted: strings by code point, or integers; never both.
    kind
        "single": one label per document. "multilabel": a list of labels, may be empty. "matrix":
        a 0/1 matrix, which is how predictions are then returned.
    matrix_columns
        Only for a matrix: the class each of the user's columns stands for, as an index into
        `classes`, since the user's order need not be sorted.
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
        """The column of Y of each class."""
        return {label: j for j, label in enumerate(self.classes)}

    @cached_property
    def _class_array(self) -> NDArray[Any]:
        return np.asarray(self.classes)

    def column(self, label: Label) -> int:
        """Return the column of a class; an unknown one is an error that names close ones."""
        if label not in self.index:
            raise InputError(describe_unknown_name("class", label, self.classes))
        return self.index[label]

    def __or__(self, other: "Codeframe") -> "Codeframe":
        """Return the codeframe with the classes of both; multilabel where one of them is."""
        classes = _sorted_classes({*self.classes, *other.classes})
        if classes == self.classes and other.kind in (self.kind, "single"):
            return self
        both = {self.kind, other.kind}
        kind: Kind = self.kind if len(both) == 1 else "multilabel"
        in_order = tuple(range(len(classes))) if kind == "matrix" else None
        return Codeframe(classes, kind, in_order)

    def without(self, dropped: Flags) -> "Codeframe":
        """Return the codeframe without some of its classes (one flag per class)."""
        kept = [label for label, is_gone in zip(self.classes, dropped, strict=True) if not is_gone]
        in_order = tuple(range(len(kept))) if self.kind == "matrix" else None
        return Codeframe(tuple(kept), self.kind, in_order)

    def to_labels(self, decisions: Flags) -> Any:  # noqa: ANN401 - three forms, see Returns
        """Turn decisions (n, m), one flag per document and class, into labels.

        Returns
        -------
        The form in which the labels came: an array of labels; a list of tuples, each in the order
        of `classes`; or a 0/1 matrix of int8 with the columns of the matrix given to `fit`.
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
    """The labels of some documents: a codeframe and the 0/1 matrix Y over it."""

    codeframe: Codeframe
    Y: Sparse  # (n, m)

    def over(self, codeframe: Codeframe) -> Sparse:
        """Return Y with the columns of a larger codeframe."""
        columns = [codeframe.column(label) for label in self.codeframe.classes]
        return move_columns(self.Y, columns, len(codeframe.classes))


def move_columns(matrix: Sparse, columns: Sequence[int], n_columns: int) -> Sparse:
    """Move the columns of a sparse matrix to new places; the other columns are empty."""
    places = np.asarray(columns, dtype=matrix.indices.dtype)
    parts = (matrix.data, places[matrix.indices], matrix.indptr)
    moved = sparse.csr_matrix(parts, shape=(matrix.shape[0], n_columns))
    moved.sort_indices()
    return moved


def encode_labels(labels: object, class_names: Iterable[Label] | None = None) -> EncodedLabels:
    """Read labels in any of their forms.

    Parameters
    ----------
    labels
        One str or int per document; or a list, set or tuple of them per document, empty ones too;
        or a 0/1 matrix: a 2-D array, a sparse matrix, a data frame. Encoded labels are returned as
        they are.
    class_names
        The names of a matrix's columns: by default those of the data frame, else 0, 1, 2 ... For
        labels of the other forms, the whole codeframe: a label outside it is an error.

    Raises
    ------
    InputError
        A label is None, NaN or a float; str and int are mixed; a matrix has other values than 0
        and 1; names are too few, too many, repeated.
    """
    if isinstance(labels, EncodedLabels):
        return labels
    names = None if class_names is None else [_checked(name, "class name") for name in class_names]
    if names is not None and len(set(names)) < len(names):
        raise InputError("class_names has a name more than once")
    if len(getattr(labels, "shape", ())) == 2:  # a data frame of polars has no ndim
        return _encode_matrix(labels, names)
    listed: list[Any] = _listed(labels)
    if names is None and set(map(type, listed)) <= {str}:
        return _encode_strings(listed)
    is_single = _all_alike(listed)
    sets = [
        {_checked(label, f"label of document {k}") for label in ([given] if is_single else given)}
        for k, given in enumerate(listed)
    ]
    classes = _sorted_classes(set(names) if names is not None else set().union(*sets))
    codeframe = Codeframe(classes, "single" if is_single else "multilabel")
    lengths = np.fromiter(map(len, sets), np.int64, len(sets))
    columns = [j for given in sets for j in sorted(map(codeframe.column, given))]
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    Y = sparse.csr_matrix(
        (np.ones(len(columns)), np.asarray(columns, dtype=np.int32), indptr),
        shape=(len(sets), len(classes)),
    )
    return EncodedLabels(codeframe, Y)


def read_labelled_texts(
    texts: Iterable[str], labels: object, class_names: Iterable[Label] | None
) -> tuple[list[str], EncodedLabels]:
    """Read texts and their labels, which must be as many."""
    listed, encoded = list_texts(texts), encode_labels(labels, class_names)
    check_lengths(listed, encoded.Y.shape[0])
    return listed, encoded


def check_class_count(codeframe: Codeframe) -> None:
    """Refuse a task with fewer than two classes: nothing can be told apart in it."""
    if len(codeframe.classes) < 2:
        found = f"only one class, {codeframe.classes[0]!r}" if codeframe.classes else "no class"
        raise InputError(f"the labels have {found}; expected at least two classes")


def describe_unknown_name(kind: str, name: object, known: Iterable[object]) -> str:
    """Word the message for a name that is not there: the closest ones, or the first few."""
    all_names = [str(each) for each in known]
    close = difflib.get_close_matches(str(name), all_names, n=3)
    if close:
        return f"unknown {kind} {name!r}; close: {', '.join(close)}"
    more = ", ..." if len(all_names) > 8 else ""
    return f"unknown {kind} {name!r}; known: {', '.join(all_names[:8])}{more}"


def _encode_strings(labels: list[str]) -> EncodedLabels:
    """Encode one str per document, what most tasks have, without looking for every mistake."""
    classes = tuple(sorted(set(labels)))
    codeframe = Codeframe(classes, "single")
    columns = np.fromiter(map(codeframe.index.__getitem__, labels), np.int32, len(labels))
    parts = (np.ones(len(labels)), columns, np.arange(len(labels) + 1))
    return EncodedLabels(codeframe, sparse.csr_matrix(parts, shape=(len(labels), len(classes))))


def _encode_matrix(labels: Any, names: list[Label] | None) -> EncodedLabels:  # noqa: ANN401
    if names is None and hasattr(labels, "columns"):
        names = [_checked(name, "column name") for name in labels.columns]
    Y = to_sparse(labels if sparse.issparse(labels) else _numbers(labels)).copy()
    Y.sum_duplicates()
    Y.eliminate_zeros()
    if not np.all(Y.data == 1):
        wrong = Y.data[Y.data != 1][0]
        raise InputError(f"the label matrix holds {wrong:g}; expected only 0 and 1")
    names = list(range(Y.shape[1])) if names is None else names
    if len(names) != Y.shape[1]:
        raise InputError(f"{len(names)} class_names for a label matrix of {Y.shape[1]} columns")
    classes = _sorted_classes(set(names))
    if len(classes) < len(names):
        raise InputError("the label matrix has two columns of the same name")
    place = {label: j for j, label in enumerate(classes)}
    columns = tuple(place[name] for name in names)
    codeframe = Codeframe(classes, "matrix", columns)
    return EncodedLabels(codeframe, move_columns(Y, columns, len(classes)))


def _numbers(labels: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(labels).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the label matrix holds no numbers; expected 0 and 1 ({error})") from None


def _listed(labels: object) -> list[Any]:
    # a dict would give its keys, and a set has no order
    is_strange = isinstance(labels, str | bytes | Mapping | Set)
    if is_strange or not isinstance(labels, Iterable):
        raise InputError(
            f"labels is a {type(labels).__name__}; expected one label or list per text"
        )
    return labels.to_pylist() if hasattr(labels, "to_pylist") else list(labels)


def _all_alike(listed: list[Any]) -> bool:
    """Whether all are single labels; False if all are collections; a mixture is an error."""
    is_single = [
        isinstance(given, str | bytes) or not isinstance(given, Iterable) for given in listed
    ]
    if any(is_single) and not all(is_single):
        k = is_single.index(not is_single[0])
        raise InputError(
            f"labels mix single labels and lists of labels: document 0 has {listed[0]!r}, "
            f"document {k} has {listed[k]!r}"
        )
    return all(is_single)


def _checked(label: object, what: str) -> Label:
    """Return a label as a plain str or int; anything else is the user's mistake."""
    if isinstance(label, str):
        return str(label)
    if isinstance(label, bool | np.bool_):
        return bool(label)
    if isinstance(label, int | np.integer):
        return int(label)
    if label is None or (isinstance(label, float | np.floating) and np.isnan(label)):
        raise InputError(f"{what} is {'None' if label is None else 'NaN'}; expected a str or int")
    raise InputError(f"{what} is {label!r}, a {type(label).__name__}; expected a str or int")


def _sorted_classes(classes: set[Label]) -> tuple[Label, ...]:
    if len({type(label) for label in classes}) > 1:
        examples = {type(label).__name__: label for label in classes}
        kinds = " and ".join(sorted(examples, reverse=True))
        raise InputError(f"classes mix {kinds}: {list_some(examples.values())}; use one of the two")
    return tuple(sorted(classes))
