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


def counts_of_parts(*parts):
    counter = counting.PythonTermCounter(str.split)
    for documents in parts:
        counter.add([" ".join(words) for words in documents])
    return counter.finished()


def same(one, other):
    return (
        one.n_docs == other.n_docs
        and one.terms == other.terms
        and np.array_equal(one.doc_freq, other.doc_freq)
        and np.array_equal(one.term_freq, other.term_freq)
    )


def small():
    return counts_of(["aaabd", "bd", "cd"])


def vocabulary_of(counts, **options):
    vocabulary, places = Vocabulary.of(counts, **options)
    assert [counts.terms[j] for j in places] == vocabulary.terms
    return vocabulary


@given(documents=TEXTS, cut=st.integers(0, 8))
def test_the_counts_of_the_parts_add_up_to_the_counts_of_the_whole(documents, cut):
    first, second = documents[:cut], documents[cut:]
    assert same(counts_of_parts(first, second), counts_of(documents))
    assert same(counts_of_parts(second, first), counts_of(documents))


def test_frequencies_count_documents_and_occurrences():
    counts = small()
    assert counts.doc_freq.tolist() == [1, 2, 1, 3]
    assert counts.term_freq.tolist() == [3, 2, 1, 3]


@pytest.mark.parametrize(
    ("options", "kept"),
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
def test_terms_are_kept_by_their_frequencies(options, kept):
    assert "".join(vocabulary_of(small(), **options).terms) == kept


def test_a_vocabulary_maps_terms_to_columns():
    vocabulary = vocabulary_of(small(), min_docs=2)
    assert dict(vocabulary) == {"b": 0, "d": 1}
    assert "a" not in vocabulary
    assert vocabulary.agrees_with(vocabulary_of(small(), min_docs=2))
    assert not vocabulary.agrees_with(vocabulary_of(small()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_docs": 4}, "no term is left of 4"),
        ({"min_docs": 0}, "at least one document"),
        ({"min_docs": 1.5}, "share of all documents"),
        ({"min_docs": "many"}, "min_docs is 'many'"),
        ({"min_docs": True}, "min_docs is True"),
        ({"max_df": -0.1}, "max_df is -0.1"),
        ({"max_terms": 0}, "max_terms is 0"),
        ({"max_terms": 1.5}, "max_terms is 1.5"),
    ],
)
def test_a_bound_that_makes_no_sense_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        vocabulary_of(small(), **options)


def test_no_documents_and_no_tokens_are_told_apart():
    with pytest.raises(InputError, match="corpus is empty"):
        vocabulary_of(counts_of([]))
    with pytest.raises(InputError, match="all 2 documents are empty"):
        vocabulary_of(counts_of([[], []]))


WORDS_OF_PARTS = st.lists(
    st.lists(st.lists(st.sampled_from(["a", "b", "c", "é", "z z"]), max_size=4), max_size=4),
    min_size=1,
    max_size=5,
)


def counted_terms(documents):
    counter = counting.PythonTermCounter(lambda document: document)
    counter.add(documents)
    return counter.finished()


@given(parts=WORDS_OF_PARTS)
def test_the_terms_of_parts_add_up_to_those_of_the_whole(parts):
    whole = counted_terms([document for part in parts for document in part])
    found = functools.reduce(operator.add, map(counted_terms, parts))
    assert (found.terms, found.n_docs) == (whole.terms, whole.n_docs)
    np.testing.assert_array_equal(found.doc_freq, whole.doc_freq)
    np.testing.assert_array_equal(found.term_freq, whole.term_freq)
    assert found.doc_freq.dtype == found.term_freq.dtype == np.int64


def test_terms_that_the_engine_counted_are_taken_out_of_it():
    analyze = wc.DocumentVectorizer().build_analyzer()
    texts = ["moon and orbit", "", "moon moon"]
    both = []
    for make in (counting.NativeTermCounter, lambda *given: counting.PythonTermCounter(given[0])):
        counter = make(analyze, None)
        counter.add(texts)
        both.append(TermCounts.of(counter.finished()))
    one, other = both
    assert (one.terms, one.n_docs) == (other.terms, other.n_docs) == (["and", "moon", "orbit"], 3)
    np.testing.assert_array_equal(one.doc_freq, other.doc_freq)
    np.testing.assert_array_equal(one.term_freq, other.term_freq)
