"""Known answers of moves, ttsim v1.10.0: all registers after each instruction. ``BITPATH_KAT_DIR`` is their folder."""

import os
from copy import deepcopy
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.tensix.declarations.formats import DST16_BF16, DST16_FP16, DST32, Chip, Format
from bitpath.golden.tensix.isa import Instruction, decode
from bitpath.rtl.tensix.matrix.instruction import MoverConfig
from bitpath.rtl.tensix.matrix.mover import MoveKind, Mover
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.matrix.moving import FROM_DST, TO_DST, WIDTHS, MoverTable, Registers, random_move

CONFIG = config_from_environment(MoverConfig)
LAYOUTS = (DST16_BF16, DST16_FP16, DST32)
ROWS = 32
"""Rows of the sources in the archive; it has 16 of Dst."""


def fields_of(instruction: Instruction, fmt: Format, *, keeps: int, dst32: bool, rng) -> dict:
    """Return a move of an instruction, by the archive's description of its fields."""
    kind, fields = MoveKind[instruction.name], instruction.fields
    mode, low_half = fields.get("mode", 0), fields.get("low_half", 0)
    move = random_move(rng, kind, fmt, WIDTHS[0])
    if kind is MoveKind.MOVB2D:
        log2 = 3 if mode & 2 else 2 if mode & 4 else 0
    else:
        log2 = 0 if not mode else 3 if kind is MoveKind.MOVA2D else 2
    move["control"] |= {
        "own_format": fmt,
        "keeps": keeps,
        "wide": int(kind in TO_DST and fmt is Format.TF32),
        "low_half": low_half,
    }
    return move | {
        "rows_log2": log2,
        "spread": int(kind is MoveKind.MOVB2D and log2 == 3),
        "column_0": mode & 1 if kind is MoveKind.MOVB2D else 0,
        "dst32": int(dst32 and kind in FROM_DST),
        "src_row": fields.get("src_row", fields.get("src_b_row", 0)),
        "src_a_row": fields.get("src_a_row", 0),
        "dst_row": fields.get("dst", 0),
    }


@covers("mover.known_answers", "They come from an implementation that this project did not write")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_move(dut):
    """Every known answer of a move of Blackhole's."""
    rng = pauses.rng("moves")
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "tensix_bh_control.npz") as file:
        archive = {name: file[name] for name in file.files if name.startswith("m_")}
    async with bench(dut, Mover(CONFIG).signature, drain=False) as frame:
        table = MoverTable(frame, Registers.random(rng), CONFIG.numerics)
        for case, (config, word) in enumerate(zip(archive["m_cfg"].tolist(), archive["m_in"].tolist(), strict=True)):
            fmt, _, keeps, width = config
            before = Registers.random(rng)
            before.pointers = [(1, 0), (1, 0)]
            after = deepcopy(before)
            for registers, suffix in ((before, ""), (after, "_out")):
                for side, name in enumerate(("m_srcA", "m_srcB")):
                    registers.sources[side][0, :ROWS] = archive[f"{name}{suffix}"][case]
                registers.dst.write(0, archive[f"m_dst{suffix}"][case], LAYOUTS[width])
            instruction = decode(word, chip=Chip.BLACKHOLE)
            move = fields_of(instruction, Format(fmt), keeps=keeps, dst32=width == 2, rng=rng)
            table.renew(before)
            await table.play(move, rng, expected=after)
