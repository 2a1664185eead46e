"""Reader and writer of and-inverter graphs in AIGER files."""

import pytest

from bitpath.sim.campaigns.circuits import Graph, read

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
