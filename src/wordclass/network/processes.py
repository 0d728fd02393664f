"""Training by several processes, on one machine or many: what `torchrun` starts."""

import atexit
import inspect
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch import distributed as dist

from wordclass.arrays import Floats32, Ints


@dataclass(frozen=True)
class Processes:
    """How many processes train together, and which of them this one is.

    Parameters
    ----------
    rank
        From 0 up. The first one writes files.
    size
        How many there are; 1: nobody else.
    """

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process writes what all have made."""
        return self.rank == 0

    def joined(self, network: nn.Module) -> nn.Module:
        """Return a network whose gradients are the mean over the processes."""
        if self.size == 1:
            return network
        # Frozen vectors are the same everywhere: sent around at every step, they would cost most,
        # and memory that is shared with E must not be written. torch's option has got a new name.
        parallel = nn.parallel.DistributedDataParallel
        known = inspect.signature(parallel).parameters
        names = ("forward_sync_buffers", "broadcast_buffers")
        options: dict[str, Any] = {next(name for name in names if name in known): False}
        for weight in network.parameters():
            dist.broadcast(weight.detach(), 0)
        return parallel(network, init_sync=False, **options)

    def share(self, rows: Ints) -> Ints:
        """Return the part of some rows that is this process's own."""
        return rows[self.rank :: self.size]

    def sum(self, value: float) -> float:
        """Return the sum of a number over the processes."""
        if self.size == 1:
            return value
        total = torch.tensor(value, dtype=torch.float64)
        dist.all_reduce(total)
        return float(total)

    def gathered(self, own: Floats32, n_rows: int) -> Floats32:
        """Put the rows together of which each process made its share."""
        if self.size == 1:
            return own
        made = np.zeros((n_rows, own.shape[1]), np.float32)
        made[self.rank :: self.size] = own
        total: Tensor = torch.from_numpy(made)
        dist.all_reduce(total)  # all others are 0 there, so nothing is rounded
        return total.numpy()

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.size > 1:
            dist.barrier()


def is_first_process() -> bool:
    """Whether this is the process that writes files; also where there is only one."""
    return _n_processes() < 2 or os.environ.get("RANK", "0") == "0"


def _n_processes() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


@contextmanager
def processes() -> Iterator[Processes]:
    """Join the processes that `torchrun` started, if it did.

    They stay together until they end: torch cannot bring them together a second time.
    """
    if _n_processes() < 2:
        yield Processes()
        return
    if not dist.is_initialized():
        dist.init_process_group("gloo")
        atexit.register(_part)
    yield Processes(dist.get_rank(), dist.get_world_size())


def _part() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
