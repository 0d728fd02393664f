"""The training itself: against plain PyTorch, its end, its numbers, and who sees which labels."""

import re
import time
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
import reference
from made_up import corpus, multilabel_corpus
from scipy import sparse

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

import wordclass as wc  # noqa: E402
from wordclass import progress  # noqa: E402
from wordclass.encoders import encoder  # noqa: E402
from wordclass.folds import stratified_folds  # noqa: E402
from wordclass.labels import encode  # noqa: E402
from wordclass.network import prediction  # noqa: E402
from wordclass.network.batches import FoldVectors, LabelledSequences, in_order  # noqa: E402
from wordclass.network.checkpoint import Checkpoint  # noqa: E402
from wordclass.network.embedding_layer import EmbeddingLayer  # noqa: E402
from wordclass.network.text_classifier import TextClassifier  # noqa: E402
from wordclass.network.training import Schedule, Training  # noqa: E402
from wordclass.storage.parts import Parts  # noqa: E402

TEXTS, LABELS = corpus()
WCE = wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, LABELS)
U = wc.WordVectors.of(["moon", "rose", "the"], np.arange(6).reshape(3, 2) / 4 - 1.0)
E = wc.EmbeddingMatrix.of(U, WCE, random_dims=3, seed=3)
N_TRAINED = 44  # the last batch of eight has four texts


def documents(texts=TEXTS, labels=LABELS, **options):
    encoded = encode(labels)
    is_multilabel = encoded.codeframe.is_multilabel
    return LabelledSequences(E.sequences(texts), encoded.Y, is_multilabel, E.padding, **options)


def two_parts(**options):
    both = documents(**options)
    return both.part(np.arange(N_TRAINED)), both.part(np.arange(N_TRAINED, len(TEXTS)))


def network_of(name="cnn", trainable=False, dropout=0.0, layer_dropout=None, seed=0):
    options = {"cnn": {"channels": 4, "windows": (2, 3)}, "lstm": {"hidden": 4}, "mean": {}}[name]
    layer = EmbeddingLayer(E, trainable, layer_dropout)
    read = encoder(name, E.n_dims, **options, seed=seed)
    return TextClassifier(layer, read, 3, dropout=dropout, seed=seed + 1)


def judge_of(macros):
    """Say of each epoch what a list has it say, whatever the scores."""
    left = iter(macros)
    return lambda _scores, _Y: SimpleNamespace(macro_f1=next(left), micro_f1=0.5)


def honest(scores, Y):
    right = scores.argmax(axis=1) == Y.toarray().argmax(axis=1)
    return SimpleNamespace(macro_f1=float(right.mean()), micro_f1=float(right.mean()))


def weights_of(network):
    return {name: each.detach().clone() for name, each in network.named_parameters()}


def assert_same_weights(ours, theirs, tolerance=0.0):
    assert ours.keys() == theirs.keys()
    for name, weight in ours.items():
        torch.testing.assert_close(weight, theirs[name], atol=tolerance, rtol=0, msg=name)


# --- one step after the other, in plain PyTorch ---------------------------------------------


