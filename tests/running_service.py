"""Run the service in a process and send HTTP requests to it."""

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx


class Running:
    """A running service and an HTTP client for it."""

    def __init__(self, process, address, log):
        self.process, self.address, self.log = process, address, log
        self.client = httpx.Client(base_url=address, timeout=30)

    @property
    def port(self):
        return httpx.URL(self.address).port

    def get(self, path, **options):
        return self.client.get(path, **options)

    def post(self, path, body, **options):
        return self.client.post(path, json=body, **options)

    def events(self):
        return [json.loads(line) for line in self.log.read_text().splitlines() if line[:1] == "{"]

    def wait_for(self, event, n=1, seconds=20):
        """Wait until the log has n events whose name begins like this, and return the last one."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            events = [line for line in self.events() if line["event"].startswith(event)]
            if len(events) >= n:
                return events[-1]
            time.sleep(0.05)
        raise AssertionError(f"no {event!r} in {self.log.read_text()}")

    def reload(self):
        self.process.send_signal(signal.SIGHUP)


@contextmanager
def running(folder, *arguments, command="serve"):
    """Start the command on a free port, with its log in a file in the folder."""
    log = folder / "service.log"
    command_line = [sys.executable, "-m", "wordclass", command, *map(str, arguments)]
    with log.open("w") as stream:
        process = subprocess.Popen(
            [*command_line, "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            stderr=stream,
            text=True,
        )
    try:
        line = process.stdout.readline()
        assert line, log.read_text()
        service = Running(process, json.loads(line)["address"], log)
        with service.client:
            yield service
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        process.stdout.close()
