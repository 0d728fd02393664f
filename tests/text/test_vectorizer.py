import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import corpus
from nasty_documents import documents
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import wordclass as wc

WORDS = st.sampled_from(["apple", "pear", "fig", "plum", "and", "the", "Éclair", "x1"])
TEXTS = st.lists(st.lists(WORDS, max_size=9).map(" ".join), min_size=2, max_size=12)


def max_difference(one, other):
    return abs(one - other).max() if one.shape == other.shape and one.nnz + other.nnz else 0.0


@pytest.mark.untraced  # with every line traced it takes twice as long
@pytest.mark.parametrize(
    ("options", "options_of_scikit_learn"),
    [
        ({}, {}),
        ({"ngrams": (1, 2)}, {"ngram_range": (1, 2)}),
        ({"stop_words": "english"}, {"stop_words": "english"}),
        ({"min_docs": 2, "max_df": 0.9}, {"min_df": 2, "max_df": 0.9}),
        ({"strip_accents": "unicode"}, {"strip_accents": "unicode"}),
        ({"token_pattern": r"\w+"}, {"token_pattern": r"\w+"}),
        ({"lowercase": False}, {"lowercase": False}),
        ({"dtype": np.float32}, {"dtype": np.float32}),
    ],
)
@given(texts=TEXTS)
def test_tfidf_equals_scikit_learn(options, options_of_scikit_learn, texts):
    vectorizer = wc.DocumentVectorizer(**{"min_docs": 1, "mask_numbers": False, **options})
    peer = TfidfVectorizer(**{"sublinear_tf": True, **options_of_scikit_learn})
    try:
        expected = peer.fit_transform(texts)
    except ValueError:
        with pytest.raises(wc.InputError):
            vectorizer.fit_transform(texts)
        return
    X = vectorizer.fit_transform(texts)
    assert max_difference(X, expected) < 1e-6
    assert X.dtype == expected.dtype
    assert X.has_sorted_indices
    assert list(vectorizer.get_feature_names_out()) == list(peer.get_feature_names_out())
    new_texts = ["apple pear pear and unknown", ""]
    assert max_difference(vectorizer.transform(new_texts), peer.transform(new_texts)) < 1e-6
    assert max_difference(vectorizer.transform(texts), X) == 0


SCRIPTS = [
    "The quick brown fox; THE END. 3.14 e-mail@example.org don't",
    "",
    " \t\n\x0b\x0c\r\x1c\x1d\x1e\x1f ",
    "line\u2028separated\u2029by\x85odd\xa0white\u3000space\u1680in\u2003Unicode\u202fand\u205fmore",
    "no\u200bbreak\ufeffs in\u200ds\xadide",
    "Ärger mit Straße, ÀÉÎ e\u0301 ﬁne ǅ Ⓐ Ⅷ",
    "我喜欢学习中文。日本語のテキスト カタカナ",
    "ภาษาไทยไม่มีช่องว่างระหว่างคำ กำ",
    "Привет, МИР! ΣΊΣΥΦΟΣ ΌΣ. İstanbul Iğdır שלום العربية",
    "😀 👩‍👩‍👧 🇩🇪 \U00010400\U00010401 \U0010ffff",
    "a " + "Long" * 5_000 + " x" + "é" * 300 + " " + "中" * 300,
    *["a", "ab", "A B", "I", "."],
]


@pytest.mark.untraced  # with every line traced it takes twice as long
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("ngrams", [(2, 5), (1, 1), (1, 4), (3, 16), (2, 18)])
def test_character_ngrams_equal_char_wb_of_scikit_learn_in_every_script(ngrams, lowercase):
    options = {"analyzer": "characters", "ngrams": ngrams, "lowercase": lowercase}
    vectorizer = wc.DocumentVectorizer(min_docs=1, **options)
    peer = TfidfVectorizer(
        analyzer="char_wb", ngram_range=ngrams, sublinear_tf=True, lowercase=lowercase
    )
    X = vectorizer.fit_transform(SCRIPTS)
    expected = peer.fit_transform(SCRIPTS)
    assert list(vectorizer.get_feature_names_out()) == list(peer.get_feature_names_out())
    assert max_difference(X, expected) < 1e-12
    for texts in (SCRIPTS[::-1], ["a quick 日本 fox", "never ๆ seen"]):
        assert max_difference(vectorizer.transform(texts), peer.transform(texts)) < 1e-12


