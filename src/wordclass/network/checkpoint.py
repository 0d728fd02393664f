"""The state of a training on disk, from which a killed training resumes."""

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
_STEP_LAYOUT = {"step": "float32 1 >=1"}  # of Adam, next to its two moments

Weights = dict[str, Tensor]


class CheckpointError(InputError):
    """A checkpoint exists, but this training cannot resume from it."""


@dataclass
class Epoch:
    """The results of one pass over the training texts.

    Parameters
    ----------
    epoch : int
        The number of the epoch, from 1.
    loss : float
        The mean loss of the training texts during the epoch.
    macro_f1, micro_f1 : float or None
        The F1 of the validation texts, or None without validation texts.
    seconds : float
        The duration.
    validation_loss : float or None, default=None
        The mean loss of the validation texts.
    noted : dict of str to float
        The numbers that `Training.watch` returned.
    """

    epoch: int
    loss: float
    macro_f1: float | None
    micro_f1: float | None
    seconds: float
    validation_loss: float | None = None
    noted: dict[str, float] = field(default_factory=dict)


@dataclass
class State:
    """The progress of a training.

    Parameters
    ----------
    batch : int, default=0
        The number of finished batches of the current epoch.
    loss : float, default=0.0
        The sum of the losses of these batches' texts.
    n_texts : int, default=0
        The number of these texts.
    seconds : float, default=0.0
        The duration of the current epoch so far.
    best : float or None, default=None
        The best validation score.
    best_epoch : int, default=0
        The epoch that reached it.
    is_stopped : bool, default=False
        Whether no epoch follows, except the last one with the validation texts.
    is_over : bool, default=False
        Whether the training is complete.
    history : list of Epoch
        The finished epochs.
    """

    batch: int = 0
    loss: float = 0.0
    n_texts: int = 0
    seconds: float = 0.0
    best: float | None = None
    best_epoch: int = 0
    is_stopped: bool = False
    is_over: bool = False
    history: list[Epoch] = field(default_factory=list)

    @property
    def epoch(self) -> int:
        """The number of finished epochs."""
        return len(self.history)


def trained_weights(network: nn.Module) -> Weights:
    """Return the weights that training changes, by name."""
    weights = network.named_parameters()
    return {name: weight.detach() for name, weight in weights if weight.requires_grad}


def copy_weights(network: nn.Module) -> Weights:
    """Return copies of the weights that training changes, by name."""
    return {name: weight.clone() for name, weight in trained_weights(network).items()}


