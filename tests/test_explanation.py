import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.explanation import Explanation
from wordclass.labels import Codeframe
from wordclass.text.analyzer import Analyzer

CODEFRAME = Codeframe(("garden", "space"), "single")


def made_by(analyze, text, weights):
    """The explanation of a model that gives each term the weights (garden, space)."""
    terms = sorted(set(analyze(text)) & weights.keys())
    counts = np.array([analyze(text).count(term) for term in terms], np.float32)
    added = counts[:, None] * np.array([weights[term] for term in terms], np.float32).reshape(-1, 2)
    intercept = np.array([0.5, -0.5], np.float32)
    scores = added.sum(axis=0) + intercept
    return Explanation(text, CODEFRAME, ("space",), terms, added, intercept, scores, analyze)


def test_the_terms_that_moved_the_score_most_come_first():
    weights = {"moon": (-1, 2), "rose": (3, -4), "the": (0, 1)}
    found = made_by(Analyzer(), "the Moon the rose", weights)
    assert found.top("space") == [("rose", -4.0), ("moon", 2.0), ("the", 2.0)]
    assert found.top("space", 1) == [("rose", -4.0)]
    assert found.top("garden", None) == [("rose", 3.0), ("moon", -1.0), ("the", 0.0)]
    assert found.top("space", 0) == []
    with pytest.raises(wc.InputError, match="unknown class 'spase'"):
        found.top("spase")


def test_a_word_has_its_share_at_its_place():
    weights = {"moon": (0, 2), "numbermask": (0, 3), "moon numbermask": (0, 1)}
    found = made_by(Analyzer(ngrams=(1, 2)), "Moon 1,000! moon", weights)
    assert [tuple(word) for word in found.per_word("space")] == [
        ("Moon", 0, 4, 2.5), ("1,000", 5, 10, 3.5), ("moon", 12, 16, 2.0)
    ]  # fmt: skip


def test_words_that_the_model_does_not_know_add_nothing():
    found = made_by(Analyzer(stop_words=frozenset({"the"})), "the moon flies", {"moon": (0, 2)})
    assert [word[::3] for word in found.per_word("space")] == [("moon", 2.0), ("flies", 0.0)]


def test_an_analyzer_of_the_users_own_has_terms_but_no_places():
    found = made_by(str.split, "a-b c", {"a-b": (0, 2), "c": (0, -3)})
    assert [tuple(word) for word in found.per_word("space")] == [
        ("c", None, None, -3.0), ("a-b", None, None, 2.0)
    ]  # fmt: skip


def test_where_nothing_is_predicted_the_best_class_is_explained():
    texts, labels = multilabel_corpus()
    model = wc.classifier("nearest", min_docs=2).fit(texts, labels)
    model.thresholds_ = np.full(3, np.inf)
    found = model.explanation("moon orbit")
    assert found.predicted == ()
    assert found.labels == ("space",)
    assert [*model.explain("moon orbit")] == ["space"]


def test_a_text_of_unknown_words_is_explained_by_no_term():
    model = wc.classifier("nearest", min_docs=2).fit(*corpus())
    for text in ("", "!?", "луна 妈妈"):
        assert list(model.explain(text).values()) == [[]]
    with pytest.raises(wc.InputError, match="not a str"):
        model.explain(None)


@given(
    text=st.text(st.sampled_from("ab1İΣßé. ,-2\n\u0301ﬁ"), max_size=40),
    longest=st.integers(1, 3),
    accents=st.sampled_from([None, "unicode", "ascii"]),
    mask=st.booleans(),
)
def test_the_shares_of_the_words_sum_to_those_of_the_terms(text, longest, accents, mask):
    analyze = Analyzer(ngrams=(1, longest), strip_accents=accents, mask_numbers=mask)
    terms = set(analyze(text))
    weights = {term: (k + 1, -k) for k, term in enumerate(sorted(terms))}
    found = made_by(analyze, text, weights)
    for label in ("garden", "space"):
        words = found.per_word(label)
        total = found.contributions[:, CODEFRAME.column(label)].sum()
        assert sum(word.contribution for word in words) == pytest.approx(float(total), abs=1e-3)
        places = [(word.start, word.end) for word in words]
        assert places == sorted(places)
        assert [text[start:end] for start, end in places] == [word.word for word in words]


def test_a_long_text_of_many_terms_is_explained_in_little_memory():
    words = [f"word{k}" for k in range(20_000)]  # dense, the shares would take 3 gigabytes
    analyze = Analyzer(mask_numbers=False)
    added = np.ones((len(words), 2), np.float32)
    nothing = np.zeros(2, np.float32)
    found = Explanation(
        " ".join(words), CODEFRAME, ("space",), words, added, nothing, nothing, analyze
    )
    tracemalloc.start()
    shares = [word.contribution for word in found.per_word("space")]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert shares == [1.0] * len(words)
    assert most < 1 << 27
