"""Exported networks, read by a program that knows nothing of wordclass but the file's JSON."""

import hashlib
import json
import re
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus

torch = pytest.importorskip("torch")

import wordclass as wc  # noqa: E402
from wordclass.network.embedding_layer import EmbeddingLayer  # noqa: E402
from wordclass.network.export import export  # noqa: E402
from wordclass.network.modules import encoder  # noqa: E402
from wordclass.network.text_network import TextNetwork  # noqa: E402

TEXTS, LABELS = corpus(30)
SMALL = {
    "cnn": {"channels": 4, "windows": (2, 5)},
    "lstm": {"hidden": 6},
    "attention": {"hidden": 6},
    "leam": {"window": 5},
}
LONG = " ".join(TEXTS)
BATCHES = [
    [""],
    ["moon"],  # shorter than a filter
    ["", ""],
    ["nobody knows", ""],
    ["Rose ROSE soil, 12.5 the 7-8 (moon)", "moon", "x", LONG, ""],
    TEXTS,
    [LONG],
]


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def fitted(name, texts=TEXTS, labels=LABELS, **options):
    chosen = {"min_docs": 2, "max_epochs": 1, "random_dims": 3, "max_length": 12, "dropout": 0.1}
    return wc.classifier(name, **(chosen | SMALL[name] | options)).fit(texts, labels)


# --- a reader, from the description alone -------------------------------------------------------


def tokens_of(text, steps):
    if steps["number_pattern"] is not None:
        text = re.sub(steps["number_pattern"], steps["number_mask"], text)
    if steps["lowercase"]:
        text = text.lower()
    assert steps["strip_accents"] is None
    actual = re.findall(steps["token_pattern"], text)
    return [token for token in actual if token not in steps["stop_words"]]


def batch_of(texts, about):
    rows = {term: row for row, term in enumerate(about["terms"]) if term is not None}
    ids = []
    lengths = []
    for text in texts:
        actual = tokens_of(text, about["analyzer"])[: about["max_length"]]
        ids.append([rows.get(token, about["unknown"]) for token in actual])
        lengths.append(len(actual))
    longest = max(1, *lengths)
    for k, row in enumerate(ids):
        filling = [about["padding"]] * (longest - len(row))
        ids[k] = row + filling if about["pad"] == "right" else filling + row
    return np.array(ids, np.int64), np.array(lengths, np.int64)


def labels_of(logits, about):
    if about["thresholds"] is None:
        return [about["classes"][row.argmax()] for row in logits]
    above = logits > np.array(about["thresholds"])
    return [[name for name, yes in zip(about["classes"], row, strict=True) if yes] for row in above]


def described(path):
    return json.loads(path.with_name(path.name + ".json").read_text())


def session_of(path):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime reads what was exported")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(path, options)


def scorer_of(path):
    """Return a function from ids and lengths to logits that uses torch or onnxruntime."""
    if path.suffix == ".onnx":
        session = session_of(path)
        return lambda ids, lengths: session.run(["logits"], {"ids": ids, "lengths": lengths})[0]
    network = torch.export.load(path).module()
    return lambda ids, lengths: network(torch.tensor(ids), torch.tensor(lengths)).numpy()


def needs_onnx(ending):
    if ending == ".onnx":
        pytest.importorskip("onnx", reason="wordclass[onnx] is not installed")
        pytest.importorskip("onnxscript", reason="wordclass[onnx] is not installed")


# --- the scores ---------------------------------------------------------------------------------


CASES = [
    *((name, {}) for name in SMALL),
    ("cnn", {"protocol": "paper"}),
    ("attention", {"protocol": "paper"}),
]
OTHER_WORDS = [
    ("leam", {"wce": False, "trainable": True}, ".pt2"),
    ("lstm", {"stop_words": ["moon"], "mask_numbers": False}, ".pt2"),
]


@pytest.mark.untraced  # with every line traced it takes twice as long
@pytest.mark.parametrize(
    ("name", "options", "ending"),
    [*((*case, ending) for case in CASES for ending in (".pt2", ".onnx")), *OTHER_WORDS],
    ids=str,
)
def test_a_program_without_wordclass_makes_the_same_scores(name, options, ending, tmp_path, capfd):
    needs_onnx(ending)
    model = fitted(name, **options)
    path = tmp_path / f"network{ending}"
    model.export(path)
    assert capfd.readouterr() == ("", "")
    about = described(path)
    score = scorer_of(path)
    for texts in BATCHES:
        expected = model.decision_function(texts)
        actual = score(*batch_of(texts, about))
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5)
        assert labels_of(actual, about) == list(model.predict(texts))
        if about["pad"] == "right":  # on the left it is read
            ids, lengths = batch_of(texts, about)
            wider = np.pad(ids, ((0, 0), (0, 9)), constant_values=0)  # whatever stands there
            np.testing.assert_allclose(score(wider, lengths), expected, rtol=0, atol=1e-5)
    assert len(np.unique(np.round(expected, 4))) > 1  # not a network that says nothing


