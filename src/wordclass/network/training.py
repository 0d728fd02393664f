"""The training of a network: batches, steps, early stopping, the best weights and the history."""

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
from wordclass.network.checkpoint import (
    Checkpoint,
    Epoch,
    State,
    Weights,
    copy_weights,
    load_weights,
    trained_weights,
)
from wordclass.network.machine import Processes, keep_freed_memory, threads
from wordclass.network.text_network import TextNetwork, context_shift, split_into_batches
from wordclass.text.sequences import Sequences, Side

_BATCHES_PER_POOL = 20  # texts are sorted by length within the texts of this many batches
_BATCHES_AHEAD = 2  # prepared batches that wait for the training thread
_END: Any = object()

Item = TypeVar("Item")
Judge = Callable[[Floats32, Sparse], Scores]
Watch = Callable[[Epoch, Floats32 | None], dict[str, float]]

# --- inputs and targets of a network ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FoldVectors:
    """Differences between the word-class vectors of each fold and of all texts.

    Parameters
    ----------
    differences : array of shape (folds, v, r)
        The differences for the terms of the vocabulary, which are the first rows of E.
    folds : array of shape (n,)
        The fold of each text.
    """

    differences: Floats32
    folds: Ints

    def of(self, texts: Sequences, rows: Ints) -> Floats32:
        """Return the difference (tokens, r) of each token.

        Parameters
        ----------
        texts : Sequences
            Some of the texts.
        rows : array of int
            Their rows among all texts.
        """
        _, n_terms, n_dims = self.differences.shape
        folds = np.repeat(self.folds[rows], texts.lengths)
        is_term = texts.ids < n_terms
        differences = np.zeros((len(texts.ids), n_dims), np.float32)
        differences[is_term] = self.differences[folds[is_term], texts.ids[is_term]]
        return differences


@dataclass(frozen=True, eq=False)
class Batch:
    """The inputs and targets of one training step.

    Parameters
    ----------
    ids : Tensor of shape (b, l)
        The ids of the tokens, padded.
    lengths : Tensor of shape (b,)
        The number of tokens of each text.
    shift : dict of str to Tensor of shape (tokens, width)
        Vectors to add to the rows of some blocks, token by token, text after text.
    truth : Tensor of shape (b,) or (b, m)
        The class of each text, or its classes as 0/1.
    weights : Tensor of shape (b,), or None
        The weight of each text.
    """

    ids: Tensor
    lengths: Tensor
    shift: dict[str, Tensor]
    truth: Tensor
    weights: Tensor | None

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on another device."""
        tensors = {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}
        moved = {name: tensor.to(device) for name, tensor in tensors.items()}
        shift = {block: vectors.to(device) for block, vectors in self.shift.items()}
        return replace(self, **moved, shift=shift)


@dataclass(frozen=True, eq=False)
class LabelledSequences:
    """Texts as ids of tokens, with their classes.

    Parameters
    ----------
    texts : Sequences
        The tokens as rows of E.
    Y : sparse 0/1 matrix of shape (n, m)
        The classes.
    is_multilabel : bool
        Whether a text may have several classes, or none.
    padding : int
        The id of the padding.
    pad : "right" or "left", default="right"
        The side of the padding.
    weights : array of shape (n,), optional
        The weight of each text in the loss. By default all texts count the same.
    fold_vectors : FoldVectors, optional
        Word-class vectors by fold. By default those of E are used.
    context : sequence of arrays of shape (t, d), optional
        The vectors of each text's tokens in context.
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
        """Return some of the texts, in the given order, with other fold vectors or none."""
        return replace(
            self,
            texts=self.texts.part(rows),
            Y=self.Y[rows],
            weights=None if self.weights is None else self.weights[rows],
            fold_vectors=fold_vectors,
            context=None if self.context is None else [self.context[row] for row in rows],
        )

    def batch(self, rows: Ints) -> Batch:
        """Return a batch of some texts."""
        texts = self.texts.part(rows)
        padded = texts.padded(self.padding, self.pad)
        shift = context_shift(self.context, rows)
        if self.fold_vectors is not None:
            shift["word_class"] = torch.from_numpy(self.fold_vectors.of(texts, rows))
        truth, weights = self.truth(rows)
        return Batch(
            ids=torch.from_numpy(padded.ids),
            lengths=torch.from_numpy(padded.lengths),
            shift=shift,
            truth=truth,
            weights=weights,
        )

    def truth(self, rows: Ints) -> tuple[Tensor, Tensor | None]:
        """Return the targets of some texts, (b,) or (b, m), and their weights (b,) or None."""
        Y = self.Y[rows]
        weights = None
        if self.weights is not None:
            weights = torch.from_numpy(self.weights[rows].astype(np.float32))
        if self.is_multilabel:
            return torch.from_numpy(Y.toarray().astype(np.float32)), weights
        return torch.from_numpy(Y.indices.astype(np.int64)), weights


