"""Configuration of the matrix engine."""

from dataclasses import dataclass, field

from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.common.config import require_power_of_two


@dataclass(frozen=True, kw_only=True)
class AieEngineConfig:
    """Configuration of the engine; the depth of each memory must be a power of two.

    Attributes
    ----------
    unit : the multiply-accumulate.
    x_depth : words of the X memory; a word is an X tile, or half of one in MX9.
    y_depth : words of the Y memory; a word is a Y tile, or half of one in MX9.
    result_depth : words of the result memory; a word is a group of ``unit.lanes`` lanes.
    """

    unit: VectorMacConfig = field(default_factory=VectorMacConfig)
    x_depth: int = 64
    y_depth: int = 128
    result_depth: int = 128

    def __post_init__(self) -> None:
        for name in ("x_depth", "y_depth", "result_depth"):
            # The results hold one output tile, the operands one step of K with a tile for each accumulator.
            least = self.unit.parts if name == "result_depth" else 2 * self.unit.accumulators
            require_power_of_two("aie_engine", name, getattr(self, name), max(16, least), 1 << 16)
