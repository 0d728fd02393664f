"""Options of `DocumentVectorizer`, and those that other estimators share with it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from wordclass.errors import InputError
from wordclass.options import FLAG, N_JOBS, Kind, Option, integer, one_of
from wordclass.text.analyzer import (
    accepts_analyzer,
    accepts_ngrams,
    accepts_stop_words,
    accepts_token_pattern,
)
from wordclass.text.counting import accepts_weighting
from wordclass.text.vocabulary import accepts_max_df, accepts_min_docs


def _accepts_dtype(value: Any) -> bool:  # noqa: ANN401 - any value of a user
    try:
        return np.dtype(value).kind in "biufc"
    except TypeError:
        return False


def parse_ngrams(text: str) -> tuple[int, int]:
    """Parse the sizes of n-grams, such as "2", "1,2" or "1-2".

    Parameters
    ----------
    text : str
        One or two numbers.

    Raises
    ------
    InputError
        The text is something else.

    Examples
    --------
    >>> parse_ngrams("1-2")
    (1, 2)
    """
    sizes = text.strip("[]() ").replace("-", ",").split(",")
    if len(sizes) > 2 or not all(size.strip().isdecimal() for size in sizes):
        raise InputError(f"ngrams are {text!r}", expected="one or two numbers, such as 1,2")
    return int(sizes[0]), int(sizes[-1])


NGRAMS = Kind(
    "(int, int)",
    "(shortest, longest) from 1 to 1,000, such as (1, 2)",
    accepts_ngrams,
    parse_ngrams,
)

# options of `DocumentVectorizer` that all estimators with a vectorizer have, too
TEXT_OPTIONS: Mapping[str, Option] = MappingProxyType(
    {
        "weighting": Option(
            'Rule from occurrences to weights: "tfidf", "bm25", "binary" or "count"; a function '
            "from occurrences (n, v) and a vocabulary to X (n, v); or an object whose method "
            "`fit(occurrences, Y)` learns from labels and returns such a function, or an object "
            "with such a method `weight`.",
            Kind(
                'str, callable or object with "fit"',
                "the name of a weighting, a function, or an object with the method fit",
                accepts_weighting,
            ),
        ),
        "min_docs": Option(
            "Keep terms that occur in at least this number of training documents (int), or this "
            "share of them (float).",
            Kind("int from 1 or float", "a number of documents or a share", accepts_min_docs),
        ),
        "ngrams": Option(
            "Minimum and maximum number of words in a term, or of characters if the analyzer is "
            '"characters".',
            NGRAMS,
        ),
        "mask_numbers": Option("Replace each number by the single word `numbermask`.", FLAG),
        "analyzer": Option(
            "How texts are cut into terms. By default, terms are words and n-grams of words. With "
            '"characters", they are n-grams of the characters of each word, with a space on either '
            "side of it; `ngrams=(2, 5)` is a common choice. A function from a text to its terms "
            "replaces all other options of words.",
            Kind(
                'callable or "characters"',
                "'characters', a function from a text to its terms",
                accepts_analyzer,
            ),
            also=(None,),
        ),
        "stop_words": Option(
            'Words to leave out: "english" for the list of scikit-learn, or a collection of words.',
            Kind(
                "str or collection of str", "'english', a collection of words", accepts_stop_words
            ),
            also=(None,),
        ),
        "n_jobs": Option(
            "Number of threads. None is one, and -1 is all cores. The result does not depend on "
            "the number.",
            N_JOBS,
            also=(None,),
        ),
    }
)

VECTORIZER_OPTIONS: Mapping[str, Option] = MappingProxyType(
    {
        **{name: option for name, option in TEXT_OPTIONS.items() if name != "n_jobs"},
        "max_df": Option(
            "Keep terms that occur in at most this number of training documents (int), or this "
            "share of them (float).",
            Kind("int from 1 or float", "a number of documents or a share", accepts_max_df),
        ),
        "max_terms": Option(
            "Keep at most this number of terms, those with the most occurrences.",
            integer(1),
            also=(None,),
        ),
        "lowercase": Option("Convert texts to lower case.", FLAG),
        "token_pattern": Option(
            "Regular expression of a word. With a group, the group is the word.",
            Kind("str", "a regular expression", accepts_token_pattern),
        ),
        "strip_accents": Option(
            'Remove accents: "unicode" removes all combining marks, "ascii" removes everything '
            "that is not ASCII after decomposition.",
            one_of("unicode", "ascii"),
            also=(None,),
        ),
        "dtype": Option(
            "NumPy type of the weights.",
            Kind("dtype", "a numeric type", _accepts_dtype),
            also=(np.float64, np.float32),
        ),
        "n_jobs": TEXT_OPTIONS["n_jobs"],
    }
)
