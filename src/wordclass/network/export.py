"""Write a trained network to a file for programs without wordclass: torch's .pt2 or ONNX.

An exporter runs a network once with a small batch and records its operations. Later batches may
have other lengths. It cannot record the loop of an LSTM over the positions of a text, so the second
half of this file replaces the LSTM.
"""

import hashlib
import io
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram
from torch.nn import functional

from wordclass import catalogue
from wordclass.errors import InputError
from wordclass.network.embedding_layer import EmbeddingLayer
from wordclass.network.text_network import TextNetwork
from wordclass.storage import files

_MAX_ONNX_BYTES = 1_500_000_000  # torch writes the weights of larger models to a second file
_OPSET = 18
_AXES = {"ids": ("batch", "length"), "lengths": ("batch",)}
_LSTM = "wordclass::lstm"


def export(
    network: TextNetwork, path: str | PathLike[str], about: Mapping[str, object] | None = None
) -> None:
    """Write a network to a file. An existing file is replaced only if all steps succeed.

    The exported network takes `ids`, int64 (batch, length), and `lengths`, int64 (batch,), and
    returns `logits` (batch, classes). A batch may have any number of texts and any length, both
    from 1.

    Parameters
    ----------
    network : TextNetwork
        The network. It is written in evaluation mode for the CPU and remains unchanged.
    path : str or PathLike
        The file. Its ending decides the format: .pt2, for `torch.export.load`, or .onnx.
    about : dict, optional
        Information that a program needs to turn texts into ids and logits into labels. It is
        written to PATH.json, with versions and a checksum of the file. By default there is no such
        file.

    Raises
    ------
    InputError
        If the ending is not a known format, or the network is not a TextNetwork or too large for
        ONNX.
    MissingExtraError
        If packages that ONNX needs are not installed.
    """
    target = Path(path)
    file_format = export_format(target)
    if not isinstance(network, TextNetwork):
        raise InputError(
            f"network is a {type(network).__name__}", expected="a wordclass.torch.TextClassifier"
        )
    with files.replace_atomically(target) as temporary, _suppress_messages():
        exportable = _make_exportable(network, is_onnx=file_format == "onnx")
        if file_format == "onnx":
            _write_onnx(exportable, temporary, target)
        else:
            _write_pt2(exportable, temporary)
        if about is not None:
            with temporary.open("rb") as stream:
                checksum = hashlib.file_digest(stream, "sha256").hexdigest()
            versions = {"wordclass": metadata.version("wordclass"), "torch": torch.__version__}
            description = {
                "format": file_format,
                "sha256": checksum,
                "versions": versions,
                **about,
            }
            with files.replace_atomically(description_path(target)) as description_file:
                description_file.write_text(json.dumps(description), encoding="utf-8")


def export_format(path: Path) -> str:
    """Return the format that the ending of a file stands for."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in ("pt2", "onnx"):
        raise InputError(
            f"{path}: its ending is not a format of networks", expected="a file .pt2 or .onnx"
        )
    return ending


def description_path(path: Path) -> Path:
    """Return the path of the description of an exported network: PATH.json."""
    return path.with_name(f"{path.name}.json")


def _write_pt2(exportable: TextNetwork, path: Path) -> None:
    program = _record(exportable)
    # torch unrolls its own LSTM over the positions of the first batch, and the program then accepts
    # only this length. So torch's LSTM replaces the custom operation after the recording.
    for node in program.graph.nodes:
        if node.target is torch.ops.wordclass.lstm.default:
            node.target = torch.ops.aten.lstm.input
    program.graph_module.recompile()
    content = io.BytesIO()  # torch aborts the process if it cannot write a file
    torch.export.save(program, content)
    path.write_bytes(content.getbuffer())


def _write_onnx(exportable: TextNetwork, path: Path, target: Path) -> None:
    for package in ("onnx", "onnxscript"):
        catalogue.import_extra(package, f"to write {target}", extra="onnx")
    n_bytes = sum(tensor.nbytes for tensor in exportable.state_dict().values())
    if n_bytes > _MAX_ONNX_BYTES:
        raise InputError(
            f"{target}: one ONNX file cannot hold {n_bytes:,} bytes of weights",
            expected=f"at most {_MAX_ONNX_BYTES:,} bytes",
            hint=(
                "write .pt2, or train with keep_unseen=False to keep only the vectors of words in "
                "the training texts"
            ),
        )
    program = torch.onnx.export(
        _record(exportable),
        input_names=list(_AXES),
        output_names=["logits"],
        dynamic_shapes={name: dict(enumerate(axes)) for name, axes in _AXES.items()},
        opset_version=_OPSET,
        dynamo=True,
        verbose=False,
    )
    cast("torch.onnx.ONNXProgram", program).save(path)


def _record(exportable: TextNetwork) -> ExportedProgram:
    """Record the operations for a small batch, with variable numbers of texts and positions."""
    ids = torch.zeros((3, 4), dtype=torch.int64)
    lengths = torch.tensor([4, 1, 0])
    sizes = {"batch": Dim("batch", min=1), "length": Dim("length", min=1)}
    shapes = {
        name: {number: sizes[axis] for number, axis in enumerate(axes)}
        for name, axes in _AXES.items()
    }
    return torch.export.export(exportable, (ids, lengths), dynamic_shapes=shapes, strict=False)


@contextmanager
def _suppress_messages() -> Iterator[None]:
    """Suppress torch's messages about optional packages and deprecations."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


