import struct

import numpy as np
import pytest

from wordclass import progress
from wordclass.errors import FormatError, InputError
from wordclass.vectors.formats import _file, word2vec_binary
from wordclass.vectors.word_vectors import WordVectors

VECTORS = WordVectors.of(["moon", "caf\u00e9", "a\u0085b"], [[0.1, -2.5], [1e-30, 3], [7, 8]])


def write_file(folder, header, rows, between=b""):
    path = folder / "vectors.bin"
    packed = [term + b" " + struct.pack(f"<{len(row)}f", *row) + between for term, row in rows]
    path.write_bytes(header + b"".join(packed))
    return path


@pytest.mark.parametrize("between", [b"", b"\n"])
def test_files_with_and_without_newlines_are_read(tmp_path, between):
    # the first vector ends in a newline byte, and the second one starts with a space
    tricky = struct.unpack("<f", b"\x01\x02\x03\x0a")[0]
    spaces = struct.unpack("<f", b"   \x20")[0]
    rows = [(b"a", [1.0, tricky]), (b"b", [spaces, 2.0]), (b"c", [3.0, 4.0])]
    vectors = word2vec_binary.read(write_file(tmp_path, b"3 2\n", rows, between))
    assert vectors.terms == ["a", "b", "c"]
    assert vectors.matrix.tolist() == [row for _, row in rows]


def test_files_larger_than_a_chunk_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(_file, "_CHUNK_BYTES", 7)
    word2vec_binary.write(tmp_path / "out.bin", VECTORS)
    again = word2vec_binary.read(tmp_path / "out.bin")
    assert again.terms == VECTORS.terms
    assert again.matrix.tobytes() == VECTORS.matrix.tobytes()


def test_empty_vectors_keep_their_number_of_dimensions(tmp_path):
    word2vec_binary.write(tmp_path / "out.bin", WordVectors.of([], np.zeros((0, 3))))
    assert word2vec_binary.read(tmp_path / "out.bin").matrix.shape == (0, 3)


def test_the_first_vector_of_a_repeated_term_is_used(tmp_path):
    vectors = word2vec_binary.read(write_file(tmp_path, b"2 1\n", [(b"a", [1.0]), (b"a", [2.0])]))
    assert vectors.terms == ["a"]
    assert vectors.matrix.tolist() == [[1]]


@pytest.mark.parametrize(
    ("header", "rows", "reason"),
    [
        (b"3 1\n", [(b"a", [1.0]), (b"b", [2.0])], "3 vectors, but 2 are complete"),
        (b"1 1\n", [(b"a", [1.0]), (b"b", [2.0])], "more bytes follow"),
        (b"2 1\n", [(b"a", [1.0]), (b"\xff", [2.0])], "vector 2.*not UTF-8"),
        (b"2 1\n", [(b"a", [1.0]), (b"b", [np.nan])], "'b' holds a NaN"),
        (b"x\n", [], "n_vectors"),
        (b"999999999999 1000\n", [(b"a", [1.0])], "cut short"),
        (b"1 " + b"9" * 30 + b"\n", [], "n_vectors"),
        (b"1 999999999999999\n", [(b"a", [1.0])], "expected 1 to 100,000"),
    ],
)
def test_damaged_files_are_refused(tmp_path, header, rows, reason):
    with pytest.raises(FormatError, match=reason):
        word2vec_binary.read(write_file(tmp_path, header, rows))


def test_spaces_become_underscores_and_may_not_collide(tmp_path):
    word2vec_binary.write(tmp_path / "out.bin", WordVectors.of(["new york"], [[1.0]]))
    assert word2vec_binary.read(tmp_path / "out.bin").terms == ["new_york"]
    with pytest.raises(InputError, match="would both"):
        word2vec_binary.write(tmp_path / "out.bin", WordVectors.of(["a b", "a_b"], np.eye(2)))


def test_progress_is_reported(tmp_path):
    reports = []
    path = write_file(tmp_path, b"10000 1\n", [(b"%d" % k, [1.0]) for k in range(10_000)])
    with progress.on_progress(lambda *report: reports.append(report)):
        word2vec_binary.read(path)
    assert reports == [("reading vectors.bin", 10_000, 10_000)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_files_can_be_exchanged_with_gensim(tmp_path):
    models = pytest.importorskip("gensim.models")
    word2vec_binary.write(tmp_path / "ours.bin", VECTORS)
    theirs = models.KeyedVectors.load_word2vec_format(tmp_path / "ours.bin", binary=True)
    assert theirs.index_to_key == VECTORS.terms
    assert theirs.vectors.tobytes() == VECTORS.matrix.tobytes()
    theirs.save_word2vec_format(str(tmp_path / "theirs.bin"), binary=True)
    again = word2vec_binary.read(tmp_path / "theirs.bin")
    assert again.terms == VECTORS.terms
    assert again.matrix.tobytes() == VECTORS.matrix.tobytes()