class Plain:
    """The same network and the same training, written down without any of our parts."""

    def __init__(self, network, lr, clip):
        self.weights = {name: each.requires_grad_() for name, each in weights_of(network).items()}
        self.frozen = dict(network.named_buffers())
        self.windows = network.encoder.windows
        self.lr, self.clip, self.n_steps = lr, clip, 0
        self.first = {name: torch.zeros_like(each) for name, each in self.weights.items()}
        self.second = {name: torch.zeros_like(each) for name, each in self.weights.items()}

    def logits_of(self, text, word_class):
        """One text, word by word; `word_class` is added to the rows of its words."""
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
        found = []
        for number, window in enumerate(self.windows):
            weight = self.weights[f"encoder.filters.{number}.weight"]
            bias = self.weights[f"encoder.filters.{number}.bias"]
            responses = [
                sum(weight[:, :, k] @ words[start + k] for k in range(window)) + bias
                for start in range(len(words) - window + 1)
            ]
            found.append(torch.stack(responses).max(dim=0).values.clamp(min=0))
        head = self.weights["head.weight"], self.weights["head.bias"]
        return head[0] @ torch.cat(found) + head[1]

    def losses_of(self, texts, labels, weights, shifts):
        losses = []
        for text, own, weight, shift in zip(texts, labels, weights, shifts, strict=True):
            logits = self.logits_of(text, shift)
            if isinstance(own, int):
                loss = logits.logsumexp(0) - logits[own]
            else:
                yes, no = functional.logsigmoid(logits), functional.logsigmoid(-logits)
                truth = torch.tensor(own, dtype=torch.float32)
                loss = -(truth * yes + (1 - truth) * no).mean()
            losses.append(weight * loss)
        return losses

    def step(self, *given):
        """Take one step of Adam on the mean of the texts' losses; return their sum."""
        losses = self.losses_of(*given)
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
    """What `Plain.step` is given of some texts."""
    ids, ends = texts.texts.ids.tolist(), texts.texts.ends.tolist()
    words = [ids[ends[row] : ends[row + 1]] for row in rows]
    dense = texts.Y.toarray().astype(int)
    labels = [dense[row].tolist() for row in rows]
    if not texts.is_multilabel:
        labels = [own.index(1) for own in labels]
    weights = [1.0 if texts.weights is None else float(texts.weights[row]) for row in rows]
    shifts = [None] * len(words)
    if texts.fold_vectors is not None:
        found = texts.fold_vectors
        n_terms, n_dims = found.differences.shape[1:]
        nothing = np.zeros(n_dims, np.float32)
        shifts = [
            [found.differences[found.folds[row]][w] if w < n_terms else nothing for w in own]
            for row, own in zip(rows, words, strict=True)
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
    for rows in in_order(np.arange(20), 8):
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
        for rows in in_order(np.arange(len(part)), 8):
            plain.step(*in_plain_words(part, rows.tolist()))
    assert_same_weights(weights_of(network), plain.weights, 2e-5)


def test_the_last_epoch_has_a_rate_of_its_own():
    training, validation = two_parts()
    moved = []
    for last_rate in (1.0, 0.1, 0.0):
        network = network_of()
        schedule = Schedule(lr=0.02, batch_size=8, max_epochs=1, last_rate=last_rate)
        Training(network, training, validation, schedule, honest).run()
        moved.append(network.head.weight.detach().clone())
    far, near = ((each - moved[2]).abs().max() for each in moved[:2])
    assert 0 < near < far


def test_shuffled_the_last_epoch_has_training_texts_too_and_every_text_once(monkeypatch):
    training, validation = two_parts()
    schedule = Schedule(batch_size=8, max_epochs=1)
    run = Training(network_of(), training, validation, schedule, honest)
    read = []
    own_batch = run._own_batch
    monkeypatch.setattr(
        run, "_own_batch", lambda texts, rows: read.append((texts, rows)) or own_batch(texts, rows)
    )
    run.run()
    last = read[len(in_order(np.arange(len(training)), 8)) :]
    for part in (training, validation):
        rows = np.concatenate([rows for texts, rows in last if texts is part])
        assert sorted(rows) == list(range(len(part)))
    kinds = [texts is validation for texts, _ in last]
    assert kinds != sorted(kinds)  # mixed
    assert kinds != sorted(kinds, reverse=True)


def test_an_epoch_can_be_cut_and_a_fixed_order_goes_on_where_it_was():
    data, _ = two_parts()
    batches = in_order(np.arange(N_TRAINED), 8)
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
    arrays = Parts.read(path, "training").arrays
    assert int(arrays["optimizer.0.step"][0]) == 2 * n_steps


# --- when to stop, and with which weights ---------------------------------------------------

CURVE = [0.1, 0.5, 0.4, 0.5, 0.3, 0.2, 0.1, 0.45, 0.5, 0.9]


@pytest.mark.parametrize(
    ("options", "n_epochs", "best"),
    [
        ({"patience": 3}, 5, 2),
        ({"patience": 3, "ties_count": True}, 7, 4),
        ({"patience": 4}, 6, 2),
        ({"patience": 1}, 3, 2),
        ({"patience": 20}, 10, 10),
        ({"patience": 20, "max_epochs": 9}, 9, 2),
        ({"patience": 20, "max_epochs": 9, "ties_count": True}, 9, 9),
    ],
)
def test_training_ends_when_patience_does_and_the_best_weights_come_back(options, n_epochs, best):
    training, validation = two_parts()
    schedule = {"batch_size": 8, "max_epochs": 10, **options}
    run = Training(
        network_of(dropout=0.3), training, validation, Schedule(**schedule), judge_of(CURVE)
    )
    state = run.run()
    assert (state.epoch, state.best_epoch, state.best) == (n_epochs, best, CURVE[best - 1])
    assert [epoch.epoch for epoch in state.history] == list(range(1, n_epochs + 1))
    assert [epoch.macro_f1 for epoch in state.history] == CURVE[:n_epochs]
    # the same training, had it ended right after that epoch
    short = Training(
        network_of(dropout=0.3), training, validation,
        Schedule(batch_size=8, max_epochs=best), judge_of(range(best)),
    )  # fmt: skip
    short.run()
    np.testing.assert_array_equal(run.validation_scores, short.validation_scores)


def test_without_validation_texts_all_epochs_are_done():
    data = documents()
    schedule = Schedule(batch_size=8, max_epochs=4, patience=1)
    run = Training(network_of(), data, None, schedule, judge_of([]))
    state = run.run()
    assert (state.epoch, state.best_epoch, state.is_over) == (4, 4, True)
    assert run.validation_scores is None
    assert {epoch.macro_f1 for epoch in state.history} == {None}


def test_a_loss_that_is_no_number_is_told_and_not_trained_on():
    network = network_of("mean")
    with torch.no_grad():
        network.head.bias[0] = torch.inf
    with pytest.raises(wc.InputError, match=r"loss of epoch 1 is nan.*lr=0\.001"):
        Training(network, documents(), None, Schedule(max_epochs=2), honest).run()


# --- numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["single", "multilabel", "weights"])
def test_the_validation_loss_is_that_of_the_epoch_s_end(kind):
    texts, labels = multilabel_corpus(20) if kind == "multilabel" else corpus(20)
    weights = np.linspace(0, 3, 20) if kind == "weights" else None
    data = documents(texts, labels, weights=weights)
    training, validation = data.part(np.arange(9)), data.part(np.arange(9, 20))
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
    training, validation = data.part(np.arange(18)), data.part(np.arange(18, 24))
    network = network_of()
    plain = Plain(network, lr=0.02, clip=0.1)
    schedule = Schedule(
        lr=0.02, batch_size=6, max_epochs=5, reshuffles=False, averages=True, last_rate=0.5
    )
    run = Training(network, training, validation, schedule, judge_of([0.1, 0.5, 0.2, 0.4, 0.3]))
    assert run.run().best_epoch == 2

    def mean_of(weights):
        return {name: sum(each[name] for each in weights) / len(weights) for name in weights[0]}

    def taken():
        return {name: weight.detach().double().clone() for name, weight in plain.weights.items()}

    ends = []
    for _ in range(5):
        for start in (0, 6, 12):
            plain.step(*in_plain_words(training, range(start, start + 6)))
        ends.append(taken())
    plain.weights = {
        name: each.float().requires_grad_() for name, each in mean_of(ends[1:]).items()
    }
    shown = [plain.logits_of(text, None) for text in in_plain_words(validation, range(6))[0]]
    np.testing.assert_allclose(
        run.validation_scores, torch.stack(shown).detach().numpy(), atol=2e-5
    )
    plain.lr = 0.01
    plain.step(*in_plain_words(validation, range(6)))  # the last epoch has one batch only
    assert_same_weights(weights_of(network), plain.weights, 5e-5)


def test_in_the_last_epoch_all_steps_count_the_same():
    training, validation = two_parts()
    one = Schedule(lr=0.02, batch_size=8, max_epochs=1, reshuffles=False)
    ends = []
    for n_texts in (8, 16):  # so that the last epoch has one batch, and two
        network = network_of()
        Training(network, training, validation.part(np.arange(n_texts)), one, honest).run()
        ends.append(weights_of(network))
    network = network_of()
    Training(
        network, training, validation.part(np.arange(16)), replace(one, averages=True), honest
    ).run()
    expected = {name: (ends[0][name] + ends[1][name]) / 2 for name in ends[0]}
    assert_same_weights(weights_of(network), expected, 1e-6)


@pytest.mark.parametrize("name", ["cnn", "lstm", "mean"])
def test_the_loss_falls_and_the_history_is_complete(name):
    training, validation = two_parts()
    schedule = Schedule(lr=0.02, batch_size=8, max_epochs=6)
    begun = time.perf_counter()
    state = Training(network_of(name), training, validation, schedule, honest).run()
    elapsed = time.perf_counter() - begun
    losses = [epoch.loss for epoch in state.history]
    assert losses[-1] < losses[0] / 2
    assert all(0 <= epoch.macro_f1 <= 1 and 0 <= epoch.micro_f1 <= 1 for epoch in state.history)
    assert state.history[-1].macro_f1 > 0.9
    assert all(epoch.seconds > 0 for epoch in state.history)
    assert sum(epoch.seconds for epoch in state.history) < elapsed


def test_progress_tells_loss_and_score_and_how_much_is_left_if_nothing_gets_better():
    training, validation = two_parts()
    schedule = Schedule(batch_size=8, max_epochs=5, patience=2)
    told = []
    with progress.told_to(lambda *what: told.append(what)):
        Training(network_of(), training, validation, schedule, judge_of([0.5, 0.7, 0.6, 0.6])).run()
    steps = list(dict.fromkeys(step for step, _, _ in told))
    assert steps[0] == "training: epoch 1"
    assert re.fullmatch(
        r"training: epoch 4, loss \d\.\d{3}, best macro F1 0\.700 of epoch 2", steps[3]
    )
    assert steps[4] == "last epoch: with the validation texts"
    assert len(steps) == 5  # validation texts are scored, but not told of
    n_batches = 6
    totals = {step: total for step, _, total in told}
    assert [totals[step] / n_batches for step in steps[:4]] == [3, 3, 4, 4]
    done = [done for step, done, _ in told if step.startswith("training")]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, 4 * n_batches)


