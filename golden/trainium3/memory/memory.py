"""SBUF, PSUM and HBM as bytes; the model knows for each byte whether anything has written it.

Ref: "Trainium/Inferentia2 Architecture Guide for NKI" and "Trainium3 Architecture Guide for NKI", AWS Neuron documentation.
Points that they leave open are in `bitpath.golden.trainium3.declarations.memory.CHOICES`.
"""

from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked, integer, one_of
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.trainium3.declarations.memory import (
    HBM_BYTES,
    PSUM_BANK_BYTES,
    PSUM_PARTITION_BYTES,
    SBUF_PARTITION_BYTES,
)
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, AccumulateFlag
from bitpath.golden.trainium3.matmul.instruction import accumulates, check_rounding, psum_write
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern, HbmPattern


class Memory:
    """Rows of bytes; a row is a partition, or all of HBM. The words are little-endian."""

    def __init__(self, name: str, rows: int, row_bytes: int):
        self.name, self.row_bytes = name, row_bytes
        self._bytes = np.zeros((rows, row_bytes), np.uint8)
        self._written = np.zeros((rows, row_bytes), bool)

    def __repr__(self) -> str:
        return f"{self.name}({len(self._bytes)} x {self.row_bytes} bytes, {np.count_nonzero(self._written)} written)"

    @property
    def image(self) -> np.ndarray:
        """A copy of all bytes, uint8 [rows, row bytes]; a byte that nothing has written is 0."""
        return self._bytes.copy()

    def load(self, rows: slice, ap: AccessPattern | HbmPattern) -> np.ndarray:
        """Return the elements of a pattern in these rows, [rows, nums...] of its dtype."""
        at = self.locate(rows, ap)
        if not self._written[at].all():
            row, *place = (int(each[0]) for each in np.nonzero(~self._written[at]))
            byte = int(at[1][0, *place])
            raise ValueError(
                f"{self.name} must be written before it is read, not be read at {self._where(rows, row, byte)}"
            )
        return self._bytes[at].view(ap.dtype).reshape(-1, *(num for _, num in ap.pattern))

    def store(self, rows: slice, ap: AccessPattern | HbmPattern, values: np.ndarray) -> None:
        """Write elements [rows, nums...]; of elements at one place the last one stays."""
        at = self.locate(rows, ap)
        size = ap.dtype.itemsize
        self._bytes[at] = np.ascontiguousarray(values).view(np.uint8).reshape(len(at[0]), -1, size)
        self._written[at] = True

    def locate(self, rows: slice, ap: AccessPattern | HbmPattern) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of each byte of a pattern: rows [rows, 1, 1] and bytes [1, elements, size]."""
        if rows.stop > len(self._bytes):
            raise ValueError(
                f"start and partitions must stay below partition {len(self._bytes)}, not reach {rows.stop - 1}"
            )
        if ap.end() > self.row_bytes:
            raise ValueError(
                f"the pattern must stay below byte {self.row_bytes} of {self.name}, not reach byte {ap.end() - 1}"
            )
        places = ap.byte_offsets().reshape(-1, 1) + np.arange(ap.dtype.itemsize)
        return np.arange(rows.start, rows.stop).reshape(-1, 1, 1), places[np.newaxis]

    def _where(self, rows: slice, row: int, byte: int) -> str:
        return f"byte {byte} of partition {rows.start + row}"


class PartitionedMemory(Memory):
    """A memory of partitions, with a state for each byte."""

    @checked
    def read(self, ap: AccessPattern) -> np.ndarray:
        """Return the elements of a pattern, [partitions, nums...] of its dtype.

        Raises
        ------
        TypeError : `ap` is no `AccessPattern`.
        ValueError : the pattern leaves the memory, or a byte has not been written.
        """
        return self.load(_rows(ap), ap)

    @checked
    def write(self, ap: AccessPattern, values: np.ndarray) -> None:
        """Write elements [partitions, nums...] in pattern order: of two at one place the later one stays.

        Raises
        ------
        TypeError : `ap` is no `AccessPattern`, `values` no array of its dtype.
        ValueError : the pattern leaves the memory, or another shape.
        """
        check_values(ap, values)
        self.store(_rows(ap), ap, values)


class Sbuf(PartitionedMemory):
    """SBUF: partitions of bytes, in quadrants of 32.

    Parameters
    ----------
    partitions : 1 to 128.
    partition_bytes : 1 to 262,144.

    Raises
    ------
    TypeError, ValueError : no integers, or other numbers.
    """

    @checked
    def __init__(self, partitions: int = PARTITIONS, partition_bytes: int = SBUF_PARTITION_BYTES):
        integer("partitions", partitions, range(1, PARTITIONS + 1))
        integer("partition_bytes", partition_bytes, range(1, SBUF_PARTITION_BYTES + 1))
        super().__init__("SBUF", partitions, partition_bytes)


class Hbm(Memory):
    """HBM as linear bytes, with a state for each.

    Parameters
    ----------
    size : bytes, 1 to 144 * 2**30. The operating system gives memory to what is written.

    Raises
    ------
    TypeError, ValueError : no integer, or another number.
    """

    @checked
    def __init__(self, size: int):
        integer("size", size, range(1, HBM_BYTES + 1))
        super().__init__("HBM", 1, size)

    @checked
    def read(self, ap: HbmPattern) -> np.ndarray:
        """Return the elements of a pattern, [nums...] of its dtype; errors as `Sbuf.read`."""
        return self.load(slice(0, 1), ap)[0]

    @checked
    def write(self, ap: HbmPattern, values: np.ndarray) -> None:
        """Write elements [nums...] in pattern order; errors as `Sbuf.write`."""
        check_values(ap, values)
        self.store(slice(0, 1), ap, values)

    def _where(self, rows: slice, row: int, byte: int) -> str:
        return f"byte {byte}"


def check_values(ap: AccessPattern | HbmPattern, values: np.ndarray) -> None:
    """Raise unless values have a pattern's dtype and shape."""
    check_array("values", values, ap.dtype)
    if values.shape != ap.shape:
        raise ValueError(f"values must have shape {ap.shape}, not {values.shape}")


