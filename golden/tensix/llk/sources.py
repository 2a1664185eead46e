"""Operands of a case: L1 to tiles of source words, or of Dst words, 64 rows of 16 a tile."""

from math import prod

import numpy as np

from bitpath.golden.arrays.codec import decode_array, encode_array
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.tensix.convert.block_floats import exponent_stream_bytes
from bitpath.golden.tensix.convert.unpack import L1_BYTES, unpack
from bitpath.golden.tensix.convert.unpack_tile import UnpackControl, unpack_tile
from bitpath.golden.tensix.convert.unpack_to_dst import unpack_to_dst
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, FACE, TILE, Format
from bitpath.golden.tensix.llk.case import Case, Op, ReduceDim
from bitpath.golden.tensix.llk.device import Device
from bitpath.golden.tensix.matmul.host import TILE_ROWS
from bitpath.golden.tensix.matmul.tilize import tilize, untilize

TILE_DATUMS = TILE * TILE
FACES_TRANSPOSED = (0, 2, 1, 3)


def operand_bytes(fmt: Format, dimensions: tuple[int, int]) -> int:
    """Return the bytes of an operand, or of a result, in L1."""
    datums = prod(dimensions)
    if fmt not in BLOCK_FLOATS:
        return datums * L1_BYTES[fmt]
    tile = exponent_stream_bytes(TILE_DATUMS) + TILE_DATUMS * BLOCK_FLOATS[fmt].datum_bits // 8
    return datums // TILE_DATUMS * tile


def unpacked(
    case: Case, device: Device, l1: np.ndarray, fmt: Format, dimensions: tuple[int, int], *, for_src_a: bool
) -> np.ndarray:
    """Return an operand's tiles, uint32 [n, 64, 16]; with "untilize" the rows of a row-major matrix in their order.

    Only the tiles of SrcA are transposed.
    """
    register = case.formats.register
    if device.rounds_stimuli and (fmt, register) == (Format.FP32, Format.BF16):
        codes = encode_array(BF16, decode_array(FP32, np.ascontiguousarray(l1).view("<u4")))
        l1, fmt = codes.astype("<u2").view(np.uint8), Format.BF16
    rows, columns = dimensions
    if case.op is Op.TILIZE:
        convert = unpack_to_dst if case.to_dst else unpack
        words = convert(l1, fmt, register, e4m3=case.e4m3, count=rows * columns, numerics=device.unpacker)
        return tilize(words.reshape(rows, columns)).reshape(-1, TILE_ROWS, FACE)
    turns = case.op is Op.TRANSPOSE
    within_faces = (
        turns or case.unpack_transpose_within_face or (case.op is Op.REDUCE and case.reduce_dim is ReduceDim.ROW)
    )
    control = UnpackControl(
        in_format=fmt,
        out_format=register,
        e4m3=case.e4m3,
        to_dst=case.to_dst,
        transpose=for_src_a and within_faces,
    )
    images = l1.reshape(rows * columns // TILE_DATUMS, -1)
    tiles = np.stack([unpack_tile(each, control, count=TILE_DATUMS, numerics=device.unpacker) for each in images])
    if for_src_a and (turns or case.unpack_transpose_faces):
        faces = tiles.reshape(-1, 4, FACE, FACE)[:, FACES_TRANSPOSED]
        return faces.reshape(tiles.shape)
    return row_major(tiles, dimensions) if case.op is Op.UNTILIZE else tiles


def row_major(tiles: np.ndarray, dimensions: tuple[int, int]) -> np.ndarray:
    """Return the datums of tiles in the order of a row-major matrix, in the shape of the tiles."""
    shape = dimensions[0] // TILE, dimensions[1] // TILE, TILE_ROWS, FACE
    return untilize(tiles.reshape(shape)).reshape(tiles.shape)


def in_tiles(rows: np.ndarray, dimensions: tuple[int, int]) -> np.ndarray:
    """Return the datums of a row-major matrix in the order of tiles; the inverse of `row_major`."""
    return tilize(rows.reshape(dimensions)).reshape(rows.shape)
