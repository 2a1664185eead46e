"""Bench of the dot product of any shape: random classes, corners, every pair of codes in a lane, latency, resets.

Expected values come from golden's exact tier before anything is driven.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from random import Random

from bitpath.golden.formats.catalogue import E8M0
from bitpath.golden.scalar.dot import general
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.rtl.common.dot.dot_product import DotProduct, DotProductConfig
from bitpath.verif.common.dot.cases import DotCase, held_case, random_cases
from bitpath.verif.common.dot.corners import special_cases
from bitpath.verif.common.dot.directed_corners import corners as directed_corners
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers

DIRECTED = general(TRAINIUM3_QUAD_MX.numerics)
"""Numerics whose corners were made for Trainium3."""
SWEPT_BITS = 8
"""Widest elements of which every pair is tried."""


def bench_of(module: str, config_type: type) -> StreamBench:
    """The bench of a configuration type of the unit."""

    def draw(kinds: Sequence[None], rng: Random) -> list[Request]:
        numerics = made.config.numerics
        return requests(made, random_cases(numerics, rng, len(kinds)))

    result = config_from_environment(config_type).numerics.result_format
    made = StreamBench(
        module, config_type, DotProduct, (None,), draw, result=result, default_cases=500, draws="operands"
    )
    return made


def requests(bench: StreamBench, cases: list[DotCase]) -> list[Request]:
    """Cases with their results in the exact tier; a mismatch shows its operands."""
    numerics = bench.config.numerics
    shape = bench.unit.signature.members["i"].signature.members["payload"].shape
    return [
        Request(
            pack(shape, case.fields(numerics)), case.trace(numerics).result, lambda _, case=case: case.shown(numerics)
        )
        for case in (held_case(numerics, shape, each) for each in cases)
    ]


BENCH = bench_of(__name__, DotProductConfig)
random_classes, latency, resets = BENCH.tests("random_classes")
covers(
    "dot_product.random",
    "The reference rounds an exact sum once; the classes stress the alignment and the rounding",
    "Random operands of five classes (any, comparable, cancelling, tiny, huge) equal the exact tier bit for bit",
    random_classes,
)
covers(
    "dot_product.handshake",
    "A stage that ignores the stall, or a payload that changes while valid, loses or doubles a result",
    "Results and order survive gaps, stalls, both, and full speed; a result appears `stages` cycles after its operands; resets",
    random_classes,
    latency,
    resets,
)


def corner_requests(bench: StreamBench) -> Made:
    """Special values, zeros of both signs, ends of the range and ties, of every pair of formats, with their bins.

    A shape that Trainium3's could have gets its directed corners too.
    """
    numerics = bench.config.numerics
    table = special_cases(numerics, pauses.rng("corners"))
    directed = replace(numerics, terms=4, element_formats=DIRECTED.element_formats) == DIRECTED
    if directed and numerics.terms.bit_count() == 1 and set(numerics.element_formats) <= set(DIRECTED.element_formats):
        table += [(f"directed/{each.bin}", each.case) for each in directed_corners(numerics, pauses.rng("directed"))]
    names = [name for name, _ in table]
    return requests(bench, [case for _, case in table]), Coverage(set(names), names)


@covers(
    "dot_product.corners",
    "They override the sum, or have a sign of their own",
    "NaN, infinity, infinity - infinity, 0 * infinity, scales of 0 and 255, zero products and partial sums of both signs, "
    "the ends of the range, ties and both sides of them, for every pair of formats and in every lane",
)
@BENCH.exchange("both")
def corners() -> Made:
    return corner_requests(BENCH)


@covers(
    "dot_product.exhaustive",
    "An element's decoder fails at single codes",
    "Every pair of codes of every pair of formats of at most 8 bits, in a lane that changes with the pair",
)
@BENCH.sweep()
def exhaustive() -> Made:
    """All pairs for up to 4,096 pairs of formats' codes; of 8-bit formats 4,096 at random."""
    numerics, rng, cases = BENCH.config.numerics, pauses.rng("exhaustive"), []
    for number, (x, y) in enumerate(product(numerics.element_formats, repeat=2)):
        if x.width > SWEPT_BITS:
            break
        lane = number % numerics.terms
        codes = list(product(range(1 << x.width), range(1 << y.width)))
        for a, b in codes if len(codes) <= 4096 else rng.sample(codes, 4096):
            sides = [0] * numerics.terms, [0] * numerics.terms
            sides[0][lane], sides[1][lane] = a, b
            cases.append(DotCase(tuple(sides[0]), x, tuple(sides[1]), y, E8M0.bias, E8M0.bias))
    return requests(BENCH, cases or random_cases(numerics, rng, BENCH.cases))
