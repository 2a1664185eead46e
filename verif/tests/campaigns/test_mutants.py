"""Mutants: their choice, the inputs that distinguish them, the verdicts of replay and bench, and the AIGER files between."""

import random
import re
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace

import pytest

from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.circuits import Graph, read
from bitpath.sim.campaigns.mutation import hosts, judge
from bitpath.sim.campaigns.mutation.equivalence import Differences, Proof
from bitpath.sim.campaigns.mutation.hosts import HOSTS, Host
from bitpath.sim.campaigns.mutation.judge import Difference
from bitpath.sim.campaigns.mutation.verdicts import BROKEN, EQUIVALENT, KILLED, SURVIVED, Ledger
from bitpath.sim.engine import tools
from bitpath.sim.engine.imports import module_file, reached
from bitpath.sim.engine.options import SimulationError
from bitpath.verif.kit.testplan import covers

ADDRESS_BITS = 12
"""More than an address or a step of the engines' default sizes has, fewer than a significand."""
LIST = """mutate -mode inv -module lane -cell $5 -port Y -portbit 0 -src rtl/a.py:3
mutate -mode cnot0 -module lane -cell $5 -port A -portbit 7 -ctrlbit 2 -wire o -wirebit 3 -src rtl/a.py:3
mutate -mode const1 -module top -cell $7 -port CLK -portbit 0 -src rtl/a.py:4
mutate -mode const1 -module top -cell $7 -port D -portbit 1 -src rtl/b.py:9 -src rtl/a.py:4
mutate -mode const1 -module top -cell $8 -port D -portbit 1 -src rtl/a.py:2
"""


@pytest.fixture
def listed(monkeypatch):
    """Return the mutants of the component whose lines are 3 and 4 of rtl/a; others are of the one before, and of rtl/b."""
    monkeypatch.setattr(hosts, "definitions", lambda file: ([0, 1, 3], ["", "Before", "Lane"]))
    return hosts.read_list(LIST, "rtl/a:Lane")


def test_the_list_is_read_without_clocks(listed):
    first, second, third = listed
    assert (first.mode, first.module, first.cell, first.port, first.bit) == ("inv", "lane", "$5", "Y", 0)
    assert second.command == "mutate -mode cnot0 -module lane -cell $5 -port A -portbit 7 -ctrlbit 2"
    assert second.shown == "rtl/a.py:3: cnot0 A[7] by bit 2 of $5 in lane"
    assert (third.port, third.control, third.source) == ("D", None, "rtl/a.py:4")


def test_a_netlist_takes_all_mutants_numbered_from_1(listed):
    script = hosts.mutating(listed, "out.v").splitlines()
    assert script[1].endswith("-portbit 0 -ctrl mutsel 2 1")
    assert script[3].endswith("-port D -portbit 1 -ctrl mutsel 2 3")
    assert script[4:] == ["pmuxtree", "setundef -init -zero", "write_rtlil mutants.il", "write_verilog -noattr out.v"]


def test_a_register_that_starts_at_1_has_no_mutant_behind_it():
    """A mutant at its output would lose its initial value; neither the replay nor a proof would notice."""
    text = (
        "module \\lane\n  attribute \\init 2'10\n  wire width 2 \\q\nend\nmodule \\top\n  attribute \\init 1'0\nend\n"
    )
    at_q, at_d, elsewhere = (
        hosts.Mutant("inv", module, "$1", port, 0, None, "rtl/a.py:1")
        for module, port in (("lane", "Q"), ("lane", "D"), ("\\top", "Q"))
    )
    hosts._refuse_starts_at_one(text, [at_d, elsewhere])
    with pytest.raises(SimulationError, match=r"a register of lane starts at 1"):
        hosts._refuse_starts_at_one(text, [at_d, at_q])


