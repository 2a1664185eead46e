"""One PSUM partition's arithmetic: read, add, narrow, write.

Ref: "Trainium3 Architecture Guide for NKI", BF16 Matmul Results in PSUM.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.spec.formats import FP32
from bitpath.golden.spec.rounding import Rounding
from bitpath.golden.spec.trainium3 import AccumulateFlag
from bitpath.rtl.common.decode import Decode
from bitpath.rtl.common.exact_add import ExactAdd
from bitpath.rtl.common.narrow import DROPPED_BITS, Narrow
from bitpath.rtl.common.normalize import Normalize
from bitpath.rtl.common.round import Round

OVERWRITING_FLAGS = [
    flag for flag in range(8) if flag & AccumulateFlag.FIRST_OVERWRITE and not flag & AccumulateFlag.FIRST_ACCUMULATE
]
"""Values of psum_accumulate_flag that overwrite; every other accumulates."""


class PsumMode(data.Struct):
    """How a result is written: the bits of psum_accumulate_flag, and the destination's format and rounding."""

    flag: 3
    bf16: 1
    stochastic: 1


class PsumColumn(wiring.Component):
    """``o = value``, or ``present + value`` in FP32 with RNE; for a BF16 destination rounded once more.

    ``value`` and ``mode`` are held for a cycle, while memory reads what is present; ``o`` follows in that cycle.

    Members
    -------
    value : In(32), FP32
    mode : In(PsumMode)
    store : In(1), ``o`` is to be the held value as it is
    present : In(32), in the cycle after
    random : In(16), in the cycle after
    o : Out(32), in the cycle after
    """

    value: In(FP32.width)
    mode: In(PsumMode)
    store: In(1)
    present: In(FP32.width)
    random: In(DROPPED_BITS)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        value, mode, store = Signal.like(self.value), Signal.like(self.mode), Signal.like(self.store)
        m.d.sync += [value.eq(self.value), mode.eq(self.mode), store.eq(self.store)]

        m.submodules.decode_value = left = Decode((FP32,))
        m.submodules.decode_present = right = Decode((FP32,))
        offset = FP32.bias + FP32.fraction_bits
        m.submodules.add = add = ExactAdd(
            fixed_width=FP32.precision + 1,
            fixed_exponent_width=FP32.exponent_bits + 1,
            exponent_width=FP32.exponent_bits,
            precision=FP32.precision,
            offset=offset,
        )
        m.d.comb += [
            left.code.eq(value),
            right.code.eq(self.present),
            add.fixed.eq(Mux(left.o.sign, -left.o.significand, left.o.significand)),
            add.fixed_exponent.eq(left.o.exponent - offset),
            add.number.eq(right.o),
        ]
        m.submodules.normalize = normalize = Normalize(add.o.shape(), FP32.precision)
        m.submodules.round = rounder = Round(
            normalize.o.shape(), FP32, rounding=Rounding.RNE, subnormals=True, overflow_to_infinity=True
        )
        opposite = left.o.sign ^ right.o.sign
        m.d.comb += [
            normalize.i.eq(add.o),
            rounder.i.eq(normalize.o),
            rounder.special.nan.eq(left.o.nan | right.o.nan | (left.o.inf & right.o.inf & opposite)),
            rounder.special.inf.eq(left.o.inf | right.o.inf),
            rounder.special.sign.eq(Mux(left.o.inf, left.o.sign, right.o.sign & (right.o.inf | left.o.sign))),
        ]

        overwrite = Signal()
        total = Signal(FP32.width)
        m.submodules.narrow = narrow = Narrow()
        m.d.comb += [
            overwrite.eq(mode.flag.matches(*OVERWRITING_FLAGS)),
            total.eq(Mux(overwrite, value, rounder.o)),
            narrow.i.eq(total),
            narrow.stochastic.eq(mode.stochastic),
            narrow.random.eq(self.random),
            self.o.eq(Mux(store, value, Mux(mode.bf16, narrow.o, total))),
        ]
        return m
