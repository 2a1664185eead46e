"""Conversion of FP32 accumulators to one block: 16 to MX9, MX6 or MX4, or 8 to bfp16ebs8.

``pair[j] = max(e[2j], e[2j + 1])``, ``exponent = max(pair)``, ``shift[j] = pair[j] < exponent``,
``code[k] = round(x[k] / 2**(exponent - shift - 127 - m + 1))`` with m magnitude bits, saturated::

     lanes (16 FP32)
       |            pair maxima                      [register "pairs"]
       |            block maximum and shift bits     [register "shared"]
       |            trial codes and bumped pairs     [register "leaves"]      mx_bump only
       |            block maximum and shift bits     [register "bumped"]      mx_bump only
       |            element codes                    [register "codes"]
     block, memory image

bfp16ebs8 has no shift bits and no image, and its block is bumped as a whole, so that it needs no second maximum.

Latency: 3 cycles, 5 with ``mx_bump``, 4 for bfp16ebs8 with it. Throughput: one block a cycle.

Ref: amd-quark 0.13, both implementations; llvm-aie: the conversion reads crRnd, and no saturation code.
"""

from dataclasses import dataclass
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX9, MX_BLOCK, MX_NAN_EXPONENT, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, XDNA2_BFP16EBS8, AieNumerics
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.layouts import CODE_BITS, IMAGE_BITS, MX_EXPONENT_BITS, Blocks, MxBlock, MxCode
from bitpath.rtl.common.arithmetic.align import Align, Dropped, MaxExponent, shift_of
from bitpath.rtl.common.arithmetic.round import RoundIncrement
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

# Configurations of the conversion units.


@dataclass(frozen=True, kw_only=True)
class MxConvertConfig:
    """Configuration of the conversion from FP32 to MX or bfp16ebs8.

    Attributes
    ----------
    numerics : choices where the documents leave the result open.
    blocks : the blocks that the unit makes; hardware that they do not need is left out.
    """

    numerics: AieNumerics = AIE_ML_V2.numerics
    blocks: Blocks = Blocks.MX


BFP16EBS8_CONVERT = MxConvertConfig(numerics=XDNA2_BFP16EBS8.numerics, blocks=Blocks.BFP16EBS8)
"""XDNA2's conversion to bfp16ebs8."""


# Memory image of an MX block::
#
#      bit 0        8        16                16 + 16 * width
#          exponent | shifts | code 0 | code 1 | ... | code 15 | zeros
#
# Ref: UG1639 for the order of exponent, shifts and codes; the bit stream is this project's choice.


class MxImage(wiring.Component):
    """Pack exponent byte, shift byte and the codes in the format's width, element 0 lowest; combinational.

    Members
    -------
    i : In(MxBlock)
    block_format : In(MxCode)
    o : Out(144), the first byte in the lowest bits, zeros above the last
    """

    clocked = False
    i: In(MxBlock)
    block_format: In(MxCode)
    o: Out(IMAGE_BITS)

    def elaborate(self, platform):
        m = Module()
        with m.Switch(self.block_format):
            for code in MxCode:
                with m.Case(code) if code is not MxCode.MX4 else m.Default():
                    codes = [self.i.codes[k][: code.fmt.width] for k in range(MX_BLOCK)]
                    m.d.comb += self.o.eq(Cat(self.i.exponent, self.i.shift, *codes))
        return m


# Element of a block: an FP32 number as a signed code for a given block exponent.
#
# ::
#
#      significand      1 fraction: 23 bits |
#      shifted right by (shared - exponent - shift bit), plus the bits that the format is shorter than MX9
#      window           kept: 7 bits | G | sticky          rounded; above the largest code: saturated
#
# Ref: amd-quark 0.13, both implementations; llvm-aie for the rounding code.


MAGNITUDE_BITS = MX9.magnitude_bits
"""Kept bits at the shared exponent in the widest format; the other formats keep the upper ones."""
MAX_SHIFT = 15
"""Shifts saturate here: from MAGNITUDE_BITS + 1 on the whole significand is below the guard bit."""
SHIFT_BITS = MAX_SHIFT.bit_length()
"""Bits of the saturated shift."""


