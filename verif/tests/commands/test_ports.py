"""Reader of the ports of emitted Verilog."""

import pytest

from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.ports import Port, module_ports

VERILOG = "module m(o, i, k);\n  output signed [31:0] o;\n  input [3:0] i;\n  input k;\n  wire k;\nendmodule\n"


def test_ports_come_from_the_verilog():
    """Signed ports included, which Yosys writes for signed signals."""
    assert module_ports(VERILOG, "m") == [Port("output", "o", 32), Port("input", "i", 4), Port("input", "k", 1)]


def test_a_module_that_is_not_there_is_told():
    with pytest.raises(SimulationError, match="no module n"):
        module_ports(VERILOG, "n")
