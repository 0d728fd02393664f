"""The scorer of a tree of classes: log probabilities that are sums along the paths of a tree.

`linear.tree` grows trees and learns the models of their nodes.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy import sparse, special

from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.corpus.documents import Label
from wordclass.decision.explanation import Columns, Contributions, PathTo
from wordclass.decision.scorers import Scorer, blocks
from wordclass.embedding.counts import index_arrays
from wordclass.native import extension
from wordclass.options import list_texts
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import Analyze
from wordclass.text.term_weigher import TermWeigher
from wordclass.text.vocabulary import Vocabulary

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(48)  # integrates over [-1, 1]
_TREE = {"starts": "int64 ends", "targets": "int64 places", "names": "str nodes"}
_MODEL = {
    "weights": "csr:float32 places terms",
    "intercept": "float32 places",
    "stretch": "float64 nodes 2",
}


@dataclass(frozen=True, eq=False)
class ClassTree:
    """Tree whose leaves are classes.

    Nodes are numbered from 0, the root. A place is one child of a node: a class or another node.

    Parameters
    ----------
    starts : array of shape (nodes + 1,)
        The first place of each node: its children have the places `starts[i]` to `starts[i + 1]`.
    targets : array of shape (places,)
        The child at each place: j for class j, -i for node i. A node comes after its parent.
    names : list of str
        The names of the nodes; that of the root is empty.
    """

    starts: Ints
    targets: Ints
    names: list[str]

    def with_classes(self, columns: Ints) -> "ClassTree":
        """Return the same tree with class `columns[j]` in place of class j."""
        is_class = self.targets >= 0
        targets = np.where(is_class, columns[np.maximum(self.targets, 0)], self.targets)
        return replace(self, targets=targets)

    def check(self, n_classes: int) -> None:
        """Raise ValueError if the stored arrays do not form a tree of these classes."""
        n_nodes = len(self.names)
        n_places = len(self.targets)
        if len(self.starts) != n_nodes + 1 or self.starts[0] != 0 or self.starts[-1] != n_places:
            raise ValueError("tree.starts does not divide tree.targets into nodes")
        if (np.diff(self.starts) < 1).any():
            raise ValueError("tree.starts has a node without children")
        if not np.array_equal(np.sort(self.targets), np.arange(1 - n_nodes, n_classes)):
            raise ValueError("tree.targets does not contain each class and node once")
        if (self.parents[1:] >= np.arange(1, n_nodes)).any():
            raise ValueError("tree.targets has a node that comes before its parent")

    @property
    def n_nodes(self) -> int:
        """The number of nodes, which all have children."""
        return len(self.names)

    @cached_property
    def node_places(self) -> Ints:
        """The place (nodes,) of each node, -1 for the root."""
        places = np.full(self.n_nodes, -1)
        is_node = self.targets < 0
        places[-self.targets[is_node]] = np.flatnonzero(is_node)
        return places

    @cached_property
    def class_places(self) -> Ints:
        """The place (m,) of each class."""
        is_class = self.targets >= 0
        places = np.empty(np.count_nonzero(is_class), np.int64)
        places[self.targets[is_class]] = np.flatnonzero(is_class)
        return places

    @cached_property
    def owners(self) -> Ints:
        """The node (places,) that each place belongs to."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.starts))

    @cached_property
    def parents(self) -> Ints:
        """The parent (nodes,) of each node, where the root is its own parent."""
        parents = self.owners[self.node_places]
        parents[0] = 0
        return parents

    def path(self, j: int) -> list[int]:
        """Return the places on the path to a class, from the top down."""
        places = [int(self.class_places[j])]
        while node := int(self.owners[places[0]]):
            places.insert(0, int(self.node_places[node]))
        return places

    def places_of(self, Y: Sparse) -> Sparse:
        """Return a 0/1 matrix (n, places) of the places on the paths to the classes of Y."""
        n_classes = len(self.class_places)
        paths = [self.path(j) for j in range(n_classes)]
        ends = np.cumsum([0, *map(len, paths)])
        columns = np.fromiter((place for path in paths for place in path), np.int64)
        shape = (n_classes, len(self.targets))
        on_path = sparse.csr_matrix((np.ones(len(columns)), columns, ends), shape=shape)
        places = sparse.csr_matrix(Y @ on_path)
        places.data[:] = 1.0
        places.sort_indices()
        return places