@covers("mutation.draw")
def test_lines_take_turns_and_the_seed_decides():
    mutants = [hosts.Mutant("inv", "m", f"${k}", "A", k, None, f"rtl/a.py:{1 if k < 90 else 2}") for k in range(100)]
    drawn = hosts.draw(mutants, 20, 5)
    assert len({mutant.cell for mutant in drawn}) == 20
    assert sum(mutant.source == "rtl/a.py:2" for mutant in drawn) == 10
    assert drawn == hosts.draw(mutants, 20, 5)
    assert drawn != hosts.draw(mutants, 20, 6)
    assert sorted(hosts.draw(mutants, 1000, 5), key=lambda mutant: mutant.bit) == mutants


@covers("mutation.draw")
def test_every_cell_has_the_line_that_wrote_it():
    """A register behind a port has the line of a library, and a switch none: they are the module's and the process's."""
    rtl = hosts.RTL
    text = f"""attribute \\src "{rtl}/common/lane.py:9"
module \\lane
  attribute \\src "{rtl}/common/lane.py:12"
  cell $add $1
  end
  attribute \\src "/usr/lib/amaranth/stream.py:49"
  cell $dff $2
  end
  attribute \\src "{rtl}/common/pipeline/shared_instances.py:48"
  process $3
    switch \\a
    end
  end
  attribute \\src "{rtl}/common/other.py:7"
  process $4
    switch \\b
    end
  end
end
"""
    owned = hosts.with_owners(text).splitlines()
    sources = [
        (owned[at + 1].split()[0], line.split('"')[1]) for at, line in enumerate(owned) if line.startswith("attribute")
    ]
    assert sources == [
        ("cell", "rtl/common/lane.py:12"),
        ("cell", "rtl/common/lane.py:9"),
        ("process", "rtl/common/lane.py:9"),
        ("switch", "rtl/common/lane.py:9"),
        ("process", "rtl/common/other.py:7"),
        ("switch", "rtl/common/other.py:7"),
    ]


def test_a_module_stands_in_all_copies_of_those_around_it():
    text = """module \\lane
  cell $add $1
  end
end
module \\row
  cell \\lane \\a
  end
  cell \\lane \\b
  end
end
module \\top
  cell \\row \\a
  end
  cell \\row \\b
  end
  cell \\lane \\c
  end
end
"""
    assert hosts.copies(text, "top") == {"top": 1, "row": 2, "lane": 5}


def test_a_units_cells_are_counted_by_component():
    cells = hosts.cells(Host("fidelity_multiplier", UNITS["fidelity_multiplier"].config_type()))
    assert set(cells) == {"rtl/tensix/dot/dot16:FidelityMultiplier"}
    assert cells["rtl/tensix/dot/dot16:FidelityMultiplier"] > 20
    assert set(hosts.cells(Host("ups", UNITS["ups"].config_type()))) > {
        "rtl/aie_ml_v2/convert/ups:Ups",
        "rtl/aie_ml_v2/convert/ups:UpsLane",
    }


def test_hosts_are_units_with_benches():
    for host in HOSTS:
        assert module_file(judge.bench_module(host)).is_file()
        assert isinstance(host.config, UNITS[host.unit].config_type)


def test_what_is_no_datapath_is_no_target(monkeypatch):
    ups = next(host for host in HOSTS if host.unit == "ups")
    lane = "rtl/aie_ml_v2/convert/ups:UpsLane"
    monkeypatch.setattr(hosts, "targets", lambda: {"rtl/aie_ml_v2/convert/ups:Ups": ups, lane: ups})
    for name in ("UpsLane", lane):
        assert list(hosts.find_targets((name,))) == [lane]
    # The components of a file, and all that a unit hosts.
    for name in ("ups", "rtl/aie_ml_v2/convert/ups.py"):
        assert list(hosts.find_targets((name,))) == ["rtl/aie_ml_v2/convert/ups:Ups", lane]
    with pytest.raises(
        ValueError, match="no datapath 'tensix_engine' has cells in a unit's netlist, known are rtl/aie"
    ):
        hosts.find_targets(("tensix_engine",))
    assert not hosts.is_target("rtl/tensix/engine/tensix_engine:TensixEngine")
    assert hosts.is_target("rtl/common/pipeline/pipeline_registers:Ring")


