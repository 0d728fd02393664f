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
        Of each step that is over; those of the processor under its name and "_cpu".
    versions : dict
        Of packages that another process used.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.versions: dict[str, str] = {}
        with suppress(OSError):  # the peak of memory is measured anew, where the system can
            Path("/proc/self/clear_refs").write_text("5")

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure the seconds of the block."""
        start, cpu_before = time.perf_counter(), cpu_seconds()
        yield
        self.seconds[name] = time.perf_counter() - start
        self.seconds[f"{name}_cpu"] = cpu_seconds() - cpu_before

    def facts(self) -> dict[str, Any]:
        """Return what a result tells of it; see `RunResult`."""
        versions = {"python": platform.python_version()}
        for package in _PACKAGES:
            with suppress(metadata.PackageNotFoundError):
                versions[package] = metadata.version(package)
        cpu = _told("/proc/cpuinfo", "model name") or platform.processor()
        machine = {"cpu": cpu, "cores": os.cpu_count(), "system": platform.platform()}
        versions |= self.versions
        used = {"times": self.seconds, "memory": _peak_memory()}
        return {**used, "versions": versions, "machine": machine}


def cpu_seconds() -> float:
    """Return the seconds of the processor so far, also of processes that were started."""
    return sum(os.times()[:4])


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
