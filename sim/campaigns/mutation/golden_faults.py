"""Faults of one line in Python: operators, comparisons, constants, arguments, statements."""

import ast
import copy
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

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
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
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
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            other = COMPARISONS[type(op)]
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
