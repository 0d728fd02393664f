"""Where the tests find the shared corpora, and how hard hypothesis tries."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# machines are noisy, so no deadlines; CI draws the same examples every time
settings.register_profile("here", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

_ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared_data():
    folder = _ROOT / os.environ.get("WORDCLASS_DATA", "../shared/data")

    def find(name):
        if not (folder / name).exists():
            pytest.skip(f"{name} is not in {folder}; WORDCLASS_DATA names another folder")
        return folder / name

    return find


@pytest.fixture(scope="session")
def data_home() -> Path:
    """A home for corpora that outlives the run, so that the next one is quick."""
    home = Path(__file__).parent.parent / ".cache" / "tests-home"
    home.mkdir(parents=True, exist_ok=True)
    return home
