"""Configurations of the tile's units."""

from dataclasses import dataclass

from amaranth.utils import exact_log2

from bitpath.golden.aie_ml_v2.declarations.tile import (
    ADDRESS_BITS,
    BANK_BYTES,
    BANK_WORDS,
    MODULE_PAIRS,
    MODULES,
    STREAM_IN_WORDS,
    STREAM_OUT_WORDS,
)
from bitpath.rtl.common.config import require_power_of_two, require_range


@dataclass(frozen=True, kw_only=True)
class AguConfig:
    """Configuration of address generation.

    Attributes
    ----------
    address_bits : bits of pointers, modifiers, sizes and counters; 20 on the machine.
    """

    address_bits: int = ADDRESS_BITS

    def __post_init__(self) -> None:
        require_range("agu", "address_bits", self.address_bits, 2, ADDRESS_BITS)


@dataclass(frozen=True, kw_only=True)
class DataMemoryConfig:
    """Configuration of data memory; the machine has 4 modules of 4 pairs of banks of 256 words of 32 bytes.

    Attributes
    ----------
    modules, pairs : modules, and pairs of banks in each; powers of two from 1 to 4.
    words : words of a bank, a power of two from 2 to 256.
    bank_bytes : bytes of a word, a power of two from 2 to 32.
    round_robin : whether an outside port goes before the core after a cycle in which it waited; else it gives way always.
    """

    modules: int = 2
    pairs: int = 2
    words: int = 4
    bank_bytes: int = 4
    round_robin: bool = False

    def __post_init__(self) -> None:
        require_power_of_two("data_memory", "modules", self.modules, 1, MODULES)
        require_power_of_two("data_memory", "pairs", self.pairs, 1, MODULE_PAIRS)
        require_power_of_two("data_memory", "words", self.words, 2, BANK_WORDS)
        require_power_of_two("data_memory", "bank_bytes", self.bank_bytes, 2, BANK_BYTES)

    @property
    def line_bytes(self) -> int:
        """Bytes of the widest access, a word of both banks of a pair."""
        return 2 * self.bank_bytes

    @property
    def all_pairs(self) -> int:
        return self.modules * self.pairs

    @property
    def byte_bits(self) -> int:
        """Bits of a byte's place in a bank's word."""
        return exact_log2(self.bank_bytes)

    @property
    def word_bits(self) -> int:
        """Bits of a word's place in its bank."""
        return exact_log2(self.words)

    @property
    def used_bits(self) -> int:
        """Bits of an address in the memory."""
        return self.byte_bits + 1 + self.word_bits + exact_log2(self.all_pairs)


@dataclass(frozen=True, kw_only=True)
class VectorRegistersConfig:
    """Configuration of the vector registers; the machine has 6 Y of four W of 256 bits.

    Attributes
    ----------
    pairs : Y registers, 1 to 6.
    w_bits : bits of a W, a power of two from 8 to 256; F has a quarter, G and E an eighth of it.
    """

    pairs: int = 2
    w_bits: int = 16

    def __post_init__(self) -> None:
        require_range("vector_registers", "pairs", self.pairs, 1, 6)
        require_power_of_two("vector_registers", "w_bits", self.w_bits, 8, 256)


@dataclass(frozen=True, kw_only=True)
class AccumulatorRegistersConfig:
    """Configuration of the accumulators; the machine has 8 dm of four bm of 512 bits.

    Attributes
    ----------
    accumulators : dm registers, 1 to 8.
    bm_bits : bits of a bm, a power of two from 8 to 512.
    """

    accumulators: int = 2
    bm_bits: int = 16

    def __post_init__(self) -> None:
        require_range("accumulator_registers", "accumulators", self.accumulators, 1, 8)
        require_power_of_two("accumulator_registers", "bm_bits", self.bm_bits, 8, 512)


@dataclass(frozen=True, kw_only=True)
class LoadFifoConfig:
    """Configuration of a load FIFO.

    Attributes
    ----------
    latency : cycles from a request to its line of memory; 6 on the machine, whose memory is read in cycle 5. With 1 the
        requests come in the cycle of the access.
    """

    latency: int = 6

    def __post_init__(self) -> None:
        require_range("load_fifo", "latency", self.latency, 1, 8)


@dataclass(frozen=True, kw_only=True)
class StoreFifoConfig:
    """Configuration of the store FIFO.

    Attributes
    ----------
    latency : cycles from a push to its bytes; 4 on the machine, which writes to memory in cycle 6.
    late : cycles more of a push that converts; 2 on the machine.
    """

    latency: int = 4
    late: int = 2

    def __post_init__(self) -> None:
        require_range("store_fifo", "latency", self.latency, 1, 8)
        require_range("store_fifo", "late", self.late, 1, 4)


@dataclass(frozen=True, kw_only=True)
class StreamPortConfig:
    """Configuration of the stream ports.

    Attributes
    ----------
    inputs : streams into the core, 1 or 2.
    in_words, out_words : words of a buffer in, 1 to 16, and out, 3 to 16. A buffer out of two words would take none in the
        cycle in which its first word moves to the output.
    """

    inputs: int = 1
    in_words: int = STREAM_IN_WORDS
    out_words: int = STREAM_OUT_WORDS

    def __post_init__(self) -> None:
        require_range("stream_port", "inputs", self.inputs, 1, 2)
        require_range("stream_port", "in_words", self.in_words, 1, 16)
        require_range("stream_port", "out_words", self.out_words, 3, 16)
