"""A tree of classes: one small linear model per node, for tasks of very many classes.

First trees grow, from a user-defined hierarchy or from clusters of classes; then the models of
their nodes are learned. `decision.tree_scorer` predicts with them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from wordclass import progress
from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse, row_numbers, select_top_k
from wordclass.corpus.documents import Label
from wordclass.decision.thresholds import Calibration
from wordclass.decision.tree_scorer import ClassTree, TreeModel
from wordclass.errors import InputError
from wordclass.linear.one_vs_rest import ROUGH_TOLERANCE, OneVsRest
from wordclass.linear.problem import Costs, Features, Problem
from wordclass.options import check_table

Hierarchy = Mapping[Any, Any]  # from the name of a class or group to that of the group it is in

_MAX_CHILDREN = 256  # per node: wide trees lose fewer documents on the way than deep ones
_MAX_SPLIT_STEPS = 12  # of 2-means, per division of classes
_N_NAME_TERMS = 3
_TOLERANCE = 1e-2
_MIN_RELATIVE_WEIGHT = 0.02  # smaller weights, relative to a child's largest, are pruned
_BEAM_WIDTH = 10  # nodes that are followed at each depth
_N_CANDIDATES = 50  # classes per document, the highest-scoring ones, that thresholds are fitted on
_MAX_HELD_OUT_DOCS = 4_000  # enough to fit the calibration and the thresholds
_MIN_CALIBRATION_DOCS = 30  # a node with fewer documents takes the median calibration
_MIN_THRESHOLD_POSITIVES = 3  # a class with fewer takes the shared threshold
_THRESHOLD_PRIOR = 10.0  # positives that the shared threshold counts for
_IDENTITY_CALIBRATION = np.array([1.0, 0.0])  # slope and offset


# --- the tree -----------------------------------------------------------------------------------


class _Group(NamedTuple):
    """A node while a tree grows: its name, and columns of classes or other groups."""

    name: str
    children: list[Any]


def tree_of_hierarchy(hierarchy: Hierarchy, classes: Sequence[Label]) -> ClassTree:
    """Return the tree of a user-defined hierarchy.

    Groups without a class below them are dropped, and a group with a single child is merged with
    it. A class that has other classes below it becomes one of its own children, too: it stands for
    the documents that belong to none of the others.

    Parameters
    ----------
    hierarchy : mapping
        From child to parent. Classes and groups without a parent are at the top.
    classes : sequence
        The classes. Each is a child or a parent in the hierarchy, maybe as a str (as in JSON).

    Raises
    ------
    InputError
        If a class is not in the hierarchy, a child has two parents, or there is a cycle.
    """
    parents = _check_parents(hierarchy)
    known = parents.keys() | parents.values()
    class_nodes = [name if name in known else str(name) for name in classes]
    for name, node in zip(classes, class_nodes, strict=True):
        if node not in known:
            raise InputError(
                f"the class {name!r} is not in the hierarchy; expected each class as a child or a "
                "parent"
            )
    inner: dict[Any, None] = {}  # nodes with classes below them; a dict keeps the order
    for name in class_nodes:
        above = parents.get(name)
        while above is not None and above not in inner:
            inner[above] = None
            above = parents.get(above)
    groups = {name: _Group(str(name), []) for name in (None, *inner)}
    for j, name in enumerate(class_nodes):
        groups[name if name in inner else parents.get(name)].children.append(j)
    for name in inner:
        groups[parents.get(name)].children.append(groups[name])
    return _tree_of_group(groups[None])


def tree_of_vectors(V: Sparse, terms: Sequence[str], seed: int) -> ClassTree:
    """Return a tree of clusters of classes: balanced, of few levels.

    Parameters
    ----------
    V : sparse matrix of shape (m, v)
        A vector of length 1 for each class.
    terms : sequence of str
        The columns of V. A cluster is named after the terms that weigh most in it.
    seed : int
        Seed of the clustering.
    """
    random = np.random.default_rng(seed % 2**64)
    n_classes = V.shape[0]
    depth = 2
    while n_classes > _MAX_CHILDREN**depth:
        depth += 1
    n_children = int(np.ceil(n_classes ** (1 / depth)))

    def group(members: Ints, height: int) -> _Group:
        sums = np.asarray(V[members].sum(axis=0)).ravel()
        best = np.argsort(-sums, kind="stable")[:_N_NAME_TERMS]
        name = " ".join(terms[t] for t in best if sums[t] > 0)
        if height == 1 or len(members) <= n_children:
            return _Group(name, members.tolist())
        parts = _divide(V, members, n_children, random)
        return _Group(name, [group(part, height - 1) for part in parts])

    return _tree_of_group(group(np.arange(n_classes), depth))


def _tree_of_group(top: _Group) -> ClassTree:
    nodes: list[list[int]] = []
    names = [""]
    queue = [_skip_single_children(top)]
    for group in queue:  # grows during the loop
        nodes.append([])
        for child_or_chain in group.children:
            child = _skip_single_children(child_or_chain)
            nodes[-1].append(-len(queue) if isinstance(child, _Group) else child)
            if isinstance(child, _Group):
                queue.append(child)
                names.append(child.name)
    ends = np.cumsum([0, *map(len, nodes)], dtype=np.int64)
    targets = np.array([target for children in nodes for target in children], np.int64)
    return ClassTree(ends, targets, names)


def _skip_single_children(child: Any) -> Any:  # noqa: ANN401 - a class or a group
    """Return the first class or group with several children on the way down, with joined names."""
    names = []
    while isinstance(child, _Group):
        names.append(child.name)
        if len(child.children) > 1:
            return _Group(" / ".join(names), child.children)
        (child,) = child.children
    return child


def _check_parents(hierarchy: Hierarchy) -> dict[Any, Any]:
    """Return the parent of each child, and raise InputError for two parents or a cycle."""
    parents: dict[Any, Any] = {}
    for child, parent in hierarchy.items():
        if isinstance(parent, list | tuple | set | frozenset):
            if len(parent) > 1:
                two = " and ".join(repr(name) for name in sorted(parent, key=str)[:2])
                raise InputError(f"{child!r} has two parents in the hierarchy, {two}; expected one")
            parent = next(iter(parent), None)
        if parent is not None:
            parents[child] = parent
    acyclic: set[Any] = set()
    for child in parents:
        path: dict[Any, None] = {}
        name = child
        while name in parents and name not in acyclic:
            if name in path:
                cycle = [*path][[*path].index(name) :]
                steps = " -> ".join(repr(node) for node in [*cycle[:8], name])
                raise InputError(f"the hierarchy has a cycle: {steps}")
            path[name] = None
            name = parents[name]
        acyclic.update(path)
    return parents


def rows_of_length_one(matrix: Any) -> Sparse:  # noqa: ANN401 - any sparse matrix
    """Scale the rows of a sparse matrix to length 1, except rows of zeros."""
    rows = sparse.csr_matrix(matrix, dtype=np.float32, copy=True)
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows.data /= np.repeat(np.maximum(lengths, 1e-30), np.diff(rows.indptr)).astype(np.float32)
    return rows


def _divide(V: Sparse, members: Ints, n_groups: int, random: np.random.Generator) -> list[Ints]:
    """Divide classes into groups of equal size, each of similar ones, by halves."""
    if n_groups == 1:
        return [members]
    n_first = n_groups // 2
    first, second = _bisect(V[members], round(len(members) * n_first / n_groups), random)
    return [
        *_divide(V, members[first], n_first, random),
        *_divide(V, members[second], n_groups - n_first, random),
    ]


def _bisect(V: Sparse, n_first: int, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Divide rows of length 1 into two parts of given sizes: spherical 2-means, balanced."""
    start = V[int(random.integers(V.shape[0]))].toarray().ravel()
    similarity = V @ start
    direction = start - V[int(similarity.argmin())].toarray().ravel()
    inside = np.zeros(V.shape[0], np.bool_)
    for _ in range(_MAX_SPLIT_STEPS):
        order = np.argsort(-(V @ direction), kind="stable")
        new_inside = np.zeros_like(inside)
        new_inside[order[:n_first]] = True
        if (new_inside == inside).all():
            break
        inside = new_inside
        centers = [V.T @ side.astype(V.dtype) for side in (inside, ~inside)]
        direction = np.subtract(
            *[center / max(np.linalg.norm(center), 1e-12) for center in centers]
        )
    return np.flatnonzero(inside), np.flatnonzero(~inside)


