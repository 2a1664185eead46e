"""Golden models, and files that compare and report results, with one line wrong, judged by their tests."""

import ast
import copy
import json
import os
import random
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache as once
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import gettempdir
from threading import Lock
from typing import Any

from filelock import FileLock

import bitpath.golden
from bitpath.golden.arrays.arguments import check_choice
from bitpath.sim.campaigns.mutation.judge import settings_of_the_shell
from bitpath.sim.campaigns.mutation.verdicts import (
    BROKEN,
    COMPARISON,
    GOLDEN,
    KILLED,
    SURVIVED,
    TIMED_OUT,
    Judged,
    Ledger,
    Progress,
    journal_file,
    judged,
    scratch,
    side_by_side,
)
from bitpath.sim.engine import cache, paths, process, tools
from bitpath.sim.engine.imports import imported_by, module_file
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.process import FULL_BYTES

# Faults of one line in Python: operators, comparisons, constants, arguments, statements.


OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
SWAPPED_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    one: other
    for pair in ((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot))
    for one, other in (pair, pair[::-1])
}
COMPILERS = ("kernel", "njit", "piece")
"""Decorators of functions that numba compiles: no trace shows which of their statements run."""
_OPPOSITES = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)


@dataclass(frozen=True)
class Fault:
    """A change of one place in a module.

    Attributes
    ----------
    line : line of the change.
    what : text of the change for reports: "Lt -> LtE".
    node, kind : for :func:`apply`: index of the node in the order of the walk, and kind of change.
    lines : first and last line of the enclosing statement, or of the whole function if it is compiled.
    """

    line: int
    what: str
    node: int
    kind: str
    lines: tuple[int, int]

    def runs_in(self, lines: Iterable[int]) -> bool:
        """Return True if these lines, which a test executes, include one of the statement; a compiled function counts as
        executed where it is defined."""
        first, last = self.lines
        return any(first <= line <= last for line in lines)


def possible_faults(source: str) -> list[Fault]:
    """Return all faults of a module. Strings, annotations and error texts are left alone, since no result depends on them."""
    tree = ast.parse(source)
    silent = set(map(id, _silent(tree)))
    around: dict[int, Any] = {}
    found = []
    node: Any
    for number, node in enumerate(ast.walk(tree)):
        # The walk visits each node before its children.
        statement: Any = around.get(id(node))
        if isinstance(node, ast.stmt) and not _is_compiled(statement):
            statement = node
        around |= {id(child): statement for child in ast.iter_child_nodes(node)}
        if id(node) not in silent:
            found += [
                Fault(node.lineno, what, number, kind, (statement.lineno, statement.end_lineno))
                for kind, what, _ in _changes(node)
            ]
    return found


def draw_faults(possible: Sequence[Fault], count: int, seed: int) -> list[Fault]:
    """Return a number of faults, or all."""
    drawn = random.Random(seed).sample(possible, min(count, len(possible)))
    return sorted(drawn, key=lambda fault: (fault.line, fault.node, fault.kind))


def apply(source: str, fault: Fault) -> str:
    """The module's text with the fault in it, without comments."""
    tree = ast.parse(source)
    target = next(node for number, node in enumerate(ast.walk(tree)) if number == fault.node)
    changed = next(changed for kind, _, changed in _changes(target) if kind == fault.kind)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, name, changed)
            elif isinstance(value, list):
                setattr(parent, name, [changed if each is target else each for each in value])
    return ast.unparse(ast.fix_missing_locations(tree))


def _is_compiled(statement: ast.stmt | None) -> bool:
    """Return True for a function with a decorator of `COMPILERS`, called or not."""
    decorators = statement.decorator_list if isinstance(statement, ast.FunctionDef) else []
    names = [getattr(each, "func", each) for each in decorators]
    return any(isinstance(name, ast.Name) and name.id in COMPILERS for name in names)


