"""The unpacker: rows of 16 datums in L1 to rows of SrcA, SrcB or Dst, up to 64 bytes of L1 a cycle.

Ref: tt-isa-documentation 3930471, UNPACR_Regular and Unpackers/FormatConversion.
"""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, E4M3, E5M2, FP16, FP32
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, COLUMNS, DST32, Format
from bitpath.golden.tensix.declarations.numerics import BfpRange, TensixNumerics
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS
from bitpath.rtl.tensix.unpack.float_word import (
    DATUM_BITS,
    FIELDS,
    FloatWord,
    NarrowExponent,
    float_code,
    float_word,
    has_short_exponent,
)
from bitpath.rtl.tensix.unpack.layouts import (
    EXPONENT_BITS,
    ROW_BITS,
    ConversionConfig,
    UnpackControl,
    unpack_request_layout,
    unpacked_layout,
)

# Block floating-point datum to float: normalisation shift of the magnitude::
#
#       datum        s | 0 0 1 m m m m          shared exponent E, no hidden bit
#       float        s | E - 2 | m m m m 0 0    exponent = E - leading-zero count; the leading one becomes hidden
#
# Ref: tt-isa-documentation 3930471, FloatBitPatterns and UNPACR_Regular; ttsim v1.10.0 for the wrapping exponent.


MAGNITUDE_BITS = max(block.magnitude_bits for block in BLOCK_FLOATS.values())
"""Magnitude bits of BFP8; shorter magnitudes are its upper bits."""
SHIFTS = (4, 2, 1)
"""Levels of the normalisation shift, of 0 to 6 bits for a nonzero magnitude."""


class BlockDecode(wiring.Component):
    """A datum of sign and magnitude under its block's exponent, as BF16, or as FP16 for the 'a' variants.

    Magnitude 0 with sign 1 becomes the code of -infinity. An 'a' variant requires an exponent of at most 5 bits; others give
    an undefined result. It is combinational, with latency 0.

    Parameters
    ----------
    wide_range : WRAP or FLUSH, for 8-bit exponents below 0.
    short_range : WRAP or FLUSH, for 5-bit exponents below 0.

    Members
    -------
    code : In(8), the datum in its low bits
    shared : In(8), the block's exponent
    l1_format : In(4), a block floating-point format
    o : Out(FloatWord)
    """

    clocked = False

    def __init__(self, wide_range: BfpRange, short_range: BfpRange):
        self.wide_range, self.short_range = wide_range, short_range
        super().__init__(
            {
                "code": In(MAGNITUDE_BITS + 1),
                "shared": In(EXPONENT_BITS),
                "l1_format": In(FORMAT_BITS),
                "o": Out(FloatWord),
            }
        )

    def elaborate(self, platform):
        m = Module()
        sign = Signal()
        magnitude = Signal(MAGNITUDE_BITS)
        with m.Switch(self.l1_format):
            for bits in sorted({block.magnitude_bits for block in BLOCK_FLOATS.values()}):
                with m.Case(*(fmt for fmt, block in BLOCK_FLOATS.items() if block.magnitude_bits == bits)):
                    m.d.comb += [
                        sign.eq(self.code[bits]),
                        magnitude.eq(Cat(Const(0, MAGNITUDE_BITS - bits), self.code[:bits])),
                    ]

        value, zeros = magnitude, []
        for amount in SHIFTS:
            empty = Signal(name=f"empty_{amount}")
            shifted = Signal(MAGNITUDE_BITS, name=f"shifted_{amount}")
            m.d.comb += [empty.eq(~value[-amount:].any()), shifted.eq(Mux(empty, value << amount, value))]
            value = shifted
            zeros.insert(0, empty)

        short = Signal()
        flushes = Signal()
        exponent = Signal(signed(EXPONENT_BITS + 1))  # signed: at least 0 - 7
        field = Signal(FP32.exponent_bits)
        all_ones = Signal(FP32.exponent_bits)
        m.d.comb += [
            short.eq(has_short_exponent(self.l1_format)),
            flushes.eq(Mux(short, self.short_range is BfpRange.FLUSH, self.wide_range is BfpRange.FLUSH)),
            exponent.eq(self.shared - Cat(zeros)),
            all_ones.eq(Mux(short, FP16.exponent_mask, BF16.exponent_mask)),
            field.eq(exponent & all_ones),
            self.o.sign.eq(sign),
        ]
        with m.If(~magnitude.any()):
            m.d.comb += self.o.exponent.eq(Mux(sign, all_ones, 0))
        with m.Elif(~(flushes & (exponent < 0))):
            m.d.comb += [
                self.o.exponent.eq(field),
                # The leading one is the hidden bit.
                self.o.fraction.eq(Cat(Const(0, FP32.fraction_bits - (MAGNITUDE_BITS - 1)), value[:-1])),
            ]
        return m


