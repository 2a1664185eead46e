"""The Vector unit, SFPU: 32 lanes of 32 bits, and straight-line programs on batches of Dst tiles.

`Kernel` builds such a program from Python expressions on lane values.
"""

from bitpath.golden.tensix.sfpu.explain import explain_lane
from bitpath.golden.tensix.sfpu.kernel import Kernel
from bitpath.golden.tensix.sfpu.lanes import Lanes
from bitpath.golden.tensix.sfpu.run import run

__all__ = ["Kernel", "Lanes", "explain_lane", "run"]
