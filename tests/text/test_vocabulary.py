import functools
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordclass as wc
from wordclass import InputError
from wordclass.text import counting
from wordclass.text.vocabulary import TermCounts, Vocabulary

TEXTS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=1, max_size=8)


def counts_of(documents):
    return counting.count([" ".join(words) for words in documents], str.split)


def counts_of_blocks(*blocks):
    counter = counting.PythonTermCounter(str.split)
    for documents in blocks:
        counter.add([" ".join(words) for words in documents])
    return counter.finish()


def have_equal_counts(one, other):
    return (
        one.n_docs == other.n_docs
        and one.terms == other.terms
        and np.array_equal(one.doc_freq, other.doc_freq)
        and np.array_equal(one.term_freq, other.term_freq)
    )


def small_counts():
    return counts_of(["aaabd", "bd", "cd"])


def vocabulary_of(counts, **options):
    vocabulary, positions = Vocabulary.of(counts, **options)
    assert [counts.terms[j] for j in positions] == vocabulary.terms
    return vocabulary


@given(documents=TEXTS, cut=st.integers(0, 8))
def test_counts_do_not_depend_on_the_order_of_blocks(documents, cut):
    first = documents[:cut]
    second = documents[cut:]
    assert have_equal_counts(counts_of_blocks(first, second), counts_of(documents))
    assert have_equal_counts(counts_of_blocks(second, first), counts_of(documents))


def test_frequencies_count_documents_and_occurrences():
    counts = small_counts()
    assert counts.doc_freq.tolist() == [1, 2, 1, 3]
    assert counts.term_freq.tolist() == [3, 2, 1, 3]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "abcd"),
        ({"min_docs": 2}, "bd"),
        ({"min_docs": 0.5}, "bd"),
        ({"min_docs": 2, "max_df": 2}, "b"),
        ({"max_df": 0.67}, "abc"),
        ({"max_terms": 2}, "ad"),
        ({"max_terms": 3}, "abd"),
        ({"max_terms": 99}, "abcd"),
    ],
)
def test_terms_are_selected_by_their_frequencies(options, expected):
    assert "".join(vocabulary_of(small_counts(), **options).terms) == expected


def test_a_vocabulary_maps_terms_to_columns():
    vocabulary = vocabulary_of(small_counts(), min_docs=2)
    assert dict(vocabulary) == {"b": 0, "d": 1}
    assert "a" not in vocabulary
    assert vocabulary.agrees_with(vocabulary_of(small_counts(), min_docs=2))
    assert not vocabulary.agrees_with(vocabulary_of(small_counts()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_docs": 4}, "no term is left of 4"),
        ({"min_docs": 0}, "expected at least one document"),
        ({"min_docs": 1.5}, "expected a share of all documents"),
        ({"min_docs": "many"}, "min_docs is 'many'"),
        ({"min_docs": True}, "min_docs is True"),
        ({"max_df": -0.1}, "max_df is -0.1"),
        ({"max_terms": 0}, "max_terms is 0"),
        ({"max_terms": 1.5}, "max_terms is 1.5"),
    ],
)
def test_an_invalid_bound_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        vocabulary_of(small_counts(), **options)


def test_no_documents_and_no_tokens_give_different_errors():
    with pytest.raises(InputError, match="corpus is empty"):
        vocabulary_of(counts_of([]))
    with pytest.raises(InputError, match="all 2 documents are empty"):
        vocabulary_of(counts_of([[], []]))


TERMS_OF_SHARDS = st.lists(
    st.lists(st.lists(st.sampled_from(["a", "b", "c", "é", "z z"]), max_size=4), max_size=4),
    min_size=1,
    max_size=5,
)


def count_terms(documents):
    counter = counting.PythonTermCounter(lambda document: document)
    counter.add(documents)
    return counter.finish()


@given(shards=TERMS_OF_SHARDS)
def test_counts_of_shards_add_up(shards):
    expected = count_terms([document for shard in shards for document in shard])
    total = functools.reduce(operator.add, map(count_terms, shards))
    assert (total.terms, total.n_docs) == (expected.terms, expected.n_docs)
    np.testing.assert_array_equal(total.doc_freq, expected.doc_freq)
    np.testing.assert_array_equal(total.term_freq, expected.term_freq)
    assert total.doc_freq.dtype == total.term_freq.dtype == np.int64


def test_counts_of_the_engine_can_be_converted():
    analyze = wc.DocumentVectorizer().build_analyzer()
    texts = ["moon and orbit", "", "moon moon"]
    results = []
    for counter in (counting.NativeTermCounter(analyze, None), counting.PythonTermCounter(analyze)):
        counter.add(texts)
        results.append(TermCounts.of(counter.finish()))
    one, other = results
    assert (one.terms, one.n_docs) == (other.terms, other.n_docs) == (["and", "moon", "orbit"], 3)
    np.testing.assert_array_equal(one.doc_freq, other.doc_freq)
    np.testing.assert_array_equal(one.term_freq, other.term_freq)
