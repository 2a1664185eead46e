"""Add/compare unit: 17 operations on integers of 8, 16 or 32 bits, and four comparisons of BF16, FP16 and 8-bit floats.

Latency: 1 cycle. Throughput: one operation a cycle.

Ref: AM027, Vector Unit; llvm-aie for the operations and their codes.
"""

from collections.abc import Callable
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import (
    FLOAT_OP_FORMATS,
    FLOAT_OPS,
    FP8_FORMATS,
    Fp8Representation,
    VectorOp,
)
from bitpath.golden.formats.catalogue import BF16, FP16, FloatFormat, Specials
from bitpath.rtl.aie_ml_v2.mover.layouts import (
    OP_BITS,
    REPRESENTATION_BITS,
    LaneWidth,
    VectorAluConfig,
    alu_request,
    alu_result,
)
from bitpath.rtl.common.pipeline.pipeline_registers import Registered
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

# Decoder of the add/compare unit: an operation's steps in a 32-bit group, and its lanes and number format.
#
# Ref: llvm-aie for the operations and their codes.


class Subtracts(enum.Enum, shape=2):
    """Lanes whose second summand is negated."""

    NONE = 0
    ALL = 1
    MASKED = 2
    NEGATIVE = 3  # lanes whose a is negative


class Flag(enum.Enum, shape=3):
    """A lane's bit of the mask."""

    ZERO = 0  # the constant
    GIVEN = 1  # the mask of the request
    POSITIVE = 2  # a > 0
    NEGATIVE = 3  # a < 0
    IS_ZERO = 4  # a == 0
    LESS = 5  # a < b
    NOT_LESS = 6  # a >= b


class Choice(enum.Enum, shape=3):
    """Choice of a lane's value."""

    SUM = 0
    POSITIVE_SUM = 1  # 0 where a < b
    PICKED = 2  # b where the flag is 1, else a
    KEPT = 3  # a
    AND = 4
    OR = 5
    NOT = 6  # the complement of a


class AluControl(data.Struct):
    """Steps of an operation in a group. ``unary`` sums 0 and a, else a and b. A float of magnitude above ``nan_above``
    is NaN; with ``fnuz`` the sign bit alone is."""

    subtracts: Subtracts
    unary: 1
    flag: Flag
    choice: Choice
    width: LaneWidth
    is_signed: 1
    is_float: 1
    fnuz: 1
    nan_above: 15


STEPS = {
    VectorOp.ADD: (Choice.SUM, Flag.ZERO, Subtracts.NONE),
    VectorOp.SUB: (Choice.SUM, Flag.ZERO, Subtracts.ALL),
    VectorOp.SEL: (Choice.PICKED, Flag.GIVEN, Subtracts.NONE),
    VectorOp.ADDSUB: (Choice.SUM, Flag.GIVEN, Subtracts.MASKED),
    VectorOp.AND: (Choice.AND, Flag.ZERO, Subtracts.NONE),
    VectorOp.OR: (Choice.OR, Flag.ZERO, Subtracts.NONE),
    VectorOp.ABS_GTZ: (Choice.SUM, Flag.POSITIVE, Subtracts.NEGATIVE),
    VectorOp.MAXDIFF_LT: (Choice.POSITIVE_SUM, Flag.LESS, Subtracts.ALL),
    VectorOp.SUB_LT: (Choice.SUM, Flag.LESS, Subtracts.ALL),
    VectorOp.SUB_GE: (Choice.SUM, Flag.NOT_LESS, Subtracts.ALL),
    VectorOp.BNEG_LTZ: (Choice.NOT, Flag.NEGATIVE, Subtracts.NONE),
    VectorOp.EQZ: (Choice.KEPT, Flag.IS_ZERO, Subtracts.NONE),
    VectorOp.MIN_GE: (Choice.PICKED, Flag.NOT_LESS, Subtracts.ALL),
    VectorOp.MAX_LT: (Choice.PICKED, Flag.LESS, Subtracts.ALL),
    VectorOp.LT: (Choice.KEPT, Flag.LESS, Subtracts.ALL),
    VectorOp.NEG_GTZ: (Choice.SUM, Flag.POSITIVE, Subtracts.ALL),
    VectorOp.GE: (Choice.KEPT, Flag.NOT_LESS, Subtracts.ALL),
}
"""Value, bit of the mask, and lanes that subtract. Comparisons read the carry of ``a - b``."""
UNARY = (VectorOp.ABS_GTZ, VectorOp.NEG_GTZ)
"""Operations that negate a."""


