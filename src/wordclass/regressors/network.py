"""The paper's regressor: one hidden layer with dropout, stopped when terms kept aside say so.

torch trains it and is imported then; numpy predicts.
"""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from wordclass import naming
from wordclass.arrays import Floats, Floats32
from wordclass.errors import InputError
from wordclass.regressors._rows import checked_pairs, predicted


@dataclass
class NetworkRegressor:
    """Two layers: relu(u W + b) W' + b', trained by Adam on the mean squared error.

    U and S are each divided by one number, their root mean square, so that it does not matter in
    which units they come.

    Parameters
    ----------
    hidden, dropout
        Units of the hidden layer, and the rate at which training drops them: as in the paper.
    learning_rate, batch_size
        Of the training; terms in a batch.
    max_epochs, patience
        Training ends after `max_epochs`, or when the error on a tenth of the terms, which is kept
        aside, has not fallen for `patience` epochs; the weights of the best epoch stay.
    seed
        Of first weights, batches, dropout, and the terms kept aside. The numbers that all of torch
        shares are left alone.

    Attributes
    ----------
    n_epochs_
        How many epochs the weights were trained for.
    """

    hidden: int = 64
    dropout: float = 0.5
    learning_rate: float = 1e-3
    batch_size: int = 100
    max_epochs: int = 500
    patience: int = 10
    seed: int = 0
    n_epochs_: int = field(init=False)
    layers_: list[tuple[Floats, Floats]] = field(init=False, repr=False)  # weights and biases

    def __post_init__(self) -> None:
        _check(self)
        naming.extra("torch", "for the regressor 'network'")

    def fit(self, U: ArrayLike, S: ArrayLike) -> Self:
        """Learn from the vectors U (v, q) and S (v, r) of the same terms."""
        rows, targets = checked_pairs(U, S)
        naming.extra("torch", "for the regressor 'network'")
        from wordclass.regressors._network_training import train

        scale, target_scale = _size(rows), _size(targets)
        layers, n_epochs = train(
            (rows / scale).astype(np.float32),
            (targets / target_scale).astype(np.float32),
            hidden=self.hidden,
            dropout=self.dropout,
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            max_epochs=self.max_epochs,
            patience=self.patience,
            seed=self.seed,
        )
        (W, b), (W_out, b_out) = layers
        self.layers_ = [(W / scale, b), (W_out * target_scale, b_out * target_scale)]
        self.n_epochs_ = n_epochs
        return self

    def predict(self, U: ArrayLike) -> Floats32:
        """Return word-class vectors (k, r) for pretrained vectors (k, q)."""
        if not hasattr(self, "layers_"):
            raise InputError("this regressor has learned nothing yet: fit(U, S) comes first")
        (W, b), (W_out, b_out) = self.layers_
        return predicted(
            U, len(W), len(b_out), lambda rows: np.maximum(rows @ W + b, 0) @ W_out + b_out
        )


make = NetworkRegressor


def _size(rows: Floats32) -> float:
    """Return the root mean square of all numbers; 1 where they are all 0."""
    return float(np.sqrt(np.square(rows, dtype=np.float64).mean())) or 1.0


def _check(made: NetworkRegressor) -> None:
    for name in ("hidden", "batch_size", "max_epochs", "patience"):
        value = getattr(made, name)
        if not _is_int(value) or value < 1:
            raise InputError(f"{name} is {value!r}; expected a whole number, 1 or more")
    if not _is_int(made.seed) or made.seed < 0:
        raise InputError(f"seed is {made.seed!r}; expected a whole number, 0 or more")
    if not _is_number(made.dropout) or not 0 <= made.dropout < 1:
        raise InputError(f"dropout is {made.dropout!r}; expected a number from 0 to below 1")
    if not _is_number(made.learning_rate) or not 0 < made.learning_rate < np.inf:
        raise InputError(f"learning_rate is {made.learning_rate!r}; expected a number above 0")


def _is_int(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
