"""Known answers of tilise mode, ttsim v1.10.0: what L1 has at the unit's addresses, converted, is SrcA.

``BITPATH_KAT_DIR`` is their folder.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.tensix import unpack
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import COLUMNS, Format
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig, unpacked_layout
from bitpath.rtl.tensix.unpack.tilise_address import TILISE_REQUEST, TILISE_ROW, WORD_BYTES, TiliseAddress
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.packing import unpack as fields_of

CONFIG = config_from_environment(ConversionConfig)
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}


@cocotb.test(**LIMIT)
async def rows(dut):
    """Every row of every case."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "tensix_bh_pack_unpack.npz") as file:
        answers = {name: file[name] for name in ("t_cfg", "t_l1", "t_src")}
    async with bench(dut, TiliseAddress(CONFIG).signature) as frame:
        driver = frame.driver("i")
        board = frame.scoreboard("rows", unpacked_layout(1), output="o")
        waiting = []

        def sink(bits: int) -> None:
            source, target, e4m3, l1 = waiting.pop(0)
            start = fields_of(TILISE_ROW, bits)["address"] * WORD_BYTES
            row = l1[start : start + COLUMNS * L1_BYTES[source]]
            words = unpack(row, source, target, e4m3=e4m3, count=COLUMNS, numerics=CONFIG.numerics)
            board.got(pack(unpacked_layout(1), [words.tolist()]))

        frame.monitor("o", sink)
        for config, l1, src in zip(answers["t_cfg"].tolist(), answers["t_l1"], answers["t_src"], strict=True):
            source, target, e4m3, stride, datums = config
            case = Format(source), Format(target), bool(e4m3), l1.astype("<u4").view(np.uint8)
            for place, words in enumerate(src[:datums].reshape(-1, COLUMNS).tolist()):
                board.expect(pack(unpacked_layout(1), [words]), f"{config}, row {place}")
                waiting.append(case)
            fields = {"address": 0, "stride": stride // WORD_BYTES, "last": datums // COLUMNS - 1, "l1_format": source}
            driver.send_bits(pack(TILISE_REQUEST, fields))
