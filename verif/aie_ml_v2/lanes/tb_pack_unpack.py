"""Bench of PACK and UNPACK: :class:`LaneBench` has most tests; every 16-bit number.

``BITPATH_CASES`` also limits the registers of 16-bit numbers in each mode.
"""

import cocotb
import numpy as np

from bitpath.rtl.aie_ml_v2.lanes.layouts import PackConfig
from bitpath.verif.aie_ml_v2.lanes.bench import CASES, LIMIT, LaneBench
from bitpath.verif.aie_ml_v2.lanes.pack_unpack import ASKS, PackCases
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.testplan import covers

SOURCE = PackCases(config_from_environment(PackConfig))
BENCH = LaneBench(SOURCE)
directed, random_cases, latency, resets = BENCH.tests(__name__)
covers(
    "pack_unpack.elements",
    "The symmetric range has one number less, and unsigned elements have one limit",
    "All bytes to 4 bits and to 16, all nibbles to 8, 16-bit numbers at the limits and with one bit, in every "
    "saturation, signed and unsigned; all 16-bit numbers in the deep tests",
    directed,
)
covers(
    "pack_unpack.order",
    "Elements of two widths share the lanes",
    "Random registers: every element at its place, zeros above packed ones, the upper half ignored by UNPACK",
    directed,
    random_cases,
)
covers(
    "pack_unpack.stream",
    "Each request has a control of its own",
    "Every control in any order, full speed, gaps, stalls and both; latency of one cycle; resets",
    random_cases,
    latency,
    resets,
)


@covers("pack_unpack.elements")
@cocotb.test(**LIMIT)
async def every_16_bit_number(dut):
    """All 65,536 numbers to 8 bits in every saturation, or a sample of their registers."""
    words = SOURCE.words(np.arange(1 << 16, dtype="<u2"))
    rng = pauses.rng("registers")
    asks = [ask for ask in ASKS if (ask.unpack, ask.bits) == (False, 8)]
    await BENCH.swept(
        dut, [SOURCE.case(ask, word) for ask in asks for word in rng.sample(words, min(len(words), CASES))]
    )
