"""The machine that trains a network: its GPU, its threads, its memory and other processes."""

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

_BYTES_PER_NUMBER = 4
# of a weight: itself, its gradient, the two moments of Adam, the best epoch's, a mean over epochs
_COPIES_PER_WEIGHT = 6


def choose_device(name: str) -> torch.device:
    """Return the device of a name: "cpu", "cuda", or "auto" for a GPU if there is one."""
    check_one_of("device", name, ("auto", "cpu", "cuda"))
    has_gpu = torch.cuda.is_available()
    if name == "cuda" and not has_gpu:
        raise InputError(
            "device is 'cuda', but torch finds no GPU on this machine", hint="use 'cpu' or 'auto'"
        )
    if name == "cpu" or not has_gpu:
        return torch.device("cpu")
    # if there are enough GPUs, every process of a machine has its own
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())


@contextmanager
def threads(n_threads: int) -> Iterator[None]:
    """Set torch's number of threads inside the `with` block."""
    previous = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(previous)


# --- memory -----------------------------------------------------------------------------------

# Options of glibc's mallopt. glibc adapts both values to the program. After the `with` block they
# have the largest values that glibc itself chooses.
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_MAX_BLOCK_BYTES = 2**31 - 1
_ADAPTED_BLOCK_BYTES = 32 * 2**20


@contextmanager
def keep_freed_memory() -> Iterator[None]:
    """Let the process reuse large freed arrays inside the `with` block.

    Each training step allocates the same large arrays. By default, glibc returns them to the system
    and requests new ones, whose pages must be cleared. This took 40 % of the time of an LSTM.
    Without glibc nothing changes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is None:
        yield
        return
    mallopt(_TRIM_THRESHOLD, _MAX_BLOCK_BYTES)
    mallopt(_MMAP_THRESHOLD, _MAX_BLOCK_BYTES)
    try:
        yield
    finally:
        mallopt(_TRIM_THRESHOLD, 2 * _ADAPTED_BLOCK_BYTES)
        mallopt(_MMAP_THRESHOLD, _ADAPTED_BLOCK_BYTES)
        ctypes.CDLL(None).malloc_trim(0)


def check_vectors_fit(n_rows: int, n_dims: int, n_random: int) -> None:
    """Raise an InputError before vectors are made that do not fit into memory.

    Parameters
    ----------
    n_rows, n_dims : int
        The shape of all vectors together.
    n_random : int
        The number of random dimensions among them.
    """
    free = free_bytes()
    needed = n_rows * n_dims * _BYTES_PER_NUMBER
    if free is None or needed <= free:
        return
    problem = (
        f"the vectors of {n_rows:,} words by {n_dims:,} dimensions need {format_bytes(needed)}, "
        f"but {format_bytes(free)} are free"
    )
    n_fitting = n_random - (n_dims - free // (n_rows * _BYTES_PER_NUMBER))
    if n_random and n_fitting >= 0:
        raise InputError(problem, hint=f"random_dims={n_fitting} would fit")
    raise InputError(problem, hint="use keep_unseen=False or a higher min_docs")


def check_network_fits(
    n_trained: int, option: str, value: int, count_numbers: Callable[[int], tuple[int, int]]
) -> None:
    """Raise an InputError if training a network needs more memory than is free.

    Parameters
    ----------
    n_trained : int
        The number of elements of trainable vectors.
    option : str
        The name of the option that decides the size of the network, for the hint.
    value : int
        Its value.
    count_numbers : callable
        A function from a value of this option to two numbers: the trained weights after the
        vectors, and the intermediate results of a batch. Both must not fall with the value.
    """

    def count_bytes(value: int) -> int:
        n_weights, n_intermediate = count_numbers(value)
        n_copies = (n_trained + n_weights) * _COPIES_PER_WEIGHT
        return _BYTES_PER_NUMBER * (n_copies + n_intermediate)

    free = free_bytes()
    needed = count_bytes(value)
    if free is None or needed <= free:
        return
    problem = (
        f"training the network needs {format_bytes(needed)}, but {format_bytes(free)} are free"
    )
    if fitting := bisect_right(range(1, value + 1), free, key=count_bytes):
        raise InputError(problem, hint=f"{option}={fitting} would fit")
    batch_option = "max_length" if option == "batch_size" else "batch_size"
    remedy = f"a lower {batch_option} or a higher min_docs"
    vector_bytes = _BYTES_PER_NUMBER * n_trained * _COPIES_PER_WEIGHT
    if vector_bytes:
        problem += f" (training its vectors alone needs {format_bytes(vector_bytes)})"
        remedy = f"trainable=False, {remedy}"
    else:
        problem += f" (no {option} would fit)"
    raise InputError(problem, hint=f"use {remedy}")


# --- several processes, as `torchrun` starts them on one machine or several ---------------------


def is_first_process() -> bool:
    """Return True in the process that writes files, which may be the only one."""
    return _count_processes() < 2 or os.environ.get("RANK", "0") == "0"


def _count_processes() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


@dataclass(frozen=True)
class Processes:
    """The processes that train together, seen from one of them.

    Parameters
    ----------
    rank : int, default=0
        The number of this process. The process with number 0 writes files.
    size : int, default=1
        The number of processes.
    """

    rank: int = 0
    size: int = 1

    @classmethod
    def started(cls) -> Self:
        """Join the processes that `torchrun` started, if it did.

        They remain connected until they exit, because torch cannot connect them twice.
        """
        if _count_processes() < 2:
            return cls()
        if not dist.is_initialized():
            dist.init_process_group("gloo")
            atexit.register(_disconnect)
        return cls(dist.get_rank(), dist.get_world_size())

    def joined(self, network: nn.Module) -> nn.Module:
        """Return a network whose gradients are averaged over the processes."""
        if self.size == 1:
            return network
        # Frozen vectors are equal in all processes. Synchronizing them at every step would cost the
        # most time, and memory that is shared with E must not be written.
        parallel = nn.parallel.DistributedDataParallel
        known_options = inspect.signature(parallel).parameters
        names = ("forward_sync_buffers", "broadcast_buffers")  # the new and the old name
        sync_option = next(name for name in names if name in known_options)
        options: dict[str, Any] = {sync_option: False}
        for weight in network.parameters():
            dist.broadcast(weight.detach(), 0)
        return parallel(network, init_sync=False, **options)

    def share(self, rows: Ints) -> Ints:
        """Return the rows that this process works on."""
        return rows[self.rank :: self.size]

    def sum(self, value: float) -> float:
        """Return the sum of a number over the processes."""
        if self.size == 1:
            return value
        total = torch.tensor(value, dtype=torch.float64)
        dist.all_reduce(total)
        return float(total)

    def gathered(self, share: Floats32, n_rows: int) -> Floats32:
        """Return the results (n_rows, m) of all processes.

        Parameters
        ----------
        share : array
            The results of this process, one per row that `share` returned.
        n_rows : int
            The number of rows of all processes.
        """
        if self.size == 1:
            return share
        results = np.zeros((n_rows, share.shape[1]), np.float32)
        results[self.rank :: self.size] = share
        dist.all_reduce(torch.from_numpy(results))  # in place; the rows of other processes are 0
        return results


def _disconnect() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
