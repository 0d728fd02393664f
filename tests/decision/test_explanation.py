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


def explain_with_weights(analyze, text, weights):
    """Return the explanation of a model whose terms have the weights (garden, space)."""
    terms = sorted(set(analyze(text)) & weights.keys())
    counts = np.array([analyze(text).count(term) for term in terms], np.float32)
    added = counts[:, None] * np.array([weights[term] for term in terms], np.float32).reshape(-1, 2)
    intercept = np.array([0.5, -0.5], np.float32)
    scores = added.sum(axis=0) + intercept
    contributions = Contributions.of_table(terms, added, intercept)
    return Explanation(text, CODEFRAME, ("space",), contributions, scores, analyze)


def test_the_terms_that_changed_the_score_most_come_first():
    weights = {"moon": (-1, 2), "rose": (3, -4), "the": (0, 1)}
    explanation = explain_with_weights(Analyzer(), "the Moon the rose", weights)
    assert explanation.top("space") == [("rose", -4.0), ("moon", 2.0), ("the", 2.0)]
    assert explanation.top("space", 1) == [("rose", -4.0)]
    assert explanation.top("garden", None) == [("rose", 3.0), ("moon", -1.0), ("the", 0.0)]
    assert explanation.top("space", 0) == []
    with pytest.raises(wc.InputError, match="unknown class 'spase'"):
        explanation.top("spase")


def test_each_word_has_its_share_and_position():
    weights = {"moon": (0, 2), "numbermask": (0, 3), "moon numbermask": (0, 1)}
    explanation = explain_with_weights(Analyzer(ngrams=(1, 2)), "Moon 1,000! moon", weights)
    assert [tuple(word) for word in explanation.per_word("space")] == [
        ("Moon", 0, 4, 2.5), ("1,000", 5, 10, 3.5), ("moon", 12, 16, 2.0)
    ]  # fmt: skip


def test_a_masked_number_is_shown_as_the_text_writes_it():
    weights = {"moon": (0, 2), "numbermask": (0, 3), "moon numbermask": (0, 1)}
    analyze = Analyzer(ngrams=(1, 2))
    explanation = explain_with_weights(analyze, "Moon 1,000! moon", weights)
    assert explanation.top("space") == [("moon", 4.0), ("1,000", 3.0), ("moon 1,000", 1.0)]
    assert explanation.tipping(["space"], ["garden"]) == ["moon", "1,000", "moon 1,000"]
    text = "1, 2 or 1, 3, 4: numbermask"
    terms = [term for term, _ in explain_with_weights(analyze, text, weights).top("space")]
    assert terms == ["1, 2, 3, ..."]
    pairs = Analyzer(ngrams=(2, 2), mask_numbers=False)
    weights = {"numbermask moon": (0, 1)}
    explanation = explain_with_weights(pairs, "numbermask moon", weights)
    assert explanation.top("space") == [("numbermask moon", 1.0)]


@pytest.mark.parametrize("ngrams", [(1, 1), (2, 2)])
def test_a_masked_number_with_characters_is_shown_as_the_text_writes_it(ngrams):
    texts = ["python 3 code", "python 2 code", "a red rose", "a red tulip"] * 5
    model = wc.classifier("linear", min_docs=1, ngrams=ngrams, characters=(2, 4))
    model.fit(texts, ["code", "code", "garden", "garden"] * 5)
    explanation = model.explanation("python 2027 code")
    terms = [term for term, _ in explanation.top("code", None)]
    assert any("2027" in term for term in terms)
    assert not any("numbermask" in term for term in terms)


def test_words_that_the_model_does_not_know_contribute_nothing():
    explanation = explain_with_weights(
        Analyzer(stop_words=frozenset({"the"})), "the moon flies", {"moon": (0, 2)}
    )
    assert [word[::3] for word in explanation.per_word("space")] == [("moon", 2.0), ("flies", 0.0)]


