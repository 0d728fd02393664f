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

_MOST_CHILDREN = 256  # of a node: wide trees lose fewer documents on the way than deep ones
_MOST_STEPS = 12  # of one division of classes
_TERMS_OF_A_NAME = 3
_TOLERANCE = 1e-2
_PRUNED = 0.02  # of a child's largest weight: smaller ones are left out
_BEAM = 10  # nodes that are followed at each depth
_KEPT = 50  # of a text's classes, those with the highest scores
_MANY_HELD_OUT = 4_000  # documents: so many tell enough of probabilities and thresholds
_ENOUGH = 30  # documents of a node that tell how to stretch its scores
_FEW, _PULL = 3, 10.0  # positives a threshold of its own needs; what the common one counts for
_STRETCH = np.array([1.0, 0.0])


# --- the tree -----------------------------------------------------------------------------------


class _Group(NamedTuple):
    """A node while a tree grows: its name, and columns of classes or other groups."""

    name: str
    children: list[Any]


def tree_of_hierarchy(hierarchy: Hierarchy, classes: Sequence[Label]) -> ClassTree:
    """Return the tree of a user's hierarchy.

    What has no class below it is left out; what has one child is one with it. A class that has
    others below it stands among them, too: as that which is none of them.

    Parameters
    ----------
    hierarchy : mapping
        From child to parent; what has no parent is at the top.
    classes : sequence
        Each is a child or a parent in it, also as a str (as JSON has it).

    Raises
    ------
    InputError
        A class is not in it, or something has two parents, or is below itself.
    """
    parents = _checked_parents(hierarchy)
    known = parents.keys() | parents.values()
    own = [name if name in known else str(name) for name in classes]
    if missing := [name for name, found in zip(classes, own, strict=True) if found not in known]:
        told = f"the class {missing[0]!r} is not in the hierarchy"
        raise InputError(f"{told}; expected each class as a child or a parent")
    inner: dict[Any, None] = {}  # what has classes below it; a dict keeps the order
    for name in own:
        above = parents.get(name)
        while above is not None and above not in inner:
            inner[above] = None
            above = parents.get(above)
    groups = {name: _Group(str(name), []) for name in (None, *inner)}
    for j, name in enumerate(own):
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
        Its columns: those that weigh most in a cluster are its name.
    seed : int
    """
    random = np.random.default_rng(seed % 2**64)
    n_classes, depth = V.shape[0], 2
    while n_classes > _MOST_CHILDREN**depth:
        depth += 1
    n_children = int(np.ceil(n_classes ** (1 / depth)))

    def group(members: Ints, height: int) -> _Group:
        sums = np.asarray(V[members].sum(axis=0)).ravel()
        best = np.argsort(-sums, kind="stable")[:_TERMS_OF_A_NAME]
        name = " ".join(terms[t] for t in best if sums[t] > 0)
        if height == 1 or len(members) <= n_children:
            return _Group(name, members.tolist())
        parts = _divided(V, members, n_children, random)
        return _Group(name, [group(part, height - 1) for part in parts])

    return _tree_of_group(group(np.arange(n_classes), depth))


def _tree_of_group(top: _Group) -> ClassTree:
    nodes: list[list[int]] = []
    names, waiting = [""], [_merged(top)]
    for group in waiting:  # which grows on the way
        nodes.append([])
        for each in group.children:
            child = _merged(each)
            nodes[-1].append(-len(waiting) if isinstance(child, _Group) else child)
            if isinstance(child, _Group):
                waiting.append(child)
                names.append(child.name)
    ends = np.cumsum([0, *map(len, nodes)], dtype=np.int64)
    return ClassTree(ends, np.array([j for each in nodes for j in each], np.int64), names)


def _merged(child: Any) -> Any:  # noqa: ANN401 - a class or a group
    """Return a group, or the class or group that it leads to where that is all there is in it."""
    passed = []
    while isinstance(child, _Group):
        passed.append(child.name)
        if len(child.children) > 1:
            return _Group(" / ".join(passed), child.children)
        (child,) = child.children
    return child


def _checked_parents(hierarchy: Hierarchy) -> dict[Any, Any]:
    """Return the parent of each child; refuse two parents, and what is below itself."""
    parents: dict[Any, Any] = {}
    for child, given in hierarchy.items():
        if isinstance(given, list | tuple | set | frozenset):
            if len(given) > 1:
                two = " and ".join(repr(each) for each in sorted(given, key=str)[:2])
                raise InputError(f"{child!r} has two parents in the hierarchy, {two}; expected one")
            given = next(iter(given), None)
        if given is not None:
            parents[child] = given
    sound: set[Any] = set()
    for child in parents:
        path: dict[Any, None] = {}
        name = child
        while name in parents and name not in sound:
            if name in path:
                circle = [*path][[*path].index(name) :]
                told = " -> ".join(repr(each) for each in [*circle[:8], name])
                raise InputError(f"the hierarchy has a cycle: {told}")
            path[name] = None
            name = parents[name]
        sound.update(path)
    return parents


def rows_of_length_one(matrix: Any) -> Sparse:  # noqa: ANN401 - any sparse matrix
    """Return a sparse matrix with rows of length 1; those of zeros stay so."""
    rows = sparse.csr_matrix(matrix, dtype=np.float32, copy=True)
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows.data /= np.repeat(np.maximum(lengths, 1e-30), np.diff(rows.indptr)).astype(np.float32)
    return rows


def _divided(V: Sparse, members: Ints, n_groups: int, random: np.random.Generator) -> list[Ints]:
    """Divide classes into groups of equal size, each of similar ones, by halves."""
    if n_groups == 1:
        return [members]
    n_first = n_groups // 2
    first, second = _halves(V[members], round(len(members) * n_first / n_groups), random)
    return [
        *_divided(V, members[first], n_first, random),
        *_divided(V, members[second], n_groups - n_first, random),
    ]


def _halves(V: Sparse, n_first: int, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Divide rows of length 1 into two parts of given sizes: spherical 2-means, balanced."""
    start = V[int(random.integers(V.shape[0]))].toarray().ravel()
    similarity = V @ start
    direction = start - V[int(similarity.argmin())].toarray().ravel()
    inside = np.zeros(V.shape[0], np.bool_)
    for _ in range(_MOST_STEPS):
        order = np.argsort(-(V @ direction), kind="stable")
        now = np.zeros_like(inside)
        now[order[:n_first]] = True
        if (now == inside).all():
            break
        inside = now
        centers = [V.T @ side.astype(V.dtype) for side in (inside, ~inside)]
        direction = np.subtract(*[each / max(np.linalg.norm(each), 1e-12) for each in centers])
    return np.flatnonzero(inside), np.flatnonzero(~inside)


