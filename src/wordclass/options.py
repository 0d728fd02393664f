"""Validate what users give: options of estimators, numbers, texts, threads, and memory use."""

import inspect
import json
import os
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf, nan
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar

from wordclass.errors import InputError

_MAX_THREADS = 256
_MAX_INT = 2**63 - 1
_MAX_REPR_CHARACTERS = 100  # of a refused value in a message
_DOCSTRING_COLUMNS = 96
_MAX_SCORES_UNCHECKED = 1 << 20  # asking the system takes longer than computing so few
_CONTROL_GROUP_FILES = {  # by controller: limit, usage, and the name of cached bytes in memory.stat
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
_CONSTANTS = {"true": True, "false": False, "none": None, "null": None}


# --- options of estimators --------------------------------------------------------------------


def parse_value(text: str) -> object:
    """Return the value that a user wrote as text, such as on the command line.

    JSON is read as such, `true`, `false` and `none` in upper or lower case too. Values with commas
    become a tuple. Everything else remains a str.

    Examples
    --------
    >>> [parse_value(text) for text in ("0.5", "3,5,7", "None", "english")]
    [0.5, (3, 5, 7), None, 'english']
    """
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    for json_text in (text, f"[{text}]"):
        with suppress(ValueError, RecursionError):
            value = json.loads(json_text)
            return value if json_text == text else tuple(value) or text
    return text


@dataclass(frozen=True)
class Kind:
    """A kind of value that options accept.

    Parameters
    ----------
    type : str
        The type as the documentation shows it, such as "float".
    expected : str
        The accepted values as an error message describes them, such as "a number above 0".
    accepts : callable
        Returns True if a value is of this kind. It may raise an InputError that says more.
    parse : callable, default=parse_value
        Returns the value that a user wrote as text.
    """

    type: str
    expected: str
    accepts: Callable[[Any], bool]
    parse: Callable[[str], object] = parse_value


def integer(minimum: int | None = None, maximum: int = _MAX_INT) -> Kind:
    """Return the kind of integers from a minimum up to a maximum.

    Without a minimum, all integers are accepted. A bool is not an integer.

    Examples
    --------
    >>> integer(1).accepts(0), integer(1).expected
    (False, 'an int from 1 up')
    """

    def accepts(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral):
            return False
        return minimum is None or minimum <= value <= maximum  # type: ignore[operator]

    if minimum is None:
        return Kind("int", "an int", accepts)
    if maximum == _MAX_INT:
        return Kind(f"int from {minimum}", f"an int from {minimum} up", accepts)
    bounds = f"from {minimum} up to {maximum:,}"
    return Kind(f"int {bounds}", f"an int {bounds}", accepts)


def number(above: float | None = None, below: float = inf) -> Kind:
    """Return the kind of finite numbers above one bound and below another.

    Without a lower bound, numbers from 0 up are accepted. A bool is not a number.

    Examples
    --------
    >>> number(above=0, below=1).expected
    'a number above 0 and below 1'
    """

    def accepts(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        converted = nan
        with suppress(OverflowError):  # an int of hundreds of digits
            converted = float(value)
        return converted < below and (converted >= 0 if above is None else converted > above)

    start = "from 0" if above is None else f"above {above:g}"
    if below < inf:
        bounds = f"{start} {'to' if above is None else 'and'} below {below:g}"
        return Kind(f"float {bounds}", f"a number {bounds}", accepts)
    return Kind(f"float {start}", f"a number {start}{' up' if above is None else ''}", accepts)


def one_of(*values: object) -> Kind:
    """Return the kind that consists of some values, such as names.

    Examples
    --------
    >>> one_of("clean", "paper").expected
    "'clean' or 'paper'"
    """

    def accepts(value: object) -> bool:
        return any(isinstance(value, type(known)) and value == known for known in values)

    listed = ", ".join(_quote(value) for value in values if value is not None)
    return Kind(f"{{{listed}}}", _join([repr(value) for value in values]), accepts)


def instance_of(kind: type, expected: str) -> Kind:
    """Return the kind of instances of a class, described by `expected` in messages."""
    return Kind(kind.__name__, expected, lambda value: isinstance(value, kind))


def _is_flag(value: object) -> bool:
    # NumPy's own type is named "bool_" in its version 1 and "bool" since
    return isinstance(value, Integral) or type(value).__name__ in ("bool", "bool_")


FLAG = Kind("bool", "True or False", _is_flag)


@dataclass(frozen=True)
class Option:
    """An option of an estimator: its purpose, and the values that it accepts.

    The default is not repeated here: the constructor of the estimator has it.

    Parameters
    ----------
    help : str
        The purpose of the option, in one or more sentences.
    kind : Kind
        The accepted kind of values.
    also : tuple, default=()
        Single values that are accepted beside them, such as None or "auto".

    Examples
    --------
    >>> option = Option("Weight of errors.", number(above=0), also=("auto",))
    >>> print(option.document("C", default="auto"))
    C : float above 0 or "auto", default="auto"
        Weight of errors.
    >>> option.check("C", -1)
    Traceback (most recent call last):
        ...
    wordclass.errors.InputError: C is -1; expected a number above 0 or 'auto'
    """

    help: str
    kind: Kind
    also: tuple[object, ...] = ()

    def check(self, name: str, value: object) -> None:
        """Raise an InputError if the option does not accept a value.

        Parameters
        ----------
        name : str
            The name of the option.
        value : object
            The value.
        """
        for known in self.also:
            if isinstance(value, type(known)) and value == known:
                return
        if not self.kind.accepts(value):
            expected = _join([self.kind.expected, *map(repr, self.also)])
            raise InputError(f"{name} is {_show(value)}", expected=expected)

    def parse(self, name: str, text: str) -> object:
        """Return the value that a user wrote as text, such as in `--set name=text`.

        Parameters
        ----------
        name : str
            The name of the option.
        text : str
            The value as text.

        Raises
        ------
        InputError
            The option does not accept the value.
        """
        value = parse_value(text)
        if value not in self.also:
            value = self.kind.parse(text)
        self.check(name, value)
        return value

    def document(self, name: str, default: object) -> str:
        """Return the description of the option as an entry of a numpydoc section."""
        types = [self.kind.type, *(_quote(value) for value in self.also if value is not None)]
        if default is None:
            entry = f"{name} : {_join(types)}, optional"
        else:
            types += ["None"] if None in self.also else []
            entry = f"{name} : {_join(types)}, default={_quote(default)}"
        indent = " " * 4
        lines = textwrap.wrap(
            self.help, _DOCSTRING_COLUMNS, initial_indent=indent, subsequent_indent=indent
        )
        return "\n".join([entry, *lines])


class WithOptions:
    """Base class of estimators that declare their options in a table.

    A subclass is a dataclass that has a field, with the default, for each of its `options`. Its
    docstring need not describe them: a section with all parameters is added, and the attributes
    of the base class unless the docstring has its own.
    """

    options: ClassVar[Mapping[str, Option]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:  # noqa: ANN401 - those of other base classes
        super().__init_subclass__(**kwargs)
        if cls.__doc__ and cls.options:
            cls.__doc__ = _complete_docstring(cls)

    def check_options(self) -> None:
        """Raise an InputError if an option has a value that it does not accept.

        `fit` does this first.

        Examples
        --------
        >>> import wordclass as wc
        >>> wc.classifier("nearest", n_jobs=2).check_options()
        """
        for name, option in self.options.items():
            option.check(name, getattr(self, name))


def _complete_docstring(estimator: type[WithOptions]) -> str:
    """Return the docstring of an estimator with its parameters and attributes."""
    sections = _split_docstring(estimator)
    titles = [section.partition("\n---")[0] for section in sections]
    if "Parameters" in titles:
        return "\n\n".join(sections)
    # in the order of the signature, where the fields of base classes come first
    dataclasses = [
        base
        for base in reversed(estimator.__mro__)
        if base is estimator or "__dataclass_fields__" in vars(base)
    ]
    fields = [vars(base).get("__annotations__", {}) for base in dataclasses]
    names = dict.fromkeys(name for annotations in fields for name in annotations)
    entries = [
        estimator.options[name].document(name, getattr(estimator, name, None))
        for name in names
        if name in estimator.options
    ]
    added = ["\n".join(["Parameters", "-" * len("Parameters"), *entries])]
    if "Attributes" not in titles:
        inherited = [
            section for base in estimator.__mro__[1:2] for section in _split_docstring(base)
        ]
        added += [section for section in inherited if section.startswith("Attributes\n---")]
    place = next((k for k, section in enumerate(sections) if "\n---" in section), len(sections))
    return "\n\n".join([*sections[:place], *added, *sections[place:]])


def _split_docstring(described: type) -> list[str]:
    """Return the paragraphs and sections of a docstring."""
    return inspect.cleandoc(described.__doc__ or "").split("\n\n")


def _quote(value: object) -> str:
    if isinstance(value, type):
        return value.__name__
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _join(names: Sequence[str]) -> str:
    """Return "a, b or c"."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def _show(value: object) -> str:
    """Return a value as messages show it, on one line."""
    shown = repr(value)
    if len(shown) <= _MAX_REPR_CHARACTERS and "\n" not in shown:
        return shown
    return f"a {type(value).__name__}"


# --- single arguments -------------------------------------------------------------------------


def check_int(
    name: str, value: object, minimum: int | None = None, maximum: int = _MAX_INT
) -> None:
    """Raise an InputError unless a value is an integer within bounds.

    Parameters
    ----------
    name : str
        The name of the argument.
    value : object
        The value.
    minimum : int, optional
        The smallest accepted integer. By default all integers are accepted.
    maximum : int, default=2**63 - 1
        The largest accepted integer, if there is a minimum.
    """
    kind = integer(minimum, maximum)
    if kind.accepts(value):
        return
    is_too_large = integer().accepts(value) and value > maximum  # type: ignore[operator]
    expected = f"an int from {minimum} up to {maximum:,}" if is_too_large else kind.expected
    raise InputError(f"{name} is {value!r}", expected=expected)


def check_number(
    name: str, value: object, *, above: float | None = None, below: float = inf, hint: str = ""
) -> float:
    """Return a finite number as a float, or raise an InputError if it is out of bounds.

    Parameters
    ----------
    name : str
        The name of the argument.
    value : object
        The value. NaN and bool are not accepted.
    above : float, optional
        The number must be larger than this. By default it must not be below 0.
    below : float, default=inf
        The number must be smaller than this.
    hint : str, default=""
        The end of the message, such as ", or None".
    """
    kind = number(above, below)
    if not kind.accepts(value):
        raise InputError(f"{name} is {value!r}", expected=f"{kind.expected}{hint}")
    return float(value)  # type: ignore[arg-type]


def check_one_of(name: str, value: object, allowed: Collection[object], hint: str = "") -> None:
    """Raise an InputError unless a value is among the allowed ones.

    Parameters
    ----------
    name : str
        The name of the argument.
    value : object
        The value.
    allowed : collection
        The accepted values.
    hint : str, default=""
        The end of the message, such as ", or a mapping".
    """
    kind = one_of(*allowed)
    if not kind.accepts(value):
        raise InputError(f"{name} is {value!r}", expected=f"{kind.expected}{hint}")


def is_auto(value: object) -> bool:
    """Return True if an option is "auto", which an array is not."""
    return isinstance(value, str) and value == "auto"


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` stands for: None is one, -1 is all cores."""
    if n_jobs is None:
        return 1
    if not _is_n_jobs(n_jobs):
        raise InputError(f"n_jobs is {n_jobs!r}", expected=f"{N_JOBS.expected} or None")
    n_requested = n_jobs if n_jobs > 0 else (os.cpu_count() or 1) + 1 + n_jobs
    return int(min(max(n_requested, 1), _MAX_THREADS))


def _is_n_jobs(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Integral) and value != 0


N_JOBS = Kind("int", "an int (-1 is all cores)", _is_n_jobs)


# --- texts ------------------------------------------------------------------------------------


def list_texts(texts: Iterable[str]) -> list[str]:
    """Return texts of any source (list, Series, array, generator) as a list of str.

    Parameters
    ----------
    texts : iterable of str
        The texts. They are read once.

    Raises
    ------
    InputError
        A text is not a str, or `texts` is itself one str, a table or not iterable.
    """
    if isinstance(texts, str | bytes):
        problem = f"texts is one {type(texts).__name__}"
        raise InputError(problem, expected="a list of str: [text]")
    # iterating over a table or a dict gives its column names or keys
    is_table = getattr(texts, "ndim", 1) != 1 or isinstance(texts, Mapping)
    if texts is None or is_table or not isinstance(texts, Iterable):
        raise InputError(f"texts is {_name_type(texts)}", expected="an iterable of str")
    # an Arrow column iterates over scalars of its own
    listed = texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
    if set(map(type, listed)) <= {str}:
        return listed  # the usual case needs no loop
    for k, text in enumerate(listed):
        if not isinstance(text, str):
            hint = "decode it first" if isinstance(text, bytes | bytearray) else None
            raise InputError(f"text {k} is {_name_type(text)}, not a str", hint=hint)
    return listed


def check_lengths(texts: Sequence[str], n_labels: int) -> None:
    """Raise an InputError if there are no texts, or not as many as labels."""
    if len(texts) != n_labels:
        raise InputError(f"{len(texts)} texts but {n_labels} labels", expected="one label per text")
    if not texts:
        raise InputError("the corpus is empty: there are no texts")


def _name_type(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


@contextmanager
def native_errors_as_input_errors() -> Iterator[None]:
    """Turn errors of native code about its arguments into InputErrors."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(str(error)) from error


# --- memory -----------------------------------------------------------------------------------


def free_bytes() -> int | None:
    """Return the free memory in bytes, or None if the system does not report it.

    Unlike psutil's, the number respects the limits of containers.
    """
    limits = [*_machine_bytes(), *control_group_bytes()]
    return max(0, min(limits)) if limits else None


def _machine_bytes() -> Iterator[int]:
    """Yield the free memory of the machine, and that below the limit of this process."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
        yield sizes["MemAvailable"] * 1024
    except (OSError, KeyError, ValueError, IndexError):
        with suppress(AttributeError, OSError, ValueError):
            yield os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(ImportError, OSError, ValueError):  # a limit of this process, as `ulimit -v` sets
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            n_used_pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield limit - n_used_pages * resource.getpagesize()


def control_group_bytes(
    groups: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")
) -> Iterator[int]:
    """Yield the free memory of each control group of this process, such as a container.

    Parameters
    ----------
    groups : Path, default=Path("/proc/self/cgroup")
        The file that lists the control groups.
    mounted : Path, default=Path("/sys/fs/cgroup")
        The folder that has their limits.
    """
    with suppress(OSError):
        for line in groups.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            process_group = Path(path.lstrip("/"))
            for controller in _CONTROL_GROUP_FILES.keys() & controllers.split(","):
                limit, usage, cached = _CONTROL_GROUP_FILES[controller]
                # the limits of all groups above apply too
                for group in (process_group, *process_group.parents):
                    # a group may be out of sight, or without a limit
                    with suppress(OSError, ValueError, KeyError):
                        folder = mounted / controller / group
                        lines = (folder / "memory.stat").read_text().splitlines()
                        statistics = dict(line.split() for line in lines)
                        # cached files are given back when memory is needed
                        n_used = int((folder / usage).read_text()) - int(statistics[cached])
                        yield int((folder / limit).read_text()) - n_used


def check_table(
    content: str, row_docs: Collection[float], bytes_per_row: int, more_bytes: int = 0
) -> None:
    """Raise an InputError before a table of terms is made that does not fit into memory.

    Parameters
    ----------
    content : str
        What the table holds, for the message.
    row_docs : array of shape (v,)
        In how many documents the term of each row occurs.
    bytes_per_row : int
        The memory for a row, with everything that is made on the way.
    more_bytes : int, default=0
        The memory needed beside the rows.
    """
    n_free = free_bytes()
    n_needed = len(row_docs) * bytes_per_row + more_bytes
    if n_free is None or n_needed <= n_free:
        return
    n_fitting = (n_free - more_bytes) // bytes_per_row
    hint = "no min_docs would help: use fewer documents or classes"
    if n_fitting >= 1:
        min_docs = int(sorted(row_docs, reverse=True)[n_fitting]) + 1
        hint = f"min_docs={min_docs} would fit: at most {n_fitting:,} terms"
    raise _memory_error(content, n_needed, n_free, hint)


def check_memory(content: str, n_needed: int, hint: str) -> None:
    """Raise an InputError before work starts that needs more memory than is free.

    Parameters
    ----------
    content : str
        What needs the memory, in the plural.
    n_needed : int
        Estimated number of bytes.
    hint : str
        What would need less.
    """
    n_free = free_bytes()
    if n_free is not None and n_needed > n_free:
        raise _memory_error(content, n_needed, n_free, hint)


def check_scores(n_docs: int, n_classes: int, bytes_per_score: int, hint: str) -> None:
    """Raise an InputError if the scores of documents do not fit into memory.

    Parameters
    ----------
    n_docs, n_classes : int
        Numbers of documents and of classes.
    bytes_per_score : int
        The memory for one score, with everything that is computed from it.
    hint : str
        What would need less.
    """
    n_scores = n_docs * n_classes
    if n_scores < _MAX_SCORES_UNCHECKED:
        return
    content = f"the scores of {n_docs:,} documents by {n_classes:,} classes"
    check_memory(content, n_scores * bytes_per_score, hint)


def _memory_error(content: str, n_needed: int, n_free: int, hint: str) -> InputError:
    problem = f"{content} need {format_bytes(n_needed)} of memory; {format_bytes(n_free)} are free"
    return InputError(problem, hint=hint)


def format_bytes(n_bytes: int) -> str:
    """Return a number of bytes in MB or GB."""
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:,.1f} MB"
