"""Unit of rtl/aie_ml_v2/vector: the vector multiply-accumulate with its accumulators."""

from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.aie_ml_v2.vector.vector_mac import VectorMac
from bitpath.rtl.common.unit import CLOCK, Covered, Unit, WaveGroup

UNITS = (
    Unit(
        name="vector_mac",
        room="aie_ml_v2/vector",
        config_type=VectorMacConfig,
        build=VectorMac,
        summary="AIE-ML v2: lanes with accumulators, permute network and interlock",
        covered=Covered(VectorMacConfig(), 200),
        waves=(
            CLOCK,
            WaveGroup("beats", r"i__"),
            WaveGroup("external accumulator access", r"(write|read|o|written|busy)\b|(write|read|o)__"),
            WaveGroup("issue and instructions in flight", r"issue\."),
            WaveGroup("accumulators", r"file\."),
            WaveGroup("first lane", r"lane_0\."),
            WaveGroup("operands", r"(permute\.|operands|taken|high)"),
        ),
    ),
)

CONTROL = (
    "issue",
    "accumulator_file",
    "vector_mac",
    "permute",
)
"""Files without arithmetic (sequencers, register files, memories, wiring), which are not mutated."""
