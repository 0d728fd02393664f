"""A trained network as a file for programs without wordclass: torch's .pt2, or ONNX.

An exporter follows a network once, with a small batch, and notes what happens to it; the lengths
of a later batch may be others. What it cannot follow, the loop of an LSTM over the places of a
text, is put differently in the second half of this file.
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

_MOST_BYTES = 1_500_000_000  # of an ONNX file: from there on torch puts weights into a second one
_OPSET = 18
_AXES = {"ids": ("batch", "length"), "lengths": ("batch",)}
_LSTM = "wordclass::lstm"


def export(
    network: TextNetwork, path: str | PathLike[str], about: Mapping[str, object] | None = None
) -> None:
    """Write a network as a file; what is there already is replaced, when all went well.

    It takes `ids`, int64 (batch, length), and `lengths`, int64 (batch,), and returns `logits`
    (batch, classes). A batch may have any number of texts, and of places per text, both from 1 on.

    Parameters
    ----------
    network : TextNetwork
        It is not changed, and written as it is in evaluation mode, for the CPU.
    path : str or PathLike
        The file; its ending says which format: .pt2, for `torch.export.load`, or .onnx.
    about : dict, optional
        What a program needs to make ids of texts and labels of logits: is written beside the file,
        as PATH.json, with versions and a checksum of the file. None: nothing is.

    Raises
    ------
    InputError
        The ending names no format; or the network is none, or too large for ONNX.
    MissingExtraError
        ONNX needs packages that are not installed.
    """
    place = Path(path)
    chosen = export_format(place)
    if not isinstance(network, TextNetwork):
        raise InputError(
            f"network is a {type(network).__name__}; expected a wordclass.torch.TextClassifier"
        )
    with files.replace_atomically(place) as temporary, _quiet():
        exported = _exported(network, is_onnx=chosen == "onnx")
        if chosen == "onnx":
            _write_onnx(exported, temporary, place)
        else:
            _write_pt2(exported, temporary)
        if about is not None:
            with temporary.open("rb") as stream:
                checksum = hashlib.file_digest(stream, "sha256").hexdigest()
            versions = {"wordclass": metadata.version("wordclass"), "torch": torch.__version__}
            told = {"format": chosen, "sha256": checksum, "versions": versions, **about}
            with files.replace_atomically(description_path(place)) as description_file:
                description_file.write_text(json.dumps(told), encoding="utf-8")


def export_format(path: Path) -> str:
    """Return the format to write, as the ending of the file says."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in ("pt2", "onnx"):
        raise InputError(f"{path}: its ending names no format of networks; expected .pt2 or .onnx")
    return ending


def description_path(path: Path) -> Path:
    """Return where the description of an exported network is: PATH.json."""
    return path.with_name(f"{path.name}.json")


def _write_pt2(exported: TextNetwork, path: Path) -> None:
    program = _followed(exported)
    # torch follows its own LSTM step by step, as many as the first batch has places, and then
    # serves this length only; so it takes the place of ours where nothing is followed any more
    for node in program.graph.nodes:
        if node.target is torch.ops.wordclass.lstm.default:
            node.target = torch.ops.aten.lstm.input
    program.graph_module.recompile()
    content = io.BytesIO()  # torch ends the process where a file cannot be written
    torch.export.save(program, content)
    path.write_bytes(content.getbuffer())


def _write_onnx(exported: TextNetwork, path: Path, place: Path) -> None:
    for package in ("onnx", "onnxscript"):
        catalogue.import_extra(package, f"to write {place}", extra="onnx")
    n_bytes = sum(each.nbytes for each in exported.state_dict().values())
    if n_bytes > _MOST_BYTES:
        raise InputError(
            f"{place}: {n_bytes:,} bytes of weights are too many for one ONNX file; write .pt2, or "
            "train with keep_unseen=False, which keeps vectors of the training texts' words only"
        )
    made = torch.onnx.export(
        _followed(exported),
        input_names=list(_AXES),
        output_names=["logits"],
        dynamic_shapes={name: dict(enumerate(axes)) for name, axes in _AXES.items()},
        opset_version=_OPSET,
        dynamo=True,
        verbose=False,
    )
    cast("torch.onnx.ONNXProgram", made).save(path)


