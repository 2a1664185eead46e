"""Dtypes of a cast as the RTL numbers them."""

from amaranth.lib import enum

from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits


class Dtype(enum.Enum, shape=4):
    """The 13 dtypes of `FORMATS`, in its order."""

    FP32 = 0
    TF32 = 1
    BF16 = 2
    FP16 = 3
    E4M3 = 4
    E4M3FN = 5
    E5M2 = 6
    INT8 = 7
    INT16 = 8
    INT32 = 9
    UINT8 = 10
    UINT16 = 11
    UINT32 = 12


INTEGERS = (Dtype.INT8, Dtype.INT16, Dtype.INT32, Dtype.UINT8, Dtype.UINT16, Dtype.UINT32)


def dtypes_within(bits: int) -> dict[Dtype, str]:
    """Return the dtypes whose elements take at most `bits` bits in memory, with their names."""
    return {Dtype[name.upper()]: name for name in FORMATS if container_bits(name) <= bits}
