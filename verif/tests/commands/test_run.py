"""``bitpath run``: every flow, its output files, and its failure on a difference."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from parts import records as quoted

from bitpath.golden import trainium3
from bitpath.golden.aie_ml_v2.tile.layers import run_layer
from bitpath.golden.trainium3.tensor.modes import MODES
from bitpath.sim.flows import (
    aie_ml_v2_matmul,
    aie_ml_v2_tile,
    builds,
    matmul,
    operands,
    outcome,
    tensix_matmul,
    trainium3_core,
    trainium3_layer,
    trainium3_matmul,
    trainium3_softmax,
)
from bitpath.sim.flows.staged import StagedRun
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.core.programs.instructions import Memories

RECORD = {
    "machine": str,
    "flow": str,
    "format": str,
    "config": dict,
    "digest": str,
    "sim": str,
    "outputs_compared": int,
    "mismatches": int,
    "macs": int,
    "cycles": int,
    "mac_per_cycle": float,
    "peak_mac_per_cycle": float,
    "wall_seconds": float,
    "sqnr_db": float,
    "max_rel_error": float,
}
SMALL = "--rows 4 --cols 4"
"""Engine options that share a build with verif/trainium3/engine/test_tensor_engine.py."""


def same_bits(x, y):
    return x.dtype == y.dtype == np.float32 and np.array_equal(x.view(np.uint32), y.view(np.uint32))


def report():
    return json.loads(Path("build/reports/run.json").read_text())


def passed(bitpath, line):
    """Run a flow that must pass in silence; return its output and its records."""
    status, out, err = bitpath("run", *line.split())
    assert (status, err) == (0, "")
    return out, report()


@covers("tensor_engine.run", "Users run it, and its table must be true")
@pytest.mark.simulator
def test_every_machine_runs_by_default(bitpath, monkeypatch):
    """Bitpath run: a slice of the layer, own matrices, one bit of difference, results that are not finite."""
    monkeypatch.setattr(trainium3_matmul, "FORMATS", ("mxfp4",))
    monkeypatch.setattr(tensix_matmul, "FORMATS", ("bf16_lofi",))
    monkeypatch.setattr(aie_ml_v2_matmul, "FORMATS", ("mx9",))
    out, records = passed(bitpath, "--sim icarus --slice 2x32x2")
    formats = {"trainium3": "mxfp4", "tensix": "bf16_lofi", "aie_ml_v2": "mx9"}
    assert all(out.count(machine) == 1 for machine in formats), "the machines share a table"
    assert {record["machine"]: record["format"] for record in records} == formats
    for record, decibels in zip(records, (10, 20, 30), strict=True):
        assert {name: type(record[name]) for name in RECORD} == RECORD
        assert (record["outputs_compared"], record["mismatches"], record["macs"]) == (4, 0, 2 * 32 * 2)
        assert record["mac_per_cycle"] == pytest.approx(record["macs"] / record["cycles"], abs=0.05)
        assert record["config"]["shape"] == [2, 32, 2]
        assert len(record["digest"]) == 8
        assert record["sqnr_db"] > decibels
    assert records[1]["config"]["fidelity"] == "LoFi"
    assert records[2]["config"]["mode"] == "mx9"
    # 4x4 PEs of four products; 2x4 dot products of 16; 4 of MX9's 64 lanes, 8 products of each in a cycle.
    assert [record["peak_mac_per_cycle"] for record in records] == [64, 128, 32]


@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize("flow", ["matmul", "layer"])
def test_the_other_scale_rule(bitpath, flow):
    """Golden, the program and QuantizeMX in RTL take the rule, which changes the error."""
    line = f"{flow} --machine trainium3 --sim icarus --slice 2x128x2 {SMALL} --format mxfp8_e4m3"
    records = [passed(bitpath, f"{line} --scale-rule {rule}")[1][0] for rule in trainium3_matmul.SCALE_RULES]
    assert [record["config"]["scale_rule"] for record in records] == ["ocp", "nki05"]
    assert [record["mismatches"] for record in records] == [0, 0]
    assert records[0]["sqnr_db"] != records[1]["sqnr_db"]


@pytest.mark.simulator
def test_rmsnorm_quant(bitpath):
    """Both quantisation types; the unit's last row and last lane are partially filled."""
    out, records = passed(bitpath, "rmsnorm_quant --sim icarus --slice 3x10")
    assert "elements/cycle" in out
    assert [record["format"] for record in records] == ["row", "static"]
    for record, width in zip(records, (14, 10), strict=True):
        assert (record["machine"], record["flow"]) == ("trainium3", "rmsnorm_quant")
        assert (record["outputs_compared"], record["mismatches"]) == (3 * width, 0)
        assert record["config"]["shape"] == [3, 10]
        assert record["elements_per_cycle"] == pytest.approx(30 / record["cycles"], abs=0.005)
        assert record["sqnr_db"] > 25


