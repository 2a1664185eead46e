"""Rates of a NeuronCore-v4, computed from `CORE_RATES`."""

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.formats.rates import Rate
from bitpath.golden.formats.sources import documented
from bitpath.golden.trainium3.declarations.core_rates import COLUMNS, CORE_RATES, ROWS

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
    """Return the declared numbers, then what follows from them, each beside the vendor's figure."""
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
            value=bus * hertz / 10**9,
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
