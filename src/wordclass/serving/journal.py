"""The log of the service, lines of JSON without texts of users, and its counters."""

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

# upper bounds of the histogram of durations
_BOUND_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_MIN_STATUS = 100
_N_STATUSES = 500
_ROUTES = (
    "(none)", "/", "/static/{name}", "/health", "/ready", "/metrics", "/openapi.json", "/docs",
    "/models", "/models/{id}/predict", "/models/{id}/explain",
    "/models/{id}/classes/{class:path}", "/models/{id}/words/{word:path}", "/models/{id}/about",
    "/models/{id}/mistakes", "/models/{id}/cell", "/models/{id}/map",
    "/models/{id}/against/{class:path}", "/v1/projects", "/v1/projects/{id}",
    "/v1/projects/{id}/suggest", "/v1/projects/{id}/suggest-batch",
)  # fmt: skip
_ROUTE_INDEX = {route: index for index, route in enumerate(_ROUTES)}
_N_COUNTS = len(_ROUTES) * _N_STATUSES


class Journal:
    """A log with one line of JSON per event.

    Parameters
    ----------
    stream : text stream, optional
        The destination. By default nothing is written.
    logs_requests : bool, default=True
        Whether requests are logged too.
    """

    def __init__(self, stream: TextIO | None = None, *, logs_requests: bool = True) -> None:
        self._stream = stream
        self._logs_requests = logs_requests

    def write(self, event: str, *, level: str = "info", **fields: object) -> None:
        """Write an event with its time, process and fields."""
        if self._stream is None:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": now, "level": level, "event": event, "process": os.getpid(), **fields}
        try:
            self._stream.write(json.dumps(line) + "\n")
            self._stream.flush()
        except (OSError, ValueError):  # the reader of the stream has gone, or the disk is full
            pass

    def request(
        self,
        method: str,
        route: str,
        status: int,
        seconds: float,
        parameters: Mapping[str, Any] | None,
    ) -> None:
        """Write a request with its route, but without its text, word or class."""
        if self._logs_requests:
            milliseconds = round(1000 * seconds, 2)
            fields = {"method": method, "route": route, "status": status, "ms": milliseconds}
            if parameters and "id" in parameters and status != 404:
                fields["model"] = parameters["id"]
            self.write("request", level="info" if status < 500 else "error", **fields)


class Counters:
    """Counters of requests in shared memory, with one row per process of the service.

    Parameters
    ----------
    n_processes : int
        The number of processes that count at the same time. Each selects its row.
    """

    def __init__(self, n_processes: int) -> None:
        self._shape = (n_processes, _N_COUNTS + len(_BOUND_SECONDS) + 3)
        self._memory = mmap.mmap(-1, 8 * self._shape[0] * self._shape[1])
        self._rows = np.frombuffer(self._memory, np.float64).reshape(self._shape)
        self._row = self._rows[0]
        self._start_time = time.time()

    def select_row(self, number: int) -> None:
        """Count in the row of this number from now on."""
        self._row = self._rows[number % self._shape[0]]

    def add(self, route: str, status: int, seconds: float) -> None:
        """Count a request by its route and by the status of its answer."""
        index = _ROUTE_INDEX.get(route, 0) * _N_STATUSES + status - _MIN_STATUS
        self._row[index] += 1
        bound = bisect_left(_BOUND_SECONDS, seconds)
        if bound < len(_BOUND_SECONDS):
            self._row[_N_COUNTS + bound] += 1
        self._row[-3] += 1
        self._row[-2] += seconds

    def add_texts(self, n_texts: int) -> None:
        """Add to the number of texts."""
        self._row[-1] += n_texts

    def to_text(self, n_models: int, n_waiting: int) -> str:
        """Return the sums over all processes in the text format of Prometheus."""
        total = self._rows.sum(axis=0)
        lines = ["# TYPE wordclass_requests_total counter"]
        for index in np.flatnonzero(total[:_N_COUNTS]).tolist():
            route, status = divmod(index, _N_STATUSES)
            name = f'route="{_ROUTES[route]}",status="{status + _MIN_STATUS}"'
            lines.append(f"wordclass_requests_total{{{name}}} {total[index]:.0f}")
        lines.append("# TYPE wordclass_request_seconds histogram")
        cumulative = np.cumsum(total[_N_COUNTS : _N_COUNTS + len(_BOUND_SECONDS)])
        for bound, n_requests in zip(_BOUND_SECONDS, cumulative, strict=True):
            lines.append(f'wordclass_request_seconds_bucket{{le="{bound}"}} {n_requests:.0f}')
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
            f"wordclass_uptime_seconds {time.time() - self._start_time:.0f}",
        ]
        return "\n".join(lines) + "\n"


def standard_journal(*, quiet: bool) -> Journal:
    """Return the journal on standard error, without requests if `quiet`."""
    return Journal(sys.stderr, logs_requests=not quiet)
