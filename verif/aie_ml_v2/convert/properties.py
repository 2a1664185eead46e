"""Conversions of AIE-ML v2: pipelines and streams, elements of MX blocks, lanes of SRS and UPS."""

from functools import partial

from amaranth import Cat, Const, Mux, Signal, Value, signed

from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, SRS_MODES, SRS_SHIFTS, RoundingCode, Saturation
from bitpath.golden.formats.catalogue import FP32, Rounding
from bitpath.rtl.aie_ml_v2.convert.layouts import Blocks
from bitpath.rtl.aie_ml_v2.convert.layouts import MxCode as BlockCode
from bitpath.rtl.aie_ml_v2.convert.mx_convert import BFP16EBS8_CONVERT, MxConvert, MxConvertConfig, MxElement
from bitpath.rtl.aie_ml_v2.convert.srs import IntegerLanesConfig, Srs, SrsLane
from bitpath.rtl.aie_ml_v2.convert.ups import Ups, UpsLane
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import MOVES, pipeline_property, stream_properties
from bitpath.verif.formal.property import Properties, Sabotage
from bitpath.verif.formal.specification import leading_place, rounded, split

_CONVERT = partial(MxConvert, MxConvertConfig())
_BFP16EBS8 = partial(MxConvert, BFP16EBS8_CONVERT)
INTEGERS = (
    ("aie_ml_v2.srs", partial(Srs, IntegerLanesConfig())),
    ("aie_ml_v2.ups", partial(Ups, IntegerLanesConfig())),
)
"""Beside their pipelines stands a flag; input ``clear_overflow`` clears it in any cycle."""
_BLOCKS = [(block, block.fmt.name.upper()) for block in BlockCode]

PROPERTIES = Properties(
    "aie_ml_v2/convert",
    pipeline_property("aie_ml_v2.mx_convert", _CONVERT, 3),
    *stream_properties("aie_ml_v2.mx_convert", _CONVERT),
    pipeline_property("aie_ml_v2.mx_convert", _BFP16EBS8, 4, "_bfp16ebs8_pipeline"),
    *(pipeline_property(*unit, 2) for unit in INTEGERS),
    *(each for unit in INTEGERS for each in stream_properties(*unit, clear_overflow=0)),
)


@PROPERTIES.of(
    "ups",
    "ups_stalled",
    "2 pipeline stages that move twice in four cycles, any stalls and gaps: the combinational unit's result",
    MOVES,
    depth=4,
)
def ups_stalled(claim: Claim) -> None:
    """From any state, with any stalls and gaps, the output equals the model of the request ``latency`` advances ago."""
    latency, cycles = 2, 4
    dut = claim.instantiate("dut", Ups(IntegerLanesConfig()), clear_overflow=0)
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
    connections = {"i__valid": 1, "o__ready": 1, "i__payload": request, "clear_overflow": 0}
    flat = claim.instantiate("flat", Ups(IntegerLanesConfig()), wires=True, **connections)
    claim.ensure(dut.o.valid == valid, ~valid | (Value.cast(dut.o.p) == Value.cast(flat.o.p)))


@PROPERTIES.of(
    "mx_element",
    "mx_element_{name}_{rounding.name}",
    "{name}, {rounding.name}: subnormals flushed, no most negative code: half a unit of error at most; exactly "
    "the largest magnitude beyond",
    ("rounded.eq(kept + decision.up)", "rounded.eq(kept | decision.up)"),
    "block, name, rounding",
    [(*block, rounding) for block in _BLOCKS for rounding in (RoundingCode.CONV_EVEN, RoundingCode.SYMMETRIC_INF)],
)
def block_element(claim: Claim, block: BlockCode, rounding: RoundingCode) -> None:
    """A block's element: the number in units of its last place, rounded once, and the largest magnitude beyond."""
    dut = claim.instantiate("dut", MxElement(flush=True, min_code=False))
    _under(claim, dut, block, rounding)
    bits, top = block.fmt.magnitude_bits, block.fmt.max_code
    number = _rounded(claim, dut, bits, rounding)
    magnitude = claim.value(Mux(number > top, top, number), "magnitude", bits)
    claim.ensure(dut.leaves == (number > top), dut.o == Mux(dut.i[-1], -magnitude, magnitude))


