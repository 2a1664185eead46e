"""Dot product of any shape: 1 to 32 products, their block scales, and a partial sum, with one rounding.

    o = round(2**(sx + sw - 254) * (x0*w0 + ... + xn*wn) + partial)

x and w are the moving and the stationary elements, sx and sw the E8M0 codes of their scales, where the numerics have them.
Formats, sum, roundings and special values are those of `DotProductNumerics`. `QuadMxDot` is the same for Trainium3's shape
with a shorter path from the sum to FP32.

Datapath, with the pipeline registers and the values of ``stages`` that have them::

    elements         partial    scales
    decode            decode      |        Decode
    multiply (n)         |        |        Multiply: exact products
    [product_round (n)]  |        |        ProductRound, where products round by themselves
    =====================|========|====    "multiply": 2, 3, 4
    one grid, carry-save compression       ExactTerms or AlignedTerms
    ===================================    "align":    4
    carry-propagate adder                  DotTotal
    ===================================    "add":      1, 2, 3, 4
    leading bit to the top                 Normalize
    ===================================    "normalize": 3, 4
    round                                  Round

Latency is ``stages`` cycles, 0 to 4; throughput is one result a cycle, and all registers hold while ``o`` stalls.

`DotAccumulator` keeps the partial sum: its result is the partial sum of the next step.

Ref: OCP Microscaling Formats (MX) 1.0; IEEE 754-2019.
"""

from dataclasses import dataclass, field
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import E8M0, FP32, FloatFormat
from bitpath.golden.formats.dot import (
    MULTIPLY_ADD_FP32,
    MX_DOT_PRODUCT,
    DotProductNumerics,
    InvalidProduct,
    ScaleNan,
    ZeroSign,
)
from bitpath.rtl.common.arithmetic.decode import Decode, raw_float, raw_sum, sum_special
from bitpath.rtl.common.arithmetic.dot_sum import AlignedTerms, DotTotal, ExactTerms, ProductRange
from bitpath.rtl.common.arithmetic.multiply import Multiply
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.product_round import ProductRound
from bitpath.rtl.common.arithmetic.round import Round
from bitpath.rtl.common.config import PipelineConfig, require_range
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

MAX_TERMS = 32
"""Largest number of products; an OCP block has as many elements."""
MAX_ALIGN_FRACTION_BITS = 64
"""Upper limit of align_fraction_bits."""


def require_dot_product(unit: str, numerics: DotProductNumerics) -> None:
    """Raise ValueError unless the datapath can have these numerics."""
    require_range(unit, "terms", numerics.terms, 1, MAX_TERMS)
    given = [fmt.name for fmt in numerics.element_formats]
    if not given or len(set(given)) < len(given):
        raise ValueError(f"{unit}: element_formats must be distinct formats, not {given}")
    if len({fmt.width for fmt in numerics.element_formats}) > 1:
        raise ValueError(f"{unit}: element_formats must have one width, not be {given}")
    if numerics.scale_format != E8M0:
        raise ValueError(f"{unit}: scale_format must be E8M0, not {numerics.scale_format.name}")
    if numerics.align_fraction_bits is not None:
        require_range(unit, "align_fraction_bits", numerics.align_fraction_bits, 0, MAX_ALIGN_FRACTION_BITS)
    rounded = numerics.product_rounding.format if numerics.product_rounding else None
    for name, fmt in (
        ("accumulator", numerics.accumulator),
        ("result", numerics.result),
        ("product_rounding", rounded),
    ):
        if fmt is not None and not _within_fp32(fmt):
            raise ValueError(f"{unit}: {name} must have at most FP32's exponents and fraction bits, not be {fmt.name}")


def _within_fp32(fmt: FloatFormat) -> bool:
    return fmt.emin >= FP32.emin and fmt.emax <= FP32.emax and fmt.fraction_bits <= FP32.fraction_bits


@dataclass(frozen=True, kw_only=True)
class DotProductConfig:
    """Configuration of a dot product.

    Attributes
    ----------
    numerics : shape, formats, sum and rounding.
    pipeline : pipeline stages.
    """

    numerics: DotProductNumerics = MX_DOT_PRODUCT.numerics
    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=2))

    def __post_init__(self) -> None:
        require_dot_product("dot_product", self.numerics)


