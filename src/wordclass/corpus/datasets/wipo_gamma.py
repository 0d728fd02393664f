"""WIPO-gamma, English: patents by the International Patent Classification (IPC)."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from xml.etree.ElementTree import Element

from wordclass.corpus.datasets import _xml
from wordclass.corpus.datasets._members import Member
from wordclass.corpus.datasets._source import Sizes, Source
from wordclass.corpus.documents import Dataset, Record
from wordclass.errors import FormatError
from wordclass.options import check_one_of

_PAGE = "https://www.wipo.int/classifications/ipc/en/ITsupport/Categorization/dataset/"

SOURCE = Source(
    name="wipo_gamma",
    title="patent abstracts by IPC subclass, official split",
    url=_PAGE,
    license="research only, by agreement with WIPO",
    advice=(
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
_Listed = tuple[str, list[str]]  # what an official list says of a document: split, symbols
_SYMBOL = re.compile(r"\s*([A-H]\d\d[A-Z])\s*(?:(\d{1,4})\s*/|(\d*))")


def load(home: Path, *, labels: str = "main", level: str = "subclass") -> Dataset:
    """Read the English abstracts of the documents that the official split lists.

    Documents without an English abstract are left out.

    Parameters
    ----------
    home : Path
        Where corpora live.
    labels : {"main", "all"}, default="main"
        "main" gives each document its main class, "all" makes the data set multilabel.
    level : {"subclass", "main_group"}, default="subclass"
        "subclass" has classes such as "A61K", "main_group" such as "A61K 31/00". Each level has
        a split of its own.
    """
    check_one_of("labels", labels, ("main", "all"))
    check_one_of("level", level, tuple(_LISTS))
    listed = _read_lists(home, _LISTS[level])
    found: list[tuple[str, Record]] = []
    for member in SOURCE.members(home, lambda name: _id_of(name) in listed):
        record = _read(member, listed[member.stem], level, labels == "main")
        if record.text:
            found.append((member.stem, record))
    return SOURCE.to_dataset(home, found, is_multilabel=labels == "all")


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


def _id_of(name: str) -> str:
    path = PurePosixPath(name)
    return path.stem if path.suffix.lower() == ".xml" else ""


def _read_lists(home: Path, level: str) -> dict[str, _Listed]:
    """Read `trainset_en_sc.parts` and its like: a file and its symbols, with commas, per line."""
    names = {f"{split}set_en_{level}.parts": split for split in ("train", "test")}
    listed: dict[str, _Listed] = {}
    missing = set(names)
    step = "reading the split of"
    for member in SOURCE.members(home, lambda name: PurePosixPath(name).name in names, step):
        missing.discard(member.parts[-1])
        for document, symbols in _lines(member):
            listed[document] = names[member.parts[-1]], symbols
    if missing:
        place = SOURCE.require(home)[0]
        raise FormatError(place, None, f"the lists {', '.join(sorted(missing))} are missing")
    return listed


def _lines(member: Member) -> Iterator[tuple[str, list[str]]]:
    for k, line in enumerate(member.data.decode("latin-1").splitlines(), start=1):
        if not line.strip():
            continue
        place, *symbols = (field.strip() for field in line.split(","))
        if not symbols:
            raise FormatError(member.place, k, "expected a file and its symbols, with commas")
        yield place.replace("\\", "/").rpartition("/")[2].removesuffix(".xml"), symbols


def _read(member: Member, listed: _Listed, level: str, only_main: bool) -> Record:
    shortened = Member(member.name, _LONG_PARTS.sub(b"", member.data), member.origin)
    root = _xml.parse(shortened)
    split, symbols = listed
    found = [
        (class_of(_xml.text_of(each), level), each.get("generated_main_IPC"))
        for each in root.findall(_SYMBOLS)
    ]
    main = [symbol for symbol, is_main in found if symbol and is_main == "true"]
    if not main:  # the list has the main one first
        main = [symbol for each in symbols[:1] if (symbol := class_of(each, level))]
    if not main:
        raise FormatError(member.place, None, "no main IPC symbol, neither here nor in the list")
    labels = main[:1] if only_main else sorted({*main, *(symbol for symbol, _ in found if symbol)})
    return Record("\n".join(_abstracts(root)), [*labels], split)


def _abstracts(root: Element) -> list[str]:
    """Return the paragraphs of the English abstract, or its text where it has none."""
    found = []
    for abstract in root.findall("./abstract"):
        if abstract.get("lang", "").upper() == "EN":
            found += _xml.texts_of(abstract.findall(".//p")) or _xml.texts_of([abstract])
    return found
