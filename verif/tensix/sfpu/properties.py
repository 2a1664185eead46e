"""The Vector unit's arithmetic: SFP_STOCH_RND for every word and random bits, the multiply-add, tables, conversions for all codes.

The multiply-add is proved in two parts, the product and the sum, each for every input.
"""

from functools import partial
from typing import Any

from amaranth import Cat, Const, Mux, Signal, Value, signed

from bitpath.golden.formats.catalogue import FP32, Rounding
from bitpath.golden.tensix.declarations.encodings import BY_NAME
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE, StochasticCompare
from bitpath.golden.tensix.declarations.sfpu import StoreMode
from bitpath.rtl.tensix.sfpu.dst_words import FromDst, ToDst
from bitpath.rtl.tensix.sfpu.layouts import SfpuConfig
from bitpath.rtl.tensix.sfpu.load_macro import DELAYS, LoadMacro
from bitpath.rtl.tensix.sfpu.multiply_add import Add, Multiply, Outcome
from bitpath.rtl.tensix.sfpu.sfp_stochastic_round import PrngLane, PrngSeed, SfpStochasticRound
from bitpath.rtl.tensix.sfpu.simple import LeadingZeros, Simple
from bitpath.rtl.tensix.sfpu.stochastic_round import (
    LANES,
    PrngStep,
    RoundMode,
    SfpStochasticRoundConfig,
    StochasticRound,
)
from bitpath.rtl.tensix.sfpu.tables import LookUp
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import offer_property
from bitpath.verif.formal.property import Properties, Sabotage
from bitpath.verif.formal.specification import float_code, leading_place, rounded, split

ROOM = "tensix/sfpu"
_UNIT = partial(SfpStochasticRound, SfpStochasticRoundConfig())
DISCARDED_BITS = {RoundMode.FP16A: 13, RoundMode.FP16B: 16}
LARGEST = {RoundMode.UINT8: 255, RoundMode.INT8: 127, RoundMode.UINT16: 65535, RoundMode.INT16: 32767}
COMPARES = tuple(StochasticCompare)
BELOW = ("StochasticCompare.TOP_BITS else 0", "StochasticCompare.ALL_BITS else 0")

PROPERTIES = Properties(
    ROOM,
    offer_property(
        "tensix.sfp_stochastic_round",
        _UNIT,
        Sabotage(f"{ROOM}/sfp_stochastic_round.py", "self.o.ready | ~self.o.valid", "self.o.ready | ~self.o.ready"),
        whole=False,
    ),
)


@PROPERTIES.of(
    "prng_step",
    "prng_step_inverse",
    "no two states have the same next one, and all but its top bit is the state shifted",
    ("TAPS = (0, 1, 21, 31)", "TAPS = (1, 21, 31)"),
)
def step_inverse(claim: Claim) -> None:
    """The lowest bit is lost by the shift, so the top bit must tell it."""
    dut = claim.instantiate("dut", PrngStep())
    other = claim.instantiate("other", PrngStep())
    claim.ensure(dut.o[:-1] == dut.i[1:], (dut.o != other.o) | (dut.i == other.i))


@PROPERTIES.of(
    "prng_step",
    "prng_step_taps",
    "the new bit is 1 if an even number of the bits 31, 21, 1 and 0 are set",
    ("TAPS = (0, 1, 21, 31)", "TAPS = (0, 1, 22, 31)"),
)
def step_taps(claim: Claim) -> None:
    dut = claim.instantiate("dut", PrngStep())
    tapped = dut.i & 0x80200003
    count = sum((tapped[place] for place in range(32)), start=Const(0, 6))
    claim.ensure(dut.o[-1] == ~count[0])


