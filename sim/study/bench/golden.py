"""Timed operations of golden in every tier, beside numpy's matmul and casts of ml_dtypes.

Names of items are unique; the tier follows the operation: "fast" uses compiled kernels, "numpy" is the vectorised tier without
them, and "scalar" is the exact tier.
"""

import ml_dtypes
import numpy as np

from bitpath.golden import aie_ml_v2, tensix, trainium3
from bitpath.golden.aie_ml_v2 import exact as aie_ml_v2_exact
from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.arrays import backend
from bitpath.golden.arrays.codec import codes_of, format_of
from bitpath.golden.formats.catalogue import BF16
from bitpath.golden.tensix.declarations.formats import Format, Style
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.golden.tensix.exact import trace_dot16
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, ScaleRule
from bitpath.golden.trainium3.exact import quantize_block
from bitpath.golden.trainium3.exact.dot import trace_dot_product
from bitpath.sim.study.bench.measure import EACH, RATE, Item

PRODUCT, CAST = "numpy float32 @", "ml_dtypes float32 to float8_e4m3fn"
"""Names of the yardsticks of products and of casts."""
CORES = backend.threads()
ELEMENTS = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "fp4": ml_dtypes.float4_e2m1fn}


def items(quick: bool) -> list[Item]:
    """Return all items; with small sizes if ``quick``."""
    rng = np.random.default_rng(0)
    return [*_yardsticks(rng, quick), *_trainium3(rng, quick), *_tensix(rng, quick), *_aie_ml_v2(rng, quick)]


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)


def _tiers(name: str, call, *, sizes: tuple[int, int], scalar, scalar_count: int, **fields) -> list[Item]:
    """Return the items of one operation: compiled on one core and on all, if numba is installed, in numpy, and on scalars.

    `call` takes a size; `sizes` are those of the compiled tier and of numpy. ``fields["count"]`` maps a size to the count.
    """
    count = fields.pop("count")
    config = fields.pop("config")
    fast, plain = sizes
    result = [
        Item(
            name=f"{name}, fast" + (f", {used} cores" if used > 1 else ", one core"),
            config=config(fast),
            count=count(fast),
            call=call(fast),
            backend=backend.NUMBA,
            cores=used,
            **fields,
        )
        for used in dict.fromkeys((CORES, 1))
        if backend.backend() == backend.NUMBA
    ]
    result.append(Item(name=f"{name}, numpy", config=config(plain), count=count(plain), call=call(plain), **fields))
    if scalar is not None:
        result.append(
            Item(name=f"{name}, scalar", config={"of": "one result"}, count=scalar_count, call=scalar, **fields)
        )
    return result


def _yardsticks(rng: np.random.Generator, quick: bool) -> list[Item]:
    size = 128 if quick else 1024
    a, b = _normal(rng, size, size), _normal(rng, size, size)
    return [
        Item(
            name=PRODUCT,
            machine="numpy",
            config={"shape": [size] * 3},
            unit=RATE,
            count=size**3,
            call=lambda: a @ b,
            yardstick=PRODUCT,
            cores=CORES,
        ),
        Item(
            name=CAST,
            machine="ml_dtypes",
            config={"shape": [size, size]},
            unit=EACH,
            count=a.size,
            call=lambda: a.astype(ml_dtypes.float8_e4m3fn),
            yardstick=CAST,
        ),
    ]


