"""Units of rtl/aie_ml_v2/mac: the multiply-accumulate lane and its post-adder."""

from bitpath.rtl.aie_ml_v2.mac.config import MX9_LANE, MacLaneConfig, PostAddConfig, WideLanesConfig
from bitpath.rtl.aie_ml_v2.mac.mac_lane import MacLane
from bitpath.rtl.aie_ml_v2.mac.post_add import ProductSum
from bitpath.rtl.aie_ml_v2.mac.wide_lanes import WideLanes
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Synthesised, Unit, WaveGroup, YardstickConfig

FLOOR = (
    "16 bare 8x8-bit multipliers, align and normalise of an FP32 adder",
    YardstickConfig(count=16, a_bits=8, b_bits=8, fp32_shifters=True),
)
AIE_MAC_GROUPS = (
    WaveGroup("operands and decode", r"(permuted_|multiply\.(mx|float)_decode_)"),
    WaveGroup("products and exponents", r"(multiply\.|multiplied_)"),
    WaveGroup("post-add and terms", r"(post_add|block_terms|float_|first_)"),
    WaveGroup("compare", r"(compare\.|compared_)"),
    WaveGroup("align to the largest exponent", r"align\."),
    WaveGroup("accumulate", r"(accumulate\.|added_|total)"),
    WaveGroup("normalize", r"normalize\."),
)

UNITS = (
    Unit(
        name="mac_lane",
        room="aie_ml_v2/mac",
        config_type=MacLaneConfig,
        build=MacLane,
        summary="AIE-ML v2: multiply-accumulate lane, six modes, two accumulators",
        covered=Covered(MacLaneConfig(), 300),
        judges=(Judge(22, MacLaneConfig()),),
        synthesised=(
            Synthesised("mac_lane, MX9 alone, two accumulators", MX9_LANE, 8, *FLOOR),
            Synthesised("mac_lane, six modes, two accumulators", MacLaneConfig(), 16, *FLOOR),
        ),
        waves=(
            CLOCK,
            WaveGroup("inputs", r"(valid|operands|acc[12])\b"),
            *AIE_MAC_GROUPS,
            WaveGroup("output", r"o$"),
        ),
    ),
    Unit(
        name="post_add",
        room="aie_ml_v2/mac",
        config_type=PostAddConfig,
        build=ProductSum,
        summary="AIE-ML v2: sum of 16 shifted MX products or of integer products",
        covered=Covered(PostAddConfig(), 500),
        waves=(
            WaveGroup("inputs", r"i\b"),
            WaveGroup("decode", r"multiply\.(mx|float)_decode_"),
            WaveGroup("products", r"multiply\."),
            WaveGroup("sum", r"post_add\."),
            WaveGroup("output", r"o$"),
        ),
    ),
    Unit(
        name="wide_lanes",
        room="aie_ml_v2/mac",
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
