"""A small target from the draw to the record. The tests are deep because Yosys comes with an extra."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from amaranth import Module, Signal
from amaranth.back import rtlil
from amaranth.lib.memory import Memory

from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.circuits import reduced
from bitpath.sim.campaigns.mutation import equivalence, judge
from bitpath.sim.campaigns.mutation.equivalence import Proof, Prover
from bitpath.sim.campaigns.mutation.hosts import (
    DRAWN,
    MUTATED,
    PREPARED,
    Host,
    Mutant,
    build_mutants,
    mutating,
    select_bits,
)
from bitpath.sim.campaigns.mutation.judge import compile_replay, record, replay
from bitpath.sim.campaigns.mutation.verdicts import TIMED_OUT, record_of
from bitpath.sim.engine import paths
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.process import YosysTimeoutError, require_yosys
from bitpath.verif.kit.recording import COMPARED, READ
from bitpath.verif.kit.testplan import covers

pytestmark = [pytest.mark.deep, pytest.mark.simulator]
ROOT = Path(__file__).resolve().parents[3]
TARGET, COUNT, SEED = "rtl/aie_ml_v2/convert/srs:StickyFlag", 12, 3
HOST = Host("ups", UNITS["ups"].config_type())


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Its own journal, the checkout's builds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(paths, "simulations", lambda: ROOT / "build" / "sim")


def quiet(*_):
    pass


@covers("mutation.resumed")
def test_a_small_target_is_judged_whole_and_resumed():
    judged = judge.judge(TARGET, HOST, COUNT, SEED, quiet)
    record = record_of(judged)
    assert record["killed"] + record["equivalent"] + record["survived"] == record["mutants"] == COUNT
    assert record["killed"] >= 8
    assert record["possible"] > COUNT
    assert record["survived"] == 0
    again = judge.judge(TARGET, HOST, COUNT, SEED, lambda *told: pytest.fail(f"{told} is done again"))
    assert record_of(again) == record


def looked_at(host):
    """Return by test and output how the bench used the output in each cycle."""
    traffic = record(host, SEED)
    words = np.fromfile(traffic.file, "<u4").tolist()
    found, at = {}, 0
    for test in traffic.tests:
        _, looks, changes, others = words[at : at + 4]
        own = words[at + 4 : at + 4 + looks]
        for index, port in enumerate(traffic.outputs):
            found[test, port["name"]] = [how for which, how in zip(own[1::3], own[2::3], strict=True) if which == index]
        at += 4 + looks + changes + others
    assert at == len(words)
    return found


@covers("mutation.honest")
def test_what_was_compared_and_what_was_only_seen():
    found = looked_at(HOST)
    for (test, output), looks in found.items():
        if output == "o__payload":
            assert looks.count(COMPARED) > 0, test
        if output == "overflow":
            assert looks == ([COMPARED] * len(looks) if "sticky_flag" in test else []), test
        if output == "o__valid":
            assert set(looks) == {READ}, test


@covers("mutation.honest")
def test_a_recording_that_is_cut_judges_nothing(tmp_path):
    traffic = record(HOST, SEED)
    built = build_mutants(HOST, TARGET, COUNT, SEED)
    program = compile_replay(built, traffic, tmp_path)
    whole = traffic.file.read_bytes()
    for content in (b"", whole[:-4]):
        cut = replace(traffic, file=tmp_path / "cut.bin")
        cut.file.write_bytes(content)
        with pytest.raises(SimulationError, match=r"has no test|ends in the middle of a record"):
            list(replay(program, cut, [0]))
    assert [own.kind for _, own in replay(program, traffic, [0])] == ["same"]


@covers("mutation.honest", "Each would raise the score above the quality of the benches")
def test_a_bench_that_dies_for_another_reason_kills_nothing(monkeypatch):
    """A transfer that is not compared, a simulator crash or a test that fails without a mutant kills no mutant; only a
    proof makes a mutant equivalent; a survivor without a reason fails."""
    monkeypatch.setattr(judge, "bench_module", lambda host: "bitpath.verif.tb.tb_nothing")
    with pytest.raises(SimulationError, match=r"ups: .* fails without a mutant: bench: ups on verilator"):
        judge.judge(TARGET, HOST, COUNT, SEED, quiet)


def proofs(folder, top, mutants):
    """Return the proof result of each mutant in a prepared netlist."""
    require_yosys(top, folder, "mutate", mutating(mutants, "out.v"), 60)
    place = folder / "proofs"
    place.mkdir()
    prover = Prover(top, folder, top, select_bits(len(mutants)), place)
    return [prover.prove(number, mutant.module.removeprefix("\\")) for number, mutant in enumerate(mutants, 1)]


@covers("mutation.honest")
def test_proofs(tmp_path):
    """Covers a mutant that sets a constant net to its own value, and faults that appear in the next state."""
    netlist = build_mutants(HOST, TARGET, COUNT, SEED).verilog[0].parent
    drawn = [Mutant(**each) for each in json.loads((netlist / DRAWN).read_text())[1:]]
    register = next(mutant for mutant in drawn if mutant.source.endswith(":20"))
    prepared = (netlist / PREPARED).read_text()
    (tmp_path / PREPARED).write_text(prepared)
    multiplexer = next(line.split()[2] for line in _module(prepared, register.module) if "cell $mux" in line)
    faults = (("const0", "B"), ("const1", "B"), ("inv", "A"))
    mutants = [Mutant(mode, register.module, multiplexer, port, 0, None, register.source) for mode, port in faults]
    # Its reset value is 0.
    refused = Proof(False, "no proof")
    assert proofs(tmp_path, f"{HOST.unit}_mutants", mutants) == [Proof(True, "its module"), refused, refused]


def proofs_of(folder, faults):
    """Return the proof results by mode and port for a prepared "toy" with mutants in cells of these kinds."""
    mutants, module = [], ""
    for words in map(str.split, (folder / PREPARED).read_text().splitlines()):
        if words[:1] == ["module"]:
            module = words[1]
        elif words[:1] == ["cell"]:
            of_it = [(mode, port) for mode, kind, port in faults if kind == words[1]]
            mutants += [Mutant(mode, module, words[2], port, 0, None, "") for mode, port in of_it]
    found = proofs(folder, "toy", mutants)
    return {mutant.mode + mutant.port: proof for mutant, proof in zip(mutants, found, strict=True)}


EQUAL, REFUSED = Proof(True, "cut registers"), Proof(False, "no proof")


def test_what_goes_into_a_memory_is_compared(tmp_path):
    """A gate that always gives 0 is equivalent; faults in the data and address of a write are not."""
    m = Module()
    m.submodules.cells = cells = Memory(shape=1, depth=4, init=[])
    write, read = cells.write_port(), cells.read_port(domain="comb")
    bit, other = Signal(), Signal()
    m.d.comb += [write.en.eq(1), write.data.eq(bit ^ ((bit | other) & ~(bit | other)))]
    ports = [bit, other, write.addr, read.addr, read.data]
    (tmp_path / PREPARED).write_text(rtlil.convert(m, name="toy", ports=ports, emit_src=False))
    faults = {
        ("const0", "$and", "Y"): EQUAL,
        ("inv", "$xor", "Y"): REFUSED,
        ("const0", "$memwr_v2", "ADDR"): REFUSED,
        ("inv", "$memwr_v2", "DATA"): REFUSED,
    }
    assert proofs_of(tmp_path, faults) == {mode + port: proof for (mode, _, port), proof in faults.items()}


def test_design_and_mutant_have_one_state_where_registers_are_cut(tmp_path):
    """A gate's output is 0 whenever it matters. Register bits that are read are cut; a bit that is never read does not matter."""
    m = Module()
    state, i, o = Signal(2), Signal(2), Signal()
    m.d.sync += state.eq(i)
    m.d.comb += o.eq(~state[0] & (i[0] ^ (state[0] & i[1])))
    (tmp_path / "toy.il").write_text(rtlil.convert(m, name="toy", ports=[i, o], emit_src=False))
    require_yosys("toy", tmp_path, "prepare", f"read_rtlil toy.il\nproc\nwrite_rtlil {PREPARED}\n", 60)
    faults = {("const0", "$xor", "B"), ("inv", "$xor", "A")}
    assert proofs_of(tmp_path, faults) == {"const0B": EQUAL, "invA": REFUSED}