def shuffle_into_batches(lengths: Ints, size: int, seed: int, epoch: int) -> list[Ints]:
    """Return the rows of each batch of an epoch, in an order that depends on seed and epoch.

    The texts of a batch have similar lengths. Texts are shuffled and cut into pools of twenty
    batches. Within a pool, they are sorted by length and cut into batches. Then the batches of all
    pools are shuffled.

    Parameters
    ----------
    lengths : array of shape (n,)
        The lengths of the texts.
    size : int
        The number of texts per batch.
    seed : int
        The seed of the training.
    epoch : int
        The number of finished epochs.
    """
    random = np.random.default_rng([int(seed) % 2**64, epoch])
    order = random.permutation(len(lengths))
    pool_size = size * _BATCHES_PER_POOL
    batches: list[Ints] = []
    for start in range(0, len(order), pool_size):
        pool = order[start : start + pool_size]
        by_length = pool[np.argsort(-lengths[pool], kind="stable")]
        batches += split_into_batches(by_length, size)
    return [batches[position] for position in random.permutation(len(batches))]


def iterate_ahead(items: Iterable[Item]) -> Generator[Item, None, None]:
    """Yield items that another thread prepares in advance.

    An error of the items is raised when it is their turn. Closing the generator ends the thread.
    """
    source = iter(items)
    with ThreadPoolExecutor(1, "batches") as worker:
        pending = deque(worker.submit(next, source, _END) for _ in range(_BATCHES_AHEAD))
        while (item := pending.popleft().result()) is not _END:
            pending.append(worker.submit(next, source, _END))
            yield item