@PROPERTIES.of(
    "prng_lane",
    "prng_lane_moves",
    "a state is loaded, or steps, or stays",
    ("with m.Elif(self.advance):", "with m.Elif(~self.advance):"),
    depth=1,
)
def lane_moves(claim: Claim) -> None:
    dut = claim.instantiate("dut", PrngLane())
    step = claim.instantiate("spec", PrngStep(), i=dut.state)
    after = Mux(dut.load, dut.loaded, Mux(dut.advance, step.o, dut.state))
    claim.ensure(dut.state == claim.register(after, "after"))


@PROPERTIES.of(
    "prng_seed",
    "prng_seed_order",
    "behind a seed a state is given in every second of the last 64 of 96 cycles, one step after the other",
    ("self.load.eq(left[0] & ", "self.load.eq(~left[0] & "),
    depth=1,
)
def seed_order(claim: Claim) -> None:
    """From any state of the counter that a seed leads to."""
    dut = claim.instantiate("dut", PrngSeed())
    left = claim.inside("dut", "left")
    value = claim.inside("dut", "value")
    claim.assume(left <= 32 + 2 * LANES)
    arrives = dut.i.valid & dut.i.ready
    before = claim.register(left, "left_before")
    step = claim.instantiate("spec", PrngStep(), i=claim.register(value, "value_before"))
    given = Cat(left == count for count in range(1, 2 * LANES, 2)).any()
    claim.ensure(
        dut.load == given,
        dut.busy == (left != 0),
        dut.i.ready == (left == 0),
        ~claim.register(arrives, "arrived") | ((left == 96) & (value == claim.register(dut.i.p, "seed"))),
        (before == 0) | ((left == before - 1) & (value == step.o)),
    )


@PROPERTIES.of(
    "stochastic_round",
    "stochastic_round_{mode.name}_{compare.value}",
    "{mode.name}, {compare.value}: every word and all random bits",
    None,
    "mode, compare, sabotage",
    tuple(
        (mode, compare, sabotage)
        for mode, sabotage in (
            (RoundMode.FP16A, BELOW),
            (RoundMode.FP16B, ("with m.If(exponent.all()):", "with m.If(exponent[1:].all()):")),
        )
        for compare in COMPARES
    ),
)
def floats(claim: Claim, mode: RoundMode, compare: StochasticCompare) -> None:
    """The page's shift of the random bits, or of the discarded ones."""
    dut = claim.instantiate("dut", StochasticRound(compare))
    claim.assume(dut.mode == mode.value)
    count = DISCARDED_BITS[mode]
    discarded, exponent = dut.word[:count], dut.word[23:31]
    if compare is StochasticCompare.TOP_BITS:
        up = discarded >= dut.random >> 23 - count
    else:
        up = discarded << 23 - count >= dut.random
    rounded = claim.value((dut.word[:-1] >> count) + up << count, "rounded", 31)
    infinite = claim.value(Const(0xFF << 23, 31), "infinite")
    answer = Mux(exponent == 0, 0, Cat(Mux(exponent == 255, infinite, rounded), dut.word[-1]))
    claim.ensure(dut.o == claim.value(answer, "answer", 32))


@PROPERTIES.of(
    "stochastic_round",
    "stochastic_round_{mode.name}",
    "{mode.name}: a number as units of 2**-150 is rounded, saturates, and loses the sign of zero",
    ("discarded.eq(scaled[1:])", "discarded.eq(scaled[:])"),
    "mode",
    tuple(LARGEST),
)
def integers(claim: Claim, mode: RoundMode) -> None:
    dut = claim.instantiate("dut", StochasticRound(StochasticCompare.TOP_BITS))
    claim.assume(dut.mode == mode.value)
    exponent = dut.word[23:31]
    # The number times 2**24; those of 2**17 and above saturate as 2**17 does.
    near = claim.value(Mux(exponent > 144, 18, exponent - 126)[:5], "near", 5)
    number = claim.value(Cat(dut.word[:23], Const(1, 1)) << near, "number", 24 + 31)
    whole = claim.value(number >> 24, "whole", 31)
    fraction = claim.value(number >> 1, "fraction", 23)
    magnitude = claim.value(whole + (fraction >= dut.random), "magnitude", 32)
    bounded = claim.value(Mux(magnitude > LARGEST[mode], LARGEST[mode], magnitude), "bounded", 31)
    is_signed = mode in (RoundMode.INT8, RoundMode.INT16)
    answer = Cat(bounded, dut.word[-1] & int(is_signed) & (bounded != 0))
    claim.ensure(dut.o == claim.value(Mux(exponent < 126, 0, answer), "answer", 32))