@pytest.mark.simulator
@pytest.mark.parametrize("dtype", [np.float16, pytest.param(np.float32, marks=pytest.mark.deep)])
def test_rmsnorm_quant_of_own_tensors(bitpath, dtype):
    """Every option; residual and pre-norm run in golden, and the unit takes FP16 and FP32."""
    rng = np.random.default_rng(4)
    shapes = {"hidden": (3, 10), "residual": (3, 10), "gamma": (1, 10), "pre_norm_gamma": (1, 10)}
    given = {name: (rng.standard_normal(shape) + (shape[0] == 1)).astype(dtype) for name, shape in shapes.items()}
    given["in_scale"] = np.exp2(rng.uniform(-8, -6, (128, 1))).astype(np.float32)
    for name, array in given.items():
        np.save(f"{name}.npy", array)
    line = "rmsnorm_quant --sim icarus --hidden hidden.npy --gamma gamma.npy -o out.npz"
    options = "--eps 0.01 --eps-placement golden --lower-bound 1.5"
    before = "--residual residual.npy --pre-norm-gamma pre_norm_gamma.npy"
    gamma, pre = (
        trainium3.round_to_bfloat16(given[name][0].astype(np.float32)) for name in ("gamma", "pre_norm_gamma")
    )
    arguments = {"eps": 0.01, "eps_placement": "golden", "lower_bound": 1.5}
    for words, expected in (
        (f"--format row {options}", trainium3.rmsnorm_quant(given["hidden"], gamma, **arguments)),
        (
            f"--format row {options} {before}",
            trainium3.rmsnorm_quant(
                given["hidden"], gamma, residual=given["residual"], pre_norm_gamma=pre, **arguments
            )[0],
        ),
        (
            f"--format row {options} --dtype-mode ocp",
            trainium3.rmsnorm_quant(given["hidden"], gamma, dtype_mode="ocp", **arguments),
        ),
        (
            "--quant-only --in-scale in_scale.npy",
            trainium3.rmsnorm_quant(
                given["hidden"], None, quant_only=True, quant_type="static", in_scale=given["in_scale"]
            ),
        ),
    ):
        _, (record,) = passed(bitpath, f"{line} {words}")
        assert record["mismatches"] == 0
        with np.load("out.npz") as saved:
            assert saved["golden"].tobytes() == saved["result"].tobytes() == expected.tobytes()


@pytest.mark.simulator
@pytest.mark.deep
def test_a_layer_from_the_normalisation_on(bitpath):
    """An odd number of rows, which is padded, and a K of less than a tile."""
    out, (record,) = passed(bitpath, "layer --sim icarus --slice 3x130x2 --format mxfp8_e5m2 -o out.npz")
    assert "quantized" in out
    assert record["flow"] == "layer"
    assert (record["outputs_compared"], record["mismatches"], record["quantized_mismatches"]) == (6, 0, 0)
    # 64 partitions of 4 elements for 4 rows, and a scale for every 32 of them.
    assert record["quantized_compared"] == 64 * 4 * 4 * 33 // 32
    assert record["quantize_cycles"] >= 64 * 4 // 8
    hidden, gamma, weight = operands.normalised_layer()
    normalised = trainium3.rmsnorm(*map(trainium3.round_to_bfloat16, (hidden[:3, :130], gamma[:130])))
    expected = trainium3.matmul(
        normalised.astype(np.float32), weight[:130, :2], a_format="mxfp8_e5m2", b_format="mxfp8_e5m2"
    )
    with np.load("out.npz") as saved:
        assert same_bits(saved["result"], expected)
        assert same_bits(saved["golden"], expected)


def stated(flow):
    """Return the figures of a flow in the docs, by format: outputs, SQNR and cycles as text."""
    rows = quoted.record("flows")["tables"]["formats"]["rows"]
    return {row[1]: (row[2], row[4], quoted.shown(row[6])) for row in rows if row[0] == flow}


