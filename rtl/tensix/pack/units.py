"""Units of the packer room: the packer."""

from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.pack.layouts import PackerConfig
from bitpath.rtl.tensix.pack.packer import Packer

UNITS = (
    Unit(
        name="packer",
        room="tensix/pack",
        config_type=PackerConfig,
        build=Packer,
        summary="Tensix: a row of 16 words of Dst to L1",
        covered=Covered(PackerConfig(), 500),
        judges=(Judge(21, PackerConfig()),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("early conversion", r"early_"),
            WaveGroup("ReLU", r"relu_"),
            WaveGroup("late conversion", r"late_"),
            WaveGroup("block", r"block"),
            WaveGroup("add to L1", r"(add_|round_|code_)"),
            OUTPUT,
        ),
    ),
)