@PROPERTIES.of(
    "sfp_stochastic_round",
    "sfp_stochastic_round_one_vector",
    "a result is there the cycle after its instruction, of the states of that cycle; no seed's cycles take one",
    ("self.i.ready.eq(free & ~prng_seed.busy)", "self.i.ready.eq(free)"),
    depth=1,
)
def one_vector(claim: Claim) -> None:
    dut = claim.instantiate("dut", _UNIT())
    busy = claim.value(~dut.seed.ready, "busy")
    arrives, waits = dut.i.valid & dut.i.ready, dut.o.valid & ~dut.o.ready
    claim.ensure(
        dut.o.valid == claim.register(arrives | waits, "expected"),
        ~(busy & dut.i.ready),
    )
    states = claim.register(Value.cast(dut.states), "states_before")
    moved = claim.register(arrives | busy, "moved")
    claim.ensure(moved | (Value.cast(dut.states) == states))


@PROPERTIES.of(
    "stochastic_round",
    "stochastic_round_integer_{name}",
    "{name} of an integer: its magnitude is divided by a power of two, rounded, saturates, and loses the sign of zero",
    ("(discarded >= self.random, unit, 0)", "(discarded > self.random, unit, 0)"),
    "name, mode, largest",
    (("uint8", 4, 255), ("int8", 5, 127)),
)
def shifted_integers(claim: Claim, mode: int, largest: int) -> None:
    dut = claim.instantiate("dut", StochasticRound(StochasticCompare.TOP_BITS))
    claim.assume(dut.mode == mode)
    scaled = claim.value(dut.word[:31] << 31, "scaled", 62)
    exact = claim.value(scaled >> dut.shift, "exact", 62)
    # Of the discarded bits the upper 23 count.
    whole, fraction = exact[31:], exact[8:31]
    magnitude = claim.value(whole + (fraction >= dut.random), "magnitude", 33)
    bounded = claim.value(Mux(magnitude > largest, largest, magnitude), "bounded", 31)
    claim.ensure(dut.o == Cat(bounded, dut.word[-1] & (mode & 1) & (bounded != 0)))


# The multiply-add.


def significand_of(code: Value) -> Value:
    """Return the significand of an FP32 code as 24 bits; denormals are 0."""
    normal = code[23:31] != 0
    return Cat(Mux(normal, code[:23], 0), normal)


@PROPERTIES.of(
    "multiply",
    "multiply_product_{chip.value}",
    "{chip.value}: finite factors: 28 bits of their product with a sticky bit, its exponent, and when it counts as zero or infinity",
    ("Cat(product[: DROPPED_BITS + 1].any(), ", "Cat(product[: DROPPED_BITS].any(), "),
    "chip",
    tuple(Chip),
)
def product_of_finite_factors(claim: Claim, chip: Chip) -> None:
    dut = claim.instantiate("dut", Multiply(chip), is_integer=0, upper=0)
    a, b = (claim.value(code[23:31], f"exponent_{name}") for name, code in (("a", dut.a), ("b", dut.b)))
    claim.assume(a != 255, b != 255, dut.c[23:31] != 255)
    factors = [claim.value(significand_of(code), f"factor_{name}") for name, code in (("a", dut.a), ("b", dut.b))]
    product = claim.value(factors[0] * factors[1], "product", 48)
    exponent = claim.value(a + b - 127, "exponent", 10)
    vanishes = (a == 0) | (b == 0) | (a + b < 127)
    kept = claim.value(product >> 20, "kept", 28)
    sticky = (product & 0xFFFFF) != 0
    o = dut.o
    claim.ensure(
        o.zero == vanishes,
        vanishes | (o.significand == (kept | sticky)),
        o.sign == dut.a[31] ^ dut.b[31],
        o.addend == dut.c,
        (o.outcome == Outcome.INFINITE) == (a + b >= 255 + 127),
        (o.outcome == Outcome.INFINITE) | (o.outcome == Outcome.SUM),
        vanishes | (o.outcome == Outcome.INFINITE) | (o.exponent == exponent[:8]),
    )


