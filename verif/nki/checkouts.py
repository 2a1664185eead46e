"""Public NKI kernels of checkouts that the reader has; `kernels.toml` lists their files and what these were run at."""

import hashlib
import os
import sys
import tomllib
import warnings
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from bitpath.golden import nki

VARIABLE = "BITPATH_NKI_DIR"
LIBRARY = "nki-library/src"
TABLE = tomllib.loads(Path(__file__).with_name("kernels.toml").read_text())
"""Of each checkout its source, commit, and files by path, each with the entries that tests take and its SHA-256."""


def checkout_folder(name: str) -> Path:
    """Return a folder below BITPATH_NKI_DIR; skip the test without it."""
    root = os.environ.get(VARIABLE)
    if not root:
        pytest.skip(f"{VARIABLE} must name a folder with checkouts of NKI kernels")
    place = Path(root) / name
    if not place.is_dir():
        pytest.skip(f"{place} must be a checkout of NKI kernels")
    return place


def kernel_module(name: str, folder: str = LIBRARY) -> ModuleType:
    """Import a module of a checkout's folder, with the vendor's names on golden.

    Skips the test without the folder. Warns if the file is another than the table's, which is reported and fails no test.
    """
    place = checkout_folder(folder)
    if str(place) not in sys.path:
        sys.path.append(str(place))
    checkout, *below = folder.split("/")
    _warn_of_another_file(checkout, "/".join([*below, *name.split(".")]) + ".py")
    with nki.installed(), warnings.catch_warnings():
        warnings.simplefilter("ignore", (DeprecationWarning, SyntaxWarning))
        return import_module(name)


def _warn_of_another_file(checkout: str, path: str) -> None:
    content = (checkout_folder(checkout) / path).read_bytes()
    if hashlib.sha256(content).hexdigest() != TABLE[checkout]["files"][path]["sha256"]:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn(f"{path} is not the file of {checkout} at {TABLE[checkout]['commit']}", stacklevel=3)


def kernel_file(path: str, folder: str) -> ModuleType:
    """Load a file of a checkout by itself, also one whose name another checkout's has. Skips and warns as `kernel_module`."""
    place = checkout_folder(folder) / path
    _warn_of_another_file(folder, path)
    spec = spec_from_file_location(place.stem, place)
    assert spec is not None
    assert spec.loader is not None
    module, before = module_from_spec(spec), list(sys.path)
    sys.path.insert(0, str(place.parent))
    try:
        with nki.installed():
            spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


def library(name: str) -> ModuleType:
    """Import a module of nki-library."""
    return kernel_module(f"nkilib_src.nkilib.{name}")
