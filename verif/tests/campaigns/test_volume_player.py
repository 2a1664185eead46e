"""The player detects a wrong bit, a mutated design, a dead design, and vectors that do not fit the ports."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bitpath.rtl.emit import emit
from bitpath.sim.campaigns.volume import Interface, compare, from_built, player_of
from bitpath.sim.campaigns.volume_tasks import TASKS
from bitpath.sim.engine.build import build, rtl_emitter
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.runner import Emitter
from bitpath.sim.engine.stepped import Port, module_ports
from bitpath.verif.kit.batches import Batch, Part, decoded, fill, places, side_by_side
from bitpath.verif.kit.testplan import covers

MULTIPLIER = TASKS["sweep-fidelity-multiplier"]
SOURCES = (Path(__file__), *rtl_emitter().sources)


def block(task, number=0):
    return list(task.batches(task.config(), task.rng(0, number), number))


def mutated(pattern, replacement, place=0.0):
    """Return an emitter that changes one operator: the match of the pattern at a given fraction of the Verilog."""

    def write(unit, config, folder):
        emitted = emit(unit, config, folder)
        text = emitted.files[0].read_text()
        found = list(re.finditer(pattern, text))
        chosen = found[int(place * len(found))]
        changed = chosen.expand(replacement)
        emitted.files[0].write_text(text[: chosen.start()] + changed + text[chosen.end() :])
        return emitted

    return Emitter(write, SOURCES)


def played(task, emitter):
    """A block on a unit whose Verilog another emitter wrote."""
    player = from_built(build(task.unit, task.config(), "verilator", emitter=emitter))
    return compare(player, block(task), task.layout)


@covers("deep.player", "No Python code sees the vectors, so an error that the player misses stays unknown")
@pytest.mark.simulator
def test_a_flipped_bit_in_one_answer_is_found():
    """A wrong bit, another operator, a dead design, and results that are missing, doubled or of another size are found;
    vectors that do not fit the ports are refused."""
    batches = block(MULTIPLIER)
    right = batches[1].golden

    def wrong():
        codes = right()
        codes[54321] ^= 1 << 11
        return codes

    batches[1] = replace(batches[1], golden=wrong)
    found = compare(player_of(MULTIPLIER), batches, MULTIPLIER.layout)
    assert found.mismatches == 1
    assert found.vectors == MULTIPLIER.block_vectors
    first = found.first[0]
    assert (first.batch, first.vector, first.kind) == (1, 54321, "integers, phase 0")
    # Every pair, SrcB's 1024 integers innermost.
    assert first.operands == {"is_integer": 1, "src_a": 54321 >> 10, "src_b": 54321 & 1023}
    assert first.got[0] ^ first.expected[0] == 1 << 11


@covers("deep.player")
@pytest.mark.simulator
def test_a_mutated_operator_is_found(elsewhere):
    found = played(MULTIPLIER, mutated(r"= (\S+) \* (\S+);", r"= \1 + \2;"))
    assert found.mismatches > found.vectors / 2
    assert len(found.first) == 5


@covers("deep.player")
@covers("dot16.million")
@covers("mac_lane.million")
@covers("quad_mx_dot.million")
@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize("place", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("name", ["volume-trainium3", "volume-tensix", "volume-aie_ml_v2"])
def test_a_mutated_datapath_is_found(name, place, elsewhere):
    """One AND becomes an OR."""
    found = played(TASKS[name], mutated(r"= (\S+) & (\S+);", r"= \1 | \2;", place))
    assert found.mismatches > 0


@covers("deep.player")
@pytest.mark.simulator
@pytest.mark.deep
def test_a_dead_design_fails(elsewhere):
    dead = mutated(r"assign o__valid = [^;]+;", r"assign o__valid = 1'h0;")
    with pytest.raises(
        SimulationError, match=r"playing 65536 vectors on reciprocal_\w+ failed behind answer 0: .* no further answer"
    ):
        played(TASKS["sweep-reciprocal"], dead)


@covers("deep.player")
@pytest.mark.simulator
@pytest.mark.parametrize(
    ("table", "index"),
    [
        (np.zeros((4, 3), np.uint32), None),
        (np.zeros((4, 5), np.uint32), None),
        (np.zeros((3, 4), np.uint32), None),
        (np.zeros((3, 4), np.uint32), np.array([0, 1, 2, 3])),
    ],
    ids=["too few words", "too many words", "too few rows", "a row that is not there"],
)
def test_vectors_that_do_not_fit_are_refused(table, index):
    batch = Batch("", (Part(table, index),), 4, lambda: np.zeros(4, np.uint32))
    with pytest.raises(SimulationError, match="its vectors do not fit the model's ports"):
        compare(player_of(MULTIPLIER), [batch], MULTIPLIER.layout)


@covers("deep.player")
@pytest.mark.simulator
def test_answers_of_another_size_are_refused():
    batch = block(MULTIPLIER)[0]
    batches = [replace(batch, golden=lambda: np.zeros((batch.count, 2), np.uint32))]
    with pytest.raises(ValueError, match=r"golden gave answers \(2097152, 2\), the unit \(2097152, 1\)"):
        compare(player_of(MULTIPLIER), batches, MULTIPLIER.layout)


@covers("deep.player")
@pytest.mark.simulator
@pytest.mark.deep
def test_an_answer_that_comes_twice_is_found(elsewhere):
    """The unit offers its last result for ever, so that one is repeated too."""
    stuck = mutated(r"assign o__valid = [^;]+;", r"assign o__valid = 1'h1;")
    with pytest.raises(SimulationError, match="the model gave an answer to nothing, or one answer twice"):
        played(TASKS["sweep-reciprocal"], stuck)


@covers("deep.player")
@pytest.mark.simulator
def test_a_player_that_takes_too_long_is_ended(tmp_path):
    batches = block(MULTIPLIER)
    says = r"playing 3145728 vectors on \w+: no end after 0 s"
    with player_of(MULTIPLIER).start(tmp_path, batches) as playing, pytest.raises(SimulationError, match=says):
        playing.answers(0)
    assert playing.child.returncode is not None


@covers("deep.player")
@pytest.mark.simulator
def test_answers_that_are_missing_are_noticed(tmp_path):
    with player_of(MULTIPLIER).start(tmp_path, block(MULTIPLIER)) as playing:
        playing.child.wait()
        content = playing.file.read_bytes()
        playing.file.write_bytes(content[:-4])
        with pytest.raises(SimulationError, match="failed: it gave 3145727 answers"):
            playing.answers(60)


@covers("deep.player")
def test_ports_come_from_the_verilog():
    """Yosys writes signed ports for signed signals."""
    text = "module m(b, a, o);\n  input [10:0] b;\n  wire [10:0] b;\n  input a;\n  output signed [4:0] o;\nendmodule\n"
    assert module_ports(text, "m") == [Port("input", "b", 11), Port("input", "a", 1), Port("output", "o", 5)]
    interface = Interface.of("m", text)
    assert interface == Interface("COMBINATIONAL", (("a", 1), ("b", 11)), ("o", 5))
    with pytest.raises(SimulationError, match="no module n"):
        Interface.of("n", text)


@covers("deep.player")
def test_fields_come_to_their_places():
    table = fill(2, 3, [(0, 4, [1, 2]), (30, 5, [0b10011, 31]), (64, 32, 0xFFFFFFFF)])
    assert table.tolist() == [[1 | 3 << 30, 0b100, 0xFFFFFFFF], [2 | 3 << 30, 7, 0xFFFFFFFF]]
    layout = {"low": (0, 4), "across": (30, 5), "none": (40, 8)}
    assert decoded(layout, table[0]) == {"low": 1, "across": 0b10011}
    assert side_by_side(("a", 33), ("b", 1)) == {"a": (0, 33), "b": (64, 1)}
    assert places(5, "x") == {"x": (0, 5)}