@covers("mutation.draw")
def test_what_is_left_out_is_there_and_no_operator():
    files = [f"{folder}/{file}" for folder, own in hosts.CONTROL.items() for file in own]
    assert len(files) > 30
    assert all((hosts.RTL.parent / f"{file}.py").is_file() for file in files)
    assert not [file for file in files if file.startswith("rtl/common/")]


@covers("mutation.draw")
@pytest.mark.deep
@pytest.mark.parametrize(
    "unit", ["tensor_engine", "stochastic_psum", "rmsnorm_quant", "tensix_engine", "cascade", "aie_engine"]
)
def test_what_is_left_out_computes_addresses_and_counts_alone(unit):
    """Excluded files neither negate nor invert numbers, and one operand of every sum and product is short."""
    text, _ = hosts.host_rtlil(Host(unit, UNITS[unit].config_type()))
    cells = re.findall(r'src "(\S+)\.py:\d+"\n\s*cell \$(neg|xor|add|sub|mul) \S+\n(.*?)\n\s*end$', text, re.M | re.S)
    assert cells
    for file, kind, body in cells:
        if not hosts.is_target(file):
            shortest = min(int(width) for width in re.findall(r"\\[AB]_WIDTH (\d+)", body))
            assert kind != "neg", file
            assert shortest <= (1 if kind == "xor" else ADDRESS_BITS), (file, kind)


@covers("mutation.draw", "A score over mutants of easy lines alone says little")
@pytest.mark.deep
def test_every_common_component_with_cells_of_its_own_is_a_target():
    """Every component of rtl/common with cells of its own has a row, and files without a row compute no numbers; lines take
    turns, the seed decides the draw; a cell belongs to the Python line that wrote it."""
    found = {each for unit in UNITS for each in hosts.cells(Host(unit, UNITS[unit].config_type()))}
    assert {each for each in found if each.startswith("rtl/common/")} <= set(hosts.targets())


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.unit)
def test_a_benchs_settings_are_those_of_its_coverage(host):
    settings = judge.bench_settings(host)
    assert UNITS[host.unit].covered.env.items() <= settings.items()
    assert 0 <= int(settings["BITPATH_CASES"]) <= max(judge.MOST_CASES, host.cases or 0)


@covers("mutation.resumed")
def test_a_key_has_what_decides(monkeypatch):
    own = judge.bench_key(HOSTS[0])
    monkeypatch.setenv("BITPATH_SHIFTS", "1")
    assert judge.bench_key(HOSTS[0]) != own
    monkeypatch.delenv("BITPATH_SHIFTS")
    monkeypatch.setattr(tools, "library_versions", lambda: {"numpy": "0"})
    assert judge.bench_key(HOSTS[0]) != own
    monkeypatch.undo()
    assert judge.bench_key(HOSTS[0]) == own
    monkeypatch.setattr(judge, "_bench_files", lambda host: (judge.REPLAY,))
    assert judge.bench_key(HOSTS[0]) != own


def test_a_bench_is_known_by_what_it_imports():
    modules = reached("bitpath.verif.aie_ml_v2.convert.tb_srs")
    assert {
        "bitpath.verif.kit.bench",
        "bitpath.verif.aie_ml_v2.convert.integer_lanes",
        "bitpath.golden.aie_ml_v2.convert.integers",
    } <= modules
    assert "bitpath.verif.trainium3.vector.tb_xorwow" not in modules
    with pytest.raises(ValueError, match=r"no module 'bitpath\.verif\.tb\.tb_nothing'"):
        module_file("bitpath.verif.tb.tb_nothing")


