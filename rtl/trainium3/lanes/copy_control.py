"""Ports of the copy lanes.

Ref: ``nki.isa.tensor_copy`` reference page, NKI 0.6.
"""

from amaranth.lib import data, enum

from bitpath.rtl.trainium3.dma.dma_cast import Pair

WORD_BYTES = 8
"""Bytes of a partition that a port of SBUF reads or writes in a cycle."""


class Engine(enum.Enum, shape=1):
    """The engine whose lane copies."""

    VECTOR = 0
    SCALAR = 1


class Stride(enum.Enum, shape=2):
    """The larger of the innermost strides of source and destination."""

    NONE = 0  # elements lie side by side in both
    SHORT = 1  # up to 16 bytes
    LONG = 2  # above


class CopyMode(data.Struct):
    """What decides the elements a cycle."""

    pair: Pair
    engine: Engine
    psum: 1  # source or destination lies in PSUM
    stride: Stride
    indirect: 1  # a gather or a scatter


class CopyCommand(data.Struct):
    """A row of 1 to 65,536 elements; ``rest`` is one less."""

    mode: CopyMode
    rest: 16


class CopyWord(data.Struct):
    """Bytes of the destination: ``mask`` tells those that the row has; the others are zeros, above them."""

    data: 8 * WORD_BYTES
    mask: WORD_BYTES
    last: 1
