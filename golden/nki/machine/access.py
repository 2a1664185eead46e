"""How instructions read and write views: elements in order, the state of their bytes, and indices read at run time."""

from collections.abc import Iterator

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.nki.declarations.errors import invalid
from bitpath.golden.nki.machine.core import NeuronCore
from bitpath.golden.nki.machine.timeline import Access
from bitpath.golden.nki.memory.dtypes import STORED
from bitpath.golden.nki.memory.storage import NOBODY, VirtualRegister, elements, per_byte
from bitpath.golden.nki.memory.tensor import Columns, NkiTensor, span

WIDE = ("float32", "tfloat32", "int32")
"""Dtypes that TensorE does not take indirectly. Ref: "Trainium3 Architecture Guide for NKI"."""


def load(core: NeuronCore, tensor: NkiTensor, *, moves: bool = False) -> np.ndarray:
    """Return a copy of a view's elements, of their dtype in memory, [shape].

    Warn of bytes that another allocation or core wrote, and of bytes that nothing has written, unless the instruction
    ``moves`` them.
    """
    for each in pieces(core, tensor):
        known = per_byte(each.allocation.storage.written, each.place(), each.itemsize)
        if not moves and not known.all():
            core.machine.warn("unwritten", f"{tensor.name}: bytes are read that nothing has written")
        _check_origin(core, each)
    return present(core, tensor)


def present(core: NeuronCore, tensor: NkiTensor) -> np.ndarray:
    """Return a copy of a view's elements, written or not, [shape]."""
    return _joined(
        [elements(each.allocation.storage.data, each.place(), STORED[each.dtype]) for each in pieces(core, tensor)]
    )


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0].copy() if len(parts) == 1 else np.concatenate(parts, axis=1)


def _split(values: np.ndarray, count: int) -> list[np.ndarray]:
    return [values] if count == 1 else np.split(values, count, axis=1)


def pieces(core: NeuronCore, tensor: NkiTensor) -> list[NkiTensor]:
    """Return the direct views of a tile: itself, the view at an index, or its columns [P, 1]."""
    made = tensor.indices
    if not isinstance(made, Columns):
        return [view for _, view in resolved(core, tensor)]
    if core.lists == "tensor" and tensor.dtype in WIDE:
        raise invalid(f"{tensor.name}: TensorE takes no columns of {tensor.dtype} by index")
    base, count = made.base, made.base.size // made.base.shape[0]
    offsets = trainium3.indirect_offsets(load(core, made.index), tensor.shape[1], engine=core.lists)
    if offsets.max() >= count:
        raise invalid(f"{tensor.name}: an offset must be below {count}, not {offsets.max()}")
    places = np.array(np.unravel_index(offsets, base.shape[1:])).T @ base.steps[1:]
    own = tensor.allocation, tensor.dtype, tensor.row
    return [NkiTensor(*own, base.start + int(at), (base.shape[0], 1), (base.steps[0], 1)) for at in places]


def _check_origin(core: NeuronCore, tensor: NkiTensor) -> None:
    storage, place = tensor.allocation.storage, tensor.place()
    if storage.owner is not None and tensor.allocation.addressed:
        owners = per_byte(storage.owner, place, 1)
        if ((owners != tensor.allocation.number) & per_byte(storage.written, place, 1)).any():
            core.machine.warn(
                "aliased_read", f"{tensor.name}: bytes are read that another tensor at this address wrote"
            )
    if storage.writer is not None and storage.epoch is not None:
        writers, epochs = per_byte(storage.writer, place, 1), per_byte(storage.epoch, place, 1)
        others = (writers != NOBODY) & (writers != core.number)
        if (others & (epochs == core.machine.barriers)).any():
            core.machine.warn("race", f"{tensor.name}: bytes are read that the other core wrote since the last barrier")


def store(core: NeuronCore, tensor: NkiTensor, values: np.ndarray) -> None:
    """Write elements of the view's dtype in memory, in row-major order; of equal columns by index the last stays."""
    views = pieces(core, tensor)
    for each, part in zip(views, _split(values.reshape(tensor.shape), len(views)), strict=True):
        elements(each.allocation.storage.data, each.place(), STORED[each.dtype])[...] = part
        _mark(core, each)


def move(core: NeuronCore, dst: NkiTensor, src: NkiTensor) -> None:
    """Copy bits, with the state of each byte, between views that have equally many elements of one size."""
    received(core, dst, *sent(core, src))


def written(tensor: NkiTensor) -> np.ndarray:
    """Return which bytes of a tile something has written, uint8 [P, bytes]."""
    flags = per_byte(tensor.allocation.storage.written, tensor.place(), tensor.itemsize)
    return flags.reshape(tensor.shape[0], -1).astype(np.uint8)


def set_written(tensor: NkiTensor, flags: np.ndarray) -> None:
    """Say which bytes of a tile count as written, [P, bytes]."""
    known = per_byte(tensor.allocation.storage.written, tensor.place(), tensor.itemsize)
    known[...] = flags.reshape(known.shape)


