"""Rates and cycles of instructions, and the latency model of RMSNorm-Quant, against published figures."""

import json
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner

from bitpath.golden.machines import MACHINES
from bitpath.golden.trainium3 import engine_cycles, flow_latency, latency_rows, latency_table, rates_table, tile_latency
from bitpath.golden.trainium3.declarations.rates import CORE_RATES, TARGETS, TRAINIUM2, TRAINIUM2_CORE_RATES, TRAINIUM3
from bitpath.golden.trainium3.vector.rates import OPERATIONS, gamma_latency, lane_width
from bitpath.sim.__main__ import cli

# Rates of the three machines against published figures, and the cycles of the engines' instructions.


VALUES = {each.quantity: each.value for each in rates_table()}
BF, F8, F32 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3, np.float32


@pytest.mark.parametrize(
    ("quantity", "tflops"),
    [("MXFP8, MXFP4", 315), ("BF16, FP16, TF32", 79), ("FP32", 20), ("sparse, 4 dense elements for each kept", 315)],
)
def test_tensor_engine_rounds_to_the_published_tflops(quantity, tflops):
    """ARCH3: 315 MXFP8/MXFP4, 79 BF16/FP16/TF32 and 20 FP32 TFLOPS."""
    assert round(VALUES[f"TensorE {quantity}"]) == tflops


def test_inputs_and_widths_of_the_published_table():
    """ARCH3: 8, 2 and 5 x 128 elements on TensorE; 512 and 256, 256 and 128, 128 elements on the others; 1.2 TFLOPS."""
    assert [VALUES[f"TensorE input, {name}"] for name in ("MX", "dense", "sparse")] == [8 * 128, 2 * 128, 5 * 128]
    narrow, wide = "BF16, FP16, FP8", "other dtypes"
    assert [VALUES[f"VectorE, {narrow}"], VALUES[f"VectorE, {wide}"]] == [512, 256]
    assert [VALUES[f"ScalarE, {narrow}"], VALUES[f"ScalarE, {wide}"], VALUES["GpSimd"]] == [256, 128, 128]
    assert [round(VALUES[f"{engine} FP32"], 1) for engine in ("VectorE", "ScalarE")] == [1.2, 1.2]


def test_rates_without_a_published_figure():
    assert VALUES["TensorE FP32, an operand of 0 and 1"] == 2 * VALUES["TensorE FP32"]
    assert VALUES["rand2"] == 614.4
    assert VALUES["DMA engine, bus"] == 38.4
    assert VALUES["DMA of a core, achieved"] == 528
    assert Fraction(CORE_RATES.numerics.hbm_gb_per_s * 1000, 8 * 1200) == 489 + Fraction(7, 12)
    assert round(VALUES["HBM bytes for a core"], 9) == round(489 + 7 / 12, 9)


@pytest.mark.parametrize("machine", MACHINES)
def test_computed_rates_are_near_the_published(machine):
    """Within one unit of the figure's last digit: some are cut, some rounded up, and 158 is twice a rounded 79."""
    rows = MACHINES[machine].rates()
    assert len({row.quantity for row in rows}) == len(rows)
    for row in rows:
        if row.published:
            digits = len(row.published.partition(".")[2])
            assert abs(row.value - float(row.published)) <= 10**-digits, row
        assert row.formula or row.source
        assert bool(row.published) <= (row.source is not None)


def test_fp8_of_tensix_is_bound_by_data():
    """Part 7: the vendor's fp8 figure is 16/18 of the peak; bfp8 and fp16 are the peak."""
    values = {row.quantity: row.value for row in MACHINES["tensix"].rates()}
    assert values["FP8 in LoFi, part of the peak"] == 16 / 18
    assert values["n150s, FP8 in LoFi"] == values["n150s, LoFi"] * 16 / 18


def test_the_command_prints_every_machine():
    printed = CliRunner().invoke(cli, ["rates"]).output
    assert all(f"\n{name}\n" in f"\n{printed}" for name in MACHINES)
    assert (
        "| TensorE MXFP8, MXFP4 | 314.5728 | TFLOPS | 128 * 128 * 4 * 2 * 2400 MHz | 315 | documented | ARCH3 |"
        in printed
    )
    records = json.loads(CliRunner().invoke(cli, ["rates", "aie_ml_v2", "--json"]).output)
    assert {each["machine"] for each in records} == {"aie_ml_v2"}
    assert [(each["quantity"], each["value"]) for each in records if each["quantity"] in ("mx6", "mx9")] == [
        ("mx6", 1024),
        ("mx9", 512),
    ]


SBUF, PSUM = "sbuf", "psum"


