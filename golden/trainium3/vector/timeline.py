"""Timeline of RMSNorm-Quant's engines: tiles one after the other, or overlapped by double buffering.

A tile passes four steps: load (DMA), square (ScalarE), normalise with the two quantisation steps (VectorE), store (DMA).
Gamma's broadcast on TensorE runs beside VectorE's step. Each engine takes tiles in order; a tile's buffer is free once it
is stored. Times are those of `tile_latency`; start-up and the instructions on one number a partition are left out.
"""

from dataclasses import dataclass

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.trainium3.declarations.rates import FlowRates
from bitpath.golden.trainium3.vector.latency import IN_BYTES, OUT_BYTES, tile_latency, tile_rows

ENGINES = ("load", "scalar", "vector", "tensor", "store")
"""Lanes of the timeline; "load" and "store" share the core's DMA bandwidth."""
MAX_BUFFERS = 8


@dataclass(frozen=True, kw_only=True)
class Step:
    """A tile's time on one engine, in microseconds from the start."""

    engine: str
    tile: int
    start: float
    end: float


@checked
def flow_timeline(rates: FlowRates, tokens: int, hidden_size: int, *, buffers: int = 2) -> list[Step]:
    """Return the steps of the core with the most rows, by tile.

    With one buffer, tiles do not overlap, and the last step ends at `flow_latency`. With more, loads and stores wait for each
    other, as they share one bandwidth; a store that is ready goes first.

    Parameters
    ----------
    rates, tokens, hidden_size : as `flow_latency`.
    buffers : tiles that SBUF holds at once, 1 to 8.

    Raises
    ------
    TypeError, ValueError : as `flow_latency`; another number of buffers.
    """
    buffers = integer("buffers", buffers, range(1, MAX_BUFFERS + 1))
    tiles = tile_rows(rates, tokens)
    times = {rows: tile_latency(rates, hidden_size, rows) for rows in set(tiles)}
    free = dict.fromkeys(("dma", "scalar", "vector"), 0.0)
    steps: list[Step] = []
    ready: list[tuple[int, float, float]] = []  # tiles to store: number, when, how long
    stored: list[float] = []

    def run(engine: str, resource: str, tile: int, earliest: float, duration: float) -> float:
        start = max(free[resource], earliest)
        free[resource] = start + duration
        steps.append(Step(engine=engine, tile=tile, start=start, end=free[resource]))
        return free[resource]

    def store() -> None:
        tile, when, duration = ready.pop(0)
        stored.append(run("store", "dma", tile, when, duration))

    for tile, rows in enumerate(tiles):
        each = times[rows]
        load = each.dma * IN_BYTES / (IN_BYTES + OUT_BYTES)
        while ready and (len(stored) <= tile - buffers or ready[0][1] <= free["dma"]):
            store()
        loaded = run("load", "dma", tile, stored[tile - buffers] if tile >= buffers else 0.0, load)
        squared = run("scalar", "scalar", tile, loaded, each.scalar)
        quantised = run("vector", "vector", tile, squared, max(each.vector, each.tensor))
        start = steps[-1].start
        steps.append(Step(engine="tensor", tile=tile, start=start, end=start + each.tensor))
        ready.append((tile, quantised, each.dma - load))
    while ready:
        store()
    return steps
