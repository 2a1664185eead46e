"""The table of properties: each names an RTL file, can be stated, and has a sabotage that can be applied."""

import ast
import re
from pathlib import Path

import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

import bitpath.rtl
import bitpath.verif
from bitpath.sim.campaigns.emission import changed_source
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Engine, file_of
from bitpath.verif.kit.testplan import covers
from bitpath.verif.properties import MODULES, PROPERTIES

RTL, VERIF = Path(bitpath.rtl.__file__).parent, Path(bitpath.verif.__file__).parent
ALL = pytest.mark.parametrize("found", PROPERTIES.values(), ids=PROPERTIES)
SLOW = (
    "trainium3.quantize_mx",
    "trainium3.rand2_lane",
    "trainium3.engine_lane",
    "tensix.packer",
    "tensix.unpacker",
    "tensix.dot16",
    "tensix.matrix_unit",
    "aie_ml_v2.mac_lane",
)
"""Large units, whose properties take most of the time of all to state: the deep tests have them; `make formal` proves all."""


@covers("formal.table", "A property outside the table is not proved, and one that no change refutes proves nothing")
def test_names_are_unique_and_file_names():
    """Every property of the folder is in the table once, names an RTL file, can be stated, and has a sabotage that can
    be applied."""
    names = [each.name for module in MODULES for each in module.PROPERTIES]
    assert len(names) == len(set(names)) > 150
    assert all(re.fullmatch(r"[a-z0-9_]+", name) for name in names)


@covers("formal.table")
def test_every_statement_of_the_folder_is_in_the_table():
    stating = {file for file in VERIF.rglob("*.py") if re.search(r"^PROPERTIES = ", file.read_text(), re.MULTILINE)}
    assert stating == {Path(module.__file__) for module in MODULES}


@covers("formal.table")
@ALL
def test_its_unit_and_its_sabotage_are_there(found):
    folder, file = found.unit.split(".")
    assert file_of(folder, file)
    sabotage = found.sabotage
    ast.parse(changed_source(sabotage.file, sabotage.old, sabotage.new))


@covers("formal.table")
@covers("wait_gate.formal", "For every state, not only for those that random instructions reach")
@pytest.mark.parametrize(
    "found",
    [pytest.param(each, marks=[pytest.mark.deep] if each.unit in SLOW else []) for each in PROPERTIES.values()],
    ids=PROPERTIES,
)
def test_it_can_be_stated(found):
    """A wait that is latched stays until its conditions are met, and blocks its classes."""
    claim = Claim()
    found.state(claim)
    _, ports = claim.finish(asserted=found.engine is Engine.INDUCTION)
    assert {"clk", "ok", "assume"} < set(ports)
    # An induction over 0 cycles would check nothing.
    assert found.depth > 0 or found.engine is Engine.UNROLLED
    assert found.says == found.says.strip()
    assert "|" not in found.says


@covers("formal.mistakes", "Each would prove less than the property states")
@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("common/arithmetic/align.py", "no such text", "x", "has 'no such text' 0 times"),
        ("common/arithmetic/align.py", "self", "x", r"has 'self' \d\d+ times"),
        ("common/arithmetic/align.py", "class Align(", "class Align(", "by something else"),
    ],
)
def test_a_sabotage_that_cannot_be_done_is_said(file, old, new, sentence):
    """A sabotage whose source text is absent, a register outside the pipeline stages, an empty claim and an unknown
    input are refused."""
    with pytest.raises(ValueError, match=sentence):
        changed_source(file, old, new)


@covers("formal.mistakes")
def test_a_register_outside_the_ranks_is_a_mistake():
    from bitpath.rtl.common.pipeline.pipeline_registers import Delay

    class Behind(wiring.Component):
        """It has registers and nothing else."""

        i: In(1)
        o: Out(1)

        def elaborate(self, platform):
            m = Module()
            m.d.sync += self.o.eq(self.i)
            return m

    for component in (Delay(4, 2), Behind()):
        with pytest.raises(ValueError, match="dut has registers that are none of its pipeline registers"):
            Claim().instantiate("dut", component, wires=True)


@covers("formal.mistakes")
def test_a_claim_of_nothing_and_an_unknown_input_are_mistakes():
    from bitpath.rtl.common.fp32.fp32_arithmetic import Fp32ToBf16

    claim = Claim()
    with pytest.raises(ValueError, match="dut has no input speed"):
        claim.instantiate("dut", Fp32ToBf16(), speed=1)
    with pytest.raises(ValueError, match="ensures nothing"):
        claim.finish(asserted=False)
