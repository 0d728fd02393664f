"""The machine that a network is trained on: its GPU, its threads, its memory, other processes."""

import atexit
import ctypes
import inspect
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import distributed as dist
from torch import nn

from wordclass.arrays import Floats32, Ints
from wordclass.errors import InputError
from wordclass.options import check_one_of, format_bytes, free_bytes

_BYTES = 4
_COPIES = 6  # of a weight: itself, its gradient, Adam's two means, the best so far, a mean of some


def choose_device(name: str) -> torch.device:
    """Return the device of a name: "cpu", "cuda", or "auto", which is a GPU where there is one."""
    check_one_of("device", name, ("auto", "cpu", "cuda"))
    has_gpu = torch.cuda.is_available()
    if name == "cuda" and not has_gpu:
        raise InputError("device is 'cuda', but torch sees no GPU here; use 'cpu' or 'auto'")
    if name == "cpu" or not has_gpu:
        return torch.device("cpu")
    # of several processes on a machine, each has a GPU of its own while they last
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())


@contextmanager
def threads(n_threads: int) -> Iterator[None]:
    """Let torch work with so many threads inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


# --- memory -----------------------------------------------------------------------------------

# options of glibc's mallopt; what the last two are after the block is what glibc reaches by itself
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_MAX_BLOCK = 2**31 - 1
_USUAL_BLOCK = 32 * 2**20


@contextmanager
def keep_freed_memory() -> Iterator[None]:
    """Let the process reuse large freed blocks inside the block, instead of returning them.

    Each step of a training allocates the same large arrays. glibc returns them to the system and
    asks for new ones, whose pages have to be cleared: 40 % of the time of an LSTM. Without
    glibc nothing changes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is None:
        yield
        return
    mallopt(_TRIM_THRESHOLD, _MAX_BLOCK)
    mallopt(_MMAP_THRESHOLD, _MAX_BLOCK)
    try:
        yield
    finally:
        mallopt(_TRIM_THRESHOLD, 2 * _USUAL_BLOCK)
        mallopt(_MMAP_THRESHOLD, _USUAL_BLOCK)
        ctypes.CDLL(None).malloc_trim(0)


def check_vectors_fit(n_rows: int, n_dims: int, n_random: int) -> None:
    """Refuse vectors that are too many, before they are made.

    Parameters
    ----------
    n_rows, n_dims : int
        Of all vectors.
    n_random : int
        How many of the dimensions are random ones.
    """
    free, needed = free_bytes(), n_rows * n_dims * _BYTES
    if free is None or needed <= free:
        return
    told = (
        f"the vectors of {n_rows:,} words by {n_dims:,} dimensions need {format_bytes(needed)}; "
        f"{format_bytes(free)} are free"
    )
    fitting = n_random - (n_dims - free // (n_rows * _BYTES))
    if n_random and fitting >= 0:
        raise InputError(f"{told}; random_dims={fitting} would fit")
    raise InputError(f"{told}; use keep_unseen=False, or a higher min_docs")


def check_network_fits(
    n_trained: int, option: str, value: int, numbers: Callable[[int], tuple[int, int]]
) -> None:
    """Refuse a network that is too large to be trained, and tell what would fit.

    Parameters
    ----------
    n_trained : int
        How many numbers of its vectors are trained.
    option, value : str, int
        The option that decides about its size, and its value.
    numbers : callable
        For a value of this option, how many numbers above the vectors are trained, and how many a
        batch makes on the way. With a larger value neither is less.
    """

    def n_bytes(value: int) -> int:
        n_weights, n_on_the_way = numbers(value)
        return _BYTES * ((n_trained + n_weights) * _COPIES + n_on_the_way)

    free, needed, vectors = free_bytes(), n_bytes(value), _BYTES * n_trained * _COPIES
    if free is None or needed <= free:
        return
    told = f"the network needs {format_bytes(needed)} to be trained; {format_bytes(free)} are free"
    if fitting := bisect_right(range(1, value + 1), free, key=n_bytes):
        raise InputError(f"{told}; {option}={fitting} would fit")
    smaller = "max_length" if option == "batch_size" else "batch_size"
    if vectors:
        told += f": training its vectors alone needs {format_bytes(vectors)}; use trainable=False,"
    else:
        told += f": no {option} would fit; use"
    raise InputError(f"{told} a lower {smaller}, or a higher min_docs")


# --- several processes, as `torchrun` starts them on one machine or many -----------------------


def is_first_process() -> bool:
    """Whether this is the process that writes files; also where there is only one."""
    return _n_processes() < 2 or os.environ.get("RANK", "0") == "0"


def _n_processes() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


@dataclass(frozen=True)
class Processes:
    """How many processes train together, and which of them this one is.

    Parameters
    ----------
    rank : int, default=0
        The first one writes files.
    size : int, default=1
        How many there are; 1: nobody else.
    """

    rank: int = 0
    size: int = 1

    @classmethod
    def started(cls) -> Self:
        """Join the processes that `torchrun` started, if it did.

        They stay together until they end: torch cannot bring them together a second time.
        """
        if _n_processes() < 2:
            return cls()
        if not dist.is_initialized():
            dist.init_process_group("gloo")
            atexit.register(_part)
        return cls(dist.get_rank(), dist.get_world_size())

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
        dist.all_reduce(torch.from_numpy(made))  # in place; all others are 0 there
        return made


def _part() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