@PROPERTIES.of(
    "multiply",
    "multiply_special_{chip.value}",
    "{chip.value}: infinities and NaN: which operands give NaN, the addend, or an infinity",
    ("infinite[2] & (sign ^ self.c[-1])", "infinite[2] & (self.a[-1] ^ self.c[-1])"),
    "chip",
    tuple(Chip),
)
def special_operands(claim: Claim, chip: Chip) -> None:
    """By the tables of IEEE 754, with denormals as zeros; a product that overflows is infinite."""
    dut = claim.instantiate("dut", Multiply(chip), is_integer=0, upper=0)
    exponents = [code[23:31] for code in (dut.a, dut.b, dut.c)]
    claim.assume((exponents[0] == 255) | (exponents[1] == 255) | (exponents[2] == 255))
    nan = [(code & 0x7FFFFFFF) > 0x7F800000 for code in (dut.a, dut.b, dut.c)]
    infinite = [(code & 0x7FFFFFFF) == 0x7F800000 for code in (dut.a, dut.b, dut.c)]
    zero = [exponent == 0 for exponent in exponents]
    sign = dut.a[31] ^ dut.b[31]
    invalid = nan[0] | nan[1] | (infinite[0] & zero[1]) | (infinite[1] & zero[0])
    overflows = exponents[0] + exponents[1] >= 255 + 127
    whole = infinite[0] | infinite[1] | (overflows if chip is Chip.WORMHOLE else Const(0))
    opposed = ~invalid & whole & infinite[2] & (sign != dut.c[31])
    any_nan = invalid | opposed | nan[2]
    outcome = dut.o.outcome
    claim.ensure(
        (outcome == Outcome.NAN) == any_nan,
        any_nan | ~infinite[2] | (outcome == Outcome.ADDEND),
        any_nan | infinite[2] | (outcome == Outcome.INFINITE),
        ~any_nan | (dut.o.nan_sign == Mux(invalid | opposed, sign, dut.c[31])),
    )


def aligned(claim: Claim, value: Value, shift: Value, name: str) -> Signal:
    """Return the value divided by a power of two; a remainder makes it odd, unless nothing is left."""
    kept, twice, _ = split(claim, value, shift, name)
    return claim.value(Mux(kept == 0, 0, kept | (twice != 0)), f"{name}_aligned", len(value))


