"""The Matrix unit's part of a case: the instructions of the kernel library, from tiles of source words to tiles of Dst.

Ref: tt-llk 36b092e, llk_lib of Wormhole: llk_math_matmul.h, llk_math_eltwise_binary.h, llk_math_reduce.h,
llk_math_eltwise_unary_datacopy.h.
"""

from typing import Any

import numpy as np

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, FACE, TILE, TILE_PASS
from bitpath.golden.tensix.llk.case import BINARY, ELEMENTWISE, Broadcast, Case, Op, Pool, ReduceDim
from bitpath.golden.tensix.llk.device import Device
from bitpath.golden.tensix.matmul.host import TILE_ROWS
from bitpath.golden.tensix.matrix.elementwise import elwadd, elwmul, elwsub
from bitpath.golden.tensix.matrix.moves import mova2d, movb2a, movd2b, trnspsrcb
from bitpath.golden.tensix.matrix.mvmul import gapool, mvmul
from bitpath.golden.tensix.matrix.pooling import gmpool
from bitpath.golden.tensix.operands.broadcast import broadcast_src_b

BROADCAST_FACES = {
    Broadcast.NONE: (0, 1, 2, 3),
    Broadcast.COL: (0, 0, 2, 2),
    Broadcast.ROW: (0, 1, 0, 1),
    Broadcast.SCALAR: (0, 0, 0, 0),
}
"""Face of the right operand for each face of the left one."""
POOLED_FACES = {ReduceDim.COL: (0, 1, 0, 1), ReduceDim.ROW: (0, 0, 2, 2), ReduceDim.SCALAR: (0, 0, 0, 0)}
"""Face of Dst that each face of the operand is pooled into."""


