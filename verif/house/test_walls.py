"""Import rules between packages, folders and files, checked on the syntax trees."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WINGS = ("golden", "rtl", "verif", "sim")
TOPS = ("bitpath", *WINGS)
SOURCES = sorted(file for top in TOPS for file in (ROOT / top).rglob("*.py"))


def module(path):
    """Return the module's name: ``bitpath/`` is the package itself, the wings are its subpackages."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts if parts[0] == "bitpath" else ("bitpath", *parts)).removesuffix(".__init__")


MODULES = {module(path): path for path in SOURCES}


def tree(path):
    """Return the syntax tree of a file, which is not cached: a thousand trees would slow down every garbage collection."""
    return ast.parse(path.read_text())


@cache
def imports(path):
    """Return every absolute module name that a file imports; ``from a import b`` gives a and a.b."""
    return tuple(names(path, ast.walk(tree(path))))


@cache
def head_imports(path):
    """Return the modules imported at module level, outside of functions."""
    return tuple(names(path, tree(path).body))


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


TOP_MODULES = {name for name, path in MODULES.items() if path.parent == ROOT / "bitpath"}


def test_no_wing_imports_the_top_package():
    """``bitpath/`` hands out the wings' names; golden computes without torch, which ``bitpath/torch/`` alone may import."""
    found = [
        line
        for wing in WINGS
        for line in violations(wing, lambda name: name in TOP_MODULES or within(name, "torch"))
        if not line.startswith(("verif/house/", "verif/tests/"))
    ]
    assert not found
    users = violations("bitpath", lambda name: within(name, "torch"))
    assert not [line for line in users if not line.startswith("bitpath/torch/")]


def is_loop(path):
    """Return True for files of golden with compiled loops, or with the code that compiles them."""
    return path.stem.endswith(("_loop", "_loops")) or (
        path.parent == ROOT / "golden/arrays" and path.stem in ("bits", "kernels")
    )


def is_declaration(path):
    """Return True for files of golden with declarations only: formats, and each machine's declarations."""
    return path.is_relative_to(ROOT / "golden") and path.parent.name in ("formats", "declarations")


DECLARED = re.compile(r"bitpath\.golden\.(formats|\w+\.declarations)(\.|$)")


def test_only_loops_may_use_numba():
    """Loops are imported only in the functions that call them; no other module depends on them.

    The compiler under numba also makes the RISC-V test programs of one file.
    """
    lines = [line for top in TOPS for line in violations(top, lambda name: within(name, "numba", "llvmlite"))]
    assert lines
    others = [line for line in lines if not is_loop(ROOT / line.split(":")[0])]
    assert not [line for line in others if not line.startswith("verif/kit/riscv.py: llvmlite")]


def test_compiled_loops_are_imported_where_they_are_handed_over():
    """``import bitpath.golden`` does not compile: no module imports loops at module level."""
    loops = {name for name, path in MODULES.items() if is_loop(path)}
    assert loops
    early = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in SOURCES
        if not is_loop(path) and not path.name.startswith("test_")
        for name in head_imports(path)
        if name in loops
    ]
    assert not early
    assert not [name for name in head_imports(ROOT / "golden/arrays/parallel.py") if within(name, "numba")]


def test_declarations_import_themselves_and_the_standard_library():
    import sys

    paths = [path for path in SOURCES if is_declaration(path)]
    assert len(paths) > 10
    assert not [
        f"{path.relative_to(ROOT)}: {name}"
        for path in paths
        for name in imports(path)
        if name.split(".")[0] not in sys.stdlib_module_names and not DECLARED.match(name)
    ]


RECORD_BUILDERS = ("preset", "variant", "choices", "to_dict", "from_dict", "_dataclass_from")
"""Functions that put declared values into records; they may take these, but compute nothing."""


def test_functions_of_declarations_take_no_codes_values_or_arrays():
    """Functions of declarations are properties and checks, whose only argument is self or a text, and builders of records."""
    functions = [
        node
        for path in SOURCES
        if is_declaration(path)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef)
    ]
    builders = [node for node in functions if node.name in RECORD_BUILDERS]
    assert len(builders) == len(RECORD_BUILDERS)
    assert not [
        part
        for node in builders
        for part in ast.walk(node)
        if isinstance(part, ast.BinOp) and part.lineno > node.body[0].lineno
    ]
    assert not [
        f"{node.name}({argument.arg})"
        for node in functions
        if node not in builders
        for argument in ast.walk(node.args)
        if isinstance(argument, ast.arg) and argument.arg not in ("self", "cls")
        if not (isinstance(argument.annotation, ast.Name) and argument.annotation.id == "str")
    ]


def test_rtl_reads_only_the_declarations():
    def forbidden(name):
        beyond = within(name, "bitpath.golden") and not DECLARED.match(name)
        return beyond or within(name, "numpy", "ml_dtypes", "cocotb", "bitpath.verif", "bitpath.sim")

    assert not violations("rtl", forbidden)


