"""Sphinx's configuration of the pages."""

import os
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

import jinja2
from amaranth.hdl import UnusedElaboratable
from numpy.typing import ArrayLike
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.typing import stringify_annotation

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from parts import api, datapaths, docstrings, tables, transcripts  # noqa: E402 (this file's folder must be on the path)

PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
project = "bitpath"
author = "the bitpath contributors"
copyright = "2026, the bitpath contributors"  # noqa: A001 (Sphinx names it)
release = PROJECT["version"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
# The tutorials are notebooks, which run each time the pages are built, and a cell that fails stops the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True
# Cells call `bitpath` as a reader does. Jupyter asks for colours and moving progress bars, which a page cannot show.
os.environ["TTY_COMPATIBLE"] = "0"
os.environ["BITPATH_QUIET"] = "1"
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
myst_enable_extensions = ["deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3
exclude_patterns = ["parts", "records"]
html_theme = "furo"
html_title = f"bitpath {release}"
html_static_path = ["static"]
html_css_files = ["bitpath.css"]
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
# The extra takes 5 GB; bitpath.torch's signatures and docstrings need none of it.
autodoc_mock_imports = ["torch"]
default_role = "code"
# Components are made for their signatures alone.
warnings.filterwarnings("ignore", category=UnusedElaboratable)

LOGGER = logging.getLogger(__name__)
PAGES = jinja2.Environment(
    undefined=jinja2.StrictUndefined, autoescape=False, comment_start_string="{##", comment_end_string="##}"
)
LONG_TYPES = {stringify_annotation(ArrayLike, mode): "ArrayLike" for mode in ("smart", "fully-qualified-except-typing")}


def fill_in(_app: Sphinx, page: str, source: list[str]) -> None:
    """Replace the names of tables, figures and records in a page, and run its examples."""
    if "{{" in source[0]:
        source[0] = PAGES.from_string(source[0]).render(tables.names())
    for message in transcripts.differences(source[0], page):
        LOGGER.warning("an example prints something else: %s", message, location=page)


def shorten(_app: Sphinx, *arguments: Any) -> tuple[str | None, str | None]:
    """Write ArrayLike in a signature instead of its union of types."""
    signature, result = arguments[-2:]
    for long, short in LONG_TYPES.items():
        signature = signature and signature.replace(long, short)
        result = result and result.replace(long, short)
    return signature, result


def rewrite(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Convert a docstring in place."""
    lines[:] = docstrings.to_rst(lines)


def setup(app: Sphinx) -> None:
    """Connect these functions to Sphinx."""
    if datapaths.PICTURE.read_text() != datapaths.picture():
        LOGGER.warning("images/datapaths.svg is stale; run python -m parts.datapaths in docs")
    api.write(HERE / "api/golden")
    app.connect("source-read", fill_in)
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-process-docstring", rewrite)
