"""A folder of sentence-transformers, or of transformers: run by those packages and PyTorch."""

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

_BATCH = 32  # texts: more are slower on a CPU
_MOST_PIECES = 512  # that are read together, also where a model could read more
# what is loaded: those that ask for classes by name, or for packages of their own, are not
_MODULES = {
    "Transformer", "Pooling", "Normalize", "Dense", "LayerNorm", "Dropout", "CNN", "LSTM",
    "StaticEmbedding", "WeightedLayerPooling",
}  # fmt: skip
_PARTS = ("*.json", "*.txt", "*.model", "*.safetensors")
_WEIGHTS = ".safetensors"
_INDEX = "model.safetensors.index.json"
_SAFE = {"model.safetensors", _INDEX}


def recognizes(path: Path) -> bool:
    """Whether a folder lists modules, or has the configuration of a transformer; and its weights.

    One whose weights are an ONNX file is another kind.
    """
    modules = _files.read_modules(path)
    is_static = bool(modules) and {name for name, _ in modules} <= {"StaticEmbedding", "Normalize"}
    if is_static or not (modules or _files.is_transformer(path)):
        return False
    return _files.has_weights(path) or not any([*path.glob("*.onnx"), *path.glob("onnx/*.onnx")])


def files(path: Path) -> list[Path]:
    """Return the configurations, vocabularies and weights, of the folder and of those in it."""
    return [each for part in _PARTS for each in [*path.glob(part), *path.glob(f"*/{part}")]]


