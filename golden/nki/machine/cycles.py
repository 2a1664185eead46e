"""Cycles of instructions: closed formulas of their sizes, in cycles of their engine's clock.

N is the number of elements of a partition in the largest operand, w the elements that a lane takes a cycle.

Ref: cost paragraphs of the ``nki.isa`` docstrings of Neuron SDK 2.26.1 (2025), written for Trainium1 and 2: here COST;
"Trainium3 Architecture Guide for NKI": here ARCH3. That ARCH3's widths divide COST's formulas is inferred.
"""

from dataclasses import dataclass
from math import ceil

from bitpath.golden.trainium3.declarations.memory import ENGINE_PARTITIONS
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS

LEAST = 64
"""Cycles of the shortest instruction."""
LEAST_DYNAMIC = 600
"""Cycles of the shortest one with an address that is read at run time."""
GPSIMD_START = 150
DMA_ENGINES = PARTITIONS // ENGINE_PARTITIONS
CLOCKS = {"tensor": 2.4e9, "vector": 1.2e9, "scalar": 1.2e9, "gpsimd": 1.2e9, "dma": 1.2e9, "sync": 1.2e9}
"""Cycles a second of each engine; ARCH3. DMA is counted at VectorE's clock."""
DMA_BYTES_PER_CYCLE = 27.5
"""Bytes a cycle of 1.2 GHz of one DMA engine: 33 bytes a nanosecond. Ref: "NKI DMA overview"."""


@dataclass(frozen=True)
class CycleRules:
    """A preset.

    Attributes
    ----------
    narrow, wide : elements a cycle and lane, by engine, if all operands have at most 16 bits, and else.
    halves : whether 16-bit data halve some instructions, as COST says; widths contain it where they are given.
    """

    narrow: dict[str, int]
    wide: dict[str, int]
    halves: bool

    def width(self, engine: str, *sizes: int) -> int:
        """Return the elements a cycle and lane for operands of these byte sizes."""
        return (self.narrow if max(sizes, default=4) <= 2 else self.wide).get(engine, 1)

    def elementwise(self, engine: str, n: int, *sizes: int, factor: int = 1, extra: int = 0) -> int:
        """Return max(64, factor * N / w) + extra."""
        return max(LEAST, -(-factor * n // self.width(engine, *sizes))) + extra


RULES = {
    "trainium3": CycleRules(narrow={"vector": 4, "scalar": 2}, wide={"vector": 2, "scalar": 1}, halves=False),
    "trn2_doc": CycleRules(narrow={}, wide={}, halves=True),
}
"""Presets by name."""


def matmul_cycles(columns: int, moving: int, passes: int = 1) -> int:
    """Return passes * max(min(64, M), N); the load of the stationary operand is hidden."""
    return passes * max(min(LEAST, columns), moving)


def transpose_cycles(partitions: int, free: int, *, fp32: bool) -> int:
    """Return max(P, min(64, F)), twice for FP32."""
    return max(partitions, min(LEAST, free)) * (2 if fp32 else 1)


def gpsimd_cycles(n: int) -> int:
    """Return 150 + N."""
    return GPSIMD_START + n


def dma_cycles(loads: dict[int, int], start: int = 0, share: float = 1.0) -> int:
    """Return the cycles of the busiest DMA engine, given the bytes of each, at a share of its rate."""
    return start + ceil(max(loads.values(), default=0) / (DMA_BYTES_PER_CYCLE * share))
