"""Bench of the BF16 PE: programs as for the quad-MX PE, directed corners, columns of a matmul, gamma's broadcast.

A program has the inputs of every cycle. The golden model computes the expected outputs before the first cycle.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
from cocotb.triggers import FallingEdge

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, CATALOGUE, FP16, FP32, FloatFormat, Rounding
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.golden.trainium3.declarations.quad_mx import MAX_MOVING_FP32
from bitpath.golden.trainium3.declarations.vector import MatmulNumerics
from bitpath.rtl.trainium3.dot.config import MultiplyAddConfig
from bitpath.rtl.trainium3.dot.pe import Bf16Pe
from bitpath.verif.common.dot.cases import on_grid
from bitpath.verif.kit.unit_bench import Context, UnitBench, cases, covers, pack, pauses, resolved
from bitpath.verif.kit.values import code_text
from bitpath.verif.trainium3.dot.multiply_add import (
    Corner,
    ElementCase,
    Maker,
    boundary_corners,
    corners,
    middle_code,
    near,
    power,
)
from bitpath.verif.trainium3.dot.pe_player import STALLS, PePlayer, loads_and_swaps, one_after_another, tiles

# Directed operands of the unscaled multiply-add in numerics that round a product to BF16 before it is added.


ONE = power(BF16)


def product_corners(numerics: MatmulNumerics) -> list[Corner]:
    """Corners whose ``holds`` reads the result, which is the exact tier's in these numerics."""
    assert numerics.product_rounding is not None
    nearest = numerics.product_rounding.rounding is Rounding.RNE
    corners = (corner for maker in (_ties, _sticky, _range_ends, _subnormals, _lost) for corner in maker(nearest))
    return [replace(corner, case=replace(corner.case, numerics=numerics)) for corner in corners]


def _is(value: Fraction | int) -> Callable[[ElementCase], bool]:
    """The result is a number that FP32 holds."""
    return lambda case: case.result == round_to_format(Fraction(value), FP32)


def _ties(nearest: bool) -> Iterator[Corner]:
    """Products of 15 and 16 bits at half a unit of BF16's last place and next to it, with odd and even last places."""
    found: dict[tuple[int, int, int], tuple[int, int, int, int]] = {}
    for a, b in product(range(128, 256), repeat=2):
        discarded = (a * b).bit_length() - BF16.precision
        kept, rest = divmod(a * b, 1 << discarded)
        distance = rest - (1 << discarded - 1)
        key = (discarded, kept & 1, (distance > 0) - (distance < 0))
        found[key] = min(found.get(key, (1 << 16, 0, 0, 0)), (abs(distance), a, b, kept))
    for (discarded, odd, side), (_, a, b, kept) in sorted(found.items()):
        up = nearest and (side > 0 or (side == 0 and odd == 1))
        for sign, exponent in product((0, 1), (-30, 0, 30)):
            case = ElementCase(power(BF16, exponent, sign) | a & 127, BF16, ONE | b & 127, BF16)
            value = (kept + up) * Fraction(2) ** (exponent + discarded - 2 * BF16.fraction_bits) * (-1) ** sign
            yield Corner(f"product tie/{discarded}/{odd}/{'<=>'[side + 1]}", case, _is(value))


def _sticky(nearest: bool) -> Iterator[Corner]:
    """Half a unit of BF16 with one bit of FP16's below it, which alone rounds the product up."""
    half = power(FP16) | 1 << FP16.fraction_bits - BF16.precision
    for place in range(FP16.fraction_bits):
        case = ElementCase(half, FP16, power(FP16) | 1 << place, FP16)
        exact = (1 + Fraction(1, 1 << BF16.precision)) * (1 + Fraction(1, 1 << FP16.fraction_bits - place))
        value = exact * (1 << BF16.fraction_bits)
        yield Corner("sticky", case, _is(Fraction(round(value) if nearest else int(value), 1 << BF16.fraction_bits)))
    yield Corner("half a unit alone", ElementCase(half, FP16, ONE, BF16), _is(1))