@PROPERTIES.of(
    "mx_element",
    "mx_element_bfp16ebs8_{rounding.name}",
    "BFP16EBS8, {rounding.name}: subnormals flushed, the most negative code taken: half a unit of error at most; "
    "only a positive number leaves the range",
    ("above & ~negative", "above"),
    "rounding",
    [RoundingCode.CONV_EVEN, RoundingCode.SYMMETRIC_INF],
)
def bfp16ebs8_element(claim: Claim, rounding: RoundingCode) -> None:
    """An element of a block without shifts: the number in units of its last place, rounded once, -2**m included."""
    dut = claim.instantiate("dut", MxElement(flush=True, min_code=True, blocks=Blocks.BFP16EBS8))
    exponent = dut.i[FP32.fraction_bits : -1]
    claim.assume(dut.control.rounding == rounding, dut.shifted == 0, exponent <= dut.shared)
    bits, top = BFP16EBS8.magnitude_bits, BFP16EBS8.max_code
    number, negative = _rounded(claim, dut, bits, rounding), dut.i[-1]
    leaves = claim.value((number > top) & ~negative, "leaves", 1)
    magnitude = claim.value(Mux(leaves, top, number), "magnitude", bits + 1)
    claim.ensure(dut.leaves == leaves, dut.o == Mux(negative, -magnitude, magnitude))


@PROPERTIES.of(
    "mx_element",
    "mx_element_again_{name}",
    "{name}, to even: every code but the most negative comes back from its value",
    ("self.shared - exponent - self.shifted", "self.shared - exponent"),
    "block, name",
    _BLOCKS,
)
def block_element_again(claim: Claim, block: BlockCode) -> None:
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


def _rounded(claim: Claim, dut: MxElement, bits: int, rounding: RoundingCode) -> Value:
    """Return the element's magnitude in units of its last place, rounded to nearest."""
    exponent = dut.i[FP32.fraction_bits : -1]
    significand = Mux(exponent == 0, 0, Cat(dut.i[: FP32.fraction_bits], Const(1, 1)))
    distance = dut.shared - dut.shifted - exponent + (FP32.precision - bits)
    shift = claim.value(Mux(distance > 63, 63, distance), "shift", 6)
    tie = Rounding.RNE if rounding is RoundingCode.CONV_EVEN else Rounding.RNA
    return rounded(claim, claim.value(significand, "significand"), shift, tie, "spec")


def _under(claim: Claim, dut: MxElement, block: BlockCode, rounding: RoundingCode) -> None:
    exponent = dut.i[FP32.fraction_bits : -1]
    claim.assume(dut.control.block_format == block, dut.control.rounding == rounding)
    claim.assume(exponent + dut.shifted <= dut.shared)


_PREFERS = {
    "~above": (RoundingCode.FLOOR, RoundingCode.NEGATIVE_INF),
    "above": (RoundingCode.CEIL, RoundingCode.POSITIVE_INF),
    "~away": (RoundingCode.SYMMETRIC_FLOOR, RoundingCode.SYMMETRIC_ZERO),
    "away": (RoundingCode.SYMMETRIC_CEIL, RoundingCode.SYMMETRIC_INF),
    "odd": (RoundingCode.CONV_EVEN,),
    "~odd": (RoundingCode.CONV_ODD,),
}
"""Source text of the preferred direction, and the codes that have it; the sabotage inverts it."""
_INVERTED = [
    (rounding, Sabotage("common/arithmetic/round.py", f"return {text}\n", f"return ~({text})\n"))
    for text, roundings in _PREFERS.items()
    for rounding in roundings
]

LEFT = -SRS_SHIFTS.start


