import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from wordclass import InputError
from wordclass.text import counting
from wordclass.vocabulary import TermCounts

TEXTS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=1, max_size=8)


def counts_of(documents):
    counted = counting.count([" ".join(words) for words in documents], str.split)
    return TermCounts.of(counted.terms, counted.occurrences)


def same(one, other):
    return (
        one.n_docs == other.n_docs
        and one.terms == other.terms
        and np.array_equal(one.doc_freq, other.doc_freq)
        and np.array_equal(one.term_freq, other.term_freq)
    )


def small():
    occurrences = sparse.csr_matrix([[3, 1, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]])
    return TermCounts.of(["a", "b", "c", "d"], occurrences)


@given(documents=TEXTS, cut=st.integers(0, 8))
def test_the_counts_of_the_parts_add_up_to_the_counts_of_the_whole(documents, cut):
    first, second = documents[:cut], documents[cut:]
    assert same(counts_of(first) + counts_of(second), counts_of(documents))
    assert same(counts_of(second) + counts_of(first), counts_of(documents))


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
    assert "".join(small().vocabulary(**options).terms) == kept


def test_a_vocabulary_maps_terms_to_columns():
    vocabulary = small().vocabulary(min_docs=2)
    assert dict(vocabulary) == {"b": 0, "d": 1}
    assert "a" not in vocabulary
    assert vocabulary.agrees_with(small().vocabulary(min_docs=2))
    assert not vocabulary.agrees_with(small().vocabulary())


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
        small().vocabulary(**options)


def test_no_documents_and_no_tokens_are_told_apart():
    with pytest.raises(InputError, match="corpus is empty"):
        counts_of([]).vocabulary()
    with pytest.raises(InputError, match="all 2 documents are empty"):
        counts_of([[], []]).vocabulary()
