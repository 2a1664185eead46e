"""Bench of the move unit: every index of every operation and width, single bits, random requests, latency, resets.

Expected values come from golden's exact tier before anything is driven. ``BITPATH_CASES`` sets the random requests of a
test.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from random import Random

from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import VECTOR_BITS
from bitpath.golden.aie_ml_v2.declarations.mover import BROADCAST_LANE_BITS, SCALAR_LANE_BITS
from bitpath.rtl.aie_ml_v2.mover.layouts import SCALAR_BITS, MoveOp, VectorMoveConfig, move_request, move_result
from bitpath.rtl.aie_ml_v2.mover.vector_move import VectorMove
from bitpath.verif.kit import pauses
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers

# Requests for the move unit with the exact tier's results.


LANES = {
    op: {MoveOp.SHIFT: (8,), MoveOp.EXTRACT_BROADCAST: BROADCAST_LANE_BITS}.get(op, SCALAR_LANE_BITS) for op in MoveOp
}
"""Bits of the lanes that an operation takes; a shift has none."""
KINDS = [(op, bits) for op, widths in LANES.items() for bits in widths]
INDEXED = (MoveOp.SHIFT, MoveOp.INSERT, MoveOp.EXTRACT, MoveOp.EXTRACT_BROADCAST)
"""Operations that read an index."""
SIGNED_KINDS = [(*kind, signed) for kind in KINDS for signed in (False, True)]


def bin_of(op: MoveOp, bits: int, signed: bool) -> str:
    return f"{op.name}/{bits}/{'signed' if signed else 'unsigned'}"


@dataclass(frozen=True)
class Move:
    """A move of registers of `size` bytes, as integers."""

    size: int
    op: MoveOp
    bits: int
    signed: bool
    index: int
    scalar: int
    a: int
    b: int

    @cached_property
    def result(self) -> dict[str, int]:
        """Return the result's fields. A register of fewer bytes lies below zeros in the exact tier's, for PUSH_HIGH
        above."""
        whole, above = (1 << 8 * self.size) - 1, VECTOR_BITS - 8 * self.size
        lane = self.index % (8 * self.size // self.bits)
        scalar = self.scalar & (1 << self.bits) - 1
        if self.op is MoveOp.EXTRACT:
            return {"scalar": exact.extract(self.a, lane, self.bits, self.signed)}
        if self.op is MoveOp.SHIFT:
            both = self.a | self.b << 8 * self.size
            register = exact.vector_shift(both & (1 << VECTOR_BITS) - 1, both >> VECTOR_BITS, self.index)
        elif self.op is MoveOp.PUSH_LOW:
            register = exact.push(self.a, scalar, self.bits, False)
        elif self.op is MoveOp.PUSH_HIGH:
            register = exact.push(self.a << above, scalar, self.bits, True) >> above
        elif self.op is MoveOp.INSERT:
            register = exact.insert(self.a, lane, scalar, self.bits)
        elif self.op is MoveOp.BROADCAST:
            register = exact.broadcast(scalar, self.bits)
        else:
            register = exact.extract_broadcast(self.a, lane, self.bits)
        return {"register": register & whole}

    @property
    def request(self) -> Request:
        fields = {
            "op": self.op,
            "log_bytes": (self.bits // 8).bit_length() - 1,
            "is_signed": int(self.signed),
            "index": self.index,
            "scalar": self.scalar,
            "a": self.a,
            "b": self.b,
        }
        return Request(pack(move_request(self.size), fields), pack(move_result(self.size), self.result), self.shown)

    def shown(self, _: str) -> Shown:
        operands = {name: f"{getattr(self, name):#x}" for name in ("index", "scalar", "a", "b")}
        return Shown(operands={"operation": bin_of(self.op, self.bits, self.signed)} | operands)


def random_move(
    source: Random, size: int, op: MoveOp, bits: int, *, signed: bool | None = None, index: int | None = None
) -> Move:
    """Return a move with any registers and scalar, and any sign and index where none is given."""
    signed = bool(source.getrandbits(1)) if signed is None else signed
    index = source.randrange(2 * size) if index is None else index
    a, b = (source.getrandbits(8 * size) for _ in "ab")
    return Move(size, op, bits, signed, index, source.getrandbits(SCALAR_BITS), a, b)


def every_index(source: Random, size: int) -> list[Move]:
    """Return moves by every number of bytes and to and from every lane, beyond the last too."""
    return [
        random_move(source, size, op, bits, signed=signed, index=index)
        for (op, bits), signed, index in product(KINDS, (False, True), range(2 * size))
        if op in INDEXED
    ]


def single_bits(source: Random, size: int) -> list[Move]:
    """Return moves of registers and scalars with one bit set, one in each place, by any index."""
    made = []
    for op, bits in KINDS:
        index = source.randrange(2 * size)
        for place in range(8 * size):
            one = 1 << place
            made.append(Move(size, op, bits, True, index, one & (1 << SCALAR_BITS) - 1, one, 0))
            if op is MoveOp.SHIFT:
                made.append(Move(size, op, bits, True, index, 0, 0, one))
    return made


def draw(kinds: Sequence[tuple[MoveOp, int, bool]], rng: Random) -> list[Request]:
    size = BENCH.config.register_bytes
    return [random_move(rng, size, op, bits, signed=signed).request for op, bits, signed in kinds]


BENCH = StreamBench(
    __name__, VectorMoveConfig, VectorMove, SIGNED_KINDS, draw, lambda kind: (bin_of(*kind),), draws="moves"
)
random_requests, latency, resets = BENCH.tests()
covers(
    "vector_move.stream",
    "Each request carries its own control",
    "Every operation, width and sign in any order, full speed, gaps, stalls and both; latency; resets",
    random_requests,
    latency,
    resets,
)


@covers("vector_move.indices", "A number of bytes counts modulo two registers, a lane modulo the number of lanes")
@BENCH.sweep()
def indices() -> Made:
    """Shifts by every number of bytes up to two registers; insert, extract and extract-and-broadcast at every lane of
    every width, and at numbers beyond the last lane."""
    return [each.request for each in every_index(pauses.rng("moves"), BENCH.config.register_bytes)]


@covers(
    "vector_move.bits",
    "Pushes and broadcasts share the shifter's operands; scalars above a lane's width must not leak",
)
@BENCH.sweep()
def bits() -> Made:
    """Registers and scalars with one bit set, in every place, through every operation and width."""
    rng = pauses.rng("moves")
    moves = single_bits(rng, BENCH.config.register_bytes)
    return [each.request for each in rng.sample(moves, min(len(moves), 10 * BENCH.cases))]
