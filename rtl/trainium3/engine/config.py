"""Configuration of the tensor engine."""

from dataclasses import dataclass, field

from bitpath.golden.trainium3.declarations.quad_mx import MAX_MOVING_FP32
from bitpath.rtl.common.config import require_power_of_two
from bitpath.rtl.trainium3.array.config import ArrayConfig, PsumConfig


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """Configuration of the tensor engine: array, PSUM and sequencers.

    Attributes
    ----------
    array : PEs and operand memory.
    psum_banks, psum_bank_depth : banks of PSUM and words of each; see :class:`PsumConfig`.
    chain_depth : moving words whose partial sums fit the chain memory between two passes over the rows; it limits the
        moving size of a contraction of several passes.
    """

    array: ArrayConfig = field(default_factory=ArrayConfig)
    psum_banks: int = 4
    psum_bank_depth: int = 256
    chain_depth: int = 64

    def __post_init__(self) -> None:
        require_power_of_two("tensor_engine", "chain_depth", self.chain_depth, 2, MAX_MOVING_FP32)
        require_power_of_two("tensor_engine", "psum_banks", self.psum_banks, 2, 8)
        require_power_of_two("tensor_engine", "psum_bank_depth", self.psum_bank_depth, 2, 1 << 16)

    @property
    def psum(self) -> PsumConfig:
        """PSUM, whose modes the engine checks."""
        return PsumConfig(
            cols=self.array.cols,
            lanes=self.array.groups,
            banks=self.psum_banks,
            bank_depth=self.psum_bank_depth,
            checks=False,
        )