def test_character_ngrams_equal_char_wb_of_scikit_learn_on_a_corpus(shared_data):
    texts = wc.read_corpus(shared_data("banking77.jsonl.zst"), split="train").texts
    options = {"analyzer": "characters", "ngrams": (2, 5), "min_docs": 1}
    X = wc.DocumentVectorizer(**options).fit_transform(texts)
    peer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
    assert max_difference(X, peer.fit_transform(texts)) < 1e-12


@given(texts=TEXTS)
def test_count_and_binary_weights_equal_scikit_learn(texts):
    texts = ["apple", *texts]
    for weighting, peer in (
        ("count", CountVectorizer()),
        ("binary", CountVectorizer(binary=True)),
    ):
        X = wc.DocumentVectorizer(weighting=weighting, min_docs=1).fit_transform(texts)
        assert max_difference(X, peer.fit_transform(texts)) == 0


def test_max_terms_selects_the_most_frequent_terms():
    texts = ["bb aa cc", "bb cc dd bb", "bb aa dd ee"]
    vectorizer = wc.DocumentVectorizer(min_docs=1, max_terms=2).fit(texts)
    assert list(vectorizer.get_feature_names_out()) == ["aa", "bb"]


def test_a_user_defined_weighting_is_used_and_checked():
    def doubled(occurrences, vocabulary):
        return occurrences * 2.0

    X = wc.DocumentVectorizer(weighting=doubled, min_docs=1).fit_transform(["aa bb aa"])
    assert X.toarray().tolist() == [[4, 2]]
    for weighting, message in (
        (lambda occurrences, _: occurrences[:, :1], "expected"),
        (lambda occurrences, _: occurrences * np.nan, "NaN"),
        (lambda occurrences, _: None, "NoneType"),
    ):
        with pytest.raises(wc.InputError, match=message):
            wc.DocumentVectorizer(weighting=weighting, min_docs=1).fit(["aa bb"])


def test_the_vectorizer_follows_the_scikit_learn_api():
    texts, labels = corpus()
    vectorizer = wc.DocumentVectorizer(ngrams=(1, 2))
    assert clone(vectorizer).get_params() == vectorizer.get_params()
    with pytest.raises(NotFittedError):
        vectorizer.transform(texts)
    X = vectorizer.fit(iter(texts)).transform(texts)
    assert max_difference(pickle.loads(pickle.dumps(vectorizer)).transform(texts), X) == 0
    assert isinstance(X, sparse.csr_matrix)
    pipeline = make_pipeline(wc.DocumentVectorizer(), LogisticRegression()).fit(texts, labels)
    assert pipeline.score(texts, labels) > 0.9
    characters = wc.DocumentVectorizer(analyzer="characters", ngrams=(2, 3))
    assert clone(characters).get_params() == characters.get_params()
    pipeline = make_pipeline(characters, LogisticRegression()).fit(texts, labels)
    assert pipeline.score(texts, labels) > 0.9
    terms = vectorizer.inverse_transform(vectorizer.transform(["moon orbit"]))[0]
    assert set(terms) <= {"moon", "orbit", "moon orbit"}


def test_the_vocabulary_is_a_mapping_from_term_to_column():
    vectorizer = wc.DocumentVectorizer(min_docs=1).fit(["bb aa"])
    assert dict(vectorizer.vocabulary_) == {"aa": 0, "bb": 1}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ngrams": (1, 2), "stop_words": "english"},
        {"ngrams": (2, 3), "lowercase": False},
        {"analyzer": "characters", "ngrams": (1, 4)},
    ],
)
@pytest.mark.parametrize("n_classes", [0, 1, 3, 35])
def test_weighted_sums_equal_the_matrix_product(options, n_classes):
    texts = [*corpus()[0], *documents(200, 0), "apple " * 300 + "pear fig", ""] * 2
    vectorizer = wc.DocumentVectorizer(min_docs=1, **options).fit(texts[::2])
    generator = np.random.default_rng(0)
    weights = generator.normal(size=(len(vectorizer.vocabulary_), n_classes)).astype(np.float32)
    intercept = generator.normal(size=n_classes).astype(np.float32)
    sums = vectorizer.weighted_sums(texts, weights, intercept)
    assert sums.dtype == np.float32
    np.testing.assert_allclose(
        sums, vectorizer.transform(texts) @ weights.astype(np.float64) + intercept, atol=1e-5
    )
    vectorizer.n_jobs = 3
    np.testing.assert_array_equal(vectorizer.weighted_sums(texts, weights, intercept), sums)
    single_sums = [vectorizer.weighted_sums([text], weights, intercept)[0] for text in texts[:40]]
    np.testing.assert_array_equal(single_sums, sums[:40])


