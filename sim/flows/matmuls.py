"""The machines' matmul flows, by machine."""

from bitpath.sim.flows import aie_matmul, tensix_matmul, trainium3_matmul
from bitpath.sim.flows.machines import MACHINES

MATMULS = dict(zip(MACHINES, (trainium3_matmul, tensix_matmul, aie_matmul), strict=True))
