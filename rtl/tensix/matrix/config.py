"""Configuration of the Matrix unit."""

from dataclasses import dataclass

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.rtl.common.config import require_power_of_two


@dataclass(frozen=True, kw_only=True)
class MatrixUnitConfig:
    """Configuration of the Matrix unit; SrcA, SrcB and Dst always have the size of the machine.

    Attributes
    ----------
    rows, cols : grid of dot products; powers of two up to 8 and 16. An instruction takes ``8 * 16 / (rows * cols)`` cycles.
    numerics : arithmetic of the dot products.
    pools : False leaves the columns of GMPOOL out, for an engine that never issues it.
    """

    rows: int = 2
    cols: int = 4
    numerics: TensixNumerics = WORMHOLE.numerics
    pools: bool = True

    def __post_init__(self) -> None:
        require_power_of_two("matrix_unit", "rows", self.rows, 1, BLOCK_ROWS)
        require_power_of_two("matrix_unit", "cols", self.cols, 1, COLUMNS)

    @property
    def any_src_a_block(self) -> bool:
        """True if an instruction's SrcA rows may start at any 8-row block, False if at every second one."""
        return self.numerics.src_a_row_step == BLOCK_ROWS

    @property
    def passes(self) -> int:
        """Number of cycles for which an instruction occupies the unit."""
        return BLOCK_ROWS // self.rows * (COLUMNS // self.cols)


@dataclass(frozen=True, kw_only=True)
class MoverConfig:
    """Configuration of the mover.

    Attributes
    ----------
    numerics : which source words moves flush, and which bits they mask.
    """

    numerics: TensixNumerics = WORMHOLE.numerics