def _trainium3(rng: np.random.Generator, quick: bool) -> list[Item]:
    found = []
    for name, element in ELEMENTS.items():
        dtype = np.dtype(element)
        x, y = (_normal(rng, 128, 4 * free).astype(ml_dtypes.bfloat16) for free in (128, 512))
        (x, x_scale), (y, y_scale) = (trainium3.quantize_offline(each, dtype) for each in (x, y))
        x, y = x.reshape(128, 128, 4), y.reshape(128, 512, 4)
        fmt = format_of(dtype)
        scalar = None
        if name != "fp4":
            sides = [codes_of(x)[:16, 0].tolist(), fmt, codes_of(y)[:16, 0].tolist(), fmt]
            sides += [x_scale[:2, 0].repeat(8).tolist(), y_scale[:2, 0].repeat(8).tolist()]
            scalar = lambda sides=sides: trace_dot_product(TRAINIUM3_QUAD_MX.numerics, *sides)  # noqa: E731

        def call(rows, x=x, y=y, x_scale=x_scale, y_scale=y_scale):
            return lambda: trainium3.nc_matmul_mx(x[:rows], y[:rows], x_scale[: rows // 8], y_scale[: rows // 8])

        found += _tiers(
            f"nc_matmul_mx {name}",
            call,
            sizes=(32, 32) if quick else (128, 32),
            scalar=scalar,
            scalar_count=64,
            machine="trainium3",
            config=lambda rows: {"shape": [128, 4 * rows, 512]},
            count=lambda rows: 128 * 4 * rows * 512,
            unit=RATE,
            yardstick=PRODUCT,
        )
    tile = _normal(rng, 128, 8192).astype(ml_dtypes.bfloat16)
    block = codes_of(tile)[:8, :4].ravel().tolist()
    for name in ("e4m3", "e5m2"):
        dtype = np.dtype(ELEMENTS[name])
        found += _tiers(
            f"quantize_mx {name}",
            lambda columns, dtype=dtype: lambda: trainium3.quantize_mx(tile[:, :columns], dtype),
            sizes=(512, 512) if quick else (8192, 1024),
            scalar=lambda dtype=dtype: quantize_block(block, BF16, format_of(dtype), ScaleRule.OCP),
            scalar_count=32,
            machine="trainium3",
            config=lambda columns: {"shape": [128, columns], "format": "bfloat16"},
            count=lambda columns: 128 * columns,
            unit=EACH,
            yardstick=CAST,
        )
    gamma = _normal(rng, 8192).astype(ml_dtypes.bfloat16)
    found += _tiers(
        "rmsnorm_quant",
        lambda columns: lambda: trainium3.rmsnorm_quant(tile[:, :columns], gamma[:columns]),
        sizes=(512, 512) if quick else (8192, 1024),
        scalar=None,
        scalar_count=0,
        machine="trainium3",
        config=lambda columns: {"shape": [128, columns], "format": "bfloat16"},
        count=lambda columns: 128 * columns,
        unit=EACH,
        yardstick=CAST,
    )
    return found


def _tensix(rng: np.random.Generator, quick: bool) -> list[Item]:
    def words(*shape: int) -> np.ndarray:
        exponent = rng.integers(117, 128, shape)
        return (rng.integers(0, 2, shape) << 18 | exponent << 10 | rng.integers(0, 128, shape) << 3).astype(np.uint32)

    most = 256 if quick else 4096
    b, a, dst = words(most, 8, 16), words(most, 16, 16), np.zeros((most, 8, 16), np.uint32)
    options = {"style": Style.BF16, "dst32": True, "phase": 0}
    formats = {"srca_format": Format.BF16, "srcb_format": Format.BF16}
    sides = b[0, 0].tolist(), a[0, :, 0].tolist()
    return _tiers(
        "mvmul bf16",
        lambda blocks: lambda: tensix.mvmul(dst[:blocks], b[:blocks], a[:blocks], **options),
        sizes=(most, 256),
        scalar=lambda: trace_dot16(WORMHOLE.numerics, 0, *sides, **options, **formats),
        scalar_count=16,
        machine="tensix",
        config=lambda blocks: {"shape": [blocks, 8, 16, 16], "style": "bf16", "phases": 1, "dst32": True},
        count=lambda blocks: blocks * 8 * 16 * 16,
        unit=RATE,
        yardstick=PRODUCT,
    )


def _aie_ml_v2(rng: np.random.Generator, quick: bool) -> list[Item]:
    numerics = AIE_ML_V2.numerics
    size = 64 if quick else 512
    a, b = _normal(rng, size, size), _normal(rng, size, size)
    row, column = (each[:16].view(np.uint32).tolist() for each in (a[0], np.ascontiguousarray(b[:, 0])))
    blocks = [
        aie_ml_v2_exact.to_mx(numerics, each, MX_FORMATS["mx9"], RoundingCode.CONV_EVEN) for each in (row, column)
    ]
    lanes = [[(each >> 16, BF16) for each in side[:8]] for side in (row, column)]
    scalars = {
        "mx9": (lambda: aie_ml_v2_exact.trace_mx_lane(numerics, *blocks, 0), 16),
        "bf16": (lambda: aie_ml_v2_exact.trace_float_lane(numerics, *lanes, 0), 8),
    }
    found = []
    for fmt, (scalar, count) in scalars.items():
        found += _tiers(
            f"matmul {fmt}",
            lambda rows, fmt=fmt: lambda: aie_ml_v2.matmul(a[:rows], b, fmt=fmt),
            sizes=(size, 32),
            scalar=scalar,
            scalar_count=count,
            machine="aie_ml_v2",
            config=lambda rows, fmt=fmt: {"shape": [rows, size, size], "format": fmt, "with": "conversion"},
            count=lambda rows: rows * size * size,
            unit=RATE,
            yardstick=PRODUCT,
        )
    large = a if quick else _normal(rng, 4 * size, size)
    found += _tiers(
        "to_mx mx9",
        lambda rows: lambda: aie_ml_v2.to_mx(large[:rows], "mx9"),
        sizes=(len(large), 64),
        scalar=lambda: aie_ml_v2_exact.to_mx(numerics, row, MX_FORMATS["mx9"], RoundingCode.CONV_EVEN),
        scalar_count=16,
        machine="aie_ml_v2",
        config=lambda rows: {"shape": [rows, size], "format": "float32"},
        count=lambda rows: rows * size,
        unit=EACH,
        yardstick=CAST,
    )
    return found
