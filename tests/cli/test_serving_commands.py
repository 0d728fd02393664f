import shutil
import socket
import sys

import pytest
from explored_models import model

import wordclass as wc
from wordclass.cli.serving_commands import _tokens

pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("models") / "news"
    model("nearest").save(made)
    return made


def test_what_cannot_be_served_is_told_in_one_line(run, folder, tmp_path):
    other = tmp_path / "other" / "news"
    shutil.copytree(folder, other)
    (tmp_path / "empty").write_text("\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for arguments, told in [
            ([folder, other], "the same name 'news'"),
            ([tmp_path / "nowhere"], "nowhere"),
            ([folder, "--token-file", tmp_path / "empty"], "holds no token"),
            ([folder, "--port", port], "cannot be listened on"),
            ([folder, "--host", "no such host"], "cannot be listened on"),
        ]:
            status, shown, error = run("serve", *arguments)
            assert (status, shown) == (1, "")
            assert told in error
            assert len(error.splitlines()) == 1


GOOD = "0123456789abcdef"
BAD_LINES = {
    "a passphrase of words": "white space inside",
    f"{GOOD} # for the library": "white space inside",
    f"{GOOD}\u00a0x": "white space inside",
    f"{GOOD}\u2028{GOOD}": "white space inside",
    f"{GOOD}\x00": "cannot be printed",
    f"{GOOD}\x7f": "cannot be printed",
    GOOD[:15]: "15 characters; expected at least 16",
    "\N{SNOWMAN}": "1 characters; expected at least 16",
}


@pytest.mark.parametrize("line", BAD_LINES, ids=ascii)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=ascii)
def test_a_line_that_is_no_token_is_named_and_not_shown(run, folder, tmp_path, line, end):
    path = tmp_path / "tokens"
    lines = ["# tokens of the library", "", f"  {GOOD}ghij ", "\t# indented", line, GOOD]
    path.write_text(end.join(lines), encoding="utf-8", newline="")
    status, shown, error = run("serve", folder, "--port", 0, "--token-file", path)
    assert (status, shown) == (1, "")
    assert f"line 5: the token has {BAD_LINES[line]}" in error.replace("a character that ", "")
    assert not any(word in error for word in line.split() if len(word) > 3)


def test_tokens_are_lines(tmp_path):
    path = tmp_path / "tokens"
    path.write_bytes(f"\ufeff#{GOOD}\r\n\r\n {GOOD}\t\n# a b\n{GOOD}#\xe9".encode())
    assert _tokens(path) == (GOOD, f"{GOOD}#\xe9")
    path.write_bytes(GOOD.encode() + b"\xff")
    with pytest.raises(wc.InputError, match="not UTF-8"):
        _tokens(path)


def test_without_the_extra_the_pip_command_is_told(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    status, _, error = run("serve", folder)
    assert status == 1
    assert "pip install 'wordclass[serve]'" in error