@pytest.mark.deep
@pytest.mark.simulator
def test_the_whole_of_rmsnorm_quant(bitpath):
    """The figures in the docs, from the unit that the known answers use."""
    _, records = passed(bitpath, "rmsnorm_quant")
    assert all(record["mismatches"] == 0 for record in records)
    assert stated("rmsnorm_quant") == {
        each["format"]: (f"{each['outputs_compared']:,} bytes", f"{each['sqnr_db']:.2f}", f"{each['cycles']:,}")
        for each in records
    }


@pytest.mark.deep
@pytest.mark.simulator
def test_the_whole_layer(bitpath):
    _, records = passed(bitpath, "layer")
    assert all(record["mismatches"] == 0 for record in records)
    assert stated("layer") == {
        each["format"]: (
            f"{each['quantized_compared']:,} elements and scales, {each['outputs_compared']:,} outputs",
            f"{each['sqnr_db']:.2f}",
            f"{each['quantize_cycles']:,} + {each['cycles']:,}",
        )
        for each in records
    }


def test_a_difference_of_quantised_elements_fails_the_layer(bitpath, monkeypatch):
    """The matmul's result agrees with golden; one element of the quantiser's result does not."""
    monkeypatch.setattr(
        builds, "build", lambda *_, **__: type("Built", (), {"top": "engine", "digest": "0" * 8, "seconds": 0})
    )

    def quantise(self, console, built, tile):
        elements, scales = trainium3.quantize_tile(tile, "mxfp8_e4m3")
        return (elements, scales ^ (np.indices(scales.shape).sum(axis=0) == 0)), 1

    def multiply(console, built, bench, title, content):
        return {"output": golden.view(np.uint32), "times": np.zeros(golden.shape, np.uint64), "cycles": 1}

    monkeypatch.setattr(trainium3_layer.Run, "_quantise", quantise)
    monkeypatch.setattr(matmul, "play", multiply)
    golden = trainium3_layer.Run(
        *trainium3_layer.operands("2x128x2"), "mxfp8_e4m3", trainium3_layer.engine_for("verilator"), "verilator"
    ).golden()
    status, out, _ = bitpath("run", "layer", "--slice", "2x128x2", "--format", "mxfp8_e4m3")
    assert f"mxfp8_e4m3 on verilator, quantised, [{2 * 128}]\n" in out, "the first scale, behind all elements"
    assert "scale 0 of QuantizeMX's output, E8M0" in out
    (record,) = report()
    assert (status, record["mismatches"], record["quantized_mismatches"]) == (1, 1, 1)


@covers("tensor_engine.run")
@pytest.mark.simulator
def test_own_matrices(bitpath, matrices, tmp_path):
    a, b = matrices
    _, (record,) = passed(bitpath, f"--a a.npy --b b.npy --format mxfp8_e4m3 -o out.npz {SMALL}")
    expected = trainium3.matmul(a, b)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    with np.load("out.npz") as saved:
        assert set(saved) == {"result", "golden"}
        assert same_bits(saved["result"], expected)
        assert same_bits(saved["golden"], expected)
        # 15 dB, a few less than E4M3's SQNR on such numbers; a permuted K gives about 0 dB.
        assert 30 * np.square(saved["result"] - exact).sum() < np.square(exact).sum()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy", "b.npy", "build", "out.npz"]
    assert record["outputs_compared"] == 15


@covers("tensor_engine.run")
@pytest.mark.simulator
def test_infinite_results_are_compared_too(bitpath, matrices):
    """A non-finite result has no SQNR, but is not an error."""
    a, _ = matrices
    a[0, 0] = np.inf
    a[1, :] = np.nan
    np.save("a.npy", a)
    _, (record,) = passed(bitpath, f"--a a.npy --b b.npy --format mxfp8_e5m2 -o out.npz {SMALL}")
    with np.load("out.npz") as saved:
        assert np.isnan(saved["result"][1]).all()
    assert (record["mismatches"], record["sqnr_db"]) == (0, None)


@covers("tensor_engine.run")
@pytest.mark.simulator
def test_one_bit_of_difference_fails_the_run(bitpath, monkeypatch):
    honest = trainium3.run_program

    def flipped(*args, **kwargs):
        result = honest(*args, **kwargs)
        result.view(np.uint32)[1, 0] ^= 1
        return result

    monkeypatch.setattr(trainium3, "run_program", flipped)
    status, out, _ = bitpath("run", "--sim", "icarus", "--slice", "2x128x2", "--format", "mxfp8_e4m3")
    assert status == 1
    assert re.search(r"on icarus, \[1, 0\], read at \d+ ns, cycle \d+\n", out)
    (record,) = report()
    assert (record["mismatches"], record["outputs_compared"]) == (1, 4)


