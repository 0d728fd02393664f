"""The weights of a network as arrays, without those of its vectors, which are kept elsewhere."""

from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn

_VECTORS = "layer."


def packed(network: nn.Module) -> dict[str, NDArray[Any]]:
    """Return all but the vectors, by name."""
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
