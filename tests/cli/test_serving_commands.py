import shutil
import socket
import sys

import pytest
from explored_models import model

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


def test_without_the_extra_the_pip_command_is_told(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    status, _, error = run("serve", folder)
    assert status == 1
    assert "pip install 'wordclass[serve]'" in error
