"""Tenstorrent Wormhole's Tensix Matrix unit, its unpackers and packers, vectorised, bit-identical to `golden.exact`."""

from bitpath.golden.tensix.convert.pack import pack
from bitpath.golden.tensix.convert.unpack import unpack
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
    stored_words,
    tile_instructions,
)
from bitpath.golden.tensix.matmul.schedule import TileSchedule, schedule
from bitpath.golden.tensix.matrix.elementwise import elwadd, elwmul, elwsub
from bitpath.golden.tensix.matrix.mvmul import dotpv, gapool, mvmul, mvmul_row
from bitpath.golden.tensix.matrix.pooling import gmpool
from bitpath.golden.tensix.operands.broadcast import broadcast_src_b
from bitpath.golden.tensix.operands.fidelity import phases
from bitpath.golden.tensix.operands.words import from_physical, to_physical

# Former names, kept for callers of earlier releases.
MatmulPlan, plan_matmul, run_plan = Program, matmul_program, run_program

__all__ = [
    "Format",
    "MatmulPlan",
    "MvmulInstruction",
    "Program",
    "TileSchedule",
    "broadcast_src_b",
    "dotpv",
    "elwadd",
    "elwmul",
    "elwsub",
    "from_physical",
    "gapool",
    "gmpool",
    "matmul",
    "matmul_program",
    "mvmul",
    "mvmul_row",
    "pack",
    "phases",
    "plan_matmul",
    "result_matrix",
    "run_plan",
    "run_program",
    "schedule",
    "stored_words",
    "tile_image",
    "tile_instructions",
    "to_physical",
    "unpack",
    "unpack_cycles",
]