@pytest.mark.parametrize(
    ("call", "cycles"),
    [
        (("vector", "tensor_copy", 512, (BF, BF), (SBUF, SBUF)), 128),
        (("vector", "tensor_copy", 512, (BF, BF), (PSUM, SBUF)), 256),
        (("vector", "tensor_copy", 512, (BF, BF), (PSUM, PSUM)), 256),
        (("vector", "tensor_copy", 512, (BF, F32), (SBUF, SBUF)), 256),
        (("vector", "tensor_copy", 512, (np.int8, np.int8), (SBUF, SBUF)), 256),
        (("vector", "tensor_copy", 512, ("tf32", BF), (SBUF, SBUF)), 256),
        (("vector", "tensor_copy", 512, (F8, BF), (SBUF, SBUF)), 128),
        (("vector", "tensor_copy", 513, (F8, BF), (SBUF, SBUF)), 129),
        (("vector", "tensor_copy", 512, (BF, BF), (SBUF, SBUF), (4, 2)), 256),
        (("vector", "tensor_copy", 512, (BF, BF), (SBUF, SBUF), (2, 16)), 256),
        (("vector", "tensor_copy", 512, (BF, BF), (SBUF, SBUF), (2, -18)), 512),
        (("vector", "tensor_copy", 32, (BF, BF), (SBUF, SBUF)), 64),
        (("scalar", "tensor_copy", 512, (BF, BF), (SBUF, SBUF)), 256),
        (("scalar", "tensor_copy", 512, (BF, BF), (PSUM, SBUF)), 256),
        (("scalar", "tensor_copy", 512, (F32, F32), (SBUF, SBUF)), 512),
        (("scalar", "tensor_scalar", 512, (F32, F32), (SBUF, SBUF), (32, 4)), 512),
        (("scalar", "activate2", 512, (BF, BF), (SBUF, SBUF)), 512),
        (("gpsimd", "tensor_copy", 512, (BF, BF), (SBUF, SBUF)), 662),
        (("vector", "tensor_tensor", 512, (BF, BF, BF), (SBUF, SBUF, SBUF)), 512),
        (("vector", "scalar_tensor_tensor", 512, (BF, F32, BF), (SBUF, PSUM, SBUF)), 512),
        (("vector", "tensor_tensor", 511, (BF, BF, BF), (SBUF, SBUF, SBUF)), 512),
        (("vector", "quantize_mx", 512, (BF, F8), (SBUF, SBUF)), 128),
        (("vector", "exponential", 512, (BF, BF), (SBUF, SBUF)), 128),
        (("vector", "exponential", 512, (F32, F32), (PSUM, SBUF)), 128),
        (("vector", "reciprocal", 8, (F32, F32), (SBUF, SBUF)), 64),
        (("vector", "reciprocal", 9, (F32, F32), (SBUF, SBUF)), 72),
        (("vector", "rand2", 512, (F32,), (SBUF,)), 128),
        (("vector", "transpose", 512, (BF, BF), (SBUF, SBUF)), 512),
    ],
)
def test_cycles(call, cycles):
    assert engine_cycles(*call) == cycles


@pytest.mark.parametrize("dtype", [BF, F32])
def test_exponential_is_four_times_as_fast_as_the_activation(dtype):
    """ARCH3, Fast Exponential Evaluation."""
    call = 4096, (dtype, dtype), (SBUF, SBUF)
    assert engine_cycles("scalar", "activation", *call) == 4 * engine_cycles("vector", "exponential", *call) == 4096


@pytest.mark.parametrize(
    ("op", "narrow", "fast", "width"),
    [
        ("tensor_copy", True, True, 4),
        ("tensor_scalar", True, False, 2),
        ("tensor_scalar", False, True, 1),
        ("tensor_reduce", True, True, 1),
        ("tensor_tensor", True, True, 1),
    ],
)
def test_widths_of_trainium2(op, narrow, fast, width):
    """ARCH2, performance mode: tensor_copy and tensor_scalar alone; COST's element a cycle for the others."""
    assert lane_width(TRAINIUM2_CORE_RATES.numerics, "vector", op, narrow=narrow, fast=fast) == width


def test_options_of_cycles():
    call = ("vector", "tensor_reduce", 512, (BF, F32), (SBUF, SBUF))
    assert engine_cycles(*call, read_register=True) == engine_cycles(*call) + 64
    assert engine_cycles("vector", "tensor_copy", 512, (BF, BF), (SBUF, SBUF), indirect=True) == 512
    assert all(OPERATIONS.values())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"engine": "tensor"}, "engine must be 'vector', 'scalar' or 'gpsimd', not 'tensor'"),
        ({"op": "activate2"}, "op of vector must be 'tensor_copy',"),
        ({"n": 0}, "n must be 1 to 65536, not 0"),
        ({"dtypes": (BF,)}, "dtypes must have 2 entries for tensor_copy, not 1"),
        ({"places": (SBUF,)}, "places must have 2 entries for tensor_copy, not 1"),
        ({"places": (SBUF, "hbm")}, "place must be 'sbuf' or 'psum', not 'hbm'"),
        ({"inner_bytes": (2,)}, "inner_bytes must have 2 entries for tensor_copy, not 1"),
        ({"inner_bytes": (2, 1 << 17)}, "inner_bytes must be -131072 to 131071, not 131072"),
        ({"engine": "gpsimd", "places": (SBUF, PSUM)}, r"places must be 'sbuf' on gpsimd, .* not \('sbuf', 'psum'\)"),
        ({"dtypes": (BF, np.int64)}, "dtype must be float32, bfloat16,"),
        ({"indirect": 1}, "indirect must be True or False, not 1"),
    ],
)
def test_arguments_of_rates(change, sentence):
    good = {"engine": "vector", "op": "tensor_copy", "n": 4, "dtypes": (BF, BF), "places": (SBUF, SBUF)}
    with pytest.raises((ValueError, TypeError), match=f"^{sentence}"):
        engine_cycles(**good | change)


