"""Products of MX and of integers to their sum: what stands between multipliers and adder."""

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.layouts import BYTE, DEPTH, LANE_BITS
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MX_MODES, MacMode, is_one_of
from bitpath.rtl.aie_ml_v2.mac.mx_decode import MX6_IN_MX9
from bitpath.rtl.aie_ml_v2.mac.products import ProductWords

SHIFTS = 2
"""The largest sum of two shift bits: so many places stand below a product's last one."""
MX_PRODUCT_BITS = 16
"""Of a product of MX9 codes, at most 2**14, signed; as the pieces of integers it is in the low bits of a wide one."""
TERM_BITS = MX_PRODUCT_BITS + SHIFTS
"""Of a product with its places for shifts, and of a product of bytes, at most 255**2, signed."""
SUM_BITS = LANE_BITS
"""Of the sum: integers wrap there; MX's is at most 2**20."""


class PostAdd(wiring.Component):
    """16 MX products, moved by their shift bits, or the products of integers, added up. Combinational.

    Parameters
    ----------
    config : numerics and modes.

    Members
    -------
    i : In(ProductWords)
    terms : Out(ArrayLayout(signed(18), 16)), MX products in units of 2**-14; elements 8 to 15 are 0 in MX9
    o : Out(signed(32)), the sum; of MX in units of 2**-14
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.config, self.numerics = config, config.numerics
        super().__init__(
            {
                "i": In(ProductWords),
                "terms": Out(data.ArrayLayout(signed(TERM_BITS), MX_BLOCK)),
                "o": Out(signed(SUM_BITS)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        is_mx6, is_int16, is_mx = (
            is_one_of(self.i.control.mode, asked, self.config.modes)
            for asked in ((MacMode.MX6,), (MacMode.INT16,), MX_MODES)
        )
        terms, narrow = [], []
        for k in range(DEPTH):
            product = self.i.wide[k]
            moved = self._shifted(m, f"wide_{k}", product[:MX_PRODUCT_BITS].as_signed(), k // 2, is_mx6)
            term = Signal(signed(TERM_BITS), name=f"term_{k}")
            m.d.comb += term.eq(Mux(is_mx, moved, product))
            terms.append(term)
            # MX6 only, and 0 otherwise; MX6's places below those of MX9 are added after the sum.
            narrow.append(self._shifted(m, f"narrow_{k}", self.i.narrow[k], (DEPTH + k) // 2, Const(0)))
        unit = 2 * MX6_IN_MX9
        # Where pieces of 16-bit integers stand in their product.
        low = terms[0] + terms[4]
        middle = (terms[1] + terms[2]) + (terms[5] + terms[6])
        high = terms[3] + terms[7]
        pairs = [a + b for a, b in zip(narrow[::2], narrow[1::2], strict=True)]
        rest = ((pairs[0] + pairs[1]) + (pairs[2] + pairs[3])) << unit
        total = Signal(signed(SUM_BITS))
        m.d.comb += [
            total.eq(low + Mux(is_int16, middle << BYTE, middle) + Mux(is_int16, high << 2 * BYTE, high) + rest),
            self.o.eq(total),
            self.terms.eq(Cat(*terms, *(Cat(Const(0, unit), each) for each in narrow))),
        ]
        return m

    def _shifted(self, m: Module, name: str, product: Value, pair: int, drops_mx6: Value) -> Value:
        """A product with two more places below, in which its shifts put it, or which they leave 0."""
        x, y = self.i.x_shift[pair], self.i.y_shift[pair]
        moved = Signal(signed(len(product) + SHIFTS), name=f"moved_{name}")
        up = product << SHIFTS
        m.d.comb += moved.eq(Mux(x & y, up >> 2, Mux(x | y, up >> 1, up)))
        if self.numerics.mx_lossless_shift:
            return moved
        floored = Signal.like(moved, name=f"floored_{name}")
        # In signed constants, whose sign covers the high bits.
        m.d.comb += floored.eq(moved & Mux(drops_mx6, Const(-1 << SHIFTS + 2 * MX6_IN_MX9), Const(-1 << SHIFTS)))
        return floored
