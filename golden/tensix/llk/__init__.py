"""An oracle for tests of kernels: the bits that an operation of the kernel library gives, and the reason of a difference.

`FUNCTIONS` are the Vector unit's operations by name; `apply` runs one on words of Dst.
"""

from bitpath.golden.tensix.llk.case import Broadcast, Case, DestReuse, Op, Pool, ReduceDim, StochasticRounding
from bitpath.golden.tensix.llk.compare import Difference, Report, compare
from bitpath.golden.tensix.llk.expected import Stages, expected
from bitpath.golden.tensix.llk.functions.apply import apply
from bitpath.golden.tensix.llk.functions.function import Function, Mode
from bitpath.golden.tensix.llk.functions.table import ABSENT, FUNCTIONS
from bitpath.golden.tensix.llk.grid import Cell, grid

__all__ = [
    "ABSENT",
    "FUNCTIONS",
    "Broadcast",
    "Case",
    "Cell",
    "DestReuse",
    "Difference",
    "Function",
    "Mode",
    "Op",
    "Pool",
    "ReduceDim",
    "Report",
    "Stages",
    "StochasticRounding",
    "apply",
    "compare",
    "expected",
    "grid",
]
