"""Parse the JSON of request bodies in bounded time, whatever a client sends.

The parser of the standard library holds the interpreter lock until it ends, so a thread does not
keep a body of a million small values from stopping everything else. What takes time is the number
of values, not their size; they are counted before anything is parsed, which costs little.
"""

import json
from typing import Any, NoReturn

from wordclass.serving.openapi import Refused

MAX_NUMBER_CHARS = 400  # a float has at most 309 digits before the point
LARGE_BODY_BYTES = 1 << 18  # a smaller one is parsed in milliseconds, whatever it holds


def parse_json(content: bytes, max_values: int) -> Any:  # noqa: ANN401 - any JSON
    """Return the value of a JSON text.

    Parameters
    ----------
    content : bytes
    max_values : int
        Items of lists and objects that are accepted, counted over the whole body.

    Raises
    ------
    Refused
        The content is not JSON (400), or holds too many values (413).
    """
    try:
        text = content.decode(json.detect_encoding(content), "surrogatepass")
        _check_value_count(text, max_values)
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:120]
        raise Refused(400, f"the body is not JSON: {reason}") from None


def _check_value_count(text: str, max_values: int) -> None:
    """Refuse a text with too many values, without parsing it.

    Backslashes stand in strings only, or the text is not JSON: the parser stops at the first one
    elsewhere, and what follows it does not matter.
    """
    if _count_separators(text) <= max_values:  # those inside strings, too
        return
    without_escapes = text.replace("\\\\", "").replace('\\"', "")
    n_quotes = without_escapes.count('"')
    is_refused = n_quotes > 4 * max_values + 4  # a key and a string, two quotes each
    if not is_refused:
        outside_strings = "".join(without_escapes.split('"')[::2])
        is_refused = _count_separators(outside_strings) > max_values
    if is_refused:
        raise Refused(413, f"the body has more than {max_values:,} JSON values; send fewer at once")


def _count_separators(text: str) -> int:
    return text.count(",") + text.count("[") + text.count("{")


def _parse_int(digits: str) -> int:
    return int(_check_length(digits))


def _parse_float(digits: str) -> float:
    return float(_check_length(digits))


def _check_length(digits: str) -> str:
    if len(digits) > MAX_NUMBER_CHARS:
        raise ValueError(f"a number has {len(digits):,} characters; expected {MAX_NUMBER_CHARS}")
    return digits


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(
    parse_int=_parse_int, parse_float=_parse_float, parse_constant=_refuse_constant
)
