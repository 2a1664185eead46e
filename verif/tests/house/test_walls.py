"""The walls between the packages, read from the syntax trees: who may import what."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TOPS = ("golden", "rtl", "verif", "sim")
SOURCES = sorted(file for top in TOPS for file in (ROOT / top).rglob("*.py"))


@cache
def tree(path):
    """The syntax tree of a file, which many tests look at."""
    return ast.parse(path.read_text())


def imports(path):
    """Every absolute module name that a file imports, ``from a import b`` as both a and a.b."""
    yield from names(path, ast.walk(tree(path)))


def head_imports(path):
    """Those that its import executes: no function's."""
    yield from names(path, tree(path).body)


def names(path, nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides which package it is"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(name, *packages):
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def violations(folder, forbidden):
    return [
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / folder).rglob("*.py")
        for name in imports(path)
        if forbidden(name)
    ]


def test_golden_knows_nothing_of_hardware():
    assert not violations(
        "golden", lambda name: within(name, "amaranth", "cocotb", "bitpath.rtl", "bitpath.verif", "bitpath.sim")
    )


def test_only_golden_fast_may_use_numba():
    """Nor is it anybody else's business which of its modules do: the others are asked for where a loop is handed over."""
    lines = [line for top in TOPS for line in violations(top, lambda name: within(name, "numba", "llvmlite"))]
    assert lines
    assert not [line for line in lines if not line.startswith("golden/fast/")]


def test_compiled_loops_are_imported_where_they_are_handed_over():
    """At the head of a module only the door is imported: ``import bitpath.golden`` waits for no compiler."""
    early = [
        f"{path.relative_to(ROOT)}: {name}"
        for top in ("golden", "sim", "verif/kit", "verif/tb", "verif/stimulus")
        for path in (ROOT / top).rglob("*.py")
        if not path.is_relative_to(ROOT / "golden/fast")
        for name in head_imports(path)
        if within(name, "bitpath.golden.fast") and not within(name, "bitpath.golden.fast.backend")
        if name != "bitpath.golden.fast"
    ]
    assert not early
    assert not [name for name in head_imports(ROOT / "golden/fast/backend.py") if within(name, "numba")]


def test_spec_imports_itself_and_the_standard_library():
    import sys

    def foreign(name):
        return name.split(".")[0] not in sys.stdlib_module_names and not within(name, "bitpath.golden.spec")

    assert not violations("golden/spec", foreign)


def test_spec_functions_take_no_codes_values_or_arrays():
    """Functions of golden.spec are properties and checks of declarations: their only argument is self, or a text."""
    taking = [
        f"{path.name}: {node.name}({argument.arg})"
        for path in (ROOT / "golden/spec").glob("*.py")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef)
        for argument in (*node.args.args, *node.args.kwonlyargs)
        if argument.arg != "self"
        and not (isinstance(argument.annotation, ast.Name) and argument.annotation.id == "str")
    ]
    assert not taking


def test_rtl_reads_only_the_declarations():
    def forbidden(name):
        beyond_spec = (
            within(name, "bitpath.golden") and not within(name, "bitpath.golden.spec") and name != "bitpath.golden"
        )
        return beyond_spec or within(name, "numpy", "ml_dtypes", "cocotb", "bitpath.verif", "bitpath.sim")

    assert not violations("rtl", forbidden)


def test_verif_does_not_run_simulators_itself():
    outside = [
        line
        for line in violations("verif", lambda name: within(name, "bitpath.sim"))
        if not line.startswith("verif/tests/")
    ]
    assert not outside


def test_only_the_launcher_calls_cocotbs_runner():
    lines = [line for top in TOPS for line in violations(top, lambda name: within(name, "cocotb_tools.runner"))]
    assert {line.split(":")[0] for line in lines} == {"sim/launch.py"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_second_copy_of_a_module(path):
    assert not [name for name in imports(path) if within(name, *TOPS)]


def test_tests_are_no_package():
    assert not list((ROOT / "verif/tests").rglob("__init__.py"))


NAMES_GONE = {
    "amaranth": {"Record", "Memory", "Settle", "log2_int", "Delay", "Sample"},
    "cocotb": {"fork", "coroutine", "external", "function", "pass_test", "TestFactory"},
}
ATTRIBUTES_GONE = {
    # cocotb 1
    "setimmediatevalue", "signed_integer", "binstr", "buff",
    # Amaranth 0.4
    "add_sync_process", "implies",
}  # fmt: skip
KEYWORDS_GONE = {"units", "verilog_sources", "vhdl_sources", "fwft"}
MODULES_GONE = (
    "amaranth.hdl.rec", "amaranth.hdl.ast", "amaranth.asserts", "amaranth.lib.coding", "amaranth.hdl.mem", "cocotb.binary", "cocotb.result",
    "cocotb.regression", "cocotb.runner", "cocotb.config", "cocotb.log", "cocotb.utils.get_sim_time", "cocotb.triggers.Join",
    "cocotb.triggers.First", "cocotb.triggers.Combine", "cocotb.triggers.Edge",
)  # fmt: skip
ALLOWED = {"verif/tests/sim/toy/toy_bench.py": {"setimmediatevalue"}}
"""The bench that shows that a deprecated call fails its run."""


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_form_that_amaranth_or_cocotb_gave_up(path):
    found = [name for name in imports(path) if within(name, *MODULES_GONE)]
    found += [
        name
        for name in imports(path)
        for package, gone in NAMES_GONE.items()
        if name in {f"{package}.{old}" for old in gone}
    ]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES_GONE:
            found.append(node.attr)
        if isinstance(node, ast.Call):
            found += [keyword.arg for keyword in node.keywords if keyword.arg in KEYWORDS_GONE]
            if isinstance(node.func, ast.Name) and node.func.id == "Signal":
                found += [keyword.arg for keyword in node.keywords if keyword.arg == "reset"]
    assert set(found) <= ALLOWED.get(str(path.relative_to(ROOT)), set())
