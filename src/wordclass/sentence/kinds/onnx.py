"""Models in ONNX files with a tokenizer.json in the same folder, run by onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np

from wordclass import catalogue
from wordclass.arrays import Floats32, Ints
from wordclass.errors import FormatError
from wordclass.sentence.kinds import _files
from wordclass.storage.files import wrap_foreign_errors

_BATCH_TEXTS = 32
_DEFAULT_MAX_TOKENS = 512  # of a text, unless a file in the folder says how many the model reads
_MODULES = {"Transformer", "Pooling", "Normalize"}
_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_ERROR_SEVERITY = 3  # onnxruntime logs nothing below it
_POOLING_FLAGS = {  # in older folders, with the modes that they stand for
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


def recognizes(path: Path) -> bool:
    """Return True for an ONNX file, or a folder with one and without other weights."""
    is_file = path.suffix == ".onnx" and path.is_file()
    return is_file or (_find_model(path) is not None and not _files.has_weights(path))


def files(path: Path) -> list[Path]:
    """Return the files of the model, the tokenizer and the settings."""
    model, folder = _locate(path)
    data = [file for file in model.parent.glob(f"{model.name}*") if file != model]
    return [model, *data, *folder.glob("*.json"), *folder.glob("*_Pooling/config.json")]


class OnnxEncoder:
    """Encoder that runs an ONNX model.

    The vectors of tokens are pooled, unless the model returns one vector per text.

    Parameters
    ----------
    path : Path
        The ONNX file, or its folder.
    """

    def __init__(self, path: Path) -> None:
        self._runtime = catalogue.import_extra("onnxruntime", f"to read {path}")
        self._model, folder = _locate(path)
        modules = _files.read_modules(folder)
        if unknown := {name for name, _ in modules} - _MODULES:
            raise FormatError(
                folder / "modules.json",
                None,
                f"the module {min(unknown)} is not supported with an ONNX model",
                expected=f"only {', '.join(sorted(_MODULES))}",
            )
        self._modes = _pooling_modes(folder)
        self._tokenizer = _files.read_tokenizer(folder / "tokenizer.json", "onnxruntime")
        self._tokenizer.enable_truncation(_max_tokens(folder))
        padding = _files.read_settings(folder / "config.json").get("pad_token_id")
        self._padding = padding if isinstance(padding, int) else 0
        self._sessions: dict[int, Any] = {}

    def encode(self, texts: list[str], n_threads: int) -> Floats32:
        """Return the vectors (n, d) of texts. A text without tokens has a zero vector."""
        session = self._session(n_threads)
        encoded = [self._tokenizer.encode(text).ids for text in texts]
        starts = range(0, len(encoded), _BATCH_TEXTS)
        batches = [encoded[start : start + _BATCH_TEXTS] for start in starts]
        vectors = np.concatenate([self._run(session, batch) for batch in batches])
        vectors[[not ids for ids in encoded]] = 0
        return vectors

    def _run(self, session: Any, encoded: list[list[int]]) -> Floats32:  # noqa: ANN401
        """Return the vectors (b, d) of a batch of texts as ids of tokens."""
        shape = (len(encoded), max(1, *map(len, encoded)))
        ids = np.full(shape, self._padding, np.int64)
        mask = np.zeros(shape, np.int64)
        for row, text_ids in enumerate(encoded):
            ids[row, : len(text_ids)] = text_ids
            mask[row, : max(1, len(text_ids))] = 1
        arrays = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        inputs = {
            model_input.name: arrays[model_input.name].astype(_TYPES[model_input.type])
            for model_input in session.get_inputs()
        }
        names = [output.name for output in session.get_outputs()]
        outputs = dict(zip(names, session.run(None, inputs), strict=True))
        vectors = outputs.get("sentence_embedding", next(iter(outputs.values())))
        if vectors.ndim != 2:
            vectors = self._pool(vectors, mask)
        return np.asarray(vectors, np.float32)

    def _pool(self, tokens: Floats32, mask: Ints) -> Floats32:
        """Return one vector (n, d) per text, from the vectors of its tokens (n, l, d)."""
        is_token = mask[:, :, None].astype(bool)
        pooled = {
            "cls": tokens[:, 0],
            "max": np.where(is_token, tokens, -np.inf).max(axis=1),
            "mean": (tokens * is_token).sum(axis=1) / is_token.sum(axis=1),
        }
        return np.concatenate([pooled[mode] for mode in self._modes], axis=1)

    def _session(self, n_threads: int) -> Any:  # noqa: ANN401 - of onnxruntime
        if n_threads not in self._sessions:
            options = self._runtime.SessionOptions()
            options.intra_op_num_threads = n_threads
            options.log_severity_level = _ERROR_SEVERITY
            with wrap_foreign_errors(self._model):
                session = self._runtime.InferenceSession(
                    str(self._model), options, providers=["CPUExecutionProvider"]
                )
            self._check_inputs(session)
            self._sessions[n_threads] = session
        return self._sessions[n_threads]

    def _check_inputs(self, session: Any) -> None:  # noqa: ANN401 - of onnxruntime
        """Raise a FormatError if a model has inputs other than tokens."""
        names = ("attention_mask", "input_ids", "token_type_ids")
        for model_input in session.get_inputs():
            if model_input.name not in names or model_input.type not in _TYPES:
                raise FormatError(
                    self._model,
                    None,
                    f"it reads {model_input.name}, of type {model_input.type}",
                    expected=f"integers named {', '.join(names)}",
                )


def _locate(path: Path) -> tuple[Path, Path]:
    """Return the ONNX file and the folder of its tokenizer, its own or the parent folder."""
    model = path if path.is_file() else _find_model(path)
    if model is None:
        raise FormatError(
            path,
            None,
            "the folder has no ONNX model or more than one",
            hint="pass the path of the ONNX file",
        )
    for folder in (model.parent, model.parent.parent):
        if (folder / "tokenizer.json").is_file():
            return model, folder
    raise FormatError(
        model.parent,
        None,
        "the tokenizer of the ONNX model is missing",
        expected="a file tokenizer.json",
    )


def _find_model(folder: Path) -> Path | None:
    """Return the ONNX model in a folder: `model.onnx`, or the only one."""
    for subfolder in (folder, folder / "onnx"):
        models = sorted(subfolder.glob("*.onnx"))
        if (subfolder / "model.onnx") in models:
            return subfolder / "model.onnx"
        if len(models) == 1:
            return models[0]
    return None


def _max_tokens(folder: Path) -> int:
    """Return the number of tokens of a text that the model reads."""
    for name, key in (
        ("sentence_bert_config.json", "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
        ("config.json", "max_position_embeddings"),
    ):
        max_tokens = _files.read_settings(folder / name).get(key)
        if isinstance(max_tokens, int) and 0 < max_tokens <= 1 << 20:
            return max_tokens
    return _DEFAULT_MAX_TOKENS


def _pooling_modes(folder: Path) -> list[str]:
    """Return the modes of pooling in the settings, or else the mean."""
    modules = _files.read_modules(folder)
    subfolder = next((path for name, path in modules if name == "Pooling"), None)
    path = folder / (subfolder or "1_Pooling") / "config.json"
    settings = _files.read_settings(path)
    setting = settings.get("pooling_mode", [])
    modes = [*setting] if isinstance(setting, list) else [setting]
    if not modes:
        modes = [mode for flag, mode in _POOLING_FLAGS.items() if settings.get(flag)] or ["mean"]
    if modes == ["mean_sqrt_len_tokens"]:  # equal to the mean, because vectors are normalized
        modes = ["mean"]
    if not {*map(str, modes)} <= {"cls", "max", "mean"}:
        raise FormatError(
            path, None, f"the pooling mode is {modes!s:.60}", expected="cls, max or mean"
        )
    return modes


make = OnnxEncoder