def _range_ends(nearest: bool) -> Iterator[Corner]:
    """Products around half a unit above BF16's largest number, and one that the partial sum would bring back."""
    largest, unit = int(BF16.max), 1 << BF16.emax - BF16.fraction_bits
    # Significands of FP16 and BF16, and their product in units: below, at and above half a unit more than 255.
    for name, a, b in (("below", 1938, 135), ("at", 2044, 128), ("above", 1055, 248)):
        assert ((2 * a * b >> 10) > 510) == (name != "below")
        for sign in (0, 1):
            moving = power(BF16, BF16.emax, sign) | b & 127
            case = ElementCase(power(FP16) | a & 1023, FP16, moving, BF16)
            value = (-1) ** sign * (largest + unit if nearest and name != "below" else largest)
            yield Corner(f"product {name} half a unit beyond BF16", case, _is(value))
    high = power(BF16, 64)
    for sign in (0, 1):
        infinity = FP32.infinity_code | sign * FP32.sign_mask
        case = ElementCase(high, BF16, high | sign * BF16.sign_mask, BF16, FP32.max_code | (1 - sign) * FP32.sign_mask)
        yield Corner(
            "product beyond the range, sum within", case, lambda case, infinity=infinity: case.result == infinity
        )


def _subnormals(nearest: bool) -> Iterator[Corner]:
    """Quarters of BF16's smallest number, up to its smallest normal one; a product that rounds to -0 leaves +0."""
    for quarters in (*range(19), 507, 508, 509, 510, 511):
        for sign in (0, 1):
            # A significand of 9 bits is FP16's; the smallest number is 2**-133.
            left = round_to_format(Fraction(quarters, 512), FP16)
            case = ElementCase(left, FP16, power(BF16, BF16.emin, sign), BF16)
            units = round(Fraction(quarters, 4)) if nearest else quarters // 4
            value = (-1) ** sign * units * BF16.min_subnormal
            yield Corner(f"product of {quarters}/4 units", case, _is(value))


def _lost(nearest: bool) -> Iterator[Corner]:
    """1.0078125**2 - 1.015625, whose exact sum is 2**-14, and its negative."""
    for sign in (0, 1):
        above = ONE + 1 | sign * BF16.sign_mask
        partial = (ONE + 2) << 16 | (1 - sign) * FP32.sign_mask
        case = ElementCase(ONE + 1, BF16, above, BF16, partial)
        yield Corner(
            "rounded before it is added",
            case,
            lambda case: abs(case.exact) == Fraction(1, 1 << 14) and case.result == 0,
        )


# Operands of the unscaled multiply-add in which a single bit is all that there is of something, and decides.


SPARSE_FRACTIONS = (
    *((0, 0), (1 << BF16.fraction_bits - 1, 0), (1, 0)),
    *((0, 1), (1 << BF16.fraction_bits - 1, 1), (0, 1 << FP32.fraction_bits - 1)),
)
"""Fractions of an element and of a partial sum that have a bit at most."""
HALF = -FP32.precision
"""Distance at which a product is half a unit of the partial sum's last place."""
ABOVE_POWERS = ((3, 3), (3, 11), (5, 13), (3, 43), (27, 19), (25, 41))
BELOW_POWERS = ((15, 17), (7, 73), (31, 33), (23, 89), (63, 65), (127, 129), (217, 151))
"""Factors of ``2**n + 1`` and of ``2**n - 1`` that are significands of BF16."""


def sparse_cases() -> list[ElementCase]:
    makers = (_sparse_sums, _far_apart, _sparse_codes, _sparse_products, _sums_of_one_bit, _one_bit_below_a_tie)
    return [case for maker in makers for case in maker()]


def _sparse_sums() -> Iterator[ElementCase]:
    """Products and partial sums of one bit or two, at every distance, of like and of opposite signs; half units with one bit
    below."""
    sums = [*product(range(-80, 81), SPARSE_FRACTIONS)]
    sums += [(HALF + near, (1 << place, 0)) for near in (-1, 0, 1) for place in range(BF16.fraction_bits)]
    for (distance, (own, other)), opposite in product(sums, (0, 1)):
        yield ElementCase(ONE | own, BF16, power(BF16, distance), BF16, power(FP32, 0, opposite) | other)


