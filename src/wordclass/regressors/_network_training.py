"""The training of the network: the only file of the regressors that needs torch."""

import numpy as np
import torch
from torch import Tensor

from wordclass import progress
from wordclass.arrays import Floats, Floats32

_ASIDE = 0.1  # of the terms, to see when to stop


def train(
    U: Floats32,
    S: Floats32,
    *,
    hidden: int,
    dropout: float,
    learning_rate: float,
    batch_size: int,
    max_epochs: int,
    patience: int,
    seed: int,
) -> tuple[list[tuple[Floats, Floats]], int]:
    """Train two layers to predict S (v, r) from U (v, q).

    Returns
    -------
    layers
        Weights (inputs, outputs) and biases (outputs,) of each layer, at their best epoch.
    n_epochs
        How many epochs led there; 0 where the first weights were best.
    """
    # not the numbers that all of torch shares
    generator = torch.Generator().manual_seed(int(seed))
    rows, targets = torch.from_numpy(U), torch.from_numpy(S)
    order = torch.randperm(len(rows), generator=generator)
    n_aside = max(1, round(_ASIDE * len(rows)))
    aside, learned = order[:n_aside], order[n_aside:]
    weights = _first_weights(U.shape[1], hidden, S.shape[1], generator)
    optimizer = torch.optim.Adam(weights, lr=learning_rate)
    best = _Best(weights, _error(weights, rows[aside], targets[aside]))
    for epoch in range(1, max_epochs + 1):
        shuffled = learned[torch.randperm(len(learned), generator=generator)]
        for start in range(0, len(shuffled), batch_size):
            batch = shuffled[start : start + batch_size]
            kept = torch.rand(len(batch), hidden, generator=generator) >= dropout
            _step(optimizer, weights, rows[batch], targets[batch], kept / (1 - dropout))
        best.look_at(weights, _error(weights, rows[aside], targets[aside]), epoch)
        progress.report("training the network", epoch, max_epochs)
        if epoch - best.epoch >= patience:
            break
    W, b, W_out, b_out = (weight.numpy().astype(np.float64) for weight in best.weights)
    return [(W, b), (W_out, b_out)], best.epoch


class _Best:
    """The weights with the smallest error so far."""

    def __init__(self, weights: list[Tensor], error: float) -> None:
        self.epoch, self.error, self.weights = 0, error, _copied(weights)

    def look_at(self, weights: list[Tensor], error: float, epoch: int) -> None:
        if error < self.error:
            self.epoch, self.error, self.weights = epoch, error, _copied(weights)


def _copied(weights: list[Tensor]) -> list[Tensor]:
    return [weight.detach().clone() for weight in weights]


def _first_weights(
    n_inputs: int, hidden: int, n_outputs: int, generator: torch.Generator
) -> list[Tensor]:
    """Draw weights by Xavier's uniform rule; biases start at 0."""
    weights = []
    for size in ((n_inputs, hidden), (hidden, n_outputs)):
        weight = torch.empty(size)
        torch.nn.init.xavier_uniform_(weight, generator=generator)
        weights += [weight.requires_grad_(), torch.zeros(size[1]).requires_grad_()]
    return weights


def _step(
    optimizer: torch.optim.Adam,
    weights: list[Tensor],
    rows: Tensor,
    targets: Tensor,
    kept: Tensor,
) -> None:
    """Improve the weights by one batch, with these units kept."""
    optimizer.zero_grad()
    with torch.enable_grad():  # whatever the caller has switched off
        error = torch.nn.functional.mse_loss(_forward(weights, rows, kept), targets)
        error.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def _forward(weights: list[Tensor], rows: Tensor, kept: Tensor | None = None) -> Tensor:
    W, b, W_out, b_out = weights
    units = torch.relu(rows @ W + b)  # (batch, hidden)
    return (units if kept is None else units * kept) @ W_out + b_out


def _error(weights: list[Tensor], rows: Tensor, targets: Tensor) -> float:
    with torch.no_grad():
        return float(torch.nn.functional.mse_loss(_forward(weights, rows), targets))
