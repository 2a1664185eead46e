"""Copies of a folder of known answers with other rows: fewer, twice as many, in reverse order.

A test that takes its counts from the archive passes on each of them, or skips where a row that it needs is absent.
"""

import json
import re
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import numpy as np

ROWS = {
    "aie_mx_blocks": (r"()",),
    "aie_silicon": (r"(?:f32|bf16)()", r"mac()"),
    "aie_tile_agu": (r"(agu|bank)",),
    "aie_tile_convert": (r"(mx\d|fix|float)_",),
    "aie_tile_int4": (r"(int.*)_(?:a_bytes|b_bytes|signed|acc|out)",),
    "aie_tile_mac_shapes": (r"(.*)_(?:a|b|acc|out|signed|mask)$",),
    "aie_tile_scalar": (r"()(?!op_names|nlf|div)", r"(divs|divide|nlf)"),
    "aie_tile_shuffle": (r"()",),
    "silicon_xdna2_convert": (r"()",),
    "tensix_bh_control": (r"(wh_r|wh_a|bh_r|bh_a|z|m|i|s|f|st_wh|st_bh)_",),
    "tensix_bh_elw": (r"()(?!.*_names)",),
    "tensix_bh_mvmul": (r"()(?!.*_names)",),
    "tensix_bh_pack_unpack": (r"(p|u|d|t)_",),
    "tensix_bh_program": (r"(meta)",),
    "tensix_elw": (r"()(?!.*_names)",),
    "tensix_mvmul": (r"()(?!.*_names)",),
    "tensix_pack_unpack": (r"(p|u)_",),
    "trn_core_act": (r"(meta)",),
    "trn_core_dma": (r"(duration)",),
    "trn_core_fp32": (r"(meta)",),
    "trn_core_gather": (r"(meta)",),
    "trn_core_rmw": (r"(raw_bf16|raw_fp32)",),
    "trn_core_sparse": (r"(meta)",),
    "trn_core_transpose": (r"(te_meta)",),
    "trn_matmul_mx": (r"(meta)",),
    "trn_quantize_mx": (r"(meta)",),
    "trn_rmsnorm_quant": (r"(meta)",),
    "trn_xorwow": (r"()",),
}
"""Patterns of the names of an archive's arrays whose first axes are rows; those of one group have the same rows."""
TILES = {"mac_a": 32, "mac_b": 32, "mac_out": 16}
"""Elements of a row in arrays that hold rows one after the other."""
NUMBERED = {"trn_core_act": "a"}
"""Prefixes of arrays that belong to the rows by their number: ``a0_`` to row 0."""
FEW = 3
CHANGES: dict[str, Callable[[list], list]] = {
    "few": lambda rows: rows[:FEW],
    "reversed": lambda rows: rows[::-1],
    "twice": lambda rows: rows + rows,
}
"""Other rows of an archive, from the list of its row numbers."""


def groups(archive: str, names: list[str]) -> Iterator[list[str]]:
    """Yield the names of arrays that have the same rows."""
    for pattern in ROWS.get(archive, ()):
        found = sorted((match[1], name) for name in names if (match := re.match(pattern, name)))
        for _, each in groupby(found, key=lambda pair: pair[0]):
            yield [name for _, name in each]


def copy_with(change: str, source: Path, target: Path) -> None:
    """Write a copy of all archives and JSON files of a folder, with other rows."""
    take = CHANGES[change]
    for file in sorted(source.glob("*.npz")):
        with np.load(file) as archive:
            arrays = dict(archive)
        for names in groups(file.stem, list(arrays)):
            tiles = {name: TILES.get(name, 1) for name in names}
            count = {len(arrays[name]) // size for name, size in tiles.items()}
            if len(count) != 1:
                raise ValueError(f"{file.name}: the arrays {', '.join(names)} must have the same number of rows")
            rows = np.array(take(list(range(count.pop()))), int)
            for name, size in tiles.items():
                array = arrays[name]
                arrays[name] = array.reshape(-1, size, *array.shape[1:])[rows].reshape(-1, *array.shape[1:])
            if file.stem in NUMBERED:
                arrays = _renumbered(arrays, NUMBERED[file.stem], rows.tolist())
        np.savez(target / file.name, **arrays)
    for file in sorted(source.glob("*.json")):
        content = json.loads(file.read_text())
        for name in ("rows", "probes"):
            if name in content:
                content[name] = take(content[name]) if change != "twice" else content[name]
        (target / file.name).write_text(json.dumps(content))


def _renumbered(arrays: dict[str, np.ndarray], prefix: str, rows: list[int]) -> dict[str, np.ndarray]:
    """Return the arrays with those of the chosen rows under the numbers of their new places."""
    own = {name: match for name in arrays if (match := re.fullmatch(rf"{prefix}(\d+)_(.*)", name))}
    moved = {
        f"{prefix}{place}_{match[2]}": arrays[name]
        for name, match in own.items()
        for place, row in enumerate(rows)
        if row == int(match[1])
    }
    return {name: array for name, array in arrays.items() if name not in own} | moved