def _far_apart() -> Iterator[ElementCase]:
    """Powers of two at every distance that there is, and products of every exponent alone."""

    def case(exponent: int, partial: int) -> ElementCase:
        low, high = (round_to_format(Fraction(2) ** part, BF16) for part in (exponent // 2, exponent - exponent // 2))
        return ElementCase(low, BF16, high, BF16, partial)

    for exponent in range(2 * (BF16.emin - BF16.fraction_bits), 2 * BF16.emax + 1):
        yield case(exponent, 0)
        yield case(exponent, power(FP32, FP32.emin if exponent > 0 else FP32.emax))


def _sparse_codes() -> Iterator[ElementCase]:
    """One-bit element codes times one and times infinity, on either side; one-bit partial sums with zero products, also of
    large elements, and with the smallest products."""
    infinity = BF16.infinity_code
    for fmt in (BF16, FP16):
        for code, other in product((1 << place for place in range(fmt.width - 1)), (ONE, infinity)):
            yield ElementCase(code, fmt, other, BF16)
            yield ElementCase(other, BF16, code, fmt)
    products = product((0, 1), (1, BF16.max_code), (0, BF16.sign_mask))
    for (left, right, sign), place in product(products, range(FP32.width - 1)):
        yield ElementCase(left | sign, BF16, right, BF16, 1 << place)


def _sparse_products() -> Iterator[ElementCase]:
    """Products of subnormal elements of one bit each, beside a partial sum far below and one far above."""
    for fmt in (BF16, FP16):
        codes = [1 << place for place in range(fmt.fraction_bits)]
        for left, right, partial in product(codes, codes, (1, power(FP32, -100))):
            yield ElementCase(left, fmt, right, fmt, partial)
            yield ElementCase(left, fmt, ONE, BF16, partial)


def _sums_of_one_bit() -> Iterator[ElementCase]:
    """Sums that are one bit, wherever it lies, of operands that are more; and the opposite."""
    elements = [ElementCase(ONE | (1 << place) - 1, BF16, ONE, BF16) for place in range(BF16.fraction_bits)]
    elements += [ElementCase(1 << place, FP16, 1, FP16) for place in range(FP16.fraction_bits)]
    for case, distance in product(elements, range(-FP32.precision, FP32.precision + 1)):
        partial = Fraction(2) ** (floor_log2(case.product) + distance) - case.product
        if decode(FP32, near(partial)).value == partial:
            yield replace(case, partial=near(partial))
            yield replace(case, stationary=case.stationary | case.stationary_format.sign_mask, partial=near(-partial))


def _one_bit_below_a_tie() -> Iterator[ElementCase]:
    """Half a unit of a product, odd and even, and one bit more or less; half a unit of a partial sum, and one bit below; half the
    smallest subnormal with one bit below, added to subnormals of one bit."""
    elements = [ElementCase(ONE | odd, BF16, ONE, BF16) for odd in (0, 1)]
    elements += [ElementCase(3, FP16, 1, FP16)]
    elements += [
        ElementCase(1 << place // 2, FP16, 1 << place - place // 2, FP16) for place in range(2 * FP16.fraction_bits - 1)
    ]
    for case, place, sign in product(elements, range(FP32.fraction_bits), (0, 1)):
        yield replace(case, partial=power(FP32, floor_log2(case.product) + HALF, sign) | 1 << place)
    for factors, sign in product(ABOVE_POWERS, (0, 1)):
        left, right = (round_to_format(Fraction(factor), BF16) for factor in factors)
        case = ElementCase(left, BF16, right, BF16)
        yield replace(case, partial=power(FP32, floor_log2(case.product) - HALF, sign))
    low, high = power(BF16, -75), power(BF16, FP32.emin - FP32.precision + 75)
    for place, partial in product(range(BF16.fraction_bits), (0, *(1 << bit for bit in range(FP32.fraction_bits)))):
        yield ElementCase(low | 1 << place, BF16, high, BF16, partial)
    for (left, right), partial in product(BELOW_POWERS, (1 << bit | 1 for bit in range(1, FP32.fraction_bits))):
        # A power of two less one in its last place, taken from an odd partial sum, which leaves an even one.
        below = (left * right).bit_length() - FP32.emin + FP32.precision
        low, high = (
            round_to_format(Fraction(left, 1 << 80), BF16),
            round_to_format(Fraction(right, 1 << below - 80), BF16),
        )
        yield ElementCase(low, BF16, high | BF16.sign_mask, BF16, partial)


BENCH = UnitBench(Bf16Pe, MultiplyAddConfig, ms=100)
CONFIG = BENCH.config
NUMERICS = CONFIG.numerics
FORMATS = CONFIG.element_formats
PE = BENCH.unit
CASES = cases(500)


def side(case: ElementCase, name: str) -> int:
    """One side of a case as the port's integer."""
    return pack(PE.operand, case.fields(name, FORMATS))


def step(held: ElementCase, work: ElementCase) -> tuple[int, Context]:
    """One step with the stationary element of ``held`` and the rest of ``work``, in the unit's numerics."""
    stationary = {"stationary": held.stationary, "stationary_format": held.stationary_format}
    case = replace(work, **stationary, numerics=NUMERICS)
    return case.result, case.shown


PLAYER = PePlayer(PE, CONFIG.pipeline.stages, side, step)
random_case = Maker(NUMERICS, FORMATS).case
DIRECTED = (
    (NUMERICS.accumulator, NUMERICS.accumulator_rounding) == (FP32, Rounding.RNE)
    and (NUMERICS.product_rounding is None or NUMERICS.product_rounding.format == BF16)
    and BF16 in FORMATS
)
"""Whether there are directed corners of these numerics."""


def directed() -> list[Corner]:
    """The corners of these numerics, of the formats that the unit has."""
    exact, rng = NUMERICS.product_rounding is None, pauses.rng("corners")
    table = [*corners(rng), *boundary_corners(rng)] if exact else product_corners(NUMERICS)
    return [corner for corner in table if corner.case.formats <= set(FORMATS)]


@covers("bf16_pe.loads", "Both PEs work in the same array")
@BENCH.test("bf16_pe.formats", stall=list(STALLS))
async def tiles_back_to_back(frame, stall):
    """Tiles back to back, loads and swaps in any order, and stalls, as for the quad-MX PE."""
    await PLAYER.play(frame, tiles(pauses.rng("program"), CASES, 12, random_case), STALLS[stall]())


@BENCH.test("bf16_pe.loads", stall=list(STALLS))
async def loads_and_swaps_at_random(frame, stall):
    await PLAYER.play(frame, loads_and_swaps(pauses.rng("program"), CASES, random_case), STALLS[stall]())


@covers(
    "bf16_pe.formats",
    "FP16's subnormals are normal numbers of the product's grid",
    "BF16 and FP16 with each other, chosen for each operand at run time, subnormal elements too",
)
@covers(
    "bf16_pe.distances",
    "Both anchors of the sum's window, and both clamps of its shifter",
    "Partial sum and product 260 binades apart either way, and at every distance within 52, with equal and "
    "opposite signs",
)
@covers(
    "bf16_pe.one_rounding",
    "Product and sum are rounded once together",
    "Half a unit exactly, one bit less and more, with odd and even last places; products below FP32's last place "
    "that must not be rounded by themselves",
)
@covers(
    "bf16_pe.rounded_products",
    "A hypothesis about Trainium2 rounds each product before it is added",
    "With products rounded to BF16: ties of products of 15 and 16 bits, a bit of FP16 below a tie, both ends of "
    "BF16's range and its subnormals, and 1.0078125**2 - 1.015625",
)
@covers(
    "bf16_pe.cancellation",
    "A wrong sign of zero shows in the next row only",
    "Sums that cancel to +0 and to a unit of either sign",
)
@covers(
    "bf16_pe.specials",
    "0 * infinity and infinity - infinity are NaN, and every NaN has one code",
    "Zero, one, both infinities and NaN in each of the three places; the eight signs of zeros; -0 from a product "
    "that rounds to it",
)
@covers(
    "bf16_pe.range",
    "BF16 elements reach FP32's whole range, and their product twice that",
    "Products beyond the range with sums within, the ends of the range, subnormal results and their carry to the "
    "smallest normal number",
)
@BENCH.test(
    "bf16_pe.boundaries",
    "A sticky bit lost at one end of the range shows only where a far term breaks a tie there",
    "Sums at the ends of FP32's range and at ties, the product or the partial sum one sticky bit beside them at "
    "every distance",
    skip=not DIRECTED,
)
async def directed_corners(frame):
    table = directed()
    bins = [corner.bin if corner.hits() else None for corner in table]
    program = one_after_another([corner.case for corner in table], bins, PLAYER.latency)
    await PLAYER.play(frame, program, STALLS["none"](), dict.fromkeys(corner.bin for corner in table))


@BENCH.test(
    "bf16_pe.single_bits",
    "Sparse operands reveal a bit that a sum or a sticky bit leaves out",
    skip=BF16 not in FORMATS,
)
async def single_bits(frame):
    """Elements, products, partial sums and discarded bits with one bit or two, at every distance, of like and of
    opposite signs."""
    cases = [case for case in sparse_cases() if case.formats <= set(FORMATS)]
    cases = [replace(case, partial=on_grid(NUMERICS, case.partial)) for case in cases]
    await PLAYER.play(frame, one_after_another(cases, [None] * len(cases), PLAYER.latency), STALLS["none"](), [])


@BENCH.test(
    "bf16_pe.rows",
    "The order of rows is part of the result",
    stationary=[fmt.name for fmt in FORMATS],
    moving=[fmt.name for fmt in FORMATS],
)
async def rows_of_a_matmul(frame, stationary, moving):
    """A column of nc_matmul in every pair of formats; each row's partial sums enter the next row."""
    rng = pauses.rng("matmul")
    x, y = CATALOGUE[stationary], CATALOGUE[moving]
    rows, columns = 8, max(2, CASES // 64)
    cases = [
        ElementCase(middle_code(x, rng), x, middle_code(y, rng), y, numerics=NUMERICS) for _ in range(rows * columns)
    ]
    for row in range(rows):
        for column in range(columns):
            index = row * columns + column
            above = cases[index - columns].result if row else 0
            cases[index] = replace(cases[index], stationary=cases[row * columns].stationary, partial=above)
    result = trainium3.nc_matmul(
        np.array([[case.stationary] for case in cases[::columns]], code_type(x)).view(DTYPES[x]),
        np.array([case.moving for case in cases], code_type(y)).reshape(rows, columns).view(DTYPES[y]),
        numerics=NUMERICS,
    )
    assert codes_of(result).ravel().tolist() == [case.result for case in cases[-columns:]]
    await PLAYER.play(frame, one_after_another(cases, [None] * len(cases), PLAYER.latency), STALLS["none"](), [])


def code_type(fmt: FloatFormat) -> str:
    return f"u{fmt.width // 8}"


@BENCH.test("bf16_pe.gamma", "RMSNorm-Quant broadcasts gamma this way", gamma=[fmt.name for fmt in FORMATS])
async def every_gamma_times_one(frame, gamma):
    """All 65,536 codes of BF16 and of FP16 times one on +0: exact, -0 becomes +0."""
    fmt = CATALOGUE[gamma]
    codes = np.arange(1 << fmt.width, dtype=code_type(fmt))
    one = FORMATS[0]
    ones = np.full((1, 1), power(one), code_type(one)).view(DTYPES[one])
    tiles_of_gamma = codes.reshape(-1, 1, min(len(codes), MAX_MOVING_FP32)).view(DTYPES[fmt])
    results = [trainium3.nc_matmul(ones, tile, numerics=NUMERICS) for tile in tiles_of_gamma]
    expected = np.concatenate([codes_of(result)[0] for result in results]).tolist()
    assert expected[fmt.sign_mask] == 0
    payloads = [pack(PE.operand, {"code": code, "format": FORMATS.index(fmt)}) for code in codes.tolist()]
    dut = frame.dut
    board = frame.scoreboard("partial_south", FP32.width, {"": FP32})
    dut.advance.value = dut.load.value = dut.swap_west.value = 1
    dut.stationary_west.value = pack(PE.operand, {"code": power(one), "format": 0})
    # Two cycles until the element is in the PE; from then on a word a cycle.
    for _ in range(2):
        await FallingEdge(dut.clk)
    for cycle in range(len(payloads) + PLAYER.latency - 1):
        if cycle < len(payloads):
            dut.moving_west.value = payloads[cycle]
            board.expect(expected[cycle], f"gamma {code_text(fmt, cycle)}")
        await FallingEdge(dut.clk)
        if cycle >= PLAYER.latency - 1:
            board.got(resolved(dut.partial_south))


@BENCH.test("bf16_pe.reset", "A swap that survives the reset would change the next tile's operands")
async def resets(frame):
    """A reset during a swap ends the swap."""
    await PLAYER.resets(frame, random_case(pauses.rng("case")))