def computed(case: Case, device: Device, src_a: np.ndarray, src_b: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """Return Dst, uint32 [n, 64, 16], after each step: a phase of a tile of K, a phase, or the whole operation."""
    if case.to_dst:
        return (src_a,)
    if case.op not in BINARY or src_b is None:
        return (_copied(case, device, src_a),)
    if case.op is Op.MATMUL:
        return _multiplied(case, device, src_a, src_b)
    if case.op in ELEMENTWISE:
        return _elementwise(case, device, src_a, src_b)
    return (_reduced(case, device, src_a, src_b),)


def _options(case: Case, device: Device) -> dict[str, Any]:
    """Arguments of every instruction."""
    register = case.formats.register
    formats = {"srca_format": register, "srcb_format": register}
    return {"style": case.style, "dst32": case.dst32, "numerics": device.matrix, **formats}


def _multiplied(case: Case, device: Device, src_a: np.ndarray, src_b: np.ndarray) -> tuple[np.ndarray, ...]:
    """Multiply in the order of `TILE_PASS`, whose halves write each face of Dst once and so take its faces together."""
    rows, depth, columns = (size // TILE for size in (*case.dimensions_a, case.dimensions_b[1]))
    left, right = src_b.reshape(rows, depth, 1, 4, FACE, FACE), src_a.reshape(depth, columns, 4, FACE, FACE)
    dst, after = np.zeros((rows, columns, 4, FACE, FACE), np.uint32), []
    for k in range(depth):
        for phase in device.phases:
            b, a = device.operands(phase, left[:, k], right[k])
            for half in (TILE_PASS[:4], TILE_PASS[4:]):
                faces_b, faces_a, faces = map(list, zip(*half, strict=True))
                dst[:, :, faces] = _product(case, device, phase, dst[:, :, faces], b[:, :, faces_b], a[:, faces_a])
            after.append(dst.reshape(-1, TILE_ROWS, FACE).copy())
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
    """Return tiles [n, 64, 16] as the blocks of their faces, [n, 4, 2, 8, 16]."""
    return tiles.reshape(-1, 4, 2, BLOCK_ROWS, FACE)


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


def _broadcast(case: Case, blocks: np.ndarray) -> np.ndarray:
    """Return the SrcB blocks that the instructions read; row 0 of a face serves both of its halves."""
    kind = case.broadcast
    row = 0 if kind in (Broadcast.ROW, Broadcast.SCALAR) else None
    faces = blocks[:, BROADCAST_FACES[Broadcast(kind)]]
    halves = faces[:, :, :1] if row == 0 else faces
    return broadcast_src_b(
        np.broadcast_to(halves, faces.shape), row=row, column_0=kind in (Broadcast.COL, Broadcast.SCALAR)
    )


def _copied(case: Case, device: Device, src_a: np.ndarray) -> np.ndarray:
    """Copy SrcA: MOVA2D to a 16-bit Dst, ELWADD with zeros to a 32-bit one."""
    if not case.dst32:
        dst = np.zeros_like(src_a)
        return mova2d(dst, src_a, srca_format=case.formats.register, numerics=device.matrix)
    a = _blocks(src_a)
    return elwadd(np.zeros_like(a), np.zeros_like(a), a, accumulate=False, **_options(case, device)).reshape(
        src_a.shape
    )


def _reduced(case: Case, device: Device, src_a: np.ndarray, src_b: np.ndarray) -> np.ndarray:
    """Pool each face with the scalers in row 0 of the right operand's face; then move the rows to where they belong."""
    dim, faces = ReduceDim(case.reduce_dim), src_a.reshape(-1, 4, FACE, FACE)
    scalers = np.zeros((4, BLOCK_ROWS, FACE), np.uint32)
    scalers[:, 0] = src_b.reshape(4, FACE, FACE)[:, 0]
    dst = np.zeros_like(faces)
    pooled = {face: _undefined(case, len(faces)) for face in POOLED_FACES[dim]}
    for number, face in enumerate(POOLED_FACES[dim]):
        pooled[face] = _pooled(case, device, pooled[face], scalers[number], faces[:, number])
    for face, rows in pooled.items():
        if dim is ReduceDim.COL:
            dst[:, face, 0] = rows[:, 0]
        elif dim is ReduceDim.ROW:
            dst[:, face] = _as_column(case, device, rows[:, :1])
        else:
            turned = movb2a(_turned(case, rows[:, :1]), srcb_format=case.formats.register, numerics=device.matrix)
            dst[:, face, 0] = _pooled(case, device, _undefined(case, len(faces)), scalers[3], turned)[:, 0]
    return dst.reshape(src_a.shape)


def _undefined(case: Case, count: int) -> np.ndarray:
    """Return a cleared block of Dst: zeros, or all ones, which are below everything, for a maximum."""
    lowest = (1 << (32 if case.dst32 else 16)) - 1
    return np.full((count, BLOCK_ROWS, FACE), lowest if case.pool is Pool.MAX else 0, np.uint32)


def _pooled(case: Case, device: Device, dst: np.ndarray, scalers: np.ndarray, face: np.ndarray) -> np.ndarray:
    options = _options(case, device)
    if case.pool is Pool.MAX:
        return gmpool(dst, scalers, face, **options)
    for phase in device.phases:
        b, a = device.operands(phase, scalers, face)
        dst = gapool(dst, b, a, phase=phase, **options)
    return dst


def _turned(case: Case, row: np.ndarray) -> np.ndarray:
    """Move a row of Dst to SrcB and turn it into column 0; the other columns are of rows that no result comes from."""
    src_b = np.zeros((len(row), FACE, FACE), np.uint32)
    src_b[:, :1] = movd2b(row, srca_format=case.formats.register, dst32=case.dst32)
    return trnspsrcb(src_b)


def _as_column(case: Case, device: Device, row: np.ndarray) -> np.ndarray:
    """Return the face of Dst whose column 0 is a row of Dst: by way of SrcB, and ELWADD to zeros in SrcA."""
    blocks = _turned(case, row).reshape(-1, 2, BLOCK_ROWS, FACE)
    zeros = np.zeros_like(blocks)
    return elwadd(zeros, blocks, zeros, accumulate=False, **_options(case, device)).reshape(-1, FACE, FACE)
