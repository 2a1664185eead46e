"""Bench of the scalar functions: :class:`LaneBench` has most tests; operands in volume, and those whose results are nearest to
midpoints.

``BITPATH_CASES`` sets the random cases of a test, of which a fifth are rounding edges; ``BITPATH_VOLUME`` the operands in volume.
"""

import os

import cocotb
import numpy as np

from bitpath.golden.aie_ml_v2.declarations.scalar import ScalarFunction
from bitpath.rtl.aie_ml_v2.scalar.config import ScalarFunctionsConfig
from bitpath.verif.aie_ml_v2.lanes.bench import CASES, LaneBench
from bitpath.verif.aie_ml_v2.scalar.scalar_functions import FunctionCases
from bitpath.verif.common.fp32.functions import decisive_remainders, nearest_to_midpoints
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment

VOLUME = int(os.environ.get("BITPATH_VOLUME", "1000"))
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}
SOURCE = FunctionCases(config_from_environment(ScalarFunctionsConfig), max(1, CASES // 20))
BENCH = LaneBench(SOURCE)
directed, random_cases, latency, resets = BENCH.tests(__name__)


@cocotb.test(**LIMIT)
@cocotb.parametrize(function=[each.value for each in ScalarFunction])
async def volume(dut, function):
    """Random FP32 codes; of roots positive ones."""
    rng = np.random.default_rng(pauses.rng("codes").getrandbits(32))
    codes = rng.integers(0, 1 << (32 if function == "inv" else 31), VOLUME, np.uint32)
    await BENCH.swept(dut, SOURCE.cases(ScalarFunction(function), codes))


@cocotb.test(**LIMIT)
async def range_boundaries(dut):
    """Results beside ties at every distance; no root is subnormal, and none of the results overflows beside a tie."""
    await BENCH.swept(dut, SOURCE.boundaries(pauses.rng("boundaries")), SOURCE.boundary_bins)


@cocotb.test(**LIMIT)
async def nearest_midpoints(dut):
    """Reciprocals that a remainder of one bit decides, and the inverse roots nearest to midpoints."""
    count = CASES // 2
    await BENCH.swept(
        dut,
        [
            *SOURCE.cases(ScalarFunction.INV, pauses.rng("codes").choices(decisive_remainders().tolist(), k=count)),
            *SOURCE.cases(ScalarFunction.INVSQRT, nearest_to_midpoints(count)),
        ],
    )