def test_the_seconds_of_an_epoch_are_counted_once_however_often_it_is_saved(tmp_path):
    data = documents()
    checkpoint = Checkpoint(tmp_path / "state", "key", seconds=0)
    begun = time.perf_counter()
    schedule = Schedule(batch_size=8, max_epochs=3)
    state = Training(network_of(), data, None, schedule, honest, checkpoint=checkpoint).run()
    elapsed = time.perf_counter() - begun
    assert sum(epoch.seconds for epoch in state.history) < elapsed


def trained(seed, **options):
    training, validation = two_parts()
    network = network_of(dropout=0.5, layer_dropout={"word_class": 0.5})
    Training(
        network, training, validation, Schedule(batch_size=8, max_epochs=2), honest,
        seed=seed, **options,
    ).run()  # fmt: skip
    return weights_of(network)


def test_the_same_seed_makes_the_same_weights_whatever_torch_drew_before():
    torch.manual_seed(1)
    first = trained(0)
    torch.manual_seed(2)
    torch.rand(5)
    assert_same_weights(first, trained(0))
    others = [trained(seed) for seed in (1, -1, 2**40)]
    for other in others:
        assert any((first[name] != other[name]).any() for name in first)


def test_torch_is_left_as_it_was_also_where_training_fails():
    before, n_threads = torch.get_rng_state(), torch.get_num_threads()
    trained(0, n_threads=n_threads + 1)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == n_threads
    training, validation = two_parts()
    run = Training(
        network_of(dropout=0.5), training, validation, Schedule(batch_size=8), judge_of([0.5]),
        n_threads=n_threads + 1,
    )  # fmt: skip
    with pytest.raises(StopIteration):
        run.run()
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == n_threads


