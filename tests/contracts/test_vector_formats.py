"""What every file in vector_formats/ that can write has to do."""

import errno
import gzip
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wordclass import catalogue
from wordclass.errors import FormatError, InputError, StorageError
from wordclass.vectors.word_vectors import WordVectors

FORMATS = {
    name: catalogue.entry("vector_formats", name) for name in catalogue.names("vector_formats")
}
WRITABLE = [name for name, module in FORMATS.items() if hasattr(module, "write")]
# "\n" and spaces are special to some formats, which have tests of their own for them
TERMS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\n \0"), min_size=1, max_size=5
)
BITS = st.floats(width=32, allow_nan=False, allow_infinity=False)
NAMES = st.text(max_size=3) | st.integers()


@st.composite
def any_vectors(draw):
    terms = draw(st.lists(TERMS, min_size=1, max_size=6, unique=True))
    n_dims = draw(st.integers(1, 4))
    matrix = draw(arrays(np.float32, (len(terms), n_dims), elements=BITS))
    names = draw(st.none() | st.lists(NAMES, min_size=n_dims, max_size=n_dims))
    return WordVectors.of(terms, matrix, names)


VECTORS = WordVectors.of(
    ["moon", "caf\u00e9", "a\u0085b", "\u2028", "7", "\U0001f600"],
    np.random.default_rng(0).normal(size=(6, 5)),
    ["x", 3, "", "\u00e9", "\ud800"],
)


def place_in(folder, name):
    return Path(folder) / f"vectors{FORMATS[name].ENDINGS[0]}"


def assert_same(found, expected):
    assert found.terms == expected.terms
    assert found.matrix.shape == expected.matrix.shape
    assert found.matrix.tobytes() == expected.matrix.tobytes()
    assert found.dimension_names == expected.dimension_names


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_reads_and_has_endings_of_its_own(name):
    endings = FORMATS[name].ENDINGS
    assert callable(FORMATS[name].read)
    assert all(ending.startswith(".") for ending in endings)
    others = [ending for other in FORMATS if other != name for ending in FORMATS[other].ENDINGS]
    assert not set(endings) & set(others)


@pytest.mark.parametrize("name", WRITABLE)
@settings(deadline=None)  # a disk may be slow
@given(vectors=any_vectors())
def test_reading_what_was_written_gives_the_same_bits(name, vectors):
    with tempfile.TemporaryDirectory() as folder:
        path = place_in(folder, name)
        FORMATS[name].write(path, vectors)
        assert_same(FORMATS[name].read(path), vectors)
        assert_same(WordVectors.load(path), vectors)


@pytest.mark.parametrize("name", WRITABLE)
@settings(deadline=None)
@given(
    terms=st.lists(st.text(st.characters(), max_size=4), min_size=1, max_size=5, unique=True),
    seed=st.integers(0, 9),
)
def test_terms_of_any_kind_come_back_or_are_refused(name, terms, seed):
    vectors = WordVectors.of(terms, np.random.default_rng(seed).normal(size=(len(terms), 3)))
    with tempfile.TemporaryDirectory() as folder:
        path = place_in(folder, name)
        try:
            FORMATS[name].write(path, vectors)
        except InputError:
            assert not path.exists()
            return
        found = FORMATS[name].read(path)
        assert found.matrix.tobytes() == vectors.matrix.tobytes()
        if name.startswith("word2vec"):
            terms = [term.replace(" ", "_") for term in terms]
        assert found.terms == terms


@pytest.mark.parametrize("name", WRITABLE)
def test_numbers_that_are_rounded_twice_on_the_way_come_back(name, tmp_path):
    bits = np.array([[0x15AE43FD, 0x15AE43FE], [0x00000001, 0x80000000]], dtype=np.uint32)
    vectors = WordVectors.of(["a", "b"], bits.view(np.float32))
    FORMATS[name].write(place_in(tmp_path, name), vectors)
    assert_same(FORMATS[name].read(place_in(tmp_path, name)), vectors)


@pytest.mark.parametrize("name", WRITABLE)
@settings(deadline=None)
@given(wanted=st.frozensets(st.sampled_from([*VECTORS.terms, "sun", "\ud800"])))
def test_only_wanted_terms_are_kept_in_the_order_of_the_file(name, wanted):
    with tempfile.TemporaryDirectory() as folder:
        path = place_in(folder, name)
        FORMATS[name].write(path, VECTORS)
        found = FORMATS[name].read(path, wanted)
    rows = [row for row, term in enumerate(VECTORS.terms) if term in wanted]
    kept = [VECTORS.terms[row] for row in rows]
    assert_same(found, WordVectors.of(kept, VECTORS.matrix[rows], VECTORS.dimension_names))


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("name", WRITABLE)
def test_compressed_files_are_read_as_they_are(name, ending, tmp_path):
    path = place_in(tmp_path, name)
    FORMATS[name].write(path, VECTORS)
    if ending == ".gz":
        packed = gzip.compress(path.read_bytes())
    else:
        packed = pytest.importorskip("zstandard").compress(path.read_bytes())
    path.with_name(path.name + ending).write_bytes(packed)
    path.unlink()
    assert_same(WordVectors.load(path.with_name(path.name + ending)), VECTORS)


@pytest.mark.parametrize("name", [name for name in WRITABLE if name != "glove_text"])
def test_a_file_cut_short_is_never_taken_for_a_whole_one(name, tmp_path):
    path = place_in(tmp_path, name)
    FORMATS[name].write(path, VECTORS)
    content = path.read_bytes()
    # the last line of a text may lack its newline, and a number some of its last digits
    n_sure = content.rindex(b" ") if name.endswith("text") else len(content)
    for cut in range(n_sure):
        path.write_bytes(content[:cut])
        with pytest.raises(FormatError):
            FORMATS[name].read(path)


@pytest.mark.parametrize("name", [name for name in WRITABLE if not name.endswith("text")])
def test_a_file_with_more_behind_it_is_refused_or_read_as_it_was(name, tmp_path):
    path = place_in(tmp_path, name)
    FORMATS[name].write(path, VECTORS)
    path.write_bytes(path.read_bytes() + b"more")
    with suppress(FormatError):
        assert_same(FORMATS[name].read(path), VECTORS)


@pytest.mark.parametrize("names", [None, ["p", "q"]])
@pytest.mark.parametrize("name", WRITABLE)
def test_a_full_disk_leaves_the_old_file_and_nothing_else(name, names, tmp_path, monkeypatch):
    path = place_in(tmp_path, name)
    FORMATS[name].write(path, VECTORS)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    def fail(_descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageError, match="No space left"):
        FORMATS[name].write(path, WordVectors.of(["new"], [[1.0, 2.0]], names))
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", WRITABLE)
def test_a_missing_folder_is_a_storage_error(name, tmp_path):
    with pytest.raises(StorageError, match="cannot be written"):
        FORMATS[name].write(place_in(tmp_path / "no", name), VECTORS)


@pytest.mark.parametrize("name", WRITABLE)
def test_names_of_earlier_vectors_do_not_stay_behind(name, tmp_path):
    path = place_in(tmp_path, name)
    FORMATS[name].write(path, VECTORS)
    plain = WordVectors.of(VECTORS.terms, VECTORS.matrix)
    FORMATS[name].write(path, plain)
    assert_same(FORMATS[name].read(path), plain)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