@PROPERTIES.of(
    "add",
    "add_{chip.value}_{name}",
    "{chip.value}, {name}: the sum of a product and an addend, one rounding of what is kept, and zeros",
    None,
    "chip, name, near, sabotage",
    tuple(
        (chip, name, near, sabotage)
        for chip, sabotage in (
            (Chip.WORMHOLE, ("if blackhole else total[0])", "if blackhole else total[:2].any())")),
            (Chip.BLACKHOLE, ("(total[:2].any() if blackhole", "(total[0] if blackhole")),
        )
        for name, near in (("sum_near", True), ("sum_far", False))
    ),
)
def sums(claim: Claim, chip: Chip, near: bool) -> None:
    """Exponents at most two apart, where digits may cancel, and others."""
    dut = claim.instantiate("dut", Add(chip))
    p, blackhole = dut.i, chip is Chip.BLACKHOLE
    exponent, sign = claim.value(p.addend[23:31], "addend_exponent"), p.addend[31]
    claim.assume(~p.is_integer, p.outcome == Outcome.SUM, ~p.zero, exponent != 255, p.exponent != 255)
    # A product is from 1 up to 4.
    claim.assume(p.significand >= 1 << 26)
    distance = claim.value(p.exponent - exponent, "distance", signed(10))
    close = (distance >= -2) & (distance <= 2)
    claim.assume(close if near else ~close)
    top = claim.value(Mux(distance > 0, p.exponent, exponent), "top", 8)
    product = aligned(claim, p.significand, (top - p.exponent)[:8], "product")
    addend = aligned(claim, claim.value(significand_of(p.addend) << 3, "addend"), (top - exponent)[:8], "addend")
    first = claim.value(Mux(p.sign, -product, product), "first", signed(31))
    second = claim.value(Mux(sign, -addend, addend), "second", signed(31))
    total = claim.value(first + second, "total", signed(31))
    magnitude = claim.value(Mux(total < 0, -total, total), "magnitude", 30)
    negative = total < 0
    place = leading_place(claim, magnitude, "place")
    field = claim.value(top + place - 26, "field", signed(11))
    # Wormhole loses the second lowest bit of a sum of 29 bits.
    lost = (place == 28) & (magnitude[1] & int(not blackhole))
    counted = claim.value(magnitude - Mux(lost, 2, 0), "counted", 30)
    # 24 bits are kept, or of Blackhole's denormals 23: of them only what rounds up to the smallest normal number stays.
    low = claim.value(field <= 0, "low")
    wide = claim.value(counted << 24, "wide")
    digits = claim.value(rounded(claim, wide, place + 1 + (low & int(blackhole)), Rounding.RNE, "spec"), "digits", 26)
    carries = digits[24] | (digits[23] & low & int(blackhole))
    number = claim.value((Mux(low, 0, field) << 23) + digits - (1 << 23), "number", 32)
    normal = Mux(number >= 0x7F800000, 0x7F800000, number)
    smallest = Mux(carries & ((field == 0) | int(blackhole)), 0x00800000, 0)
    code = claim.value(Mux(low, smallest, normal), "code", 31)
    zero_sign = negative if blackhole else negative & (code != 0)
    claim.ensure(
        dut.o[:31] == Mux(magnitude == 0, 0, code),
        dut.o[31] == Mux(magnitude == 0, p.sign & sign & int(blackhole), zero_sign),
    )


@PROPERTIES.of(
    "add",
    "add_passes_{chip.value}",
    "{chip.value}: of a product that is zero the addend, and of two zeros the sign by IEEE 754 or none",
    None,
    "chip, sabotage",
    (
        (Chip.WORMHOLE, ("Mux(present, p.addend, 0)", "Mux(~present, p.addend, 0)")),
        (Chip.BLACKHOLE, ("Mux(present, p.addend, zero)", "Mux(~present, p.addend, zero)")),
    ),
)
def addend_passes(claim: Claim, chip: Chip) -> None:
    dut = claim.instantiate("dut", Add(chip))
    p = dut.i
    claim.assume(~p.is_integer, p.outcome == Outcome.SUM, p.zero)
    denormal = p.addend[23:31] == 0
    sign = p.sign & p.addend[31] & int(chip is Chip.BLACKHOLE)
    claim.ensure(dut.o == Mux(denormal, Cat(Const(0, 31), sign), p.addend))


