"""Formal properties of the multiply-accumulate lane: pipeline, integer products, alignment and normalisation."""

from unittest.mock import patch

from amaranth import Cat, Const, Mux, Value
from amaranth.lib import data

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.formats.catalogue import FP32, Rounding
from bitpath.rtl.aie_ml_v2.mac import mac_lane
from bitpath.rtl.aie_ml_v2.mac.compare import ACCUMULATOR_OFFSET
from bitpath.rtl.aie_ml_v2.mac.config import (
    BFP16EBS8_LANE,
    BYTE,
    DEPTH,
    FLOAT_MODES,
    SIGNIFICAND_BITS,
    WORD_BITS,
    MacLaneConfig,
    MacMode,
)
from bitpath.rtl.aie_ml_v2.mac.mac_lane import SHIFT16, Accumulate, AlignRound, NormalizeFp32
from bitpath.rtl.aie_ml_v2.mac.post_add import TERM_BITS, PostAdd
from bitpath.rtl.aie_ml_v2.mac.products import FACTOR, SIGN_PLACE, WIDE_BITS, Products, SignedProduct
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import earlier, says_stages
from bitpath.verif.formal.property import Properties
from bitpath.verif.formal.specification import leading_place, long_multiplication, rounded, split

PROPERTIES = Properties("aie_ml_v2/mac")
_INT16 = MacLaneConfig(modes=(MacMode.INT16,))


def _lane(mode: MacMode) -> tuple[MacMode, int, str, int]:
    """Row of a mode: its latency, description and depth."""
    # Floats pass one more pipeline stage.
    latency = 5 if mode in FLOAT_MODES else 4
    if mode is MacMode.MX9:
        return mode, latency, f"{says_stages(latency)} of two beats", latency + 1
    return mode, latency, says_stages(latency), latency


@PROPERTIES.of(
    "mac_lane",
    "mac_lane_{mode.name}_pipeline",
    "{mode.name}: {result}",
    ("held[key].eq(value) for", "held[key].eq(Value.cast(value) ^ (key == 'acc1')) for"),
    "mode, latency, result, depth",
    map(_lane, MacMode),
)
def lane_pipeline(claim: Claim, mode: MacMode, latency: int) -> None:
    """Pipeline of the lane; its accumulators enter two pipeline stages before the result.

    MX9's result comes from two beats; the first is held in a register of both lanes outside the pipeline.
    """
    dut, same = _equals_flat(claim, MacLaneConfig(modes=(mode,)), latency)
    if mode is MacMode.MX9:
        second = earlier(claim, dut.operands.high, latency, "second")
        same |= ~second | claim.register(second, "first")
    claim.ensure(same)


@PROPERTIES.of(
    "mac_lane",
    "mac_lane_bfp16ebs8_pipeline",
    f"bfp16ebs8: {says_stages(4)}",
    ("held[key].eq(value) for", "held[key].eq(Value.cast(value) ^ (key == 'acc1')) for"),
    depth=4,
)
def bfp16ebs8_lane_pipeline(claim: Claim) -> None:
    """Products of eight are not held: a beat is an instruction."""
    _, same = _equals_flat(claim, BFP16EBS8_LANE, 4)
    claim.ensure(same)


def _equals_flat(claim: Claim, config: MacLaneConfig, latency: int) -> tuple[mac_lane.MacLane, Value]:
    """Return a lane of one mode, and whether its result is that of the combinational lane."""
    dut = claim.instantiate("dut", mac_lane.MacLane(config), valid=1)
    claim.assume(dut.operands.control.mode == config.modes[0])
    cycles = {"operands": latency, "acc1": 2, "acc2": 2}
    inputs = {name: earlier(claim, Value.cast(getattr(dut, name)), count, name) for name, count in cycles.items()}
    with patch.object(mac_lane, "_register", lambda m, name, **values: values):
        flat = claim.instantiate("flat", mac_lane.MacLane(config), valid=1, **inputs)
    return dut, dut.o == flat.o


