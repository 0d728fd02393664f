"""Views of a model as plain dicts whose values JSON can hold, without HTTP or HTML.

The page and the service both show these views.
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
from wordclass.explorer.documents import ScoredDocuments, TermIndex, analyzer_of
from wordclass.text.analyzer import NUMBER_MASK
from wordclass.vectors.word_vectors import WordVectors

JsonObject = dict[str, Any]

N_MAP_TERMS = 5000
_MAX_PROFILE_CELLS = 1 << 26  # terms times classes, if the model does not store the profiles
_TERMS_PER_BATCH = 4096
_MAX_CONFUSIONS = 2000  # cells of the table of mistakes
_MAX_DOCUMENTS = 50  # of a cell or a word
_MAX_SUMMED_DOCUMENTS = 1000  # of a cell whose words are summed
_MAX_DOCUMENT_CHARS = 2000
_EXAMPLE_CHARS = range(40, 600)  # preferred length of the example text
_N_EXAMPLE_WORDS = 8
_N_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class Exploration:
    """A model with optional documents and word vectors, and views of them.

    Parameters
    ----------
    model : classifier
        A fitted classifier of texts.
    documents : LabelledCorpus, optional
        Labelled documents, whose mistakes are shown. Labels that are not classes of the model are
        ignored.
    vectors : WordVectors, optional
        Pretrained vectors for nearest words. By default the vectors of a network are used, or else
        vectors that are learned from the documents without their labels.
    source : str, default="pretrained vectors"
        A description of the vectors.
    """

    model: Any
    documents: LabelledCorpus | None = None
    vectors: WordVectors | None = None
    source: str = "pretrained vectors"

    # --- the model ------------------------------------------------------------------------------

    @cached_property
    def classes(self) -> list[str]:
        """The names of the classes in the order of the columns."""
        return [*map(str, self.model.codeframe_.classes)]

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {name: column for column, name in enumerate(self.classes)}

    def column(self, name: str) -> int:
        """Return the column of a class. Raise an InputError if the name is unknown."""
        if name not in self._columns:
            raise InputError(describe_unknown_name("class", name, self.classes))
        return self._columns[name]

    @property
    def is_multilabel(self) -> bool:
        """True if a text may have several labels."""
        return bool(self.model.codeframe_.is_multilabel)

    @property
    def scorer(self) -> Scorer:
        """The scorer of the model."""
        scorer: Scorer = self.model.scorer_
        return scorer

    @property
    def words(self) -> LinearScorer | None:
        """The scorer with one weight per word and class, if the model has one."""
        return self.scorer.words

    @cached_property
    def has_probabilities(self) -> bool:
        """True if the model has probabilities."""
        return bool(self.model.predictions([]).has_probabilities)

    @cached_property
    def terms(self) -> list[str]:
        """The terms with a profile: all terms, or the most frequent ones if there are too many."""
        all_terms = self.scorer.terms
        max_terms = _MAX_PROFILE_CELLS // len(self.classes)
        if self.words is not None or len(all_terms) <= max_terms:
            return [*all_terms]
        frequency = dict(zip(self._index.terms, self._index.doc_freq.tolist(), strict=True))
        by_frequency = sorted(all_terms, key=lambda term: -frequency.get(term, 0))
        return sorted(by_frequency[:max_terms])

    @cached_property
    def n_terms(self) -> int:
        """The number of terms of the model, including n-grams of characters."""
        parts = self.scorer.linear_scorers
        return sum(len(part.weights) for part in parts) if parts else len(self.terms)

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each term."""
        return {term: row for row, term in enumerate(self.terms)}

    @cached_property
    def profiles(self) -> Floats32:
        """The scores of each term for each class (v, m).

        For a linear model on tf-idf these are its weights. For other models a score is that of a
        text with this term only, minus the score of an empty text.
        """
        if self.words is not None:
            return self.words.weights
        profiles = np.empty((len(self.terms), len(self.classes)), np.float32)
        for start in range(0, len(self.terms), _TERMS_PER_BATCH):
            batch = slice(start, start + _TERMS_PER_BATCH)
            profiles[batch] = self.model.class_scores(self.terms[batch])
        profiles -= self.model.class_scores([""])
        return profiles

    # --- documents ------------------------------------------------------------------------------

    @cached_property
    def _scored(self) -> ScoredDocuments:
        if self.documents is None:
            raise InputError("the page has no documents", hint="pass labelled texts with --data")
        return ScoredDocuments.of(self.model, self.documents, self.classes)

    @cached_property
    def _index(self) -> TermIndex:
        return TermIndex.of(self.model, [] if self.documents is None else self._scored.texts)

    def _document(self, k: int) -> JsonObject:
        scored = self._scored
        text = scored.texts[k]
        return {
            "number": int(k) + 1,
            "text": text[:_MAX_DOCUMENT_CHARS],
            "is_cut": len(text) > _MAX_DOCUMENT_CHARS,
            "true": [self.classes[j] for j in np.flatnonzero(scored.truth[k])],
            "predicted": [self.classes[j] for j in np.flatnonzero(scored.decisions[k])],
        }

    # --- an example -----------------------------------------------------------------------------

    def _example(self) -> JsonObject:
        """Return a text, and a word of it, with which the page opens."""
        text = self._example_text()
        explanation: Explanation = self.model.explanation(text)
        column = self.column(self._best_label(explanation))
        contributions = explanation.column(column).tolist()
        ranked = sorted(zip(contributions, explanation.terms, strict=True), reverse=True)
        words = [term for _, term in ranked if self._is_example_word(term)]
        words += [term for term in self.terms if self._is_example_word(term)][:1]
        return {"text": text, "word": words[0] if words else None}

    def _example_text(self) -> str:
        """Return a short document that is classified correctly, or else typical words."""
        if self.documents is not None:
            scored = self._scored
            is_right = (scored.truth == scored.decisions).all(axis=1)
            rows = sorted(
                range(len(scored.texts)),
                key=lambda k: (len(scored.texts[k]) not in _EXAMPLE_CHARS, not is_right[k]),
            )
            return scored.texts[rows[0]][:_MAX_DOCUMENT_CHARS]
        if not self.terms:
            return ""
        order = np.argsort(-self.profiles[:, 0], kind="stable").tolist()
        words = [self.terms[row] for row in order if self._is_example_word(self.terms[row])]
        return " ".join(words[:_N_EXAMPLE_WORDS])

    def _is_example_word(self, term: str) -> bool:
        return term in self.row_of and term.isalpha() and term != NUMBER_MASK

    def _best_label(self, explanation: Explanation) -> str:
        """Return the predicted label with the highest score, or the class with the highest one."""
        columns = [explanation.codeframe.column(label) for label in explanation.labels]
        return self.classes[max(columns, key=lambda column: float(explanation.scores[column]))]

    # --- the views ------------------------------------------------------------------------------

    def about(self) -> JsonObject:
        """Return a description of the model, its measures on the documents, and an example."""
        view: JsonObject = {
            "classifier": self.model.name,
            "classes": self.classes,
            "n_classes": len(self.classes),
            "n_terms": self.n_terms,
            "is_multilabel": self.is_multilabel,
            "has_probabilities": self.has_probabilities,
            "is_sum": self.scorer.is_additive,
            "has_documents": self.documents is not None,
            "example": self._example(),
        }
        if self.documents is not None:
            scores = self._scored.scores
            view |= {
                "n_docs": scores.n_docs,
                "n_mistaken": scores.n_docs - scores.n_exact,
                "measures": {
                    name: _round(getattr(scores, name))
                    for name in ("macro_f1", "micro_f1", "accuracy")
                },
            }
        return view

    def predict(self, texts: Sequence[str], k: int = 3) -> list[list[JsonObject]]:
        """Return the k best classes of each text with scores and probabilities, best first.

        In a single-label task the first class is the predicted one. See `Predictions.best_columns`.
        """
        blocks: Iterable[Predictions] = self.model.prediction_blocks(texts)
        return [classes for predictions in blocks for classes in _best_classes(predictions, k)]

    def explain(
        self, text: str, label: str | None = None, against: str | None = None
    ) -> JsonObject:
        """Return the contributions of the words of a text to the score of a class.

        Parameters
        ----------
        text : str
            The text.
        label : str, optional
            The class. By default it is the predicted class with the highest score.
        against : str, optional
            Another class, whose contributions are subtracted from those to `label`.

        Returns
        -------
        dict
            `score` is `intercept` plus `sum`. Both the contributions of `terms` and those of
            `words` have this sum. `words` have their positions in the text, in code points.
        """
        explanation: Explanation = self.model.explanation(text)
        if label is None:
            label = self._best_label(explanation)
        signs = [(self.column(label), 1.0)]
        if against is not None:
            signs.append((self.column(against), -1.0))
        terms: dict[str, float] = defaultdict(float)
        words: dict[tuple[Any, ...], float] = defaultdict(float)
        score = intercept = 0.0
        for column, sign in signs:
            name = self.model.codeframe_.classes[column]
            score += sign * float(explanation.scores[column])
            intercept += sign * float(explanation.intercept[column])
            contributions = explanation.column(column).tolist()
            for term, contribution in zip(explanation.terms, contributions, strict=True):
                terms[term] += sign * contribution
            for word in explanation.per_word(name):
                words[word[:3]] += sign * word.contribution
        by_size = sorted(terms.items(), key=lambda item: (-abs(item[1]), item[0]))
        return {
            "label": label,
            "against": against,
            "predicted": [*explanation.predicted],
            "score": _round(score),
            "intercept": _round(intercept),
            "sum": _round(sum(terms.values())),
            "terms": [[term, _round(contribution)] for term, contribution in by_size],
            "words": [[*word, _round(contribution)] for word, contribution in words.items()],
        }

    def class_(self, name: str, n: int = 30) -> JsonObject:
        """Return the terms with the highest and lowest scores, and with documents the measures."""
        column = self.column(name)
        profile = self.profiles[:, column]
        view: JsonObject = {
            "class": name,
            "terms": self._rank_terms(profile, n),
            "against": self._rank_terms(-profile, n // 2, sign=-1),
            "scores": None,
        }
        if self.documents is None:
            return view
        scored = self._scored
        is_true = scored.truth[:, column]
        is_predicted = scored.decisions[:, column]
        margins = scored.margins(column)
        measures = scored.per_class[column]
        view["scores"] = {name: _round(measure) for name, measure in measures.items()}
        view["taken_for"], view["takes"] = self._confused_classes(column)
        correct = np.flatnonzero(is_true & is_predicted)
        typical = correct[np.argsort(-margins[correct], kind="stable")[:5]]
        relevant = np.flatnonzero(is_true | is_predicted)
        doubtful = relevant[np.argsort(np.abs(margins[relevant]), kind="stable")[:5]]
        view["typical"] = [self._document(k) for k in typical]
        view["doubtful"] = [self._document(k) for k in doubtful]
        return view

    def _rank_terms(self, values: Floats32, n: int, sign: int = 1) -> list[list[Any]]:
        order = np.argsort(-values, kind="stable")[:n]
        return [[self.terms[t], _round(sign * values[t])] for t in order if values[t] > 0]

    def _confused_classes(self, column: int) -> tuple[list[list[Any]], list[list[Any]]]:
        """Return the wrong predictions for a class, and the classes it is wrongly predicted for."""
        cells = self._scored.cells
        predicted_instead = {p: n for (t, p), n in cells.items() if t == column}
        true_instead = {t: n for (t, p), n in cells.items() if p == column}
        return self._rank_classes(predicted_instead), self._rank_classes(true_instead)

    def _rank_classes(self, counts: dict[int, int]) -> list[list[Any]]:
        order = sorted(counts, key=lambda column: (-counts[column], column))[:10]
        return [[self._class_name(column), counts[column]] for column in order]

    def _class_name(self, column: int) -> str | None:
        return None if column < 0 else self.classes[column]

    def word(self, word: str, n: int = 12) -> JsonObject:
        """Return the scores of a word for all classes, similar words, and documents with it."""
        term = self._to_term(word)
        row = self.row_of.get(term)
        view: JsonObject = {"word": word, "term": term, "is_known": row is not None}
        if row is None:
            view |= {"profile": [], "nearest": []}
        else:
            profile = self.profiles[row]
            order = np.argsort(-profile, kind="stable")
            view["profile"] = [[self.classes[j], _round(profile[j])] for j in order.tolist()]
            view["nearest"] = self._nearest_by_profile(row, n)
        view["source"], view["nearest_by_vectors"] = self.nearest_by_vectors(term, n)
        if self.documents is not None:
            rows = self._index.documents_of(term)
            view["n_docs"] = len(rows)
            view["documents"] = [self._document(k) for k in rows[:_MAX_DOCUMENTS].tolist()]
        return view

    def _to_term(self, word: str) -> str:
        """Return the term that the analyzer makes of a word, or the word if there are several."""
        terms = analyzer_of(self.model)(word) if word not in self.row_of else [word]
        return terms[0] if len({*terms}) == 1 else word

    @cached_property
    def _units(self) -> Floats32:
        return np.asarray(normalize_rows(self.profiles.astype(np.float64)), np.float32)

    def _nearest_by_profile(self, row: int, n: int) -> list[list[Any]]:
        cosines = self._units @ self._units[row]
        cosines[row] = -np.inf
        order = np.argsort(-cosines, kind="stable")[:n]
        return [[self.terms[t], _round(cosines[t])] for t in order.tolist()]

    def nearest_by_vectors(self, term: str, n: int) -> tuple[str | None, list[list[Any]]]:
        """Return a description of the unsupervised vectors, and the nearest words by them."""
        source, vectors = self._unsupervised_vectors
        if vectors is None or term not in vectors or not vectors[term].any():
            return source, []
        return source, [[word, _round(cosine)] for word, cosine in vectors.nearest(term, n)]

    @cached_property
    def _unsupervised_vectors(self) -> tuple[str | None, WordVectors | None]:
        """A description of the unsupervised vectors and the vectors, or None for both."""
        if self.vectors is not None:
            return self.source, self.vectors
        E = getattr(self.model, "embedding_", None)
        if E is not None and "pretrained" in E.blocks:
            columns = E.blocks["pretrained"]
            return "the network's pretrained vectors", WordVectors.of(
                E.terms, np.ascontiguousarray(E.matrix[: len(E.terms), columns])
            )
        if self.documents is None or len(self._index.terms) < 2 or len(self._scored.texts) < 2:
            return None, None
        matrix, description = term_map.learn_vectors(self._index.weighted, 0)
        return description, WordVectors.of(self._index.terms, matrix.astype(np.float32))

    def mistakes(self) -> JsonObject:
        """Return the confusion table: `cells` of true class, predicted class, number of documents.

        In a multilabel task each missed class is paired with each wrongly predicted one. If a
        document has only one of the two, the other column is -1.
        """
        scored = self._scored
        cells = sorted(scored.cells.items(), key=lambda item: (-item[1], item[0]))
        return {
            "n_docs": scored.scores.n_docs,
            "n_mistaken": scored.scores.n_docs - scored.scores.n_exact,
            "n_cells": len(cells),
            "cells": [[*columns, n_docs] for columns, n_docs in cells[:_MAX_CONFUSIONS]],
            "right": scored.scores.true_positives.tolist(),
        }

    def cell(self, true: str | None, predicted: str | None, n: int = 30) -> JsonObject:
        """Return the documents of one class that were predicted as another, and the causes.

        Parameters
        ----------
        true : str or None
            The true class. None: the document lacks the predicted class.
        predicted : str or None
            The predicted class. None: the true class was missed.
        n : int, default=30
            The number of words.

        Returns
        -------
        dict
            `total` is the sum over the documents of the score of the predicted class minus that of
            the true class (or minus the threshold if there is only one class). It equals
            `constant` plus the contributions of all words: those of `words`, which are the largest,
            and `rest`, the sum of the others.
        """
        columns = tuple(-1 if name is None else self.column(name) for name in (true, predicted))
        rows = self._scored.rows_of(*columns)
        sums: dict[str, float] = defaultdict(float)
        n_docs_with: dict[str, int] = defaultdict(int)
        total = constant = 0.0
        documents: list[JsonObject] = []
        for k in rows[:_MAX_SUMMED_DOCUMENTS].tolist():
            explanation = self.model.explanation(self._scored.texts[k])
            contributions, document_constant, document_total = self._difference(
                explanation, *columns
            )
            total += document_total
            constant += document_constant
            for term, contribution in zip(explanation.terms, contributions.tolist(), strict=True):
                sums[term] += contribution
                n_docs_with[term] += 1
            if len(documents) < _MAX_DOCUMENTS:
                order = np.argsort(-contributions, kind="stable")[:8]
                words = [
                    [explanation.terms[t], _round(contributions[t])]
                    for t in order
                    if contributions[t] > 0
                ]
                document = self._document(k)
                documents.append({**document, "words": words, "total": _round(document_total)})
        ranked = sorted(sums, key=lambda term: (-sums[term], term))
        return {
            "true": true,
            "predicted": predicted,
            "n_docs": len(rows),
            "n_summed": min(len(rows), _MAX_SUMMED_DOCUMENTS),
            "total": _round(total),
            "constant": _round(constant),
            "words": [[term, _round(sums[term]), n_docs_with[term]] for term in ranked[:n]],
            "rest": _round(sum(sums[term] for term in ranked[n:])),
            "documents": documents,
        }

    def _difference(
        self, explanation: Explanation, true: int, predicted: int
    ) -> tuple[Floats, float, float]:
        """Return contributions to the predicted minus the true class, the constant and the total.

        If one of the columns is -1, the threshold of the other class is subtracted, or 0 if it is
        infinite.
        """
        thresholds = self.model.thresholds_
        contributions = np.zeros(len(explanation.terms))
        constant = total = 0.0
        for column, sign in ((predicted, 1.0), (true, -1.0)):
            if column < 0:
                continue
            threshold = float(thresholds[column]) if min(true, predicted) < 0 else 0.0
            if not np.isfinite(threshold):
                threshold = 0.0
            contributions += sign * explanation.column(column)
            constant += sign * (float(explanation.intercept[column]) - threshold)
            total += sign * (float(explanation.scores[column]) - threshold)
        return contributions, constant, total

    def against_other_classes(self, name: str, n: int = 2000) -> JsonObject:
        """Return the scores and frequencies of the most discriminative terms of a class.

        With documents, `inside` and `outside` are the shares of documents with the term inside and
        outside the class. Without documents, both are the share of training documents with it.
        """
        column = self.column(name)
        profile = self.profiles[:, column]
        if self.documents is not None:
            inside, outside = self._index.shares(self.terms, self._scored.truth[:, column])
            is_allowed = inside + outside > 0
        elif self.words is not None:
            vocabulary = self.words.weigher.vocabulary
            inside = outside = vocabulary.doc_freq / vocabulary.n_docs
            is_allowed = np.ones(len(profile), np.bool_)
        else:
            problem = "the model does not store the frequencies of its words"
            raise InputError(problem, hint="pass labelled texts with --data")
        rows = np.flatnonzero(is_allowed)
        rows = rows[np.argsort(-profile[rows], kind="stable")]
        if len(rows) > n:
            rows = np.concatenate([rows[: n // 2], rows[-(n // 2) :]])
        return {
            "class": name,
            "has_sides": self.documents is not None,
            "terms": [self.terms[t] for t in rows.tolist()],
            "telling": [_round(value) for value in profile[rows].tolist()],
            "inside": [_round(value) for value in inside[rows].tolist()],
            "outside": [_round(value) for value in outside[rows].tolist()],
        }

    def map(self, n_terms: int = N_MAP_TERMS, seed: int = 0) -> JsonObject:
        """Return the most discriminative terms of all classes with positions computed by t-SNE."""
        scores = self.profiles
        n_per_class = -(-n_terms // len(self.classes))
        rows, class_of = term_map.choose_terms(
            np.asarray(scores, np.float64), n_per_class, np.ones(len(scores), np.bool_)
        )
        rows = rows[:n_terms]
        class_of = class_of[:n_terms]
        profiles = np.asarray(scores[rows], np.float64)
        panel = term_map.Panel(
            title="Word-class map",
            caption="",
            places=term_map.lay_out(profiles, seed),
            neighbor_share=term_map.neighbor_share(profiles, class_of),
        )
        terms = [self.terms[row] for row in rows.tolist()]
        return describe_map(terms, class_of, [panel], profiles)


def describe_map(
    terms: list[str], class_of: Ints, panels: Sequence[term_map.Panel], profiles: Floats | None
) -> JsonObject:
    """Return a map as a dict. The profile of a term has its five best classes."""
    view: JsonObject = {
        "terms": terms,
        "class_of": class_of.tolist(),
        "panels": [
            {
                "title": panel.title,
                "caption": panel.caption,
                "neighbor_share": _round(panel.neighbor_share),
                "places": np.round(panel.places, 4).tolist(),
            }
            for panel in panels
        ],
        "profiles": [],
    }
    if profiles is not None:
        best, values = select_top_k(np.arange(profiles.shape[1])[None], profiles, 5)
        view["profiles"] = [
            [[j, round(value, 3)] for j, value in zip(*row, strict=True)]
            for row in zip(best.tolist(), values.tolist(), strict=True)
        ]
    return view


def _best_classes(predictions: Predictions, k: int) -> list[list[JsonObject]]:
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
                "probability": None if probability is None else _round(probability),
                "score": _round(score),
            }
            for column, probability, score in zip(*row, strict=True)
        ]
        for row in zip(columns.tolist(), probabilities, scores, strict=True)
    ]


def _round(value: Any) -> Any:  # noqa: ANN401 - a number of NumPy or Python
    if isinstance(value, int):
        return value
    return round(float(value), _N_DECIMALS)
