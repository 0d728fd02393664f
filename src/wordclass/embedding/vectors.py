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
from wordclass.options import check_int, check_memory, check_number, check_table

Correlate = Callable[[WordClassCounts], Floats]

SMALLEST_DEVIATION = 1e-5  # the paper's runs divided by no less
MAX_DENSE_CELLS = 1 << 28  # terms times classes, above which S is not held before projection
_BLOCK_CELLS = 1 << 22
_CACHED_CELLS = 1 << 17
_BYTES_PER_CELL_AT_ONCE = 36  # of a cell of A and S, if all are computed at once


@dataclass(frozen=True)
class Recipe:
    """The steps from counts to S, with the sums they need."""

    correlate: Correlate
    needs: frozenset[str]
    shrinkage: float
    is_by_class: bool  # whether a column of A depends on no other class

    @classmethod
    def of(cls, correlation: str | Correlate, shrinkage: float) -> "Recipe":
        """Look up a correlation by name; a function of the user's may say what it `NEEDS`."""
        strength = check_number("shrinkage", shrinkage)
        if callable(correlation):
            needs = frozenset(getattr(correlation, "NEEDS", JOINTS))
            return cls(correlation, needs, strength, is_by_class=False)
        entry = catalogue.entry("correlations", correlation)
        return cls(entry.correlate, entry.NEEDS, strength, is_by_class=True)

    def count(self, X: Sparse, Y: Sparse) -> WordClassCounts:
        """Make the sums of these documents that the correlation needs."""
        return WordClassCounts.of(X, Y, self.needs)

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
        """Make S (v, m): the one place that chooses between whole, by rows and in factors.

        Parameters
        ----------
        counts : WordClassCounts
            Sums over documents.
        use : "array", "blocks", "rows" or "products"
            "array": all of it is needed at once. "blocks": some rows at a time are enough, so it
            is not held if it is very large. "rows": a few rows are needed. "products": only
            products with documents are needed, which the dot product makes from factors of S.
        dtype : type, default=np.float64
            Of a whole array.
        """
        if use == "products":
            return FactoredVectors.of(counts, self.shrinkage)
        is_large = counts.n_terms * counts.n_classes > MAX_DENSE_CELLS
        if use == "rows" or (use == "blocks" and is_large and self.is_by_class):
            return RowVectors(self, counts)
        return self.embed(counts, dtype)

    def embed(self, counts: WordClassCounts, dtype: type[Any] = np.float64) -> NDArray[Any]:
        """Return S (v, m): correlations of shrunken counts, standardized over the known terms.

        Made some columns at a time, as what correlations need on the way is several times as much.
        A function of the user's may look at all classes together, so it gets them.
        """
        n_terms, n_classes = counts.n_terms, counts.n_classes
        is_at_once = self._n_blocks(counts) < 2 or not self.is_by_class
        if n_terms * n_classes > _BLOCK_CELLS:
            # of those in float64 there is a copy in float32, and one more if they are projected
            n_bytes = 4 if dtype == np.float32 else 20
            if is_at_once:
                n_bytes += _BYTES_PER_CELL_AT_ONCE
            what = f"the vectors of {n_terms:,} terms by {n_classes:,} classes"
            check_table(what, counts.term_docs, n_classes * n_bytes)
        if is_at_once:
            return self._embed(counts).astype(dtype, copy=False)
        S = np.empty((n_terms, n_classes), dtype)
        for columns, block in self.embed_columns(counts):
            S[:, columns] = block
        return S

    def _n_blocks(self, counts: WordClassCounts) -> int:
        # two columns at least: numpy adds up one alone in another order
        n_cells = counts.n_terms * counts.n_classes
        return min(-(-n_cells // _BLOCK_CELLS), counts.n_classes // 2)

    def embed_columns(self, counts: WordClassCounts) -> Iterator[tuple[Ints, Floats]]:
        """Return the numbers of some columns and these columns of S, until all were returned."""
        classes = np.arange(counts.n_classes)
        for columns in np.array_split(classes, max(self._n_blocks(counts), 1)):
            yield columns, self._embed(counts.without_classes(~np.isin(classes, columns)))

    def _embed(self, counts: WordClassCounts) -> Floats:
        return standardize(self.correlated(counts, Totals.of(counts)), counts.known)

    def correlated(self, counts: WordClassCounts, totals: "Totals") -> Floats:
        """Return A (v, m) of shrunken counts, maybe of some terms only; totals are those of all."""
        A = np.asarray(self.correlate(shrink(counts, self.shrinkage, totals)), dtype=np.float64)
        if A.shape != (counts.n_terms, counts.n_classes):
            raise InputError(
                f"the correlation returned an array of shape {A.shape}; expected "
                f"{(counts.n_terms, counts.n_classes)}: a row per term, a column per class"
            )
        if not np.isfinite(A).all():
            raise InputError("the correlation returned NaN or infinite values")
        return A


class Totals(NamedTuple):
    """What shrinkage must know of all terms, where it sees some of them only."""

    mean_weight: float  # the mean non-zero weight of X; 0 if there is none
    weight_share: Floats  # (m,) of all weight that each class has; zeros where nobody needs it

    @classmethod
    def of(cls, counts: WordClassCounts) -> "Totals":
        """Make the totals of sums."""
        total_weight = float(counts.term_weight.sum())
        share = np.zeros(len(counts.class_docs))
        if "joint_weight" in counts.joints:
            of_class: Floats = np.asarray(counts.joints["joint_weight"].sum(axis=0)).ravel()
            share = of_class / max(total_weight, 1e-300)
        return cls(total_weight / max(float(counts.term_docs.sum()), 1.0), share)


def shrink(
    counts: WordClassCounts, strength: float, totals: Totals | None = None
) -> WordClassCounts:
    """Give every term `strength` pseudo-occurrences that know nothing of the term.

    Each has the mean non-zero weight w of X and is spread over the classes as everything is: the
    weights as the classes share all weight, p, the documents as the classes share all documents.
    For the dot product this is A = (X'Y + m w p) / (colsum + m w), with m the strength; the other
    correlations see the same documents added. A term with many occurrences hardly moves, a term
    with few tells little, whatever the chance of its few occurrences was.

    Where these are the sums of some terms only, `totals` are those of all.

    Returns
    -------
    counts : WordClassCounts
        With dense joint sums; unchanged where the strength is 0.
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
    """Return the z-scores of each column of A (v, m), deviations with v - 1 (eq. 3 to 5).

    Terms that are not `known` (they occur in none of the documents at hand) get zeros and stay out
    of mean and deviation. A constant column becomes zeros.
    """
    S = np.zeros_like(A)
    values = A[known]
    if len(values):
        mean = values.mean(axis=0)
        values -= mean
        S[known] = values * _inverse_deviation((values**2).sum(axis=0), mean, len(values))
    return S


def _inverse_deviation(squares: Floats, mean: Floats, n_terms: int) -> Floats:
    """Return 1 over the deviation of columns (m,), or 0 for a column to be set to zero.

    Parameters
    ----------
    squares : array of shape (m,)
        Sums of squared differences from the mean.
    mean : array of shape (m,)
        A column whose deviation is tiny beside its mean is constant: its values differ by rounding
        only, which must not be blown up.
    n_terms : int
        How many values a column has; one alone has no deviation.
    """
    if n_terms < 2:
        return np.zeros_like(squares)
    deviation = np.sqrt(squares / (n_terms - 1))
    is_constant = deviation <= 1e-13 * np.abs(mean)
    return np.where(is_constant, 0.0, 1 / np.maximum(deviation, SMALLEST_DEVIATION))


class RowVectors:
    """S (v, m) of a correlation of ours, some rows at a time, where all of it would not fit.

    Parameters
    ----------
    recipe : Recipe
        Of a correlation whose rows depend on no other term.
    counts : WordClassCounts
        All sums; those of size v x m stay sparse.
    """

    def __init__(self, recipe: Recipe, counts: WordClassCounts) -> None:
        self._recipe = recipe
        self._counts = counts
        self._totals = Totals.of(counts)
        self.shape = counts.n_terms, counts.n_classes
        step = max(1, _BLOCK_CELLS // max(counts.n_classes, 1))
        self._slices = [slice(k, k + step) for k in range(0, counts.n_terms, step)]
        n_known = int(counts.known.sum())
        self._mean = sum(A.sum(axis=0) for A in self._known_rows()) / max(n_known, 1)
        squares = sum(((A - self._mean) ** 2).sum(axis=0) for A in self._known_rows())
        self._scale = _inverse_deviation(np.asarray(squares), np.asarray(self._mean), n_known)

    def _known_rows(self) -> Iterator[Floats]:
        for rows in self._slices:
            part = self._counts.of_terms(rows)
            yield self._recipe.correlated(part, self._totals)[part.known]

    def rows(self, chosen: slice) -> Floats:
        """Return some rows of S."""
        part = self._counts.of_terms(chosen)
        S = (self._recipe.correlated(part, self._totals) - self._mean) * self._scale
        S[~part.known] = 0.0
        return np.asarray(S)

    def blocks(self) -> Iterator[Floats]:
        """Return all rows of S, some at a time; can be asked for more than once."""
        return (self.rows(chosen) for chosen in self._slices)

    def column_blocks(self) -> Iterator[Floats]:
        """Return all columns of S, some at a time; can be asked for more than once."""
        return (S for _, S in self._recipe.embed_columns(self._counts))


@dataclass(frozen=True, eq=False)
class FactoredVectors:
    """S of the dot product in parts, which multiply documents without S ever being made.

    With r = 1 over a term's weight, J the weight of terms in classes and q what shrinkage adds,
    A is r (J + q), so X·A is (X r)·J + (X·r) q; mean and deviation of A's columns are sums over
    the cells of J. Where J is sparse (many classes, many terms) that is far less than S.
    """

    joint: Matrix  # (v, m)
    known: Floats  # (v,) 1 or 0
    inverse: Floats  # (v,) 1 over a term's weight; 0 where it is not known
    added: Floats  # (m,) what shrinkage adds to J
    mean: Floats  # (m,)
    scale: Floats  # (m,) 1 over the deviation; 0 for a constant column

    @classmethod
    def of(cls, counts: WordClassCounts, shrinkage: float) -> "FactoredVectors":
        """Make the S that `Recipe.of("dot", shrinkage)` makes of these counts."""
        joint = counts.joints["joint_weight"]
        known = counts.term_docs > 0
        n_known = int(known.sum())
        totals = Totals.of(counts)
        pseudo_weight = shrinkage * totals.mean_weight
        added = pseudo_weight * totals.weight_share
        inverse = np.zeros(len(known))
        np.divide(1.0, counts.term_weight + pseudo_weight, out=inverse, where=known)
        squared = joint**2 if not sparse.issparse(joint) else _with_values(joint, joint.data**2)
        mean = (inverse @ joint + added * inverse.sum()) / max(n_known, 1)
        square_sum = inverse**2 @ squared + 2 * added * (inverse**2 @ joint)
        square_sum += added**2 * (inverse**2).sum()
        # A is at most 1, so what this difference loses is far below the smallest deviation
        squares = np.maximum(square_sum - n_known * mean**2, 0.0)
        scale = _inverse_deviation(squares, mean, n_known)
        return cls(joint, known.astype(np.float64), inverse, added, mean, scale)

    def times(self, X: Sparse, by_joint: Callable[[Sparse], Floats] | None = None) -> Floats32:
        """Return X·S (n, m); `by_joint` is a quicker way to multiply by J, where there is one."""
        weighted = X.copy()
        weighted.data = X.data * self.inverse[X.indices]
        raw = by_joint(weighted) if by_joint else dense_product(weighted, self.joint)
        raw += np.outer(X @ self.inverse, self.added)
        raw -= np.outer(X @ self.known, self.mean)
        return np.asarray(raw * self.scale, dtype=np.float32)

    def add_to(self, weights: Floats32, factors: Floats32) -> None:
        """Add S, its columns times factors (m,), to weights (v, m), some rows at a time."""
        n_terms, n_classes = self.joint.shape
        step = max(_CACHED_CELLS // max(n_classes, 1), 1)
        for start in range(0, n_terms, step):
            rows = slice(start, start + step)
            joint = self.joint[rows]
            A = joint.toarray() if sparse.issparse(joint) else joint.copy()
            A += self.added
            A *= self.inverse[rows, None]
            A -= self.known[rows, None] * self.mean
            A *= self.scale * factors
            weights[rows] += A


def _with_values(joint: Sparse, values: Floats) -> Sparse:
    return sparse.csr_matrix((values, joint.indices, joint.indptr), shape=joint.shape)


def dense_product(X: Sparse, joint: Matrix) -> Floats:
    """Return X·J (n, m), where J (v, m) may be sparse."""
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
    """A projector that is used only where there are more columns than allowed.

    Parameters
    ----------
    projector : str or object
        A file name in `projectors/`, or an object with `fit_transform` and `transform`, which is
        copied, not changed.
    max_dims : int or None
        How many columns there may be; None: any number.
    seed : int
        Of a random projector.
    """

    projector: Any
    max_dims: int | None
    seed: int
    _fitted: Any = field(init=False, default=None, repr=False)

    def fit(self, S: Floats, known: Flags) -> Floats:
        """Learn the projection of S (v, columns); return S itself, or its projection (v, r)."""
        if isinstance(self.projector, str):
            make = catalogue.entry("projectors", self.projector).make
        elif not all(hasattr(self.projector, name) for name in ("fit_transform", "transform")):
            raise InputError(
                f"projector is {self.projector!r}; expected one of "
                f"{', '.join(catalogue.names('projectors'))}, or an object with fit_transform and "
                "transform"
            )
        if not self.applies_to(S.shape[1]):
            return S
        is_named = isinstance(self.projector, str)
        self._fitted = make(self.max_dims, self.seed) if is_named else copy.deepcopy(self.projector)
        return np.where(known[:, None], np.asarray(self._fitted.fit_transform(S)), 0.0)

    @property
    def reads_blocks(self) -> bool:
        """Whether the projector can be fitted to some rows at a time."""
        if not isinstance(self.projector, str) or self.max_dims is None:
            return False
        projector = catalogue.entry("projectors", self.projector).make(self.max_dims, self.seed)
        return hasattr(projector, "fit_blocks")

    def fit_rows(self, S: RowVectors) -> Floats32:
        """Learn the projection of an S that is never whole, and return it."""
        projector = catalogue.entry("projectors", self.projector).make(self.max_dims, self.seed)
        if hasattr(projector, "fit_columns") and projector.needs_columns(*S.shape):
            self._fitted = projector.fit_columns(S.column_blocks)
        else:
            self._fitted = projector.fit_blocks(S.blocks)
        projected = [projector.transform(rows).astype(np.float32) for rows in S.blocks()]
        return np.concatenate(projected)

    def check_memory(self, n_rows: int, n_columns: int) -> None:
        """Refuse a projection of rows (v, m) that would not fit into memory, before any work."""
        if not isinstance(self.projector, str) or not self.applies_to(n_columns):
            return
        projector = catalogue.entry("projectors", self.projector).make(self.max_dims, self.seed)
        if not hasattr(projector, "n_bytes"):
            return
        remedy = "use a lower max_dims, a higher min_docs, or fewer classes"
        if self.projector != "random":
            remedy = "use projector='random', a higher min_docs, or fewer classes"
        what = f"projector={self.projector!r} for {n_rows:,} terms by {n_columns:,} classes"
        check_memory(f"the products of {what}", projector.n_bytes(n_rows, n_columns), remedy)

    def applies_to(self, n_columns: int) -> bool:
        """Whether so many columns are to be projected."""
        if self.max_dims is None:
            return False
        check_int("max_dims", self.max_dims, 1)
        return n_columns > self.max_dims

    def of(self, S: Floats, known: Flags) -> Floats:
        """Project another S with what was learned; terms that are not known keep zeros."""
        if self._fitted is None:
            return S
        return np.where(known[:, None], np.asarray(self._fitted.transform(S)), 0.0)
