"""What documents look like to `linear`: no feature of a document has seen its own labels."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from wordclass import progress
from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse, mean_length
from wordclass.checks import check_table, n_threads
from wordclass.classifiers._text_classifier import EncoderScorer, JointScorer, LinearScorer
from wordclass.correlations import information_gain
from wordclass.counts import WordClassCounts
from wordclass.embedding.cross_fit import FoldScores, ReweightedScores
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.embedding.state import presence, telling_terms
from wordclass.errors import NoTermError
from wordclass.linear_solver.one_vs_rest import ROUGH_TOLERANCE, Costs, Features, OneVsRest
from wordclass.linear_solver.softmax import Softmax
from wordclass.search import Documents, Settings, Trial, held_out_scores
from wordclass.sentence_vectors import SentenceEncoder
from wordclass.text.supervised import SupervisedTerms
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.thresholds import decided
from wordclass.vocabulary import Vocabulary
from wordclass.word_vectors import WordVectors

N_FOLDS = 10
_N_FIFTHS = 5  # of the documents, two folds each, that are held out in turn
_ENOUGH = 2  # documents a class needs to have a word-class column: one alone is never crossed
_TOLERANCE = 1e-3  # of the final weights; tighter ones change no decision
_BYTES_A_VALUE = 24  # of X, for what is made of it while learning
_MANY_FOR_SEARCH = 4_000  # documents: so many need only a fifth of them scored


@dataclass(eq=False)
class LinearCorpus:
    """The documents to learn from, and what they look like for any choice of terms.

    Parameters
    ----------
    documents : Documents
        To learn from.
    folds : array of shape (n,)
        The fold of each document.
    vectorizer : callable
        From settings to what makes X of words, or of characters, unfitted.
    vectors : WordVectors or None
        Pretrained ones.
    tasks : dict of str to WordClassEmbeddings
        Those of other tasks.
    encoder : SentenceEncoder or None
        What makes vectors of whole texts.
    class_weights : array of shape (m,) or None
        Factors for the costs of errors on the documents of a class; None: balanced.
    n_jobs : int or None
        Number of threads.
    """

    documents: Documents
    folds: Ints
    vectorizer: Callable[..., DocumentVectorizer]
    vectors: WordVectors | None
    tasks: Mapping[str, WordClassEmbeddings]
    encoder: SentenceEncoder | None
    class_weights: Floats | None
    n_jobs: int | None

    def __post_init__(self) -> None:
        self._kept: dict[object, LinearFeatures] = {}

    def features(self, settings: Settings) -> "LinearFeatures":
        """Return the features of the documents with the terms that settings choose, made once."""
        key = settings["ngrams"], settings["characters"]
        if key not in self._kept:
            self._kept[key] = LinearFeatures(self, settings)
        return self._kept[key]

    def keep(self, settings: Settings) -> None:
        """Forget all features and scores but those for some settings: they are large."""
        key = settings["ngrams"], settings["characters"]
        self._kept = {key: self._kept[key]}
        self._kept[key].forget_others(settings)

    @cached_property
    def encoded(self) -> Floats32:
        """The vectors (n, d) that the encoder makes of the documents."""
        if self.encoder is None:
            return np.zeros((len(self.folds), 0), np.float32)
        return self.encoder.vectors(self.documents.texts, self.n_jobs)


class LinearFeatures:
    """What documents look like for one choice of terms: X, word-class scores, sums of vectors.

    Parameters
    ----------
    corpus : LinearCorpus
        The documents.
    settings : dict
        With the n-grams of words and of characters.
    """

    def __init__(self, corpus: LinearCorpus, settings: Settings) -> None:
        self.corpus, self.documents, self.folds = corpus, corpus.documents, corpus.folds
        # two folds each; folds apart where there are few documents: those of a class are dealt to
        # neighbors, and two of them are not to be held out together
        is_few = settings["loss"] == "softmax"
        self.fifths = self.folds % _N_FIFTHS if is_few else self.folds // 2
        self.vectorizers = [corpus.vectorizer(settings)]
        if settings["characters"] is not None:
            self.vectorizers.append(corpus.vectorizer(settings, of_words=False))
        self._supervised: list[SupervisedTerms | None] = []  # where weights see labels
        self._away: tuple[int, ...] = ()  # folds whose labels no weight saw
        self._seeing_less: dict[tuple[int, ...], LinearFeatures] = {}
        parts = self._weighted_terms()
        self.n_words = parts[0].shape[1]
        self._take_terms(parts)
        n_docs, n_classes = self.documents.labels.Y.shape
        doc_freq = np.concatenate([each.vocabulary_.doc_freq for each in self.vectorizers])
        self.n_terms = len(doc_freq)
        what = f"the weights of {self.n_terms:,} terms by {n_classes:,} classes"
        # beside them X in single precision, sums by class of its values, scores of all documents
        more = _BYTES_A_VALUE * self.X.nnz + 12 * n_docs * n_classes
        # a softmax keeps its last steps, too
        each = 200 if settings["loss"] == "softmax" else 4
        check_table(f"{what} from {n_docs:,} documents", doc_freq, each * n_classes, more)
        self._held_out: dict[object, tuple[Ints, Floats32]] = {}  # what was tried last

    def _take_terms(self, parts: list[Sparse]) -> None:
        """Take X of words and of characters, and forget what was made of another."""
        self.X: Sparse = parts[0] if len(parts) == 1 else sparse.hstack(parts, format="csr")
        self._plain = Features.of(self.X)
        self._with_vectors: dict[tuple[float, ...], Features] = {}  # by their weights
        self._own_shrinkage: float | None = None
        self._own_scores: dict[tuple[int, ...], Floats32] = {}
        for name in ("_fold_scores", "_words", "_vector_rows", "_task_rows"):
            self.__dict__.pop(name, None)

    def _weighted_terms(self) -> list[Sparse]:
        """Return X of the words, and of their characters; without columns where no term is left.

        Rare words need not be there where characters or an encoder are.
        """
        texts, parts, missing = self.documents.texts, [], None
        for each in self.vectorizers:
            try:
                parts.append(self._fitted(each))
            except NoTermError as error:
                self._supervised.append(None)
                missing, each.vocabulary_ = error, Vocabulary.empty(len(texts))
                parts.append(sparse.csr_matrix((len(texts), 0)))
        if missing and self.corpus.encoder is None and not any(part.shape[1] for part in parts):
            raise missing
        return parts

    def _fitted(self, vectorizer: DocumentVectorizer) -> Sparse:
        """Return the X of a vectorizer; one whose weights see labels may be asked for others."""
        texts, labels = self.documents.texts, self.documents.labels
        terms = None
        if vectorizer.correlation is not None and vectorizer.cross_fit_weights:
            terms = vectorizer.fit_supervised(texts, labels, self.folds)
        X = vectorizer.fit_transform(texts, labels) if terms is None else terms.cross_fitted()
        self._supervised.append(terms)
        return X

    def _without(self, away: tuple[int, ...]) -> "LinearFeatures":
        """Return features by weights that never saw some folds; these, where weights see none."""
        if away == self._away or not any(self._supervised):
            return self
        if away not in self._seeing_less:
            made = copy(self)
            made._away = away
            nothing = sparse.csr_matrix((len(self.folds), 0))
            made._take_terms([
                nothing if terms is None else terms.cross_fitted(away) for terms in self._supervised
            ])  # fmt: skip
            self._seeing_less[away] = made
        return self._seeing_less[away]

    # --- documents held out -------------------------------------------------------------------

    def trials(self, settings: Settings, penalties: Sequence[float]) -> list[Trial]:
        """Try settings with several values of C on documents held out."""
        rows, scores = self.held_out_scores(settings, penalties, _MANY_FOR_SEARCH)
        labels = self.documents.labels
        found = [decided(each, labels.Y[rows], labels.codeframe) for each in scores]
        return [
            Trial({**settings, "C": C}, 0.0, each.macro_f1, each.micro_f1, each.accuracy)
            for C, each in zip(sorted(penalties), found, strict=True)
        ]

    def held_out_scores(
        self, settings: Settings, penalties: Sequence[float], many: int
    ) -> tuple[Ints, Floats32]:
        """Return documents, and their scores (values of C, documents, m) by what the others tell.

        A fifth of the documents at a time; where there are `many`, only the first fifth. The values
        of C rise.
        """
        n_rotations = self.n_rotations(many)
        asked = [_identity({**settings, "C": C}, n_rotations) for C in sorted(penalties)]
        if asked[0] in self._held_out and len(asked) == 1:  # it won the search
            rows, scores = self._held_out[asked[0]]
            return rows, scores[None]
        rising = np.array(sorted(penalties))
        fifths = self.fifths
        splits = [
            (np.flatnonzero(fifths != fifth), np.flatnonzero(fifths == fifth))
            for fifth in range(n_rotations)
        ]

        def validate(rows: Ints, tested: Ints) -> Floats32:
            problem, _, _ = self._problem(settings, rows)
            return problem.validate(rising, rows, tested, ROUGH_TOLERANCE)

        rows, made = held_out_scores(validate, progress.over(splits, "validating"))
        self._held_out |= {key: (rows, each) for key, each in zip(asked, made, strict=True)}
        return rows, made

    def are_fair(self, rows: Ints) -> Flags:
        """Tell of documents held out, of one label each, whether others of their class were not.

        What is said of a document of a class never seen tells nothing of probabilities; nor does
        one that counts nothing.
        """
        Y, fifths = self.documents.labels.Y, self.fifths
        held_out = np.zeros((_N_FIFTHS, Y.shape[1]))
        weights = self.documents.weights
        counted = np.ones(len(fifths)) if weights is None else weights
        np.add.at(held_out, (fifths, Y.indices), counted)
        others = held_out.sum(axis=0) - held_out
        fair: Flags = (others[fifths, Y.indices] > 0) & (counted > 0)
        return fair[rows]

    def forget_others(self, settings: Settings) -> None:
        """Forget the scores of all settings but some."""
        kept = _identity(settings, self.n_rotations(_MANY_FOR_SEARCH))
        self._held_out = {key: each for key, each in self._held_out.items() if key == kept}

    def n_rotations(self, many: int) -> int:
        """Return how many fifths of the documents to hold out in turn."""
        return int(np.clip(np.ceil(many / max(len(self.folds), 1)), 1, _N_FIFTHS))

    # --- learning -----------------------------------------------------------------------------

    def solve(self, settings: Settings) -> LinearScorer | JointScorer:
        """Learn from all documents, and fold everything into one weight per term and class."""
        # all that is to come needs memory
        self._own_scores, self._held_out, self._seeing_less = {}, {}, {}
        problem, factor, S = self._problem(settings, np.arange(len(self.folds)))
        solution = problem.solve(settings["C"], tolerance=_TOLERANCE)
        weights, block_weights = solution.weights, solution.block_weights
        if S is not None:
            weights[: self.n_words] += S @ block_weights[-S.shape[1] :]
            block_weights = block_weights[: -S.shape[1]]
        if factor:
            # a class without a column has a weight of 0
            factors = solution.own_weights * np.float32(factor)
            self._fold_scores.add_embedding(weights[: self.n_words], settings["shrinkage"], factors)
        for rows, weight in self._summed(settings):
            n_dims = rows.shape[1]
            weights[: self.n_words] += rows @ (block_weights[:n_dims] * weight)
            block_weights = block_weights[n_dims:]
        words = LinearScorer(self.vectorizers[0], weights[: self.n_words], solution.intercept)
        characters = encoder = None
        nothing = np.zeros_like(solution.intercept)
        if len(self.vectorizers) > 1:
            characters = LinearScorer(self.vectorizers[1], weights[self.n_words :], nothing)
        if (weight := settings["encoder_weight"]) and self.corpus.encoder is not None:
            own = block_weights * np.float32(weight)
            encoder = EncoderScorer(self.corpus.encoder, own, nothing, self.corpus.n_jobs)
        return JointScorer.of(words, characters, encoder)

    def _problem(
        self, settings: Settings, rows: Ints
    ) -> tuple[OneVsRest | Softmax, float, Floats32 | None]:
        """Return the problem to solve, and what made features of labels: to be folded into weights.

        That is the factor of word-class scores, and the vectors (v, k) of structural columns, if
        any. The documents outside the rows are seen by nothing that was learned from labels.
        """
        seen = self._without(self._held_out_folds(rows))
        if seen is not self:
            return seen._problem(settings, rows)
        labels, factor, S = self.documents.labels, 0.0, None
        features = self._beside_vectors(settings)
        if settings["structural_weight"]:
            structural, S = self._structural(settings, rows)
            features = features.with_block(np.hstack([features.block, structural]))
        if settings["loss"] == "softmax":
            return Softmax(features, labels.Y, self._costs(rows)), factor, S
        if settings["block_weight"]:
            own = self._own(settings["shrinkage"], rows)
            squares = np.einsum("nm,nm->n", own, own)[rows]
            size = float(np.sqrt(squares.sum() / max(len(rows) * own.shape[1], 1)))
            factor = settings["block_weight"] / size if size > 0 else 0.0
            features = features.with_own(own * np.float32(factor))
        threads = n_threads(self.corpus.n_jobs)
        return OneVsRest(features, labels.Y, self._costs(rows), threads), factor, S

    def _beside_vectors(self, settings: Settings) -> Features:
        """Return X beside sums of vectors, pretrained and of other tasks, and the encoder's."""
        names = "vector_weight", "other_weight", "encoder_weight"
        key = tuple(settings[name] for name in names)
        if not any(key):
            return self._plain
        if key not in self._with_vectors:
            blocks = [self._words @ (rows * weight) for rows, weight in self._summed(settings)]
            if weight := settings["encoder_weight"]:
                blocks.append(self.corpus.encoded * np.float32(weight))
            block = np.hstack(blocks).astype(np.float32)
            self._with_vectors[key] = self._plain.with_block(block)
        return self._with_vectors[key]

    def _summed(self, settings: Settings) -> list[tuple[Floats32, np.float32]]:
        """Return the vectors (v, d) of words that a document sums up, and the weights of sums."""
        found = []
        if weight := settings["vector_weight"]:
            found.append((self._vector_rows, np.float32(weight)))
        if weight := settings["other_weight"]:
            found.append((self._task_rows, np.float32(weight)))
        return found

    def _structural(self, settings: Settings, rows: Ints) -> tuple[Floats32, Floats32]:
        """Return structural columns (n, k), weighted, and the vectors (v, k) they are sums of.

        The labels of some rows decide which terms are telling. A document's columns are by vectors
        that were made without its fold, as there will be for new documents.
        """
        labels, X, shrinkage = self.documents.labels, self._words, settings["shrinkage"]
        told = WordClassCounts.of(X[rows], labels.Y[rows], information_gain.NEEDS)
        Y = presence(X, telling_terms(told, settings["structural_problems"]))
        scores = FoldScores(X, Y, self.folds, N_FOLDS, self.documents.weights)
        made = scores.scores(shrinkage, self._held_out_folds(rows))
        factor = np.float32(settings["structural_weight"] / mean_length(made[rows]))
        S = np.zeros((self.n_words, Y.shape[1]), np.float32)
        scores.add_embedding(S, shrinkage, np.full(Y.shape[1], factor))
        return made * factor, S

    def _own(self, shrinkage: float, rows: Ints) -> Floats32:
        """Return the word-class scores (n, m) by the labels of some rows, never a document's own.

        A class with fewer than two documents has zeros.
        """
        if self._own_shrinkage != shrinkage:  # only the last one's are kept: they are large
            self._own_shrinkage, self._own_scores = shrinkage, {}
        held_out = self._held_out_folds(rows)
        if held_out not in self._own_scores:
            made = self._fold_scores.scores(shrinkage, held_out)
            n_members = np.asarray(self.documents.labels.Y[rows].sum(axis=0)).ravel()
            made[:, n_members < _ENOUGH] = 0.0
            self._own_scores[held_out] = made
        return self._own_scores[held_out]

    def _held_out_folds(self, rows: Ints) -> tuple[int, ...]:
        """Return the folds that none of some rows is in."""
        return tuple(sorted(set(self.folds.tolist()) - set(self.folds[rows].tolist())))

    @cached_property
    def _fold_scores(self) -> FoldScores | ReweightedScores:
        terms, Y = self._supervised[0], self.documents.labels.Y
        given = Y, self.folds, N_FOLDS, self.documents.weights
        if terms is None:
            return FoldScores(self._words, *given)
        return ReweightedScores(terms.weighted, *given)

    @cached_property
    def _words(self) -> Sparse:
        """The columns of X that are words: X itself, not a copy, where there is nothing else."""
        return self.X if self.n_words == self.n_terms else self.X[:, : self.n_words]

    @cached_property
    def _vector_rows(self) -> Floats32:
        """The pretrained vectors (v, q) of words, stretched so that a document's length is 1."""
        terms = self.vectorizers[0].vocabulary_.terms
        E = EmbeddingMatrix.of(self.corpus.vectors, vocabulary=terms, keep_unseen=False)
        return self._stretched(E.matrix[: self.n_words])

    @cached_property
    def _task_rows(self) -> Floats32:
        """The vectors (v, d) of words in other tasks, those of each task stretched like these."""
        terms = self.vectorizers[0].vocabulary_.terms
        E = EmbeddingMatrix.of(other=self.corpus.tasks, vocabulary=terms, keep_unseen=False)
        rows = E.matrix[: self.n_words]
        return np.hstack([self._stretched(rows[:, place]) for place in E.blocks.values()])

    def _stretched(self, rows: Floats32) -> Floats32:
        return np.asarray(rows / mean_length(self._words @ rows), dtype=np.float32)

    def _costs(self, rows: Ints) -> Costs:
        labels, weights = self.documents.labels, self.documents.weights
        if self.corpus.class_weights is None:
            is_multilabel = labels.codeframe.is_multilabel
            return Costs.balanced(labels.Y, weights, rows, is_multilabel=is_multilabel)
        return replace(Costs.equal(*labels.Y.shape, weights), positive=self.corpus.class_weights)


def _identity(settings: Settings, n_rotations: int) -> object:
    return (*sorted(settings.items()), n_rotations)
