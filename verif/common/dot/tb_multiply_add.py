"""Bench of the multiply-add of any formats: that of the dot product, with its one term."""

from bitpath.rtl.common.dot.dot_product import MultiplyAddConfig
from bitpath.verif.common.dot.tb_dot_product import Made, bench_of, corner_requests
from bitpath.verif.kit.testplan import covers

BENCH = bench_of(__name__, MultiplyAddConfig)
random_classes, latency, resets = BENCH.tests("random_classes")
covers(
    "multiply_add.random",
    "A product that is rounded before the addition differs in a few of a million sums alone",
    "Random operands of five classes equal the exact tier bit for bit, fused and not; gaps, stalls, latency, resets",
    random_classes,
    latency,
    resets,
)


@covers(
    "multiply_add.corners",
    "They override the sum, or have a sign of their own",
    "NaN, infinity, 0 * infinity, zeros of both signs and the ends of the range, for every pair of formats",
)
@BENCH.exchange("both")
def corners() -> Made:
    return corner_requests(BENCH)
