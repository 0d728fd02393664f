"""One way to refuse what a user gave: the message says what came, and what was expected."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import inf, nan
from numbers import Integral, Real
from pathlib import Path

from wordclass.errors import InputError

_MOST_THREADS = 256
_LARGEST = 2**63 - 1
_MAX_SCORES_UNCHECKED = 1 << 20  # asking the system takes longer than computing so few
_GROUP_FILES = {  # of a control group, by controller: limit, usage, and what files read take of it
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def check_int(name: str, value: object, lowest: int | None = None, most: int = _LARGEST) -> None:
    """Refuse what is no whole number; where there is a lowest one, also one out of these bounds."""
    is_int = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_int or (lowest is not None and not lowest <= value <= most):  # type: ignore[operator]
        up = f"up to {most:,}" if is_int and value > most else "up"  # type: ignore[operator]
        expected = "an int" if lowest is None else f"an int from {lowest} {up}"
        raise InputError(f"{name} is {value!r}; expected {expected}")


def check_number(
    name: str, value: object, *, above: float | None = None, below: float = inf, hint: str = ""
) -> float:
    """Return a number from 0 up (or above `above`) and below `below`; refuse anything else.

    Parameters
    ----------
    name : str
        Of the option.
    value : object
        What was given; NaN and bool are refused.
    above : float, optional
        The number must be larger than this. By default it must not be below 0.
    below : float, default=inf
        The number must be smaller than this.
    hint : str, default=""
        What the message says at its end, such as ", or None".
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    number = nan
    with suppress(OverflowError):  # an int of hundreds of digits
        number = float(value) if is_number else number  # type: ignore[arg-type]
    if number < below and (number >= 0 if above is None else number > above):
        return number
    start, link, up = ("from 0", "to", " up") if above is None else (f"above {above:g}", "and", "")
    end = f" {link} below {below:g}" if below < inf else up
    raise InputError(f"{name} is {value!r}; expected a number {start}{end}{hint}")


def check_one_of(name: str, value: object, allowed: Collection[object], hint: str = "") -> None:
    """Refuse what is none of the allowed values; the message ends with the hint."""
    if not any(isinstance(value, type(each)) and value == each for each in allowed):
        *others, last = (repr(each) for each in allowed)
        listed = f"{', '.join(others)} or {last}" if others else last
        raise InputError(f"{name} is {value!r}; expected {listed}{hint}")


def is_auto(value: object) -> bool:
    """Tell whether an option was left to us; an array is no reason to fail."""
    return isinstance(value, str) and value == "auto"


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads are asked for; -1 is all cores, None one."""
    if n_jobs is None:
        return 1
    given: object = n_jobs
    if isinstance(given, bool) or not isinstance(given, Integral) or n_jobs == 0:
        raise InputError(f"n_jobs is {n_jobs!r}; expected an int (-1 is all cores), or None")
    asked = n_jobs if n_jobs > 0 else (os.cpu_count() or 1) + 1 + n_jobs
    return int(min(max(asked, 1), _MOST_THREADS))


def list_texts(texts: Iterable[str]) -> list[str]:
    """Read texts of any kind (list, Series, array, generator) once, and check that each is a str.

    Raises
    ------
    InputError
        One of them is None, bytes, a number; or `texts` is itself one str.
    """
    if isinstance(texts, str | bytes):
        raise InputError(f"texts is one {type(texts).__name__}; expected a list of str: [text]")
    # a table or a dict would give its column names or keys
    is_table = getattr(texts, "ndim", 1) != 1 or isinstance(texts, Mapping)
    if texts is None or is_table or not isinstance(texts, Iterable):
        raise InputError(f"texts is {_described(texts)}; expected an iterable of str")
    # an Arrow column iterates over scalars of its own
    listed = texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
    if set(map(type, listed)) <= {str}:
        return listed  # nearly always: no need to look at them one by one
    for k, text in enumerate(listed):
        if not isinstance(text, str):
            hint = "; decode it first" if isinstance(text, bytes | bytearray) else ""
            raise InputError(f"text {k} is {_described(text)}, not a str{hint}")
    return listed


def check_lengths(texts: Sequence[str], n_labels: int) -> None:
    """Refuse texts and labels of different number, or none at all."""
    if len(texts) != n_labels:
        raise InputError(f"{len(texts)} texts but {n_labels} labels: expected one per text")
    if not texts:
        raise InputError("the corpus is empty: there are no texts")


def _described(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


@contextmanager
def native_errors_as_input_errors() -> Iterator[None]:
    """Tell what native code refuses as a mistake in what the user gave."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(str(error)) from error


