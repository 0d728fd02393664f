"""What in a Usenet post is not its author's own text: as scikit-learn decides it."""

import re
from collections.abc import Collection

_QUOTING = re.compile(
    r"^(?:In article|Quoted from|[>|])|writes in|writes:|wrote:|says:|said:", re.MULTILINE
)


def strip(post: str, kinds: Collection[str]) -> str:
    r"""Remove headers, footers and quotes, those of them that are named, in this order.

    Examples
    --------
    >>> strip("From: me\n\n> Why?\nBecause.\n\n-- me", ["headers", "footers", "quotes"])
    'Because.'
    """
    if "headers" in kinds:
        post = without_header(post)
    if "footers" in kinds:
        post = without_footer(post)
    if "quotes" in kinds:
        post = without_quotes(post)
    return post


def without_header(post: str) -> str:
    """Return what is below the first empty line: nothing, where there is none."""
    return post.partition("\n\n")[2]


def without_footer(post: str) -> str:
    """Cut at the last line that is blank or made of dashes, blank ends of the post aside.

    Where that is the first line, or there is none, the post stays as it is.
    """
    lines = post.strip().split("\n")
    for k in range(len(lines) - 1, 0, -1):
        if not lines[k].strip().strip("-"):
            return "\n".join(lines[:k])
    return post


def without_quotes(post: str) -> str:
    """Drop the lines that quote somebody, or announce that they will."""
    if not _QUOTING.search(post):
        return post
    return "\n".join(line for line in post.split("\n") if not _QUOTING.search(line))