# --- learning -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TreeProblem:
    """One learning problem per node: its children as classes, on the documents that reach it.

    Parameters
    ----------
    tree : ClassTree
    X, Y : sparse matrices of shape (n, v) and (n, m)
        Documents and labels.
    is_single_label : bool
    C : float
    class_weights : array of shape (m,) or None
        Factors for the costs of errors on the documents of a class; None: balanced.
    sample_weight : array of shape (n,) or None
    n_threads : int
    """

    tree: ClassTree
    X: Sparse
    Y: Sparse
    is_single_label: bool
    C: float
    class_weights: Floats | None
    sample_weight: Floats | None
    n_threads: int

    @cached_property
    def members(self) -> Sparse:
        """Which places (n, places) each document reaches."""
        return self.tree.places_of(self.Y)

    def documents_of(self, node: int, rows: Ints) -> Ints:
        """Return the rows, in ascending order, that have a label below a node (root: all)."""
        if node == 0:
            return rows
        starts, documents = self._by_place
        place = self.tree.node_places[node]
        reaching = documents[starts[place] : starts[place + 1]]
        return reaching[np.isin(reaching, rows, assume_unique=True)]

    @cached_property
    def _by_place(self) -> tuple[Ints, Ints]:
        """Where the documents of each place begin, and documents, place after place."""
        members = self.members.tocsc()
        return members.indptr.astype(np.int64), members.indices.astype(np.int64)

    def solve(self, rows: Ints, tolerance: float, step: str) -> TreeModel:
        """Learn the models of all nodes from some rows, without calibrating their scores."""
        nodes = progress.track(range(self.tree.n_nodes), step)
        weights, intercepts = zip(
            *(self._solve_node(node, rows, tolerance) for node in nodes), strict=True
        )
        return TreeModel(
            self.tree,
            sparse.vstack(weights, format="csr"),
            np.concatenate(intercepts),
            np.tile(_IDENTITY_CALIBRATION, (self.tree.n_nodes, 1)),
            self.is_single_label,
        )

    def _solve_node(self, node: int, rows: Ints, tolerance: float) -> tuple[Sparse, Floats32]:
        documents = self.documents_of(node, rows)
        first, last = self.tree.starts[node : node + 2].tolist()
        X = self.X[documents]
        n_children = last - first
        terms, columns = np.unique(X.indices, return_inverse=True)
        n_docs = np.bincount(columns, minlength=len(terms))
        what = f"the weights of {len(terms):,} terms by {n_children:,} children of a node"
        check_table(what, n_docs, 12 * n_children)
        narrow = sparse.csr_matrix(
            (X.data, columns.astype(np.int32), X.indptr), shape=(X.shape[0], len(terms))
        )
        Y = self.members[documents][:, first:last]
        problem = Problem(Features.of(narrow), Y, self._costs(Y, documents, first))
        solution = OneVsRest(problem, self.n_threads).solve(self.C, tolerance=tolerance)
        W = solution.weights
        largest = np.abs(W).max(axis=0, initial=0.0)
        is_large = np.abs(W) >= np.maximum(_MIN_RELATIVE_WEIGHT * largest, 1e-30)
        children, rows_of_W = np.nonzero(is_large.T)
        ends = np.concatenate([[0], np.cumsum(is_large.sum(axis=0))])
        pruned = sparse.csr_matrix(
            (W[rows_of_W, children], terms[rows_of_W].astype(np.int32), ends),
            shape=(n_children, self.X.shape[1]),
        )
        return pruned, solution.intercept

    def _costs(self, Y: Sparse, documents: Ints, first: int) -> Costs:
        weights = None if self.sample_weight is None else self.sample_weight[documents]
        if self.class_weights is None:
            return Costs.balanced(Y, weights, is_multilabel=not self.is_single_label)
        targets = self.tree.targets[first : first + Y.shape[1]]
        positive = np.where(targets < 0, 1.0, self.class_weights[targets])
        return replace(Costs.equal(*Y.shape, weights), positive=positive)


