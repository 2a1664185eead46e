"""RMSNorm-Quant's last pass: its rounding to E4M3, and its bytes in flight."""

from amaranth import Cat, Const, Mux, Signal, signed
from amaranth.lib import data

from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, FP32, FloatFormat, Rounding
from bitpath.golden.trainium3.declarations.vector import SCALE_BYTES
from bitpath.rtl.trainium3.rmsnorm_quant.lane import QuantizePass, RmsNormQuantLane
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import Phase, RmsNormQuantConfig, command_layout
from bitpath.rtl.trainium3.rmsnorm_quant.rmsnorm_quant import RmsNormQuant, RmsNormQuantSequencer
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Engine, Properties, Sabotage
from bitpath.verif.formal.specification import fields, float_code, leading_place, rounded, stays, within_half

PROPERTIES = Properties("trainium3/rmsnorm_quant")


def _pass(claim: Claim, *, static: bool, ocp: bool = False) -> tuple[QuantizePass, Signal]:
    """RMSNorm-Quant's last pass, and the product that it rounds: any one, in its register."""
    dut = claim.instantiate("dut", QuantizePass())
    claim.assume(dut.options.static == static, dut.options.ocp == ocp)
    return dut, claim.inside("dut", "product")


@PROPERTIES.of(
    "quantize_pass",
    "quantize_pass_half_unit_{name}",
    "E4M3, {scale}: no more than half a unit from a product of 2**-11 and more{rest}",
    Sabotage("common/fp32/fp32_arithmetic.py", "number.significand[dropped - 1]", "number.significand[dropped]"),
    "name, static, scale, rest",
    (
        ("row", False, "the row's own scale", ", below 248"),
        ("static", True, "static scale", " rounded to BF16; exactly the largest code beyond"),
    ),
)
def pass_half_unit(claim: Claim, *, static: bool) -> None:
    dut, product = _pass(claim, static=static)
    code = product[:-1]
    if static:
        below = FP32.fraction_bits - BF16.fraction_bits
        code = claim.value(rounded(claim, code, Const(below), Rounding.RNE, "nearest") << below, "code", FP32.width - 1)
    significand, biased = fields(claim, Cat(code, product[-1]), FP32, "x")
    grid = 34
    places = claim.value(biased + grid - (FP32.bias + FP32.fraction_bits), "places", signed(10))
    # By a row's own scale nothing is brought into the range, and half a unit above the largest number it is left.
    last = (FP32.bias + E4M3.emax << E4M3.precision) + (1 << E4M3.precision) - 1
    limit = FP32.infinity_code if static else last << FP32.fraction_bits - E4M3.precision
    claim.assume(code < limit, places >= 0)
    # With a static scale as many places as make a number beyond the range.
    amount = claim.value(Mux(places > 31, 31, places), "amount", 5)
    within_half(claim, claim.value(significand << amount, "x"), dut.o, E4M3, grid)
    claim.ensure(dut.o[-1] == Mux((product[:-1] == 0) & int(static), 0, product[-1]))


@PROPERTIES.of(
    "quantize_pass",
    "quantize_pass_static_{fmt.name}",
    "static scale: any product to BF16, then to {fmt.name}; exactly the largest code beyond the range; NaN",
    None,
    "fmt, ocp, sabotage",
    (
        (E4M3, False, ("Const(RANGE,", "Const(RANGE + (1 << 19),")),
        (E4M3FN, True, ("Const(OCP_RANGE,", "Const(OCP_RANGE - (1 << 20),")),
    ),
)
def pass_static(claim: Claim, fmt: FloatFormat, *, ocp: bool) -> None:
    dut, product = _pass(claim, static=True, ocp=ocp)
    code, below = product[:-1], FP32.fraction_bits - BF16.fraction_bits
    bf16 = claim.value(rounded(claim, code, Const(below), Rounding.RNE, "nearest") << below, "bf16", FP32.width)
    significand, biased = fields(claim, bf16, FP32, "x")
    weight = claim.value(biased - (FP32.bias + FP32.fraction_bits), "weight", signed(10))
    spec = float_code(claim, significand, weight, fmt, "spec")
    beyond = (code >= FP32.infinity_code) | (spec > fmt.max_code)
    finite = claim.value(Mux(beyond, fmt.max_code, spec), "finite", fmt.width - 1)
    # A static scale adds 0 to the product: -0 becomes 0.
    sign = product[-1] & (code != 0)
    claim.ensure(dut.o == Mux(code > FP32.infinity_code, fmt.nan_code, Cat(finite, sign)))


