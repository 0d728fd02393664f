import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordclass.vectors.subwords import Subwords

MATRIX = np.random.default_rng(0).normal(size=(97, 4)).astype(np.float32)


def fnv_1a(piece):
    """fastText's hash, from its definition: bytes count as signed."""
    hashed = 2166136261
    for byte in piece:
        signed = byte - 256 if byte > 127 else byte
        hashed = ((hashed ^ (signed & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    return hashed


def pieces(word, shortest, longest):
    """All runs of characters of the marked word but the marks alone."""
    marked = f"<{word}>"
    runs = [
        (start, start + length)
        for length in range(max(1, shortest), longest + 1)
        for start in range(len(marked) - length + 1)
    ]
    alone = [(0, 1), (len(marked) - 1, len(marked))]
    return [marked[start:end] for start, end in runs if (start, end) not in alone]


@given(
    st.lists(st.text("ab<>/s\u00e9\u6771\U0001f600", max_size=7), min_size=1, max_size=5),
    st.integers(0, 4),
    st.integers(0, 6),
)
def test_the_vector_of_a_word_is_the_mean_of_its_pieces(words, shortest, longest):
    subwords = Subwords(MATRIX, shortest, longest)
    sums, n_pieces = subwords.sums([word.encode() for word in words])
    for word, total, n in zip(words, sums, n_pieces, strict=True):
        expected = [] if word == "</s>" else pieces(word, shortest, longest)
        rows = [MATRIX[fnv_1a(piece.encode()) % 97] for piece in expected]
        assert n == len(rows)
        np.testing.assert_allclose(total, np.sum(rows, axis=0) if rows else 0, atol=1e-5)
        vector = subwords.vector(word)
        if rows:
            np.testing.assert_allclose(vector, np.mean(rows, axis=0), atol=1e-6)
            assert vector.dtype == np.float32
        else:
            assert vector is None


def test_the_mark_of_the_end_of_a_sentence_has_no_pieces():
    assert Subwords(MATRIX, 1, 6).vector("</s>") is None


def test_many_words_are_added_up_block_by_block(monkeypatch):
    words = [f"word{k}".encode() for k in range(50)]
    expected = Subwords(MATRIX, 3, 6).sums(words)
    monkeypatch.setattr("wordclass.vectors.subwords._BLOCK", 7)
    found = Subwords(MATRIX, 3, 6).sums(words)
    assert found[0].tobytes() == expected[0].tobytes()
    assert found[1].tolist() == expected[1].tolist()


def test_no_words_have_no_sums():
    sums, n_pieces = Subwords(MATRIX, 3, 6).sums([])
    assert sums.shape == (0, 4)
    assert n_pieces.shape == (0,)


def test_lengths_without_end_take_no_time():
    assert Subwords(MATRIX, 1, 2**31).vector("abc") is not None


def test_vectors_are_read_only_as_those_of_known_words_are():
    vector = Subwords(MATRIX, 3, 6).vector("abc")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1


def test_lone_surrogates_and_loose_bytes_are_no_crash():
    assert Subwords(MATRIX, 3, 6).vector("a\ud800b") is not None
    sums, n_pieces = Subwords(MATRIX, 1, 3).sums([b"\x80\x80", b"\xffa\x80"])
    assert np.isfinite(sums).all()
    assert (n_pieces > 0).all()
