"""Rates of a NeuronCore-v4, computed from `CORE_RATES`."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, check_flag, checked, integer
from bitpath.golden.formats.sources import Rate, documented
from bitpath.golden.trainium3.declarations.rates import (
    COLUMNS,
    CORE_RATES,
    ROWS,
    TARGETS,
    TRAINIUM2,
    TRAINIUM3,
    CoreRates,
    FlowRates,
    Target,
)
from bitpath.golden.trainium3.declarations.vector import MAX_BATCH, MAX_HIDDEN, MAX_SEQUENCE, ROW_TILE
from bitpath.golden.trainium3.operands.cast import TF32_NAME
from bitpath.golden.trainium3.vector.engine import output_dtype

# Latency of RMSNorm-Quant by engine, from documented rates, compared with the vendor's targets.
#
# The model is serial and single-buffered: gamma is loaded, then a tile of 128 rows is loaded, normalised, quantised and stored
# before the next one is loaded. An engine's time is elements of a partition times cycles for each, and a short instruction's
# cycles for each instruction on one number of a partition; its partitions work side by side. TensorE broadcasts the next gammas
# while VectorE uses the present ones, and takes less time, so it adds no latency. A tile's store and the next tile's load start
# together, in queues of their own, so that a tile has one start of a transfer: inferred. Left out: the scales' bytes, which are
# below a thousandth of a tile.
#
# Ref: the rates and targets of `bitpath.golden.trainium3.declarations.rates`.


IN_BYTES, OUT_BYTES = 2, 1
"""Bytes of an element on its way in, BF16, and on its way out, FP8."""
SCALAR_SHORT, VECTOR_SHORT = 3, 2
"""Short instructions of a tile: the sum's register, root and scale on ScalarE; bound and reciprocal on VectorE (SPEC)."""


@dataclass(frozen=True, kw_only=True)
class TileLatency:
    """Microseconds of one tile by engine; ``start`` passes before the first byte of its load."""

    start: float
    dma: float
    scalar: float
    vector: float
    tensor: float

    @property
    def total(self) -> float:
        """Microseconds from load to store; TensorE works while VectorE does."""
        return self.start + self.dma + self.scalar + max(self.vector, self.tensor)


