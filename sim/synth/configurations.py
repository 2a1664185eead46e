"""What is synthesised: units in the configurations that the README quotes, and the yardsticks beside them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from amaranth.lib import wiring

from bitpath.golden.spec.trainium3 import TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED, TRAINIUM3_QUAD_MX_E4M3
from bitpath.rtl.aie_ml_v2.config import MX9_LANE, MacLaneConfig
from bitpath.rtl.config import PipelineConfig, digest, to_dict
from bitpath.rtl.emit import verilog_text
from bitpath.rtl.tensix.config import Dot16Config
from bitpath.rtl.trainium3.config import DotConfig
from bitpath.rtl.units import UNITS
from bitpath.sim.synth.yardsticks import Yardstick, YardstickConfig

YARDSTICK = "yardstick"


@dataclass(frozen=True)
class Design:
    """One thing to synthesise.

    Attributes
    ----------
    name : for the table.
    unit : of what; the name of a unit, or "yardstick".
    config : its configuration.
    macs : multiply-accumulates that it does in a cycle; 0 where there is no such number.
    yardstick : what its area is divided by; None for none.
    """

    name: str
    unit: str
    config: Any
    macs: int = 0
    yardstick: "Design | None" = field(default=None)

    @property
    def digest(self) -> str:
        return digest(self.unit, self.config)

    @property
    def machine(self) -> str:
        if self.unit == YARDSTICK:
            return YARDSTICK
        # A unit stands in its machine's package, bitpath.rtl.MACHINE.UNIT, or in that of all.
        return UNITS[self.unit].build.__module__.split(".")[2]

    @property
    def full_config(self) -> dict[str, Any]:
        """The whole configuration with the unit's name, as plain JSON values."""
        return {"unit": self.unit, **to_dict(self.config)}

    def verilog(self) -> tuple[str, str]:
        """Its Verilog, and the name of the top module."""
        build: Callable[[Any], wiring.Component] = Yardstick if self.unit == YARDSTICK else UNITS[self.unit].build
        top = f"{self.unit}_{self.digest}"
        return verilog_text(build(self.config), top)[0], top


def _dot(numerics: Any, stages: int) -> DotConfig:
    return DotConfig(numerics=numerics, pipeline=PipelineConfig(stages=stages))


FLOOR_4 = Design(
    "4 bare 4x4-bit multipliers and a 32-bit adder",
    YARDSTICK,
    YardstickConfig(count=4, a_bits=4, b_bits=4, adder_bits=32),
    4,
)
FLOOR_16 = Design("16 bare 7x5-bit multipliers", YARDSTICK, YardstickConfig(count=16, a_bits=7, b_bits=5), 16)
FLOOR_MX9 = Design(
    "16 bare 8x8-bit multipliers, align and normalise of an FP32 adder",
    YARDSTICK,
    YardstickConfig(count=16, a_bits=8, b_bits=8, fp32_shifters=True),
    16,
)
EXACT, ALIGNED, E4M3_ALONE = (
    preset.numerics for preset in (TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED, TRAINIUM3_QUAD_MX_E4M3)
)

QUOTED = (
    FLOOR_4,
    Design("quad_mx_dot, exact, combinational", "quad_mx_dot", _dot(EXACT, 0), 4, FLOOR_4),
    Design("quad_mx_dot, exact, four register ranks", "quad_mx_dot", _dot(EXACT, 4), 4, FLOOR_4),
    Design("quad_mx_dot, exact, E4M3 alone", "quad_mx_dot", _dot(E4M3_ALONE, 0), 4, FLOOR_4),
    Design("quad_mx_dot, aligned", "quad_mx_dot", _dot(ALIGNED, 0), 4, FLOOR_4),
    FLOOR_16,
    Design("dot16, four styles, both Dst widths", "dot16", Dot16Config(), 16, FLOOR_16),
    FLOOR_MX9,
    Design("mac_lane, MX9 alone, two accumulators", "mac_lane", MX9_LANE, 8, FLOOR_MX9),
    Design("mac_lane, six modes, two accumulators", "mac_lane", MacLaneConfig(), 16, FLOOR_MX9),
)
"""What ``make synth`` does when no unit is named."""
