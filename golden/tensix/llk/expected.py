"""The bits of a case at every stage: L1 to source registers, Dst, the packer's intermediate format, and L1.

Everything is composed of golden operations: `unpack_tile`, `mvmul`, `elwmul`, `gapool`, `gmpool`, the moves, `pack`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_shape, checked
from bitpath.golden.arrays.codec import decode_array, encode_array
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.scalar.checked import as_numpy
from bitpath.golden.tensix.convert.formats import exponent_stream_bytes
from bitpath.golden.tensix.convert.pack import pack, settled_formats
from bitpath.golden.tensix.convert.unpack import L1_BYTES, UnpackControl, as_bytes, unpack, unpack_tile, unpack_to_dst
from bitpath.golden.tensix.declarations.formats import (
    BLOCK,
    BLOCK_FLOATS,
    BLOCK_ROWS,
    COLUMNS,
    DST16_BF16,
    FACE,
    TILE,
    Format,
)
from bitpath.golden.tensix.llk.case import (
    BINARY,
    ELEMENTWISE,
    MID_CARRIERS,
    REDUCTIONS,
    ROW_MAJOR_RESULTS,
    Broadcast,
    Case,
    DestReuse,
    Device,
    Op,
    Pool,
    ReduceDim,
    StochasticRounding,
    chip_of,
    style_of,
)
from bitpath.golden.tensix.llk.functions.apply import after_function
from bitpath.golden.tensix.matmul.host import TILE_ROWS
from bitpath.golden.tensix.matrix.elementwise import elwadd, elwmul, elwsub
from bitpath.golden.tensix.matrix.moves import mova2d, movb2a, movb2d, movd2a, movd2b, trnspsrcb
from bitpath.golden.tensix.matrix.mvmul import gapool, mvmul
from bitpath.golden.tensix.matrix.pooling import gmpool
from bitpath.golden.tensix.operands.arguments import broadcast_src_b
from bitpath.golden.tensix.operands.registers import to_physical
from bitpath.golden.tensix.sfpu.run import run

# The Matrix unit's part of a case: the instructions of the kernel library, from tiles of source words to tiles of Dst.
#
# Ref: tt-llk 36b092e, llk_lib of Wormhole: llk_math_matmul.h, llk_math_eltwise_binary.h, llk_math_reduce.h,
# llk_math_eltwise_unary_datacopy.h.


def computed(case: Case, device: Device, src_a: np.ndarray | None, src_b: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """Return Dst, uint32 [n, rows of a tile, 16], after each step: a phase of a tile of K, a phase, or the whole operation."""
    if case.op is Op.SFPU:
        return _functioned(case, device, src_a, src_b)
    if case.to_dst:
        return (_rearranged(case, src_a),)
    if src_a is None:
        return (_broadcast_alone(case, device, src_b),)
    if case.op not in BINARY or src_b is None:
        return (_copied(case, device, src_a, case.sources[0]),)
    if case.op is Op.MATMUL:
        return _multiplied(case, device, src_a, src_b)
    if case.op in ELEMENTWISE:
        return _elementwise(case, device, *_reused(case, device, src_a, src_b))
    return (_reduced(case, device, src_a, src_b),)


def _options(case: Case, device: Device) -> dict[str, Any]:
    formats = dict(zip(("srca_format", "srcb_format"), case.sources, strict=True))
    return {"style": case.style, "dst32": case.dst32, "numerics": device.matrix, **formats}


def _multiplied(case: Case, device: Device, src_a: np.ndarray, src_b: np.ndarray) -> tuple[np.ndarray, ...]:
    """Multiply each half of K for all faces of Dst at once; each face takes its halves in the order of `TILE_PASS`."""
    tile, (left_tile, right_tile) = case.tile, case.tiles
    rows, depth = (size // side for size, side in zip(case.dimensions_a, left_tile, strict=True))
    columns = case.dimensions_b[1] // right_tile[1]
    high, wide = (side // FACE for side in tile)
    left = src_b.reshape(rows, depth, 1, high, 1, 2, FACE, FACE)
    right = src_a.reshape(depth, columns, 1, 2, wide, FACE, FACE)
    dst, after = np.zeros((rows, columns, high, wide, FACE, FACE), np.uint32), []
    for k in range(depth):
        for phase in device.phases:
            b, a = device.operands(phase, left[:, k], right[k])
            for half in range(2):
                dst = _product(case, device, phase, dst, b[..., half, :, :], a[:, :, half])
            after.append(dst.reshape(-1, prod(tile) // FACE, FACE).copy())
    return tuple(after)


def _product(
    case: Case, device: Device, phase: int, dst: np.ndarray, src_b: np.ndarray, src_a: np.ndarray
) -> np.ndarray:
    """Add SrcB @ SrcA to faces of Dst; with swapped fields as the transposed product of the transposed faces."""
    if device.swapped_fields:
        dst, src_b, src_a = (face.swapaxes(-1, -2) for face in (dst, src_a, src_b))
    halves = (2, BLOCK_ROWS, FACE)
    dst, src_b = (face.reshape(*face.shape[:-2], *halves) for face in (dst, src_b))
    new = mvmul(dst, src_b, src_a[..., np.newaxis, :, :], phase=phase, **_options(case, device))
    new = new.reshape(*new.shape[:-3], FACE, FACE)
    return new.swapaxes(-1, -2) if device.swapped_fields else new


def _blocks(tiles: np.ndarray) -> np.ndarray:
    """Return tiles [n, 16 faces, 16] as the blocks of their faces, [n, faces, 2, 8, 16]."""
    return tiles.reshape(len(tiles), -1, 2, BLOCK_ROWS, FACE)


def _reused(case: Case, device: Device, src_a: np.ndarray, src_b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both sources; the case's one is copied to Dst and moved back by MOVD2A or MOVD2B."""
    if case.dest_reuse is DestReuse.NONE:
        return src_a, src_b
    number = 0 if case.dest_reuse is DestReuse.DEST_TO_SRCA else 1
    fmt, moves = case.sources[number], (movd2a, movd2b)[number]
    dst = _copied(case, device, (src_a, src_b)[number], fmt)
    words = moves(dst, srca_format=fmt, dst32=case.dst32)
    return (words, src_b) if number == 0 else (src_a, words)