def test_weighted_sums_need_tfidf_and_a_natively_supported_analyzer():
    texts = ["apple pear", "apple"]
    intercept = np.zeros(2, np.float32)
    for options in ({"weighting": "count"}, {"analyzer": str.split}, {"token_pattern": r"\w+"}):
        vectorizer = wc.DocumentVectorizer(min_docs=1, **options).fit(texts)
        assert vectorizer.weighted_sums(texts, np.ones((2, 2), np.float32), intercept) is None


def test_transform_of_no_texts_gives_no_rows():
    assert wc.DocumentVectorizer(min_docs=1).fit(["aa"]).transform([]).shape == (0, 1)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "the corpus is empty"),
        (["", " ", "."], "all 3 documents are empty"),
        (["aa bb", "cc"], "no term is left of 3"),
        ("one text", "texts is one str"),
        ([b"bytes"], "text 0 is a bytes, not a str; decode it first"),
        (["aa", None], "text 1 is None"),
        (None, "texts is None"),
        (["aa", float("nan")], "text 1 is a float"),
    ],
)
def test_invalid_texts_are_refused(texts, message):
    with pytest.raises(wc.InputError, match=message):
        wc.DocumentVectorizer().fit(texts)


def test_the_error_of_an_unknown_weighting_lists_the_known_ones():
    with pytest.raises(wc.InputError, match=r"expected one of binary, bm25, count, tfidf"):
        wc.DocumentVectorizer(weighting="tfdif", min_docs=1).fit(["aa"])


def test_vocabularies_have_the_sizes_of_the_paper(shared_data):
    for name, n_terms in (
        ("20ng_bydate_stripped.jsonl.zst", 17_184),
        ("reuters21578_modapte.jsonl.zst", 8_257),
    ):
        train = wc.read_corpus(shared_data(name), split="train")
        vectorizer = wc.DocumentVectorizer(weighting="binary").fit(train.texts)
        assert len(vectorizer.vocabulary_) == n_terms


class ShareOfFirstClass:
    """Weighting that learns from labels: the share of a term's documents in the first class."""

    def fit(self, occurrences, Y):
        in_class = Y[:, [0]].T @ (occurrences > 0)
        self.shares = in_class.toarray().ravel() / (occurrences > 0).sum(axis=0).A1
        return self

    def weight(self, occurrences, vocabulary):
        return occurrences.multiply(self.shares).tocsr()


def test_a_weighting_may_learn_from_labels():
    texts = ["aa bb", "aa", "bb bb", "cc"]
    labels = ["x", "x", "y", "y"]
    weighting = ShareOfFirstClass()
    vectorizer = wc.DocumentVectorizer(weighting=weighting, min_docs=1)
    expected = [[1, 0.5, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert vectorizer.fit_transform(texts, labels).toarray().tolist() == expected
    assert vectorizer.transform(texts).toarray().tolist() == expected
    assert not hasattr(weighting, "shares")  # the given object is not changed
    assert vectorizer.__sklearn_tags__().target_tags.required
    assert not wc.DocumentVectorizer().__sklearn_tags__().target_tags.required
    again = clone(vectorizer).fit(texts, [[label] for label in labels])
    assert again.transform(texts).toarray().tolist() == expected


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda v: v.fit(["aa", "bb"]), "learns from labels, and there are none; expected fit"),
        (lambda v: v.fit(["aa", "bb"], ["x"]), "2"),
        (lambda v: v.fit(["aa", "bb"], ["x", "x"]), "only one class"),
        (lambda v: v.fit_blocks([["aa"]]), "learns from labels, which is not possible here"),
        (
            lambda v: wc.WordClassEmbeddings(weighting=v.weighting).fit(["aa", "bb"], ["x", "y"]),
            "learns from labels, which is not possible here; use fit",
        ),
        (
            lambda v: wc.classifier("nearest", weighting=v.weighting).fit(["aa"] * 2, ["x", "y"]),
            "learns from labels, which is not possible here",
        ),
    ],
)
def test_a_weighting_that_learns_from_labels_is_refused_without_labels(use, message):
    with pytest.raises(wc.InputError, match=message):
        use(wc.DocumentVectorizer(weighting=ShareOfFirstClass(), min_docs=1))


def test_a_weighting_that_learns_from_labels_is_refused_for_a_sharded_corpus(tmp_path):
    path = tmp_path / "docs.csv"
    path.write_text("text,label\naa bb,x\nbb cc,y\n" * 4, encoding="utf-8")
    for name in ("svm", "linear"):
        model = wc.classifier(name, weighting=ShareOfFirstClass(), min_docs=1)
        with pytest.raises(wc.InputError, match="learns from labels, which is not possible here"):
            model.fit_parts(str(path))