def _goes_up(rounding: RoundingCode, negative: Value, odd: Value, twice: Value, unit: Value) -> Value:
    """Return True if the rounding increment is 1; ``twice`` is twice the discarded part, in the scale of ``unit``."""
    directed = {
        RoundingCode.FLOOR: Const(0),
        RoundingCode.CEIL: Const(1),
        RoundingCode.SYMMETRIC_FLOOR: negative,
        RoundingCode.SYMMETRIC_CEIL: ~negative,
    }
    at_half = {
        RoundingCode.NEGATIVE_INF: Const(0),
        RoundingCode.POSITIVE_INF: Const(1),
        RoundingCode.SYMMETRIC_ZERO: negative,
        RoundingCode.SYMMETRIC_INF: ~negative,
        RoundingCode.CONV_EVEN: odd,
        RoundingCode.CONV_ODD: ~odd,
    }
    if rounding in directed:
        return (twice != 0) & directed[rounding]
    return (twice > unit) | ((twice == unit) & at_half[rounding])


def _within(claim: Claim, number: Value, lowest: Value, highest: Value) -> Signal:
    return claim.value(Mux(number < lowest, lowest, Mux(number > highest, highest, number)), "within")


@PROPERTIES.of(
    "srs_lane",
    "srs_lane_{width}_{rounding.name}",
    "{width} bits by any power of two, rounded as {rounding.name} says, in every size and saturation; overflow",
    None,
    "width, rounding, sabotage",
    [(width, *each) for width in SRS_MODES for each in _INVERTED],
)
def srs(claim: Claim, width: int, rounding: RoundingCode) -> None:
    dut = claim.instantiate("dut", SrsLane(width))
    control = dut.control
    claim.assume(control.rounding == rounding, control.shift >= SRS_SHIFTS.start)
    claim.assume(Cat(control.saturation == each for each in Saturation).any())
    if width == min(SRS_MODES):
        claim.assume(~control.acc64)
    # Exact for the largest left shift, with enough sign bits for every right shift.
    fine = claim.value(dut.i << LEFT, "fine", signed(width + LEFT + SRS_SHIFTS.stop))
    floor, twice, unit = split(claim, fine, claim.value(control.shift + LEFT, "places", 7), "spec")
    up = _goes_up(rounding, dut.i[-1], floor[0], twice, unit)
    number = claim.value(floor.as_signed() + up, "number")
    sizes = [1 << bits - 1 for acc in sorted(SRS_MODES) for bits in SRS_MODES[acc]]
    half = claim.value(_chosen(sizes, Cat(control.wide, control.acc64)), "half")
    symmetric = control.saturation == Saturation.SYMMETRIC
    lowest = claim.value(Mux(control.is_signed, symmetric - half, 0), "lowest")
    highest = claim.value(Mux(control.is_signed, half, half << 1) - 1, "highest")
    within = _within(claim, number, lowest, highest)
    result = Mux(control.saturation == Saturation.NONE, number, within)
    claim.ensure(dut.o == (result & ((half << 1) - 1)), dut.overflow == (within != number))


def _chosen(values: list[int], index: Value) -> Value:
    *others, last = values
    chosen = Const(last)
    for k, value in enumerate(others):
        chosen = Mux(index == k, value, chosen)
    return chosen


@PROPERTIES.of(
    "ups_lane",
    "ups_lane_{width}",
    "{width} bits: the number times any power of two, in every saturation; overflow",
    ("symmetric, -top,", "symmetric, top,"),
    "width",
    SRS_MODES,
)
def ups(claim: Claim, width: int) -> None:
    # A limit is a multiple of 2**shift.
    dut = claim.instantiate("dut", UpsLane(width))
    claim.assume(Cat(dut.saturation == each for each in Saturation).any())
    top = Const((1 << width - 1) - 1, width)
    highest = claim.value(top >> dut.shift, "highest", signed(width))
    lowest = Mux(dut.saturation == Saturation.SYMMETRIC, -highest, Const(-1 << width - 1, signed(width)) >> dut.shift)
    within = _within(claim, dut.i, claim.value(lowest, "lowest"), highest)
    number = Mux(dut.saturation == Saturation.NONE, dut.i, within)
    claim.ensure(dut.o == claim.value(number << dut.shift, "wide")[:width])
    exact = claim.value(dut.i << dut.shift, "exact")
    claim.ensure(dut.overflow == (dut.o.as_signed() != exact))