class SentenceTransformersEncoder:
    """Runs a model of sentence-transformers; texts longer than it can read are cut."""

    def __init__(self, path: Path) -> None:
        package = catalogue.import_extra("sentence_transformers", f"to read {path}", "encoder")
        self._torch = catalogue.import_extra("torch", f"to read {path}")
        with as_storage_error(path):
            _check(path)
        _files.keep_to_one_thread()
        random = self._torch.random
        with (
            wrap_foreign_errors(path, "it cannot be read as a model"),
            _quiet(),
            _offline(),
            random.fork_rng(devices=[]),
        ):
            random.manual_seed(0)  # of weights that are not used, and may be missing
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
                texts, batch_size=_BATCH, show_progress_bar=False, convert_to_numpy=True
            )
        return vectors

    def encode_tokens(self, texts: list[str], n_threads: int) -> list[tuple[Floats32, Ints]]:
        """Return for each text the vectors (t, d) of its pieces, and the places (t, 2) of these.

        A text longer than the model can read is read in stretches that follow each other. Pieces
        that stand for nothing in the text, such as its end, have an empty place.
        """
        network, tokenizer = self._model[0], self._model.tokenizer
        if not getattr(tokenizer, "is_fast", False):
            raise InputError("the encoder's tokenizer does not tell where in a text its pieces are")
        read = tokenizer(
            texts,
            truncation=True,
            max_length=min(self._model.max_seq_length or _MOST_PIECES, _MOST_PIECES),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        owners = np.array(read.pop("overflow_to_sample_mapping"))
        places = [np.array(own, np.int64).reshape(-1, 2) for own in read.pop("offset_mapping")]
        stretches: list[Floats32] = [np.empty(0, np.float32)] * len(places)
        # the longest first, so that a batch is padded little
        order = sorted(range(len(places)), key=lambda k: -len(places[k]))
        with self._threads(n_threads), self._torch.inference_mode():
            for start in range(0, len(order), _BATCH):
                rows = order[start : start + _BATCH]
                batch = {name: self._padded(name, [read[name][k] for k in rows]) for name in read}
                made = network(batch)["token_embeddings"].float().cpu().numpy()
                for k, vectors in zip(rows, made, strict=True):
                    stretches[k] = vectors[: len(places[k])]
        cuts = np.searchsorted(owners, np.arange(len(texts) + 1))
        own = [slice(*each) for each in pairwise(cuts.tolist())]
        return [(np.concatenate(stretches[k]), np.concatenate(places[k])) for k in own]

    def _padded(self, name: str, rows: list[list[int]]) -> Any:  # noqa: ANN401 - torch's own
        filler = (self._model.tokenizer.pad_token_id or 0) if name == "input_ids" else 0
        longest = max(map(len, rows))
        filled = [[*row, *[filler] * (longest - len(row))] for row in rows]
        return self._torch.tensor(filled, device=self._model.device)

    @contextmanager
    def _threads(self, n_threads: int) -> Iterator[None]:
        before = self._torch.get_num_threads()
        self._torch.set_num_threads(n_threads)
        try:
            yield
        finally:
            self._torch.set_num_threads(before)


def _check(folder: Path) -> None:
    """Refuse a folder that asks for code, for pickles, or for another model."""
    modules = _files.read_modules(folder)
    if unknown := {name for name, _ in modules} - _MODULES:
        told = f"the module {min(unknown)} is not supported"
        raise FormatError(folder / "modules.json", None, f"{told}; known: {sorted(_MODULES)}")
    for place in [folder, *(folder / place for _, place in modules)]:
        _files.read_facts(place / "config.json")
        names = {each.name for each in place.iterdir()} if place.is_dir() else set()
        if "pytorch_model.bin" in names and not names & _SAFE:
            told = "a pickle, which could execute anything, so it is not read"
            save = "model.save_pretrained(folder, safe_serialization=True)"
            raise FormatError(
                place / "pytorch_model.bin", None, f"{told}; make it a safetensors file: {save}"
            )
        if "adapter_config.json" in names:
            reason = "an adapter of another model; expected a whole one (merge_and_unload)"
            raise FormatError(place / "adapter_config.json", None, reason)
        _check_index(place / _INDEX)


def _check_index(path: Path) -> None:
    """Raise FormatError if an index names files that are not beside it."""
    if not path_exists(path):
        return
    weight_map = _files.read_facts(path).get("weight_map")
    if not isinstance(weight_map, dict):
        raise FormatError(path, None, "expected an object 'weight_map': the file of each weight")
    for name in weight_map.values():
        # the file itself may be a link, as in the cache of huggingface_hub
        is_beside = isinstance(name, str) and PurePath(name).name == name
        if not is_beside or not name.endswith(_WEIGHTS):
            expected = f"expected the name of a {_WEIGHTS} file beside the index"
            raise FormatError(path, None, f"weight_map names {name!r:.80}; {expected}")


def _network_folder(folder: Path) -> Path:
    """Return the folder with the configuration and the weights of the first module."""
    modules = _files.read_modules(folder)
    return folder / modules[0][1] if modules else folder


def _check_weights(folder: Path, network: Any) -> None:  # noqa: ANN401 - of transformers
    """Raise FormatError if the files lack weights of a network, which would then be random.

    The weights of the pooler may be missing: vectors are made from the last layer.
    """
    safetensors = catalogue.import_extra("safetensors", f"to read {folder}", "encoder")
    stored: set[str] = set()
    for path in folder.glob(f"*{_WEIGHTS}"):
        with safetensors.safe_open(path, framework="numpy") as arrays:
            stored.update(arrays.keys())
    missing = network.state_dict().keys() - stored
    if not missing:
        return
    # names may differ from those in the files in ways that only transformers knows
    _, report = type(network).from_pretrained(
        folder,
        config=network.config,
        use_safetensors=True,
        local_files_only=True,
        output_loading_info=True,
    )
    missing = {name for name in report["missing_keys"] if "pooler" not in name.split(".")}
    if missing:
        reason = f"{len(missing)} weights are missing, such as {min(missing)}"
        raise FormatError(folder, None, f"{reason}; expected all of them in {_WEIGHTS} files")


@contextmanager
def _offline() -> Iterator[None]:
    """Keep huggingface_hub from asking anybody for anything."""
    constants: Any = catalogue.import_extra(
        "huggingface_hub.constants", "to read encoders", "encoder"
    )
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep other packages from drawing bars and telling of what is no news to users."""
    theirs = catalogue.import_extra("transformers.utils.logging", "to read encoders", "encoder")
    was_shown, verbosity = theirs.is_progress_bar_enabled(), theirs.get_verbosity()
    logger = logging.getLogger("sentence_transformers")
    level = logger.level
    theirs.disable_progress_bar()
    theirs.set_verbosity_error()
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
        theirs.set_verbosity(verbosity)
        if was_shown:
            theirs.enable_progress_bar()


make = SentenceTransformersEncoder