def _rows(ap: AccessPattern) -> slice:
    return slice(ap.start, ap.start + ap.partitions)


# Copies between memories of partitions, by access patterns.
#
# Ref: "NKI access patterns", AWS Neuron documentation, 2026-08; the order of an overlapping copy is in
# `bitpath.golden.trainium3.declarations.memory.CHOICES`.


@checked
def copy_elements(
    destination: PartitionedMemory, dst_ap: AccessPattern, source: PartitionedMemory, src_ap: AccessPattern
) -> None:
    """Copy bits: element i of `src_ap` to element i of `dst_ap`, i ascending, in every partition.

    Where both patterns overlap in one memory, an element that the copy itself has written is read anew: a copy by one
    element to the right repeats the first.

    Raises
    ------
    TypeError : other types.
    ValueError : dtypes, partition counts or element counts that differ; errors of `read` and `write`.
    """
    if dst_ap.dtype != src_ap.dtype:
        raise ValueError(f"dst_ap must have the dtype of src_ap, {src_ap.dtype}, not {dst_ap.dtype}")
    for what, of_dst, of_src in (
        ("partitions", dst_ap.partitions, src_ap.partitions),
        ("elements", dst_ap.size, src_ap.size),
    ):
        if of_dst != of_src:
            raise ValueError(f"dst_ap must have as many {what} as src_ap, {of_src}, not {of_dst}")
    values = source.read(src_ap).reshape(src_ap.partitions, -1)
    if destination is source:
        _repeat(values, dst_ap, src_ap)
    destination.write(dst_ap, values.reshape(dst_ap.shape))


def _repeat(values: np.ndarray, dst_ap: AccessPattern, src_ap: AccessPattern) -> None:
    """Put into `values` [partitions, elements] the elements that the copy itself has written before it reads them."""
    shift = src_ap.start - dst_ap.start
    shared = range(max(0, -shift), min(dst_ap.partitions, dst_ap.partitions - shift))
    if not shared:
        return
    writer: dict[int, int] = {}
    for i, (read, written) in enumerate(
        zip(src_ap.byte_offsets().ravel().tolist(), dst_ap.byte_offsets().ravel().tolist(), strict=True)
    ):
        if read in writer:
            # Partition p of the source is partition p + shift of the destination.
            for p in shared:
                values[p, i] = values[p + shift, writer[read]]
        writer[written] = i


# PSUM at addresses: banks, accumulation groups, and plain access by the engines.
#
# Ref: "Trainium/Inferentia2 Architecture Guide for NKI" and "Trainium3 Architecture Guide for NKI", AWS Neuron documentation;
# ``nki.isa.nc_matmul``, psum_accumulate_flag. Points that they leave open are in
# `bitpath.golden.trainium3.declarations.memory.CHOICES`.


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
        """Write the array's results, or add them in FP32 to the partial sums there: `psum_write` at addresses.

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