# --- memory -----------------------------------------------------------------------------------


def free_bytes() -> int | None:
    """Return how much memory there is to take; None where the system does not tell.

    Not psutil's number, which ignores the limits of containers.
    """
    left = [*_machine_bytes(), *control_group_bytes()]
    return max(0, min(left)) if left else None


def _machine_bytes() -> Iterator[int]:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found = {line.split(":")[0]: int(line.split()[1]) for line in lines}
        yield found["MemAvailable"] * 1024
    except (OSError, KeyError, ValueError, IndexError):
        with suppress(AttributeError, OSError, ValueError):
            yield os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(ImportError, OSError, ValueError):  # a limit of this process, as `ulimit -v` sets
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            used = int(Path("/proc/self/statm").read_text().split()[0])
            yield limit - used * resource.getpagesize()


def control_group_bytes(
    groups: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")
) -> Iterator[int]:
    """Return what each control group of this process leaves it: a container's limit, say."""
    with suppress(OSError):
        for line in groups.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            own = Path(path.lstrip("/"))
            for kind in _GROUP_FILES.keys() & controllers.split(","):
                for group in (own, *own.parents):  # each is bound by those above it
                    with suppress(OSError, ValueError, KeyError):  # not here, or without a limit
                        yield _left(mounted / kind / group, *_GROUP_FILES[kind])


def _left(group: Path, limit: str, usage: str, cached: str) -> int:
    statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    used = int((group / usage).read_text()) - int(statistics[cached])  # files read: given back
    return int((group / limit).read_text()) - used


def check_table(what: str, row_docs: Collection[float], row_bytes: int, more: int = 0) -> None:
    """Refuse a table that is too large, before it is made, and tell what would fit.

    Parameters
    ----------
    what : str
        What it holds.
    row_docs : array of shape (v,)
        In how many documents the term of each row occurs.
    row_bytes : int
        What a row needs, with everything that is made on the way.
    more : int, default=0
        What is needed beside the rows, however few they are.
    """
    free = free_bytes()
    needed = len(row_docs) * row_bytes + more
    if free is None or needed <= free:
        return
    n_fitting = (free - more) // row_bytes
    remedy = "no min_docs would help: take fewer documents, or classes"
    if n_fitting >= 1:
        min_docs = int(sorted(row_docs, reverse=True)[n_fitting]) + 1
        remedy = f"min_docs={min_docs} would fit: at most {n_fitting:,} terms"
    raise InputError(_describe_shortage(what, needed, free, remedy))


def check_memory(what: str, needed: int, remedy: str) -> None:
    """Refuse work that needs more memory than is free, before it starts.

    Parameters
    ----------
    what : str
        What needs the memory, in the plural.
    needed : int
        Estimated number of bytes.
    remedy : str
        What would need less.
    """
    free = free_bytes()
    if free is not None and needed > free:
        raise InputError(_describe_shortage(what, needed, free, remedy))


def check_scores(n_docs: int, n_classes: int, n_bytes: int, remedy: str) -> None:
    """Refuse scores of so many documents by so many classes that they do not fit into memory.

    Parameters
    ----------
    n_docs, n_classes : int
        Numbers of documents and of classes.
    n_bytes : int
        What one score needs, with everything that is computed from it.
    remedy : str
        What would need less.
    """
    n_scores = n_docs * n_classes
    if n_scores < _MAX_SCORES_UNCHECKED:
        return
    what = f"the scores of {n_docs:,} documents by {n_classes:,} classes"
    check_memory(what, n_scores * n_bytes, remedy)


def _describe_shortage(what: str, needed: int, free: int, remedy: str) -> str:
    return f"{what} need {format_bytes(needed)} of memory; {format_bytes(free)} are free; {remedy}"


def format_bytes(n_bytes: int) -> str:
    """Return a number of bytes as people write it."""
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:,.1f} MB"