@PROPERTIES.of(
    "add",
    "add_nan",
    "wormhole: NaN has the bits of the sum that is computed meanwhile, unless it is infinite",
    ("code) | LOW_NAN", "code) | CANONICAL_NAN"),
)
def leaking_nan(claim: Claim) -> None:
    dut = claim.instantiate("dut", Add(Chip.WORMHOLE))
    p = dut.i
    claim.assume(p.outcome == Outcome.NAN)
    same = Cat(p.significand, p.exponent, p.sign, p.nan_sign, Const(0, 1), Const(0, 2), p.addend, Const(0, 1))
    total = claim.instantiate("sum", Add(Chip.WORMHOLE), i=same)
    bits = Mux(total.o[:31] == 0x7F800000, 0, total.o[:31])
    claim.ensure(dut.o == Cat(claim.value(bits | 0x7F800001, "nan", 31), p.nan_sign))


# Tables and conversions, for all codes.


@PROPERTIES.of(
    "look_up",
    "lut8",
    "SFPLUT: all bytes of factor and addend, by the range of the magnitude",
    ("Mux(code == LUT8_ZERO, 0, ", "Mux(code == 0x7F, 0, "),
)
def bytes_of_a_table(claim: Claim) -> None:
    """2**-e * 1.m in units of 2**-11."""
    dut = claim.instantiate("dut", LookUp(), narrow=1)
    magnitude = dut.registers[3][:31]
    word = claim.value(
        Mux(magnitude < 0x3F800000, dut.registers[0], Mux(magnitude < 0x40000000, dut.registers[1], dut.registers[2])),
        "word",
    )
    claim.ensure(dut.magnitude == magnitude)
    for name, byte, code in (("factor", word[8:16], dut.factor), ("addend", word[:8], dut.addend)):
        units = claim.value(Cat(byte[:4], Const(1, 1)) << (7 - byte[4:7])[:3], f"{name}_units", 12)
        exact = claim.value(float_code(claim, units, Const(-11, signed(5)), FP32, name), f"{name}_code", 31)
        claim.ensure(code == Mux(byte == 0xFF, 0, Cat(exact, byte[7])))