@covers("tensor_engine.alive")
def test_an_engine_that_was_never_busy_is_an_error(bitpath, monkeypatch):
    """Replace the engine by a dead one, without results or cycles."""
    monkeypatch.setattr(
        builds, "build", lambda *_, **__: type("Built", (), {"top": "engine", "digest": "0" * 8, "seconds": 0})
    )
    left = {"output": np.zeros((2, 2), np.uint32), "cycles": 0}

    def run(*_, env, **__):
        np.savez(env["BITPATH_RESULT"], **left)
        return SimpleNamespace(wave=None, folder=None, records=[{"seconds": 1.0}])

    monkeypatch.setattr(outcome, "run", run)
    status, _, err = bitpath("run", "--slice", "2x128x2", "--format", "mxfp4")
    assert status == 1
    assert err == "bitpath: engine was never busy: it did not take the instructions\n"


# ``bitpath run`` of instructions on units, one after the other: the core's layer, and softmax.


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


@covers("core.layer", "It is what the core is for")
@pytest.mark.deep
@pytest.mark.simulator
def test_a_layer_on_the_core(bitpath):
    """Golden's program of a layer, from HBM back to HBM: every byte of the memories golden's, and engines beside each other."""
    _, records = passed(bitpath, "core")
    assert [record["format"] for record in records] == list(trainium3_core.FORMATS)
    for record in records:
        assert (record["outputs_compared"], record["mismatches"]) == (32 * 32, 0)
        assert sum(row["cycles"] for row in record["engines"]) > record["cycles"]
    _, (free,) = passed(bitpath, "core --format mxfp8_e4m3 --shaping off --qos off")
    assert free["mismatches"] == 0


ON_CORE = "core --format mxfp8_e5m2 --scale-rule nki05"


@pytest.fixture(scope="module")
def exact_images():
    """HBM behind each program of the core, by the exact model of its instructions: they take seconds."""
    images = {}

    def of(programs):
        if not images:
            memories = Memories(trainium3_core.CORE)
            for number, program in enumerate(programs):
                memories.hbm[: program.hbm_loaded] = program.hbm[: program.hbm_loaded]
                for each in program.instructions:
                    each.run(memories)
                images[number] = memories.hbm.copy()
        return np.stack(list(images.values()))

    return of


@pytest.fixture
def exact_core(monkeypatch, exact_images):
    """Replace the core in RTL by the exact model; returns what alters its images of HBM."""
    changes = []

    def play(self, console, builds, unit, programs):
        assert unit == "core"
        images = exact_images(programs)
        for number, byte in changes:
            images[number, byte] ^= 1
        return {"images": images, "times": np.ones((len(programs), 5), int)}

    monkeypatch.setattr(trainium3_core.StagedRun, "_play", play)
    monkeypatch.setattr(
        builds, "build", lambda *_, **__: type("Built", (), {"top": "unit", "digest": "0" * 8, "seconds": 0})
    )
    return changes


def test_the_core_s_instructions_leave_golden_s_memories(bitpath, exact_core):
    """All bytes of the memories behind the lowered program."""
    _, (record,) = passed(bitpath, f"{ON_CORE} -o out.npz")
    bytes_ = (1 << 17) + 32 * 4096 + 32 * 8192
    assert (record["staged_compared"], record["mismatches"]) == (bytes_, 0)
    assert [row["instruction"] for row in record["stages"]] == ["layer", "HBM", "SBUF", "PSUM"]
    assert [row["class"] for row in record["classes"]] == [0, 1, 2, 3]
    assert {row["engine"]: row["instructions"] for row in record["engines"]} == {
        "tensor": 1 + 8 + 2, "vector": 2 + 2 + 4 + 1 + 2, "scalar": 2 + 4, "dma": 7 + 2 + 32
    }  # fmt: skip
    run = trainium3_core.Run(*trainium3_core.operands(), "mxfp8_e5m2", trainium3_core.engine_for("verilator"), "")
    with np.load("out.npz") as saved:
        assert np.abs(saved["result"] - run.reference()).max() < 1


@pytest.mark.parametrize(
    ("number", "byte", "place"),
    [(1, 3 * 4096 + 4000, "SBUF, byte 0 of element 16288"), (3, (1 << 17) - 1, "PSUM, byte 0 of element 262143")],
)
def test_a_wrong_byte_fails_the_core(bitpath, exact_core, number, byte, place):
    """A byte that nothing writes, and the last one of PSUM."""
    exact_core.append((number, byte))
    status, out, _ = bitpath("run", *ON_CORE.split())
    (record,) = report()
    assert (status, record["mismatches"]) == (1, 1)
    assert "mxfp8_e5m2 nki05 on verilator, in memories, [" in out
    assert place in out


