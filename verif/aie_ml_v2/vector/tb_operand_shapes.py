"""Bench of the operand network: every lane of every shape, single bits, random requests at every pace.

Expected operands come from golden's exact tier before anything is driven. ``BITPATH_CASES`` sets the random requests of a test.
"""

from collections.abc import Sequence
from itertools import product
from random import Random

from bitpath.rtl.aie_ml_v2.mac.config import LANE_BITS
from bitpath.rtl.aie_ml_v2.vector.config import OperandShapesConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape
from bitpath.rtl.aie_ml_v2.vector.operand_shapes import MASK_BITS, REGISTER_BITS, OperandShapes
from bitpath.verif.aie_ml_v2.vector.operand_shapes import network_request, random_request
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.pipeline import Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(OperandShapesConfig)


def draw(kinds: Sequence[tuple[NativeShape, int]], rng: Random) -> list[Request]:
    return [random_request(CONFIG, rng, *each) for each in kinds]


BENCH = StreamBench(
    __name__,
    OperandShapesConfig,
    OperandShapes,
    list(product(CONFIG.shapes, range(CONFIG.parts))),
    draw,
    cycles=0,
    default_cases=100,
)
random_requests = BENCH.random()
covers(
    "operand_shapes.stream",
    "The network passes valid and ready through",
    "Random shapes and parts at full speed, with gaps, stalls and both",
    random_requests,
)


@covers(
    "operand_shapes.lanes",
    "Each lane of each shape has places of its own in X and Y, and no other element may reach it",
)
@BENCH.sweep()
def every_lane() -> Made:
    """Every part of every shape: elements that all differ, unused ones among them, all bits set, all cleared."""
    rng, sent = pauses.rng("registers"), []
    ones = [(1 << bits) - 1 for bits in (REGISTER_BITS, REGISTER_BITS, MASK_BITS, LANE_BITS)]
    for shape, part in BENCH.kinds:
        sent += [random_request(CONFIG, rng, shape, part) for _ in range(2)]
        sent += [network_request(CONFIG, shape, part, *values) for values in (ones, (0, 0, 0, 0))]
    names = [f"{shape.name}/{part}" for shape, part in BENCH.kinds]
    return sent, Coverage(names, names)
