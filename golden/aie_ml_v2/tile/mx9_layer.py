"""MX9 layers on the tile: blocks of four output tiles, a native product in two cycles.

::

    cycle of a step   0     1     2     3     4     5     6     7
    vec               A0          A1          A2          A3           products with one tile of B
    mv                lo    hi    A2    A3    lo    hi    A0    A1     shuffles: B's halves of k, and A's in place
    lda, ldb          four pops of A, four of B, and a fill of each FIFO
    st                after the last step of K: a push of each tile

An EX of 72 bytes is an A tile, or four columns of a B tile. A lies in blocks of four tiles along K, B tile by tile, C as
A: a row of an output tile is one block along the next layer's K.
"""

from functools import partial

import numpy as np

from bitpath.golden.aie_ml_v2.convert.to_mx import to_mx
from bitpath.golden.aie_ml_v2.declarations.codes import MX9, MX_BLOCK, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import MX9_MODE, TIMINGS
from bitpath.golden.aie_ml_v2.operands.layout import pack_mx, unpack_mx
from bitpath.golden.aie_ml_v2.operands.mx_blocks import MxBlocks
from bitpath.golden.aie_ml_v2.tile.addressing import Address
from bitpath.golden.aie_ml_v2.tile.schedule import PAIR_BYTES, A, B, C, Layer, Schedule
from bitpath.golden.aie_ml_v2.tile.transfers import Fill, Flush, Pop, Push
from bitpath.golden.aie_ml_v2.tile.vectors import Mac, Shuffle
from bitpath.golden.arrays.arguments import check_instance, checked

MX9_STEP = 8
MX9_LEAD = 18
MX9_TILES = 4
"""Row tiles of a block."""
POP_BYTES = MX9.store_bits // 8
STEP_BYTES = MX9_TILES * POP_BYTES
"""Bytes of A, and of B, that a step takes."""
HALVES = "T64_4x2"
COLUMN_HALVES = ("T64_8x2_lo", "T64_8x2_hi")
_SPARE = "ex8"
_A_REGISTERS = ("ex9", "ex10", "ex11")
_B_RESTART, _A_RESTART = 1, 0
"""Registers m that lead a stream back."""


@checked
def mx9_layer(a: np.ndarray | MxBlocks, b: np.ndarray, *, rounding: RoundingCode = RoundingCode.CONV_EVEN) -> Layer:
    """Return the layer ``to_mx(a @ b)``, its operands converted to MX9 along K.

    Parameters
    ----------
    a : float32 [M, K], or its blocks [M, K / 16].
    b : float32 [K, N].
    rounding : of all conversions.

    Raises
    ------
    TypeError, ValueError : another dtype or shape; M, K or N no multiple of 16; a matrix beyond a pair of banks.
    """
    left = a if isinstance(a, MxBlocks) else to_mx(a, MX9, rounding=rounding)
    right = to_mx(np.ascontiguousarray(b.T), MX9, rounding=rounding)
    check_instance("a", left, MxBlocks)
    if left.fmt is not MX9 or left.exponent.ndim != 2 or left.shape[1] != right.shape[1]:
        raise ValueError(f"a must be MX9 with {right.shape[1]} blocks a row, not {left.fmt.name} of {left.shape}")
    for name, size in (("M", left.shape[0]), ("N", right.shape[0])):
        if not size or size % MX_BLOCK:
            raise ValueError(f"{name} must be a multiple of {MX_BLOCK}, not {size}")
    images = {A: _image(left), B: _image(right)}
    for name, at in (("a", A), ("b", B)):
        if len(images[at]) > PAIR_BYTES:
            raise ValueError(f"{name} must have at most {PAIR_BYTES} bytes in memory, not {len(images[at])}")
    groups, steps, columns = left.shape[0] // MX_BLOCK, left.shape[1], right.shape[0] // MX_BLOCK
    registers = {
        "p0": A,
        "p1": B,
        "p2": C,
        f"m{_A_RESTART}": POP_BYTES - steps * STEP_BYTES,
        f"m{_B_RESTART}": POP_BYTES - steps * columns * STEP_BYTES,
    }
    return Layer(
        bundles=_bundles(groups, steps, columns, rounding),
        registers={name: value % (1 << 20) for name, value in registers.items()},
        images=images,
        result=(C, groups * columns * STEP_BYTES),
        decode=partial(_decoded_blocks, columns),
        macs=groups * steps * columns * MX_BLOCK**3,
    )


