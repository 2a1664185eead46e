"""Bench of UPS: all 8-bit and 16-bit numbers, corners, random vectors at any pace, sticky flag, latency, resets.

UPS rounds nothing: the boundaries of its results are the limits of saturation, and corners stand at and beside each. A corner
counts as hit only where golden gives the result that is stated.

``BITPATH_CASES`` sets the random vectors of a test, and the vectors of every combination of the sweep over 16-bit numbers,
which are all 65,536 where they fit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Any, ClassVar

import cocotb
import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import UPS_MODES, UPS_SHIFTS, Saturation
from bitpath.golden.aie_ml_v2.mac.flags import with_lane_flags
from bitpath.rtl.aie_ml_v2.convert.layouts import UpsControl
from bitpath.rtl.aie_ml_v2.convert.srs import IntegerLanesConfig
from bitpath.rtl.aie_ml_v2.convert.ups import Ups, ups_request, ups_result
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
from bitpath.verif.kit.values import Integer

MODES = [(acc, vector) for acc, vectors in UPS_MODES.items() for vector in vectors]
SHIFTS = {32: (16, 17), 64: (49,)}
"""Shifts of 16-bit numbers around the one at which the largest overflow, for both lane widths."""
SIGNS = {"signed": True, "unsigned": False}


@dataclass(frozen=True)
class UpsAsk(IntegerAsk):
    """Control of a request, in golden's terms."""

    acc_bits: int
    vector_bits: int
    shift: int = 0
    saturation: Saturation = Saturation.NONE
    signed: bool = True

    takes: ClassVar = "vector"
    gives: ClassVar = "acc"

    @property
    def bin(self) -> str:
        return f"{self.vector_bits} to {self.acc_bits}/{self.saturation.name}/{sign_name(self.signed)}"

    @property
    def control(self) -> int:
        return pack(
            UpsControl,
            {
                "acc64": int(self.acc_bits == 64),
                "wide": UPS_MODES[self.acc_bits].index(self.vector_bits),
                "shift": self.shift,
                "saturation": self.saturation.value,
                "is_signed": int(self.signed),
            },
        )

    @property
    def result_format(self) -> Integer:
        return Integer(self.acc_bits, signed=True)

    def layouts(self, lanes: int) -> tuple[Any, Any]:
        return ups_request(lanes), ups_result(lanes)

    def golden(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        options = {"acc_bits": self.acc_bits, "saturate": self.saturation, "signed": self.signed}
        results, flags = with_lane_flags(aie.ups, numbers, self.shift, **options)
        return results, flags["overflow"]


KINDS = [
    UpsAsk(*mode, saturation=saturation, signed=signed)
    for mode, saturation, signed in product(MODES, Saturation, (False, True))
]
"""All combinations of control fields other than the shift."""


def draw(kinds: Sequence[UpsAsk], rng: Random) -> list[Request]:
    """Return a request of each kind: any shift, and numbers of any size; some just fit or just overflow."""
    made = []
    for kind in kinds:
        shift = rng.choice((rng.choice(UPS_SHIFTS), kind.acc_bits - rng.randint(1, kind.vector_bits)))
        ask = replace(kind, shift=shift)
        made += ask.requests([_number(ask, rng) for _ in range(ask.count(BENCH.config.lanes))], BENCH.config.lanes, rng)
    return made


def _number(ask: UpsAsk, source: Random) -> int:
    top = 1 << ask.vector_bits - ask.signed
    room = max(0, min(ask.acc_bits - 1 - ask.shift, ask.vector_bits - ask.signed))
    near = (1 << room) + source.choice((-1, 0, 1))
    value = source.choice((source.getrandbits(ask.vector_bits) % top, source.getrandbits(room), near, top - 1))
    value = -value if ask.signed and source.getrandbits(1) else value
    return value if (-top if ask.signed else 0) <= value < top else 0


# Corners: a number with its stated accumulator.


def corners() -> list[Corner]:
    return [each for maker in (_limits, _signs, _beyond) for mode in MODES for each in maker(*mode)]


def _limits(acc_bits: int, vector: int) -> Iterator[Corner]:
    """The largest and smallest numbers that fit after a shift, and one beyond each, in every saturation mode."""
    top = 1 << acc_bits - 1
    for shift in sorted({acc_bits - vector + 1, acc_bits - 4, acc_bits - 2, acc_bits - 1}):
        fits = top >> shift  # multiples of 2**shift up to the magnitude of the lowest accumulator
        step = 1 << shift
        rows = [
            # Number, results of NONE, SATURATE and SYMMETRIC.
            (fits - 1, top - step, top - step, top - step),
            (fits, -top, top - step, top - step),
            (1 - fits, step - top, step - top, step - top),
            (-fits, -top, -top, step - top),
        ]
        if -fits - 1 >= -(1 << vector - 1):
            rows.append((-fits - 1, top - step, -top, step - top))
        for x, *results in rows:
            if x >= 1 << vector - 1:
                continue
            for saturation, result in zip(Saturation, results, strict=True):
                ask = UpsAsk(acc_bits, vector, shift, saturation)
                overflow = result != x << shift
                yield Corner(f"{vector} to {acc_bits}/{x} by {shift}/{saturation.name}", ask, x, result, overflow)


def _signs(acc_bits: int, vector: int) -> Iterator[Corner]:
    """The top bit is a sign, or not."""
    ones = (1 << vector) - 1
    for shift in (0, 3):
        unsigned = UpsAsk(acc_bits, vector, shift, signed=False)
        where = f"{vector} to {acc_bits}/by {shift}"
        fits = vector + shift < acc_bits
        if fits:
            yield Corner(f"{where}/all ones unsigned", unsigned, ones, ones << shift, False)
        yield Corner(f"{where}/all ones signed", UpsAsk(acc_bits, vector, shift), -1, -(1 << shift), False)


def _beyond(acc_bits: int, vector: int) -> Iterator[Corner]:
    """Nothing is left in 32-bit lanes from a shift of 32 on, whatever the saturation."""
    if acc_bits == max(UPS_MODES):
        return
    for shift in (acc_bits, acc_bits + 1, UPS_SHIFTS.stop - 1):
        for saturation in Saturation:
            ask = UpsAsk(acc_bits, vector, shift, saturation)
            for x in (-(1 << vector - 1), -1, 0, 1, (1 << vector - 1) - 1):
                yield Corner(f"{vector} to {acc_bits}/{x} by {shift}/{saturation.name}", ask, x, 0, x != 0)


BENCH = StreamBench(
    __name__,
    IntegerLanesConfig,
    Ups,
    KINDS,
    draw,
    lambda kind: (kind.bin,),
    Ups.LATENCY,
    default_cases=500,
    draws="vectors",
)
random_vectors, latency, resets = BENCH.tests("random_vectors")
covers(
    "ups.stream",
    "Each request carries its own control",
    "Every combination of widths, saturation and sign with any shift, in any order, full speed, gaps, stalls and both; latency; resets",
    random_vectors,
    latency,
    resets,
)
covers("ups.signs", random_vectors)


@covers("ups.numbers", "Each number overflows at a shift of its own")
@covers("ups.beyond")
@BENCH.sweep(saturation=[code.name for code in Saturation], sign=list(SIGNS))
def every_8_bit_number(saturation: str, sign: str) -> Made:
    """All 8-bit numbers with all 64 shifts, all 16-bit numbers with shifts around the largest that fits, every
    saturation mode, signed and unsigned."""
    return _every_number(UpsAsk(32, 8, shift, Saturation[saturation], SIGNS[sign]) for shift in UPS_SHIFTS)


@covers("ups.numbers")
@BENCH.sweep(acc_bits=list(SHIFTS), saturation=[code.name for code in Saturation], sign=list(SIGNS))
def every_16_bit_number(acc_bits: int, saturation: str, sign: str) -> Made:
    """Every 16-bit number with shifts around the largest that fits."""
    return _every_number(UpsAsk(acc_bits, 16, shift, Saturation[saturation], SIGNS[sign]) for shift in SHIFTS[acc_bits])


def _every_number(asks: Iterator[UpsAsk]) -> list[Request]:
    rng, lanes = pauses.rng("numbers"), BENCH.config.lanes
    made: list[Request] = []
    for ask in asks:
        numbers = numbers_of(ask.vector_bits, BENCH.cases * ask.count(lanes), rng)
        made += ask.requests(numbers if ask.signed else numbers % (1 << ask.vector_bits), lanes, rng)
    return made


@covers("ups.limits")
@BENCH.sweep(saturation=[code.name for code in Saturation], sign=list(SIGNS))
def single_bits_by_every_shift(saturation: str, sign: str) -> Made:
    """Numbers with a single bit, and with all bits but one, in a lane among zeros; each overflows at some shift."""
    rng, lanes = pauses.rng("numbers"), BENCH.config.lanes
    made: list[Request] = []
    for mode, shift in product(MODES, UPS_SHIFTS):
        ask = UpsAsk(*mode, shift, Saturation[saturation], SIGNS[sign])
        numbers = single_bits(ask.vector_bits)
        numbers = numbers if ask.signed else numbers % (1 << ask.vector_bits)
        made += ask.requests(ask.one_a_row(numbers, lanes), lanes, rng)
    return rng.sample(made, min(len(made), 8 * BENCH.cases))


@covers(
    "ups.limits",
    "A saturated lane is a multiple of 2**shift, and the symmetric range has one multiple less",
    "The largest and smallest numbers that fit after a shift and one beyond, all widths, three saturations",
)
@covers(
    "ups.signs",
    "Narrow lanes share one register, so neighbours must not leak into each other",
    "All ones as -1 and as the largest unsigned number; random bits above the vector",
)
@covers(
    "ups.beyond",
    "UG1639 requires it, and a shifter that wraps its amount fails it",
    "Shifts of 32, 33 and 63 into 32-bit lanes give 0 in every saturation mode",
)
@BENCH.sweep()
def directed_corners() -> Made:
    """Directed corners, each in another lane among zeros."""
    table, rng = corners(), pauses.rng("junk")
    made = [one for index, each in enumerate(table) for one in each.requests(index, BENCH.config.lanes, rng)]
    return made, Coverage([each.bin for each in table], (each.bin for each in table if each.holds))


@covers("ups.flag", "A stalled result must not set the flag twice, and a clear must not lose an overflow")
@cocotb.test(**LIMIT)
async def sticky_flag(dut):
    """srUPS_of is set once a result with overflow is taken, not while it stalls; it stays set until cleared; a result
    taken in the cycle of the clear sets it."""
    lanes, rng = BENCH.config.lanes, pauses.rng("junk")
    quiet, loud = (UpsAsk(32, 16, 24).requests([0, number], lanes, rng)[0] for number in (127, 128))
    async with bench(dut, BENCH.unit.signature, drain=False) as frame:
        await check_sticky_flag(frame, quiet, loud, BENCH.latency)
