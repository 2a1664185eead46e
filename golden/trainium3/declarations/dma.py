"""DMA engines of a NeuronCore: sizes, times, queues, and the rules of their additions, priorities and traffic classes.

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2026-08 (here ARCH3), and that of Trainium2 (here
ARCH2); "DMA overview" (here DMA) and "DMA bandwidth guide" (here BW) of the NKI guides; ``nki.isa`` reference pages, NKI 0.6
(here ISA); "Intra-node Collective Communications with AWS Neuron", 2025-12-02 (here COLL); the Neuron driver, 2026-08
(here DRV).
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from bitpath.golden.formats.sources import choices, chosen, documented, inferred, preset

DMA_ENGINES = 16
"""DMA engines of a core (ARCH3, DMA)."""
DMA_QUEUES = 16
"""Queues of a DMA engine."""
PRIORITIES = 4
"""Priorities of a queue; the lower one is served first."""
TRAFFIC_CLASSES = 4
"""Traffic classes of a DMA engine."""
MAX_DESCRIPTOR_BYTES = 1 << 16
"""Most bytes that a descriptor moves: its length has 16 bits, and 0 stands for 65,536 (DRV)."""
TOKENS_PER_BYTE = 256
"""Tokens that a byte takes; a class's rate is in tokens a cycle."""
MAX_RATE = (1 << 16) - 1
"""Largest rate of a class, in tokens a cycle."""
MAX_BURST = (1 << 20) - 1
"""Largest burst of a class, in bytes."""
MAX_SOURCES = 16
"""Most sources of a DMA computation."""
CHIP_CORES = 8
"""Cores of a chip: 8 ranks of one core, or 4 of two (ARCH3, COLL)."""


class CollectiveAlgorithm(Enum):
    """How a collective reduces the tensors of ranks: the order of its additions.

    ``MESH`` reduces the ranks of each chip, then the chips' partial results. ``RING`` sends chunk c around the ring: rank
    c + 1 begins, each rank adds its own chunk to what it has received, and rank c ends.
    """

    MESH = "mesh"
    RING = "ring"


@dataclass(frozen=True, kw_only=True)
class DmaTimes:
    """Time of descriptors and transfers, in cycles of `ghz`.

    A counter, cleared with each descriptor, gains `beat_gain` in every cycle and gives a beat for `beat_price`, so a
    descriptor takes ``max(descriptor_cycles, ceil(beats * beat_price / beat_gain))`` cycles.

    Attributes
    ----------
    ghz : clock.
    beat_bytes : bytes that an engine's bus moves in a cycle.
    beat_gain, beat_price : as above.
    descriptor_cycles : the shortest descriptor.
    compute_factor : cycles of a computing descriptor for one of a copy.
    start_cycles : from the semaphore to the first byte.
    hbm_bytes : bytes a cycle of the HBM, all cores together.
    """

    ghz: float
    beat_bytes: int
    beat_gain: int
    beat_price: int
    descriptor_cycles: int
    compute_factor: int
    start_cycles: int
    hbm_bytes: Fraction


TRAINIUM3_DMA = preset(
    "trainium3_dma",
    DmaTimes,
    ghz=(1.2, inferred("DMA: 38.4 GB/s an engine are 32 bytes at 1.2 GHz")),
    beat_bytes=(32, inferred("DMA: 38.4 GB/s an engine are 32 bytes at 1.2 GHz")),
    beat_gain=(55, documented("BW, DMA: 33 bytes a ns achieved, 55/64 of 38.4 GB/s")),
    beat_price=(64, documented("BW, DMA: 33 bytes a ns achieved, 55/64 of 38.4 GB/s")),
    descriptor_cycles=(
        90,
        chosen("BW's figure has its knee at 2485 bytes on Trainium2; the same knee at Trainium3's rate"),
    ),
    compute_factor=(2, documented("ARCH3: the DMA engines' own arithmetic at half the rate of a copy")),
    start_cycles=(1560, documented("BW: 1300 ns from the semaphore to the start")),
    hbm_bytes=(Fraction(11750, 3), documented("ARCH3: 4.7 TB/s; the product page says 4.9")),
)
"""Trainium3's DMA engines."""

CHOICES = choices(
    {
        "Read-add-write adds in BF16 or FP32, rounded once to nearest even, with subnormals and the canonical NaN": chosen(
            "ARCH3 names the operation and its dtypes; no document states its rounding"
        ),
        "A DMA computation converts its sources to FP32 and adds them in the order of the list, each sum rounded": chosen(
            "ISA dma_compute: sources are added; their order is not said"
        ),
        "The first source of a DMA computation is not added to +0, so that -0 and -0 give -0": chosen(
            "no document says"
        ),
        "A DMA copy takes both sides' elements in row-major order; equal dtypes move bits, others go through FP32": documented(
            "ISA dma_copy; the order is that of access patterns"
        ),
        "Rows that a DMA gathers or scatters are cast as those of a plain copy": inferred(
            "ISA dma_copy: the conversion is not limited to plain copies"
        ),
        "A gathering DMA transpose that skips a row leaves its elements of the destination as they are": inferred(
            "ISA dma_transpose: operations of an index out of bounds are skipped"
        ),
        "Indices of a DMA computation must be unique; rows outside the table are skipped on request": chosen(
            "ISA dma_compute: unique indices are the caller's promise; here they are checked"
        ),
        "A collective reduces by the mesh algorithm; the ring is an option": documented(
            "COLL: mesh below 1 MB, the ring is a fallback; larger messages take algorithms that are not modelled"
        ),
        "The ring's chunk c begins at rank c + 1 and ends at rank c, which adds its own chunk to what it received": documented(
            "COLL, Ring ReduceScatter"
        ),
        "The mesh adds the ranks of a chip, then the chips' partial results, each in the order of the group": inferred(
            "COLL, Mesh ReduceScatter, has the two steps; it does not say the order within one"
        ),
        "Each step of a collective adds in FP32, from left to right, and rounds once to the tensors' dtype": inferred(
            "COLL: a step writes its result, by DMA; the data-types page has FP32 for integers"
        ),
        "A tensor that the ranks do not divide has longer chunks first in a ring": chosen("no document says"),
        "A queue of a lower priority number is served first, strictly": documented("ARCH3; ISA priority"),
        "Queues of one priority are served round robin, behind the one served last at that priority": chosen(
            "DMA: round robin in earlier generations; no document speaks of ties between priorities"
        ),
        "A descriptor is not interrupted; the next is chosen in the cycle in which it ends": chosen("no document says"),
        "A queue has priority 3 and class 0, and no class has a limit, unless configured": chosen("no document says"),
        "A class has a bucket of tokens for each engine: full at reset, filled every cycle, and a queue of the class may be "
        "served while it holds more than 0": chosen(
            "ARCH3 names four classes and no algorithm; DRV's rate limiter registers suggest tokens"
        ),
        "A descriptor takes 256 tokens a byte when it is granted, below 0 too, so that the rate is exact in the long run": chosen(
            "no document describes the algorithm"
        ),
        "A transfer takes the time of its slowest engine, or that of its bytes in the HBM where it is longer": chosen(
            "no document describes contention in the HBM"
        ),
        "Bandwidth that a limited class leaves is not given to another limited one": chosen("no document says"),
    }
)
"""Rules that no field switches."""
