"""dma_copy, dma_transpose and dma_compute: moves, casts and sums of the DMA engines."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.nki.isa.enums import dge_mode as dge_modes
from bitpath.golden.nki.isa.enums import engine as engines
from bitpath.golden.nki.isa.enums import oob_mode as oob_modes
from bitpath.golden.nki.isa.enums import operator_name, word
from bitpath.golden.nki.machine import access
from bitpath.golden.nki.machine.core import nc_version
from bitpath.golden.nki.machine.issue import Issue, instruction
from bitpath.golden.nki.machine.timeline import DMA_ENGINES
from bitpath.golden.nki.memory.dtypes import STORED, X4
from bitpath.golden.nki.memory.tensor import Indirect, NkiTensor
from bitpath.golden.trainium3.declarations.dma import TRAINIUM3_DMA
from bitpath.golden.trainium3.declarations.memory import ENGINE_PARTITIONS
from bitpath.golden.trainium3.dma.schedule import QueueConfig
from bitpath.golden.trainium3.dma.transpose import AXES

MEMORIES = ("sbuf", "private_hbm", "shared_hbm")
TRANSPOSE_SHARE, SBUF_TRANSPOSE_SHARE = 0.9, 0.5
"""Shares of the bandwidth that a transpose reaches from HBM and from SBUF. Ref: ARCH2, "up to"."""
MOST_SOURCES = 16
DESCRIPTOR_ENGINES = (engines.sync, engines.scalar)
"""Engines that make the descriptors of a DMA with hwdge."""


@instruction
def dma_copy(
    issue: Issue,
    dst: NkiTensor,
    src: NkiTensor,
    priority: Any = None,
    oob_mode: oob_modes = oob_modes.error,
    dge_mode: dge_modes = dge_modes.unknown,
    engine: Any = engines.unknown,
) -> None:
    """Copy elements in row-major order: bits where the dtypes agree, else through FP32.

    With indices that are read at run time, dimension 0's places are copied one by one; of equal ones in dst the last stays. With
    ``oob_mode.skip`` an index that is out of range leaves its place as it is. ``engine`` is the one that makes descriptors.
    """
    _queue(issue, priority, engine, dge_mode)
    issue.check("dst", dst, MEMORIES, starts=False)
    issue.check("src", src, issue.release.copy_memories, starts=False)
    if dst.is_indirect() and src.is_indirect():
        raise issue.fail("dst and src: must not both have indices")
    if dst.size != src.size:
        raise issue.fail(f"dst: must have the {src.size} elements of src, not shape {dst.shape}")
    if dge_mode is dge_modes.hwdge and dst.dtype != src.dtype:
        raise issue.fail(f"dst: dtype must be src's {src.dtype} with hwdge, not {dst.dtype}")
    skip = oob_mode is oob_modes.skip
    if skip and not (dst.is_indirect() or src.is_indirect()):
        raise issue.fail("oob_mode: skip needs indices that are read at run time")
    whole = issue.watched and not (dst.is_indirect() or src.is_indirect())
    if whole:
        issue.show("src", access.load(issue.core, src, moves=True))
    for p, part in access.resolved(issue.core, dst, skip=skip):
        for q, source in access.resolved(issue.core, src, skip=skip):
            copy_elements(issue, part if dst.is_indirect() else dst.at(q), source if src.is_indirect() else src.at(p))
    if whole:
        issue.show("dst", access.load(issue.core, dst, moves=True), result=True)
    issue.reads(src)
    issue.writes(dst)
    issue.transfer(engine_bytes(dst, src))


def _queue(issue: Issue, priority: Any, engine: Any = engines.unknown, dge_mode: dge_modes = dge_modes.unknown) -> None:
    """Take the quality of service of a DMA's queue; warn of an engine that there is not, which has no effect.

    Ref: ``nki.isa.dma_copy``, NKI 0.6: engines with hwdge alone.
    """
    warn = issue.core.machine.warn
    issue.queue = queue_of(issue, priority)
    if engine not in (None, engines.unknown):
        if engine not in DESCRIPTOR_ENGINES:
            shown = getattr(engine, "name", engine)
            warn("queue", f"{issue.opcode} engine: must be sync, scalar or unknown, not {shown}")
        elif dge_mode is not dge_modes.hwdge:
            warn("queue", f"{issue.opcode} engine: must be unknown without dge_mode hwdge, not {engine.name}")


def queue_of(issue: Issue, priority: Any) -> QueueConfig:
    """Return the queue of a priority; warn of one that there is not, which has no effect.

    Ref: ``nki.isa.dma_copy``, NKI 0.6: priorities 0 to 3, the lower one first, on NeuronCore-v4 alone.
    """
    warn, version = issue.core.machine.warn, issue.core.options.limits.version
    if priority is not None and version < nc_version.gen4:
        warn("queue", f"{issue.opcode} priority: must be None on {version.name}, not {priority!r}")
    elif priority is not None:
        try:
            return QueueConfig(priority=priority)
        except (TypeError, ValueError) as error:
            warn("queue", f"{issue.opcode} {error}")
    return QueueConfig()


def copy_elements(issue: Issue, dst: NkiTensor, src: NkiTensor) -> None:
    """Copy bits, or cast to another dtype."""
    if dst.dtype == src.dtype:
        access.move(issue.core, dst, src)
        return
    if dst.dtype in X4 or src.dtype in X4:
        raise issue.fail(f"dst: dtype must be src's {src.dtype}, not {dst.dtype}")
    source = "tf32" if src.dtype == "tfloat32" else None
    access.store(issue.core, dst, trainium3.cast(access.load(issue.core, src), issue.result(dst), source=source))


def engine_bytes(dst: NkiTensor, src: NkiTensor) -> dict[int, int]:
    """Return the bytes of each DMA engine: engine k serves partitions 8 k to 8 k + 7, of dst where both are on chip."""
    row = max(dst.itemsize * dst.size, src.itemsize * src.size)
    chip = dst if dst.on_chip else src
    if not chip.on_chip:
        return dict.fromkeys(range(DMA_ENGINES), -(-row // DMA_ENGINES))
    first = chip.partition
    engines_of = Counter((first + p * chip.steps[0]) // ENGINE_PARTITIONS for p in range(chip.shape[0]))
    return {each: count * row // chip.shape[0] for each, count in engines_of.items()}


@instruction
def dma_transpose(
    issue: Issue,
    dst: NkiTensor,
    src: NkiTensor,
    axes: Sequence[int] | None = None,
    priority: Any = None,
    dge_mode: dge_modes = dge_modes.unknown,
    oob_mode: oob_modes = oob_modes.error,
) -> None:
    """Permute the dimensions (1, 0), (2, 1, 0) or (3, 1, 2, 0) of 2- or 4-byte elements, bit for bit.

    dst lies in SBUF and has exactly the permuted shape. Bits as `bitpath.golden.trainium3.dma_transpose`. With a vector of indices
    [16 to 128, K] for src's rows it gathers the rows down the index's columns, as `dma_gather_transpose`: 2-byte elements in HBM;
    with ``oob_mode.skip`` a row that is out of range leaves its elements of dst as they are. What is known of elements moves along.
    """
    _queue(issue, priority)
    issue.check("dst", dst, ("sbuf",), starts=False)
    issue.check("src", src, MEMORIES, starts=False)
    if dst.dtype != src.dtype:
        raise issue.fail(f"dst: dtype must be src's {src.dtype}, not {dst.dtype}")
    order = None if axes is None else tuple(axes)
    if isinstance(src.indices, Indirect) and src.indices.vector:
        moved, known = _gathered(issue, dst, src, order, dge_mode, oob_mode)
    elif oob_mode is oob_modes.skip:
        raise issue.fail("oob_mode: skip needs a vector of indices")
    else:
        (view,) = (part for _, part in access.resolved(issue.core, src))
        source = access.load(issue.core, view, moves=True)
        moved = trainium3.dma_transpose(source, order, dge_mode=word(dge_mode.name))
        flags = access.written(issue.core, view).reshape(view.shape).astype(np.uint16)
        known = trainium3.dma_transpose(flags, order, dge_mode=word(dge_mode.name))
        issue.show("src", source)
        issue.show("dst", moved, result=True)
    if moved.shape != dst.shape:
        raise issue.fail(f"dst: must have shape {moved.shape}, not {dst.shape}")
    access.store(issue.core, dst, moved)
    access.set_written(issue.core, dst, known)
    issue.reads(src)
    issue.writes(dst)
    issue.transfer(engine_bytes(dst, src), share=SBUF_TRANSPOSE_SHARE if src.on_chip else TRANSPOSE_SHARE)


def _gathered(
    issue: Issue,
    dst: NkiTensor,
    src: NkiTensor,
    axes: tuple[int, ...] | None,
    dge_mode: dge_modes,
    oob_mode: oob_modes,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the transpose of the rows that src's indices name, and which of its elements something has written."""
    made = src.indices
    assert isinstance(made, Indirect)
    assert isinstance(made.index, NkiTensor)
    index = issue.tile("src index", made.index, ("sbuf",), ("uint32",))
    if axes not in (None, AXES.get(src.ndim)):
        raise issue.fail(f"axes: must exchange the first and the last of {src.ndim}, not {axes}")
    if dge_mode not in (dge_modes.unknown, dge_modes.swdge):
        raise issue.fail(f"dge_mode: must be unknown or swdge with indices, not {dge_mode.name}")
    table = replace(src.direct(), shape=(made.limit, *src.shape[1:]), steps=(made.step, *src.steps[1:]))
    table.check()
    oob = word(oob_mode.name)
    known, kept = (access.written(issue.core, each).reshape(each.shape).astype(np.uint16) for each in (table, dst))
    before = access.present(issue.core, dst)
    moved = trainium3.dma_gather_transpose(access.present(issue.core, table), index, src.shape[0], dst=before, oob=oob)
    return moved, trainium3.dma_gather_transpose(known, index, src.shape[0], dst=kept, oob=oob)