@PROPERTIES.of(
    "signed_product",
    "signed_product_{bits}_{a}_{b}",
    "{bits} x {bits} bits, {a} x {b} by their sign bits: the integers' product",
    None,
    "bits, width, place, signs, a, b, sabotage",
    (
        (5, 4, 4, (0, 1), "positive", "negative", ("(of_a + of_b)", "(of_a & of_b)")),
        (5, 4, 4, (1, 0), "negative", "positive", ("(of_a + of_b)", "(of_a & of_b)")),
        (5, 4, 4, (1, 1), "negative", "negative", ("(of_a + of_b)", "(of_a | of_b)")),
        (8, SIGNIFICAND_BITS, SIGN_PLACE, (0, 1), "positive", "negative", ("(of_a + of_b)", "(of_a & of_b)")),
        (8, SIGNIFICAND_BITS, SIGN_PLACE, (1, 0), "negative", "positive", ("(of_a + of_b)", "(of_a & of_b)")),
        (8, SIGNIFICAND_BITS, SIGN_PLACE, (1, 1), "negative", "negative", ("(of_a + of_b)", "(of_a | of_b)")),
    ),
)
def signed_product(claim: Claim, width: int, place: int, signs: tuple[int, int]) -> None:
    dut = claim.instantiate("dut", SignedProduct(width, place))
    claim.assume(dut.a.sign == signs[0], dut.b.sign == signs[1])
    claim.assume((dut.a.magnitude >> place + 1) == 0, (dut.b.magnitude >> place + 1) == 0)
    a, b = (
        claim.value(each.magnitude[: place + 1] - (sign << place), name)
        for each, sign, name in zip((dut.a, dut.b), signs, "ab", strict=True)
    )
    claim.ensure(dut.o == a * b)


@PROPERTIES.of(
    "signed_product",
    "unsigned_product_11",
    "11 x 11 bits without signs, by hand",
    ("a.magnitude * b.magnitude", "a.magnitude * (b.magnitude & ~1)"),
)
def unsigned_product(claim: Claim) -> None:
    dut = claim.instantiate("dut", SignedProduct(SIGNIFICAND_BITS, SIGN_PLACE))
    claim.assume(~dut.a.sign, ~dut.b.sign)
    claim.ensure(dut.o == long_multiplication(dut.a.magnitude, dut.b.magnitude))


