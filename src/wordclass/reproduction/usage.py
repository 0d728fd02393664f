"""Resources that a run uses: seconds per step, memory, packages, the machine."""

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
    """Meter of the resources that this process uses after it was created.

    Attributes
    ----------
    seconds : dict
        Seconds of each finished step by its name; CPU seconds by its name and "_cpu".
    versions : dict
        Versions of packages that another process used.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.versions: dict[str, str] = {}
        with suppress(OSError):  # resets the peak of memory, if the system supports it
            Path("/proc/self/clear_refs").write_text("5")

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure the seconds of the block."""
        start = time.perf_counter()
        cpu_start = cpu_seconds()
        yield
        self.seconds[name] = time.perf_counter() - start
        self.seconds[f"{name}_cpu"] = cpu_seconds() - cpu_start

    def summary(self) -> dict[str, Any]:
        """Return times, memory, versions and machine as fields of a `RunResult`."""
        versions = {"python": platform.python_version()}
        for package in _PACKAGES:
            with suppress(metadata.PackageNotFoundError):
                versions[package] = metadata.version(package)
        cpu = _read_system_value("/proc/cpuinfo", "model name") or platform.processor()
        machine = {"cpu": cpu, "cores": os.cpu_count(), "system": platform.platform()}
        versions |= self.versions
        return {
            "times": self.seconds,
            "memory": _peak_memory(),
            "versions": versions,
            "machine": machine,
        }


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and its finished children."""
    return sum(os.times()[:4])


def _peak_memory() -> int:
    if kilobytes := _read_system_value("/proc/self/status", "VmHWM"):
        return int(kilobytes.removesuffix("kB")) * 1024
    with suppress(ImportError):  # not on Windows
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return 0


def _read_system_value(path: str, name: str) -> str:
    """Return the value of a name in a file of the kernel, or an empty string."""
    with suppress(OSError):
        for line in Path(path).read_text().splitlines():
            if line.startswith(name):
                return line.partition(":")[2].strip()
    return ""
