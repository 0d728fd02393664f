import shutil
import socket
import sys

import pytest
from explored_models import model

import wordclass as wc
from wordclass.cli.serving_commands import _read_tokens

pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "news"
    model("nearest").save(path)
    return path


def test_an_error_of_serve_is_one_line(run, folder, tmp_path):
    other = tmp_path / "other" / "news"
    shutil.copytree(folder, other)
    (tmp_path / "empty").write_text("\n")
    with socket.create_server(("127.0.0.1", 0)) as other_server:
        port = other_server.getsockname()[1]
        for arguments, message in [
            ([folder, other], "the same name 'news'"),
            ([tmp_path / "nowhere"], "nowhere"),
            ([folder, "--token-file", tmp_path / "empty"], "contains no token"),
            ([folder, "--port", port], "cannot be listened on"),
            ([folder, "--host", "no such host"], "cannot be listened on"),
        ]:
            status, shown, error = run("serve", *arguments)
            assert (status, shown) == (1, "")
            assert message in error
            assert len(error.splitlines()) == 1


GOOD = "0123456789abcdef"
BAD_LINES = {
    "a passphrase of words": "contains white space",
    f"{GOOD} # for the library": "contains white space",
    f"{GOOD}\u00a0x": "contains white space",
    f"{GOOD}\u2028{GOOD}": "contains white space",
    f"{GOOD}\x00": "contains a character that cannot be printed",
    f"{GOOD}\x7f": "contains a character that cannot be printed",
    GOOD[:15]: "has 15 characters; expected at least 16",
    "\N{SNOWMAN}": "has 1 characters; expected at least 16",
}


@pytest.mark.parametrize("line", BAD_LINES, ids=ascii)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=ascii)
def test_an_invalid_token_is_located_and_not_shown(run, folder, tmp_path, line, end):
    path = tmp_path / "tokens"
    lines = ["# tokens of the library", "", f"  {GOOD}ghij ", "\t# indented", line, GOOD]
    path.write_text(end.join(lines), encoding="utf-8", newline="")
    status, shown, error = run("serve", folder, "--port", 0, "--token-file", path)
    assert (status, shown) == (1, "")
    assert f"line 5: the token {BAD_LINES[line]}" in error
    assert not any(word in error for word in line.split() if len(word) > 5)


def test_tokens_are_read_from_lines(tmp_path):
    path = tmp_path / "tokens"
    path.write_bytes(f"\ufeff#{GOOD}\r\n\r\n {GOOD}\t\n# a b\n{GOOD}#\xe9".encode())
    assert _read_tokens(path) == (GOOD, f"{GOOD}#\xe9")
    path.write_bytes(GOOD.encode() + b"\xff")
    with pytest.raises(wc.InputError, match="not UTF-8"):
        _read_tokens(path)


def test_without_the_extra_the_error_has_the_pip_command(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    status, _, error = run("serve", folder)
    assert status == 1
    assert "pip install 'wordclass[serve]'" in error