def learn(problem: TreeProblem, folds: Ints) -> tuple[TreeModel, Floats | None]:
    """Learn the models of all nodes, and the thresholds (m,) of a multilabel task.

    The calibration of the nodes' scores and the thresholds are learned from held-out documents,
    a fifth at a time, scored by trees that were learned from the other documents.

    Parameters
    ----------
    problem : TreeProblem
        The documents and the tree.
    folds : array of shape (n,)
        The fold of each document, from 0 to 9.

    Returns
    -------
    TreeModel
        The calibrated models.
    array of shape (m,) or None
        The thresholds; None for a single-label task.
    """
    n_docs = len(folds)
    n_rotations = int(np.clip(np.ceil(_MAX_HELD_OUT_DOCS / max(n_docs, 1)), 1, 5))
    trials: list[tuple[Ints, TreeModel]] = []
    for fifth in range(n_rotations):
        is_held_out = folds // 2 == fifth
        model = problem.solve(np.flatnonzero(~is_held_out), ROUGH_TOLERANCE, "validating")
        trials.append((np.flatnonzero(is_held_out), model))
    stretch = _stretch(problem, trials)
    thresholds = None
    if not problem.is_single_label:
        rows = np.concatenate([rows for rows, _ in trials])
        ranked = [
            candidates(replace(model, stretch=stretch), problem.X[rows], _N_CANDIDATES)
            for rows, model in trials
        ]
        columns = np.concatenate([classes for classes, _ in ranked])
        scores = np.concatenate([log_probabilities for _, log_probabilities in ranked])
        thresholds = sparse_thresholds(columns, scores, problem.Y[rows])
    model = problem.solve(np.arange(n_docs), _TOLERANCE, "learning")
    return replace(model, stretch=stretch), thresholds