def test_several_labels_are_decided_by_the_thresholds_of_the_description(tmp_path):
    texts, labels = multilabel_corpus(40)
    model = fitted("leam", texts, labels)
    path = tmp_path / "network.pt2"
    model.export(path)
    about = described(path)
    assert about["is_multilabel"]
    assert about["thresholds"] == model.thresholds_.tolist()
    actual = labels_of(scorer_of(path)(*batch_of(texts, about)), about)
    assert actual == [list(labels) for labels in model.predict(texts)]
    assert len({tuple(labels) for labels in actual}) > 1


def test_a_model_that_was_loaded_exports_the_same_network(tmp_path):
    model = fitted("attention")
    model.save(tmp_path / "model")
    model.export(tmp_path / "one.pt2")
    wc.load(tmp_path / "model").export(tmp_path / "other.pt2")
    about = described(tmp_path / "one.pt2")
    inputs = batch_of(TEXTS, about)
    one, other = (scorer_of(tmp_path / name)(*inputs) for name in ("one.pt2", "other.pt2"))
    np.testing.assert_array_equal(one, other)
    again = described(tmp_path / "other.pt2")
    assert {**about, "sha256": None} == {**again, "sha256": None}


READER = """
import sys
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "wordclass":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NotInstalled())
import torch
network = torch.export.load(sys.argv[1]).module()
ids = torch.tensor([[0, 1, 2], [2, int(sys.argv[2]), int(sys.argv[2])]])
print(network(ids, torch.tensor([3, 1])).tolist())
"""


