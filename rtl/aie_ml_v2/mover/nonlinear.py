"""Nonlinear unit: exp2 of FP32 lanes to BF16, FP16 or FP32, and tanh to BF16.

Latency: 1 cycle. Throughput: one accumulator register a cycle.

Ref: AM027 for the formats; UG1639 and llvm-aie for exp2's argument.
"""

from bisect import bisect_right
from collections.abc import Iterator
from math import isqrt
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import EXP2_FRACTION_BITS
from bitpath.golden.aie_ml_v2.declarations.mover import BF20
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.rtl.aie_ml_v2.mover.layouts import Function, NonlinearConfig, nonlinear_request
from bitpath.rtl.common.pipeline.pipeline_registers import Registered
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

# Tables of exp2 and tanh, computed in integers at elaboration.


BITS = 128
"""Fraction bits of the computation. No number here is within the last 64 of where its table entry changes."""
EXP2_BITS = BF20.fraction_bits + 1
"""Fraction bits of an entry of exp2: those of the longest result, and its guard bit."""
ONE = BF16.bias << BF16.fraction_bits
"""BF16's code of 1, tanh's largest result."""
TANH_FIRST = -12
"""From ``2**TANH_FIRST`` on tanh needs a table: below, x is less than an FP32 unit above it."""
TANH_STOP = 2
"""From ``2**TANH_STOP`` on tanh is 1."""
SEGMENT_BITS = 15
"""Low bits of an FP32 code that stay within a segment: 256 segments a binade, with no more than one breakpoint each."""
FIRST_SEGMENT = TANH_FIRST + FP32.bias << FP32.fraction_bits - SEGMENT_BITS
SEGMENTS = (TANH_STOP - TANH_FIRST) << FP32.fraction_bits - SEGMENT_BITS
FIRST_RESULT = TANH_FIRST + BF16.bias << BF16.fraction_bits
"""Result of the first segment's first code."""


def exp2_table() -> list[int]:
    """Return the fractions of ``2**(i / 2048)`` for every i, cut to EXP2_BITS bits. All but the first are irrational,
    so no tie exists: the highest dropped bit alone decides rounding to nearest."""
    root = 2 << BITS
    for _ in range(EXP2_FRACTION_BITS):
        root = isqrt(root << BITS)
    power, table = 1 << BITS, []
    for _ in range(1 << EXP2_FRACTION_BITS):
        table.append((power >> BITS - EXP2_BITS) - (1 << EXP2_BITS))
        power = power * root >> BITS
    return table


def tanh_breakpoints() -> Iterator[int]:
    """Yield for each result behind FIRST_RESULT the least FP32 code that gives it: the artanh of the number half-way
    from the result before, rounded up, since no FP32 number has such a tanh."""
    for result in range(FIRST_RESULT, ONE):
        halfway = 2 * ((result & BF16.fraction_mask) + (1 << BF16.fraction_bits)) + 1
        least = artanh(halfway, 1 << BF16.fraction_bits + 1 - ((result >> BF16.fraction_bits) - BF16.bias))
        exponent = least.bit_length() - 1 - BITS
        significand = -(-least >> BITS + exponent - FP32.fraction_bits)
        yield (exponent + FP32.bias - 1 << FP32.fraction_bits) + significand


def tanh_table() -> list[tuple[int, int]]:
    """Return for each segment its first code's result less FIRST_RESULT, and the first place in it with the next
    result, or ``2**SEGMENT_BITS``."""
    breakpoints, size = list(tanh_breakpoints()), 1 << SEGMENT_BITS
    table = []
    for start in range(FIRST_SEGMENT << SEGMENT_BITS, FIRST_SEGMENT + SEGMENTS << SEGMENT_BITS, size):
        passed = bisect_right(breakpoints, start)
        following = breakpoints[passed] - start if passed < len(breakpoints) else size
        table.append((passed, min(following, size)))
    return table


