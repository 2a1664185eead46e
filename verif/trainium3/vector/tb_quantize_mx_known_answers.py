"""Known answers of quantize_mx through the RTL: every tile that has them, under both scale rules.

``BITPATH_KAT_DIR`` is the folder that holds them. What the RTL gives is compared with the archive, not with golden.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.formats.catalogue import BF16, E4M3FN, E5M2, FP16
from bitpath.golden.trainium3.declarations.quad_mx import X4, ScaleRule
from bitpath.rtl.trainium3.vector.quantize_mx import QuantizeMx, QuantizeMxConfig
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import Pipeline
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.vector.quantize_mx import requests
from bitpath.verif.trainium3.vector.quantize_mx_tiles import Mode, tile_blocks

CONFIG = config_from_environment(QuantizeMxConfig)
FORMATS = {"bf16": BF16, "fp16": FP16, "e4m3fn": E4M3FN, "e5m2": E5M2}
RULES = {"own_floor": ScaleRule.OCP, "own_x2": ScaleRule.NKI05}
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}


@covers(
    "quantize_mx.known_answers",
    "Another author derived them independently; in range they equal the vendor's goldens",
)
@cocotb.test(**LIMIT)
@cocotb.parametrize(answers=list(RULES))
async def every_tile(dut, answers):
    """49 tiles of BF16 and FP16 under both rules, 11,264 blocks."""
    sent = []
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_quantize_mx.npz") as archive:
        for tile in archive["meta"]:
            name = f"c{tile['id']:03d}"
            if f"{name}_{answers}_code" not in archive:
                continue
            mode = Mode(FORMATS[tile["src"]], FORMATS[tile["dst"]], RULES[answers])
            codes, scales = (archive[f"{name}_{answers}_{what}"] for what in ("data", "code"))
            tiles = (each.reshape(len(each), -1, X4) for each in (archive[f"{name}_src_bits"], codes))
            sent += requests(*map(tile_blocks, tiles), scales.ravel(), mode)
    async with bench(dut, QuantizeMx(CONFIG).signature, drain=False) as frame:
        await Pipeline(frame, CONFIG.pipeline.stages).sweep(sent)