def test_the_replay_knows_streams_from_other_outputs():
    def port(name, bits=1):
        return {"name": name, "bits": bits}

    ports = SimpleNamespace(
        inputs=(port("rst"), port("i__payload", 40), port("i__valid"), port("o__ready")),
        outputs=(port("i__ready"), port("o__payload", 8), port("o__valid"), port("always__payload"), port("flag")),
    )
    table = judge.ports_table(ports)
    kinds = [
        line.strip().removesuffix(",") for line in table.split("KINDS[] = {")[1].split("};")[0].split("\n") if line
    ]
    assert kinds == [
        "{HANDSHAKE, &top->i___05Fvalid, &top->i___05Fready}",
        "{VALUE, &top->o___05Fvalid, &top->o___05Fready}",
        "{HANDSHAKE, &top->o___05Fvalid, &top->o___05Fready}",
        "{VALUE, nullptr, nullptr}",
        "{VALUE, nullptr, nullptr}",
    ]
    assert "uint8_t& CLK = top->clk;" in table
    assert "{&top->i___05Fpayload, sizeof top->i___05Fpayload, 2}" in table


# Inputs that distinguish a design from its mutant, checked against all inputs.


INPUTS, LATCHES, NAMES = 4, 2, "abcd"


def evaluated(graph, leaves):
    """Return next-state values of the latches, and the outputs, for these inputs and latch values."""
    values = [False, *leaves]

    def of(literal):
        return values[literal >> 1] ^ bool(literal & 1)

    for low, high in graph.gates:
        values.append(of(low) and of(high))
    return [of(literal) for literal in (*graph.latches, *graph.outputs)]


def random_graph(rng):
    first = 1 + INPUTS + LATCHES
    gates = [(rng.randrange(2 * own), rng.randrange(2 * own)) for own in range(first, 40)]
    latches, outputs = ([rng.randrange(80) for _ in range(count)] for count in (LATCHES, 3))
    return Graph(INPUTS, tuple(latches), tuple(outputs), tuple(gates), {name: k for k, name in enumerate(NAMES)})


@pytest.mark.parametrize("seed", range(30))
def test_of_inputs_and_states_of_both(seed):
    """The output says whether theirs differ, and each goes on from its own state."""
    rng = random.Random(seed)
    graph = random_graph(rng)
    differences = Differences(graph, "ab")
    # Twice: what one leaves must not be the other's.
    for a, b in ((1, 0), (0, 1), (1, 0)):
        difference = differences.of({"a": bool(a), "b": bool(b)})
        assert (difference.inputs, len(difference.latches), len(difference.outputs)) == (INPUTS, 2 * LATCHES, 1)
        for c, d, *states in product((False, True), repeat=2 + 2 * LATCHES):
            here = evaluated(graph, [False, False, c, d, *states[:LATCHES]])
            there = evaluated(graph, [bool(a), bool(b), c, d, *states[LATCHES:]])
            expected = [*here[:LATCHES], *there[:LATCHES], here[LATCHES:] != there[LATCHES:]]
            assert evaluated(difference, [False, False, c, d, *states]) == expected


@pytest.mark.parametrize("seed", range(30))
def test_what_is_alike_is_there_once(seed):
    """Without registers there is no difference where nothing else is chosen, and no gate that does not count."""
    graph = random_graph(random.Random(seed))
    graph = Graph(INPUTS + LATCHES, (), graph.outputs, graph.gates, graph.names)
    differences = Differences(graph, "ab")
    assert differences.of({"a": False, "b": False}) == Graph(INPUTS + LATCHES, (), (0,), ())
    difference = differences.of({"a": True, "b": False})
    assert len(set(difference.gates)) == len(difference.gates)
    used = {literal >> 1 for literal in (*difference.outputs, *(one for gate in difference.gates for one in gate))}
    assert set(range(difference.leaves, difference.leaves + len(difference.gates))) <= used