@PROPERTIES.of(
    "quantize_pass",
    "quantize_pass_again_{name}",
    "E4M3, {scale}: every finite code comes back from its value{rest}",
    Sabotage("common/fp32/fp32_arithmetic.py", "number.exponent - FP32.bias", "number.exponent - FP32.bias + 1"),
    "name, static, scale, rest",
    (("row", False, "the row's own scale", ""), ("static", True, "static scale", ", but -0 as 0")),
)
def pass_again(claim: Claim, *, static: bool) -> None:
    dut, product = _pass(claim, static=static)
    code = claim.free("code", E4M3.width)
    got, field = fields(claim, code, E4M3, "of")
    place = leading_place(claim, got, "place")
    exponent = claim.value(field + place + (FP32.bias - E4M3.bias - E4M3.fraction_bits), "exponent", FP32.exponent_bits)
    fraction = claim.value((got << FP32.fraction_bits) >> place, "fraction")[: FP32.fraction_bits]
    claim.assume(code[:-1] <= E4M3.max_code)
    claim.assume(product == Cat(Mux(got == 0, Const(0, FP32.width - 1), Cat(fraction, exponent)), code[-1]))
    claim.ensure(dut.o == Mux((got == 0) & int(static), 0, code))


@PROPERTIES.of(
    "rms_norm_quant_sequencer",
    "rmsnorm_quant_last_pass",
    "bytes are under way in the last pass only, and none behind a row's last one",
    ("(phase == Phase.QUANTIZE) & (index != count)", "index != count"),
    engine=Engine.INDUCTION,
    depth=2,
)
def last_pass(claim: Claim) -> None:
    config = RmsNormQuantConfig(lanes=1)
    dut = claim.instantiate("dut", RmsNormQuantSequencer(config))
    phase, index = claim.inside("dut", "phase"), claim.inside("dut", "index")
    command = data.View(command_layout(config), claim.inside("dut", "command"))
    longest = config.max_row_length
    claim.assume(dut.command.p.row_length <= longest)
    claim.ensure((phase == Phase.IDLE) | (command.row_length <= longest))
    count = Mux(command.options.static, 0, SCALE_BYTES) + command.row_length
    history = claim.inside("dut.output", "history")
    cycles = RmsNormQuantLane.OUTPUT_LATENCY
    # The last to enter first: a byte's validity, and whether it is the last.
    tags = [history.word_select(cycle, len(history) // cycles)[:2] for cycle in range(cycles)]
    for cycle, (valid, last) in enumerate(tags):
        behind = Cat(tag[0] for tag in tags[:cycle]).any()
        claim.ensure(~valid | (phase == Phase.QUANTIZE), ~(valid & last) | ((index == count) & ~behind))


@PROPERTIES.of(
    "rmsnorm_quant",
    "rmsnorm_quant_offer_stays",
    "in the last pass, bytes are offered unchanged until they are taken",
    Sabotage("trainium3/rmsnorm_quant/rmsnorm_quant.py", "self.o_ready | ~self.o_valid", "1"),
    depth=1,
)
def last_pass_stays(claim: Claim) -> None:
    """From any state that offers bytes in the last pass only."""
    dut = claim.instantiate("dut", RmsNormQuant(RmsNormQuantConfig(lanes=1, max_row_length=4)))
    claim.assume(~dut.o.valid | (claim.inside("dut.sequencer", "phase") == Phase.QUANTIZE))
    stays(claim, dut.o)
