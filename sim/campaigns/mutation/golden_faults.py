"""Faults of one line in Python: operators, comparisons, constants, arguments, statements."""

import ast
import copy
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

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
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}

_OPPOSITES = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)


@dataclass(frozen=True)
class Fault:
    """A change of one place in a module.

    Attributes
    ----------
    line : line of the change.
    what : text of the change for reports: "Lt -> LtE".
    node, kind : for :func:`apply`: index of the node in the order of the walk, and kind of change.
    lines : first and last line of the enclosing statement.
    """

    line: int
    what: str
    node: int
    kind: str
    lines: tuple[int, int]

    def runs_in(self, lines: Iterable[int]) -> bool:
        """Return True if these lines include the statement's first line."""
        first, last = self.lines
        return any(first <= line <= last for line in lines)


def possible_faults(source: str) -> list[Fault]:
    """Return all faults of a module. Strings, annotations and error texts are left alone, since no result depends on them."""
    tree = ast.parse(source)
    silent = set(map(id, _silent(tree)))
    around: dict[int, ast.stmt] = {}
    found = []
    for number, node in enumerate(ast.walk(tree)):
        # The walk visits each node before its children.
        statement = node if isinstance(node, ast.stmt) else around.get(id(node))
        around |= {id(child): statement for child in ast.iter_child_nodes(node)}
        if id(node) not in silent:
            found += [
                Fault(node.lineno, what, number, kind, (statement.lineno, statement.end_lineno))
                for kind, what in _changes(node)
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
    changed = _changed(target, fault.kind)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, name, changed)
            elif isinstance(value, list):
                setattr(parent, name, [changed if each is target else each for each in value])
    return ast.unparse(ast.fix_missing_locations(tree))


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


def _changes(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Return the changes that a node allows: kind and description."""
    match node:
        case ast.AugAssign(op=op):
            yield from _other_operator(op)
            yield _without(node)
        case ast.BinOp(op=op) | ast.BoolOp(op=op):
            yield from _other_operator(op)
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield "comparison", f"{type(op).__name__} -> {COMPARISONS[type(op)].__name__}"
        case ast.Constant(value=bool(value)):
            yield "constant", f"{value} -> {not value}"
        case ast.Constant(value=int(value)):
            yield "up", f"{value} -> {value + 1}"
            yield "down", f"{value} -> {value - 1}"
        case ast.Call(args=[first, second, *_]) if ast.dump(first) != ast.dump(second):
            if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
                yield "arguments", f"{ast.unparse(first)} and {ast.unparse(second)} swapped"
        # Reversed comparisons are counted already.
        case ast.IfExp(test=test) | ast.If(test=test) if not _turns_round(test):
            yield "condition", f"not ({ast.unparse(node.test)})"
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield _without(node)


def _turns_round(test: ast.AST) -> bool:
    """Return True if another comparison is the opposite of this one."""
    return isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], _OPPOSITES)


def _other_operator(op: ast.AST) -> Iterator[tuple[str, str]]:
    if type(op) in OPERATORS:
        yield "operator", f"{type(op).__name__} -> {OPERATORS[type(op)].__name__}"


def _without(node: ast.AST) -> tuple[str, str]:
    return "statement", f"without {ast.unparse(node).splitlines()[0]}"


def _changed(node: ast.AST, kind: str) -> ast.AST:
    changed = copy.deepcopy(node)
    match kind:
        case "operator":
            changed.op = OPERATORS[type(node.op)]()
        case "comparison":
            changed.ops = [COMPARISONS[type(node.ops[0])]()]
        case "constant":
            changed.value = not node.value
        case "up":
            changed.value = node.value + 1
        case "down":
            changed.value = node.value - 1
        case "arguments":
            changed.args[:2] = changed.args[1::-1]
        case "condition":
            changed.test = ast.UnaryOp(ast.Not(), changed.test)
        case "statement":
            changed = ast.Pass()
    return ast.copy_location(changed, node)
