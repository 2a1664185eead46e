"""RTL as a device: cases as requests to the unpacker, the Matrix unit and the packer, and their answers as bytes of L1.

No value is computed here: words change places, and rows become payloads and conversely.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import (
    BLOCK,
    BLOCK_FLOATS,
    BLOCK_ROWS,
    FACE,
    TILE,
    TILE_PASS,
    Format,
)
from bitpath.golden.tensix.llk import Broadcast, Case, Op, Pool
from bitpath.golden.tensix.llk.case import TRANSPOSING
from bitpath.rtl.tensix.matrix.instruction import Instruction, Opcode, Zeroed
from bitpath.rtl.tensix.matrix.registers import DstAddress, src_write_layout
from bitpath.rtl.tensix.pack.layouts import PackedRow
from bitpath.verif.kit.packing import pack, unpack
from bitpath.verif.tensix.matrix.model import Operation
from bitpath.verif.tensix.pack.pack import ALL_COLUMNS, Packing, PackRow
from bitpath.verif.tensix.unpack.unpack import Conversion, UnpackRow, UnpackWord

ROWS = TILE * TILE // BLOCK
HALVES = (0, BLOCK_ROWS)
ELEMENTWISE = {Op.ELWADD: Opcode.ELWADD, Op.ELWSUB: Opcode.ELWSUB, Op.ELWMUL: Opcode.ELWMUL}
B_FACES = {"NONE": (0, 1, 2, 3), "COL": (0, 0, 2, 2), "ROW": (0, 1, 0, 1), "SCALAR": (0, 0, 0, 0)}
Answers = Callable[[str, list], list[int]]
"""Drives requests into a unit of the RTL, by its name, and returns its answers."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """A case of one tile, or of two tiles of K, its operands' bytes, and the result's before."""

    case: Case
    l1_a: np.ndarray
    l1_b: np.ndarray | None
    before: np.ndarray | None


def run(kernels: list[Kernel], answers: Answers) -> list[np.ndarray]:
    """Return the bytes of each kernel's result: all kernels through the unpacker, then the Matrix unit, then the packer."""
    junk = Random(35)
    operands = [list(_operands(each)) for each in kernels]
    requests = [
        _unpack(each.case, fmt, tile, junk) for each, pair in zip(kernels, operands, strict=True) for fmt, tile in pair
    ]
    words = iter(answers("unpacker", [payload for tile in requests for payload in tile]))
    sources = [[_rows(words, ROWS) for _ in pair] for pair in operands]
    placed = [_placed(each.case, tiles) for each, tiles in zip(kernels, sources, strict=True)]
    computing = [(each.case, tiles) for each, tiles in zip(kernels, placed, strict=True) if not each.case.to_dst]
    rows = iter(answers("matrix_unit", [_program(case, tiles, junk) for case, tiles in computing]))
    dst = [tiles[0] if each.case.to_dst else _rows(rows, ROWS) for each, tiles in zip(kernels, placed, strict=True)]
    packs = [_pack(each, words, junk) for each, words in zip(kernels, dst, strict=True)]
    packed = iter(answers("packer", [payload for tile in packs for payload in tile]))
    return [_bytes(each.case.formats.out, [next(packed) for _ in range(ROWS)]) for each in kernels]


