"""Multiply-accumulate lane: the products of one beat and two accumulators in one fused addition.

``o = round(+-sum(x[k] * y[k]) +- acc1 +- acc2)`` for floats and MX; integers wrap modulo 2**32::

     operands                                         cycle
        |  [register "permuted"]                        2
     Products          multiply; add exponents          3
        |  [register "multiplied"]
        +------------------------+
     PostAdd, BlockTerms     FloatTerms                 4
     (integers, MX)              |  [register "float"]
        +------------------------+
     Compare  <-- acc1, acc2     largest exponent       4, floats 5
        |  [register "compared"]
     AlignToMax        shift to the largest exponent    5, floats 6
     Accumulate        add
        |  [register "added"]
     NormalizeFp32     FP32; integers bypass it         6, floats 7
        |
        o

The window of the addition, with F = ``align_fraction_bits`` (20 to 26; 23 in the reference preset), whose bit 0 weighs
``2**(exponent - 255 - F)`` for the largest exponent code::

      F+7 | F+6 ... F+1  F | F-1 ... F-14 ... F-20 ...  0 | G S
     -----+----------------+------------------------------+-----
     sign |  integer bits  |        fraction bits         | guard and sticky bit of each summand
          |<------ MX block pair ------->|                | magnitude at most 64, 14 fraction bits
          |         |<------ float product ----->|        | below 4, 20 fraction bits
          |              |<-------- accumulator --------->| below 2, 23 fraction bits

Each summand is shifted right by its distance to the largest exponent and rounded at bit 0. The sum of the rounded summands is
exact, and ``NormalizeFp32`` rounds it once to FP32. 8 bits above the fraction hold the sum: below 128, and a sign.

Latency: 4 cycles for integers and MX (from MX9's second beat), 5 for floats. Throughput: one beat a cycle; an MX9
instruction takes two beats, one of XDNA2's bfp16ebs8 (``config.bfp16ebs8``) takes one.

Ref: AM027, chapter 4, for the stages; llvm-aie, AIE2PSGenSchedule.td, for the cycles.
"""

from typing import Any

from amaranth import Cat, Const, EnableInserter, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import TIMINGS, Datapath
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.mac.compare import ACCUMULATOR_OFFSET, ACCUMULATORS, Compare, used_accumulators
from bitpath.rtl.aie_ml_v2.mac.config import (
    CHAINED_SUM_BITS,
    DEPTH,
    EXPONENT_BITS,
    FLOAT_FRACTION_BITS,
    FLOAT_MODES,
    LANE_BITS,
    LaneOperands,
    MacControl,
    MacLaneConfig,
    MacMode,
    TermPlan,
    is_one_of,
)
from bitpath.rtl.aie_ml_v2.mac.post_add import INT16_PRODUCTS, TERM_BITS, PostAdd
from bitpath.rtl.aie_ml_v2.mac.products import Products, ProductWords
from bitpath.rtl.common.arithmetic.add import AddTree
from bitpath.rtl.common.arithmetic.align import Align, Dropped
from bitpath.rtl.common.arithmetic.decode import SPECIAL, raw_sum
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.round import RoundIncrement
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Synthesised, Unit, WaveGroup, YardstickConfig

INTEGER_MODES = (MacMode.INT8, MacMode.INT16)


MX9_LANE = MacLaneConfig(modes=(MacMode.MX9,))
"""A lane that supports MX9 only."""


MX_FRACTION_BITS = 14
"""Fraction bits of an MX term: 6 of each MX9 factor, and 2 for the shift bits."""


# Normalisation of a lane's sum: leading-zero count, normalisation shift, rounding to FP32 (cycle 6, floats 7)::
#
#      |total|   0 ... 0 | 1 fraction: 23 bits | G | sticky ...     window of total_bits - 1 bits
#                        |<--- 24 kept bits -->|
#
# The exponent field is ``exponent - 128 - F + (place of the leading 1)`` with F = ``align_fraction_bits``, plus the rounding
# carry. Rounding comes before the range check: a field of 0 or less is flushed to zero, 255 or more gives infinity. A sum
# of 0 is +0, NaN is canonical; combinational.
#
# Ref: AM027, chapter 4, which calls it FPNORM.


WEIGHT_BITS = EXPONENT_BITS + 2
"""11 signed bits hold bit 0's exponent field: at least ``0 - 128 - 26`` and at most 511, with room to normalise."""


