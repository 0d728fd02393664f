"""From sums over documents to word-class vectors: shrink, correlate, standardize, project."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass import catalogue
from wordclass.arrays import Flags, Floats, Floats32, Ints, Matrix, Sparse
from wordclass.embedding.counts import JOINTS, WordClassCounts, index_arrays
from wordclass.errors import InputError
from wordclass.native import extension
from wordclass.options import check_memory, check_table

Correlate = Callable[[WordClassCounts], Floats]

MIN_DEVIATION = 1e-5  # smaller deviations are replaced by it, as in the paper's experiments
MAX_DENSE_CELLS = 1 << 28  # terms x classes up to which S is held in memory before projection
_BLOCK_CELLS = 1 << 22  # terms x classes that are computed at a time
_CACHED_CELLS = 1 << 17  # terms x classes that fit into the processor's cache
_BYTES_PER_CELL_OF_ALL = 36  # needed per cell of A and S if all are computed at the same time
_BYTES_PER_CELL_OF_FLOATS = 20  # of S in float64, with its copies in float32 and projected
_CONSTANT_TOLERANCE = 1e-13  # deviation relative to the mean below which a column is constant


def accepts_correlation(value: object) -> bool:
    """Return True for functions and names of correlations. Unknown names raise an InputError."""
    if isinstance(value, str):
        catalogue.entry("correlations", value)
    return isinstance(value, str) or callable(value)


def accepts_projector(value: object) -> bool:
    """Return True for projectors and their names. Unknown names raise an InputError."""
    if isinstance(value, str):
        catalogue.entry("projectors", value)
        return True
    return hasattr(value, "fit_transform") and hasattr(value, "transform")


@dataclass(frozen=True)
class Recipe:
    """The steps from counts to S, with the sums that they need.

    Parameters
    ----------
    correlate : callable
        Function from counts to A (v, m).
    needs : frozenset of str
        Names of the sums of shape (v, m) that it reads.
    shrinkage : float
        Pseudo-count of every term.
    is_by_class : bool
        Whether a column of A depends on no other class.
    """

    correlate: Correlate
    needs: frozenset[str]
    shrinkage: float
    is_by_class: bool

    @classmethod
    def of(cls, correlation: str | Correlate, shrinkage: float) -> "Recipe":
        """Create a recipe from options.

        Parameters
        ----------
        correlation : str or callable
            Name in the catalogue of correlations, or a user-defined function from counts to A
            (v, m). An attribute `NEEDS` of the function names the sums that it reads.
        shrinkage : float
            Pseudo-count of every term.
        """
        if callable(correlation):
            needs = frozenset(getattr(correlation, "NEEDS", JOINTS))
            return cls(correlation, needs, float(shrinkage), is_by_class=False)
        entry = catalogue.entry("correlations", correlation)
        return cls(entry.correlate, entry.NEEDS, float(shrinkage), is_by_class=True)

    def count(self, X: Sparse, Y: Sparse) -> WordClassCounts:
        """Compute the sums over documents that the correlation needs."""
        return WordClassCounts.of(X, Y, self.needs)

    @overload
    def vectors(
        self, counts: WordClassCounts, use: Literal["array"], dtype: type[Any] = ...
    ) -> NDArray[Any]: ...

    @overload
    def vectors(
        self, counts: WordClassCounts, use: Literal["array", "blocks"], dtype: type[Any] = ...
    ) -> "NDArray[Any] | RowVectors": ...

    @overload
    def vectors(self, counts: WordClassCounts, use: Literal["rows"]) -> "RowVectors": ...

    @overload
    def vectors(self, counts: WordClassCounts, use: Literal["products"]) -> "FactoredVectors": ...

    def vectors(
        self, counts: WordClassCounts, use: str, dtype: type[Any] = np.float64
    ) -> "NDArray[Any] | RowVectors | FactoredVectors":
        """Return S (v, m) in the form that is needed.

        This is the only function that decides how S is computed.

        Parameters
        ----------
        counts : WordClassCounts
            Sums over documents.
        use : {"array", "blocks", "rows", "products"}
            "array": the complete array is needed. "blocks": some rows at a time are enough, so a
            very large S is not held in memory. "rows": a few rows are needed. "products": only
            products with documents are needed, which the dot product computes from factors of S.
        dtype : type, default=np.float64
            Type of a complete array.
        """
        if use == "products":
            return FactoredVectors.of(counts, self.shrinkage)
        is_large = counts.n_terms * counts.n_classes > MAX_DENSE_CELLS
        if use == "rows" or (use == "blocks" and is_large and self.is_by_class):
            return RowVectors(self, counts)
        return self.embed(counts, dtype)

    def embed(self, counts: WordClassCounts, dtype: type[Any] = np.float64) -> NDArray[Any]:
        """Return all of S (v, m): shrunken correlations, standardized over the known terms.

        It is computed in blocks of columns, because intermediate results take several times the
        memory of S. A user-defined correlation may compare classes, so it gets all of them.
        """
        n_terms = counts.n_terms
        n_classes = counts.n_classes
        is_in_blocks = self._count_blocks(counts) > 1 and self.is_by_class
        if n_terms * n_classes > _BLOCK_CELLS:
            bytes_per_cell = 4 if dtype == np.float32 else _BYTES_PER_CELL_OF_FLOATS
            if not is_in_blocks:
                bytes_per_cell += _BYTES_PER_CELL_OF_ALL
            content = f"the vectors of {n_terms:,} terms by {n_classes:,} classes"
            check_table(content, counts.term_docs, n_classes * bytes_per_cell)
        if not is_in_blocks:
            return self._standardized(counts).astype(dtype, copy=False)
        S = np.empty((n_terms, n_classes), dtype)
        for columns, block in self.column_blocks(counts):
            S[:, columns] = block
        return S

    def _count_blocks(self, counts: WordClassCounts) -> int:
        # at least two columns per block, because numpy adds up a single one in another order
        n_cells = counts.n_terms * counts.n_classes
        return min(-(-n_cells // _BLOCK_CELLS), counts.n_classes // 2)

    def column_blocks(self, counts: WordClassCounts) -> Iterator[tuple[Ints, Floats]]:
        """Yield blocks of columns of S: the numbers of the columns, and the columns."""
        classes = np.arange(counts.n_classes)
        for columns in np.array_split(classes, max(self._count_blocks(counts), 1)):
            block_counts = counts.without_classes(~np.isin(classes, columns))
            yield columns, self._standardized(block_counts)

    def _standardized(self, counts: WordClassCounts) -> Floats:
        return standardize(self.correlations(counts, Totals.of(counts)), counts.known)

    def correlations(self, counts: WordClassCounts, totals: "Totals") -> Floats:
        """Return A (v, m) of shrunken counts.

        Parameters
        ----------
        counts : WordClassCounts
            Sums of all terms or of some terms.
        totals : Totals
            Totals over all terms.

        Raises
        ------
        InputError
            The correlation returned an array of another shape, NaN or infinity.
        """
        A = np.asarray(self.correlate(shrink(counts, self.shrinkage, totals)), dtype=np.float64)
        shape = (counts.n_terms, counts.n_classes)
        if A.shape != shape:
            raise InputError(
                f"the correlation returned an array of shape {A.shape}",
                expected=f"{shape}: one row per term, one column per class",
            )
        if not np.isfinite(A).all():
            raise InputError(
                "the correlation returned NaN or infinite values", expected="finite numbers"
            )
        return A


class Totals(NamedTuple):
    """Totals over all terms, which shrinkage needs even for a part of the terms."""

    mean_weight: float  # mean of the weights in X other than zero; 0 if there are none
    weight_share: Floats  # (m,) share of each class in all weight; zeros if it is not counted

    @classmethod
    def of(cls, counts: WordClassCounts) -> "Totals":
        """Compute the totals of sums over documents."""
        total_weight = float(counts.term_weight.sum())
        weight_share = np.zeros(len(counts.class_docs))
        if "joint_weight" in counts.joints:
            class_weight: Floats = np.asarray(counts.joints["joint_weight"].sum(axis=0)).ravel()
            weight_share = class_weight / max(total_weight, 1e-300)
        return cls(total_weight / max(float(counts.term_docs.sum()), 1.0), weight_share)


def shrink(
    counts: WordClassCounts, strength: float, totals: Totals | None = None
) -> WordClassCounts:
    """Add pseudo-occurrences without information to every term.

    Each of them has the mean weight w of X (without zeros) and is distributed over the classes like
    all documents together: its weight by the share p of each class in all weight, its document by
    the share of each class in all documents. For the dot product, A becomes
    (X'Y + s w p) / (colsum + s w), where s is the strength. Other correlations see the same
    additional documents. A term with many occurrences hardly changes. A term with few occurrences
    moves toward the average.

    Parameters
    ----------
    counts : WordClassCounts
        Sums of all terms or of some terms.
    strength : float
        Number of pseudo-occurrences per term.
    totals : Totals, optional
        Totals over all terms. By default, `counts` has all terms.

    Returns
    -------
    WordClassCounts
        Sums with dense joint sums; the unchanged counts if the strength is 0.
    """
    if strength == 0 or not counts.term_docs.any():
        return counts
    mean_weight, weight_share = totals or Totals.of(counts)
    class_share = counts.class_docs / counts.n_docs  # (m,)
    joints: dict[str, Matrix] = {}
    if "joint_weight" in counts.joints:
        joints["joint_weight"] = counts.joint_weight
        joints["joint_weight"] += strength * mean_weight * weight_share
    if "joint_docs" in counts.joints:
        joints["joint_docs"] = counts.joint_docs
        joints["joint_docs"] += strength * class_share
    return replace(
        counts,
        n_docs=counts.n_docs + strength,
        class_docs=counts.class_docs + strength * class_share,
        term_docs=np.where(counts.known, counts.term_docs + strength, 0.0),
        term_weight=counts.term_weight + strength * mean_weight,
        term_squares=counts.term_squares + strength * mean_weight**2,
        joints=joints,
    )


def standardize(A: Floats, known: Flags) -> Floats:
    """Return the z-scores of each column, with v - 1 in the deviation (eq. 3 to 5).

    A constant column becomes zeros.

    Parameters
    ----------
    A : array of shape (v, m)
        Correlations.
    known : bool array of shape (v,)
        Mask of the terms that occur in the documents. Other terms get zeros and do not count for
        mean and deviation.
    """
    S = np.zeros_like(A)
    values = A[known]
    if len(values):
        mean = values.mean(axis=0)
        values -= mean
        S[known] = values * _invert_deviation((values**2).sum(axis=0), mean, len(values))
    return S


def _invert_deviation(squares: Floats, mean: Floats, n_terms: int) -> Floats:
    """Return 1 over the standard deviation of columns, or 0 for a column to set to zero.

    Parameters
    ----------
    squares : array of shape (m,)
        Sum of squared differences from the mean of each column.
    mean : array of shape (m,)
        Mean of each column. If the deviation of a column is tiny compared with its mean, its values
        differ only by rounding, which must not be amplified.
    n_terms : int
        Number of values in a column. A single value has no deviation.
    """
    if n_terms < 2:
        return np.zeros_like(squares)
    deviation = np.sqrt(squares / (n_terms - 1))
    is_constant = deviation <= _CONSTANT_TOLERANCE * np.abs(mean)
    return np.where(is_constant, 0.0, 1 / np.maximum(deviation, MIN_DEVIATION))


class RowVectors:
    """S (v, m) that is computed in blocks of rows, if it would not fit into memory.

    Parameters
    ----------
    recipe : Recipe
        Recipe with a built-in correlation, so that a row of A depends on no other term.
    counts : WordClassCounts
        Sums over documents. The sums of shape (v, m) stay sparse.
    """

    def __init__(self, recipe: Recipe, counts: WordClassCounts) -> None:
        self._recipe = recipe
        self._counts = counts
        self._totals = Totals.of(counts)
        self.shape = (counts.n_terms, counts.n_classes)
        n_rows = max(1, _BLOCK_CELLS // max(counts.n_classes, 1))
        self._slices = [slice(start, start + n_rows) for start in range(0, counts.n_terms, n_rows)]
        n_known = int(counts.known.sum())
        self._mean = sum(A.sum(axis=0) for A in self._known_blocks()) / max(n_known, 1)
        squares = sum(((A - self._mean) ** 2).sum(axis=0) for A in self._known_blocks())
        self._scale = _invert_deviation(np.asarray(squares), np.asarray(self._mean), n_known)

    def _known_blocks(self) -> Iterator[Floats]:
        """Yield the rows of A for known terms, block by block."""
        for rows in self._slices:
            counts = self._counts.of_terms(rows)
            yield self._recipe.correlations(counts, self._totals)[counts.known]

    def rows(self, selected: slice) -> Floats:
        """Return some rows of S."""
        counts = self._counts.of_terms(selected)
        S = (self._recipe.correlations(counts, self._totals) - self._mean) * self._scale
        S[~counts.known] = 0.0
        return np.asarray(S)

    def blocks(self) -> Iterator[Floats]:
        """Yield all rows of S, block by block. Each call computes them again."""
        return (self.rows(selected) for selected in self._slices)

    def column_blocks(self) -> Iterator[Floats]:
        """Yield all columns of S, block by block. Each call computes them again."""
        return (S for _, S in self._recipe.column_blocks(self._counts))


@dataclass(frozen=True, eq=False)
class FactoredVectors:
    """S of the dot product in factors, so that products with documents do not need S itself.

    Let r be 1 over the weight of each term, J the weight of terms in classes, and q the additional
    weight by shrinkage. Then A is r (J + q), so X A is (X r) J + (X·r) q. Mean and deviation of the
    columns of A are sums over the cells of J. If J is sparse, as with many classes and terms, this
    is much less work than S.

    Parameters
    ----------
    joint : matrix of shape (v, m)
        J, sparse or dense.
    known : array of shape (v,)
        1 for terms that occur, 0 for others.
    inverse : array of shape (v,)
        1 over the weight of each term; 0 if the term does not occur.
    added : array of shape (m,)
        q, the weight that shrinkage adds.
    mean : array of shape (m,)
        Mean of each column of A.
    scale : array of shape (m,)
        1 over the deviation of each column; 0 for a constant column.
    """

    joint: Matrix
    known: Floats
    inverse: Floats
    added: Floats
    mean: Floats
    scale: Floats

    @classmethod
    def of(cls, counts: WordClassCounts, shrinkage: float) -> "FactoredVectors":
        """Compute the factors of the S of `Recipe.of("dot", shrinkage)`."""
        joint = counts.joints["joint_weight"]
        known = counts.term_docs > 0
        n_known = int(known.sum())
        totals = Totals.of(counts)
        pseudo_weight = shrinkage * totals.mean_weight
        added = pseudo_weight * totals.weight_share
        inverse = np.zeros(len(known))
        np.divide(1.0, counts.term_weight + pseudo_weight, out=inverse, where=known)
        squared = _replace_values(joint, joint.data**2) if sparse.issparse(joint) else joint**2
        mean = (inverse @ joint + added * inverse.sum()) / max(n_known, 1)
        square_sum = inverse**2 @ squared + 2 * added * (inverse**2 @ joint)
        square_sum += added**2 * (inverse**2).sum()
        # A is at most 1, so the error of this difference is far below the minimum deviation
        squares = np.maximum(square_sum - n_known * mean**2, 0.0)
        scale = _invert_deviation(squares, mean, n_known)
        return cls(joint, known.astype(np.float64), inverse, added, mean, scale)

    def times(
        self, X: Sparse, multiply_joint: Callable[[Sparse], Floats] | None = None
    ) -> Floats32:
        """Return X S (n, m).

        Parameters
        ----------
        X : sparse matrix of shape (n, v)
            Weights of documents.
        multiply_joint : callable, optional
            Faster function for the product of a sparse matrix with J.
        """
        weighted = X.copy()
        weighted.data = X.data * self.inverse[X.indices]
        if multiply_joint is None:
            scores = multiply_dense(weighted, self.joint)
        else:
            scores = multiply_joint(weighted)
        scores += np.outer(X @ self.inverse, self.added)
        scores -= np.outer(X @ self.known, self.mean)
        return np.asarray(scores * self.scale, dtype=np.float32)

    def add_to(self, weights: Floats32, factors: Floats32) -> None:
        """Add S to an array in place, block by block.

        Parameters
        ----------
        weights : float32 array of shape (v, m)
            The array.
        factors : float32 array of shape (m,)
            Factors of the columns of S.
        """
        n_terms, n_classes = self.joint.shape
        n_rows = max(_CACHED_CELLS // max(n_classes, 1), 1)
        for start in range(0, n_terms, n_rows):
            rows = slice(start, start + n_rows)
            joint = self.joint[rows]
            A = joint.toarray() if sparse.issparse(joint) else joint.copy()
            A += self.added
            A *= self.inverse[rows, None]
            A -= self.known[rows, None] * self.mean
            A *= self.scale * factors
            weights[rows] += A


def _replace_values(joint: Sparse, values: Floats) -> Sparse:
    return sparse.csr_matrix((values, joint.indices, joint.indptr), shape=joint.shape)


def multiply_dense(X: Sparse, joint: Matrix) -> Floats:
    """Return the dense product of X (n, v) and J (v, m), which may be sparse."""
    if not sparse.issparse(joint):
        return np.asarray(X @ joint)
    if extension.solver is None:
        return np.asarray((X @ joint).toarray())
    product: Floats = extension.solver.multiply_sparse(
        X.data, *index_arrays(X), joint.data, *index_arrays(joint), joint.shape[1]
    )
    return product


@dataclass
class Projection:
    """Projection to fewer columns, which is used only if there are more than allowed.

    Parameters
    ----------
    projector : str or object
        Name in the catalogue of projectors, or an object with `fit_transform` and `transform`. The
        object is copied and not changed.
    max_dims : int or None
        Maximum number of columns. None means any number.
    seed : int
        Seed of a random projector.
    """

    projector: Any
    max_dims: int | None
    seed: int
    _fitted: Any = field(init=False, default=None, repr=False)

    def applies_to(self, n_columns: int) -> bool:
        """Return True if this number of columns exceeds the maximum."""
        return self.max_dims is not None and n_columns > self.max_dims

    def fit(self, S: Floats, known: Flags) -> Floats:
        """Learn the projection, and return the projection (v, r) of S, or S if it is not needed.

        Parameters
        ----------
        S : array of shape (v, columns)
            Vectors.
        known : bool array of shape (v,)
            Mask of the terms that occur. Other terms get zeros.
        """
        if not self.applies_to(S.shape[1]):
            return S
        self._fitted = self._make_projector()
        return np.where(known[:, None], np.asarray(self._fitted.fit_transform(S)), 0.0)

    def transform(self, S: Floats, known: Flags) -> Floats:
        """Project other vectors (v, columns) in the same way. Unknown terms keep zeros."""
        if self._fitted is None:
            return S
        return np.where(known[:, None], np.asarray(self._fitted.transform(S)), 0.0)

    @property
    def reads_blocks(self) -> bool:
        """Whether the projector can learn from blocks of rows."""
        return isinstance(self.projector, str) and hasattr(self._make_projector(), "fit_blocks")

    def fit_rows(self, S: RowVectors) -> Floats32:
        """Learn the projection of an S that is not in memory, and return the projection (v, r)."""
        projector = self._make_projector()
        if hasattr(projector, "fit_columns") and projector.needs_columns(*S.shape):
            self._fitted = projector.fit_columns(S.column_blocks)
        else:
            self._fitted = projector.fit_blocks(S.blocks)
        projected = [projector.transform(rows).astype(np.float32) for rows in S.blocks()]
        return np.concatenate(projected)

    def check_memory(self, n_rows: int, n_columns: int) -> None:
        """Raise an InputError before any work if the projection would not fit into memory.

        Parameters
        ----------
        n_rows, n_columns : int
            Numbers of terms and of classes.
        """
        if not isinstance(self.projector, str) or not self.applies_to(n_columns):
            return
        projector = self._make_projector()
        if not hasattr(projector, "n_bytes"):
            return
        hint = "use projector='random', a higher min_docs, or fewer classes"
        if self.projector == "random":
            hint = "use a lower max_dims, a higher min_docs, or fewer classes"
        content = f"projector={self.projector!r} for {n_rows:,} terms by {n_columns:,} classes"
        check_memory(f"the products of {content}", projector.n_bytes(n_rows, n_columns), hint)

    def _make_projector(self) -> Any:  # noqa: ANN401 - any object with the two methods
        if not isinstance(self.projector, str):
            return copy.deepcopy(self.projector)
        return catalogue.entry("projectors", self.projector).make(self.max_dims, self.seed)
