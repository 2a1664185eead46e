"""Bench of the quad-MX dot product: random classes, directed corners, every operand pair, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random cases of a test.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np

from bitpath.golden.arrays.codec import decode_array, encode_array
from bitpath.golden.formats.catalogue import CATALOGUE, E2M1, E8M0, FP32, FloatFormat
from bitpath.golden.scalar.dot import dot_step
from bitpath.golden.trainium3.declarations.quad_mx import X4
from bitpath.golden.trainium3.matmul.array import chain_rows
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.quad_mx_dot import QuadMxDot
from bitpath.verif.common.dot.cases import DotCase, held_case, random_cases
from bitpath.verif.common.dot.directed_corners import BOUNDARIES, Corner, corners
from bitpath.verif.kit import pauses
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import HELD, Made, Request, StreamBench, held
from bitpath.verif.kit.testplan import covers


def draw(kinds: Sequence[None], rng: Random) -> list[Request]:
    return requests(random_cases(NUMERICS, rng, len(kinds)))


BENCH = StreamBench(__name__, DotConfig, QuadMxDot, (None,), draw, result=FP32, default_cases=500, draws="operands")
NUMERICS = BENCH.config.numerics
SHAPE = BENCH.unit.signature.members["i"].signature.members["payload"].shape
random_classes, latency, resets = BENCH.tests("random_classes")
covers(
    "quad_mx_dot.random",
    "The reference rounds an exact sum once; the classes stress the alignment and the rounding",
    "Random operands of five classes (any, comparable, cancelling, tiny, huge) equal the exact tier bit for bit",
    random_classes,
)
covers(
    "quad_mx_dot.handshake",
    "A stage that ignores the stall, or a payload that changes while valid, loses or doubles a result",
    "Results and order survive gaps, stalls, both, and full speed, with 0 to 4 pipeline stages; resets",
    random_classes,
    latency,
    resets,
)
covers(
    "quad_mx_dot.latency",
    "The array's skew relies on it",
    "A result appears exactly `stages` cycles after its operands, and once",
    latency,
)


def request(payload: int, expected: int) -> Request:
    """A payload with its result; a mismatch shows its operands."""
    return Request(payload, expected, lambda _: DotCase.of(NUMERICS, SHAPE.from_bits(payload)).shown(NUMERICS))


def requests(cases: list[DotCase]) -> list[Request]:
    """The cases with their results in the exact tier."""
    own = [held_case(NUMERICS, SHAPE, case) for case in cases]
    return [request(pack(SHAPE, case.fields(NUMERICS)), case.trace(NUMERICS).result) for case in own]


@covers(
    "quad_mx_dot.distance",
    "Alignment clamps, anchors and sticky bits change along it",
    "Every distance from partial sum to product sum, -100 to 100 binades and 240 both ways, both signs, narrow "
    "and wide products",
)
@covers(
    "quad_mx_dot.cancellation",
    "tt-metal#38306: a sum of -1 unit that 72 million random products never hit",
    "Equal exponents; sums of plus and minus one unit; largest products cancel and the smallest stays; x - x",
)
@covers(
    "quad_mx_dot.rounding",
    "Rounding faults live there",
    "Ties to even up and down, both signs; carry-out into the next binade",
)
@covers(
    "quad_mx_dot.alone",
    "A partial sum below the window is only a sticky bit in it, but the whole result",
    "Products that cancel or are 0, with a partial sum within, partly below, wholly below and far above the "
    "product grid",
)
@covers(
    "quad_mx_dot.lead",
    "The sum is negative inside; one increment completes its ones' complement and rounds",
    "A partial sum subtracted from larger products: exact results, ties up and down, a carry-out, both signs",
)
@covers(
    "quad_mx_dot.boundary",
    "A unit that lost the far sticky bits of subnormal results passed: no random class has a tie at the subnormal "
    "grid and a term 34 binades below it",
    "Sums at and beside every boundary of the accumulator: zero, subnormal grid, smallest normal, binade, largest "
    "number, overflow; a sticky product or partial sum at every distance; the reported operands, 2**-150 + "
    "2**-184",
)
@covers(
    "quad_mx_dot.found",
    "Random classes contain only cases that their author thought of",
    "25 operands found by a solver, each of which detects one single-bit fault; most have subnormal results",
)
@covers(
    "quad_mx_dot.fused",
    "gem5#2478: a fused instruction modelled as two roundings",
    "Cases in which rounding the products' sum first would change the result",
)
@covers(
    "quad_mx_dot.scales",
    "The scaled sum leaves FP32's range at both ends; 255 is NaN",
    "Scale codes 0, 127, 254 and 255 on either side, all sixteen pairs; FP32 overflow, subnormal results, "
    "underflow to zero, both signs",
)
@covers(
    "quad_mx_dot.zeros",
    "cvfpu#94 and others: signs of zero wrong for years",
    "All-zero block, -0 where every term is negative, +0 otherwise",
)
@covers(
    "quad_mx_dot.specials",
    "They override the sum and must not leak through it",
    "NaN and infinite elements and partial sums, infinity - infinity, 0 * infinity, subnormal elements on either side",
)
@BENCH.exchange("both")
def directed_corners() -> Made:
    return _played(corners(NUMERICS, pauses.rng("corners")))


@covers("quad_mx_dot.boundary")
@BENCH.exchange("both")
def boundaries() -> Made:
    """One of the directed corners for each bin of a boundary, the reported one among them: a part that every run can afford."""
    rng = pauses.rng("boundaries")
    table = {corner.bin: corner for maker in BOUNDARIES for corner in maker(NUMERICS, rng)}
    return _played(list(table.values()))


def _played(table: list[Corner]) -> Made:
    own = [(corner, held_case(NUMERICS, SHAPE, corner.case)) for corner in table]
    # Operands that a design does not have take the property away from some corners.
    table = [replace(corner, case=case, certain=case == corner.case and corner.certain) for corner, case in own]
    traced = [(corner, corner.case.trace(NUMERICS)) for corner in table]
    if HELD in os.environ:
        table = [corner for corner, trace in traced if corner.hits(trace)]
    sent = [request(pack(SHAPE, corner.case.fields(NUMERICS)), trace.result) for corner, trace in traced]
    return sent, Coverage((each.bin for each in table), (corner.bin for corner, trace in traced if corner.hits(trace)))


def lane_payloads(lane: int, x: FloatFormat, y: FloatFormat) -> list[int]:
    """Payloads with every pair of codes in one lane; E2M1 as the first format, the way it comes through the map.

    The other products and the partial sum are -0, which no sum shows: so a product's own sign shows when it is zero.
    """
    sides = []
    for side, fmt, sign in (("stationary", x, 1), ("moving", y, 0)):
        carried = NUMERICS.element_formats[0] if fmt is E2M1 else fmt
        table = []
        for code in range(1 << fmt.width):
            elements = [sign * carried.sign_mask] * NUMERICS.terms
            elements[lane] = int(encode_array(carried, decode_array(fmt, np.array([code])))[0]) if fmt is E2M1 else code
            operand = {"elements": elements, "scale": E8M0.bias, "format": NUMERICS.element_formats.index(carried)}
            table.append(pack(SHAPE, {side: operand}))
        sides.append(table)
    partial = pack(SHAPE, {"partial": FP32.sign_mask})
    return [stationary | moving | partial for stationary, moving in product(*sides)]


def lane_products(lane: int, x: FloatFormat, y: FloatFormat) -> list[int]:
    """Expected results of :func:`lane_payloads` from the vectorised model, which decodes E2M1 itself and has four lanes."""
    sides = []
    for fmt, sign in ((x, 1), (y, 0)):
        codes = np.full((1, 1 << fmt.width, X4), sign * fmt.sign_mask)
        codes[0, :, lane % X4] = np.arange(1 << fmt.width)
        sides += [codes, fmt, np.full((1, 1 << fmt.width), E8M0.bias)]
    start = np.full((1 << x.width, 1 << y.width), FP32.sign_mask, dtype=np.uint32)
    return chain_rows(NUMERICS, *sides, start).ravel().tolist()


PAIRS = list(product(NUMERICS.element_formats, repeat=2))
if NUMERICS.element_subnormals:
    # E2M1's subnormals are normal numbers once they are mapped, and only before would they be flushed.
    for sides in (((E2M1,), NUMERICS.element_formats), (NUMERICS.element_formats, (E2M1,)), ((E2M1,), (E2M1,))):
        PAIRS += product(*sides)
PAIRS = [(x.name, y.name, index % NUMERICS.terms) for index, (x, y) in enumerate(PAIRS)]
"""Pairs of formats, and the lane in which all their pairs of codes are tried."""


@covers("quad_mx_dot.exhaustive", "saturn-vectors#101: E4M3 bugs that the reference's vectors could not see")
@BENCH.sweep((("x", "y", "lane"), PAIRS))
def exhaustive(x: str, y: str, lane: int) -> Made:
    """All 65,536 pairs of codes of each FP8 x FP8 pair of formats and 4,096 of each with FP4, in one lane, another for
    each pair."""
    x, y = CATALOGUE[x], CATALOGUE[y]
    payloads, expected = lane_payloads(lane, x, y), lane_products(lane, x, y)
    for index in pauses.rng("held to the exact tier").sample(range(len(expected)), 100):
        a, b = divmod(index, 1 << y.width)
        assert expected[index] == exact_product(lane, x, a, y, b), f"golden's tiers differ at pair {index}"
    sent = [request(*pair) for pair in zip(payloads, expected, strict=True)]
    if HELD in os.environ:
        return requests([DotCase.of(NUMERICS, SHAPE.from_bits(held(payload))) for payload in payloads])
    return sent


def exact_product(lane: int, x: FloatFormat, a: int, y: FloatFormat, b: int) -> int:
    """One pair of :func:`lane_products` by the exact tier, which takes any formats that the numerics name."""
    numerics = replace(NUMERICS, element_formats=(x, y))
    elements = [[x.sign_mask] * numerics.terms, [0] * numerics.terms]
    elements[0][lane], elements[1][lane] = a, b
    return dot_step(numerics, elements[0], x, elements[1], y, E8M0.bias, E8M0.bias, FP32.sign_mask)