@instruction
def dma_compute(
    issue: Issue,
    dst: NkiTensor,
    srcs: Sequence[NkiTensor],
    reduce_op: Callable,
    scales: Sequence[float] | None = None,
    unique_indices: bool = True,
    oob_mode: oob_modes = oob_modes.error,
) -> None:
    """Add up to 16 sources in FP32, left to right, and round once to dst's dtype.

    A source or destination with indices that are read at run time is added to in place, row by row.
    """
    if operator_name(issue, "reduce_op", reduce_op) != "add":
        raise issue.fail("reduce_op: must be add")
    if scales is not None and any(scale != 1 for scale in scales):
        raise issue.fail(f"scales: must all be 1, not {list(scales)}")
    if not 1 <= len(srcs) <= MOST_SOURCES:
        raise issue.fail(f"srcs: must be 1 to {MOST_SOURCES} tensors, not {len(srcs)}")
    issue.check("dst", dst, MEMORIES, starts=False)
    for k, each in enumerate(srcs):
        issue.check(f"srcs[{k}]", each, MEMORIES, starts=False)
        if each.size != dst.size:
            raise issue.fail(f"srcs[{k}]: must have the {dst.size} elements of dst, not shape {each.shape}")
    skip = oob_mode is oob_modes.skip
    indirect = _with_indices(issue, dst, srcs, unique_indices)
    places = [p for p, _ in access.resolved(issue.core, indirect[0] if indirect else dst, skip=skip)]
    views = [
        dict(access.resolved(issue.core, each, skip=skip)) if each.is_indirect() else each for each in (*srcs, dst)
    ]
    for p in places:
        *parts, to = [each[p] if isinstance(each, dict) else each.at(p) for each in views]
        values = [access.load(issue.core, part).reshape(-1) for part in parts]
        names = ["tf32" if part.dtype == "tfloat32" else None for part in parts]
        total = trainium3.dma_compute(values, issue.result(dst), sources=names)
        access.store(issue.core, to, np.asarray(total, STORED[dst.dtype]))
        if p is None:
            for k, value in enumerate(values):
                issue.show(f"srcs[{k}]", value)
            issue.show("dst", total, result=True)
    for each in srcs:
        issue.reads(each)
    issue.writes(dst)
    issue.uses("dma_compute.order")
    adds = issue.rates.read_add_write and _adds_in_place(dst, srcs)
    chip = next((each for each in srcs if each.on_chip), srcs[0])
    issue.transfer(engine_bytes(dst, chip), factor=1 if adds else TRAINIUM3_DMA.numerics.compute_factor)


