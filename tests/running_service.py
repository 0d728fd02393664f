"""A service that really runs: the command, in a process of its own, asked over HTTP."""

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx


class Running:
    """A service that was started, and how to ask it."""

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
        """Wait until the log tells of an event for the nth time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = [each for each in self.events() if each["event"].startswith(event)]
            if len(found) >= n:
                return found[-1]
            time.sleep(0.05)
        raise AssertionError(f"no {event!r} in {self.log.read_text()}")

    def reload(self):
        self.process.send_signal(signal.SIGHUP)


@contextmanager
def running(folder, *arguments, command="serve"):
    """Start the command on a free port; its log goes to a file in the folder."""
    log = folder / "service.log"
    given = [sys.executable, "-m", "wordclass", command, *map(str, arguments)]
    with log.open("w") as stream:
        process = subprocess.Popen(
            [*given, "--port", "0", "--json"], stdout=subprocess.PIPE, stderr=stream, text=True
        )
    try:
        line = process.stdout.readline()
        assert line, log.read_text()
        found = Running(process, json.loads(line)["address"], log)
        with found.client:
            yield found
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        process.stdout.close()