def sent(core: NeuronCore, tensor: NkiTensor) -> tuple[np.ndarray, np.ndarray]:
    """Return copies of a view's bytes and of their states, [shape, size], for a copy to another place."""
    views = pieces(core, tensor)
    for each in views:
        _check_origin(core, each)
    places = [(each.allocation.storage, each.place(), each.itemsize) for each in views]
    return (
        _joined([per_byte(storage.data, place, size) for storage, place, size in places]),
        _joined([per_byte(storage.written, place, size) for storage, place, size in places]),
    )


def received(core: NeuronCore, tensor: NkiTensor, data: np.ndarray, written: np.ndarray) -> None:
    """Write bytes, and which of them are written, to a view of as many elements."""
    views, shape = pieces(core, tensor), (*tensor.shape, tensor.itemsize)
    parts = (_split(each.reshape(shape), len(views)) for each in (data, written))
    for each, values, known in zip(views, *parts, strict=True):
        storage, place = each.allocation.storage, each.place()
        per_byte(storage.data, place, each.itemsize)[...] = values
        _mark(core, each)
        per_byte(storage.written, place, each.itemsize)[...] = known


def _mark(core: NeuronCore, tensor: NkiTensor) -> None:
    storage, place, size = tensor.allocation.storage, tensor.place(), tensor.itemsize
    per_byte(storage.written, place, size)[...] = True
    if storage.owner is not None:
        per_byte(storage.owner, place, size)[...] = tensor.allocation.number
    if storage.writer is not None and storage.epoch is not None:
        per_byte(storage.writer, place, size)[...] = core.number
        per_byte(storage.epoch, place, size)[...] = core.machine.barriers


def resolved(core: NeuronCore, tensor: NkiTensor, *, skip: bool = False) -> Iterator[tuple[int | None, NkiTensor]]:
    """Yield the direct views of an indirect one, each with its index of dimension 0; None for all of it.

    With ``skip`` views whose index is out of range are left out, else they are an error.
    """
    made = tensor.indices
    if made is None:
        yield None, tensor
        return
    if isinstance(made, Columns):
        raise invalid(f"{tensor.name}: DMA takes no columns by index")
    plain = direct(tensor)
    if not made.vector:
        value = (
            int(made.index) if isinstance(made.index, VirtualRegister) else int(load(core, made.index).reshape(-1)[0])
        )
        numbered: list[tuple[int | None, int]] = [(None, value)]
    else:
        assert isinstance(made.index, NkiTensor)
        numbered = [(p, int(value)) for p, value in enumerate(load(core, made.index).reshape(-1)[: tensor.shape[0]])]
    for p, value in numbered:
        if not 0 <= value < made.limit:
            if not skip:
                raise invalid(f"{tensor.name}: an index must be below {made.limit}, not {value}")
            continue
        part = plain if p is None else _row(plain, p)
        moved = shifted(part, value * made.step)
        moved.check()
        yield p, moved


def direct(tensor: NkiTensor) -> NkiTensor:
    """Return the view without its indices."""
    return NkiTensor(tensor.allocation, tensor.dtype, tensor.row, tensor.start, tensor.shape, tensor.steps)


def shifted(tensor: NkiTensor, count: int) -> NkiTensor:
    """Return the view ``count`` elements further."""
    return NkiTensor(
        tensor.allocation, tensor.dtype, tensor.row, tensor.start + count, tensor.shape, tensor.steps
    )  # fmt: skip


def _row(tensor: NkiTensor, p: int) -> NkiTensor:
    """Return the p-th place of dimension 0, kept as a dimension of one."""
    start, row = tensor.start, tensor.row
    if tensor.on_chip:
        row += p * tensor.steps[0]
    else:
        start += p * tensor.steps[0]
    return NkiTensor(tensor.allocation, tensor.dtype, row, start, (1, *tensor.shape[1:]), tensor.steps)


def row_of(tensor: NkiTensor, p: int | None) -> NkiTensor:
    """Return the part of a direct view at an index of an indirect one; all of it for None."""
    return tensor if p is None else _row(tensor, p)


def touched(tensor: NkiTensor) -> Access:
    """Return a box of bytes around all that a view may stand for."""
    made, own = tensor.indices, tensor.allocation
    if made is None:
        return _box(tensor)
    if isinstance(made, Columns):
        return _box(made.base)
    rows = (own.partition, own.partition + own.partitions) if own.on_chip else (0, 1)
    return Access(own.storage.number, rows, (own.byte, own.byte + own.partition_bytes))


def indices_of(tensor: NkiTensor) -> list[Access]:
    """Return the box of a view's indices that lie in memory."""
    index = None if tensor.indices is None else tensor.indices.index
    return [_box(index)] if isinstance(index, NkiTensor) else []


def _box(tensor: NkiTensor) -> Access:
    """Return the smallest box of bytes around a direct view."""
    own, size = tensor.allocation, tensor.itemsize
    low, high = span(tensor.dims, tensor.start)
    first = own.partition + tensor.row
    rows = (first, first + tensor.steps[0] * (tensor.shape[0] - 1) + 1) if tensor.on_chip else (0, 1)
    return Access(own.storage.number, rows, (own.byte + low * size, own.byte + high * size))