def test_verif_does_not_run_simulators_itself():
    outside = [
        line
        for line in violations("verif", lambda name: within(name, "bitpath.sim"))
        if not line.startswith(("verif/tests/", "verif/house/", "verif/conftest.py"))
        and not Path(line.split(":")[0]).name.startswith("test_")
    ]
    assert not outside


def test_only_the_launcher_calls_cocotbs_runner():
    lines = [line for top in TOPS for line in violations(top, lambda name: within(name, "cocotb_tools.runner"))]
    assert {line.split(":")[0] for line in lines} == {"sim/engine/launch.py"}


def test_no_second_copy_of_a_module():
    assert not [line for top in TOPS for line in violations(top, lambda name: within(name, *WINGS))]


FACES = ("bitpath", "bitpath.golden", "bitpath.rtl", "bitpath.verif", "bitpath.sim")


def is_test(path):
    """Return True for files that pytest collects, and for helpers that only such files use."""
    return path.name.startswith("test_") or path.name == "conftest.py" or path.is_relative_to(ROOT / "verif/tests")


def test_nothing_imports_a_test_file():
    tests = {name for name, path in MODULES.items() if path.name.startswith("test_")}
    assert not [f"{path}: {name}" for path in SOURCES for name in imports(path) if name in tests]


@cache
def arrows():
    """Return the imports from file to file, also inside functions; tests and imports of package faces are left out."""
    return {
        (path, MODULES[name])
        for module, path in MODULES.items()
        if not is_test(path)
        for name in imports(path)
        if name in MODULES and name not in FACES and name != module
    }


def circles(pairs):
    """Return the import cycles, found by removing all nodes without predecessors or successors."""
    pairs = {(a, b) for a, b in pairs if a != b}
    while True:
        starts, ends = ({pair[side] for pair in pairs} for side in (0, 1))
        kept = {(a, b) for a, b in pairs if a in ends and b in starts}
        if kept == pairs:
            return sorted(f"{a} -> {b}" for a, b in pairs)
        pairs = kept


def room(path):
    return path.parent.relative_to(ROOT)


def test_no_circle_between_files():
    assert not circles((a.relative_to(ROOT), b.relative_to(ROOT)) for a, b in arrows())


def test_no_circle_between_folders():
    assert not circles((room(a), room(b)) for a, b in arrows())


def test_no_circle_between_rooms_of_a_folder():
    """At every level, at most one of two sibling folders imports the other, including all their contents."""
    inside = defaultdict(set)
    for pair in arrows():
        a, b = (path.relative_to(ROOT).parts for path in pair)
        parting = next((place for place, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), 0)
        if parting:
            inside[a[:parting]].add((a[parting], b[parting]))
    assert {folder[0] for folder in inside} == set(TOPS)
    for folder, pairs in inside.items():
        assert not circles(pairs), folder


def test_the_engine_knows_nothing_above_it():
    assert not violations(
        "sim/engine",
        lambda name: within(name, "bitpath.sim") and not within(name, "bitpath.sim.engine") and name != "bitpath.sim",
    )


def test_common_operators_import_no_machine():
    assert not violations(
        "rtl/common", lambda name: re.match(r"bitpath\.(rtl|golden)\.(trainium3|tensix|aie_ml_v2)\b", name)
    )


NAMES_GONE = {
    "amaranth": {"Record", "Memory", "Settle", "log2_int", "Delay", "Sample"},
    "cocotb": {"fork", "coroutine", "external", "function", "pass_test", "TestFactory"},
}
ATTRIBUTES_GONE = {
    # Names of cocotb 1 that cocotb 2 removed.
    "setimmediatevalue", "signed_integer", "binstr", "buff",
    # Names of Amaranth 0.4 that Amaranth 0.5 removed.
    "add_sync_process", "implies",
}  # fmt: skip
KEYWORDS_GONE = {"units", "verilog_sources", "vhdl_sources", "fwft"}
MODULES_GONE = (
    "amaranth.hdl.rec", "amaranth.hdl.ast", "amaranth.asserts", "amaranth.lib.coding", "amaranth.hdl.mem", "cocotb.binary", "cocotb.result",
    "cocotb.regression", "cocotb.runner", "cocotb.config", "cocotb.log", "cocotb.utils.get_sim_time", "cocotb.triggers.Join",
    "cocotb.triggers.First", "cocotb.triggers.Combine", "cocotb.triggers.Edge",
)  # fmt: skip
ALLOWED = {
    # This bench shows that a deprecated call fails its run.
    "verif/tests/commands/toy/toy_bench.py": {"setimmediatevalue"},
    # cocotb has no public name for the running test.
    "verif/kit/pauses.py": {"cocotb.regression"},
}


def forms_given_up(path):
    """Return the names of a file that Amaranth or cocotb gave up."""
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
    return set(found)


def test_no_form_that_amaranth_or_cocotb_gave_up():
    found = {str(path.relative_to(ROOT)): forms_given_up(path) for path in SOURCES}
    assert {file: names for file, names in found.items() if names} == ALLOWED
