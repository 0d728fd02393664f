import subprocess
import sys

import pytest

import wordclass as wc
from wordclass import catalogue


def test_every_public_name_resolves():
    for name in wc.__all__:
        assert getattr(wc, name) is not None


def test_the_names_shown_are_the_public_ones():
    assert set(wc.__all__) <= set(dir(wc))


def test_every_classifier_is_a_public_class():
    for name in catalogue.names("classifiers"):
        make = catalogue.entry("classifiers", name).make
        assert getattr(wc, make.__name__) is make
        assert make.__name__ in dir(wc)
        assert type(wc.classifier(name)) is make


def test_the_version_is_that_of_the_installed_package():
    assert wc.__version__.count(".") == 2


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = wc.nothing


CORE_ONLY = """
import sys
EXTRAS = {"zstandard", "matplotlib", "torch", "fasttext"}
EXTRAS |= {"pandas", "pyarrow", "gensim", "tokenizers", "sentence_transformers", "onnxruntime"}
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in EXTRAS:
            raise ImportError(name)
sys.meta_path.insert(0, NotInstalled())
import wordclass as wc
texts = ["orbit moon"] * 5 + ["rose soil"] * 5
labels = ["space"] * 5 + ["garden"] * 5
wce = wc.WordClassEmbeddings().fit(texts, labels)
wce.save(sys.argv[1] + "/a.wce")
assert wc.WordClassEmbeddings.load(sys.argv[1] + "/a.wce").top_terms("space", 1)[0][0] == "moon"
assert list(wc.classifier("nearest").fit(texts, labels).predict(["rose"])) == ["garden"]
open(sys.argv[1] + "/a.jsonl.zst", "wb").write(b"x")
try:
    wc.read_corpus(sys.argv[1] + "/a.jsonl.zst")
except wc.MissingExtraError as error:
    assert "pip install 'wordclass[zstandard]'" in str(error), error
else:
    raise SystemExit("no error")
sys.argv = ["wordclass", "--version"]
from wordclass.cli.main import main
main()
"""


def test_the_core_and_the_commands_work_without_any_extra(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CORE_ONLY, str(tmp_path)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"wordclass {wc.__version__}\n"
