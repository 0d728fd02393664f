"""First weights as in the paper's runs, from a seed and without touching torch's own state.

All matrices are drawn by Xavier's uniform rule; biases keep what torch gives them, a uniform
draw whose width the caller knows. The linear layer above an encoder is drawn the same way.
"""

from typing import TypeAlias, TypeVar

import torch
from torch import nn

from wordclass.errors import InputError

Seed: TypeAlias = int | torch.Generator
_Module = TypeVar("_Module", bound=nn.Module)


def generator_of(seed: Seed) -> torch.Generator:
    """Return a new generator with this seed; one that is given is drawn from as it stands."""
    if isinstance(seed, torch.Generator):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError(f"seed is {seed!r}; expected an int or a torch.Generator")
    return torch.Generator().manual_seed(seed)


def drawn(empty: _Module, generator: torch.Generator, bias_width: float) -> _Module:
    """Return a module that was made on the meta device with memory and first weights.

    Made there, its constructor draws nothing from the numbers all of torch shares.
    """
    module = empty.to_empty(device="cpu")
    for weight in module.parameters():
        if weight.dim() > 1:
            nn.init.xavier_uniform_(weight, generator=generator)
        else:
            nn.init.uniform_(weight, -bias_width, bias_width, generator=generator)
    return module


def linear(input_dim: int, output_dim: int, generator: torch.Generator) -> nn.Linear:
    """Return a linear layer with such weights."""
    return drawn(nn.Linear(input_dim, output_dim, device="meta"), generator, input_dim**-0.5)


def check_sizes(**sizes: object) -> None:
    """Refuse what is no whole number of at least 1."""
    for name, value in sizes.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{name} is {value!r}; expected a whole number, 1 or more")
