"""``bitpath run tile``: two layers on AIE-ML v2's tile."""

import json
from pathlib import Path

import numpy as np
import pytest

from bitpath.golden.aie_ml_v2.tile.layers import run_layer
from bitpath.sim.flows import aie_ml_v2_tile, builds
from bitpath.sim.flows.staged import StagedRun
from bitpath.verif.kit.testplan import covers


def passed(bitpath, line):
    """Run a line that must pass; return its output and its records."""
    status, out, _ = bitpath("run", *line.split())
    assert status == 0
    return out, json.loads(Path("build/reports/run.json").read_text())


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


def with_golden_in_place_of_rtl(monkeypatch, change=lambda left: None):
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
    with_golden_in_place_of_rtl(monkeypatch)
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


def a_wrong_byte(left):
    left["memory"][5] ^= 1


def a_wrong_register(left):
    left["registers"][3] ^= 1 << 200


def a_late_end(left):
    left["cycles"] += 1


def a_stall(left):
    left["banks_stalls"] += 1


@pytest.mark.parametrize("change", [a_wrong_byte, a_wrong_register, a_late_end, a_stall])
def test_a_difference_fails(bitpath, monkeypatch, change):
    with_golden_in_place_of_rtl(monkeypatch, change)
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
