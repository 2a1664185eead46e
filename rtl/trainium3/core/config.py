"""Configurations of a DMA engine and of a core."""

from dataclasses import dataclass, field

from amaranth.utils import ceil_log2, exact_log2

from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, QUADRANT
from bitpath.rtl.common.config import UnitConfig, in_range, power_of_two
from bitpath.rtl.common.unit import registered
from bitpath.rtl.trainium3.array.psum_memory import PsumMemoryConfig
from bitpath.rtl.trainium3.array.systolic_array import CoreArrayConfig
from bitpath.rtl.trainium3.dma.dma_mover import DmaMoverConfig
from bitpath.rtl.trainium3.dma.dma_queues import DmaQueuesConfig
from bitpath.rtl.trainium3.memory.access_walker import WalkConfig
from bitpath.rtl.trainium3.memory.dge import DgeConfig
from bitpath.rtl.trainium3.memory.sbuf import QUARTERS, SbufConfig
from bitpath.rtl.trainium3.tensor.config import CorePeConfig


@dataclass(frozen=True, kw_only=True)
class DmaEngineConfig:
    """Configuration of a DMA engine.

    Attributes
    ----------
    queues, depth : as of `DmaQueuesConfig`.
    mover : the mover behind the queues.
    """

    queues: int = 4
    depth: int = 2
    mover: DmaMoverConfig = field(default_factory=DmaMoverConfig)

    def __post_init__(self) -> None:
        DmaQueuesConfig(queues=self.queues, depth=self.depth)


LANE_ENGINES = ("vector", "scalar")
"""Engines of one lane a partition, in the order of PSUM's ports."""
MAIN_PORTS = ("operands", "scales")
"""Read ports of SBUF for TensorE's main slots; they also read slots 0 and 1 of a sparse moving word."""
SLOT_PORTS = ("slot_2", "slot_3")
"""Read ports for the other slots of a sparse moving word."""
BACKGROUND_PORT = "background"
"""Read port of TensorE's background slot."""


@dataclass(frozen=True, kw_only=True)
class CoreConfig(UnitConfig, unit="core"):
    """Configuration of a core; the machine has 128 partitions of 256 KiB, 8 banks of 2 KiB and HBM of GiB.

    Attributes
    ----------
    size : partitions of SBUF and of PSUM, rows and columns of the array; a power of two from 4 to 128. MX needs 32.
    partition_bytes : bytes of an SBUF partition; a power of two from 64 to 4096.
    banks, bank_bytes : PSUM banks, and bytes of a partition in a bank; powers of two.
    hbm_bytes : bytes of HBM; a power of two.
    step_bits, num_bits : bits of a pair's step, which is signed, and of its num.
    dot : configuration of a PE of the array.
    queues : queues of each DMA engine.
    descriptor_cycles : cycles of the shortest descriptor; the machine's take 90.
    count_bits : bits of semaphores, and of the counters of cycles, descriptors and instructions, which wrap.
    """

    size: int = power_of_two(4, PARTITIONS, 4)
    partition_bytes: int = 256
    banks: int = 2
    bank_bytes: int = 64
    hbm_bytes: int = power_of_two(64, 1 << 30, 2048)
    step_bits: int = 8
    num_bits: int = 6
    dot: CorePeConfig = field(default_factory=lambda: CorePeConfig(pipeline=registered(1)))
    queues: int = 4
    descriptor_cycles: int = 8
    count_bits: int = in_range(8, 64, 32)

    def __post_init__(self) -> None:
        super().__post_init__()
        # The parts check the other fields.
        _ = self.sbuf, self.psum, self.walk, self.mover, self.dge, DmaEngineConfig(queues=self.queues)

    @property
    def has_mx(self) -> bool:
        """MX and QuantizeMX need the scales of a quadrant."""
        return self.size >= QUADRANT

    @property
    def has_sparse(self) -> bool:
        """True if the PEs have tags."""
        return self.dot.sparse

    @property
    def main_ports(self) -> tuple[str, ...]:
        """Read ports of SBUF for TensorE's main slots."""
        return (*MAIN_PORTS, *(SLOT_PORTS if self.has_sparse else ()))

    @property
    def sbuf_ports(self) -> tuple[str, ...]:
        """Read ports of SBUF: those of TensorE, which does not write, and one of each other engine."""
        return (*self.main_ports, BACKGROUND_PORT, *LANE_ENGINES)

    @property
    def tile_rows(self) -> int:
        """Rows of a row tile, a quarter of the array."""
        return self.size // QUARTERS

    @property
    def sbuf(self) -> SbufConfig:
        """SBUF; the DMA engines' movers add, and the engines check their instructions."""
        return SbufConfig(
            partitions=self.size,
            partition_bytes=self.partition_bytes,
            tile_readers=len(self.main_ports),
            readers=1,
            engines=len(LANE_ENGINES),
            adds=False,
            checks=False,
        )

    @property
    def psum(self) -> PsumMemoryConfig:
        """PSUM; the engines check their instructions, and nothing reads its counters of waits."""
        return PsumMemoryConfig(
            cols=self.size,
            banks=self.banks,
            bank_bytes=self.bank_bytes,
            # The halves of 32-bit elements of a transpose lie twice as far apart.
            step_bits=min(16, self.step_bits + 1),
            num_bits=self.num_bits,
            mains=QUARTERS,
            engines=len(LANE_ENGINES),
            wait_bits=1,
            checks=False,
        )

    @property
    def array(self) -> CoreArrayConfig:
        """The array; a row's operand memory holds twice the words that are on their way through the rows."""
        row = CoreArrayConfig(rows=self.size, cols=self.size, dot=self.dot).row_latency
        depth = 1 << ceil_log2(2 * (self.size * row + 4))
        return CoreArrayConfig(rows=self.size, cols=self.size, operand_depth=depth, dot=self.dot)

    @property
    def walk(self) -> WalkConfig:
        """Access patterns of SBUF or PSUM, which the engines have checked."""
        longest = max(self.partition_bytes, self.banks * self.bank_bytes)
        return WalkConfig(
            address_bits=exact_log2(longest), step_bits=self.step_bits, num_bits=self.num_bits, checks=False
        )

    @property
    def dge(self) -> DgeConfig:
        return DgeConfig(
            hbm_bits=exact_log2(self.hbm_bytes),
            partition_bits=exact_log2(self.partition_bytes),
            step_bits=max(self.step_bits, exact_log2(self.hbm_bytes)),
            num_bits=self.num_bits,
            cut_bits=min(16, exact_log2(self.hbm_bytes)),
        )

    @property
    def mover(self) -> DmaMoverConfig:
        """Checked moves between HBM and the partitions of a DMA engine; the highest bit of an address is 1 in SBUF."""
        longest = max(exact_log2(self.hbm_bytes), exact_log2(self.sbuf.group * self.partition_bytes))
        return DmaMoverConfig(
            beat_bytes=self.sbuf.dma_bytes,
            address_bits=longest + 1,
            descriptor_cycles=self.descriptor_cycles,
            checks=False,
        )

    @property
    def dma_engine(self) -> DmaEngineConfig:
        return DmaEngineConfig(queues=self.queues, mover=self.mover)
