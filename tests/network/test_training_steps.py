"""The steps of the training, against plain PyTorch."""

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus
from network.small_trainings import (
    N_TRAINED,
    E,
    assert_same_weights,
    documents,
    honest,
    judge_of,
    network_of,
    torch,
    two_parts,
    weights_of,
)  # fmt: skip
from torch.nn import functional

from wordclass.network.checkpoint import Checkpoint
from wordclass.network.text_network import split_into_batches
from wordclass.network.training import FoldVectors, Schedule, Training
from wordclass.storage.state import ModelState


class Plain:
    """The same network and training, implemented without the package."""

    def __init__(self, network, lr, clip):
        weights = weights_of(network)
        self.weights = {name: weight.requires_grad_() for name, weight in weights.items()}
        self.frozen = dict(network.named_buffers())
        self.windows = network.encoder.windows
        self.lr = lr
        self.clip = clip
        self.n_steps = 0
        self.first = {name: torch.zeros_like(weight) for name, weight in self.weights.items()}
        self.second = {name: torch.zeros_like(weight) for name, weight in self.weights.items()}

    def logits_of(self, text, word_class):
        """Return the logits of a text, with `word_class` added to the rows of its words."""
        words = []
        for place, row in enumerate(text):
            parts = []
            for block in ("pretrained", "word_class", "random"):
                name = f"layer.vectors.{block}.weight"
                vector = self.weights.get(name, self.frozen.get(name))[row]
                if block == "word_class" and word_class is not None:
                    vector = vector + torch.tensor(word_class[place])
                parts.append(vector)
            words.append(torch.cat(parts))
        fold_vectors = []
        for number, window in enumerate(self.windows):
            weight = self.weights[f"encoder.filters.{number}.weight"]
            bias = self.weights[f"encoder.filters.{number}.bias"]
            responses = [
                sum(weight[:, :, k] @ words[start + k] for k in range(window)) + bias
                for start in range(len(words) - window + 1)
            ]
            fold_vectors.append(torch.stack(responses).max(dim=0).values.clamp(min=0))
        head = self.weights["head.weight"], self.weights["head.bias"]
        return head[0] @ torch.cat(fold_vectors) + head[1]

    def losses_of(self, texts, labels, weights, shifts):
        losses = []
        for text, label, weight, shift in zip(texts, labels, weights, shifts, strict=True):
            logits = self.logits_of(text, shift)
            if isinstance(label, int):
                loss = logits.logsumexp(0) - logits[label]
            else:
                yes = functional.logsigmoid(logits)
                no = functional.logsigmoid(-logits)
                truth = torch.tensor(label, dtype=torch.float32)
                loss = -(truth * yes + (1 - truth) * no).mean()
            losses.append(weight * loss)
        return losses

    def step(self, *arguments):
        """Take one step of Adam on the mean of the texts' losses and return their sum."""
        losses = self.losses_of(*arguments)
        names = list(self.weights)
        slopes = torch.autograd.grad(sum(losses) / len(losses), list(self.weights.values()))
        self.n_steps += 1
        with torch.no_grad():
            for name, slope in zip(names, slopes, strict=True):
                slope = slope.clamp(-self.clip, self.clip)
                self.first[name] = 0.9 * self.first[name] + 0.1 * slope
                self.second[name] = 0.999 * self.second[name] + 0.001 * slope**2
                first = self.first[name] / (1 - 0.9**self.n_steps)
                second = self.second[name] / (1 - 0.999**self.n_steps)
                self.weights[name] -= self.lr * first / (second.sqrt() + 1e-8)
        return float(sum(losses).detach())


def in_plain_words(texts, rows):
    """Return the arguments of `Plain.step` for some texts."""
    ids = texts.texts.ids.tolist()
    ends = texts.texts.ends.tolist()
    words = [ids[ends[row] : ends[row + 1]] for row in rows]
    dense = texts.Y.toarray().astype(int)
    labels = [dense[row].tolist() for row in rows]
    if not texts.is_multilabel:
        labels = [row.index(1) for row in labels]
    weights = [1.0 if texts.weights is None else float(texts.weights[row]) for row in rows]
    shifts = [None] * len(words)
    if texts.fold_vectors is not None:
        fold_vectors = texts.fold_vectors
        n_terms, n_dims = fold_vectors.differences.shape[1:]
        zeros = np.zeros(n_dims, np.float32)
        shifts = [
            [
                fold_vectors.differences[fold_vectors.folds[row]][word] if word < n_terms else zeros
                for word in text_words
            ]
            for row, text_words in zip(rows, words, strict=True)
        ]
    return words, labels, weights, shifts


def folds_of(n_texts):
    differences = np.random.default_rng(5).normal(size=(2, len(E.terms), 3)).astype(np.float32)
    return FoldVectors(differences, np.arange(n_texts) % 2)