@dataclass(frozen=True, eq=False)
class TreeModel:
    """Model of the log probabilities of classes, which are sums along the paths of a tree.

    Parameters
    ----------
    tree : ClassTree
        The tree of classes.
    weights : sparse matrix of shape (places, v)
        The weight of each term for each place.
    intercept : array of shape (places,)
        The scores of a text without any term.
    stretch : array of shape (nodes, 2)
        The slope and offset of the scores of each node's children. The probabilities of the
        children are a softmax of the result in a single-label task, otherwise one sigmoid each.
    is_single_label : bool
        Whether a document has exactly one label.
    """

    tree: ClassTree
    weights: Sparse
    intercept: Floats32
    stretch: Floats
    is_single_label: bool

    def node_scores(self, X: Sparse, rows: Ints, node: int) -> Floats32:
        """Return the scores (rows, children) of some rows of X for the children of a node."""
        places = slice(*self.tree.starts[node : node + 2])
        intercept = self.intercept[places]
        if extension.solver is None:
            scores = (X[rows] @ self.weights[places].T).toarray() + intercept
            return np.asarray(scores, np.float32)
        product: Floats32 = extension.solver.multiply_pruned(
            X.data.astype(np.float64, copy=False), *index_arrays(X), rows.astype(np.int32),
            *self._tables[node], intercept, X.shape[1],
        )  # fmt: skip
        return product

    @cached_property
    def _tables(self) -> list[tuple[Any, ...]]:
        """For each node, the terms that have weights, and these weights in the order of terms."""
        tables = []
        for first, last in pairwise(self.tree.starts.tolist()):
            weights = self.weights[first:last].tocoo()
            order = np.argsort(weights.col, kind="stable")
            terms, counts = np.unique(weights.col, return_counts=True)
            ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            children = weights.row[order].astype(np.int32)
            tables.append((terms.astype(np.int32), ends, children, weights.data[order]))
        return tables

    def log_shares(self, scores: Floats | Floats32, node: int) -> Floats:
        """Return the log probabilities (n, children) of the children of a node, given the node."""
        slope, offset = self.stretch[node]
        stretched = scores * slope + offset
        if self.is_single_label:
            return np.asarray(special.log_softmax(stretched, axis=1))
        return np.asarray(special.log_expit(stretched))

    def everywhere(self, X: Sparse) -> Floats:
        """Return the log probabilities (n, places) of all nodes and classes."""
        tree = self.tree
        scores = self._scores_everywhere(X)
        log_shares = np.empty(scores.shape)
        for node in range(tree.n_nodes):
            places = slice(*tree.starts[node : node + 2])
            log_shares[:, places] = self.log_shares(scores[:, places], node)
            if node:
                log_shares[:, places] += log_shares[:, tree.node_places[node], None]
        return log_shares

    def _scores_everywhere(self, X: Sparse) -> Floats32:
        """Return the scores (n, places) of all places, in one product."""
        if extension.solver is None:
            return np.asarray((X @ self.weights.T).toarray() + self.intercept, np.float32)
        terms = np.unique(X.indices)
        weights = self._weights_by_term[terms]  # a few texts have few distinct terms
        product: Floats32 = extension.solver.multiply_pruned(
            X.data.astype(np.float64, copy=False),
            *index_arrays(X),
            np.arange(X.shape[0], dtype=np.int32),
            terms.astype(np.int32),
            weights.indptr.astype(np.int64),
            weights.indices.astype(np.int32),
            weights.data,
            self.intercept,
            X.shape[1],
        )
        return product

    @cached_property
    def _weights_by_term(self) -> Sparse:
        """The weights (v, places) with one row per term."""
        return sparse.csr_matrix(self.weights.T)

    def added(self, x: Sparse, classes: Sequence[int]) -> Floats:
        """Return the contributions (t, k) of terms to the log probabilities of k classes.

        A contribution is the integral of the slope of the log probability along the line from no
        terms to all terms of the document. The sum over terms is their joint change. Only the nodes
        on the paths to the classes are read.
        """
        tree = self.tree
        paths = [tree.path(j) for j in classes]
        places_of_node: dict[int, set[int]] = defaultdict(set)
        for place in {place for path in paths for place in path}:
            places_of_node[int(tree.owners[place])].add(place)
        added: dict[int, Floats] = {}  # (t,) of each place
        for node in sorted(places_of_node):  # a node comes after its parent
            first, last = tree.starts[node : node + 2]
            weights = self.weights[first:last][:, x.indices].toarray().T * x.data[:, None]
            mean = self._mean_shares(weights.sum(axis=0), node)
            shift = weights @ mean
            for place in places_of_node[node]:
                child = place - first
                score = weights[:, child]
                change = score - shift if self.is_single_label else score * (1 - mean[child])
                added[place] = self.stretch[node, 0] * change
                if node:
                    added[place] += added[int(tree.node_places[node])]
        table = np.empty((len(x.indices), len(paths)))
        for column, path in enumerate(paths):
            table[:, column] = added[path[-1]]
        return table

    def added_by_all(self, x: Sparse) -> Floats:
        """Return the sum (m,) over all terms of a document (1, v) of their contributions."""
        tree = self.tree
        totals = (x @ self.weights.T).toarray()[0]  # (places,)
        changes = np.empty(len(totals))
        for node in range(tree.n_nodes):
            places = slice(*tree.starts[node : node + 2])
            scores = totals[places]
            mean = self._mean_shares(scores, node)
            change = scores - scores @ mean if self.is_single_label else scores * (1 - mean)
            changes[places] = self.stretch[node, 0] * change
            if node:
                changes[places] += changes[tree.node_places[node]]
        sums: Floats = changes[tree.class_places]
        return sums

    def _mean_shares(self, totals: Floats, node: int) -> Floats:
        """Return the mean probability (children,) along the line from no terms to all terms."""
        places = slice(*self.tree.starts[node : node + 2])
        line = (_POINTS[:, None] + 1) / 2 * totals + self.intercept[places]
        mean: Floats = _WEIGHTS / 2 @ np.exp(self.log_shares(line, node))
        return mean


