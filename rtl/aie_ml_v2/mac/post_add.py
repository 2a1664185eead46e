"""Post-adder (cycle 4): applies MX shift bits to the products and sums MX or integer products.

``o = sum(product[k] * 2**-(x_shift + y_shift))`` for MX, where shift bit j belongs to elements 2j and 2j + 1::

     bit     17  16 | 15 ............ 2 | 1  0
            +-------+-------------------+------
     shift 0|  s    |  MX9 product      | 0  0     units of 2**-14
     shift 1|  s s  |    MX9 product       | 0     one of the two shift bits set
     shift 2|  s s s |     MX9 product         |   both set

For INT16 it adds the four partial products of either 16-bit product at bits 0, 8, 8 and 16. In a chained lane the sum is exact,
and either product may be subtracted. Combinational.
"""

from dataclasses import dataclass

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, AieNumerics
from bitpath.rtl.aie_ml_v2.mac.config import (
    BYTE,
    CHAINED_SUM_BITS,
    DEPTH,
    LANE_BITS,
    MX_MODES,
    LaneOperands,
    MacLaneConfig,
    MacMode,
    is_one_of,
)
from bitpath.rtl.aie_ml_v2.mac.products import MX6_IN_MX9, Products, ProductWords
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import Covered, Unit, WaveGroup


@dataclass(frozen=True, kw_only=True)
class PostAddConfig:
    """Configuration of ProductSum, the unit post_add.

    Attributes
    ----------
    numerics : choices where the documents leave the result open.
    """

    numerics: AieNumerics = AIE_ML_V2.numerics


SHIFTS = 2
"""Extra low bits of a term: a shift bit of x and one of y move a product right by at most 2."""
MX_PRODUCT_BITS = 16
"""16 bits hold a product of MX9 codes: at most ``128**2 = 2**14``, and a sign."""
TERM_BITS = MX_PRODUCT_BITS + SHIFTS
"""18 bits hold an MX product with its shift bits, or a product of bytes: at most ``255**2 < 2**16``, and a sign."""
SUM_BITS = LANE_BITS
"""32 bits hold an MX sum, at most 2**20; integer sums wrap at this width."""
INT16_PRODUCTS = 2
"""Products of 16-bit integers in one beat, of four partial products each."""


class PostAdd(wiring.Component):
    """Sum of 16 shifted MX products or of the integer products of one beat; combinational.

    Parameters
    ----------
    config : MacLaneConfig, the numerics and the supported modes.

    Members
    -------
    i : In(ProductWords)
    terms : Out(ArrayLayout(signed(18), 16)), shifted MX products in units of 2**-14; elements 8 to 15 are 0 in MX9
    o : Out(signed(32)), the sum, in units of 2**-14 for MX; in a chained lane Out(signed(34)), exact for INT16
    negated : In(2), in a chained lane: INT16's products that are subtracted
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.config, self.numerics = config, config.numerics
        chain = {"negated": In(INT16_PRODUCTS)} if config.chained else {}
        super().__init__(
            {
                "i": In(ProductWords),
                "terms": Out(data.ArrayLayout(signed(TERM_BITS), MX_BLOCK)),
                "o": Out(signed(CHAINED_SUM_BITS if config.chained else SUM_BITS)),
                **chain,
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
            shifted = self._shifted(m, f"wide_{k}", product[:MX_PRODUCT_BITS].as_signed(), k // 2, is_mx6)
            term = Signal(signed(TERM_BITS), name=f"term_{k}")
            m.d.comb += term.eq(Mux(is_mx, shifted, product))
            terms.append(term)
            # Only MX6 uses these; their sum is shifted left to MX9's units below.
            narrow.append(self._shifted(m, f"narrow_{k}", self.i.narrow[k], (DEPTH + k) // 2, Const(0)))
        unit = 2 * MX6_IN_MX9
        pairs = [a + b for a, b in zip(narrow[::2], narrow[1::2], strict=True)]
        narrow_sum = ((pairs[0] + pairs[1]) + (pairs[2] + pairs[3])) << unit
        products = [self._product(m, j, terms[4 * j : 4 * j + 4], is_int16) for j in range(INT16_PRODUCTS)]
        total = Signal.like(self.o, name="total")
        m.d.comb += [
            total.eq(products[0] + products[1] + narrow_sum),
            self.o.eq(total),
            self.terms.eq(Cat(*terms, *(Cat(Const(0, unit), each) for each in narrow))),
        ]
        return m

    def _product(self, m: Module, j: int, parts: list[Value], is_int16: Value) -> Value:
        """Return the sum of four products; for INT16 of the partial products of product j, by weight."""
        middle = parts[1] + parts[2]
        product = Signal.like(self.o, name=f"product_{j}")
        m.d.comb += product.eq(
            parts[0] + Mux(is_int16, middle << BYTE, middle) + Mux(is_int16, parts[3] << 2 * BYTE, parts[3])
        )
        return Mux(self.negated[j], -product, product) if self.config.chained else product

    def _shifted(self, m: Module, name: str, product: Value, pair: int, drops_mx6: Value) -> Value:
        """Return ``(product << 2) >> (x_shift + y_shift)``; without lossless shifts, floored to the product's own unit.

        Blocks of bfp16ebs8 have no shifts.
        """
        x, y = self.i.x_shift[pair], self.i.y_shift[pair]
        shifted = Signal(signed(len(product) + SHIFTS), name=f"shifted_{name}")
        extended = product << SHIFTS
        if self.config.bfp16ebs8:
            m.d.comb += shifted.eq(extended)
            return shifted
        m.d.comb += shifted.eq(Mux(x & y, extended >> 2, Mux(x | y, extended >> 1, extended)))
        if self.numerics.mx_lossless_shift:
            return shifted
        floored = Signal.like(shifted, name=f"floored_{name}")
        # The masks are signed constants, so their sign extends over the high bits.
        m.d.comb += floored.eq(shifted & Mux(drops_mx6, Const(-1 << SHIFTS + 2 * MX6_IN_MX9), Const(-1 << SHIFTS)))
        return floored


# Products and post-adder as one combinational unit, ``o = sum(x[k] * y[k])`` of one MX or integer beat.


class ProductSum(wiring.Component):
    """Sum of the products of one MX or integer beat; combinational.

    Parameters
    ----------
    config : PostAddConfig, the numerics.

    Members
    -------
    i : In(LaneOperands)
    o : Out(signed(32)), in units of 2**-14 at the block pair's exponent for MX
    """

    clocked = False

    def __init__(self, config: PostAddConfig):
        self.config = config
        super().__init__({"i": In(LaneOperands), "o": Out(signed(SUM_BITS))})

    def elaborate(self, platform):
        m = Module()
        lane = MacLaneConfig(numerics=self.config.numerics)
        multiply = instantiate(m, platform, "multiply", Products, lane)
        post_add = instantiate(m, platform, "post_add", PostAdd, lane)
        m.d.comb += [multiply.i.eq(self.i), post_add.i.eq(multiply.o), self.o.eq(post_add.o)]
        return m


RECORDS = (
    Unit(
        name="post_add",
        config_type=PostAddConfig,
        build=ProductSum,
        summary="AIE-ML v2: sum of 16 shifted MX products or of integer products",
        covered=Covered(PostAddConfig(), 500),
        waves=(
            WaveGroup("inputs", r"i\b"),
            WaveGroup("decode", r"multiply\.(mx|float)_decode_"),
            WaveGroup("products", r"multiply\."),
            WaveGroup("sum", r"post_add\."),
            WaveGroup("output", r"o$"),
        ),
    ),
)
