"""Speed of golden: its operations timed in turn, beside numpy's matmul and casts of ml_dtypes."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any
from unittest.mock import patch

import ml_dtypes
import numpy as np
from rich.console import Console
from rich.table import Table

from bitpath.golden import aie_ml_v2, tensix, trainium3
from bitpath.golden.aie_ml_v2 import exact as aie_ml_v2_exact
from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.arrays.codec import codes_of, format_of
from bitpath.golden.arrays.parallel import THREADS, Progress, threads
from bitpath.golden.formats.catalogue import BF16
from bitpath.golden.machines import MACHINES
from bitpath.golden.scalar.dot import trace_dot_product
from bitpath.golden.tensix.declarations.formats import Format, Style
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.golden.tensix.exact import trace_dot16
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, ScaleRule
from bitpath.golden.trainium3.exact import quantize_block
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.flows.builds import shown_progress
from bitpath.verif.kit.exchange import write_share

# Timing of items in turn, round after round; the best time of each counts.


RATE, EACH = "M MAC/s", "ns/element"
"""Units: million multiply-accumulates a second, and time for an element."""

FIELDS = ("name", "machine", "value", "unit", "ratio", "ratio_to", "target", "cores", "config")
"""Fields of a record of bench.json."""
Ratio = tuple[float, str] | tuple[None, None]


@dataclass(frozen=True, kw_only=True)
class Item:
    """An operation to time, with its size and yardstick.

    Attributes
    ----------
    name, machine : operation as bench.json names it, and its machine.
    config : shape, formats and other properties, as plain JSON values.
    unit : unit of the value, `RATE` or `EACH`.
    count : number of multiply-accumulates or elements.
    yardstick : name of the item for comparison.
    cores : maximum number of cores.
    target : ratio to reach: at least that of a rate, at most that of a time.
    """

    name: str
    machine: str
    config: Mapping[str, Any]
    unit: str
    count: int
    call: Callable[[], Any]
    yardstick: str
    cores: int = 1
    target: float | None = None

    def value(self, seconds: float) -> float:
        """Return the time as a value in the item's unit."""
        return self.count / seconds / 1e6 if self.unit == RATE else seconds * 1e9 / self.count


def best_times(items: Sequence[Item], rounds: int, progress: Progress | None = None) -> list[float]:
    """Return the best time of every item, in seconds: one warm-up round, then all items in turn in every round.

    ``progress`` is called with the number of calls done and of all calls.
    """
    best = [float("inf")] * len(items)
    for turn in range(rounds + 1):
        for i, item in enumerate(items):
            with patch.dict(os.environ, {THREADS: str(item.cores)}):
                start = time.perf_counter()
                item.call()
                seconds = time.perf_counter() - start
            if turn:
                best[i] = min(best[i], seconds)
            if progress is not None:
                progress(turn * len(items) + i + 1, (rounds + 1) * len(items))
    return best


def record(
    name: str,
    machine: str,
    value: float,
    unit: str,
    config: Mapping[str, Any],
    *,
    to: Ratio = (None, None),
    target: float | None = None,
    cores: int = 1,
) -> dict[str, Any]:
    """Return a record of bench.json; ``to`` is a ratio and its reference, and ``target`` the ratio to reach."""
    return dict(zip(FIELDS, (name, machine, value, unit, *to, target, cores, config), strict=True))


def records(items: Sequence[Item], times: Sequence[float]) -> list[dict[str, Any]]:
    """Return the records of bench.json: values, each with its ratio to its yardstick's value of the same unit.

    A larger ratio is better for rates, a smaller one for times.
    """
    values = {item.name: item.value(seconds) for item, seconds in zip(items, times, strict=True)}
    ratios = {item.name: (values[item.name] / values[item.yardstick], item.yardstick) for item in items}
    return [
        record(
            item.name,
            item.machine,
            values[item.name],
            item.unit,
            item.config,
            to=ratios[item.name],
            target=item.target,
            cores=item.cores,
        )
        for item in items
    ]


# Timed operations of golden in both tiers, beside numpy's matmul and casts of ml_dtypes.
#
# Names of items are unique; the tier follows the operation: the number of cores of the vectorised tier, or "scalar".


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
        return lambda rows: partial(aie_ml_v2.matmul, a[:rows], b, format=fmt)

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


# Table of the records in bench.json.


def show(console: Console, title: str, records: Sequence[dict[str, Any]]) -> None:
    """Print the records as a table."""
    table = Table("machine", "what", title=title)
    for column in ("value", "unit", "ratio", "target", "to", "cores", "of"):
        table.add_column(column, justify="right" if column in ("value", "ratio", "target", "cores") else "left")
    for record in records:
        ratio = "" if record["ratio"] is None else f"{record['ratio']:.3g}"
        value = f"{record['value']:,.0f}" if record["value"] >= 1000 else f"{record['value']:.3g}"
        target = "" if record["target"] is None else f"{record['target']:.3g}"
        cells = record["machine"], record["name"], value, record["unit"], ratio, target, record["ratio_to"] or ""
        table.add_row(*cells, str(record["cores"]), _in_words(record["config"]))
    console.print(table)


def _in_words(config: Mapping[str, Any]) -> str:
    """Return the sizes and names of a configuration; nested parts are in bench.json only."""
    found = []
    for name, value in config.items():
        if name == "shape":
            found.append("x".join(map(str, value)))
        elif isinstance(value, str) and name != "digest":
            found.append(value)
    return ", ".join(found)


# Whole golden matmuls in processes of their own: time, peak memory, and growth with each of M, K and N.


