"""``bitpath run`` of instructions on units, one after the other: the core's layer, and softmax."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.trainium3.declarations import dtypes
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.tensor.modes import MODES
from bitpath.sim.flows import builds, operands, trainium3_core, trainium3_softmax
from bitpath.verif.trainium3.core import stages


def report():
    return json.loads(Path("build/reports/run.json").read_text())


def passed(bitpath, line):
    """Run a line that must pass; return its output and its records."""
    status, out, _ = bitpath("run", *line.split())
    assert status == 0
    return out, report()


@pytest.mark.simulator
def test_softmax(bitpath):
    """Rows whose last beats are partly filled, on four units."""
    out, records = passed(bitpath, "softmax --sim icarus --slice 3x10 -o out.npz --format bf16")
    assert "tensor_scalar" in out
    (record,) = records
    assert (record["outputs_compared"], record["mismatches"]) == (30, 0)
    assert [row["instruction"] for row in record["stages"]] == [
        "tensor_reduce",
        "exponential",
        "reciprocal",
        "tensor_scalar",
    ]
    assert record["staged_compared"] == 3 + 33 + 3
    assert set(record["digests"]) == {"activation2_lane", "exponential", "reciprocal", "engine_lane"}
    (scores,) = trainium3_softmax.operands("3x10")
    with np.load("out.npz") as saved:
        assert saved["result"].tobytes() == trainium3.softmax(scores, dtype=scores.dtype).astype(np.float32).tobytes()


def product_of(format_name):
    """Return what golden makes of the slice below."""
    a, b = operands.cut(*operands.layer(), "2x40x3")
    return trainium3.run_mode_program(trainium3.mode_program(a, b, format_name))[:2, :3]


@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize("format_name", MODES)
def test_a_mode_of_tensor_engine(bitpath, format_name):
    """Columns and K that are padded, several passes over the array's rows, and PSUM behind it."""
    line = f"--machine trainium3 --sim icarus --slice 2x40x3 --format {format_name} -o out.npz"
    _, (record,) = passed(bitpath, line)
    assert (record["outputs_compared"], record["mismatches"], record["macs"]) == (6, 0, 2 * 40 * 3)
    assert [row["unit"] for row in record["stages"]] == ["core_array", "psum"]
    with np.load("out.npz") as saved:
        assert saved["result"].tobytes() == product_of(format_name).tobytes()


@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize("format_name", ["bf16", "fp8_double_row", "fp32", "sparse_4_16"])
def test_the_whole_layer_in_a_mode(bitpath, format_name):
    _, (record,) = passed(bitpath, f"--machine trainium3 --format {format_name}")
    assert (record["outputs_compared"], record["mismatches"]) == (128 * 512, 0)


@pytest.mark.deep
@pytest.mark.simulator
def test_the_whole_core(bitpath):
    """Each instruction of the layer on its unit, all DMA traffic, and each grant in golden's cycle."""
    _, records = passed(bitpath, "core")
    assert [record["format"] for record in records] == list(trainium3_core.FORMATS)
    for record in records:
        assert (record["outputs_compared"], record["mismatches"]) == (128 * 512, 0)
        assert {row["instruction"] for row in record["stages"]} > {"spread gamma", "multiply", "DMA"}
    _, (free,) = passed(bitpath, "core --format mxfp8_e4m3 --shaping off --qos off")
    assert free["mismatches"] == 0
    assert free["classes"][3]["gb_per_s"] > records[0]["classes"][3]["gb_per_s"]