@dataclass(frozen=True, kw_only=True)
class LatencyRow:
    """One target beside the model.

    Attributes
    ----------
    target : the vendor's target.
    tiles : tiles of a core.
    tile : the model's times for one of them, at Trainium2's rates.
    microseconds : the model's time for all.
    ratio : the model's time by the target's.
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
    short = rates.short_cycles
    return TileLatency(
        start=rates.dma_start_us,
        dma=(IN_BYTES + OUT_BYTES) * hidden_size * rows / rates.dma_gb_per_s / 1000,
        scalar=float(hidden_size * rates.square_cycles + SCALAR_SHORT * short) / rates.scalar_ghz / 1000,
        vector=float(hidden_size * vector + VECTOR_SHORT * short) / rates.vector_ghz / 1000,
        tensor=float(hidden_size * rates.broadcast_cycles) / rates.tensor_ghz / 1000,
    )


def gamma_latency(rates: FlowRates, hidden_size: int) -> float:
    """Return the microseconds in which the DMA engines load gamma, descriptor by descriptor."""
    descriptors = -(-IN_BYTES * hidden_size // (rates.gamma_bytes * rates.dma_engines))
    return descriptors * rates.descriptor_us


@checked
def flow_latency(rates: FlowRates, tokens: int, hidden_size: int) -> float:
    """Return the time of RMSNorm-Quant in microseconds: gamma, the tiles, and the start of the last store.

    The core with the most rows decides.

    Raises
    ------
    TypeError, ValueError : as `tile_latency`; fewer tokens than cores.
    """
    tiles = tile_rows(rates, tokens)
    *_, last = tiles
    whole = (len(tiles) - 1) * tile_latency(rates, hidden_size).total + tile_latency(rates, hidden_size, last).total
    return gamma_latency(rates, hidden_size) + whole + rates.dma_start_us


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
        "| tokens | H | tiles of a core | gamma | start | DMA | ScalarE | VectorE | TensorE | tile | model | target | model / target | at Trainium3's rates |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in latency_rows():
        gamma = gamma_latency(TRAINIUM2.numerics, row.target.hidden_size)
        times = (gamma, row.tile.start, row.tile.dma, row.tile.scalar, row.tile.vector, row.tile.tensor, row.tile.total)
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


# Timeline of RMSNorm-Quant's engines: tiles one after the other, or overlapped by double buffering.
#
# A tile passes four steps: load (DMA), square (ScalarE), normalise with the two quantisation steps (VectorE), store (DMA).
# Gamma's broadcast on TensorE runs beside VectorE's step. Each engine takes tiles in order; a tile's buffer is free once it
# is stored. Times are those of `tile_latency`. The first load starts behind gamma's; starts of transfers take no bandwidth.


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
    gamma = gamma_latency(rates, hidden_size)
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
        free_from = stored[tile - buffers] if tile >= buffers else gamma
        loaded = run("load", "dma", tile, free_from + each.start, load)
        squared = run("scalar", "scalar", tile, loaded, each.scalar)
        quantised = run("vector", "vector", tile, squared, max(each.vector, each.tensor))
        start = steps[-1].start
        steps.append(Step(engine="tensor", tile=tile, start=start, end=start + each.tensor))
        last = tile == len(tiles) - 1
        ready.append((tile, quantised + (each.start if last else 0.0), each.dma - load))
    while ready:
        store()
    return steps


# Cycles of an instruction of VectorE, ScalarE or GpSimd, from `CORE_RATES` and the performance modes.
#
# The rules are in `bitpath.golden.trainium3.declarations.rates.CHOICES`. A mode changes no bit of a result.


_TWO_TENSORS = ("tensor_tensor", "scalar_tensor_tensor")
OPERATIONS = {
    "vector": (
        "tensor_copy",
        "tensor_scalar",
        "tensor_scalar_reduce",
        "tensor_reduce",
        "exponential",
        "quantize_mx",
        "reciprocal",
        "rand2",
        "transpose",
        *_TWO_TENSORS,
    ),
    "scalar": ("tensor_copy", "tensor_scalar", "activation", "activation_reduce", "activate2"),
    "gpsimd": ("tensor_copy", "tensor_scalar", *_TWO_TENSORS),
}
"""Instructions of each engine."""
_NO_SOURCE = ("rand2",)
MAX_ELEMENTS = 65536
"""Elements of SBUF's partition, by bytes of 32-bit elements."""


