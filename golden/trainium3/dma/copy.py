"""dma_copy: elements of one shape as those of another, cast where the dtypes differ.

Results are bit-identical to `bitpath.golden.trainium3.exact.dma_copy`.

Ref: ``nki.isa.dma_copy`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08). Points that it leaves open are in
`bitpath.golden.trainium3.declarations.dma.CHOICES`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Protocol, runtime_checkable

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked, integer, numerics_of
from bitpath.golden.trainium3.declarations.dma import DMA_ENGINES, DMA_QUEUES, TRAINIUM3_DMA, DmaTimes
from bitpath.golden.trainium3.dma.descriptors import DgeMode, Generator, choose_mode, generation_time
from bitpath.golden.trainium3.dma.schedule import (
    DEFAULT_CLASSES,
    DEFAULT_QUEUES,
    QueueConfig,
    QueuedDescriptor,
    TrafficClass,
    dma_schedule,
)
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, TF32_NAME, cast

# Time of a DMA transfer on idle engines: generation of its descriptors, the start, and the slowest engine or HBM.


@runtime_checkable
class EngineRun(Protocol):
    """One descriptor: the number of its DMA engine, and its bytes."""

    @property
    def engine(self) -> int: ...

    @property
    def bytes(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class DmaTime:
    """Cycles of a transfer: ``total = generation + start + max(*engines, hbm)``.

    Attributes
    ----------
    generation : of its descriptors.
    start : from the semaphore to the first byte.
    engines : of each of the 16 engines, from its first descriptor to the end of its last; 0 without descriptors.
    hbm : that the HBM takes for the bytes that are read and written there, rounded up.
    total : all of it.
    """

    generation: int
    start: int
    engines: tuple[int, ...]
    hbm: int
    total: int


@checked
def transfer_cycles(
    descriptors: Sequence[EngineRun],
    *,
    mode: Generator,
    queues: Sequence[QueueConfig] = DEFAULT_QUEUES,
    classes: Sequence[TrafficClass] = DEFAULT_CLASSES,
    queue: int = 0,
    computes: bool = False,
    hbm_sides: int = 1,
    cores: int = 1,
    times: DmaTimes | None = None,
) -> DmaTime:
    """Return the time of a transfer in cycles of 1.2 GHz, no other transfer being under way.

    Parameters
    ----------
    descriptors : objects with `engine` and `bytes`, as `descriptors` returns them.
    mode : who generates the descriptors, as `generation_time` has it.
    queues, classes : as `dma_schedule` takes them, the same on each engine.
    queue : number of the queue that takes the descriptors, on each engine.
    computes : True if the DMA engines add.
    hbm_sides : sides of the transfer in HBM, 0 to 2.
    cores : cores that share the HBM and run the same transfer.
    times : `TRAINIUM3_DMA` by default.

    Raises
    ------
    TypeError, ValueError : an argument of another type or range; a traffic class that stops for good.
    """
    times = numerics_of(times, TRAINIUM3_DMA)
    generation = generation_time(mode, len(descriptors))
    integer("queue", queue, range(DMA_QUEUES))
    integer("hbm_sides", hbm_sides, range(3))
    if cores < 1:
        raise ValueError(f"cores must be 1 or more, not {cores}")
    waiting: list[list[QueuedDescriptor]] = [[] for _ in range(DMA_ENGINES)]
    for each in descriptors:
        engine = integer("engine", each.engine, range(DMA_ENGINES))
        waiting[engine].append(QueuedDescriptor(queue=queue, arrival=0, bytes=each.bytes, computes=computes))
    engines = []
    for number, mine in enumerate(waiting):
        grants = dma_schedule(queues, classes, mine, times=times)
        if len(grants) < len(mine):
            raise ValueError(
                f"classes[{queues[queue].traffic_class}] must have a rate and a burst for all of a transfer; it stops "
                f"engine {number} after {len(grants)} of {len(mine)} descriptors"
            )
        engines.append(grants[-1].end if grants else 0)
    moved = hbm_sides * sum(each.bytes for each in descriptors) + generation.hbm_bytes
    hbm = ceil(cores * moved / times.hbm_bytes)
    total = generation.cycles + times.start_cycles + max(*engines, hbm)
    return DmaTime(generation=generation.cycles, start=times.start_cycles, engines=tuple(engines), hbm=hbm, total=total)


@checked
def dma_copy(
    src: np.ndarray,
    shape: tuple[int, ...],
    dtype: np.dtype | type | str | None = None,
    *,
    source: str | None = None,
    dge_mode: DgeMode = "unknown",
) -> np.ndarray:
    """Return a destination whose element i is element i of the source, both in row-major order.

    Parameters
    ----------
    src : array of any shape, of a dtype that `cast` takes.
    shape : that of the destination, of as many elements.
    dtype : dtype of the destination, as `cast` takes it; None is the source's. Equal dtypes move bits, NaN payloads included,
        others go through FP32.
    source : "tf32" if `src` holds TF32 in float32 words; else None.
    dge_mode : generator of the descriptors; "hwdge" needs equal dtypes.

    Returns
    -------
    Array of `shape`, of `dtype`.

    Raises
    ------
    TypeError, ValueError : as `cast` and `choose_mode`; another number of elements.
    """
    check_array("src", src, *CAST_DTYPES.values())
    if min(shape, default=1) < 0 or prod(shape) != src.size:
        raise ValueError(f"shape must have src's {src.size} elements, not be {(*shape,)}")
    destination = (source or src.dtype) if dtype is None else dtype
    moved = cast(src, destination, source=source)
    to_tf32 = isinstance(destination, str) and destination == TF32_NAME
    choose_mode(dge_mode, cast=moved.dtype != src.dtype or to_tf32 is (source is None))
    return moved.reshape(shape)
