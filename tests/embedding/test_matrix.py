import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import WORDS, corpus
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsRegressor

import wordclass as wc
from wordclass.embedding.unseen_terms import UnseenTerms
from wordclass.text.analyzer import Analyzer
from wordclass.vectors.subwords import Subwords

TEXTS, LABELS = corpus()
U = wc.WordVectors.of(["tax", "moon", "the", "rose"], np.arange(8).reshape(4, 2) + 1.0)


@pytest.fixture(scope="module")
def wce():
    return wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, LABELS)


@pytest.fixture(scope="module", name="E")
def all_three_blocks(wce):
    return wc.EmbeddingMatrix.of(U, wce, random_dims=4, seed=3)


def test_the_rows_are_vocabulary_unknown_padding_and_unseen_terms(E, wce):
    assert list(E.terms) == wce.terms_ == sorted(wce.terms_)
    assert (E.unknown, E.padding) == (len(wce), len(wce) + 1)
    assert list(E.unseen_terms) == ["tax"]
    assert len(E) == len(wce) + 3 == len(E.matrix)
    assert E.row("tax") == len(wce) + 2
    assert E.row("moon") == wce.terms_.index("moon")
    assert E.row("nobody") == E.unknown
    assert "tax" in E
    assert "nobody" not in E


def test_the_blocks_stand_side_by_side(E):
    assert list(E.blocks) == ["pretrained", "word_class", "random"]
    assert [E.blocks[name] for name in E.blocks] == [slice(0, 2), slice(2, 5), slice(5, 9)]
    assert E.n_dims == 9
    assert E.matrix.dtype == np.float32
    assert not E.matrix.flags.writeable
    assert repr(E).endswith("rows: pretrained 2, word_class 3, random 4>")


def test_rows_are_matched_by_term_and_not_by_position(E, wce):
    for term in ("moon", "the", "rose"):
        np.testing.assert_array_equal(E.matrix[E.row(term), E.blocks["pretrained"]], U[term])
    for term in wce:
        np.testing.assert_array_equal(E.matrix[E.row(term), E.blocks["word_class"]], wce[term])
    shuffled = wc.WordVectors.of(U.terms[::-1], U.matrix[::-1])
    again = wc.EmbeddingMatrix.of(shuffled, wce, random_dims=4, seed=3)
    np.testing.assert_array_equal(again.matrix, E.matrix)


def test_what_a_term_lacks_is_zero(E):
    assert not E.matrix[E.padding].any()
    assert not E.matrix[E.unknown, :5].any()
    assert not E.matrix[E.row("tax"), E.blocks["word_class"]].any()
    assert not E.matrix[E.row("orbit"), E.blocks["pretrained"]].any()


def test_a_random_vector_belongs_to_its_seed_and_term(E, wce):
    def direction(matrix, term):
        vector = matrix.matrix[matrix.row(term), matrix.blocks["random"]]
        return vector / np.linalg.norm(vector)

    drawn = E.matrix[:, E.blocks["random"]]
    assert drawn[E.unknown].any()
    assert len(np.unique(drawn[:, 0])) == len(E)
    assert abs(drawn).max() <= np.sqrt(6 / (len(E) + 4))
    few = wc.EmbeddingMatrix.of(random_dims=4, seed=3, vocabulary=["rose", "moon"])
    other = wc.EmbeddingMatrix.of(random_dims=4, seed=4, vocabulary=["rose", "moon"])
    for term in ("rose", "moon", "unheard"):
        np.testing.assert_allclose(direction(few, term), direction(E, term), rtol=1e-5)
        assert abs(direction(few, term) - direction(other, term)).max() > 0.01


