"""Configuration of the engine."""

from dataclasses import dataclass, field

from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.common.config import require_power_of_two


@dataclass(frozen=True, kw_only=True)
class AieEngineConfig:
    """The engine: a multiply-accumulate with memories of its own, each a power of two of words deep.

    Attributes
    ----------
    unit : the multiply-accumulate.
    x_depth : words of the memory of X, each an X tile, or half of one with MX9.
    y_depth : words of the memory of Y.
    result_depth : words of the result memory, each a group of ``unit.lanes`` lanes.
    """

    unit: VectorMacConfig = field(default_factory=VectorMacConfig)
    x_depth: int = 64
    y_depth: int = 128
    result_depth: int = 128

    def __post_init__(self) -> None:
        for name in ("x_depth", "y_depth", "result_depth"):
            # An output tile, and one step of K on as many tiles as there are accumulators.
            least = self.unit.parts if name == "result_depth" else 2 * self.unit.accumulators
            require_power_of_two("aie_engine", name, getattr(self, name), max(16, least), 1 << 16)