@checked
def engine_cycles(
    engine: str,
    op: str,
    n: int,
    dtypes: Sequence[Any],
    places: Sequence[str],
    inner_bytes: Sequence[int] | None = None,
    *,
    indirect: bool = False,
    read_register: bool = False,
) -> int:
    """Return the cycles of one instruction at 1.2 GHz.

    Parameters
    ----------
    engine, op : a name of `OPERATIONS`, and an instruction of it.
    n : elements of a partition in an operand.
    dtypes : of the tensor operands, then of the result; numpy dtypes or "tf32".
    places : "sbuf" or "psum" of the same tensors.
    inner_bytes : the innermost stride of each in bytes; None if all are contiguous.
    indirect : True if an operand is gathered or the result scattered.
    read_register : True if the result of a reduction is read out of its registers.

    Raises
    ------
    TypeError, ValueError : another engine, instruction, dtype or place; not a dtype, place and stride for each tensor; PSUM on
        GpSimd.
    """
    rates = CORE_RATES.numerics
    check_choice("engine", engine, OPERATIONS)
    check_choice(f"op of {engine}", op, OPERATIONS[engine])
    n = integer("n", n, range(1, MAX_ELEMENTS + 1))
    inputs = 2 if op in _TWO_TENSORS else 0 if op in _NO_SOURCE else 1
    sizes = [_size(each) for each in dtypes]
    strides = [size for size, _ in sizes] if inner_bytes is None else list(inner_bytes)
    for name, given in (("dtypes", dtypes), ("places", places), ("inner_bytes", strides)):
        if len(given) != inputs + 1:
            raise ValueError(f"{name} must have {inputs + 1} entries for {op}, not {len(given)}")
    for place in places:
        check_choice("place", place, ("sbuf", "psum"))
    for name, flag in (("indirect", indirect), ("read_register", read_register)):
        check_flag(name, flag)
    strides = [abs(integer("inner_bytes", each, range(-(1 << 17), 1 << 17))) for each in strides]
    if engine == "gpsimd":
        if "psum" in places:
            raise ValueError(f"places must be 'sbuf' on gpsimd, which does not reach PSUM, not {tuple(places)}")
        return rates.gpsimd_start + n
    narrow = all(small for _, small in sizes)
    contiguous = all(stride == size for stride, (size, _) in zip(strides, sizes, strict=True))
    if op == "reciprocal":
        cycles = rates.reciprocal_cycles * n
    elif op == "rand2":
        cycles = ceil(n / rates.random_words)
    else:
        width = lane_width(rates, engine, op, narrow=narrow, fast=contiguous and "psum" not in places)
        if max(strides) > rates.stride_bytes:
            width = max(1, width // 2)
        cycles = inputs * ceil(n / (1 if indirect else width))
    return max(rates.interval, cycles) + (rates.read_register if read_register else 0)


def lane_width(rates: CoreRates, engine: str, op: str, *, narrow: bool, fast: bool) -> int:
    """Return w, the elements of a lane and cycle.

    Parameters
    ----------
    rates : of the machine.
    engine, op : as `engine_cycles`; every other instruction of VectorE has the width of tensor_reduce.
    narrow : whether all operands are narrow floats.
    fast : whether they lie in SBUF without stride.
    """
    if engine == "gpsimd":
        return rates.gpsimd
    if engine == "scalar":
        mode = op in ("tensor_copy", "tensor_scalar") and narrow
        return rates.scalar_narrow if mode else rates.scalar_wide
    if op == "transpose":
        return 1
    if op == "exponential":
        return rates.exponential
    if op in _TWO_TENSORS:
        return rates.vector_pair
    if narrow and (op in rates.vector_modes or not rates.vector_modes):
        return rates.vector_narrow if fast else rates.vector_mode
    return rates.vector_wide


def _size(dtype: Any) -> tuple[int, bool]:
    """Return an element's bytes, and whether it is a float of 16 or 8 bits."""
    found = output_dtype(dtype)
    if found == TF32_NAME:
        return 4, False
    found = np.dtype(found)
    return found.itemsize, found.kind not in "iu" and found.itemsize < 4


_ARCH3 = documented("ARCH3")
_NUMBERS = (
    ("tensor_mhz", "TensorE clock", "MHz"),
    ("engine_mhz", "VectorE, ScalarE and GpSimd clock", "MHz"),
    ("dma_engines", "DMA engines of the chip", "engines"),
    ("core_dma_engines", "DMA engines of a core", "engines"),
    ("dma_queues", "queues of a DMA engine", "queues"),
    ("hbm_gib", "HBM", "GiB"),
    ("hbm_gb_per_s", "HBM bandwidth", "GB/s"),
    ("sbuf_kib", "SBUF, a partition", "KiB"),
    ("psum_kib", "PSUM, a partition", "KiB"),
    ("interval", "shortest instruction", "cycles"),
)
"""Declared numbers that are rates or sizes by themselves."""


@checked
def rates_table() -> tuple[Rate, ...]:
    """Return the declared numbers, then the numbers that follow from them, each beside the vendor's figure."""
    rates, sources = CORE_RATES.numerics, CORE_RATES.sources
    rows = [
        Rate(quantity=quantity, value=getattr(rates, name), unit=unit, source=sources[name])
        for name, quantity, unit in _NUMBERS
    ]
    rows += [*_matmul(), *_widths()]
    hertz = rates.engine_mhz * 10**6
    for engine in ("VectorE", "ScalarE"):
        operations = rates.fp32_operations * hertz / 10**12
        formula = f"{rates.fp32_operations} * {rates.engine_mhz} MHz"
        rows.append(
            Rate(
                quantity=f"{engine} FP32",
                value=operations,
                unit="TFLOPS",
                formula=formula,
                source=_ARCH3,
                published="1.2",
            )
        )
    words, bus = rates.random_words, rates.dma_bus_bytes
    engines, achieved = rates.core_dma_engines, rates.dma_achieved_gb_per_s
    return (
        *rows,
        Rate(
            quantity="rand2",
            value=ROWS * words * hertz / 10**9,
            unit="10^9 words/s",
            formula=f"{ROWS} * {words} * {rates.engine_mhz} MHz",
        ),
        Rate(
            quantity="DMA engine, bus",
            value=float(bus * hertz / 10**9),
            unit="GB/s",
            formula=f"{bus} bytes * {rates.engine_mhz} MHz",
            source=documented("DMA"),
            published="38.4",
        ),
        Rate(
            quantity="DMA of a core, achieved",
            value=engines * achieved,
            unit="GB/s",
            formula=f"{engines} * {achieved} GB/s",
            source=documented("DMA, BW"),
            published="528",
        ),
        Rate(
            quantity="HBM bytes for a core",
            value=rates.hbm_gb_per_s * 10**9 / rates.cores / hertz,
            unit="bytes/cycle",
            formula=f"{rates.hbm_gb_per_s} GB/s / {rates.cores} / {rates.engine_mhz} MHz",
        ),
    )


def _matmul() -> list[Rate]:
    """Return TensorE's rates: a product and its addition are two operations."""
    rates = CORE_RATES.numerics
    dense, onezero, passes = rates.dense_products, rates.fp32_onezero_passes, rates.fp32_passes
    products = [
        ("MXFP8, MXFP4", rates.mx_products, 1, "315", _ARCH3),
        ("FP8 double row", rates.double_row_products, 1, "158", documented("NeuronCore-v3 architecture")),
        ("BF16, FP16, TF32", dense, 1, "79", _ARCH3),
        ("FP32", dense, passes, "20", _ARCH3),
        ("FP32, an operand of 0 and 1", dense, onezero, "", CORE_RATES.sources["fp32_onezero_passes"]),
        *(
            (f"sparse, {ratio} dense elements for each kept", ratio, 1, "315" if ratio == 4 else "", _ARCH3)
            for ratio in rates.sparse_ratios
        ),
    ]
    return [
        Rate(
            quantity=f"TensorE {name}",
            value=ROWS * COLUMNS * count * 2 * rates.tensor_mhz / passes / 10**6,
            unit="TFLOPS",
            formula=f"{ROWS} * {COLUMNS} * {count} * 2 * {rates.tensor_mhz} MHz"
            + (f" / {passes}" if passes > 1 else ""),
            source=source,
            published=published,
        )
        for name, count, passes, published, source in products
    ]


def _widths() -> list[Rate]:
    """Return elements a cycle of the engines' datapaths."""
    rates, sources = CORE_RATES.numerics, CORE_RATES.sources
    rows = []
    for name, field, published in (
        ("MX", "mx_inputs", 8),
        ("dense", "dense_inputs", 2),
        ("sparse", "sparse_inputs", 5),
    ):
        moving, stationary = getattr(rates, field)
        rows.append(
            Rate(
                quantity=f"TensorE input, {name}",
                value=(moving + stationary) * ROWS,
                unit="elements/cycle",
                formula=f"({moving} + {stationary}) * {ROWS}",
                source=sources[field],
                published=str(published * 128),
            )
        )
    narrow, wide = "BF16, FP16, FP8", "other dtypes"
    for name, field, published in (
        (f"VectorE, {narrow}", "vector_narrow", 512),
        (f"VectorE, {wide}", "vector_wide", 256),
        (f"ScalarE, {narrow}", "scalar_narrow", 256),
        (f"ScalarE, {wide}", "scalar_wide", 128),
        ("GpSimd", "gpsimd", 128),
    ):
        lanes = getattr(rates, field)
        rows.append(
            Rate(
                quantity=name,
                value=lanes * ROWS,
                unit="elements/cycle",
                formula=f"{lanes} * {ROWS}",
                source=sources[field],
                published=str(published),
            )
        )
    return rows