def test_every_epoch_draws_its_own_dropout_and_order():
    """With weights that do not move, the loss of an epoch differs by what was drawn only."""
    for dropout, is_same in ((0.0, True), (0.5, False)):
        schedule = Schedule(lr=1e-12, batch_size=8, max_epochs=3)
        state = Training(network_of(dropout=dropout), documents(), None, schedule, honest).run()
        losses = [epoch.loss for epoch in state.history]
        is_close = np.ptp(losses) < 1e-5 * losses[0]
        assert is_close == is_same


def test_scores_do_not_depend_on_what_else_is_read():
    texts = E.sequences([*TEXTS, "", "moon", "moon rose " * 40])
    for name in ("cnn", "lstm", "mean"):
        network = network_of(name).eval()
        together = prediction.scores(network, texts, 3, padding=E.padding)
        order = np.random.default_rng(0).permutation(len(texts))
        shuffled = prediction.scores(network, texts.part(order), 3, padding=E.padding)
        np.testing.assert_allclose(shuffled, together[order], atol=1e-6)
        for row in (0, 60, 61, 62):
            alone = prediction.scores(network, texts.part([row]), 3, padding=E.padding)
            np.testing.assert_allclose(alone[0], together[row], atol=1e-6)
        assert not network.training
        assert prediction.scores(network, texts.part([]), 3, padding=E.padding).shape == (0, 3)


