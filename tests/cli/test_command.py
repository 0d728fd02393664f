"""Tests of what all commands share: progress bar, errors, output."""

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

import wordclass as wc
from wordclass import progress
from wordclass.cli import command as commands
from wordclass.cli import progress_bar


def test_a_bar_appears_only_for_steps_longer_than_a_second(monkeypatch):
    monkeypatch.setattr(progress_bar, "_SECONDS_BEFORE_BAR", 0.05)
    shown = []
    bar = progress_bar.ProgressBar(is_shown=True)
    bar._is_shown = True
    monkeypatch.setattr(Progress, "start", lambda self: shown.append(self))
    with bar.listening():
        progress.report("quick", 0, 2)
        progress.report("quick", 2, 2)
        time.sleep(0.1)
        assert shown == []
        progress.report("slow", 0, 2)
        time.sleep(0.3)
        assert len(shown) == 1
        progress.report("slow", 1, 2)
    progress.report("after the bar", 0, 1)


def test_a_step_with_new_details_keeps_its_bar_and_a_message_ends_it(monkeypatch):
    monkeypatch.setattr(progress_bar, "_SECONDS_BEFORE_BAR", 0.2)
    bar = progress_bar.ProgressBar(is_shown=True)
    terminal = Console(force_terminal=True, file=io.StringIO())
    monkeypatch.setattr("rich.console.Console", lambda stderr: terminal)
    bar._is_shown = True
    with bar.listening():
        progress.report("training: epoch 1", 0, 4)
        first = bar._bar
        progress.report("training: epoch 2, loss [/] 0.1", 2, 8)
        assert bar._bar is first
        assert (first.tasks[0].completed, first.tasks[0].total) == (2, 8)
        deadline = time.monotonic() + 10
        while "epoch 2, loss [/] 0.1" not in terminal.file.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        commands.Settings().say("something else")
        assert bar._bar is None
        assert not first.live.is_started


NO_MEMORY = """
import resource, sys
from wordclass.cli import main
import wordclass.embedding.estimator, wordclass.cli.app, wordclass.cli.demo
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20),) * 2)
sys.argv[0] = "wordclass"
main.main()
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


def test_characters_that_standard_output_cannot_encode_are_escaped(tmp_path):
    wc.WordClassEmbeddings(min_docs=1).fit(["aa bb", "cc"], ["mé€", "y"]).save(tmp_path / "a.wce")
    command = [sys.executable, "-m", "wordclass", "info", str(tmp_path / "a.wce")]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = subprocess.run(command, capture_output=True, check=True, env=ascii_only)
    assert rb"m\xe9\u20ac" in shown.stdout
    shown = subprocess.run([*command, "--json"], capture_output=True, check=True, env=ascii_only)
    assert json.loads(shown.stdout)["classes"] == ["mé€", "y"]


def test_an_error_is_one_line_whatever_names_it_contains(run, tmp_path):
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


# their inputs are missing, too, but the output is checked first
WRITERS = {
    "demo": ("-o",),
    "train": ("nothing.jsonl", "-o"),
    "tune": ("nothing.jsonl", "-o"),
    "fit": ("nothing.jsonl", "-o"),
    "predict": ("nothing", "nothing.jsonl", "-o"),
    "evaluate": ("nothing", "nothing.jsonl", "--confusion"),
    "unseen": ("nothing.wce", "nothing.vec", "-o"),
    "convert": ("nothing.vec",),
}


@pytest.mark.parametrize("name", WRITERS)
def test_an_output_that_cannot_be_written_is_an_error_before_any_work(run, tmp_path, name):
    (tmp_path / "file").write_text("in the way")
    ending = {"demo": "", "train": "", "tune": "", "fit": ".wce", "evaluate": ".png"}
    output = f"out{ending.get(name, '.jsonl' if name == 'predict' else '.vec')}"
    places = [tmp_path / "file" / output, Path("/proc", output)]
    if ending.get(name) != "":
        places.append(tmp_path / "missing" / output)
    for place in places:
        status, out, err = run(name, *WRITERS[name], place)
        assert (status, out) == (1, "")
        assert err.startswith(f"wordclass: {place}: cannot be written: ")
        assert err.count("\n") == 1
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("name", ["fit", "predict", "evaluate", "unseen", "convert"])
def test_an_output_file_that_is_a_folder_is_an_error_before_any_work(run, tmp_path, name):
    output = tmp_path / "out.jsonl"
    output.mkdir()
    status, _, err = run(name, *WRITERS[name], output, "--force")
    assert (status, err) == (
        1, f"wordclass: {output} is a folder; expected a file, or a new name\n"
    )  # fmt: skip