# Time and peak memory of a whole golden matmul in a separate process.
#
# The process is ``python -m bitpath.sim.study.bench MACHINE SIZE SHARE RESULT``, with a file for the completed share of the
# work, and one for the result.


LARGE_FORMATS = {"trainium3": "mxfp8_e4m3", "tensix": "bf16_lofi", "aie_ml_v2": "mx9"}
"""Format in which each machine multiplies."""
SECONDS = 3600
"""Time limit of one product."""
MOST_MEMORY = 1.5
"""Memory to stay below, as a multiple of operands and result."""


def measured(console: Console, machine: str, size: int) -> list[dict[str, Any]]:
    """Multiply [4 * size, size] @ [size, size] on a machine's golden model; return bench.json's records of time and memory.

    Raises SimulationError if the process failed, or took more than an hour.
    """
    format_name = LARGE_FORMATS[machine]
    m, k, n = shape = _shape(size)
    config = {"shape": shape, "format": format_name, "with": "conversion"}
    with tempfile.TemporaryDirectory() as folder:
        share, result = Path(folder) / "share.json", Path(folder) / "result.json"
        command = [sys.executable, "-m", __name__, machine, str(size), str(share), str(result)]
        with shown_progress(console, f"{machine} {format_name}, {m}x{k}x{n}", share):
            try:
                subprocess.run(command, check=True, timeout=SECONDS)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                raise SimulationError(f"the matmul of {m}x{k}x{n} on {machine} failed: {error}") from None
        seconds, peak = json.loads(result.read_text())
    name, cores = f"{machine} {m}x{k}x{n}", threads()
    to_operands = peak / (4 * (m * k + k * n + m * n)), "operands and result in float32"
    return [
        record(f"{name}, rate", machine, m * k * n / seconds / 1e6, RATE, config, cores=cores),
        record(
            f"{name}, memory", machine, peak / (1 << 20), "MiB", config, to=to_operands, target=MOST_MEMORY, cores=cores
        ),
    ]


def _shape(size: int) -> tuple[int, int, int]:

    return 4 * size, size, size


def main(machine: str, size: int, share: Path, result: Path) -> None:
    """Multiply; write seconds and the peak of resident memory in bytes."""
    import numpy as np

    rng = np.random.default_rng(0)
    m, k, n = _shape(size)
    a, b = (rng.standard_normal(each, dtype=np.float32) for each in ((m, k), (k, n)))
    own = MACHINES[machine]

    def show(done: int, total: int) -> None:
        write_share(share, done / total)

    start = time.perf_counter()
    own.matmul(a, b, **own.formats[LARGE_FORMATS[machine]], progress=show)
    seconds = time.perf_counter() - start
    # Linux reports peak memory in KiB.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    result.write_text(json.dumps([seconds, peak]))


# Growth of a golden matmul's time with each of M, K and N: the same time for each multiply-accumulate means linear.


FACTORS = (1, 2, 4, 8, 16)
DIMENSIONS = ("M", "K", "N")
ROUNDS = 3
MOST_GROWTH = 1.1
"""Time for a multiply-accumulate to stay below at the largest size, as a multiple of that at the smallest."""


def growth_records(
    machine: str, base: int, told: Callable[[str], None] = lambda text: None
) -> Iterator[dict[str, Any]]:
    """Yield a record for each of M, K and N, which grows from ``base`` to 16 times it while the others stay.

    The value is the factor of the time; the ratio is to the factor of the work. The configuration has all seconds.
    """
    for place, dimension in enumerate(DIMENSIONS):
        shapes = [[base * factor if each == place else base for each in range(3)] for factor in FACTORS]
        seconds = []
        for shape in shapes:
            told(f"{machine} {'x'.join(map(str, shape))}")
            seconds.append(_seconds(machine, *shape))
        factor = seconds[-1] / seconds[0]
        config = {"shape": shapes[-1], "format": LARGE_FORMATS[machine], "sizes": [each[place] for each in shapes]}
        yield record(
            f"{machine} {FACTORS[-1]} times {dimension}",
            machine,
            factor,
            "times",
            config | {"seconds": seconds},
            to=(factor / FACTORS[-1], "work"),
            target=MOST_GROWTH,
            cores=threads(),
        )


def _seconds(machine: str, m: int, k: int, n: int) -> float:
    """Return the best time of a product."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(each, dtype=np.float32) for each in ((m, k), (k, n)))
    own = MACHINES[machine]
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        own.matmul(a, b, **own.formats[LARGE_FORMATS[machine]])
        best = min(best, time.perf_counter() - start)
    return best


def draw_growth(records: Sequence[dict[str, Any]], png: Path) -> None:
    """Draw the seconds of every machine over M, K and N, beside a dotted line of time in proportion."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), layout="constrained")
    for axis, dimension in zip(figure.subplots(1, 3, sharey=True), DIMENSIONS, strict=True):
        for each in (each for each in records if each["name"].endswith(f" {dimension}")):
            sizes, seconds = each["config"]["sizes"], each["config"]["seconds"]
            (line,) = axis.loglog(sizes, seconds, "o-", base=2, label=f"{each['machine']} {each['config']['format']}")
            axis.loglog(sizes, [seconds[0] * size / sizes[0] for size in sizes], ":", base=2, color=line.get_color())
        others = " = ".join(each for each in DIMENSIONS if each != dimension)
        axis.set(xlabel=dimension, title=f"{others} = {sizes[0]}")
    figure.axes[0].set_ylabel("s")
    figure.axes[0].legend()
    png.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(png, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
