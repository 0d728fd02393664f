import pytest

from wordclass.corpus.datasets import wipo_gamma
from wordclass.corpus.reader import load_dataset
from wordclass.errors import FormatError, InputError

PATENT = """<?xml version="1.0" encoding="UTF-8"?>
<patent-document ucid="{name}" lang="EN" country="EP">
<bibliographic-data><technical-data><classifications-ipcr>
{symbols}<classification-ipcr computed="from_ecla_to_ipc_MG">H99Z  9/00</classification-ipcr>
</classifications-ipcr></technical-data></bibliographic-data>
{abstract}
<description lang="EN"><p>Long & broken <claim-text></p></description>
<claims lang="EN"><claim><claim-text>One <claim-text></claim></claims>
</patent-document>
"""
ABSTRACT = (
    '<abstract lang="EN"><p>Abstract of <b>{name}</b>.</p><p>Caf\xe9.</p></abstract>'
    '<abstract lang="FR"><p>R\xe9sum\xe9.</p></abstract>'
)


def patent(name, main, *secondary, abstract=ABSTRACT):
    symbols = "".join(
        f'<classification-ipcr computed="from_ecla_to_ipc_SG" generated_main_IPC="{is_main}">'
        f"{symbol}</classification-ipcr>\n"
        for is_main, listed in (("true", main), ("false", secondary))
        for symbol in listed
    )
    return PATENT.format(name=name, symbols=symbols, abstract=abstract.format(name=name)).encode()


FOLDER = "Wipo_Gamma/English"
FIRST = {
    f"{FOLDER}/TrainTestSpits/trainset_en_sc.parts": (
        b"a/EP-1-A1.xml,A61K31,B01D5\r\nb\\EP-2-A1.xml,B01D\nx/EP-3-A1.xml,A61K\n\nx/EP-9.xml,A61K\n"
    ),
    f"{FOLDER}/TrainTestSpits/testset_en_sc.parts": b"c/EP-4-A1.xml,C07D\nc/EP-5-A1.xml,A61K\n",
    f"{FOLDER}/TrainTestSpits/trainset_en_mg.parts": b"a/EP-1-A1.xml,A61K31\n",
    f"{FOLDER}/TrainTestSpits/testset_en_mg.parts": b"b/EP-2-A1.xml,B01D3\n",
    f"{FOLDER}/a/EP-1-A1.xml": patent("EP-1-A1", ["A61K  31/00"], "B01D0003140000", "A61K  9/20"),
}
SECOND = {
    f"{FOLDER}/b/EP-2-A1.xml": patent("EP-2-A1", ["B01D   3/14"]),
    f"{FOLDER}/b/EP-3-A1.xml": patent("EP-3-A1", ["A61K 9/00"], abstract=""),
    f"{FOLDER}/b/EP-4-A1.xml": patent("EP-4-A1", []),
    f"{FOLDER}/b/EP-5-A1.xml": patent("EP-5-A1", ["A61K31/02"]),
    f"{FOLDER}/b/EP-7-A1.xml": patent("EP-7-A1", ["G06F 1/00"]),
}


@pytest.fixture
def home(tmp_path, write_zip):
    write_zip(tmp_path / "wipo_gamma" / "EnglishWipoGamma1.zip", FIRST)
    write_zip(tmp_path / "wipo_gamma" / "EnglishWipoGamma2.zip", SECOND)
    return tmp_path


def test_documents_of_the_lists_have_their_main_subclass(home):
    dataset = wipo_gamma.load(home)
    assert dataset.train.labels == ["A61K", "B01D"]
    assert dataset.test.labels == ["C07D", "A61K"]  # the first has it from the list
    assert dataset.classes == ["A61K", "B01D"]
    assert not dataset.is_multilabel


def test_a_text_is_the_english_abstract_and_documents_without_are_left_out(home):
    assert wipo_gamma.load(home).train.texts == [
        "Abstract of EP-1-A1.\nCafé.",
        "Abstract of EP-2-A1.\nCafé.",
    ]


def test_all_labels_make_it_multilabel(home):
    dataset = load_dataset("wipo_gamma", home, labels="all")
    assert dataset.is_multilabel
    assert dataset.train.labels == [["A61K", "B01D"], ["B01D"]]


def test_main_groups_have_another_split(home):
    dataset = load_dataset("wipo_gamma", home, level="main_group", labels="all")
    assert dataset.train.labels == [["A61K 31/00", "A61K 9/00", "B01D 3/00"]]
    assert dataset.test.labels == [["B01D 3/00"]]


@pytest.mark.parametrize(
    ("symbol", "main_group"),
    [
        ("A61K  31/00        20060101AFI20051008RMEP", "A61K 31/00"),
        ("A61K31/02", "A61K 31/00"),
        ("A61K0031020000", "A61K 31/00"),
        ("A61K00102", "A61K 1/00"),
        ("A61K31", "A61K 31/00"),
        ("A61K2031/00", "A61K 2031/00"),
        ("A61K", None),
    ],
)
def test_symbols_are_understood_in_all_their_notations(symbol, main_group):
    assert wipo_gamma.class_of(symbol, "subclass") == "A61K"
    assert wipo_gamma.class_of(symbol, "main_group") == main_group


def test_what_is_no_symbol_has_no_class():
    assert wipo_gamma.class_of("none", "subclass") is None


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"labels": "some"}, "labels is 'some'; expected 'main' or 'all'"),
        ({"level": "group"}, "level is 'group'; expected 'subclass' or 'main_group'"),
    ],
)
def test_a_wrong_option_is_refused(home, options, reason):
    with pytest.raises(InputError, match=reason):
        load_dataset("wipo_gamma", home, **options)


def test_unpacked_files_give_the_same(home, tmp_path, write_folder):
    write_folder(tmp_path / "other", FIRST | SECOND)
    assert load_dataset("wipo_gamma", tmp_path / "other") == wipo_gamma.load(home)


def test_missing_lists_are_an_error(tmp_path, write_zip):
    write_zip(tmp_path / "EnglishWipoGamma2.zip", SECOND)
    with pytest.raises(FormatError, match=r"testset_en_sc.parts, trainset_en_sc.parts are missing"):
        wipo_gamma.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        (
            "TrainTestSpits/testset_en_sc.parts",
            b"a.xml,A01B\nb.xml\n",
            "line 2: no comma",
        ),
        ("b/EP-2-A1.xml", b"<patent-document>\n<x>", "line 2: not well-formed"),
        ("b/EP-2-A1.xml", b"<patent-document/>", None),
    ],
)
def test_damage_is_told_with_archive_and_line(tmp_path, write_zip, name, data, reason):
    write_zip(tmp_path / "EnglishWipoGamma1.zip", FIRST | SECOND | {f"{FOLDER}/{name}": data})
    if reason is None:  # no abstract, so it is left out
        assert len(wipo_gamma.load(tmp_path).train) == 1
    else:
        with pytest.raises(FormatError, match=f"EnglishWipoGamma1.zip/{FOLDER}/{name}.*{reason}"):
            wipo_gamma.load(tmp_path)


def test_a_document_without_any_symbol_is_refused(tmp_path, write_zip):
    lists = {
        f"{FOLDER}/TrainTestSpits/trainset_en_sc.parts": b"EP-4-A1.xml,none\n",
        f"{FOLDER}/TrainTestSpits/testset_en_sc.parts": b"EP-5-A1.xml,A61K\n",
    }
    write_zip(tmp_path / "EnglishWipoGamma1.zip", FIRST | SECOND | lists)
    with pytest.raises(FormatError, match="no main IPC symbol"):
        wipo_gamma.load(tmp_path)
