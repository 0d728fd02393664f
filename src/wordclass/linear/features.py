"""The features of `linear`; no feature of a document depends on the document's labels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse, root_mean_square_length
from wordclass.corpus.splits import HeldOutScores, Split, cross_fit, fold_splits
from wordclass.decision.measures import Target
from wordclass.decision.scorers import EncoderScorer, LinearScorer, SumScorer
from wordclass.decision.thresholds import score_decisions
from wordclass.embedding.cross_fit import FoldScores
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.errors import NoTermError
from wordclass.linear.one_vs_rest import ROUGH_TOLERANCE, OneVsRest
from wordclass.linear.problem import Costs, Features, Problem
from wordclass.linear.search import N_FOLDS, Documents, LinearSettings, LinearTrial
from wordclass.linear.softmax import Softmax
from wordclass.options import check_table, n_threads
from wordclass.sentence.encoder import SentenceEncoder
from wordclass.text.term_weigher import TermWeigher
from wordclass.text.vocabulary import Vocabulary
from wordclass.vectors.word_vectors import WordVectors

_N_FIFTHS = 5  # two folds each, held out in turn
_MIN_CLASS_DOCS = 2  # for word-class scores: a single document cannot be cross-fitted
_TOLERANCE = 1e-3  # of the final weights; tighter ones change no decision
_BYTES_PER_VALUE = 24  # of X, including its copies while learning
_MAX_SEARCH_DOCS_SCORED = 4_000  # if there are more documents, only a fifth of them is scored


@dataclass(eq=False)
class LinearCorpus:
    """The documents to learn from, with cached features for each choice of terms.

    Parameters
    ----------
    documents : Documents
        The documents.
    folds : array of shape (n,)
        The fold of each document.
    make_weighers : callable
        Returns the unfitted weighers of settings: the weigher of words and, if used, the one of
        characters.
    vectors : WordVectors or None
        Pretrained word vectors.
    tasks : dict of str to WordClassEmbeddings
        Embeddings of other tasks by name.
    encoder : SentenceEncoder or None
        Encodes whole texts as vectors.
    class_weights : array of shape (m,) or None
        Factors for the costs of errors on the documents of a class; None: balanced.
    n_jobs : int or None
        Number of threads.
    """

    documents: Documents
    folds: Ints
    make_weighers: Callable[[LinearSettings], Sequence[TermWeigher]]
    vectors: WordVectors | None
    tasks: Mapping[str, WordClassEmbeddings]
    encoder: SentenceEncoder | None
    class_weights: Floats | None
    n_jobs: int | None
    _features: dict[object, "LinearFeatures"] = field(init=False, default_factory=dict)

    def features(self, settings: LinearSettings) -> "LinearFeatures":
        """Return the features of the documents for the terms of some settings, cached."""
        key = (settings.ngrams, settings.characters)
        if key not in self._features:
            weighers, blocks = self._weigh_terms(self.make_weighers(settings))
            self._features[key] = LinearFeatures(self, settings, weighers, blocks)
        return self._features[key]

    def _weigh_terms(
        self, unfitted: Sequence[TermWeigher]
    ) -> tuple[list[TermWeigher], list[Sparse]]:
        """Return the fitted weighers and the matrix X of each, without columns if no term remains.

        Raises NoTermError if no weigher has terms and there is no encoder.
        """
        distinct, places = self.documents.distinct()
        texts = distinct.texts
        weighers: list[TermWeigher] = []
        blocks: list[Sparse] = []
        no_term_error = None
        for weigher in unfitted:
            try:
                fitted, X = weigher.fit_transform(texts, distinct.labels)
            except NoTermError as error:
                no_term_error = error
                fitted = replace(weigher, vocabulary=Vocabulary.empty(len(texts)))
                X = sparse.csr_matrix((len(texts), 0))
            weighers.append(fitted)
            blocks.append(X)
        has_terms = any(block.shape[1] for block in blocks)
        if no_term_error and self.encoder is None and not has_terms:
            raise no_term_error
        return weighers, blocks if places is None else [block[places] for block in blocks]

    def keep(self, settings: LinearSettings) -> None:
        """Free the memory of all features and held-out scores of other settings."""
        key = (settings.ngrams, settings.characters)
        features = self._features[key]
        self._features = {key: features}
        features.held_out = {
            (tried, n_rotations): scores
            for (tried, n_rotations), scores in features.held_out.items()
            if tried == settings
        }

    @cached_property
    def encoded(self) -> Floats32:
        """The vectors (n, d) that the encoder makes of the documents."""
        if self.encoder is None:
            return np.zeros((len(self.folds), 0), np.float32)
        distinct, places = self.documents.distinct()
        vectors = self.encoder.vectors(distinct.texts, self.n_jobs)
        return vectors if places is None else vectors[places]


class LinearFeatures:
    """Features for one choice of terms: term weights, word-class scores and sums of vectors.

    Parameters
    ----------
    corpus : LinearCorpus
        The documents.
    settings : LinearSettings
        The settings, which have the n-grams of words and of characters.
    weighers : list of TermWeigher
        The fitted weighers of words, and of characters if they are used.
    blocks : list of sparse matrices of shape (n, v)
        X of each weigher.

    Attributes
    ----------
    fifths : array of shape (n,)
        The group of each document; the documents of a group are held out together.
    n_terms : int
        Number of terms: words and character n-grams.
    held_out : dict
        Cached scores of held-out documents by settings and number of rotations.
    """

    def __init__(
        self,
        corpus: LinearCorpus,
        settings: LinearSettings,
        weighers: Sequence[TermWeigher],
        blocks: Sequence[Sparse],
    ) -> None:
        self.corpus = corpus
        self.documents = corpus.documents
        self.folds = corpus.folds
        # the softmax is for few documents; those of a class are dealt to neighboring folds, so a
        # fifth takes two distant folds to avoid holding out two documents of the same class
        has_few_docs = settings.loss == "softmax"
        self.fifths = self.folds % _N_FIFTHS if has_few_docs else self.folds // 2
        self.weighers = weighers
        self.n_words = blocks[0].shape[1]
        self.X: Sparse = blocks[0] if len(blocks) == 1 else sparse.hstack(blocks, format="csr")
        # the columns of X that are words: X itself, not a copy, if there is nothing else
        self._words: Sparse = self.X if len(blocks) == 1 else self.X[:, : self.n_words]
        self._terms_alone = Features.of(self.X)
        self._with_vectors: dict[tuple[float, ...], Features] = {}  # by their weights
        self.held_out: dict[tuple[LinearSettings, int], HeldOutScores] = {}
        n_docs, n_classes = self.documents.labels.Y.shape
        doc_freq = np.concatenate([weigher.vocabulary.doc_freq for weigher in self.weighers])
        self.n_terms = len(doc_freq)
        what = f"the weights of {self.n_terms:,} terms by {n_classes:,} classes"
        # X in single precision, sums of its values by class, and scores of all documents
        other_bytes = _BYTES_PER_VALUE * self.X.nnz + 12 * n_docs * n_classes
        # L-BFGS stores its last steps, too
        bytes_per_weight = 200 if settings.loss == "softmax" else 4
        bytes_per_term = bytes_per_weight * n_classes
        check_table(f"{what} from {n_docs:,} documents", doc_freq, bytes_per_term, other_bytes)

    # --- held-out documents -------------------------------------------------------------------

    def trials(
        self, settings: LinearSettings, penalties: Sequence[float], target: Target
    ) -> list[LinearTrial]:
        """Score settings with several values of C on held-out documents."""
        rising = sorted(penalties)
        rows, scores = self.held_out_scores(settings, rising, _MAX_SEARCH_DOCS_SCORED)
        Y = self.documents.labels.Y[rows]
        trials = []
        for C, scores_with_C in zip(rising, scores, strict=True):
            measures = score_decisions(scores_with_C, Y, self.documents.labels.codeframe)
            trials.append(
                LinearTrial(
                    replace(settings, C=C),
                    measures.macro_f1,
                    measures.micro_f1,
                    measures.of(target),
                )
            )
        return trials

    def held_out_scores(
        self, settings: LinearSettings, penalties: Sequence[float], max_docs: int
    ) -> HeldOutScores:
        """Return the scores (values of C, k, m) of held-out documents by models of the others.

        A fifth of the documents is held out at a time, until about `max_docs` are scored. The
        values of C are in ascending order.
        """
        n_rotations = self.n_rotations(max_docs)
        candidates = [replace(settings, C=C) for C in sorted(penalties)]
        if len(candidates) == 1 and (candidates[0], n_rotations) in self.held_out:
            rows, scores = self.held_out[candidates[0], n_rotations]  # cached by the search
            return HeldOutScores(rows, scores[None])
        rising = np.array(sorted(penalties))
        splits = fold_splits(self.fifths)[:n_rotations]
        scores_by_split: dict[int, Floats32] = {}  # by the first row that is held out
        if settings.block_weight:
            for split in splits:
                held_out_folds = np.unique(self.folds[split.held_out]).tolist()
                scores = self._fold_scores.scores(settings.shrinkage, held_out_folds)
                scores_by_split[int(split.held_out[0])] = scores

        def validate(split: Split) -> Floats32:
            class_scores = scores_by_split.get(int(split.held_out[0]))
            solver, _ = self._solver(settings, split.train, class_scores)
            return solver.validate(rising, split.train, split.held_out, ROUGH_TOLERANCE)

        rows, all_scores = cross_fit(splits, validate, step="validating")
        for candidate, scores in zip(candidates, all_scores, strict=True):
            self.held_out[candidate, n_rotations] = HeldOutScores(rows, scores)
        return HeldOutScores(rows, all_scores)

    def has_class_in_training(self, rows: Ints) -> Flags:
        """Mask the held-out documents, of one label each, whose class occurs outside their fifth.

        The score of a document whose class was never learned says nothing about probabilities.
        Documents of weight 0 are masked out, too.
        """
        Y = self.documents.labels.Y
        fifths = self.fifths
        weights = self.documents.weights
        if weights is None:
            weights = np.ones(len(fifths))
        weight_inside = np.zeros((_N_FIFTHS, Y.shape[1]))
        np.add.at(weight_inside, (fifths, Y.indices), weights)
        weight_outside = weight_inside.sum(axis=0) - weight_inside
        mask: Flags = (weight_outside[fifths, Y.indices] > 0) & (weights > 0)
        return mask[rows]

    def has_useful_score(self, rows: Ints) -> Flags:
        """Mask the held-out documents whose scores thresholds and probabilities are learned from.

        Documents of weight 0 are masked out. So are, in a multilabel task, documents whose labels
        are estimates, and otherwise those whose class was never learned.
        """
        if not self.documents.labels.codeframe.is_multilabel:
            return self.has_class_in_training(rows)
        mask: Flags = np.ones(len(rows), np.bool_)
        if self.documents.weights is not None:
            mask &= self.documents.weights[rows] > 0
        if self.documents.n_labelled is not None:
            mask &= rows < self.documents.n_labelled
        return mask

    def n_rotations(self, max_docs: int) -> int:
        """Return the number of fifths to hold out in turn to score about `max_docs` documents."""
        return min(max(-(-max_docs // max(len(self.folds), 1)), 1), _N_FIFTHS)

    # --- learning -----------------------------------------------------------------------------

    def solve(self, settings: LinearSettings) -> LinearScorer | SumScorer:
        """Learn from all documents, and merge all features into one weight per term and class."""
        self.held_out = {}  # frees memory for learning
        class_scores = None
        if settings.block_weight:
            class_scores = self._fold_scores.scores(settings.shrinkage)
        solver, factor = self._solver(settings, np.arange(len(self.folds)), class_scores)
        del class_scores
        solution = solver.solve(settings.C, tolerance=_TOLERANCE)
        weights = solution.weights
        block_weights = solution.block_weights
        if factor:
            # a class without a column has a weight of 0
            factors = solution.class_column_weights * np.float32(factor)
            self._fold_scores.add_embedding(weights[: self.n_words], settings.shrinkage, factors)
        for rows, weight in self._summed_vectors(settings):
            n_dims = rows.shape[1]
            weights[: self.n_words] += rows @ (block_weights[:n_dims] * weight)
            block_weights = block_weights[n_dims:]
        words = LinearScorer(self.weighers[0], weights[: self.n_words], solution.intercept)
        characters = encoder = None
        no_intercept = np.zeros_like(solution.intercept)
        if len(self.weighers) > 1:
            characters = LinearScorer(self.weighers[1], weights[self.n_words :], no_intercept)
        if settings.encoder_weight and self.corpus.encoder is not None:
            encoder_weights = block_weights * np.float32(settings.encoder_weight)
            encoder = EncoderScorer(
                self.corpus.encoder, encoder_weights, no_intercept, self.corpus.n_jobs
            )
        return SumScorer.of(words, characters, encoder)

    def _solver(
        self, settings: LinearSettings, rows: Ints, class_scores: Floats32 | None
    ) -> tuple[OneVsRest | Softmax, float]:
        """Return the solver, and the factor of the word-class scores in its features.

        No feature depends on the labels of documents outside the rows.

        Parameters
        ----------
        class_scores : array of shape (n, m) or None
            The cross-fitted word-class scores; None if their weight is zero.
        """
        documents = self.documents
        Y = documents.labels.Y
        features = self._beside_vectors(settings)
        if self.corpus.class_weights is None:
            is_multilabel = documents.labels.codeframe.is_multilabel
            costs = Costs.balanced(Y, documents.weights, rows, is_multilabel=is_multilabel)
        else:
            equal = Costs.equal(Y.shape[0], Y.shape[1], documents.weights)
            costs = replace(equal, positive=self.corpus.class_weights)
        factor = 0.0
        if settings.loss == "softmax":
            return Softmax(Problem(features, Y, costs)), factor
        if class_scores is not None:
            # in double precision: the sum must not depend on the order of the classes
            squares = np.einsum("nm,nm->n", class_scores, class_scores, dtype=np.float64)[rows]
            size = float(np.sqrt(squares.sum() / max(len(rows) * class_scores.shape[1], 1)))
            factor = settings.block_weight / size if size > 0 else 0.0
            features = features.with_class_columns(class_scores * np.float32(factor))
        return OneVsRest(Problem(features, Y, costs), n_threads(self.corpus.n_jobs)), factor

    def _beside_vectors(self, settings: LinearSettings) -> Features:
        """Return X with a dense block: sums of word vectors and the vectors of the encoder."""
        key = (settings.vector_weight, settings.other_weight, settings.encoder_weight)
        if not any(key):
            return self._terms_alone
        if key not in self._with_vectors:
            blocks = [
                self._words @ (rows * weight) for rows, weight in self._summed_vectors(settings)
            ]
            if settings.encoder_weight:
                blocks.append(self.corpus.encoded * np.float32(settings.encoder_weight))
            block = np.hstack(blocks).astype(np.float32)
            self._with_vectors[key] = self._terms_alone.with_block(block)
        return self._with_vectors[key]

    def _summed_vectors(self, settings: LinearSettings) -> list[tuple[Floats32, np.float32]]:
        """Return the word vectors (v, d) to sum per document, each with the weight of its sum."""
        vectors = []
        if settings.vector_weight:
            vectors.append((self._vector_rows, np.float32(settings.vector_weight)))
        if settings.other_weight:
            vectors.append((self._task_rows, np.float32(settings.other_weight)))
        return vectors

    @cached_property
    def _fold_scores(self) -> FoldScores:
        """The word-class scores of the documents, by sums over folds."""
        return FoldScores(
            self._words,
            self.documents.labels.Y,
            self.folds,
            N_FOLDS,
            self.documents.weights,
            min_class_docs=_MIN_CLASS_DOCS,
        )

    @cached_property
    def _vector_rows(self) -> Floats32:
        """The pretrained word vectors (v, q), scaled to a mean document length of 1."""
        terms = self.weighers[0].terms
        E = EmbeddingMatrix.of(self.corpus.vectors, vocabulary=terms, keep_unseen=False)
        return self._scale_rows(E.matrix[: self.n_words])

    @cached_property
    def _task_rows(self) -> Floats32:
        """The word vectors (v, d) of other tasks, each scaled to a mean document length of 1."""
        terms = self.weighers[0].terms
        E = EmbeddingMatrix.of(other=self.corpus.tasks, vocabulary=terms, keep_unseen=False)
        rows = E.matrix[: self.n_words]
        return np.hstack([self._scale_rows(rows[:, place]) for place in E.blocks.values()])

    def _scale_rows(self, rows: Floats32) -> Floats32:
        return np.asarray(rows / root_mean_square_length(self._words @ rows), dtype=np.float32)
