"""What each of the two processes of test_processes.py does; torchrun starts it."""

import json
import os
import sys
from pathlib import Path

import numpy as np
from network.test_processes import CASES, make, weights_of

from wordclass import cli
from wordclass.classifiers import _network_classifier
from wordclass.network.checkpoint import Checkpoint

FOLDER, RANK = Path(sys.argv[1]), os.environ["RANK"]


class KilledError(Exception):
    """Ends a training in the middle, in both processes."""


def keep(name, classifier):
    np.savez(FOLDER / f"{name}.{RANK}.npz", **weights_of(classifier))
    (FOLDER / f"{name}.{RANK}.json").write_text(json.dumps(classifier.history_))


def train_all():
    for case, (data, _) in CASES.items():
        keep(case, make(case).fit(*data))


def stop_and_go_on():
    """Dropout is drawn anew in each process, and the same after a stop."""
    data, options = CASES["cnn"][0], {"dropout": 0.5, "supervised_dropout": 0.5}
    keep("dropout", make("cnn", **options).fit(*data))
    keeping = make("cnn", **options, checkpoint=FOLDER / "state")
    is_due = Checkpoint.is_due
    steps = []

    def is_due_until_killed(self):
        steps.append(len(steps))
        if len(steps) == 10:  # three batches into the second epoch, the third of them lost
            raise KilledError
        return len(steps) == 9

    Checkpoint.is_due = property(is_due_until_killed)
    try:
        keeping.fit(*data)
        sys.exit("nothing was killed")
    except KilledError:
        Checkpoint.is_due = is_due
    keep("resumed", keeping.fit(*data))


def use_the_command():
    """The file there is that of another training, so that both have to begin anew."""
    if RANK == "0":
        os.replace(FOLDER / "state", FOLDER / "model.checkpoint")
    options = {"min_docs": 2, "channels": 4, "batch_size": 8, "max_epochs": 8, "lr": 0.01}
    settings = [word for name in options for word in ("--set", f"{name}={options[name]}")]
    arguments = [FOLDER / "docs.jsonl", "-o", FOLDER / "model", "--classifier", "cnn", "--force"]
    sys.argv = ["wordclass", "train", *map(str, arguments), *settings]
    try:
        cli.main()
    except SystemExit as stop:
        if stop.code:
            raise


assert _network_classifier.Checkpoint is Checkpoint
train_all()
stop_and_go_on()
use_the_command()
