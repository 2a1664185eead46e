"""Chains of bfp16ebs8 products on XDNA2: operands, golden's chain, and the measurers' FP32 chain."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8
from bitpath.golden.aie_ml_v2.declarations.numerics import PRESETS, AieNumerics

FORMAT, XDNA2 = BFP16EBS8.name, "xdna2_bfp16ebs8"
BLOCK = 8
"""Elements of a block, and products of a chunk."""
BIAS = 133
"""An element is code * 2**(exponent - BIAS)."""
Product = tuple[int, int]
"""A chunk of one product: m * 2**q as (m, q)."""


@dataclass(frozen=True, eq=False)
class Operand:
    """Rows of chunks: codes int8 [chunks, rows, 8] and exponent bytes uint8 [chunks, rows]."""

    codes: np.ndarray
    exponents: np.ndarray

    def blocks(self, chunk: int) -> aie.MxBlocks:
        """Return a chunk's blocks, one for each row: [rows, 1]."""
        exponent = self.exponents[chunk][:, np.newaxis]
        return aie.MxBlocks(BFP16EBS8, exponent, np.zeros_like(exponent), self.codes[chunk][:, np.newaxis])

    @property
    def values(self) -> np.ndarray:
        """The elements' numbers, float64 [chunks, rows, 8]."""
        return np.ldexp(self.codes.astype(np.float64), self.exponents[..., np.newaxis].astype(int) - BIAS)


def golden_chain(a: Operand, b: Operand, numerics: AieNumerics = PRESETS[XDNA2].numerics) -> np.ndarray:
    """Return golden's FP32 accumulators, uint32 [rows of a, rows of b], after all chunks in order."""
    acc: Any = None
    for chunk in range(len(a.codes)):
        left, right = a.blocks(chunk)[:, np.newaxis], b.blocks(chunk)[np.newaxis]
        acc = aie.fused_dot(left, right, acc, fmt=FORMAT, numerics=numerics)
    return acc.view(np.uint32)


def rounded_chain(a: Operand, b: Operand) -> np.ndarray:
    """Return the chain that rounds each sum to FP32, nearest even. Sums of eight products and an FP32 number fit float64."""
    acc = np.zeros((a.codes.shape[1], b.codes.shape[1]), np.float32)
    for left, right in zip(a.values, b.values, strict=True):
        acc = (acc + left @ right.T).astype(np.float32)
    return acc.view(np.uint32)


def rounded_once(a: Operand, b: Operand) -> np.ndarray:
    """Return the sum of all products, rounded to FP32 at the end."""
    return np.einsum("cik,cjk->ij", a.values, b.values).astype(np.float32).view(np.uint32)


def chunks(*parts: Sequence[tuple[int, int, int, int]]) -> tuple[Operand, Operand]:
    """Return one lane's operands: for each chunk its products (a, ea, b, eb) of one pair of exponents."""
    codes, exponents = np.zeros((2, len(parts), 1, BLOCK), np.int8), np.zeros((2, len(parts), 1), np.uint8)
    for chunk, products in enumerate(parts):
        for place, (a, ea, b, eb) in enumerate(products):
            codes[:, chunk, 0, place] = a, b
            exponents[:, chunk, 0] = ea, eb
    return Operand(codes[0], exponents[0]), Operand(codes[1], exponents[1])


def lane(products: Iterable[Product | Sequence[Product]], numerics: AieNumerics = PRESETS[XDNA2].numerics) -> int:
    """Return golden's FP32 code of a chain of chunks, each a product (m, q) or a list of products with one q."""
    parts = []
    for each in products:
        pairs = [each] if isinstance(each, tuple) else each
        parts.append([_factors(m, q) for m, q in pairs])
    return int(golden_chain(*chunks(*parts), numerics)[0, 0])


def _factors(m: int, q: int) -> tuple[int, int, int, int]:
    """Return codes and exponents of m * 2**q as the measurers chose them: 64 m and 64 from 1 on, else m and 1."""
    scale = 64 if q >= 0 else 1
    total = q + 2 * BIAS - (12 if q >= 0 else 0)
    return scale * m, total // 2, scale, total - total // 2


def number(code: int) -> float:
    """Return the number of an FP32 code."""
    return float(np.uint32(code).view(np.float32))


def generated(seed: int, count: int) -> np.ndarray:
    """Return states of the measurers' generator after a seed, uint32: x = 1664525 x + 1013904223 modulo 2**32."""
    states = np.empty(count, np.uint32)
    for i in range(count):
        seed = (1664525 * seed + 1013904223) & 0xFFFFFFFF
        states[i] = seed
    return states
