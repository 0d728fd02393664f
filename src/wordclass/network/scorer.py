"""The scorer of a trained network."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from wordclass import progress
from wordclass.arrays import Floats, Floats32
from wordclass.decision.explanation import Contributions
from wordclass.decision.scorers import Scorer
from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.network import machine
from wordclass.network.text_network import TextNetwork
from wordclass.options import list_texts, n_threads
from wordclass.sentence.encoder import SentenceEncoder
from wordclass.sentence.tokens import Float16s, token_vectors
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import Analyze
from wordclass.text.sequences import Sequences, Side


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkScorer(Scorer):
    """Scorer of a trained network. The scores are its logits.

    Parameters
    ----------
    network : TextNetwork
        The trained network.
    embedding : EmbeddingMatrix
        The embedding matrix, which turns texts into ids.
    context : SentenceEncoder or None
        The encoder that makes vectors of tokens in context, if the network reads them.
    max_length : int
        The number of tokens of a text that are read.
    pad : "left" or "right"
        The side of the padding.
    n_jobs : int or None
        The number of threads. None is one, -1 all cores.
    is_single_label : bool
        Whether the probabilities of a text sum to 1.
    """

    network: TextNetwork
    embedding: EmbeddingMatrix
    context: SentenceEncoder | None
    max_length: int
    pad: Side
    n_jobs: int | None
    is_single_label: bool

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.network.head.out_features)

    @property
    def reads_every_text(self) -> bool:
        """True: a network has logits for any text."""
        return True

    @property
    def is_additive(self) -> bool:
        """False: logits are not sums over words."""
        return False

    @property
    def analyze(self) -> Analyze:
        """The analyzer of the embedding matrix."""
        return self.embedding.analyze

    @property
    def terms(self) -> Sequence[str]:
        """The words of the training texts that have a vector."""
        return self.embedding.terms

    def scores(self, texts: Iterable[str]) -> Floats32:
        """Return the logits (n, m) of texts."""
        listed = list_texts(texts)
        with machine.threads(n_threads(self.n_jobs)):
            return self._logits(listed)

    def probabilities(self, scores: Floats | Floats32) -> Floats:
        """Return the softmax of logits (n, m), or one sigmoid per class in a multilabel task."""
        logits = scores.astype(np.float64)
        if self.is_single_label:
            return np.asarray(special.softmax(logits, axis=1))
        return np.asarray(special.expit(logits))

    def _logits(self, texts: list[str]) -> Floats32:
        E = self.embedding
        ids = E.sequences(texts, self.max_length, n_jobs=self.n_jobs)
        if self.context is None:
            return self.network.scores(ids, padding=E.padding, pad=self.pad)
        logits = np.zeros((len(texts), self.n_classes), np.float32)
        start = 0
        for vectors in token_vectors(self.context, E.analyze, texts, self.max_length, self.n_jobs):
            rows = np.arange(start, start + len(vectors))
            with progress.on_progress(progress.ignore):  # the encoder reports the progress of both
                logits[rows] = self.network.scores(
                    ids.part(rows), padding=E.padding, pad=self.pad, context=vectors
                )
            start += len(vectors)
        return logits

    def contributions(self, text: str) -> Contributions:
        """Return, for each word, the drop in the scores when the word is masked.

        The intercept is the remainder of the scores. Logits are not sums, so it may be large if
        words matter only in combination. Vectors in context are not recomputed, so the vectors of
        other words still depend on the masked word.
        """
        E = self.embedding
        words = list(E.analyze(text))[: self.max_length]
        ids = np.array([E.row(word) for word in words], np.int64)
        context = self._context_vectors(text)
        distinct = sorted({word for word in words if context or E.row(word) != E.unknown})
        variants = np.tile(ids, (len(distinct) + 1, 1))
        for row, word in enumerate(distinct, start=1):
            variants[row, np.array(words) == word] = E.padding
        ends = np.arange(len(variants) + 1) * len(ids)
        with machine.threads(n_threads(self.n_jobs)):
            logits = self.network.scores(
                Sequences(variants.ravel(), ends),
                padding=E.padding,
                pad=self.pad,
                context=context and context * len(variants),
            )
        drops = logits[0] - logits[1:]
        return Contributions.of_table(distinct, drops, logits[0] - drops.sum(axis=0))

    def _context_vectors(self, text: str) -> list[Float16s] | None:
        """Return a list with one item: the vectors (t, d) of the tokens of a text in context."""
        if self.context is None:
            return None
        analyze = self.embedding.analyze
        blocks = token_vectors(self.context, analyze, [text], self.max_length, self.n_jobs)
        return [vectors for block in blocks for vectors in block]

    def to_state(self) -> ModelState:
        """Return the vectors, the weights and the identity of the encoder."""
        metadata = {} if self.context is None else {"context": self.context.to_metadata()}
        return self.embedding.to_state() | ModelState.of(metadata, **self.network.to_arrays())
