"""Cycles of TensorE's instructions, and their issue into the main and the background slot.

Ref: ``nki.isa.nc_matmul`` reference page of 2025-10 (costs); "Trainium3 Architecture Guide for NKI", background transpose.
The issue rule is chosen, see `bitpath.golden.trainium3.declarations.tensor.CHOICES`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, check_length, checked, dtype_of, integer
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import E2M1, FP32
from bitpath.golden.trainium3.declarations.quad_mx import MAX_MOVING_BF16, MAX_STATIONARY, X4
from bitpath.golden.trainium3.declarations.tensor import (
    DOUBLE_ROW,
    LOAD_BITS,
    LOAD_COLUMNS,
    SMALLEST_STATIONARY,
    TAGS_IN_WORD,
    TRAINIUM3_DOUBLE_ROW,
)
from bitpath.golden.trainium3.matmul.nc_matmul import TRANSPOSE_DTYPES
from bitpath.golden.trainium3.operands.layout import MX_DTYPES
from bitpath.golden.trainium3.tensor.sparse import SPARSE_DTYPES

Kind = Literal["matmul", "onezero", "mx", "double_row", "sparse", "transpose"]
KINDS = get_args(Kind)
"""A matmul, one of FP32 with an operand that is declared onezero, the performance modes, sparsity and transpose mode."""
_MATMUL = tuple(dtype for dtype in TRANSPOSE_DTYPES if dtype.kind not in "iu")
_DTYPES = {
    **dict.fromkeys(("matmul", "onezero"), _MATMUL),
    "mx": MX_DTYPES,
    "double_row": tuple(DTYPES[fmt] for fmt in TRAINIUM3_DOUBLE_ROW.numerics.element_formats),
    "sparse": SPARSE_DTYPES,
    "transpose": TRANSPOSE_DTYPES,
}


@checked
def tensor_cycles(kind: Kind, m: int, n: int, dtype: np.dtype | type | str) -> int:
    """Return TensorE cycles of an instruction back to back with its LoadStationary: ``passes * max(min(64, m), n)``.

    Passes are 4 for an FP32 matmul, 2 with an operand of zeros and ones, 2 for a transpose of 32-bit data, else 1.

    Parameters
    ----------
    kind : one of `KINDS`.
    m, n : stationary and moving free size, of "mx" in x4 words; a transpose moves the identity, so n is its partitions.
    dtype : of the data; "tf32" is float32 rounded to TF32.

    Raises
    ------
    TypeError, ValueError : another kind or dtype; m not 1 to 128, n not 1 to 1024.
    """
    element, tf32 = _element(kind, dtype)
    integer("m", m, range(1, MAX_STATIONARY + 1))
    integer("n", n, range(1, MAX_MOVING_BF16 + 1))
    wide = element.itemsize == FP32.width // 8 and not tf32
    return pair_cycles(m, n, {"matmul": 4, "onezero": 2, "transpose": 2}.get(kind, 1) if wide else 1)


def pair_cycles(m: int, n: int, passes: int = 1) -> int:
    """Return ``passes * max(min(64, m), n)``: a MultiplyMoving; its LoadStationary is hidden behind the one before."""
    return passes * max(min(SMALLEST_STATIONARY, m), n)


@checked
def load_cycles(kind: Kind, m: int, dtype: np.dtype | type | str) -> int:
    """Return cycles of LoadStationary: 64 bits of a row a cycle, at most 4 columns; then tags of sparse values, 16 a cycle.

    Parameters and errors are those of `tensor_cycles`.
    """
    element, _ = _element(kind, dtype)
    integer("m", m, range(1, MAX_STATIONARY + 1))
    bits = 4 if element == DTYPES[E2M1] else 8 * element.itemsize
    bits *= {"mx": X4, "double_row": DOUBLE_ROW}.get(kind, 1)
    tags = -(-m // (LOAD_COLUMNS * TAGS_IN_WORD)) if kind == "sparse" else 0
    return -(-m // min(LOAD_COLUMNS, LOAD_BITS // bits)) + tags


def _element(kind: str, dtype: np.dtype | type | str) -> tuple[np.dtype, bool]:
    """Return the dtype of an element, and whether it is rounded to TF32."""
    check_choice("kind", kind, KINDS)
    tf32 = isinstance(dtype, str) and dtype == "tf32"
    return dtype_of("dtype", np.float32 if tf32 else dtype, *_DTYPES[kind]), tf32


@checked
@dataclass(frozen=True, kw_only=True)
class TensorInstruction:
    """An instruction as the issue logic sees it.

    Attributes
    ----------
    cycles : how long it holds its slot, 1 or more.
    banks : PSUM banks that it writes.
    transpose : True if it may take the background slot.
    ready : cycle in which its operands are there.
    tile : (row, column, rows, columns) of the array, or None for the whole array.
    """

    cycles: int
    banks: tuple[int, ...]
    transpose: bool = False
    ready: int = 0
    tile: tuple[int, int, int, int] | None = None

    def __post_init__(self) -> None:
        check_length("banks", self.banks)
        if self.cycles < 1 or self.ready < 0:
            raise ValueError(f"cycles must be at least 1 and ready at least 0, not {self.cycles} and {self.ready}")


@dataclass(frozen=True, kw_only=True)
class IssueSlot:
    """Slot and cycles of an instruction: it runs from ``start`` to ``end - 1``. A tile has a slot of its own, main."""

    background: bool
    start: int
    end: int


@checked
def issue(instructions: Sequence[TensorInstruction]) -> tuple[IssueSlot, ...]:
    """Return where and when each instruction runs.

    Instructions issue in order, at most one a cycle. A transpose takes the main slot if it is free, else the background
    slot; any other instruction takes the main slot. An instruction waits for a slot, for its operands, and while another
    one writes one of its PSUM banks. Tiled instructions run beside each other on disjoint tiles, and beside no others.

    Raises
    ------
    TypeError, ValueError : no sequence of `TensorInstruction`.
    """
    slots = IssueSlots()
    return tuple(map(slots.place, instructions))


class IssueSlots:
    """The slots of TensorE while instructions issue, one after the other; see `issue`."""

    def __init__(self) -> None:
        self._running: list[tuple[TensorInstruction, IssueSlot]] = []
        self._earliest = 0

    def place(self, own: TensorInstruction) -> IssueSlot:
        """Return where and when the next instruction runs."""
        start = max(self._earliest, own.ready)
        while True:
            self._running = [each for each in self._running if each[1].end > start]
            whole = [slot for _, slot in self._running if own.tile is None]
            background = own.tile is None and any(not slot.background for slot in whole)
            blocked = any(_excludes(own, other) for other, _ in self._running)
            if not (blocked or (background and not own.transpose) or len(whole) > 1):
                break
            start = min(slot.end for _, slot in self._running)
        slot = IssueSlot(background=background, start=start, end=start + own.cycles)
        self._running.append((own, slot))
        self._earliest = start + 1
        return slot


def _excludes(own: TensorInstruction, other: TensorInstruction) -> bool:
    """True if two instructions may not run side by side: a common bank, one of them tiled, or overlapping tiles."""
    if set(own.banks) & set(other.banks) or (own.tile is None) != (other.tile is None):
        return True
    if own.tile is None or other.tile is None:
        return False
    return all(
        own.tile[side] < other.tile[side] + other.tile[side + 2]
        and other.tile[side] < own.tile[side] + own.tile[side + 2]
        for side in (0, 1)
    )