class AluDecode(wiring.Component):
    """Combinational steps of an operation. Codes that are no operation give a.

    Members
    -------
    op : In(6), a code of VectorOp or of a float comparison
    width : In(LaneWidth), of integers
    is_signed : In(1), of integers
    bf8, fp8 : In(2), representations of 8-bit floats; the reserved code 3 is read as 2
    o : Out(AluControl)
    """

    clocked = False
    op: In(OP_BITS)
    width: In(LaneWidth)
    is_signed: In(1)
    bf8: In(REPRESENTATION_BITS)
    fp8: In(REPRESENTATION_BITS)
    o: Out(AluControl)

    def elaborate(self, platform):
        m = Module()
        out = self.o
        m.d.comb += [out.choice.eq(Choice.KEPT), out.width.eq(self.width), out.is_signed.eq(self.is_signed)]
        with m.Switch(self.op):
            for op, (choice, flag, subtracts) in STEPS.items():
                first = FLOAT_OPS.get(op)
                codes = [op.value, *(range(first, first + len(FLOAT_OP_FORMATS)) if first else ())]
                with m.Case(*codes):
                    m.d.comb += [
                        out.choice.eq(choice),
                        out.flag.eq(flag),
                        out.subtracts.eq(subtracts),
                        out.unary.eq(op in UNARY),
                    ]
        family = Signal(range(len(FLOAT_OP_FORMATS)))
        m.d.comb += [
            out.is_float.eq(self.op >= min(FLOAT_OPS.values())),
            family.eq(self.op),  # the first code is a multiple of the number of families
        ]
        with m.If(out.is_float):
            with m.Switch(family):
                for place, formats in enumerate(FLOAT_OP_FORMATS):
                    with m.Case(place):
                        self._format(m, formats)
        return m

    def _format(self, m: Module, formats: tuple[FloatFormat, ...]) -> None:
        """Set the lanes and the NaN of a family of formats."""
        out, widest = self.o, formats[0]
        if widest in (BF16, FP16):
            m.d.comb += [out.width.eq(LaneWidth.W16), out.nan_above.eq(widest.infinity_code)]
            return
        name = "e5m2" if widest.exponent_bits == 5 else "e4m3"
        code: Value = self.bf8 if name == "e5m2" else self.fp8
        m.d.comb += out.width.eq(LaneWidth.W8)
        with m.Switch(code):
            for representation in Fp8Representation:
                fmt = FP8_FORMATS[name, representation]
                last = representation is max(Fp8Representation)
                with m.Default() if last else m.Case(representation.value):
                    m.d.comb += [
                        out.fnuz.eq(fmt.specials is Specials.UNSIGNED_ZERO),
                        out.nan_above.eq(fmt.infinity_code or fmt.max_code),
                    ]


# Bits at the bytes of a 32-bit group whose lanes have 8, 16 or 32 bits.


GROUP_BYTES = 4
"""Bytes of a group, as many as the widest lane has."""


def bytes_of(side: Value, function: Callable[[Value], Value]) -> Value:
    """Return a function's bit of each byte."""
    return Cat(function(side.word_select(k, 8)) for k in range(GROUP_BYTES))


def of_lanes(width: Value, bits: Value) -> Value:
    """Return at each byte the bit of its lane's highest byte."""
    pairs = bits[1].replicate(2), bits[3].replicate(2)
    return by_width(width, bits, Cat(pairs), bits[-1].replicate(GROUP_BYTES))


def whole_lanes(width: Value, bits: Value) -> Value:
    """Return at each byte 1 if all bits of its lane are."""
    pairs = bits[:2].all().replicate(2), bits[2:].all().replicate(2)
    return by_width(width, bits, Cat(pairs), bits.all().replicate(GROUP_BYTES))


def by_width(width: Value, of_8: Value, of_16: Value, of_32: Value) -> Value:
    """Return the value that belongs to the lanes' width."""
    return Mux(width == LaneWidth.W8, of_8, Mux(width == LaneWidth.W16, of_16, of_32))


def spread(bits: Value) -> Value:
    """Return eight copies of each bit."""
    return Cat(bit.replicate(8) for bit in bits)


# Order of the lanes of two 32-bit groups, from the carries of ``a - b``.
#
#     integers   a < b if no carry leaves the lane, inverted where the signs differ and count
#     floats     a < b by sign and magnitude; -0 equals +0; of NaN neither a < b nor a >= b
#
# Ref: llvm-aie for the comparisons; `bitpath.golden.aie_ml_v2.declarations.choices.CHOICES` for NaN and zeros.


