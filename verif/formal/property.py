"""Records of properties and of their sabotages."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from bitpath.verif.formal.claim import Claim


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
    unit : what it is of: a file of ``rtl/`` without its ending, a dot between folder and file.
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