@dataclass(frozen=True, kw_only=True)
class MultiplyAddConfig(DotProductConfig):
    """Configuration of a multiply-add: a dot product of one term without scales.

    With ``product_rounding`` it is not fused: the product rounds, then the sum.
    """

    numerics: DotProductNumerics = MULTIPLY_ADD_FP32.numerics

    def __post_init__(self) -> None:
        require_dot_product("multiply_add", self.numerics)
        if (self.numerics.terms, self.numerics.scales) != (1, 0):
            raise ValueError(
                "multiply_add: numerics must have 1 term and 0 scales, "
                f"not {self.numerics.terms} and {self.numerics.scales}"
            )


@dataclass(frozen=True, kw_only=True)
class DotAccumulatorConfig:
    """Configuration of a dot product that keeps its sum.

    Attributes
    ----------
    numerics : shape, formats, sum and rounding; ``result`` is None, since the result is the next partial sum.
    clear_adds : True if a request with ``clear`` adds its products to +0; False if it leaves +0.
    """

    numerics: DotProductNumerics = MX_DOT_PRODUCT.numerics
    clear_adds: bool = True

    def __post_init__(self) -> None:
        require_dot_product("dot_accumulator", self.numerics)
        if self.numerics.result is not None:
            raise ValueError(f"dot_accumulator: result must be None, not {self.numerics.result.name}")


def sides_layout(numerics: DotProductNumerics) -> dict[str, data.StructLayout]:
    """Layouts of both operands: the elements (element 0 lowest), the code of their scale, and the index of their format in
    ``numerics.element_formats``. A scale that the numerics do not have, and the index of the only format, are left out."""
    formats, sides = numerics.element_formats, {}
    for number, name in enumerate(("stationary", "moving")):
        fields: dict[str, Any] = {"elements": data.ArrayLayout(formats[0].width, numerics.terms)}
        if number < numerics.scales:
            fields["scale"] = numerics.scale_format.width
        if len(formats) > 1:
            fields["format"] = ceil_log2(len(formats))
        sides[name] = data.StructLayout(fields)
    return sides


def dot_product_layout(numerics: DotProductNumerics) -> data.StructLayout:
    """Layout of the operands of one step; ``partial`` is a code of ``numerics.partial_format``."""
    return data.StructLayout(sides_layout(numerics) | {"partial": numerics.partial_format.width})


def accumulate_layout(numerics: DotProductNumerics) -> data.StructLayout:
    """Layout of the operands of one accumulated step."""
    return data.StructLayout(sides_layout(numerics) | {"clear": 1})


STEPS = {
    0: (),
    1: ("add",),
    2: ("multiply", "add"),
    3: ("multiply", "add", "normalize"),
    4: ("multiply", "align", "add", "normalize"),
}
"""Steps that end in a pipeline register, by ``stages``."""


