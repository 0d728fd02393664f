import json
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from small_encoders import (
    N_DIMS,
    TEXTS,
    VOCABULARY,
    static_folder,
    static_rows,
    tokenizer,
    write_json,
)

from wordclass.errors import FormatError, InputError
from wordclass.sentence.encoder import SentenceEncoder
from wordclass.sentence.kinds import static
from wordclass.sentence.kinds._files import read_tokenizer

UNKNOWN = VOCABULARY.index("[UNK]")


def slow_means(rows, weights=None, mapping=None):
    """Return the vectors of the texts by model2vec's definition, token by token."""
    cut = tokenizer(special=False)
    vectors = []
    for text in TEXTS:
        total = np.zeros(N_DIMS)
        n_tokens = 0
        for token in cut.encode(text).ids:
            if token != UNKNOWN:
                row = rows[token if mapping is None else mapping[token]]
                total = total + row * (1 if weights is None else weights[token])
                n_tokens += 1
        vectors.append(total / max(n_tokens, 1))
    return np.array(vectors)


def test_a_vector_is_the_mean_of_those_of_the_known_tokens(tmp_path):
    vectors = static.make(static_folder(tmp_path / "model")).encode(TEXTS, 1)
    np.testing.assert_allclose(vectors, slow_means(static_rows()), atol=1e-6)


def test_tokens_may_have_weights_and_share_rows(tmp_path):
    generator = np.random.default_rng(1)
    weights = generator.uniform(0.1, 2, len(VOCABULARY)).astype(np.float32)
    mapping = generator.integers(0, 30, len(VOCABULARY))
    rows = static_rows()[:30]
    folder = static_folder(tmp_path / "model", weights=weights, mapping=mapping, embeddings=rows)
    vectors = static.make(folder).encode(TEXTS, 1)
    np.testing.assert_allclose(vectors, slow_means(rows, weights, mapping), atol=1e-6)


@pytest.mark.parametrize("kind", [np.float16, np.int8])
def test_tables_of_small_numbers_are_read_too(tmp_path, kind):
    rows = (static_rows() * 20).astype(kind)
    folder = static_folder(tmp_path / "model", embeddings=rows)
    vectors = static.make(folder).encode(TEXTS, 1)
    np.testing.assert_allclose(vectors, slow_means(rows.astype(float)), rtol=1e-3, atol=1e-3)


def test_a_long_text_is_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(static, "_TOKENS_PER_STEP", 10)
    vectors = static.make(static_folder(tmp_path / "model"))
    long = " ".join(["moon"] * 2_000 + ["rose"] * 6_000)
    moon, rose, both, short = vectors.encode(["moon", "rose", long, "moon rose rose rose"], 1)
    np.testing.assert_allclose(both, 0.25 * moon + 0.75 * rose, atol=1e-5)
    np.testing.assert_allclose(short, both, atol=1e-5)


def test_a_tokenizer_of_pieces_with_scores_may_have_an_unknown_piece(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder = static_folder(tmp_path / "model", embeddings=static_rows()[:3])
    pieces = Tokenizer(models.Unigram([("<unk>", 0.0), ("moon", -1.0), ("rose", -1.0)], unk_id=0))
    pieces.pre_tokenizer = pre_tokenizers.Whitespace()
    pieces.save(str(folder / "tokenizer.json"))
    vectors = static.make(folder).encode(["moon xyz", "xyz"], 1)
    np.testing.assert_allclose(vectors, [static_rows()[1], np.zeros(N_DIMS)], atol=1e-6)


def test_the_layouts_of_wordllama_and_of_sentence_transformers_are_known(tmp_path):
    expected = slow_means(static_rows())
    for table, cut in [
        ("weights/small_16.safetensors", "tokenizers/small_tokenizer_config.json"),
        ("0_StaticEmbedding/model.safetensors", "0_StaticEmbedding/tokenizer.json"),
    ]:
        folder = tmp_path / table.split("/")[0]
        for name in (table, cut):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        save_file({"embedding.weight": static_rows()}, folder / table)
        tokenizer(special=False).save(str(folder / cut))
        assert SentenceEncoder.of(folder).kind == "static"
        np.testing.assert_allclose(static.make(folder).encode(TEXTS, 1), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"embeddings": static_rows()[0]}, "expected a table of numbers"),
        ({"embeddings": static_rows()[:0]}, "expected a table of numbers"),
        ({"embeddings": static_rows() > 0}, "expected a table of numbers"),
        ({"embeddings": static_rows()[:5]}, "it has .* tokens, but the table has 5 vectors"),
        ({"embeddings": static_rows() * np.inf}, "the vector of token 0 holds a NaN"),
        ({"weights": np.ones(3, np.float32)}, "weights' is float32 .*; expected"),
        ({"mapping": np.full(len(VOCABULARY), 900)}, "'mapping' does not contain row numbers"),
        ({"mapping": np.full(len(VOCABULARY), -1)}, "'mapping' does not contain row numbers"),
        ({"mapping": np.ones((2, 2), np.int64)}, "'mapping' does not contain row numbers"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(tmp_path, arrays, message):
    folder = static_folder(tmp_path / "model", **arrays)
    with pytest.raises(FormatError, match=message):
        SentenceEncoder.of(folder).vectors(["moon"])


def test_a_table_of_other_names_is_refused(tmp_path):
    folder = static_folder(tmp_path / "model")
    save_file({"other": static_rows()}, folder / "model.safetensors")
    with pytest.raises(FormatError, match=r"named embeddings or embedding\.weight"):
        SentenceEncoder.of(folder).vectors(["moon"])


def test_of_several_tables_none_is_chosen(tmp_path):
    folder = static_folder(tmp_path / "model")
    (folder / "modules.json").unlink()
    for name in ("a.safetensors", "b.safetensors"):
        (folder / name).write_bytes((folder / "model.safetensors").read_bytes())
    (folder / "model.safetensors").unlink()
    with pytest.raises(FormatError, match="expected one table"):
        SentenceEncoder.of(folder)


def test_a_table_with_a_layer_behind_it_is_not_taken_for_the_table_alone(tmp_path):
    folder = static_folder(tmp_path / "model")
    modules = json.loads((folder / "modules.json").read_text())
    kind = "sentence_transformers.models.Dense"
    write_json(folder / "modules.json", [*modules, {**modules[0], "path": "1_Dense", "type": kind}])
    assert not static.recognizes(folder)


def test_without_the_package_the_error_names_the_extra(tmp_path, monkeypatch):
    folder = static_folder(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ImportError, match=r"pip install 'wordclass\[encoder\]'"):
        SentenceEncoder.of(folder).vectors(["moon"])


def test_wordllama_gives_the_vectors_that_its_own_package_gives():
    inference = pytest.importorskip("wordllama.inference")
    encoder = SentenceEncoder.of("wordllama")
    table, cut = static.files(encoder._path)
    rows = load_file(table)["embedding.weight"]
    theirs = inference.WordLlamaInference(rows, read_tokenizer(cut)).embed(TEXTS, norm=False)
    np.testing.assert_allclose(encoder._model.encode(TEXTS, 1), theirs, atol=1e-5)


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"x")
    with pytest.raises(InputError, match="is not an encoder"):
        SentenceEncoder.of(tmp_path / "model.safetensors")
