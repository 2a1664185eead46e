"""Configuration of the tile."""

from dataclasses import dataclass, field

from bitpath.golden.aie_ml_v2.declarations.codes import VECTOR_BITS
from bitpath.golden.aie_ml_v2.declarations.tile import BANK_BYTES, BANK_WORDS
from bitpath.rtl.aie_ml_v2.tile.data_memory import DataMemoryConfig
from bitpath.rtl.aie_ml_v2.tile.registers import AccumulatorRegistersConfig, VectorRegistersConfig
from bitpath.rtl.aie_ml_v2.vector.config import NativeMacConfig
from bitpath.rtl.common.config import UnitConfig, in_range


@dataclass(frozen=True, kw_only=True)
class AieTileConfig(UnitConfig, unit="aie_tile"):
    """Configuration of the tile. Its lanes and the widths of its registers are the machine's.

    Attributes
    ----------
    multiply : products and numerics; without MX9 it has neither shuffles nor pushes.
    pairs : Y registers, 1 to 6; the machine has 6.
    accumulators : dm registers, 1 to 8; the machine has 8.
    memory : banks, whose words have 32 bytes.
    """

    multiply: NativeMacConfig = field(default_factory=NativeMacConfig)
    pairs: int = in_range(1, 6, 2)
    accumulators: int = in_range(1, 8, 2)
    memory: DataMemoryConfig = field(
        default_factory=lambda: DataMemoryConfig(modules=2, pairs=1, words=BANK_WORDS, bank_bytes=BANK_BYTES)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory.bank_bytes != BANK_BYTES:
            raise ValueError(f"aie_tile: memory.bank_bytes must be {BANK_BYTES}, not {self.memory.bank_bytes}")

    @property
    def vector_registers(self) -> VectorRegistersConfig:
        return VectorRegistersConfig(pairs=self.pairs, w_bits=VECTOR_BITS // 2)

    @property
    def accumulator_registers(self) -> AccumulatorRegistersConfig:
        return AccumulatorRegistersConfig(accumulators=self.accumulators, bm_bits=VECTOR_BITS)
