"""Dot product of 16 terms, added to one Dst word: the datapath of one column of the Tensix Matrix unit.

``o = round(dst + sum(src_a[k] * src_b[k] for k in range(16)))``, with the intermediate roundings of ``TensixNumerics``::

     src_a, src_b (16)                        dst
            |                                  |
        Products      multiply                 |      12-bit products, largest exponent of each group
            |  [register "multiply"]           |
        GroupSum  +  DstAlign  <---------------+      align in the group and add; shifts to the common exponent
            |  [register "sum"]                |
        DstAdd    <----------------------------+      align sums and Dst to units of 2**-23 and add
            |  [register "add"]
        DstNormalize                                  leading-zero count and normalisation shift
            |  [register "normalize"]
        DstRound                                      FP32, BF16, FP16 or INT32
            |
            o

Ref: tt-isa-documentation 3930471, MVMUL, ELWMUL, ELWADD; ttsim v1.10.0 for the bits.
"""

from functools import reduce
from operator import or_
from typing import Any

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat, Rounding
from bitpath.golden.tensix.declarations.formats import COLUMNS, DST32, PHASES
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.arithmetic.add import AddTree
from bitpath.rtl.common.arithmetic.align import Align, Dropped, MaxDistance
from bitpath.rtl.common.arithmetic.round import goes_up, increment, increment_inverted
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import (
    CLOCK,
    INPUTS,
    OUTPUT,
    Covered,
    Judge,
    Synthesised,
    Unit,
    WaveGroup,
    YardstickConfig,
    registered,
)
from bitpath.rtl.tensix.dot.layouts import Dot16Config, DotControl, MultiplierConfig, Operand, StyleCode

# Multiplier of the Tensix Matrix unit: the fields of two magnitudes that one fidelity phase selects, 7 x 5 bits.
#
# ``o = field_a * field_b``, unsigned::
#
#       magnitude bit            10  9  8  7  6  5  4  3  2  1  0
#       SrcA, float, phase[0]=0  |--------------|                     bits 10:6
#                    phase[0]=1                 |--------------|      bits 5:1; bit 0 is never multiplied
#       SrcA, integer,        0           |-----|                     bits 7:5
#                             1                    |--------------|   bits 4:0
#       SrcB, phase[1]=0         |--------------------|               bits 10:4; bit 10 of an integer is 0
#             phase[1]=1                                |----------|  bits 3:0, above three zeros
#
# Ref: tt-isa-documentation 3930471, SrcASrcB and ELWMUL.


MAGNITUDE_BITS = Operand.as_shape()["magnitude"].shape
"""Width of an operand: a float's hidden bit and 10 fraction bits, or an integer's 10 bits."""
PHASE_BITS = DotControl.as_shape()["phase"].shape
FIELD_A_BITS = 5
FIELD_B_BITS = 7
PRODUCT_BITS = FIELD_A_BITS + FIELD_B_BITS
"""Width of a product; products of floats have 10 fraction bits."""
NO_PARAMETERS = MultiplierConfig()
LOW_FIELD_B_BITS = 4
"""Width of SrcB's low field, bits 3:0."""
LOW_FIELD_B_PLACES = FIELD_B_BITS - LOW_FIELD_B_BITS
"""Left shift of the low field, so that its top bit is the top bit of the multiplied field."""


