"""Configurations of the AIE-ML v2 units."""

from dataclasses import dataclass, field

from bitpath.golden.spec.aie_ml_v2 import CASCADE_BITS
from bitpath.golden.spec.aie_ml_v2_modes import INT8
from bitpath.golden.spec.aie_ml_v2_numerics import AIE_ML_V2, AieNumerics
from bitpath.golden.spec.formats import FP32
from bitpath.rtl.aie_ml_v2.mac_mode import MacMode
from bitpath.rtl.config import require_power_of_two, require_range

CASCADE_LANES = CASCADE_BITS // FP32.width
"""Accumulator lanes of a word of the cascade."""
MAX_CASCADE_STAGES = 64
"""More than a row of the machine's array has."""
MAX_INTEGER_LANES = 64
"""Accumulator lanes of 32 bits that one conversion of the machine takes at most."""


@dataclass(frozen=True, kw_only=True)
class PostAddConfig:
    """The products of a block pair and their sum.

    Attributes
    ----------
    numerics : what is computed.
    """

    numerics: AieNumerics = AIE_ML_V2.numerics


@dataclass(frozen=True, kw_only=True)
class MacLaneConfig:
    """One lane of the multiply-accumulate.

    Attributes
    ----------
    modes : what it can multiply, in the order of `MacMode`; control words ask for nothing else. What no mode needs falls
        away.
    numerics : what is computed.
    """

    modes: tuple[MacMode, ...] = tuple(MacMode)
    numerics: AieNumerics = AIE_ML_V2.numerics

    def __post_init__(self) -> None:
        if not self.modes or self.modes != tuple(mode for mode in MacMode if mode in self.modes):
            raise ValueError(
                f"mac_lane: modes is {self.modes!r}, allowed are some of the modes, each once, in their order"
            )

    def has(self, *modes: MacMode) -> bool:
        """Whether it can multiply any of these."""
        return any(mode in self.modes for mode in modes)


MX9_LANE = MacLaneConfig(modes=(MacMode.MX9,))
"""A lane that multiplies blocks of MX9 and nothing else."""


@dataclass(frozen=True, kw_only=True)
class VectorMacConfig:
    """The vector unit's multiply-accumulate with its accumulators.

    Attributes
    ----------
    lanes : of the machine's 64, as many as compute in one cycle; a power of two. A unit with fewer takes as many more
        instructions, each for a part of the result.
    accumulators : registers of 64 lanes; a power of two.
    numerics : what is computed.
    """

    lanes: int = 4
    accumulators: int = 8
    numerics: AieNumerics = AIE_ML_V2.numerics

    def __post_init__(self) -> None:
        require_power_of_two("vector_mac", "lanes", self.lanes, 1, INT8.lanes)
        require_power_of_two("vector_mac", "accumulators", self.accumulators, 2, 64)

    @property
    def parts(self) -> int:
        """Groups of lanes that an accumulator has."""
        return INT8.lanes // self.lanes


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


@dataclass(frozen=True, kw_only=True)
class MxConvertConfig:
    """FP32 to MX.

    Attributes
    ----------
    numerics : what is computed.
    """

    numerics: AieNumerics = AIE_ML_V2.numerics


@dataclass(frozen=True, kw_only=True)
class IntegerLanesConfig:
    """SRS or UPS.

    Attributes
    ----------
    lanes : accumulator lanes of 32 bits, half as many of 64; a power of two from 2 to 64.
    """

    lanes: int = 4

    def __post_init__(self) -> None:
        require_power_of_two("integer lanes", "lanes", self.lanes, 2, MAX_INTEGER_LANES)


@dataclass(frozen=True, kw_only=True)
class CascadeLinkConfig:
    """The link between two neighbours; its width and depth leave nothing to choose."""


@dataclass(frozen=True, kw_only=True)
class CascadeConfig:
    """A chain of multiply-accumulates.

    Attributes
    ----------
    stages : of the chain, 2 to 64.
    mac : each one's multiply-accumulate; its lanes are those of an accumulator register that the cascade moves.
    """

    stages: int = 2
    mac: VectorMacConfig = field(default_factory=lambda: VectorMacConfig(lanes=CASCADE_LANES))

    def __post_init__(self) -> None:
        require_range("cascade", "stages", self.stages, 2, MAX_CASCADE_STAGES)
        if self.mac.lanes != CASCADE_LANES:
            raise ValueError(
                f"cascade: the multiply-accumulate has {self.mac.lanes} lanes, {CASCADE_LANES} are allowed"
            )
