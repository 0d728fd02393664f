"""Vectors of tokens in context: their alignment, their files and invalid input."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import corpus
from small_encoders import MAX_TOKENS, N_DIMS, bert_folder, static_folder

pytest.importorskip("sentence_transformers")

import wordclass as wc
from wordclass import progress
from wordclass.sentence import cache as sentence_cache
from wordclass.sentence import tokens as token_vectors
from wordclass.sentence.cache import CacheWarning
from wordclass.sentence.encoder import SentenceEncoder
from wordclass.text.analyzer import Analyzer

TEXTS, _ = corpus(40)
CHARACTERS = "ab Zé ß İ ﬁ 7 12,5-3 e\u0301 漢字 😀👩‍🚀 \ud83d moon 's ._-\n\0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return bert_folder(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def encoder(folder):
    return token_vectors.require_token_vectors(SentenceEncoder.of(folder))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WORDCLASS_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "cache"


def vectors_of(encoder, texts, max_length=500, analyze=Analyzer()):  # noqa: B008
    blocks = token_vectors.token_vectors(encoder, analyze, texts, max_length)
    return [vectors for block in blocks for vectors in block]


def subwords_by_hand(encoder, text):
    """Return the subwords of a text, whose segments are encoded one at a time."""
    import torch

    model = encoder._model._model
    tokenizer = model.tokenizer
    n_subwords = MAX_TOKENS - 2
    tokenized = tokenizer(
        text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )
    vectors = []
    spans = tokenized["offset_mapping"]
    for start in range(0, len(spans), n_subwords):
        ids = torch.tensor([[2, *tokenized["input_ids"][start : start + n_subwords], 3]])
        with torch.inference_mode():
            states = model[0].model(ids, torch.ones_like(ids)).last_hidden_state
        vectors += [*states[0, 1:-1].numpy()]
    return vectors, spans


def average_by_hand(tokens, vectors, subwords):
    means = []
    for start, end in tokens:
        characters = {*range(start, end)}
        overlapping = [
            vector
            for vector, span in zip(vectors, subwords, strict=True)
            if characters & {*range(*span)}
        ]
        means.append(np.mean(overlapping, axis=0) if overlapping else np.zeros(N_DIMS))
    return np.array(means).reshape(-1, N_DIMS)


@settings(max_examples=80)
@given(st.lists(st.text(st.sampled_from(CHARACTERS), max_size=90), max_size=4), st.integers(1, 30))
def test_the_vector_of_a_token_is_the_mean_of_the_subwords_that_overlap_it(
    encoder, texts, max_length
):
    analyze = Analyzer()
    for text, vectors in zip(texts, vectors_of(encoder, texts, max_length), strict=True):
        tokens = [(start, end) for _, start, end in analyze.tokens(text)][:max_length]
        cut_text = text[: tokens[-1][1] if tokens else 0]
        subwords = subwords_by_hand(encoder, replace_surrogates(cut_text))
        expected = average_by_hand(tokens, *subwords)
        assert vectors.dtype == np.float16
        assert len(vectors) == len(analyze(text)[:max_length])
        np.testing.assert_allclose(vectors, expected, rtol=2e-3, atol=2e-3)


def replace_surrogates(text):
    return "".join("�" if "\ud800" <= char <= "\udfff" else char for char in text)


@given(st.data())
def test_alignment_equals_its_definition(data):
    ends = st.lists(st.integers(0, 3), min_size=2, max_size=30).map(np.cumsum)
    cuts = data.draw(ends)
    pieces = np.stack([cuts[:-1], cuts[1:]], axis=1)
    pieces = np.concatenate([[[0, 0]], pieces, [[0, 0]]])
    starts = np.array(data.draw(st.lists(st.integers(0, 60), max_size=9)), np.int64)
    tokens = np.stack([starts, starts + len(starts)], axis=1)
    vectors = np.random.default_rng(0).normal(size=(len(pieces), N_DIMS)).astype(np.float32)
    averaged = token_vectors.average_subwords(tokens, vectors, pieces)
    np.testing.assert_allclose(averaged, average_by_hand(tokens, vectors, pieces), atol=1e-5)


def test_a_token_without_subwords_has_a_zero_vector(encoder):
    (vectors,) = vectors_of(
        encoder, ["moon \ufe0f\ufe0f rose"], analyze=Analyzer(token_pattern=r"\S+")
    )
    assert vectors.shape == (3, N_DIMS)
    assert vectors[0].any()
    assert vectors[2].any()
    assert not vectors[1].any()


def test_every_token_of_a_long_text_has_a_vector_up_to_the_maximum_length(encoder):
    text = "the moon and the orbit " * 50
    (vectors,) = vectors_of(encoder, [text])
    assert vectors.shape == (250, N_DIMS)
    assert vectors.any(axis=1).all()
    (first,) = vectors_of(encoder, [text], 7)
    assert first.shape == (7, N_DIMS)
    (alone,) = vectors_of(encoder, [" ".join(text.split()[:7])])
    np.testing.assert_array_equal(first, alone)  # later tokens are not read
    assert np.abs(vectors[:7].astype(float) - alone).max() > 0.01


def test_vectors_do_not_depend_on_other_texts(encoder):
    together = vectors_of(encoder, [*TEXTS, "", "moon", "rose " * 90])
    for number in (0, 7, 40, 41, 42):
        text = [*TEXTS, "", "moon", "rose " * 90][number]
        (alone,) = vectors_of(encoder, [text])
        np.testing.assert_allclose(together[number], alone, atol=2e-3)


# --- files ----------------------------------------------------------------------------------


@pytest.fixture
def encoded(encoder, monkeypatch):
    """Return a list that records the encoded texts."""
    encoded_texts = []
    subword_vectors = SentenceEncoder.subword_vectors

    def record(self, texts, n_jobs=None):
        encoded_texts.extend(texts)
        return subword_vectors(self, texts, n_jobs)

    monkeypatch.setattr(SentenceEncoder, "subword_vectors", record)
    return encoded_texts


def test_a_second_time_nothing_is_encoded(encoder, encoded, cache, folder, monkeypatch):
    monkeypatch.setattr(token_vectors, "_TEXTS_PER_FILE", 32)
    texts = [*TEXTS, *reversed(TEXTS)]
    reports = []
    with progress.on_progress(lambda *report: reports.append(report)):
        first = vectors_of(encoder, texts)
    assert len(encoded) == 80
    assert reports[0] == ("encoding tokens", 0, 80)
    assert reports[-1] == ("encoding tokens", 80, 80)
    assert len([*cache.iterdir()]) == 2  # the last 16 texts are too few
    again = token_vectors.require_token_vectors(SentenceEncoder.of(folder))
    for ours, theirs in zip(vectors_of(again, texts), first, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert len(encoded) == 96
    assert again.n_dims == N_DIMS
    vectors_of(encoder, texts[:64], 5)  # other tokens, another file
    assert len(encoded) == 160


def test_interrupted_work_resumes(encoder, encoded, monkeypatch):
    monkeypatch.setattr(token_vectors, "_TEXTS_PER_FILE", 32)
    blocks = token_vectors.token_vectors(encoder, Analyzer(), [*TEXTS, *TEXTS], 500)
    next(blocks)
    blocks.close()
    assert len(encoded) == 32
    vectors_of(encoder, [*TEXTS, *TEXTS])
    assert len(encoded) == 80


def cut(content):
    return content[:-40]


def flipped(content):
    return content[:100] + bytes([content[100] ^ 1]) + content[101:]


@pytest.mark.parametrize(
    "damage", [cut, flipped, lambda _: b"", lambda _: b"x" * 16, lambda _: b"x" * 999]
)
def test_a_damaged_file_is_replaced(encoder, encoded, cache, damage):
    first = vectors_of(encoder, TEXTS)
    (path,) = cache.iterdir()
    content = path.read_bytes()
    path.unlink()  # because the present file is mapped
    path.write_bytes(damage(content))
    with pytest.warns(
        CacheWarning, match="damaged or cannot be read; its vectors are computed again"
    ):
        again = vectors_of(encoder, TEXTS)
    assert len(encoded) == 80
    assert path.read_bytes() == content
    np.testing.assert_array_equal(np.concatenate(again), np.concatenate(first))


def test_vectors_remain_in_memory_if_no_file_can_be_written(encoder, cache):
    cache.parent.write_text("a file where a folder should be")
    with pytest.warns(CacheWarning, match="the vectors of tokens are not cached: "):
        vectors = vectors_of(encoder, TEXTS)
    assert len(vectors) == len(TEXTS)


def test_few_texts_leave_no_file(encoder, cache):
    vectors_of(encoder, TEXTS[:31])
    assert not cache.exists()


def test_files_count_among_the_caches_and_old_ones_make_room(encoder, cache, monkeypatch):
    vectors_of(encoder, TEXTS)
    encoder.vectors(TEXTS)
    assert {path.suffix for path in sentence_cache.cache_files()} == {".sqlite", ".tokens"}
    (first,) = cache.glob("*.tokens")
    monkeypatch.setenv("WORDCLASS_CACHE_BYTES", str(first.stat().st_size + 10))
    vectors = vectors_of(encoder, [*reversed(TEXTS)])
    (second,) = sentence_cache.cache_files()
    assert second.suffix == ".tokens"
    assert second != first
    assert vectors[0].any()  # mapped vectors remain readable
    sentence_cache.clear()
    assert not sentence_cache.cache_files()


# --- invalid input ------------------------------------------------------------------------


def test_encoders_without_vectors_of_tokens_are_refused(tmp_path):
    static = static_folder(tmp_path / "static")
    (static / "modules.json").unlink()
    (static / "config.json").unlink()
    with pytest.raises(
        wc.InputError, match=r"static, which has no vectors of tokens .* of the kind 'static'"
    ):
        token_vectors.require_token_vectors(SentenceEncoder.of(static))
    with pytest.raises(wc.InputError, match=r"no vectors of tokens .* of the kind 'function'"):
        token_vectors.require_token_vectors(SentenceEncoder.of(len))


def test_an_analyzer_without_positions_is_refused(encoder):
    for analyze in (str.split, Analyzer(ngrams=(1, 2))):
        with pytest.raises(wc.InputError, match="does not give the positions of single words"):
            vectors_of(encoder, ["moon"], analyze=analyze)


def test_numbers_that_are_too_large_are_refused(encoder, monkeypatch):
    huge = [(np.full((1, N_DIMS), 1e6, np.float32), np.array([[0, 4]]))]
    monkeypatch.setattr(SentenceEncoder, "subword_vectors", lambda *_: huge)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(wc.InputError, match="not finite in float16"):
            vectors_of(encoder, ["moon"])
