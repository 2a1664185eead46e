"""Bench of PACK and UNPACK: :class:`LaneBench` has most tests; every 16-bit number.

``BITPATH_CASES`` also limits the registers of 16-bit numbers in each mode.
"""

import cocotb
import numpy as np

from bitpath.rtl.aie_ml_v2.lanes.config import PackConfig
from bitpath.verif.aie_ml_v2.lanes.bench import CASES, LIMIT, LaneBench
from bitpath.verif.aie_ml_v2.lanes.pack_unpack import ASKS, PackCases
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment

SOURCE = PackCases(config_from_environment(PackConfig))
BENCH = LaneBench(SOURCE)
directed, random_cases, latency, resets = BENCH.tests(__name__)


@cocotb.test(**LIMIT)
async def every_16_bit_number(dut):
    """All 65,536 numbers to 8 bits in every saturation, or a sample of their registers."""
    words = SOURCE.words(np.arange(1 << 16, dtype="<u2"))
    rng = pauses.rng("registers")
    asks = [ask for ask in ASKS if (ask.unpack, ask.bits) == (False, 8)]
    await BENCH.swept(
        dut, [SOURCE.case(ask, word) for ask in asks for word in rng.sample(words, min(len(words), CASES))]
    )
