"""Units of GMPOOL."""

from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup, registered
from bitpath.rtl.tensix.pool.gmpool_column import GmpoolColumn
from bitpath.rtl.tensix.pool.layouts import GmpoolColumnConfig

UNITS = (
    Unit(
        name="gmpool_column",
        room="tensix/pool",
        config_type=GmpoolColumnConfig,
        build=GmpoolColumn,
        summary="Tensix: the maximum of 16 scaled SrcA words and a Dst word, and its index",
        covered=Covered(GmpoolColumnConfig(pipeline=registered(3)), 300),
        judges=(Judge(22, GmpoolColumnConfig()),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("scaled data", r"(scale_|scaled)"),
            WaveGroup("Dst", r"(read_dst|beside)"),
            WaveGroup("comparisons", r"(larger_|pairs|fours|eights|first|all)"),
            WaveGroup("word", r"word"),
            OUTPUT,
        ),
    ),
)