# FP8 in L1 to the fields of FP16: E5M2, or E4M3 with the mode bit of Blackhole::
#
#       E5M2   s eeeee ff       ->  s eeeee     ff 00000000        0x7F: fraction of ones, where ``all_ones``
#       E4M3   s eeee fff       ->  s e + 8     fff 0000000        0x7F: fraction of ones; exponent 0 stays 0
#
# Ref: tt-isa-documentation 3930471, UNPACR_Regular; ttsim v1.10.0 for Blackhole's all-ones codes and E4M3.


E4M3_REBIAS = FP16.bias - E4M3.bias


class Fp8Word(wiring.Component):
    """An FP8 code as a `FloatWord` of FP16. It is combinational, with latency 0.

    Parameters
    ----------
    all_ones : True if an E5M2 magnitude of ones becomes one of FP16.
    has_e4m3 : True if ``e4m3`` selects E4M3, else it is not read.

    Members
    -------
    code : In(8)
    e4m3 : In(1)
    o : Out(FloatWord)
    """

    clocked = False

    def __init__(self, *, all_ones: bool, has_e4m3: bool):
        self.all_ones, self.has_e4m3 = all_ones, has_e4m3
        super().__init__({"code": In(E5M2.width), "e4m3": In(1), "o": Out(FloatWord)})

    def elaborate(self, platform):
        m = Module()
        ones, code = self.code[:-1].all(), self.code
        below = FP16.fraction_bits - E5M2.fraction_bits
        filled = ones.replicate(below) if self.all_ones else Const(0, below)
        fraction, exponent = Cat(filled, code[: E5M2.fraction_bits]), code[E5M2.fraction_bits : -1]
        if self.has_e4m3:
            narrow = code[E4M3.fraction_bits : -1]
            below = FP16.fraction_bits - E4M3.fraction_bits
            e4m3_fraction = Cat(ones.replicate(below), code[: E4M3.fraction_bits])
            fraction = Mux(self.e4m3, e4m3_fraction, fraction)
            exponent = Mux(self.e4m3, Mux(narrow.any(), narrow + E4M3_REBIAS, 0), exponent)
        padding = Const(0, FP32.fraction_bits - FP16.fraction_bits)
        m.d.comb += [
            self.o.fraction.eq(Cat(padding, fraction)),
            self.o.exponent.eq(exponent),
            self.o.sign.eq(code[-1]),
        ]
        return m


# One datum of L1 to a register word of Src or Dst.
#
# Ref: tt-isa-documentation 3930471, UNPACR_Regular and Unpackers/FormatConversion.


SRC_FRACTION_BITS = 10
"""Fraction bits of a Src word, the upper ones of a FloatWord's."""
DST_FORMATS = (Format.FP32, Format.INT32)
"""Register formats of 32-bit Dst words; all others are formats of Src words."""
INTEGER_EXPONENT = 16
"""Exponent field of a nonzero INT8 datum in Src."""