def _decoded_blocks(columns: int, data: np.ndarray) -> MxBlocks:
    """Return the blocks of C's bytes: 16 rows, along N, then the next 16."""
    blocks = data.reshape(-1, columns, MX_BLOCK, MX9.block_bytes).swapaxes(1, 2)
    return unpack_mx(blocks.reshape(-1, columns, MX9.block_bytes), MX9)


def _image(blocks: MxBlocks) -> np.ndarray:
    """Return the bytes of rows of blocks: 16 rows, along K, then the next 16."""
    rows, steps = blocks.shape
    return pack_mx(blocks).reshape(rows // MX_BLOCK, MX_BLOCK, steps, -1).swapaxes(1, 2).ravel()


def _bundles(groups: int, steps: int, columns: int, rounding: RoundingCode) -> tuple:
    schedule = Schedule()
    for number in range(groups * columns * steps):
        base = MX9_LEAD + MX9_STEP * number
        block, step = divmod(number, steps)
        last, ends_row = step + 1 == steps, (block + 1) % columns == 0
        _load_b(schedule, base, restarts=last and ends_row)
        _load_a(schedule, base, number, restarts=last and not ends_row)
        for i in range(MX9_TILES):
            accumulator = f"dm{MX9_TILES * (block % 2) + i}"
            mac = Mac(
                mode="mx9",
                to=accumulator,
                a=_a_register(number, i),
                b=f"ey{_b_pair(base)}",
                b_high=f"ey{_b_pair(base) + 1}",
                accumulates=step > 0,
            )
            schedule.put(base + 2 * i, "vec", mac)
            if last:
                written = base + 2 * i + TIMINGS[MX9_MODE.datapath].write
                schedule.put(written, "st", Push(source=accumulator, rounding=rounding))
        if last:
            schedule.put(written + 1, "st", Flush())
    return schedule.bundles()


def _a_register(number: int, tile: int) -> str:
    return _A_REGISTERS[(MX9_TILES * number + tile) % len(_A_REGISTERS)]


def _b_pair(base: int) -> int:
    """Return the first EY of a step's B; every second step has the same."""
    return 2 * ((base - MX9_LEAD) // MX9_STEP % 2)


def _load_a(schedule: Schedule, base: int, number: int, *, restarts: bool) -> None:
    """Fill, and pop and shuffle the four tiles, each in the register of the third tile before it."""
    schedule.put(base - 12, "lda", Fill(fifo=0))
    for i, (pop, shuffle) in enumerate(((-11, -2), (-10, -1), (-7, 2), (-6, 3))):
        name = _a_register(number, i)
        jump = Address(pointer=0, register=_A_RESTART) if restarts and i == MX9_TILES - 1 else None
        schedule.put(base + pop, "lda", Pop(to=name, fifo=0, fmt="mx9", jump=jump))
        schedule.put(base + shuffle, "mv", Shuffle(to=name, low=name, mode=HALVES))


def _load_b(schedule: Schedule, base: int, *, restarts: bool) -> None:
    """Fill, pop 4 x 4 columns, and bring the halves of 8 columns each together: low ones in one EY, high ones in the next."""
    schedule.put(base - 18, "ldb", Fill(fifo=1))
    pair = _b_pair(base)
    for i, (first, shuffle) in enumerate(((-17, -8), (-13, -4))):
        low, high = f"ex{2 * pair + i}", f"ex{2 * pair + 2 + i}"
        jump = Address(pointer=1, register=_B_RESTART) if restarts and i else None
        schedule.put(base + first, "ldb", Pop(to=_SPARE, fifo=1, fmt="mx9"))
        schedule.put(base + first + 1, "ldb", Pop(to=high, fifo=1, fmt="mx9", jump=jump))
        for at, (to, mode) in enumerate(zip((low, high), COLUMN_HALVES, strict=True)):
            schedule.put(base + shuffle + at, "mv", Shuffle(to=to, low=_SPARE, high=high, mode=mode))