# --- the network, made of modules that torch and ONNX can export ---------------------------------


def _make_exportable(network: TextNetwork, is_onnx: bool) -> TextNetwork:
    """Return a copy for the CPU, with the LSTM and the layer replaced by the modules below."""
    layer = network.layer
    # a subclass of the layer may compute something else
    layer = _Table(layer) if type(layer) is EmbeddingLayer else deepcopy(layer)
    exportable = TextNetwork(layer, deepcopy(network.encoder), network.head.out_features)
    exportable.head = deepcopy(network.head)
    for module in list(exportable.encoder.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.LSTM):
                _check_lstm(child)
                setattr(module, name, _OnnxLstm(child) if is_onnx else _TorchLstm(child))
    return exportable.cpu().eval().requires_grad_(False)


def _check_lstm(lstm: nn.LSTM) -> None:
    """Raise an InputError if an LSTM has options that the modules below lack."""
    is_plain = lstm.num_layers == 1 and not lstm.bidirectional and not lstm.proj_size
    if not (is_plain and lstm.bias and lstm.batch_first):
        raise InputError(
            f"{lstm} cannot be exported",
            expected="one layer, one direction, biases, no projection and batch_first=True",
        )


class _Table(nn.Module):
    """The embedding matrix as one table, with its blocks side by side."""

    def __init__(self, layer: EmbeddingLayer) -> None:
        super().__init__()
        E = torch.cat([block.state_dict()["weight"] for block in layer.vectors.values()], dim=1)
        E[layer.padding_idx] = 0
        self.register_buffer("E", E)

    def forward(self, ids: Tensor) -> Tensor:
        return functional.embedding(ids, self.get_buffer("E"))


# --- the LSTM ------------------------------------------------------------------------------------

torch.library.define(
    _LSTM,
    "(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
    "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
)


def _make_empty_results(
    input: Tensor, hx: list[Tensor], *_options: object
) -> tuple[Tensor, Tensor, Tensor]:
    """Return tensors of the shapes of the LSTM's results, which is all an exporter needs."""
    states = input.new_empty((*input.shape[:2], hx[0].shape[2]))
    return states, torch.empty_like(hx[0]), torch.empty_like(hx[1])


torch.library.register_fake(_LSTM, _make_empty_results)


class _TorchLstm(nn.Module):
    """An LSTM as one custom operation, which `_write_pt2` replaces by torch's own."""

    def __init__(self, lstm: nn.LSTM) -> None:
        super().__init__()
        self.weights = nn.ParameterList(weight.detach() for weight in lstm.parameters())
        self.hidden = lstm.hidden_size

    def forward(self, vectors: Tensor) -> tuple[Tensor]:
        start = vectors.new_zeros((1, vectors.shape[0], self.hidden))
        options = (True, 1, 0.0, False, False, True)  # in the order of the definition above
        states = torch.ops.wordclass.lstm(vectors, [start, start], list(self.weights), *options)
        return (states[0],)


class _OnnxLstm(nn.Module):
    """An LSTM as ONNX's operation of this name."""

    def __init__(self, lstm: nn.LSTM) -> None:
        super().__init__()
        W, R, *biases = (_reorder_gates(weight.detach()) for weight in lstm.parameters())
        self.weights = nn.ParameterList(weight[None] for weight in (W, R, torch.cat(biases)))
        self.hidden = lstm.hidden_size

    def forward(self, vectors: Tensor) -> tuple[Tensor]:
        n_texts, n_positions = vectors.shape[:2]
        states = torch.onnx.ops.symbolic(
            "LSTM",
            [vectors.transpose(0, 1), *self.weights],
            {"hidden_size": self.hidden},
            dtype=vectors.dtype,
            shape=(n_positions, 1, n_texts, self.hidden),  # with one direction
        )
        return (states[:, 0].transpose(0, 1),)


def _reorder_gates(weight: Tensor) -> Tensor:
    """Return the weights of the gates in ONNX's order."""
    input_gate, forget_gate, cell_gate, output_gate = weight.chunk(4)
    return torch.cat([input_gate, output_gate, forget_gate, cell_gate])
