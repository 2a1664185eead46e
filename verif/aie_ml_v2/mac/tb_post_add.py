"""Bench of AIE-ML v2's post-adder: every pair of codes with every pair of shifts, in every place; integers; the extremes.

Sums are exact integers. Products are floored after shifts where the numerics say so, which all pairs of codes reach.

Floats go around the post-adder; what their products leave in it shows the multipliers that they share with the others.

With fewer than 500 ``BITPATH_CASES`` an eighth of the beats of MX9 is sent, which has every pair of codes once.
"""

from dataclasses import replace
from functools import partial
from itertools import product
from random import Random

import cocotb
import numpy as np
from cocotb.triggers import Timer

from bitpath.golden.aie_ml_v2 import fused_dot, integer_dot
from bitpath.golden.aie_ml_v2.declarations.codes import MX4, MX6, MX9, MX_BIAS, MX_BLOCK, MX_PAIRS, MxFormat
from bitpath.golden.aie_ml_v2.exact import Block, wrap
from bitpath.golden.formats.catalogue import FP16, FloatFormat
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.rtl.aie_ml_v2.mac.config import MacMode
from bitpath.rtl.aie_ml_v2.mac.post_add import PostAddConfig, ProductSum
from bitpath.verif.aie_ml_v2.mac.mac import (
    FLOATS,
    INTEGERS,
    LANE,
    LANE_MASK,
    LaneCase,
    MacOptions,
    block_array,
    integer_operands,
    kind_name,
    mode_of,
    row_of,
)
from bitpath.verif.kit.unit_bench import Bench, Shown, UnitBench, cases, cross, pauses, resolved
from bitpath.verif.kit.values import Integer

BENCH = UnitBench(ProductSum, PostAddConfig)
CONFIG = BENCH.config
NUMERICS = CONFIG.numerics
CASES = cases(500)
FRACTION_BITS = 14
"""Fraction bits of the sum at exponents of 127."""
TERM_BITS = 18
"""Bits of a product in the post-adder, for MX9 with two bits for shifts."""
SHIFT_PAIRS = 4
SIGNS = ("zero", "positive", "negative")
"""Names of the sign of a code or a sum, by index."""


def mx_sums(cases: list[LaneCase]) -> list[int]:
    """Return golden's sums in units of 2**-14; FP32 holds them exactly at these exponents."""
    pairs = zip(*((case.x, case.y) for case in cases), strict=True)
    operands = [block_array(list(blocks)) for blocks in pairs]
    results = fused_dot(*operands, format=operands[0].fmt.name, numerics=NUMERICS)
    sums = results.astype(np.float64) * (1 << FRACTION_BITS)
    assert np.array_equal(sums, np.rint(sums))
    return sums.astype(np.int64).tolist()


def sign(value: int) -> str:
    return SIGNS[(value > 0) - (value < 0)]


def shown(case: LaneCase, _: str) -> Shown:
    """Return the operands of a sum, which is an integer; no command explains it."""
    return replace(case.shown(NUMERICS), explain=None, formats={"": Integer(32)})


async def exchange(frame: Bench, beats: list[tuple[int, int]], cases: list[LaneCase]) -> None:
    """Drive operands and compare their sums; a mismatch shows the case."""
    board = frame.scoreboard("o", 32)
    for (bits, expected), case in zip(beats, cases, strict=True):
        board.expect(expected & LANE_MASK, partial(shown, case))
        frame.dut.i.value = bits
        await Timer(1, unit="ns")
        board.got(resolved(frame.dut.o))
    # Restore the input to 0: the next test may not drive it.
    frame.dut.i.value = 0
    await Timer(1, unit="ns")


def mx_case(fmt: MxFormat, pairs: list[tuple[int, int]], shifts: tuple[int, int]) -> LaneCase:
    """Pairs of codes in the first places of a block pair, zeros in the others."""
    sides = zip(*(pairs + [(0, 0)] * (MX_BLOCK - len(pairs))), strict=True)
    blocks = (Block(fmt, MX_BIAS, shift, codes) for codes, shift in zip(sides, shifts, strict=True))
    x, y = blocks
    return LaneCase(mode=mode_of(fmt, NUMERICS), x=x, y=y)


