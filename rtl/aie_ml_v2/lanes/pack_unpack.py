"""PACK and UNPACK: elements of a register at half and at twice their width.

Ref: llvm-aie for widths and cycles; UNPACK on the way from memory takes the cycles of the load.
"""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import PACK_BITS, Saturation
from bitpath.rtl.aie_ml_v2.convert.layouts import SATURATION_BITS
from bitpath.rtl.aie_ml_v2.lanes.layouts import WIDE_BITS, PackConfig, pack_request
from bitpath.rtl.common.pipeline.pipeline_registers import Registered
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

# Element brought into half its width.
#
# Ref: llvm-aie: PACK reads crSat and a sign, and does not round.


class PackElement(wiring.Component):
    """``o = saturate(i)``, in combinational logic.

    Without saturation the low bits are kept. Signed numbers end at ``-2**(bits - 1)``, in symmetric saturation one above it;
    unsigned ones have one limit.

    Parameters
    ----------
    bits : bits of the result.

    Members
    -------
    i : In(2 * bits)
    is_signed : In(1)
    saturation : In(2), a code of Saturation
    o : Out(bits)
    """

    clocked = False

    def __init__(self, bits: int):
        self.bits = bits
        super().__init__({"i": In(2 * bits), "is_signed": In(1), "saturation": In(SATURATION_BITS), "o": Out(bits)})

    def elaborate(self, platform):
        m = Module()
        bits = self.bits
        top = (1 << bits - 1) - 1
        kept, upper, negative = self.i[:bits], self.i[bits - 1 :], self.i[-1]
        symmetric = self.saturation == Saturation.SYMMETRIC
        outside = Signal()
        limit = Signal(bits)
        with m.If(self.is_signed):
            # All upper bits are the sign; of the negative numbers that fit the lowest is the one without lower bits.
            lowest = symmetric & negative & ~self.i[: bits - 1].any()
            m.d.comb += [
                outside.eq(~(upper.all() | ~upper.any()) | lowest),
                limit.eq(Mux(negative, ~top + symmetric, top)),
            ]
        with m.Else():
            m.d.comb += [outside.eq(self.i[bits:].any()), limit.eq(-1)]
        m.d.comb += self.o.eq(Mux(outside & (self.saturation != Saturation.NONE), limit, kept))
        return m


class PackUnpack(Registered):
    """Conversion of a whole register; latency 1, one request a cycle.

    PACK reads the register and fills the lower half of the result, zeros above. UNPACK reads the lower half and fills the
    result. An element of n bits becomes one of n / 2 or 2 * n bits in the same order, 4-bit elements with the lower one in the
    low nibble. Of an X in a unit for Y, PACK's result is in the lowest quarter.

    Parameters
    ----------
    config : number of lanes.

    Members
    -------
    i : In(stream of pack_request)
    o : Out(stream of 16 * lanes bits)
    """

    def __init__(self, config: PackConfig):
        self.config = config
        bits = WIDE_BITS * config.lanes
        super().__init__(pack_request(config.lanes), data.StructLayout({"data": bits}))

    def compute(self, m: Module, platform: Any, request: Any, result: Any) -> None:
        control, lanes = request.control, range(self.config.lanes)
        packed = Cat(self._packed(m, platform, k, request) for k in lanes)
        unpacked = Cat(
            Mux(control.wide, Cat(self._extended(narrow, 8, control)), Cat(self._extended(narrow, 4, control)))
            for narrow in (request.data.word_select(k, WIDE_BITS // 2) for k in lanes)
        )
        m.d.comb += result.data.eq(Mux(control.unpack, unpacked, packed))

    def _packed(self, m: Module, platform: Any, k: int, request: Any) -> Value:
        """Return lane k at half its width: one element, or two."""
        wide = request.data.word_select(k, WIDE_BITS)
        results = {}
        for bits in PACK_BITS:
            parts = []
            for part in range(WIDE_BITS // 2 // bits):
                element = instantiate(m, platform, f"element_{k}_{bits}_{part}", PackElement, bits)
                m.d.comb += [
                    element.i.eq(wide.word_select(part, 2 * bits)),
                    element.is_signed.eq(request.control.is_signed),
                    element.saturation.eq(request.control.saturation),
                ]
                parts.append(element.o)
            results[bits] = Cat(parts)
        low, high = (results[bits] for bits in PACK_BITS)
        lane = Signal(WIDE_BITS // 2, name=f"packed_{k}")
        m.d.comb += lane.eq(Mux(request.control.wide, high, low))
        return lane

    @staticmethod
    def _extended(narrow: Value, bits: int, control: Any) -> list[Value]:
        """Return the elements of ``bits`` bits at twice their width."""
        parts = [narrow.word_select(k, bits) for k in range(len(narrow) // bits)]
        return [Cat(part, (part[-1] & control.is_signed).replicate(bits)) for part in parts]


RECORDS = (
    Unit(
        name="pack_unpack",
        config_type=PackConfig,
        build=PackUnpack,
        summary="AIE-ML v2: elements of 4, 8 and 16 bits packed and unpacked",
        covered=Covered(PackConfig(), 60),
        judges=(Judge(62, PackConfig(lanes=2), 100),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("first lane", r"(element_0_|packed_0)"),
            WaveGroup("result", r"(packed|result)"),
            OUTPUT,
        ),
    ),
)