def test_torch_reads_an_lstm_where_wordclass_is_not_installed(tmp_path):
    model = fitted("lstm")
    path = tmp_path / "network.pt2"
    model.export(path)
    padding = model.embedding_.padding
    command = [sys.executable, "-W", "error", "-c", READER, path, str(padding)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    terms = model.embedding_.terms
    expected = model.decision_function([" ".join(terms[:3]), terms[2]])
    np.testing.assert_allclose(json.loads(shown.stdout), expected, rtol=0, atol=1e-5)


# --- the files ----------------------------------------------------------------------------------

EXPORT = """
import resource, sys
import wordclass as wc
model = wc.load(sys.argv[1])
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
try:
    model.export(sys.argv[2])
except wc.StorageError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no limits")
@pytest.mark.parametrize("ending", [".pt2", ".onnx"])
def test_a_network_that_does_not_fit_on_the_disk_is_an_error_with_its_path(tmp_path, ending):
    fitted("cnn").save(tmp_path / "model")
    path = tmp_path / f"network{ending}"
    command = [sys.executable, "-W", "ignore", "-c", EXPORT, tmp_path / "model", path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{path}: cannot be written: File too large")
    assert ".tmp" not in done.stdout


def test_the_description_has_all_that_a_reader_needs(tmp_path):
    U = wc.WordVectors.of(["moon", "tulip", "größe"], [[1, 2], [3, 4], [5, 6]])
    model = fitted("cnn", vectors=U, stop_words=["the", "and"], mask_numbers=False)
    path = tmp_path / "network.pt2"
    model.export(path)
    about = described(path)
    E = model.embedding_
    content = path.read_bytes()
    assert about.pop("sha256") == hashlib.sha256(content).hexdigest()
    assert about.pop("versions") == {"wordclass": wc.__version__, "torch": torch.__version__}
    assert about == {
        "format": "pt2",
        "classes": ["garden", "music", "space"],
        "is_multilabel": False,
        "thresholds": None,
        "max_length": 12,
        "pad": "right",
        "analyzer": {
            "number_pattern": None,
            "number_mask": None,
            "lowercase": True,
            "strip_accents": None,
            "token_pattern": r"(?u)\b\w\w+\b",
            "stop_words": ["and", "the"],
        },
        "unknown": len(E.terms),
        "padding": len(E.terms) + 1,
        "terms": [*E.terms, None, None, "tulip", "größe"],
    }
    for row, term in enumerate(about["terms"]):
        assert term is None or E.row(term) == row


def test_an_analyzer_of_ones_own_is_not_described(tmp_path):
    model = fitted("cnn", analyzer=str.split)
    model.export(tmp_path / "network.pt2")
    assert described(tmp_path / "network.pt2")["analyzer"] is None


def test_numbers_are_masked_as_the_description_says(tmp_path):
    model = fitted("cnn")
    model.export(tmp_path / "network.pt2")
    steps = described(tmp_path / "network.pt2")["analyzer"]
    text = "From 1,000.50 to 7-8, or B2B 3.x in 2020. Straße ÀB " + unicodedata.lookup("OHM SIGN")
    assert tokens_of(text, steps) == list(model.embedding_.analyze(text))
    assert steps["number_mask"] in tokens_of(text, steps)


def test_onnx_is_one_file_with_an_lstm_of_its_own_and_named_sizes(tmp_path):
    needs_onnx(".onnx")
    import onnx

    fitted("lstm").export(tmp_path / "network.onnx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["network.onnx", "network.onnx.json"]
    graph = onnx.load(tmp_path / "network.onnx")
    onnx.checker.check_model(graph, full_check=True)
    assert [node.op_type for node in graph.graph.node].count("LSTM") == 1
    session = session_of(tmp_path / "network.onnx")
    inputs = {tensor.name: (tensor.type, tensor.shape) for tensor in session.get_inputs()}
    assert inputs == {
        "ids": ("tensor(int64)", ["batch", "length"]),
        "lengths": ("tensor(int64)", ["batch"]),
    }
    assert [(tensor.name, tensor.shape) for tensor in session.get_outputs()] == [
        ("logits", ["batch", 3])
    ]


def test_what_was_there_stays_where_exporting_fails(tmp_path, monkeypatch):
    needs_onnx(".onnx")
    model = fitted("cnn")
    path = tmp_path / "network.onnx"
    before = {"network.onnx": b"precious", "network.onnx.json": b"too"}
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setattr("wordclass.network.export._MAX_ONNX_BYTES", 10)
    with pytest.raises(wc.InputError, match=r"one ONNX file cannot hold [\d,]+ bytes of weights"):
        model.export(path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    with pytest.raises(wc.StorageError, match="cannot be written"):
        model.export(tmp_path / "missing" / "network.pt2")


@pytest.mark.parametrize("package", ["onnx", "onnxscript"])
def test_without_the_packages_for_onnx_the_error_names_the_pip_command(
    package, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, package, None)
    if package == "onnxscript":
        pytest.importorskip("onnx", reason="wordclass[onnx] is not installed")
    expected = (
        rf"{package} is needed to write .*a\.onnx; install it with: pip install 'wordclass\[onnx\]'"
    )
    with pytest.raises(wc.MissingExtraError, match=expected):
        fitted("cnn").export(tmp_path / "a.onnx")
    assert not list(tmp_path.iterdir())


# --- networks of one's own ----------------------------------------------------------------------


E = wc.EmbeddingMatrix.of(wc.WordVectors.of(["moon", "tax"], [[1, 2], [3, 4]]), random_dims=2)


@pytest.mark.parametrize("name", ["mean", "cnn", "lstm"])
def test_a_network_is_written_as_it_predicts_and_stays_what_it_was(name, tmp_path):
    options = {"cnn": {"channels": 3}, "lstm": {"hidden": 3}}.get(name, {})
    layer = EmbeddingLayer(E, trainable={"random": True}, dropout=0.5)
    network = TextNetwork(layer, encoder(name, E.n_dims, **options), 2, dropout=0.5)
    with torch.no_grad():
        layer.vectors["random"].weight[E.padding] = 5  # as an optimizer might leave it
    before = {key: weight.clone() for key, weight in network.state_dict().items()}
    shown = repr(network)
    export(network, tmp_path / "network.pt2")
    assert [path.name for path in tmp_path.iterdir()] == ["network.pt2"]
    assert network.training
    assert repr(network) == shown
    assert all(torch.equal(weight, before[key]) for key, weight in network.state_dict().items())
    batch = E.index(["Tax the moon", "", "moon"])
    with torch.no_grad():
        expected = network.eval()(batch.ids, batch.lengths)
    actual = torch.export.load(tmp_path / "network.pt2").module()
    ids = torch.from_numpy(batch.ids)
    lengths = torch.from_numpy(batch.lengths)
    torch.testing.assert_close(actual(ids, lengths), expected, rtol=0, atol=1e-5)


def test_what_cannot_be_exported_is_an_error(tmp_path):
    network = TextNetwork(EmbeddingLayer(E), encoder("mean", E.n_dims), 2)
    with pytest.raises(wc.InputError, match=r"a\.pth: its ending is not a format of networks"):
        export(network, tmp_path / "a.pth")
    with pytest.raises(wc.InputError, match=r"a Linear; expected a wordclass\.torch\.TextC"):
        export(torch.nn.Linear(2, 2), tmp_path / "a.pt2")
    network.encoder.own = torch.nn.LSTM(2, 2, batch_first=True, bidirectional=True)
    with pytest.raises(wc.InputError, match=r"LSTM\(.*bidirectional=True\) cannot be exported"):
        export(network, tmp_path / "a.pt2")
    with pytest.raises(ValueError, match="not fitted"):
        wc.classifier("cnn").export(tmp_path / "a.pt2")
    assert not list(tmp_path.iterdir())
