"""Bench of the dot product that keeps its sum: sequences of requests, each with the sum of those before it."""

from collections.abc import Sequence
from random import Random

from bitpath.rtl.common.dot.dot_product import DotAccumulator, DotAccumulatorConfig
from bitpath.verif.common.dot.cases import DotCase, random_cases
from bitpath.verif.common.dot.corners import special_cases
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Made, Request, StreamBench, held
from bitpath.verif.kit.testplan import covers

CLEARS = 0.15
"""Share of requests that clear the sum."""


def draw(kinds: Sequence[None], rng: Random) -> list[Request]:
    cases = random_cases(BENCH.config.numerics, rng, len(kinds))
    rng.shuffle(cases)
    return accumulated([(case, number == 0 or rng.random() < CLEARS) for number, case in enumerate(cases)])


def accumulated(cases: Sequence[tuple[DotCase, bool]]) -> list[Request]:
    """Cases, and whether each clears the sum, with the sum after each in the exact tier."""
    config, found, total = BENCH.config, [], 0
    numerics = config.numerics
    for case, clears in cases:
        payload = held(pack(SHAPE, case.operands(numerics) | {"clear": int(clears)}))
        fields = SHAPE.from_bits(payload)
        clear = bool(fields["clear"])
        own = DotCase.of(numerics, fields, partial=0 if clear else total)
        total = own.trace(numerics).result if config.clear_adds or not clear else 0
        found.append(Request(payload, total, lambda _, own=own: own.shown(numerics)))
    return found


RESULT = config_from_environment(DotAccumulatorConfig).numerics.result_format
BENCH = StreamBench(
    __name__,
    DotAccumulatorConfig,
    DotAccumulator,
    (None,),
    draw,
    result=RESULT,
    default_cases=500,
    draws="operands",
    stateful=True,
)
SHAPE = BENCH.unit.signature.members["i"].signature.members["payload"].shape
random_sums, latency, resets = BENCH.tests("random_sums")
covers(
    "dot_accumulator.random",
    "A sum that is kept takes the fault of one step through all that follow",
    "Random steps, cleared at random, give the exact tier's sum after each; gaps, stalls, latency, resets",
    random_sums,
    latency,
    resets,
)


@covers(
    "dot_accumulator.corners",
    "Infinity and NaN stay in the sum until it is cleared",
    "Special values, each in a new sum",
)
@BENCH.exchange("both")
def corners() -> Made:
    return accumulated([(case, True) for _, case in special_cases(BENCH.config.numerics, pauses.rng("corners"))])
