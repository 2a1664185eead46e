"""Units of rtl/aie_ml_v2/vector: the vector multiply-accumulate with its accumulators, and routing of operands."""

from bitpath.rtl.aie_ml_v2.vector.config import OperandShapesConfig, SparseRouteConfig, VectorMacConfig
from bitpath.rtl.aie_ml_v2.vector.native_mac import SparseRoute
from bitpath.rtl.aie_ml_v2.vector.operand_shapes import OperandShapes
from bitpath.rtl.aie_ml_v2.vector.vector_mac import VectorMac
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

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
    Unit(
        name="sparse_route",
        room="aie_ml_v2/vector",
        config_type=SparseRouteConfig,
        build=SparseRoute,
        summary="AIE-ML v2: factors of a lane's products with a sparse operand, by the mask",
        covered=Covered(SparseRouteConfig(), 400),
        judges=(Judge(52, SparseRouteConfig()),),
        waves=(INPUTS, WaveGroup("groups", r"group_"), OUTPUT),
    ),
    Unit(
        name="operand_shapes",
        room="aie_ml_v2/vector",
        config_type=OperandShapesConfig,
        build=OperandShapes,
        summary="AIE-ML v2: elements of X and Y that each lane of a native product multiplies",
        covered=Covered(OperandShapesConfig(), 200),
        waves=(INPUTS, WaveGroup("multiplexers", r"chosen_"), OUTPUT),
    ),
)

CONTROL = (
    "vector_mac",
    "operand_shapes",
    "native_shapes",
)
"""Files without arithmetic (sequencers, register files, memories, wiring), which are not mutated."""
