"""The end of a training: early stopping, the resulting weights and the last epoch."""

from dataclasses import replace

import numpy as np
import pytest
from network.small_trainings import (
    Judged,
    assert_same_weights,
    documents,
    honest,
    judge_of,
    network_of,
    torch,
    two_parts,
    weights_of,
)  # fmt: skip

import wordclass as wc
from wordclass.network.text_network import split_into_batches
from wordclass.network.training import Schedule, Training

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


@pytest.mark.parametrize(("target", "best"), [("macro_f1", 2), ("micro_f1", 3)])
def test_the_target_tells_the_best_epoch(target, best):
    training, validation = two_parts()
    left = iter([(0.1, 0.1), (0.9, 0.2), (0.5, 0.8), (0.4, 0.7)])

    def judge(_scores, _Y):
        macro, micro = next(left)
        return Judged(macro_f1=macro, micro_f1=micro)

    schedule = Schedule(batch_size=8, max_epochs=4, target=target)
    assert Training(network_of(), training, validation, schedule, judge).run().best_epoch == best


def test_without_validation_texts_all_epochs_run():
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


def test_the_last_epoch_has_another_learning_rate():
    training, validation = two_parts()
    moved = []
    for last_rate in (1.0, 0.1, 0.0):
        network = network_of()
        schedule = Schedule(lr=0.02, batch_size=8, max_epochs=1, last_rate=last_rate)
        Training(network, training, validation, schedule, honest).run()
        moved.append(network.head.weight.detach().clone())
    far, near = ((weights - moved[2]).abs().max() for weights in moved[:2])
    assert 0 < near < far


def test_shuffled_the_last_epoch_has_training_texts_too_and_every_text_once(monkeypatch):
    training, validation = two_parts()
    schedule = Schedule(batch_size=8, max_epochs=1)
    run = Training(network_of(), training, validation, schedule, honest)
    read = []
    batch_share = run._batch_share

    def record_batch(texts, rows):
        read.append((texts, rows))
        return batch_share(texts, rows)

    monkeypatch.setattr(run, "_batch_share", record_batch)
    run.run()
    last = read[len(split_into_batches(np.arange(len(training)), 8)) :]
    for part in (training, validation):
        rows = np.concatenate([rows for texts, rows in last if texts is part])
        assert sorted(rows) == list(range(len(part)))
    kinds = [texts is validation for texts, _ in last]
    assert kinds != sorted(kinds)  # mixed
    assert kinds != sorted(kinds, reverse=True)
