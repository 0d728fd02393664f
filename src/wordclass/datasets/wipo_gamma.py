"""WIPO-gamma, English: patents by the International Patent Classification (IPC)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from xml.etree.ElementTree import Element

from wordclass.corpus import Dataset
from wordclass.datasets import _members, _xml
from wordclass.datasets._documents import Document, to_dataset
from wordclass.datasets._members import Member
from wordclass.datasets._source import Sizes, Source
from wordclass.errors import FormatError, InputError

_PAGE = "https://www.wipo.int/classifications/ipc/en/ITsupport/Categorization/dataset/"

SOURCE = Source(
    name="wipo_gamma",
    title="patent abstracts by IPC subclass, official split",
    url=_PAGE,
    license="research only, by agreement with WIPO",
    how_to_get=(
        f"Nobody may pass it on: ask WIPO for the English part of WIPO-gamma, {_PAGE}, which are "
        "11 files, EnglishWipoGamma1.zip to EnglishWipoGamma11.zip"
    ),
    sizes=Sizes(n_train=896_363, n_test=221_936, n_classes=613),
    files=("EnglishWipoGamma*.zip", "*/EnglishWipoGamma*.zip", "Wipo_Gamma"),
)

_LISTS = {"subclass": "sc", "main_group": "mg"}
# long, not needed, and not always well-formed
_LONG_PARTS = re.compile(rb"<(claims|description)\b.*?</\1\s*>", re.DOTALL)
_SYMBOLS = (
    "./bibliographic-data/technical-data/classifications-ipcr/"
    "classification-ipcr[@computed='from_ecla_to_ipc_SG']"
)
_SYMBOL = re.compile(r"\s*([A-H]\d\d[A-Z])\s*(?:(\d{1,4})\s*/|(\d*))")


@dataclass(frozen=True)
class _Listed:
    """What the official list of a part says about a document."""

    split: str
    symbols: list[str]


def load(home: Path, *, labels: str = "main", level: str = "subclass") -> Dataset:
    """Read the English abstracts of the documents that the official split lists.

    Documents without an English abstract are left out.

    Parameters
    ----------
    home
        Where corpora live.
    labels
        "main" gives each document its main class, "all" makes the data set multilabel.
    level
        "subclass" has classes such as "A61K", "main_group" such as "A61K 31/00". Each level has
        a split of its own.
    """
    _check_option("labels", labels, ("main", "all"))
    _check_option("level", level, tuple(_LISTS))
    paths = SOURCE.require(home)
    listed = _read_lists(paths, _LISTS[level])
    found: dict[str, list[tuple[str, Document]]] = {"train": [], "test": []}
    for member in _members.read(paths, lambda name: _id_of(name) in listed, "reading wipo_gamma"):
        document = _read(member, listed[member.stem], level, labels == "main")
        if document.text:
            found[listed[member.stem].split].append((member.stem, document))
    train, test = (
        [document for _, document in sorted(part, key=lambda pair: pair[0])]
        for part in found.values()
    )
    return to_dataset("wipo_gamma", paths[0], train, test, is_multilabel=labels == "all")


def class_of(symbol: str, level: str) -> str | None:
    """Cut an IPC symbol, in any of its notations, to a level; None where it is no symbol.

    Examples
    --------
    >>> [class_of("A61K  31/00", level) for level in ("subclass", "main_group")]
    ['A61K', 'A61K 31/00']
    >>> class_of("A61K0031000000", "main_group")
    'A61K 31/00'
    """
    found = _SYMBOL.match(symbol)
    if found is None:
        return None
    subclass, before_slash, digits = found.groups()
    if level == "subclass":
        return subclass
    # without a slash: four digits, then those of the subgroup; WIPO-alpha has three
    group = before_slash or digits[: 3 if len(digits) == 5 else 4]
    return f"{subclass} {int(group)}/00" if group else None


def _check_option(name: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise InputError(f"{name} is {given!r}; expected {' or '.join(map(repr, known))}")


def _id_of(name: str) -> str:
    path = PurePosixPath(name)
    return path.stem if path.suffix.lower() == ".xml" else ""


def _read_lists(paths: list[Path], level: str) -> dict[str, _Listed]:
    """Read `trainset_en_sc.parts` and its like: a file and its symbols, with commas, a line."""
    names = {f"{split}set_en_{level}.parts": split for split in ("train", "test")}
    listed: dict[str, _Listed] = {}
    missing = set(names)
    step = "reading the split of wipo_gamma"
    for member in _members.read(paths, lambda name: PurePosixPath(name).name in names, step):
        name = PurePosixPath(member.name).name
        missing.discard(name)
        for document, symbols in _lines(member):
            listed[document] = _Listed(names[name], symbols)
    if missing:
        raise FormatError(paths[0], None, f"the lists {', '.join(sorted(missing))} are missing")
    return listed


def _lines(member: Member) -> Iterator[tuple[str, list[str]]]:
    for k, line in enumerate(member.data.decode("latin-1").splitlines(), start=1):
        if not line.strip():
            continue
        place, *symbols = (field.strip() for field in line.split(","))
        if not symbols:
            raise FormatError(member.place, k, "expected a file and its symbols, with commas")
        yield place.replace("\\", "/").rpartition("/")[2].removesuffix(".xml"), symbols


def _read(member: Member, listed: _Listed, level: str, only_main: bool) -> Document:
    shortened = Member(member.name, _LONG_PARTS.sub(b"", member.data), member.origin)
    root = _xml.parse(shortened)
    main: list[str] = []
    others: list[str] = []
    for element in root.findall(_SYMBOLS):
        symbol = class_of(_xml.text_of(element), level)
        if symbol is not None:
            is_main = element.get("generated_main_IPC") == "true"
            (main if is_main else others).append(symbol)
    if not main:  # the list has the main one first
        main = [symbol for each in listed.symbols[:1] if (symbol := class_of(each, level))]
    if not main:
        raise FormatError(member.place, None, "no main IPC symbol, neither here nor in the list")
    labels = main[:1] if only_main else sorted({*main, *others})
    return Document("\n".join(_abstracts(root)), labels)


def _abstracts(root: Element) -> list[str]:
    """Return the paragraphs of the English abstract, or its text where it has none."""
    found = []
    for abstract in root.findall("./abstract"):
        if abstract.get("lang", "").upper() == "EN":
            found += _xml.texts_of(abstract.findall(".//p")) or _xml.texts_of([abstract])
    return found