def _elementwise(case: Case, device: Device, src_a: np.ndarray, src_b: np.ndarray) -> tuple[np.ndarray, ...]:
    options, whole = _options(case, device), src_a.shape
    a, b = _blocks(src_a), _broadcast(case, _blocks(src_b))
    dst = np.zeros_like(a)
    if case.op is not Op.ELWMUL:
        operation = elwadd if case.op is Op.ELWADD else elwsub
        return (operation(dst, b, a, accumulate=False, **options).reshape(whole),)
    after = []
    for phase in device.phases:
        read_b, read_a = device.operands(phase, b, a)
        if device.swapped_fields:
            read_b, read_a = read_a, read_b
        dst = elwmul(dst, read_b, read_a, phase=phase, **options)
        after.append(dst.reshape(whole))
    return tuple(after)


def _rearranged(case: Case, dst: np.ndarray) -> np.ndarray:
    """Return the words that the unpacker wrote to Dst; transposed, or broadcast, half by half with all their bits."""
    faces = dst.reshape(len(dst), -1, FACE, FACE)
    if case.op is Op.TRANSPOSE:
        faces = faces[:, FACES_TRANSPOSED].swapaxes(-1, -2)
    elif case.op is Op.UNARY_BROADCAST:
        row, column = (slice(1) if each else slice(None) for each in _repeated(case))
        faces = np.broadcast_to(faces[:, _broadcast_faces(case)][..., row, column], faces.shape)
    return faces.reshape(dst.shape)


def _repeated(case: Case) -> tuple[bool, bool]:
    """Return whether row 0 and column 0 are repeated."""
    kind = case.broadcast
    return kind in (Broadcast.ROW, Broadcast.SCALAR), kind in (Broadcast.COL, Broadcast.SCALAR)


