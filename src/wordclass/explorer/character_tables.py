"""Tables of characters as the running Python has them, for a page that cuts texts by itself.

Browsers know other versions of Unicode than Python, and other definitions: U+FEFF is white space in
JavaScript. A page that carries these tables finds the same words as the model did.
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
    r"""Return the tables, ready for JSON.

    Returns
    -------
    `word`, `space`, `cased` and `case_ignorable` are ranges of code points, first and last in turn:
    what `\w` and `\s` match, and the letters that decide whether a capital sigma becomes a final
    one. `lower` is a mapping from characters to their lower case, where they have one.
    """
    characters = [chr(code) for code in range(sys.maxunicode + 1)]
    everything = "".join(characters)
    cased = []
    ignorable = []
    for code, character in enumerate(characters):
        if _makes_final(character):
            cased.append(code)
        elif _makes_final("a" + character):  # what is skipped in the search for a cased letter
            ignorable.append(code)
    lowered = [(character, character.lower()) for character in characters]
    return {
        "word": _matching_ranges(r"\w+", everything),
        "space": _matching_ranges(r"\s+", everything),
        "cased": _ranges(cased),
        "case_ignorable": _ranges(ignorable),
        "lower": {character: lower for character, lower in lowered if lower != character},
    }


def _makes_final(before: str) -> bool:
    return (before + _SIGMA).lower()[-1] == _FINAL_SIGMA


def _matching_ranges(pattern: str, everything: str) -> list[int]:
    matches = re.finditer(pattern, everything)
    return [bound for match in matches for bound in (match.start(), match.end() - 1)]


def _ranges(codes: list[int]) -> list[int]:
    """Return sorted numbers as ranges: first and last, in turn.

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
