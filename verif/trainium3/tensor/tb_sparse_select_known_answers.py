"""Known answers of sparse matmuls: the elements that the RTL selects by the archive's tag words are those at its positions.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, TF32
from bitpath.rtl.trainium3.tensor.config import NARROW
from bitpath.rtl.trainium3.tensor.sparse_select import SelectConfig, SparseSelect, select_layout, selected_layout
from bitpath.rtl.trainium3.tensor.tag_select import SLOTS
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Pipeline, Request
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.tensor.core_pe import element

CONFIG = config_from_environment(SelectConfig)
COLUMN, SELECTED = select_layout(CONFIG), selected_layout(CONFIG)
FORMATS = (BF16, FP16, TF32)


@covers("sparse_select.known_answers", "Another program computed them with fractions")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_column(dut):
    """Seven patterns: each column's elements by the tag words are those at the tags' positions."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_core_sparse.npz") as archive:
        files = dict(archive)
    sent = []
    for case, kept, group, rows, cols, columns, index in files["meta"].tolist():
        assert (cols, rows % SLOTS) == (CONFIG.cols, 0)
        ratio, fmt = group // kept, FORMATS[index]
        pattern = {"last_partition": kept - 1, "last_slot": ratio - 1}
        tags, words, moving = (files[f"s{case}_{key}"] for key in ("tags", "tag_words", "moving"))
        # TF32 lies in an FP32 word.
        codes = (moving >> (FP32.width - TF32.width if fmt is TF32 else 0)).tolist()
        for n in range(columns):
            operands = [[element(fmt, slot[n], NARROW) for slot in partition] for partition in codes]
            for first in range(0, rows, SLOTS):
                four = range(first, first + SLOTS)
                slots = [word for p in four for word in (*operands[p], *[0] * (SLOTS - ratio))]
                physical = [int(words[p, m // 4]) >> m % 4 * 4 & 15 for p in four for m in range(cols)]
                selected = [
                    operands[p // kept * kept + int(tag) // ratio][int(tag) % ratio] for p in four for tag in tags[p]
                ]
                sent.append(
                    Request(
                        pack(COLUMN, {"slots": slots, "pattern": pattern, "tags": physical}),
                        pack(SELECTED, {"elements": selected, "illegal": 0}),
                        f"case {case}, column {n}, rows from {first}",
                    )
                )
    async with bench(dut, SparseSelect(CONFIG).signature, drain=False) as frame:
        await Pipeline(frame, 0).sweep(sent)
