"""Groups of rows that Verilator compiles once and steps: registered outputs, and the same bits as a flat build."""

import json
import re
from dataclasses import replace

import pytest

from bitpath.rtl.emit import emit
from bitpath.rtl.trainium3.array.config import ArrayConfig
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.sim.engine import process, stepped
from bitpath.sim.engine.build import Emitter, build, rtl_emitter
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.runner import run
from bitpath.sim.engine.stepped import module_ports

BENCH = "bitpath.verif.kit.tb_random_ports"
YOSYS_SECONDS = 300
FROM_INPUTS = """read_verilog {file}
hierarchy -check -top {top}
proc
memory
flatten
opt_clean
dffunmap
select -set reached i:* i:clk %d %coe*:-$dff
select -assert-none @reached o:* %i
"""
"""Fails if an output depends on an input other than the clock through no register."""


def array(rows, cols):
    return ArrayConfig(rows=rows, cols=cols, operand_depth=16)


def test_outputs_of_a_stepped_row_depend_on_registers_only(tmp_path):
    emitted = emit("systolic_array", array(8, 2), tmp_path)
    (group,) = emitted.groups
    script = FROM_INPUTS.format(file=f"{group.element}.v", top=group.element)
    process.require_yosys(group.element, tmp_path, "registered", script, YOSYS_SECONDS)


def test_the_proof_fails_without_registers(tmp_path):
    emitted = emit("quad_mx_dot", DotConfig(), tmp_path)
    script = FROM_INPUTS.format(file=emitted.files[0].name, top=emitted.top)
    with pytest.raises(SimulationError, match="selection is not empty"):
        process.require_yosys("combinational", tmp_path, "registered", script, YOSYS_SECONDS)


@pytest.mark.parametrize(("rows", "count"), [(4, None), (8, 2), (32, 8)])
def test_row_and_group_are_files_of_their_own(rows, count, tmp_path):
    emitted = emit("systolic_array", array(rows, 4), tmp_path)
    found = [re.findall(r"^module \\?(\w+)", file.read_text(), re.MULTILINE) for file in emitted.files]
    texts = dict(zip((file.stem for file in emitted.files), found, strict=True))
    manifest = json.loads(emitted.manifest.read_text())
    assert manifest["files"] == [file.name for file in emitted.files]
    assert emitted.files[0].stem == emitted.top
    if count is None:
        assert (manifest["groups"], len(texts)) == ([], 1)
        return
    (group,) = manifest["groups"]
    assert (group["count"], group["spread"]) == (count, ["write_word"])
    assert texts.keys() == {emitted.top, group["module"], group["element"]}
    assert {*texts[group["module"]]} == {name for name in texts[group["module"]] if name.startswith("repeat_")}
    row = tmp_path.joinpath(f"{group['element']}.v").read_text()
    instantiated = set(re.findall(r"^  (\w+_[0-9a-f]{8}) ", row, re.MULTILINE))
    assert instantiated <= {*texts[group["element"]]}
    # A row does not depend on the number of rows.
    assert group["element"] == emit("systolic_array", array(64, 4), tmp_path / "other").groups[0].element


def flat_emitter():
    """The RTL's emitter without the names of groups, so that everything is compiled together."""
    emitter = rtl_emitter()
    return Emitter(lambda *arguments: replace(emitter.emit(*arguments), groups=()), emitter.sources, "flat")


@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize("size", [(8, 2), (16, 16)])
def test_stepped_and_flat_builds_agree_in_every_cycle(size, tmp_path, monkeypatch):
    """With random inputs, stalls, resets and tilings, on shares of unequal size on three threads."""
    monkeypatch.setattr(stepped, "COMPILE", (*stepped.COMPILE, "-DWORTH_SHARING=0"))
    config, outputs = array(*size), {}
    for kind, emitter in (("stepped", None), ("flat", flat_emitter())):
        monkeypatch.setenv("BITPATH_BUILD", str(tmp_path / kind))
        built = build("systolic_array", config, "verilator", emitter=emitter)
        assert len(built.libraries) == (kind == "stepped")
        ports = module_ports(built.verilog[0].read_text(), built.top)
        names = {way: [p.name for p in ports if p.direction == way and p.name != "clk"] for way in ("input", "output")}
        zeros = dict.fromkeys(names["input"], 0.1) | {"rst": 0.995, "advance": 0.2}
        file = tmp_path / kind / "outputs"
        job = {"inputs": zeros, "outputs": names["output"], "cycles": 1500, "file": str(file)}
        run(built, BENCH, seed=1, min_compared=0, env={"BITPATH_PORTS": json.dumps(job), "BITPATH_THREADS": "3"})
        outputs[kind] = file.read_text().splitlines()
    assert len(outputs["flat"]) == 1500
    assert len(set(outputs["flat"])) > 500
    assert outputs["stepped"] == outputs["flat"]
