"""Add/compare group: 32 bits in lanes of 8, 16 or 32 bits, with one adder whose carries stop at lanes.

    sum = (unary ? 0 : a) + (unary ? a : b)     in lanes that subtract the second summand is negated

Ref: AM027, Vector Unit; llvm-aie for the operations.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.aie_ml_v2.mover.alu_control import AluControl, Choice, Flag, Subtracts
from bitpath.rtl.aie_ml_v2.mover.alu_order import AluOrder
from bitpath.rtl.aie_ml_v2.mover.lane_bits import GROUP_BYTES, by_width, bytes_of, of_lanes, spread, whole_lanes
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class AluGroup(wiring.Component):
    """Combinational values and flags of a group. A lane's flag stands at each of its bytes.

    Members
    -------
    control : In(AluControl)
    a, b : In(32)
    mask : In(4)
    o : Out(32)
    flag : Out(4)
    """

    clocked = False
    apart = True
    control: In(AluControl)
    a: In(8 * GROUP_BYTES)
    b: In(8 * GROUP_BYTES)
    mask: In(GROUP_BYTES)
    o: Out(8 * GROUP_BYTES)
    flag: Out(GROUP_BYTES)

    def elaborate(self, platform):
        m = Module()
        control, width = self.control, self.control.width
        negative, zero, subtract = (Signal(GROUP_BYTES, name=name) for name in ("negative", "zero", "subtract"))
        signed = control.is_signed.replicate(GROUP_BYTES)
        m.d.comb += [
            negative.eq(of_lanes(width, bytes_of(self.a, lambda byte: byte[7])) & signed),
            zero.eq(whole_lanes(width, bytes_of(self.a, lambda byte: ~byte.any()))),
        ]
        with m.Switch(control.subtracts):
            with m.Case(Subtracts.ALL):
                m.d.comb += subtract.eq(Const(-1, GROUP_BYTES))
            with m.Case(Subtracts.MASKED):
                m.d.comb += subtract.eq(self.mask)
            with m.Case(Subtracts.NEGATIVE):
                m.d.comb += subtract.eq(negative)
        total, carry = self._sum(m, subtract)
        order = instantiate(m, platform, "order", AluOrder)
        m.d.comb += [
            order.control.eq(control),
            order.a.eq(self.a),
            order.b.eq(self.b),
            order.difference.eq(total),
            order.carry.eq(carry),
        ]
        flags = {
            Flag.GIVEN: self.mask,
            Flag.POSITIVE: ~(negative | zero),
            Flag.NEGATIVE: negative,
            Flag.IS_ZERO: zero,
            Flag.LESS: order.less,
            Flag.NOT_LESS: order.not_less,
        }
        with m.Switch(control.flag):
            for flag, value in flags.items():
                with m.Case(flag):
                    m.d.comb += self.flag.eq(value)
        picks_b = Signal(8 * GROUP_BYTES)
        m.d.comb += picks_b.eq(spread(self.flag | order.nan_a))
        values = {
            Choice.SUM: total,
            Choice.POSITIVE_SUM: total & ~spread(order.less),
            Choice.PICKED: (self.a & ~picks_b) | (self.b & picks_b),
            Choice.KEPT: self.a,
            Choice.AND: self.a & self.b,
            Choice.OR: self.a | self.b,
            Choice.NOT: ~self.a,
        }
        with m.Switch(control.choice):
            for choice, value in values.items():
                with m.Case(choice):
                    m.d.comb += self.o.eq(value)
        return m

    def _sum(self, m: Module, subtract: Value) -> tuple[Value, Value]:
        """Return the sums, and the carry out of each lane."""
        begins, carry, total = Signal(GROUP_BYTES), Const(0, 1), []
        all_bytes, halves, word = (Const(bits, GROUP_BYTES) for bits in (0b1111, 0b0101, 0b0001))
        m.d.comb += begins.eq(by_width(self.control.width, all_bytes, halves, word))
        for k in range(GROUP_BYTES):
            a, b = (side.word_select(k, 8) for side in (self.a, self.b))
            second = Mux(self.control.unary, a, b) ^ subtract[k].replicate(8)
            byte = Signal(9, name=f"byte_{k}")
            m.d.comb += byte.eq(Mux(self.control.unary, 0, a) + second + Mux(begins[k], subtract[k], carry))
            carry = byte[8]
            total.append(byte)
        carries = of_lanes(self.control.width, Cat(byte[8] for byte in total))
        return Cat(byte[:8] for byte in total), carries
