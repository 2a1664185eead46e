"""A wave whose converter prints it as it is."""

import json
import os

import pytest

from bitpath.golden.formats.records import to_dict
from bitpath.rtl.units import find_unit
from bitpath.sim.engine.runner import WAVE
from bitpath.verif.kit.marks import COMPARED

VCD = r"""$timescale 1ps $end
$scope module quad_mx_pe_00000000 $end
$var wire 1 ! clk $end
$var wire 32 # partial_north [31:0] $end
$var wire 8 $ \moving_west.elements[0] [7:0] $end
$var wire 8 % \moving_west.scale [7:0] $end
$var wire 9 ( number__moving_west__elements_0 [8:0] $end
$var wire 1 ) \moving_west.format $end
$var wire 8 * number__moving_west__scale [7:0] $end
$var wire 32 + partial_south [31:0] $end
$var wire 32 , expected__partial_south [31:0] $end
$var wire 1 - mismatch__partial_south $end
$var wire 1 . swap_east $end
$var wire 1 / expected__swap_east $end
$var wire 1 : mismatch $end
$var reg 32 ; mismatch__actual [31:0] $end
$var reg 32 < mismatch__expected [31:0] $end
$var wire 1 & \$1 $end
$scope module dot $end
$scope module round $end
$var wire 1 ' sign $end
$upscope $end
$upscope $end
$upscope $end
$enddefinitions $end
#0
"""


@pytest.fixture
def wave(tmp_path, elsewhere, monkeypatch):
    """A wave whose converter prints it as it is."""
    folder = tmp_path / "build/runs/quad_mx_pe-00000000/one"
    folder.mkdir(parents=True)
    (folder / WAVE).write_text(VCD)
    (folder / COMPARED).write_text("partial_south\n")
    (folder / "config.json").write_text(json.dumps(to_dict(find_unit("quad_mx_pe").config_type())))
    converter = tmp_path / "bin/fst2vcd"
    converter.parent.mkdir()
    converter.write_text('#!/bin/sh\nexec cat "$1"\n')
    converter.chmod(0o755)
    monkeypatch.setenv("PATH", f"{converter.parent}{os.pathsep}{os.environ['PATH']}")
    return folder / WAVE
