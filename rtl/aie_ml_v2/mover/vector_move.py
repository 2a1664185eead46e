"""Moves of bytes and lanes: shift, push, insert, extract, broadcast.

A shifter takes a register out of two, from a number of bytes on; ``filled`` has the scalar in every lane::

    operation           low      high     bytes
    SHIFT               a        b        index
    PUSH_LOW            filled   a        those of a register less those of a lane
    PUSH_HIGH           a        filled   those of a lane
    EXTRACT, ..BROADCAST  a      b        index * those of a lane, modulo the register's

Latency: 1 cycle. Throughput: one move a cycle.

Ref: AM027, Vector Unit; llvm-aie for the operations.
"""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value

from bitpath.rtl.aie_ml_v2.mover.layouts import SCALAR_BITS, MoveOp, VectorMoveConfig, move_request, move_result
from bitpath.rtl.common.pipeline.pipeline_registers import Registered
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

WORD_BITS = SCALAR_BITS // 2
"""Bits of an r register."""
LANE_BYTES = (1, 2, 4, 8, 16)
"""Bytes of a lane, by ``log_bytes``."""


class VectorMove(Registered):
    """Shift by bytes, and moves between a scalar and lanes.

    A shift by more than a register takes zeros from above b.

    Parameters
    ----------
    config : VectorMoveConfig, the bytes of a register.

    Members
    -------
    i : In(stream of move_request)
    o : Out(stream of move_result)
    """

    def __init__(self, config: VectorMoveConfig):
        self.config = config
        size = config.register_bytes
        super().__init__(move_request(size), move_result(size))

    def compute(self, m: Module, platform: Any, request: Any, result: Any) -> None:
        size = self.config.register_bytes
        filled, low, high, shifted = (Signal(8 * size, name=name) for name in ("filled", "low", "high", "shifted"))
        lane_bytes, place, count = Signal(range(max(LANE_BYTES) + 1)), Signal(range(size)), Signal(range(2 * size))
        m.d.comb += [
            lane_bytes.eq(1 << request.log_bytes),
            place.eq(request.index << request.log_bytes),
            filled.eq(self._filled(m, "scalar", request.scalar)),
            low.eq(request.a),
            high.eq(request.b),
            count.eq(place),
            shifted.eq(Cat(low, high) >> (count << 3)),
        ]
        with m.Switch(request.op):
            with m.Case(MoveOp.SHIFT):
                m.d.comb += count.eq(request.index)
            with m.Case(MoveOp.PUSH_LOW):
                m.d.comb += [low.eq(filled), high.eq(request.a), count.eq(size - lane_bytes)]
            with m.Case(MoveOp.PUSH_HIGH):
                m.d.comb += [high.eq(filled), count.eq(lane_bytes)]

        with m.Switch(request.op):
            with m.Case(MoveOp.SHIFT, MoveOp.PUSH_LOW, MoveOp.PUSH_HIGH):
                m.d.comb += result.register.eq(shifted)
            with m.Case(MoveOp.INSERT):
                m.d.comb += result.register.eq(self._inserted(m, place, filled))
            with m.Case(MoveOp.EXTRACT):
                m.d.comb += result.scalar.eq(self._extended(m, shifted))
            with m.Case(MoveOp.BROADCAST):
                m.d.comb += result.register.eq(filled)
            with m.Default():
                m.d.comb += result.register.eq(self._filled(m, "lane", shifted))

    def _filled(self, m: Module, name: str, lane: Value) -> Signal:
        """Return a register of copies of a lane."""
        filled = Signal(8 * self.config.register_bytes, name=f"{name}_filled")
        with m.Switch(self.i.p.log_bytes):
            for log, size in enumerate(LANE_BYTES):
                if 8 * size <= len(lane):
                    with m.Case(log):
                        m.d.comb += filled.eq(lane[: 8 * size].replicate(self.config.register_bytes // size))
        return filled

    def _inserted(self, m: Module, place: Value, filled: Value) -> Value:
        """Return a with the lane at a byte taken from a register."""
        bytes_taken = []
        mask = Signal(range(max(LANE_BYTES)))  # bits of a byte's number within its lane
        m.d.comb += mask.eq((1 << self.i.p.log_bytes) - 1)
        for k in range(self.config.register_bytes):
            taken = (place | mask) == (k | mask)
            bytes_taken.append(Mux(taken, filled.word_select(k, 8), self.i.p.a.word_select(k, 8)))
        return Cat(bytes_taken)

    def _extended(self, m: Module, lane: Value) -> Signal:
        """Return the lowest lane of a register, extended to a scalar."""
        scalar = Signal(SCALAR_BITS)
        with m.Switch(self.i.p.log_bytes):
            for log, bits in enumerate((8, 16, 32)):
                sign = lane[bits - 1] & self.i.p.is_signed
                with m.Case(log):
                    m.d.comb += scalar.eq(Cat(lane[:bits], sign.replicate(WORD_BITS - bits)))
            with m.Default():
                m.d.comb += scalar.eq(lane[:SCALAR_BITS])
        return scalar


RECORDS = (
    Unit(
        name="vector_move",
        config_type=VectorMoveConfig,
        build=VectorMove,
        summary="AIE-ML v2: vector shift, push, insert, extract, broadcast",
        covered=Covered(VectorMoveConfig(), 300),
        judges=(Judge(61, VectorMoveConfig(), 200),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("shifter", r"(filled|low|high|count|place|shifted)"),
            WaveGroup("result", r"result"),
            OUTPUT,
        ),
    ),
)
