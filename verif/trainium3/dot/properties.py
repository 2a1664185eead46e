"""Quad-MX products on a fixed-point grid; pipelines of the dot product and of the multiply-add."""

from collections.abc import Callable
from functools import partial

from amaranth import Cat, Mux, Value
from amaranth.lib import wiring

from bitpath.golden.formats.catalogue import E4M3FN, E5M2, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX_ALIGNED
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.multiply import Multiply
from bitpath.rtl.trainium3.dot.config import DotConfig, MultiplyAddConfig
from bitpath.rtl.trainium3.dot.multiply_add import MultiplyAdd
from bitpath.rtl.trainium3.dot.quad_mx_dot import QuadMxDot
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import MULTIPLIES_WRONG, earlier, stage_properties, staged_stream_properties
from bitpath.verif.formal.property import Properties
from bitpath.verif.formal.specification import long_multiplication

_ALIGNED = partial(DotConfig, numerics=TRAINIUM3_QUAD_MX_ALIGNED.numerics)

PROPERTIES = Properties(
    "trainium3/dot",
    *stage_properties("trainium3.quad_mx_dot", QuadMxDot, DotConfig),
    *stage_properties("trainium3.quad_mx_dot", QuadMxDot, _ALIGNED, suffix="_aligned"),
    *staged_stream_properties("trainium3.quad_mx_dot", QuadMxDot, DotConfig),
)

ELEMENTS = (E4M3FN, E5M2)
GRID_BIAS = E5M2.bias + E5M2.fraction_bits - 1
"""A fixed-point element is in units of ``2**-GRID_BIAS``; every number of both formats is a multiple of it."""


def _fixed(claim: Claim, code: Value, fmt: FloatFormat, name: str) -> Value:
    """The magnitude of a finite code in units of ``2**-GRID_BIAS``."""
    fraction, field = code[: fmt.fraction_bits], code[fmt.fraction_bits : -1]
    significand = Cat(fraction, field != 0)
    to_grid = GRID_BIAS - fmt.bias - fmt.fraction_bits + 1
    return claim.value(significand << (Mux(field == 0, 0, field - 1)[: fmt.exponent_bits] + to_grid), name)


@PROPERTIES.of(
    "quad_mx_dot",
    "element_product_{left.name}_{right.name}",
    "{left.name} x {right.name}: the product of both numbers on a fixed-point grid",
    MULTIPLIES_WRONG,
    "left, right",
    ((E4M3FN, E4M3FN), (E4M3FN, E5M2), (E5M2, E5M2)),
)
def element_product(claim: Claim, left: FloatFormat, right: FloatFormat) -> None:
    formats = {"a": left, "b": right}
    decoders = {
        name: claim.instantiate(name, Decode(ELEMENTS), format=ELEMENTS.index(fmt)) for name, fmt in formats.items()
    }
    numbers = {name: decoder.o for name, decoder in decoders.items()}
    dut = claim.instantiate("dut", Multiply(numbers["a"].shape()), **numbers)
    a, b = (_fixed(claim, decoders[name].code, fmt, f"fixed_{name}") for name, fmt in formats.items())
    # An exponent counts from 1, and both decoders' bias and fraction bits are in it.
    unit = 2 * (max(fmt.bias for fmt in ELEMENTS) + max(fmt.fraction_bits for fmt in ELEMENTS)) - 2 * GRID_BIAS
    claim.assume(*(~(number.inf | number.nan) for number in numbers.values()))
    value = claim.value(dut.o.significand << dut.o.exponent, "value")
    claim.ensure(value == claim.value(long_multiplication(a, b) << unit, "product"))


def operand_pipeline(claim: Claim, make: Callable[[], wiring.Component], latency: int) -> None:
    """From any state, the output equals the combinational unit's for the inputs ``latency`` cycles ago."""
    dut = claim.instantiate("dut", make())
    names = [name for name, member in dut.signature.members.items() if member.flow is wiring.In]
    inputs = {name: earlier(claim, Value.cast(getattr(dut, name)), latency, name) for name in names}
    flat = claim.instantiate("flat", make(), wires=True, **inputs)
    claim.ensure(dut.o == flat.o)


PROPERTIES += stage_properties("trainium3.multiply_add", MultiplyAdd, MultiplyAddConfig, operand_pipeline)
