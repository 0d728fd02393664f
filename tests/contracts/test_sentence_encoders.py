"""What holds for every kind of encoder, also where its files are damaged or hostile."""

import json
import shutil
import socket

import numpy as np
import pytest
from small_encoders import N_DIMS, TEXTS

from wordclass import catalogue
from wordclass.errors import InputError
from wordclass.sentence.encoder import SentenceEncoder

NAMES = catalogue.names("sentence_encoders")
pytestmark = [pytest.mark.parametrize("name", NAMES), pytest.mark.xdist_group("encoders")]


@pytest.fixture
def folder(name, encoder_folder, tmp_path):
    return shutil.copytree(encoder_folder(name), tmp_path / "model")


def test_exactly_one_kind_recognizes_it(name, folder):
    found = [
        kind for kind in NAMES if catalogue.entry("sentence_encoders", kind).recognizes(folder)
    ]
    assert found == [name]


def test_an_empty_folder_is_nobodys(name, tmp_path):
    assert not catalogue.entry("sentence_encoders", name).recognizes(tmp_path)


def test_its_vectors_are_the_same_every_time_and_do_not_depend_on_other_texts(name, folder):
    made = catalogue.entry("sentence_encoders", name).make(folder)
    vectors = made.encode(TEXTS, 1)
    assert vectors.shape == (len(TEXTS), N_DIMS)
    np.testing.assert_array_equal(made.encode(TEXTS, 1), vectors)
    np.testing.assert_allclose(made.encode(TEXTS, 2), vectors, atol=1e-6)
    again = catalogue.entry("sentence_encoders", name).make(folder)
    alone = np.concatenate([again.encode([text], 1) for text in TEXTS])
    np.testing.assert_allclose(alone, vectors, atol=1e-5)


@pytest.mark.parametrize("text", ["", " \n", "\ud800 moon", "\0", "moon " * 5_000, "é" * 70_000])
def test_odd_texts_have_vectors_too(name, folder, text):
    vectors = SentenceEncoder.of(folder).vectors([text, "moon"])
    assert vectors.shape == (2, N_DIMS)
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors[1]) == pytest.approx(1)


def test_its_fingerprint_tells_of_every_file_that_matters(name, folder):
    before = SentenceEncoder.of(folder).fingerprint
    for path in catalogue.entry("sentence_encoders", name).files(folder):
        content = path.read_bytes()
        path.write_bytes(content + b" ")
        if name == "onnx" or path.suffix == ".json":
            assert SentenceEncoder.of(folder).fingerprint != before, path
        path.write_bytes(content)
    assert SentenceEncoder.of(folder).fingerprint == before


DAMAGE = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "garbage": lambda content: b"\xff\x00garbage" * 20,
    "a list": lambda content: b"[]",
    "a number": lambda content: b"5",
    "null": lambda content: b"null",
    "an object": lambda content: b"{}",
    "nested": lambda content: b"[" * 100_000,
    "wrong types": lambda content: _other_types(content),
}


def _other_types(content):
    try:
        facts = json.loads(content)
    except ValueError:
        return content[::-1]
    if isinstance(facts, list):
        facts = [{key: [value] for key, value in each.items()} for each in facts]
    else:
        facts = {key: [value, None] for key, value in facts.items()}
    return json.dumps(facts).encode()


def outcome(folder):
    """The vectors of the texts, or the line that says why there are none."""
    try:
        return SentenceEncoder.of(folder).vectors(TEXTS)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_one_clear_line_or_makes_no_difference(name, folder, damage):
    for path in [path for path in sorted(folder.rglob("*")) if path.is_file()]:
        content = path.read_bytes()
        path.write_bytes(DAMAGE[damage](content))
        found = outcome(folder)
        if isinstance(found, str):
            assert str(folder) in found
            assert "\n" not in found
        else:  # nothing needed it, or it says something else now
            assert len(found) == len(TEXTS)
            assert path.suffix == ".json"
        path.write_bytes(content)


def test_every_file_is_missed_in_one_clear_line(name, folder):
    for path in catalogue.entry("sentence_encoders", name).files(folder):
        path.rename(folder.parent / "aside")
        found = outcome(folder)
        assert "\n" not in found if isinstance(found, str) else path.suffix == ".json"
        (folder.parent / "aside").rename(path)


def test_nothing_is_asked_of_the_network(name, folder, monkeypatch):
    def refuse(*_args, **_options):
        raise AssertionError("a socket was opened")

    for method in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, method, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert outcome(folder).shape == (len(TEXTS), N_DIMS)
    for path in folder.rglob("*.json"):  # whatever is missing is not fetched either
        path.rename(folder.parent / "aside")
        assert "a socket" not in str(outcome(folder))
        (folder.parent / "aside").rename(path)
