"""The Vector unit, SFPU: 32 lanes of 32 bits, its instructions, and straight-line programs on batches of Dst tiles."""

from bitpath.golden.tensix.sfpu.execute import execute
from bitpath.golden.tensix.sfpu.lanes import Lanes
from bitpath.golden.tensix.sfpu.run import Batch, run

__all__ = ["Batch", "Lanes", "execute", "run"]
