"""bitpath without torch: one sentence names the extra."""

import importlib
import sys

import pytest


def test_the_import_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "bitpath.torch", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"^bitpath\.torch needs torch; run: pip install 'bitpath\[torch\]'$"):
        importlib.import_module("bitpath.torch")
