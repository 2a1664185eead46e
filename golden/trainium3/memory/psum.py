"""PSUM at addresses: banks, accumulation groups, and plain access by the engines.

Ref: "Trainium/Inferentia2 Architecture Guide for NKI" and "Trainium3 Architecture Guide for NKI", AWS Neuron documentation;
``nki.isa.nc_matmul``, psum_accumulate_flag. Points that they leave open are in
`bitpath.golden.trainium3.declarations.memory.CHOICES`.
"""

from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked, one_of
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.trainium3.declarations.memory import PSUM_BANK_BYTES, PSUM_PARTITION_BYTES
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, AccumulateFlag
from bitpath.golden.trainium3.matmul.instruction import accumulates, check_rounding
from bitpath.golden.trainium3.matmul.psum import psum_write
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern
from bitpath.golden.trainium3.memory.memory import PartitionedMemory, check_values

_FIRST = AccumulateFlag.FIRST_OVERWRITE | AccumulateFlag.FIRST_ACCUMULATE
_DTYPES = (DTYPES[FP32], DTYPES[BF16])
CLOSED = 0
"""State of a byte in no open group; in one, it is the accumulator's bytes, 4 or 2."""


class Psum(PartitionedMemory):
    """PSUM: 128 partitions of 8 banks of 2 KiB. Engines read and write it as plain memory; a matmul accumulates.

    A flag with bit 0 (overwrite) or bit 2 (accumulate) opens a group in the words that it writes, and bit 1 closes it.
    """

    def __init__(self) -> None:
        super().__init__("PSUM", PARTITIONS, PSUM_PARTITION_BYTES)
        self._open = np.full((PARTITIONS, PSUM_PARTITION_BYTES), CLOSED, np.uint8)

    @checked
    def read(self, ap: AccessPattern) -> np.ndarray:
        """Return the elements of a pattern, as `Sbuf.read`; ValueError for a word of an open group, too."""
        self._check_closed(ap, "read")
        return super().read(ap)

    @checked
    def write(self, ap: AccessPattern, values: np.ndarray) -> None:
        """Write elements in pattern order, as `Sbuf.write`; ValueError for a word of an open group, too."""
        self._check_closed(ap, "written")
        super().write(ap, values)

    @checked
    def is_open(self, ap: AccessPattern) -> np.ndarray:
        """Return for each element of a pattern whether it belongs to an open group, bool [partitions, nums...]."""
        return (self._states(ap) != CLOSED).any(axis=-1).reshape(ap.shape)

    @checked
    def accumulate(
        self,
        ap: AccessPattern,
        incoming: np.ndarray,
        *,
        flag: int = 3,
        rounding: Literal["rne", "sr"] = "rne",
        random_bits: np.ndarray | None = None,
        multi_bank: bool = False,
    ) -> None:
        """Write the array's results, or add them in FP32 to what is there: `psum_write` at addresses.

        Parameters
        ----------
        ap : float32 or bfloat16; each element once.
        incoming : FP32 codes, uint32 [partitions, nums...].
        flag : psum_accumulate_flag: bit 0 first of a group, overwrite; bit 1 last; bit 2 first, but accumulate.
        rounding, random_bits : as `nc_matmul_mx`; uint16 [partitions, nums...].
        multi_bank : whether the destination may lie in several banks.

        Raises
        ------
        TypeError : other types or dtypes.
        ValueError : other shapes, a pattern that leaves PSUM, its bank, or names an element twice; a first flag in an open
            group, or another one outside an open group of the same dtype; accumulation onto bytes that are not written.
        """
        if ap.dtype not in _DTYPES:
            raise TypeError(f"dtype of a destination in PSUM must be {one_of(_DTYPES)}, not {ap.dtype}")
        check_array("incoming", incoming, np.uint32)
        if incoming.shape != ap.shape:
            raise ValueError(f"incoming must have shape {ap.shape}, not {incoming.shape}")
        accumulate = accumulates(flag)
        mode = check_rounding(rounding, random_bits, ap.dtype, ap.shape)
        _check_places(ap, multi_bank)
        self._check_group(ap, bool(flag & _FIRST))
        present = self.load(slice(ap.start, ap.start + ap.partitions), ap) if accumulate else None
        values = psum_write(incoming, present, ap.dtype, mode, random_bits)
        check_values(ap, values)
        self.store(slice(ap.start, ap.start + ap.partitions), ap, values)
        at = self.locate(slice(ap.start, ap.start + ap.partitions), ap)
        self._open[at] = CLOSED if flag & AccumulateFlag.LAST else ap.dtype.itemsize

    def _states(self, ap: AccessPattern) -> np.ndarray:
        return self._open[self.locate(slice(ap.start, ap.start + ap.partitions), ap)]

    def _check_closed(self, ap: AccessPattern, done: str) -> None:
        if (self._states(ap) != CLOSED).any():
            raise ValueError(f"ap must not hold words of an open accumulation group, which cannot be {done}")

    def _check_group(self, ap: AccessPattern, first: bool) -> None:
        states = self._states(ap)
        if first and (states != CLOSED).any():
            raise ValueError("flag must continue or close the accumulation group that is open there, not open another")
        if not first and (states != ap.dtype.itemsize).any():
            raise ValueError(f"flag must open a group, with bit 0 or bit 2, where none of {ap.dtype} is open")


def _check_places(ap: AccessPattern, multi_bank: bool) -> None:
    places = ap.byte_offsets().reshape(-1)
    if len(np.unique(places)) != len(places):
        raise ValueError("ap must name each accumulator once, not several times")
    first, last = (int(each) // PSUM_BANK_BYTES for each in (places.min(), places.max()))
    if first != last and not multi_bank:
        raise ValueError(f"ap must lie in one bank without multi_bank, not in banks {first} to {last}")