def _operands(kernel: Kernel) -> Iterator[tuple[Format, np.ndarray]]:
    """Yield format and bytes of each tile: those of the left operand, then those of the right one."""
    given = kernel.case.formats
    for fmt, l1, (rows, columns) in (
        (given.in_a, kernel.l1_a, kernel.case.dimensions_a),
        (given.in_b, kernel.l1_b, kernel.case.dimensions_b),
    ):
        for tile in [] if l1 is None else l1.reshape(rows * columns // TILE**2, -1):
            yield fmt, tile


def _unpack(case: Case, fmt: Format, l1: np.ndarray, junk: Random) -> list[int]:
    """Return the unpacker's requests for a tile, a row each."""
    conversion = Conversion(fmt, case.formats.register, e4m3=case.e4m3 and fmt is Format.FP8)
    exponents, data = (l1[:ROWS].tolist(), l1[ROWS:]) if fmt in BLOCK_FLOATS else ([0] * ROWS, l1)
    bits = np.unpackbits(data, bitorder="little").reshape(ROWS, BLOCK, conversion.datum_bits)
    datums = (bits.astype(np.int64) @ (1 << np.arange(conversion.datum_bits))).tolist()
    rows = [UnpackRow(conversion, tuple(row), each) for row, each in zip(datums, exponents, strict=True)]
    return [UnpackWord((row,), 1).payload(junk) for row in rows]


def _rows(payloads: Iterator[int], count: int) -> np.ndarray:
    """Return the next rows of 16 words of 32 bits."""
    data = b"".join(next(payloads).to_bytes(4 * BLOCK, "little") for _ in range(count))
    return np.frombuffer(data, "<u4").astype(np.uint32).reshape(count, BLOCK)


def _placed(case: Case, tiles: list[np.ndarray]) -> list[np.ndarray]:
    """Put the unpacked datums of a tile where the unpacker's address modes put them."""
    words = tiles[0]
    depth = case.dimensions_a[1] // TILE
    if case.op is Op.MATMUL:
        return [*tiles[:depth], *(_turned(case, each) for each in tiles[depth:])]
    if case.op in TRANSPOSING or case.op is Op.TRANSPOSE:
        return [_turned(case, words), *tiles[1:]]
    if case.op is Op.TILIZE:
        return [tensix.tilize(words.reshape(TILE, TILE)).reshape(ROWS, FACE)]
    return [_row_major(words)] if case.op is Op.UNTILIZE else tiles


def _turned(case: Case, words: np.ndarray) -> np.ndarray:
    """Exchange faces 1 and 2 of a tile, and rows and columns of each face, where the case does."""
    whole, faces = case.op is Op.TRANSPOSE, words.reshape(2, 2, FACE, FACE)
    if whole or case.unpack_transpose_faces:
        faces = faces.transpose(1, 0, 2, 3)
    if whole or case.unpack_transpose_within_face:
        faces = faces.transpose(0, 1, 3, 2)
    return faces.reshape(ROWS, FACE)


def _row_major(words: np.ndarray) -> np.ndarray:
    return tensix.untilize(words.reshape(1, 1, ROWS, FACE)).reshape(ROWS, FACE)


def _program(case: Case, tiles: list[np.ndarray], junk: Random) -> dict[str, list[int]]:
    """Return the payloads of a kernel by port: banks of both sources, instructions, reads of a tile of Dst."""
    program: dict[str, list[int]] = {"write_a": [], "write_b": []}
    instructions = [Operation(opcode=Opcode.ZEROACC, zeroed=Zeroed.ALL)]
    depth = case.dimensions_a[1] // TILE
    for k in range(depth):
        left, right = tiles[k], tiles[depth + k] if case.in_b is not None else np.zeros_like(tiles[k])
        src_a, src_b = (right, left) if case.op is Op.MATMUL else (left, right)
        for side, bank in (("write_a", src_a), ("write_b", src_b)):
            rows = enumerate(bank.tolist())
            program[side] += [
                pack(src_write_layout(1), {"values": [row], "row": i, "last": i == ROWS - 1}) for i, row in rows
            ]
        steps = list(_operations(case))
        instructions += [Operation(**step) for step in steps[:-1]]
        instructions.append(Operation(**steps[-1], release_a=True, release_b=True))
    program["instruction"] = [pack(Instruction, each.fields(junk)) for each in instructions]
    places = [
        Operation(opcode=Opcode.MVMUL, style=case.style, dst32=case.dst32, dst_row=row).place for row in range(ROWS)
    ]
    program["read_dst"] = [pack(DstAddress, place.fields()) for place in places]
    return program


def _operations(case: Case) -> Iterator[dict]:
    """Yield the instructions on one pair of banks."""
    register = case.formats.register
    own = {"style": case.style, "dst32": case.dst32, "formats": (register, register)}
    phases = tensix.phases(case.fidelity)
    if case.op is Op.MATMUL:
        for phase in phases:
            for b, a, d in TILE_PASS:
                for half in HALVES:
                    rows = {"src_a_row": a * FACE, "src_b_row": b * FACE + half, "dst_row": d * FACE + half}
                    yield {"opcode": Opcode.MVMUL, "phase": phase, **rows, **own}
    elif case.op is Op.REDUCE:
        maximum = {"opcode": Opcode.GMPOOL, "style": case.style, "dst32": case.dst32}
        for face in range(4):
            rows = {"src_a_row": face * FACE, "src_b_row": face * FACE, "dst_row": face % 2 * FACE}
            if case.pool is Pool.MAX:
                yield maximum | rows
            else:
                yield from ({"opcode": Opcode.GAPOOL, "phase": phase, **rows, **own} for phase in phases)
    else:
        opcode = ELEMENTWISE.get(case.op, Opcode.ELWADD)
        kind = case.broadcast
        row, column = kind in (Broadcast.ROW, Broadcast.SCALAR), kind in (Broadcast.COL, Broadcast.SCALAR)
        for phase in phases:
            for face, b in enumerate(B_FACES[kind.value]):
                for half in HALVES:
                    rows = {"src_a_row": face * FACE + half, "dst_row": face * FACE + half}
                    rows["src_b_row"] = b * FACE + (0 if row else half)
                    yield {
                        "opcode": opcode,
                        "phase": phase,
                        "broadcast_row": row,
                        "broadcast_column": column,
                        **rows,
                        **own,
                    }


def _pack(kernel: Kernel, dst: np.ndarray, junk: Random) -> list[int]:
    """Return the packer's requests for a tile, a row each; a reduced tile keeps rows 0 of its upper faces."""
    case = kernel.case
    packing = Packing(
        case.formats.mid,
        case.formats.out,
        case.dst32,
        relu=case.relu,
        relu_threshold=case.relu_threshold,
        round_10b=case.round_10b,
        accumulate=case.l1_accumulate,
        edge_minus_infinity=case.edge_minus_infinity,
        e4m3=case.e4m3 and case.formats.out is Format.FP8,
    )
    words = _row_major(dst) if case.op is Op.PACK_UNTILIZE else dst
    masks = [ALL_COLUMNS if case.op is not Op.REDUCE or row in (0, FACE) else 0 for row in range(ROWS)]
    before = np.zeros(ROWS * BLOCK, int)
    if kernel.before is not None:
        before = kernel.before.view(f"<u{packing.row_bytes // BLOCK}")
    rows = zip(words.tolist(), before.reshape(ROWS, BLOCK).tolist(), case.edge_mask or masks, strict=True)
    return [PackRow(packing, tuple(row), tuple(old), mask).payload(junk) for row, old, mask in rows]


def _bytes(fmt: Format, payloads: list[int]) -> np.ndarray:
    """Return the bytes of packed rows: exponents of block floats, then all datums."""
    packed = [unpack(PackedRow, each) for each in payloads]
    size = BLOCK * Packing(fmt, fmt, dst32=False).datum_bits // 8
    exponents = [each["exponent"] for each in packed] if fmt in BLOCK_FLOATS else []
    data = b"".join(each["datums"].to_bytes(size, "little") for each in packed)
    return np.concatenate([np.array(exponents, np.uint8), np.frombuffer(data, np.uint8)])
