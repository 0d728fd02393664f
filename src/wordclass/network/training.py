"""The training of a network: batches, steps, early stopping, the best weights, history."""

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn, optim
from torch.nn import functional

from wordclass import progress
from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.decision.measures import Scores, Target
from wordclass.errors import InputError
from wordclass.network.checkpoint import Checkpoint, Epoch, State, Weights, copied, load, trained
from wordclass.network.machine import Processes, keep_freed_memory, threads
from wordclass.network.text_network import TextNetwork, brought, in_order
from wordclass.text.sequences import Sequences, Side

_BATCHES_A_POOL = 20  # texts of similar length are looked for among so many batches
_PREPARED = 2  # batches that wait for the training thread
_END: Any = object()

Item = TypeVar("Item")
Judge = Callable[[Floats32, Sparse], Scores]
Watch = Callable[[Epoch, Floats32 | None], dict[str, float]]

# --- what a network reads, and what it should say ----------------------------------------------


@dataclass(frozen=True, eq=False)
class FoldVectors:
    """What the word-class rows of a text's fold differ by from those of all texts.

    Parameters
    ----------
    differences : array of shape (folds, v, r)
        For the terms of the vocabulary, which are the first rows of E.
    folds : array of shape (n,)
        The fold of each text.
    """

    differences: Floats32
    folds: Ints

    def of(self, texts: Sequences, rows: Ints) -> Floats32:
        """Return a row for each token of some texts (tokens, r), text after text."""
        _, n_terms, n_dims = self.differences.shape
        folds = np.repeat(self.folds[rows], texts.lengths)
        is_term = texts.ids < n_terms
        found = np.zeros((len(texts.ids), n_dims), np.float32)
        found[is_term] = self.differences[folds[is_term], texts.ids[is_term]]
        return found


@dataclass(frozen=True, eq=False)
class Batch:
    """What a network reads, and what it should say."""

    ids: Tensor  # (b, l)
    lengths: Tensor  # (b,)
    shift: dict[str, Tensor]  # by block: what is added to its rows (tokens, width), text after text
    truth: Tensor  # (b,) the class, or (b, m) 0/1
    weights: Tensor | None  # (b,)

    def to(self, device: torch.device) -> "Batch":
        """Return the same batch elsewhere."""
        tensors = {name: each for name, each in vars(self).items() if isinstance(each, Tensor)}
        moved = {name: each.to(device) for name, each in tensors.items()}
        shift = {name: each.to(device) for name, each in self.shift.items()}
        return replace(self, **moved, shift=shift)


@dataclass(frozen=True, eq=False)
class LabelledSequences:
    """Texts to learn from.

    Parameters
    ----------
    texts : Sequences
        Their tokens, as rows of E.
    Y : sparse 0/1 matrix of shape (n, m)
        Their classes.
    is_multilabel : bool
        Whether a text may have several classes, or none.
    padding : int
        The row of the padding.
    pad : "right" or "left", default="right"
        On which side it goes.
    weights : array of shape (n,), optional
        How much each text counts; None: all the same.
    fold_vectors : FoldVectors, optional
        Vectors of the word-class block by fold; None: those of E.
    context : sequence of arrays of shape (t, d), optional
        The vectors of each text's tokens in their context; None: there are none.
    """

    texts: Sequences
    Y: Sparse
    is_multilabel: bool
    padding: int
    pad: Side = "right"
    weights: Floats | None = None
    fold_vectors: FoldVectors | None = None
    context: Sequence[NDArray[Any]] | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def part(self, rows: Ints, fold_vectors: FoldVectors | None = None) -> "LabelledSequences":
        """Return some of the texts, in the order given, maybe with vectors of their own."""
        return replace(
            self,
            texts=self.texts.part(rows),
            Y=self.Y[rows],
            weights=None if self.weights is None else self.weights[rows],
            fold_vectors=fold_vectors,
            context=None if self.context is None else [self.context[row] for row in rows],
        )

    def batch(self, rows: Ints) -> Batch:
        """Put some texts together."""
        texts = self.texts.part(rows)
        padded = texts.padded(self.padding, self.pad)
        shift = brought(self.context, rows)
        if self.fold_vectors is not None:
            shift["word_class"] = torch.from_numpy(self.fold_vectors.of(texts, rows))
        ids, lengths = torch.from_numpy(padded.ids), torch.from_numpy(padded.lengths)
        return Batch(ids, lengths, shift, *self.truth(rows))

    def truth(self, rows: Ints) -> tuple[Tensor, Tensor | None]:
        """Return what a network should say of some texts, and how much each of them counts."""
        Y, weights = self.Y[rows], None
        if self.weights is not None:
            weights = torch.from_numpy(self.weights[rows].astype(np.float32))
        if self.is_multilabel:
            return torch.from_numpy(Y.toarray().astype(np.float32)), weights
        return torch.from_numpy(Y.indices.astype(np.int64)), weights


