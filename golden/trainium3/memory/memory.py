"""SBUF, PSUM and HBM as bytes, of which the model knows whether anything has written them.

Ref: "Trainium/Inferentia2 Architecture Guide for NKI" and "Trainium3 Architecture Guide for NKI", AWS Neuron documentation.
Points that they leave open are in `bitpath.golden.trainium3.declarations.memory.CHOICES`.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked, integer
from bitpath.golden.trainium3.declarations.memory import HBM_BYTES, SBUF_PARTITION_BYTES
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern, HbmPattern


class Memory:
    """Rows of bytes; a row is a partition, or all of HBM. Words are little-endian."""

    def __init__(self, name: str, rows: int, row_bytes: int):
        self.name, self.row_bytes = name, row_bytes
        self._bytes = np.zeros((rows, row_bytes), np.uint8)
        self._written = np.zeros((rows, row_bytes), bool)

    def __repr__(self) -> str:
        return f"{self.name}({len(self._bytes)} x {self.row_bytes} bytes, {np.count_nonzero(self._written)} written)"

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
    """A memory of partitions."""

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
    """HBM: linear bytes.

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
