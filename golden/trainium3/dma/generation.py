"""Generation of descriptors: who makes them, what is allowed, and the time that it takes.

Ref: "Descriptor generation" of the NKI guides and ``nki.isa.dma_copy``, NKI 0.6, AWS Neuron documentation; numbers are in
`bitpath.golden.trainium3.declarations.memory`.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from bitpath.golden.arrays.arguments import check_choice, checked, integer, numerics_of
from bitpath.golden.trainium3.declarations.memory import TRAINIUM3_GENERATION, DescriptorGeneration

Generator = Literal["hwdge", "swdge", "none"]
"""Who generates descriptors: the DGE behind a sequencer, GpSimd's software, or the host beforehand."""
DgeMode = Literal["unknown", "hwdge", "swdge", "none"]
HWDGE_ENGINES = ("scalar", "sync")
"""Engines whose sequencers have a hardware DGE behind them."""


@dataclass(frozen=True, kw_only=True)
class GenerationTime:
    """Cost of the descriptors of an instruction.

    Attributes
    ----------
    cycles : cycles of 1.2 GHz before the first descriptor is there, or all of them with swdge.
    gpsimd_cycles : cycles of them in which GpSimd is busy.
    hbm_bytes : HBM traffic of descriptors that the host prepared.
    """

    cycles: int
    gpsimd_cycles: int
    hbm_bytes: int


@checked
def choose_mode(
    dge_mode: DgeMode = "unknown",
    *,
    indirect: bool = False,
    cast: bool = False,
    engine: str = "sync",
    runtime_address: bool = False,
) -> Generator:
    """Return who generates the descriptors of a transfer: "hwdge", "swdge" or "none".

    Parameters
    ----------
    dge_mode : "unknown" takes hwdge where it is allowed, else swdge if the transfer is indirect or casts, else none.
    indirect : whether indices name rows, which only swdge takes.
    cast : whether the dtypes differ, which hwdge does not take.
    engine : engine that triggers the transfer: "scalar" and "sync" have a hardware DGE.
    runtime_address : whether an address is known at run time only, which none does not take.

    Raises
    ------
    TypeError, ValueError : an unknown mode or engine, or a mode that does not take such a transfer.
    """
    check_mode(dge_mode)
    check_choice("engine", engine, ("tensor", "vector", "scalar", "gpsimd", "sync"))
    refused = {
        "hwdge": (
            "an index" if indirect else "a cast" if cast else "" if engine in HWDGE_ENGINES else f"engine {engine!r}"
        ),
        "swdge": "",
        "none": "an index" if indirect else "a runtime address" if runtime_address else "",
    }
    if dge_mode == "unknown":
        needs_software = indirect or cast or runtime_address
        return "hwdge" if not refused["hwdge"] else "swdge" if needs_software else "none"
    if refused[dge_mode]:
        raise ValueError(f"dge_mode must be one that takes {refused[dge_mode]}, not {dge_mode!r}")
    return dge_mode


@checked
def generation_time(
    dge_mode: Generator, descriptors: int, *, numerics: DescriptorGeneration | None = None
) -> GenerationTime:
    """Return the cost of a transfer's descriptors.

    hwdge takes 720 cycles, then a descriptor a cycle for each queue; swdge 150 and a cycle for each descriptor; the host none,
    but 32 bytes of HBM for each.

    Raises
    ------
    TypeError, ValueError : another mode, or a negative number.
    """
    numerics = numerics_of(numerics, TRAINIUM3_GENERATION)
    check_choice("dge_mode", dge_mode, get_args(Generator))
    if integer("descriptors", descriptors) < 0:
        raise ValueError(f"descriptors must be 0 or more, not {descriptors}")
    software = numerics.swdge_cycles + numerics.swdge_descriptor_cycles * descriptors if dge_mode == "swdge" else 0
    return GenerationTime(
        cycles=numerics.hwdge_cycles if dge_mode == "hwdge" else software,
        gpsimd_cycles=software,
        hbm_bytes=numerics.host_bytes * descriptors if dge_mode == "none" else 0,
    )


def check_mode(dge_mode: str) -> None:
    """Raise TypeError or ValueError for an unknown mode."""
    check_choice("dge_mode", dge_mode, get_args(DgeMode))
