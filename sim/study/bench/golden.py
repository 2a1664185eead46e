"""Timed operations of golden in both tiers, beside numpy's matmul and casts of ml_dtypes.

Names of items are unique; the tier follows the operation: the number of cores of the vectorised tier, or "scalar".
"""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from bitpath.golden import aie_ml_v2, tensix, trainium3
from bitpath.golden.aie_ml_v2 import exact as aie_ml_v2_exact
from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.arrays.codec import codes_of, format_of
from bitpath.golden.arrays.parallel import threads
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
TARGETS = {
    "nc_matmul_mx e4m3": 0.15,
    "mvmul bf16": 0.05,
    "matmul mx9": 0.15,
    "matmul bf16": 0.06,
    "quantize_mx e4m3": 0.15,
    "quantize_mx e5m2": 0.15,
    "to_mx mx9": 0.15,
    "pack bfp8": 0.15,
    "unpack bfp8": 0.15,
    "rmsnorm_quant": 2.0,
}
"""Ratios that operations are to reach on all cores: to the yardstick's rate at least, to its time at most."""
CORES = threads()
ELEMENTS = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "fp4": ml_dtypes.float4_e2m1fn}


def items(quick: bool) -> list[Item]:
    """Return all items; with small sizes if ``quick``."""
    rng = np.random.default_rng(0)
    return [*_yardsticks(rng, quick), *_trainium3(rng, quick), *_tensix(rng, quick), *_aie_ml_v2(rng, quick)]


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)


def _timed(config: dict[str, Any], call: Callable[[], Any]) -> dict[str, Any]:
    return {"config": config, "count": prod(config["shape"]), "call": call}


