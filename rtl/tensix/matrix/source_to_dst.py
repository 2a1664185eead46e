"""Source word to Dst word of MOVA2D and MOVB2D; MOVB2A uses its reading alone::

      source word      s | e8 | m10            e8 = 0: the datum is +0, unless ``keeps``
      wide             s | e8 | m10 | 13 zeros
      5 exponent bits  s | e5 | m10                     16 bits
      others           s | e8 | m7                      16 bits
      low half         the same 16 bits, in the register's order, below the old word's upper half

Ref: tt-isa-documentation, MOVA2D, MOVB2D and MOVB2A, masks since commit 88d4bf9; ttsim v1.10.0.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import (
    DST16_BF16,
    DST16_FP16,
    DST32,
    EXPONENT5_FORMATS,
    SRC,
    Format,
)
from bitpath.golden.tensix.declarations.numerics import MoveMasking, TensixNumerics
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS
from bitpath.rtl.tensix.matrix.registers import from_physical, to_physical

SHORT_FORMATS = (*EXPONENT5_FORMATS, Format.INT8)
"""Formats whose datums are words of 5 exponent bits in a 16-bit Dst."""
FULL_FORMATS = (Format.TF32, Format.FP16, Format.FP8, Format.BFP8A, Format.INT8)
"""Formats of which MOVB2D and MOVB2A keep the low three fraction bits."""
FRACTION_BITS, LACKING_BITS, EXPONENT5_BITS = 10, 3, 5
HALF = 16


class PlaceControl(data.Struct):
    """How a move reads a source word and places it in Dst.

    - ``dst_format`` says how Dst holds the datum.
    - ``own_format`` masks it where ``masks``, if the numerics mask by format: SrcB's own.
    - ``keeps`` : Zero_Flag_disabled_src.
    - ``wide`` : words of 32 bits; ``low_half`` : only the lower half of such a word changes. Not both.
    """

    dst_format: FORMAT_BITS
    own_format: FORMAT_BITS
    masks: 1
    keeps: 1
    wide: 1
    low_half: 1


class SourceToDst(wiring.Component):
    """It converts one datum. It is combinational, with latency 0.

    Parameters
    ----------
    numerics : ``zero_flag_disabled`` and ``move_masking`` are read.

    Members
    -------
    word : In(19), old : In(32), logical words
    control : In(PlaceControl)
    datum : Out(19), the source word as the move reads it
    o : Out(32), Dst's logical word, zeros above 16 bits unless ``wide`` or ``low_half``
    """

    clocked = False
    apart = True  # 128 of them

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        super().__init__(
            {
                "word": In(SRC.width),
                "old": In(DST32.width),
                "control": In(PlaceControl),
                "datum": Out(SRC.width),
                "o": Out(DST32.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word, control, datum = self.word, self.control, self.datum
        keeps = Signal()
        m.d.comb += keeps.eq(word[FRACTION_BITS:-1].any() | control.keeps | self.numerics.zero_flag_disabled)
        kept = Mux(keeps, word, 0)
        if self.numerics.move_masking is MoveMasking.OWN_FORMAT:
            low = Mux(control.masks & ~control.own_format.matches(*FULL_FORMATS), 0, kept[:LACKING_BITS])
            short = control.masks & control.own_format.matches(*SHORT_FORMATS)
            middle, high = (
                kept[LACKING_BITS : FRACTION_BITS + EXPONENT5_BITS],
                kept[FRACTION_BITS + EXPONENT5_BITS : -1],
            )
            kept = Cat(low, middle, Mux(short, 0, high), kept[-1])
        m.d.comb += datum.eq(kept)

        short = control.dst_format.matches(*SHORT_FORMATS)
        fp16 = Cat(datum[: FRACTION_BITS + EXPONENT5_BITS], datum[-1])
        bf16 = datum[LACKING_BITS:]
        with m.If(control.wide):
            m.d.comb += self.o.eq(Cat(Const(0, DST32.width - SRC.width), datum))
        with m.Elif(control.low_half):
            half = Mux(short, to_physical(DST16_FP16, fp16), to_physical(DST16_BF16, bf16))
            m.d.comb += self.o.eq(Cat(half, self.old[HALF:]))
        with m.Else():
            m.d.comb += self.o.eq(Mux(short, fp16, bf16))
        return m


# Dst word to source word, as MOVD2A and MOVD2B convert it; nothing is flushed::
#
#       TF32             the upper 19 bits of a 32-bit word
#       5 exponent bits  s | 3 zeros | e5 | m10           from 16 bits
#       others           s | e8 | m7 | 3 zeros            from 16 bits
#
# The 16 bits are a 16-bit word, or the upper or lower half of a 32-bit word, in the register's order of 16-bit words.
#
# Ref: tt-isa-documentation 3930471, MOVD2A and MOVD2B.


class DstToSource(wiring.Component):
    """It converts one datum. It is combinational, with latency 0.

    Members
    -------
    word : In(32), logical, of 32 bits with ``dst32``, else of 16 bits in the low half; TF32 needs 32 bits
    dst32 : In(1); low_half : In(1), take the lower half of a 32-bit word
    format : In(4), SrcA's
    o : Out(19)
    """

    clocked = False
    apart = True  # 128 of them
    word: In(DST32.width)
    dst32: In(1)
    low_half: In(1)
    format: In(FORMAT_BITS)
    o: Out(SRC.width)

    def elaborate(self, platform):
        m = Module()
        wide = to_physical(DST32, self.word)
        half, fp16, bf16 = (Signal(HALF, name=name) for name in ("half", "fp16", "bf16"))
        m.d.comb += [
            half.eq(Mux(self.low_half, wide[:HALF], wide[HALF:])),
            fp16.eq(Mux(self.dst32, from_physical(DST16_FP16, half), self.word[:HALF])),
            bf16.eq(Mux(self.dst32, from_physical(DST16_BF16, half), self.word[:HALF])),
        ]
        with m.If(self.format == Format.TF32):
            m.d.comb += self.o.eq(self.word[-SRC.width :])
        with m.Elif(self.format.matches(*SHORT_FORMATS)):
            gap = Const(0, SRC.width - 1 - FRACTION_BITS - EXPONENT5_BITS)
            m.d.comb += self.o.eq(Cat(fp16[:-1], gap, fp16[-1]))
        with m.Else():
            m.d.comb += self.o.eq(Cat(Const(0, LACKING_BITS), bf16))
        return m
