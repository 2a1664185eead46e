"""Public NKI kernels of checkouts that the reader has: nki-library, aws-neuron-sdk and nki-moe."""

import os
import sys
import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from bitpath.golden import nki

VARIABLE = "BITPATH_NKI_DIR"
LIBRARY = "nki-library/src"


def kernel_module(name: str, folder: str = LIBRARY) -> ModuleType:
    """Import a module of a checkout's folder, with the vendor's names on golden; skip the test without the folder."""
    root = os.environ.get(VARIABLE)
    if not root:
        pytest.skip(f"{VARIABLE} must name a folder with checkouts of NKI kernels")
    place = Path(root) / folder
    if not place.is_dir():
        pytest.skip(f"{place} must be a checkout of NKI kernels")
    if str(place) not in sys.path:
        sys.path.append(str(place))
    with nki.installed(), warnings.catch_warnings():
        warnings.simplefilter("ignore", (DeprecationWarning, SyntaxWarning))
        return import_module(name)


def library(name: str) -> ModuleType:
    """Import a module of nki-library."""
    return kernel_module(f"nkilib_src.nkilib.{name}")