@PROPERTIES.of(
    "products",
    "int16_digits",
    "INT16, signed or not: signed_product takes each digit of base 256 with each of the other integer's",
    ("is_signed & bool(high)", "is_signed"),
)
def int16_digits(claim: Claim) -> None:
    dut = claim.instantiate("dut", Products(_INT16))
    i, control = dut.i, dut.i.control
    claim.assume(control.mode == MacMode.INT16, control.multiplies)
    for k in range(DEPTH):
        for factor, word, is_signed, upper in (
            (f"a_{k}", i.x, control.x_signed, k % 4 // 2),
            (f"b_{k}", i.y, control.y_signed, k % 2),
        ):
            digit = word.word_select(k // 4, WORD_BITS).word_select(upper, BYTE)
            wanted = digit - ((digit[-1] & is_signed & upper) << BYTE)
            taken = data.View(FACTOR, claim.inside("dut", factor))
            claim.ensure(taken.magnitude >> BYTE == 0, taken.magnitude - (taken.sign << SIGN_PLACE) == wanted)


@PROPERTIES.of(
    "post_add",
    "int16_sum",
    "INT16: the products of digits at their places, added as in long multiplication, modulo 2**32",
    ("parts[1] + parts[2]", "parts[1] + parts[3]"),
)
def int16_sum(claim: Claim) -> None:
    dut = claim.instantiate("dut", PostAdd(_INT16))
    wide = dut.i.wide
    claim.assume(dut.i.control.mode == MacMode.INT16)
    # The MX-only products are 0; the others are at most products of bytes.
    claim.assume(
        *(dut.i.narrow[k] == 0 for k in range(DEPTH)),
        *(wide[k] >> TERM_BITS - 1 == wide[k] >> WIDE_BITS for k in range(DEPTH)),
    )
    placed = [wide[k] << BYTE * (k % 4 // 2 + k % 2) for k in range(DEPTH)]
    claim.ensure(dut.o == claim.value(sum(placed[1:], placed[0]), "sum", dut.o.shape()))


@PROPERTIES.of(
    "accumulate",
    "chained_accumulate",
    "two chained lanes: products and accumulators with their signs and shift16, added modulo 2**64",
    ("Mux(self.upper, self.carry_in, negations)", "Mux(self.upper, self.carry_in | negations, negations)"),
)
def chained_accumulate(claim: Claim) -> None:
    config = MacLaneConfig(modes=(MacMode.INT16,), chained=True)
    lower = claim.instantiate("lower", Accumulate(config), upper=0, carry_in=0, acc1_below=0)
    chain = {"carry_in": lower.carry_out, "acc1_below": lower.acc1[-SHIFT16:], "control": Value.cast(lower.control)}
    upper = claim.instantiate("upper", Accumulate(config), upper=1, **chain)
    control = lower.control
    products, acc1, acc2 = (Cat(getattr(lower, name), getattr(upper, name)) for name in ("product_sum", "acc1", "acc2"))
    first = Mux(control.zero_acc1, 0, Mux(control.shift16, acc1 << SHIFT16, acc1))
    addends = (
        (products, control.negate_products),
        (first, control.negate_acc1),
        (Mux(control.use_acc2, acc2, 0), control.negate_acc2),
    )
    total = sum((Mux(negate, -value, value) for value, negate in addends), Const(0))
    claim.ensure(Cat(lower.integer_total, upper.integer_total) == claim.value(total, "total", 64))


@PROPERTIES.of(
    "align_round",
    "align_round_{in_width}_to_{out_width}_{rounding.name}",
    "{in_width} bits onto {out_width}, rounded as {rounding.name} says, every shift",
    ("decide.guard.eq(align.o[1])", "decide.guard.eq(align.o[0])"),
    "in_width, out_width, shift_bits, rounding",
    (
        (6, 4, 3, RoundingCode.CONV_EVEN),
        (6, 4, 3, RoundingCode.FLOOR),
        (FP32.precision, 24, 5, RoundingCode.POSITIVE_INF),
        (27, 30, 5, RoundingCode.CONV_EVEN),
        (22, 25, 5, RoundingCode.SYMMETRIC_INF),
    ),
)
def align_round(claim: Claim, in_width: int, out_width: int, shift_bits: int, rounding: RoundingCode) -> None:
    dut = claim.instantiate("dut", AlignRound(in_width, out_width, shift_bits, rounding))
    room = max(0, out_width - in_width)
    shift = claim.value(dut.shift + (in_width + room - out_width), "places")
    kept, twice, unit = split(claim, claim.value(dut.i << room, "fine"), shift, "spec")
    match rounding:
        case RoundingCode.CONV_EVEN:
            at_half = kept[0]
        case RoundingCode.SYMMETRIC_INF:
            at_half = Const(1)
        case RoundingCode.POSITIVE_INF:
            at_half = ~dut.negative
        case RoundingCode.FLOOR:
            claim.ensure(dut.o + dut.up == kept + (dut.negative & (twice != 0)))
            return
    up = (twice > unit) | ((twice == unit) & at_half)
    claim.ensure(dut.o + dut.up == kept + up)


@PROPERTIES.of(
    "normalize_fp32",
    "aie_normalize",
    "the lane's sum at its real width: 24 leading bits to even, then flushed or infinity; nothing special",
    ("field.eq(normal.exponent + rounded[-1])", "field.eq(normal.exponent)"),
)
def aie_normalize(claim: Claim) -> None:
    config = MacLaneConfig()
    dut = claim.instantiate("dut", NormalizeFp32(config), special=0)
    # By TermPlan, sums reach neither end of the range.
    claim.assume(dut.total != -(1 << len(dut.total) - 1))
    magnitude = claim.value(Mux(dut.total < 0, -dut.total, dut.total), "magnitude", len(dut.total))
    place = leading_place(claim, magnitude, "place")
    significand = rounded(claim, claim.value(magnitude << 24, "wide"), place + 1, Rounding.RNE, "spec")
    weight = dut.exponent - (ACCUMULATOR_OFFSET + config.numerics.align_fraction_bits)
    field = claim.value(weight + place + significand[FP32.precision], "field")
    fraction = Mux(significand[FP32.precision], 0, significand[: FP32.fraction_bits])
    number = Mux(field >= FP32.exponent_mask, FP32.infinity_code, Cat(fraction, field[: FP32.exponent_bits]))
    sign = dut.total < 0
    kept = sign if config.numerics.flushed_zero_keeps_sign else Const(0)
    code = Mux(field <= 0, Cat(Const(0, 31), kept), Cat(claim.value(number, "number", 31), sign))
    claim.ensure(dut.o == Mux(magnitude == 0, 0, code))