def artanh(numerator: int, denominator: int) -> int:
    """Return artanh(n / d) in units of ``2**-BITS``, less a few: half the logarithm of ``(d + n) / (d - n)``. With
    ``2**k * s`` for this ratio it is ``k * artanh(1 / 3) + artanh((s - 1) / (s + 1))``, s from 1 to 2."""
    above, below = denominator + numerator, denominator - numerator
    k = (above // below).bit_length() - 1
    below <<= k
    return k * _series(1, 3) + _series(above - below, above + below)


def _series(numerator: int, denominator: int) -> int:
    """Return artanh(x) as the sum of ``x**n / n`` over odd n."""
    power, total, odd = (numerator << BITS) // denominator, 0, 1
    while power:
        total += power // odd
        power, odd = power * numerator**2 // denominator**2, odd + 2
    return total


# Lane of exp2: ``2**(t - 895)`` of an FP32 number t, whose integer bits hold the result's exponent field::
#
#     t from 768 to 1024    1.1 | n, 8 bits | index, 11 bits | 3 bits dropped
#
# The result is ``2**(n - 127) * T[index]``, rounded to nearest.
#
# Ref: UG1639 and llvm-aie for the argument; `bitpath.golden.aie_ml_v2.declarations.choices.CHOICES` for the rest.


FORMATS = {Function.EXP2_BF16: BF16, Function.EXP2_FP16: FP16, Function.EXP2_FP32: BF20}
BINADE = FP32.bias + 9
"""Exponent field of t from 512 to 1024."""


class Exp2Lane(wiring.Component):
    """Combinational exp2: +0 below the normal numbers, the largest finite number above.

    Members
    -------
    i : In(32), FP32
    op : In(Function), one of exp2's; TANH gives 0
    o : Out(31), a code of the function's format without its sign; bits above it are 0
    """

    clocked = False
    apart = True
    i: In(FP32.width)
    op: In(Function)
    o: Out(FP32.width - 1)

    def elaborate(self, platform):
        m = Module()
        fraction, exponent, sign = self.i[: FP32.fraction_bits], self.i[FP32.fraction_bits : -1], self.i[-1]
        dropped = FP32.fraction_bits - 1 - FP32.exponent_bits - EXP2_FRACTION_BITS
        index, field = fraction[dropped:][:EXP2_FRACTION_BITS], fraction[dropped + EXP2_FRACTION_BITS : -1]
        inside, above, nan = Signal(), Signal(), Signal()
        m.d.comb += [
            inside.eq(~sign & (exponent == BINADE) & fraction[-1]),
            above.eq(~sign & (exponent > BINADE)),
            nan.eq((exponent == FP32.exponent_mask) & fraction.any()),
        ]
        m.submodules.table = table = memory.Memory(shape=EXP2_BITS, depth=1 << EXP2_FRACTION_BITS, init=exp2_table())
        read = table.read_port(domain="comb")
        entry = read.data

        biased = Signal(signed(len(field) + 1))
        half = Signal(range(1 << EXP2_BITS - BF16.fraction_bits + 1))  # half a unit in the last place, or 0
        rounded = Signal(signed(len(biased) + 1 + EXP2_BITS))
        m.d.comb += [read.addr.eq(index), rounded.eq(Cat(entry, biased).as_signed() + half)]
        codes = {}
        for function, fmt in FORMATS.items():
            codes[function] = code = Signal(fmt.width - 1, name=f"code_{fmt.name}")
            with m.If(nan):
                m.d.comb += code.eq(fmt.nan_code)
            with m.Elif(above | (inside & (rounded >> EXP2_BITS >= fmt.exponent_mask))):
                m.d.comb += code.eq(fmt.max_code)
            with m.Elif(inside & (biased > 0)):
                m.d.comb += code.eq(rounded >> EXP2_BITS - fmt.fraction_bits)
        with m.Switch(self.op):
            for function, fmt in FORMATS.items():
                cut = EXP2_BITS - fmt.fraction_bits
                with m.Case(function):
                    m.d.comb += [
                        biased.eq(field - (BF16.bias - fmt.bias)),
                        half.eq(entry[cut - 1] << cut),
                        self.o.eq(codes[function] << (FP32.width - fmt.width if fmt is BF20 else 0)),
                    ]
        return m


# Lane of tanh: the BF16 number nearest to the hyperbolic tangent, from a table of where results change.
#
#     |x| < 2**-12             |x| to nearest, ties down, since the tangent is less than |x|
#     2**-12 <= |x| < 4        a segment's first result, and one more from its breakpoint on
#     4 <= |x|                 1
#
# Ref: `bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`; no public document describes the machine's approximation.


class TanhLane(wiring.Component):
    """Combinational tanh that is correctly rounded.

    Members
    -------
    i : In(32), FP32
    o : Out(16), BF16
    """

    clocked = False
    apart = True
    i: In(FP32.width)
    o: Out(BF16.width)

    def elaborate(self, platform):
        m = Module()
        magnitude = self.i[:-1]
        place, number = magnitude[:SEGMENT_BITS], magnitude[SEGMENT_BITS:]
        segment = data.StructLayout(
            {"result": range(ONE - FIRST_RESULT + 1), "following": range((1 << SEGMENT_BITS) + 1)}
        )
        m.submodules.table = table = memory.Memory(
            shape=segment,
            depth=SEGMENTS,
            init=[{"result": result, "following": following} for result, following in tanh_table()],
        )
        read = table.read_port(domain="comb")
        low_bits = FP32.width - BF16.width
        rest, shorter = magnitude[:low_bits], magnitude[low_bits:]
        result = Signal(BF16.width - 1)
        m.d.comb += [read.addr.eq(number - FIRST_SEGMENT), self.o.eq(Cat(result, self.i[-1]))]
        with m.If(magnitude > FP32.infinity_code):
            m.d.comb += self.o.eq(BF16.nan_code)
        with m.Elif(number >= FIRST_SEGMENT + SEGMENTS):
            m.d.comb += result.eq(ONE)
        with m.Elif(number < FIRST_SEGMENT):
            m.d.comb += result.eq(shorter + (rest > 1 << low_bits - 1))
        with m.Else():
            m.d.comb += result.eq(FIRST_RESULT + read.data.result + (place >= read.data.following))
        return m


class Nonlinear(Registered):
    """exp2 or tanh of every lane. Results lie side by side, lane 0 lowest; those of 16 bits leave the upper half 0.

    Parameters
    ----------
    config : NonlinearConfig, the number of lanes.

    Members
    -------
    i : In(stream of nonlinear_request)
    o : Out(stream of 32 bits a lane)
    """

    def __init__(self, config: NonlinearConfig):
        self.config = config
        super().__init__(nonlinear_request(config.lanes), FP32.width * config.lanes)

    def compute(self, m: Module, platform: Any, request: Any, result: Any) -> None:
        op, wide, short = request.op, [], []
        for k in range(self.config.lanes):
            exp2 = instantiate(m, platform, f"exp2_{k}", Exp2Lane)
            tanh = instantiate(m, platform, f"tanh_{k}", TanhLane)
            m.d.comb += [exp2.i.eq(request.lanes[k]), exp2.op.eq(op), tanh.i.eq(request.lanes[k])]
            wide.append(Cat(exp2.o, Const(0, 1)))
            short.append(Mux(op == Function.TANH, tanh.o, exp2.o[: BF16.width]))
        m.d.comb += result.eq(Mux(op == Function.EXP2_FP32, Cat(wide), Cat(short)))


RECORDS = (
    Unit(
        name="nonlinear",
        config_type=NonlinearConfig,
        build=Nonlinear,
        summary="AIE-ML v2: exp2 and tanh of FP32 lanes",
        covered=Covered(NonlinearConfig(lanes=1), 300),
        judges=(Judge(63, NonlinearConfig(lanes=1), 200),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("first lane", r"(exp2|tanh)_0\."),
            WaveGroup("lanes", r"(exp2|tanh)_"),
            WaveGroup("result", r"result"),
            OUTPUT,
        ),
    ),
)
