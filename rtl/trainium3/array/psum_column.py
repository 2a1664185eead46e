"""One PSUM partition's share of a bank: read, add, narrow, write.

Ref: "Trainium3 Architecture Guide for NKI", BF16 Matmul Results in PSUM.
"""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32, Rounding
from bitpath.golden.trainium3.declarations.quad_mx import ACCUMULATES
from bitpath.rtl.common.arithmetic.add import ExactAdd
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.round import Round
from bitpath.rtl.common.fp32.fp32_arithmetic import DROPPED_BITS, Fp32ToBf16
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.faults import Fault

WORD_BYTES = FP32.width // 8
"""Bytes of a word of a column."""
OVERWRITING_FLAGS = [flag for flag, accumulates in ACCUMULATES.items() if not accumulates]
"""Values of psum_accumulate_flag that overwrite; of the others those that are legal accumulate."""


class PsumMode(data.Struct):
    """Write mode: the bits of psum_accumulate_flag, and the destination's format and rounding."""

    flag: 3
    bf16: 1
    stochastic: 1


def mode_fault(mode: PsumMode) -> Value:
    """Return the fault of a write's mode: a flag that `ACCUMULATES` lacks, or stochastic rounding to FP32."""
    return first_of((~mode.flag.matches(*ACCUMULATES), Fault.OPERATION), (mode.stochastic & ~mode.bf16, Fault.DTYPE))


class PsumColumn(wiring.Component):
    """A column of a bank: ``cells[index] = value`` or ``cells[index] + value``, in FP32 with RNE.

    A BF16 destination rounds the result once more. Pipeline: read in the cycle of ``index``, add, round and write in the
    next. A read forwards a write of the same cycle, so the same index may follow at once.

    Parameters
    ----------
    depth : words of the bank.
    masked : True for words of bytes that are written one by one: a BF16 number has two of them, the lower or the upper half,
        while without it lies above 16 zeros.

    Members
    -------
    index : In(range(depth))
    value : In(32), FP32
    mode : In(PsumMode)
    random : In(16), for stochastic rounding
    write : In(1), write enable
    store : In(1), write ``value`` unchanged
    mask : In(4), bytes to write, with ``masked``; those of a BF16 number are one half
    present : Out(32), the word before the write, one cycle after ``index``
    """

    def __init__(self, depth: int, masked: bool = False):
        self.depth, self.masked = depth, masked
        super().__init__(self.ports(depth, masked))

    @staticmethod
    def ports(depth: int, masked: bool = False) -> dict[str, wiring.Member]:
        """Return the members of one column."""
        return {
            "index": In(range(depth)),
            "value": In(FP32.width),
            "mode": In(PsumMode),
            "random": In(DROPPED_BITS),
            "write": In(1),
            "store": In(1),
            "present": Out(FP32.width),
        } | ({"mask": In(WORD_BYTES)} if masked else {})

    def elaborate(self, platform):
        m = Module()
        m.submodules.cells = cells = memory.Memory(shape=FP32.width, depth=self.depth, init=[])
        write_port = cells.write_port(granularity=FP32.width // WORD_BYTES if self.masked else None)
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

        present, enable = read_port.data, write
        if self.masked:
            mask = Signal.like(self.mask, reset_less=True)
            m.d.sync += mask.eq(self.mask)
            half = Mux(mask[-1], present[DROPPED_BITS:], present[:DROPPED_BITS])
            present, enable = Mux(mode.bf16, half << DROPPED_BITS, present), Mux(write, mask, 0)

        left = instantiate(m, platform, "decode_value", Decode, (FP32,))
        right = instantiate(m, platform, "decode_present", Decode, (FP32,))
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
            right.code.eq(present),
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
        narrowed = narrow.o[DROPPED_BITS:].replicate(2) if self.masked else narrow.o
        m.d.comb += [
            overwrite.eq(mode.flag.matches(*OVERWRITING_FLAGS)),
            # A NaN passes the adder even if it overwrites, and becomes the canonical NaN.
            total.eq(Mux(overwrite & ~left.o.nan, value, rounder.o)),
            narrow.i.eq(total),
            narrow.stochastic.eq(mode.stochastic),
            narrow.random.eq(random),
            read_port.addr.eq(self.index),
            write_port.addr.eq(index),
            write_port.en.eq(enable),
            write_port.data.eq(Mux(store, value, Mux(mode.bf16, narrowed, total))),
            self.present.eq(read_port.data),
        ]
        return m
