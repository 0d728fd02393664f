import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordclass.vectors.subwords import Subwords

MATRIX = np.random.default_rng(0).normal(size=(97, 4)).astype(np.float32)


def fnv_1a(piece):
    """Return fastText's hash, in which bytes are signed."""
    hashed = 2166136261
    for byte in piece:
        signed = byte - 256 if byte > 127 else byte
        hashed = ((hashed ^ (signed & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    return hashed


def list_ngrams(word, shortest, longest):
    """Return all n-grams of the marked word except single marks."""
    marked = f"<{word}>"
    runs = [
        (start, start + length)
        for length in range(max(1, shortest), longest + 1)
        for start in range(len(marked) - length + 1)
    ]
    single_marks = [(0, 1), (len(marked) - 1, len(marked))]
    return [marked[start:end] for start, end in runs if (start, end) not in single_marks]


@given(
    st.lists(st.text("ab<>/s\u00e9\u6771\U0001f600", max_size=7), min_size=1, max_size=5),
    st.integers(0, 4),
    st.integers(0, 6),
)
def test_the_vector_of_a_word_is_the_mean_of_its_ngrams(words, shortest, longest):
    subwords = Subwords(MATRIX, shortest, longest)
    sums, n_ngrams = subwords.sums([word.encode() for word in words])
    for word, total, n in zip(words, sums, n_ngrams, strict=True):
        ngrams = [] if word == "</s>" else list_ngrams(word, shortest, longest)
        rows = [MATRIX[fnv_1a(ngram.encode()) % 97] for ngram in ngrams]
        assert n == len(rows)
        np.testing.assert_allclose(total, np.sum(rows, axis=0) if rows else 0, atol=1e-5)
        vector = subwords.vector(word)
        if rows:
            np.testing.assert_allclose(vector, np.mean(rows, axis=0), atol=1e-6)
            assert vector.dtype == np.float32
        else:
            assert vector is None


def test_the_token_for_the_end_of_a_sentence_has_no_vector():
    assert Subwords(MATRIX, 1, 6).vector("</s>") is None


def test_sums_do_not_depend_on_blocks(monkeypatch):
    words = [f"word{k}".encode() for k in range(50)]
    sums, n_ngrams = Subwords(MATRIX, 3, 6).sums(words)
    monkeypatch.setattr("wordclass.vectors.subwords._BLOCK_WORDS", 7)
    sums_in_blocks, n_ngrams_in_blocks = Subwords(MATRIX, 3, 6).sums(words)
    assert sums_in_blocks.tobytes() == sums.tobytes()
    assert n_ngrams_in_blocks.tolist() == n_ngrams.tolist()


def test_sums_of_no_words_are_empty():
    sums, n_ngrams = Subwords(MATRIX, 3, 6).sums([])
    assert sums.shape == (0, 4)
    assert n_ngrams.shape == (0,)


def test_a_huge_maximum_length_takes_no_time():
    assert Subwords(MATRIX, 1, 2**31).vector("abc") is not None


def test_vectors_are_read_only():
    vector = Subwords(MATRIX, 3, 6).vector("abc")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1


def test_lone_surrogates_and_invalid_bytes_do_not_crash():
    assert Subwords(MATRIX, 3, 6).vector("a\ud800b") is not None
    sums, n_ngrams = Subwords(MATRIX, 1, 3).sums([b"\x80\x80", b"\xffa\x80"])
    assert np.isfinite(sums).all()
    assert (n_ngrams > 0).all()
