"""An oracle for tests of kernels: the bits that an operation of the kernel library gives, and the reason of a difference."""

from bitpath.golden.tensix.llk.case import Broadcast, Case, DestReuse, Op, Pool, ReduceDim, StochasticRounding
from bitpath.golden.tensix.llk.compare import Difference, Report, compare
from bitpath.golden.tensix.llk.expected import Stages, expected
from bitpath.golden.tensix.llk.grid import Cell, grid

__all__ = [
    "Broadcast",
    "Case",
    "Cell",
    "DestReuse",
    "Difference",
    "Op",
    "Pool",
    "ReduceDim",
    "Report",
    "Stages",
    "StochasticRounding",
    "compare",
    "expected",
    "grid",
]
