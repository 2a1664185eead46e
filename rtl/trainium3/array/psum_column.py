"""One PSUM partition's share of a bank: read, add, narrow, write.

Ref: "Trainium3 Architecture Guide for NKI", BF16 Matmul Results in PSUM.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.trainium3.declarations.quad_mx import AccumulateFlag
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.exact_add import ExactAdd
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.round import Round
from bitpath.rtl.common.fp32.fp32_to_bf16 import DROPPED_BITS, Fp32ToBf16
from bitpath.rtl.common.pipeline.shared_instances import instantiate

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
    """A column of a bank: the place at ``index`` becomes ``value``, or itself plus ``value`` in FP32 with RNE.

    For a BF16 destination the result is rounded once more. The place is read in the cycle in which ``index`` is given
    and written in the next; one that was just written is read with its new content.

    Parameters
    ----------
    depth : places.

    Members
    -------
    index : In(range(depth))
    value : In(32), FP32
    mode : In(PsumMode)
    random : In(16), for stochastic rounding
    write : In(1), the place is written
    store : In(1), ... with ``value`` as it is
    present : Out(32), what the place held, in the next cycle
    """

    def __init__(self, depth: int):
        self.depth = depth
        super().__init__(self.ports(depth))

    @staticmethod
    def ports(depth: int) -> dict[str, wiring.Member]:
        """The members of one."""
        return {
            "index": In(range(depth)),
            "value": In(FP32.width),
            "mode": In(PsumMode),
            "random": In(DROPPED_BITS),
            "write": In(1),
            "store": In(1),
            "present": Out(FP32.width),
        }

    def elaborate(self, platform):
        m = Module()
        m.submodules.cells = cells = memory.Memory(shape=FP32.width, depth=self.depth, init=[])
        write_port = cells.write_port()
        read_port = cells.read_port(transparent_for=(write_port,))
        write = Signal()
        index, value, mode, random, store = (
            Signal.like(port, reset_less=True) for port in (self.index, self.value, self.mode, self.random, self.store)
        )
        m.d.sync += [
            index.eq(self.index),
            value.eq(self.value),
            mode.eq(self.mode),
            random.eq(self.random),
            store.eq(self.store),
            write.eq(self.write),
        ]

        left = instantiate(m, platform, "decode_value", Decode, (FP32,), subnormals=True)
        right = instantiate(m, platform, "decode_present", Decode, (FP32,), subnormals=True)
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
            right.code.eq(read_port.data),
            add.fixed.eq(Mux(left.o.sign, -left.o.significand, left.o.significand)),
            add.fixed_exponent.eq(left.o.exponent - offset),
            add.number.eq(right.o),
        ]
        normalize = instantiate(m, platform, "normalize", Normalize, add.o.shape(), FP32.precision)
        rounder = instantiate(
            m,
            platform,
            "round",
            Round,
            normalize.o.shape(),
            FP32,
            rounding=Rounding.RNE,
            subnormals=True,
            overflow_to_infinity=True,
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
        narrow = instantiate(m, platform, "narrow", Fp32ToBf16)
        m.d.comb += [
            overwrite.eq(mode.flag.matches(*OVERWRITING_FLAGS)),
            # A NaN takes the adder's way also where it overwrites: it leaves as the one NaN that results carry.
            total.eq(Mux(overwrite & ~left.o.nan, value, rounder.o)),
            narrow.i.eq(total),
            narrow.stochastic.eq(mode.stochastic),
            narrow.random.eq(random),
            read_port.addr.eq(self.index),
            write_port.addr.eq(index),
            write_port.en.eq(write),
            write_port.data.eq(Mux(store, value, Mux(mode.bf16, narrow.o, total))),
            self.present.eq(read_port.data),
        ]
        return m
