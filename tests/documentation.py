"""Runs the code blocks of a page of the documentation, in order, as a reader would."""

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from wordclass.cli import main

ROOT = Path(__file__).parents[1]

FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

EXECUTED = {"python", "bash"}

MATCHING = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its content and the line where it begins."""

    language: str
    content: str
    line: int
    follows_directly: bool  # nothing but a blank line is between it and the block before


def read_blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    end = 0
    for match in FENCE.finditer(text):
        language, content = match.groups()
        yield Block(
            language=language.partition(" ")[0],
            content=content,
            line=text.count("\n", 0, match.start()) + 1,
            follows_directly=not text[end : match.start()].strip(),
        )
        end = match.end()


def run_page(page: Path, replacements: dict[str, str]) -> None:
    """Run the blocks of a page in the current folder and check what they print.

    A `text` block with nothing between it and a `python` or `bash` block is what that block prints;
    `...` stands for anything.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = None
    for block in read_blocks(page):
        place = f"{page.relative_to(ROOT)}:{block.line}"
        if block.language in EXECUTED:
            content = block.content
            for shown, actual in replacements.items():
                content = content.replace(shown, actual)
            run = run_python if block.language == "python" else run_bash
            printed = run(content, place, namespace)
        elif block.language == "text" and printed is not None and block.follows_directly:
            check_output(block.content, printed, place)


def check_output(expected: str, printed: str, place: str) -> None:
    matches = doctest.OutputChecker().check_output(expected, printed, MATCHING)
    assert matches, f"{place} should show:\n{printed}\ninstead of:\n{expected}"


def run_python(content: str, place: str, namespace: dict[str, Any]) -> str:
    stream = io.StringIO()
    with redirect_stdout(stream):
        exec(compile(content, place, "exec"), namespace)
    return stream.getvalue()


def run_bash(content: str, place: str, _namespace: dict[str, Any]) -> str:
    lines = content.replace("\\\n", " ").splitlines()
    commands = [shlex.split(line, comments=True) for line in lines if is_plain_command(line)]
    if len(commands) == len(lines):
        return "".join(run_command(words, place) for words in commands if words)
    return run_script(content, place)


def is_plain_command(line: str) -> bool:
    """Return True for a call of `wordclass` that needs no shell."""
    command = line.partition(" #")[0].strip()
    is_call = not command or command.startswith(("#", "wordclass "))
    return is_call and not set("|><&$*;").intersection(re.sub(r"\"[^\"]*\"", "", command))


def run_command(words: list[str], place: str) -> str:
    """Run a command in this process, which saves the time to start another one."""
    stream = io.StringIO()
    errors = io.StringIO()
    status: Any = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", words)
        try:
            with redirect_stdout(stream), redirect_stderr(errors):
                main.main()
        except SystemExit as end:
            status = end.code
    assert not status, f"{place}: {shlex.join(words)}\n{errors.getvalue()}"
    return stream.getvalue()


def run_script(content: str, place: str) -> str:
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    finished = subprocess.run(
        ["bash", "-c", f"set -e -o pipefail\n{content}"],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert finished.returncode == 0, f"{place}\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout
