"""Descriptors of a DMA transfer: runs of bytes that are contiguous at source and destination.

Ref: "Trainium/Inferentia2 Architecture Guide for NKI" and "DMA overview", AWS Neuron documentation; aws-neuron-driver.
Points that they leave open are in `bitpath.golden.trainium3.declarations.memory.CHOICES`.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, checked, integer, numerics_of
from bitpath.golden.trainium3.declarations.dma import DMA_ENGINES, MAX_DESCRIPTOR_BYTES
from bitpath.golden.trainium3.declarations.memory import (
    ENGINE_PARTITIONS,
    HBM_BYTES,
    SBUF_ADDRESS,
    SBUF_PARTITION_BYTES,
    TRAINIUM3_GENERATION,
    DescriptorGeneration,
)
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern, HbmPattern

# Generation of descriptors: who makes them, their limits, and the time that it takes.
#
# Ref: "Descriptor generation" of the NKI guides and ``nki.isa.dma_copy``, NKI 0.6, AWS Neuron documentation; numbers are in
# `bitpath.golden.trainium3.declarations.memory`.


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


@dataclass(frozen=True, slots=True)
class Descriptor:
    """One run of bytes, from source to destination.

    Attributes
    ----------
    engine : DMA engine, 0 to 15, that moves it.
    source, destination : byte addresses: HBM from 0 on, SBUF ``2**38 + 262144 * partition + byte``.
    bytes : length, 1 to 65,536; of the wider side where the transfer casts.
    """

    engine: int
    source: int
    destination: int
    bytes: int

    @property
    def hbm_bytes(self) -> int:
        """Bytes of HBM that it reads and writes."""
        return self.bytes * ((self.source < SBUF_ADDRESS) + (self.destination < SBUF_ADDRESS))


@checked
def descriptors(dst_ap: AccessPattern | HbmPattern, src_ap: AccessPattern | HbmPattern) -> tuple[Descriptor, ...]:
    """Return the descriptors of a transfer, in the order in which both patterns are walked, partition after partition.

    A run ends where either side is not contiguous, at the end of a partition, and every 65,536 bytes from its start.

    Parameters
    ----------
    dst_ap, src_ap : `AccessPattern` in SBUF or `HbmPattern` in HBM. Beside SBUF the first pair of an `HbmPattern` has as many
        elements as there are partitions. Dtypes that differ make a cast.

    Raises
    ------
    TypeError : other types.
    ValueError : element or partition counts that differ, or a pattern that leaves its memory.
    """
    for name, ap in (("dst_ap", dst_ap), ("src_ap", src_ap)):
        if not isinstance(ap, AccessPattern | HbmPattern):
            raise TypeError(f"{name} must be an AccessPattern or an HbmPattern, not {type(ap).__name__}")
    if dst_ap.size != src_ap.size:
        raise ValueError(f"dst_ap must have as many elements as src_ap, {src_ap.size}, not {dst_ap.size}")
    in_sbuf = isinstance(dst_ap, AccessPattern) or isinstance(src_ap, AccessPattern)
    partitions = src_ap.shape[0]
    if in_sbuf and dst_ap.shape[0] != partitions:
        raise ValueError(f"dst_ap must have as many partitions as src_ap, {partitions}, not {dst_ap.shape[0]}")
    source, destination = _addresses("src_ap", src_ap), _addresses("dst_ap", dst_ap)
    breaks = (np.diff(source) != src_ap.dtype.itemsize) | (np.diff(destination) != dst_ap.dtype.itemsize)
    if in_sbuf:
        # Bytes of two partitions are not contiguous, though the last address of one is next to the first of the other.
        breaks[len(source) // partitions - 1 :: len(source) // partitions] = True
    starts = np.concatenate(([0], np.flatnonzero(breaks) + 1))
    lengths = np.diff(starts, append=len(source))
    width = max(src_ap.dtype.itemsize, dst_ap.dtype.itemsize)
    longest = MAX_DESCRIPTOR_BYTES // width
    pieces = -(-lengths // longest)
    first = np.repeat(starts, pieces)
    # Number of each piece in its run.
    piece = np.arange(len(first)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    first += piece * longest
    count = np.minimum(np.repeat(lengths, pieces) - piece * longest, longest)
    columns = (_engines(dst_ap, src_ap, first), source[first], destination[first], count * width)
    return tuple(Descriptor(*row) for row in zip(*(each.tolist() for each in columns), strict=True))


def _addresses(name: str, ap: AccessPattern | HbmPattern) -> np.ndarray:
    """Return the address of each element, in element order, int64 [size]."""
    limit, memory = (HBM_BYTES, "HBM") if isinstance(ap, HbmPattern) else (SBUF_PARTITION_BYTES, "an SBUF partition")
    if ap.end() > limit:
        raise ValueError(f"{name} must stay below byte {limit} of {memory}, not reach byte {ap.end() - 1}")
    offsets = ap.byte_offsets().reshape(-1)
    if isinstance(ap, HbmPattern):
        return offsets
    partitions = ap.start + np.arange(ap.partitions, dtype=np.int64)
    return (SBUF_ADDRESS + SBUF_PARTITION_BYTES * partitions[:, np.newaxis] + offsets).reshape(-1)


def _engines(dst_ap: AccessPattern | HbmPattern, src_ap: AccessPattern | HbmPattern, first: np.ndarray) -> np.ndarray:
    """Return the engine of each descriptor, given its first element."""
    sbuf = next((ap for ap in (dst_ap, src_ap) if isinstance(ap, AccessPattern)), None)
    if sbuf is None:
        return np.arange(len(first)) % DMA_ENGINES
    return (sbuf.start + first // (sbuf.size // sbuf.partitions)) // ENGINE_PARTITIONS
