"""Layout of an MX block's bits in memory and in the vector, E, F and G registers, and of BFP16EBS8's tiles in memory.

Ref: AM027 and UG1639; llvm-aie for the registers' widths; XDNA2 for the tiles. Open points are listed in
`bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import (
    BFP16EBS8,
    MX4,
    MX4_PADDING,
    MX_BLOCK,
    MX_FORMATS,
    MX_FORMS,
    TILE_BLOCKS,
    MxFormat,
)
from bitpath.golden.aie_ml_v2.operands.arguments import check_shifts, in_groups, joined, mx_format
from bitpath.golden.arrays.arguments import check_array, checked, one_of
from bitpath.golden.scalar.checked import as_array

# Arrays of blocks: exponent, shift bits and element codes.


@dataclass(frozen=True, eq=False)
class MxBlocks:
    """Blocks along the last axis of a tensor: of 16 elements, in BFP16EBS8 of 8.

    Attributes
    ----------
    fmt : the format, or its name.
    exponent : uint8 [..., B], the shared exponents, bias 127.
    shift : uint8 [..., B]; bit j belongs to elements 2j and 2j + 1. BFP16EBS8 has no shifts: 0.
    codes : int8 [..., B, 16 | 8], -2**m to 2**m - 1.

    Raises
    ------
    TypeError, ValueError : another format, dtype, shape, or a shift or code that does not fit.
    """

    fmt: MxFormat
    exponent: np.ndarray
    shift: np.ndarray
    codes: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "fmt", mx_format(self.fmt, name="fmt"))
        for name in ("exponent", "shift", "codes"):
            object.__setattr__(self, name, as_array(name, getattr(self, name)))
        check_array("exponent", self.exponent, np.uint8)
        check_array("shift", self.shift, np.uint8)
        check_array("codes", self.codes, np.int8)
        if self.shift.shape != self.exponent.shape:
            raise ValueError(f"shift must have exponent's shape {self.exponent.shape}, not {self.shift.shape}")
        if not self.fmt.has_shifts and self.shift.any():
            raise ValueError(f"shift must be 0 in {self.fmt.name}, not {self.shift.max():#x}")
        if self.exponent.ndim < 1 or self.codes.shape != (*self.exponent.shape, self.fmt.elements):
            expected = ", ".join(map(str, (*self.exponent.shape, self.fmt.elements)))
            raise ValueError(f"codes must have shape [{expected}] with at least two axes, not {self.codes.shape}")
        lowest, highest = self.fmt.min_code, self.fmt.max_code
        if self.codes.size and (self.codes.min() < lowest or self.codes.max() > highest):
            raise ValueError(
                f"codes reach from {self.codes.min()} to {self.codes.max()}; {self.fmt.name} has {lowest} to {highest}"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the arrays of exponents and shifts, the last axis being that of blocks."""
        return self.exponent.shape

    @property
    def element_shifts(self) -> np.ndarray:
        """The shift of every element, int8 [..., B, 16 | 8]."""
        pairs = self.shift[..., np.newaxis] >> np.arange(self.fmt.elements // 2, dtype=np.uint8) & 1
        return pairs.repeat(2, axis=-1).view(np.int8)

    def __getitem__(self, key: Any) -> "MxBlocks":
        """Index the axes of `shape`; the axis of blocks has to stay."""
        index = key if isinstance(key, tuple) else (key,)
        whole = index if Ellipsis in index else (*index, Ellipsis)
        return MxBlocks(self.fmt, self.exponent[whole], self.shift[whole], self.codes[(*whole, slice(None))])


@dataclass(frozen=True, eq=False)
class MxRegisters:
    """A register group that holds 64, 128 or 256 elements.

    Attributes
    ----------
    fmt : the format, or its name.
    data : uint8 [..., n] of the vector register: the MX9 codes, or the low nibbles of MX6 codes, element 0 lowest.
    f : uint8 [..., n], one bit an element, the MX6 codes' signs; no bytes with MX9.
    g : uint8 [..., n], shift bits: four in the low nibble for 8 elements of MX9, eight for 16 elements of MX6.
    e : uint8 [..., n], exponents for as many elements.

    Raises
    ------
    TypeError, ValueError : another format, dtype, or sizes that do not belong together.
    """

    fmt: MxFormat
    data: np.ndarray
    f: np.ndarray
    g: np.ndarray
    e: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "fmt", mx_format(self.fmt, MX_FORMATS, name="fmt"))
        check_shifts("fmt", self.fmt)
        for name in ("data", "f", "g", "e"):
            object.__setattr__(self, name, as_array(name, getattr(self, name)))
            check_array(name, getattr(self, name), np.uint8)
        form = MX_FORMS[self.fmt]
        sizes = {elements * form.data_bits // 8: elements for elements in form.elements}
        if self.data.ndim < 1 or self.data.shape[-1] not in sizes:
            raise ValueError(f"data must have a last axis of {one_of(sizes)}, not {self.data.shape}")
        elements = sizes[self.data.shape[-1]]
        count = elements // form.elements_per_byte
        for name, size in (("f", elements * form.msb_bits // 8), ("g", count), ("e", count)):
            expected = (*self.data.shape[:-1], size)
            if getattr(self, name).shape != expected:
                raise ValueError(f"{name} must have shape {expected}, not {getattr(self, name).shape}")


@checked
def pack_mx(blocks: MxBlocks) -> np.ndarray:
    """Return blocks as memory holds them: uint8 [..., B, 18 | 12 | 8], exponent, shifts, codes.

    Codes are a little-endian bit stream, element 0 lowest.

    Raises
    ------
    TypeError, ValueError : `blocks` are no MxBlocks, or of BFP16EBS8.
    """
    check_shifts("blocks", blocks.fmt)
    codes = _bytes(_bits(blocks.codes.astype(np.int64), blocks.fmt.width))
    return np.concatenate([blocks.exponent[..., np.newaxis], blocks.shift[..., np.newaxis], codes], axis=-1)


@checked
def unpack_mx(data: np.ndarray, format: MxFormat | str) -> MxBlocks:
    """Return the blocks of their bytes in memory; the inverse of `pack_mx`.

    Raises
    ------
    TypeError, ValueError : another dtype, format, or number of bytes.
    """
    fmt = mx_format(format, MX_FORMATS)
    check_shifts("format", fmt)
    check_array("data", data, np.uint8)
    if data.ndim < 2 or data.shape[-1] != fmt.block_bytes:
        raise ValueError(f"data must have shape [..., B, {fmt.block_bytes}] for {fmt.name}, not {data.shape}")
    codes = _signed(_numbers(data[..., 2:], fmt.width), fmt.width)
    return MxBlocks(fmt, data[..., 0].copy(), data[..., 1].copy(), codes.astype(np.int8))


@checked
def pack_tile(blocks: MxBlocks) -> np.ndarray:
    """Return blocks of BFP16EBS8 as memory holds them: uint8 [..., T, 72] of [..., 8 * T] blocks.

    A tile is 64 bytes of codes, block by block, then the 8 exponents.

    Raises
    ------
    TypeError, ValueError : no MxBlocks, another format, or a number of blocks that fills no tiles.
    """
    if blocks.fmt != BFP16EBS8:
        raise ValueError(f"blocks must be in {BFP16EBS8.name}, not in {blocks.fmt.name}")
    if blocks.shape[-1] % TILE_BLOCKS:
        raise ValueError(
            f"blocks must have a multiple of {TILE_BLOCKS} blocks on the last axis, not {blocks.shape[-1]}"
        )
    codes = in_groups(joined(blocks.codes), TILE_BLOCKS * BFP16EBS8.elements).view(np.uint8)
    return np.concatenate([codes, in_groups(blocks.exponent, TILE_BLOCKS)], axis=-1)


@checked
def unpack_tile(data: np.ndarray) -> MxBlocks:
    """Return the blocks [..., 8 * T] of tiles uint8 [..., T, 72]; the inverse of `pack_tile`.

    Raises
    ------
    TypeError, ValueError : another dtype or number of bytes.
    """
    size = TILE_BLOCKS * BFP16EBS8.block_bytes
    check_array("data", data, np.uint8)
    if data.ndim < 2 or data.shape[-1] != size:
        raise ValueError(f"data must have shape [..., T, {size}], not {data.shape}")
    codes, exponent = np.split(data, [size - TILE_BLOCKS], axis=-1)
    exponent = joined(exponent)
    return MxBlocks(
        BFP16EBS8, exponent.copy(), np.zeros_like(exponent), in_groups(joined(codes), BFP16EBS8.elements).view(np.int8)
    )


@checked
def to_registers(blocks: MxBlocks) -> MxRegisters:
    """Return the registers that hold the B blocks of the last axis; B is 4, 8 or 16.

    An MX9 block's exponent is stored twice, for elements 0 to 7 and 8 to 15, each with four shift bits. MX4 codes are
    stored times four in the form of MX6.

    Raises
    ------
    TypeError, ValueError : no MxBlocks, of BFP16EBS8, or another number of blocks.
    """
    check_shifts("blocks", blocks.fmt)
    form = MX_FORMS[blocks.fmt]
    if blocks.shape[-1] * MX_BLOCK not in form.elements:
        counts = one_of(elements // MX_BLOCK for elements in form.elements)
        raise ValueError(f"blocks must have {counts} blocks on the last axis, not {blocks.shape[-1]}")
    words = blocks.codes.astype(np.int64) << (MX4_PADDING if blocks.fmt is MX4 else 0)
    bits = _bits(words, form.data_bits + form.msb_bits)
    halves = MX_BLOCK // form.elements_per_byte
    shift = blocks.shift[..., np.newaxis]
    if halves == 2:
        shift = np.concatenate([shift & 0xF, shift >> 4], axis=-1)
    return MxRegisters(
        blocks.fmt,
        data=joined(_bytes(bits[..., : form.data_bits])),
        f=joined(_bytes(bits[..., form.data_bits :])),
        g=joined(shift),
        e=blocks.exponent.repeat(halves, axis=-1),
    )


@checked
def from_registers(registers: MxRegisters) -> MxBlocks:
    """Return the blocks that registers hold; the inverse of `to_registers`.

    Raises
    ------
    TypeError : no MxRegisters.
    ValueError : two halves of an MX9 block with different exponents, G bytes above 15 there, MX4 codes whose padding is
        not 0.
    """
    fmt, form = registers.fmt, MX_FORMS[registers.fmt]
    numbers = _numbers(registers.data, form.data_bits)
    if form.msb_bits:
        numbers |= _numbers(registers.f, form.msb_bits) << form.data_bits
    numbers = in_groups(_signed(numbers, form.data_bits + form.msb_bits), MX_BLOCK)
    exponent, shift = registers.e, registers.g
    if MX_BLOCK // form.elements_per_byte == 2:
        if np.any(exponent[..., ::2] != exponent[..., 1::2]):
            raise ValueError("e must hold equal exponents for the halves of a block, not different ones")
        if np.any(shift > 0xF):
            raise ValueError(f"g must be 0 to 0xf, not {shift.max():#x}")
        exponent, shift = exponent[..., ::2], shift[..., ::2] | shift[..., 1::2] << 4
    if fmt is MX4:
        if np.any(numbers & (1 << MX4_PADDING) - 1):
            raise ValueError("data must hold zeros below the bits of mx4's codes, not ones")
        numbers >>= MX4_PADDING
    return MxBlocks(fmt, exponent.copy(), shift.copy(), numbers.astype(np.int8))


def _bits(numbers: np.ndarray, width: int) -> np.ndarray:
    """Return the low `width` bits of int64 numbers, lowest first, as uint8 [..., width]."""
    return (numbers[..., np.newaxis] >> np.arange(width) & 1).astype(np.uint8)


def _bytes(bits: np.ndarray) -> np.ndarray:
    """Return bytes from bits [..., n, width], the first the lowest; n * width is a multiple of 8."""
    return np.packbits(joined(bits), axis=-1, bitorder="little")


def _numbers(data: np.ndarray, width: int) -> np.ndarray:
    """Return int64 [..., n] numbers of `width` bits from bytes; the inverse of `_bits` and `_bytes`."""
    bits = np.unpackbits(np.ascontiguousarray(data), axis=-1, bitorder="little").astype(np.int64)
    return (in_groups(bits, width) << np.arange(width)).sum(axis=-1)


def _signed(numbers: np.ndarray, width: int) -> np.ndarray:
    return numbers - ((numbers >> width - 1) << width)
