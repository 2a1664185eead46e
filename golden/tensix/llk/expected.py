"""The bits of a case at every stage: L1 to source registers, Dst, the packer's intermediate format, and L1.

Everything is composed of golden operations: `unpack_tile`, `mvmul`, `elwmul`, `gapool`, `gmpool`, the moves, `pack`.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.scalar.as_numpy import as_numpy
from bitpath.golden.tensix.convert.unpack import as_bytes
from bitpath.golden.tensix.llk.case import Case, Op
from bitpath.golden.tensix.llk.device import Device, chip_of
from bitpath.golden.tensix.llk.operations import computed
from bitpath.golden.tensix.llk.results import middle, packed
from bitpath.golden.tensix.llk.sources import operand_bytes, unpacked


@dataclass(frozen=True, eq=False)
class Stages:
    """The bits of a case. A tile is 64 rows of 16, its faces one below the other; n tiles lie in the order of L1.

    Attributes
    ----------
    src_a, src_b : uint32 [n, 64, 16], logical source words; None where the register is not read. A right operand of "matmul"
        is in SrcA.
    dst_after_phase : uint32 [n, 64, 16] each, Dst after each fidelity phase, of "matmul" for each tile of K in turn; of
        operations without phases, and of "reduce", Dst at the end alone.
    mid : uint8, uint16 or uint32 [n, 64, 16], the intermediate datums after ReLU, in the narrowest format that holds them.
    l1 : uint8 bytes.
    """

    src_a: np.ndarray | None
    src_b: np.ndarray | None
    dst_after_phase: tuple[np.ndarray, ...]
    mid: np.ndarray
    l1: np.ndarray


@checked
def expected(case: Case, l1_a: Any, l1_b: Any = None, *, l1_before: Any = None) -> Stages:
    """Return the bits of a case at every stage.

    Parameters
    ----------
    l1_a, l1_b : the operands in L1: uint8 bytes or uint32 words, arrays or objects with `__array__`; tiles one after the other,
        row by row, block floats with each tile's 64 exponents before it; row-major datums for "tilize". `l1_b` is None
        where the case has one operand.
    l1_before : the result's bytes before, in the same form, with the case's `l1_accumulate`; else None.

    Raises
    ------
    TypeError, ValueError : no such arrays, or not the operands' bytes.
    """
    device, operands = chip_of(case), operands_of(case, l1_a, l1_b, l1_before)
    src_a, src_b, dst = _until_dst(case, device, operands)
    mid = middle(case, device, dst[-1])
    return Stages(None if case.to_dst else src_a, src_b, dst, mid, packed(case, device, dst[-1], operands.before))


class Operands(NamedTuple):
    """Bytes in L1: of the operands, and of the result before; None where the case has none."""

    left: np.ndarray
    right: np.ndarray | None
    before: np.ndarray | None


def result_of(case: Case, device: Device, operands: Operands) -> np.ndarray:
    """Return the bytes that a device gives."""
    dst = _until_dst(case, device, operands)[-1]
    return packed(case, device, dst[-1], operands.before)


def _until_dst(
    case: Case, device: Device, operands: Operands
) -> tuple[np.ndarray, np.ndarray | None, tuple[np.ndarray, ...]]:
    """Return SrcA, or Dst where the unpacker writes it, SrcB, and Dst after each step."""
    left, right, _ = operands
    if device.exchanged and right is not None:
        left, right = right, left
    given, is_matmul = case.formats, case.op is Op.MATMUL
    src_a, src_b = unpacked(case, device, left, given.in_a, case.dimensions_a, for_src_a=not is_matmul), None
    if right is not None and given.in_b is not None:
        src_b = unpacked(case, device, right, given.in_b, case.dimensions_b, for_src_a=is_matmul)
        src_a, src_b = (src_b, src_a) if is_matmul else (src_a, src_b)
    return src_a, src_b, computed(case, device, src_a, src_b)


def operands_of(case: Case, l1_a: Any, l1_b: Any, l1_before: Any) -> Operands:
    """Return the bytes of the operands, and of the result before, checked."""
    given = case.formats
    left = bytes_of("l1_a", l1_a, operand_bytes(given.in_a, case.dimensions_a))
    right = before = None
    if given.in_b is not None:
        right = bytes_of("l1_b", l1_b, operand_bytes(given.in_b, case.dimensions_b))
    elif l1_b is not None:
        raise ValueError(f"l1_b must be None with {Op(case.op).value}, which has one operand, not an array")
    if case.l1_accumulate:
        before = bytes_of("l1_before", l1_before, operand_bytes(given.out, case.result_dimensions))
    elif l1_before is not None:
        raise ValueError("l1_before must be None without l1_accumulate, not an array")
    return Operands(left, right, before)


def bytes_of(name: str, l1: Any, count: int) -> np.ndarray:
    """Return contents of L1 as that many uint8 bytes."""
    data = as_bytes(name, as_numpy(name, l1))
    if len(data) != count:
        raise ValueError(f"{name} must have {count} bytes, not {len(data)}")
    return data