def _silent(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that do not affect a result."""
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.FunctionDef):
            parts = [node.returns, *node.decorator_list]
            arguments = (*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs)
            parts += [argument.annotation for argument in arguments]
        elif isinstance(node, ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.ClassDef):
            parts = [*node.decorator_list]
        elif isinstance(node, ast.Raise):
            parts = [node.exc]
        elif isinstance(node, ast.JoinedStr):
            parts = [node]
        for part in parts:
            if part is not None:
                yield from ast.walk(part)


def _changes(node: ast.AST) -> Iterator[tuple[str, str, ast.AST]]:
    """Return the changes that a node allows: kind, description and changed node."""
    match node:
        case ast.AugAssign():
            yield from _other_operator(node)
            yield _without(node)
        case ast.BinOp() | ast.BoolOp():
            yield from _other_operator(node)
        case ast.Compare(ops=[op]) if type(op) in SWAPPED_COMPARISONS:
            other = SWAPPED_COMPARISONS[type(op)]
            yield "comparison", f"{type(op).__name__} -> {other.__name__}", _changed(node, ops=[other()])
        case ast.Constant(value=bool(value)):
            yield "constant", f"{value} -> {not value}", _changed(node, value=not value)
        case ast.Constant(value=int(value)):
            yield "up", f"{value} -> {value + 1}", _changed(node, value=value + 1)
            yield "down", f"{value} -> {value - 1}", _changed(node, value=value - 1)
        case ast.Call(args=[first, second, *rest]) if ast.dump(first) != ast.dump(second):
            if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
                what = f"{ast.unparse(first)} and {ast.unparse(second)} swapped"
                yield "arguments", what, _changed(node, args=[second, first, *rest])
        # Reversed comparisons are counted already.
        case ast.IfExp(test=test) | ast.If(test=test) if not _turns_round(test):
            yield "condition", f"not ({ast.unparse(test)})", _changed(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield _without(node)


def _changed(node: ast.AST, **fields: Any) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _turns_round(test: ast.AST) -> bool:
    """Return True if another comparison is the opposite of this one."""
    return isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], _OPPOSITES)


def _other_operator(node: Any) -> Iterator[tuple[str, str, ast.AST]]:
    if (own := type(node.op)) in OPERATORS:
        yield "operator", f"{own.__name__} -> {OPERATORS[own].__name__}", _changed(node, op=OPERATORS[own]())


def _without(node: ast.AST) -> tuple[str, str, ast.AST]:
    return "statement", f"without {ast.unparse(node).splitlines()[0]}", ast.copy_location(ast.Pass(), node)


GOLDEN_COUNT, COMPARISON_COUNT = 10, 200
FOLDER = Path(bitpath.golden.__file__).parent
TESTS = FOLDER.parent / "verif"
COMPARISONS = (
    "sim/flows/outcome.py",
    "sim/flows/staged.py",
    "sim/flows/history.py",
    "sim/commands/run.py",
    "sim/engine/check.py",
    "sim/study/page.py",
    "verif/kit/scoreboard.py",
    "verif/kit/mismatches.py",
)
"""Files that compare results and report their mismatches: a fault in them could hide any other."""
COMPARING = (
    "check/test_records",
    "cli/test_exit_codes",
    "commands/test_outcome",
    "commands/test_report",
    "commands/test_run_mistakes",
    "commands/test_staged",
    "units/test_scoreboard",
    "report/test_*",
)
"""Tests of these files, as patterns below ``verif/tests``; none of them simulates."""
"""Root of the tests; those of golden are in its folders named golden, and others that import neither RTL nor simulators."""
REAL_SECONDS = 3600
"""Limit on the tests of a model as it is."""
LEAST_SECONDS, TIMES_SECONDS = 300, 5
"""Time limit against endless loops: a test file fails if it takes more than 300 s and 5 times as long as with the real model.
Faults in loops and declarations also wait for kernels to be compiled."""
RUNNER = "bitpath.sim.campaigns.mutation.golden_tests"
PASSED, FAILED, UNREADABLE = 0, 1, 2
"""pytest's statuses: all passed; some failed; a test file could not even be imported."""


_IN_KERNELS = re.compile(r"bitpath\.golden\.(formats\..*|\w+\.declarations\..*|arrays\.(bits|kernels)|.*_loops?)")
"""Modules whose text numba compiles: loops, the pieces that they share, and the declarations that they read."""


@dataclass(frozen=True)
class Sabotage:
    """A fault put into a file in Python, such as "golden/arrays/codec.py", as a mutant."""

    target: str
    fault: Fault
    port: str = ""
    bit: int | None = None

    @property
    def source(self) -> str:
        return f"{self.target}:{self.fault.line}"

    @property
    def mode(self) -> str:
        return self.fault.what

    @property
    def shown(self) -> str:
        return f"{self.source}: {self.fault.what}"


def golden_targets() -> list[str]:
    """Return every file of golden with a possible fault, compiled loops included; packages only name what they hold."""
    files = sorted(file.relative_to(FOLDER) for file in FOLDER.rglob("*.py") if file.name != "__init__.py")
    return [f"golden/{file}" for file in files if possible_faults((FOLDER / file).read_text())]


def find_python(name: str) -> str:
    """Return the golden model or the comparison of that name; raise ValueError if it is unknown."""
    file = f"{name.removesuffix('.py')}.py"
    if file.startswith("golden/"):
        return check_choice("a golden model", file, golden_targets())
    return check_choice("a file that compares results", file, COMPARISONS)


def tests_of(module: str) -> list[Path]:
    """Return the test files that judge a module; raise SimulationError if none does.

    Those of golden are the ones that import it. A file that compares results is reached through commands too, so all of its
    tests judge it.
    """
    is_golden = module.startswith("bitpath.golden.")
    found = [file for file, modules in _tests(is_golden).items() if not is_golden or module in modules]
    if not found:
        raise SimulationError(f"no file of {TESTS} imports {module}; mutants of Python are judged in a checkout")
    return sorted(found)


@once
def _tests(is_golden: bool) -> dict[Path, frozenset[str]]:
    """Return the test files of golden, or those of comparisons, and the modules that each imports."""
    if not is_golden:
        files = sorted(file for each in COMPARING for file in TESTS.glob(f"tests/{each}.py"))
        return {file: imported_by(file) for file in files}
    imports = {file: imported_by(file) for file in sorted(TESTS.glob("*/*/test_*.py"))}
    beyond = {"bitpath.rtl", "bitpath.sim"}
    return {
        file: names
        for file, names in imports.items()
        if file.parent.name == "golden" or not (names & beyond or file.is_relative_to(TESTS / "tests"))
    }


def judge_python(target: str, count: int, seed: int, progress: Progress, *, again: bool = False) -> Judged:
    """Judge a number of mutants of a file, or all. Verdicts of earlier runs come from the journal; with ``again``, mutants
    that ran out of time are judged once more.

    Raises SimulationError if the tests fail without a mutant, or cannot run.
    """
    start = time.monotonic()
    module = "bitpath." + target.removesuffix(".py").replace("/", ".")
    source = module_file(module).read_text()
    possible = possible_faults(source)
    mutants = [Sabotage(target, fault) for fault in draw_faults(possible, count, seed)]
    tests = tests_of(module)

    def work(ledger: Ledger) -> None:
        judging = _Judging(target, module, source, tests, progress)
        running = side_by_side(
            "running the tests", ledger.missing, lambda number: judging.of(mutants[number - 1]), progress
        )
        for number, found in running:
            ledger.keep(number, *found)

    return judged(
        start,
        partial(_key, module, tests, mutants),
        mutants,
        work,
        again=again,
        target=target,
        unit=COMPARISON if target in COMPARISONS else GOLDEN,
        config={"tests": [file.name for file in tests]},
        possible=len(possible),
        seed=seed,
    )


class _Judging:
    """Judge the mutants of one module, two at a time.

    Raises SimulationError where a test fails without a mutant.
    """

    def __init__(self, target: str, module: str, source: str, tests: Sequence[Path], progress: Progress):
        self.target, self.module, self.source = target, module, source
        self.runs = _real_runs(target, module, source, tests, progress)
        self.kills: Counter[Path] = Counter()
        self._controlled: set[Path] = set()
        self._controls = Lock()

    def of(self, mutant: Sabotage) -> tuple[str, str]:
        """Return the verdict and its cause."""
        # Tests that never execute its statement cannot see the fault.
        reaching = [file for file, run in self.runs.items() if mutant.fault.runs_in(run.lines.get(self.target, ()))]
        if not reaching:
            return SURVIVED, "no test runs its statement"
        source = apply(self.source, mutant.fault)
        with scratch() as kernels:
            # Tests that killed other mutants come first, because few tests kill most mutants; then the fast ones.
            for file in sorted(reaching, key=lambda file: (-self.kills[file], self.runs[file].seconds)):
                limit = max(LEAST_SECONDS, TIMES_SECONDS * self.runs[file].seconds)
                verdict, how = _judge(self.module, source, file, limit, kernels)
                if verdict != SURVIVED:
                    if verdict == KILLED and TIMED_OUT not in how:
                        self._control(file)
                    return verdict, how
        return SURVIVED, ""

    def _control(self, killer: Path) -> None:
        """A test that kills must pass on the unmodified model."""
        with self._controls:
            self.kills[killer] += 1
            if killer not in self._controlled:
                _pass(self.target, self.module, self.source, killer)
                self._controlled.add(killer)


@dataclass(frozen=True)
class _Run:
    """Run a test file on unmodified models; return its seconds and, by target, the lines of our modules that run."""

    seconds: float
    lines: Mapping[str, Sequence[int]]


def _real_runs(target: str, module: str, source: str, tests: Sequence[Path], progress: Progress) -> dict[Path, _Run]:
    """Return the record of each test file; computed once for all targets."""
    known = _recorded_runs()
    keys = {file: _digest(_files_of([file])) for file in tests}

    def call(file: Path) -> _Run:
        # The targets of other workers have the same tests.
        with FileLock(paths.build_root() / "mutate" / f"{keys[file][:16]}.lock"):
            if (run := _recorded_runs().get(keys[file])) is not None:
                return run
            began = time.monotonic()
            with scratch() as folder:
                lines = folder / "lines.json"
                _pass(target, module, source, file, lines)
                run = _Run(round(time.monotonic() - began, 1), json.loads(lines.read_text()))
            if _digest(_files_of([file])) != keys[file]:
                raise SimulationError("sources or settings changed while tests ran; run it again")
            cache.append(journal_file(), {"tests": keys[file], **asdict(run)})
            return run

    new = [file for file in tests if keys[file] not in known]
    known |= {keys[file]: run for file, run in side_by_side("running the tests without a mutant", new, call, progress)}
    return {file: known[keys[file]] for file in tests}


def _recorded_runs() -> dict[str, _Run]:
    # Journals of older versions have seconds alone.
    return {
        each["tests"]: _Run(each["seconds"], each["lines"]) for each in cache.read(journal_file()) if "lines" in each
    }


def _pass(target: str, module: str, source: str, test: Path, lines: Path | None = None) -> None:
    """Run tests of the model as it is, which must pass."""
    with scratch() as kernels:
        verdict, how = _judge(module, source, test, REAL_SECONDS, kernels, lines)
    if verdict != SURVIVED:
        raise SimulationError(f"{target}: its tests fail without a mutant: {how}")


def _files_of(tests: Sequence[Path]) -> list[Path]:
    """Return all files that affect the tests' results: tests, imported modules, vectors, known answers and settings."""
    known = _tests(True) | _tests(False)
    modules = sorted(frozenset().union(*(known[file] for file in tests)))
    folders = [TESTS / "vectors", *map(Path, filter(None, [os.environ.get("BITPATH_KAT_DIR")]))]
    vectors = sorted(file for folder in folders for file in folder.glob("*") if file.is_file())
    settings = [file for file in (TESTS.parent / "pyproject.toml", TESTS / "conftest.py") if file.is_file()]
    return [*map(module_file, modules), *tests, *settings, *vectors]


def _key(module: str, tests: Sequence[Path], mutants: Sequence[Sabotage]) -> str:
    """Return the digest of everything that decides a verdict."""
    return _digest(_files_of(tests), module, [mutant.shown for mutant in mutants])


def _digest(files: Sequence[Path], *more: Any) -> str:
    scripts = map(module_file, (__name__, RUNNER, "bitpath.sim.engine.imports"))
    versions = tools.library_versions() | {name: version(name) for name in ("pytest", "hypothesis", "coverage")}
    parts = [cache.hash_files([*files, *scripts]), versions, sys.version, settings_of_the_shell(), *more]
    return cache.hash_json(parts)


def _judge(
    module: str, source: str, test: Path, limit: float, kernels: Path, lines: Path | None = None
) -> tuple[str, str]:
    """Return verdict and cause of a test file with this text in place of the module; ``lines`` receives the executed lines.

    ``kernels`` is a folder for loops compiled with this text. Each file runs in its own process, since hypothesis chooses
    its examples by the loaded modules too.
    """
    with scratch() as folder:
        mutated, log = folder / "mutated.py", folder / "tests.log"
        mutated.write_text(source)
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        if _IN_KERNELS.fullmatch(module):
            # numba names its kept code by the file on the disk, so mutant and original must not share a kernel cache. Bounds
            # checks turn an index outside an array into an error; without them, foreign memory would decide the verdict.
            env |= {"NUMBA_CACHE_DIR": str(kernels), "NUMBA_BOUNDSCHECK": "1"}
        command = [sys.executable, "-P", "-B", "-m", RUNNER, module, str(mutated), str(test)]
        command += [] if lines is None else ["--lines", str(lines)]
        try:
            status = process.run_logged(command, env=env, log=log, timeout=limit, folder=TESTS.parent)
        except TimeoutError as error:
            return KILLED, f"{TIMED_OUT}: {error}"
        if status == PASSED:
            return SURVIVED, ""
        for place in (folder, gettempdir()):
            if shutil.disk_usage(place).free < FULL_BYTES:
                raise SimulationError(f"{place} has no room left, which fails tests; make room and run it again")
        said = log.read_text(errors="replace").splitlines() or [f"status {status}"]
        if status not in (FAILED, UNREADABLE):
            # Killed by the system, say: the tests have not spoken.
            return BROKEN, f"status {status}: {said[-1]}"
        return KILLED, next((line for line in said if line.startswith(("FAILED", "ERROR"))), said[-1])
