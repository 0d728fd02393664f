"""The regressor of the paper: one hidden layer with dropout, and early stopping.

PyTorch is needed to train it, and NumPy to predict.
"""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from wordclass import catalogue, progress
from wordclass.arrays import Floats, Floats32
from wordclass.embedding.regressors._rows import checked_pairs, predicted
from wordclass.errors import InputError
from wordclass.options import check_int, check_number

_VALIDATION_SHARE = 0.1  # of the terms, for early stopping


@dataclass
class NetworkRegressor:
    """Regressor with two layers, relu(u W + b) W' + b', trained by Adam on the squared error.

    U and S are each divided by their root mean square, so that their units do not matter.

    Parameters
    ----------
    hidden, dropout : int, default=64, float, default=0.5
        Units of the hidden layer, and the rate at which training drops them: as in the paper.
    learning_rate, batch_size : float, default=1e-3, int, default=100
        Of the training; terms in a batch.
    max_epochs, patience : int, default=500, int, default=10
        Training ends after `max_epochs`, or when the error on a tenth of the terms, which is kept
        aside, has not fallen for `patience` epochs; the weights of the best epoch stay.
    seed : int, default=0
        Of first weights, batches, dropout, and the terms kept aside. The numbers that all of torch
        shares are left alone.

    Attributes
    ----------
    n_epochs_ : int
        How many epochs the weights were trained for; 0 where the first weights were best.
    """

    hidden: int = 64
    dropout: float = 0.5
    learning_rate: float = 1e-3
    batch_size: int = 100
    max_epochs: int = 500
    patience: int = 10
    seed: int = 0
    n_epochs_: int = field(init=False, repr=False)
    layers_: list[tuple[Floats, Floats]] = field(init=False, repr=False)  # weights and biases

    def __post_init__(self) -> None:
        for name in ("hidden", "batch_size", "max_epochs", "patience"):
            check_int(name, getattr(self, name), 1)
        check_int("seed", self.seed, 0)
        check_number("dropout", self.dropout, below=1)
        check_number("learning_rate", self.learning_rate, above=0)
        catalogue.import_extra("torch", "for the regressor 'network'")

    def fit(self, U: ArrayLike, S: ArrayLike) -> Self:
        """Learn from the vectors U (v, q) and S (v, r) of the same terms."""
        rows, targets = checked_pairs(U, S)
        catalogue.import_extra("torch", "for the regressor 'network'")
        scale = _size(rows)
        target_scale = _size(targets)
        (W, b, W_out, b_out), self.n_epochs_ = self._trained(
            (rows / scale).astype(np.float32), (targets / target_scale).astype(np.float32)
        )
        self.layers_ = [(W / scale, b), (W_out * target_scale, b_out * target_scale)]
        return self

    def _trained(self, U: Floats32, S: Floats32) -> tuple[list[Floats], int]:
        """Return the weights and biases of both layers at the best epoch, and its number."""
        import torch
        from torch import Tensor, nn

        def error(part: Tensor, mask: float | Tensor = 1.0) -> Tensor:
            W, b, W_out, b_out = weights
            units = torch.relu(rows[part] @ W + b) * mask  # (batch, hidden)
            return nn.functional.mse_loss(units @ W_out + b_out, targets[part])

        # a generator of its own, so that the shared one of PyTorch does not change
        generator = torch.Generator().manual_seed(int(self.seed))
        rows = torch.from_numpy(U)
        targets = torch.from_numpy(S)
        order = torch.randperm(len(rows), generator=generator)
        n_validation = max(1, round(_VALIDATION_SHARE * len(rows)))
        validation = order[:n_validation]
        training = order[n_validation:]
        weights: list[Tensor] = []
        for size in ((U.shape[1], self.hidden), (self.hidden, S.shape[1])):
            weight = nn.init.xavier_uniform_(torch.empty(size), generator=generator)
            weights += [weight.requires_grad_(), torch.zeros(size[1]).requires_grad_()]
        optimizer = torch.optim.Adam(weights, lr=self.learning_rate)
        lowest_error = float(error(validation).detach())
        best_epoch = 0
        best = [weight.detach().clone() for weight in weights]
        for epoch in range(1, self.max_epochs + 1):
            shuffled = training[torch.randperm(len(training), generator=generator)]
            for batch in torch.split(shuffled, self.batch_size):
                mask = torch.rand(len(batch), self.hidden, generator=generator) >= self.dropout
                optimizer.zero_grad()
                with torch.enable_grad():  # the caller may have disabled it
                    error(batch, mask / (1 - self.dropout)).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            validation_error = float(error(validation).detach())
            if validation_error < lowest_error:
                lowest_error = validation_error
                best_epoch = epoch
                best = [weight.detach().clone() for weight in weights]
            progress.report("training the network", epoch, self.max_epochs)
            if epoch - best_epoch >= self.patience:
                break
        return [weight.numpy().astype(np.float64) for weight in best], best_epoch

    def predict(self, U: ArrayLike) -> Floats32:
        """Return word-class vectors (k, r) for pretrained vectors (k, q)."""
        if not hasattr(self, "layers_"):
            raise InputError("this regressor has learned nothing yet: fit(U, S) comes first")
        (W, b), (W2, b2) = self.layers_
        return predicted(U, len(W), len(b2), lambda rows: np.maximum(rows @ W + b, 0) @ W2 + b2)


make = NetworkRegressor


def _size(rows: Floats32) -> float:
    """Return the root mean square of all numbers, or 1 if all are 0."""
    return float(np.sqrt(np.square(rows, dtype=np.float64).mean())) or 1.0
