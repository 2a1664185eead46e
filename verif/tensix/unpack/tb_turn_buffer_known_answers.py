"""Known answers of transposed faces, ttsim v1.10.0, through the turn buffer. ``BITPATH_KAT_DIR`` is their folder."""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.tensix import unpack
from bitpath.golden.tensix.declarations.formats import COLUMNS, FACE
from bitpath.rtl.tensix.unpack.layouts import TurnBufferConfig
from bitpath.rtl.tensix.unpack.turn_buffer import TurnBuffer
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.tensix.unpack.turn import DATUMS, requests

CONFIG = config_from_environment(TurnBufferConfig)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def faces(dut):
    """Every face to SrcA, transposed or not."""
    rng = pauses.rng("turn")
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "tensix_bh_pack_unpack.npz") as file:
        answers = {name: file[name] for name in ("u_cfg", "u_l1", "u_src")}
    async with bench(dut, TurnBuffer(CONFIG).signature) as frame:
        driver, board = frame.driver("i"), frame.check_stream("o")
        for config, l1, src in zip(answers["u_cfg"].tolist(), answers["u_l1"], answers["u_src"], strict=True):
            source, target, unsigned, e4m3, unpacker, transposed, forced, exponent = config
            if unpacker:
                continue
            options = {"unsigned": bool(unsigned), "e4m3": bool(e4m3), "forced_exponent": exponent if forced else None}
            before = unpack(l1, source, target, count=DATUMS, chip="blackhole", **options)
            rows = before.reshape(FACE, COLUMNS), src.reshape(FACE, COLUMNS), bool(transposed)
            for each in requests(CONFIG.rows, *rows, rng, str(config)):
                board.expect(each.expected, each.shown)
                driver.send_bits(each.payload)