class _Datapath:
    """The steps of a dot product in a component ``m``."""

    def __init__(self, m: Module, platform: Any, numerics: DotProductNumerics):
        self.m, self.platform, self.numerics = m, platform, numerics

    def result(self, registers: PipelineRegisters, stationary: data.View, moving: data.View, partial: Value) -> Value:
        """Return the code of ``round(sum(products) + partial)`` behind the registers."""
        m, platform, numerics = self.m, self.platform, self.numerics
        products, values = self._products(stationary, moving)
        number = self._partial(partial)
        # Rounded products have their scales.
        scale = self._scale(*(() if numerics.product_rounding else (stationary, moving)[: numerics.scales]))
        nan = Const(0)
        if numerics.scale_nan is ScaleNan.NAN:
            for side in (stationary, moving)[: numerics.scales]:
                nan |= side.scale.all()
        special = sum_special(m, [*products, number], nan=nan)
        if numerics.zero_sign is not ZeroSign.ALL_NEGATIVE:
            negative = number.sign if numerics.zero_sign is ZeroSign.PARTIAL else Const(0)
            own, special = special, Signal.like(special, name="own_special")
            m.d.comb += [special.eq(own), special.sign.eq(Mux(own.inf, own.sign, negative))]
        held = Signal(data.ArrayLayout(products[0].shape(), numerics.terms), name="products")
        m.d.comb += [held[k].eq(product) for k, product in enumerate(products)]
        products, number, scale, special = registers.hold(
            "multiply", products=held, partial=number, scale=scale, special=special
        )

        aligning = ExactTerms if numerics.align_fraction_bits is None else AlignedTerms
        arguments = products.shape().elem_shape, number.shape(), values
        terms = instantiate(m, platform, "terms", aligning, numerics, *arguments)
        m.d.comb += [terms.products.eq(products), terms.partial.eq(number), terms.scale.eq(scale)]
        rows, number, special = registers.hold("align", rows=terms.o, number=number, special=special)

        total = instantiate(m, platform, "total", DotTotal, terms.o.shape(), aligning.padding(numerics))
        m.d.comb += total.i.eq(rows)
        summed, special = registers.hold("add", summed=self._sum(total, number), special=special)

        fmt = numerics.rounded_format
        normalize = instantiate(m, platform, "normalize", Normalize, summed.shape(), fmt.precision)
        m.d.comb += normalize.i.eq(summed)
        normal, special = registers.hold("normalize", normal=normalize.o, special=special)
        rounder = instantiate(
            m,
            platform,
            "round",
            Round,
            normalize.o.shape(),
            fmt,
            rounding=numerics.accumulator_rounding,
            subnormals=numerics.result_subnormals,
            overflow_to_infinity=numerics.overflow_to_infinity,
            container=numerics.result_format,
        )
        m.d.comb += [rounder.i.eq(normal), rounder.special.eq(special)]
        return rounder.o if numerics.nan_code is None else Mux(special.nan, numerics.nan_code, rounder.o)

    def _products(self, stationary: data.View, moving: data.View) -> tuple[list[data.View], ProductRange]:
        """The products, exact or rounded, and what they can be."""
        m, platform, numerics = self.m, self.platform, self.numerics
        values, products = ProductRange.of(numerics.element_formats), []
        for k in range(numerics.terms):
            sides = [
                self._element(side, name, number, k)
                for number, (name, side) in enumerate((("stationary", stationary), ("moving", moving)))
            ]
            multiply = instantiate(m, platform, f"multiply_{k}", Multiply, sides[0].shape())
            m.d.comb += [multiply.a.eq(sides[0]), multiply.b.eq(sides[1])]
            product = multiply.o
            if numerics.invalid_product is InvalidProduct.ZERO:
                product = Signal.like(multiply.o, name=f"product_{k}")
                m.d.comb += [
                    product.eq(multiply.o),
                    product.nan.eq(sides[0].nan | sides[1].nan),
                    product.inf.eq(multiply.o.inf & multiply.o.significand.any()),
                ]
            products.append(product)
        if numerics.product_rounding is None:
            return products, values
        fmt, scale = numerics.product_rounding.format, self._scale(*(stationary, moving)[: numerics.scales])
        offset = values.bias + values.fraction_bits + 2 * numerics.scale_format.bias
        rounded = []
        for k, product in enumerate(products):
            scaled = Signal(
                raw_float(max(len(product.exponent), len(scale)) + 1, len(product.significand)), name=f"scaled_{k}"
            )
            m.d.comb += [
                scaled.significand.eq(product.significand),
                scaled.exponent.eq(product.exponent + scale),
                scaled.sign.eq(product.sign),
                scaled.inf.eq(product.inf),
                scaled.nan.eq(product.nan),
            ]
            each = instantiate(
                m, platform, f"product_round_{k}", ProductRound, scaled.shape(), offset, numerics.product_rounding
            )
            m.d.comb += each.i.eq(scaled)
            # A rounded significand is less than 2; the sum takes products below 4.
            wide = Signal(raw_float(fmt.exponent_bits, fmt.precision + 1), name=f"rounded_{k}")
            m.d.comb += [
                wide.significand.eq(each.o.significand),
                wide.exponent.eq(each.o.exponent),
                wide.sign.eq(each.o.sign),
                wide.inf.eq(each.o.inf),
                wide.nan.eq(each.o.nan),
            ]
            rounded.append(wide)
        return rounded, ProductRange(fmt.min_subnormal, fmt.max, fmt.bias, fmt.fraction_bits)

    def _element(self, side: data.View, name: str, number: int, k: int) -> data.View:
        """Element ``k`` of a side; with ``ScaleNan.INFINITY`` a scale code of 255 makes it infinite, and a zero NaN."""
        m, numerics = self.m, self.numerics
        formats = numerics.element_formats
        decode = instantiate(
            m, self.platform, f"decode_{name}_{k}", Decode, formats, subnormals=numerics.element_subnormals
        )
        m.d.comb += [decode.code.eq(side.elements[k]), decode.format.eq(side.format if len(formats) > 1 else 0)]
        if number >= numerics.scales or numerics.scale_nan is ScaleNan.NAN:
            return decode.o
        scaled = Signal.like(decode.o, name=f"scaled_{name}_{k}")
        infinite, zero = side.scale.all(), ~decode.o.significand.any()
        invalid = infinite & zero if numerics.invalid_product is InvalidProduct.NAN else Const(0)
        m.d.comb += [
            scaled.eq(decode.o),
            scaled.inf.eq(decode.o.inf | (infinite & ~zero)),
            scaled.nan.eq(decode.o.nan | invalid),
        ]
        return scaled

    def _scale(self, *sides: data.View) -> Value:
        """The sum of the codes of two scales; one whose side is not given is 1."""
        scale = Signal(self.numerics.scale_format.width + 1)
        missing = (2 - len(sides)) * self.numerics.scale_format.bias
        self.m.d.comb += scale.eq(sum((side.scale for side in sides), Const(missing)))
        return scale

    def _partial(self, code: Value) -> data.View:
        """The decoded partial sum with FP32's fields.

        In an exact sum a subnormal of a smaller range is normal, since `ExactTerms` places it by its leading bit; in an
        aligned sum it keeps its own exponent.
        """
        m, numerics, fmt = self.m, self.numerics, self.numerics.partial_format
        decode = instantiate(
            m, self.platform, "decode_partial", Decode, (fmt,), subnormals=numerics.accumulator_subnormals
        )
        m.d.comb += decode.code.eq(code)
        if fmt == FP32:
            return decode.o
        number = Signal(raw_float(FP32.exponent_bits, FP32.precision), name="number")
        m.d.comb += [number.sign.eq(decode.o.sign), number.inf.eq(decode.o.inf), number.nan.eq(decode.o.nan)]
        padding = Const(0, FP32.fraction_bits - fmt.fraction_bits)
        if numerics.align_fraction_bits is not None:
            m.d.comb += [
                number.significand.eq(Cat(padding, decode.o.significand)),
                number.exponent.eq(decode.o.exponent + (FP32.bias - fmt.bias)),
            ]
            return number
        own = Signal(raw_sum(fmt.precision, FP32.exponent_bits + 2), name="own_partial")
        normalize = instantiate(m, self.platform, "normalize_partial", Normalize, own.shape(), FP32.precision)
        m.d.comb += [
            own.magnitude.eq(decode.o.significand),
            own.exponent.eq(decode.o.exponent - (fmt.bias + fmt.fraction_bits)),
            normalize.i.eq(own),
            number.significand.eq(normalize.o.significand),
            number.exponent.eq(Mux(normalize.o.zero, 1, normalize.o.exponent + FP32.bias)),
        ]
        return number

    def _sum(self, total: Any, partial: data.View) -> data.View:
        """The sum as sign and magnitude; the partial sum itself where it is all of it and has lost bits."""
        m, width = self.m, len(total.o.digits) + 1
        summed = Signal(raw_sum(width, len(total.o.exponent) + 2), name="sum")
        value = Cat(total.o.digits, total.o.sign)
        above = width - 1 - len(partial.significand)
        m.d.comb += [
            summed.sign.eq(total.o.sign ^ partial.sign),
            # The highest digit has the exponent; all terms were negated with the partial sum.
            summed.exponent.eq(total.o.exponent - (FP32.bias + width - 2)),
            summed.magnitude.eq(Mux(total.o.sign, -value, value)),
        ]
        with m.If(total.alone):
            m.d.comb += [
                summed.sign.eq(partial.sign),
                summed.exponent.eq(partial.exponent - (FP32.bias + width - 2)),
                summed.magnitude.eq(Cat(Const(0, above), partial.significand)),
            ]
        return summed