def _tiers(
    machine: str,
    name: str,
    call: Callable[[int], Callable[[], Any]],
    size: int,
    config: Callable[[int], dict[str, Any]],
    scalar: tuple[int, Any] | None,
    yardstick: str,
) -> list[Item]:
    """Return the items of one operation: the vectorised tier on all cores and on one, and the exact tier.

    Parameters
    ----------
    call, config : take the size; the numbers of the configuration's shape multiply to the count.
    scalar : the count of the exact tier, and its call.
    """
    common: dict[str, Any] = {
        "machine": machine,
        "unit": RATE if yardstick == PRODUCT else EACH,
        "yardstick": yardstick,
    }
    own = _timed(config(size), call(size))
    result = [
        Item(name=f"{name}, {cores}", cores=used, target=TARGETS.get(name) if used == CORES else None, **own, **common)
        for used, cores in {1: "one core", CORES: f"{CORES} cores"}.items()
    ]
    if scalar is not None:
        count, one = scalar
        result.append(Item(name=f"{name}, scalar", config={"of": "one result"}, count=count, call=one, **common))
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
            scalar = 64, partial(trace_dot_product, TRAINIUM3_QUAD_MX.numerics, *sides)

        def call(
            rows: int,
            x: np.ndarray = x,
            y: np.ndarray = y,
            x_scale: np.ndarray = x_scale,
            y_scale: np.ndarray = y_scale,
        ) -> Callable[[], Any]:
            scales = x_scale[: rows // 8], y_scale[: rows // 8]
            return partial(trainium3.nc_matmul_mx, x[:rows], y[:rows], *scales)

        found += _tiers(
            "trainium3",
            f"nc_matmul_mx {name}",
            call,
            32 if quick else 128,
            lambda rows: {"shape": [128, 4 * rows, 512]},
            scalar,
            PRODUCT,
        )
    tile = _normal(rng, 128, 8192).astype(ml_dtypes.bfloat16)
    block = codes_of(tile)[:8, :4].ravel().tolist()
    size = 512 if quick else 8192

    def shape(columns: int) -> dict[str, Any]:
        return {"shape": [128, columns], "format": "bfloat16"}

    def quantized(dtype: np.dtype) -> Callable[[int], Callable[[], Any]]:
        return lambda columns: partial(trainium3.quantize_mx, tile[:, :columns], dtype)

    for name in ("e4m3", "e5m2"):
        dtype = np.dtype(ELEMENTS[name])
        found += _tiers(
            "trainium3",
            f"quantize_mx {name}",
            quantized(dtype),
            size,
            shape,
            (32, partial(quantize_block, block, BF16, format_of(dtype), ScaleRule.OCP)),
            CAST,
        )
    gamma = _normal(rng, 8192).astype(ml_dtypes.bfloat16)

    def rows(columns: int) -> Callable[[], Any]:
        return partial(trainium3.rmsnorm_quant, tile[:, :columns], gamma[:columns])

    return found + _tiers("trainium3", "rmsnorm_quant", rows, size, shape, None, CAST)


def _tensix(rng: np.random.Generator, quick: bool) -> list[Item]:
    def words(*shape: int) -> np.ndarray:
        exponent = rng.integers(117, 128, shape)
        return (rng.integers(0, 2, shape) << 18 | exponent << 10 | rng.integers(0, 128, shape) << 3).astype(np.uint32)

    most = 256 if quick else 4096
    b, a, dst = words(most, 8, 16), words(most, 16, 16), np.zeros((most, 8, 16), np.uint32)
    options: dict[str, Any] = {"style": Style.BF16, "dst32": True, "phase": 0}
    formats: dict[str, Any] = {"srca_format": Format.BF16, "srcb_format": Format.BF16}
    src_b, src_a = b[0, 0].tolist(), a[0, :, 0].tolist()
    found = _tiers(
        "tensix",
        "mvmul bf16",
        lambda blocks: partial(tensix.mvmul, dst[:blocks], b[:blocks], a[:blocks], **options),
        most,
        lambda blocks: {"shape": [blocks, 8, 16, 16], "style": "bf16", "phases": 1, "dst32": True},
        (16, partial(trace_dot16, WORMHOLE.numerics, 0, src_b, src_a, **options, **formats)),
        PRODUCT,
    )
    size = 1 << 12 if quick else 1 << 20
    values = _normal(rng, size).view(np.uint32)
    packed = tensix.pack(values, Format.BFP8, Format.BFP8, dst32=True)

    def shape(count: int) -> dict[str, Any]:
        return {"shape": [count], "format": "bfp8"}

    def pack(count: int) -> Callable[[], Any]:
        return partial(tensix.pack, values, Format.BFP8, Format.BFP8, dst32=True)

    def unpack(count: int) -> Callable[[], Any]:
        return partial(tensix.unpack, packed, Format.BFP8, Format.BF16, count=count)

    found += _tiers("tensix", "pack bfp8", pack, size, shape, None, CAST)
    return found + _tiers("tensix", "unpack bfp8", unpack, size, shape, None, CAST)


def _aie_ml_v2(rng: np.random.Generator, quick: bool) -> list[Item]:
    numerics = AIE_ML_V2.numerics
    size = 64 if quick else 512
    a, b = _normal(rng, size, size), _normal(rng, size, size)
    row, column = (each[:16].view(np.uint32).tolist() for each in (a[0], np.ascontiguousarray(b[:, 0])))
    left, right = (
        aie_ml_v2_exact.to_mx(numerics, each, MX_FORMATS["mx9"], RoundingCode.CONV_EVEN) for each in (row, column)
    )
    x, y = ([(each >> 16, BF16) for each in side[:8]] for side in (row, column))
    scalars = {
        "mx9": (16, partial(aie_ml_v2_exact.trace_mx_lane, numerics, left, right, 0)),
        "bf16": (8, partial(aie_ml_v2_exact.trace_float_lane, numerics, x, y, 0)),
    }

    def product(fmt: str) -> Callable[[int], Callable[[], Any]]:
        return lambda rows: partial(aie_ml_v2.matmul, a[:rows], b, fmt=fmt)

    def shape(fmt: str) -> Callable[[int], dict[str, Any]]:
        return lambda rows: {"shape": [rows, size, size], "format": fmt, "with": "conversion"}

    found = []
    for fmt, scalar in scalars.items():
        found += _tiers(
            "aie_ml_v2",
            f"matmul {fmt}",
            product(fmt),
            size,
            shape(fmt),
            scalar,
            PRODUCT,
        )
    large = a if quick else _normal(rng, 4 * size, size)
    return found + _tiers(
        "aie_ml_v2",
        "to_mx mx9",
        lambda rows: partial(aie_ml_v2.to_mx, large[:rows], "mx9"),
        len(large),
        lambda rows: {"shape": [rows, size], "format": "float32"},
        (16, partial(aie_ml_v2_exact.to_mx, numerics, row, MX_FORMATS["mx9"], RoundingCode.CONV_EVEN)),
        CAST,
    )
