"""Configurations of the DMA units."""

from dataclasses import dataclass, field

from amaranth.utils import exact_log2

from bitpath.golden.trainium3.declarations.dma import DMA_QUEUES, TRAINIUM3_DMA
from bitpath.golden.trainium3.declarations.memory import ENGINE_PARTITIONS, TRAINIUM3_TRANSPOSE
from bitpath.rtl.common.config import PipelineConfig, require_power_of_two, require_range

TIMES = TRAINIUM3_DMA.numerics
BEAT_BYTES = TIMES.beat_bytes


@dataclass(frozen=True, kw_only=True)
class DmaCastConfig:
    """Configuration of a cast of beats.

    Attributes
    ----------
    beat_bytes : bytes of a beat, a power of two from 4 to 32; the machine's have 32.
    pipeline : pipeline stages, 0 to 2.
    checks : whether dtypes are checked; without it they must be right.
    """

    beat_bytes: int = 4
    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=2))
    checks: bool = True

    def __post_init__(self) -> None:
        require_power_of_two("dma_cast", "beat_bytes", self.beat_bytes, 4, BEAT_BYTES)
        require_range("dma_cast", "stages", self.pipeline.stages, 0, 2)


@dataclass(frozen=True, kw_only=True)
class ReadAddWriteConfig:
    """Configuration of read-add-write.

    Attributes
    ----------
    beat_bytes : bytes of a beat, a power of two from 4 to 32; the machine's have 32.
    address_bits : bits of a word's address.
    checks : whether modes are checked; without it they must be right.
    """

    beat_bytes: int = 4
    address_bits: int = 4
    checks: bool = True

    def __post_init__(self) -> None:
        require_power_of_two("read_add_write", "beat_bytes", self.beat_bytes, 4, BEAT_BYTES)
        require_range("read_add_write", "address_bits", self.address_bits, 1, 40)


@dataclass(frozen=True, kw_only=True)
class DmaQueuesConfig:
    """Configuration of the queues of a DMA engine.

    Attributes
    ----------
    queues : a power of two from 2 to 16; the machine's engines have 16.
    depth : descriptors that a queue holds.
    body_bits : bits of a descriptor beside its length.
    """

    queues: int = 4
    depth: int = 2
    body_bits: int = 8

    def __post_init__(self) -> None:
        require_power_of_two("dma_queues", "queues", self.queues, 2, DMA_QUEUES)
        require_range("dma_queues", "depth", self.depth, 1, 1 << 10)
        require_range("dma_queues", "body_bits", self.body_bits, 1, 1 << 10)


@dataclass(frozen=True, kw_only=True)
class DmaMoverConfig:
    """Configuration of the mover of a DMA engine.

    Attributes
    ----------
    beat_bytes : bytes of a beat and of a word of memory, a power of two from 4 to 32; the machine's have 32.
    address_bits : bits of a byte's address, in both memories, which have 8 words or more.
    descriptor_cycles : cycles of the shortest descriptor, 4 to 90; the machine's take 90.
    checks : whether descriptors are checked; without it they must be right.
    """

    beat_bytes: int = 4
    address_bits: int = 8
    descriptor_cycles: int = TIMES.descriptor_cycles
    checks: bool = True

    def __post_init__(self) -> None:
        require_power_of_two("dma_mover", "beat_bytes", self.beat_bytes, 4, BEAT_BYTES)
        require_range("dma_mover", "address_bits", self.address_bits, self.offset_bits + 3, 40)
        require_range("dma_mover", "descriptor_cycles", self.descriptor_cycles, 4, TIMES.descriptor_cycles)

    @property
    def offset_bits(self) -> int:
        """Bits of a byte's place in a word."""
        return exact_log2(self.beat_bytes)

    @property
    def writes(self) -> ReadAddWriteConfig:
        """The configuration of read-add-write behind the mover, which has no other modes than those of checked descriptors."""
        bits = self.address_bits - self.offset_bits
        return ReadAddWriteConfig(beat_bytes=self.beat_bytes, address_bits=bits, checks=False)

    @property
    def cast(self) -> DmaCastConfig:
        """The configuration of the cast in the mover."""
        return DmaCastConfig(beat_bytes=self.beat_bytes, checks=False)


@dataclass(frozen=True, kw_only=True)
class DmaTransposeConfig:
    """Configuration of an engine's part of a DMA transpose; the machine's engines have 8 partitions, and tiles of 16 elements.

    Attributes
    ----------
    columns : partitions of the engine, a power of two from 2 to 8.
    elements : elements of a partition in a tile, a power of two from 4 to 16.
    address_bits : bits of a byte's address in the source.
    count_bits : bits of the number of elements of an axis.
    row_bits : bits of the place of a result in its partition.
    depth : beats that may be on their way behind their requests.
    """

    columns: int = 2
    elements: int = 4
    address_bits: int = 8
    count_bits: int = 4
    row_bits: int = 5
    depth: int = 4

    def __post_init__(self) -> None:
        require_power_of_two("dma_transpose", "columns", self.columns, 2, ENGINE_PARTITIONS)
        require_power_of_two("dma_transpose", "elements", self.elements, 4, TRAINIUM3_TRANSPOSE.numerics.tile_elements)
        require_range("dma_transpose", "address_bits", self.address_bits, 4, 40)
        require_range("dma_transpose", "count_bits", self.count_bits, 1, 16)
        require_range("dma_transpose", "row_bits", self.row_bits, 1, 16)
        require_range("dma_transpose", "depth", self.depth, 2, 64)

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat: an element of 4 bytes, or two of 2 bytes, of each partition."""
        return 4 * self.columns

    @property
    def row_bytes(self) -> int:
        """Bytes of a result: a partition's elements of 2 bytes, or half of those of 4 bytes."""
        return 2 * self.elements
