"""A model as an ONNX file, with the file of its tokenizer beside it: run by onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np

from wordclass import catalogue
from wordclass.arrays import Floats32, Ints
from wordclass.errors import FormatError
from wordclass.sentence.kinds import _files
from wordclass.storage.files import wrap_foreign_errors

_BATCH = 32  # texts
_MOST_TOKENS = 512  # of a text, where nothing tells what the model can read
_MODULES = {"Transformer", "Pooling", "Normalize"}
_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_ONLY_ERRORS = 3  # of onnxruntime's own messages
_OLD_MODES = {  # of pooling, as the flags of older folders name them, in this order
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


def recognizes(path: Path) -> bool:
    """Whether this is such a file, or a folder with one and without other weights."""
    is_file = path.suffix == ".onnx" and path.is_file()
    return is_file or (_model_in(path) is not None and not _files.has_weights(path))


def files(path: Path) -> list[Path]:
    """Return the model with its data, the tokenizer, and what says how they are used."""
    model, folder = _places(path)
    beside = [each for each in model.parent.glob(f"{model.name}*") if each != model]
    return [model, *beside, *folder.glob("*.json"), *folder.glob("*_Pooling/config.json")]


class OnnxEncoder:
    """Runs an ONNX model; its vectors of tokens are pooled, unless it makes one per text."""

    def __init__(self, path: Path) -> None:
        self._runtime = catalogue.import_extra("onnxruntime", f"to read {path}")
        self._model, folder = _places(path)
        modules = _files.read_modules(folder)
        if unknown := {name for name, _ in modules} - _MODULES:
            told = f"the module {min(unknown)} is not supported beside an ONNX model"
            raise FormatError(folder / "modules.json", None, told)
        self._modes = _pooling_modes(folder)
        self._tokenizer = _files.read_tokenizer(folder / "tokenizer.json", "onnxruntime")
        self._tokenizer.enable_truncation(_most_tokens(folder))
        padding = _files.read_facts(folder / "config.json").get("pad_token_id")
        self._padding = padding if isinstance(padding, int) else 0
        self._sessions: dict[int, Any] = {}

    def encode(self, texts: list[str], n_threads: int) -> Floats32:
        """Return the vectors (n, d) of texts; one without tokens has zeros."""
        session = self._session(n_threads)
        encoded = [self._tokenizer.encode(text).ids for text in texts]
        parts = [encoded[start : start + _BATCH] for start in range(0, len(encoded), _BATCH)]
        vectors = np.concatenate([self._batch(session, part) for part in parts])
        vectors[[not ids for ids in encoded]] = 0
        return vectors

    def _batch(self, session: Any, encoded: list[list[int]]) -> Floats32:  # noqa: ANN401
        shape = len(encoded), max(1, *map(len, encoded))
        ids, mask = np.full(shape, self._padding, np.int64), np.zeros(shape, np.int64)
        for row, own in enumerate(encoded):
            ids[row, : len(own)], mask[row, : max(1, len(own))] = own, 1
        known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = {
            each.name: known[each.name].astype(_TYPES[each.type]) for each in session.get_inputs()
        }
        names = [each.name for each in session.get_outputs()]
        outputs = dict(zip(names, session.run(None, wanted), strict=True))
        made = outputs.get("sentence_embedding", next(iter(outputs.values())))
        return np.asarray(made if made.ndim == 2 else self._pooled(made, mask), np.float32)

    def _pooled(self, tokens: Floats32, mask: Ints) -> Floats32:
        """Return one vector (n, d) of those of a text's tokens (n, l, d)."""
        is_token = mask[:, :, None].astype(bool)
        pooled = {
            "cls": tokens[:, 0],
            "max": np.where(is_token, tokens, -np.inf).max(axis=1),
            "mean": (tokens * is_token).sum(axis=1) / is_token.sum(axis=1),
        }
        return np.concatenate([pooled[mode] for mode in self._modes], axis=1)

    def _session(self, n_threads: int) -> Any:  # noqa: ANN401 - onnxruntime's own
        if n_threads not in self._sessions:
            options = self._runtime.SessionOptions()
            options.intra_op_num_threads = n_threads
            options.log_severity_level = _ONLY_ERRORS
            with wrap_foreign_errors(self._model):
                session = self._runtime.InferenceSession(
                    str(self._model), options, providers=["CPUExecutionProvider"]
                )
            self._sessions[n_threads] = self._checked(session)
        return self._sessions[n_threads]

    def _checked(self, session: Any) -> Any:  # noqa: ANN401 - onnxruntime's own
        """Refuse a model that reads something other than tokens."""
        known = {"input_ids", "attention_mask", "token_type_ids"}
        for each in session.get_inputs():
            if each.name not in known or each.type not in _TYPES:
                told = f"it reads {each.name}, of type {each.type}"
                expected = f"expected integers named {', '.join(sorted(known))}"
                raise FormatError(self._model, None, f"{told}; {expected}")
        return session


def _places(path: Path) -> tuple[Path, Path]:
    """Return the ONNX file, and the folder with its tokenizer: its own, or the one above."""
    model = path if path.is_file() else _model_in(path)
    if model is None:
        raise FormatError(path, None, "there is no ONNX model, or more than one: give its file")
    for folder in (model.parent, model.parent.parent):
        if (folder / "tokenizer.json").is_file():
            return model, folder
    raise FormatError(model.parent, None, "there is no tokenizer.json beside the ONNX model")


def _model_in(folder: Path) -> Path | None:
    """Return the ONNX model of a folder: `model.onnx`, or the only one that is there."""
    for place in (folder, folder / "onnx"):
        found = sorted(place.glob("*.onnx"))
        if (place / "model.onnx") in found:
            return place / "model.onnx"
        if len(found) == 1:
            return found[0]
    return None


def _most_tokens(folder: Path) -> int:
    """Return how many tokens of a text the model reads, as the files beside it tell."""
    for name, key in (
        ("sentence_bert_config.json", "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
        ("config.json", "max_position_embeddings"),
    ):
        told = _files.read_facts(folder / name).get(key)
        if isinstance(told, int) and 0 < told <= 1 << 20:
            return told
    return _MOST_TOKENS


def _pooling_modes(folder: Path) -> list[str]:
    """Return how one vector is made of those of the tokens: their mean, if nothing tells."""
    place = next((each for name, each in _files.read_modules(folder) if name == "Pooling"), None)
    path = folder / (place or "1_Pooling") / "config.json"
    facts = _files.read_facts(path)
    told = facts.get("pooling_mode", [])
    modes = [*told] if isinstance(told, list) else [told]
    modes = modes or [mode for key, mode in _OLD_MODES.items() if facts.get(key)] or ["mean"]
    if modes == ["mean_sqrt_len_tokens"]:  # all vectors get length 1, so this is the mean
        modes = ["mean"]
    if not {*map(str, modes)} <= {"cls", "max", "mean"}:
        raise FormatError(path, None, f"it pools by {modes!s:.60}; expected cls, max or mean")
    return modes


make = OnnxEncoder
