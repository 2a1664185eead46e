"""Views that share bytes at a shift: what an instruction writes may be what it still has to read.

Views whose elements follow each other in the same places overlap element by element, which is in place and harmless. The lanes
of an engine work in step, so that for them only the elements within a partition count: a broadcast of one partition over
others, itself among them, is in place too. Inferred: the vendor's kernels do it.
"""

import numpy as np

from bitpath.golden.nki.machine.access import pieces, touched
from bitpath.golden.nki.machine.core import NeuronCore
from bitpath.golden.nki.memory.shapes import merged
from bitpath.golden.nki.memory.storage import per_byte
from bitpath.golden.nki.memory.tensor import NkiTensor


def overlap_at_a_shift(core: NeuronCore, dst: NkiTensor, src: NkiTensor, *, lanes: bool) -> bool:
    """Return whether two views share a byte, unless they have the same elements in the same order.

    With ``lanes`` the elements of a partition decide; without, the partitions must be the same too. Views in HBM with indices are not examined.
    """
    if dst is src or any(each.is_indirect() and not each.on_chip for each in (dst, src)):
        return False
    ours, theirs = touched(dst), touched(src)
    if ours.storage != theirs.storage or not (_meet(ours.rows, theirs.rows) and _meet(ours.bytes, theirs.bytes)):
        return False
    if not dst.is_indirect() and not src.is_indirect() and _elements(dst, lanes) == _elements(src, lanes):
        return False
    return any(_share(one, other) for one in pieces(core, dst) for other in pieces(core, src))


def _meet(first: tuple[int, int], second: tuple[int, int]) -> bool:
    return max(first[0], second[0]) < min(first[1], second[1])


def _elements(tensor: NkiTensor, lanes: bool) -> tuple:
    """Return equal values for direct views of one storage with the same elements in the same order."""
    own = tensor.allocation
    rows = (own.partition + tensor.row, tensor.shape[0], tensor.steps[0]) if tensor.on_chip and not lanes else ()
    size = tensor.itemsize
    steps = [(num, step * size) for num, step in merged(tensor.dims)]
    return rows, own.byte + tensor.start * size, size, steps


def _share(first: NkiTensor, second: NkiTensor) -> bool:
    if not (_rows(first) & _rows(second)):
        return False
    low, high = (
        min(touched(first).bytes[0], touched(second).bytes[0]),
        max(touched(first).bytes[1], touched(second).bytes[1]),
    )
    return bool((_bytes(first, low, high) & _bytes(second, low, high)).any())


def _rows(tensor: NkiTensor) -> set[int]:
    """Return the partitions of a direct view; one row in HBM."""
    if not tensor.on_chip:
        return {0}
    first = tensor.allocation.partition + tensor.row
    return {first + k * tensor.steps[0] for k in range(tensor.shape[0])}


def _bytes(tensor: NkiTensor, low: int, high: int) -> np.ndarray:
    """Return which of the bytes of a row, from ``low`` on, a direct view has."""
    own, size = tensor.allocation, tensor.itemsize
    found = np.zeros(high - low, bool)
    nums, steps = [num for num, _ in tensor.dims], [step * size for _, step in tensor.dims]
    per_byte(found, (own.byte + tensor.start * size - low, tuple(nums), tuple(steps)), size)[...] = True
    return found