def test_random_vectors_have_no_direction_in_common():
    E = wc.EmbeddingMatrix.of(random_dims=20, vocabulary=map(str, range(20_000)))
    drawn = np.delete(E.matrix, E.padding, axis=0) / np.sqrt(6 / (len(E) + 20))
    np.testing.assert_allclose(drawn.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(np.cov(drawn.T), np.eye(20) / 3, atol=0.02)


def test_each_kind_of_vector_may_be_there_alone(wce):
    assert list(wc.EmbeddingMatrix.of(U).terms) == list(U.terms)
    assert wc.EmbeddingMatrix.of(U).blocks == {"pretrained": slice(0, 2)}
    assert wc.EmbeddingMatrix.of(wce=wce).blocks == {"word_class": slice(0, 3)}
    assert len(wc.EmbeddingMatrix.of(wce=wce)) == len(wce) + 2
    alone = wc.EmbeddingMatrix.of(random_dims=3, vocabulary=["aa", "bb"])
    assert (len(alone), alone.n_dims) == (4, 3)


def test_unseen_terms_are_left_out_where_asked(wce):
    E = wc.EmbeddingMatrix.of(U, wce, keep_unseen=False)
    assert len(E) == len(wce) + 2
    assert E.row("tax") == E.unknown


@pytest.mark.parametrize("regressor", ["ridge", KNeighborsRegressor(2)])
def test_the_word_class_part_of_unseen_terms_is_predicted_where_asked(wce, E, regressor):
    more = wc.WordVectors.of([*U.terms, "duty"], [*U.matrix, [2, 2]])
    made = wc.EmbeddingMatrix.of(more, wce, random_dims=4, seed=3, unseen=regressor)
    predicted = UnseenTerms.predict(more, wce, regressor, seed=3)
    assert list(made.unseen_terms) == list(predicted.terms) == ["tax", "duty"]
    block = made.matrix[:, made.blocks["word_class"]]
    np.testing.assert_array_equal(block[[made.row("tax"), made.row("duty")]], predicted.vectors)
    assert predicted.vectors.any()
    assert not block[[made.unknown, made.padding]].any()
    assert not made.matrix[made.padding].any()
    # everything else is as it was
    plain = wc.EmbeddingMatrix.of(more, wce, random_dims=4, seed=3)
    assert not plain.matrix[plain.row("tax"), plain.blocks["word_class"]].any()
    np.testing.assert_array_equal(block[: len(wce)], wce.vectors_)
    for name in ("pretrained", "random"):
        place = made.blocks[name]
        np.testing.assert_array_equal(made.matrix[:, place], plain.matrix[:, place])


def test_nothing_is_predicted_where_no_term_is_unseen(wce):
    known = wc.WordVectors.of(["moon"], [[1, 2]])  # too few to learn from, too
    made = wc.EmbeddingMatrix.of(known, wce, unseen="ridge")
    np.testing.assert_array_equal(made.matrix, wc.EmbeddingMatrix.of(known, wce).matrix)
    with pytest.raises(wc.InputError, match="unknown regressor 'rigde'"):
        wc.EmbeddingMatrix.of(known, wce, unseen="rigde")


def test_what_cannot_be_predicted_is_refused(wce):
    for options in ({"U": U}, {"wce": wce}, {"U": U, "wce": wce, "keep_unseen": False}):
        with pytest.raises(wc.InputError, match="unseen needs U and wce to learn from"):
            wc.EmbeddingMatrix.of(**options, unseen="ridge")
    with pytest.raises(wc.InputError, match="unknown regressor 'forest'"):
        wc.EmbeddingMatrix.of(U, wce, unseen="forest")


def test_pieces_of_words_make_vectors_for_terms_of_the_vocabulary():
    subwords = Subwords(np.full((3, 2), 7, np.float32), 3, 3)
    vectors = wc.WordVectors.of(["moon"], [[1, 2]], subwords=subwords)
    E = wc.EmbeddingMatrix.of(vectors, vocabulary=["moons", "tax"])
    assert E.matrix[:2].tolist() == [[7, 7], [7, 7]]


def test_texts_become_rows(E):
    batch = E.index(["Moon, tax & 12 moons!", "", "rose"], max_length=3)
    unknown, padding = E.unknown, E.padding
    assert batch.ids.tolist() == [
        [E.row("moon"), E.row("tax"), unknown],
        [padding] * 3,
        [E.row("rose"), padding, padding],
    ]
    assert batch.lengths.tolist() == [3, 0, 1]
    left = E.index(iter(["rose", "the moon"]), pad="left")
    assert left.ids.tolist() == [[padding, E.row("rose")], [E.row("the"), E.row("moon")]]
    assert E.index([]).ids.shape == (0, 1)


def test_texts_are_cut_as_the_embeddings_cut_them():
    texts = [f"{text} 7" for text in TEXTS]
    plain = wc.WordClassEmbeddings(min_docs=2).fit(texts, LABELS)
    E = wc.EmbeddingMatrix.of(wce=plain)
    assert E.index(["moon 12.5"]).ids.tolist() == [[E.row("moon"), E.row("numbermask")]]
    own = wc.WordClassEmbeddings(min_docs=2, analyzer=str.split).fit(texts, LABELS)
    E = wc.EmbeddingMatrix.of(wce=own)
    assert E.index(["moon 7 Moon"]).ids.tolist() == [[E.row("moon"), E.row("7"), E.unknown]]
    stopped = wc.WordClassEmbeddings(min_docs=2, stop_words=["the"]).fit(texts, LABELS)
    assert wc.EmbeddingMatrix.of(wce=stopped).index(["the the"]).lengths.tolist() == [0]
    cased = wc.EmbeddingMatrix.of(U, analyzer=Analyzer(lowercase=False))
    assert cased.index(["Moon moon"]).ids.tolist() == [[cased.unknown, 1]]


def test_what_was_stored_or_pickled_is_the_same_matrix(E):
    for again in (
        wc.EmbeddingMatrix.from_state(E.analyze, E.to_state()),
        pickle.loads(pickle.dumps(E)),
    ):
        np.testing.assert_array_equal(again.matrix, E.matrix)
        assert not again.matrix.flags.writeable
        assert (again.terms, again.unseen_terms) == (E.terms, E.unseen_terms)
        assert again.blocks == E.blocks
        np.testing.assert_array_equal(again.index(TEXTS).ids, E.index(TEXTS).ids)


def test_copying_returns_the_same_object(E):
    assert copy.copy(E) is E
    assert copy.deepcopy(E) is E


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_that_is_none_is_reported_with_its_term(bad):
    matrix = np.array([[1, 2], [3, bad]], np.float32)
    unchecked = wc.WordVectors(["moon", "tax"], matrix)
    with pytest.raises(wc.InputError, match="vector of 'tax' holds a NaN or an infinity"):
        wc.EmbeddingMatrix.of(unchecked)


def test_vectors_that_share_no_term_are_refused():
    with pytest.raises(wc.InputError, match="know none of the 2 terms"):
        wc.EmbeddingMatrix.of(U, vocabulary=["mond", "steuer"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "there are no vectors"),
        ({"random_dims": 3}, "give a vocabulary"),
        ({"random_dims": -1, "vocabulary": ["aa"]}, "random_dims is -1"),
        ({"random_dims": 1.5, "vocabulary": ["aa"]}, "random_dims is 1.5"),
        ({"random_dims": 2, "vocabulary": ["aa"], "seed": "x"}, "seed is 'x'"),
        ({"random_dims": 2, "vocabulary": ["aa", "aa"]}, "more than once"),
        ({"random_dims": 2, "vocabulary": "aa"}, "terms is one str"),
        ({"U": np.eye(2)}, "U is a ndarray"),
        ({"wce": U}, "wce is a WordVectors"),
    ],
)
def test_what_cannot_be_put_side_by_side_is_refused(options, message):
    with pytest.raises(wc.InputError, match=message):
        wc.EmbeddingMatrix.of(**options)


