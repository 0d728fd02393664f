"""Parse the JSON of request bodies in bounded time.

The parser of the standard library holds the interpreter lock until it ends, so a body with a
million small values would block all other requests, even from a thread. The time depends on the
number of values rather than their size. They are counted before parsing, which is cheap.
"""

import json
from typing import Any, NoReturn

from wordclass.serving.openapi import RequestError

MAX_NUMBER_CHARS = 400  # a float has at most 309 digits before the point
LARGE_BODY_BYTES = 1 << 18  # smaller bodies are parsed in milliseconds


def parse_json(content: bytes, max_values: int) -> Any:  # noqa: ANN401 - any JSON
    """Parse a JSON text.

    Parameters
    ----------
    content : bytes
        The text.
    max_values : int
        The maximum number of items of lists and objects, counted over the whole text.

    Raises
    ------
    RequestError
        The content is not JSON (400) or has too many values (413).
    """
    try:
        text = content.decode(json.detect_encoding(content), "surrogatepass")
        _check_value_count(text, max_values)
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:120]
        raise RequestError(400, f"the body is not JSON: {reason}") from None


def _check_value_count(text: str, max_values: int) -> None:
    """Raise a RequestError if a text has too many values, without parsing it.

    In JSON, backslashes occur in strings only. The parser stops at a backslash elsewhere, so the
    text after it does not matter.
    """
    if _count_separators(text) <= max_values:  # including those inside strings
        return
    without_escapes = text.replace("\\\\", "").replace('\\"', "")
    n_quotes = without_escapes.count('"')
    is_too_large = n_quotes > 4 * max_values + 4  # two for a key and two for a string
    if not is_too_large:
        outside_strings = "".join(without_escapes.split('"')[::2])
        is_too_large = _count_separators(outside_strings) > max_values
    if is_too_large:
        problem = f"the body has more than {max_values:,} JSON values"
        raise RequestError(413, problem, hint="send fewer texts per request")


def _count_separators(text: str) -> int:
    return text.count(",") + text.count("[") + text.count("{")


def _parse_int(digits: str) -> int:
    return int(_check_length(digits))


def _parse_float(digits: str) -> float:
    return float(_check_length(digits))


def _check_length(digits: str) -> str:
    if len(digits) > MAX_NUMBER_CHARS:
        problem = f"a number has {len(digits):,} characters"
        raise ValueError(f"{problem}; expected at most {MAX_NUMBER_CHARS}")
    return digits


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(
    parse_int=_parse_int, parse_float=_parse_float, parse_constant=_refuse_constant
)
