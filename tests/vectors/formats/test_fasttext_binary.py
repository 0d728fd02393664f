"""Models that fastText wrote are read with the same vectors.

The vector of a word is compared with the mean of fastText's own rows (`get_subwords` and
`get_input_vector`), and with gensim's reader. `get_word_vector` is compared in direction only: in
fastText's source it is that mean, but fasttext-community 0.11.9 scales it to length 1.
"""

import gzip
import random
import struct

import numpy as np
import pytest

from wordclass.errors import FormatError, InputError
from wordclass.vectors.formats import fasttext_binary
from wordclass.vectors.word_vectors import WordVectors

fasttext = pytest.importorskip("fasttext")

WORDS = ["orbit", "moon", "café", "naïve", "東京", "tax", "lunar", "😀smile", "a", "bc", "space"]
UNSEEN = ["moons", "orbital", "\u4eac", "caf\u00e9s", "\U0001f600", "x", "q" * 40, "space craft"]
SIZES = [(3, 6), (1, 3), (2, 2), (0, 4), (0, 0)]


@pytest.fixture(scope="module")
def model_of(tmp_path_factory):
    """Return a function from kind and lengths of subwords to a model and its path."""
    folder = tmp_path_factory.mktemp("fasttext")
    models = {}
    draw = random.Random(0)
    texts = [" ".join(draw.choices(WORDS, k=10)) for _ in range(300)]
    (folder / "unsupervised.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    labelled = [f"__label__{draw.choice('xy')} {text}" for text in texts]
    (folder / "supervised.txt").write_text("\n".join(labelled) + "\n", encoding="utf-8")

    def train(kind, sizes):
        if (kind, sizes) not in models:
            options = {"dim": 6, "minCount": 1, "epoch": 2, "thread": 1, "verbose": 0}
            options |= {"minn": sizes[0], "maxn": sizes[1], "bucket": 300}
            if kind == "supervised":
                options["wordNgrams"] = 2  # so there are buckets even without subwords
            path = folder / f"{kind}-{sizes[0]}-{sizes[1]}.bin"
            model = getattr(fasttext, f"train_{kind}")(str(folder / f"{kind}.txt"), **options)
            model.save_model(str(path))
            models[kind, sizes] = (model, path)
        return models[kind, sizes]

    return train


def mean_of_rows(model, word):
    _, rows = model.get_subwords(word)
    return np.mean([model.get_input_vector(int(row)) for row in rows], axis=0)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", ["unsupervised", "supervised"])
def test_known_words_have_the_vectors_of_fasttext(model_of, kind, sizes):
    model, path = model_of(kind, sizes)
    vectors = WordVectors.load(path)
    assert vectors.terms == model.get_words()
    assert vectors.matrix.dtype == np.float32
    expected = [mean_of_rows(model, word) for word in vectors.terms]
    np.testing.assert_allclose(vectors.matrix, expected, atol=1e-6)


@pytest.mark.parametrize("sizes", SIZES[:-1])
@pytest.mark.parametrize("kind", ["unsupervised", "supervised"])
def test_unseen_words_have_the_vectors_of_fasttext(model_of, kind, sizes):
    model, path = model_of(kind, sizes)
    vectors = WordVectors.load(path)
    for word in UNSEEN:
        assert word not in vectors
        if len(model.get_subwords(word)[1]):
            np.testing.assert_allclose(vectors[word], mean_of_rows(model, word), atol=1e-6)
            assert vectors.get(word).tolist() == vectors[word].tolist()
        else:
            assert vectors.get(word) is None
    assert vectors.rows(UNSEEN).tolist() == [-1] * len(UNSEEN)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", ["unsupervised", "supervised"])
def test_vectors_have_the_direction_of_get_word_vector(model_of, kind, sizes):
    model, path = model_of(kind, sizes)
    vectors = WordVectors.load(path)
    for word in [*vectors.terms, *(UNSEEN if sizes[1] else [])]:
        theirs = model.get_word_vector(word)
        ours = vectors.get(word)
        if ours is None:
            assert not theirs.any()
        else:
            direction = ours / np.linalg.norm(ours)
            np.testing.assert_allclose(direction, theirs / np.linalg.norm(theirs), atol=1e-6)


@pytest.mark.parametrize("kind", ["unsupervised", "supervised"])
def test_without_subwords_unseen_words_have_no_vector(model_of, kind):
    vectors = WordVectors.load(model_of(kind, (0, 0))[1])
    assert vectors.subwords is None
    with pytest.raises(KeyError, match="no vector of 'moons'"):
        vectors["moons"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("sizes", SIZES[:3])
def test_gensim_reads_the_same_vectors(model_of, sizes):
    facebook = pytest.importorskip("gensim.models.fasttext")
    _, path = model_of("unsupervised", sizes)
    theirs = facebook.load_facebook_vectors(str(path))
    ours = WordVectors.load(path)
    # unlike fastText, gensim gives subwords to the token for the end of a sentence
    for word in {*ours.terms, *UNSEEN} - {"</s>"}:
        if word in ours or ours.get(word) is not None:
            np.testing.assert_allclose(ours[word], theirs[word], atol=1e-6)


def test_words_that_are_not_requested_count_as_unseen(model_of):
    model, path = model_of("unsupervised", (3, 6))
    complete = WordVectors.load(path)
    partial = WordVectors.load(path, terms=["tax", "moon", "no"])
    assert sorted(partial.terms) == ["moon", "tax"]
    assert partial["tax"].tolist() == complete["tax"].tolist()
    assert partial["moons"].tolist() == complete["moons"].tolist()
    assert "orbit" not in partial
    _, rows = model.get_subwords("orbit")
    subwords = [model.get_input_vector(int(row)) for row in rows[1:]]  # row 0 is the word's own
    np.testing.assert_allclose(partial["orbit"], np.mean(subwords, axis=0), atol=1e-6)


def test_labels_are_not_terms(model_of):
    model, path = model_of("supervised", (3, 6))
    assert len(model.get_labels()) == 2
    assert not any(term.startswith("__label__") for term in WordVectors.load(path))


def test_an_unseen_word_has_the_neighbors_of_its_vector(model_of):
    vectors = WordVectors.load(model_of("unsupervised", (3, 6))[1])
    assert vectors.nearest("moons") == vectors.nearest(vectors["moons"])


def test_the_first_bytes_distinguish_models_from_word2vec_files(model_of, tmp_path):
    _, path = model_of("unsupervised", (3, 6))
    (tmp_path / "model").write_bytes(path.read_bytes())
    (tmp_path / "model.bin.gz").write_bytes(gzip.compress(path.read_bytes()))
    WordVectors.of(["a"], [[1.0]]).save(tmp_path / "vectors.bin")
    assert WordVectors.load(tmp_path / "model").terms == WordVectors.load(path).terms
    assert WordVectors.load(tmp_path / "model.bin.gz").terms == WordVectors.load(path).terms
    assert WordVectors.load(tmp_path / "vectors.bin").terms == ["a"]
    with pytest.raises(FormatError, match="not a fastText model"):
        WordVectors.load(tmp_path / "vectors.bin", format="fasttext_binary")
    with pytest.raises(FormatError, match="n_vectors"):
        WordVectors.load(path, format="word2vec_binary")


def test_text_that_fasttext_exports_has_the_same_vectors(model_of, tmp_path):
    model, path = model_of("unsupervised", (3, 6))
    words = model.get_words()
    # like fastText's saveVectors: few digits, and a space after the last number
    lines = [f"{len(words)} {model.get_dimension()}"]
    lines += [f"{w} " + " ".join(f"{x:.5g}" for x in mean_of_rows(model, w)) + " " for w in words]
    (tmp_path / "model.vec").write_text("\n".join(lines) + "\n", encoding="utf-8")
    binary = WordVectors.load(path)
    text = WordVectors.load(tmp_path / "model.vec")
    assert text.terms == binary.terms
    np.testing.assert_allclose(text.matrix, binary.matrix, rtol=1e-4, atol=1e-7)


def test_models_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="cannot be saved as fasttext_binary"):
        WordVectors.of(["a"], [[1.0]]).save(tmp_path / "out.bin", format="fasttext_binary")


def test_a_quantized_model_is_refused(model_of, tmp_path):
    model = fasttext.load_model(str(model_of("supervised", (3, 6))[1]))
    model.quantize()
    model.save_model(str(tmp_path / "model.ftz"))
    with pytest.raises(FormatError, match="quantized"):
        WordVectors.load(tmp_path / "model.ftz")


def test_a_cached_model_has_subwords(model_of, tmp_path, monkeypatch):
    monkeypatch.setattr("wordclass.vectors.cache._MIN_FILE_BYTES", 0)
    path = tmp_path / "model.bin"
    path.write_bytes(model_of("unsupervised", (3, 6))[1].read_bytes())
    first = WordVectors.load(path)
    monkeypatch.setattr(fasttext_binary, "read", None)
    second = WordVectors.load(path)
    assert second.terms == first.terms
    assert second.matrix.tobytes() == first.matrix.tobytes()
    assert second["moons"].tobytes() == first["moons"].tobytes()


# models that are built byte by byte -------------------------------------------------------------


def build_model(
    words=((b"a", 0), (b"b", 0)),
    version=12,
    kind=2,
    n_buckets=3,
    sizes=(2, 3),
    n_dims=2,
    pruned=-1,
    quantized=0,
    n_rows=None,
    values=None,
):
    n_words = sum(1 for _, is_label in words if not is_label)
    n_rows = n_words + n_buckets if n_rows is None else n_rows
    values = range(n_rows * n_dims) if values is None else values
    return b"".join(
        [
            struct.pack("<ii", 793712314, version),
            struct.pack("<12id", n_dims, 5, 5, 1, 5, 1, 2, kind, n_buckets, *sizes, 100, 1e-4),
            struct.pack("<iiiqq", len(words), n_words, len(words) - n_words, 9, pruned),
            *(word + b"\0" + struct.pack("<qb", 1, is_label) for word, is_label in words),
            struct.pack("<bqq", quantized, n_rows, n_dims),
            struct.pack(f"<{n_rows * n_dims}f", *values),
            struct.pack("<bqq2f", 0, 1, 2, 1.0, 2.0),
        ]
    )


def file_of(folder, content):
    (folder / "model.bin").write_bytes(content)
    return folder / "model.bin"


def test_a_minimal_model_is_read(tmp_path):
    vectors = WordVectors.load(file_of(tmp_path, build_model(sizes=(0, 0))))
    assert vectors.terms == ["a", "b"]
    assert vectors.matrix.tolist() == [[0, 1], [2, 3]]


def test_old_classifiers_have_no_subwords(tmp_path):
    old = WordVectors.load(file_of(tmp_path, build_model(version=11, kind=3)))
    assert old.subwords is None
    assert old.matrix.tolist() == [[0, 1], [2, 3]]
    assert WordVectors.load(file_of(tmp_path, build_model(version=11, kind=2))).subwords is not None
    assert WordVectors.load(file_of(tmp_path, build_model(version=12, kind=3))).subwords is not None


def test_words_that_are_not_utf8_are_escaped(tmp_path):
    path = file_of(tmp_path, build_model(words=((b"a\xed", 0), (b"\xc3\xa9", 0), (b"a\\xed", 0))))
    vectors = WordVectors.load(path)
    assert vectors.terms == ["a\\xed", "\u00e9"]  # the third word becomes equal to the first


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (build_model(version=10), "version 10"),
        (build_model(version=13), "version 13"),
        (build_model(n_dims=0), "0 dimensions"),
        (build_model(n_rows=4), r"a matrix of \[4, 2\]; expected \[5, 2\]"),
        (build_model(quantized=1), "quantized"),
        (build_model(pruned=0), "quantized"),
        (build_model(words=((b"a", 1), (b"b", 0))), "entry 1 of the dictionary"),
        (build_model(values=[np.nan, *range(9)]), "'a' holds a NaN"),
        (build_model(values=[*range(9), np.inf]), "subword holds a NaN"),
        (build_model() + b"\0", "more bytes follow"),
        (build_model()[:8] + b"\xff" * 56 + build_model()[64:], "damaged: -1 dimensions"),
        (build_model()[:64] + b"\xff" * 12 + build_model()[76:], "damaged: -1 entries"),
        (
            build_model()[:64] + struct.pack("<iii", 2**30, 2**30, 0) + build_model()[76:],
            "cut short|kind",
        ),
    ],
)
def test_the_error_of_an_invalid_model_names_the_problem(tmp_path, content, reason):
    with pytest.raises(FormatError, match=reason):
        WordVectors.load(file_of(tmp_path, content))


def test_a_model_cut_short_anywhere_is_an_error(tmp_path):
    content = build_model(words=((b"a", 0), (b"b", 0), (b"c", 1)))
    WordVectors.load(file_of(tmp_path, content))
    for cut in range(4, len(content)):
        with pytest.raises(FormatError, match="cut short"):
            WordVectors.load(file_of(tmp_path, content[:cut]))


def test_a_changed_byte_does_not_crash(tmp_path):
    content = build_model()
    for position in range(4, len(content)):
        for bit in (0x01, 0x80):
            damaged = bytearray(content)
            damaged[position] ^= bit
            try:
                vectors = WordVectors.load(file_of(tmp_path, bytes(damaged)))
            except InputError:
                continue
            assert np.isfinite(vectors.matrix).all()
