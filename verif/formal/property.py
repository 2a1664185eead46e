"""Records of properties and of their sabotages, and a room's table of them."""

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import Any

import bitpath.rtl
from bitpath.rtl.common.pipeline.shared_instances import snake
from bitpath.verif.formal.claim import Claim

RTL = Path(str(bitpath.rtl.__file__)).parent


class Engine(Enum):
    """How a property is proved."""

    UNROLLED = "bitwuzla"  # holds in a cycle, ``depth`` cycles after any state: Bitwuzla over the unrolled design
    INDUCTION = "z3 induction"  # holds in every cycle from the initial state on: SymbiYosys, k-induction by z3


@dataclass(frozen=True)
class Sabotage:
    """A change of the design, after which a property must not hold.

    Attributes
    ----------
    file : below ``rtl/``.
    old, new : a piece of its text that occurs in it once, and what replaces it.
    """

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Property:
    """A formal property and its sabotage.

    Attributes
    ----------
    name : identifies it; a file name too.
    unit : what it is of: machine and component, or file, such as ``common.reciprocal``.
    says : one line for people.
    state : makes the statement.
    sabotage : what must refute it.
    engine, depth : how it is proved; cycles that the design is unrolled for, or the ``k`` of the induction.
    """

    name: str
    unit: str
    says: str
    state: Callable[[Claim], None]
    sabotage: Sabotage
    engine: Engine = Engine.UNROLLED
    depth: int = 0


@cache
def _definitions(room: str) -> dict[str, str]:
    """Return the files of a folder below ``rtl/`` by their own names and those of their components, in lower case."""
    found = {}
    for path in sorted((RTL / room).rglob("*.py")):
        file = path.relative_to(RTL).as_posix()
        found[path.stem] = file
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found.setdefault(snake(node.name), file)
    return found


def file_of(room: str, unit: str) -> str:
    """Return the file below ``rtl/`` that defines a unit of a folder; raise ValueError if none does."""
    if unit not in _definitions(room):
        raise ValueError(f"no file of rtl/{room} defines {unit}")
    return _definitions(room)[unit]


class Properties(list[Property]):
    """Properties of one room; ``room`` is its folder below ``rtl/``, such as ``common/arithmetic``."""

    def __init__(self, room: str, *properties: Property) -> None:
        super().__init__(properties)
        self.room = room

    def of(
        self,
        unit: str,
        name: str,
        says: str,
        sabotage: Sabotage | tuple[str, str] | None,
        columns: str = "",
        rows: Iterable[Any] = ((),),
        *,
        engine: Engine = Engine.UNROLLED,
        depth: int = 0,
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Decorate a statement: add its property, or one property for each row of its arguments.

        Parameters
        ----------
        unit : a component of the room in lower case, or a file without its ending.
        name : becomes lower case. In it, in ``unit`` and in ``says``, ``{column}`` stands for a row's value.
        sabotage : the old and the new text in the file that defines the unit, or a sabotage of any file; None if it is a column.
        columns, rows : as pytest.mark.parametrize takes them; the statement gets the columns that it has parameters for.
        depth : may be a column too.
        """
        machine, _, _ = self.room.partition("/")
        names = columns.split(", ") if columns else ()

        def add(state: Callable[..., None]) -> Callable[..., None]:
            for row in rows:
                values = dict(zip(names, (row,) if len(names) == 1 else row, strict=True))
                taken = {column: value for column, value in values.items() if column in signature(state).parameters}
                file, broken = unit.format(**values), values.get("sabotage", sabotage)
                found = Property(
                    name.format(**values).lower(),
                    f"{machine}.{file}",
                    says.format(**values),
                    partial(state, **taken),
                    broken if isinstance(broken, Sabotage) else Sabotage(file_of(self.room, file), *broken),
                    engine,
                    values.get("depth", depth),
                )
                self.append(found)
            return state

        return add
