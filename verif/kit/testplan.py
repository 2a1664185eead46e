"""Testplans: the tested features of a unit, the reasons, and the tests. They are written on the tests:

    @covers("quad_mx_pe.ties", "RNE looks at the last bit kept only here")
    @cocotb.test()
    async def ties(dut):
        \"\"\"Sums half-way between two FP32 numbers.\"\"\"

The decorator of a unit's bench marks its test too: ``@BENCH.test("quad_mx_pe.ties", "RNE looks ...")``. A test is named ``bench::cocotb_test``, or as a pytest function with its file's path below ``verif/``.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

VERIF = Path(__file__).resolve().parents[1]
Test = TypeVar("Test")


@dataclass(frozen=True)
class Item:
    """One tested feature of a unit."""

    unit: str
    feature: str
    what: str
    why: str
    tests: tuple[str, ...]


def covers(item: str, why: Any = "", what: Any = "", *tests: Any) -> Callable[[Test], Test]:
    """Return a decorator of a test that covers an item, ``UNIT.FEATURE``; it leaves the test as it is.

    One test states why the item is tested and what is tested; without `what` that is the test's docstring. Others name the
    item alone. Tests that a module does not define but assigns are the last arguments of a statement
    ``covers(item, why, what, first, second)`` or ``covers(item, first, second)``.
    """
    return lambda test: test


@dataclass(frozen=True)
class Mark:
    """A call of `covers` on a test."""

    item: str
    why: str
    what: str
    test: str


def marks(folder: Path = VERIF) -> dict[str, list[Mark]]:
    """Return the marks on all tests below a folder by item; raise ValueError for one that is no plain text."""
    found: dict[str, list[Mark]] = {}
    for path in sorted(folder.rglob("t*_*.py")):
        if any(f"{mark}(" in path.read_text() for mark in (covers.__name__, ".test")):
            for mark in _marks(path, path.stem if path.stem.startswith("tb_") else path.relative_to(folder).as_posix()):
                found.setdefault(mark.item, []).append(mark)
    return found


def _marks(path: Path, name: str) -> Iterator[Mark]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            said = " ".join((ast.get_docstring(node) or "").split()).removesuffix(".")
            calls = [(each, [node.name]) for each in node.decorator_list if _is_mark(each)]
        elif isinstance(node, ast.Expr) and _is_mark(node.value):
            said, names = "", [each.id for each in node.value.args if isinstance(each, ast.Name)]
            calls = [(node.value, names)]
        else:
            continue
        for call, tests in calls:
            texts = call.args[: -len(tests)] if isinstance(node, ast.Expr) else call.args
            given = [each.value if isinstance(each, ast.Constant) else None for each in texts]
            if (
                (call.keywords and isinstance(call.func, ast.Name))
                or not (given and tests)
                or len(given) > 3
                or not all(isinstance(each, str) and each for each in given)
            ):
                raise ValueError(
                    f"{path.name}, line {call.lineno}: covers must have an item, texts and tests, nothing else"
                )
            item, why, what = (*given, "", "")[:3]
            for test in tests:
                yield Mark(item, why, what or said, f"{name}::{test}")


def _is_mark(node: ast.expr) -> bool:
    """Return True for a call of `covers`, and of the method ``test`` of a unit's bench."""
    match node:
        case ast.Call(func=ast.Name(id=covers.__name__)):
            return True
        case ast.Call(func=ast.Attribute(attr="test"), args=[_, *_]):
            return True
    return False


def load_plans(folder: Path = VERIF) -> list[Item]:
    """Return the items of all tests below a folder, ordered by unit, but those whose stating test is not installed.

    Raises
    ------
    ValueError : an item is named without a unit, is stated by several tests, or lacks a text.
    """
    found = marks(folder)
    stated = [item for item in found if any(mark.why for mark in found[item])]
    return [_item(item, found[item]) for item in sorted(stated, key=lambda item: item.partition(".")[0])]


def _item(name: str, own: list[Mark]) -> Item:
    texts = {(mark.what, mark.why) for mark in own if mark.why}
    unit, dot, feature = name.partition(".")
    if len(texts) != 1 or not (unit and dot and feature):
        raise ValueError(
            f"{name}: an item must be UNIT.FEATURE, and one test must say why it is tested, not {len(texts)}"
        )
    ((what, why),) = texts
    if not what:
        raise ValueError(f"{name}: the test that says why must have a docstring that says what is tested")
    return Item(unit, feature, what, why, tuple(dict.fromkeys(mark.test for mark in own)))