def load_weights(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Overwrite the trained weights of a network. Missing names keep their values."""
    for name, weight in trained_weights(network).items():
        if name in weights:
            weight.copy_(weights[name])


@dataclass
class Checkpoint:
    """A file that holds the state of one training.

    Parameters
    ----------
    path : Path or None, default=None
        The file, or None to write nothing.
    key : str, default=""
        A digest of the data and options of the training. A file with another key is refused.
    seconds : float, default=60.0
        The minimum time between two writes inside an epoch.
    """

    path: Path | None = None
    key: str = ""
    seconds: float = 60.0
    _written: float = field(default_factory=time.monotonic, repr=False)

    @property
    def is_due(self) -> bool:
        """Whether to write the state in the middle of an epoch."""
        return self.path is not None and time.monotonic() - self._written >= self.seconds

    def write(
        self,
        state: State,
        network: nn.Module,
        optimizer: optim.Optimizer,
        extra_weights: Mapping[str, Weights],
    ) -> None:
        """Replace the file by the present state, or leave it unchanged if writing fails.

        Parameters
        ----------
        state : State
            The progress of the training.
        network : nn.Module
            The network, whose trained weights are stored.
        optimizer : optim.Optimizer
            Adam, whose moments are stored.
        extra_weights : dict of str to Weights
            Other weights of the network by their meaning, such as "best".
        """
        if self.path is None:
            return
        adam_state = optimizer.state_dict()["state"]
        groups = {"network": trained_weights(network), **extra_weights}
        groups |= {f"optimizer.{number}": moments for number, moments in adam_state.items()}
        arrays = {
            f"{group}.{name}": tensor.detach().cpu().numpy()
            for group, tensors in groups.items()
            for name, tensor in tensors.items()
        }
        with suppress(OSError):  # writing the file reports the error with its path
            self.path.parent.mkdir(parents=True, exist_ok=True)
        ModelState.of({"key": self.key, "state": asdict(state)}, **arrays).write(self.path, _KIND)
        self._written = time.monotonic()

    def read(
        self, network: nn.Module, optimizer: optim.Optimizer, extra_groups: Iterable[str]
    ) -> tuple[State, dict[str, Weights]]:
        """Restore the state of the file, or return the initial state if there is no file.

        Parameters
        ----------
        network : nn.Module
            The network, whose trained weights are overwritten.
        optimizer : optim.Optimizer
            Adam, whose moments are overwritten.
        extra_groups : iterable of str
            The keys of the `extra_weights` that `write` stored.

        Returns
        -------
        state : State
            The progress of the training.
        extra_weights : dict of str to Weights
            The other weights by their meaning.

        Raises
        ------
        CheckpointError
            If the file belongs to another training, is not a checkpoint or is damaged.
        """
        if self.path is None or not path_exists(self.path):
            return State(), {group: {} for group in extra_groups}
        layouts = {
            name: layout_of(weight.cpu().numpy())
            for name, weight in trained_weights(network).items()
        }
        try:
            stored = ModelState.read(self.path, _KIND)
            with as_format_error(self.path, "it does not hold the state of a training"):
                if stored.metadata["key"] != self.key:
                    raise CheckpointError(
                        f"{self.path} is the checkpoint of another training: the texts, the "
                        "vectors or the options differ",
                        hint="delete it to start over, or name another file",
                    )
                state = _parse_state(stored.metadata["state"])
                weights = _take_group(stored, "network", layouts)
                extra_weights = {
                    group: _take_group(stored, group, layouts) for group in extra_groups
                }
                moments = [
                    _take_group(stored, f"optimizer.{number}", _adam_layouts(layout))
                    for number, layout in enumerate(layouts.values())
                ]
        except FormatError as error:
            raise CheckpointError(error, hint="delete it to start over") from error
        load_weights(network, weights)
        # a single number is stored as an array of one
        adam_state = {
            number: {**arrays, "step": arrays["step"][0]}
            for number, arrays in enumerate(moments)
            if arrays
        }
        param_groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": adam_state, "param_groups": param_groups})
        self._written = time.monotonic()
        return state, extra_weights


def _adam_layouts(layout: str) -> dict[str, str]:
    """Return the layouts of the optimizer's arrays for a weight."""
    return {**_STEP_LAYOUT, "exp_avg": layout, "exp_avg_sq": layout}


def _take_group(stored: ModelState, group: str, layouts: Mapping[str, str]) -> Weights:
    """Return all arrays of a group, or an empty dict if the file has none of them."""
    if not any(name.startswith(f"{group}.") for name in stored.arrays):
        return {}
    arrays = stored.take(**{f"{group}.{name}": layout for name, layout in layouts.items()})
    return {name: torch.from_numpy(arrays[f"{group}.{name}"]) for name in layouts}


def _parse_state(metadata: Mapping[str, Any]) -> State:
    """Return the state that a file describes. Raise an InputError if a value has a wrong type."""
    history = [Epoch(**epoch) for epoch in metadata["history"]]
    state = State(**{**metadata, "history": history})
    check_int("batch", state.batch, 0)
    records: list[State | Epoch] = [state, *history]
    for record in records:
        for attribute in fields(record):
            value = getattr(record, attribute.name)
            is_optional_float = attribute.type == float | None
            if attribute.type is bool:
                check_one_of(attribute.name, value, (False, True))
            elif attribute.type in (int, float) or (is_optional_float and value is not None):
                check_number(attribute.name, value)
    for name, number in chain(*(epoch.noted.items() for epoch in history)):
        if not isinstance(number, float):  # of any sign
            raise InputError(f"{name} is {number!r}", expected="a number")
    return state


def remove(path: Path) -> None:
    """Delete a checkpoint and the temporary files of processes killed while writing it."""
    remove_leftovers(path)
    with suppress(OSError):
        path.unlink(missing_ok=True)
