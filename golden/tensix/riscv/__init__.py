"""Baby RISC-V cores of a Tensix tile: harts of RV32IM, programs in ELF files, and the tile that runs them."""

from bitpath.golden.tensix.riscv.hart import Hart
from bitpath.golden.tensix.riscv.program import Program, read_elf
from bitpath.golden.tensix.riscv.tile import Tile, TileTrace

__all__ = ["Hart", "Program", "Tile", "TileTrace", "read_elf"]
