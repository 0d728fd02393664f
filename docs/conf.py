"""Settings of the documentation site; `make docs` builds it without network."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

from generated_pages import write_api_pages, write_command_pages

project = "wordclass"
html_title = "wordclass"
copyright = "the wordclass developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
html_theme = "furo"
html_show_sphinx = False
smartquotes = False  # they would turn "--option" into a dash

myst_heading_anchors = 3
myst_links_external_new_tab = False
numpydoc_show_class_members = False
autodoc_default_options = {"member-order": "bysource"}
autodoc_typehints = "none"  # the docstrings state the types

# links to files of the repository that are not pages, such as examples
suppress_warnings = ["myst.xref_missing"]
exclude_patterns = ["figures/*", "pictures/*", "reference/generated/list-of-commands.md"]


def setup(app: Sphinx) -> None:
    """Generate the reference pages before Sphinx reads the sources."""
    app.connect("builder-inited", write_reference)


def write_reference(app: Sphinx) -> None:
    """Write the pages that come from docstrings and commands."""
    folder = Path(app.srcdir) / "reference" / "generated"
    folder.mkdir(exist_ok=True)
    write_api_pages(folder)
    write_command_pages(folder)
