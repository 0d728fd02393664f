import shutil
import sys

import numpy as np
import pytest
from small_encoders import MAX_TOKENS, N_DIMS, TEXTS, bert_folder, tokenizer, write_json

from wordclass.errors import FormatError
from wordclass.sentence.encoder import SentenceEncoder
from wordclass.sentence.kinds import onnx

pytestmark = pytest.mark.xdist_group("encoders")  # which makes its fixtures once

POOLING = "1_Pooling/config.json"


@pytest.fixture
def folder(encoder_folder, tmp_path):
    return shutil.copytree(encoder_folder("onnx"), tmp_path / "model")


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_it_gives_the_vectors_of_the_same_network_in_sentence_transformers(
    folder, pooling, tmp_path
):
    theirs = bert_folder(tmp_path / "theirs", pooling)
    shutil.copy(theirs / POOLING, folder / POOLING)
    texts = [*TEXTS, "moon " * 3 * MAX_TOKENS]
    expected = SentenceEncoder.of(theirs).vectors(texts)
    encoder = SentenceEncoder.of(folder)
    assert encoder.kind == "onnx"
    np.testing.assert_allclose(encoder.vectors(texts), expected, atol=1e-5)


def test_several_ways_of_pooling_stand_side_by_side(folder):
    parts = []
    for mode in ("cls", "mean", ["cls", "mean"]):
        write_json(folder / POOLING, {"pooling_mode": mode})
        parts.append(onnx.make(folder).encode(TEXTS, 1))
    np.testing.assert_allclose(np.hstack(parts[:2]), parts[2])


@pytest.mark.parametrize("mode", ["lasttoken", ["mean", 5], 5, {"a": 1}])
def test_other_ways_of_pooling_are_refused(folder, mode):
    write_json(folder / POOLING, {"pooling_mode": mode})
    with pytest.raises(FormatError, match="expected cls, max or mean"):
        SentenceEncoder.of(folder).vectors(TEXTS)


def test_without_a_word_on_pooling_it_is_the_mean(folder):
    expected = onnx.make(folder).encode(TEXTS, 1)
    (folder / POOLING).unlink()
    np.testing.assert_array_equal(onnx.make(folder).encode(TEXTS, 1), expected)


def test_the_file_itself_may_be_given_also_in_a_folder_below(folder):
    expected = SentenceEncoder.of(folder).vectors(TEXTS)
    below = folder / "onnx" / "model.onnx"
    below.parent.mkdir()
    (folder / "model.onnx").rename(below)
    (folder / "model.safetensors").touch()  # a folder with weights would be of another kind
    encoder = SentenceEncoder.of(below)
    assert encoder.kind == "onnx"
    np.testing.assert_array_equal(encoder.vectors(TEXTS), expected)


def test_a_layer_behind_the_pooling_is_refused(folder):
    kind = "sentence_transformers.models.Dense"
    write_json(folder / "modules.json", [{"type": kind, "path": "2_Dense"}])
    with pytest.raises(
        FormatError, match="Dense is not supported with an ONNX model; expected only"
    ):
        SentenceEncoder.of(folder).vectors(TEXTS)


def test_a_model_without_its_tokenizer_is_refused(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(
        FormatError,
        match=r"the tokenizer of the ONNX model is missing; expected a file tokenizer\.json",
    ):
        SentenceEncoder.of(folder)


def graph(path, inputs, rank):
    """Write a model that returns its input as floats, per token (rank 3) or per text (rank 2)."""
    from onnx import TensorProto, helper, save

    values = [helper.make_tensor_value_info(name, kind, ["n", "l"]) for name, kind in inputs]
    nodes = [helper.make_node("Cast", [inputs[0][0]], ["made"], to=TensorProto.FLOAT)]
    if rank == 3:
        axis = helper.make_tensor("axis", TensorProto.INT64, [1], [2])
        nodes += [
            helper.make_node("Constant", [], ["axis"], value=axis),
            helper.make_node("Unsqueeze", ["made", "axis"], ["tokens"]),
        ]
    name, shape = ("tokens", ["n", "l", 1]) if rank == 3 else ("made", ["n", "l"])
    output = helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    onnx_graph = helper.make_graph(nodes, "small", values, [output])
    opset = [helper.make_opsetid("", 17)]
    save(helper.make_model(onnx_graph, opset_imports=opset, ir_version=9), path)


def test_a_model_may_read_small_integers_and_make_one_vector_per_text(folder):
    from onnx import TensorProto

    graph(folder / "model.onnx", [("input_ids", TensorProto.INT32)], 2)
    (vector,) = onnx.make(folder).encode(["moon rose"], 1)
    assert vector.tolist() == tokenizer().encode("moon rose").ids


def test_a_model_that_reads_something_else_is_refused(folder):
    from onnx import TensorProto

    for name, kind in [("pixels", TensorProto.INT64), ("input_ids", TensorProto.FLOAT)]:
        graph(folder / "model.onnx", [(name, kind)], 3)
        with pytest.raises(FormatError, match=f"it reads {name}, of type"):
            SentenceEncoder.of(folder).vectors(TEXTS)


def test_a_text_without_tokens_has_zeros_also_where_all_are_so(folder):
    tokenizer(special=False).save(str(folder / "tokenizer.json"))
    encoder = onnx.make(folder)
    assert not encoder.encode(["", " "], 1).any()
    assert encoder.encode(["", "moon"], 1).shape == (2, N_DIMS)
    assert encoder.encode(["", "moon"], 1).any(axis=1).tolist() == [False, True]


def test_padding_is_the_token_that_the_configuration_names(folder):
    write_json(folder / "config.json", {"pad_token_id": 7})
    expected = SentenceEncoder.of(folder).vectors(TEXTS)
    alone = np.concatenate([onnx.make(folder).encode([text], 1) for text in TEXTS])
    alone /= np.linalg.norm(alone, axis=1, keepdims=True)
    np.testing.assert_allclose(alone, expected, atol=1e-5)


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_without_a_package_the_error_names_the_extra(folder, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"pip install 'wordclass\[onnxruntime\]'"):
        SentenceEncoder.of(folder).vectors(TEXTS)