def _adds_in_place(dst: NkiTensor, srcs: Sequence[NkiTensor]) -> bool:
    """Return whether a computation is B += A of SBUF's Read-Add-Write: equal dtypes, BF16 or FP32, without indices.

    ARCH3 gives the operation the throughput of a copy, and says that ``nki.isa`` has no name for it: that such a computation
    uses it is chosen. In HBM it takes the DMA engines' own arithmetic.
    """
    return (
        dst.allocation.buffer == "sbuf"
        and len(srcs) == 2
        and {dst.dtype, *(each.dtype for each in srcs)} in ({"bfloat16"}, {"float32"})
        and not any(each.is_indirect() for each in (dst, *srcs))
        and any(each.box() == dst.box() and each.order(lanes=False) == dst.order(lanes=False) for each in srcs)
    )


def _with_indices(issue: Issue, dst: NkiTensor, srcs: Sequence[NkiTensor], unique: bool) -> list[NkiTensor]:
    """Return the sources with indices that are read at run time."""
    found = [each for each in srcs if each.is_indirect()]
    if len(found) > 1:
        raise issue.fail("srcs: at most one may have indices")
    if found or dst.is_indirect():
        if len(srcs) != 2:
            raise issue.fail(f"srcs: must be 2 tensors where one has indices, not {len(srcs)}")
        if not unique:
            raise issue.fail("unique_indices: must be True")
    return found