def candidates(model: TreeModel, X: Sparse, k: int) -> tuple[Ints, Floats]:
    """Return the best classes (n, k) of documents, and their log probabilities, by beam search.

    Only the best nodes of each depth are followed. If fewer than k classes are reached, the last
    columns are -1.
    """
    n_docs = X.shape[0]
    columns = np.full((n_docs, k), -1)
    scores = np.full((n_docs, k), -np.inf)
    nodes = np.zeros((n_docs, 1), np.int64)
    above = np.zeros((n_docs, 1))
    while (nodes >= 0).any():
        classes, below = _step(model, X, nodes, above, k)
        columns, scores = select_top_k(
            np.hstack([columns, classes[0]]), np.hstack([scores, classes[1]]), k
        )
        nodes, above = select_top_k(*below, _BEAM_WIDTH)
    return columns, scores


def _step(
    model: TreeModel, X: Sparse, nodes: Ints, above: Floats, k: int
) -> tuple[tuple[Ints, Floats], tuple[Ints, Floats]]:
    """Return the best classes and the best inner nodes among the children of nodes (n, b).

    Both come with their log probabilities. A node of -1 is padding.
    """
    tree = model.tree
    n_docs, n_nodes = nodes.shape
    best_children = [
        (np.full((n_docs, n_nodes, size), -1), np.full((n_docs, n_nodes, size), -np.inf))
        for size in (k, _BEAM_WIDTH)
    ]
    order = np.argsort(nodes, axis=None, kind="stable")
    groups = np.searchsorted(nodes.ravel()[order], np.arange(tree.n_nodes + 1))
    for node in np.flatnonzero(np.diff(groups)).tolist():
        documents, slots = np.divmod(order[groups[node] : groups[node + 1]], n_nodes)
        log_probabilities = model.log_shares(model.node_scores(X, documents, node), node)
        log_probabilities += above[documents, slots, None]
        targets = tree.targets[tree.starts[node] : tree.starts[node + 1]]
        for is_class, (children, scores) in zip((True, False), best_children, strict=True):
            chosen = np.flatnonzero((targets >= 0) == is_class)
            numbers = np.broadcast_to(np.abs(targets[chosen]), (len(documents), len(chosen)))
            top, values = select_top_k(numbers, log_probabilities[:, chosen], children.shape[2])
            children[documents, slots, : top.shape[1]] = top
            scores[documents, slots, : top.shape[1]] = values
    classes, below = (
        (children.reshape(n_docs, -1), scores.reshape(n_docs, -1))
        for children, scores in best_children
    )
    return classes, below


