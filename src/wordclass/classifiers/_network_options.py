"""Which options a network can be trained with: checked before any work is done."""

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from wordclass.checks import check_int
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.encoders._initialization import check_sizes
from wordclass.errors import InputError
from wordclass.network import device
from wordclass.network.supervised_dropout import KNOWN_BLOCKS
from wordclass.word_vectors import WordVectors

_SIZES = ("batch_size", "max_epochs", "patience", "max_length")
_OWN_SIZES = ("channels", "hidden", "window")  # of some networks


def check(options: Mapping[str, Any]) -> None:
    """Refuse what makes no sense; for the options see `NetworkClassifier`."""
    if options["protocol"] not in ("clean", "paper"):
        raise InputError(f"protocol is {options['protocol']!r}; expected 'clean' or 'paper'")
    check_sizes(**{name: options[name] for name in (*_SIZES, *_OWN_SIZES) if name in options})
    _check_windows(options)
    if options["batches_per_epoch"] not in (None, "auto"):
        check_sizes(batches_per_epoch=options["batches_per_epoch"])
    if options["random_dims"] is not None:
        check_int("random_dims", options["random_dims"], 0)
    check_int("seed", options["seed"])
    if not _is_number(options["lr"]) or not 0 < options["lr"] < 10:
        raise InputError(f"lr is {options['lr']!r}; expected a number above 0, such as .001")
    _check_dropout(options)
    _check_trainable(options["trainable"])
    _check_vectors(options)
    if not isinstance(options["checkpoint"], str | PathLike | None):
        raise InputError(f"checkpoint is {options['checkpoint']!r}; expected a path, or None")
    device.chosen(options["device"])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _check_windows(options: Mapping[str, Any]) -> None:
    windows = options.get("windows", (1,))
    if not isinstance(windows, tuple | list) or not windows:
        raise InputError(f"windows is {windows!r}; expected several widths, such as (3, 5, 7)")
    for window in windows:
        check_sizes(window=window)
    if options.get("window", 1) % 2 == 0:
        raise InputError(f"window is {options['window']}; expected an odd number")


def _check_dropout(options: Mapping[str, Any]) -> None:
    given = options["supervised_dropout"]
    rates = {**given} if isinstance(given, Mapping) else {"": given}
    named = {
        f"supervised_dropout of {name!r}".removesuffix(" of ''"): rates[name] for name in rates
    }
    if options["dropout"] is not None:
        named["dropout"] = options["dropout"]
    for name, rate in named.items():
        if not _is_number(rate) or not 0 <= rate < 1:
            by_block = ", or {block: number}" if name == "supervised_dropout" else ""
            raise InputError(f"{name} is {rate!r}; expected a number from 0 to below 1{by_block}")
    _check_blocks("supervised_dropout", rates.keys() - {""})


def _check_trainable(given: object) -> None:
    if isinstance(given, Mapping):
        _check_blocks("trainable", given.keys())
    values = given.values() if isinstance(given, Mapping) else [given]
    if not all(isinstance(value, bool | np.bool_) for value in values):
        raise InputError(
            f"trainable is {given!r}; expected True, False or {{block: True or False}}"
        )


def _check_blocks(name: str, given: Any) -> None:  # noqa: ANN401 - names, or anything else
    if unknown := sorted(set(given) - KNOWN_BLOCKS):
        known = ", ".join(sorted(KNOWN_BLOCKS))
        raise InputError(f"{name} names the block {unknown[0]!r}; the blocks are: {known}")


def _check_vectors(options: Mapping[str, Any]) -> None:
    vectors, wce = options["vectors"], options["wce"]
    if vectors is not None and not isinstance(vectors, WordVectors):
        raise InputError(
            f"vectors is a {type(vectors).__name__}; expected WordVectors, as WordVectors.load "
            "returns them"
        )
    if not isinstance(wce, bool | WordClassEmbeddings):
        raise InputError(f"wce is {wce!r}; expected True, False or WordClassEmbeddings")
    if isinstance(wce, WordClassEmbeddings) and wce.analyzer is None and wce.ngrams != (1, 1):
        raise InputError(f"networks read single words; wce has ngrams={wce.ngrams}")
    if vectors is None and wce is False and options["random_dims"] == 0:
        raise InputError("there are no vectors: give vectors, wce or random_dims")
    if options["unseen"] is None:
        return
    if vectors is None or wce is False:
        raise InputError("unseen needs both pretrained and word-class vectors")
    if not options["keep_unseen"]:
        raise InputError("unseen gives vectors to words that keep_unseen=False leaves out")