def test_embeddings_bring_their_own_vocabulary_and_must_be_fitted(wce):
    with pytest.raises(wc.InputError, match="give one of two"):
        wc.EmbeddingMatrix.of(U, wce, vocabulary=["moon"])
    with pytest.raises(NotFittedError):
        wc.EmbeddingMatrix.of(U, wc.WordClassEmbeddings())


def test_a_key_that_is_no_str_is_a_type_error(E):
    with pytest.raises(TypeError, match="a term is a str, not a int"):
        E.row(3)


def test_embeddings_of_ngrams_have_rows_but_texts_no_sequence(wce):
    pairs = wc.WordClassEmbeddings(min_docs=2, ngrams=(1, 2)).fit(TEXTS, LABELS)
    E = wc.EmbeddingMatrix.of(wce=pairs)
    assert len(E) == len(pairs) + 2
    with pytest.raises(wc.InputError, match="single words"):
        E.index(TEXTS)


# --- word-class embeddings of other tasks ---------------------------------------------------------


def task(classes, extra, **options):
    """Embeddings of another task, which know one word that nobody else knows."""
    texts, labels = corpus(40, seed=7, classes=classes)
    texts = [f"{text} {extra}" for text in texts]
    return wc.WordClassEmbeddings(min_docs=2, **options).fit(
        texts, [f"a {each}" for each in labels]
    )


