"""What documents look like to `linear`: no feature of a document has seen its own labels."""

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

_N_FIFTHS = 5  # of the documents, two folds each, that are held out in turn
_MIN_CLASS_DOCS = 2  # of a class with word-class scores: one alone is never crossed
_TOLERANCE = 1e-3  # of the final weights; tighter ones change no decision
_BYTES_PER_VALUE = 24  # of X, for what is made of it while learning
_MAX_SEARCH_DOCS_SCORED = 4_000  # if there are more documents, only a fifth of them is scored


@dataclass(eq=False)
class LinearCorpus:
    """The documents to learn from, and what they look like for any choice of terms.

    Parameters
    ----------
    documents : Documents
        To learn from.
    folds : array of shape (n,)
        The fold of each document.
    make_weighers : callable
        Returns the unfitted weighers of settings: that of words, and that of characters if they are
        used.
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
    make_weighers: Callable[[LinearSettings], Sequence[TermWeigher]]
    vectors: WordVectors | None
    tasks: Mapping[str, WordClassEmbeddings]
    encoder: SentenceEncoder | None
    class_weights: Floats | None
    n_jobs: int | None
    _features: dict[object, "LinearFeatures"] = field(init=False, default_factory=dict)

    def features(self, settings: LinearSettings) -> "LinearFeatures":
        """Return the features of the documents with the terms that settings choose, made once."""
        key = (settings.ngrams, settings.characters)
        if key not in self._features:
            weighers, blocks = self._weigh_terms(self.make_weighers(settings))
            self._features[key] = LinearFeatures(self, settings, weighers, blocks)
        return self._features[key]

    def _weigh_terms(
        self, unfitted: Sequence[TermWeigher]
    ) -> tuple[list[TermWeigher], list[Sparse]]:
        """Return fitted weighers, and X of each, which has no columns if no term remains.

        This is an error, unless there are terms of another weigher, or an encoder.
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
        """Forget all features and held-out scores but those for some settings: they are large."""
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
    """What documents look like for one choice of terms: X, word-class scores, sums of vectors.

    Parameters
    ----------
    corpus : LinearCorpus
        The documents.
    settings : LinearSettings
        With the n-grams of words and of characters.
    weighers : list of TermWeigher
        The fitted weighers of words, and of characters if they are used.
    blocks : list of sparse matrices of shape (n, v)
        X of each weigher.

    Attributes
    ----------
    fifths : array of shape (n,)
        Which documents are held out together.
    n_terms : int
        Number of terms, of words and of characters.
    held_out : dict
        The scores of held-out documents by settings and number of rotations, until they are
        forgotten.
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
        # two folds each; folds apart where there are few documents: those of a class are dealt to
        # neighbors, and two of them are not to be held out together
        is_few = settings.loss == "softmax"
        self.fifths = self.folds % _N_FIFTHS if is_few else self.folds // 2
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
        # beside them X in single precision, sums by class of its values, scores of all documents
        more = _BYTES_PER_VALUE * self.X.nnz + 12 * n_docs * n_classes
        # a softmax keeps its last steps, too
        bytes_per_weight = 200 if settings.loss == "softmax" else 4
        bytes_per_term = bytes_per_weight * n_classes
        check_table(f"{what} from {n_docs:,} documents", doc_freq, bytes_per_term, more)

    # --- documents held out -------------------------------------------------------------------

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
        values of C rise.
        """
        n_rotations = self.n_rotations(max_docs)
        candidates = [replace(settings, C=C) for C in sorted(penalties)]
        if len(candidates) == 1 and (candidates[0], n_rotations) in self.held_out:
            rows, scores = self.held_out[candidates[0], n_rotations]  # these won the search
            return HeldOutScores(rows, scores[None])
        rising = np.array(sorted(penalties))
        splits = fold_splits(self.fifths)[:n_rotations]
        own_scores: dict[int, Floats32] = {}  # by the first row that is held out
        if settings.block_weight:
            for split in splits:
                held_out_folds = np.unique(self.folds[split.held_out]).tolist()
                scores = self._fold_scores.scores(settings.shrinkage, held_out_folds)
                own_scores[int(split.held_out[0])] = scores

        def validate(split: Split) -> Floats32:
            own = own_scores.get(int(split.held_out[0]))
            solver, _ = self._solver(settings, split.train, own)
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
        """Return how many fifths to hold out in turn, to score about so many documents."""
        return min(max(-(-max_docs // max(len(self.folds), 1)), 1), _N_FIFTHS)

    # --- learning -----------------------------------------------------------------------------

    def solve(self, settings: LinearSettings) -> LinearScorer | SumScorer:
        """Learn from all documents, and fold everything into one weight per term and class."""
        self.held_out = {}  # all that is to come needs memory
        own = None
        if settings.block_weight:
            own = self._fold_scores.scores(settings.shrinkage)
        solver, factor = self._solver(settings, np.arange(len(self.folds)), own)
        del own
        solution = solver.solve(settings.C, tolerance=_TOLERANCE)
        weights = solution.weights
        block_weights = solution.block_weights
        if factor:
            # a class without a column has a weight of 0
            factors = solution.own_weights * np.float32(factor)
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
        self, settings: LinearSettings, rows: Ints, own: Floats32 | None
    ) -> tuple[OneVsRest | Softmax, float]:
        """Return the solver, and the factor of the word-class scores in its features.

        No feature depends on the labels of documents outside the rows.

        Parameters
        ----------
        own : array of shape (n, m) or None
            The word-class scores, which no document has seen its own labels in; None: they have no
            weight.
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
        if own is not None:
            # in double precision: the order of the classes must not move the sum
            squares = np.einsum("nm,nm->n", own, own, dtype=np.float64)[rows]
            size = float(np.sqrt(squares.sum() / max(len(rows) * own.shape[1], 1)))
            factor = settings.block_weight / size if size > 0 else 0.0
            features = features.with_own(own * np.float32(factor))
        return OneVsRest(Problem(features, Y, costs), n_threads(self.corpus.n_jobs)), factor

    def _beside_vectors(self, settings: LinearSettings) -> Features:
        """Return X beside sums of vectors, pretrained and of other tasks, and the encoder's."""
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
        """Return the vectors (v, d) of words that a document sums up, and the weights of sums."""
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
        """The pretrained vectors (v, q) of words, stretched so that a document's length is 1."""
        terms = self.weighers[0].terms
        E = EmbeddingMatrix.of(self.corpus.vectors, vocabulary=terms, keep_unseen=False)
        return self._stretched(E.matrix[: self.n_words])

    @cached_property
    def _task_rows(self) -> Floats32:
        """The vectors (v, d) of words in other tasks, those of each task stretched like these."""
        terms = self.weighers[0].terms
        E = EmbeddingMatrix.of(other=self.corpus.tasks, vocabulary=terms, keep_unseen=False)
        rows = E.matrix[: self.n_words]
        return np.hstack([self._stretched(rows[:, place]) for place in E.blocks.values()])

    def _stretched(self, rows: Floats32) -> Floats32:
        return np.asarray(rows / root_mean_square_length(self._words @ rows), dtype=np.float32)
