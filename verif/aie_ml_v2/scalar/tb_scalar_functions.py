"""Bench of the scalar functions: :class:`LaneBench` has most tests; operands in volume, and those whose results are nearest to
midpoints.

``BITPATH_CASES`` sets the random cases of a test, of which a fifth are rounding edges; ``BITPATH_VOLUME`` the operands in volume.
"""

import os

import cocotb
import numpy as np

from bitpath.golden.aie_ml_v2.declarations.scalar import ScalarFunction
from bitpath.rtl.aie_ml_v2.scalar.scalar_functions import ScalarFunctionsConfig
from bitpath.verif.aie_ml_v2.lanes.bench import CASES, LaneBench
from bitpath.verif.aie_ml_v2.scalar.scalar_functions import FunctionCases
from bitpath.verif.common.fp32.functions import decisive_remainders, nearest_to_midpoints
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.testplan import covers

VOLUME = int(os.environ.get("BITPATH_VOLUME", "1000"))
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}
SOURCE = FunctionCases(config_from_environment(ScalarFunctionsConfig), max(1, CASES // 20))
BENCH = LaneBench(SOURCE)
directed, random_cases, latency, resets = BENCH.tests(__name__)
covers(
    "scalar_functions.format",
    "Operands are shifted to their leading bit, and an inverse may overflow or be subnormal",
    "Every exponent with ten fractions at the ends, negative ones with fraction 0; subnormals of every length; "
    "zeros, infinities and NaN",
    directed,
)
covers(
    "scalar_functions.rounding",
    "The last residue is the sticky bit; one lost bit shows in few results",
    "Operands with short results, many exact, and with results nearest to a midpoint, each with its neighbours; "
    "inverses that one bit of the remainder decides",
    directed,
)
covers(
    "scalar_functions.integers",
    "The instruction rounds up to three times, and flags of a conversion that is not asked for stay clear",
    "All four combinations of float and integer at both ends with any shifts, and the flags of both conversions",
    random_cases,
)
covers(
    "scalar_functions.stream",
    "The tile writes the register in cycle 4 and issues one operation a cycle",
    "The three functions in any order, full speed, gaps, stalls and both; the result after 3 cycles; resets",
    random_cases,
    latency,
    resets,
)


@covers("scalar_functions.volume", "A wrong bit of a wide residue changes few results")
@cocotb.test(**LIMIT)
@cocotb.parametrize(function=[each.value for each in ScalarFunction])
async def volume(dut, function):
    """Random operands of each function; a million of each in the deep tests."""
    rng = np.random.default_rng(pauses.rng("codes").getrandbits(32))
    codes = rng.integers(0, 1 << (32 if function == "inv" else 31), VOLUME, np.uint32)
    await BENCH.swept(dut, SOURCE.cases(ScalarFunction(function), codes))


@covers(
    "scalar_functions.boundaries",
    "Each of the three roundings may lose a sticky bit that random operands rarely need",
)
@cocotb.test(**LIMIT)
async def range_boundaries(dut):
    """Results above and below ties, normal and subnormal, even and odd, at every distance; integers beside ties of both
    conversions."""
    await BENCH.swept(dut, SOURCE.boundaries(pauses.rng("boundaries")), SOURCE.boundary_bins)


@covers("scalar_functions.rounding")
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