def _broadcast_faces(case: Case) -> np.ndarray:
    """Return the face of the operand's tile for each face of the result's."""
    grid = np.arange(prod(case.tile) // FACE**2).reshape(case.tile[0] // FACE, -1)
    row, column = (slice(1) if each else slice(None) for each in _repeated(case))
    return np.broadcast_to(grid[row, column], grid.shape).reshape(-1)


def _broadcast(case: Case, blocks: np.ndarray) -> np.ndarray:
    """Return the SrcB blocks that the instructions read; row 0 of a face serves both of its halves."""
    of_row, column_0 = _repeated(case)
    row = 0 if of_row else None
    faces = blocks[:, _broadcast_faces(case)]
    halves = faces[:, :, :1] if of_row else faces
    return broadcast_src_b(np.broadcast_to(halves, faces.shape), row=row, column_0=column_0)


def _broadcast_alone(case: Case, device: Device, src_b: np.ndarray) -> np.ndarray:
    """Copy SrcB: rows by MOVB2D, columns and scalars by ELWADD with zeros in SrcA."""
    blocks = _broadcast(case, _blocks(src_b))
    zeros = np.zeros_like(blocks)
    if case.broadcast is Broadcast.ROW:
        dst = movb2d(
            zeros,
            blocks,
            srca_format=case.sources[0],
            srcb_format=case.sources[1],
            fp32_enabled=case.dst32,
            numerics=device.matrix,
        )
    else:
        dst = elwadd(zeros, blocks, zeros, accumulate=False, **_options(case, device))
    return dst.reshape(src_b.shape)


def _copied(case: Case, device: Device, words: np.ndarray, fmt: Format) -> np.ndarray:
    """Copy SrcA of a format: MOVA2D to a 16-bit Dst, ELWADD with zeros to a 32-bit one."""
    if not case.dst32:
        return mova2d(np.zeros_like(words), words, srca_format=fmt, numerics=device.matrix)
    a = _blocks(words)
    options = _options(case, device) | {"srca_format": fmt, "srcb_format": fmt, "style": style_of(fmt)}
    return elwadd(np.zeros_like(a), np.zeros_like(a), a, accumulate=False, **options).reshape(words.shape)


def _functioned(case: Case, device: Device, left: np.ndarray, right: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """Copy the operands to Dst, a tile of each after the other, and run the Vector unit's words on them."""
    given = [left] if right is None else [left, *right.reshape(-1, *left.shape)]
    copies = given if case.to_dst else [_copied(case, device, each, case.sources[0]) for each in given]
    tiles = np.concatenate(copies, axis=1)
    # 16-bit integers pass Dst in the order of BF16.
    fmt = Format.BF16 if case.sources[0] is Format.INT16 and case.function else case.sources[0]
    if case.function:
        options: dict[str, Any] = {"src_b_format": fmt, "seed": case.seed, "numerics": device.matrix}
        after = after_function(case.vector_function, case.mode, dict(case.parameters), tiles, **options)
    else:
        after = run(case.words, tiles, fp32=case.dst32, src_b_format=fmt, chip=case.chip, numerics=device.matrix)
    return copies[0], after[:, :TILE_ROWS]


def _reduced(case: Case, device: Device, src_a: np.ndarray, src_b: np.ndarray) -> np.ndarray:
    """Pool each face with the scalers in row 0 of the right operand's face; then move the rows to where they belong.

    A block's maxima are those of the tiles of a row, one after the other, with the scalers of the first face.
    """
    in_block = case.op is Op.REDUCE_BLOCK_MAX
    dim, wide = (ReduceDim.ROW if in_block else ReduceDim(case.reduce_dim)), case.tile[1] // FACE
    count, tiles = prod(case.tile) // FACE**2, case.dimensions_a[1] // TILE if in_block else 1
    faces = src_a.reshape(-1, tiles, count, FACE, FACE)
    scalers = np.zeros((count, BLOCK_ROWS, FACE), np.uint32)
    scalers[:, 0] = src_b.reshape(count, FACE, FACE)[[0] * count if in_block else range(count), 0]
    dst = np.zeros((len(faces), count, FACE, FACE), np.uint32)
    targets = {ReduceDim.COL: lambda face: face % wide, ReduceDim.ROW: lambda face: face // wide * wide}
    pooled: dict[int, np.ndarray] = {}
    for tile in range(tiles):
        for number in range(count):
            face = targets.get(dim, lambda _: 0)(number)
            old = pooled.get(face, _undefined(case, len(faces)))
            pooled[face] = _pooled(case, device, old, scalers[number], faces[:, tile, number])
    for face, rows in pooled.items():
        if dim is ReduceDim.COL:
            dst[:, face, 0] = rows[:, 0]
        elif dim is ReduceDim.ROW:
            dst[:, face] = _as_column(case, device, rows[:, :1])
        else:
            turned = movb2a(_turned(case, rows[:, :1]), srcb_format=case.sources[1], numerics=device.matrix)
            dst[:, face, 0] = _pooled(case, device, _undefined(case, len(faces)), scalers[-1], turned)[:, 0]
    return dst.reshape(len(faces), -1, FACE)


def _undefined(case: Case, count: int) -> np.ndarray:
    """Return a cleared block of Dst: zeros, or for a maximum all ones, which are below everything."""
    lowest = (1 << (32 if case.dst32 else 16)) - 1
    return np.full((count, BLOCK_ROWS, FACE), lowest if _is_maximum(case) else 0, np.uint32)


def _is_maximum(case: Case) -> bool:
    return case.op is Op.REDUCE_BLOCK_MAX or case.pool is Pool.MAX


def _pooled(case: Case, device: Device, dst: np.ndarray, scalers: np.ndarray, face: np.ndarray) -> np.ndarray:
    options = _options(case, device)
    if _is_maximum(case):
        return gmpool(dst, scalers, face, **options)
    for phase in device.phases:
        b, a = device.operands(phase, scalers, face)
        dst = gapool(dst, b, a, phase=phase, **options)
    return dst


def _turned(case: Case, row: np.ndarray) -> np.ndarray:
    """Move a row of Dst to SrcB and turn it into column 0; no result comes from the other columns."""
    src_b = np.zeros((len(row), FACE, FACE), np.uint32)
    src_b[:, :1] = movd2b(row, srca_format=case.sources[1], dst32=case.dst32)
    return trnspsrcb(src_b)


def _as_column(case: Case, device: Device, row: np.ndarray) -> np.ndarray:
    """Return the face of Dst whose column 0 is a row of Dst: by way of SrcB, and ELWADD to zeros in SrcA."""
    blocks = _turned(case, row).reshape(-1, 2, BLOCK_ROWS, FACE)
    zeros = np.zeros_like(blocks)
    return elwadd(zeros, blocks, zeros, accumulate=False, **_options(case, device)).reshape(-1, FACE, FACE)


# Operands of a case: L1 to tiles of source words, or of Dst words, 64 rows of 16 a tile.


FACES_TRANSPOSED = (0, 2, 1, 3)


def operand_bytes(fmt: Format, dimensions: tuple[int, int], tile: tuple[int, int] = (TILE, TILE)) -> int:
    """Return the bytes of an operand, or of a result, in L1."""
    datums, of_tile = prod(dimensions), prod(tile)
    if fmt not in BLOCK_FLOATS:
        return datums * L1_BYTES[fmt]
    return datums // of_tile * (exponent_stream_bytes(of_tile) + of_tile * BLOCK_FLOATS[fmt].datum_bits // 8)


def unpacked(case: Case, device: Device, l1: np.ndarray, *, right: bool) -> np.ndarray:
    """Return the tiles of the left or the right operand, uint32 [n, rows of a tile, 16]; with "untilize" the rows of a row-major
    matrix in their order.

    Only the tiles of SrcA are transposed.
    """
    given, dimensions, tile = case.formats, (case.dimensions_a, case.dimensions_b)[right], case.tiles[right]
    fmt, for_src_a = given.in_b if right else given.in_a, right is (case.op is Op.MATMUL)
    register = case.sources[0 if for_src_a else 1]
    if device.rounds_stimuli and (fmt, register) == (Format.FP32, Format.BF16):
        codes = encode_array(BF16, decode_array(FP32, np.ascontiguousarray(l1).view("<u4")))
        l1, fmt = codes.astype("<u2").view(np.uint8), Format.BF16
    unsigned = case.unsigned and fmt is Format.INT8
    if case.op is Op.TILIZE:
        convert = unpack_to_dst if case.to_dst else unpack
        count, numerics = prod(dimensions), device.unpacker
        words = convert(l1, fmt, register, unsigned=unsigned, e4m3=case.e4m3, count=count, numerics=numerics)
        return in_tiles(words, dimensions, tile).reshape(-1, TILE_ROWS, FACE)
    turns = case.op is Op.TRANSPOSE and not case.to_dst
    reduces_rows = case.op is Op.REDUCE_BLOCK_MAX or (case.op is Op.REDUCE and case.reduce_dim is ReduceDim.ROW)
    control = UnpackControl(
        in_format=fmt,
        out_format=register,
        unsigned=unsigned,
        e4m3=case.e4m3,
        to_dst=case.to_dst,
        transpose=for_src_a and (turns or case.unpack_transpose_within_face or reduces_rows),
    )
    images = l1.reshape(prod(dimensions) // prod(tile), -1)
    tiles = np.stack([unpack_tile(each, control, count=prod(tile), numerics=device.unpacker) for each in images])
    if for_src_a and (turns or case.unpack_transpose_faces):
        faces = tiles.reshape(-1, 4, FACE, FACE)[:, FACES_TRANSPOSED]
        return faces.reshape(tiles.shape)
    return row_major(tiles, dimensions, tile) if case.op is Op.UNTILIZE else tiles


def row_major(tiles: np.ndarray, dimensions: tuple[int, int], tile: tuple[int, int]) -> np.ndarray:
    """Return the datums of tiles in the order of a row-major matrix, in the shape of the tiles."""
    (rows, columns), (high, wide) = dimensions, tile
    faces = tiles.reshape(rows // high, columns // wide, high // FACE, wide // FACE, FACE, FACE)
    return faces.transpose(0, 2, 4, 1, 3, 5).reshape(tiles.shape)


def in_tiles(rows: np.ndarray, dimensions: tuple[int, int], tile: tuple[int, int]) -> np.ndarray:
    """Return the datums of a row-major matrix in the order of tiles; the inverse of `row_major`."""
    (high, wide), (below, beside) = tile, (size // side for size, side in zip(dimensions, tile, strict=True))
    faces = rows.reshape(below, high // FACE, FACE, beside, wide // FACE, FACE)
    return faces.transpose(0, 3, 1, 4, 2, 5).reshape(rows.shape)


# Results of a case: tiles of Dst words to L1, and the codes of their datums.


def middle(case: Case, device: Device, dst: np.ndarray, bits: np.ndarray | None) -> np.ndarray:
    """Return the intermediate datums [n, rows, 16], after ReLU."""
    settled, narrows = settled_formats(
        device.packer, case.formats.mid, case.formats.out, dst32=case.dst32, raw=device.raw, round_10b=case.round_10b
    )
    carrier, words = MID_CARRIERS[settled], _in_order(case, device, dst)
    options = _packer_options(case, device) | {"round_10b": narrows}
    mids = [
        pack(each, settled, carrier, stochastic_bits=own, **options) for each, own in _with_bits(words, bits, device)
    ]
    return np.stack(mids).view(f"<u{L1_BYTES[carrier]}").reshape(words.shape)


def packed(
    case: Case, device: Device, dst: np.ndarray, before: np.ndarray | None, bits: np.ndarray | None
) -> np.ndarray:
    """Return the bytes of the result, added to those before."""
    given, tiles = case.formats, _in_order(case, device, dst)
    options = _packer_options(case, device) | {"round_10b": case.round_10b, "e4m3": case.e4m3}
    if device.to_blocks is not None and given.out in BLOCK_FLOATS:
        whole = Format.BF16 if BLOCK_FLOATS[given.out].exponent_bits == 8 else Format.FP16
        results = [device.to_blocks(pack(each, given.mid, whole, **options).view("<u2"), given.out) for each in tiles]
    else:
        old = [None] * len(tiles) if before is None or not case.l1_accumulate else before.reshape(len(tiles), -1)
        results = [
            pack(tile, given.mid, given.out, l1=each, stochastic_bits=own, **options)
            for (tile, own), each in zip(_with_bits(tiles, bits, device), old, strict=True)
        ]
    return np.concatenate(results)


def _with_bits(
    tiles: np.ndarray, bits: np.ndarray | None, device: Device
) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    """Yield each tile with its random bits; a device that does not round has no use for them."""
    own = [None] * len(tiles) if bits is None or device.raw else bits.reshape(len(tiles), -1)
    yield from zip(tiles, own, strict=True)


def _in_order(case: Case, device: Device, dst: np.ndarray) -> np.ndarray:
    """Return the tiles of Dst as the packer reads them."""
    dimensions = case.dimensions_a if case.op is Op.PACK_ROWS else case.result_dimensions
    if case.op is Op.PACK_UNTILIZE:
        dst = row_major(dst, dimensions, case.tile)
    if device.other_order:
        move = in_tiles if case.op in ROW_MAJOR_RESULTS else row_major
        dst = move(dst, dimensions, case.tile)
    if case.op is Op.PACK_ROWS:
        dst = np.ascontiguousarray(dst[:, : case.pack_rows])
    return to_physical(dst, DST16_BF16) if case.held is Format.INT16 else dst


def _packer_options(case: Case, device: Device) -> dict[str, Any]:
    """Return the packer's configuration but for formats."""
    return {
        "dst32": case.dst32,
        "relu": case.relu,
        "relu_threshold": case.relu_threshold,
        "raw": device.raw,
        "unsigned": case.unsigned and case.formats.mid is Format.INT8,
        "edge_mask": edge_masks(case),
        "edge_minus_infinity": case.edge_minus_infinity,
        "numerics": device.packer,
    }


def edge_masks(case: Case) -> np.ndarray | None:
    """Return the packer's masks of a tile's rows: the case's, and those that leave a reduction's datums; None keeps every datum."""
    given = None if case.edge_mask is None else np.array(case.edge_mask, np.uint16)
    if case.op not in REDUCTIONS:
        return given if given is None or case.op is not Op.PACK_ROWS else given[: case.pack_rows]
    wide = case.tile[1] // FACE
    masks = np.zeros((prod(case.tile) // FACE**2, FACE), np.uint16)
    dim = ReduceDim.ROW if case.op is Op.REDUCE_BLOCK_MAX else case.reduce_dim
    if dim is ReduceDim.COL:
        masks[:wide, 0] = (1 << COLUMNS) - 1
    elif dim is ReduceDim.ROW:
        masks[::wide] = 1
    else:
        masks[0, 0] = 1
    own = masks.reshape(-1)
    return own if given is None else own & given


def datum_codes(case: Case, l1: np.ndarray) -> np.ndarray:
    """Return the code of each datum in L1; a block float's has its exponent above its own bits."""
    fmt = case.formats.out
    if fmt not in BLOCK_FLOATS:
        return l1.view(f"<u{L1_BYTES[fmt]}").astype(np.int64)
    count = prod(case.tile)
    tiles = l1.reshape(-1, operand_bytes(fmt, case.tile, case.tile))
    stream, bits = exponent_stream_bytes(count), BLOCK_FLOATS[fmt].datum_bits
    places = np.unpackbits(tiles[:, stream:], axis=1, bitorder="little").reshape(-1, bits)
    datums = places @ (1 << np.arange(bits))
    exponents = np.repeat(tiles[:, : count // BLOCK].reshape(-1), BLOCK)
    return exponents.astype(np.int64) << bits | datums


def places_in_order(case: Case, l1: np.ndarray) -> np.ndarray:
    """Return the position of each datum in the order of its format's numbers, so that neighbours differ by 1.

    A block float takes the position of its value as BF16 or FP16.
    """
    fmt = case.formats.out
    if fmt in BLOCK_FLOATS:
        eight = BLOCK_FLOATS[fmt].exponent_bits == 8
        tiles = l1.reshape(-1, operand_bytes(fmt, case.tile, case.tile))
        register = Format.BF16 if eight else Format.FP16
        words = np.stack([unpack(each, fmt, register, count=prod(case.tile), numerics=case.numerics) for each in tiles])
        codes, width = words.reshape(-1).astype(np.int64) >> (3 if eight else 0), 16 if eight else 19
    else:
        codes, width = datum_codes(case, l1), 8 * L1_BYTES[fmt]
    magnitude = codes & (1 << width - 1) - 1
    return np.where(codes >> width - 1, -magnitude, magnitude)


@dataclass(frozen=True, eq=False)
class Stages:
    """The bits of a case. A tile is 64 rows of 16, its faces one below the other, and a smaller one fewer; n tiles lie in the order
    of L1.

    Attributes
    ----------
    src_a, src_b : uint32 [n, 64, 16], logical source words; None where the register is not read. All operands of "sfpu" pass
        SrcA; the second and the third one are in `src_b`. A right operand of "matmul" is in SrcA.
    dst_after_phase : uint32 [n, 64, 16] each, Dst after each fidelity phase, of "matmul" for each tile of K in turn; of
        operations without phases, and of "reduce", Dst at the end alone.
    mid : uint8, uint16 or uint32 [n, 64, 16], the intermediate datums after ReLU, in the narrowest format that holds them; of
        "pack_rows" as many rows.
    l1 : uint8 bytes.
    """

    src_a: np.ndarray | None
    src_b: np.ndarray | None
    dst_after_phase: tuple[np.ndarray, ...]
    mid: np.ndarray
    l1: np.ndarray


@checked
def expected(case: Case, l1_a: Any, l1_b: Any = None, *, l1_before: Any = None, pack_bits: Any = None) -> Stages:
    """Return the bits of a case at every stage.

    Parameters
    ----------
    l1_a, l1_b : the operands in L1: uint8 bytes or uint32 words, arrays or objects with `__array__`; tiles one after the other,
        row by row, block floats with each tile's exponents before it; row-major datums for "tilize". `l1_b` is None
        where the case has one operand.
    l1_before : the result's bytes before, in the same form, with the case's `l1_accumulate`; else None.
    pack_bits : with the case's `stochastic_rounding` "Pack" a uint32 for each datum of the result, in the order of L1, as
        `tensix.pack` takes them; else None.

    Raises
    ------
    TypeError, ValueError : no such arrays, or not the operands' bytes.
    """
    device, operands = chip_of(case), operands_of(case, l1_a, l1_b, l1_before, pack_bits)
    src_a, src_b, dst = _until_dst(case, device, operands)
    mid = middle(case, device, dst[-1], operands.bits)
    l1 = packed(case, device, dst[-1], operands.before, operands.bits)
    return Stages(*((None, None) if case.to_dst else (src_a, src_b)), dst, mid, l1)


class Operands(NamedTuple):
    """Bytes in L1 of the operands and of the result before, and the packer's random bits; None where the case has none."""

    left: np.ndarray
    right: np.ndarray | None
    before: np.ndarray | None
    bits: np.ndarray | None


def result_of(case: Case, device: Device, operands: Operands) -> np.ndarray:
    """Return the bytes that a device gives."""
    dst = _until_dst(case, device, operands)[-1]
    return packed(case, device, dst[-1], operands.before, operands.bits)


def _until_dst(
    case: Case, device: Device, operands: Operands
) -> tuple[np.ndarray | None, np.ndarray | None, tuple[np.ndarray, ...]]:
    """Return SrcA, or Dst where the unpacker writes it, SrcB, and Dst after each step."""
    left, right = operands.left, operands.right
    if device.exchanged and right is not None:
        left, right = right, left
    first = unpacked(case, device, left, right=False)
    second = None if right is None else unpacked(case, device, right, right=True)
    if case.op is Op.MATMUL or (case.op is Op.UNARY_BROADCAST and not case.to_dst):
        first, second = second, first
    return first, second, computed(case, device, first, second)


def operands_of(case: Case, l1_a: Any, l1_b: Any, l1_before: Any, pack_bits: Any = None) -> Operands:
    """Return the bytes of the operands, and of the result before, and the packer's random bits, checked."""
    given, result = case.formats, operand_bytes(case.formats.out, case.result_dimensions, case.tile)
    left = bytes_of("l1_a", l1_a, operand_bytes(given.in_a, case.dimensions_a, case.tiles[0]))
    right = before = bits = None
    if given.in_b is not None:
        right = bytes_of("l1_b", l1_b, operand_bytes(given.in_b, case.dimensions_b, case.tiles[1]))
    elif l1_b is not None:
        raise ValueError(f"l1_b must be None with {Op(case.op).value}, which has one operand, not an array")
    if case.l1_accumulate:
        before = bytes_of("l1_before", l1_before, result)
    elif l1_before is not None:
        raise ValueError("l1_before must be None without l1_accumulate, not an array")
    if case.stochastic_rounding is not StochasticRounding.NONE:
        if pack_bits is None:
            raise ValueError("pack_bits must be an array with stochastic_rounding, not None")
        bits = as_numpy("pack_bits", pack_bits)
        check_array("pack_bits", bits, np.uint32)
        check_shape("pack_bits", bits, prod(case.result_dimensions))
    elif pack_bits is not None:
        raise ValueError("pack_bits must be None without stochastic_rounding, not an array")
    return Operands(left, right, before, bits)


def bytes_of(name: str, l1: Any, count: int) -> np.ndarray:
    """Return contents of L1 as uint8, checked to have `count` bytes."""
    data = as_bytes(name, as_numpy(name, l1))
    if len(data) != count:
        raise ValueError(f"{name} must have {count} bytes, not {len(data)}")
    return data