@PROPERTIES.of(
    "look_up",
    "lut16_{mode}",
    "SFPLUTFP32 in mode {mode}: all halves of factor and addend, by the range of the magnitude",
    ("Mux(code[10:15].all(), 0, ", "Mux(code[11:15].all(), 0, "),
    "mode",
    (2, 3, 10),
)
def halves_of_a_table(claim: Claim, mode: int) -> None:
    """2**(e - 15) * 1.m, and zero with a sign where e is 31."""
    dut = claim.instantiate("dut", LookUp(), narrow=0, mode=mode)
    magnitude, registers = dut.registers[3][:31], dut.registers
    bounds = (0x3F000000, 0x3F800000, 0x3FC00000, 0x40000000, 0x40800000 if mode == 3 else 0x40400000)
    place = claim.value(sum((magnitude >= bound for bound in bounds[1:]), start=magnitude >= bounds[0]), "place", 3)
    for name, first, code in (("factor", 0, dut.factor), ("addend", 4, dut.addend)):
        half = Signal(16, name=f"{name}_half")
        with claim.m.Switch(place):
            for each in range(len(bounds) + 1):
                with claim.m.Case(each):
                    if mode == 10:
                        half_of = registers[each // 2].word_select(name == "factor", 16)
                    else:
                        half_of = registers[first + each // 2].word_select(each % 2, 16)
                    claim.m.d.comb += half.eq(half_of)
        exact = claim.value(Cat(half[:10], (half[10:15] + 112)[:8]), f"{name}_exact", 18)
        fraction, exponent = exact[:10], Mux(half[10:15] == 31, 0, exact[10:])
        claim.ensure(code == Cat(Const(0, 13), fraction, claim.value(exponent, f"{name}_exponent", 8), half[15]))


@PROPERTIES.of(
    "from_dst",
    "load_fp16",
    "FP16 of all codes, with and without an infinity: an exponent of 0 stays, one of 31 is a number",
    ("Mux(fp16[10:15].any(), fp16[10:15] + FP16_REBIAS, 0)[:8]", "(fp16[10:15] + FP16_REBIAS)[:8]"),
)
def loaded_fp16(claim: Claim) -> None:
    dut = claim.instantiate("dut", FromDst(WORMHOLE.numerics), mode=StoreMode.FP16.value)
    # Dst has the sign, the fraction and the exponent.
    sign, fraction, exponent = dut.i[15], dut.i[5:15], dut.i[:5]
    field = claim.value(Mux(exponent == 0, 0, exponent + (127 - 15)), "field", 8)
    number = claim.value(Cat(Const(0, 13), fraction, field), "number", 31)
    infinite = dut.infinity & (exponent == 31) & (fraction == 1023)
    claim.ensure(dut.o == Cat(claim.value(Mux(infinite, 0x7F800000, number), "loaded", 31), sign))


@PROPERTIES.of(
    "to_dst",
    "store_fp16",
    "FP16 of all FP32 codes: truncated, too small a signed zero, too large the largest code",
    ("exponent > FP16_ENDS", "exponent >= FP16_ENDS"),
)
def stored_fp16(claim: Claim) -> None:
    dut = claim.instantiate("dut", ToDst(WORMHOLE.numerics), mode=StoreMode.FP16.value)
    magnitude = dut.i[:31]
    # 2**-14 and 2**17 are the ends of numbers with exponents of their own.
    small, large = magnitude < 0x38800000, magnitude >= 0x48000000
    code = claim.value((magnitude >> 13) - (112 << 10), "code", 15)
    word = claim.value(Mux(small, 0, Mux(large, 0x7FFF, code)), "word", 15)
    claim.ensure(dut.o == Cat(word[10:], word[:10], dut.i[31]))


def cast_of(claim: Claim, mode: int) -> Any:
    config = SfpuConfig(chip=Chip.BLACKHOLE, numerics=BLACKHOLE.numerics)
    dut = claim.instantiate("dut", Simple(config))
    claim.assume(dut.word[24:] == BY_NAME[Chip.BLACKHOLE]["SFPCAST"].opcode, dut.word[:4] == mode)
    return dut


@PROPERTIES.of(
    "simple",
    "cast_nearest",
    "SFPCAST of all signs and magnitudes to FP32, to nearest even",
    ("norm[7] & (norm[:7].any() | norm[8])", "norm[7]"),
)
def cast_to_nearest(claim: Claim) -> None:
    dut = cast_of(claim, 0)
    code = claim.value(float_code(claim, dut.c[:31], Const(0, signed(2)), FP32, "cast"), "code", 31)
    claim.ensure(dut.value == Cat(code, dut.c[31]))


@PROPERTIES.of(
    "simple",
    "cast_stochastic",
    "SFPCAST with all random bits: 7 of them against those behind the fraction, the last dropped bit not among them",
    ("norm[1:8] > self.random[", "norm[1:8] >= self.random["),
)
def cast_with_random_bits(claim: Claim) -> None:
    dut = cast_of(claim, 1)
    magnitude = dut.c[:31]
    place = leading_place(claim, magnitude, "place")
    scaled = claim.value(magnitude << (31 - place)[:5], "scaled", 32)
    up = scaled[1:8] > dut.random[10:17]
    code = claim.value((place + 127 - 1 << 23) + scaled[8:] + up, "code", 31)
    claim.ensure(dut.value == Cat(claim.value(Mux(magnitude == 0, 0, code), "cast", 31), dut.c[31]))


@PROPERTIES.of(
    "simple",
    "cast_integers",
    "SFPCAST between two's complement and a sign and magnitude: each value becomes itself, the least integer -0",
    ("Mux(mod[0], c[SIGN_BIT], negated[SIGN_BIT])", "Mux(mod[0], negated[SIGN_BIT], c[SIGN_BIT])"),
)
def cast_between_integers(claim: Claim) -> None:
    dut = cast_of(claim, 3)
    value = claim.value(dut.c.as_signed(), "number", signed(33))
    result = dut.value
    back = claim.value(Mux(result[31], -result[:31], result[:31]), "back", signed(33))
    claim.ensure((dut.c == 0x80000000) | (back == value), (dut.c != 0x80000000) | (result == 0x80000000))


@PROPERTIES.of(
    "leading_zeros",
    "leading_zeros",
    "the zeros above the highest set bit of every word, and the word without them",
    ("bits.insert(0, empty)", "bits.append(empty)"),
)
def zeros_above(claim: Claim) -> None:
    dut = claim.instantiate("dut", LeadingZeros())
    place = leading_place(claim, dut.i, "place")
    claim.ensure(
        dut.count == Mux(dut.i == 0, 32, 31 - place),
        (dut.i == 0) | (dut.o == claim.value(dut.i << (31 - place)[:5], "moved", 32)),
    )


@PROPERTIES.of(
    "simple",
    "order",
    "the comparison of SFPSWAP, SFPLE and SFPGT is the order of signs and magnitudes, -0 below +0",
    ("~code[:SIGN_BIT], code[:SIGN_BIT]), ~code[SIGN_BIT])", "code[:SIGN_BIT], code[:SIGN_BIT]), ~code[SIGN_BIT])"),
)
def order(claim: Claim) -> None:
    config = SfpuConfig(chip=Chip.BLACKHOLE, numerics=BLACKHOLE.numerics)
    dut = claim.instantiate("dut", Simple(config))
    # Half a unit below zero is -0.
    b, c = (
        claim.value(Mux(code[31], -(code[:31] << 1) - 1, code[:31] << 1), f"twice_{name}", signed(34))
        for name, code in (("b", dut.b), ("c", dut.c))
    )
    claim.ensure(dut.smaller == (c < b))


@PROPERTIES.of(
    "load_macro",
    "load_macro_{unit}",
    "an instruction of the {unit} sub-unit executes d + 1 cycles behind an SFPLOADMACRO with delay d, unless a later one displaces it",
    ("schedules & (bits[3:6] == delay)", "schedules & (bits[3:6] == delay + 1)"),
    "unit, place",
    (("simple", 0), ("mad", 1), ("round", 2), ("store", 3)),
    depth=DELAYS + 1,
)
def scheduled_delays(claim: Claim, unit: str, place: int) -> None:
    """In a cycle that passes for all: the thread's instruction is issued, or none counts instructions."""
    dut = claim.instantiate("dut", LoadMacro(Chip.WORMHOLE))
    claim.assume(~dut.hold, claim.inside("dut", "advances"))
    word = dut.request.word
    sequence = Cat(dut.sequences).word_select(word[22:24], 32)
    own = claim.value(sequence[8 * place : 8 * place + 8], "own", 8)
    macro = dut.issued & (word[24:] == BY_NAME[Chip.WORMHOLE]["SFPLOADMACRO"].opcode)
    # Bits of a sub-unit, the loaded register, and whether there is an SFPLOADMACRO, a cycle and more ago.
    past = [claim.value(Cat(own, word[20:22], word[0], macro), "past_0", 12)]
    for cycles in range(1, DELAYS + 1):
        past.append(claim.register(past[-1], f"past_{cycles}"))
    executes, register, kept = Signal(), Signal(5), Signal()
    for cycles in range(DELAYS, 0, -1):
        bits = past[cycles]
        with claim.m.If(bits[11] & (bits[3:6] == cycles - 1)):
            claim.m.d.comb += [
                executes.eq(bits[:3].any()),
                register.eq(Mux(bits[6], 16, bits[8:11])),
                # VD of a store's template stays.
                kept.eq((unit == "store") & ~bits[6] & bits[7]),
            ]
    operation = getattr(dut.o, unit)
    claim.ensure(
        (operation.valid & operation.scheduled) == executes,
        ~executes | kept | (operation.vd == register),
    )
