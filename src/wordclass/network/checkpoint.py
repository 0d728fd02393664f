"""The state of a training on disk, so that one that was killed goes on where it was."""

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn, optim

from wordclass.errors import FormatError, InputError
from wordclass.options import check_int, check_number, check_one_of
from wordclass.storage.files import as_format_error, path_exists, remove_leftovers
from wordclass.storage.state import ModelState, layout_of

_KIND = "training"

_ANOTHER = (
    "is the checkpoint of another training: the texts, the vectors or the options differ; delete "
    "it to begin anew, or name another file"
)

_STEP = {"step": "float32 1 >=1"}  # of Adam, beside its two moments

Weights = dict[str, Tensor]


class CheckpointError(InputError):
    """There is a checkpoint, but no training like this one can go on from it."""


@dataclass
class Epoch:
    """What one pass over the training texts came to."""

    epoch: int  # the first is 1
    loss: float  # the mean over its texts, while they were learned from
    macro_f1: float | None  # on the validation texts; None where there are none
    micro_f1: float | None
    seconds: float
    validation_loss: float | None = None
    noted: dict[str, float] = field(default_factory=dict)  # by whoever watches the training


@dataclass
class State:
    """How far a training is."""

    batch: int = 0  # done, of the epoch that has begun
    loss: float = 0.0  # summed over the texts of this epoch
    n_texts: int = 0
    seconds: float = 0.0  # of this epoch
    best: float | None = None  # the best validation score
    best_epoch: int = 0
    is_stopped: bool = False  # no more epochs; the last one on the validation texts may be missing
    is_over: bool = False
    history: list[Epoch] = field(default_factory=list)

    @property
    def epoch(self) -> int:
        """How many epochs are behind us."""
        return len(self.history)


def trained(network: nn.Module) -> Weights:
    """Return the weights that training changes, by name."""
    weights = network.named_parameters()
    return {name: weight.detach() for name, weight in weights if weight.requires_grad}


def copied(network: nn.Module) -> Weights:
    """Return copies of them, which training does not change."""
    return {name: weight.clone() for name, weight in trained(network).items()}


def load(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Overwrite those of the trained weights that are given."""
    for name, weight in trained(network).items():
        if name in weights:
            weight.copy_(weights[name])


@dataclass
class Checkpoint:
    """A file that holds the state of one training.

    Parameters
    ----------
    path : Path or None
        The file; None: nothing is kept.
    key : str
        Names the training: its data and options. The file of another training is refused.
    seconds : float, default=60.0
        How long to wait at least between two writes inside an epoch.
    """

    path: Path | None = None
    key: str = ""
    seconds: float = 60.0
    _written: float = field(default_factory=time.monotonic, repr=False)

    @property
    def is_due(self) -> bool:
        """Whether the state should be written in the middle of an epoch."""
        return self.path is not None and time.monotonic() - self._written >= self.seconds

    def write(
        self, state: State, network: nn.Module, optimizer: optim.Optimizer, kept: dict[str, Weights]
    ) -> None:
        """Replace the file by the present state, or leave it as it was.

        `kept` are weights that the network has not at present, by what they are.
        """
        if self.path is None:
            return
        adam = optimizer.state_dict()["state"].items()
        groups = {"network": trained(network), **kept, **{f"optimizer.{k}": v for k, v in adam}}
        arrays = {
            f"{group}.{name}": tensor.detach().cpu().numpy()
            for group, tensors in groups.items()
            for name, tensor in tensors.items()
        }
        with suppress(OSError):  # writing tells what is wrong
            self.path.parent.mkdir(parents=True, exist_ok=True)
        ModelState.of({"key": self.key, "state": asdict(state)}, **arrays).write(self.path, _KIND)
        self._written = time.monotonic()

    def read(
        self, network: nn.Module, optimizer: optim.Optimizer, kept: Iterable[str]
    ) -> tuple[State, dict[str, Weights]]:
        """Go back to the state of the file: returns it, and the weights that were kept in it.

        Where there is no file, the state is that of a beginning and nothing is changed.

        Raises
        ------
        CheckpointError
            The file is that of another training; or it is no such file, or damaged.
        """
        if self.path is None or not path_exists(self.path):
            return State(), {kind: {} for kind in kept}
        like = {name: layout_of(each.cpu().numpy()) for name, each in trained(network).items()}
        try:
            parts = ModelState.read(self.path, _KIND)
            with as_format_error(self.path, "no state of a training"):
                if parts.metadata["key"] != self.key:
                    raise CheckpointError(f"{self.path} {_ANOTHER}")
                state = _state_of(parts.metadata["state"])
                found = {group: _taken(parts, group, like) for group in ("network", *kept)}
                moments = [
                    _taken(parts, f"optimizer.{k}", {**_STEP, "exp_avg": each, "exp_avg_sq": each})
                    for k, each in enumerate(like.values())
                ]
        except FormatError as error:
            raise CheckpointError(f"{error}; delete it to begin anew") from error
        load(network, found.pop("network"))
        # a number alone comes back as an array of one
        adam = {k: {**each, "step": each["step"][0]} for k, each in enumerate(moments) if each}
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": adam, "param_groups": groups})
        self._written = time.monotonic()
        return state, found


def _taken(parts: ModelState, group: str, layouts: Mapping[str, str]) -> Weights:
    """Return the arrays of a group, all of them; or none, where none is there."""
    if not any(name.startswith(f"{group}.") for name in parts.arrays):
        return {}
    found = parts.take(**{f"{group}.{name}": each for name, each in layouts.items()})
    return {name: torch.from_numpy(found[f"{group}.{name}"]) for name in layouts}


def _state_of(told: Mapping[str, Any]) -> State:
    state = State(**{**told, "history": [Epoch(**epoch) for epoch in told["history"]]})
    check_int("batch", state.batch, 0)
    parts: list[State | Epoch] = [state, *state.history]
    for each in parts:
        for kept in fields(each):
            value = getattr(each, kept.name)
            if kept.type is bool:
                check_one_of(kept.name, value, (False, True))
            elif kept.type in (int, float) or (kept.type == float | None and value is not None):
                check_number(kept.name, value)
    for name, number in chain(*(epoch.noted.items() for epoch in state.history)):
        if not isinstance(number, float):  # of any size: a gain may be below 0
            raise InputError(f"{name} is {number!r}; expected a number")
    return state


def remove(path: Path) -> None:
    """Delete a checkpoint, and what is left where a process was killed while it wrote one."""
    remove_leftovers(path)
    with suppress(OSError):
        path.unlink(missing_ok=True)
