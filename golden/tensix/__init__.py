"""Tenstorrent's Tensix of Wormhole and Blackhole: Matrix unit, unpackers and packers, bit-identical to `golden.exact`.

`Core` runs programs of Tensix instructions, which `isa` encodes and decodes.
"""

from bitpath.golden.tensix import isa, llk
from bitpath.golden.tensix.convert.mx import mx_pack, mx_unpack
from bitpath.golden.tensix.convert.pack import pack
from bitpath.golden.tensix.convert.riscv_store import RiscvFormat, riscv_store
from bitpath.golden.tensix.convert.unpack import unpack
from bitpath.golden.tensix.convert.unpack_tile import UnpackControl, unpack_tile
from bitpath.golden.tensix.convert.unpack_to_dst import unpack_to_dst
from bitpath.golden.tensix.core.core import Core, Trace
from bitpath.golden.tensix.core.errors import DeadlockError, UndefinedBehavior
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.matmul.cycles import unpack_cycles
from bitpath.golden.tensix.matmul.host import tile_image
from bitpath.golden.tensix.matmul.matmul import (
    MvmulInstruction,
    Program,
    matmul,
    matmul_program,
    result_matrix,
    run_program,
    tile_instructions,
)
from bitpath.golden.tensix.matmul.packed import packed_matrix, packed_tiles
from bitpath.golden.tensix.matmul.packing import Packing
from bitpath.golden.tensix.matmul.schedule import TileSchedule, schedule
from bitpath.golden.tensix.matmul.tilize import tilize, untilize
from bitpath.golden.tensix.matrix.elementwise import elwadd, elwmul, elwsub
from bitpath.golden.tensix.matrix.moves import mova2d, movb2a, movb2d, movd2a, movd2b, trnspsrcb
from bitpath.golden.tensix.matrix.mvmul import dotpv, gapool, mvmul, mvmul_row
from bitpath.golden.tensix.matrix.pooling import gmpool
from bitpath.golden.tensix.operands.broadcast import broadcast_src_b
from bitpath.golden.tensix.operands.fidelity import phases
from bitpath.golden.tensix.operands.words import from_physical, to_physical
from bitpath.golden.tensix.vector.modes import StochasticMode, StoreMode
from bitpath.golden.tensix.vector.prng import Prng
from bitpath.golden.tensix.vector.sfpload import sfpload
from bitpath.golden.tensix.vector.sfpstore import sfpstore
from bitpath.golden.tensix.vector.stochastic_round import sfp_stoch_rnd

# Former names, kept for callers of earlier releases.
MatmulPlan, plan_matmul, run_plan = Program, matmul_program, run_program

__all__ = [
    "Core",
    "DeadlockError",
    "Format",
    "MatmulPlan",
    "MvmulInstruction",
    "Packing",
    "Prng",
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
    "matmul_program",
    "mova2d",
    "movb2a",
    "movb2d",
    "movd2a",
    "movd2b",
    "mvmul",
    "mvmul_row",
    "mx_pack",
    "mx_unpack",
    "pack",
    "packed_matrix",
    "packed_tiles",
    "phases",
    "plan_matmul",
    "result_matrix",
    "riscv_store",
    "run_plan",
    "run_program",
    "schedule",
    "sfp_stoch_rnd",
    "sfpload",
    "sfpstore",
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
