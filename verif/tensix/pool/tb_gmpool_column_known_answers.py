"""Known answers of GMPOOL, ttsim v1.10.0, through one column.

``BITPATH_KAT_DIR`` is their folder, ``BITPATH_ARCHIVE`` the archive. A Dst row that is undefined reads as all ones.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.tensix.declarations.formats import Style
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.pool.gmpool_column import GmpoolColumn
from bitpath.rtl.tensix.pool.layouts import POOL_ROWS, GmpoolColumnConfig, PoolWords, pool_request
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Pipeline, Request
from bitpath.verif.tensix.dot.numbers import FRACTION_BITS
from bitpath.verif.tensix.pool.gmpool import UNDEFINED

CONFIG = config_from_environment(GmpoolColumnConfig)
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}


@cocotb.test(**LIMIT)
async def pooling(dut):
    """Every column of every GMPOOL."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / os.environ["BITPATH_ARCHIVE"]) as file:
        archive = dict(file)
    sent = []
    for case in np.flatnonzero(archive["op_names"][archive["op"]] == "GMPOOL"):
        dst32 = bool(archive["use32"][case])
        dst = archive["dst_in"][case][:POOL_ROWS]
        if "dst_defined" in archive:
            undefined = np.uint32(UNDEFINED if dst32 else UNDEFINED >> 16)
            dst = np.where(archive["dst_defined"][case][:POOL_ROWS, np.newaxis], dst, undefined)
        style = Style(str(archive["style_names"][archive["style"][case]]))
        control = {"style": StyleCode.of(style), "dst32": dst32}
        scales = (archive["srcB"][case][0] >> FRACTION_BITS & 0xFF).tolist()
        for column, (rows, words, answers) in enumerate(
            zip(archive["srcA"][case].T, dst.T, archive["dst_out"][case][:POOL_ROWS].T, strict=True)
        ):
            fields = {"rows": rows.tolist(), "scales": scales, "dst": words.tolist(), "control": control}
            payload, expected = pack(pool_request(), fields), pack(PoolWords, answers.tolist())
            sent.append(Request(payload, expected, f"case {case}, column {column}"))
    async with bench(dut, GmpoolColumn(CONFIG).signature, drain=False) as frame:
        await Pipeline(frame, CONFIG.pipeline.stages).sweep(sent)