class NormalizeFp32(wiring.Component):
    """FP32 code of a sum, rounded to 24 bits; results below the normal numbers are flushed; combinational.

    Parameters
    ----------
    config : MacLaneConfig, the numerics and the supported modes.

    Members
    -------
    total : In(signed(total_bits))
    exponent : In(9), the largest exponent code
    special : In(SPECIAL), NaN or infinity, which override the sum
    o : Out(32), FP32
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.numerics = config.numerics
        self.plan = TermPlan(config)
        super().__init__(
            {
                "total": In(signed(self.plan.total_bits)),
                "exponent": In(EXPONENT_BITS),
                "special": In(SPECIAL),
                "o": Out(FP32.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        numerics = self.numerics
        number = raw_sum(self.plan.total_bits - 1, WEIGHT_BITS)
        m.submodules.leading = leading = Normalize(number, FP32.precision)
        decide = instantiate(m, platform, "decide", RoundIncrement, RoundingCode, twos_complement=False)
        normal = leading.o
        rounded = Signal(FP32.precision + 1)
        field = Signal(signed(len(normal.exponent) + 1))
        m.d.comb += [
            leading.i.magnitude.eq(abs(self.total)),
            leading.i.sign.eq(self.total[-1]),
            # The biased exponent of bit 0; Normalize adds the place of the leading 1.
            leading.i.exponent.eq(self.exponent - (ACCUMULATOR_OFFSET + numerics.align_fraction_bits)),
            decide.mode.eq(numerics.result_rounding),
            decide.negative.eq(normal.sign),
            decide.odd.eq(normal.significand[0]),
            decide.guard.eq(normal.guard),
            decide.sticky.eq(normal.sticky),
            rounded.eq(normal.significand + decide.up),
            field.eq(normal.exponent + rounded[-1]),
        ]
        magnitude = Signal(FP32.width - 1)
        sign = Signal()
        m.d.comb += sign.eq(normal.sign)
        with m.If(self.special.nan):
            m.d.comb += [magnitude.eq(FP32.nan_code), sign.eq(0)]
        with m.Elif(self.special.inf):
            m.d.comb += [magnitude.eq(FP32.infinity_code), sign.eq(self.special.sign)]
        with m.Elif(normal.zero):
            # The sign of a zero sum is plus.
            m.d.comb += magnitude.eq(0)
        with m.Elif(field <= 0):
            m.d.comb += [magnitude.eq(0), sign.eq(normal.sign if numerics.flushed_zero_keeps_sign else Const(0))]
        with m.Elif(field >= FP32.exponent_mask):
            m.d.comb += magnitude.eq(FP32.infinity_code)
        with m.Else():
            # A rounding carry leaves a fraction of 0, so no shift is needed.
            m.d.comb += magnitude.eq(Cat(rounded[: FP32.fraction_bits], field[: FP32.exponent_bits]))
        m.d.comb += self.o.eq(Cat(magnitude, sign))
        return m


# Alignment shifter of one summand with its rounding decision.
#
# ``o + up = round(i * 2**(out_width - in_width - shift))``::
#
#      i      |in_width bits|
#      o           |  kept bits: out_width  | G | S      G guard bit, S OR of all bits below it
#             shift^


class AlignRound(wiring.Component):
    """Right shift that keeps guard and sticky bits and decides the rounding increment; combinational.

    The adder that follows applies ``up``, which saves an incrementer per summand.

    Parameters
    ----------
    in_width, out_width : bits of the magnitude and of the kept result; the highest bits align at shift 0.
    shift_bits : width of the shift.
    rounding : rounding code of crRnd.

    Members
    -------
    i : In(in_width), the magnitude
    negative : In(1), its sign
    shift : In(shift_bits)
    o : Out(out_width), the kept bits
    up : Out(1), 1 to add one unit in the last place
    """

    clocked = False

    def __init__(self, in_width: int, out_width: int, shift_bits: int, rounding: RoundingCode):
        self.in_width, self.out_width, self.shift_bits, self.rounding = in_width, out_width, shift_bits, rounding
        super().__init__(
            {"i": In(in_width), "negative": In(1), "shift": In(shift_bits), "o": Out(out_width), "up": Out(1)}
        )

    def elaborate(self, platform):
        m = Module()
        # Align keeps out_width bits and the guard bit, and appends the sticky bit.
        m.submodules.align = align = Align(
            self.in_width, self.out_width + 1, (1 << self.shift_bits) - 1, Dropped.STICKY
        )
        decide = instantiate(m, platform, "decide", RoundIncrement, RoundingCode, twos_complement=False)
        m.d.comb += [
            align.i.eq(self.i),
            align.shift.eq(self.shift),
            self.o.eq(align.o[2:]),
            decide.mode.eq(self.rounding),
            decide.negative.eq(self.negative),
            decide.odd.eq(align.o[2]),
            decide.guard.eq(align.o[1]),
            decide.sticky.eq(align.o[0]),
            self.up.eq(decide.up),
        ]
        return m


# Alignment shifters: each term and accumulator shifted right by its distance to the largest exponent, and rounded.
#
# ``magnitude + up = round(value * 2**(F - fraction_bits - shift))`` with F = ``align_fraction_bits``. One AlignRound per slot;
# the adder that follows applies ``up``::
#
#      wide slots      TermPlan.wide_bits   -> wide_aligned      MX terms and, in float modes, products
#      narrow slots    TermPlan.narrow_bits -> narrow_aligned    the other float products
#      accumulators    24-bit significands  -> narrow_aligned
#
# Combinational (cycle 5, floats 6).
#
# Ref: AM027, chapter 4, which calls it BFSHIFT; the rounding is measured on first-generation silicon.


def aligned_layout(width: int, terms: int) -> data.StructLayout:
    """Return the layout of summands ``(-1)**negative[k] * (magnitude[k] + up[k])`` on the common grid."""
    return data.StructLayout({"magnitude": data.ArrayLayout(width, terms), "up": terms, "negative": terms})


class AlignToMax(wiring.Component):
    """Aligned magnitudes and rounding increments of all terms and accumulators; combinational.

    Parameters
    ----------
    config : MacLaneConfig, the numerics and the supported modes.

    Members
    -------
    terms : In(TermPlan.terms); the exponents are ignored
    acc1, acc2 : In(32), finite FP32 codes
    control : In(MacControl)
    shifts : In(ArrayLayout(shift_bits, 8)); wide slots 8 to 15 use shift 0, the block pair's
    acc_shifts : In(ArrayLayout(shift_bits, 2))
    wide, narrow : Out(aligned_layout); the two accumulators are the last of ``narrow``
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.numerics = config.numerics
        self.plan = plan = TermPlan(config)
        super().__init__(
            {
                "terms": In(plan.terms),
                "acc1": In(LANE_BITS),
                "acc2": In(LANE_BITS),
                "control": In(MacControl),
                "shifts": In(data.ArrayLayout(plan.shift_bits, DEPTH)),
                "acc_shifts": In(data.ArrayLayout(plan.shift_bits, ACCUMULATORS)),
                "wide": Out(aligned_layout(plan.wide_aligned, plan.mx_terms)),
                "narrow": Out(aligned_layout(plan.narrow_aligned, plan.narrow + ACCUMULATORS)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        plan, terms, code = self.plan, self.terms, self.numerics.align_rounding
        wide, narrow = [], []
        for k in range(plan.slots):
            value = terms.wide[k] if k < plan.mx_terms else terms.narrow[k - plan.mx_terms]
            out_width = plan.wide_aligned if k < plan.mx_terms else plan.narrow_aligned
            align = instantiate(m, platform, f"align_{k}", AlignRound, len(value), out_width, plan.shift_bits, code)
            m.d.comb += [
                align.i.eq(value),
                align.negative.eq(terms.negative[k]),
                align.shift.eq(self.shifts[k if k < DEPTH else 0]),
            ]
            (wide if k < plan.mx_terms else narrow).append(align)
        narrow += self._accumulators(m, platform)
        for out, aligned in ((self.wide, wide), (self.narrow, narrow)):
            m.d.comb += [*(out.magnitude[k].eq(align.o) for k, align in enumerate(aligned))]
            m.d.comb += [*(out.up[k].eq(align.up) for k, align in enumerate(aligned))]
            m.d.comb += [*(out.negative[k].eq(align.negative) for k, align in enumerate(aligned))]
        return m

    def _accumulators(self, m: Any, platform: Any) -> list[wiring.Component]:
        code = self.numerics.accumulator_align_rounding
        aligned = []
        used = used_accumulators(self.control)
        negate = (self.control.negate_acc1, self.control.negate_acc2)
        for k, acc in enumerate((self.acc1, self.acc2)):
            # An accumulator is below 2, a product below 4: one integer bit less.
            width = self.plan.narrow_aligned - 1
            align = instantiate(
                m, platform, f"align_acc{k + 1}", AlignRound, FP32.precision, width, self.plan.shift_bits, code
            )
            m.d.comb += [
                align.i.eq(Mux(used[k], _significand(acc), 0)),
                align.negative.eq(acc[-1] ^ negate[k]),
                align.shift.eq(self.acc_shifts[k]),
            ]
            aligned.append(align)
        return aligned


def _significand(code: Value) -> Value:
    """Return the significand; a subnormal has no hidden bit and the exponent of the smallest normal number."""
    normal = code[FP32.fraction_bits : FP32.width - 1].any()
    return normal << FP32.fraction_bits | code[: FP32.fraction_bits]


# Final adder of a lane: aligned floating-point terms, or integers (cycle 5, floats 6).
#
# ``total = sum((-1)**negative[k] * (magnitude[k] + up[k]))``, exact in ``TermPlan.total_bits``;
# ``integer_total = +-product_sum +- (acc1 << 16 if shift16 else acc1) +- acc2`` modulo 2**32. In a lane of 64 bits, the
# lower half adds the 1s that complete the negations, and hands its carry, at most 3, to the upper half::
#
#      upper half    ~products + ~acc1 + ~acc2 + carry <--+-- lower half    ~products + ~acc1 + ~acc2 + 3
#
# Combinational.


SHIFT16 = 16
"""Left shift of acc1 that ``MacControl.shift16`` selects."""
CARRY_BITS = 2
"""2 bits hold the carry of three addends and three ones: at most 3."""


class Accumulate(wiring.Component):
    """Sum of the aligned terms, and sum of integer products and accumulators; combinational.

    Parameters
    ----------
    config : MacLaneConfig, the numerics and the supported modes.

    Members
    -------
    wide, narrow : In(aligned_layout)
    product_sum, acc1, acc2 : In(32), integers
    control : In(MacControl)
    total : Out(signed(total_bits)), the exact sum of the terms
    integer_total : Out(32), the integer sum, which wraps
    upper, carry_in, acc1_below : In(1), In(2), In(16), in a chained lane: 1 for the upper half of a 64-bit lane, which adds the
        carry and takes the bits that ``shift16`` moves up from the lower half's acc1
    carry_out : Out(2), in a chained lane
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.config = config
        self.plan = plan = TermPlan(config)
        chain = {"upper": In(1), "carry_in": In(CARRY_BITS), "acc1_below": In(SHIFT16), "carry_out": Out(CARRY_BITS)}
        super().__init__(
            {
                "wide": In(aligned_layout(plan.wide_aligned, plan.mx_terms)),
                "narrow": In(aligned_layout(plan.narrow_aligned, plan.narrow + ACCUMULATORS)),
                "product_sum": In(LANE_BITS),
                "acc1": In(LANE_BITS),
                "acc2": In(LANE_BITS),
                "control": In(MacControl),
                "total": Out(signed(plan.total_bits)),
                "integer_total": Out(LANE_BITS),
                **(chain if config.chained else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        plan, control = self.plan, self.control
        m.submodules.wide_tree = wide = AddTree(plan.mx_terms, plan.wide_aligned)
        m.submodules.narrow_tree = narrow = AddTree(plan.narrow + ACCUMULATORS, plan.narrow_aligned)
        for tree, terms in ((wide, self.wide), (narrow, self.narrow)):
            m.d.comb += [tree.magnitude.eq(terms.magnitude), tree.up.eq(terms.up), tree.sign.eq(terms.negative)]
        m.d.comb += self.total.eq(wide.o + narrow.o)

        use_acc1, use_acc2 = used_accumulators(control)
        below = self.acc1_below & self.upper.replicate(SHIFT16) if self.config.chained else Const(0, SHIFT16)
        first = Mux(control.shift16, Cat(below, self.acc1[: LANE_BITS - SHIFT16]), self.acc1)
        addends = [
            (self.product_sum, control.negate_products),
            (Mux(use_acc1, first, 0), control.negate_acc1),
            (Mux(use_acc2, self.acc2, 0), control.negate_acc2),
        ]
        inverted = [(value ^ negate.replicate(LANE_BITS))[:LANE_BITS] for value, negate in addends]
        ones = Signal(CARRY_BITS)
        total = Signal(LANE_BITS + CARRY_BITS, name="with_carry")
        negations = sum((negate for _, negate in addends[1:]), addends[0][1])
        m.d.comb += [
            ones.eq(Mux(self.upper, self.carry_in, negations) if self.config.chained else negations),
            total.eq(inverted[0] + inverted[1] + inverted[2] + ones),
            self.integer_total.eq(total),
        ]
        if self.config.chained:
            m.d.comb += self.carry_out.eq(total[LANE_BITS:])
        return m


# Float products as terms of the addition (cycle 4 of floats).
#
# Slot k takes ``|product[k]|`` in units of 2**-20 and the exponent code ``ea + eb + 1``. A zero product takes no part in the
# maximum: its code keeps only the 3 lowest bits; combinational.


KEPT_BITS = 3
"""Exponent bits that are not cleared for a zero product, which saves gates.

A code of at most 7 can be the maximum only if all codes are below 8: BF16 products without an accumulator. These have codes
of 3 or more and are multiples of 2**-14, so a shift of at most 4 discards no bit on a grid of 20 fraction bits.
"""


class FloatTerms(wiring.Component):
    """Terms of eight float products for the slots; combinational.

    Parameters
    ----------
    config : MacLaneConfig, the numerics and the supported modes.

    Members
    -------
    i : In(ProductWords)
    o : Out(TermPlan.terms)
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.numerics = config.numerics
        self.plan = TermPlan(config)
        super().__init__({"i": In(ProductWords), "o": Out(self.plan.terms)})

    def elaborate(self, platform):
        m = Module()
        plan, i, o = self.plan, self.i, self.o
        slots = [*(o.wide[k] for k in range(plan.mx_terms)), *(o.narrow[k] for k in range(plan.narrow))]
        counts = Signal(DEPTH)
        for k in range(DEPTH):
            # Float products are magnitudes, so the sign bit is 0 and is dropped.
            magnitude = i.wide[k][: plan.narrow_bits]
            low, high = i.exponents[k][:KEPT_BITS], i.exponents[k][KEPT_BITS:]
            # Bit 21 alone would be 2**21, which is no product of two 11-bit significands, so it need not be tested.
            m.d.comb += [
                counts[k].eq(i.control.multiplies if self.numerics.float_zero_term else magnitude[:-1].any()),
                slots[k].eq(magnitude),
                o.exponents[k].eq(Cat(low, high & counts[k].replicate(len(high)))),
            ]
        m.d.comb += [slot.eq(0) for slot in slots[DEPTH:]]
        m.d.comb += [
            o.negative.eq(i.negative),
            o.nan.eq(i.nan),
            o.plus_inf.eq(i.plus_inf),
            o.minus_inf.eq(i.minus_inf),
        ]
        return m


# MX products or sums of one block pair as terms of the addition (cycle 4).
#
# The terms are, by ``AieNumerics``: the pair's sum (1 term), the sums of MX9's two beats (``mx9_split_round``, 2 terms), or
# all 16 products (``mx_post_add_first`` False); of bfp16ebs8 the sum, or all 8 products. All terms of a pair share its
# exponent code ``ex + ey + 1``. Combinational; the lane registers ``to_hold`` of MX9's first beat and returns it as ``held``
# with the second.


MX_SUM_BITS = 22
"""22 bits hold a block pair's sum: at most ``16 * 2**14 * 2**2 = 2**20`` units of 2**-14, and a sign."""


def held_layout(numerics: AieNumerics) -> data.ArrayLayout:
    """Return the layout of the values held from MX9's first beat: its sum, or its 8 products."""
    if numerics.mx_post_add_first:
        return data.ArrayLayout(signed(MX_SUM_BITS), 1)
    return data.ArrayLayout(signed(TERM_BITS), DEPTH)


class BlockTerms(wiring.Component):
    """Terms of one MX block pair for the wide slots; combinational.

    The exponent code is 0, and takes no part in the maximum, if all terms are 0; with ``mx_zero_term`` a zero pair takes part
    too, unless one of its exponents is 0. The outputs are meaningless for integers, which bypass the alignment.

    Parameters
    ----------
    config : MacLaneConfig, the numerics and the supported modes.

    Members
    -------
    i : In(ProductWords), the products of the beat, for MX9 the second one
    products : In(ArrayLayout(signed(18), 16)), PostAdd's terms of the same beat
    sum : In(signed(22)), PostAdd's sum of the same beat
    held : In(held_layout), the value of MX9's first beat; not for bfp16ebs8
    to_hold : Out(held_layout), the value of this beat; not for bfp16ebs8
    o : Out(TermPlan.terms)
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.config, self.numerics = config, config.numerics
        self.plan = TermPlan(config)
        held = held_layout(config.numerics)
        of_first_beat = {} if config.bfp16ebs8 else {"held": In(held), "to_hold": Out(held)}
        super().__init__(
            {
                "i": In(ProductWords),
                "products": In(data.ArrayLayout(signed(TERM_BITS), MX_BLOCK)),
                "sum": In(signed(MX_SUM_BITS)),
                **of_first_beat,
                "o": Out(self.plan.terms),
            }
        )

    def elaborate(self, platform):
        m = Module()
        plan, i, o = self.plan, self.i, self.o
        is_mx9 = is_one_of(i.control.mode, (MacMode.MX9,), self.config.modes)
        values = self._eights() if self.config.bfp16ebs8 else self._values(m, is_mx9)
        negative = Signal(plan.slots)
        nonzero = Signal(plan.mx_terms)
        for k, value in enumerate(values):
            m.d.comb += [
                nonzero[k].eq(value.any()),
                # The magnitude keeps the sign bit's place, which -2**n needs.
                o.wide[k].eq(abs(value) << FLOAT_FRACTION_BITS - MX_FRACTION_BITS),
                negative[k].eq(value[-1] ^ i.control.negate_products),
            ]
        counts = nonzero.any()
        if self.numerics.mx_zero_term:
            counts = counts | i.ordinary
        for k in range(DEPTH):
            shared = i.exponents[0] if k < plan.mx_terms else 0
            m.d.comb += o.exponents[k].eq(Mux(counts, shared, 0))
        if plan.narrow:
            m.d.comb += o.narrow.eq(0)
        m.d.comb += [
            o.negative.eq(negative),
            o.nan.eq(i.nan),
            o.plus_inf.eq(0),
            o.minus_inf.eq(0),
        ]
        return m

    def _eights(self) -> list[Value]:
        """Return the signed terms of one beat of bfp16ebs8, which holds nothing."""
        return [self.sum] if self.numerics.mx_post_add_first else [self.products[k] for k in range(DEPTH)]

    def _values(self, m: Module, is_mx9: Value) -> list[Value]:
        """Return the signed terms and drive ``to_hold``."""
        products, held = self.products, self.held
        if not self.numerics.mx_post_add_first:
            m.d.comb += [self.to_hold[k].eq(products[k]) for k in range(DEPTH)]
            first = [products[k] for k in range(DEPTH)]
            return [*first, *(Mux(is_mx9, held[k], products[DEPTH + k]) for k in range(DEPTH))]
        m.d.comb += self.to_hold[0].eq(self.sum)
        earlier = Signal(signed(MX_SUM_BITS))
        m.d.comb += earlier.eq(Mux(is_mx9, held[0], 0))
        if self.numerics.mx9_split_round:
            return [self.sum, earlier]
        total = Signal(signed(MX_SUM_BITS))
        m.d.comb += total.eq(self.sum + earlier)
        return [total]


OPERAND_CYCLE = 2
"""The cycle in which a lane takes its operands, where the issue is cycle 1; for MX9, counted from its second beat."""
FLOAT_LATENCY = TIMINGS[Datapath.FLOAT].write - OPERAND_CYCLE
"""Cycles from a float beat's operands to its result."""
LATENCY = TIMINGS[Datapath.MX6].write - OPERAND_CYCLE
"""Cycles from the operands of an integer or MX beat, MX9's second, to its result."""
ACC_LEAD = 2
"""Cycles from an instruction's accumulators to its result."""


class ChainIn(data.Struct):
    """Inputs of one of the two lanes of 32 bits that make a lane of 64."""

    wide: 1  # with the operands: the lane is half of 64 bits, in mode INT16
    negated: INT16_PRODUCTS  # with the operands: products that are subtracted
    products: LANE_BITS  # two cycles after the operands: this half of the sum of both lanes' products
    upper: 1  # constant: the lane is the upper half
    carry: CARRY_BITS  # three cycles after the operands, in the upper half: the lower half's carry
    acc1_below: SHIFT16  # with the carry: the high bits of the lower half's acc1


class ChainOut(data.Struct):
    """Outputs of either lane, in the cycles of the inputs."""

    sum: signed(CHAINED_SUM_BITS)
    carry: CARRY_BITS
    acc1_top: SHIFT16


class MacLane(wiring.Component):
    """``o = round(+-sum(x[k] * y[k]) +- acc1 +- acc2)`` in one of six modes.

    Handshake: ``valid`` qualifies ``operands``; there is no ready and no stall. The result appears LATENCY or FLOAT_LATENCY
    cycles later. Structural hazard: do not issue an MX or integer beat in the cycle after a float beat; both results would
    appear in the same cycle. No other valid beat may come between the two beats of an MX9 instruction.

    Parameters
    ----------
    config : MacLaneConfig, the numerics and the modes that the hardware supports.

    Members
    -------
    advance : In(1), in a lane that stalls: the clock enable of all registers; cycles without it do not count
    valid : In(1)
    operands : In(LaneOperands)
    acc1, acc2 : In(32), FP32 or INT32, sampled two cycles before the result
    o : Out(32), FP32 or INT32
    chain : In(ChainIn), in a chained lane: the neighbour of a 64-bit lane
    chained : Out(ChainOut), in a chained lane
    """

    def __init__(self, config: MacLaneConfig):
        self.config = config
        self.plan = TermPlan(config)
        super().__init__(
            {
                "valid": In(1),
                "operands": In(LaneOperands),
                "acc1": In(LANE_BITS),
                "acc2": In(LANE_BITS),
                "o": Out(LANE_BITS),
                **({"chain": In(ChainIn), "chained": Out(ChainOut)} if config.chained else {}),
                **({"advance": In(1)} if config.stalls else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        products = self._multiply(m, platform)
        chain = self._chain(m) if self.config.chained else {}
        terms, control, product_sum = self._terms(m, platform, products, chain)

        compare = instantiate(m, platform, "compare", Compare, self.config)
        m.d.comb += [
            compare.terms.eq(terms),
            compare.acc1.eq(self.acc1),
            compare.acc2.eq(self.acc2),
            compare.control.eq(control),
        ]
        held = _register(
            m,
            "compared",
            terms=terms,
            control=control,
            product_sum=product_sum,
            acc1=self.acc1,
            acc2=self.acc2,
            exponent=compare.exponent,
            shifts=compare.shifts,
            acc_shifts=compare.acc_shifts,
            special=compare.special,
            **({"upper": chain["wide"] & self.chain.upper} if chain else {}),
        )

        align = instantiate(m, platform, "align", AlignToMax, self.config)
        accumulate = instantiate(m, platform, "accumulate", Accumulate, self.config)
        is_integer = is_one_of(held["control"].mode, INTEGER_MODES, self.config.modes)
        # Holds the window of the addition or a 32-bit integer sum.
        total = Signal(signed(max(self.plan.total_bits, LANE_BITS)))
        m.d.comb += [
            *(
                getattr(align, name).eq(held[name])
                for name in ("terms", "acc1", "acc2", "control", "shifts", "acc_shifts")
            ),
            *(getattr(accumulate, name).eq(held[name]) for name in ("product_sum", "acc1", "acc2", "control")),
            accumulate.wide.eq(align.wide),
            accumulate.narrow.eq(align.narrow),
            total.eq(Mux(is_integer, accumulate.integer_total, accumulate.total)),
        ]
        if self.config.chained:
            m.d.comb += [
                accumulate.upper.eq(held["upper"]),
                accumulate.carry_in.eq(self.chain.carry),
                accumulate.acc1_below.eq(self.chain.acc1_below),
                self.chained.carry.eq(accumulate.carry_out),
                self.chained.acc1_top.eq(held["acc1"][-SHIFT16:]),
            ]
        summed = _register(
            m, "added", total=total, is_integer=is_integer, exponent=held["exponent"], special=held["special"]
        )

        normalize = instantiate(m, platform, "normalize", NormalizeFp32, self.config)
        m.d.comb += [
            normalize.total.eq(summed["total"]),
            normalize.exponent.eq(summed["exponent"]),
            normalize.special.eq(summed["special"]),
            self.o.eq(Mux(summed["is_integer"], summed["total"][:LANE_BITS], normalize.o)),
        ]
        return EnableInserter(self.advance)(m) if self.config.stalls else m

    def _multiply(self, m: Module, platform: Any) -> tuple[data.View, Value]:
        """Return the registered products and their valid bit."""
        valid, operands = Signal(name="permuted_valid"), _register(m, "permuted", operands=self.operands)["operands"]
        multiply = instantiate(m, platform, "multiply", Products, self.config)
        # Needs no reset: a stale bit leaves the pipeline before a beat issued after reset reaches this stage.
        multiplied_valid = Signal(reset_less=True)
        products = _register(m, "multiplied", products=multiply.o)["products"]
        m.d.comb += multiply.i.eq(operands)
        m.d.sync += [valid.eq(self.valid), multiplied_valid.eq(valid)]
        return products, multiplied_valid

    def _chain(self, m: Module) -> dict[str, Value]:
        """Return the chain's inputs that come with the operands, in the cycle of the products."""
        inputs = {name: self.chain[name] for name in ("wide", "negated")}
        return _register(m, "chain_multiplied", **_register(m, "chain_permuted", **inputs))

    def _terms(
        self, m: Module, platform: Any, multiplied: tuple[data.View, Value], chain: dict[str, Value]
    ) -> tuple[Value, Value, Value]:
        """Return the terms to compare, their control, and the sum of integer products; floats take one more register."""
        products, valid = multiplied
        modes, mode = self.config.modes, products.control.mode
        post_add = instantiate(m, platform, "post_add", PostAdd, self.config)
        blocks = instantiate(m, platform, "block_terms", BlockTerms, self.config)
        m.d.comb += [
            post_add.i.eq(products),
            blocks.i.eq(products),
            blocks.products.eq(post_add.terms),
            blocks.sum.eq(post_add.o),
        ]
        product_sum = post_add.o[:LANE_BITS]
        if chain:
            product_sum = Mux(chain["wide"], self.chain.products, product_sum)
            negated = chain["negated"] & chain["wide"].replicate(INT16_PRODUCTS)
            m.d.comb += [post_add.negated.eq(negated), self.chained.sum.eq(post_add.o)]
        if not self.config.bfp16ebs8:
            held = Signal.like(blocks.held, name="first_half", reset_less=True)
            m.d.comb += blocks.held.eq(held)
            # Every valid beat overwrites it; only MX9's second beat, the next valid one after the first, reads it.
            with m.If(valid):
                m.d.sync += held.eq(blocks.to_hold)

        if not self.config.has(*FLOAT_MODES):
            return blocks.o, products.control, product_sum
        floats = instantiate(m, platform, "float_terms", FloatTerms, self.config)
        is_float = Signal(name="float_valid", reset_less=True)
        m.d.comb += floats.i.eq(products)
        m.d.sync += is_float.eq(valid & is_one_of(mode, FLOAT_MODES, modes))
        late = _register(m, "float", terms=floats.o, control=products.control)
        terms = Signal(self.plan.terms)
        control = Signal(MacControl)
        m.d.comb += [
            terms.eq(Mux(is_float, late["terms"], blocks.o)),
            control.eq(Mux(is_float, late["control"], products.control)),
        ]
        return terms, control, product_sum


def _register(m: Module, name: str, **values: Value) -> dict[str, Any]:
    """Return the values one cycle later, by name."""
    held = {key: Signal.like(value, name=f"{name}_{key}", reset_less=True) for key, value in values.items()}
    m.d.sync += [held[key].eq(value) for key, value in values.items()]
    return held


FLOOR = (
    "16 bare 8x8-bit multipliers, align and normalise of an FP32 adder",
    YardstickConfig(count=16, a_bits=8, b_bits=8, fp32_shifters=True),
)


AIE_MAC_GROUPS = (
    WaveGroup("operands and decode", r"(permuted_|multiply\.(mx|float)_decode_)"),
    WaveGroup("products and exponents", r"(multiply\.|multiplied_)"),
    WaveGroup("post-add and terms", r"(post_add|block_terms|float_|first_)"),
    WaveGroup("compare", r"(compare\.|compared_)"),
    WaveGroup("align to the largest exponent", r"align\."),
    WaveGroup("accumulate", r"(accumulate\.|added_|total)"),
    WaveGroup("normalize", r"normalize\."),
)


RECORDS = (
    Unit(
        name="mac_lane",
        config_type=MacLaneConfig,
        build=MacLane,
        summary="AIE-ML v2: multiply-accumulate lane, six modes, two accumulators",
        covered=Covered(MacLaneConfig(), 300),
        judges=(Judge(22, MacLaneConfig()),),
        synthesised=(
            Synthesised("mac_lane, MX9 alone, two accumulators", MX9_LANE, 8, *FLOOR),
            Synthesised("mac_lane, six modes, two accumulators", MacLaneConfig(), 16, *FLOOR),
        ),
        waves=(
            CLOCK,
            WaveGroup("inputs", r"(valid|operands|acc[12])\b"),
            *AIE_MAC_GROUPS,
            WaveGroup("output", r"o$"),
        ),
    ),
)
