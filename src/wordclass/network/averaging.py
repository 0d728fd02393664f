"""The mean of a network's weights over its latest steps, steadier than the weights themselves."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from wordclass.network.checkpoint import trained


class Average:
    """A mean of the weights after each step, of which the latest may count more.

    Attributes
    ----------
    weights : dict of tensors
        The mean, by name; empty before the first step.
    """

    def __init__(self, network: nn.Module) -> None:
        self._network = network
        self.weights: dict[str, Tensor] = {}

    def add(self, step: int, gamma: float) -> None:
        """Take in the present weights; the first step is 1, and begins anew.

        Parameters
        ----------
        gamma
            Step t counts for (gamma + 1) / (gamma + t), so that the latest 1 / (gamma + 1) of all
            steps make up most of the mean, however many there were, and the first ones are soon
            forgotten (polynomial-decay averaging, Shamir and Zhang 2013). 0: all count the same.
        """
        present = trained(self._network)
        if step == 1:
            self.weights = {name: weight.clone() for name, weight in present.items()}
            return
        share = (gamma + 1) / (gamma + step)
        for name, weight in present.items():
            self.weights[name].lerp_(weight, share)


@contextmanager
def in_use(network: nn.Module, weights: Mapping[str, Tensor]) -> Iterator[None]:
    """Let a network have other weights inside the block; those that are not given stay."""
    present = {name: weight.clone() for name, weight in trained(network).items() if name in weights}
    load(network, weights)
    try:
        yield
    finally:
        load(network, present)


def load(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Overwrite weights of a network."""
    with torch.no_grad():
        for name, weight in trained(network).items():
            if name in weights:
                weight.copy_(weights[name])
