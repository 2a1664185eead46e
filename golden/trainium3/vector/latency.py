"""Latency of RMSNorm-Quant by engine, from documented rates, compared with the vendor's targets.

The model is serial and single-buffered: a tile of 128 rows is loaded, normalised, quantised and stored before the next
one is loaded. An engine's time is elements of a partition times cycles for each; its partitions work side by side.
TensorE broadcasts the next gammas while VectorE uses the present ones, and takes less time, so it adds no latency.
Left out, as below a thousandth of a tile: gamma's and the scales' bytes, and instructions on one number for each partition.

Ref: the rates and targets of `bitpath.golden.trainium3.declarations.rates`.
"""

from dataclasses import dataclass

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.trainium3.declarations.rates import TARGETS, TRAINIUM2, TRAINIUM3, FlowRates, Target
from bitpath.golden.trainium3.declarations.vector import MAX_BATCH, MAX_HIDDEN, MAX_SEQUENCE, ROW_TILE

IN_BYTES, OUT_BYTES = 2, 1
"""Bytes of an element on its way in, BF16, and on its way out, FP8."""


@dataclass(frozen=True, kw_only=True)
class TileLatency:
    """Microseconds of one tile by engine."""

    dma: float
    scalar: float
    vector: float
    tensor: float

    @property
    def total(self) -> float:
        """Microseconds from load to store; TensorE works while VectorE does."""
        return self.dma + self.scalar + max(self.vector, self.tensor)


@dataclass(frozen=True, kw_only=True)
class LatencyRow:
    """One target beside the model.

    Attributes
    ----------
    target : the vendor's target.
    tiles : tiles of a core.
    tile : the model's times for one of them, at Trainium2's rates.
    microseconds : the model's time for all.
    ratio : the model's time by the target's. The difference at 2K tokens is start-up time, which is not modelled.
    trainium3_microseconds : the model's time at Trainium3's rates.
    """

    target: Target
    tiles: int
    tile: TileLatency
    microseconds: float
    ratio: float
    trainium3_microseconds: float


@checked
def tile_latency(rates: FlowRates, hidden_size: int, rows: int = ROW_TILE) -> TileLatency:
    """Return the times of a tile of `rows` rows of `hidden_size` elements.

    Raises
    ------
    TypeError, ValueError : no `FlowRates`; a size out of its limits.
    """
    hidden_size = integer("hidden_size", hidden_size, range(1, MAX_HIDDEN + 1))
    rows = integer("rows", rows, range(1, ROW_TILE + 1))
    vector = rates.multiply_cycles + rates.maximum_cycles + rates.quantize_cycles
    return TileLatency(
        dma=(IN_BYTES + OUT_BYTES) * hidden_size * rows / rates.dma_gb_per_s / 1000,
        scalar=float(hidden_size * rates.square_cycles) / rates.scalar_ghz / 1000,
        vector=float(hidden_size * vector) / rates.vector_ghz / 1000,
        tensor=float(hidden_size * rates.broadcast_cycles) / rates.tensor_ghz / 1000,
    )


@checked
def flow_latency(rates: FlowRates, tokens: int, hidden_size: int) -> float:
    """Return the time of RMSNorm-Quant in microseconds; the core with the most rows decides.

    Raises
    ------
    TypeError, ValueError : as `tile_latency`; fewer tokens than cores.
    """
    tiles = tile_rows(rates, tokens)
    *_, last = tiles
    return (len(tiles) - 1) * tile_latency(rates, hidden_size).total + tile_latency(rates, hidden_size, last).total


def tile_rows(rates: FlowRates, tokens: int) -> list[int]:
    """Return the rows of each tile of the core with the most rows, which also takes the remainder of the tokens.

    Raises
    ------
    TypeError, ValueError : no integer, too many tokens, or fewer than cores.
    """
    tokens = integer("tokens", tokens, range(1, MAX_BATCH * MAX_SEQUENCE + 1))
    if tokens < rates.cores:
        raise ValueError(f"tokens must be at least {rates.cores}, one for each core, not {tokens}")
    rows = tokens - (rates.cores - 1) * (tokens // rates.cores)
    return [min(ROW_TILE, rows - start) for start in range(0, rows, ROW_TILE)]


@checked
def latency_rows() -> list[LatencyRow]:
    """Return the vendor's targets with the model's times beside them."""
    rows = []
    for target in TARGETS:
        microseconds = flow_latency(TRAINIUM2.numerics, target.tokens, target.hidden_size)
        rows.append(
            LatencyRow(
                target=target,
                tiles=-(-target.tokens // TRAINIUM2.numerics.cores // ROW_TILE),
                tile=tile_latency(TRAINIUM2.numerics, target.hidden_size),
                microseconds=microseconds,
                ratio=microseconds / target.microseconds,
                trainium3_microseconds=flow_latency(TRAINIUM3.numerics, target.tokens, target.hidden_size),
            )
        )
    return rows


@checked
def latency_table() -> str:
    """Return `latency_rows` as a Markdown table."""
    lines = [
        "| tokens | H | tiles of a core | DMA | ScalarE | VectorE | TensorE | tile | model | target | model / target | at Trainium3's rates |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in latency_rows():
        times = (row.tile.dma, row.tile.scalar, row.tile.vector, row.tile.tensor, row.tile.total)
        cells = (
            f"{row.target.tokens // 1024}K",
            str(row.target.hidden_size),
            str(row.tiles),
            *(f"{each:.2f} us" for each in times),
            f"{row.microseconds:,.0f} us",
            f"{row.target.microseconds:,.0f} us",
            f"{row.ratio:.3f}",
            f"{row.trainium3_microseconds:,.0f} us",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