def test_a_proof_that_takes_too_long_is_tried_in_another_way(tmp_path, monkeypatch):
    """Each proof has its own limit; if the preparation takes too long, all are late."""
    ran, proves = [], {"scorr"}

    def ask(command, *, timeout, **_):
        ran.append(f"z3 {timeout}")
        raise TimeoutError

    def run(what, folder, name, script, timeout):
        if name == equivalence.GRAPH:
            ran.append(name)
            # An input passes where bit 0 is chosen; a register stays as it is.
            names = b"i0 mutsel[0]\ni1 mutsel[1]\ni2 i\n"
            (folder / "graph.aig").write_bytes(b"aig 5 3 1 1 1\n8\n10\n" + bytes([10 - 6, 6 - 2]) + names)
            return
        ran.append(timeout)
        if "scorr" not in (folder / "graph.abc").read_text():
            raise YosysTimeoutError("late")
        # One output, which is 0 or the one input.
        reduced(folder, equivalence.GRAPH).write_bytes(b"aig 1 1 0 1 0\n" + (b"0\n" if proves else b"2\n"))

    monkeypatch.setattr(equivalence, "require_yosys", run)
    monkeypatch.setattr(equivalence.process, "run_logged", ask)
    netlist, folder = tmp_path / "netlist", tmp_path / "proofs"
    for place in (netlist, folder):
        place.mkdir()
    (netlist / MUTATED).write_text("")
    prover = Prover("toy", netlist, "toy", 2, folder)
    assert prover.prove(1, "inside") == Proof(True, "induction")
    assert ran == ["graph", "z3 5", 10, "graph", "z3 5", 10, 10]

    ran.clear()
    proves.clear()
    late = Proof(False, f"{TIMED_OUT}: no proof in 10 s")
    assert prover.prove(1, "toy") == prover.prove(3, "toy", patient=False) == late
    # The existing graphs are reused.
    assert ran == ["z3 5", 10, 10, "z3 5", 2, 2]

    # A mutant that matches gate by gate needs no ABC run.
    ran.clear()
    assert prover.prove(2, "toy") == Proof(True, "cut registers")
    assert ran == []

    def never(what, folder, name, script, timeout):
        raise YosysTimeoutError("late")

    monkeypatch.setattr(equivalence, "require_yosys", never)
    assert Prover("toy", netlist, "toy", 2, folder).prove(1, "toy") == late


def _module(text, name):
    inside = text.split(f"module \\{name.removeprefix(chr(92))}\n")[1]
    return inside.split("\nend\n")[0].splitlines()


TOY = """module toy_mutants(input clk, input i, output o);
  reg [1:0] q = 0;
  always @(posedge clk) q <= {q[1], i};
  assign o = q[1] & q[0];
endmodule
"""


def test_what_no_state_after_power_on_shows_is_proved_by_induction(tmp_path):
    """The upper bit is always 0, which only a proof from the first cycle on can know."""
    netlist = tmp_path / "netlist"
    netlist.mkdir()
    (netlist / "toy.v").write_text(TOY)
    require_yosys("toy", netlist, "prepare", f"read_verilog toy.v\nproc\nopt_clean\nwrite_rtlil {PREPARED}\n", 60)
    text = (netlist / PREPARED).read_text()
    gate = next(line.split()[2] for line in text.splitlines() if "cell $and" in line)
    # Port A is the upper bit: with 1 in its place the lower one shows.
    mutants = [Mutant("const1", "toy_mutants", gate, port, 0, None, "rtl/toy.py:1") for port in "BA"]
    assert proofs(netlist, "toy_mutants", mutants) == [Proof(True, "induction"), Proof(False, "no proof")]
