"""What every command has; the commands themselves are tested in the other files."""

import io
import json
import os
import subprocess
import sys
import time

from rich.console import Console

import wordclass as wc
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


def test_what_the_encoding_of_standard_output_lacks_is_escaped(tmp_path):
    wc.WordClassEmbeddings(min_docs=1).fit(["aa bb", "cc"], ["mé€", "y"]).save(tmp_path / "a.wce")
    asked = [sys.executable, "-m", "wordclass", "info", str(tmp_path / "a.wce")]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = subprocess.run(asked, capture_output=True, check=True, env=ascii_only)
    assert rb"m\xe9\u20ac" in shown.stdout
    shown = subprocess.run([*asked, "--json"], capture_output=True, check=True, env=ascii_only)
    assert json.loads(shown.stdout)["classes"] == ["mé€", "y"]


def test_a_mistake_has_one_line_whatever_names_are_in_it(run, tmp_path):
    name = "a\x1b[31m\nwordclass: fake" + "x" * 3000
    for arguments in (["info", name], ["info", tmp_path / name[:100]], ["words", name, name]):
        status, out, err = run(*arguments)
        assert (status, out) == (1, "")
        assert err.count("\n") == 1
        assert "\x1b" not in err
        assert len(err) <= 2001
    status, _, err = run(f"--{name}")
    assert status == 2
    assert "\x1b" not in err
    assert max(map(len, err.split("\n"))) <= 2000