# --- learning -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TreeProblem:
    """The problems of all nodes: the children of each, on the documents that reach it.

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
        """Return those rows, which rise, that reach a node by their labels; all reach the root."""
        if node == 0:
            return rows
        starts, documents = self._by_place
        place = self.tree.node_places[node]
        own = documents[starts[place] : starts[place + 1]]
        return own[np.isin(own, rows, assume_unique=True)]

    @cached_property
    def _by_place(self) -> tuple[Ints, Ints]:
        """Where the documents of each place begin, and documents, place after place."""
        members = self.members.tocsc()
        return members.indptr.astype(np.int64), members.indices.astype(np.int64)

    def solve(self, rows: Ints, tolerance: float, step: str) -> TreeModel:
        """Learn the models of all nodes from some rows; their scores are not stretched yet."""
        nodes = progress.track(range(self.tree.n_nodes), step)
        weights, intercepts = zip(
            *(self._solve_node(node, rows, tolerance) for node in nodes), strict=True
        )
        return TreeModel(
            self.tree,
            sparse.vstack(weights, format="csr"),
            np.concatenate(intercepts),
            np.tile(_STRETCH, (self.tree.n_nodes, 1)),
            self.is_single_label,
        )

    def _solve_node(self, node: int, rows: Ints, tolerance: float) -> tuple[Sparse, Floats32]:
        documents = self.documents_of(node, rows)
        first, last = self.tree.starts[node : node + 2].tolist()
        X, n_children = self.X[documents], last - first
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
        kept = np.abs(W) >= np.maximum(_PRUNED * np.abs(W).max(axis=0, initial=0.0), 1e-30)
        children, places = np.nonzero(kept.T)
        ends = np.concatenate([[0], np.cumsum(kept.sum(axis=0))])
        parts = W[places, children], terms[places].astype(np.int32), ends
        return sparse.csr_matrix(parts, shape=(n_children, self.X.shape[1])), solution.intercept

    def _costs(self, Y: Sparse, documents: Ints, first: int) -> Costs:
        weights = None if self.sample_weight is None else self.sample_weight[documents]
        if self.class_weights is None:
            return Costs.balanced(Y, weights, is_multilabel=not self.is_single_label)
        targets = self.tree.targets[first : first + Y.shape[1]]
        positive = np.where(targets < 0, 1.0, self.class_weights[targets])
        return replace(Costs.equal(*Y.shape, weights), positive=positive)


def learn(problem: TreeProblem, folds: Ints) -> tuple[TreeModel, Floats | None]:
    """Learn the models of all nodes, and the thresholds (m,) of a multilabel task.

    How to stretch the scores of nodes, and thresholds, are learned from documents held out, a
    fifth at a time, by trees of the others.

    Parameters
    ----------
    problem : TreeProblem
    folds : array of shape (n,)
        The fold of each document, of ten.
    """
    n_docs = len(folds)
    n_rotations = int(np.clip(np.ceil(_MANY_HELD_OUT / max(n_docs, 1)), 1, 5))
    trials: list[tuple[Ints, TreeModel]] = []
    for fifth in range(n_rotations):
        is_held_out = folds // 2 == fifth
        model = problem.solve(np.flatnonzero(~is_held_out), ROUGH_TOLERANCE, "validating")
        trials.append((np.flatnonzero(is_held_out), model))
    stretch = _stretch(problem, trials)
    thresholds = None
    if not problem.is_single_label:
        rows = np.concatenate([rows for rows, _ in trials])
        found = [
            candidates(replace(model, stretch=stretch), problem.X[rows], _KEPT)
            for rows, model in trials
        ]
        columns, scores = (np.concatenate(each) for each in zip(*found, strict=True))
        thresholds = sparse_thresholds(columns, scores, problem.Y[rows])
    model = problem.solve(np.arange(n_docs), _TOLERANCE, "learning")
    return replace(model, stretch=stretch), thresholds


def candidates(model: TreeModel, X: Sparse, k: int) -> tuple[Ints, Floats]:
    """Return the best classes (n, k) of documents, and their log probabilities, by a beam.

    From depth to depth the best nodes are followed. Where fewer than k classes were met, the
    last ones are -1.
    """
    n_docs = X.shape[0]
    columns, scores = np.full((n_docs, k), -1), np.full((n_docs, k), -np.inf)
    nodes, above = np.zeros((n_docs, 1), np.int64), np.zeros((n_docs, 1))
    while (nodes >= 0).any():
        classes, below = _step(model, X, nodes, above, k)
        columns, scores = select_top_k(
            np.hstack([columns, classes[0]]), np.hstack([scores, classes[1]]), k
        )
        nodes, above = select_top_k(*below, _BEAM)
    return columns, scores


def _step(
    model: TreeModel, X: Sparse, nodes: Ints, above: Floats, k: int
) -> tuple[tuple[Ints, Floats], tuple[Ints, Floats]]:
    """Go from nodes (n, b) to their best children: classes, and nodes; -1: none."""
    tree, (n_docs, n_nodes) = model.tree, nodes.shape
    sizes = k, _BEAM
    met = [
        (np.full((n_docs, n_nodes, each), -1), np.full((n_docs, n_nodes, each), -np.inf))
        for each in sizes
    ]
    order = np.argsort(nodes, axis=None, kind="stable")
    groups = np.searchsorted(nodes.ravel()[order], np.arange(tree.n_nodes + 1))
    for node in np.flatnonzero(np.diff(groups)).tolist():
        documents, slots = np.divmod(order[groups[node] : groups[node + 1]], n_nodes)
        made = model.log_shares(model.node_scores(X, documents, node), node)
        made += above[documents, slots, None]
        targets = tree.targets[tree.starts[node] : tree.starts[node + 1]]
        for is_class, (found, scores) in zip((True, False), met, strict=True):
            chosen = np.flatnonzero((targets >= 0) == is_class)
            own = np.broadcast_to(np.abs(targets[chosen]), (len(made), len(chosen)))
            own, values = select_top_k(own, made[:, chosen], found.shape[2])
            found[documents, slots, : own.shape[1]] = own
            scores[documents, slots, : own.shape[1]] = values
    classes, below = ((a.reshape(n_docs, -1), b.reshape(n_docs, -1)) for a, b in met)
    return classes, below


def _stretch(problem: TreeProblem, trials: list[tuple[Ints, TreeModel]]) -> Floats:
    """Return slope and offset (nodes, 2) that make probabilities of the scores of a node.

    A node that few documents reach takes the median of the others.
    """
    tree, is_single_label = problem.tree, problem.is_single_label
    stretch = np.full((tree.n_nodes, 2), np.nan)
    for node in range(tree.n_nodes):
        places = slice(*tree.starts[node : node + 2])
        tested = [
            (problem.documents_of(node, rows)[:_MANY_HELD_OUT], each) for rows, each in trials
        ]
        scores = np.concatenate([each.node_scores(problem.X, rows, node) for rows, each in tested])
        rows = np.concatenate([rows for rows, _ in tested])
        Y = problem.members[rows][:, places]
        if len(rows) < _ENOUGH or not Y.nnz:
            continue
        if not is_single_label:  # the same for all children
            scores, Y = scores.reshape(-1, 1), sparse.csr_matrix(Y.toarray().reshape(-1, 1))
        calibration = Calibration.fit(scores, Y, is_single_label=is_single_label)
        stretch[node] = calibration.parameters[0]
    is_known = ~np.isnan(stretch[:, 0])
    common = np.median(stretch[is_known], axis=0) if is_known.any() else _STRETCH
    return np.where(is_known[:, None], stretch, common)


def sparse_thresholds(columns: Ints, scores: Floats32, Y: Sparse) -> Floats:
    """Return thresholds (m,) with the best F1, of scores that are known of some classes only.

    As `thresholds.best_thresholds` with a pull; what is not known is never given.

    Parameters
    ----------
    columns, scores : arrays of shape (n, k)
        Classes of each document, -1 where there are no more, and their scores.
    Y : sparse matrix of shape (n, m)
        Labels.
    """
    n_docs, n_classes = Y.shape
    known = columns >= 0
    classes, values = columns[known], scores[known].astype(np.float64)
    documents = np.repeat(np.arange(n_docs), known.sum(axis=1))
    truth = np.isin(documents * n_classes + classes, row_numbers(Y) * n_classes + Y.indices)
    n_positive = np.bincount(Y.indices, minlength=n_classes)
    shared = _best_cuts(np.zeros_like(classes), values, truth, np.array([Y.nnz]))[0]
    own = _best_cuts(classes, values, truth, n_positive)
    has_own = (n_positive >= _FEW) & np.isfinite(own)
    share = np.where(has_own, n_positive / (n_positive + _PULL), 0.0)
    made: Floats = shared + share * np.subtract(own, shared, where=has_own, out=np.zeros_like(own))
    return made


def _best_cuts(groups: Ints, scores: Floats, truth: Flags, n_positive: Ints) -> Floats:
    """Return for each group where to cut its scores for the best F1; infinite: nowhere."""
    order = np.lexsort((-scores, groups))
    groups, scores, truth = groups[order], scores[order], truth[order]
    starts = np.searchsorted(groups, np.arange(len(n_positive)))
    hits = np.cumsum(truth)
    n_hits = hits - np.append(0, hits)[starts][groups]
    n_given = np.arange(1, len(groups) + 1) - starts[groups]
    is_last = np.diff(groups, append=-1) != 0
    below = np.where(is_last, scores - 1.0, np.append(scores[1:], 0.0))
    # scores that are equal are on the same side
    f1 = np.where(scores > below, 2 * n_hits / (n_given + n_positive[groups]), 0.0)
    best = np.lexsort((-f1, groups))  # of equals the highest score stays first
    first = best[np.diff(groups, prepend=-1) != 0]
    first = first[f1[first] > 0]
    cuts = np.full(len(n_positive), np.inf)
    cuts[groups[first]] = (scores[first] + below[first]) / 2
    return cuts
