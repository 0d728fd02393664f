import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordclass import InputError, progress
from wordclass.text import counting

DOCUMENTS = st.lists(st.lists(st.sampled_from(["b", "a", "ß", "Z", "\ud800"]), max_size=8))


@given(documents=DOCUMENTS)
def test_counts_equal_those_of_loops(documents):
    texts = [" ".join(words) for words in documents]
    counted = counting.count(texts, str.split)
    terms, occurrences = counted.terms, counted.occurrences
    assert terms == sorted({word for words in documents for word in words})
    expected = [[words.count(term) for term in terms] for words in documents]
    assert occurrences.toarray().tolist() == expected
    assert occurrences.has_sorted_indices


@given(documents=DOCUMENTS)
def test_only_known_terms_are_counted(documents):
    texts = [" ".join(words) for words in documents]
    occurrences = counting.count_known_in_python(texts, str.split, {"Z": 1, "a": 0})
    expected = [[words.count("a"), words.count("Z")] for words in documents]
    assert occurrences.toarray().tolist() == expected


def test_counts_do_not_depend_on_blocks_and_processes(monkeypatch):
    texts = [f"common w{k} w{k % 7} w{k}" for k in range(50)]
    counted = counting.count(texts, str.split)
    monkeypatch.setattr(counting, "_BLOCK_DOCS", 8)
    for n_jobs in (1, 2):
        again = counting.count(texts, str.split, n_jobs)
        assert again.terms == counted.terms
        assert (again.occurrences != counted.occurrences).nnz == 0
        index = {"common": 0, "w3": 1}
        known = counting.count_known_in_python(texts, str.split, index, n_jobs)
        assert known.sum(axis=0).tolist() == [[50, 9]]


def test_progress_is_reported_after_each_block(monkeypatch):
    monkeypatch.setattr(counting, "_BLOCK_DOCS", 2)
    reports = []
    with progress.on_progress(lambda *report: reports.append(report)):
        counting.count(["a"] * 5, str.split)
    assert reports == [("counting words", done, 3) for done in range(4)]


@pytest.mark.parametrize("analyze", [lambda _: None, lambda _: [["a"]], lambda _: 5])
def test_the_error_of_an_invalid_analyzer_names_the_text(analyze):
    with pytest.raises(InputError, match="did not return terms for text 0"):
        counting.count(["a b"], analyze)
