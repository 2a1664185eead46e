"""Known answers of whole products on the array of all modes: FP32, TF32, mixed formats, double row, sparse, transposes.

``BITPATH_KAT_DIR`` is the folder that holds them. Results below the last rows are the archives'; golden's are the sums of the
passes before, which the array takes in.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, CATALOGUE, FP16, FP32
from bitpath.rtl.trainium3.array.systolic_array import Tiling
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.array import core_products as make
from bitpath.verif.trainium3.array.core_player import COLS, CONFIG, ROWS, SIGNATURE, Player
from bitpath.verif.trainium3.array.core_products import Schedule

LIMIT = {"timeout_time": 50, "timeout_unit": "ms"}


def archive(name: str) -> dict[str, np.ndarray]:
    """The arrays of a file."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / f"trn_core_{name}.npz") as file:
        return dict(file)


def known(product: make.Product, answers: np.ndarray) -> make.Product:
    """The product with the archive's results [results of a word, M, N] below its last row."""
    rows = len(product.stationary)
    return replace(product, prefix=lambda given: answers if given == rows else product.prefix(given))


def fp32_products() -> Iterator[make.Product]:
    """Columns that the archive lacks repeat its first one."""
    files = archive("fp32")
    for case, *_ in files["meta"].tolist():
        columns = np.arange(COLS) % files[f"p{case}_st"].shape[1]
        x, y = (files[f"p{case}_{side}"].view(np.float32) for side in ("st", "mv"))
        x = np.ascontiguousarray(x[:, columns])
        yield known(make.fused(x, y), files[f"p{case}_fused"][np.newaxis, columns])
        yield known(make.tf32(x, y), files[f"p{case}_tf32"][np.newaxis, columns])
        yield known(make.split12(x, y), files[f"p{case}_passes"][:, columns])


def narrow_products() -> Iterator[make.Product]:
    files = archive("fp32")
    for case in (name.removesuffix("_formats") for name in files if name.endswith("_formats")):
        x, y = (
            files[f"{case}_{side}"].view(DTYPES[CATALOGUE[str(fmt).upper()]])
            for side, fmt in zip(("st", "mv"), files[f"{case}_formats"], strict=True)
        )
        build = make.double_row if case.startswith("d") else make.matmul
        yield known(build(x, y), files[f"{case}_out"][np.newaxis])


def sparse_products() -> Iterator[make.Product]:
    files = archive("sparse")
    for case, kept, group, _, columns, _, fmt in files["meta"].tolist():
        dtype = DTYPES[(BF16, FP16, FP32)[fmt]]
        values, moving = (files[f"s{case}_{key}"].view(dtype) for key in ("values", "moving"))
        for first in range(0, columns, COLS):
            own = slice(first, first + COLS)
            words = np.ascontiguousarray(files[f"s{case}_tag_words"][:, first // 4 : (first + COLS) // 4])
            product = make.sparse(np.ascontiguousarray(values[:, own]), moving, words, f"{kept}:{group}")
            yield known(product, files[f"s{case}_out"][np.newaxis, own])


def transposes() -> Iterator[make.Product]:
    """Tiles of as many rows and columns as the array has, with zeros beyond the data; and a selection of rows."""
    files = archive("transpose")
    for case, bits, rows, columns in files["te_meta"].tolist():
        data = np.pad(files[f"te{case}_data"], [(0, -rows % ROWS), (0, -columns % COLS)])
        psum = np.pad(files[f"te{case}_psum"], [(0, -columns % COLS), (0, -rows % ROWS)]).astype(np.uint32)
        for p in range(0, rows, ROWS):
            for f in range(0, columns, COLS):
                image = psum[f : f + COLS, p : p + ROWS]
                product = make.transpose(np.ascontiguousarray(data[p : p + ROWS, f : f + COLS]))
                yield known(product, np.stack([image >> low & 0xFFFF for low in range(0, max(bits, 16), 16)]))
    ones = files["perm_moving_bf16"].view(DTYPES[BF16])
    columns = np.arange(2 * COLS) % files["perm_data"].shape[1]
    for own in np.split(columns, 2):
        product = make.transpose(np.ascontiguousarray(files["perm_data"][:, own]), ones)
        yield known(product, files["perm_psum"][np.newaxis, own].astype(np.uint32))


PRODUCTS = {"fp32": fp32_products, "narrow": narrow_products, "sparse": sparse_products, "transposes": transposes}


@covers("core_array.known_answers", "Another program computed them with fractions")
@cocotb.test(**LIMIT)
@cocotb.parametrize(kind=list(PRODUCTS))
async def known_products(dut, kind):
    """Matmuls of FP32, TF32, mixed formats, double row and seven sparse patterns, and transposes, as whole products."""
    async with bench(dut, SIGNATURE) as frame:
        instructions = [[product] for product in PRODUCTS[kind]()]
        schedule = Schedule(CONFIG, instructions, pauses.rng("schedule"), 0.0)
        await Player(frame, 0.0).play(Tiling.FULL, schedule.steps)