class AluOrder(wiring.Component):
    """Combinational order of two groups. Each byte of a lane holds the lane's bit.

    Members
    -------
    control : In(AluControl)
    a, b : In(32)
    difference : In(32), a - b
    carry : In(4), carry out of the lane's difference
    less, not_less : Out(4), a < b and a >= b
    nan_a : Out(4), a is NaN
    """

    clocked = False
    control: In(AluControl)
    a: In(8 * GROUP_BYTES)
    b: In(8 * GROUP_BYTES)
    difference: In(8 * GROUP_BYTES)
    carry: In(GROUP_BYTES)
    less: Out(GROUP_BYTES)
    not_less: Out(GROUP_BYTES)
    nan_a: Out(GROUP_BYTES)

    def elaborate(self, platform):
        m = Module()
        control, width = self.control, self.control.width
        minus_a, minus_b, differ, equal, zeros, nan_b = (
            Signal(GROUP_BYTES, name=name) for name in ("minus_a", "minus_b", "differ", "equal", "zeros", "nan_b")
        )
        m.d.comb += [
            minus_a.eq(of_lanes(width, bytes_of(self.a, lambda byte: byte[7]))),
            minus_b.eq(of_lanes(width, bytes_of(self.b, lambda byte: byte[7]))),
            differ.eq(minus_a ^ minus_b),
            equal.eq(whole_lanes(width, bytes_of(self.difference, lambda byte: ~byte.any()))),
            zeros.eq(self._zeros(self.a | self.b)),
        ]
        with m.If(control.is_float):
            smaller, larger = ~self.carry, self.carry & ~equal  # of magnitudes, where the signs agree
            below = (differ & minus_a & ~zeros) | (~differ & ((minus_a & larger) | (~minus_a & smaller)))
            m.d.comb += [
                self.nan_a.eq(self._nan(self.a, minus_a)),
                nan_b.eq(self._nan(self.b, minus_b)),
                self.less.eq(below & ~(self.nan_a | nan_b)),
            ]
        with m.Else():
            m.d.comb += self.less.eq(~self.carry ^ (differ & control.is_signed.replicate(GROUP_BYTES)))
        m.d.comb += self.not_less.eq(~(self.less | self.nan_a | nan_b))
        return m

    def _zeros(self, either: Value) -> Value:
        """Return where both floats are zero: no bit below the signs is set in either."""
        whole = bytes_of(either, lambda byte: ~byte.any())
        below = bytes_of(either, lambda byte: ~byte[:7].any())
        pairs = ((whole[k] & below[k + 1]).replicate(2) for k in (0, 2))
        return Mux(self.control.width == LaneWidth.W8, below, Cat(pairs))

    def _nan(self, side: Value, minus: Value) -> Value:
        """Return where a float is NaN."""
        limit = self.control.nan_above
        narrow = bytes_of(side, lambda byte: byte[:7] > limit[:7])
        sign_alone = bytes_of(side, lambda byte: ~byte[:7].any()) & minus & self.control.fnuz.replicate(GROUP_BYTES)
        halves = ((half[:15] > limit).replicate(2) for half in (side[:16], side[16:]))
        return Mux(self.control.width == LaneWidth.W8, narrow | sign_alone, Cat(halves))


# Add/compare group: 32 bits in lanes of 8, 16 or 32 bits, with one adder whose carries stop at lanes.
#
#     sum = (unary ? 0 : a) + (unary ? a : b)     in lanes that subtract the second summand is negated
#
# Ref: AM027, Vector Unit; llvm-aie for the operations.


