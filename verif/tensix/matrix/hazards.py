"""Short runs of instructions on the same and on other blocks of Dst, with their issue cycles on a unit of full size.

Ref: tt-isa-documentation 3930471, MatrixUnit (latency) and Dst (a block is not readable for four cycles).
"""

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, DST16_ROWS
from bitpath.rtl.tensix.matrix.instruction import Opcode, Zeroed
from bitpath.rtl.tensix.pool.layouts import POOL_ROWS
from bitpath.verif.tensix.matrix.model import Operation
from bitpath.verif.tensix.matrix.player import Player


def mvmul(block: int, *, dst32: bool = True, **fields) -> Operation:
    """An MVMUL of BF16 sources on a block of Dst."""
    return Operation(opcode=Opcode.MVMUL, dst32=dst32, dst_row=block * BLOCK_ROWS, **fields)


def half(block: int) -> Operation:
    """An MVMUL on a 16-bit block: blocks 2n and 2n + 1 are the halves of pair n."""
    return mvmul(block, dst32=False)


def gmpool(block: int) -> Operation:
    """A GMPOOL of BF16 sources on the upper half of a block of 32-bit words."""
    return Operation(opcode=Opcode.GMPOOL, dst32=True, dst_row=block * BLOCK_ROWS + POOL_ROWS)


ZERO_2_3 = Operation(opcode=Opcode.ZEROACC, dst32=True, dst_row=2 * BLOCK_ROWS)
"""ZEROACC of pairs 2 and 3."""
ZERO_HALVES_2 = Operation(opcode=Opcode.ZEROACC, dst_row=4 * BLOCK_ROWS)
"""ZEROACC of 16 rows of 16 bits: pair 2."""
ZERO_ALL = Operation(opcode=Opcode.ZEROACC, zeroed=Zeroed.ALL)
ZERO_UPPER = Operation(opcode=Opcode.ZEROACC, zeroed=Zeroed.HALF, dst_row=DST16_ROWS - 1)
"""ZEROACC of pairs 32 to 63."""


def zero_row(block: int) -> Operation:
    """A ZEROACC of a row of a 16-bit block."""
    return Operation(opcode=Opcode.ZEROACC, zeroed=Zeroed.ROW, dst_row=block * BLOCK_ROWS + 3)


HAZARDS = {
    "one block": ([mvmul(0)] * 4, [0, 5, 10, 15]),
    "two blocks": ([mvmul(0), mvmul(1)] * 3, [0, 1, 5, 6, 10, 11]),
    "four blocks": ([mvmul(block) for block in range(4)] * 3, [0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13]),
    "five blocks": ([mvmul(block) for block in range(5)] * 3, list(range(15))),
    "halves of a pair": ([half(0), half(1)] * 3, [0, 1, 5, 6, 10, 11]),
    "a half, then its pair": ([half(1), mvmul(0), mvmul(1), half(0)], [0, 5, 6, 10]),
    "a pair, then its halves": ([mvmul(3), half(7), half(8), half(6)], [0, 5, 6, 7]),
    "both halves, then the pair": ([half(6), half(7), mvmul(3)], [0, 1, 6]),
    "ZEROACC": ([mvmul(3), ZERO_2_3, mvmul(2), mvmul(4), ZERO_2_3, mvmul(3)], [0, 5, 6, 7, 11, 12]),
    "ZEROACC beside": ([mvmul(1), ZERO_2_3, mvmul(4), ZERO_2_3], [0, 1, 2, 3]),
    "ZEROACC of a pair": ([half(3), mvmul(3), ZERO_HALVES_2, half(5), ZERO_HALVES_2], [0, 1, 2, 3, 8]),
    "GMPOOL": ([gmpool(0), mvmul(0), gmpool(1), gmpool(2), gmpool(0), gmpool(0)], [0, 5, 6, 7, 10, 15]),
    "ZEROACC of all": ([mvmul(60), ZERO_ALL, mvmul(60)], [0, 5, 6]),
    "ZEROACC of half": ([mvmul(32), mvmul(31), ZERO_UPPER, ZERO_UPPER, mvmul(32)], [0, 1, 5, 6, 7]),
    "ZEROACC of a row": ([half(7), zero_row(7), half(8), mvmul(9), zero_row(6), zero_row(8)], [0, 5, 6, 7, 8, 12]),
    "ZEROACC of a row while another one lands": ([mvmul(0)] + [zero_row(9)] * 5, [0, 1, 2, 3, 5, 6]),
    "ZEROACC of upper halves": ([half(4), half(5), half(9), ZERO_2_3], [0, 1, 2, 5]),
}
"""Instructions, and the issue cycle of each relative to the first."""


async def timed(player: Player, operations: list[Operation]) -> list[int]:
    """Issue instructions without a gap; return their issue cycles relative to the first."""
    first = len(player.taken["instruction"])
    for operation in operations:
        player.issue(operation)
    await player.idle()
    taken = player.taken["instruction"][first:]
    return [cycle - taken[0] for cycle in taken]