@dataclass(frozen=True, eq=False)
class TreeScorer(Scorer):
    """Scorer with a tree of classes, whose scores are log probabilities.

    Parameters
    ----------
    weigher : TermWeigher
        Computes X (n, v).
    model : TreeModel
        The model of the nodes.
    """

    weigher: TermWeigher
    model: TreeModel

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.model.tree.class_places)

    @property
    def has_log_scores(self) -> bool:
        """True, because scores are log probabilities."""
        return True

    @property
    def analyze(self) -> Analyze:
        """The function from a text to its terms."""
        return self.weigher.analyze

    @property
    def terms(self) -> Sequence[str]:
        """The terms of the vocabulary."""
        return self.weigher.terms

    def scores(self, texts: Iterable[str]) -> Floats32:
        """Return the scores (n, m) of texts, computed at all nodes."""
        listed = list_texts(texts)
        scores = np.empty((len(listed), self.n_classes), np.float32)
        class_places = self.model.tree.class_places
        for rows in blocks(len(listed), len(self.model.tree.targets)):
            X = self.weigher.transform(listed[rows])
            scores[rows] = self.model.everywhere(X)[:, class_places]
        return scores

    def probabilities(self, scores: Floats | Floats32) -> Floats:
        """Return the probabilities (n, m), normalized in a single-label task."""
        probabilities: Floats = np.exp(scores.astype(np.float64))
        if self.model.is_single_label:
            total = probabilities.sum(axis=1, keepdims=True)
            probabilities /= np.maximum(total, np.finfo(np.float64).tiny)
        return probabilities

    def contributions(self, text: str) -> Contributions:
        """Return the terms of a text and their contributions to the scores."""
        x = self.weigher.transform([text])
        terms = [self.weigher.terms[j] for j in x.indices]
        intercept = self.scores([text])[0] - self.model.added_by_all(x).astype(np.float32)

        def columns(chosen: Columns) -> Floats32:
            classes = range(self.n_classes)[chosen] if isinstance(chosen, slice) else chosen
            return self.model.added(x, classes).astype(np.float32)

        return Contributions(terms, intercept, columns)

    def path_to(self, text: str, classes: Sequence[Label]) -> PathTo:
        """Return a function from a column to the path to its class.

        A path lists the names and probabilities of the nodes above the class, then of the class.
        """
        tree = self.model.tree
        (log_shares,) = self.model.everywhere(self.weigher.transform([text]))

        def path_to(column: int) -> list[tuple[str, float]]:
            steps = []
            for place in tree.path(column):
                target = int(tree.targets[place])
                name = tree.names[-target] if target < 0 else str(classes[target])
                steps.append((name, float(np.exp(log_shares[place]))))
            return steps

        return path_to

    def to_state(self) -> ModelState:
        """Return the vocabulary, the tree and the weights."""
        tree = ModelState.of_fields(self.model.tree, _TREE) | ModelState.of_fields(
            self.model, _MODEL
        )
        return self.weigher.vocabulary.to_state() | tree.add_prefix("tree")

    @classmethod
    def from_state(cls, weigher: TermWeigher, state: ModelState, *, is_single_label: bool) -> Self:
        """Return the stored scorer with the options of a weigher."""
        fitted = weigher.with_vocabulary(Vocabulary.from_state(state))
        stored = state.strip_prefix("tree")
        stored.sizes["terms"] = len(fitted.vocabulary)
        tree = ClassTree(**stored.take(**_TREE))
        tree.check(state.sizes["classes"])
        return cls(
            fitted, TreeModel(tree, **stored.take(**_MODEL), is_single_label=is_single_label)
        )
