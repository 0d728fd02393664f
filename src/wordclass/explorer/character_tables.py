"""Tables of characters of the running Python, for readers of models in other languages.

Other languages have other versions and definitions of Unicode: U+FEFF is white space in JavaScript.
With these tables, a reader cuts texts into the same words as the model.
"""

import re
import sys
from functools import cache
from itertools import pairwise

from wordclass.explorer.views import JsonObject

_SIGMA = "\u03a3"
_FINAL_SIGMA = "\u03c2"


@cache
def character_tables() -> JsonObject:
    r"""Return the tables as values that JSON can hold.

    Returns
    -------
    dict
        `word`, `space`, `cased` and `case_ignorable` are ranges of code points as a flat list of
        first and last codes: the matches of `\w` and of `\s`, and the characters that decide
        whether a capital sigma becomes a final one. `lower` maps characters to their lower case if
        it differs.
    """
    characters = [chr(code) for code in range(sys.maxunicode + 1)]
    all_characters = "".join(characters)
    cased = []
    ignorable = []
    for code, character in enumerate(characters):
        if _makes_final_sigma(character):
            cased.append(code)
        elif _makes_final_sigma("a" + character):  # skipped in the search for a cased letter
            ignorable.append(code)
    lowercase = [(character, character.lower()) for character in characters]
    return {
        "word": _matching_ranges(r"\w+", all_characters),
        "space": _matching_ranges(r"\s+", all_characters),
        "cased": _ranges(cased),
        "case_ignorable": _ranges(ignorable),
        "lower": {character: lower for character, lower in lowercase if lower != character},
    }


def _makes_final_sigma(prefix: str) -> bool:
    return (prefix + _SIGMA).lower()[-1] == _FINAL_SIGMA


def _matching_ranges(pattern: str, all_characters: str) -> list[int]:
    matches = re.finditer(pattern, all_characters)
    return [bound for match in matches for bound in (match.start(), match.end() - 1)]


def _ranges(codes: list[int]) -> list[int]:
    """Return sorted numbers as ranges: a flat list of first and last numbers.

    Examples
    --------
    >>> _ranges([1, 2, 3, 7, 9, 10])
    [1, 3, 7, 7, 9, 10]
    """
    bounds = codes[:1]
    for code, following in pairwise(codes):
        if following != code + 1:
            bounds += [code, following]
    return bounds + codes[-1:]
