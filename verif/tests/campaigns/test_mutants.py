"""Choice of mutants, the source line of each cell, and the units that judge a mutant."""

import re
from types import SimpleNamespace

import pytest

from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.mutation import hosts, judge
from bitpath.sim.campaigns.mutation.hosts import HOSTS, Host
from bitpath.sim.engine import tools
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.imports import module_file, reached
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