def _stretch(problem: TreeProblem, trials: list[tuple[Ints, TreeModel]]) -> Floats:
    """Return slope and offset (nodes, 2) that turn the scores of a node into probabilities.

    A node that few documents reach takes the median of the other nodes.
    """
    tree = problem.tree
    is_single_label = problem.is_single_label
    stretch = np.full((tree.n_nodes, 2), np.nan)
    for node in range(tree.n_nodes):
        places = slice(*tree.starts[node : node + 2])
        tested = [
            (problem.documents_of(node, rows)[:_MAX_HELD_OUT_DOCS], model) for rows, model in trials
        ]
        scores = np.concatenate(
            [model.node_scores(problem.X, rows, node) for rows, model in tested]
        )
        rows = np.concatenate([rows for rows, _ in tested])
        Y = problem.members[rows][:, places]
        if len(rows) < _MIN_CALIBRATION_DOCS or not Y.nnz:
            continue
        if not is_single_label:  # the same for all children
            scores = scores.reshape(-1, 1)
            Y = sparse.csr_matrix(Y.toarray().reshape(-1, 1))
        calibration = Calibration.fit(scores, Y, is_single_label=is_single_label)
        stretch[node] = calibration.parameters[0]
    is_known = ~np.isnan(stretch[:, 0])
    common = np.median(stretch[is_known], axis=0) if is_known.any() else _IDENTITY_CALIBRATION
    return np.where(is_known[:, None], stretch, common)


def sparse_thresholds(columns: Ints, scores: Floats32, Y: Sparse) -> Floats:
    """Return the thresholds (m,) with the best F1, if only some classes of a document have scores.

    They are shrunk towards a shared threshold as in `thresholds.best_thresholds`. A class without
    a score is never predicted.

    Parameters
    ----------
    columns, scores : arrays of shape (n, k)
        Classes of each document, padded with -1, and their scores.
    Y : sparse matrix of shape (n, m)
        Labels.
    """
    n_docs, n_classes = Y.shape
    known = columns >= 0
    classes = columns[known]
    values = scores[known].astype(np.float64)
    documents = np.repeat(np.arange(n_docs), known.sum(axis=1))
    truth = np.isin(documents * n_classes + classes, row_numbers(Y) * n_classes + Y.indices)
    n_positive = np.bincount(Y.indices, minlength=n_classes)
    shared = _best_cuts(np.zeros_like(classes), values, truth, np.array([Y.nnz]))[0]
    cuts = _best_cuts(classes, values, truth, n_positive)
    is_reliable = (n_positive >= _MIN_THRESHOLD_POSITIVES) & np.isfinite(cuts)
    share = np.where(is_reliable, n_positive / (n_positive + _THRESHOLD_PRIOR), 0.0)
    differences = np.subtract(cuts, shared, where=is_reliable, out=np.zeros_like(cuts))
    thresholds: Floats = shared + share * differences
    return thresholds


def _best_cuts(groups: Ints, scores: Floats, truth: Flags, n_positive: Ints) -> Floats:
    """Return the cut of each group's scores with the best F1, infinite if no cut has any hits."""
    order = np.lexsort((-scores, groups))
    groups = groups[order]
    scores = scores[order]
    truth = truth[order]
    starts = np.searchsorted(groups, np.arange(len(n_positive)))
    hits = np.cumsum(truth)
    n_hits = hits - np.append(0, hits)[starts][groups]
    n_predicted = np.arange(1, len(groups) + 1) - starts[groups]
    is_last = np.diff(groups, append=-1) != 0
    below = np.where(is_last, scores - 1.0, np.append(scores[1:], 0.0))
    # equal scores are on the same side of a cut
    f1 = np.where(scores > below, 2 * n_hits / (n_predicted + n_positive[groups]), 0.0)
    best = np.lexsort((-f1, groups))  # stable: of equal F1, the highest score is first
    first = best[np.diff(groups, prepend=-1) != 0]
    first = first[f1[first] > 0]
    cuts = np.full(len(n_positive), np.inf)
    cuts[groups[first]] = (scores[first] + below[first]) / 2
    return cuts
