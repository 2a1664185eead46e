"""Bench of SRS: every 16-bit number, corners, boundaries of the results, random registers at every pace, flag, latency, resets.

A corner and a boundary count as hit only where golden gives the result that is stated. ``BITPATH_CASES`` sets the random
registers of a test, and the registers of every combination of the sweep over 16-bit numbers, which are all 65,536 where they
fit; ``BITPATH_SHIFTS`` the sweep's shifts.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from random import Random
from typing import Any, ClassVar

import cocotb
import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import SRS_MODES, SRS_SHIFTS, RoundingCode, Saturation
from bitpath.golden.aie_ml_v2.mac.flags import with_lane_flags
from bitpath.golden.scalar.rounding import round_to_integer
from bitpath.rtl.aie_ml_v2.convert.layouts import SrsControl
from bitpath.rtl.aie_ml_v2.convert.srs import IntegerLanesConfig, Srs, srs_request, srs_result
from bitpath.verif.aie_ml_v2.convert.integer_lanes import (
    Corner,
    IntegerAsk,
    check_sticky_flag,
    numbers_of,
    sign_name,
    single_bits,
)
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import LIMIT, Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.values import SIDES, Integer, Near, integer_boundaries, near

MODES = [(acc, out) for acc, outs in SRS_MODES.items() for out in outs]
PLUS_MINUS = ((1, "+"), (-1, "-"))
SHIFTS = [int(shift) for shift in os.environ.get("BITPATH_SHIFTS", "4 9").split()]


@dataclass(frozen=True)
class SrsAsk(IntegerAsk):
    """Control of a request, in golden's terms."""

    acc_bits: int
    vector_bits: int
    shift: int = 0
    rounding: RoundingCode = RoundingCode.FLOOR
    saturation: Saturation = Saturation.NONE
    signed: bool = True

    takes: ClassVar = "acc"
    gives: ClassVar = "vector"

    @property
    def bin(self) -> str:
        sign = sign_name(self.signed)
        return f"{self.acc_bits} to {self.vector_bits}/{self.rounding.name}/{self.saturation.name}/{sign}"

    @property
    def control(self) -> int:
        return pack(
            SrsControl,
            {
                "acc64": int(self.acc_bits == 64),
                "wide": SRS_MODES[self.acc_bits].index(self.vector_bits),
                "shift": self.shift,
                "rounding": self.rounding.value,
                "saturation": self.saturation.value,
                "is_signed": int(self.signed),
            },
        )

    @property
    def result_format(self) -> Integer:
        return Integer(self.vector_bits, signed=self.signed)

    def layouts(self, lanes: int) -> tuple[Any, Any]:
        return srs_request(lanes), srs_result(lanes)

    def golden(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        widths = {"acc_bits": self.acc_bits, "out_bits": self.vector_bits, "signed": self.signed}
        results, flags = with_lane_flags(
            aie.srs, numbers, self.shift, rounding=self.rounding, saturate=self.saturation, **widths
        )
        return results, flags["overflow"]


KINDS = [
    SrsAsk(*mode, rounding=code, saturation=saturation, signed=signed)
    for mode, code, saturation, signed in product(MODES, RoundingCode, Saturation, (False, True))
]
"""All combinations of control fields other than the shift."""


def draw(kinds: Sequence[SrsAsk], rng: Random) -> list[Request]:
    """Return a request of each kind: any shift; accumulators of any size, near the limits of the result, and ties."""
    made = []
    for kind in kinds:
        ask = replace(kind, shift=rng.choice((rng.choice(SRS_SHIFTS), rng.randint(0, kind.vector_bits))))
        made += requests(ask, np.array([_accumulator(ask, rng) for _ in range(ask.count(BENCH.config.lanes))]))
    return made


def _accumulator(ask: SrsAsk, source: Random) -> int:
    top = 1 << ask.acc_bits - 1
    near = 1 << ask.vector_bits + source.randint(-1, 0)
    scale = 2**ask.shift if ask.shift >= 0 else 1
    kind = source.randrange(5)
    value = [
        source.getrandbits(ask.acc_bits) - top,
        source.getrandbits(source.randint(1, ask.acc_bits)) // 2,
        source.choice((-top, top - 1, 0, -1)),
        near * scale + source.choice((-scale, -scale // 2, -1, 0, 1, scale // 2)),
        source.getrandbits(ask.vector_bits) * scale + scale // 2 + source.choice((-1, 0, 0, 1)),
    ][kind]
    value = source.choice((value, -value))
    return value if -top <= value < top else source.getrandbits(ask.acc_bits) - top


# Corners: an accumulator with its stated result.


def corners() -> list[Corner]:
    return [each for maker in (_at_limits, _carries, _ties, _left, _far) for mode in MODES for each in maker(*mode)]


def _at_limits(acc_bits: int, out_bits: int) -> Iterator[Corner]:
    """The largest and smallest results, and one beyond each, in every saturation mode."""
    top, whole = 1 << out_bits - 1, 1 << out_bits
    rows = [
        # Accumulator, signed, result of NONE, SATURATE and SYMMETRIC.
        (top - 1, True, top - 1, top - 1, top - 1),
        (top, True, -top, top - 1, top - 1),
        (1 - top, True, 1 - top, 1 - top, 1 - top),
        (-top, True, -top, -top, 1 - top),
        (-top - 1, True, top - 1, -top, 1 - top),
        (whole - 1, False, whole - 1, whole - 1, whole - 1),
        (whole, False, 0, whole - 1, whole - 1),
        (-1, False, whole - 1, 0, 0),
        (0, False, 0, 0, 0),
    ]
    for acc, signed, *results in rows:
        for saturation, result in zip(Saturation, results, strict=True):
            ask = SrsAsk(acc_bits, out_bits, 0, saturation=saturation, signed=signed)
            name = f"{acc_bits} to {out_bits}/{acc}/{saturation.name}/{'signed' if signed else 'unsigned'}"
            yield Corner(name, ask, acc, result, result != acc)


def _carries(acc_bits: int, out_bits: int) -> Iterator[Corner]:
    """Numbers that exceed a limit only after rounding, and must saturate."""
    top = 1 << out_bits - 1
    for saturation, results in (
        (Saturation.NONE, (-top, top - 1)),
        (Saturation.SATURATE, (top - 1, -top)),
        (Saturation.SYMMETRIC, (top - 1, 1 - top)),
    ):
        for acc, result, rounding in (
            (2 * top - 1, results[0], RoundingCode.POSITIVE_INF),
            (-2 * top - 1, results[1], RoundingCode.NEGATIVE_INF),
        ):
            ask = SrsAsk(acc_bits, out_bits, 1, rounding, saturation)
            yield Corner(f"{acc_bits} to {out_bits}/carry of {acc}/{saturation.name}", ask, acc, result, True)


ROUNDED = {
    # 2.25, 2.5, 2.75, 3.5 and their negatives.
    RoundingCode.FLOOR: (2, 2, 2, 3, -3, -3, -3, -4),
    RoundingCode.CEIL: (3, 3, 3, 4, -2, -2, -2, -3),
    RoundingCode.SYMMETRIC_FLOOR: (2, 2, 2, 3, -2, -2, -2, -3),
    RoundingCode.SYMMETRIC_CEIL: (3, 3, 3, 4, -3, -3, -3, -4),
    RoundingCode.NEGATIVE_INF: (2, 2, 3, 3, -2, -3, -3, -4),
    RoundingCode.POSITIVE_INF: (2, 3, 3, 4, -2, -2, -3, -3),
    RoundingCode.SYMMETRIC_ZERO: (2, 2, 3, 3, -2, -2, -3, -3),
    RoundingCode.SYMMETRIC_INF: (2, 3, 3, 4, -2, -3, -3, -4),
    RoundingCode.CONV_EVEN: (2, 2, 3, 4, -2, -2, -3, -4),
    RoundingCode.CONV_ODD: (2, 3, 3, 3, -2, -3, -3, -3),
}
QUARTERS = (9, 10, 11, 14, -9, -10, -11, -14)


def _ties(acc_bits: int, out_bits: int) -> Iterator[Corner]:
    """Every rounding code below, at and above the midpoint, at a small shift and at the largest possible one."""
    for shift in (2, acc_bits - 5):
        for rounding, results in ROUNDED.items():
            for quarters, result in zip(QUARTERS, results, strict=True):
                ask = SrsAsk(acc_bits, out_bits, shift, rounding, Saturation.SATURATE)
                name = f"{acc_bits} to {out_bits}/{quarters}/4 by {shift}/{rounding.name}"
                yield Corner(name, ask, quarters << shift - 2, result, False)


def _left(acc_bits: int, out_bits: int) -> Iterator[Corner]:
    """Left shifts to a limit and past it."""
    top = 1 << out_bits - 1
    for shift in range(SRS_SHIFTS.start, 0):
        for sign, name in PLUS_MINUS:
            fits = (top >> -shift) - 1
            ask = SrsAsk(acc_bits, out_bits, shift, RoundingCode.CEIL, Saturation.SATURATE)
            where = f"{acc_bits} to {out_bits}/left {-shift}/{name}"
            yield Corner(f"{where}/fits", ask, sign * fits, sign * fits << -shift, False)
            limit = top - 1 if sign > 0 else -top
            yield Corner(f"{where}/does not", ask, sign * (fits + 2), limit, True)
            extreme = -(1 << acc_bits - 1) if sign < 0 else (1 << acc_bits - 1) - 1
            yield Corner(f"{where}/extreme", ask, extreme, limit, True)
            drops = SrsAsk(acc_bits, out_bits, shift, RoundingCode.CEIL, Saturation.NONE)
            low = extreme << -shift & (1 << out_bits) - 1
            yield Corner(f"{where}/drops", drops, extreme, low - (low >> out_bits - 1 << out_bits), True)


def _far(acc_bits: int, out_bits: int) -> Iterator[Corner]:
    """The largest shift, and the smallest that discards all bits: sign and midpoint still decide the rounding."""
    lowest = -(1 << acc_bits - 1)
    for shift in sorted({acc_bits - 1, min(acc_bits, SRS_SHIFTS.stop - 1), SRS_SHIFTS.stop - 1}):
        whole = -1 if shift < acc_bits else 0  # the lowest number gives -1, or at most half of it
        for rounding, small in (
            (RoundingCode.FLOOR, -1),
            (RoundingCode.SYMMETRIC_FLOOR, 0),
            (RoundingCode.CONV_EVEN, 0),
        ):
            ask = SrsAsk(acc_bits, out_bits, shift, rounding, Saturation.SATURATE)
            where = f"{acc_bits} to {out_bits}/right {shift}/{rounding.name}"
            yield Corner(f"{where}/-1", ask, -1, small, False)
            yield Corner(f"{where}/lowest", ask, lowest, min(whole, small), False)
        ask = SrsAsk(acc_bits, out_bits, shift, RoundingCode.CEIL, Saturation.SATURATE)
        yield Corner(f"{acc_bits} to {out_bits}/right {shift}/CEIL/1", ask, 1, 1, False)


# Boundaries: accumulators at and beside zero, both limits, an even and an odd result. Each shift puts bit 0 of an accumulator at
# another distance below a boundary, so that sticky bits stand at all distances.

DECISIVE = tuple(tuple(each for each in RoundingCode if each.mode.to_nearest is nearest) for nearest in (False, True))
"""Directed rounding codes, which results decide; those to nearest, which ties decide."""


def _kind(ask: SrsAsk) -> str:
    return f"{ask.acc_bits} to {ask.vector_bits}/{'signed' if ask.signed else 'unsigned'}"


def _limits(ask: SrsAsk) -> tuple[int, int]:
    top = 1 << ask.vector_bits - ask.signed
    return -top if ask.signed else 0, top - 1


@dataclass(frozen=True)
class SrsBeside:
    """Values of one control at and beside the boundaries of its results."""

    ask: SrsAsk
    values: tuple[Near, ...]

    @property
    def accs(self) -> np.ndarray:
        """Return the accumulators, which are the values times ``2**shift``."""
        return np.array([int(each.value * 2**self.ask.shift) for each in self.values], np.int64)

    @property
    def hits(self) -> Iterator[str]:
        """Yield the bins of the values for which golden gives the exact result and overflow bit."""
        results, overflow = self.ask.golden(self.accs)
        for each, *got in zip(self.values, results.tolist(), overflow.tolist(), strict=True):
            if tuple(got) == exact_result(self.ask, each):
                yield f"{_kind(self.ask)}/{each.bin}"


def exact_result(ask: SrsAsk, each: Near) -> tuple[int, bool]:
    """Return the rounded and saturated value, and True if it overflows."""
    rounded, (low, high) = round_to_integer(each.value, ask.rounding.mode), _limits(ask)
    lowest = -high if ask.signed and ask.saturation is Saturation.SYMMETRIC else low
    fitting = min(max(rounded, lowest), high)
    wrapped = (rounded - low) % (high - low + 1) + low
    return wrapped if ask.saturation is Saturation.NONE else fitting, fitting != rounded


def srs_boundaries(rng: Random) -> Iterator[SrsBeside]:
    """Yield for each width, sign and shift the values in a rounding code of either kind, and any saturation.

    One sticky bit is bit 0 of the accumulator, another stands anywhere above it.
    """
    for (acc_bits, vector_bits), signed, shift in product(MODES, (False, True), range(1, SRS_SHIFTS.stop)):
        for codes in DECISIVE:
            ask = SrsAsk(acc_bits, vector_bits, shift, rng.choice(codes), rng.choice(list(Saturation)), signed)
            distances = {shift, rng.randint(2, shift)} if shift > 1 else ()
            found = near(partial(integer_boundaries, *_limits(ask)), rng, distances, ask.rounding.mode)
            most = 1 << acc_bits - 1
            yield SrsBeside(ask, tuple(each for each in found if -most <= each.value * 2**shift < most))


def boundary_bins() -> list[str]:
    boundaries = integer_boundaries(-128, 127, Random(0))
    asks = (SrsAsk(*mode, signed=signed) for mode, signed in product(MODES, (False, True)))
    return [
        f"{_kind(ask)}/{Near(*each, 2).bin}" for ask, each in product(asks, list(product(boundaries, (0, 1), SIDES)))
    ]


BENCH = StreamBench(
    __name__,
    IntegerLanesConfig,
    Srs,
    KINDS,
    draw,
    lambda kind: (kind.bin,),
    Srs.LATENCY,
    default_cases=500,
    draws="registers",
    shared=True,
)
random_registers, latency, resets = BENCH.tests("random_registers")
covers(
    "srs.stream",
    "Each request carries its own control",
    "Every combination of widths, codes and sign with any shift, in any order, full speed, gaps, stalls and both; latency; resets",
    random_registers,
    latency,
    resets,
)
covers("srs.shifts", random_registers)


def requests(ask: SrsAsk, accs: Sequence[int] | np.ndarray) -> list[Request]:
    return ask.requests(accs, BENCH.config.lanes, pauses.rng("junk"))


@covers("srs.numbers", "Rounding and saturation interact at few of them")
@BENCH.sweep(rounding=[code.name for code in RoundingCode])
def every_16_bit_number(rounding: str) -> Made:
    """All 65,536 16-bit numbers to 8 bits in ten rounding codes and every saturation at two shifts; at all shifts from
    -4 to 17 in the deep tests."""
    rng, most = pauses.rng("numbers"), BENCH.cases * BENCH.config.lanes
    asks = (SrsAsk(32, 8, shift, RoundingCode[rounding], each) for shift, each in product(SHIFTS, Saturation))
    return [each for ask in asks for each in requests(ask, numbers_of(16, most, rng))]


@covers("srs.limits")
@BENCH.sweep()
def single_bits_outside() -> Made:
    """Numbers with a single bit, and with all bits but one, in a lane among zeros; each exceeds some result range."""
    made: list[Request] = []
    for mode, shift, saturation, signed in product(MODES, (0, SRS_SHIFTS.start), Saturation, (False, True)):
        ask = SrsAsk(*mode, shift, saturation=saturation, signed=signed)
        made += requests(ask, ask.one_a_row(single_bits(ask.acc_bits), BENCH.config.lanes))
    return pauses.rng("numbers").sample(made, min(len(made), 8 * BENCH.cases))


@covers(
    "srs.limits",
    "Saturation follows rounding, and the symmetric range has one number less",
    "The largest and smallest results and one beyond, all widths, signed and unsigned, three saturation modes; "
    "numbers that exceed a limit only after rounding",
)
@covers(
    "srs.rounding",
    "Golden and RTL could share a wrong table",
    "Multiples of a quarter, both signs, ten rounding codes, with the expected result stated, at a small shift "
    "and near the lane's width",
)
@covers(
    "srs.shifts",
    "64-bit lanes need 68 bits internally, and shifts exceed the width of 32-bit lanes",
    "Left shifts (-4 to -1) to a limit, past it, and with the high bits discarded; shifts by the lane's width and "
    "by 63, which leave sign and rounding",
)
@BENCH.sweep()
def directed_corners() -> Made:
    """Directed corners, each in another lane among zeros."""
    table, rng = corners(), pauses.rng("junk")
    made = [one for index, each in enumerate(table) for one in each.requests(index, BENCH.config.lanes, rng)]
    return made, Coverage([each.bin for each in table], (each.bin for each in table if each.holds))


@covers("srs.boundaries", "Random accumulators rarely have one sticky bit far below a limit")
@BENCH.sweep()
def range_boundaries() -> Made:
    """Results and ties at zero, both limits, an even and an odd result, and beside them a sticky bit at every distance
    that an accumulator has, all widths, signed and unsigned; both kinds of rounding codes."""
    table = list(srs_boundaries(pauses.rng("boundaries")))
    made = [each for beside in table for each in requests(beside.ask, beside.accs)]
    return made, Coverage(boundary_bins(), chain(*(beside.hits for beside in table)))


@covers("srs.flag", "A stalled result must not set the flag twice, and a clear must not lose an overflow")
@cocotb.test(**LIMIT)
async def sticky_flag(dut):
    """srSRS_of is set once a result with overflow is taken, not while it stalls; it stays set until cleared; a result
    taken in the cycle of the clear sets it."""
    quiet, loud = (requests(SrsAsk(32, 8), [0, number])[0] for number in (127, 128))
    async with bench(dut, BENCH.unit.signature, drain=False) as frame:
        await check_sticky_flag(frame, quiet, loud, BENCH.latency)