class AluGroup(wiring.Component):
    """Combinational values and flags of a group. Each byte of a lane holds the lane's flag.

    Members
    -------
    control : In(AluControl)
    a, b : In(32)
    mask : In(4)
    o : Out(32)
    flag : Out(4)
    """

    clocked = False
    apart = True
    control: In(AluControl)
    a: In(8 * GROUP_BYTES)
    b: In(8 * GROUP_BYTES)
    mask: In(GROUP_BYTES)
    o: Out(8 * GROUP_BYTES)
    flag: Out(GROUP_BYTES)

    def elaborate(self, platform):
        m = Module()
        control, width = self.control, self.control.width
        negative, zero, subtract = (Signal(GROUP_BYTES, name=name) for name in ("negative", "zero", "subtract"))
        signed = control.is_signed.replicate(GROUP_BYTES)
        m.d.comb += [
            negative.eq(of_lanes(width, bytes_of(self.a, lambda byte: byte[7])) & signed),
            zero.eq(whole_lanes(width, bytes_of(self.a, lambda byte: ~byte.any()))),
        ]
        with m.Switch(control.subtracts):
            with m.Case(Subtracts.ALL):
                m.d.comb += subtract.eq(Const(-1, GROUP_BYTES))
            with m.Case(Subtracts.MASKED):
                m.d.comb += subtract.eq(self.mask)
            with m.Case(Subtracts.NEGATIVE):
                m.d.comb += subtract.eq(negative)
        total, carry = self._sum(m, subtract)
        order = instantiate(m, platform, "order", AluOrder)
        m.d.comb += [
            order.control.eq(control),
            order.a.eq(self.a),
            order.b.eq(self.b),
            order.difference.eq(total),
            order.carry.eq(carry),
        ]
        flags = {
            Flag.GIVEN: self.mask,
            Flag.POSITIVE: ~(negative | zero),
            Flag.NEGATIVE: negative,
            Flag.IS_ZERO: zero,
            Flag.LESS: order.less,
            Flag.NOT_LESS: order.not_less,
        }
        with m.Switch(control.flag):
            for flag, value in flags.items():
                with m.Case(flag):
                    m.d.comb += self.flag.eq(value)
        picks_b = Signal(8 * GROUP_BYTES)
        m.d.comb += picks_b.eq(spread(self.flag | order.nan_a))
        values = {
            Choice.SUM: total,
            Choice.POSITIVE_SUM: total & ~spread(order.less),
            Choice.PICKED: (self.a & ~picks_b) | (self.b & picks_b),
            Choice.KEPT: self.a,
            Choice.AND: self.a & self.b,
            Choice.OR: self.a | self.b,
            Choice.NOT: ~self.a,
        }
        with m.Switch(control.choice):
            for choice, value in values.items():
                with m.Case(choice):
                    m.d.comb += self.o.eq(value)
        return m

    def _sum(self, m: Module, subtract: Value) -> tuple[Value, Value]:
        """Return the sums, and the carry out of each lane."""
        begins, carry, total = Signal(GROUP_BYTES), Const(0, 1), []
        all_bytes, halves, word = (Const(bits, GROUP_BYTES) for bits in (0b1111, 0b0101, 0b0001))
        m.d.comb += begins.eq(by_width(self.control.width, all_bytes, halves, word))
        for k in range(GROUP_BYTES):
            a, b = (side.word_select(k, 8) for side in (self.a, self.b))
            second = Mux(self.control.unary, a, b) ^ subtract[k].replicate(8)
            byte = Signal(9, name=f"byte_{k}")
            m.d.comb += byte.eq(Mux(self.control.unary, 0, a) + second + Mux(begins[k], subtract[k], carry))
            carry = byte[8]
            total.append(byte)
        carries = of_lanes(self.control.width, Cat(byte[8] for byte in total))
        return Cat(byte[:8] for byte in total), carries


class VectorAlu(Registered):
    """Add, subtract, select, logic, minimum, maximum and comparisons, lane by lane; values wrap.

    Parameters
    ----------
    config : VectorAluConfig, the bytes of a register.

    Members
    -------
    i : In(stream of alu_request)
    o : Out(stream of alu_result)
    """

    def __init__(self, config: VectorAluConfig):
        self.config = config
        size = config.register_bytes
        super().__init__(alu_request(size), alu_result(size))

    def compute(self, m: Module, platform: Any, request: Any, result: Any) -> None:
        size = self.config.register_bytes
        decode = instantiate(m, platform, "decode", AluDecode)
        m.d.comb += [
            getattr(decode, name).eq(getattr(request, name)) for name in ("op", "width", "is_signed", "bf8", "fp8")
        ]
        width = decode.o.width
        # Bit i of a mask is lane i outside, and the lane of byte i inside.
        mask, flags, values = Signal(size), Signal(size), []
        pairs, fours = (Cat(request.mask[k >> log] for k in range(size)) for log in (1, 2))
        m.d.comb += mask.eq(by_width(width, request.mask, pairs, fours))
        for k in range(size // GROUP_BYTES):
            group = instantiate(m, platform, f"group_{k}", AluGroup)
            m.d.comb += [
                group.control.eq(decode.o),
                group.a.eq(request.a.word_select(k, 8 * GROUP_BYTES)),
                group.b.eq(request.b.word_select(k, 8 * GROUP_BYTES)),
                group.mask.eq(mask.word_select(k, GROUP_BYTES)),
                flags.word_select(k, GROUP_BYTES).eq(group.flag),
            ]
            values.append(group.o)

        pairs, fours = (Cat(flags[:: 1 << log], Const(0, size - (size >> log))) for log in (1, 2))
        m.d.comb += [result.values.eq(Cat(values)), result.mask.eq(by_width(width, flags, pairs, fours))]


RECORDS = (
    Unit(
        name="vector_alu",
        config_type=VectorAluConfig,
        build=VectorAlu,
        summary="AIE-ML v2: add, compare, minimum, maximum, select, logic on lanes of a vector",
        covered=Covered(VectorAluConfig(), 200),
        judges=(Judge(60, VectorAluConfig(), 150),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("steps", r"decode\."),
            WaveGroup("first group", r"group_0\."),
            WaveGroup("groups", r"(group_|mask|flags)"),
            WaveGroup("result", r"result"),
            OUTPUT,
        ),
    ),
)