@pytest.mark.parametrize("trainable", [False, True, {"word_class": True}])
@pytest.mark.parametrize("kind", ["single", "multilabel", "weights", "folds"])
def test_steps_equal_those_of_plain_pytorch(kind, trainable):
    texts, labels = multilabel_corpus(20) if kind == "multilabel" else corpus(20)
    weights = np.linspace(0, 3, 20) if kind == "weights" else None
    data = documents(texts, labels, weights=weights)
    if kind == "folds":
        data = data.part(np.arange(20), folds_of(20))
    network = network_of(trainable=trainable)
    plain = Plain(network, lr=0.02, clip=0.01)
    schedule = Schedule(lr=0.02, clip=0.01, batch_size=8, max_epochs=1, reshuffles=False)
    state = Training(network, data, None, schedule, honest).run()
    total = 0.0
    for rows in split_into_batches(np.arange(20), 8):
        total += plain.step(*in_plain_words(data, rows.tolist()))
    assert_same_weights(weights_of(network), plain.weights, 2e-5)
    assert state.history[0].loss == pytest.approx(total / 20, rel=1e-5)
    moved = network.head.weight - network_of(trainable=trainable).head.weight
    assert moved.abs().max() > 0.01


def test_after_the_last_epoch_the_validation_texts_are_learned_from_once():
    training, validation = two_parts()
    network = network_of()
    plain = Plain(network, lr=0.02, clip=0.1)
    schedule = Schedule(lr=0.02, batch_size=8, max_epochs=1, reshuffles=False)
    Training(network, training, validation, schedule, honest).run()
    for part in (training, validation):
        for rows in split_into_batches(np.arange(len(part)), 8):
            plain.step(*in_plain_words(part, rows.tolist()))
    assert_same_weights(weights_of(network), plain.weights, 2e-5)


def test_an_epoch_can_be_cut_and_a_fixed_order_goes_on_where_it_was():
    data, _ = two_parts()
    batches = split_into_batches(np.arange(N_TRAINED), 8)
    network = network_of()
    plain = Plain(network, lr=0.02, clip=0.1)
    schedule = Schedule(lr=0.02, batch_size=8, max_epochs=3, batches_per_epoch=4, reshuffles=False)
    state = Training(network, data, None, schedule, honest).run()
    for number in (0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5):
        plain.step(*in_plain_words(data, batches[number].tolist()))
    assert_same_weights(weights_of(network), plain.weights, 5e-5)
    assert state.epoch == 3


@pytest.mark.parametrize(("limit", "n_steps"), [(None, 6), (2, 2), (100, 6)])
def test_an_epoch_has_as_many_batches_as_are_asked_for_and_there(tmp_path, limit, n_steps):
    data, _ = two_parts()
    schedule = Schedule(batch_size=8, max_epochs=2, batches_per_epoch=limit)
    path = tmp_path / "state"
    Training(network_of(), data, None, schedule, honest, checkpoint=Checkpoint(path, "key")).run()
    arrays = ModelState.read(path, "training").arrays
    assert int(arrays["optimizer.0.step"][0]) == 2 * n_steps


@pytest.mark.parametrize("kind", ["single", "multilabel", "weights"])
def test_the_validation_loss_is_that_of_the_epoch_s_end(kind):
    texts, labels = multilabel_corpus(20) if kind == "multilabel" else corpus(20)
    weights = np.linspace(0, 3, 20) if kind == "weights" else None
    data = documents(texts, labels, weights=weights)
    training = data.part(np.arange(9))
    validation = data.part(np.arange(9, 20))
    network = network_of()
    plain = Plain(network, lr=0.02, clip=0.1)
    schedule = Schedule(lr=0.02, batch_size=9, max_epochs=2, reshuffles=False)
    state = Training(network, training, validation, schedule, honest).run()
    for epoch in state.history:
        plain.step(*in_plain_words(training, range(9)))
        losses = plain.losses_of(*in_plain_words(validation, range(11)))
        assert epoch.validation_loss == pytest.approx(float(sum(losses).detach()) / 11, rel=1e-5)


def test_the_mean_of_the_best_epoch_and_all_later_ones_is_kept_and_that_of_the_last_epoch():
    data = documents(*corpus(24))
    training = data.part(np.arange(18))
    validation = data.part(np.arange(18, 24))
    network = network_of()
    plain = Plain(network, lr=0.02, clip=0.1)
    schedule = Schedule(
        lr=0.02, batch_size=6, max_epochs=5, reshuffles=False, averages=True, last_rate=0.5
    )
    run = Training(network, training, validation, schedule, judge_of([0.1, 0.5, 0.2, 0.4, 0.3]))
    assert run.run().best_epoch == 2

    def mean_of(weights):
        return {name: sum(weight[name] for weight in weights) / len(weights) for name in weights[0]}

    def average():
        return {name: weight.detach().double().clone() for name, weight in plain.weights.items()}

    ends = []
    for _ in range(5):
        for start in (0, 6, 12):
            plain.step(*in_plain_words(training, range(start, start + 6)))
        ends.append(average())
    plain.weights = {
        name: weight.float().requires_grad_() for name, weight in mean_of(ends[1:]).items()
    }
    shown = [plain.logits_of(text, None) for text in in_plain_words(validation, range(6))[0]]
    np.testing.assert_allclose(
        run.validation_scores, torch.stack(shown).detach().numpy(), atol=2e-5
    )
    plain.lr = 0.01
    plain.step(*in_plain_words(validation, range(6)))  # the last epoch has one batch only
    assert_same_weights(weights_of(network), plain.weights, 5e-5)
