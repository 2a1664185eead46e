"""How instructions read and write views: elements in order, the state of their bytes, and indices read at run time."""

from collections.abc import Iterator

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.nki.declarations.errors import invalid
from bitpath.golden.nki.machine.core import NeuronCore
from bitpath.golden.nki.memory.storage import MATMUL_BEFORE, NOBODY, VirtualRegister
from bitpath.golden.nki.memory.tensor import Columns, NkiTensor

WIDE = ("float32", "tfloat32", "int32")
"""Dtypes that TensorE does not take indirectly: nc_matmul's page has floats of 16 and 8 bits alone.

Ref: ``nki.isa.nc_matmul`` reference page, NKI 0.6. The "Trainium3 Architecture Guide for NKI" says nothing of dtypes.
"""


def load(core: NeuronCore, tensor: NkiTensor, *, moves: bool = False) -> np.ndarray:
    """Return a copy of a view's elements, of their dtype in memory, [shape].

    Warn of bytes that another allocation or core wrote, and of bytes that nothing has written, unless the instruction
    ``moves`` them.
    """
    for each in pieces(core, tensor):
        if not moves and not each.bytes_of(each.allocation.storage.written).all():
            core.machine.warn("unwritten", f"{tensor.name}: bytes are read that nothing has written")
        _check_origin(core, each)
    return present(core, tensor)


def present(core: NeuronCore, tensor: NkiTensor) -> np.ndarray:
    """Return a copy of a view's elements, written or not, [shape]."""
    return _joined([each.elements() for each in pieces(core, tensor)])


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
        raise invalid(
            f"{tensor.name}: TensorE takes no columns of {tensor.dtype} by index, only of 8- and 16-bit floats"
        )
    base, count = made.base, made.base.size // made.base.shape[0]
    offsets = trainium3.indirect_offsets(load(core, made.index), tensor.shape[1], engine=core.lists)
    if offsets.max() >= count:
        raise invalid(f"{tensor.name}: an offset must be below {count}, not {offsets.max()}")
    return base.columns(offsets)


def _check_origin(core: NeuronCore, tensor: NkiTensor) -> None:
    storage, of = tensor.allocation.storage, tensor.bytes_of
    if storage.owner is not None and tensor.allocation.addressed:
        others = (of(storage.owner) != tensor.allocation.number) & of(storage.written)
        if others.any():
            core.machine.warn(
                "aliased_read", f"{tensor.name}: bytes are read that another tensor at this address wrote"
            )
    if storage.writer is not None and storage.epoch is not None:
        others = (of(storage.writer) != NOBODY) & (of(storage.writer) != core.place)
        if (others & (of(storage.epoch) == core.machine.barriers)).any():
            core.machine.warn("race", f"{tensor.name}: bytes are read that the other core wrote since the last barrier")


def store(core: NeuronCore, tensor: NkiTensor, values: np.ndarray) -> None:
    """Write elements of the view's dtype in memory, in row-major order; of equal columns by index the last stays."""
    views = pieces(core, tensor)
    for each, part in zip(views, _split(values.reshape(tensor.shape), len(views)), strict=True):
        each.elements()[...] = part
        _mark(core, each)


def move(core: NeuronCore, dst: NkiTensor, src: NkiTensor) -> None:
    """Copy bits, with the state of each byte, between views that have equally many elements of one size."""
    received(core, dst, *sent(core, src))


def written(core: NeuronCore, tensor: NkiTensor) -> np.ndarray:
    """Return which elements of a tile something has written, uint8 [P, N]."""
    known = [np.all(each.bytes_of(each.allocation.storage.written), axis=-1) for each in pieces(core, tensor)]
    return _joined(known).reshape(tensor.shape[0], -1).astype(np.uint8)


def set_written(core: NeuronCore, tensor: NkiTensor, flags: np.ndarray) -> None:
    """Say which elements of a tile count as written, [P, N]."""
    views = pieces(core, tensor)
    for each, part in zip(views, _split(flags.reshape(tensor.shape), len(views)), strict=True):
        each.bytes_of(each.allocation.storage.written)[...] = part[..., np.newaxis]


def sent(core: NeuronCore, tensor: NkiTensor) -> tuple[np.ndarray, np.ndarray]:
    """Return copies of a view's bytes and of their states, [shape, size], for a copy to another place."""
    views = pieces(core, tensor)
    for each in views:
        _check_origin(core, each)
    return (
        _joined([each.bytes_of(each.allocation.storage.data) for each in views]),
        _joined([each.bytes_of(each.allocation.storage.written) for each in views]),
    )


def received(core: NeuronCore, tensor: NkiTensor, data: np.ndarray, written: np.ndarray) -> None:
    """Write bytes, and which of them are written, to a view of as many elements."""
    views, shape = pieces(core, tensor), (*tensor.shape, tensor.itemsize)
    parts = (_split(each.reshape(shape), len(views)) for each in (data, written))
    for each, values, known in zip(views, *parts, strict=True):
        each.bytes_of(each.allocation.storage.data)[...] = values
        _mark(core, each)
        each.bytes_of(each.allocation.storage.written)[...] = known


def _mark(core: NeuronCore, tensor: NkiTensor) -> None:
    storage, of = tensor.allocation.storage, tensor.bytes_of
    if tensor.allocation.matmul is not None:
        np.minimum(tensor.matmul_written(), MATMUL_BEFORE, out=tensor.matmul_written())
    of(storage.written)[...] = True
    if storage.owner is not None:
        of(storage.owner)[...] = tensor.allocation.number
    if storage.writer is not None and storage.epoch is not None:
        of(storage.writer)[...] = core.place
        of(storage.epoch)[...] = core.machine.barriers


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
        view = tensor.direct(further=value * made.step).at(p)
        view.check()
        yield p, view
