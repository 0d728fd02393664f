"""The network as it is exported: the same scores, made of what torch and ONNX can write down.

An exporter follows a network once, with a small batch, and notes what happens to it; the lengths
of a later batch may be others. What it cannot follow is put differently here: the loop of an LSTM
over the places of a text, and the choice of whether a text is shorter than a filter.
"""

from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.nn import functional

from wordclass.encoders._masks import zero_padding
from wordclass.encoders.cnn import CnnEncoder
from wordclass.errors import InputError
from wordclass.network.embedding_layer import EmbeddingLayer
from wordclass.network.text_classifier import TextClassifier

_OP = "wordclass::lstm"
_TORCH_GATES = "ifgo"  # the order in which weights of the gates stand
_ONNX_GATES = "iofg"

torch.library.define(
    _OP,
    "(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
    "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
)


class ExportedNetwork(nn.Module):
    """What a `TextClassifier` does when it predicts, on copies of its weights, on the CPU.

    Parameters
    ----------
    network
        It is not changed.
    is_onnx
        Whether it is to be written as ONNX, which has an LSTM of its own.
    """

    def __init__(self, network: TextClassifier, is_onnx: bool) -> None:
        super().__init__()
        self.layer = _rows(network.layer)
        self.encoder = _exported(network.encoder, is_onnx)
        self.head = deepcopy(network.head)
        self.cpu().eval().requires_grad_(False)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return logits (b, n_classes) for ids (b, l) and lengths (b,)."""
        logits: Tensor = self.head(self.encoder(self.layer(ids), lengths))
        return logits


class _Rows(nn.Module):
    """E as one table, its blocks side by side."""

    def __init__(self, layer: EmbeddingLayer) -> None:
        super().__init__()
        E = torch.cat([block.state_dict()["weight"] for block in layer.vectors.values()], dim=1)
        E[layer.padding_idx] = 0
        self.register_buffer("E", E)

    def forward(self, ids: Tensor) -> Tensor:
        return functional.embedding(ids, self.get_buffer("E"))


class _Cnn(nn.Module):
    """A `CnnEncoder` that fills up texts of all lengths, and then looks at the same windows.

    The encoder fills up batches that are shorter than the widest filter, so it asks for the length.
    """

    def __init__(self, encoder: CnnEncoder) -> None:
        super().__init__()
        self.filters = deepcopy(encoder.filters)
        self.windows, self.masked = encoder.windows, encoder.masked

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        widest = max(self.windows)
        if self.masked:
            vectors = zero_padding(vectors, lengths)
        sides = (0, widest - 1) if self.masked else (widest - 1, 0)
        texts = functional.pad(vectors.transpose(1, 2), sides)  # (b, d, l + widest - 1)
        # windows before the first have more zeros in front than the encoder puts there
        first = torch.sym_min(vectors.shape[1], widest) - 1  # type: ignore[no-untyped-call]
        strongest = []
        for filters, window in zip(self.filters, self.windows, strict=True):
            responses = filters(texts)  # (b, channels, places)
            places = torch.arange(responses.shape[2])
            if self.masked:
                is_outside = (places > (lengths - window).clamp(min=0)[:, None])[:, None]
            else:
                is_outside = places < first
            strongest.append(responses.masked_fill(is_outside, -torch.inf).amax(dim=2))
        return torch.cat(strongest, dim=1).relu()


class _TorchLstm(nn.Module):
    """An LSTM as one operation; `as_torch_has_it` makes it torch's own."""

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
        W, R, *biases = (_reordered(weight.detach()) for weight in lstm.parameters())
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


def _shapes(input: Tensor, hx: list[Tensor], *_options: object) -> tuple[Tensor, Tensor, Tensor]:
    """Say what the LSTM returns, without doing it: that is all an exporter needs."""
    states = input.new_empty((*input.shape[:2], hx[0].shape[2]))
    return states, torch.empty_like(hx[0]), torch.empty_like(hx[1])


torch.library.register_fake(_OP, _shapes)


def as_torch_has_it(program: ExportedProgram) -> None:
    """Put torch's own LSTM in the place of ours.

    torch follows its own step by step, as many as the first batch has places, and then serves this
    length only; so it is put in where nothing is followed any more.
    """
    for node in program.graph.nodes:
        if node.target is torch.ops.wordclass.lstm.default:
            node.target = torch.ops.aten.lstm.input
    program.graph_module.recompile()


def _rows(layer: nn.Module) -> nn.Module:
    # a class that inherits from it may do something else
    return _Rows(layer) if type(layer) is EmbeddingLayer else deepcopy(layer)


def _exported(encoder: nn.Module, is_onnx: bool) -> nn.Module:
    """Return a copy of an encoder, with the parts above in the place of its own."""
    if type(encoder) is CnnEncoder:
        return _Cnn(encoder)
    copied = deepcopy(encoder)
    for part in list(copied.modules()):
        for name, child in list(part.named_children()):
            if isinstance(child, nn.LSTM):
                _check(child)
                setattr(part, name, _OnnxLstm(child) if is_onnx else _TorchLstm(child))
    return copied


def _check(lstm: nn.LSTM) -> None:
    """Refuse what is not computed here, such as a second layer."""
    is_plain = lstm.num_layers == 1 and not lstm.bidirectional and not lstm.proj_size
    if not (is_plain and lstm.bias and lstm.batch_first):
        raise InputError(
            f"{lstm} cannot be exported; expected one layer, one direction, biases, no projection "
            "and batch_first=True"
        )


def _reordered(weight: Tensor) -> Tensor:
    gates = dict(zip(_TORCH_GATES, weight.chunk(4), strict=True))
    return torch.cat([gates[name] for name in _ONNX_GATES])
