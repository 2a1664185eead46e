"""Two lanes of 32 bits that also work as one lane of 64 bits.

With 32 bits each lane has its own operands. With 64 bits the lower lane's operands are those of both::

     INT16_64   x, y: 4 words             o = +-sum(x[k] * y[k]) +- acc1 +- acc2     lower lane k = 0, 1; upper lane k = 2, 3
     INT32X16   x: 2 double words, y: 2 words     the same                            lower lane x's low halves, unsigned;
                                                                                      upper lane the high halves, times 2**16

The sums of both lanes' products are added in the cycle of the post-add, and the lower half's carry enters the upper half's
accumulation. Sums wrap modulo 2**64. ``negated`` subtracts single products, as complex products do.

Latency and hazards are those of `MacLane`. Ref: AM027, Table 7; llvm-aie for the timing and for shift16.
"""

from dataclasses import dataclass

from amaranth import Cat, EnableInserter, Module, Mux, Signal, Value, signed
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, AieNumerics
from bitpath.rtl.aie_ml_v2.mac.config import LANE_BITS, WORD_BITS, LaneOperands, MacLaneConfig, MacMode, _check_modes
from bitpath.rtl.aie_ml_v2.mac.mac_lane import MacLane
from bitpath.rtl.aie_ml_v2.mac.post_add import INT16_PRODUCTS
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup


@dataclass(frozen=True, kw_only=True)
class WideLanesConfig:
    """Configuration of a pair of lanes.

    Attributes
    ----------
    modes : modes of each lane with 32 bits, in the order of `MacMode`; INT16, whose multipliers 64-bit lanes use, must be
        among them.
    numerics : choices where the documents leave the result open.
    stalls : True for lanes with a clock enable.
    """

    modes: tuple[MacMode, ...] = (MacMode.INT8, MacMode.INT16)
    numerics: AieNumerics = AIE_ML_V2.numerics
    stalls: bool = False

    def __post_init__(self) -> None:
        if MacMode.INT16 not in self.modes:
            raise ValueError(f"wide_lanes: modes must have MacMode.INT16, not {self.modes!r}")
        _check_modes("wide_lanes", self.modes)

    @property
    def lane(self) -> MacLaneConfig:
        return MacLaneConfig(modes=self.modes, numerics=self.numerics, chained=True, stalls=self.stalls)


HALVES = 2
WIDE_BITS = HALVES * LANE_BITS


class LaneWidth(enum.Enum, shape=2):
    """Width of the lanes, and of X's integers with 64 bits."""

    BITS32 = 0
    INT16_64 = 1
    INT32X16 = 2


class WideLanes(wiring.Component):
    """A pair of lanes of 32 bits, or a lane of 64.

    Parameters
    ----------
    config : WideLanesConfig, the numerics and the modes with 32 bits.

    Members
    -------
    advance : In(1), if the lanes stall: the clock enable of all registers; cycles without it do not count
    valid : In(1)
    width : In(LaneWidth); with 64 bits the mode of the lower lane's control word must be INT16
    negated : In(4), with 64 bits: products that are subtracted; of INT32X16 the low two bits count
    operands : In(LaneOperands) of the lower and of the upper lane; the upper lane's have no effect with 64 bits
    acc1, acc2 : In(64), sampled two cycles before the result; the lower lane's bits are the low ones
    o : Out(64)
    """

    def __init__(self, config: WideLanesConfig):
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "width": In(LaneWidth),
                "negated": In(HALVES * INT16_PRODUCTS),
                "operands": In(data.ArrayLayout(LaneOperands, HALVES)),
                "acc1": In(WIDE_BITS),
                "acc2": In(WIDE_BITS),
                "o": Out(WIDE_BITS),
                **({"advance": In(1)} if config.stalls else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        halves = range(HALVES)
        lanes = [instantiate(m, platform, f"lane_{half}", MacLane, self.config.lane) for half in halves]
        lower, upper = lanes
        double = self.width == LaneWidth.INT32X16
        double_permuted, double_multiplied = Signal(reset_less=True), Signal(reset_less=True)
        m.d.sync += [double_permuted.eq(double), double_multiplied.eq(double_permuted)]
        products = Signal(signed(WIDE_BITS))
        above = upper.chained.sum
        m.d.comb += products.eq(lower.chained.sum + Mux(double_multiplied, above << WORD_BITS, above))
        for half, lane in enumerate(lanes):
            own = self.negated.word_select(half, INT16_PRODUCTS)
            part = slice(half * LANE_BITS, (half + 1) * LANE_BITS)
            if self.config.stalls:
                m.d.comb += lane.advance.eq(self.advance)
            m.d.comb += [
                lane.valid.eq(self.valid),
                lane.operands.eq(self.operands[half]),
                lane.acc1.eq(self.acc1[part]),
                lane.acc2.eq(self.acc2[part]),
                lane.chain.wide.eq(self.width != LaneWidth.BITS32),
                lane.chain.negated.eq(Mux(double, self.negated[:INT16_PRODUCTS], own)),
                lane.chain.products.eq(products[part]),
                lane.chain.upper.eq(half),
                self.o[part].eq(lane.o),
            ]
        m.d.comb += [
            upper.chain.carry.eq(lower.chained.carry),
            upper.chain.acc1_below.eq(lower.chained.acc1_top),
        ]
        with m.If(self.width != LaneWidth.BITS32):
            self._split(m, lanes, double)
        return EnableInserter(self.advance)(m) if self.config.stalls else m

    def _split(self, m: Module, lanes: list[wiring.Component], double: Value) -> None:
        """Give each lane its half of the lower lane's operands."""
        whole = self.operands[0]
        for half, lane in enumerate(lanes):
            first = half * INT16_PRODUCTS
            words = Cat(whole.x.word_select(first + k, WORD_BITS) for k in range(INT16_PRODUCTS))
            digits = Cat(whole.x.word_select(HALVES * k + half, WORD_BITS) for k in range(INT16_PRODUCTS))
            others = whole.y.word_select(half, INT16_PRODUCTS * WORD_BITS)
            m.d.comb += [
                lane.operands.control.eq(whole.control),
                lane.operands.control.x_signed.eq(whole.control.x_signed & ~(double & (half == 0))),
                lane.operands.x.eq(Mux(double, digits, words)),
                lane.operands.y.eq(Mux(double, whole.y[: INT16_PRODUCTS * WORD_BITS], others)),
            ]


RECORDS = (
    Unit(
        name="wide_lanes",
        config_type=WideLanesConfig,
        build=WideLanes,
        summary="AIE-ML v2: two lanes of 32 bits, or one of 64 chained by a carry",
        covered=Covered(WideLanesConfig(), 400),
        judges=(Judge(53, WideLanesConfig()),),
        waves=(
            CLOCK,
            WaveGroup("inputs", r"(valid|width|negated|operands|acc[12])\b"),
            WaveGroup("sum of both lanes", r"(products|double)"),
            WaveGroup("lower lane", r"lane_0\."),
            WaveGroup("upper lane", r"lane_1\."),
            WaveGroup("output", r"o$"),
        ),
    ),
)
