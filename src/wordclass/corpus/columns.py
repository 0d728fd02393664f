"""Guesses which columns of a table hold texts and labels, from their names and content.

A guess is safe if the names or the content of the columns leave one choice. An unsafe guess is an
error that suggests options.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wordclass.corpus.documents import Record
from wordclass.corpus.file_formats import choose_format
from wordclass.corpus.records import MissingColumnError
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError, list_some
from wordclass.storage.files import File

SAMPLE_ROWS = 500

# names of columns, the more certain ones first
_TEXT_NAMES = """
text texts tweet tweet_text full_text sentence content body message comment comment_text review
review_text review_body document doc utterance post article abstract question query description
transcript transcription narrative complaint email sms snippet summary note notes news story answer
response feedback sentence_text input prompt
"""
_HEADING_NAMES = "title headline subject heading name"
_LABEL_NAMES = """
labels label class classes category categories target tag tags topic topics intent intents sentiment
emotion emotions polarity genre genres department class_label label_text label_name class_name
category_name target_name airline_sentiment product_category section group type gold annotation
stance rating stars score language lang domain code codes y
"""
_OTHER_NAMES = """
id ids index idx unnamed_0 uuid guid key url link date time timestamp created_at split fold user
username author rater_id annotator confidence
"""
TEXT_NAMES = _TEXT_NAMES.split()
HEADING_NAMES = _HEADING_NAMES.split()
LABEL_NAMES = _LABEL_NAMES.split()
IGNORED_NAMES = _OTHER_NAMES.split()
_N_CERTAIN_LABEL_NAMES = 8

_MIN_WORDS_OF_TEXT = 3.0  # on average
_MIN_DISTINCT_SHARE_OF_TEXT = 0.3
_MAX_WORDS_OF_LABEL = 6.0  # on average
_MAX_DISTINCT_SHARE_OF_LABEL = 0.5
_MIN_FLAG_COLUMNS = 2
_MAX_HEADER_CHARACTERS = 60  # of the name of a column
_FLAGS = {"0", "1", "0.0", "1.0", "true", "false", ""}
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?")


class UnclearColumnsError(FormatError):
    """The columns of texts and labels are unclear.

    Attributes
    ----------
    options : list of str
        Command-line options that name the most likely columns.
    """

    options: Sequence[str] = ()


@dataclass(frozen=True)
class ColumnGuess:
    """The columns that were chosen for texts and labels, as options of `ReadOptions`.

    Parameters
    ----------
    text_field : list of str
        Columns of texts.
    label_field : list of str
        Columns of labels. Empty if no labels are read.
    """

    text_field: list[str]
    label_field: list[str]

    def describe(self) -> str:
        """Return one line that names the columns."""
        parts = [f"texts from {_quote_names(self.text_field)}"]
        if len(self.label_field) > 1:
            parts.append(f"one label per column of 0 and 1: {_quote_names(self.label_field)}")
        elif self.label_field:
            parts.append(f"labels from {_quote_names(self.label_field)}")
        options = "--text-field" + (" and --label-field" if self.label_field else "")
        return f"{', '.join(parts)}; {options} choose other columns"


@dataclass(frozen=True)
class _Column:
    """A column with facts about its values in the first rows."""

    name: str
    key: str
    n_words: float
    n_values: int
    n_distinct: int
    is_flag: bool
    is_number: bool
    values: tuple[str, ...]

    @classmethod
    def of(cls, name: str, cells: Sequence[object]) -> "_Column":
        texts = ["" if cell is None else str(cell).strip() for cell in cells]
        values = [text for text in texts if text]
        n_words = sum(len(value.split()) for value in values) / max(len(values), 1)
        n_characters = sum(map(len, values)) / max(len(values), 1)
        lowered = {text.lower() for text in texts}
        return cls(
            name=name,
            key=normalize_name(name),
            # languages without spaces have texts of one long word
            n_words=max(n_words, n_characters / 12),
            n_values=len(values),
            n_distinct=len(set(values)),
            is_flag=lowered <= _FLAGS and len(lowered - {""}) == 2,
            is_number=bool(values) and all(_NUMBER.fullmatch(value) for value in values),
            values=tuple(texts),
        )

    @property
    def distinct_share(self) -> float:
        return self.n_distinct / max(self.n_values, 1)

    @property
    def looks_like_text(self) -> bool:
        has_words = self.n_words >= _MIN_WORDS_OF_TEXT and not self.is_number
        return has_words and self.distinct_share >= _MIN_DISTINCT_SHARE_OF_TEXT

    @property
    def looks_like_label(self) -> bool:
        is_repeated = self.distinct_share <= _MAX_DISTINCT_SHARE_OF_LABEL or self.n_values <= 20
        is_short = self.n_words <= _MAX_WORDS_OF_LABEL
        return is_short and is_repeated and self.n_distinct > 1 and not self._is_decimal

    @property
    def is_repetitive(self) -> bool:
        """Whether few values are repeated in many rows, as labels are."""
        return 1 < self.n_distinct <= max(2, self.n_values // 4)

    @property
    def _is_decimal(self) -> bool:
        return self.is_number and any("." in value for value in self.values)


def normalize_name(name: str) -> str:
    """Return the name of a column in lower case with underscores between words.

    Examples
    --------
    >>> [normalize_name(name) for name in ("Tweet Text", "reviewBody", "Unnamed: 0", "TITLE")]
    ['tweet_text', 'review_body', 'unnamed_0', 'title']
    """
    separated = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip().lstrip("\ufeff"))
    return re.sub(r"\W+", "_", separated).strip("_").lower()


def resolve_columns(
    path: File,
    options: ReadOptions,
    error: MissingColumnError,
    read: Callable[[File, ReadOptions], Iterable[list[Any]]],
) -> tuple[ReadOptions, ColumnGuess]:
    """Return options that name the columns, guessed from the first rows of a file.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        Options that lack the name of a column.
    error : MissingColumnError
        The error of reading with these options.
    read : callable
        The function that reads the format.
    """
    counts = Counter(error.present)
    names = [name for name in error.present if counts[name] == 1]
    sampling = replace(
        options,
        text_field=names,
        label_field=None,
        texts_only=True,
        keep_rows=True,
        has_split=None,
        on_bad_record="skip",
    )
    rows: list[Mapping[str, object]] = []
    for block in read(path, sampling) if names else ():
        rows += [record.row or {} for record in block if isinstance(record, Record)]
        if len(rows) >= SAMPLE_ROWS:
            break
    text_field = _to_list(options.text_field) or (["text"] if "text" in names else [])
    defaults = [name for name in ("labels", "label") if name in names]
    guess = guess_columns(
        path,
        names,
        rows[:SAMPLE_ROWS],
        text_field=text_field,
        label_field=_to_list(options.label_field) or defaults[:1],
        texts_only=options.texts_only,
        has_header=options.header and _is_table(path, options),
        place=error.line,
    )
    label_field = guess.label_field or options.label_field
    return replace(options, text_field=guess.text_field, label_field=label_field), guess


def _is_table(path: File, options: ReadOptions) -> bool:
    """Return True for formats whose first line names the columns."""
    return choose_format(path, options) in ("csv", "tsv", "xlsx")


def _to_list(names: str | Sequence[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else [*(names or ())]


def guess_columns(
    path: File,
    names: Sequence[str],
    rows: Sequence[Mapping[str, object]],
    *,
    text_field: Sequence[str] = (),
    label_field: Sequence[str] = (),
    texts_only: bool = False,
    has_header: bool = True,
    place: int | str | None = None,
) -> ColumnGuess:
    """Guess the columns of texts and labels.

    Parameters
    ----------
    path : Path
        The file, for error messages.
    names : sequence of str
        Names of the columns.
    rows : sequence of mapping
        The first rows, by column.
    text_field, label_field : sequence of str, default=()
        Columns that the user named.
    texts_only : bool, default=False
        Whether labels are not needed.
    has_header : bool, default=True
        Whether the names come from the first line of the file.
    place : int or str, optional
        Place of the names in the file, for error messages.

    Returns
    -------
    ColumnGuess
        The columns.

    Raises
    ------
    UnclearColumnsError
        There is no safe guess. The error has options that name the most likely columns.

    Examples
    --------
    >>> from pathlib import Path
    >>> rows = [{"tweet": "we go to the moon", "mood": "good"}, {"tweet": "no", "mood": "bad"}]
    >>> guess_columns(Path("x.csv"), ["tweet", "mood"], rows)
    ColumnGuess(text_field=['tweet'], label_field=['mood'])
    """
    if has_header and _looks_like_data(names):
        columns = _make_columns([str(k) for k in range(1, len(names) + 1)], _as_rows(names, rows))
        guess = _guess(columns, [], [], texts_only=texts_only)
        problem = "the first line looks like data and not like names of columns"
        raise _unclear(path, place, problem, names, guess, ["--no-header"])
    columns = _make_columns(names, rows)
    guess = _guess(columns, text_field, label_field, texts_only=texts_only)
    if guess.is_safe:
        return ColumnGuess(guess.texts, guess.labels)
    problem = f"it is not clear which columns hold the {guess.unclear}"
    options = _Guess(
        texts=[] if text_field else guess.texts,
        labels=[] if label_field or texts_only else guess.labels,
    )
    raise _unclear(path, place, problem, names, options, [])


@dataclass
class _Guess:
    """Likely columns, and the kind of column that is unclear."""

    texts: list[str]
    labels: list[str]
    unclear: str = ""

    @property
    def is_safe(self) -> bool:
        return not self.unclear


def _make_columns(names: Sequence[str], rows: Sequence[Mapping[str, object]]) -> dict[str, _Column]:
    return {name: _Column.of(name, [row.get(name) for row in rows]) for name in names}


def _guess(
    columns: Mapping[str, _Column],
    text_field: Sequence[str],
    label_field: Sequence[str],
    *,
    texts_only: bool,
) -> _Guess:
    texts = [*text_field]
    unclear: list[str] = []
    if not texts:
        texts, is_safe = _guess_texts([c for c in columns.values() if c.name not in label_field])
        if not is_safe:
            unclear.append("texts")
    labels = [] if texts_only else [*label_field]
    if not labels and not texts_only:
        labels, is_safe = _guess_labels([c for c in columns.values() if c.name not in texts])
        if not is_safe:
            unclear.append("labels")
    return _Guess(texts, labels, " and the ".join(unclear))


def _guess_texts(columns: Sequence[_Column]) -> tuple[list[str], bool]:
    """Return the columns of texts and whether the guess is safe."""
    usable = [c for c in columns if c.n_values and c.key not in IGNORED_NAMES and not c.is_flag]
    headings = [c for c in usable if c.key in HEADING_NAMES and not c.is_number]
    named = _find_named(usable, TEXT_NAMES)
    named = [c for c in named if not c.is_number and (c.looks_like_text or not c.is_repetitive)]
    if len(named) > 1:
        long = [c for c in named if c.looks_like_text]
        named = long or named
    if len(named) == 1:
        same_text = [c for c in headings if c.looks_like_text]
        title = [c.name for c in same_text if c.n_words <= named[0].n_words][:1]
        return [*title, named[0].name], True
    if named:
        longest = max(named, key=lambda c: c.n_words)
        shorter = [c for c in named if c is not longest]
        is_longest = all(c.n_words <= longest.n_words / 3 for c in shorter)
        return [longest.name], is_longest
    texts = [c for c in usable if c.looks_like_text]
    if len(texts) == 1:
        return [texts[0].name], True
    if len(texts) > 1:
        in_order = sorted(texts, key=lambda c: -c.n_words)
        is_clear = in_order[0].n_words >= 3 * in_order[1].n_words
        return [in_order[0].name], is_clear
    if len(headings) == 1:
        return [headings[0].name], True
    candidates = sorted(usable, key=lambda c: (-c.n_words, -c.distinct_share))
    # short texts of two columns: the other one repeats its values
    is_pair = len(candidates) == 2 and candidates[1].is_repetitive
    is_pair = is_pair and not candidates[0].is_repetitive and not candidates[0].is_number
    return [c.name for c in candidates[:1]], is_pair


def _guess_labels(columns: Sequence[_Column]) -> tuple[list[str], bool]:
    """Return the columns of labels and whether the guess is safe."""
    usable = [c for c in columns if c.n_values and c.key not in IGNORED_NAMES]
    flags = [c for c in usable if c.is_flag]
    named = [c for c in _find_named(usable, LABEL_NAMES) if c.looks_like_label and not c.is_flag]
    by_name = [c for c in _find_named(usable, LABEL_NAMES) if c.looks_like_label]
    if named:
        certain = [c for c in named if c.key in LABEL_NAMES[:_N_CERTAIN_LABEL_NAMES]]
        choice = _merge_equivalent(certain or named)
        if len(choice) == 1:
            return [choice[0].name], True
        return [choice[0].name], False
    if len(flags) > max(_MIN_FLAG_COLUMNS - 1, len(by_name)):
        rivals = [c for c in usable if not c.is_flag and c.is_repetitive and not c.is_number]
        return [c.name for c in flags], not rivals or len(flags) > _MIN_FLAG_COLUMNS
    if by_name:
        return [by_name[0].name], len(by_name) == 1
    candidates = [c for c in usable if c.looks_like_label and not c.looks_like_text]
    words = [c for c in candidates if not c.is_number and c.is_repetitive]
    candidates = _merge_equivalent(words or candidates)
    if len(candidates) == 1:
        is_alone = len(usable) == 1
        return [candidates[0].name], is_alone or candidates[0].is_repetitive
    in_order = sorted(candidates or usable, key=lambda c: (c.is_number, c.distinct_share))
    return [c.name for c in in_order[:1]], False


def _find_named(columns: Sequence[_Column], names: Sequence[str]) -> list[_Column]:
    """Return the columns with one of these names, the more certain names first."""
    exact = sorted((c for c in columns if c.key in names), key=lambda c: names.index(c.key))
    if exact:
        return exact
    words = {*names}
    return [c for c in columns if c.key.split("_")[-1] in words or c.key.split("_")[0] in words]


def _merge_equivalent(columns: Sequence[_Column]) -> list[_Column]:
    """Leave out columns of numbers that stand for the strings of another column."""
    distinct: list[_Column] = []
    for column in sorted(columns, key=lambda c: c.is_number):
        is_new = True
        for other in distinct:
            pairs = {*zip(column.values, other.values, strict=True)}
            n_names = len({*other.values})
            if len(pairs) == n_names == len({*column.values}):
                is_new = False
        if is_new:
            distinct.append(column)
    return [c for c in columns if c in distinct]


def _looks_like_data(names: Sequence[str]) -> bool:
    """Return True if the first line seems to hold a text or a number instead of names."""
    stripped = [str(name).strip() for name in names]
    is_named = any(normalize_name(name) in {*TEXT_NAMES, *LABEL_NAMES} for name in stripped)
    has_text = any(len(name) > _MAX_HEADER_CHARACTERS or len(name.split()) > 7 for name in stripped)
    has_number = any(_NUMBER.fullmatch(name) for name in stripped)
    return len(names) > 1 and not is_named and (has_text or has_number)


def _as_rows(names: Sequence[str], rows: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return rows with numbered columns. The names are the first row."""
    cells: list[list[object]] = [[*names], *([row.get(name) for name in names] for row in rows)]
    return [{str(k): cell for k, cell in enumerate(row, start=1)} for row in cells]


def _unclear(
    path: File,
    place: int | str | None,
    problem: str,
    names: Sequence[str],
    guess: _Guess,
    options: list[str],
) -> UnclearColumnsError:
    for name in guess.texts:
        options += ["--text-field", name]
    for name in guess.labels:
        options += ["--label-field", name]
    hint = "use text_field= (--text-field) and label_field= (--label-field) to name them"
    error = UnclearColumnsError(path, place, f"{problem}; there are: {list_some(names)}", hint=hint)
    error.options = options
    return error


def _quote_names(names: Sequence[Any]) -> str:
    word = "column" if len(names) == 1 else "columns"
    return f"{word} {list_some(names)}"
