"""What each of the two processes of test_processes.py does; torchrun starts it."""

import json
import os
import sys
from pathlib import Path

import numpy as np


class KilledError(Exception):
    """Ends a training in the middle, in both processes."""


def main(folder, rank):
    from network.test_processes import CASES, make, weights_of

    def keep(name, classifier):
        np.savez(folder / f"{name}.{rank}.npz", **weights_of(classifier))
        (folder / f"{name}.{rank}.json").write_text(json.dumps(classifier.history_))

    for case, (data, _) in CASES.items():
        keep(case, make(case).fit(*data))
    # dropout is drawn anew in each process, and the same after a stop
    data = CASES["cnn"][0]
    options = {"dropout": 0.5, "supervised_dropout": 0.5}
    keep("dropout", make("cnn", **options).fit(*data))
    stopped = make("cnn", **options, checkpoint=folder / "state")
    stop_in_second_epoch(stopped, data)
    keep("resumed", stopped.fit(*data))
    if rank == "0":  # for the command, the checkpoint of another training: both must begin anew
        os.replace(folder / "state", folder / "model.checkpoint")
    use_the_command(folder)


def stop_in_second_epoch(classifier, data):
    from wordclass.network.checkpoint import Checkpoint

    is_due = Checkpoint.is_due
    steps = []

    def is_due_once(_checkpoint):
        steps.append(len(steps))
        if len(steps) == 10:  # of seven batches an epoch; what the tenth learned is lost
            raise KilledError
        return len(steps) == 9

    Checkpoint.is_due = property(is_due_once)
    try:
        classifier.fit(*data)
        sys.exit("nothing was killed")
    except KilledError:
        Checkpoint.is_due = is_due


def use_the_command(folder):
    from wordclass.cli import main as cli

    options = {"min_docs": 2, "channels": 4, "batch_size": 8, "max_epochs": 8, "lr": 0.01}
    settings = [word for name in options for word in ("--set", f"{name}={options[name]}")]
    arguments = [folder / "docs.jsonl", "-o", folder / "model", "--classifier", "cnn", "--force"]
    sys.argv = ["wordclass", "train", *map(str, arguments), *settings]
    try:
        cli.main()
    except SystemExit as stop:
        if stop.code:
            raise


if __name__ == "__main__":
    main(Path(sys.argv[1]), os.environ["RANK"])
