import subprocess
import sys

import pytest

import wordclass as wc
from wordclass import catalogue

WITHOUT_TORCH = """
import sys
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, NotInstalled())
import wordclass as wc
from wordclass import *
for use in (lambda: wc.torch, lambda: wc.classifier("cnn")):
    try:
        use()
    except wc.MissingExtraError as error:
        print(error)
"""


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_only_the_use_of_wordclass_torch_imports_torch():
    pytest.importorskip("torch")
    code = (
        "import sys, wordclass as wc\n"
        "assert 'torch' in dir(wc) and 'torch' not in sys.modules\n"
        "layer = wc.torch.EmbeddingLayer\n"
        "assert 'torch' in sys.modules and sys.modules['torch'] is not wc.torch\n"
        "print(layer.__mro__[1].__module__)"
    )
    assert run(code).stdout == "torch.nn.modules.module\n"


def test_wordclass_torch_has_the_building_blocks_of_networks():
    pytest.importorskip("torch")
    from wordclass.network.embedding_layer import EmbeddingLayer

    assert wc.torch.EmbeddingLayer is EmbeddingLayer
    for name in wc.torch.__all__:
        assert getattr(wc.torch, name).__doc__
    assert wc.torch.encoder("mean", 3).output_dim == 3


def test_without_torch_the_error_names_the_pip_command_and_everything_else_works():
    lines = [
        f"torch is needed for {what}; install it with: pip install 'wordclass[networks]'\n"
        for what in ("wordclass.torch", "the classifier 'cnn'")
    ]
    assert run(WITHOUT_TORCH).stdout == "".join(lines)


def test_the_error_names_the_extra_of_the_package():
    with pytest.raises(wc.MissingExtraError, match=r"pip install 'wordclass\[nothing\]'"):
        catalogue.import_extra("nothing", "for this test")
