import shutil

import pytest
from explored_models import documents, model
from pages_in_browser import CHROMIUM_ARGUMENTS

from wordclass.explorer.page import export_page
from wordclass.explorer.views import Exploration

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no chromium; apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A function that returns the address of the exported page of a model."""
    folder = tmp_path_factory.mktemp("pages")

    def address_of(kind, is_multilabel):
        path = folder / f"{kind}-{is_multilabel}.html"
        if not path.exists():
            path.write_bytes(
                export_page(kind, Exploration(model(kind, is_multilabel), documents(is_multilabel)))
            )
        return path.as_uri()

    return address_of