def test_a_user_defined_analyzer_has_terms_without_positions():
    explanation = explain_with_weights(str.split, "a-b c", {"a-b": (0, 2), "c": (0, -3)})
    assert [tuple(word) for word in explanation.per_word("space")] == [
        ("c", None, None, -3.0), ("a-b", None, None, 2.0)
    ]  # fmt: skip


def test_the_best_class_is_explained_if_nothing_is_predicted():
    texts, labels = multilabel_corpus()
    model = wc.classifier("nearest", min_docs=2).fit(texts, labels)
    model.thresholds_ = np.full(3, np.inf)
    explanation = model.explanation("moon orbit")
    assert explanation.predicted == ()
    assert explanation.labels == ("space",)
    assert [*model.explain("moon orbit")] == ["space"]


def test_a_text_of_unknown_words_has_no_terms():
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
    explanation = explain_with_weights(analyze, text, weights)
    for label in ("garden", "space"):
        words = explanation.per_word(label)
        total = explanation.contributions[:, CODEFRAME.column(label)].sum()
        assert sum(word.contribution for word in words) == pytest.approx(float(total), abs=1e-3)
        places = [(word.start, word.end) for word in words]
        assert places == sorted(places)
        assert [text[start:end] for start, end in places] == [word.word for word in words]


def test_a_long_text_of_many_terms_is_explained_in_little_memory():
    words = [f"word{k}" for k in range(20_000)]  # dense shares would need 3 gigabytes
    analyze = Analyzer(mask_numbers=False)
    added = np.ones((len(words), 2), np.float32)
    nothing = np.zeros(2, np.float32)
    contributions = Contributions.of_table(words, added, nothing)
    explanation = Explanation(
        " ".join(words), CODEFRAME, ("space",), contributions, nothing, analyze
    )
    tracemalloc.start()
    shares = [word.contribution for word in explanation.per_word("space")]
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert shares == [1.0] * len(words)
    assert peak_bytes < 1 << 27


class StoppedError(Exception):
    pass


def n_reports(work):
    """Return how often work reports progress, which is how often it can be stopped."""
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

    n_few = n_reports(lambda: explain(2_000))
    assert n_reports(lambda: explain(8_000)) >= 2 * n_few

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
def test_the_shares_of_each_ngram_sum_to_one(text, ngrams, accents, pattern):
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
    """Compute the shares of n-grams character by character, as defined."""
    tokens = words.tokens(text)
    owner = {}
    for token, start, end in [*tokens, *text_between_tokens(text, tokens)]:
        for place in range(start, end):
            owner.setdefault(place, token)
    occurrences = [*characters.spans(text)]
    table = np.zeros((len(names), len(known)))
    for ngram, start, end in occurrences:
        n_same = sum(name == ngram for name, _, _ in occurrences)
        owned = [place for place in range(start, end) if place in owner]
        for place in owned:
            table[names.index(owner[place]), known.index(ngram)] += 1 / (n_same * len(owned))
    return table


def test_a_few_of_many_classes_are_explained_without_the_table_of_all():
    n_classes = 20_000
    words = [f"word{number}" for number in range(2_000)]
    weights = np.ones((len(words), n_classes), np.float32)
    vectorizer = wc.DocumentVectorizer(min_docs=1, mask_numbers=False).fit([" ".join(words)])
    scorer = LinearScorer(vectorizer.weigher, weights, np.zeros(n_classes, np.float32))
    joint = SumScorer(scorer, of_characters=scorer_of_characters(words, n_classes))
    for one_of_both in (scorer, joint):
        tracemalloc.start()
        added = one_of_both.contributions(" ".join(words)).columns([5, 7])
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert added.shape[1] == 2
        assert peak_bytes < weights.nbytes / 4


def scorer_of_characters(words, n_classes):
    text = " ".join(words)
    vectorizer = wc.DocumentVectorizer(min_docs=1, analyzer="characters", ngrams=(2, 3)).fit([text])
    weights = np.ones((len(vectorizer.vocabulary_.terms), n_classes), np.float32)
    return LinearScorer(vectorizer.weigher, weights, np.zeros(n_classes, np.float32))