def _followed(exported: TextNetwork) -> ExportedProgram:
    """Let torch follow a small batch; the sizes of others may differ."""
    ids, lengths = torch.zeros((3, 4), dtype=torch.int64), torch.tensor([4, 1, 0])
    sizes = {"batch": Dim("batch", min=1), "length": Dim("length", min=1)}
    shapes = {name: {k: sizes[axis] for k, axis in enumerate(_AXES[name])} for name in _AXES}
    return torch.export.export(exported, (ids, lengths), dynamic_shapes=shapes, strict=False)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep torch from telling of packages it does without, and of what it will change."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


# --- the network, made of what torch and ONNX can write down -----------------------------------


def _exported(network: TextNetwork, is_onnx: bool) -> TextNetwork:
    """Return a copy for the CPU, with the parts below in the place of its own."""
    # a class that inherits from the layer may do something else
    layer = network.layer
    layer = _Rows(layer) if type(layer) is EmbeddingLayer else deepcopy(layer)
    copied = TextNetwork(layer, deepcopy(network.encoder), network.head.out_features)
    copied.head = deepcopy(network.head)
    for part in list(copied.encoder.modules()):
        for name, child in list(part.named_children()):
            if isinstance(child, nn.LSTM):
                _check(child)
                setattr(part, name, _OnnxLstm(child) if is_onnx else _TorchLstm(child))
    return copied.cpu().eval().requires_grad_(False)


def _check(lstm: nn.LSTM) -> None:
    """Refuse what is not computed here, such as a second layer."""
    is_plain = lstm.num_layers == 1 and not lstm.bidirectional and not lstm.proj_size
    if not (is_plain and lstm.bias and lstm.batch_first):
        raise InputError(
            f"{lstm} cannot be exported; expected one layer, one direction, biases, no projection "
            "and batch_first=True"
        )


class _Rows(nn.Module):
    """E as one table, its blocks side by side."""

    def __init__(self, layer: EmbeddingLayer) -> None:
        super().__init__()
        E = torch.cat([block.state_dict()["weight"] for block in layer.vectors.values()], dim=1)
        E[layer.padding_idx] = 0
        self.register_buffer("E", E)

    def forward(self, ids: Tensor) -> Tensor:
        return functional.embedding(ids, self.get_buffer("E"))


torch.library.define(
    _LSTM,
    "(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
    "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
)


def _shapes(input: Tensor, hx: list[Tensor], *_options: object) -> tuple[Tensor, Tensor, Tensor]:
    """Say what the LSTM returns, without doing it: that is all an exporter needs."""
    states = input.new_empty((*input.shape[:2], hx[0].shape[2]))
    return states, torch.empty_like(hx[0]), torch.empty_like(hx[1])


torch.library.register_fake(_LSTM, _shapes)


class _TorchLstm(nn.Module):
    """An LSTM as one operation; `_write_pt2` makes it torch's own."""

    def __init__(self, lstm: nn.LSTM) -> None:
        super().__init__()
        self.weights = nn.ParameterList(weight.detach() for weight in lstm.parameters())
        self.hidden = lstm.hidden_size

    def forward(self, vectors: Tensor) -> tuple[Tensor]:
        start = vectors.new_zeros((1, vectors.shape[0], self.hidden))
        options = (True, 1, 0.0, False, False, True)  # as in the definition above
        states = torch.ops.wordclass.lstm(vectors, [start, start], list(self.weights), *options)
        return (states[0],)


class _OnnxLstm(nn.Module):
    """An LSTM as the operation of this name that ONNX has."""

    def __init__(self, lstm: nn.LSTM) -> None:
        super().__init__()
        W, R, *biases = (_in_onnx_order(weight.detach()) for weight in lstm.parameters())
        self.weights = nn.ParameterList(each[None] for each in (W, R, torch.cat(biases)))
        self.hidden = lstm.hidden_size

    def forward(self, vectors: Tensor) -> tuple[Tensor]:
        n_texts, n_places = vectors.shape[:2]
        states = torch.onnx.ops.symbolic(
            "LSTM",
            [vectors.transpose(0, 1), *self.weights],
            {"hidden_size": self.hidden},
            dtype=vectors.dtype,
            shape=(n_places, 1, n_texts, self.hidden),  # the 1: directions
        )
        return (states[:, 0].transpose(0, 1),)


def _in_onnx_order(weight: Tensor) -> Tensor:
    """Reorder the weights of the gates."""
    input, forget, cell, output = weight.chunk(4)
    return torch.cat([input, output, forget, cell])