@pytest.fixture(scope="module")
def news():
    return task(("space", "garden"), "comet")


@pytest.fixture(scope="module")
def shop():
    return task(("garden", "music", "space"), "tax")


def slow_row(term, parts):
    """The row of a term, part by part: (width, {term: vector}); what is not known is zero."""
    return np.concatenate([known.get(term, np.zeros(width)) for width, known in parts])


def known_by(wce):
    rows = zip(wce.terms_, wce.vectors_, strict=True)
    return wce.vectors_.shape[1], dict(rows)


def test_every_other_task_is_a_block_and_rows_are_matched_by_term(wce, news, shop):
    E = wc.EmbeddingMatrix.of(U, wce, random_dims=4, seed=3, other={"news": news, "a.shop": shop})
    assert list(E.blocks) == ["pretrained", "word_class", "news", "a.shop", "random"]
    assert [place.stop for place in E.blocks.values()] == [2, 5, 7, 10, 14]
    assert list(E.terms) == wce.terms_
    # first those of the pretrained vectors, then those that only other tasks know
    assert list(E.unseen_terms) == ["tax", "comet"]
    pretrained = 2, dict(zip(U.terms, U.matrix, strict=True))
    parts = [pretrained, known_by(wce), known_by(news), known_by(shop)]
    for term in (*E.terms, *E.unseen_terms):
        np.testing.assert_array_equal(E.matrix[E.row(term), :10], slow_row(term, parts))
    assert E.matrix[E.row("comet"), E.blocks["news"]].any()
    assert E.matrix[E.row("comet"), E.blocks["random"]].any()
    assert not E.matrix[E.padding].any()
    assert not E.matrix[E.unknown, :10].any()


@given(order=st.permutations(range(18)), n=st.integers(1, 18))
def test_the_order_of_the_vocabulary_permutes_rows_and_changes_none(order, n):
    words = [word for own in WORDS.values() for word in own]
    tasks = {"news": NEWS, "shop": SHOP}
    chosen = [words[k] for k in order][:n]
    if not {*chosen} & {*NEWS.terms_}:
        return
    E = wc.EmbeddingMatrix.of(other=tasks, vocabulary=chosen)
    for term in {*words, *NEWS.terms_, *SHOP.terms_}:
        expected = slow_row(term, [known_by(NEWS), known_by(SHOP)])
        np.testing.assert_array_equal(E.matrix[E.row(term)], expected)
    assert {*E.terms, *E.unseen_terms} == {*chosen, *NEWS.terms_, *SHOP.terms_}


NEWS, SHOP = task(("space", "garden"), "comet"), task(("garden", "music", "space"), "tax")


def test_without_other_tasks_nothing_changes(wce, E):
    for nothing in (None, {}):
        again = wc.EmbeddingMatrix.of(U, wce, random_dims=4, seed=3, other=nothing)
        np.testing.assert_array_equal(again.matrix, E.matrix)
        assert (again.terms, again.unseen_terms) == (E.terms, E.unseen_terms)
        assert again.blocks == E.blocks


def test_terms_that_only_another_task_knows_are_left_out_where_asked(wce, news):
    E = wc.EmbeddingMatrix.of(U, wce, other={"news": news}, keep_unseen=False)
    assert (len(E), list(E.unseen_terms)) == (len(wce) + 2, [])
    assert E.row("comet") == E.unknown


