"""The weights of a network: those that are trained, others in their place, and all as arrays."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

_VECTORS = "layer."


def trained(network: nn.Module) -> dict[str, Tensor]:
    """Return the weights that training changes, by name."""
    return {
        name: weight.detach() for name, weight in network.named_parameters() if weight.requires_grad
    }


def copied(network: nn.Module) -> dict[str, Tensor]:
    """Return copies of them, which training does not change."""
    return {name: weight.clone() for name, weight in trained(network).items()}


def load(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Overwrite those of the trained weights that are given."""
    with torch.no_grad():
        for name, weight in trained(network).items():
            if name in weights:
                weight.copy_(weights[name])


@contextmanager
def in_use(network: nn.Module, weights: Mapping[str, Tensor]) -> Iterator[None]:
    """Let a network have other weights inside the block."""
    present = copied(network)
    load(network, weights)
    try:
        yield
    finally:
        load(network, present)


def packed(network: nn.Module) -> dict[str, NDArray[Any]]:
    """Return all but the vectors, which are kept elsewhere, by name."""
    return {
        name: weight.cpu().numpy()
        for name, weight in network.state_dict().items()
        if not name.startswith(_VECTORS)
    }


def unpack(network: nn.Module, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Put them back.

    Raises
    ------
    ValueError
        They are those of another network.
    """
    weights = {name: torch.from_numpy(array) for name, array in arrays.items()}
    own = {name: each for name, each in network.state_dict().items() if name.startswith(_VECTORS)}
    try:
        network.load_state_dict({**weights, **own})
    except RuntimeError as error:  # torch's word for what does not fit
        raise ValueError(f"its weights are those of another network: {error}") from error
