import copy
import pickle

import numpy as np
import pytest
import reference
from made_up import corpus, multilabel_corpus
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import wordclass as wc

TEXTS, LABELS = corpus()


@pytest.fixture(scope="module")
def wce():
    return wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, LABELS)


def test_a_word_is_looked_up_as_the_analyzer_writes_it():
    wce = wc.WordClassEmbeddings(min_docs=1, ngrams=(1, 2))
    wce.fit(["the SCSI drive 42", "a red rose 17"], ["hardware", "garden"])
    assert wce.profile("SCSI") == wce.profile("scsi")
    assert wce.profile("SCSI", 1)[0][0] == "hardware"
    assert wce.profile("SCSI Drive") == wce.profile("scsi drive")
    assert wce.written("1984") == wce.written("7")
    assert wce.written("1984") in wce
    assert (wce.written("SCSI rose drive"), wce.written("?")) == ("SCSI rose drive", "?")
    # a key is exact
    assert "SCSI" not in wce
    assert not wce["SCSI"].any()
    # of characters, a word is no term but by chance
    wce.set_params(analyzer="characters").fit(["SCSI", "rose"], ["hardware", "garden"])
    assert wce.written("SCSI") == "SCSI"


def test_the_whole_way_equals_slow_loops(wce):
    terms = reference.vocabulary(TEXTS, 2)
    X = reference.tfidf(TEXTS, terms)
    Y = [[label == name for name in wce.classes_] for label in LABELS]
    S = reference.standardize(reference.dot(X, Y))
    assert wce.terms_ == terms
    np.testing.assert_allclose(wce.vectors_, S, atol=1e-5)
    np.testing.assert_allclose(wce.transform(TEXTS), np.array(X) @ np.array(S), atol=1e-5)


def test_words_speak_for_their_class(wce):
    best = dict(wce.top_terms("space", 6))
    assert set(best) == {"orbit", "moon", "rocket", "launch", "lunar", "star"}
    assert list(best.values()) == sorted(best.values(), reverse=True)
    assert wce.profile("piano", 1)[0][0] == "music"
    assert next(name for name, _ in wce.profile("piano")) == "music"
    assert len(wce.profile("piano")) == 3


def test_it_is_a_lookup_table(wce):
    assert wce.classes_ == ["garden", "music", "space"]
    assert "orbit" in wce
    assert "Orbit" not in wce
    assert len(wce) == len(wce.terms_) == len(list(wce))
    assert wce.vectors_.dtype == np.float32
    np.testing.assert_array_equal(wce["orbit"], wce.vectors_[wce.terms_.index("orbit")])
    assert not wce["nowhere"].any()
    assert wce.profile("nowhere") == [("garden", 0.0), ("music", 0.0), ("space", 0.0)]
    for call in (wce.__getitem__, wce.__contains__, wce.profile):
        with pytest.raises(TypeError, match="a term is a str, not a int"):
            call(5)


def test_what_is_looked_up_is_a_copy(wce):
    wce["orbit"][:] = 99
    assert wce["orbit"].max() < 99


def test_permuting_documents_changes_nothing(wce):
    order = np.random.default_rng(0).permutation(len(TEXTS))
    again = wc.WordClassEmbeddings(min_docs=2)
    again.fit([TEXTS[k] for k in order], [LABELS[k] for k in order])
    np.testing.assert_allclose(again.vectors_, wce.vectors_, atol=1e-5)


def test_permuting_classes_permutes_columns(wce):
    renamed = {"space": "a", "garden": "b", "music": "c"}
    again = wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, [renamed[label] for label in LABELS])
    columns = [wce.classes_.index(name) for name in ("space", "garden", "music")]
    np.testing.assert_array_equal(again.vectors_, wce.vectors_[:, columns])


@pytest.mark.parametrize("correlation", ["dot", "chi_square", "information_gain", "fisher", "pmi"])
def test_z_scores_have_mean_0_and_deviation_1(correlation):
    vectors = (
        wc.WordClassEmbeddings(correlation=correlation, min_docs=2).fit(TEXTS, LABELS).vectors_
    )
    np.testing.assert_allclose(vectors.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(vectors.std(axis=0, ddof=1), 1, atol=1e-4)


def test_labels_of_all_forms_give_the_same_embeddings(wce):
    Y = np.array([[label == name for name in wce.classes_] for label in LABELS], dtype=int)
    for labels, names in (
        ([[label] for label in LABELS], None),
        (Y, wce.classes_),
        (Y[:, ::-1], wce.classes_[::-1]),
    ):
        again = wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, labels, class_names=names)
        assert again.classes_ == wce.classes_
        np.testing.assert_array_equal(again.vectors_, wce.vectors_)
    numbers = wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, Y)
    assert numbers.classes_ == [0, 1, 2]
    assert numbers.top_terms(2, 1) == wce.top_terms("space", 1)


def test_texts_may_be_a_generator():
    wce = wc.WordClassEmbeddings(min_docs=2).fit((text for text in TEXTS), iter(LABELS))
    assert "moon" in wce


def test_more_classes_than_dimensions_are_projected(wce):
    small = wc.WordClassEmbeddings(min_docs=2, max_dims=2).fit(TEXTS, LABELS)
    assert small.vectors_.shape == (len(wce), 2)
    np.testing.assert_allclose(small.vectors_, reference.pca(wce.vectors_, 2), atol=1e-4)
    # what is read by people is S before projection
    assert small.top_terms("space") == wce.top_terms("space")
    assert small.profile("moon") == wce.profile("moon")
    assert list(small.get_feature_names_out()) == ["wce0", "wce1"]
    assert small.to_word_vectors().dimension_names is None


