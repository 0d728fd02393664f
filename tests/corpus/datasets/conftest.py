"""Small archives in the formats of the corpora, and a place where no corpus is."""

import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

_GOLDEN = Path(__file__).parents[2] / "golden" / "dataset_sizes.json"


@pytest.fixture(autouse=True)
def _no_corpora_elsewhere(monkeypatch):
    monkeypatch.delenv("WORDCLASS_DATA", raising=False)
    monkeypatch.delenv("WORDCLASS_HOME", raising=False)


@pytest.fixture(scope="session")
def published_sizes():
    return json.loads(_GOLDEN.read_text())


@pytest.fixture(scope="session")
def write_tar():
    def write(path, files, mode="w:gz"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(path, mode) as archive:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return path

    return write


@pytest.fixture(scope="session")
def write_zip():
    def write(path, files):
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return path

    return write


@pytest.fixture(scope="session")
def write_folder():
    def write(folder, files):
        for name, data in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return folder

    return write
