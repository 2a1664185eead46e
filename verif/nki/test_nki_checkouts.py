"""The table of public kernels: its files define their entries; another file warns."""

import ast

import pytest

from bitpath.verif.nki.checkouts import TABLE, VARIABLE, checkout_folder, kernel_module


@pytest.mark.parametrize("checkout", TABLE)
def test_nki_entries(checkout):
    for path, listed in TABLE[checkout]["files"].items():
        content = ast.parse((checkout_folder(checkout) / path).read_text()).body
        defined = {each.name for each in content if isinstance(each, ast.FunctionDef | ast.ClassDef)}
        assert defined.issuperset(listed["entries"]), path


def test_nki_another_file_warns(tmp_path, monkeypatch):
    """A changed kernel runs, and the report names it."""
    (tmp_path / "nki-moe").mkdir()
    (tmp_path / "nki-moe" / "changed.py").write_text("def kernel():\n    return 1\n")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setitem(TABLE["nki-moe"]["files"], "changed.py", {"entries": ["kernel"], "sha256": "0" * 64})
    with pytest.warns(UserWarning, match=f"changed.py is not the file of nki-moe at {TABLE['nki-moe']['commit']}"):
        assert kernel_module("changed", "nki-moe").kernel() == 1
