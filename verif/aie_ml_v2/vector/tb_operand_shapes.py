"""Bench of the operand network: every lane of every shape, single bits, random requests at every pace.

Expected operands come from golden's exact tier before anything is driven. ``BITPATH_CASES`` sets the random requests of a test.
"""

import os

import cocotb

from bitpath.rtl.aie_ml_v2.mac.config import LANE_BITS
from bitpath.rtl.aie_ml_v2.vector.config import OperandShapesConfig
from bitpath.rtl.aie_ml_v2.vector.operand_shapes import MASK_BITS, REGISTER_BITS, OperandShapes
from bitpath.verif.aie_ml_v2.vector.operand_shapes import network_request, random_request
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.coverage import cross
from bitpath.verif.kit.pipeline import PACES, Pipeline
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(OperandShapesConfig)
SIGNATURE = OperandShapes(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "100"))
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}


@covers(
    "operand_shapes.lanes",
    "Each lane of each shape has places of its own in X and Y, and no other element may reach it",
)
@cocotb.test(**LIMIT)
async def every_lane(dut):
    """Every part of every shape: elements that all differ, unused ones among them, all bits set, all cleared."""
    rng = pauses.rng("registers")
    parts = range(CONFIG.parts)
    ones = [(1 << bits) - 1 for bits in (REGISTER_BITS, REGISTER_BITS, MASK_BITS, LANE_BITS)]
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(cross([shape.name for shape in CONFIG.shapes], parts))
        sent = []
        for shape in CONFIG.shapes:
            for part in parts:
                coverage.hit(shape.name, part)
                sent += [random_request(CONFIG, rng, shape, part) for _ in range(2)]
                sent += [network_request(CONFIG, shape, part, *values) for values in (ones, (0, 0, 0, 0))]
        await Pipeline(frame, 0).sweep(sent)


@covers("operand_shapes.stream", "The network passes valid and ready through")
@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_requests(dut, pace):
    """Random shapes and parts at full speed, with gaps, stalls and both."""
    rng = pauses.rng("requests")
    order = [(rng.choice(CONFIG.shapes), rng.randrange(CONFIG.parts)) for _ in range(CASES)]
    async with bench(dut, SIGNATURE) as frame:
        await Pipeline(frame, 0).exchange([random_request(CONFIG, rng, *each) for each in order], pace)
