"""Order of the lanes of two 32-bit groups, from the carries of ``a - b``.

    integers   a < b if no carry leaves the lane, inverted where the signs differ and count
    floats     a < b by sign and magnitude; -0 equals +0; of NaN neither a < b nor a >= b

Ref: llvm-aie for the comparisons; `bitpath.golden.aie_ml_v2.declarations.choices.CHOICES` for NaN and zeros.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.aie_ml_v2.mover.alu_control import AluControl
from bitpath.rtl.aie_ml_v2.mover.lane_bits import GROUP_BYTES, bytes_of, of_lanes, whole_lanes
from bitpath.rtl.aie_ml_v2.mover.layouts import LaneWidth


class AluOrder(wiring.Component):
    """Combinational order. A lane's bit stands at each of its bytes.

    Members
    -------
    control : In(AluControl)
    a, b : In(32)
    difference : In(32), a - b
    carry : In(4), carry out of the lane's difference
    less, not_less : Out(4), a < b and a >= b
    nan_a : Out(4), a is NaN
    """

    clocked = False
    control: In(AluControl)
    a: In(8 * GROUP_BYTES)
    b: In(8 * GROUP_BYTES)
    difference: In(8 * GROUP_BYTES)
    carry: In(GROUP_BYTES)
    less: Out(GROUP_BYTES)
    not_less: Out(GROUP_BYTES)
    nan_a: Out(GROUP_BYTES)

    def elaborate(self, platform):
        m = Module()
        control, width = self.control, self.control.width
        minus_a, minus_b, differ, equal, zeros, nan_b = (
            Signal(GROUP_BYTES, name=name) for name in ("minus_a", "minus_b", "differ", "equal", "zeros", "nan_b")
        )
        m.d.comb += [
            minus_a.eq(of_lanes(width, bytes_of(self.a, lambda byte: byte[7]))),
            minus_b.eq(of_lanes(width, bytes_of(self.b, lambda byte: byte[7]))),
            differ.eq(minus_a ^ minus_b),
            equal.eq(whole_lanes(width, bytes_of(self.difference, lambda byte: ~byte.any()))),
            zeros.eq(self._zeros(self.a | self.b)),
        ]
        with m.If(control.is_float):
            smaller, larger = ~self.carry, self.carry & ~equal  # of magnitudes, where the signs agree
            below = (differ & minus_a & ~zeros) | (~differ & ((minus_a & larger) | (~minus_a & smaller)))
            m.d.comb += [
                self.nan_a.eq(self._nan(self.a, minus_a)),
                nan_b.eq(self._nan(self.b, minus_b)),
                self.less.eq(below & ~(self.nan_a | nan_b)),
            ]
        with m.Else():
            m.d.comb += self.less.eq(~self.carry ^ (differ & control.is_signed.replicate(GROUP_BYTES)))
        m.d.comb += self.not_less.eq(~(self.less | self.nan_a | nan_b))
        return m

    def _zeros(self, either: Value) -> Value:
        """Return where both floats are zero: no bit below the signs is set in either."""
        whole = bytes_of(either, lambda byte: ~byte.any())
        below = bytes_of(either, lambda byte: ~byte[:7].any())
        pairs = ((whole[k] & below[k + 1]).replicate(2) for k in (0, 2))
        return Mux(self.control.width == LaneWidth.W8, below, Cat(pairs))

    def _nan(self, side: Value, minus: Value) -> Value:
        """Return where a float is NaN."""
        limit = self.control.nan_above
        narrow = bytes_of(side, lambda byte: byte[:7] > limit[:7])
        sign_alone = bytes_of(side, lambda byte: ~byte[:7].any()) & minus & self.control.fnuz.replicate(GROUP_BYTES)
        halves = ((half[:15] > limit).replicate(2) for half in (side[:16], side[16:]))
        return Mux(self.control.width == LaneWidth.W8, narrow | sign_alone, Cat(halves))
