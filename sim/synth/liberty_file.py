"""Liberty files: as much of them as areas and path delays need."""

import re
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(r'/\*.*?\*/|\\\r?\n|"(?:[^"\\]|\\.)*"|[{}();:,]|[^\s{}();:,"\\]+', re.DOTALL)
_TABLES = ("cell_rise", "cell_fall", "rise_transition", "fall_transition")


@dataclass(frozen=True)
class Table:
    """A value over input transition and output load; between and beyond the points it is linear."""

    slews: tuple[float, ...]
    loads: tuple[float, ...]
    rows: tuple[tuple[float, ...], ...]

    def at(self, slew: float, load: float) -> float:
        """The value for a transition and a load."""
        low, share = _place(self.slews, slew)
        left, part = _place(self.loads, load)
        rows = self.rows[low : low + 2]
        values = [row[left] + part * (row[left + 1] - row[left]) if len(row) > 1 else row[0] for row in rows]
        return values[0] + share * (values[1] - values[0]) if len(values) > 1 else values[0]


def _place(points: tuple[float, ...], value: float) -> tuple[int, float]:
    """The interval that a value lies in or is nearest to, and where in it."""
    if len(points) == 1:
        return 0, 0.0
    low = max(index for index in range(len(points) - 1) if index == 0 or points[index] <= value)
    return low, (value - points[low]) / (points[low + 1] - points[low])


@dataclass(frozen=True)
class Arc:
    """How an output follows an input: ``unate`` +1 the same way, -1 the other, 0 either; tables by their Liberty names."""

    source: str
    unate: int
    tables: dict[str, Table]


@dataclass(frozen=True)
class Cell:
    """A cell: its area, the load of its inputs, and each output's arcs; a flip-flop's are not read."""

    name: str
    area: float
    loads: dict[str, float]
    outputs: dict[str, tuple[Arc, ...]]
    functions: dict[str, str]
    flip_flop: bool


@dataclass(frozen=True)
class Library:
    """A Liberty file.

    Attributes
    ----------
    name : as the file says.
    cells : by name.
    to_ns : nanoseconds in its unit of time.
    """

    name: str
    cells: dict[str, Cell]
    to_ns: float

    @property
    def nand2(self) -> float:
        """The area of the smallest NAND2, which is a gate equivalent; ValueError where there is none."""
        areas = [cell.area for cell in self.cells.values() if any(map(_is_nand2, cell.functions.values()))]
        if not areas:
            raise ValueError(f"library {self.name} has no NAND2, of which areas are counted")
        return min(areas)


def _is_nand2(function: str) -> bool:
    plain = re.sub(r"[\s()]", "", function)
    both = re.fullmatch(r"!(\w+)[&*](\w+)", plain)
    either = re.fullmatch(r"!(\w+)[|+]!(\w+)", plain)
    inverted = function.replace(" ", "").startswith("!(") if both else bool(either)
    found = both or either
    return bool(found and inverted and found[1] != found[2])


def read_liberty(text: str) -> Library:
    """The library that a Liberty file's text describes; ValueError where it is not one."""
    tokens = [token for token in _TOKEN.findall(text) if not token.startswith(("/*", "\\"))]
    head, body = _group(tokens) if "{" in tokens else ([], [])
    if head[:1] != ["library"]:
        raise ValueError("the text is not that of a Liberty file")
    templates = {name[1]: inner for name, inner in _groups(body, "lu_table_template")}
    cells = {name[1]: _cell(name[1], inner, templates) for name, inner in _groups(body, "cell")}
    number, unit = re.fullmatch(r"(\d+)(\w+)", _value(body, "time_unit", "1ns")).groups()
    return Library(head[1], cells, float(number) * {"ns": 1.0, "ps": 1e-3}[unit])


def _group(tokens: list[str]) -> tuple[list[str], list[Any]]:
    """The one group that the tokens are: its head, and its statements: (head, inner) of groups, lists of words of others."""
    stack: list[list[Any]] = [[]]
    words: list[str] = []
    for token in tokens:
        if token == "{":
            stack[-1].append((words, []))
            stack.append(stack[-1][-1][1])
            words = []
        elif token == "}":
            if words:
                stack[-1].append(words)
            stack.pop()
            words = []
        elif token == ";":
            if words:
                stack[-1].append(words)
            words = []
        elif token not in "(),:":
            words.append(token.strip('"'))
    return stack[0][0]


def _groups(body: list[Any], kind: str) -> list[tuple[list[str], list[Any]]]:
    return [each for each in body if isinstance(each, tuple) and each[0][0] == kind]


def _value(body: list[Any], name: str, default: str = "") -> str:
    return next((each[1] for each in body if isinstance(each, list) and each[0] == name and len(each) > 1), default)


def _numbers(body: list[Any], name: str) -> tuple[tuple[float, ...], ...]:
    """Rows of numbers of an attribute such as values("1, 2", "3, 4")."""
    words = next((each[1:] for each in body if isinstance(each, list) and each[0] == name), [])
    return tuple(tuple(float(number) for number in re.split(r"[\s,]+", row.strip(" \n,"))) for row in words)


def _cell(name: str, body: list[Any], templates: dict[str, list[Any]]) -> Cell:
    loads, outputs, functions = {}, {}, {}
    flip_flop = bool(_groups(body, "ff"))
    for head, pin in _groups(body, "pin"):
        if _value(pin, "direction") == "input":
            loads[head[1]] = float(_value(pin, "capacitance", "0"))
        elif _value(pin, "direction") == "output":
            arcs = (
                () if flip_flop else tuple(arc for _, each in _groups(pin, "timing") for arc in _arcs(each, templates))
            )
            outputs[head[1]], functions[head[1]] = arcs, _value(pin, "function")
    return Cell(name, float(_value(body, "area", "0")), loads, outputs, functions, flip_flop)


def _arcs(body: list[Any], templates: dict[str, list[Any]]) -> list[Arc]:
    tables = {}
    for kind in _TABLES:
        for head, table in _groups(body, kind):
            tables[kind] = _table(table, templates.get(head[1] if len(head) > 1 else "", []))
    if len(tables) < len(_TABLES):
        return []
    unate = {"positive_unate": 1, "negative_unate": -1}.get(_value(body, "timing_sense"), 0)
    return [Arc(source, unate, tables) for source in _value(body, "related_pin").split()]


def _table(body: list[Any], template: list[Any]) -> Table:
    first, second = (_numbers(body, f"index_{n}") or _numbers(template, f"index_{n}") or ((0.0,),) for n in (1, 2))
    rows = _numbers(body, "values")
    if _value(template, "variable_1", "input_net_transition") != "input_net_transition":
        # The other order of the two.
        first, second, rows = second, first, tuple(zip(*rows, strict=True))
    return Table(first[0], second[0], rows)
