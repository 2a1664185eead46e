"""The Vector unit, SFPU: 32 lanes of 32 bits, straight-line programs on batches of Dst tiles, and a builder of kernels."""

from bitpath.golden.tensix.sfpu.explain import explain_lane
from bitpath.golden.tensix.sfpu.kernel import Kernel
from bitpath.golden.tensix.sfpu.lanes import Lanes
from bitpath.golden.tensix.sfpu.run import run

__all__ = ["Kernel", "Lanes", "explain_lane", "run"]
