"""Decoder of the add/compare unit: an operation's steps in a 32-bit group, and its lanes and number format.

Ref: llvm-aie for the operations and their codes.
"""

from amaranth import Module, Signal, Value
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
from bitpath.rtl.aie_ml_v2.mover.layouts import OP_BITS, REPRESENTATION_BITS, LaneWidth


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
    """A lane's value."""

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
