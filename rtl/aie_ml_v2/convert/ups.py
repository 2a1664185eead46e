"""UPS (upshift): ``acc[k] = saturate(vector[k] * 2**shift)``.

Latency: 2 cycles, pipeline registers before and after the lanes. Throughput: one accumulator register a cycle.

Ref: AM027, "Fixed-Point SRS and UPS Conversions"; UG1639; llvm-aie for the flag srUPS_of.
"""

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import UPS_MODES, UPS_SHIFTS, Saturation
from bitpath.rtl.aie_ml_v2.convert.layouts import ACC_LANE_BITS, SATURATION_BITS, UpsControl, acc_bits, vector_bits
from bitpath.rtl.aie_ml_v2.convert.srs import AIE_LANE_GROUPS, IntegerLanes, IntegerLanesConfig
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit

# UPS lane: ``o = saturate(i * 2**shift)`` for one accumulator lane.
#
# Ref: AM027, "Fixed-Point SRS and UPS Conversions"; UG1639 for shifts of 32 and more; UG1583 for the saturation codes.


class UpsLane(wiring.Component):
    """Left shift with saturation; combinational.

    A product that does not fit saturates to a multiple of ``2**shift``; without saturation it loses its high bits.

    Parameters
    ----------
    width : bits of the accumulator lane, 32 or 64. A lane of 64 bits also serves one of 32 bits in its upper half, with a
        shift larger by 32.

    Members
    -------
    i : In(signed(17)), In(signed(33)) if width is 64; one bit more than the widest element, for unsigned ones
    shift : In(range(64)), In(range(96)) if width is 64
    saturation : In(2), a code of Saturation
    o : Out(width)
    overflow : Out(1), 1 if ``o`` is not the product
    """

    clocked = False
    apart = True

    def __init__(self, width: int):
        self.width = width
        shorter = min(UPS_MODES)
        super().__init__(
            {
                "i": In(signed(max(UPS_MODES[width]) + 1)),
                "shift": In(range(UPS_SHIFTS.stop + width - shorter)),
                "saturation": In(SATURATION_BITS),
                "o": Out(width),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width = self.width
        # From a shift of ``width`` on the lane holds 0, so larger shifts saturate there; the product keeps all bits above.
        shift = Signal(range(width + 1))
        product = Signal(signed(len(self.i) + width))
        places = Signal(width)
        m.d.comb += [
            shift.eq(Mux(self.shift > width, width, self.shift)),
            product.eq(self.i << shift),
            places.eq(Const(-1, width) << shift),
        ]
        symmetric = self.saturation == Saturation.SYMMETRIC
        top = Signal(width)
        bottom = Signal(width)
        m.d.comb += [top.eq(places & (1 << width - 1) - 1), bottom.eq(Mux(symmetric, -top, places & 1 << width - 1))]
        upper = product[width - 1 :]
        inside = upper.all() | ~upper.any()
        below_symmetric = symmetric & upper.all() & ~product[: width - 1].any()
        m.d.comb += self.overflow.eq(~inside | below_symmetric)
        with m.If(self.overflow & (self.saturation != Saturation.NONE)):
            m.d.comb += self.o.eq(Mux(product[-1], bottom, top))
        with m.Else():
            m.d.comb += self.o.eq(product[:width])
        return m


def ups_request(lanes: int) -> data.StructLayout:
    """Return the layout of a vector, lane 0 lowest, and its control; bits above the last lane are ignored."""
    return data.StructLayout({"vector": vector_bits(lanes), "control": UpsControl})


def ups_result(lanes: int) -> data.StructLayout:
    """Return the layout of accumulators, lane 0 lowest; ``overflow`` is 1 if any is not its lane times ``2**shift``."""
    return data.StructLayout({"acc": acc_bits(lanes), "overflow": 1})


class Ups(IntegerLanes):
    """Vector to accumulators. The sticky flag is srUPS_of.

    Even lanes are 64 bits wide and convert to one 64-bit accumulator or, in the upper half, to one of 32 bits; odd lanes
    are 32 bits wide.
    """

    def __init__(self, config: IntegerLanesConfig):
        super().__init__(config, ups_request(config.lanes), ups_result(config.lanes))

    def convert(self, m: Module, platform: Any, request: data.View) -> data.View:
        lanes = self.config.lanes
        outputs = [self._lane(m, platform, k, request) for k in range(lanes)]

        result = Signal(ups_result(lanes))
        with m.If(request.control.acc64):
            some = outputs[::2]
            m.d.comb += [
                result.acc.eq(Cat(lane.o for lane in some)),
                result.overflow.eq(Cat(lane.overflow for lane in some).any()),
            ]
        with m.Else():
            m.d.comb += [
                result.acc.eq(Cat(lane.o[-ACC_LANE_BITS:] for lane in outputs)),
                result.overflow.eq(Cat(lane.overflow for lane in outputs).any()),
            ]
        return result

    def _lane(self, m: Module, platform: Any, k: int, request: Value) -> UpsLane:
        """Instantiate lane k: 64 bits wide if k is even, else 32."""
        control = request.control
        width = ACC_LANE_BITS if k % 2 else 2 * ACC_LANE_BITS
        lane = instantiate(m, platform, f"lane_{k}", UpsLane, width)
        with m.Switch(Cat(control.wide, control.acc64)):
            for acc64, acc in enumerate((ACC_LANE_BITS, 2 * ACC_LANE_BITS)):
                if acc > width:
                    continue
                for wide, bits in enumerate(UPS_MODES[acc]):
                    with m.Case(acc64 << 1 | wide):
                        number = request.vector.word_select(k >> acc64, bits)
                        m.d.comb += lane.i.eq(Cat(number, number[-1] & control.is_signed).as_signed())
        # A 32-bit accumulator uses the upper half of a 64-bit lane: shift it left by 32 more.
        higher = 0 if k % 2 else Mux(control.acc64, 0, width - ACC_LANE_BITS)
        m.d.comb += [lane.shift.eq(control.shift + higher), lane.saturation.eq(control.saturation)]
        return lane


RECORDS = (
    Unit(
        name="ups",
        config_type=IntegerLanesConfig,
        build=Ups,
        summary="AIE-ML v2: vector shifted left and saturated to accumulators",
        covered=Covered(IntegerLanesConfig(), 2048, {"BITPATH_SHIFTS": "4 9"}),
        judges=(Judge(3, IntegerLanesConfig()),),
        waves=(CLOCK, INPUTS, *AIE_LANE_GROUPS, OUTPUT),
    ),
)
