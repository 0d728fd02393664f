import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.corpus.labels import Codeframe
from wordclass.decision.explanation import Contributions, Explanation, words_of_characters
from wordclass.decision.scorers import LinearScorer, SumScorer
from wordclass.text.analyzer import Analyzer, CharacterAnalyzer, text_between_tokens

CODEFRAME = Codeframe(("garden", "space"), "single")


def made_by(analyze, text, weights):
    """The explanation of a model that gives each term the weights (garden, space)."""
    terms = sorted(set(analyze(text)) & weights.keys())
    counts = np.array([analyze(text).count(term) for term in terms], np.float32)
    added = counts[:, None] * np.array([weights[term] for term in terms], np.float32).reshape(-1, 2)
    intercept = np.array([0.5, -0.5], np.float32)
    scores = added.sum(axis=0) + intercept
    contributions = Contributions.of_table(terms, added, intercept)
    return Explanation(text, CODEFRAME, ("space",), contributions, scores, analyze)


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
    contributions = Contributions.of_table(words, added, nothing)
    found = Explanation(" ".join(words), CODEFRAME, ("space",), contributions, nothing, analyze)
    tracemalloc.start()
    shares = [word.contribution for word in found.per_word("space")]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert shares == [1.0] * len(words)
    assert most < 1 << 27


class StoppedError(Exception):
    pass


def n_reports(work):
    """Count how often work reports its progress: so often it can be stopped."""
    calls = []
    with wc.on_progress(lambda *_: calls.append(1)):
        work()
    return len(calls)


@pytest.mark.parametrize("analyzer", [None, "characters"])
def test_a_long_explanation_can_be_stopped(analyzer):
    options = {"characters": (2, 5)} if analyzer is None else {"analyzer": analyzer}
    model = wc.classifier("linear", **options, ngrams=(1, 1) if analyzer is None else (2, 5))
    model.fit(*corpus())

    def explain(n_words):
        text = " ".join(f"moon{number}" for number in range(n_words))
        return model.explanation(text).per_word("space")

    few = n_reports(lambda: explain(2_000))
    assert n_reports(lambda: explain(8_000)) >= 2 * few

    def stop(*_):
        raise StoppedError

    with wc.on_progress(stop), pytest.raises(StoppedError):
        explain(2_000)


@given(
    text=st.text(st.sampled_from("abİΣßé.1 \n\u0301ﬁ\ud800\0"), max_size=40),
    ngrams=st.sampled_from([(1, 1), (1, 3), (2, 5), (4, 4)]),
    accents=st.sampled_from([None, "unicode", "ascii"]),
    pattern=st.sampled_from([r"(?u)\b\w\w+\b", r"\w", r"[ab]+", r"f"]),
)
def test_each_ngram_is_shared_out_to_words_whole(text, ngrams, accents, pattern):
    characters = CharacterAnalyzer(ngrams=ngrams, strip_accents=accents)
    words = Analyzer(strip_accents=accents, token_pattern=pattern, mask_numbers=False)
    known = sorted({*characters(text)})
    names, shares = words_of_characters(text, words, characters, known)
    assert shares.shape == (len(names), len(known))
    assert len({*names}) == len(names)
    table = shares.toarray()
    np.testing.assert_allclose(table.sum(axis=0), np.ones(len(known)), atol=1e-9)
    np.testing.assert_allclose(table, slow_shares(text, words, characters, names, known))


def slow_shares(text, words, characters, names, known):
    """Share n-grams out character by character, as the definition says."""
    tokens = words.tokens(text)
    owner = {}
    for token, start, end in [*tokens, *text_between_tokens(text, tokens)]:
        for place in range(start, end):
            owner.setdefault(place, token)
    occurrences = [*characters.spans(text)]
    table = np.zeros((len(names), len(known)))
    for ngram, start, end in occurrences:
        n_same = sum(other == ngram for other, _, _ in occurrences)
        owned = [place for place in range(start, end) if place in owner]
        for place in owned:
            table[names.index(owner[place]), known.index(ngram)] += 1 / (n_same * len(owned))
    return table


def test_one_class_of_many_is_explained_without_the_table_of_all():
    n_classes = 20_000
    words = [f"word{number}" for number in range(2_000)]
    weights = np.ones((len(words), n_classes), np.float32)
    vectorizer = wc.DocumentVectorizer(min_docs=1, mask_numbers=False).fit([" ".join(words)])
    scorer = LinearScorer(vectorizer, weights, np.zeros(n_classes, np.float32))
    joint = SumScorer(scorer, of_characters=scorer_of_characters(words, n_classes))
    for made in (scorer, joint):
        tracemalloc.start()
        added = made.contributions(" ".join(words)).columns([5, 7])
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert added.shape[1] == 2
        assert most < weights.nbytes / 4


def scorer_of_characters(words, n_classes):
    text = " ".join(words)
    vectorizer = wc.DocumentVectorizer(min_docs=1, analyzer="characters", ngrams=(2, 3)).fit([text])
    weights = np.ones((len(vectorizer.vocabulary_.terms), n_classes), np.float32)
    return LinearScorer(vectorizer, weights, np.zeros(n_classes, np.float32))