# ``bitpath run tile``: two layers on AIE-ML v2's tile.


@covers("aie_tile.layers")
@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize("format_name", aie_ml_v2_tile.ALL_FORMATS)
def test_both_layers(bitpath, format_name):
    """All of memory, all registers, cycles and stalls; at least the rates that the schedules promise."""
    _, (record,) = passed(bitpath, f"tile --format {format_name}")
    assert (record["outputs_compared"], record["mismatches"]) == (64 * 64, 0)
    assert record["stalls"] == {"banks": 0, "bundles": 0}
    least = {"int8": 477, "mx9": 456, "int8_sparse": 2 * 477 * 0.9, "int16": 119, "int16_sparse": 2 * 119 * 0.9}
    assert record["layers"][0]["MAC/cycle"] >= least[format_name]


def with_golden_in_place_of_the_tile(monkeypatch, change=lambda left: None):
    """Let golden's tile leave what RTL would; `change` alters it."""
    layers = []
    made = aie_ml_v2_tile.program_of
    monkeypatch.setattr(
        aie_ml_v2_tile, "program_of", lambda config, layer: layers.append((config, layer)) or made(config, layer)
    )

    def play(self, console, builds, unit, content):
        assert (unit, bool(content.bundles)) == ("aie_tile", True)
        memory, registers, (cycles, banks, products) = aie_ml_v2_tile.golden_run(*layers[-1])
        values = [int.from_bytes(each.tobytes(), "little") for each in registers.reshape(-1, 8)]
        left = {"memory": memory.copy(), "registers": np.array(values, object), "cycles": cycles}
        left |= {"banks_stalls": banks, "bundles_stalls": 0, "products": products}
        change(left)
        return left

    monkeypatch.setattr(StagedRun, "_play", play)
    monkeypatch.setattr(
        builds, "build", lambda *_, **__: type("Built", (), {"top": "unit", "digest": "0" * 8, "seconds": 0})
    )


@pytest.mark.parametrize("format_name", ["int8_sparse", "int16", "mx9"])
def test_a_tile_that_agrees(bitpath, monkeypatch, format_name):
    with_golden_in_place_of_the_tile(monkeypatch)
    _, (record,) = passed(bitpath, f"tile --slice 16x32x32 --format {format_name} -o out.npz")
    assert record["mismatches"] == 0
    assert [row["instruction"] for row in record["stages"]] == ["first layer", "second layer"]
    assert [row["layer"] for row in record["layers"]] == ["first layer", "second layer"]
    run = aie_ml_v2_tile.Run(
        *aie_ml_v2_tile.operands("16x32x32"), format_name, aie_ml_v2_tile.engine_for("verilator"), "verilator"
    )
    first, _ = run_layer(run.arithmetic.layer(0, None))
    second, _ = run_layer(run.arithmetic.layer(1, first))
    with np.load("out.npz") as saved:
        assert saved["result"].tobytes() == run.arithmetic.codes(second).tobytes()


def a_wrong_byte_of_the_tile(left):
    left["memory"][5] ^= 1


def a_wrong_register(left):
    left["registers"][3] ^= 1 << 200


def a_late_end(left):
    left["cycles"] += 1


def a_stall(left):
    left["banks_stalls"] += 1


@pytest.mark.parametrize("change", [a_wrong_byte_of_the_tile, a_wrong_register, a_late_end, a_stall])
def test_a_difference_fails(bitpath, monkeypatch, change):
    with_golden_in_place_of_the_tile(monkeypatch, change)
    status, out, _ = bitpath("run", "tile", "--slice", "16x32x32", "--format", "int8")
    (record,) = json.loads(Path("build/reports/run.json").read_text())
    assert (status, record["mismatches"]) == (1, 2)
    assert "in stages" in out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tile --format mx6", "format of tile must be int8"),
        ("tile --sim icarus --format int16", "format int16 of tile runs on verilator alone, not on icarus"),
        ("tile --slice 8x32x32 --format int8", "M must be a multiple of 16 in mode int8, not 8"),
        ("tile --machine tensix", "'tensix' is not 'aie_ml_v2'"),
    ],
)
def test_wrong_arguments(bitpath, line, message):
    status, _, err = bitpath("run", *line.split())
    assert status in (1, 2)
    assert message in err