def all_pairs(fmt: MxFormat, places: int, step: int) -> list[LaneCase]:
    """Every position of a beat gets every pair of codes with every pair of shifts; MX9's pairs once."""
    width = fmt.width
    count = 1 << 2 * width
    sign = 1 << width - 1
    cases = []
    # MX9's places have different shifts at a pair of codes, four of them in eight places; the others go round four times.
    rounds = 1 if fmt is MX9 else SHIFT_PAIRS
    for beat in range(0, count * rounds, step):
        indices = [(beat + k * (count // places + 1)) % count for k in range(places)]
        pairs = [tuple(((index >> side * width) + sign) % (2 * sign) - sign for side in (0, 1)) for index in indices]
        chosen = [(beat // (1 if fmt is MX9 else count) + pair) % SHIFT_PAIRS for pair in range(MX_PAIRS)]
        shifts = tuple(sum((each >> side & 1) << pair for pair, each in enumerate(chosen)) for side in (0, 1))
        cases.append(mx_case(fmt, pairs, shifts))
    return cases


def seen(cases: list[LaneCase], places: int) -> set[tuple[int, ...]]:
    """Pairs of codes with their shifts."""
    return {
        (case.x.codes[k], case.y.codes[k], case.x.shift_of(k), case.y.shift_of(k))
        for case in cases
        for k in range(places)
    }


@BENCH.test(
    "post_add.pairs",
    "Exhaustive for each multiplier, so a fault shows at its position",
    fmt=[cocotb.Param(value=k, name=fmt.name) for k, fmt in enumerate((MX9, MX6, MX4))],
)
async def every_pair_of_codes(frame, fmt):
    """All 65,536 pairs of MX9 codes, 1,024 of MX6 and 64 of MX4 with all four pairs of shifts, at every position of a
    beat."""
    fmt = (MX9, MX6, MX4)[fmt]
    as_mx9 = mode_of(fmt, NUMERICS) is MacMode.MX9
    places = MX_BLOCK // 2 if as_mx9 else MX_BLOCK
    step = 8 if fmt is MX9 and CASES < 500 else 1
    cases = all_pairs(fmt, places, step)
    combinations = seen(cases, places)
    assert len({each[:2] for each in combinations}) == 1 << 2 * fmt.width
    assert step > 1 or len(combinations) == SHIFT_PAIRS << 2 * fmt.width
    sums = mx_sums(cases)
    coverage = frame.coverage(cross(SIGNS, SIGNS, (0, 1), (0, 1)))
    for x, y, *shifts in combinations:
        coverage.hit(sign(x), sign(y), *shifts)
    await exchange(frame, [(case.beats()[0], total) for case, total in zip(cases, sums, strict=True)], cases)


@BENCH.test(
    "post_add.shifts",
    "The exact sum uses all its bits",
    fmt=[cocotb.Param(value=k, name=fmt.name) for k, fmt in enumerate((MX9, MX6, MX4))],
)
async def shifts_and_extremes(frame, fmt):
    """Every shift byte of either operand; all codes most negative without shifts, which gives the largest sum."""
    fmt = (MX9, MX6, MX4)[fmt]
    rng = pauses.rng("shifts")
    places = MX_BLOCK // 2 if mode_of(fmt, NUMERICS) is MacMode.MX9 else MX_BLOCK
    ends = (fmt.min_code, fmt.max_code)
    cases = [mx_case(fmt, [(a, b)] * places, (0, 0)) for a in ends for b in ends]
    for mask in range(1 << MX_PAIRS):
        pairs = [(rng.randint(*ends), rng.randint(*ends)) for _ in range(places)]
        cases += [
            mx_case(fmt, pairs, (mask, mask * 181 + 77 & 0xFF)),
            mx_case(fmt, [(ends[0],) * 2] * places, (mask, 0)),
        ]
    sums = mx_sums(cases)
    # Products of the lowest codes are 4 at these exponents.
    largest = max(sums)
    assert largest == places * 4 << FRACTION_BITS
    coverage = frame.coverage((*SIGNS[1:], "largest"))
    for total in filter(None, sums):
        coverage.hit("largest" if total == largest else sign(total))
    await exchange(frame, [(case.beats()[0], total) for case, total in zip(cases, sums, strict=True)], cases)


@BENCH.test(
    "post_add.integers",
    "Integers share the multipliers with MX; a 16-bit product has four partial products",
    mode=[cocotb.Param(value=k, name=kind_name(mode)) for k, mode in enumerate(INTEGERS)],
)
async def integers(frame, mode):
    """Sums of signed and unsigned 8-bit and 16-bit products, random and at the ends of the ranges."""
    mode = list(INTEGERS)[mode]
    rng = pauses.rng("integers")
    beats, every = [], []
    for signed in ((False, False), (False, True), (True, False), (True, True)):
        cases = [integer_operands(rng, mode, signed) for _ in range(max(10, CASES // 2))]
        low = [-(1 << INTEGERS[mode].a_bits - 1) if each else (1 << INTEGERS[mode].a_bits) - 1 for each in signed]
        depth = INTEGERS[mode].depth
        cases.append(replace(cases[0], x=(low[0],) * depth, y=(low[1],) * depth))
        x, y = (np.array([getattr(case, side) for case in cases], np.int64) for side in "xy")
        sums = integer_dot(x, y, mode=INTEGERS[mode].name, signed_a=signed[0], signed_b=signed[1]).tolist()
        beats += [(case.beats()[0], total) for case, total in zip(cases, sums, strict=True)]
        every += cases
    coverage = frame.coverage(SIGNS[1:])
    for total in filter(None, (total for _, total in beats)):
        coverage.hit(sign(total))
    await exchange(frame, beats, every)


def finite_code(rng: Random, fmt: FloatFormat) -> int:
    """Any code but those of NaN and infinity."""
    return next(
        code for code in iter(lambda: rng.getrandbits(fmt.width), None) if decode(fmt, code).kind is Kind.FINITE
    )


def significand(fmt: FloatFormat, code: int) -> int:
    """Return the significand with ten fraction bits, the width of a multiplier."""
    return decode(fmt, code).significand << FP16.fraction_bits - fmt.fraction_bits


@BENCH.test(
    "post_add.floats",
    "Floats share the multipliers with MX and integers",
    mode=[cocotb.Param(value=k, name=kind_name(mode)) for k, mode in enumerate(FLOATS)],
)
async def products_of_floats(frame, mode):
    """Products of significands of every pair of formats, in their low 18 bits; all 0 if the control word's multiplies
    is 0."""
    mode = FLOATS[mode]
    rng = pauses.rng("floats")
    beats, every = [], []
    for formats in product(row_of(mode).formats, repeat=2):
        for _ in range(max(10, CASES // 4)):
            x, y = (tuple(finite_code(rng, fmt) for _ in range(row_of(mode).depth)) for fmt in formats)
            names = ("negate_products", "negate_acc1", "negate_acc2", "shift16")
            options = MacOptions(multiplies=rng.random() < 0.9, **{name: rng.random() < 0.5 for name in names})
            accumulators = {name: rng.choice((None, 0)) for name in ("acc1", "acc2")}
            case = LaneCase(mode=mode, x=x, y=y, formats=formats, options=options, **accumulators)
            terms = (significand(formats[0], a) * significand(formats[1], b) for a, b in zip(x, y, strict=True))
            total = sum(wrap(term, TERM_BITS) for term in terms) if options.multiplies else 0
            # Block exponents, shifts and the half are used by MX only.
            others = {"x_exponent": 8, "y_exponent": 8, "high": 1}
            (bits,) = case.beats()
            every.append(case)
            beats.append(
                (bits | sum(rng.getrandbits(width) << LANE[name].offset for name, width in others.items()), total)
            )
    coverage = frame.coverage(SIGNS)
    for _, total in beats:
        coverage.hit(sign(total))
    await exchange(frame, beats, every)
