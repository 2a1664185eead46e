"""Conversion of MX blocks to FP32.

Ref: AM027 lists the conversion; the AIE API multiplies by an identity block, which gives the same numbers.
"""

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, MX_NAN_EXPONENT
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.layouts import CODE_BITS, MX_EXPONENT_BITS, MxCode
from bitpath.rtl.aie_ml_v2.lanes.layouts import MxWidenConfig, mx_elements, mx_request
from bitpath.rtl.common.pipeline.pipeline_registers import Registered
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

# Element of an MX block to FP32.
#
# ``o = code * 2**(exponent - 127 - shifted + 1 - m)`` with m magnitude bits: exact, since a code has at most 8 bits.
#
# Ref: UG1639 for the value of an element; the AIE API, which multiplies by an identity block.


class MxToFloat(wiring.Component):
    """FP32 code of an element; combinational.

    A number below the normal ones becomes a zero of its sign, 2**128 and more infinity.

    Parameters
    ----------
    nan_block : True if exponent 255 makes NaN; else it is an ordinary exponent.

    Members
    -------
    i : In(signed(8)), sign-extended code
    exponent : In(8), the block's
    shifted : In(1), the pair's shift bit
    block_format : In(MxCode)
    o : Out(32), FP32
    """

    clocked = False
    apart = True

    def __init__(self, nan_block: bool):
        self.nan_block = nan_block
        super().__init__(
            {
                "i": In(signed(CODE_BITS)),
                "exponent": In(MX_EXPONENT_BITS),
                "shifted": In(1),
                "block_format": In(MxCode),
                "o": Out(FP32.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        negative = self.i[-1]
        magnitude = Signal(CODE_BITS)
        place = Signal(range(CODE_BITS))
        for k in range(CODE_BITS):
            with m.If(magnitude[k]):
                m.d.comb += place.eq(k)
        lower = Signal(range(CODE_BITS - 1))  # m - 1: places of the code's unit below the block's exponent
        with m.Switch(self.block_format):
            for code in MxCode:
                with m.Case(code) if code is not MxCode.MX4 else m.Default():
                    m.d.comb += lower.eq(code.fmt.magnitude_bits - 1)
        fraction = Signal(CODE_BITS - 1)
        biased = Signal(signed(MX_EXPONENT_BITS + 2))
        m.d.comb += [
            magnitude.eq(Mux(negative, -self.i, self.i)),
            fraction.eq((magnitude << ~place)[: CODE_BITS - 1]),
            biased.eq(self.exponent - self.shifted - lower + place),
        ]
        number = Cat(Const(0, FP32.fraction_bits - len(fraction)), fraction, biased[: FP32.exponent_bits])
        with m.If((self.exponent == MX_NAN_EXPONENT) & self.nan_block):
            m.d.comb += self.o.eq(FP32.nan_code)
        with m.Elif(~magnitude.any() | (biased <= 0)):
            m.d.comb += self.o.eq(Cat(Const(0, FP32.width - 1), negative))
        with m.Elif(biased >= FP32.exponent_mask):
            m.d.comb += self.o.eq(Cat(Const(FP32.infinity_code, FP32.width - 1), negative))
        with m.Else():
            m.d.comb += self.o.eq(Cat(number, negative))
        return m


class MxWiden(Registered):
    """Elements of MX9, MX6 or MX4 blocks; latency 1, one request a cycle.

    Parameters
    ----------
    config : number of blocks, numerics.

    Members
    -------
    i : In(stream of mx_request)
    o : Out(stream of mx_elements)
    """

    def __init__(self, config: MxWidenConfig):
        self.config = config
        super().__init__(mx_request(config.blocks), mx_elements(config.blocks))

    def compute(self, m: Module, platform: Any, request: Any, result: Any) -> None:
        for k in range(MX_BLOCK * self.config.blocks):
            block, place = request.blocks[k // MX_BLOCK], k % MX_BLOCK
            element = instantiate(m, platform, f"element_{k}", MxToFloat, self.config.numerics.mx_nan_block)
            m.d.comb += [
                element.i.eq(block.codes[place]),
                element.exponent.eq(block.exponent),
                element.shifted.eq(block.shift[place // 2]),
                element.block_format.eq(request.block_format),
                result[k].eq(element.o),
            ]


RECORDS = (
    Unit(
        name="mx_widen",
        config_type=MxWidenConfig,
        build=MxWiden,
        summary="AIE-ML v2: MX9, MX6 and MX4 blocks to FP32",
        covered=Covered(MxWidenConfig(), 30),
        judges=(Judge(63, MxWidenConfig(), 100),),
        waves=(CLOCK, INPUTS, WaveGroup("first element", r"element_0\."), WaveGroup("result", r"result"), OUTPUT),
    ),
)