class UnpackDatum(wiring.Component):
    """A datum as a 19-bit Src word, or as a Dst word: of 32 bits for the register formats FP32 and INT32, and, with
    ``control.to_dst``, for TF32; of 16 bits for all others with ``control.to_dst``, FP16's for 5-bit exponents and INT8.

    Pairs of formats that the hardware does not convert give an undefined result. It is combinational, with latency 0.

    Parameters
    ----------
    numerics : ``bfp_range``, ``bfp_a_range``, ``fp8_all_ones`` and ``fp8_e4m3`` are read.

    Members
    -------
    code : In(32), the datum in its low bits, zeros above
    shared : In(8), the exponent of the datum's block; read for block formats only
    control : In(UnpackControl)
    o : Out(32)
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        super().__init__(
            {
                "code": In(max(DATUM_BITS.values())),
                "shared": In(EXPONENT_BITS),
                "control": In(UnpackControl),
                "o": Out(DST32.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        code, control, numerics = self.code, self.control, self.numerics
        block = instantiate(m, platform, "block", BlockDecode, numerics.bfp_range, numerics.bfp_a_range)
        fp8 = instantiate(m, platform, "fp8", Fp8Word, all_ones=numerics.fp8_all_ones, has_e4m3=numerics.fp8_e4m3)
        narrow = instantiate(m, platform, "narrow", NarrowExponent)
        m.d.comb += [
            block.code.eq(code),
            block.shared.eq(self.shared),
            block.l1_format.eq(control.l1_format),
            fp8.code.eq(code),
            fp8.e4m3.eq(control.e4m3),
            narrow.i.eq(float_word(code, FP32)),
        ]

        word = Signal(FloatWord)
        with m.Switch(control.l1_format):
            with m.Case(Format.FP32):
                self._fp32(m, narrow.o, word)
            for fmt in (Format.BF16, Format.FP16):
                with m.Case(fmt):
                    m.d.comb += word.eq(float_word(code, FIELDS[fmt]))
            with m.Case(Format.FP8):
                m.d.comb += word.eq(fp8.o)
            with m.Case(Format.TF32):
                # TF32 has 32 bits in L1, with the fields of FP32.
                m.d.comb += word.eq(float_word(code, FP32))
            with m.Case(Format.INT8):
                self._int8(m, word)
            with m.Case(Format.INT16):
                # Opaque: the low magnitude bits go to the exponent field, the upper ones to BF16's fraction.
                low, high = code[:8], code[8:15]
                m.d.comb += [
                    word.exponent.eq(low),
                    word.fraction.eq(Cat(Const(0, FP32.fraction_bits - len(high)), high)),
                    word.sign.eq(code[15]),
                ]
            with m.Case(*BLOCK_FLOATS):
                m.d.comb += word.eq(block.o)

        register = control.register_format
        with m.If(register.matches(*DST_FORMATS) | control.to_dst & (register == Format.TF32)):
            m.d.comb += self.o.eq(code)
        with m.Elif(control.to_dst):
            short = has_short_exponent(register) | (register == Format.INT8)
            m.d.comb += self.o.eq(Mux(short, float_code(word, FP16), float_code(word, BF16)))
        with m.Else():
            source = Cat(word.fraction[-SRC_FRACTION_BITS:], word.exponent, word.sign)
            m.d.comb += self.o.eq(source)
        return m

    def _fp32(self, m: Module, narrowed: FloatWord, word: FloatWord) -> None:
        """Convert FP32 to a Src format: BF16 loses its denormals, the other formats keep their bits."""
        with m.Switch(self.control.register_format):
            with m.Case(Format.FP16):
                m.d.comb += word.eq(narrowed)
            with m.Case(Format.BF16):
                wide = Signal(FloatWord)
                m.d.comb += [
                    wide.eq(float_word(self.code, FP32)),
                    word.exponent.eq(wide.exponent),
                    word.fraction[-BF16.fraction_bits :].eq(
                        Mux(wide.exponent.any(), wide.fraction[-BF16.fraction_bits :], 0)
                    ),
                    word.sign.eq(wide.sign),
                ]
            with m.Default():
                m.d.comb += word.eq(float_word(self.code, FP32))

    def _int8(self, m: Module, word: FloatWord) -> None:
        """Convert INT8: the magnitude goes to the low bits of Src's fraction."""
        magnitude = Signal(8)
        m.d.comb += [
            magnitude.eq(Mux(self.control.unsigned, self.code[:8], self.code[:7])),
            word.fraction.eq(magnitude << FP32.fraction_bits - SRC_FRACTION_BITS),
            word.exponent.eq(Mux(magnitude.any(), INTEGER_EXPONENT, 0)),
            word.sign.eq(self.code[7] & ~self.control.unsigned),
        ]


class Unpacker(wiring.Component):
    """Rows of datums, converted to 19-bit Src words, or to Dst words for the register formats FP32 and INT32 and with ``to_dst``.

    Latency is ``LATENCY`` = 1 cycle, throughput one request a cycle; it stalls while rows wait for ``o.ready``. Rows that do
    not fit in the 64 bytes of a request are rows of zeros. Pairs of formats that the hardware does not convert, and exponents
    above an 'a' variant's 5 bits, give undefined rows.

    Parameters
    ----------
    config : rows, and numerics, of which ``bfp_range``, ``bfp_a_range``, ``fp8_all_ones`` and ``fp8_e4m3`` are read.

    Members
    -------
    i : In(stream of unpack_request_layout)
    o : Out(stream of unpacked_layout); a Src word is in the low 19 bits, zeros above
    """

    LATENCY = 1
    """Cycles from a request to its rows."""

    def __init__(self, config: ConversionConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(unpack_request_layout(config.rows))),
                "o": Out(stream.Signature(unpacked_layout(config.rows))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        request = self.i.p
        rows = Signal(unpacked_layout(self.config.rows), reset_less=True)
        advance = Signal()
        m.d.comb += [
            advance.eq(self.o.ready | ~self.o.valid),
            self.i.ready.eq(advance),
            self.o.p.eq(rows),
        ]
        with m.If(advance):
            m.d.sync += self.o.valid.eq(self.i.valid)
        for k in range(self.config.rows * COLUMNS):
            row, column = divmod(k, COLUMNS)
            datum = instantiate(m, platform, f"datum_{k}", UnpackDatum, self.config.numerics)
            m.d.comb += [datum.shared.eq(request.exponents[row]), datum.control.eq(request.control)]
            with m.Switch(request.control.l1_format):
                for bits in sorted(set(DATUM_BITS.values())):
                    if (k + 1) * bits > ROW_BITS:
                        continue
                    with m.Case(*(fmt for fmt, width in DATUM_BITS.items() if width == bits)):
                        m.d.comb += datum.code.eq(request.datums.word_select(k, bits))
            with m.If(advance):
                m.d.sync += rows[row][column].eq(datum.o)
        return m


RECORDS = (
    Unit(
        name="unpacker",
        config_type=ConversionConfig,
        build=Unpacker,
        summary="Tensix: a row of 16 datums from L1 to SrcA, SrcB or Dst",
        covered=Covered(ConversionConfig(), 500),
        judges=(Judge(9, ConversionConfig()),),
        waves=(CLOCK, INPUTS, WaveGroup("datums", r"datum_"), OUTPUT),
    ),
)