def shuffled(lengths: Ints, size: int, seed: int, epoch: int) -> list[Ints]:
    """Return the texts of each batch of an epoch; every epoch has an order of its own.

    The texts of a batch have similar lengths (n,): of every twenty batches' worth of texts, drawn
    at random, the longest make a batch, and so on. Then batches are shuffled.
    """
    random = np.random.default_rng([int(seed) % 2**64, epoch])
    order = random.permutation(len(lengths))
    batches: list[Ints] = []
    for start in range(0, len(order), size * _BATCHES_A_POOL):
        pool = order[start : start + size * _BATCHES_A_POOL]
        batches += in_order(pool[np.argsort(-lengths[pool], kind="stable")], size)
    return [batches[k] for k in random.permutation(len(batches))]


def prepared(items: Iterable[Item]) -> Generator[Item, None, None]:
    """Iterate in another thread, a few items ahead, so that nobody waits for them.

    An error of the items comes through when it is their turn. Closed early, it ends the thread.
    """
    source = iter(items)
    with ThreadPoolExecutor(1, "batches") as worker:
        ahead = deque(worker.submit(next, source, _END) for _ in range(_PREPARED))
        while (item := ahead.popleft().result()) is not _END:
            ahead.append(worker.submit(next, source, _END))
            yield item


# --- the training itself ------------------------------------------------------------------------


@dataclass(frozen=True)
class Schedule:
    """How long, and in which steps, a network is trained; the defaults are the paper's.

    Parameters
    ----------
    lr : float, default=0.001
        Adam's learning rate.
    batch_size : int, default=100
        Texts per step.
    clip : float, default=0.1
        Every element of a gradient is cut to this much, up or down.
    max_epochs : int, default=200
        Passes at most.
    patience : int, default=10
        Stop after so many epochs without a better validation score.
    batches_per_epoch : int, optional
        End an epoch after so many steps, for huge sets; None: after all texts.
    reshuffles : bool, default=True
        Whether every epoch has an order of its own; False: always the same, as in the paper's runs.
    last_rate : float, default=1.0
        What the learning rate is multiplied with in the last epoch.
    ties_count : bool, default=False
        Whether an equal validation score counts as better, as in the paper's runs.
    averages : bool, default=False
        Whether the mean of the best epoch's weights and of those of all later epochs is kept
        instead of the best ones, and the mean over the last epoch's steps instead of its last one.
    full_precision : bool, default=False
        Whether a GPU computes in float32 throughout, as in the paper's runs, and not in bfloat16.
    target : str, default="macro_f1"
        The validation score: see `Scores.of`.
    """

    lr: float = 1e-3
    batch_size: int = 100
    clip: float = 0.1
    max_epochs: int = 200
    patience: int = 10
    batches_per_epoch: int | None = None
    reshuffles: bool = True
    last_rate: float = 1.0
    ties_count: bool = False
    averages: bool = False
    full_precision: bool = False
    target: Target = "macro_f1"


