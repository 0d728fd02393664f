from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nasty_documents import documents

import wordclass as wc
from wordclass.text import counting
from wordclass.text.analyzer import Analyzer
from wordclass.text.counting import index_in_python, index_texts
from wordclass.text.sequences import Sequences
from wordclass.text.vocabulary import Vocabulary

PADDING = 99


def vocabulary_of(terms):
    zeros = np.zeros(len(terms), np.int64)
    return Vocabulary(list(terms), zeros, zeros, 0)


def batch_of(rows, max_length=500, pad="right"):
    flat = np.array([token_id for row in rows for token_id in row], np.int64)
    ends = np.cumsum([0, *map(len, rows)])
    return wc.IdBatch.of(flat, ends, padding=PADDING, max_length=max_length, pad=pad)


def test_short_texts_are_padded_on_the_right():
    batch = batch_of([[1, 2, 3], [4], []])
    assert batch.ids.tolist() == [[1, 2, 3], [4, PADDING, PADDING], [PADDING] * 3]
    assert batch.lengths.tolist() == [3, 1, 0]
    assert batch.ids.dtype == batch.lengths.dtype == np.int64
    assert len(batch) == 3


def test_left_padding_of_short_texts():
    assert batch_of([[1, 2, 3], [4], []], pad="left").ids.tolist() == [
        [1, 2, 3],
        [PADDING, PADDING, 4],
        [PADDING] * 3,
    ]


@pytest.mark.parametrize("pad", ["left", "right"])
def test_long_texts_are_truncated_to_their_first_tokens(pad):
    batch = batch_of([[1, 2, 3, 4], [5, 6], [7, 8, 9]], max_length=2, pad=pad)
    assert batch.ids.tolist() == [[1, 2], [5, 6], [7, 8]]
    assert batch.lengths.tolist() == [2, 2, 2]


def test_batches_of_no_texts_and_of_empty_texts():
    assert batch_of([]).ids.shape == (0, 1)
    assert batch_of([]).lengths.shape == (0,)
    assert batch_of([[], []]).ids.tolist() == [[PADDING], [PADDING]]
    assert batch_of([[], []]).lengths.tolist() == [0, 0]


@given(
    rows=st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=6),
    max_length=st.integers(1, 7),
    pad=st.sampled_from(["left", "right"]),
)
def test_a_row_consists_of_the_text_and_padding(rows, max_length, pad):
    batch = batch_of(rows, max_length, pad)
    assert batch.ids.shape == (len(rows), max(1, *(len(row[:max_length]) for row in [[], *rows])))
    for row, ids, length in zip(rows, batch.ids.tolist(), batch.lengths.tolist(), strict=True):
        filling = [PADDING] * (len(ids) - length)
        expected = row[:max_length] + filling if pad == "right" else filling + row[:max_length]
        assert ids == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 0}, "max_length is 0"),
        ({"max_length": 2.5}, "max_length is 2.5"),
        ({"max_length": True}, "max_length is True"),
        ({"pad": "middle"}, "pad is 'middle'"),
    ],
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(wc.InputError, match=message):
        batch_of([[1]], **options)


@pytest.mark.parametrize(
    "analyze",
    [Analyzer(), Analyzer(mask_numbers=False), Analyzer(stop_words=frozenset({"the", "ab"}))],
)
def test_the_engine_and_plain_python_give_the_same_columns(analyze):
    assert counting.has_native_support(analyze)
    texts = documents(400, seed=5)
    tokens = sorted({token for text in texts for token in analyze(text)})
    # not sorted, with terms that no token equals, as in pretrained vectors
    terms = [*tokens[::-3], "u.s.", "new york", "'s", "", "the", "numbermask", "ab\0", "\ud800"]
    vocabulary = vocabulary_of(dict.fromkeys(terms))
    columns, ends = index_texts(texts, analyze, vocabulary)
    expected_columns, expected_ends = index_in_python(texts, analyze, vocabulary.index)
    np.testing.assert_array_equal(columns, expected_columns)
    np.testing.assert_array_equal(ends, expected_ends)
    assert (columns.dtype, ends.dtype) == (expected_columns.dtype, expected_ends.dtype)


def test_a_user_defined_analyzer_gives_columns():
    columns, ends = index_texts(["a b", "", "c a"], str.split, vocabulary_of(["a", "b"]))
    assert columns.tolist() == [0, 1, -1, 0]
    assert ends.tolist() == [0, 2, 2, 4]


def test_analyzers_that_do_not_give_words_in_order_are_refused():
    with pytest.raises(wc.InputError, match=r"single words, not of ngrams=\(1, 2\)"):
        index_texts(["aa bb"], Analyzer(ngrams=(1, 2)), vocabulary_of(["aa"]))
    with pytest.raises(wc.InputError, match="did not return terms for text 1"):
        index_texts(["a", "b"], lambda text: ["a"] if text == "a" else None, vocabulary_of(["a"]))


# --- concatenated texts ----------------------------------------------------------------------


def sequences_of(rows):
    flat = np.array([token_id for row in rows for token_id in row], np.int64)
    return Sequences(flat, np.cumsum([0, *map(len, rows)]))


def rows_of(sequences):
    ends = sequences.ends.tolist()
    assert ends[0] == 0
    assert ends[-1] == len(sequences.ids)
    return [sequences.ids[start:end].tolist() for start, end in pairwise(ends)]


LISTS = st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=6)


@given(rows=LISTS, max_length=st.integers(1, 7))
def test_truncate_keeps_the_first_tokens_of_each_text(rows, max_length):
    truncated = sequences_of(rows).truncate(max_length)
    assert rows_of(truncated) == [row[:max_length] for row in rows]
    assert truncated.lengths.tolist() == [len(row[:max_length]) for row in rows]
    assert len(truncated) == len(rows)


@given(rows=LISTS.filter(len), data=st.data())
def test_a_part_has_its_texts_in_the_requested_order(rows, data):
    selected = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8))
    assert rows_of(sequences_of(rows).part(selected)) == [rows[k] for k in selected]


@given(rows=LISTS, pad=st.sampled_from(["left", "right"]))
def test_padded_texts_have_the_length_of_the_longest(rows, pad):
    batch = sequences_of(rows).padded(PADDING, pad)
    longest = max([1, *map(len, rows)])
    assert batch.ids.shape == (len(rows), longest)
    for row, ids in zip(rows, batch.ids.tolist(), strict=True):
        filling = [PADDING] * (longest - len(row))
        assert ids == (row + filling if pad == "right" else filling + row)


@pytest.mark.parametrize("max_length", [0, -1, 2.0, True, None])
def test_an_invalid_length_is_refused(max_length):
    with pytest.raises(wc.InputError, match="max_length is"):
        sequences_of([[1, 2]]).truncate(max_length)
