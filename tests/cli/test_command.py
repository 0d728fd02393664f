"""What every command has; the commands themselves are tested in the other files."""

import io
import time

from rich.console import Console

from wordclass import progress
from wordclass.cli import command


def test_a_bar_appears_only_for_what_takes_longer_than_a_second(monkeypatch):
    monkeypatch.setattr(command, "_PATIENCE", 0.05)
    shown = []
    bar = command.ProgressBar(is_shown=True)
    bar._console = Console(force_terminal=True, file=io.StringIO())
    bar._is_shown = True
    monkeypatch.setattr(command.Progress, "start", lambda self: shown.append(self))
    with bar.listening():
        progress.report("quick", 0, 2)
        progress.report("quick", 2, 2)
        time.sleep(0.1)
        assert shown == []
        progress.report("slow", 0, 2)
        time.sleep(0.3)
        assert len(shown) == 1
        progress.report("slow", 1, 2)
    progress.report("nobody listens", 0, 1)


def test_a_step_whose_details_change_keeps_its_bar_and_what_is_printed_ends_it(monkeypatch):
    monkeypatch.setattr(command, "_PATIENCE", 0.2)
    bar = command.ProgressBar(is_shown=True)
    bar._console = Console(force_terminal=True, file=io.StringIO())
    bar._is_shown = True
    with bar.listening():
        progress.report("training: epoch 1", 0, 4)
        first = bar._bar
        progress.report("training: epoch 2, loss [/] 0.1", 2, 8)
        assert bar._bar is first
        assert (first.tasks[0].completed, first.tasks[0].total) == (2, 8)
        deadline = time.monotonic() + 10
        while "epoch 2, loss [/] 0.1" not in bar._console.file.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        command.Settings().say("something else")
        assert bar._bar is None
        assert not first.live.is_started