# The latency model of RMSNorm-Quant: its numbers by hand, beside the vendor's targets.


RATES = TRAINIUM2.numerics


@pytest.mark.parametrize(
    ("hidden_size", "engines", "total"),
    [(8192, (1.3, 8.69, 6.99, 34.27, 3.41), 51.24), (16384, (1.3, 17.38, 13.81, 68.40, 6.83), 100.89)],
)
def test_tile_by_engine(hidden_size, engines, total):
    """A start; 3 bytes an element at 362 GB/s; a cycle of 1.2 GHz; four of 0.96 GHz; one of 2.4 GHz; short ones of 64 cycles."""
    tile = tile_latency(RATES, hidden_size)
    assert (tile.start, tile.dma, tile.scalar, tile.vector, tile.tensor) == pytest.approx(engines, abs=0.005)
    assert tile.total == pytest.approx(total, abs=0.005)
    assert tile.dma == pytest.approx(3 * hidden_size * 128 / 362e9 * 1e6)
    assert tile.vector == pytest.approx((4 * hidden_size + 2 * 64) / 0.96e9 * 1e6)
    assert tile.scalar == pytest.approx((hidden_size + 3 * 64) / 1.2e9 * 1e6)
    assert tile.tensor == pytest.approx(hidden_size / 2.4e9 * 1e6)


def test_gamma_comes_in_small_descriptors():
    """8192 BF16 values are 4096 descriptors of 4 bytes, 256 for each of 16 DMA engines."""
    assert gamma_latency(RATES, 8192) == pytest.approx(256 * 0.108)
    assert gamma_latency(RATES, 1) == pytest.approx(0.108)


def test_within_five_percent_of_the_targets():
    rows = latency_rows()
    assert [row.target for row in rows] == list(TARGETS)
    assert [(each.tokens, each.hidden_size) for each in TARGETS] == [
        (t, h) for h in (8192, 16384) for t in (2048, 32768)
    ]
    assert [row.tiles for row in rows] == [8, 128, 8, 128]
    assert all(abs(row.ratio - 1) < 0.05 for row in rows)
    assert [row.ratio for row in rows] == pytest.approx([0.958, 1.048, 0.996, 0.982], abs=0.001)
    assert [row.microseconds for row in rows] == pytest.approx([438.9, 6588.1, 863.7, 12971.0], abs=0.1)


def test_trainium3_is_faster_everywhere_but_in_the_activation():
    new, old = (tile_latency(preset.numerics, 8192) for preset in (TRAINIUM3, TRAINIUM2))
    assert new.scalar == old.scalar
    assert new.tensor == old.tensor
    assert (old.dma / new.dma, old.vector / new.vector) == pytest.approx((1.62, 3.31), abs=0.01)
    assert new.total == pytest.approx(1.3 + 5.35 + 6.99 + 10.35, abs=0.01)


def test_rest_of_the_rows():
    """A core's last tile moves fewer bytes; its instructions are as long."""
    whole, part = tile_latency(RATES, 512), tile_latency(RATES, 512, 32)
    assert (part.dma, part.scalar, part.vector) == pytest.approx((whole.dma / 4, whole.scalar, whole.vector))
    ends = gamma_latency(RATES, 512) + RATES.dma_start_us
    assert flow_latency(RATES, 2 * (128 + 32), 512) == pytest.approx(ends + whole.total + part.total)
    assert flow_latency(RATES, 2 * (128 + 32) - 1, 512) == flow_latency(RATES, 2 * (128 + 32), 512)
    assert flow_latency(RATES, 256, 512) == pytest.approx(ends + whole.total)


def test_table():
    lines = latency_table().splitlines()
    assert len(lines) == 2 + len(TARGETS)
    assert len({line.count("|") for line in lines}) == 1
    engines = "27.65 us | 1.30 us | 8.69 us | 6.99 us | 34.27 us | 3.41 us"
    assert f"| 2K | 8192 | 8 | {engines} | 51.24 us | 439 us | 458 us | 0.958 |" in lines[2]


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: tile_latency("t", 8192), TypeError, r"rates must be a FlowRates, not 't'"),
        (lambda: tile_latency(RATES, 16385), ValueError, "hidden_size must be 1 to 16384, not 16385"),
        (lambda: tile_latency(RATES, 8192.0), TypeError, "hidden_size must be an integer, not 8192.0"),
        (lambda: tile_latency(RATES, 8192, 0), ValueError, "rows must be 1 to 128, not 0"),
        (lambda: flow_latency(RATES, 65537, 8192), ValueError, "tokens must be 1 to 65536, not 65537"),
        (lambda: flow_latency(RATES, 1, 8192), ValueError, "tokens must be at least 2, one for each core, not 1"),
    ],
)
def test_arguments_of_latency(call, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        call()