# --- who sees which labels ------------------------------------------------------------------


def data_of(texts, labels, **options):
    """What the classifier trains on."""
    classifier = wc.classifier("cnn", min_docs=2, **options)
    return classifier._data(texts, encode(labels), None)


def rows_read(data, number):
    """The word-class rows with which a training text is read: one a word."""
    batch = data.training.batch(np.array([number]))
    block = data.E.blocks["word_class"]
    rows = data.E.matrix[batch.ids.numpy()[0]][:, block]
    return rows + (0 if batch.shift is None else batch.shift["word_class"].numpy())


def reference_rows(texts, labels, seen, classes):
    """S of some documents, by the paper's formulas; vocabulary and idf are those of all."""
    terms = reference.vocabulary(texts, 2)
    X = reference.tfidf([texts[k] for k in seen], terms, training_texts=texts)
    Y = [[int(name in own) for name in classes] for own in (labels[k] for k in seen)]
    known = [any(row[t] for row in X) for t in range(len(terms))]
    S = reference.standardize(reference.dot(X, Y), known)
    return dict(zip(terms, S, strict=True))


def test_a_text_is_read_with_rows_of_texts_outside_its_fold_and_outside_validation():
    texts, labels = corpus(40)
    data = data_of(texts, labels)
    trained_on = [k for k in range(40) if k not in data.validated]
    assert len(data.validated) == 8
    folds = data.training.fold_vectors.folds
    assert len(np.unique(folds)) == 10
    for number in (0, 7, 31):
        own = trained_on[number]
        seen = [k for k, fold in zip(trained_on, folds, strict=True) if fold != folds[number]]
        assert own not in seen
        lists = [[label] for label in labels]
        S = reference_rows(texts, lists, seen, data.labels.codeframe.classes)
        expected = [S.get(word, [0.0] * 3) for word in reference.tokens(texts[own])]
        np.testing.assert_allclose(rows_read(data, number), expected, atol=1e-4)
    # new texts, and those that validate, are read with rows of all texts that train
    S = reference_rows(texts, lists, trained_on, data.labels.codeframe.classes)
    block = data.E.blocks["word_class"]
    for term, row in zip(data.E.terms, data.E.matrix[:, block], strict=False):
        np.testing.assert_allclose(row, S[term], atol=1e-4)
    assert data.validation.fold_vectors is None


def with_one_label_changed(labels, k, name):
    changed = [list(own) for own in labels]
    changed[k] = sorted({*changed[k]} ^ {name})
    return changed


