"""A plan of matmul instructions as a file, on its way to the simulator's process and back."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bitpath.golden.arrays.codec import DTYPES, codes_of, format_of
from bitpath.golden.formats.catalogue import CATALOGUE
from bitpath.golden.trainium3 import MatmulInstruction
from bitpath.golden.trainium3.declarations.quad_mx import AccumulateFlag

OPERANDS = ("stationary", "moving")


def save_plan(path: Path, plan: Sequence[MatmulInstruction]) -> None:
    """Write the plan as .npz: codes and scales of each instruction, and the rest as JSON in ``meta``."""
    arrays, meta = {}, []
    for index, each in enumerate(plan):
        for name in OPERANDS:
            arrays[f"{index}_{name}"] = codes_of(getattr(each, name))
            arrays[f"{index}_{name}_scale"] = getattr(each, f"{name}_scale")
        rows, columns = each.output
        meta.append(
            {
                "formats": [format_of(getattr(each, name).dtype).name for name in OPERANDS],
                "flag": int(each.psum_accumulate_flag),
                "output": [rows.start, rows.stop, columns.start, columns.stop],
            }
        )
    np.savez(path, meta=json.dumps(meta), **arrays)


def load_plan(path: Path) -> list[MatmulInstruction]:
    """The plan that :func:`save_plan` wrote."""
    with np.load(path) as file:
        plan = []
        for index, meta in enumerate(json.loads(str(file["meta"]))):
            operands = {
                name: file[f"{index}_{name}"].view(DTYPES[CATALOGUE[fmt]])
                for name, fmt in zip(OPERANDS, meta["formats"], strict=True)
            }
            scales = {f"{name}_scale": file[f"{index}_{name}_scale"] for name in OPERANDS}
            row, row_end, column, column_end = meta["output"]
            plan.append(
                MatmulInstruction(
                    **operands,
                    **scales,
                    psum_accumulate_flag=AccumulateFlag(meta["flag"]),
                    output=(slice(row, row_end), slice(column, column_end)),
                )
            )
    return plan