class DotProduct(wiring.Component):
    """``o = round(2**(sx + sw - 254) * sum(x[k] * w[k]) + partial)``, as ``DotProductNumerics`` defines it.

    Parameters
    ----------
    config : ``numerics`` and ``pipeline.stages``, the latency.

    Members
    -------
    i : In(stream of dot_product_layout)
    o : Out(stream of a code of ``numerics.result_format``)
    """

    def __init__(self, config: DotProductConfig):
        self.config = config
        layout, width = dot_product_layout(config.numerics), config.numerics.result_format.width
        super().__init__({"i": In(stream.Signature(layout)), "o": Out(stream.Signature(width))})

    def elaborate(self, platform):
        m = Module()
        registers = PipelineRegisters(m, STEPS[self.config.pipeline.stages], valid=self.i.valid, ready=self.o.ready)
        i = self.i.p
        datapath = _Datapath(m, platform, self.config.numerics)
        m.d.comb += [
            self.o.p.eq(datapath.result(registers, i.stationary, i.moving, i.partial)),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m


class DotAccumulator(wiring.Component):
    """``o = round(2**(sx + sw - 254) * sum(x[k] * w[k]) + o)``, or with +0 in place of the last ``o`` if ``clear`` is 1.

    The sum is +0 after reset. Latency is one cycle; a request waits while the last result does.

    Parameters
    ----------
    config : ``numerics``, and what ``clear`` does.

    Members
    -------
    i : In(stream of accumulate_layout)
    o : Out(stream of a code of ``numerics.result_format``)
    """

    def __init__(self, config: DotAccumulatorConfig):
        self.config = config
        layout, width = accumulate_layout(config.numerics), config.numerics.result_format.width
        super().__init__({"i": In(stream.Signature(layout)), "o": Out(stream.Signature(width))})

    @property
    def latency(self) -> int:
        """Cycles from a request to its result."""
        return 1

    def elaborate(self, platform):
        m = Module()
        i = self.i.p
        registers = PipelineRegisters(m, (), valid=self.i.valid, ready=self.o.ready)
        partial = Signal(len(self.o.p))
        m.d.comb += partial.eq(Mux(i.clear, 0, self.o.p))
        result = _Datapath(m, platform, self.config.numerics).result(registers, i.stationary, i.moving, partial)
        m.d.comb += self.i.ready.eq(self.o.ready | ~self.o.valid)
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(self.i.valid)
        with m.If(self.i.ready & self.i.valid):
            m.d.sync += self.o.p.eq(result if self.config.clear_adds else Mux(i.clear, 0, result))
        return m


GROUPS = (
    WaveGroup("decode", r"decode_"),
    WaveGroup("products", r"multiply_|product|scaled_|rounded_"),
    WaveGroup("align", r"terms|align_"),
    WaveGroup("sum", r"total|add_|sum"),
    WaveGroup("normalize", r"normalize"),
    WaveGroup("round", r"round"),
)
WAVES = (CLOCK, INPUTS, *GROUPS, OUTPUT)

RECORDS = (
    Unit(
        name="dot_product",
        config_type=DotProductConfig,
        build=DotProduct,
        summary="Any machine: 1 to 32 products of any formats, 0 to 2 scales, one partial sum",
        covered=Covered(DotProductConfig(), 500),
        judges=(Judge(100, DotProductConfig(), 300),),
        waves=WAVES,
        holds=True,
    ),
    Unit(
        name="multiply_add",
        config_type=MultiplyAddConfig,
        build=DotProduct,
        summary="Any machine: one product and an addend, fused or not, FP32, FP16 or BF16",
        covered=Covered(MultiplyAddConfig(), 4000),
        waves=WAVES,
        holds=True,
    ),
    Unit(
        name="dot_accumulator",
        config_type=DotAccumulatorConfig,
        build=DotAccumulator,
        summary="Any machine: a dot product that keeps its sum, and clears it",
        covered=Covered(DotAccumulatorConfig(), 500),
        judges=(Judge(101, DotAccumulatorConfig(), 300),),
        waves=WAVES,
        holds=True,
    ),
)
