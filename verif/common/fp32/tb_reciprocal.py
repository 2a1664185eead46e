"""Bench of FP32 reciprocal; `function_tests` has its tests."""

from bitpath.rtl.common.fp32.fp32_functions import Reciprocal
from bitpath.verif.common.fp32.function_bench import function_bench, function_tests, vectorised
from bitpath.verif.common.fp32.functions import FUNCTIONS, decisive_remainders
from bitpath.verif.kit.pipeline import Made
from bitpath.verif.kit.testplan import covers

FUNCTION = FUNCTIONS["reciprocal"]
BENCH = function_bench(__name__, Reciprocal, FUNCTION)
paced, latency = BENCH.random("paced"), BENCH.timing()[0]
boundary_cases, ties, random_operands, resets = function_tests(BENCH, FUNCTION)
covers(
    "reciprocal.format",
    "Operands are normalised first, and a result may overflow or be subnormal",
    "Every exponent and both signs with ten edge fractions; subnormals of every length; zeros, infinities, NaN: "
    "1/±0 = ±inf, 1/±inf = ±0",
    boundary_cases,
)
covers(
    "reciprocal.rounding",
    "If the guard bit is set, the remaining residue decides the rounding",
    "Operands with 12-bit results, many exact, and operands with results nearest to a midpoint, each with two "
    "neighbours on either side; bins count exact results and both rounding directions",
    boundary_cases,
)
covers(
    "reciprocal.ties",
    "All digits behind the guard bit are one sticky bit; no operand gives the tie itself",
    "Operands whose normal and subnormal results, even and odd, lie above and below a tie at every distance; the "
    "exact inverse confirms each",
    ties,
)
covers(
    "reciprocal.volume",
    "A bit lost in the recurrence changes few results",
    "65,536 random operands; more than a million in the deep tests",
    random_operands,
)
covers(
    "reciprocal.stream",
    "The row unit relies on this timing",
    "Full speed, gaps, stalls and both; latency is 27 cycles for every operand; the unit accepts no operand in "
    "flight and the next one with the result",
    random_operands,
    paced,
    latency,
)
covers(
    "reciprocal.reset",
    "A count or busy flag that survives reset would produce a wrong result for the next operand",
    "Resets after 1, 2, 14, 27 and more cycles, with and without result taken: the operand gives no result, and "
    "later operands give theirs after 27 cycles",
    resets,
)


@covers("reciprocal.rounding")
@covers("reciprocal.ties")
@BENCH.sweep()
def single_bits_left_over() -> Made:
    return vectorised(BENCH, FUNCTION, decisive_remainders())