def with_golden_in_place_of_rtl(monkeypatch, wrong=None, dma=lambda images, grants: None):
    """Replace the units of the core by golden's operations; the transpose of that number has a wrong bit, `dma` changes what the
    DMA engines give."""
    count = iter(range(100))

    def transpose(play, data):
        turned = trainium3.nc_transpose(data).copy()
        if next(count) == wrong:
            turned.view(np.uint16)[0, 0] ^= 1
        return turned

    def operate(play, x, operator, y, result):
        kind = trainium3.tensor_scalar if y.shape[1] == 1 else trainium3.tensor_tensor
        order = (x, operator, y) if y.shape[1] == 1 else (x, y, operator)
        return kind(*order, dtype=DTYPES[dtypes.FORMATS[result]])

    def quantise(play, tile, dtype, rule):
        data, scales = trainium3.quantize_mx(tile, dtype, scale_rule=rule)
        return trainium3.pack_x4(data), scales

    def multiply(play, dtype, x, weight, scales):
        count = len(scales) // 2
        sides = (trainium3.unpack_x4(words, dtype).reshape(len(words), -1, 4) for words in (x, weight))
        return trainium3.nc_matmul_mx(*sides, np.vstack(scales[:count]), np.vstack(scales[count:]))

    def play(self, console, builds, unit, content):
        assert unit == "dma_engine"
        grants = [(number, *each) for number, load in enumerate(content) for each in load.grants]
        left = {
            "images": np.stack([np.frombuffer(load.expected, np.uint8) for load in content]),
            "grants": np.array(grants, np.int64),
        }
        dma(**left)
        return left

    def activate(play, data, function="copy", reduction="add", *, scale=1.0, bias=None):
        bias = 0.0 if bias is None else bias
        return trainium3.activation_reduce(data, function, reduce_op=reduction, scale=scale, bias=bias)

    for name, made in {
        "activate": activate,
        "recur": lambda play, unit, data: fp32.reciprocal_square_root(data),
        "operate": operate,
        "copy": lambda play, data, **_: data,
        "transpose": transpose,
        "quantise": quantise,
        "multiply": multiply,
        "matmul": lambda play, x, y: trainium3.nc_matmul(x, y),
    }.items():
        monkeypatch.setattr(stages, name, made)
    monkeypatch.setattr(trainium3_core.StagedRun, "_play", play)
    monkeypatch.setattr(
        builds, "build", lambda *_, **__: type("Built", (), {"top": "unit", "digest": "0" * 8, "seconds": 0})
    )


def test_a_core_whose_units_agree(bitpath, monkeypatch):
    with_golden_in_place_of_rtl(monkeypatch)
    _, (record,) = passed(bitpath, "core --format mxfp8_e5m2 -o out.npz")
    hidden, gamma, weight = trainium3_core.operands()
    expected = trainium3.run_layer(hidden, gamma, weight, fmt="mxfp8_e5m2")
    with np.load("out.npz") as saved:
        assert saved["result"].tobytes() == expected.output.astype(np.float32).tobytes()
    assert record["time_us"] == round(expected.report.end / 2.4e3, 2)
    assert [row["class"] for row in record["classes"]] == [0, 1, 2, 3]


def a_wrong_byte(images, grants):
    images[3, 40] ^= 1


def a_byte_beyond(images, grants):
    images[5, -1] = 7


def a_late_grant(images, grants):
    grants[10, 2] += 1


@pytest.mark.parametrize("change", [a_wrong_byte, a_byte_beyond, a_late_grant])
def test_a_wrong_move_fails_the_core(bitpath, monkeypatch, change):
    with_golden_in_place_of_rtl(monkeypatch, dma=change)
    status, out, _ = bitpath("run", "core", "--format", "mxfp8_e4m3")
    (record,) = report()
    assert (status, record["mismatches"]) == (1, 1)
    assert "mxfp8_e4m3 on verilator, in stages, [" in out
    assert re.search("place +DMA, byte", out)


def test_a_wrong_bit_reaches_the_core_s_later_instructions(bitpath, monkeypatch):
    with_golden_in_place_of_rtl(monkeypatch, wrong=5)
    status, out, _ = bitpath("run", "core", "--format", "mxfp8_e4m3")
    (record,) = report()
    wrong = {row["instruction"]: row["mismatches"] for row in record["stages"]}
    assert status == 1
    assert (wrong["normalise"], wrong["transpose"], wrong["evict"]) == (0, 1, 1)
    assert "transpose 5, byte 0 of element 0" in out