def test_outputs_are_compared_in_a_tree():
    """A thousand in a chain would be as many gates deep."""
    literals = tuple(range(4, 2004, 2))
    difference = Differences(Graph(1, literals, literals, (), {"a": 0}), "a").of({"a": True})
    depths = [0] * difference.leaves
    for low, high in difference.gates:
        depths.append(1 + max(depths[low >> 1], depths[high >> 1]))
    assert max(depths) < 16


# Verdicts from the results of replay and bench, both faked.


COUNT = 8
TRAFFIC = SimpleNamespace(tests=("first", "second"))
COMPARED = dict.fromkeys(range(1, COUNT + 1), "compared")


@dataclass(frozen=True)
class Built:
    """Fields of a build that the session reads."""

    unit: str = "mutants"
    config: object = None


class Session(judge._Session):
    """One whose replay and bench say what they are told to.

    Parameters
    ----------
    kinds : of each mutant's first difference.
    passing : mutants that the bench passes.
    stops : after so many runs of the bench on mutants, as if by Ctrl-C.
    proved : mutants that are proved equivalent.
    """

    def __init__(self, kinds, passing=(), stops=99, proved=()):
        ledger = Ledger("rtl/a", "key", COUNT, lambda: "key")
        mutants = [SimpleNamespace(shown=f"mutant {number}", module="top") for number in range(1, COUNT + 1)]
        super().__init__(SimpleNamespace(unit="unit", config=None), Built(), mutants, 1, lambda *_: None, ledger)
        self.proved = proved
        self.kinds, self.passing, self.stops = kinds, passing, stops
        self.ran = []

    def _replay(self, traffic, missing):
        for number in missing:
            self.ledger.note(number, replay=vars(Difference(self.kinds[number], number % 2, 7, "o")))

    def _fails(self, number, test):
        self.ran.append((number, test))
        if len({own for own, _ in self.ran if own}) > self.stops:
            raise KeyboardInterrupt
        return None if number in (0, *self.passing) else (KILLED, f"bench: {test}")

    def _prover(self, folder):
        proofs = {True: Proof(True, "induction"), False: Proof(False, "no proof")}

        return SimpleNamespace(prove=lambda number, module, patient=True: proofs[number in self.proved])

    @property
    def found(self):
        return [(each.verdict, each.how.partition(":")[0]) for each in self.ledger.verdicts]


@pytest.fixture
def one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(judge, "record", lambda host, seed: TRAFFIC)
    # Run the items one after the other.
    monkeypatch.setattr(judge, "side_by_side", lambda what, items, call, progress: ((i, call(i)) for i in items))


@pytest.mark.usefixtures("one_after_the_other")
def test_kills_of_the_replay_count_where_the_bench_finds_those_chosen():
    session = Session(COMPARED)
    session.work()
    assert sorted(session.found) == [(KILLED, "bench")] * 3 + [(KILLED, "replay")] * 5
    assert sum("confirmed" in each for each in session.ledger.entries.values()) == judge.CONFIRMED


@covers("mutation.honest")
@pytest.mark.usefixtures("one_after_the_other")
def test_a_bench_that_passes_one_judges_all():
    chosen = random.Random(1).sample([*COMPARED], judge.CONFIRMED)
    session = Session(COMPARED, passing=[chosen[-1]])
    session.work()
    assert sorted(session.found) == [(KILLED, "bench")] * 7 + [(SURVIVED, "no proof")]


@covers("mutation.resumed")
@pytest.mark.usefixtures("one_after_the_other")
def test_that_it_passed_one_is_known_after_an_interruption():
    """An interrupted run remembers the mutants that passed the bench and runs none of them again."""
    first = Session(COMPARED, passing=[*COMPARED], stops=1)
    with pytest.raises(KeyboardInterrupt):
        first.work()
    assert first.ledger.entries == {}
    known = {number for number in first.ledger.steps if "bench" in first.ledger.steps[number]}
    assert len(known) == 1
    again = Session(COMPARED, passing=known)
    again.work()
    assert not known & {number for number, _ in again.ran}
    assert sorted(again.found) == [(KILLED, "bench")] * 7 + [(SURVIVED, "no proof")]


