"""Instructions of a program of TensorE's modes as products of the array of all modes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bitpath.golden.trainium3.tensor.modes import DOUBLE_ROW, SPARSE, ModeInstruction
from bitpath.verif.trainium3.array import core_products
from bitpath.verif.trainium3.array.core_products import Product

DENSE: dict[str, Callable[..., Product]] = {
    "bf16": core_products.matmul,
    "fp16": core_products.matmul,
    "tf32": core_products.tf32,
    "fp32": core_products.fused,
    DOUBLE_ROW: core_products.double_row,
}


def product_of(instruction: ModeInstruction) -> Product:
    """Return the product of an instruction, with all its columns."""
    sides: tuple[Any, ...] = (instruction.stationary, instruction.moving)
    if instruction.tag_words is not None:
        return core_products.sparse(*sides, instruction.tag_words, SPARSE[instruction.mode])
    return DENSE[instruction.mode](*sides)


def column_tiles(instruction: ModeInstruction, columns: int) -> list[Product]:
    """Return a product for each tile of stationary columns, the last one padded with zeros.

    Sparse tiles are multiples of four columns, as many as a word of tags has.
    """
    m = instruction.stationary.shape[-1]
    widths = [(0, 0)] * (instruction.stationary.ndim - 1)
    stationary = np.pad(instruction.stationary, (*widths, (0, -m % columns)))
    tags = instruction.tag_words
    if tags is not None:
        tags = np.pad(tags, ((0, 0), (0, (stationary.shape[-1] - m) // 4)))
    tiles = []
    for start in range(0, stationary.shape[-1], columns):
        own = {"stationary": np.ascontiguousarray(stationary[..., start : start + columns])}
        if tags is not None:
            own["tag_words"] = np.ascontiguousarray(tags[:, start // 4 : (start + columns) // 4])
        tiles.append(product_of(replace(instruction, **own)))
    return tiles


def passes_of(instruction: ModeInstruction, rows: int) -> np.ndarray:
    """Return golden's FP32 codes below each pass over `rows` rows, uint32 [passes, M, N]."""
    product, depth = product_of(instruction), len(instruction.stationary)
    return np.concatenate([product.prefix(min(start + rows, depth)) for start in range(0, depth, rows)])
