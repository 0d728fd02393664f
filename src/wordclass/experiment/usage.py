"""What a run uses: seconds of each step, memory, packages, the machine."""

import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = ("wordclass", "numpy", "scipy", "scikit-learn", "torch", "fasttext-community")


class Usage:
    """Measures what this process uses from now on.

    Attributes
    ----------
    seconds : dict
        Of each step that is over.
    earlier : float
        Seconds of "fit" that another process spent, which was killed.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.earlier = 0.0
        self._cpu_before = _cpu_seconds()
        with suppress(OSError):  # the peak of memory is measured anew, where the system can
            Path("/proc/self/clear_refs").write_text("5")

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure the seconds of the block."""
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start

    def facts(self) -> dict[str, Any]:
        """Return what a result tells of it; see `RunResult`."""
        versions = {"python": platform.python_version()}
        for package in _PACKAGES:
            with suppress(metadata.PackageNotFoundError):
                versions[package] = metadata.version(package)
        times = {**self.seconds, "cpu": _cpu_seconds() - self._cpu_before}
        for name in ("fit", "total") if self.earlier else ():
            times[name] += self.earlier
        cpu = _told("/proc/cpuinfo", "model name") or platform.processor()
        machine = {"cpu": cpu, "cores": os.cpu_count(), "system": platform.platform()}
        return {
            "times": times,
            "memory": _peak_memory(),
            "versions": versions,
            "machine": machine,
        }


def _cpu_seconds() -> float:
    return sum(os.times()[:4])  # also of processes that it started, such as fastText's


def _peak_memory() -> int:
    if told := _told("/proc/self/status", "VmHWM"):
        return int(told.removesuffix("kB")) * 1024
    with suppress(ImportError):  # not on Windows
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return 0


def _told(path: str, name: str) -> str:
    """Return what the system tells under a name, in the first line that has it; else nothing."""
    with suppress(OSError):
        for line in Path(path).read_text().splitlines():
            if line.startswith(name):
                return line.partition(":")[2].strip()
    return ""
