import pickle
from pathlib import Path

import pytest

from wordclass.errors import (
    FormatError,
    InputError,
    MissingDataError,
    MissingExtraError,
    StorageError,
    WordClassError,
)

ERRORS = [
    WordClassError("w"),
    InputError("i"),
    FormatError(Path("a.csv"), 3, "bad"),
    FormatError("a.parquet", None, "bad"),
    MissingDataError("m"),
    StorageError("s"),
    MissingExtraError("e"),
]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_an_error_survives_the_way_between_processes(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (InputError, ValueError),
        (FormatError, InputError),
        (FormatError, ValueError),
        (MissingDataError, FileNotFoundError),
        (MissingDataError, ValueError),
        (StorageError, OSError),
        (StorageError, ValueError),
        (MissingExtraError, ImportError),
    ],
)
def test_an_error_is_caught_as_ours_and_as_the_one_python_would_raise(error, builtin):
    assert issubclass(error, WordClassError)
    assert issubclass(error, builtin)


def test_a_missing_extra_is_not_a_mistake_of_the_input():
    assert not issubclass(MissingExtraError, ValueError)


def test_a_format_error_names_the_file_and_the_line_where_there_is_one():
    assert str(FormatError(Path("a.csv"), 3, "two cells")) == "a.csv, line 3: two cells"
    assert str(FormatError("a.parquet", None, "row 3: null")) == "a.parquet: row 3: null"
