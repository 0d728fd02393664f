"""Turn a docstring into prose: no markup, no code, no names that give the class away."""

import re
from collections.abc import Iterable, Iterator

_CUT_SECTIONS = frozenset(
    {"see also", "references", "examples", "example", "methods", "attributes"}
)
_UNDERLINE = re.compile(r"\s*([-=~^*#+\"'`])\1{2,}\s*")
_DIRECTIVE = re.compile(r"\s*\.\. ?(\S|$)")
_PROMPT = re.compile(r"\s*(>>>|In \[\d+\]:)")
# a paragraph with one of these speaks about the file, not about what the object does
_LEGAL = ("copyright", "license", "licence", "warranty", "all rights reserved")
_CREDIT = re.compile(r"^[ \t]*([Aa]uthors?:|([Ww]ritten|[Cc]ontributed) by).*", re.MULTILINE)

# in this order; one pattern for all takes twice the time
_NOISE = (
    re.compile(r":[\w:+-]+:`[^`]*`|\[\w+\]_"),  # roles with what they point to, footnotes
    re.compile(r"%\(\w+\)[a-z]|\$?\{\w*\}"),  # templates
    re.compile(r"(?<![\w.+@-])[\w.+-]+(?:://|@\w)[^\s<>)\]`]*"),  # URLs, addresses
    re.compile(r"(?<![\w.])[^\W\d]\w*(?:\.\w+)+"),  # dotted paths
    re.compile(r"[Ss]cikit[-_]learn\w*"),  # the other name of sklearn
    re.compile(r"`_{1,2}(?!\w)|[`|]|\*\*|::(?=\s|$)|>>>|<\s*>|[-=~+^]{3,}"),  # markup
)
# "Read more in the :ref:`User Guide <...>`." sends the reader elsewhere and says nothing itself
_POINTER = re.compile(r"[^.]*:(?:ref|doc):`[^`]*`[^.]*\.?")
# punctuation alone between spaces: it belonged to what was removed
_ORPHAN = re.compile(r"[^\w=<>+/]+|[^\w\s]{3,}")
_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"[^\W\d_]{2}")


def words_of(names: Iterable[str]) -> frozenset[str]:
    """Split names into the words that give them away: the parts, and the parts of the parts.

    Examples
    --------
    >>> sorted(words_of(["email", "sklearn.linear_model"]))
    ['email', 'linear', 'linear_model', 'model', 'sklearn']
    """
    parts = {part for name in names for part in name.lower().split(".")}
    return frozenset(parts.union(*(part.split("_") for part in parts)) - {""})


def clean(docstring: str, hidden_words: frozenset[str]) -> str:
    """Return the prose of a docstring on one line.

    Parameters
    ----------
    docstring
        Without the indentation of the code, as `inspect.cleandoc` leaves it.
    hidden_words
        Words to leave out, in lower case. They are the same for every document: were only a
        document's own class left out, its absence would give the class away.
    """
    lines = _without_code(_without_directives(_without_sections(docstring.splitlines())))
    prose = " ".join(_without_asides(lines))
    for pattern in _NOISE:
        prose = pattern.sub(" ", prose)
    prose = _WORD.sub(lambda word: "" if word[0].lower() in hidden_words else word[0], prose)
    return " ".join(piece for piece in prose.split() if not _ORPHAN.fullmatch(piece))


def count_words(text: str) -> int:
    """Count the pieces between spaces that hold two letters in a row: numbers are no words."""
    return sum(_LETTERS.search(piece) is not None for piece in text.split())


def _without_sections(lines: list[str]) -> list[str]:
    """Leave out the sections that list other things, and the headings of all sections."""
    kept: list[str] = []
    is_cut = False
    for k, line in enumerate(lines):
        is_underlined = k + 1 < len(lines) and _UNDERLINE.fullmatch(lines[k + 1]) is not None
        if is_underlined and line.strip():
            is_cut = line.strip().rstrip(":").lower() in _CUT_SECTIONS
        elif not is_cut and not _UNDERLINE.fullmatch(line):
            kept.append(line)
    return kept


def _without_directives(lines: list[str]) -> list[str]:
    """Leave out directives, footnotes and comments of reStructuredText with what is below them."""
    kept: list[str] = []
    indent: int | None = None  # of the directive we are in
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if indent is not None and line.strip() and depth <= indent:
            indent = None
        if indent is None and _DIRECTIVE.match(line):
            indent = depth
        if indent is None:
            kept.append(line)
    return kept


def _without_code(lines: list[str]) -> list[str]:
    """Leave out what was typed at a prompt, what was answered and the line that announces it.

    The answer ends at an empty line.
    """
    kept: list[str] = []
    is_code = False
    for line in lines:
        if not is_code and _PROMPT.match(line):
            is_code = True
            while kept and not kept[-1].strip():
                kept.pop()
            if kept and kept[-1].rstrip().endswith(":"):
                kept.pop()
        elif not line.strip():
            is_code = False
        if not is_code:
            kept.append(line)
    return kept


def _without_asides(lines: list[str]) -> Iterator[str]:
    """Go through the paragraphs, without those on legal matters and without pointers elsewhere."""
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        lowered = paragraph.lower()
        if not any(word in lowered for word in _LEGAL):
            uncredited = _CREDIT.sub(" ", paragraph)
            has_pointer = ":ref:" in paragraph or ":doc:" in paragraph
            yield _POINTER.sub(" ", uncredited) if has_pointer else uncredited
