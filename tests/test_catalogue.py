import sys

import pytest

from wordclass import catalogue
from wordclass.errors import InputError, MissingExtraError


@pytest.fixture
def planets(tmp_path, monkeypatch):
    """Make a catalogue `wordclass.planets` with two entries and a shared file."""
    folder = tmp_path / "planets"
    folder.mkdir()
    for name in ("__init__", "venus", "mars", "_orbit"):
        (folder / f"{name}.py").write_text(f"NAME = {name!r}\n", encoding="utf-8")
    import wordclass

    monkeypatch.setattr(wordclass, "__path__", [*wordclass.__path__, str(tmp_path)])
    yield folder
    for module in [name for name in sys.modules if name.startswith("wordclass.planets")]:
        del sys.modules[module]
    vars(wordclass).pop("planets", None)
    catalogue._entries.clear()


def test_entries_are_the_files_without_a_leading_underscore(planets):
    assert catalogue.names("planets") == ["mars", "venus"]


def test_a_new_file_is_an_entry_without_any_other_edit(planets):
    assert catalogue.entry("planets", "mars").NAME == "mars"
    (planets / "pluto.py").write_text("NAME = 'a dwarf'\n", encoding="utf-8")
    assert catalogue.entry("planets", "pluto").NAME == "a dwarf"


def test_an_unknown_name_lists_the_known_ones_and_suggests_a_close_one(planets):
    with pytest.raises(
        InputError,
        match=r"unknown planet 'marz' \(did you mean 'mars'\?\); expected one of mars, venus",
    ):
        catalogue.entry("planets", "marz")
    with pytest.raises(InputError, match="unknown planet 'xyz'; expected one of mars, venus"):
        catalogue.entry("planets", "xyz")


@pytest.mark.parametrize("name", ["_orbit", "__init__", "mars.NAME", "../mars", "", None, 5])
def test_other_names_cannot_be_imported(planets, name):
    with pytest.raises(InputError, match="unknown planet"):
        catalogue.entry("planets", name)


def test_an_installed_extra_is_imported():
    assert catalogue.import_extra("json.decoder", "to test").JSONDecodeError


def test_the_error_of_a_missing_extra_names_the_pip_command_and_the_purpose():
    with pytest.raises(MissingExtraError) as caught:
        catalogue.import_extra("absent_package.part", "to fly")
    assert str(caught.value) == (
        "absent_package is needed to fly; install it with: pip install 'wordclass[absent_package]'"
    )
