"""What a build is told of a design."""

import pytest

from bitpath.sim import build
from bitpath.sim.errors import SimulationError


def test_ports_come_from_the_verilog(tmp_path):
    """Signed ones too, which Yosys writes where a signed signal is a port."""
    file = tmp_path / "m.v"
    file.write_text(
        "module m(o, i, k);\n  output signed [31:0] o;\n  input [3:0] i;\n  input k;\n  wire k;\nendmodule\n"
    )
    job = {"top": "m", "sources": [str(file)]}
    assert build._ports(job) == [("output", "o"), ("input", "i"), ("input", "k")]
    with pytest.raises(SimulationError, match="no module n"):
        build._ports(job | {"top": "n"})
