"""AWS Trainium3's memories, access patterns, indirect access and descriptors: limits, presets, standing of every choice.

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2026-08 (here ARCH3), those of Trainium2 (here ARCH2)
and of Trainium and Inferentia2 (here ARCH1); ``nki.isa`` reference pages, NKI 0.6 (here ISA); "NKI access patterns" (here
AP), "Descriptor generation" (here DGE) and "DMA overview" (here DMA) of the NKI guides; aws-neuron-driver (here DRV).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from bitpath.golden.formats.sources import choices, chosen, documented, inferred, preset
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, PSUM_BANKS, QUADRANT

SBUF_PARTITION_BYTES = 262_144
"""Bytes of an SBUF partition (ARCH3)."""
PSUM_BANK_BYTES = 2048
"""Bytes of a PSUM bank in each partition: 512 FP32 or 1024 BF16 numbers (ARCH1)."""
PSUM_PARTITION_BYTES = PSUM_BANKS * PSUM_BANK_BYTES
"""Bytes of a PSUM partition (ARCH1)."""
HBM_BYTES = 144 << 30
"""Bytes of a device's HBM (ARCH3)."""
SBUF_ADDRESS = 1 << 38
"""Base of SBUF in the addresses of descriptors; HBM begins at 0 and ends below it."""
MAX_PAIRS = 4
"""Pairs of step and num in an access pattern (AP, ARCH1); the HBM side of a DMA transfer has one more."""
NUM_RANGE = (1, 65_535)
"""Smallest and largest num of a pair (ARCH1)."""
STEP_RANGE = (-32_768, 32_767)
"""Smallest and largest step of a pair, in elements (ARCH1)."""
PARTITION_STARTS: Mapping[int, tuple[int, ...]] = {
    QUADRANT: (0, 32, 64, 96),
    2 * QUADRANT: (0, 64),
    PARTITIONS: (0,),
}
"""Start partitions by the largest partition count that may use them (ARCH1)."""
ENGINE_PARTITIONS = 8
"""Consecutive SBUF partitions of a DMA engine (DMA)."""


class IndexLists(Enum):
    """The rows of an index tile that form an offset list."""

    SHARED = "shared"  # the first G rows serve all partitions
    GROUPED = "grouped"  # each group of G partitions has its own G rows


@dataclass(frozen=True, kw_only=True)
class IndirectNumerics:
    """Indirect access by the compute engines.

    Attributes
    ----------
    index_rows : G of ``offset i = index[i % G, i // G]`` for VectorE, ScalarE and GpSimd.
    tensor_index_rows : G for TensorE.
    lists : which rows form a list.
    """

    index_rows: int
    tensor_index_rows: int
    lists: IndexLists


TRAINIUM3_INDIRECT = preset(
    "trainium3_indirect",
    IndirectNumerics,
    index_rows=(16, documented("ARCH3, Tensor indirection")),
    tensor_index_rows=(32, documented("ARCH3, Tensor indirection")),
    lists=(IndexLists.SHARED, chosen("ARCH3: one offset list; no document says what the rows beyond the first G do")),
)
"""One offset list, stored down the first G rows of the index tile, then along its columns."""
TRAINIUM3_INDIRECT_GROUPED = TRAINIUM3_INDIRECT.variant(
    "trainium3_indirect_grouped",
    lists=(IndexLists.GROUPED, chosen("for study: the rows beyond the first G would serve their own partitions")),
)
"""The other reading: a list for each group of G partitions."""


@dataclass(frozen=True, kw_only=True)
class DescriptorGeneration:
    """Cost of descriptors, by who generates them; cycles of 1.2 GHz.

    Attributes
    ----------
    swdge_cycles, swdge_descriptor_cycles : GpSimd's cycles for an instruction, and for each descriptor.
    hwdge_cycles : a DGE's cycles for an instruction; then descriptors come at one a cycle for each queue.
    host_bytes : HBM bytes that the host's read and write descriptors of one run take.
    """

    swdge_cycles: int
    swdge_descriptor_cycles: int
    hwdge_cycles: int
    host_bytes: int


