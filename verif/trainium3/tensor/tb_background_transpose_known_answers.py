"""Known answers of transposes, in tiles: 8- and 16-bit data in one pass, 32-bit data as low and as high halves.

``BITPATH_KAT_DIR`` is the folder that holds them. What the RTL gives is compared with the archive, not with golden.
"""

import os
from itertools import product
from pathlib import Path

import cocotb
import numpy as np

from bitpath.rtl.trainium3.tensor.background_transpose import (
    BackgroundTranspose,
    TransposeConfig,
    column_layout,
    row_layout,
)
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(TransposeConfig)
SIZE = CONFIG.size
ROW, COLUMN = row_layout(CONFIG), column_layout(CONFIG)


@covers("background_transpose.known_answers", "Another program computed them with fractions")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_tile(dut):
    """Five transposes of 8, 16 and 32 bits, in tiles."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_core_transpose.npz") as archive:
        files = dict(archive)
    async with bench(dut, BackgroundTranspose(CONFIG).signature) as frame:
        driver, board = frame.driver("i"), frame.check_stream("o")
        for case, bits, rows, columns in files["te_meta"].tolist():
            data, psum = (files[f"te{case}_{side}"].astype("u4") for side in ("data", "psum"))
            for low, p, f in product(range(0, max(bits, 16), 16), range(0, rows, SIZE), range(0, columns, SIZE)):
                tile = (data[p : p + SIZE, f : f + SIZE] >> low & 0xFFFF).tolist()
                turned = (psum[f : f + SIZE, p : p + SIZE] >> low & 0xFFFF).tolist()
                for number, row in enumerate(tile):
                    control = {"last_column": len(turned) - 1, "last": number == len(tile) - 1}
                    driver.send_bits(pack(ROW, {"elements": row, **control}))
                for number, column in enumerate(turned):
                    expected = pack(COLUMN, {"elements": column, "last": number == len(turned) - 1})
                    board.expect(expected, f"case {case}, bits from {low}, rows from {p}, column {f + number}")
