"""What an entry of the frozen catalogue is, and how a function becomes one."""

import contextlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from frozen.observation import observe
from frozen.store import SAVED, TOLERANCE
from threadpoolctl import threadpool_limits

import wordclass as wc

# tolerances are several times the largest differences between instruction sets of one processor
OF_NETWORKS = {"needs": ("torch",), "tolerance": 2e-5}
OF_FASTTEXT = {"needs": ("fasttext",), "tolerance": 1e-4}


@dataclass(frozen=True)
class Entry:
    """One frozen fit.

    Parameters
    ----------
    name : str
        The name of the file with its arrays.
    make : callable
        Returns what is observed.
    needs : tuple of str
        Packages of extras; without them the entry is skipped.
    tolerance : float
        How much floats may differ on another machine.
    suffix : str, optional
        Of the file that `save` writes, if it is stored, too: "" for the folder of a classifier,
        ".wce" for embeddings.
    functions : dict
        What `load` must be told of a saved model: functions are saved by name only.
    """

    name: str
    make: Callable[[], object]
    needs: tuple[str, ...] = ()
    tolerance: float = TOLERANCE
    suffix: str | None = None
    functions: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_saved(self):
        """Whether the file that `save` writes is stored."""
        return self.suffix is not None

    @property
    def saved_path(self):
        """The stored file or folder."""
        return SAVED / f"{self.name}{self.suffix}"

    def load(self):
        """Return the stored model or embeddings."""
        load = wc.WordClassEmbeddings.load if self.suffix else wc.load
        return load(self.saved_path, **self.functions)

    def missing_packages(self):
        """Return the packages of extras that are not installed."""
        return [name for name in self.needs if importlib.util.find_spec(name) is None]

    def fit(self):
        """Return what the entry makes, computed in one thread."""
        with self._one_thread():
            return self.make()

    def observe(self, subject=None):
        """Return the arrays of what the entry makes; `subject` is that, if it exists already."""
        with self._one_thread():
            return observe(self.make() if subject is None else subject)

    @contextlib.contextmanager
    def _one_thread(self):
        """Use one thread: more of them add numbers in another order."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(threadpool_limits(1))
            if "torch" in self.needs:
                import torch

                stack.callback(torch.set_num_threads, torch.get_num_threads())
                torch.set_num_threads(1)
            yield


CATALOGUE: dict[str, Entry] = {}


def entry(make=None, *, name=None, **options):
    """Add a function to the catalogue, with options of `Entry`."""

    def add(function):
        own_name = name or function.__name__
        CATALOGUE[own_name] = Entry(own_name, function, **options)
        return function

    return add if make is None else add(make)


def embeddings(**options):
    """Return unfitted embeddings that keep terms of two documents or more."""
    return wc.WordClassEmbeddings(**{"min_docs": 2, **options})
