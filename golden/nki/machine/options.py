"""What a run may choose: the machine, its numerics, and how strict the model is."""

import os
from dataclasses import dataclass, field
from enum import IntEnum

from bitpath.golden.trainium3.declarations.quad_mx import ScaleRule
from bitpath.golden.trainium3.declarations.vector import SumOrder


class nc_version(IntEnum):
    """Generations of the NeuronCore; later ones compare as greater. Ref: ``nki.isa`` reference page."""

    gen2 = 2
    gen3 = 3
    gen4 = 4


@dataclass(frozen=True)
class Limits:
    """Sizes that differ between generations.

    Attributes
    ----------
    version : the generation.
    partition_bytes : bytes of an SBUF partition.
    usable_bytes : those that kernels may allocate.
    most_moving : columns of a matmul's moving operand, by bytes of the result's element.
    """

    version: nc_version
    partition_bytes: int
    usable_bytes: int
    most_moving: dict[int, int]


KIB = 1024
_RESERVED = 16 * KIB + 8
"""Bytes of a partition that kernels leave free. Inferred: kernels subtract them."""
LIMITS = {
    "trn2": Limits(nc_version.gen3, 224 * KIB, 224 * KIB - _RESERVED, {4: 512, 2: 512}),
    "trn3": Limits(nc_version.gen4, 256 * KIB, 256 * KIB - _RESERVED, {4: 4096, 2: 8192}),
}
"""Limits by platform target."""
TARGET = "NEURON_PLATFORM_TARGET_OVERRIDE"
"""The vendor's environment variable. Ref: "NKI simulator" guide."""
ALIASES = {"gen3": "trn2", "gen4": "trn3"}


@dataclass(frozen=True)
class Options:
    """Options of a run.

    Attributes
    ----------
    target : "trn3" or "trn2", whose limits hold; what the environment variable :data:`TARGET` says, or "trn3". The numerics
        are Trainium3's.
    strict : whether warnings are errors: unwritten and aliased reads, races, undefined accumulation, invalid arguments.
    new_memory : what memory without an address holds at first: "nan", and 4 in integers, or "zero", for kernels that
        multiply what nothing has written by 0.
    strict_memory : whether a tensor that finds no place is an error; else it gets memory of its own.
    scale_rule : rule of quantize_mx's scales.
    sum_order : order of sums along the free dimensions.
    cycles : preset of the cycle rules: "trainium3" or "trn2_doc".
    sub_version : revision of the silicon, which ``get_nc_sub_version`` returns.
    dma_start : cycles of 1.2 GHz that each DMA instruction takes beside its bytes.
    """

    target: str = field(default_factory=lambda: os.environ.get(TARGET, "trn3"))
    strict: bool = False
    new_memory: str = "nan"
    strict_memory: bool = False
    scale_rule: ScaleRule = ScaleRule.OCP
    sum_order: SumOrder = SumOrder.SERIAL
    cycles: str = "trainium3"
    dma_start: int = 0
    sub_version: int = 0
    limits: Limits = field(init=False)

    def __post_init__(self) -> None:
        target = ALIASES.get(self.target, self.target)
        if target not in LIMITS:
            raise ValueError(f"target must be trn3 (gen4) or trn2 (gen3), not {self.target!r}")
        if self.new_memory not in ("nan", "zero"):
            raise ValueError(f"new_memory must be nan or zero, not {self.new_memory!r}")
        object.__setattr__(self, "limits", LIMITS[target])
