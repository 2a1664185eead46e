"""Units of the Matrix unit room: the Matrix unit with SrcA, SrcB and Dst, and the mover between them."""

from dataclasses import replace

from bitpath.golden.tensix.declarations.numerics import WORMHOLE, WORMHOLE_DOCUMENTED
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.matrix.instruction import MatrixUnitConfig, MoverConfig
from bitpath.rtl.tensix.matrix.matrix_unit import MatrixUnit
from bitpath.rtl.tensix.matrix.mover import Mover

_DOCUMENTED = MoverConfig(numerics=WORMHOLE_DOCUMENTED.numerics)

UNITS = (
    Unit(
        name="matrix_unit",
        room="tensix/matrix",
        config_type=MatrixUnitConfig,
        build=MatrixUnit,
        summary="Tensix: SrcA, SrcB and Dst, rows x cols dot products, cols maxima",
        covered=Covered(MatrixUnitConfig(), 60),
        judges=(Judge(23, MatrixUnitConfig(numerics=replace(WORMHOLE.numerics, row_broadcast_writes_all=True))),),
        waves=(
            CLOCK,
            WaveGroup("instruction", r"instruction__"),
            WaveGroup("unpackers", r"write_[ab]__"),
            WaveGroup("Dst from and to outside", r"(write_dst|read_dst|dst)__"),
            WaveGroup("in flight to Dst", r"(starting|flight_|fire|step)"),
            WaveGroup("SrcA and SrcB", r"src_[ab]\."),
            WaveGroup("operands of this pass", r"select\."),
            WaveGroup("Dst", r"dst_register\."),
            WaveGroup("first dot product", r"cells_0\.cell_0\."),
            WaveGroup("first row of dot products", r"cells_0\."),
            WaveGroup("first column of GMPOOL", r"pool_0\."),
        ),
    ),
    Unit(
        name="mover",
        room="tensix/matrix",
        config_type=MoverConfig,
        build=Mover,
        summary="Tensix: rows between SrcA, SrcB and Dst, and words of whole banks",
        covered=Covered(_DOCUMENTED, 300),
        judges=(Judge(98, _DOCUMENTED),),
        waves=(
            CLOCK,
            WaveGroup("move", r"(move__|step|change)"),
            WaveGroup("found", r"(block_[ab]|address|src_[ab]|dst|pointers_)"),
            WaveGroup("written", r"(dst_values|dst_rows|fill_)"),
            WaveGroup("first word", r"to_(dst|source)_0_0\."),
        ),
    ),
)

CONTROL = (
    "registers",
    "matrix_unit",
    "mover",
    "cell_row",
    "instruction",
)
"""Files without arithmetic: sequencers, register files, memories and wiring. They have no mutants."""