class MxElement(wiring.Component):
    """Signed code of a float whose exponent is not above the block's; combinational.

    A set shift bit halves the unit of the code. A rounded number out of range saturates to the largest magnitude.

    Parameters
    ----------
    flush : True to read subnormals as zeros.
    min_code : True if ``-2**m`` is a valid code.
    blocks : the blocks whose elements it makes.

    Members
    -------
    i : In(32), FP32; exponent 255 is read like any other
    shared : In(8), the block's biased exponent
    shifted : In(1), the pair's shift bit; if set, the float's exponent must be below ``shared``; 0 without shifts
    control : In(BlockLayouts.control)
    o : Out(signed(8))
    leaves : Out(1), 1 if the rounded number is out of range
    """

    clocked = False
    apart = True

    def __init__(self, flush: bool, min_code: bool, blocks: Blocks = Blocks.MX):
        self.flush, self.min_code, self.blocks = flush, min_code, blocks
        super().__init__(
            {
                "i": In(FP32.width),
                "shared": In(MX_EXPONENT_BITS),
                "shifted": In(1),
                "control": In(blocks.layouts.control),
                "o": Out(signed(CODE_BITS)),
                "leaves": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        fraction = self.i[: FP32.fraction_bits]
        exponent = self.i[FP32.fraction_bits : FP32.width - 1]
        negative = self.i[-1]

        # A subnormal has exponent 1 and no hidden bit: its significand moves up by one place, to exponent 0.
        normal = Cat(fraction, 1)
        subnormal = Const(0, FP32.precision) if self.flush else Cat(0, fraction)
        significand = Mux(exponent.any(), normal, subnormal)

        fewer = Signal(range(MAGNITUDE_BITS))
        top = Signal(CODE_BITS)
        formats = self.blocks.layouts.formats
        if len(formats) == 1:
            m.d.comb += [fewer.eq(MAGNITUDE_BITS - formats[0].magnitude_bits), top.eq(formats[0].max_code)]
        else:
            with m.Switch(self.control.block_format):
                for fmt in formats:
                    with m.Case(MxCode.of(fmt)) if fmt is not formats[-1] else m.Default():
                        m.d.comb += [fewer.eq(MAGNITUDE_BITS - fmt.magnitude_bits), top.eq(fmt.max_code)]
        distance = Signal(MX_EXPONENT_BITS + 1)
        # A set shift bit implies an exponent below the shared one, so the distance is not negative.
        m.d.comb += distance.eq(self.shared - exponent - self.shifted + fewer)
        align = instantiate(m, platform, "align", Align, FP32.precision, MAGNITUDE_BITS + 1, MAX_SHIFT, Dropped.STICKY)
        m.d.comb += [align.i.eq(significand), align.shift.eq(shift_of(distance, SHIFT_BITS))]
        sticky, guard, kept = align.o[0], align.o[1], align.o[2:]

        decision = instantiate(m, platform, "decision", RoundIncrement, RoundingCode, False)
        m.d.comb += [
            decision.mode.eq(self.control.rounding),
            decision.negative.eq(negative),
            decision.odd.eq(kept[0]),
            decision.guard.eq(guard),
            decision.sticky.eq(sticky),
        ]
        # A rounding carry gives at most 2**m, the magnitude of the most negative code.
        rounded = Signal(CODE_BITS)
        magnitude = Signal(CODE_BITS)
        above = rounded > top
        m.d.comb += [
            rounded.eq(kept + decision.up),
            self.leaves.eq(above & ~negative if self.min_code else above),
            magnitude.eq(Mux(self.leaves, top, rounded)),
            self.o.eq(Mux(negative, -magnitude, magnitude)),
        ]
        return m


LARGEST_EXPONENT = MX_NAN_EXPONENT - 1
"""Largest exponent of a number; a pair that has it is not bumped."""


class MxConvert(wiring.Component):
    """FP32 to MX or bfp16ebs8, one block a cycle.

    With ``mx_nan_block`` an element of exponent 255 makes a NaN block: exponent 255, all else 0. With ``mx_bump`` trial codes
    show which pairs overflow; the exponents of these grow by one, and exponent, shift bits and codes are computed again. In
    bfp16ebs8 any overflow makes the block's exponent grow.

    Back-pressure: all stages stall while a block waits for ``o.ready``.

    Parameters
    ----------
    config : MxConvertConfig; uses ``mx_flush``, ``mx_bump``, ``mx_min_code`` and ``mx_nan_block`` of the numerics.

    Members
    -------
    i : In(stream of MxRequest), of Bfp16Request for bfp16ebs8
    o : Out(stream of MxResult), of Bfp16Result
    """

    def __init__(self, config: MxConvertConfig):
        self.config, self.layouts = config, config.blocks.layouts
        self.pairs = data.ArrayLayout(MX_EXPONENT_BITS, self.layouts.elements // 2)
        signatures = (stream.Signature(each) for each in (self.layouts.request, self.layouts.result))
        super().__init__({"i": In(next(signatures)), "o": Out(next(signatures))})

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps that pipeline registers follow."""
        return steps_of(self.config)

    @property
    def latency(self) -> int:
        """Cycles from a request to its block."""
        return len(self.steps)

    def elaborate(self, platform):
        m = Module()
        numerics = self.config.numerics
        registers = PipelineRegisters(m, self.steps, valid=self.i.valid, ready=self.o.ready)

        exponents = [lane[FP32.fraction_bits : FP32.width - 1] for lane in self.i.p.lanes]
        pairs = Signal(self.pairs)
        m.d.comb += pairs.eq(Cat(Mux(a > b, a, b) for a, b in zip(exponents[::2], exponents[1::2], strict=True)))
        request, pairs = registers.hold("pairs", request=self.i.p, pairs=pairs)
        request, pairs, block = self._share(m, platform, registers, "shared", request, pairs)
        if numerics.mx_bump:
            _, leaves = self._elements(m, platform, "trial", request, block)
            if self.layouts.has_shifts:
                bumped = Signal(self.pairs)
                m.d.comb += bumped.eq(
                    Cat(_bumped(pairs[j], leaves[2 * j : 2 * j + 2].any()) for j in range(self.pairs.length))
                )
                request, pairs = registers.hold("leaves", request=request, pairs=bumped)
                request, pairs, block = self._share(m, platform, registers, "bumped", request, pairs)
            else:
                bumped = Signal(self.layouts.block, name="bumped")
                m.d.comb += bumped.exponent.eq(_bumped(block.exponent, leaves.any()))
                request, block = registers.hold("leaves", request=request, block=bumped)
        codes, _ = self._elements(m, platform, "element", request, block)
        result = Signal(self.layouts.block)
        head = (block.exponent, block.shift) if self.layouts.has_shifts else (block.exponent,)
        m.d.comb += result.eq(Cat(*head, codes))
        if numerics.mx_nan_block:
            with m.If(block.exponent == MX_NAN_EXPONENT):
                m.d.comb += result.eq(Cat(block.exponent))
        choice = {"block_format": request.control.block_format} if self.layouts.has_shifts else {}
        result, *block_format = registers.hold("codes", result=result, **choice)

        images = [instantiate(m, platform, "image", MxImage) for _ in block_format]
        m.d.comb += [
            *(each.i.eq(result) for each in images),
            *(each.block_format.eq(*block_format) for each in images),
            self.o.p.eq(Cat(result, *(each.o for each in images))),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m

    def _share(
        self, m: Module, platform: Any, registers: PipelineRegisters, step: str, request: Value, pairs: Value
    ) -> tuple[Value, Value, Value]:
        """Return request, pair exponents and a block without codes from the step's registers."""
        count = self.pairs.length
        largest = instantiate(m, platform, f"{step}_exponent", MaxExponent, count, MX_EXPONENT_BITS)
        block = Signal(self.layouts.block, name=f"{step}_block")
        shift = Cat(pairs[j] < largest.o for j in range(count if self.layouts.has_shifts else 0))
        m.d.comb += [largest.i.eq(pairs), block.eq(Cat(largest.o, shift))]
        return tuple(registers.hold(step, request=request, pairs=pairs, block=block))

    def _elements(self, m: Module, platform: Any, name: str, request: Value, block: Value) -> tuple[Value, Value]:
        """Return the codes for a block's exponent and shift bits, and a bit for each that overflowed."""
        numerics = self.config.numerics
        elements = []
        options = numerics.mx_flush, numerics.mx_min_code, self.config.blocks
        for k in range(self.layouts.elements):
            element = instantiate(m, platform, f"{name}_{k}", MxElement, *options)
            m.d.comb += [
                element.i.eq(request.lanes[k]),
                element.shared.eq(block.exponent),
                element.shifted.eq(block.shift[k // 2] if self.layouts.has_shifts else 0),
                element.control.eq(request.control),
            ]
            elements.append(element)
        return Cat(element.o for element in elements), Cat(element.leaves for element in elements)


def steps_of(config: MxConvertConfig) -> tuple[str, ...]:
    """Return the steps of a configuration that pipeline registers follow, one cycle each."""
    again = ("bumped",) if config.blocks.layouts.has_shifts else ()
    bump = ("leaves", *again) if config.numerics.mx_bump else ()
    return ("pairs", "shared", *bump, "codes")


def _bumped(exponent: Value, leaves: Value) -> Value:
    """Return an exponent, one more if a code left the range and it is below the largest."""
    return (exponent + (leaves & (exponent < LARGEST_EXPONENT)))[:MX_EXPONENT_BITS]


RECORDS = (
    Unit(
        name="mx_convert",
        config_type=MxConvertConfig,
        build=MxConvert,
        summary="AIE-ML v2: 16 FP32 accumulators to an MX9, MX6 or MX4 block; XDNA2: 8 to bfp16ebs8",
        covered=Covered(MxConvertConfig(), 500),
        judges=(Judge(11, MxConvertConfig()),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("exponents and shifts", r"(pairs|shared|leaves|bumped)"),
            WaveGroup("first element", r"element_0\."),
            WaveGroup("elements", r"(element|trial)_"),
            WaveGroup("block", r"(result|codes|block|image)"),
            OUTPUT,
        ),
    ),
)
