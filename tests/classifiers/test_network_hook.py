"""`on_epoch`: whoever watches a training sees the network as it is, and changes nothing."""

import json

import numpy as np
import pytest
from classifiers.test_networks import (
    MULTILABEL,
    NAMES,
    SINGLE,
    TEXTS,
    VARIANTS,
    make,
)

import wordclass as wc

NEW = ["the comet and the orbit", "a tulip", "", "rose moon tax", *TEXTS[20:]]


@pytest.mark.parametrize("protocol", ["clean", "paper"])
@pytest.mark.parametrize(
    ("name", "variant"),
    [
        *(("cnn", variant) for variant in ("random", "vectors", "vectors+wce trainable")),
        *((name, "wce") for name in NAMES),
    ],
)
def test_the_watcher_gets_the_predictions_of_the_network_as_it_is(name, variant, protocol):
    few, labels = SINGLE[0][:9], SINGLE[1][:9]  # too few to validate: the last epoch is the model
    told = []

    def watch(epoch):
        told.append((epoch.epoch, epoch.macro_f1, epoch.predict(NEW).tolist()))

    options = {**VARIANTS[variant], "protocol": protocol, "max_epochs": 3}
    model = make(name, **options, on_epoch=watch).fit(few, labels)
    assert [each[:2] for each in told] == [(1, None), (2, None), (3, None)]
    assert told[-1][2] == model.predict(NEW).tolist()
    assert told[0][2] != told[-1][2] or name != "cnn"  # a network that learns


@pytest.mark.parametrize(("texts", "labels"), [SINGLE, MULTILABEL], ids=["single", "multilabel"])
@pytest.mark.parametrize("protocol", ["clean", "paper"])
def test_a_watched_training_is_the_same_and_keeps_what_was_noted(texts, labels, protocol):
    def watch(epoch):
        predicted = epoch.predict(texts)
        scores = wc.evaluate(labels, predicted)
        return {"train_macro_f1": scores.macro_f1, "number": np.float32(epoch.epoch)}

    watched = make(protocol=protocol, on_epoch=watch).fit(texts, labels)
    alone = make(protocol=protocol).fit(texts, labels)
    assert np.array_equal(watched.decision_function(texts), alone.decision_function(texts))
    assert [epoch["number"] for epoch in watched.history_] == [1, 2]
    assert all(0 <= epoch["train_macro_f1"] <= 1 for epoch in watched.history_)
    assert alone.history_[0].keys() == watched.history_[0].keys() - {"train_macro_f1", "number"}
    json.dumps(watched.history_)


def test_what_was_noted_before_a_crash_is_in_the_history_of_the_training_that_goes_on(tmp_path):
    calls = []

    def watch(epoch):
        calls.append(epoch.epoch)
        if len(calls) == 3:
            raise RuntimeError("the machine stops")
        return {"calls": len(calls), "below_zero": -1.0}

    options = {"max_epochs": 4, "checkpoint": tmp_path / "state", "on_epoch": watch}
    with pytest.raises(RuntimeError):
        make(**options).fit(*SINGLE)
    model = make(**options).fit(*SINGLE)
    assert calls == [1, 2, 3, 3, 4]
    assert [epoch["calls"] for epoch in model.history_] == [1, 2, 4, 5]


def test_a_saved_model_knows_nothing_of_the_watcher(tmp_path):
    model = make(on_epoch=lambda epoch: {"one": 1.0}).fit(*SINGLE)
    model.save(tmp_path / "model")
    loaded = wc.load(tmp_path / "model")
    assert loaded.on_epoch is None
    assert loaded.history_ == model.history_


def test_a_watcher_must_be_a_function():
    with pytest.raises(wc.InputError, match="on_epoch is 'print'; expected a function or None"):
        make(on_epoch="print").fit(*SINGLE)


@pytest.mark.parametrize("returned", [{"a": "x"}, {"a": None}, {"a": float("nan")}, [1.0], 5, "x"])
def test_a_watcher_must_return_numbers(returned):
    with pytest.raises(wc.InputError, match=r"on_epoch returned .*; expected a dict of finite"):
        make(on_epoch=lambda epoch: returned).fit(*SINGLE)
