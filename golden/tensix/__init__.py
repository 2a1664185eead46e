"""Tenstorrent's Tensix of Wormhole and Blackhole: Matrix and Vector unit, unpackers and packers, bit-identical to `golden.exact`.

`Core` runs programs of Tensix instructions, which `isa` encodes and decodes; `riscv` runs the kernels that push them.
"""

from bitpath.golden.tensix import isa, llk, riscv, sfpu
from bitpath.golden.tensix.convert.mx import mx_pack, mx_unpack
from bitpath.golden.tensix.convert.pack import pack
from bitpath.golden.tensix.convert.riscv_store import RiscvFormat, riscv_store
from bitpath.golden.tensix.convert.unpack import UnpackControl, unpack, unpack_tile, unpack_to_dst
from bitpath.golden.tensix.core.core import Core, Trace
from bitpath.golden.tensix.core.state import DeadlockError, UndefinedBehavior
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.sfpu import StoreMode
from bitpath.golden.tensix.matmul.cycles import unpack_cycles
from bitpath.golden.tensix.matmul.host import tile_image
from bitpath.golden.tensix.matmul.matmul import (
    MvmulInstruction,
    Packing,
    PreparedRight,
    Program,
    matmul,
    matmul_int8,
    matmul_program,
    multiply,
    multiply_int8,
    packed_matrix,
    packed_tiles,
    prepare,
    prepare_int8,
    result_matrix,
    run_program,
    tile_instructions,
    tilize,
    untilize,
)
from bitpath.golden.tensix.matmul.partials import Partials
from bitpath.golden.tensix.matmul.product_program import ProductProgram, product_program
from bitpath.golden.tensix.matmul.schedule import TileSchedule, schedule
from bitpath.golden.tensix.matrix.elementwise import elwadd, elwmul, elwsub
from bitpath.golden.tensix.matrix.moves import mova2d, movb2a, movb2d, movd2a, movd2b, trnspsrcb
from bitpath.golden.tensix.matrix.mvmul import dotpv, gapool, mvmul, mvmul_row
from bitpath.golden.tensix.matrix.pooling import gmpool
from bitpath.golden.tensix.operands.arguments import broadcast_src_b, phases
from bitpath.golden.tensix.operands.registers import from_physical, to_physical
from bitpath.golden.tensix.sfpu.access import sfpload, sfpstore
from bitpath.golden.tensix.sfpu.prng import Prng
from bitpath.golden.tensix.sfpu.rounding import StochasticMode, sfp_stoch_rnd

# Former names, kept for callers of earlier releases.
MatmulPlan, plan_matmul, run_plan = Program, matmul_program, run_program

__all__ = [
    "Core",
    "DeadlockError",
    "Format",
    "MatmulPlan",
    "MvmulInstruction",
    "Packing",
    "Partials",
    "PreparedRight",
    "Prng",
    "ProductProgram",
    "Program",
    "RiscvFormat",
    "StochasticMode",
    "StoreMode",
    "TileSchedule",
    "Trace",
    "UndefinedBehavior",
    "UnpackControl",
    "broadcast_src_b",
    "dotpv",
    "elwadd",
    "elwmul",
    "elwsub",
    "from_physical",
    "gapool",
    "gmpool",
    "isa",
    "llk",
    "matmul",
    "matmul_int8",
    "matmul_program",
    "mova2d",
    "movb2a",
    "movb2d",
    "movd2a",
    "movd2b",
    "multiply",
    "multiply_int8",
    "mvmul",
    "mvmul_row",
    "mx_pack",
    "mx_unpack",
    "pack",
    "packed_matrix",
    "packed_tiles",
    "phases",
    "plan_matmul",
    "prepare",
    "prepare_int8",
    "product_program",
    "result_matrix",
    "riscv",
    "riscv_store",
    "run_plan",
    "run_program",
    "schedule",
    "sfp_stoch_rnd",
    "sfpload",
    "sfpstore",
    "sfpu",
    "tile_image",
    "tile_instructions",
    "tilize",
    "to_physical",
    "trnspsrcb",
    "unpack",
    "unpack_cycles",
    "unpack_tile",
    "unpack_to_dst",
    "untilize",
]
