"""Packer: pipeline and stream, block floats that come back, and the rounding of an accumulation in L1."""

from functools import partial

from amaranth import Cat, Const, Mux, Value

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, Rounding
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, Format
from bitpath.golden.tensix.declarations.numerics import BfpRange
from bitpath.rtl.tensix.pack.l1_round import CANCELLATION_EXPONENT, L1Add, L1Round
from bitpath.rtl.tensix.pack.late_conversion import BlockEncode
from bitpath.rtl.tensix.pack.packer import Packer
from bitpath.rtl.tensix.unpack.float_word import FIELDS, float_code, float_word
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig
from bitpath.rtl.tensix.unpack.unpacker import BlockDecode
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import pipeline_property, stream_properties
from bitpath.verif.formal.property import Properties
from bitpath.verif.formal.specification import leading_place, rounded

_PACKER = partial(Packer, ConversionConfig())

PROPERTIES = Properties(
    "tensix/pack",
    pipeline_property("tensix.packer", _PACKER, 4),
    *stream_properties("tensix.packer", _PACKER),
)


@PROPERTIES.of(
    "block_encode",
    "block_float_again_{fmt.name}",
    "{fmt.name}: every datum comes back from its float, but -0, where the shared exponent gives it normal numbers",
    ("MAX_SHIFT, distance + 1", "MAX_SHIFT, distance + 2"),
    "fmt",
    BLOCK_FLOATS,
)
def block_float_again(claim: Claim, fmt: Format) -> None:
    decode = claim.instantiate("decode", BlockDecode(BfpRange.WRAP, BfpRange.WRAP), l1_format=int(fmt))
    encode = claim.instantiate(
        "encode", BlockEncode(Rounding.RNA), i=decode.o, shared=decode.shared, out_format=int(fmt)
    )
    bits = BLOCK_FLOATS[fmt].magnitude_bits
    # The exponent of the smallest magnitude is above 0; a zero has no sign; exponents of an 'a' variant have 5 bits.
    claim.assume(decode.shared > bits, decode.shared < (32 if fmt.name.endswith("A") else 255))
    claim.assume(decode.code >> bits + 1 == 0, decode.code != 1 << bits)
    claim.ensure(encode.o == decode.code)


@PROPERTIES.of(
    "l1_round",
    "l1_round_{out_format.name}",
    "accumulation in L1: a sum to {out_format.name}, to even; overflow, underflow, zeros",
    ("extended[: dropped + 1].any()", "extended[:dropped].any()"),
    "out_format",
    (Format.FP32, Format.BF16, Format.FP16),
)
def l1_sum(claim: Claim, out_format: Format) -> None:
    """A sum at a biased exponent to nearest even; the format's underflow, overflow and zeros."""
    fmt, is_fp16 = FIELDS[out_format], out_format is Format.FP16
    dut = claim.instantiate("dut", L1Round(fp16_underflow_saturates=True))
    total, special = dut.i.total, dut.i.special
    claim.assume(dut.out_format == out_format)
    place = leading_place(claim, total.magnitude, "place")
    wide = claim.value(total.magnitude << fmt.precision, "wide")
    significand = rounded(claim, wide, place + 1, Rounding.RNE, "spec")
    field = claim.value(total.exponent + place + significand[fmt.precision], "field")
    unused = FP32.fraction_bits - fmt.fraction_bits
    fraction = Mux(significand[fmt.precision], 0, significand[: fmt.fraction_bits])
    number = claim.value(Cat(Const(0, unused), fraction, field[: FP32.exponent_bits]), "number", FP32.width - 1)
    if is_fp16:
        largest, beyond = FP16.exponent_mask << FP32.fraction_bits | FP32.fraction_mask, field > FP16.exponent_mask
        beyond |= field < 0
        cancelled = dut.i.top[: FP16.exponent_bits] >= CANCELLATION_EXPONENT
    else:
        largest, beyond, cancelled = FP32.infinity_code, field >= FP32.exponent_mask, Const(0)
    finite = Cat(claim.value(Mux(beyond, largest, Mux(field <= 0, 0, number)), "finite", FP32.width - 1), total.sign)
    zero = Mux(cancelled, largest, Cat(Const(0, FP32.width - 1), special.sign))
    value = Mux(total.magnitude == 0, zero, finite)
    infinite = Cat(Const(FP32.infinity_code, FP32.width - 1), special.sign)
    wanted = claim.value(Mux(special.nan, FP32.nan_code, Mux(special.inf, infinite, value)), "wanted", FP32.width)
    # Whoever writes the format cuts off a longer fraction.
    claim.ensure(Value.cast(dut.o)[unused:] == wanted[unused:])


@PROPERTIES.of(
    "l1_add",
    "l1_infinities_BF16",
    "accumulation in L1: infinities in BF16, and an old NaN, which overflows whatever finite number or NaN is added",
    ("extreme[0] | infinite[1]", "infinite.any()"),
)
def l1_infinities(claim: Claim) -> None:
    old, new = (claim.free(name, BF16.width) for name in ("old", "new"))
    add = claim.instantiate(
        "add", L1Add(), old=float_word(old, BF16), added=float_word(new, BF16), out_format=int(Format.BF16)
    )
    total = claim.instantiate("round", L1Round(fp16_underflow_saturates=True), i=add.o, out_format=int(Format.BF16))
    infinity, sign = BF16.infinity_code, BF16.sign_mask
    new_is_infinite = (new | sign) == infinity | sign
    claim.assume((old & infinity == infinity) | new_is_infinite)
    opposite = ((old | sign) == infinity | sign) & new_is_infinite & (old != new)
    replaced = Mux(new_is_infinite, new, old & sign | infinity)
    claim.ensure(float_code(total.o, BF16) == Mux(opposite, BF16.nan_code, replaced))