@pytest.mark.usefixtures("one_after_the_other")
def test_no_more_are_confirmed_when_a_run_goes_on():
    with pytest.raises(KeyboardInterrupt):
        Session(COMPARED, stops=2).work()
    session = Session(COMPARED)
    session.work()
    assert sum("confirmed" in each for each in session.ledger.entries.values()) == judge.CONFIRMED


@covers("mutation.honest")
@pytest.mark.usefixtures("one_after_the_other")
def test_what_else_differs_is_the_benchs_to_judge():
    kinds = {1: "other", 2: "other", 3: "same", 4: "broken", **dict.fromkeys(range(5, COUNT + 1), "compared")}
    session = Session(kinds, passing=[2])
    session.work()
    assert session.found[:4] == [(KILLED, "bench"), *[(SURVIVED, "no proof")] * 2, (BROKEN, "replay")]
    # Each test that judged has passed without a mutant.
    assert {(0, test) for _, test in session.ran} <= set(session.ran)


@covers("mutation.honest")
@pytest.mark.usefixtures("one_after_the_other")
def test_a_test_that_fails_by_itself_kills_nothing():
    session = Session(COMPARED)
    session._fails = lambda number, test: (KILLED, "bench: second") if test == "second" else None
    with pytest.raises(SimulationError, match="unit: second fails without a mutant: bench: second"):
        session.work()
    assert session.ledger.entries == {}


@pytest.mark.usefixtures("one_after_the_other")
def test_what_the_bench_kills_cannot_be_equivalent():
    """Proofs that compare nothing would find all of them equal."""
    kinds = {1: "same", **dict.fromkeys(range(2, COUNT + 1), "compared")}
    with pytest.raises(SimulationError, match=r"mutant \d+ is killed by the bench and proved equivalent by induction"):
        Session(kinds, proved=range(1, COUNT + 1)).work()
    session = Session(kinds, proved=[1])
    session.work()
    assert session.found[0] == (EQUIVALENT, "induction")


# Reader and writer of and-inverter graphs in AIGER files.


# A latch with next state a AND b, and three outputs: the latch, a AND NOT b, and a constant.
FILE = b"aig 5 2 1 3 2\n8\n6\n10\n1\n" + bytes([8 - 4, 4 - 2, 10 - 5, 5 - 2]) + b"i0 a[0]\ni1 b\no0 out\nc\n"


def test_a_file_is_read_and_written():
    graph = read(FILE)
    assert graph == Graph(2, (8,), (6, 10, 1), ((2, 4), (2, 5)), {"a[0]": 0, "b": 1})
    assert FILE.startswith(graph.binary())
    # Literals that need two bytes.
    far = Graph(300, (), (602,), ((2, 600),))
    assert read(far.binary()) == far


def test_a_latch_is_cut_into_an_input_and_an_output():
    assert read(FILE).cut() == Graph(3, (), (6, 10, 1, 8), ((2, 4), (2, 5)), {"a[0]": 0, "b": 1})


def test_clauses_hold_where_the_first_output_is_1():
    graph = Graph(2, (), (7, 2), ((2, 5),))
    assert graph.clauses() == "p cnf 3 4\n-3 1 0\n-3 -2 0\n3 -1 2 0\n-3 0\n"


def test_an_invalid_file_is_refused():
    with pytest.raises(ValueError, match="no binary AIGER file"):
        read(b"aag 1 1 0 0 0\n")
    with pytest.raises(ValueError, match="1 of 3 outputs"):
        read(FILE[:20])
    with pytest.raises(ValueError, match="0 of 2 gates"):
        read(FILE[: FILE.index(b"\n1\n") + 4])
    with pytest.raises(ValueError, match="do not start at 0"):
        read(FILE.replace(b"\n8\n", b"\n8 1\n"))
