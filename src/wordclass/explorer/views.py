"""What there is to see of a model: a question in, a plain dict out. No HTTP and no HTML.

The page, the service and the tests share these answers. Every value in them is one that JSON can
hold.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from wordclass.arrays import Floats, Floats32, Ints, normalize_rows, select_top_k
from wordclass.corpus.documents import LabelledCorpus
from wordclass.corpus.labels import describe_unknown_name
from wordclass.decision.explanation import Explanation
from wordclass.decision.predictions import Predictions
from wordclass.decision.scorers import LinearScorer, Scorer
from wordclass.errors import InputError
from wordclass.explorer import term_map
from wordclass.explorer.documents import ScoredDocuments, TermIndex
from wordclass.vectors.word_vectors import WordVectors

JsonObject = dict[str, Any]

N_ON_MAP = 5000  # terms
_MOST_CELLS = 1 << 26  # terms times classes of a model that does not hold this table
_TOGETHER = 4096  # terms that are scored at once
_MOST_CONFUSIONS = 2000  # cells of the table of mistakes
_MOST_DOCUMENTS = 50  # shown of a cell or a word
_MOST_SUMMED = 1000  # documents of a cell whose words are summed
_SHOWN = 2000  # characters of a document
_DIGITS = 6


@dataclass(frozen=True, eq=False)
class Exploration:
    """A model, maybe with labelled documents and word vectors to look at it by.

    Parameters
    ----------
    model
        A fitted classifier of texts.
    documents : LabelledCorpus, optional
        What mistakes are found in. Labels that the model does not know are left out.
    vectors : WordVectors, optional
        Pretrained vectors, for nearest words. Without them those of the model's own network are
        taken, else vectors are learned from the documents, without the labels.
    source : str, default="pretrained vectors"
        What the vectors are, in words.
    """

    model: Any
    documents: LabelledCorpus | None = None
    vectors: WordVectors | None = None
    source: str = "pretrained vectors"

    # --- what the model knows -------------------------------------------------------------------

    @cached_property
    def classes(self) -> list[str]:
        """The names of the classes, in the order of the columns."""
        return [*map(str, self.model.codeframe_.classes)]

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {name: column for column, name in enumerate(self.classes)}

    def column(self, name: str) -> int:
        """Return the column of a class, or refuse a name that is none."""
        if name not in self._columns:
            raise InputError(describe_unknown_name("class", name, self.classes))
        return self._columns[name]

    @property
    def is_multilabel(self) -> bool:
        """Whether a text may have several labels."""
        return bool(self.model.codeframe_.is_multilabel)

    @property
    def scorer(self) -> Scorer:
        """What scores texts."""
        scorer: Scorer = self.model.scorer_
        return scorer

    @property
    def words(self) -> LinearScorer | None:
        """The weights of words, if a summand of the scores has one per word and class."""
        return self.scorer.words

    @cached_property
    def has_probabilities(self) -> bool:
        """Whether the model has probabilities."""
        return bool(self.model.predictions([]).has_probabilities)

    @cached_property
    def terms(self) -> list[str]:
        """The terms that have a profile: all, or the most frequent ones if they are too many."""
        known = self.scorer.terms
        max_terms = _MOST_CELLS // len(self.classes)
        if self.words is not None or len(known) <= max_terms:
            return [*known]
        frequency = dict(zip(self._index.terms, self._index.doc_freq.tolist(), strict=True))
        return sorted(sorted(known, key=lambda term: -frequency.get(term, 0))[:max_terms])

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each term."""
        return {term: row for row, term in enumerate(self.terms)}

    @cached_property
    def profiles(self) -> Floats32:
        """What each term says of each class (v, m).

        That is what a text of this term alone scores above a text without any; of a linear model
        on tf-idf these are its weights.
        """
        if self.words is not None:
            return self.words.weights
        made = np.empty((len(self.terms), len(self.classes)), np.float32)
        for start in range(0, len(self.terms), _TOGETHER):
            made[start : start + _TOGETHER] = self.model.class_scores(
                self.terms[start : start + _TOGETHER]
            )
        made -= self.model.class_scores([""])
        return made

    # --- documents ------------------------------------------------------------------------------

    @cached_property
    def _read(self) -> ScoredDocuments:
        if self.documents is None:
            raise InputError("there are no documents to look at; give them by --data")
        return ScoredDocuments.of(self.model, self.documents, self.classes)

    @cached_property
    def _index(self) -> TermIndex:
        return TermIndex.of(self.model, [] if self.documents is None else self._read.texts)

    def _document(self, k: int) -> JsonObject:
        read = self._read
        text = read.texts[k]
        return {
            "number": int(k) + 1,
            "text": text[:_SHOWN],
            "is_cut": len(text) > _SHOWN,
            "true": [self.classes[j] for j in np.flatnonzero(read.truth[k])],
            "predicted": [self.classes[j] for j in np.flatnonzero(read.decisions[k])],
        }

    # --- the answers ----------------------------------------------------------------------------

    def about(self) -> JsonObject:
        """Return what the model is, and how good it is on the documents."""
        facts: JsonObject = {
            "classifier": self.model.name,
            "classes": self.classes,
            "n_classes": len(self.classes),
            "n_terms": len(self.terms),
            "is_multilabel": self.is_multilabel,
            "has_probabilities": self.has_probabilities,
            "is_sum": self.scorer.is_additive,
            "has_documents": self.documents is not None,
        }
        if self.documents is not None:
            scores = self._read.scores
            facts |= {
                "n_docs": scores.n_docs,
                "n_mistaken": scores.n_docs - scores.n_exact,
                "measures": {
                    name: _rounded(getattr(scores, name))
                    for name in ("macro_f1", "micro_f1", "accuracy")
                },
            }
        return facts

    def predict(self, texts: Sequence[str], k: int = 3) -> list[list[JsonObject]]:
        """Return the k best classes of each text, with score and probability; best first.

        In a single-label task the first class is the label. See `Predictions.best_columns`.
        """
        blocks: Iterable[Predictions] = self.model.prediction_blocks(texts)
        return [facts for predictions in blocks for facts in _class_facts(predictions, k)]

    def explain(
        self, text: str, label: str | None = None, against: str | None = None
    ) -> JsonObject:
        """Return what each word of a text adds to the score of a class.

        Parameters
        ----------
        text : str
        label : str, optional
            The class; by default the one with the highest score among those predicted.
        against : str, optional
            Another class: everything is then what it adds to the first less what it adds to this.

        Returns
        -------
        `score` is `intercept` plus `sum`, the sum of all `terms`, and of all `words`: these have
        their places in the text, in characters.
        """
        found: Explanation = self.model.explanation(text)
        if label is None:
            best = max(found.labels, key=lambda each: found.scores[found.codeframe.column(each)])
            label = str(best)
        signs = [(self.column(label), 1.0)]
        if against is not None:
            signs.append((self.column(against), -1.0))
        terms: dict[str, float] = defaultdict(float)
        words: dict[tuple[Any, ...], float] = defaultdict(float)
        score = intercept = 0.0
        for column, sign in signs:
            name = self.model.codeframe_.classes[column]
            score += sign * float(found.scores[column])
            intercept += sign * float(found.intercept[column])
            for term, added in zip(found.terms, found.column(column).tolist(), strict=True):
                terms[term] += sign * added
            for word in found.per_word(name):
                words[word[:3]] += sign * word.contribution
        by_size = sorted(terms.items(), key=lambda each: (-abs(each[1]), each[0]))
        return {
            "label": label,
            "against": against,
            "predicted": [*found.predicted],
            "score": _rounded(score),
            "intercept": _rounded(intercept),
            "sum": _rounded(sum(terms.values())),
            "terms": [[term, _rounded(added)] for term, added in by_size],
            "words": [[*place, _rounded(added)] for place, added in words.items()],
        }

    def class_(self, name: str, n: int = 30) -> JsonObject:
        """Return the terms that speak for a class and against it; with documents, its scores."""
        column = self.column(name)
        own = self.profiles[:, column]
        facts: JsonObject = {
            "class": name,
            "terms": self._ranked(own, n),
            "against": self._ranked(-own, n // 2, sign=-1),
            "scores": None,
        }
        if self.documents is None:
            return facts
        read = self._read
        true, given = read.truth[:, column], read.decisions[:, column]
        margin = read.margins(column)
        facts["scores"] = {key: _rounded(each) for key, each in read.per_class[column].items()}
        taken_for, takes = self._neighbors(column)
        typical = np.flatnonzero(true & given)
        doubtful = np.flatnonzero(true | given)
        return facts | {
            "taken_for": taken_for,
            "takes": takes,
            "typical": [
                self._document(k) for k in typical[np.argsort(-margin[typical], kind="stable")[:5]]
            ],
            "doubtful": [
                self._document(k)
                for k in doubtful[np.argsort(np.abs(margin[doubtful]), kind="stable")[:5]]
            ],
        }

    def _ranked(self, values: Floats32, n: int, sign: int = 1) -> list[list[Any]]:
        order = np.argsort(-values, kind="stable")[:n]
        return [[self.terms[t], _rounded(sign * values[t])] for t in order if values[t] > 0]

    def _neighbors(self, column: int) -> tuple[list[list[Any]], list[list[Any]]]:
        """Return the classes that one is taken for, and those that are taken for it."""
        taken_for = {p: n for (t, p), n in self._read.cells.items() if t == column}
        takes = {t: n for (t, p), n in self._read.cells.items() if p == column}
        both = []
        for found in (taken_for, takes):
            order = sorted(found, key=lambda j: (-found[j], j))[:10]
            both.append([[self._name(j), found[j]] for j in order])
        return both[0], both[1]

    def _name(self, column: int) -> str | None:
        return None if column < 0 else self.classes[column]

    def word(self, word: str, n: int = 12) -> JsonObject:
        """Return what a word says of the classes, the words like it, and documents it is in."""
        term = self._written(word)
        row = self.row_of.get(term)
        facts: JsonObject = {"word": word, "term": term, "is_known": row is not None}
        if row is None:
            facts |= {"profile": [], "nearest": []}
        else:
            own = self.profiles[row]
            order = np.argsort(-own, kind="stable")
            facts["profile"] = [[self.classes[j], _rounded(own[j])] for j in order.tolist()]
            facts["nearest"] = self._nearest_by_profile(row, n)
        facts["source"], nearest = self.nearest_by_vectors(term, n)
        facts["nearest_by_vectors"] = nearest
        if self.documents is not None:
            found = self._index.documents_of(term)
            facts["n_docs"] = len(found)
            facts["documents"] = [self._document(k) for k in found[:_MOST_DOCUMENTS].tolist()]
        return facts

    def _written(self, word: str) -> str:
        """Return a word as the model writes it; what it would cut into several stays as it is."""
        terms = self.model._analyzer()(word) if word not in self.row_of else [word]
        return terms[0] if len({*terms}) == 1 else word

    @cached_property
    def _units(self) -> Floats32:
        return np.asarray(normalize_rows(self.profiles.astype(np.float64)), np.float32)

    def _nearest_by_profile(self, row: int, n: int) -> list[list[Any]]:
        cosines = self._units @ self._units[row]
        cosines[row] = -np.inf
        order = np.argsort(-cosines, kind="stable")[:n]
        return [[self.terms[t], _rounded(cosines[t])] for t in order.tolist()]

    def nearest_by_vectors(self, term: str, n: int) -> tuple[str | None, list[list[Any]]]:
        """Return what the other vectors are, and the words nearest to a term by them."""
        source, vectors = self._other_vectors
        if vectors is None or term not in vectors or not vectors[term].any():
            return source, []
        return source, [[each, _rounded(cosine)] for each, cosine in vectors.nearest(term, n)]

    @cached_property
    def _other_vectors(self) -> tuple[str | None, WordVectors | None]:
        """Vectors made without the classes, and what they are; None: there are none."""
        if self.vectors is not None:
            return self.source, self.vectors
        E = getattr(self.model, "embedding_", None)
        if E is not None and "pretrained" in E.blocks:
            columns = E.blocks["pretrained"]
            return "the network's pretrained vectors", WordVectors.of(
                E.terms, np.ascontiguousarray(E.matrix[: len(E.terms), columns])
            )
        if self.documents is None or len(self._index.terms) < 2 or len(self._read.texts) < 2:
            return None, None
        matrix, told = term_map.learn_vectors(self._index.weighted, 0)
        return told, WordVectors.of(self._index.terms, matrix.astype(np.float32))

    def mistakes(self) -> JsonObject:
        """Return how often each class was taken for which: `cells` of true, predicted, number.

        In a multilabel task a class that a document lacks counts as taken for each that was given
        wrongly; where there is no other side, its column is -1.
        """
        cells = sorted(self._read.cells.items(), key=lambda each: (-each[1], each[0]))
        return {
            "n_docs": self._read.scores.n_docs,
            "n_mistaken": self._read.scores.n_docs - self._read.scores.n_exact,
            "n_cells": len(cells),
            "cells": [[*place, n] for place, n in cells[:_MOST_CONFUSIONS]],
            "right": self._read.scores.true_positives.tolist(),
        }

    def cell(self, true: str | None, predicted: str | None, n: int = 30) -> JsonObject:
        """Return the documents of one class that were taken for another, and the words that did it.

        None stands for no class at all: the document lacks a class, or was given one too many.

        Returns
        -------
        `total` is the sum over the documents of the score of the predicted class less that of the
        true one (where one is None, its threshold is in its place). It is `constant`, what does
        not depend on words, plus the sum of what all `words` add; `words` are the most important,
        and `rest` the sum of all others.
        """
        place = tuple(-1 if name is None else self.column(name) for name in (true, predicted))
        rows = self._read.rows_of(*place)
        added: dict[str, float] = defaultdict(float)
        occurrences: dict[str, int] = defaultdict(int)
        total = constant = 0.0
        documents: list[JsonObject] = []
        for k in rows[:_MOST_SUMMED].tolist():
            found = self.model.explanation(self._read.texts[k])
            difference, own_constant, own_total = self._difference(found, *place)
            total, constant = total + own_total, constant + own_constant
            for term, share in zip(found.terms, difference.tolist(), strict=True):
                added[term] += share
                occurrences[term] += 1
            if len(documents) < _MOST_DOCUMENTS:
                order = np.argsort(-difference, kind="stable")[:8]
                words = [
                    [found.terms[t], _rounded(difference[t])] for t in order if difference[t] > 0
                ]
                documents.append(
                    {**self._document(k), "words": words, "total": _rounded(own_total)}
                )
        ranked = sorted(added, key=lambda term: (-added[term], term))
        return {
            "true": true,
            "predicted": predicted,
            "n_docs": len(rows),
            "n_summed": min(len(rows), _MOST_SUMMED),
            "total": _rounded(total),
            "constant": _rounded(constant),
            "words": [[term, _rounded(added[term]), occurrences[term]] for term in ranked[:n]],
            "rest": _rounded(sum(added[term] for term in ranked[n:])),
            "documents": documents,
        }

    def _difference(
        self, found: Explanation, true: int, predicted: int
    ) -> tuple[Floats, float, float]:
        """Return what each term adds to the predicted class less the true one; the rest; the total.

        Where one of the two is -1, the threshold of the other takes its place, or 0 if that is
        infinite.
        """
        thresholds = self.model.thresholds_
        added = np.zeros(len(found.terms))
        constant = total = 0.0
        for column, sign in ((predicted, 1.0), (true, -1.0)):
            if column < 0:
                continue
            level = float(thresholds[column]) if min(true, predicted) < 0 else 0.0
            level = level if np.isfinite(level) else 0.0
            added += sign * found.column(column)
            constant += sign * (float(found.intercept[column]) - level)
            total += sign * (float(found.scores[column]) - level)
        return added, constant, total

    def against_rest(self, name: str, n: int = 2000) -> JsonObject:
        """Return how frequent terms are, and how telling for a class against all others.

        With documents, how frequent a term is in those of the class (`inside`) and in all others
        (`outside`), as shares of them; without, in how many training documents it is. The most
        telling terms are returned, for and against.
        """
        column = self.column(name)
        own = self.profiles[:, column]
        if self.documents is not None:
            inside, outside = self._index.shares(self.terms, self._read.truth[:, column])
            allowed = inside + outside > 0
        elif self.words is not None:
            vocabulary = self.words.vectorizer.vocabulary_
            inside = outside = vocabulary.doc_freq / vocabulary.n_docs
            allowed = np.ones(len(own), np.bool_)
        else:
            raise InputError("this model does not know how frequent its words are; give --data")
        rows = np.flatnonzero(allowed)
        rows = rows[np.argsort(-own[rows], kind="stable")]
        if len(rows) > n:
            rows = np.concatenate([rows[: n // 2], rows[-(n // 2) :]])
        return {
            "class": name,
            "has_sides": self.documents is not None,
            "terms": [self.terms[t] for t in rows.tolist()],
            "telling": [_rounded(value) for value in own[rows].tolist()],
            "inside": [_rounded(value) for value in inside[rows].tolist()],
            "outside": [_rounded(value) for value in outside[rows].tolist()],
        }

    def map(self, n_terms: int = N_ON_MAP, seed: int = 0) -> JsonObject:
        """Return the most telling terms, as many of each class, where t-SNE puts their profiles."""
        scores = self.profiles
        n_per_class = -(-n_terms // len(self.classes))
        rows, class_of = term_map.round_robin(
            np.asarray(scores, np.float64), n_per_class, np.ones(len(scores), np.bool_)
        )
        rows, class_of = rows[:n_terms], class_of[:n_terms]
        own = np.asarray(scores[rows], np.float64)
        places = term_map.places(own, seed)
        panel = term_map.Panel("Word-class map", "", places, term_map.neighbor_share(own, class_of))
        return describe_map([self.terms[row] for row in rows.tolist()], class_of, [panel], own)


def describe_map(
    terms: list[str], class_of: Ints, panels: Sequence[term_map.Panel], profiles: Floats | None
) -> JsonObject:
    """Return a map as a dict; the profile of a term are its five best classes."""
    facts: JsonObject = {
        "terms": terms,
        "class_of": class_of.tolist(),
        "panels": [
            {
                "title": each.title,
                "caption": each.caption,
                "neighbor_share": _rounded(each.neighbor_share),
                "places": np.round(each.places, 4).tolist(),
            }
            for each in panels
        ],
        "profiles": [],
    }
    if profiles is not None:
        best, values = select_top_k(np.arange(profiles.shape[1])[None], profiles, 5)
        facts["profiles"] = [
            [[j, round(value, 3)] for j, value in zip(*row, strict=True)]
            for row in zip(best.tolist(), values.tolist(), strict=True)
        ]
    return facts


def _class_facts(predictions: Predictions, k: int) -> list[list[JsonObject]]:
    """Return label, probability and score of the k best classes of each text."""
    classes = predictions.codeframe.classes
    columns = predictions.best_columns(k)
    scores = np.take_along_axis(predictions.scores, columns, axis=1).tolist()
    probabilities: list[Any] = [[None] * columns.shape[1]] * len(columns)
    if predictions.has_probabilities:
        probabilities = np.take_along_axis(predictions.probabilities, columns, axis=1).tolist()
    return [
        [
            {
                "label": classes[column],
                "probability": None if probability is None else _rounded(probability),
                "score": _rounded(value),
            }
            for column, probability, value in zip(*row, strict=True)
        ]
        for row in zip(columns.tolist(), probabilities, scores, strict=True)
    ]


def _rounded(value: Any) -> Any:  # noqa: ANN401 - a number of numpy's or Python's
    if isinstance(value, int):
        return value
    return round(float(value), _DIGITS)
