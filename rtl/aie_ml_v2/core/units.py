"""Units of rtl/aie_ml_v2/core: the tile, which the units of all other rooms make, and the check of its bundles."""

from bitpath.golden.aie_ml_v2.declarations.tile import BANK_BYTES
from bitpath.rtl.aie_ml_v2.core.aie_tile import AieTile
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.core.issue_check import IssueCheck
from bitpath.rtl.aie_ml_v2.tile.config import DataMemoryConfig
from bitpath.rtl.aie_ml_v2.vector.config import NativeMacConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup

UNITS = (
    Unit(
        name="issue_check",
        room="aie_ml_v2/core",
        config_type=AieTileConfig,
        build=IssueCheck,
        summary="AIE-ML v2: what the tile refuses of a bundle",
        covered=Covered(AieTileConfig(), 300),
        judges=(Judge(100, AieTileConfig(), 300),),
    ),
    Unit(
        name="aie_tile",
        room="aie_ml_v2/core",
        config_type=AieTileConfig,
        build=AieTile,
        summary="AIE-ML v2: the tile, which plays schedules of bundles on registers and banked memory",
        covered=Covered(
            AieTileConfig(multiply=NativeMacConfig(products=(NativeShape.INT8_8X8X8, NativeShape.INT16_8X2X8))), 400
        ),
        agreed=AieTileConfig(
            multiply=NativeMacConfig(mx9=False),
            pairs=1,
            accumulators=1,
            memory=DataMemoryConfig(modules=1, pairs=1, words=64, bank_bytes=BANK_BYTES),
        ),
        waves=(
            CLOCK,
            WaveGroup("bundle", r"(i__|goes|offered|check)"),
            WaveGroup("state", r"(busy|cycles|stalls|products|fault)"),
            WaveGroup("inside", r"(addresses|loads|stores|multiply|memory|vectors|accumulators)"),
        ),
    ),
)

CONTROL = (
    "aie_tile",
    "bundle",
)
"""Files without arithmetic (sequencers, register files, memories, wiring), which are not mutated."""