@dataclass(eq=False, repr=False)
class Training:
    """One training of one network, which it changes.

    Parameters
    ----------
    network : TextNetwork
        With its first weights.
    texts : LabelledSequences
        To learn from.
    validation : LabelledSequences or None
        Decides when to stop, and is learned from for one epoch at the very end, together with the
        training texts where these are shuffled anew (alone, it lowered Reuters by .02 macro F1);
        None: all `max_epochs` are done.
    schedule : Schedule
        How to go about it.
    judge : callable
        What validation scores are worth.
    seed : int, default=0
        Of dropout and of the order of texts.
    checkpoint : Checkpoint, optional
        Where the state is kept.
    processes : Processes, optional
        Those that train together.
    n_threads : int, default=1
        Of each of them.
    watch : callable, optional
        Is told of each epoch, with the scores (n, m) of the validation texts; what it returns is
        kept in the history.

    Attributes
    ----------
    validation_scores : array of shape (n, m), or None
        Those of the best weights before the last epoch, the one on the validation texts.
    """

    network: TextNetwork
    texts: LabelledSequences
    validation: LabelledSequences | None
    schedule: Schedule
    judge: Judge
    seed: int = 0
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    processes: Processes = field(default_factory=Processes)
    n_threads: int = 1
    watch: Watch | None = None
    validation_scores: Floats32 | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._parallel = self.processes.joined(self.network)
        self._device = next(self.network.parameters()).device
        weights = [weight for weight in self.network.parameters() if weight.requires_grad]
        self._optimizer = optim.Adam(weights, lr=self.schedule.lr)
        self._state = State()
        self._mean: Weights = {}
        self._best: Weights = {}
        self._begun = 0.0  # when the epoch would have begun, had nothing interrupted it

    def run(self) -> State:
        """Train until there is nothing more to gain; the network has the best weights then."""
        gpus = [self._device] if self._device.type == "cuda" else []
        with torch.random.fork_rng(devices=gpus), threads(self.n_threads), keep_freed_memory():
            self._resume()
            while not self._state.is_stopped and self._state.epoch < self.schedule.max_epochs:
                self._train_epoch()
            if not self._state.is_over:
                self._finish()
            elif self.validation is not None:
                self.validation_scores = self._best_scores(self.validation)
        return self._state

    def _resume(self) -> None:
        """Go back to the state of the checkpoint: all processes, or none."""
        failure: InputError | None = None
        try:
            kept = ("best", "mean")
            self._state, found = self.checkpoint.read(self.network, self._optimizer, kept)
            self._best, self._mean = found["best"], found["mean"]
        except InputError as error:
            failure = error
        # nobody leaves before all have read: whoever starts the next training may delete the file
        done = math.nan if failure else self._state.epoch * 1_000_000 + self._state.batch
        total = self.processes.sum(done)
        if failure is not None:
            raise failure
        if total != done * self.processes.size:
            raise InputError("the checkpoint must be a file that all processes can read")

    def _save(self) -> None:
        if self.processes.rank == 0:
            kept = {"best": self._best, "mean": self._mean}
            self.checkpoint.write(self._state, self.network, self._optimizer, kept)

    # --- epochs -----------------------------------------------------------------------------

    def _train_epoch(self) -> None:
        state = self._state
        self._learn([(self.texts, rows) for rows in self._batches(state.epoch)])
        loss = state.loss / max(state.n_texts, 1)
        if not math.isfinite(loss):
            raise InputError(
                f"the loss of epoch {state.epoch + 1} is {loss}: the weights are useless; "
                f"lr={self.schedule.lr:g} may be too high, or numbers in the vectors too large"
            )
        macro = micro = quality = validation_loss = scores = None
        if self.validation is not None:
            scores = self._scores(self.validation)
            found = self.judge(scores, self.validation.Y)
            macro, micro = found.macro_f1, found.micro_f1
            quality = found.of(self.schedule.target)
            validation_loss = self._mean_loss(scores, self.validation)
        seconds = time.perf_counter() - self._begun
        epoch = Epoch(state.epoch + 1, loss, macro, micro, seconds, validation_loss)
        state.history.append(epoch)
        if self.watch is not None and self.processes.rank == 0:
            epoch.noted = self.watch(epoch, scores)
        state.batch, state.loss, state.n_texts, state.seconds = 0, 0.0, 0, 0.0
        self._take_note(quality)
        self._save()

    def _take_note(self, quality: float | None) -> None:
        """Keep the weights where they are the best so far; stop where none were for long."""
        state, schedule = self._state, self.schedule
        is_better = quality is None or state.best is None or quality > state.best
        if is_better or (schedule.ties_count and quality == state.best):
            state.best, state.best_epoch = quality, state.epoch
            self._best = copied(self.network)
        self._add_to_mean(state.epoch - state.best_epoch + 1)
        state.is_stopped = state.epoch - state.best_epoch >= schedule.patience

    def _finish(self) -> None:
        """Return to the best weights, and learn from the validation texts too, once."""
        state = self._state
        if state.batch == 0:  # else the last epoch has begun already
            state.is_stopped = True
            self._best = self._mean or self._best
            load(self.network, self._best)
        if self.validation is not None:
            self.validation_scores = self._best_scores(self.validation)
            for group in self._optimizer.param_groups:
                group["lr"] = self.schedule.lr * self.schedule.last_rate
            self._learn(self._last_batches(self.validation))
            load(self.network, self._mean)
        state.is_over = True
        self._save()

    def _batches(self, epoch: int) -> list[Ints]:
        size, limit = self.schedule.batch_size, self.schedule.batches_per_epoch
        if self.schedule.reshuffles:
            return shuffled(self.texts.texts.lengths, size, self.seed, epoch)[:limit]
        batches = in_order(np.arange(len(self.texts)), size)
        if limit is None or limit >= len(batches):
            return batches
        return [batches[k % len(batches)] for k in range(epoch * limit, (epoch + 1) * limit)]

    def _last_batches(self, validation: LabelledSequences) -> list[tuple[LabelledSequences, Ints]]:
        """Return the batches of the last epoch; shuffled, with those of the training texts."""
        schedule, rows = self.schedule, np.arange(len(validation))
        if not schedule.reshuffles:
            return [(validation, each) for each in in_order(rows, schedule.batch_size)]
        random = np.random.default_rng([int(self.seed) % 2**64, 2**31])
        own = in_order(random.permutation(rows), schedule.batch_size)
        batches = [(validation, each) for each in own]
        batches += [(self.texts, each) for each in self._batches(self._state.epoch)]
        return [batches[k] for k in random.permutation(len(batches))]

    # --- steps ------------------------------------------------------------------------------

    def _learn(self, batches: list[tuple[LabelledSequences, Ints]]) -> None:
        """Take a step for each batch that is not done yet."""
        state = self._state
        self._begun = time.perf_counter() - state.seconds
        left = batches[state.batch :]
        self.network.train()
        self._report(len(batches))
        with closing(prepared(self._own_batch(*each) for each in left)) as own:
            for (_, rows), batch in zip(left, own, strict=True):
                self._draw_from(state)
                state.loss += self._take_step(batch.to(self._device), len(rows))
                state.n_texts += len(rows)
                state.batch += 1
                if state.is_stopped:
                    self._add_to_mean(state.batch)
                self._report(len(batches))
                if self.checkpoint.is_due:
                    state.seconds = time.perf_counter() - self._begun
                    self._save()

    def _own_batch(self, texts: LabelledSequences, rows: Ints) -> Batch:
        own = self.processes.share(rows)
        if len(own):
            return texts.batch(own)
        # there are more processes than texts: this one reads a text that counts for nothing
        return replace(texts.batch(rows[:1]), weights=torch.zeros(1))

    def _draw_from(self, state: State) -> None:
        """Seed torch's numbers: those of a step depend on nothing but the seed and the step."""
        step = (state.epoch, state.batch, int(state.is_stopped), self.processes.rank)
        seed = np.random.SeedSequence([int(self.seed) % 2**64, *step])
        drawn = int(seed.generate_state(1, np.uint64)[0])
        # torch.manual_seed would write down, at every step, where a GPU's seed was set
        torch.default_generator.manual_seed(drawn)
        if self._device.type == "cuda":
            torch.cuda.manual_seed(drawn)

    def _take_step(self, batch: Batch, n_texts: int) -> float:
        """Change the weights a little; return the loss summed over the texts of all processes."""
        self._optimizer.zero_grad(set_to_none=True)
        is_rough = self._device.type == "cuda" and not self.schedule.full_precision
        with torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=is_rough):
            logits = self._parallel(batch.ids, batch.lengths, batch.shift)
        losses = _losses(logits.float(), batch.truth, batch.weights)
        # the mean over processes of these is the mean over the texts of the batch
        loss = losses.sum() * self.processes.size / n_texts
        added = self.network.regularizer(self.texts.is_multilabel)
        (loss + added).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_value_(self.network.parameters(), self.schedule.clip)
        self._optimizer.step()
        return self.processes.sum(float(losses.detach().sum()))

    def _add_to_mean(self, number: int) -> None:
        """Take the present weights into the mean, if one is kept; number 1 begins it anew."""
        if not self.schedule.averages:
            return
        if number == 1:
            self._mean = copied(self.network)
        for name, weight in trained(self.network).items():
            self._mean[name].lerp_(weight, 1 / number)

    # --- scores -----------------------------------------------------------------------------

    def _scores(self, texts: LabelledSequences) -> Floats32:
        """Return the logits (n, m) of texts, each process making its share."""
        own = texts.part(self.processes.share(np.arange(len(texts))))
        # else the bar of the training would go and come
        with progress.on_progress(progress.ignore):
            scores = self.network.scores(
                own.texts, padding=own.padding, pad=own.pad, context=own.context
            )
        return self.processes.gathered(scores, len(texts))

    def _best_scores(self, texts: LabelledSequences) -> Floats32:
        """Return the scores of texts by the best weights, whatever the present ones are."""
        present = copied(self.network)
        load(self.network, self._best)
        try:
            return self._scores(texts)
        finally:
            load(self.network, present)

    def _mean_loss(self, scores: Floats32, texts: LabelledSequences) -> float:
        total = 0.0
        for rows in in_order(np.arange(len(texts)), self.schedule.batch_size):
            total += float(_losses(torch.from_numpy(scores[rows]), *texts.truth(rows)).sum())
        return total / len(texts)

    def _report(self, n_batches: int) -> None:
        """Tell how far the training is, if it does not get any better: then it takes longer."""
        state = self._state
        if self.processes.rank > 0:
            return
        if state.is_stopped:
            progress.report("last epoch: with the validation texts", state.batch, n_batches)
            return
        told = f"training: epoch {state.epoch + 1}"
        if state.history:
            told += f", loss {state.history[-1].loss:.3f}"
        if state.best is not None:
            told += f", best {self.schedule.target} {state.best:.3f} of epoch {state.best_epoch}"
        last = self.schedule.max_epochs
        if self.validation is not None:
            last = min(last, max(state.best_epoch, 1) + self.schedule.patience)
        progress.report(told, state.epoch * n_batches + state.batch, last * n_batches)


def _losses(logits: Tensor, truth: Tensor, weights: Tensor | None) -> Tensor:
    """Return the loss (b,) of each text: cross-entropy; with several labels, a mean of m."""
    if truth.dim() == 1:
        losses = functional.cross_entropy(logits, truth, reduction="none")
    else:
        each = functional.binary_cross_entropy_with_logits(logits, truth, reduction="none")
        losses = each.mean(dim=1)
    return losses if weights is None else losses * weights