def test_other_tasks_alone_bring_the_terms_of_all(news, shop):
    E = wc.EmbeddingMatrix.of(other={"news": news, "shop": shop})
    assert list(E.terms) == sorted({*news.terms_, *shop.terms_})
    assert not E.unseen_terms
    pretrained = wc.EmbeddingMatrix.of(U, other={"news": news})
    assert list(pretrained.terms) == list(U.terms)
    assert {*pretrained.unseen_terms} == {*news.terms_} - {*U.terms}


def test_predicted_rows_are_those_of_the_pretrained_vectors_alone(wce, news):
    plain = wc.EmbeddingMatrix.of(U, wce, unseen="ridge")
    E = wc.EmbeddingMatrix.of(U, wce, unseen="ridge", other={"news": news})
    for term in ("tax", "moon"):
        np.testing.assert_array_equal(E.matrix[E.row(term), :5], plain.matrix[plain.row(term)])
    assert not E.matrix[E.row("comet"), :5].any()


def test_projected_embeddings_of_another_task_have_the_columns_they_were_projected_to(wce):
    few = task(("space", "garden", "music"), "comet", max_dims=2, projector="pca")
    E = wc.EmbeddingMatrix.of(wce=wce, other={"news": few})
    assert E.blocks["news"] == slice(3, 5)
    np.testing.assert_array_equal(E.matrix[E.row("moon"), 3:], few["moon"])


def test_all_blocks_are_stored_and_pickled(wce, news, shop):
    E = wc.EmbeddingMatrix.of(U, wce, other={"news": news, "a.shop": shop}, random_dims=2)
    for again in (
        wc.EmbeddingMatrix.from_state(E.analyze, E.to_state()),
        pickle.loads(pickle.dumps(E)),
    ):
        np.testing.assert_array_equal(again.matrix, E.matrix)
        assert (again.blocks, [*again.blocks]) == (E.blocks, [*E.blocks])
        assert again.unseen_terms == E.unseen_terms


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda blocks: blocks[1:], "do not lie side by side"),
        (lambda blocks: [[*blocks[0][:2], 1], *blocks[1:]], "do not lie side by side"),
        (lambda blocks: [*blocks[:-1], [*blocks[-1][:2], 99]], "do not lie side by side"),
        (lambda blocks: [[blocks[0][0], *each[1:]] for each in blocks], "do not lie side by side"),
    ],
)
def test_a_stored_block_of_another_dimension_is_refused(wce, news, change, message):
    parts = wc.EmbeddingMatrix.of(wce=wce, other={"news": news}).to_state()
    parts.metadata["row_blocks"] = change(parts.metadata["row_blocks"])
    with pytest.raises(ValueError, match=message):
        wc.EmbeddingMatrix.from_state(Analyzer(), parts)


def test_a_task_that_shares_no_term_is_told(wce, news):
    far = wc.WordClassEmbeddings(min_docs=1).fit(["mond", "steuer"], ["eins", "zwei"])
    for options in ({"wce": wce}, {"U": U}, {"vocabulary": ["moon"], "random_dims": 2}):
        with pytest.raises(wc.InputError, match="embeddings 'far' know none of the"):
            wc.EmbeddingMatrix.of(**options, other={"news": news, "far": far})


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (["news"], "other is a list; expected a dict"),
        ({"": NEWS}, "other has a block named ''"),
        ({3: NEWS}, "other has a block named 3"),
        *(
            ({name: NEWS}, f"named '{name}'; expected a str that is not empty, and none of")
            for name in ("pretrained", "word_class", "random", "context")
        ),
        ({"news": U}, r"other\['news'\] is a WordVectors; expected WordClassEmbeddings"),
        ({"news": "news.wce"}, r"other\['news'\] is a str"),
        ({"news": None}, "are not kept with a model: give them again"),
        ({"news": wc.WordClassEmbeddings()}, r"other\['news'\] are not fitted; fit them"),
    ],
)
def test_what_is_no_other_task_is_refused(wce, other, message):
    with pytest.raises(wc.InputError, match=message):
        wc.EmbeddingMatrix.of(U, wce, other=other)