def test_a_label_of_a_training_text_leaves_the_rows_that_it_is_read_with():
    texts, labels = multilabel_corpus(40)
    before = data_of(texts, labels)
    trained_on = [k for k in range(40) if k not in before.validated]
    n_found = n_others = 0
    for number, k in enumerate(trained_on):
        for name in ("space", "garden", "music"):
            after = data_of(texts, with_one_label_changed(labels, k, name))
            # folds have the same share of every class, so that some changes deal them anew
            folds = [each.training.fold_vectors.folds.tolist() for each in (before, after)]
            if after.validated.tolist() != before.validated.tolist() or folds[0] != folds[1]:
                continue
            n_found += 1
            np.testing.assert_allclose(
                rows_read(after, number), rows_read(before, number), atol=1e-5
            )
            others = [row for row in range(len(trained_on)) if folds[0][row] != folds[0][number]]
            n_others += any(
                np.abs(rows_read(after, row) - rows_read(before, row)).max() > 1e-3
                for row in others
            )
        if n_found > 3:
            break
    assert n_found > 3
    assert n_others == n_found


def test_labels_of_validation_texts_are_in_no_row_and_in_no_fold():
    texts, labels = corpus(40)
    embeddings = wc.WordClassEmbeddings(min_docs=2, seed=7)
    before = data_of(texts, labels, wce=embeddings)
    n_found = n_telling = 0
    for k, other in combinations(before.validated.tolist(), 2):
        swapped = list(labels)
        swapped[k], swapped[other] = swapped[other], swapped[k]
        after = data_of(texts, swapped, wce=embeddings)
        if swapped == labels or after.validated.tolist() != before.validated.tolist():
            continue
        n_found += 1
        np.testing.assert_allclose(after.E.matrix, before.E.matrix, atol=1e-5)
        ours, theirs = before.training.fold_vectors, after.training.fold_vectors
        np.testing.assert_array_equal(theirs.folds, ours.folds)
        np.testing.assert_allclose(theirs.differences, ours.differences, atol=1e-5)
        # dealt from all texts, the folds of those that train would not be the same
        dealt = [stratified_folds(texts, each.labels.Y, 10, 7) for each in (before, after)]
        n_telling += bool((dealt[0] != dealt[1]).any())
    assert n_found >= n_telling > 0


def test_held_out_labels_change_no_rows_of_folds_that_are_given():
    texts, labels = corpus(40)
    folds = np.arange(40) % 5 - 1
    made = wc.WordClassEmbeddings(min_docs=2).fit_folds(texts, labels, folds)
    others = [label if fold >= 0 else "music" for label, fold in zip(labels, folds, strict=True)]
    again = wc.WordClassEmbeddings(min_docs=2).fit_folds(texts, others, folds)
    np.testing.assert_allclose(again, made, atol=1e-5)
    assert made.shape[0] == 4


def test_the_papers_protocol_lets_all_texts_into_the_rows():
    texts, labels = corpus(40)
    data = data_of(texts, labels, protocol="paper")
    block = data.E.blocks["word_class"]
    expected = wc.WordClassEmbeddings(min_docs=2).fit(texts, labels).vectors_
    np.testing.assert_array_equal(data.E.matrix[: len(expected), block], expected)
    assert data.training.fold_vectors is None
    assert (data.training.pad, data_of(texts, labels).training.pad) == ("left", "right")
    assert len(data.validated) == 8
    changed = list(labels)
    changed[int(data.validated[0])] = next(
        name for name in ("space", "garden") if name != changed[int(data.validated[0])]
    )
    again = data_of(texts, changed, protocol="paper")
    assert again.validated.tolist() == data.validated.tolist()
    assert np.abs(again.E.matrix - data.E.matrix).max() > 1e-3


def test_copies_of_one_text_leave_something_to_learn_from():
    texts, labels = ["moon rose soil"] * 12, ["a", "b"] * 6
    data = data_of(texts, labels)
    assert len(data.training) == 12
    assert data.validation is None


def test_texts_without_any_label_make_a_key_too():
    Y = sparse.csr_matrix((12, 2), dtype=int)
    classifier = wc.classifier("cnn", min_docs=1)
    data = classifier._data([f"moon w{k}" for k in range(12)], encode(Y, ["a", "b"]), None)
    assert data.key("cnn", {}) != data.key("lstm", {})
