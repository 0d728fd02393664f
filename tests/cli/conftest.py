"""Runs a command in this process, through the same `main` that the script calls."""

import sys

import pytest

from wordclass import cli


@pytest.fixture
def run(monkeypatch, capsys):
    def run_command(*arguments):
        monkeypatch.setattr(sys, "argv", ["wordclass", *map(str, arguments)])
        try:
            cli.main()
            status = 0
        except SystemExit as stop:
            status = stop.code or 0
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run_command
