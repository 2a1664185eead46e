"""BF16 codes through Tensix: register words, element-wise operations on pairs, and packing."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, FIDELITY_PHASES, Format
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics

BLOCK = BLOCK_ROWS * COLUMNS
OPERATIONS: dict[str, Callable[..., np.ndarray]] = {
    "elwadd": tensix.elwadd,
    "elwsub": tensix.elwsub,
    "elwmul": tensix.elwmul,
}
FIDELITIES = {each.value: phases for each, phases in FIDELITY_PHASES.items()}
"""Phases by the name of a fidelity."""


def sources(codes: np.ndarray) -> np.ndarray:
    """Return the logical source words of BF16 codes."""
    return tensix.unpack(codes.astype("<u2").view(np.uint8), Format.BF16, Format.BF16, count=codes.size)


def on_pairs(
    operation: str,
    src_a: np.ndarray,
    src_b: np.ndarray,
    *,
    phases: Sequence[int] = FIDELITIES["HiFi4"],
    dst32: bool = False,
    numerics: TensixNumerics = WORMHOLE.numerics,
) -> np.ndarray:
    """Return the Dst words of an element-wise operation on BF16 codes [n], in style BF16 onto a zero Dst."""
    blocks = [
        sources(np.pad(each, (0, -each.size % BLOCK))).reshape(-1, BLOCK_ROWS, COLUMNS) for each in (src_a, src_b)
    ]
    dst = np.zeros(blocks[0].shape, np.uint32)
    options: list[dict[str, Any]] = [{"phase": phase} for phase in phases] if operation == "elwmul" else [{}]
    for each in options:
        call = OPERATIONS[operation]
        dst = call(dst, blocks[1], blocks[0], style="BF16", dst32=dst32, numerics=numerics, **each)
    return dst.reshape(-1)[: src_a.size]


def packed(dst: np.ndarray, mid: str, out: str, *, dst32: bool = True, raw: bool = False) -> np.ndarray:
    """Return the bytes that the packer writes for Dst words."""
    return tensix.pack(np.ascontiguousarray(dst, np.uint32), mid, out, dst32=dst32, raw=raw)


def fp32_words(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return FP32 codes of numbers, uint32."""
    return np.asarray(values, np.float32).view(np.uint32)


def block_codes(packed_bytes: np.ndarray, count: int, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return exponents [count / 16] and signed codes [count] of block floats with `bits` bits a datum in L1."""
    blocks = count // COLUMNS
    data = packed_bytes[-(-blocks // COLUMNS) * COLUMNS :]
    per_byte = 8 // bits
    shifts = np.arange(per_byte, dtype=np.uint8) * np.uint8(bits)
    fields = (data[:, np.newaxis] >> shifts & ((1 << bits) - 1)).reshape(-1)[:count].astype(np.int32)
    magnitude = fields & (1 << bits - 1) - 1
    return packed_bytes[:blocks].astype(np.int32), np.where(fields >> bits - 1, -magnitude, magnitude)
