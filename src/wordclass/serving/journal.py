"""What is written down of requests: lines of JSON without any text, and counters."""

import json
import mmap
import os
import sys
import time
from bisect import bisect_left
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

import numpy as np

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
_FIRST_STATUS = 100
_N_STATUSES = 500
_ROUTES = (
    "(none)", "/", "/static/{name}", "/health", "/ready", "/metrics", "/openapi.json", "/models",
    "/models/{id}/predict", "/models/{id}/explain", "/models/{id}/classes/{class:path}",
    "/models/{id}/words/{word:path}", "/models/{id}/about", "/models/{id}/mistakes",
    "/models/{id}/cell", "/models/{id}/map", "/models/{id}/against/{class:path}", "/v1/projects",
    "/v1/projects/{id}", "/v1/projects/{id}/suggest", "/v1/projects/{id}/suggest-batch",
)  # fmt: skip
_ROUTE_AT = {route: place for place, route in enumerate(_ROUTES)}
_N_COUNTS = len(_ROUTES) * _N_STATUSES


class Journal:
    """Writes one line of JSON per event: when, what, and which process. None: nowhere."""

    def __init__(self, stream: TextIO | None = None, *, requests: bool = True) -> None:
        self._stream, self._requests = stream, requests

    def write(self, event: str, *, level: str = "info", **facts: object) -> None:
        """Write down an event."""
        if self._stream is None:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": now, "level": level, "event": event, "process": os.getpid(), **facts}
        try:
            self._stream.write(json.dumps(line) + "\n")
            self._stream.flush()
        except (OSError, ValueError):  # whoever reads it has gone, or the disk is full
            pass

    def request(
        self,
        method: str,
        route: str,
        status: int,
        seconds: float,
        parameters: Mapping[str, Any] | None,
    ) -> None:
        """Write down a request: its route, never the text, the word or the class asked for."""
        if self._requests:
            milliseconds = round(1000 * seconds, 2)
            facts = {"method": method, "route": route, "status": status, "ms": milliseconds}
            if parameters and "id" in parameters and status != 404:
                facts["model"] = parameters["id"]
            self.write("request", level="info" if status < 500 else "error", **facts)


class Counters:
    """Counts requests in memory that the processes of a service share, a row for each.

    Parameters
    ----------
    n_processes : int
        How many count at the same time. A process takes its row by `own`.
    """

    def __init__(self, n_processes: int) -> None:
        self._shape = n_processes, _N_COUNTS + len(_BOUNDS) + 3
        self._memory = mmap.mmap(-1, 8 * self._shape[0] * self._shape[1])
        self._all = np.frombuffer(self._memory, np.float64).reshape(self._shape)
        self._row = self._all[0]
        self._started = time.time()

    def own(self, number: int) -> None:
        """Count in this row from now on."""
        self._row = self._all[number % self._shape[0]]

    def add(self, route: str, status: int, seconds: float) -> None:
        """Count a request by its route and the status that was sent."""
        place = _ROUTE_AT.get(route, 0) * _N_STATUSES + status - _FIRST_STATUS
        self._row[place] += 1
        bound = bisect_left(_BOUNDS, seconds)
        if bound < len(_BOUNDS):
            self._row[_N_COUNTS + bound] += 1
        self._row[-3] += 1
        self._row[-2] += seconds

    def n_texts(self, n_texts: int) -> None:
        """Count texts."""
        self._row[-1] += n_texts

    def to_text(self, n_models: int, n_waiting: int) -> str:
        """Return all counters of all processes, as Prometheus reads them."""
        total = self._all.sum(axis=0)
        lines = ["# TYPE wordclass_requests_total counter"]
        for place in np.flatnonzero(total[:_N_COUNTS]).tolist():
            route, status = divmod(place, _N_STATUSES)
            name = f'route="{_ROUTES[route]}",status="{status + _FIRST_STATUS}"'
            lines.append(f"wordclass_requests_total{{{name}}} {total[place]:.0f}")
        lines.append("# TYPE wordclass_request_seconds histogram")
        within = np.cumsum(total[_N_COUNTS : _N_COUNTS + len(_BOUNDS)])
        for bound, n in zip(_BOUNDS, within, strict=True):
            lines.append(f'wordclass_request_seconds_bucket{{le="{bound}"}} {n:.0f}')
        lines += [
            f'wordclass_request_seconds_bucket{{le="+Inf"}} {total[-3]:.0f}',
            f"wordclass_request_seconds_sum {total[-2]:.6f}",
            f"wordclass_request_seconds_count {total[-3]:.0f}",
            "# TYPE wordclass_texts_total counter",
            f"wordclass_texts_total {total[-1]:.0f}",
            "# TYPE wordclass_models gauge",
            f"wordclass_models {n_models}",
            "# TYPE wordclass_waiting_requests gauge",
            f"wordclass_waiting_requests {n_waiting}",
            "# TYPE wordclass_uptime_seconds gauge",
            f"wordclass_uptime_seconds {time.time() - self._started:.0f}",
        ]
        return "\n".join(lines) + "\n"


def standard_journal(*, quiet: bool) -> Journal:
    """Return the journal on standard error; if quiet, without requests."""
    return Journal(sys.stderr, requests=not quiet)
