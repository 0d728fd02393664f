"""What every command has; the commands themselves are tested in the other files."""

import io
import subprocess
import sys
import time
from pathlib import Path

import pytest
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


NO_MEMORY = """
import resource, sys
from wordclass import cli
import wordclass.embedding.estimator, wordclass.cli.app, wordclass.report.demo
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20),) * 2)
sys.argv[0] = "wordclass"
cli.main()
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="looks at Linux's processes")
def test_out_of_memory_is_one_line(tmp_path):
    wide = " ".join(f"word{k}" for k in range(60_000))
    (tmp_path / "wide.tsv").write_text(
        "text\tlabel\n" + "".join(f"{wide}\tclass {k}\n" for k in range(20))
    )
    command = [sys.executable, "-c", NO_MEMORY, "fit", str(tmp_path / "wide.tsv")]
    command += ["-o", str(tmp_path / "out.wce"), "--ngrams", "1,3", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "memory" in done.stderr
    assert done.stderr.startswith("wordclass: ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out.wce").exists()
