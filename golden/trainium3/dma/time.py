"""Time of a DMA descriptor, in cycles of the DMA engines' clock."""

from bitpath.golden.arrays.arguments import checked, integer, numerics_of
from bitpath.golden.trainium3.declarations.dma import MAX_DESCRIPTOR_BYTES, TRAINIUM3_DMA, DmaTimes


@checked
def descriptor_cycles(size: int, *, computes: bool = False, times: DmaTimes | None = None) -> int:
    """Return the cycles of a descriptor: ``max(90, ceil(ceil(size / 32) * 64 / 55))``, twice that if it computes.

    Parameters
    ----------
    size : bytes, 1 to 65,536.
    computes : True for `dma_compute`, `dma_scatter_add` and `dma_gather_add`; a read-add-write is a copy.
    times : `TRAINIUM3_DMA` by default.

    Raises
    ------
    ValueError : another size.
    """
    times = numerics_of(times, TRAINIUM3_DMA)
    integer("size", size, range(1, MAX_DESCRIPTOR_BYTES + 1))
    beats = -(-size // times.beat_bytes)
    cycles = max(times.descriptor_cycles, -(-beats * times.beat_price // times.beat_gain))
    return cycles * times.compute_factor if computes else cycles
