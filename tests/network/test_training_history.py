"""The history of a training, its progress, and that it is the same every time."""

import re
import time

import numpy as np
import pytest
from network.small_trainings import (
    assert_same_weights,
    documents,
    honest,
    judge_of,
    network_of,
    torch,
    two_parts,
    weights_of,
)  # fmt: skip

from wordclass import progress
from wordclass.network.checkpoint import Checkpoint
from wordclass.network.training import Schedule, Training


@pytest.mark.parametrize("name", ["cnn", "lstm", "mean"])
def test_the_loss_falls_and_the_history_is_complete(name):
    training, validation = two_parts()
    schedule = Schedule(lr=0.02, batch_size=8, max_epochs=6)
    start = time.perf_counter()
    state = Training(network_of(name), training, validation, schedule, honest).run()
    elapsed = time.perf_counter() - start
    losses = [epoch.loss for epoch in state.history]
    assert losses[-1] < losses[0] / 2
    assert all(0 <= epoch.macro_f1 <= 1 and 0 <= epoch.micro_f1 <= 1 for epoch in state.history)
    assert state.history[-1].macro_f1 > 0.9
    assert all(epoch.seconds > 0 for epoch in state.history)
    assert sum(epoch.seconds for epoch in state.history) < elapsed


def test_progress_tells_loss_and_score_and_how_much_is_left_if_nothing_gets_better():
    training, validation = two_parts()
    schedule = Schedule(batch_size=8, max_epochs=5, patience=2)
    reports = []
    with progress.on_progress(lambda *what: reports.append(what)):
        Training(network_of(), training, validation, schedule, judge_of([0.5, 0.7, 0.6, 0.6])).run()
    steps = list(dict.fromkeys(step for step, _, _ in reports))
    assert steps[0] == "training: epoch 1"
    assert re.fullmatch(
        r"training: epoch 4, loss \d\.\d{3}, best macro_f1 0\.700 of epoch 2", steps[3]
    )
    assert steps[4] == "last epoch: with the validation texts"
    assert len(steps) == 5  # scoring validation texts is not reported
    n_batches = 6
    totals = {step: total for step, _, total in reports}
    assert [totals[step] / n_batches for step in steps[:4]] == [3, 3, 4, 4]
    done = [done for step, done, _ in reports if step.startswith("training")]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, 4 * n_batches)


def test_the_seconds_of_an_epoch_are_counted_once_however_often_it_is_saved(tmp_path):
    data = documents()
    checkpoint = Checkpoint(tmp_path / "state", "key", seconds=0)
    start = time.perf_counter()
    schedule = Schedule(batch_size=8, max_epochs=3)
    state = Training(network_of(), data, None, schedule, honest, checkpoint=checkpoint).run()
    elapsed = time.perf_counter() - start
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
    other_seeds = [trained(seed) for seed in (1, -1, 2**40)]
    for other in other_seeds:
        assert any((first[name] != other[name]).any() for name in first)


def test_torch_is_left_as_it_was_also_where_training_fails():
    before = torch.get_rng_state()
    n_threads = torch.get_num_threads()
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
    """Weights hardly change, so losses differ only if random numbers do."""
    for dropout, is_same in ((0.0, True), (0.5, False)):
        schedule = Schedule(lr=1e-12, batch_size=8, max_epochs=3)
        state = Training(network_of(dropout=dropout), documents(), None, schedule, honest).run()
        losses = [epoch.loss for epoch in state.history]
        is_close = np.ptp(losses) < 1e-5 * losses[0]
        assert is_close == is_same