# --- the training ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Schedule:
    """The duration and the steps of a training. The defaults are the paper's.

    Parameters
    ----------
    lr : float, default=0.001
        The learning rate of Adam.
    batch_size : int, default=100
        The number of texts per step.
    clip : float, default=0.1
        Every element of a gradient is clipped to this absolute value.
    max_epochs : int, default=200
        The maximum number of epochs.
    patience : int, default=10
        Training stops after this many epochs without a better validation score.
    batches_per_epoch : int, optional
        The number of steps after which an epoch ends, for very large corpora. By default an epoch
        has all texts.
    reshuffles : bool, default=True
        Whether every epoch has an order of its own. The paper's runs always used the same order.
    last_rate : float, default=1.0
        A factor on the learning rate in the last epoch.
    ties_count : bool, default=False
        Whether an equal validation score counts as better, as in the paper's runs.
    averages : bool, default=False
        Whether the result of the training is the mean of the weights of the best epoch and all
        later ones instead of the best weights, and the result of the last epoch is the mean over
        its steps instead of the final weights.
    full_precision : bool, default=False
        Whether a GPU computes in float32 throughout, as in the paper's runs, instead of bfloat16.
    target : str, default="macro_f1"
        The validation score. See `Scores.of`.
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
    """The training of one network, which it changes in place.

    Parameters
    ----------
    network : TextNetwork
        The network with its first weights.
    texts : LabelledSequences
        The training texts.
    validation : LabelledSequences or None
        The texts whose score decides when to stop. The last epoch learns from them too: together
        with the training texts if these are reshuffled, otherwise alone. (Alone, it lowered the
        macro F1 on Reuters by .02.) With None, training lasts `max_epochs`.
    schedule : Schedule
        The duration and the steps.
    judge : callable
        A function from scores (n, m) and true classes to the validation scores.
    seed : int, default=0
        The seed of dropout and of the order of texts.
    checkpoint : Checkpoint, optional
        The file of the state. By default nothing is written.
    processes : Processes, optional
        The processes that train together.
    n_threads : int, default=1
        The number of threads of each process.
    watch : callable, optional
        A function that is called after each epoch with the epoch and the scores (n, m) of the
        validation texts. The numbers that it returns are stored in the history.

    Attributes
    ----------
    validation_scores : array of shape (n, m), or None
        The scores of the validation texts by the best weights, before the last epoch.
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
        self._epoch_start = 0.0  # shifted back by the time spent before an interruption

    def run(self) -> State:
        """Train until the validation score stops improving, and load the best weights."""
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
        """Restore the state of the checkpoint in all processes, or fail in all of them."""
        failure: InputError | None = None
        try:
            self._state, weights = self.checkpoint.read(
                self.network, self._optimizer, ("best", "mean")
            )
            self._best = weights["best"]
            self._mean = weights["mean"]
        except InputError as error:
            failure = error
        # This sum also waits until all processes have read the file: the first process to continue
        # may delete it.
        n_steps = math.nan if failure else self._state.epoch * 1_000_000 + self._state.batch
        total = self.processes.sum(n_steps)
        if failure is not None:
            raise failure
        if total != n_steps * self.processes.size:
            raise InputError(
                f"some processes cannot read the checkpoint {self.checkpoint.path}",
                hint="put it into a folder that all processes share",
            )

    def _save(self) -> None:
        if self.processes.rank == 0:
            weights = {"best": self._best, "mean": self._mean}
            self.checkpoint.write(self._state, self.network, self._optimizer, weights)

    # --- epochs -----------------------------------------------------------------------------

    def _train_epoch(self) -> None:
        state = self._state
        self._learn([(self.texts, rows) for rows in self._batches(state.epoch)])
        loss = state.loss / max(state.n_texts, 1)
        if not math.isfinite(loss):
            raise InputError(
                f"the loss of epoch {state.epoch + 1} is {loss}",
                expected="a finite number",
                hint=f"use a learning rate below lr={self.schedule.lr:g}, or smaller vectors",
            )
        macro_f1 = micro_f1 = quality = validation_loss = scores = None
        if self.validation is not None:
            scores = self._scores(self.validation)
            judged = self.judge(scores, self.validation.Y)
            macro_f1 = judged.macro_f1
            micro_f1 = judged.micro_f1
            quality = judged.of(self.schedule.target)
            validation_loss = self._mean_loss(scores, self.validation)
        seconds = time.perf_counter() - self._epoch_start
        epoch = Epoch(
            epoch=state.epoch + 1,
            loss=loss,
            macro_f1=macro_f1,
            micro_f1=micro_f1,
            seconds=seconds,
            validation_loss=validation_loss,
        )
        state.history.append(epoch)
        if self.watch is not None and self.processes.rank == 0:
            epoch.noted = self.watch(epoch, scores)
        state.batch = 0
        state.loss = 0.0
        state.n_texts = 0
        state.seconds = 0.0
        self._update_best(quality)
        self._save()

    def _update_best(self, quality: float | None) -> None:
        """Store the weights if they are the best so far. Stop if `patience` is exhausted."""
        state = self._state
        is_better = quality is None or state.best is None or quality > state.best
        if is_better or (self.schedule.ties_count and quality == state.best):
            state.best = quality
            state.best_epoch = state.epoch
            self._best = copy_weights(self.network)
        self._add_to_mean(state.epoch - state.best_epoch + 1)
        state.is_stopped = state.epoch - state.best_epoch >= self.schedule.patience

    def _finish(self) -> None:
        """Load the best weights and train one epoch that includes the validation texts."""
        state = self._state
        if state.batch == 0:  # otherwise the last epoch is resumed
            state.is_stopped = True
            self._best = self._mean or self._best
            load_weights(self.network, self._best)
        if self.validation is not None:
            self.validation_scores = self._best_scores(self.validation)
            for group in self._optimizer.param_groups:
                group["lr"] = self.schedule.lr * self.schedule.last_rate
            self._learn(self._last_batches(self.validation))
            load_weights(self.network, self._mean)
        state.is_over = True
        self._save()

    def _batches(self, epoch: int) -> list[Ints]:
        size = self.schedule.batch_size
        limit = self.schedule.batches_per_epoch
        if self.schedule.reshuffles:
            return shuffle_into_batches(self.texts.texts.lengths, size, self.seed, epoch)[:limit]
        batches = split_into_batches(np.arange(len(self.texts)), size)
        if limit is None or limit >= len(batches):
            return batches
        numbers = range(epoch * limit, (epoch + 1) * limit)
        return [batches[number % len(batches)] for number in numbers]

    def _last_batches(self, validation: LabelledSequences) -> list[tuple[LabelledSequences, Ints]]:
        """Return the batches of the last epoch.

        If texts are reshuffled, the batches of the training texts are among them.
        """
        size = self.schedule.batch_size
        rows = np.arange(len(validation))
        if not self.schedule.reshuffles:
            return [(validation, batch_rows) for batch_rows in split_into_batches(rows, size)]
        random = np.random.default_rng([int(self.seed) % 2**64, 2**31])
        validation_rows = split_into_batches(random.permutation(rows), size)
        batches = [(validation, batch_rows) for batch_rows in validation_rows]
        training_rows = self._batches(self._state.epoch)
        batches += [(self.texts, batch_rows) for batch_rows in training_rows]
        return [batches[position] for position in random.permutation(len(batches))]

    # --- steps ------------------------------------------------------------------------------

    def _learn(self, batches: list[tuple[LabelledSequences, Ints]]) -> None:
        """Take a step for each batch that is not finished yet."""
        state = self._state
        self._epoch_start = time.perf_counter() - state.seconds
        remaining = batches[state.batch :]
        self.network.train()
        self._report(len(batches))
        shares = (self._batch_share(texts, rows) for texts, rows in remaining)
        with closing(iterate_ahead(shares)) as prepared_batches:
            for (_, rows), batch in zip(remaining, prepared_batches, strict=True):
                self._seed_torch(state)
                state.loss += self._take_step(batch.to(self._device), len(rows))
                state.n_texts += len(rows)
                state.batch += 1
                if state.is_stopped:
                    self._add_to_mean(state.batch)
                self._report(len(batches))
                if self.checkpoint.is_due:
                    state.seconds = time.perf_counter() - self._epoch_start
                    self._save()

    def _batch_share(self, texts: LabelledSequences, rows: Ints) -> Batch:
        """Return this process's share of a batch."""
        share = self.processes.share(rows)
        if len(share):
            return texts.batch(share)
        # with more processes than texts, this one reads a text with a weight of 0
        return replace(texts.batch(rows[:1]), weights=torch.zeros(1))

    def _seed_torch(self, state: State) -> None:
        """Seed torch's global generator by the seed of the training and the number of the step."""
        step = (state.epoch, state.batch, int(state.is_stopped), self.processes.rank)
        sequence = np.random.SeedSequence([int(self.seed) % 2**64, *step])
        seed = int(sequence.generate_state(1, np.uint64)[0])
        # torch.manual_seed would also record, at every step, where the seed of a GPU was set
        torch.default_generator.manual_seed(seed)
        if self._device.type == "cuda":
            torch.cuda.manual_seed(seed)

    def _take_step(self, batch: Batch, n_texts: int) -> float:
        """Update the weights once. Return the sum of the losses of all processes' texts."""
        self._optimizer.zero_grad(set_to_none=True)
        is_mixed = self._device.type == "cuda" and not self.schedule.full_precision
        with torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=is_mixed):
            logits = self._parallel(batch.ids, batch.lengths, batch.shift)
        losses = _compute_losses(logits.float(), batch.truth, batch.weights)
        # averaged over the processes, this is the mean over the texts of the batch
        loss = losses.sum() * self.processes.size / n_texts
        regularizer = self.network.regularizer(self.texts.is_multilabel)
        (loss + regularizer).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_value_(self.network.parameters(), self.schedule.clip)
        self._optimizer.step()
        return self.processes.sum(float(losses.detach().sum()))

    def _add_to_mean(self, number: int) -> None:
        """Add the present weights to the running mean, if the schedule asks for one.

        Parameters
        ----------
        number : int
            How many weights the mean then has. 1 starts a new mean.
        """
        if not self.schedule.averages:
            return
        if number == 1:
            self._mean = copy_weights(self.network)
        for name, weight in trained_weights(self.network).items():
            self._mean[name].lerp_(weight, 1 / number)

    # --- scores -----------------------------------------------------------------------------

    def _scores(self, texts: LabelledSequences) -> Floats32:
        """Return the logits (n, m) of texts. Each process computes a share of them."""
        share = texts.part(self.processes.share(np.arange(len(texts))))
        # without this, the progress of scoring would replace that of the training
        with progress.on_progress(progress.ignore):
            scores = self.network.scores(
                share.texts, padding=share.padding, pad=share.pad, context=share.context
            )
        return self.processes.gathered(scores, len(texts))

    def _best_scores(self, texts: LabelledSequences) -> Floats32:
        """Return the scores of texts by the best weights, without changing the network."""
        present = copy_weights(self.network)
        load_weights(self.network, self._best)
        try:
            return self._scores(texts)
        finally:
            load_weights(self.network, present)

    def _mean_loss(self, scores: Floats32, texts: LabelledSequences) -> float:
        total = 0.0
        for rows in split_into_batches(np.arange(len(texts)), self.schedule.batch_size):
            truth, weights = texts.truth(rows)
            total += float(_compute_losses(torch.from_numpy(scores[rows]), truth, weights).sum())
        return total / len(texts)

    def _report(self, n_batches: int) -> None:
        """Report the progress, assuming that no later epoch improves the validation score."""
        state = self._state
        if self.processes.rank > 0:
            return
        if state.is_stopped:
            progress.report("last epoch: with the validation texts", state.batch, n_batches)
            return
        message = f"training: epoch {state.epoch + 1}"
        if state.history:
            message += f", loss {state.history[-1].loss:.3f}"
        if state.best is not None:
            message += f", best {self.schedule.target} {state.best:.3f} of epoch {state.best_epoch}"
        last_epoch = self.schedule.max_epochs
        if self.validation is not None:
            last_epoch = min(last_epoch, max(state.best_epoch, 1) + self.schedule.patience)
        n_finished = state.epoch * n_batches + state.batch
        progress.report(message, n_finished, last_epoch * n_batches)


def _compute_losses(logits: Tensor, truth: Tensor, weights: Tensor | None) -> Tensor:
    """Return the weighted cross-entropy (b,) of each text.

    In multilabel tasks, it is the mean over the binary cross-entropies of all classes.
    """
    if truth.dim() == 1:
        losses = functional.cross_entropy(logits, truth, reduction="none")
    else:
        by_class = functional.binary_cross_entropy_with_logits(logits, truth, reduction="none")
        losses = by_class.mean(dim=1)
    return losses if weights is None else losses * weights
