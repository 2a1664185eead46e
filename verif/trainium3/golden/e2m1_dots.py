"""All four-term dot products of E2M1 in golden, against integers: 16**8 of them."""

import time
from dataclasses import dataclass

import numpy as np

from bitpath.golden.arrays.codec import decode_array, encode_array
from bitpath.golden.formats.catalogue import E2M1, E8M0, FP32
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.golden.trainium3.matmul.array import chain_rows
from bitpath.verif.kit.volume import SHOWN, Found, Mismatch

TERMS = 4
OPERANDS = 1 << E2M1.width * TERMS
"""Number of operands of a side."""
BLOCK = 1 << 10
"""Stationary operands of a block, each with all moving ones."""
ROWS = 16
"""Stationary operands at once."""
UNIT = 0.25
"""Products of two multiples of 1/2 are multiples of it."""
LARGEST = 4 * 6 * 6 * TERMS
"""Largest sum, in units."""


def elements(numbers: np.ndarray) -> np.ndarray:
    """The codes of operands' elements, uint8 [N, 4]: element 0 lowest in their numbers."""
    return (numbers[:, np.newaxis] >> E2M1.width * np.arange(TERMS) & 0xF).astype(np.uint8)


def pair_table() -> np.ndarray:
    """Sums of two products in units, int64 [256, 256]: operands are two elements, the first one lowest."""
    halves = (2 * decode_array(E2M1, np.arange(16))).astype(np.int64)
    product = np.multiply.outer(halves, halves)
    high, low = product[:, np.newaxis, :, np.newaxis], product[np.newaxis, :, np.newaxis, :]
    return (high + low).reshape(256, 256)


@dataclass(frozen=True)
class E2m1Dots:
    """Every stationary operand with every moving one, onto a partial sum of +0 and with scales of 1."""

    name: str = "sweep-e2m1-dots"
    machine: str = "trainium3"
    unit: str = "golden"
    what: str = "E2M1 dots of four terms, golden against a table of integers: all 16^8"
    block_vectors: int = BLOCK * OPERANDS
    blocks: int = OPERANDS // BLOCK
    random: bool = False

    def block_count(self, vectors: int) -> int:
        return self.blocks

    def run(self, block: int) -> Found:
        """Compare a block of stationary operands with all moving ones."""
        numbers = np.arange(OPERANDS)
        pairs = pair_table()
        codes = encode_array(FP32, np.arange(-LARGEST, LARGEST + 1) * UNIT).astype(np.uint32)
        moving, ones = elements(numbers)[np.newaxis], np.full((1, OPERANDS), E8M0.bias, np.uint8)
        wrong, first, golden_seconds, start = 0, [], 0.0, time.process_time()
        for low in range(block * BLOCK, (block + 1) * BLOCK, ROWS):
            rows = numbers[low : low + ROWS]
            before = time.process_time()
            sides = elements(rows)[np.newaxis], E2M1, ones[:, :ROWS], moving, E2M1, ones
            got = chain_rows(TRAINIUM3_QUAD_MX.numerics, *sides)
            golden_seconds += time.process_time() - before
            for row, own in zip(rows.tolist(), got, strict=True):
                # The moving operand's low pair is on the inner axis, as in its number.
                total = np.add.outer(pairs[row >> 8], pairs[row & 0xFF])
                expected = codes[total + LARGEST].ravel()
                differs = np.flatnonzero(own != expected)
                wrong += len(differs)
                for other in differs[: SHOWN - len(first)].tolist():
                    words = [int(own[other])], [int(expected[other])]
                    first.append(
                        Mismatch(0, row * OPERANDS + other, "dot", {"stationary": row, "moving": other}, *words)
                    )
        seconds = time.process_time() - start - golden_seconds
        return Found(BLOCK * OPERANDS, wrong, tuple(first), seconds, golden_seconds, 0.0)
