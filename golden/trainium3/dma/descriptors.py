"""Descriptors of a DMA transfer: runs of bytes that are contiguous at source and destination.

Ref: "Trainium/Inferentia2 Architecture Guide for NKI" and "DMA overview", AWS Neuron documentation; aws-neuron-driver.
Points that they leave open are in `bitpath.golden.trainium3.declarations.memory.CHOICES`.
"""

from dataclasses import dataclass

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.trainium3.declarations.dma import DMA_ENGINES, MAX_DESCRIPTOR_BYTES
from bitpath.golden.trainium3.declarations.memory import (
    ENGINE_PARTITIONS,
    HBM_BYTES,
    SBUF_ADDRESS,
    SBUF_PARTITION_BYTES,
)
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern, HbmPattern


@dataclass(frozen=True, slots=True)
class Descriptor:
    """One run of bytes.

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