def test_a_projector_of_the_users_is_used_and_left_as_it_was():
    svd = TruncatedSVD(2, random_state=0)
    small = wc.WordClassEmbeddings(min_docs=2, max_dims=2, projector=svd).fit(TEXTS, LABELS)
    assert small.vectors_.shape[1] == 2
    assert not hasattr(svd, "components_")


def test_a_correlation_of_the_users_is_used():
    def documents(counts):
        return counts.joint_docs

    documents.NEEDS = {"joint_docs"}
    wce = wc.WordClassEmbeddings(correlation=documents, min_docs=2).fit(TEXTS, LABELS)
    assert set(wce.learned_.counts.joints) == {"joint_docs"}
    assert wce.profile("moon", 1)[0][0] == "space"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda counts: counts.joint_weight[:, :1], "returned an array of shape"),
        (lambda counts: counts.joint_weight * np.nan, "NaN or infinite"),
    ],
)
def test_a_correlation_that_returns_nonsense_is_refused(wrong, message):
    with pytest.raises(wc.InputError, match=message):
        wc.WordClassEmbeddings(correlation=wrong, min_docs=2).fit(TEXTS, LABELS)


def test_it_has_the_manners_of_a_transformer(wce):
    assert clone(wce).get_params() == wce.get_params()
    assert not hasattr(clone(wce), "vectors_")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(wce)).vectors_, wce.vectors_)
    assert list(wce.get_feature_names_out()) == ["garden", "music", "space"]
    pipeline = make_pipeline(wc.WordClassEmbeddings(min_docs=2), LogisticRegression())
    assert pipeline.fit(TEXTS, LABELS).score(TEXTS, LABELS) > 0.9
    empty = wc.WordClassEmbeddings()
    for call in (len, list, empty.transform, empty.save, empty.top_terms, lambda _: empty["a"]):
        with pytest.raises(NotFittedError):
            call(empty)
    assert empty  # unfitted, but there


def test_embeddings_become_word_vectors(wce):
    vectors = wce.to_word_vectors()
    assert list(vectors.terms) == wce.terms_
    assert vectors.dimension_names == ("garden", "music", "space")
    assert vectors.nearest("moon", 3)[0][0] in {"orbit", "rocket", "launch", "lunar", "star"}


def test_empty_and_unknown_texts_have_zero_features(wce):
    assert not wce.transform(["", "unheard of"]).any()
    assert wce.transform([]).shape == (0, 3)


def test_documents_without_labels_count_but_belong_nowhere():
    texts, labels = multilabel_corpus()
    wce = wc.WordClassEmbeddings(min_docs=2).fit(texts, labels)
    assert [] in labels
    assert wce.learned_.counts.n_docs == len(texts)


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        ([], [], "the corpus is empty|no class"),
        (["", "  "], ["a", "b"], "all 2 documents are empty"),
        (["aa", "bb"], ["a", "b"], "no term is left"),
        (["aa"], ["a", "b"], "1 texts but 2 labels"),
        (["aa", "bb"], ["a", None], "label of document 1 is None"),
        (["aa", "bb"], ["a", float("nan")], "label of document 1 is NaN"),
        ([b"aa", b"bb"], ["a", "b"], "text 0 is a bytes"),
        (["aa", "bb"], ["a", "a"], "only one class, 'a'"),
        (["aa", "bb"], [[], []], "no class"),
        ("aa", ["a"], "texts is one str"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_fitted(texts, labels, message):
    wce = wc.WordClassEmbeddings()
    with pytest.raises(wc.InputError, match=message) as caught:
        wce.fit(texts, labels)
    assert "\n" not in str(caught.value)
    assert not hasattr(wce, "vectors_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"correlation": "dott"},
            r"unknown correlation 'dott' \(did you mean 'dot'\?\); expected one of chi",
        ),
        ({"correlation": 5}, "correlation is 5; expected the name of a correlation"),
        ({"weighting": "x"}, "unknown weighting 'x'"),
        ({"projector": "x"}, "unknown projector 'x'"),
        ({"projector": 5}, "projector is 5"),
        ({"max_dims": 0}, "max_dims is 0"),
        ({"folds": 1}, "folds is 1"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"shrinkage": -1}, "shrinkage is -1"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(wc.InputError, match=message):
        wc.WordClassEmbeddings(min_docs=2, **options).fit(TEXTS, LABELS)


def test_a_class_that_is_not_there_names_close_ones(wce):
    with pytest.raises(wc.InputError, match="unknown class 'spase'; close: space"):
        wce.top_terms("spase")


def test_the_number_of_threads_may_be_set_after_learning():
    texts, labels = corpus()
    wce = wc.WordClassEmbeddings(min_docs=2).fit(texts, labels)
    alone = wce.transform(texts)
    np.testing.assert_array_equal(wce.set_params(n_jobs=2).transform(texts), alone)
    assert wce.vectorizer_.n_jobs == 2


def test_a_copy_shares_what_was_learned_and_goes_its_own_way():
    wce = wc.WordClassEmbeddings(min_docs=2, stop_words=["the"]).fit(*corpus(30))
    before = wce.vectors_.copy()
    for made in (copy.deepcopy(wce), copy.deepcopy({"news": wce})["news"]):
        assert made is not wce
        assert made.vectors_ is wce.vectors_
        assert made.stop_words is not wce.stop_words
        made.partial_fit(["comet moon", "rose rose"], ["space", "tree"])
        assert made.classes_ != wce.classes_
    np.testing.assert_array_equal(wce.vectors_, before)
    assert wce.classes_ == ["garden", "music", "space"]
