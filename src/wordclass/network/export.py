"""A trained network as a file for programs without wordclass: torch's .pt2, or ONNX."""

import hashlib
import json
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any, cast

import torch
from torch.export import Dim, ExportedProgram

from wordclass import naming, storage
from wordclass.arrays import Floats
from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.errors import InputError
from wordclass.labels import Codeframe
from wordclass.network.exported_network import ExportedNetwork, as_torch_has_it
from wordclass.network.text_classifier import TextClassifier
from wordclass.text.analyzer import NUMBER_MASK, NUMBER_PATTERN, Analyze, Analyzer
from wordclass.text.sequences import Side

FORMATS = ("pt2", "onnx")

_MOST_BYTES = 1_500_000_000  # of an ONNX file: from there on torch puts weights into a second one
_OPSET = 18
_AXES = {"ids": ("batch", "length"), "lengths": ("batch",)}


def export(
    network: TextClassifier,
    path: str | PathLike[str],
    format: str | None = None,
    about: Mapping[str, object] | None = None,
) -> None:
    """Write a network as a file; what is there already is replaced, when all went well.

    It takes `ids`, int64 (batch, length), and `lengths`, int64 (batch,), and returns `logits`
    (batch, classes). A batch may have any number of texts, and of places a text, both from 1 on.

    Parameters
    ----------
    network
        It is not changed, and written as it is in evaluation mode, for the CPU.
    path
        The file.
    format
        "pt2", for `torch.export.load`, or "onnx"; None: what the ending of the file says.
    about
        What a program needs to make ids of texts, see `description`: is written beside the file,
        as PATH.json, with a checksum of the file. None: nothing is.

    Raises
    ------
    InputError
        The ending names no format; or the network is none, or too large for ONNX.
    MissingExtraError
        ONNX needs packages that are not installed.
    """
    place = Path(path)
    chosen = format_of(place, format)
    if not isinstance(network, TextClassifier):
        raise InputError(f"network is a {type(network).__name__}; expected a TextClassifier")
    with storage.replacing(place) as temporary, _quiet():
        if chosen == "onnx":
            _write_onnx(network, temporary, place)
        else:
            _write_pt2(network, temporary)
        if about is not None:
            told = {"format": chosen, "sha256": _checksum(temporary), **about}
            with storage.replacing(beside(place)) as description_file:
                description_file.write_text(json.dumps(told), encoding="utf-8")


def format_of(path: Path, format: str | None = None) -> str:
    """Return the format to write: the given one, or that of the ending."""
    chosen = path.suffix.lower().removeprefix(".") if format is None else format
    if chosen in FORMATS:
        return chosen
    if format is not None:
        raise InputError(f"format is {format!r}; expected 'pt2' or 'onnx'")
    raise InputError(f"{path}: its ending names no format of networks; expected .pt2 or .onnx")


def beside(path: Path) -> Path:
    """Return where the description of an exported network is: PATH.json."""
    return path.with_name(f"{path.name}.json")


def description(
    E: EmbeddingMatrix,
    codeframe: Codeframe,
    thresholds: Floats | None,
    *,
    max_length: int,
    pad: Side,
) -> dict[str, Any]:
    """Return what a program needs to turn texts into ids, and logits into labels.

    Parameters
    ----------
    E
        The rows that ids stand for, and what cuts a text into tokens.
    codeframe
        The classes, in the order of the logits.
    thresholds
        (m,) above which a class is given to a text; None: the class with the highest logit is.
    max_length
        Of a longer text the first so many tokens are read.
    pad
        On which side of a text the padding goes.
    """
    terms: Sequence[str | None] = [*E.terms, None, None, *E.unseen_terms]
    return {
        "versions": {"wordclass": metadata.version("wordclass"), "torch": str(torch.__version__)},
        "classes": list(codeframe.classes),
        "is_multilabel": codeframe.is_multilabel,
        "thresholds": None if thresholds is None else thresholds.tolist(),
        "max_length": max_length,
        "pad": pad,
        "analyzer": _analyzer(E.analyze),
        "unknown": E.unknown,
        "padding": E.padding,
        "terms": terms,
    }


def _analyzer(analyze: Analyze) -> dict[str, Any] | None:
    """Return the steps from text to tokens; None where they are a function of the user's own."""
    if not isinstance(analyze, Analyzer):
        return None
    return {
        "number_pattern": NUMBER_PATTERN if analyze.mask_numbers else None,
        "number_mask": NUMBER_MASK if analyze.mask_numbers else None,
        "lowercase": analyze.lowercase,
        "strip_accents": analyze.strip_accents,
        "token_pattern": analyze.token_pattern,
        "stop_words": sorted(analyze.stop_words),
    }


def _write_pt2(network: TextClassifier, path: Path) -> None:
    program = _followed(ExportedNetwork(network, is_onnx=False))
    as_torch_has_it(program)
    with path.open("wb") as stream:  # of a path, torch wants the ending
        torch.export.save(program, stream)


def _write_onnx(network: TextClassifier, path: Path, place: Path) -> None:
    for package in ("onnx", "onnxscript"):
        naming.extra(package, f"to write {place}", brought_by="onnx")
    exported = ExportedNetwork(network, is_onnx=True)
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


def _followed(exported: ExportedNetwork) -> ExportedProgram:
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


def _checksum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