TRAINIUM3_GENERATION = preset(
    "trainium3_descriptor_generation",
    DescriptorGeneration,
    swdge_cycles=(150, inferred("the cost model of GpSimd's instructions in the ISA page of 2025-10")),
    swdge_descriptor_cycles=(1, chosen("no document says")),
    hwdge_cycles=(720, documented("ARCH2: about 600 ns an instruction")),
    host_bytes=(32, documented("DRV: 16 bytes each for the read and the write descriptor")),
)
"""Descriptors prepared by the host, by GpSimd's software, or by the hardware DGE."""


@dataclass(frozen=True, kw_only=True)
class TransposeRates:
    """Rate of a DMA transpose.

    Attributes
    ----------
    tile_elements : elements of a partition in a tile, which all DMA engines write together.
    bytes_per_cycle : bytes a cycle of 1.2 GHz that the engines move together.
    from_hbm, from_sbuf : share of it that a transpose reaches.
    """

    tile_elements: int
    bytes_per_cycle: int
    from_hbm: Fraction
    from_sbuf: Fraction


TRAINIUM3_TRANSPOSE = preset(
    "trainium3_dma_transpose",
    TransposeRates,
    tile_elements=(16, documented("ARCH2: tiles of 128 partitions by 16 elements")),
    bytes_per_cycle=(440, inferred("16 engines at the 33 bytes a nanosecond of the NKI guides")),
    from_hbm=(Fraction(9, 10), documented("ARCH2: up to 90 %, on Trainium2")),
    from_sbuf=(Fraction(1, 2), documented("ARCH2: up to 50 %, on Trainium2")),
)
"""Trainium2's shares at Trainium3's rate."""

PRESETS = {
    each.name: each
    for each in (TRAINIUM3_INDIRECT, TRAINIUM3_INDIRECT_GROUPED, TRAINIUM3_GENERATION, TRAINIUM3_TRANSPOSE)
}
"""Presets by name. They are of three dataclasses."""

CHOICES = choices(
    {
        "SBUF's byte b of partition p has the address base + 262144 * p + b": inferred(
            "ARCH1: the free dimension comes first, then the next partition; the stride is the partition's size"
        ),
        "SBUF's base is 2**38 and HBM's is 0": chosen("no document has the core's address map"),
        "Words are little-endian": chosen("documented for x4 words and scales alone"),
        "A byte that nothing has written is an error when it is read": chosen("contents after reset are undefined"),
        "A step of 0 repeats an element": chosen("no document forbids it"),
        "Limits of num and step and the start partitions bind the compute engines; a DMA pattern stays inside its memory": chosen(
            "ARCH1 states them for engines; a descriptor has plain addresses"
        ),
        "An overlapping copy goes element by element in pattern order, so a copy by one repeats the first": chosen(
            "no document says"
        ),
        "A result in BF16 takes 2 bytes of PSUM": chosen("ARCH3 gives a bank of 1024 BF16 numbers"),
        "A PSUM word belongs to an open group from the first flag to the last; nothing else may read or write it": chosen(
            "ISA names the flags and no error; a program that does so has lost a partial sum"
        ),
        "A matmul's destination lies in one bank unless the program asks for several": chosen(
            "ISA allows N up to the whole of PSUM; one bank is the older limit"
        ),
        "Of equal offsets in a scatter the last one stays": chosen("no document says"),
        "num_elem is G * columns of the index unless it is given": chosen(
            "ISA says index.size, though only G rows are read"
        ),
        "An index is uint32 or uint16; an offset beyond the operand is an error": chosen("no document says"),
        "A descriptor moves bytes that are contiguous on both sides and in one partition; longer runs are cut every 65536": chosen(
            "ARCH1: a DMA buffer; where a run is cut is not documented"
        ),
        "SBUF partition p is engine p // 8's, that of the destination between two SBUF tensors": documented(
            "DMA; the destination's is chosen"
        ),
        "Descriptor n of a copy in HBM is engine n mod 16's": chosen("no document says"),
        "With a cast the bytes of the wider side count": chosen("no document says"),
        "Descriptors come from hwdge where it is allowed, else from swdge if indirect or cast, else from the host": chosen(
            "ISA's mode unknown leaves it to the compiler"
        ),
        "A DMA transpose takes whole tiles of 128 partitions by 16 elements": chosen("ARCH2 speaks of whole tiles"),
    }
)
"""Rules that no field switches; `bitpath numerics` lists them behind the presets."""
