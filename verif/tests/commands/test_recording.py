"""Assignment of a bench's reads of outputs to the cycles of a recording."""

from types import SimpleNamespace

import pytest
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.verif.kit import looks
from bitpath.verif.kit.recording import COMPARED, READ, Recorder
from bitpath.verif.kit.scoreboard import Scoreboard
from bitpath.verif.kit.testplan import covers

SIGNATURE = wiring.Signature({"i": In(8), "o": Out(8), "flag": Out(1)})
PERIOD = 10


@pytest.fixture(autouse=True)
def after():
    yield
    looks.noted = None


class Recording:
    """A recorder with given cycles: the values of the outputs, and the reads since the previous cycle."""

    def __init__(self, tmp_path, *, clocked=True):
        dut = {"i": object(), "o": object(), "flag": object()} | ({"clk": object(), "rst": object()} if clocked else {})
        self.recorder = Recorder(SimpleNamespace(**dut), SIGNATURE, tmp_path / "traffic.npz")

    def cycle(self, shown, reads=(), compared=()):
        recorder = self.recorder
        looks.noted = looks.Looks(list(reads), list(compared))
        recorder._before, recorder._shown = recorder._shown, dict(enumerate(shown))
        recorder._look(recorder.cycles * PERIOD if recorder.clocked else None)
        recorder.cycles += 1


def test_a_comparison_at_the_falling_edge_counts_in_its_cycle(tmp_path):
    recording = Recording(tmp_path)
    recording.cycle(("101", "0"))
    recording.cycle(("110", "1"), [(10, "o"), (11, "flag")], [(10, "o", 6, 3), (11, "flag", 0, 1)])
    # A scoreboard with another value has not compared this output.
    assert recording.recorder.looks == {(1, 0): COMPARED, (1, 1): READ}


def test_a_read_between_two_edges_counts_in_both_cycles(tmp_path):
    """A read between two edges, say after the rising edge at 5, counts for both cycles; a comparison counts for neither."""
    recording = Recording(tmp_path)
    recording.cycle(("101", "0"), [(0, "flag")])
    recording.cycle(("110", "1"), [(7, "o")], [(7, "o", 5, 3), (7, "flag", 0, 1)])
    assert recording.recorder.looks == {(0, 0): READ, (1, 0): READ, (0, 1): COMPARED}


@covers("mutation.honest")
def test_a_comparison_without_a_read_does_not_count(tmp_path):
    recording = Recording(tmp_path)
    recording.cycle(("101", "0"), [(0, "o")])
    recording.cycle(("101", "0"), (), [(10, "o", 5, 3)])
    recording.cycle(("XXX", "0"), [(20, "o")], [(20, "o", 5, 3)])
    recording.cycle(("101", "0"), [(30, "i")], [(30, "i", 5, 3), (30, "lane 0", 5, 3)])
    # The lowest bits alone are not the whole value.
    recording.cycle(("001", "0"), [(40, "o")], [(40, "o", 1, 1)])
    assert recording.recorder.looks == {(0, 0): READ, (2, 0): READ, (4, 0): READ}


def test_a_scoreboard_of_another_name_notes_its_output(monkeypatch):
    monkeypatch.setattr(looks, "get_sim_time", lambda: 10)
    looks.noted = looks.Looks()
    board = Scoreboard("value", 3, output="o")
    board.expect(5, "any")
    board.got(5)
    assert looks.noted.compared == [(10, "o", 5, 3)]


def test_without_a_clock_looks_come_after_their_moment(tmp_path):
    recording = Recording(tmp_path, clocked=False)
    recording.cycle(("101", "0"))
    recording.cycle(("110", "0"), [(10, "o")], [(10, "o", 5, 3)])
    assert recording.recorder.looks == {(0, 0): COMPARED}
