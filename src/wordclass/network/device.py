"""Where a network works."""

import os

import torch

from wordclass.errors import InputError


def chosen(name: str) -> torch.device:
    """Return the device of a name: "cpu", "cuda", or "auto", which is a GPU where there is one."""
    if name not in ("auto", "cpu", "cuda"):
        raise InputError(f"device is {name!r}; expected 'auto', 'cpu' or 'cuda'")
    has_gpu = torch.cuda.is_available()
    if name == "cuda" and not has_gpu:
        raise InputError("device is 'cuda', but torch sees no GPU here; use 'cpu' or 'auto'")
    if name == "cpu" or not has_gpu:
        return torch.device("cpu")
    # of several processes on a machine, each has a GPU of its own while they last
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
