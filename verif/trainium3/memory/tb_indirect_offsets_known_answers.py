"""Known answers of gathers through the offsets: the column of the data at each offset.

``BITPATH_KAT_DIR`` is the folder that holds them. What the RTL gives is compared with the archive, not with golden.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.rtl.trainium3.memory.indirect_offsets import (
    TENSOR_ROWS,
    IndirectConfig,
    IndirectOffsets,
    indirect_command,
    indirect_offset,
)
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack, unpack
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(IndirectConfig)


def word(column):
    """A column of the data as an integer."""
    return int.from_bytes(np.ascontiguousarray(column).tobytes(), "little")


@covers("indirect_offsets.known_answers", "Another program computed them")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_gather(dut):
    """5 gathers of 1 to 4 columns, lists of 16 and of 32 rows."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_core_gather.npz") as archive:
        cases = [
            (group, count, *(archive[f"g{i}_{name}"] for name in ("data", "index", "gathered")))
            for i, _, _, group, _, count, _ in archive["meta"].tolist()
        ]
    widest = max(8 * data[:, 0].nbytes for _, _, data, _, _ in cases)
    expected = [(data, gathered[:, i]) for _, _, data, _, gathered in cases for i in range(gathered.shape[1])]
    sources = iter([data for data, _ in expected])
    async with bench(dut, IndirectOffsets(CONFIG).signature) as frame:
        commands, index = frame.driver("i"), frame.driver("index")
        board = frame.scoreboard("columns", widest, output="o")

        def gather(bits):
            board.got(word(next(sources)[:, unpack(indirect_offset(CONFIG), bits).offset]))

        frame.monitor("o", gather)
        for _, column in expected:
            board.expect(word(column))
        for group, count, data, rows, _ in cases:
            fields = {"tensor": group == TENSOR_ROWS, "count": count, "elements": data.shape[1]}
            commands.send_bits(pack(indirect_command(CONFIG), fields))
            for column in rows[:TENSOR_ROWS, : -(-count // group)].T.tolist():
                index.send_bits(sum(row << CONFIG.offset_bits * i for i, row in enumerate(column)))