class FidelityMultiplier(wiring.Component):
    """One unsigned product of 5 by 7 bits, with the selection of its fields.

    It is combinational, with latency 0.

    Parameters
    ----------
    config : empty; every unit has a configuration.

    Members
    -------
    src_a, src_b : In(11), magnitudes of operands; bit 10 of an integer in SrcB must be 0
    phase : In(2), bit 0 selects the field of SrcA and bit 1 the field of SrcB
    is_integer : In(1), 1 for integers, 0 for floats
    o : Out(12)
    """

    clocked = False

    def __init__(self, config: MultiplierConfig = NO_PARAMETERS):
        self.config = config
        super().__init__(
            {
                "src_a": In(MAGNITUDE_BITS),
                "src_b": In(MAGNITUDE_BITS),
                "phase": In(PHASE_BITS),
                "is_integer": In(1),
                "o": Out(PRODUCT_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        a, b = self.src_a, self.src_b
        low_a, low_b = self.phase[0], self.phase[1]
        # An AND-OR of four fields is smaller than two levels of multiplexers.
        fields_a = (
            (self.is_integer & low_a, a[0:5]),
            (self.is_integer & ~low_a, a[5:8]),
            (~self.is_integer & low_a, a[1:6]),
            (~self.is_integer & ~low_a, a[6:11]),
        )
        field_a = Signal(FIELD_A_BITS)
        field_b = Signal(FIELD_B_BITS)
        m.d.comb += [
            field_a.eq(reduce(or_, (field & chosen.replicate(len(field)) for chosen, field in fields_a))),
            field_b.eq(Mux(low_b, Cat(Const(0, LOW_FIELD_B_PLACES), b[:LOW_FIELD_B_BITS]), b[4:11])),
            self.o.eq(field_a * field_b),
        ]
        return m


# Step 1 of the Tensix dot product: multiply, and find the largest exponent of each group.
#
# ``product[k] = (-1)**sign * magnitude * 2**-10 * 2**(exponent_a + exponent_b + base)``::
#
#                      10  9               0                    11 10  9               0
#       src magnitude   1  . fraction (10)       product         x  x . fraction (10)         12 bits, below 4
#
#       base = rebias - 5 * phase[0] - 7 * phase[1]         rebias = BF16, TF32   -127
#       exponents[g] = max(0, largest sum of the group + base)       FP16         -15 (16-bit Dst), 127 - 2 * 15
#       shift[k] = largest sum of the group - sum[k]
#
# Ref: tt-isa-documentation 3930471, SrcASrcB, for fields and phases; ttsim v1.10.0 for the exponents of zeros.


EXPONENT_BITS = 9
"""Width of a sum of two biased exponents, at most 510; a group exponent is 0 to 383."""
HALF_BIAS, SINGLE_BIAS = 15, 127
"""Biases of 5-bit and 8-bit exponents."""
PHASE_WEIGHTS = (5, 7)
"""Bit 0 and bit 1 of the phase lower the exponent of a product by 5 and by 7."""
BASE_BITS = EXPONENT_BITS + 1
"""Signed width of ``base``: at least -127 - 5 - 7, at most 127 - 15."""


def product_layout(numerics: TensixNumerics) -> data.StructLayout:
    """Return a product in units of 2**-10, with the shift that aligns it to its group exponent."""
    # At this shift all product bits are sticky, so the product rounds to 0 in every mode: longer shifts saturate to it.
    vanishing = PRODUCT_BITS + numerics.product_guard_bits + 1
    return data.StructLayout({"magnitude": PRODUCT_BITS, "sign": 1, "shift": ceil_log2(vanishing + 1)})


class Products(wiring.Component):
    """16 products with their alignment shifts, and the exponents of their groups.

    ``control.add`` replaces products 0 and 1 by the operands of lane 0; the other lanes must hold zeros.

    The maximum compares sums of operand exponents, before ``base`` is added, and ignores products of a zero. Such a product has
    the exponent ``max(base, 0)`` or 0. It cannot win: where ``base > 0`` every other product is larger, and where ``base <= 0``
    the group exponent is 0 either way. A group of zeros alone is known by its maximum of 0.

    It is combinational, with latency 0.

    Parameters
    ----------
    numerics : group size, guard bits and the exponents of empty and zero products.

    Members
    -------
    src_a, src_b : In(ArrayLayout(Operand, 16)); a zero has magnitude 0 and exponent 0, an integer a clear top bit
        and exponent 0
    control : In(DotControl)
    products : Out(ArrayLayout(product_layout, 16))
    exponents : Out(ArrayLayout(9, groups)), 0 for an empty group
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        self.product = product_layout(numerics)
        super().__init__(
            {
                "src_a": In(data.ArrayLayout(Operand, COLUMNS)),
                "src_b": In(data.ArrayLayout(Operand, COLUMNS)),
                "control": In(DotControl),
                "products": Out(data.ArrayLayout(self.product, COLUMNS)),
                "exponents": Out(data.ArrayLayout(EXPONENT_BITS, COLUMNS // numerics.group)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        numerics, group = self.numerics, self.numerics.group
        sums, counts, zeros = self._multiply(m, platform)
        base, empty_exponent = self._bias(m)
        shift_bits = self.product["shift"].shape
        for g in range(COLUMNS // group):
            lanes = range(g * group, (g + 1) * group)
            largest = instantiate(m, platform, f"largest_{g}", MaxDistance, group, EXPONENT_BITS, shift_bits)
            m.d.comb += largest.counts.eq(counts[lanes.start : lanes.stop])
            for k in lanes:
                # The shift of a zero product is arbitrary; a product that the maximum ignores is zero.
                m.d.comb += [
                    largest.i[k - lanes.start].eq(sums[k]),
                    self.products[k].shift.eq(largest.shifts[k - lanes.start]),
                ]
            rebiased = Signal(signed(BASE_BITS + 1), name=f"rebiased_{g}")
            m.d.comb += rebiased.eq(largest.o + base)
            with m.If(largest.o.any()):
                m.d.comb += self.exponents[g].eq(Mux(rebiased > 0, rebiased, 0))
            with m.Elif(numerics.empty_terms_in_maximum | self.control.add | zeros[lanes.start : lanes.stop].any()):
                m.d.comb += self.exponents[g].eq(empty_exponent)
        return m

    def _multiply(self, m: Module, platform: Any) -> tuple[data.View, Value, Value]:
        """Drive the products; return the exponent sums, those that take part in the maximum, and the zero products."""
        control = self.control
        integer = control.style == StyleCode.INT8
        sums = Signal(data.ArrayLayout(EXPONENT_BITS, COLUMNS))
        counts, zeros = Signal(COLUMNS), Signal(COLUMNS)
        addends = (self.src_a[0], self.src_b[0])
        for k in range(COLUMNS):
            a, b, product = self.src_a[k], self.src_b[k], self.products[k]
            multiply = instantiate(m, platform, f"multiply_{k}", FidelityMultiplier)
            m.d.comb += [
                multiply.src_a.eq(a.magnitude),
                multiply.src_b.eq(b.magnitude),
                multiply.phase.eq(control.phase),
                multiply.is_integer.eq(integer),
                product.magnitude.eq(multiply.o),
                product.sign.eq(a.sign ^ b.sign),
                zeros[k].eq(~(a.magnitude[-1] & b.magnitude[-1])),
                sums[k].eq(a.exponent + b.exponent),
                # Integers have exponent 0 and all take part, so their shifts are 0.
                counts[k].eq(integer | (~zeros[k] & (self.numerics.empty_terms_in_maximum | multiply.o.any()))),
            ]
            if k < len(addends):
                addend = addends[k]
                with m.If(control.add):
                    m.d.comb += [
                        product.magnitude.eq(addend.magnitude),
                        product.sign.eq(addend.sign),
                        sums[k].eq(addend.exponent),
                        # A zero addend has exponent 0 and cannot raise the maximum.
                        counts[k].eq(1),
                    ]
        return sums, counts, zeros

    def _bias(self, m: Module) -> tuple[Value, Value]:
        """Return ``base`` and the exponent of a group of zeros."""
        control = self.control
        widening = Signal()  # 5-bit source exponents, 8-bit Dst exponent
        product_base = Signal(signed(BASE_BITS))
        base = Signal(signed(BASE_BITS))
        empty_exponent = Signal(EXPONENT_BITS)
        half = control.style == StyleCode.FP16
        rebias = Mux(half, Mux(control.dst32, SINGLE_BIAS - 2 * HALF_BIAS, -HALF_BIAS), -SINGLE_BIAS)
        weights = (Mux(bit, weight, 0) for bit, weight in zip(control.phase, PHASE_WEIGHTS, strict=True))
        kept = control.add | Const(self.numerics.zero_terms_keep_bias)
        m.d.comb += [
            widening.eq(half & control.dst32),
            product_base.eq(rebias - sum(weights)),
            base.eq(Mux(control.add, Mux(widening, SINGLE_BIAS - HALF_BIAS, 0), product_base)),
            # Two zero addends get the exponent of a product of zeros in phase 0.
            empty_exponent.eq(Mux(widening & kept, Mux(control.add, SINGLE_BIAS - 2 * HALF_BIAS, product_base), 0)),
        ]
        return base, empty_exponent


# Step 2 of the Tensix dot product: align the products of one group, round them and add them.
#
# ``o = sum((-1)**sign * round(magnitude * 2**G / 2**shift))`` in units of ``2**-(10 + G)`` at the group exponent, with ``G``
# product guard bits::
#
#       2**1   2**0     2**-1 ... 2**-10   2**-11 ... 2**-(10+G)    next bit    below
#       |<-------- kept: 12 + G bits, an AddTree term ---------->|  |guard|   |sticky|
#
# Ref: ttsim v1.10.0.


class GroupSum(wiring.Component):
    """The sum of one group of products, each rounded to ``numerics.product_guard_bits`` below its 10 fraction bits.

    Addends of ELWADD are rounded to 10 fraction bits, without guard bits. It is combinational, with latency 0.

    Parameters
    ----------
    numerics : group size, product guard bits and rounding of products.

    Members
    -------
    products : In(ArrayLayout(product_layout, group))
    add : In(1), the products are addends of ELWADD
    o : Out(signed(12 + G + ceil_log2(group) + 1)), in units of ``2**-(10 + G)`` at the group exponent
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        self.product = product_layout(numerics)
        # Only a shifted product is rounded. It is below half the range, so the increment never overflows these bits.
        self.term_bits = PRODUCT_BITS + numerics.product_guard_bits
        self.tree = AddTree(numerics.group, self.term_bits)
        super().__init__(
            {
                "products": In(data.ArrayLayout(self.product, numerics.group)),
                "add": In(1),
                "o": Out(self.tree.o.shape()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        numerics, guard_bits = self.numerics, self.numerics.product_guard_bits
        m.submodules.tree = tree = self.tree
        max_shift = (1 << self.product["shift"].shape) - 1
        for k in range(numerics.group):
            product = self.products[k]
            # Kept bits and one guard bit; Dropped.STICKY adds the sticky bit below.
            shape = (self.term_bits, self.term_bits + 1, max_shift, Dropped.STICKY)
            align = instantiate(m, platform, f"align_{k}", Align, *shape)
            aligned = Signal(data.StructLayout({"sticky": 1, "guard": 1, "kept": self.term_bits}), name=f"aligned_{k}")
            m.d.comb += [
                align.i.eq(Mux(self.add, product.magnitude, product.magnitude << guard_bits)),
                align.shift.eq(product.shift),
                aligned.eq(align.o),
                tree.magnitude[k].eq(aligned.kept),
                tree.up[k].eq(
                    increment(
                        numerics.product_tie,
                        odd=aligned.kept[0],
                        guard=aligned.guard,
                        sticky=aligned.sticky,
                        negative=product.sign,
                    )
                ),
                tree.sign[k].eq(product.sign),
            ]
        m.d.comb += self.o.eq(Mux(self.add, tree.o << guard_bits, tree.o))
        return m


# Step 2 of the Tensix dot product, exponents: the common exponent of the group sums and Dst, and their alignment shifts.
#
# ``exponent = max(exponents, dst_exponent)`` and ``shift = exponent - own exponent``, saturated at 31. Fields of Dst::
#
#                           31  30 ...... 23  22 ................ 0
#       dst32               s    exponent     fraction                  FP32; in style INT8 sign and 31-bit magnitude
#       16 bits, BF16, TF32                15  14 .... 7  6 ..... 0
#                                           s   exponent  fraction
#       16 bits, FP16                      15  14 . 10  9 ....... 0
#                                           s  exponent  fraction
#
# Ref: ttsim v1.10.0; tt-isa-documentation 3930471, ELWMUL, for the weights of integer fields.


SUM_FRACTION_BITS = 23
"""Fraction bits of the addends of step 3, the precision of FP32."""
PRODUCT_FRACTION_BITS = 10
UNIT_SHIFT = SUM_FRACTION_BITS - PRODUCT_FRACTION_BITS
"""Right shift from units of 2**-10 to the integer unit, 2**-23 of the common grid."""
INTEGER_WEIGHTS = tuple((0 if phase & 1 else 5) + (-LOW_FIELD_B_PLACES if phase & 2 else 4) for phase in range(PHASES))
"""Exponents of integer products by phase; SrcB's low field is multiplied by 2**3, see `FidelityMultiplier`."""
SHIFT_BITS = 5
"""Width of a shift: a sum of 16 products is below 2**29 units, so that a shift of 31 discards all bits."""


class DstAlign(wiring.Component):
    """The largest exponent, and the shift that aligns each group sum and Dst to it.

    An empty group and a Dst of exponent 0 get the shift 31. A sum of two addends of exponent 0 is not empty, because SrcB may be
    a kept denormal, and is shifted as any other. Integers have no exponent: the weights of their fields set the shifts, and
    Dst is not shifted. It is combinational, with latency 0.

    Parameters
    ----------
    numerics : group size alone.

    Members
    -------
    exponents : In(ArrayLayout(9, groups)), 0 for an empty group
    dst : In(32), the Dst word; a 16-bit word is in the low half
    control : In(DotControl)
    exponent : Out(9), the common exponent
    shifts : Out(ArrayLayout(5, groups)), dst_shift : Out(5)
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        self.groups = COLUMNS // numerics.group
        super().__init__(
            {
                "exponents": In(data.ArrayLayout(EXPONENT_BITS, self.groups)),
                "dst": In(DST32.width),
                "control": In(DotControl),
                "exponent": Out(EXPONENT_BITS),
                "shifts": Out(data.ArrayLayout(SHIFT_BITS, self.groups)),
                "dst_shift": Out(SHIFT_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        control, dst = self.control, self.dst
        integer = control.style == StyleCode.INT8
        dst_exponent = Signal(EXPONENT_BITS)
        with m.If(control.dst32):
            m.d.comb += dst_exponent.eq(dst[23:31])
        with m.Elif(control.style == StyleCode.FP16):
            m.d.comb += dst_exponent.eq(dst[10:15])
        with m.Else():
            m.d.comb += dst_exponent.eq(dst[7:15])

        exponents = [*(self.exponents[g] for g in range(self.groups)), dst_exponent]
        largest = instantiate(m, platform, "largest", MaxDistance, len(exponents), EXPONENT_BITS, SHIFT_BITS)
        m.d.comb += self.exponent.eq(largest.o)
        shifts = []
        for k, exponent in enumerate(exponents):
            present = exponent.any() | (control.add if k == 0 else 0)
            m.d.comb += [largest.i[k].eq(exponent), largest.counts[k].eq(present)]
            shifts.append(largest.shifts[k] | (~present).replicate(SHIFT_BITS))
        weight = Mux(control.add, 0, Array(INTEGER_WEIGHTS)[control.phase])
        m.d.comb += [
            *(self.shifts[g].eq(Mux(integer, UNIT_SHIFT - weight, shifts[g])) for g in range(self.groups)),
            self.dst_shift.eq(Mux(integer, 0, shifts[-1])),
        ]
        return m


# Rounding of one addend of `DstAdd`: kept bits and increments, without the additions.
#
# ``rounded = o + once + (twice << 13)``::
#
#                  width - 1 ... 13 | 12 ............ 0 | guard | sticky
#       32-bit Dst       kept       |       kept        |   first rounding adds ``once`` at bit 0
#       16-bit Dst       kept       |  half, discarded  |   second rounding adds ``twice`` at bit 13; ``o`` has zeros below
#
# Ref: ttsim v1.10.0; tt-metal #46101 for the second rounding of a 16-bit Dst.


NARROW_DROPPED = 13
"""Fraction bits that the second rounding discards: 10 of 23 are kept."""


class RoundAddend(wiring.Component):
    """The rounding increments of an aligned addend; the adder behind it applies them.

    The second rounding rounds the result of the first one. Its increment compares the discarded bits and the first increment
    with half a unit, so that neither addition is carried out here. It is combinational, with latency 0.

    Parameters
    ----------
    width : number of kept bits.
    tie : mode of both roundings.
    pre_round : True adds the second rounding, for a 16-bit Dst.
    twos_complement : True if ``i`` is a signed number rounded down, False if it is a magnitude.

    Members
    -------
    i : In(width + 2), kept bits, guard bit, sticky bit
    negative : In(1), sign of the addend
    dst32 : In(1), no second rounding
    o : Out(width), kept bits; a negative magnitude is inverted
    once, twice : Out(1), increments at bit 0 and at bit 13
    """

    clocked = False

    def __init__(self, width: int, tie: Rounding, pre_round: bool, twos_complement: bool):
        self.width, self.tie, self.pre_round, self.twos_complement = width, tie, pre_round, twos_complement
        super().__init__(
            {
                "i": In(width + 2),
                "negative": In(1),
                "dst32": In(1),
                "o": Out(width),
                "once": Out(1),
                "twice": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        sticky, guard, kept = self.i[0], self.i[1], self.i[2:]
        number = {"negative": self.negative, "twos_complement": self.twos_complement}
        up = Signal()
        m.d.comb += up.eq(increment(self.tie, odd=kept[0], guard=guard, sticky=sticky, **number))
        # -(x + up) = ~x + (1 - up), at the weight of either increment; a signed number is not inverted.
        inverted = Const(0) if self.twos_complement else self.negative
        value = kept ^ inverted.replicate(self.width)
        if not self.pre_round:
            m.d.comb += [self.o.eq(value), self.once.eq(up ^ inverted)]
            return m

        # Discarded bits plus the first increment against half a unit, the highest discarded bit.
        dropped, odd = kept[: NARROW_DROPPED - 1], kept[NARROW_DROPPED]
        half = kept[NARROW_DROPPED - 1]
        tie_up = goes_up(self.tie, odd=odd, **number)
        up_again = Signal()
        m.d.comb += [
            up_again.eq((half & (dropped.any() | up | tie_up)) | (dropped.all() & up & tie_up)),
            self.o.eq(Cat(value[:NARROW_DROPPED] & self.dst32.replicate(NARROW_DROPPED), value[NARROW_DROPPED:])),
            self.once.eq(self.dst32 & (up ^ inverted)),
            self.twice.eq(~self.dst32 & (up_again ^ inverted)),
        ]
        return m


# Step 3 of the Tensix dot product: align the group sums and Dst to the common exponent, round them and add them.
#
# ``o = sum(round(sums[g] / 2**shifts[g])) + round(dst / 2**dst_shift)`` in units of 2**-23. The window of the addends, with
# groups of 8 and ``G`` product guard bits::
#
#       2**5 ..... 2**0  2**-1 ..... 2**-10  2**-11 ............. 2**-23 | guard | sticky
#       |<-- group sum: sum_width bits -- G guard bits -->|<-- zeros -->|          before its shift
#                     1   fraction of FP32, or of BF16 and FP16 and zeros          Dst before its shift
#                                          |<- NARROW_DROPPED: 13 bits ->|         cleared by the second rounding, 16-bit Dst
#
#       total (33 bits, signed) = addends + increments at 2**-23 + increments at 2**-10
#
# Ref: ttsim v1.10.0; tt-metal #46101 for the second rounding of a 16-bit Dst.


SIGNIFICAND_BITS = FP32.precision
"""Width of the significand of Dst: the hidden bit and 23 fraction bits of FP32."""
INTEGER_BITS = DST32.width - 1
"""Width of the magnitude of an integer Dst."""
TOTAL_BITS = DST32.width + 1
"""Signed width of the sum: a 31-bit integer Dst plus products below 2**22, or floats below 2**29."""


def total_layout(width: int) -> data.StructLayout:
    """Return a sum in ones' complement: ``value``, or ``-(value + 1)`` if ``sign``. The rounding step adds the missing unit."""
    return data.StructLayout({"value": width, "sign": 1})


class DstAdd(wiring.Component):
    """The sum of the group sums and Dst, each rounded to the common grid.

    With a 16-bit Dst and ``numerics.pre_round`` every addend is rounded once more, to 10 fraction bits. One adder takes the
    addends and all rounding increments. It is combinational, with latency 0.

    Parameters
    ----------
    numerics : group size, product guard bits, rounding of the addends.
    sum_width : width of a group sum, which has ``10 + product_guard_bits`` fraction bits.

    Members
    -------
    sums : In(ArrayLayout(signed(sum_width), groups))
    shifts : In(ArrayLayout(5, groups)), dst_shift : In(5)
    dst : In(32), the Dst word
    control : In(DotControl)
    o : Out(total_layout(32))
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics, sum_width: int):
        self.numerics, self.sum_width, self.groups = numerics, sum_width, COLUMNS // numerics.group
        super().__init__(
            {
                "sums": In(data.ArrayLayout(signed(sum_width), self.groups)),
                "shifts": In(data.ArrayLayout(SHIFT_BITS, self.groups)),
                "dst": In(DST32.width),
                "dst_shift": In(SHIFT_BITS),
                "control": In(DotControl),
                "o": Out(total_layout(TOTAL_BITS - 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        numerics = self.numerics
        max_shift = (1 << SHIFT_BITS) - 1
        # Zeros fill the window from the guard bits of the sum down to 2**-23.
        sum_bits = self.sum_width + UNIT_SHIFT - numerics.product_guard_bits
        addends, once, twice = [], [], []
        for g in range(self.groups):
            shape = (self.sum_width, sum_bits + 1, max_shift, Dropped.STICKY)
            align = instantiate(m, platform, f"align_{g}", Align, *shape, twos_complement=True)
            rounder = instantiate(
                m, platform, f"round_{g}", RoundAddend, sum_bits, numerics.sum_tie, numerics.pre_round, True
            )
            m.d.comb += [
                align.i.eq(self.sums[g]),
                align.shift.eq(self.shifts[g]),
                rounder.negative.eq(self.sums[g][-1]),
            ]
            self._connect(m, rounder, align)
            # Sign extension: -s * 2**n = (1 - s) * 2**n - 2**n. Add the inverted sign bit; one constant subtracts all 2**n.
            addends.append(Cat(rounder.o[:-1], ~rounder.o[-1]))
            once.append(rounder.once)
            twice.append(rounder.twice)

        significand, sign = self._read_dst(m)
        shape = (SIGNIFICAND_BITS, SIGNIFICAND_BITS + 1, max_shift, Dropped.STICKY)
        align = instantiate(m, platform, "align_dst", Align, *shape)
        rounder = instantiate(
            m, platform, "round_dst", RoundAddend, SIGNIFICAND_BITS, numerics.dst_tie, numerics.pre_round, False
        )
        m.d.comb += [align.i.eq(significand), align.shift.eq(self.dst_shift), rounder.negative.eq(sign)]
        self._connect(m, rounder, align)
        integer = self.control.style == StyleCode.INT8
        above = self.dst[SIGNIFICAND_BITS:INTEGER_BITS] & integer.replicate(INTEGER_BITS - SIGNIFICAND_BITS)
        addends.append(Cat(rounder.o, above ^ sign.replicate(len(above)), ~sign))
        once.append(rounder.once)
        twice.append(rounder.twice)

        addends += [*once, *(step << NARROW_DROPPED for step in twice)]
        total = Signal(signed(TOTAL_BITS))
        m.d.comb += [
            total.eq(sum(addends[1:], addends[0]) - (self.groups << sum_bits - 1) - (1 << INTEGER_BITS)),
            self.o.sign.eq(total[-1]),
            self.o.value.eq(total[:-1] ^ total[-1].replicate(TOTAL_BITS - 1)),
        ]
        return m

    def _connect(self, m: Module, rounder: RoundAddend, align: Align) -> None:
        m.d.comb += [rounder.i.eq(align.o), rounder.dst32.eq(self.control.dst32)]

    def _read_dst(self, m: Module) -> tuple[Value, Value]:
        """Return the sign of Dst and its significand, or the low 24 bits of an integer."""
        dst, style = self.dst, self.control.style
        significand = Signal(SIGNIFICAND_BITS)
        sign = Signal()
        m.d.comb += sign.eq(dst[BF16.width - 1])
        with m.If(self.control.dst32):
            hidden = Mux(style == StyleCode.INT8, dst[SUM_FRACTION_BITS], 1)
            m.d.comb += [significand.eq(Cat(dst[:SUM_FRACTION_BITS], hidden)), sign.eq(dst[FP32.width - 1])]
        with m.Elif(style == StyleCode.FP16):
            m.d.comb += significand.eq(_padded(dst[: FP16.fraction_bits]))
        with m.Else():
            m.d.comb += significand.eq(_padded(dst[: BF16.fraction_bits]))
        return significand, sign


def _padded(fraction: Value) -> Value:
    """Return a significand of 24 bits: the hidden bit, a shorter fraction, and zeros."""
    return Cat(Const(0, SUM_FRACTION_BITS - len(fraction)), fraction, 1)


# Step 4 of the Tensix dot product: normalisation shift of the sum, and the exponent of its leading bit.
#
# ``o.value = i.value << zeros``, ``o.exponent = exponent + 5 - zeros``, with the leading-zero count ``zeros``::
#
#       bit      28 ...... 23   22 ............................ 0
#       weight   2**5 ... 2**0  2**-1 ..................... 2**-23       i.value, common exponent
#                0 0 0 1 x x x x x x x x x x x x x x x x x x x x x
#                1 x x x x x x x x x x x x x x x x x x x x x s s s       o.value: copies of the sign fill the free bits
#
# Ref: ttsim v1.10.0; tt-metal #38306 for the wrong result of a sum of -1 unit.


FLOAT_BITS = 29
"""Width of a float sum's magnitude: 16 products of at most 31 * 127 units of 2**-10, and a Dst below 2."""
NORMALIZE_BITS = ceil_log2(FLOAT_BITS)
"""Width of the leading-zero count, 0 to 28 of a nonzero value."""
LEADING_WEIGHT = FLOAT_BITS - 1 - SUM_FRACTION_BITS
"""Weight of the highest bit as an exponent above the common one."""
QUIRK_BINADES = 4
"""Wormhole writes a sum of -1 unit at exponent E as -2**(E + 4)."""

NORMAL = data.StructLayout({"value": FLOAT_BITS, "exponent": signed(EXPONENT_BITS + 2), "sign": 1, "zero": 1})
"""A normalised sum: the highest bit of ``value`` is set unless ``zero``, and ``exponent`` is that bit's, biased.

Its magnitude is ``value + sign``, in units of bit 0.
"""


class DstNormalize(wiring.Component):
    """Leading-zero count and left shift in one: one level for each bit of the shift, from the largest down.

    The free bits take copies of the sign. ``i`` is a ones' complement, whose magnitude is ``value + sign``; the fill keeps the
    missing unit at bit 0 of the shifted value. It is combinational, with latency 0.

    Parameters
    ----------
    numerics : ``minus_one_quirk`` alone.

    Members
    -------
    i : In(total_layout(29)), in units of 2**-23
    exponent : In(9), the common biased exponent
    dst32 : In(1)
    o : Out(NORMAL)
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        super().__init__(
            {"i": In(total_layout(FLOAT_BITS)), "exponent": In(EXPONENT_BITS), "dst32": In(1), "o": Out(NORMAL)}
        )

    def elaborate(self, platform):
        m = Module()
        value, zeros = self.i.value, []
        for level in reversed(range(NORMALIZE_BITS)):
            amount = 1 << level
            empty = Signal(name=f"empty_{level}")
            shifted = Signal(FLOAT_BITS, name=f"shifted_{level}")
            m.d.comb += [
                empty.eq(~value[-amount:].any()),
                shifted.eq(Mux(empty, Cat(self.i.sign.replicate(amount), value[:-amount]), value)),
            ]
            value = shifted
            zeros.insert(0, empty)
        # Range: 5 for no leading zero, -26 for 31 (a value of 0).
        leading = Signal(signed(NORMALIZE_BITS + 1))
        m.d.comb += leading.eq(LEADING_WEIGHT - Cat(zeros))
        if self.numerics.minus_one_quirk:
            # The ones' complement of -1 unit is 0: the shift fills all bits with the sign, and rounding carries out of
            # bit 28, which adds the last binade.
            with m.If(self.dst32 & (Cat(zeros) == FLOAT_BITS)):
                m.d.comb += leading.eq(QUIRK_BINADES - 1)
        m.d.comb += [
            self.o.value.eq(value),
            self.o.exponent.eq(self.exponent + leading),
            self.o.sign.eq(self.i.sign),
            self.o.zero.eq(~value[-1]),
        ]
        return m


# Step 5 of the Tensix dot product: round the normalised sum to a Dst word.
#
# ``o = sign, exponent, fraction`` of FP32, BF16 or FP16, or sign and magnitude of INT32. Rounding positions in ``normal.value``::
#
#       bit    28   27 ... 21   20    19   18    17    16 ...... 5    4    3 ... 0
#       FP32    1   fraction, 23 bits ------------------------->|  guard   sticky
#       FP16    1   fraction, 10 bits -------->| guard   sticky ->
#       BF16    1   fraction, 7 |  guard  sticky ->
#
# Ref: ttsim v1.10.0; tt-isa-documentation 3930471, Dst, for the formats.


FRACTION = FLOAT_BITS - FP32.precision
"""Bit of a normalised sum that holds FP32's last fraction bit."""
HALF_UNUSED, BF16_UNUSED = (FP32.fraction_bits - fmt.fraction_bits for fmt in (FP16, BF16))
"""Low fraction bits of FP32 that FP16 and BF16 discard."""


class DstRound(wiring.Component):
    """A normalised sum as FP32, BF16 or FP16, or an integer as INT32 in sign and magnitude.

    Underflow: an exponent of 0 or below gives +0. Overflow: FP32 and BF16 give infinity, FP16 its largest code, and integers
    saturate. One adder serves all formats: it applies the rounding increment and negates a negative integer.

    It is combinational, with latency 0.

    Parameters
    ----------
    numerics : ``final_tie``, the rounding of the result.

    Members
    -------
    normal : In(NORMAL)
    total : In(32), ``value`` of an integer sum's `total_layout`; its sign is ``normal.sign``
    control : In(DotControl)
    o : Out(32), a 16-bit word in the low half
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        super().__init__(
            {"normal": In(NORMAL), "total": In(INTEGER_BITS + 1), "control": In(DotControl), "o": Out(DST32.width)}
        )

    def elaborate(self, platform):
        m = Module()
        normal, control = self.normal, self.control
        is_integer = control.style == StyleCode.INT8
        is_half = ~control.dst32 & (control.style == StyleCode.FP16)
        is_bf16 = ~control.dst32 & ~is_half

        # A carry out of the fraction increments the exponent, as the rounded number requires.
        number = Cat(normal.value[FRACTION:-1], normal.exponent)
        step = Mux(is_integer, normal.sign, control.dst32 & self._step(FP32))
        step |= (is_half & self._step(FP16)) << HALF_UNUSED
        step |= (is_bf16 & self._step(BF16)) << BF16_UNUSED
        rounded = Signal(len(number))
        m.d.comb += rounded.eq(Mux(is_integer, self.total, number) + step)

        exponent = rounded[FP32.fraction_bits :]
        something = is_integer | ~(normal.zero | exponent[-1] | ~exponent.any())
        saturated, infinite, half_beyond = Signal(), Signal(), Signal()
        m.d.comb += [
            saturated.eq(is_integer & rounded[INTEGER_BITS]),
            # A negative exponent also sets this bit, but underflow clears the word.
            infinite.eq(~is_integer & (exponent[FP32.exponent_bits :].any() | exponent[: FP32.exponent_bits].all())),
            # Exponent 31 is a normal binade. Bit 5 alone tells overflow: sums of FP16 products stay below exponent 64.
            half_beyond.eq(exponent[FP16.exponent_bits]),
        ]
        low = (rounded[: FP32.fraction_bits] & ~_all(infinite, FP32.fraction_bits)) | _all(
            saturated, FP32.fraction_bits
        )
        wide = Cat(low, exponent[: FP32.exponent_bits] | _all(infinite | saturated, FP32.exponent_bits))
        half = rounded[HALF_UNUSED : HALF_UNUSED + FP16.width - 1] | _all(half_beyond, FP16.width - 1)
        narrow = Mux(is_half, half, wide[BF16_UNUSED:])
        word = Mux(control.dst32, Cat(wide, normal.sign), Cat(narrow, normal.sign))
        m.d.comb += self.o.eq(word & _all(something, DST32.width))
        return m

    def _step(self, fmt: FloatFormat) -> Value:
        """Return True if rounding increments the format's last fraction bit."""
        sign = self.normal.sign
        last = FRACTION + FP32.fraction_bits - fmt.fraction_bits
        odd, guard, below = self.normal.value[last], self.normal.value[last - 1], self.normal.value[: last - 1]
        # A negative magnitude lacks one unit of bit 0; it carries into the guard bit if all bits below are 1.
        sticky = Mux(sign, ~below.all(), below.any())
        return increment_inverted(self.numerics.final_tie, odd=odd, guard=guard, sticky=sticky, negative=sign)


def _all(bit: Value, width: int) -> Value:
    return bit.replicate(width)


STEPS = {
    0: (),
    1: ("sum",),
    2: ("multiply", "add"),
    3: ("multiply", "sum", "add"),
    4: ("multiply", "sum", "add", "normalize"),
}
"""The steps that pipeline registers follow, by number of stages."""


def dot16_layout() -> data.StructLayout:
    """Return the operands of one dot product; a 16-bit ``dst`` word is in the low half."""
    side = data.ArrayLayout(Operand, COLUMNS)
    return data.StructLayout({"src_a": side, "src_b": side, "dst": DST32.width, "control": DotControl})


class Dot16(wiring.Component):
    """One dot product, or one sum of two operands, in one fidelity phase.

    ``control.add`` selects ``o = dst + src_a[0] + src_b[0]``; the other lanes must then hold zeros. ELWMUL is the dot product
    with zeros in lanes 1 to 15. Style INT8 requires ``control.dst32``.

    Latency is ``config.pipeline.stages`` cycles, 0 to 4, and throughput is one result a cycle. Back-pressure: all stages stall
    while a result waits for ``o.ready``.

    Parameters
    ----------
    config : numerics and number of pipeline stages.

    Members
    -------
    i : In(stream of dot16_layout)
    o : Out(stream of 32 bits), the new Dst word; a 16-bit word is in the low half
    """

    def __init__(self, config: Dot16Config):
        self.config = config
        super().__init__({"i": In(stream.Signature(dot16_layout())), "o": Out(stream.Signature(DST32.width))})

    def elaborate(self, platform):
        m = Module()
        numerics, i = self.config.numerics, self.i.p
        groups = COLUMNS // numerics.group
        registers = PipelineRegisters(m, STEPS[self.config.pipeline.stages], valid=self.i.valid, ready=self.o.ready)

        m.submodules.multiply = multiply = Products(numerics)
        m.d.comb += [multiply.src_a.eq(i.src_a), multiply.src_b.eq(i.src_b), multiply.control.eq(i.control)]
        products, exponents, dst, control = registers.hold(
            "multiply", products=multiply.products, exponents=multiply.exponents, dst=i.dst, control=i.control
        )

        m.submodules.dst_align = align = DstAlign(numerics)
        m.d.comb += [align.exponents.eq(exponents), align.dst.eq(dst), align.control.eq(control)]
        group_sums = []
        for g in range(groups):
            group_sum = instantiate(m, platform, f"group_sum_{g}", GroupSum, numerics)
            for k in range(numerics.group):
                m.d.comb += group_sum.products[k].eq(products[g * numerics.group + k])
            m.d.comb += group_sum.add.eq(control.add)
            group_sums.append(group_sum.o)
        sums = Signal(data.ArrayLayout(group_sums[0].shape(), groups))
        m.d.comb += [sums[g].eq(group_sum) for g, group_sum in enumerate(group_sums)]
        sums, shifts, dst, dst_shift, exponent, control = registers.hold(
            "sum",
            sums=sums,
            shifts=align.shifts,
            dst=dst,
            dst_shift=align.dst_shift,
            exponent=align.exponent,
            control=control,
        )

        m.submodules.dst_add = add = DstAdd(numerics, len(group_sums[0]))
        m.d.comb += [
            add.sums.eq(sums),
            add.shifts.eq(shifts),
            add.dst.eq(dst),
            add.dst_shift.eq(dst_shift),
            add.control.eq(control),
        ]
        total, exponent, control = registers.hold("add", total=add.o, exponent=exponent, control=control)

        m.submodules.dst_normalize = normalize = DstNormalize(numerics)
        m.d.comb += [
            normalize.i.value.eq(total.value),
            normalize.i.sign.eq(total.sign),
            normalize.exponent.eq(exponent),
            normalize.dst32.eq(control.dst32),
        ]
        normal, total, control = registers.hold("normalize", normal=normalize.o, total=total.value, control=control)

        m.submodules.dst_round = rounder = DstRound(numerics)
        m.d.comb += [
            rounder.normal.eq(normal),
            rounder.total.eq(total),
            rounder.control.eq(control),
            self.o.p.eq(rounder.o),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m


FLOOR = ("16 bare 7x5-bit multipliers", YardstickConfig(count=16, a_bits=7, b_bits=5))


TENSIX_DOT_GROUPS = (
    WaveGroup("fields and products", r"(dot\.)?multiply\.(multiply_|products)"),
    WaveGroup("group exponents and shifts", r"(dot\.)?(multiply\.|multiply_exponents)"),
    WaveGroup("group sums", r"(dot\.)?(group_sum_|multiply_|sums)"),
    WaveGroup("align to Dst", r"(dot\.)?(dst_align|sum_)"),
    WaveGroup("add Dst", r"(dot\.)?(dst_add|add_)"),
    WaveGroup("normalize", r"(dot\.)?(dst_normalize|normalize_)"),
    WaveGroup("round", r"(dot\.)?dst_round"),
)


RECORDS = (
    Unit(
        name="dot16",
        config_type=Dot16Config,
        build=Dot16,
        summary="Tensix: 16 products, added to a Dst word; the sum of two operands",
        default=Dot16Config(pipeline=registered(3)),
        covered=Covered(Dot16Config(pipeline=registered(3)), 500),
        judges=(Judge(20, Dot16Config()),),
        synthesised=(Synthesised("dot16, four styles, both Dst widths", Dot16Config(), 16, *FLOOR),),
        waves=(CLOCK, INPUTS, *TENSIX_DOT_GROUPS, OUTPUT),
    ),
    Unit(
        name="fidelity_multiplier",
        config_type=MultiplierConfig,
        build=FidelityMultiplier,
        summary="Tensix: 7x5-bit multiplier and its fields",
        covered=Covered(MultiplierConfig(), 0),
        judges=(Judge(2, MultiplierConfig()),),
    ),
)
