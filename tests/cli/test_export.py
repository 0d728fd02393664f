"""Tests of the command `export`, through the `main` that the script calls."""

import json

import numpy as np
import pytest
from made_up import corpus

import wordclass as wc

torch = pytest.importorskip("torch")

TEXTS, LABELS = corpus(30)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "cnn"
    options = {"channels": 4, "windows": (2, 3), "min_docs": 2, "max_epochs": 1}
    wc.classifier("cnn", **options).fit(TEXTS, LABELS).save(folder)
    return folder


def test_the_network_and_its_description_are_written(run, model, tmp_path):
    output = tmp_path / "network.pt2"
    status, out, err = run("export", model, output)
    loaded = wc.load(model)
    assert (status, out) == (0, "")
    assert err == (
        f"{output}: cnn with 3 classes and {len(loaded.embedding_)} vectors, "
        f"{output.stat().st_size:,} bytes; {output}.json describes its use\n"
    )
    batch = loaded.embedding_.index(TEXTS, loaded.max_length)
    network = torch.export.load(output).module()
    scores = network(torch.from_numpy(batch.ids), torch.from_numpy(batch.lengths))
    np.testing.assert_allclose(scores, loaded.decision_function(TEXTS), rtol=0, atol=1e-5)
    about = json.loads((tmp_path / "network.pt2.json").read_text())
    assert about["classes"] == ["garden", "music", "space"]


def test_the_ending_onnx_selects_the_format(run, model, tmp_path):
    pytest.importorskip("onnxscript", reason="wordclass[onnx] is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime reads what was exported")
    output = tmp_path / "network.onnx"
    status, out, err = run("export", model, output, "--json", "--quiet")
    loaded = wc.load(model)
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "output": str(output),
        "description": f"{output}.json",
        "format": "onnx",
        "classifier": "cnn",
        "n_classes": 3,
        "n_rows": len(loaded.embedding_),
        "bytes": output.stat().st_size,
    }
    batch = loaded.embedding_.index(TEXTS, loaded.max_length)
    (scores,) = runtime.InferenceSession(output).run(
        None, {"ids": batch.ids, "lengths": batch.lengths}
    )
    np.testing.assert_allclose(scores, loaded.decision_function(TEXTS), rtol=0, atol=1e-5)


@pytest.mark.parametrize("there", ["network.pt2", "network.pt2.json"])
def test_nothing_is_overwritten_without_force(run, model, tmp_path, there):
    (tmp_path / there).write_text("precious")
    status, out, err = run("export", model, tmp_path / "network.pt2")
    assert (status, out) == (1, "")
    assert err == f"wordclass: {tmp_path / there} exists; use --force to overwrite it\n"
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "precious"
    assert run("export", model, tmp_path / "network.pt2", "--force")[0] == 0
    assert torch.export.load(tmp_path / "network.pt2")
    assert json.loads((tmp_path / "network.pt2.json").read_text())["format"] == "pt2"


def test_an_error_is_one_line(run, model, tmp_path):
    wc.classifier("nearest", min_docs=2).fit(TEXTS, LABELS).save(tmp_path / "nearest")
    output = tmp_path / "network.pt2"
    for arguments, message in [
        (
            (tmp_path / "nearest", output),
            f"{tmp_path / 'nearest'}: a 'nearest' model has no network to export; "
            "expected a cnn, lstm, attention or leam model",
        ),
        (
            (model, tmp_path / "network.pth"),
            f"{tmp_path / 'network.pth'}: its ending is not a format of networks; "
            "expected a file .pt2 or .onnx",
        ),
        ((tmp_path / "missing", output), f"{tmp_path / 'missing'}: no such file or folder"),
    ]:
        assert run("export", *arguments) == (1, "", f"wordclass: {message}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["nearest"]


def test_a_linear_model_is_exported_for_javascript(run, tmp_path):
    wc.classifier("nearest", min_docs=2).fit(TEXTS, LABELS).save(tmp_path / "nearest")
    output = tmp_path / "web"
    status, out, err = run("export", tmp_path / "nearest", output, "--format", "web", "--json")
    assert status == 0
    assert err.endswith("wordclass.mjs reads model.bin\n")
    n_bytes = (output / "model.bin").stat().st_size
    assert json.loads(out) == {
        "output": str(output), "format": "web", "classifier": "nearest", "n_classes": 3,
        "bytes": n_bytes,
    }  # fmt: skip
    assert sorted(path.name for path in output.iterdir()) == ["model.bin", "wordclass.mjs"]
    status, _, err = run("export", tmp_path / "nearest", tmp_path / "x", "--format", "xml")
    assert (status, err) == (1, "wordclass: --format is 'xml'; expected 'web'\n")


def test_a_network_is_not_exported_for_javascript(run, model, tmp_path):
    status, _, err = run("export", model, tmp_path / "web", "--format", "web")
    assert (status, err.count("\n")) == (1, 1)
    assert "a 'cnn' model cannot be exported; expected a linear or nearest model" in err
