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
        "The corpus may not be redistributed: ask WIPO for the English part of WIPO-gamma, "
        f"{_PAGE}, with 11 files, EnglishWipoGamma1.zip to EnglishWipoGamma11.zip"
    ),
    sizes=Sizes(n_train=896_363, n_test=221_936, n_classes=613),
    files=("EnglishWipoGamma*.zip", "*/EnglishWipoGamma*.zip", "Wipo_Gamma"),
)

_LISTS = {"subclass": "sc", "main_group": "mg"}
# long, unused, and not always well-formed
_UNUSED_ELEMENTS = re.compile(rb"<(claims|description)\b.*?</\1\s*>", re.DOTALL)
_SYMBOLS = (
    "./bibliographic-data/technical-data/classifications-ipcr/"
    "classification-ipcr[@computed='from_ecla_to_ipc_SG']"
)
_ListEntry = tuple[str, list[str]]  # split and symbols of a document in the official lists
_SYMBOL = re.compile(r"\s*([A-H]\d\d[A-Z])\s*(?:(\d{1,4})\s*/|(\d*))")


def load(home: Path, *, labels: str = "main", level: str = "subclass") -> Dataset:
    """Read the English abstracts of the documents in the official split.

    Documents without an English abstract are left out.

    Parameters
    ----------
    home : Path
        Folder of corpora.
    labels : {"main", "all"}, default="main"
        With "main" each document has its main class, with "all" the dataset is multilabel.
    level : {"subclass", "main_group"}, default="subclass"
        Classes are such as "A61K" with "subclass" and "A61K 31/00" with "main_group". Each level
        has its own split.
    """
    check_one_of("labels", labels, ("main", "all"))
    check_one_of("level", level, tuple(_LISTS))
    listed = _read_lists(home, _LISTS[level])
    records: list[tuple[str, Record]] = []
    for member in SOURCE.members(home, lambda name: _id_of(name) in listed):
        record = _read(member, listed[member.stem], level, labels == "main")
        if record.text:
            records.append((member.stem, record))
    return SOURCE.to_dataset(home, records, is_multilabel=labels == "all")


def class_of(symbol: str, level: str) -> str | None:
    """Return the class of an IPC symbol in any notation at a level, or None for other strings.

    Examples
    --------
    >>> [class_of("A61K  31/00", level) for level in ("subclass", "main_group")]
    ['A61K', 'A61K 31/00']
    >>> class_of("A61K0031000000", "main_group")
    'A61K 31/00'
    """
    match = _SYMBOL.match(symbol)
    if match is None:
        return None
    subclass, before_slash, digits = match.groups()
    if level == "subclass":
        return subclass
    # without a slash, four digits come before those of the subgroup, or three in WIPO-alpha
    group = before_slash or digits[: 3 if len(digits) == 5 else 4]
    return f"{subclass} {int(group)}/00" if group else None


def _id_of(name: str) -> str:
    path = PurePosixPath(name)
    return path.stem if path.suffix.lower() == ".xml" else ""


def _read_lists(home: Path, level: str) -> dict[str, _ListEntry]:
    """Read lists such as `trainset_en_sc.parts` with lines of a file and its symbols."""
    names = {f"{split}set_en_{level}.parts": split for split in ("train", "test")}
    listed: dict[str, _ListEntry] = {}
    missing = set(names)
    step = "reading the split of"
    for member in SOURCE.members(home, lambda name: PurePosixPath(name).name in names, step):
        missing.discard(member.parts[-1])
        for document, symbols in _lines(member):
            listed[document] = names[member.parts[-1]], symbols
    if missing:
        origin = SOURCE.require(home)[0]
        raise FormatError(origin, None, f"the lists {', '.join(sorted(missing))} are missing")
    return listed


def _lines(member: Member) -> Iterator[tuple[str, list[str]]]:
    for k, line in enumerate(member.data.decode("latin-1").splitlines(), start=1):
        if not line.strip():
            continue
        file, *symbols = (field.strip() for field in line.split(","))
        if not symbols:
            raise FormatError(
                member.place, k, "no comma in the line", expected="a file, a comma and its symbols"
            )
        yield file.replace("\\", "/").rpartition("/")[2].removesuffix(".xml"), symbols


def _read(member: Member, listed: _ListEntry, level: str, only_main: bool) -> Record:
    shortened = Member(member.name, _UNUSED_ELEMENTS.sub(b"", member.data), member.origin)
    root = _xml.parse(shortened)
    split, symbols = listed
    classes = [
        (class_of(_xml.text_of(element), level), element.get("generated_main_IPC"))
        for element in root.findall(_SYMBOLS)
    ]
    main = [name for name, is_main in classes if name and is_main == "true"]
    if not main:  # the main symbol is the first one in the list
        main = [name for symbol in symbols[:1] if (name := class_of(symbol, level))]
    if not main:
        raise FormatError(member.place, None, "no main IPC symbol in the document or the list")
    labels = main[:1] if only_main else sorted({*main, *(name for name, _ in classes if name)})
    return Record("\n".join(_abstracts(root)), [*labels], split)


def _abstracts(root: Element) -> list[str]:
    """Return the paragraphs of the English abstract, or its text if it has no paragraphs."""
    paragraphs = []
    for abstract in root.findall("./abstract"):
        if abstract.get("lang", "").upper() == "EN":
            paragraphs += _xml.texts_of(abstract.findall(".//p")) or _xml.texts_of([abstract])
    return paragraphs
