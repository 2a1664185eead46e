"""Conversions of AIE-ML v2: pipelines and streams, and elements of MX blocks."""

from collections.abc import Callable
from functools import partial

from amaranth import Cat, Const, Mux, Signal, Value, signed
from amaranth.lib import wiring

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.aie_ml_v2.convert.config import IntegerLanesConfig, MxConvertConfig
from bitpath.rtl.aie_ml_v2.convert.layouts import MxCode as BlockCode
from bitpath.rtl.aie_ml_v2.convert.mx_convert import MxConvert
from bitpath.rtl.aie_ml_v2.convert.mx_element import MxElement
from bitpath.rtl.aie_ml_v2.convert.srs import Srs
from bitpath.rtl.aie_ml_v2.convert.ups import Ups
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import offer_property, pipeline_property, still_property
from bitpath.verif.formal.property import Property, Sabotage
from bitpath.verif.formal.specification import leading_place, rounded


def stalled_pipeline(
    claim: Claim, make: Callable[[], wiring.Component], latency: int, cycles: int, **quiet: int
) -> None:
    """From any state, with any stalls and gaps, the output equals the model of the request ``latency`` advances ago."""
    dut = claim.instantiate("dut", make(), **quiet)
    request, valid, moves = Value.cast(dut.i.p), dut.i.valid, []
    for move in range(latency):
        last_request, last_valid = request, valid
        request, valid = Signal(request.shape(), name=f"request_{move}"), Signal(name=f"valid_{move}")
        with claim.m.If(dut.i.ready):
            claim.m.d.sync += [request.eq(last_request), valid.eq(last_valid)]
    moved = dut.i.ready
    for cycle in range(cycles):
        moved = claim.register(moved, f"moved_{cycle}")
        moves.append(moved)
    claim.assume(sum(moves[1:], moves[0]) >= latency)
    flat = claim.instantiate("flat", make(), wires=True, i__valid=1, o__ready=1, i__payload=request, **quiet)
    claim.ensure(dut.o.valid == valid, ~valid | (Value.cast(dut.o.p) == Value.cast(flat.o.p)))


def block_element(claim: Claim, block: BlockCode, rounding: RoundingCode) -> None:
    """A block's element: the number in units of its last place, rounded once, and the largest magnitude beyond."""
    dut = claim.instantiate("dut", MxElement(flush=True, min_code=False))
    exponent = dut.i[FP32.fraction_bits : -1]
    _under(claim, dut, block, rounding)
    bits = block.fmt.magnitude_bits
    significand = Mux(exponent == 0, 0, Cat(dut.i[: FP32.fraction_bits], Const(1, 1)))
    distance = dut.shared - dut.shifted - exponent + (FP32.precision - bits)
    shift = claim.value(Mux(distance > 63, 63, distance), "shift", 6)
    tie = Rounding.RNE if rounding is RoundingCode.CONV_EVEN else Rounding.RNA
    number = rounded(claim, claim.value(significand, "significand"), shift, tie, "spec")
    top = block.fmt.max_code
    magnitude = claim.value(Mux(number > top, top, number), "magnitude", bits)
    claim.ensure(dut.leaves == (number > top), dut.o == Mux(dut.i[-1], -magnitude, magnitude))


def block_element_again(claim: Claim, block: BlockCode) -> None:
    """A code's value under the same exponent is that code, to nearest even."""
    dut = claim.instantiate("dut", MxElement(flush=True, min_code=False))
    _under(claim, dut, block, RoundingCode.CONV_EVEN)
    code = claim.free("code", signed(block.fmt.width))
    claim.assume(code != block.fmt.min_code)
    magnitude = claim.value(Mux(code < 0, -code, code), "magnitude", block.fmt.magnitude_bits)
    place = leading_place(claim, magnitude, "place")
    exponent = dut.shared - dut.shifted - (block.fmt.magnitude_bits - 1) + place
    claim.assume(exponent >= 1)
    fraction = claim.value((magnitude << FP32.fraction_bits) >> place, "fraction")[: FP32.fraction_bits]
    number = Mux(magnitude == 0, 0, Cat(fraction, claim.value(exponent, "exponent", FP32.exponent_bits)))
    claim.assume(dut.i[:-1] == number, dut.i[-1] == (code < 0))
    claim.ensure(dut.o == code)


def _under(claim: Claim, dut: MxElement, block: BlockCode, rounding: RoundingCode) -> None:
    exponent = dut.i[FP32.fraction_bits : -1]
    claim.assume(dut.control.block_format == block, dut.control.rounding == rounding)
    claim.assume(exponent + dut.shifted <= dut.shared)


_LEAVES = Sabotage(
    "aie_ml_v2/convert/mx_element.py", "rounded.eq(kept + decision.up)", "rounded.eq(kept | decision.up)"
)
_DISTANCE = Sabotage(
    "aie_ml_v2/convert/mx_element.py", "self.shared - exponent - self.shifted", "self.shared - exponent"
)
_CONVERT = partial(MxConvert, MxConvertConfig())
INTEGERS = (
    ("aie_ml_v2.srs", partial(Srs, IntegerLanesConfig())),
    ("aie_ml_v2.ups", partial(Ups, IntegerLanesConfig())),
)
"""Beside their pipelines stands a flag; input ``clear_overflow`` clears it in any cycle."""

PROPERTIES = (
    pipeline_property("aie_ml_v2.mx_convert", _CONVERT, 3),
    offer_property("aie_ml_v2.mx_convert", _CONVERT),
    still_property("aie_ml_v2.mx_convert", _CONVERT),
    *(pipeline_property(*each, 2) for each in INTEGERS),
    *(offer_property(*each) for each in INTEGERS),
    *(still_property(*each, clear_overflow=0) for each in INTEGERS),
    Property(
        "ups_stalled",
        "aie_ml_v2.ups",
        "2 pipeline stages that move twice in four cycles, any stalls and gaps: the combinational unit's result",
        partial(stalled_pipeline, make=partial(Ups, IntegerLanesConfig()), latency=2, cycles=4, clear_overflow=0),
        Sabotage("common/pipeline/pipeline_registers.py", "with self._m.If(self.advance):", "with self._m.If(1):"),
        depth=4,
    ),
    *(
        Property(
            f"mx_element_{block.fmt.name}_{rounding.name}".lower(),
            "aie_ml_v2.mx_element",
            f"{block.fmt.name.upper()}, {rounding.name}: subnormals flushed, no most negative code: half a unit of error at most; exactly "
            "the largest magnitude beyond",
            partial(block_element, block=block, rounding=rounding),
            _LEAVES,
        )
        for block in BlockCode
        for rounding in (RoundingCode.CONV_EVEN, RoundingCode.SYMMETRIC_INF)
    ),
    *(
        Property(
            f"mx_element_again_{block.fmt.name}".lower(),
            "aie_ml_v2.mx_element",
            f"{block.fmt.name.upper()}, to even: every code but the most negative comes back from its value",
            partial(block_element_again, block=block),
            _DISTANCE,
        )
        for block in BlockCode
    ),
)
