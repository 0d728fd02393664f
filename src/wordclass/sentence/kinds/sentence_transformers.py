"""Models of sentence-transformers or transformers, run by these packages and PyTorch."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from wordclass import catalogue
from wordclass.arrays import Floats32, Ints
from wordclass.errors import FormatError, InputError
from wordclass.sentence.kinds import _files
from wordclass.storage.files import as_storage_error, path_exists, wrap_foreign_errors

_BATCH_TEXTS = 32  # larger batches are slower on a CPU
_MAX_SUBWORDS = 512  # that are read together, even if a model could read more
# modules that load neither classes by name nor packages of their own
_MODULES = {
    "Transformer", "Pooling", "Normalize", "Dense", "LayerNorm", "Dropout", "CNN", "LSTM",
    "StaticEmbedding", "WeightedLayerPooling",
}  # fmt: skip
_FILE_PATTERNS = ("*.json", "*.txt", "*.model", "*.safetensors")
_WEIGHTS_ENDING = ".safetensors"
_INDEX = "model.safetensors.index.json"
_SAFE_FILES = {"model.safetensors", _INDEX}


def recognizes(path: Path) -> bool:
    """Return True for a folder with weights and either modules.json or a transformer's settings.

    A folder whose weights are in an ONNX file is of another kind.
    """
    modules = _files.read_modules(path)
    is_static = bool(modules) and {name for name, _ in modules} <= {"StaticEmbedding", "Normalize"}
    if is_static or not (modules or _files.is_transformer(path)):
        return False
    return _files.has_weights(path) or not any([*path.glob("*.onnx"), *path.glob("onnx/*.onnx")])


def files(path: Path) -> list[Path]:
    """Return the settings, vocabularies and weights in a folder and its subfolders."""
    return [
        file
        for pattern in _FILE_PATTERNS
        for file in [*path.glob(pattern), *path.glob(f"*/{pattern}")]
    ]


class SentenceTransformersEncoder:
    """Encoder that runs a model of sentence-transformers. Long texts are truncated.

    Parameters
    ----------
    path : Path
        The folder.
    """

    def __init__(self, path: Path) -> None:
        package = catalogue.import_extra("sentence_transformers", f"to read {path}", "encoder")
        self._torch = catalogue.import_extra("torch", f"to read {path}")
        with as_storage_error(path):
            _check_folder(path)
        _files.disable_tokenizer_threads()
        random = self._torch.random
        with (
            wrap_foreign_errors(path, "the model cannot be loaded"),
            _suppress_messages(),
            _work_offline(),
            random.fork_rng(devices=[]),
        ):
            random.manual_seed(0)  # for weights that may be missing because they are not used
            self._model: Any = package.SentenceTransformer(
                str(path),
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
            if (network := getattr(self._model[0], "auto_model", None)) is not None:
                _check_weights(_network_folder(path), network)
        self._model.eval()

    def encode(self, texts: list[str], n_threads: int) -> Floats32:
        """Return the vectors (n, d) of texts."""
        with self._threads(n_threads):
            vectors: Floats32 = self._model.encode(
                texts, batch_size=_BATCH_TEXTS, show_progress_bar=False, convert_to_numpy=True
            )
        return vectors

    def encode_tokens(self, texts: list[str], n_threads: int) -> list[tuple[Floats32, Ints]]:
        """Return the vectors (p, d) of each text's subwords, and their positions (p, 2).

        A text that is longer than the model can read is read in consecutive segments. Subwords that
        are not part of the text, such as the mark of its end, have a position of zero length.
        """
        network = self._model[0]
        tokenizer = self._model.tokenizer
        if not getattr(tokenizer, "is_fast", False):
            raise InputError(
                "the tokenizer of the encoder does not give the positions of subwords",
                expected="a fast tokenizer (tokenizer.json)",
            )
        tokenized = tokenizer(
            texts,
            truncation=True,
            max_length=min(self._model.max_seq_length or _MAX_SUBWORDS, _MAX_SUBWORDS),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        text_of_segment = np.array(tokenized.pop("overflow_to_sample_mapping"))
        spans = [
            np.array(offsets, np.int64).reshape(-1, 2)
            for offsets in tokenized.pop("offset_mapping")
        ]
        vectors: list[Floats32] = [np.empty(0, np.float32)] * len(spans)
        # longest segments first, so that batches need little padding
        order = sorted(range(len(spans)), key=lambda segment: -len(spans[segment]))
        with self._threads(n_threads), self._torch.inference_mode():
            for start in range(0, len(order), _BATCH_TEXTS):
                segments = order[start : start + _BATCH_TEXTS]
                batch = {
                    name: self._pad(name, [values[segment] for segment in segments])
                    for name, values in tokenized.items()
                }
                encoded = network(batch)["token_embeddings"].float().cpu().numpy()
                for segment, segment_vectors in zip(segments, encoded, strict=True):
                    vectors[segment] = segment_vectors[: len(spans[segment])]
        bounds = np.searchsorted(text_of_segment, np.arange(len(texts) + 1)).tolist()
        return [
            (np.concatenate(vectors[start:end]), np.concatenate(spans[start:end]))
            for start, end in pairwise(bounds)
        ]

    def _pad(self, name: str, rows: list[list[int]]) -> Any:  # noqa: ANN401 - of torch
        """Return rows of unequal lengths as a tensor."""
        filler = (self._model.tokenizer.pad_token_id or 0) if name == "input_ids" else 0
        longest = max(map(len, rows))
        padded = [[*row, *[filler] * (longest - len(row))] for row in rows]
        return self._torch.tensor(padded, device=self._model.device)

    @contextmanager
    def _threads(self, n_threads: int) -> Iterator[None]:
        previous = self._torch.get_num_threads()
        self._torch.set_num_threads(n_threads)
        try:
            yield
        finally:
            self._torch.set_num_threads(previous)


def _check_folder(folder: Path) -> None:
    """Raise a FormatError if loading a folder needs code, pickles or another model."""
    modules = _files.read_modules(folder)
    if unknown := {name for name, _ in modules} - _MODULES:
        raise FormatError(
            folder / "modules.json",
            None,
            f"the module {min(unknown)} is not supported",
            expected=f"only {', '.join(sorted(_MODULES))}",
        )
    for subfolder in [folder, *(folder / path for _, path in modules)]:
        _files.read_settings(subfolder / "config.json")
        names = {file.name for file in subfolder.iterdir()} if subfolder.is_dir() else set()
        if "pytorch_model.bin" in names and not names & _SAFE_FILES:
            raise FormatError(
                subfolder / "pytorch_model.bin",
                None,
                "it is a pickle, which could execute any code, so it is not read",
                hint=(
                    "convert it to a safetensors file with "
                    "model.save_pretrained(folder, safe_serialization=True)"
                ),
            )
        if "adapter_config.json" in names:
            raise FormatError(
                subfolder / "adapter_config.json",
                None,
                "it is an adapter of another model",
                expected="a complete model",
                hint="merge them with merge_and_unload",
            )
        _check_index(subfolder / _INDEX)


def _check_index(path: Path) -> None:
    """Raise a FormatError if an index names files that are not in its folder."""
    if not path_exists(path):
        return
    weight_map = _files.read_settings(path).get("weight_map")
    if not isinstance(weight_map, dict):
        raise FormatError(
            path,
            None,
            "the files of the weights are missing",
            expected="an object 'weight_map' with the file of each weight",
        )
    for name in weight_map.values():
        # the file itself may be a link, as in the cache of huggingface_hub
        is_in_folder = isinstance(name, str) and PurePath(name).name == name
        if not is_in_folder or not name.endswith(_WEIGHTS_ENDING):
            raise FormatError(
                path,
                None,
                f"weight_map names {name!r:.80}",
                expected=f"a {_WEIGHTS_ENDING} file in the same folder",
            )


def _network_folder(folder: Path) -> Path:
    """Return the folder with the settings and the weights of the first module."""
    modules = _files.read_modules(folder)
    return folder / modules[0][1] if modules else folder


def _check_weights(folder: Path, network: Any) -> None:  # noqa: ANN401 - of transformers
    """Raise a FormatError if the files lack weights of a network, which would then be random.

    The weights of the pooler may be missing, because vectors are computed from the last layer.
    """
    safetensors = catalogue.import_extra("safetensors", f"to read {folder}", "encoder")
    stored: set[str] = set()
    for path in folder.glob(f"*{_WEIGHTS_ENDING}"):
        with safetensors.safe_open(path, framework="numpy") as arrays:
            stored.update(arrays.keys())
    missing = network.state_dict().keys() - stored
    if not missing:
        return
    # the names in the files may differ in ways that only transformers knows
    _, report = type(network).from_pretrained(
        folder,
        config=network.config,
        use_safetensors=True,
        local_files_only=True,
        output_loading_info=True,
    )
    missing = {name for name in report["missing_keys"] if "pooler" not in name.split(".")}
    if missing:
        raise FormatError(
            folder,
            None,
            f"{len(missing)} weights are missing, such as {min(missing)}",
            expected=f"all weights in {_WEIGHTS_ENDING} files",
        )


@contextmanager
def _work_offline() -> Iterator[None]:
    """Prevent huggingface_hub from accessing the network."""
    constants: Any = catalogue.import_extra(
        "huggingface_hub.constants", "to read encoders", "encoder"
    )
    previous = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = previous


@contextmanager
def _suppress_messages() -> Iterator[None]:
    """Suppress progress bars and messages of other packages."""
    transformers_log = catalogue.import_extra(
        "transformers.utils.logging", "to read encoders", "encoder"
    )
    had_progress_bar = transformers_log.is_progress_bar_enabled()
    verbosity = transformers_log.get_verbosity()
    logger = logging.getLogger("sentence_transformers")
    level = logger.level
    transformers_log.disable_progress_bar()
    transformers_log.set_verbosity_error()
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
        transformers_log.set_verbosity(verbosity)
        if had_progress_bar:
            transformers_log.enable_progress_bar()


make = SentenceTransformersEncoder
