"""Parts of FP32 elements, the order of their passes, slots that tags select, products of zero, the rules of issue, columns of a
transpose, stationary columns."""

from functools import partial

from amaranth import Cat, Mux, Value, signed

from bitpath.golden.formats.catalogue import E3M4, E4M3, E4M3FN, E5M2, FP16, FP32, TF32, FloatFormat, Rounding
from bitpath.golden.trainium3.declarations.tensor import LOW_BITS
from bitpath.rtl.trainium3.tensor.background_transpose import BackgroundTranspose, TransposeConfig
from bitpath.rtl.trainium3.tensor.config import NARROW, CorePeConfig
from bitpath.rtl.trainium3.tensor.element_decode import ElementDecode, OperandFormat, Part, PassElement
from bitpath.rtl.trainium3.tensor.fp32_passes import Fp32Passes, PassesConfig, PassMode
from bitpath.rtl.trainium3.tensor.sparse_select import SLOTS, TagSelect
from bitpath.rtl.trainium3.tensor.tensor_issue import TILES, IssueConfig, TensorIssue
from bitpath.rtl.trainium3.tensor.weight_load import LoadConfig, WeightLoad
from bitpath.rtl.trainium3.tensor.wide_multiply_add import WideMultiplyAdd
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Properties, Sabotage
from bitpath.verif.formal.specification import stays

PROPERTIES = Properties("trainium3/tensor")
_ISSUE = "trainium3/tensor/tensor_issue"
_element = partial(PassElement, Rounding.RNE)


@PROPERTIES.of(
    "pass_element",
    "pass_element_halves",
    "both halves of any code: their significands add up to the number's, under its exponent; a low half of zero is +0",
    ("significand[:LOW_BITS]", "significand[1 : LOW_BITS + 1]"),
)
def halves(claim: Claim) -> None:
    whole = claim.instantiate("whole", _element(), part=Part.WHOLE)
    high, low = (
        claim.instantiate(name, _element(), part=part, code=whole.code)
        for name, part in (("high", Part.HIGH), ("low", Part.LOW))
    )
    total = claim.value(high.o.significand + (low.o.significand >> LOW_BITS), "total")
    claim.ensure(total == whole.o.significand, ~low.o.significand[:LOW_BITS].any())
    claim.ensure(high.o.sign == whole.o.sign, low.o.sign == whole.o.sign & low.o.significand.any())
    for half in (high, low):
        for name in ("exponent", "inf", "nan"):
            claim.ensure(half.o[name] == whole.o[name])


@PROPERTIES.of(
    "pass_element",
    "pass_element_tf32",
    "a finite code to TF32: no more than half a unit away, a tie to even, with 13 zeros below",
    ("guard=self.code[dropped - 1]", "guard=self.code[dropped]"),
)
def rounded(claim: Claim) -> None:
    dut = claim.instantiate("dut", _element(), part=Part.TF32)
    claim.assume(~dut.code[FP32.fraction_bits : -1].all())
    # Codes without sign are in the order of their numbers, and a unit of TF32 is the same distance in both.
    code = claim.value(((dut.o.exponent - 1) << FP32.fraction_bits) + dut.o.significand, "code", FP32.width - 1)
    unit = 1 << FP32.fraction_bits - TF32.fraction_bits
    error = claim.value(code - dut.code[:-1], "error", signed(FP32.width + 1))
    distance = claim.value(Mux(error < 0, -error, error), "distance")
    even = ~code[FP32.fraction_bits - TF32.fraction_bits]
    claim.ensure(code & unit - 1 == 0, (distance < unit // 2) | ((distance == unit // 2) & even))
    claim.ensure(dut.o.sign == dut.code[-1], ~dut.o.nan)


@PROPERTIES.of(
    "element_decode",
    "element_decode_{fmt.name}",
    "a finite code of {fmt.name}: its number, in units of the smallest one",
    ("+ FP32.bias - bias", "+ FP32.bias - 1 - bias"),
    "fmt",
    (FP16, E4M3, E4M3FN, E5M2, E3M4),
)
def decodes(claim: Claim, fmt: FloatFormat) -> None:
    dut = claim.instantiate("dut", ElementDecode(Rounding.RNE), format=OperandFormat[fmt.name])
    claim.assume(~dut.o.inf, ~dut.o.nan)
    fraction, field = dut.code[: fmt.fraction_bits], dut.code[fmt.fraction_bits : fmt.width - 1]
    unit = claim.value(Cat(fraction, field.any()) << Mux(field.any(), field - 1, 0)[: fmt.exponent_bits], "units")
    spare = FP32.fraction_bits - fmt.fraction_bits
    shift = claim.value(dut.o.exponent - (FP32.bias - fmt.bias + 1), "shift", fmt.exponent_bits)
    claim.ensure(dut.o.sign == dut.code[fmt.width - 1], ~dut.o.significand[:spare].any())
    claim.ensure(claim.value((dut.o.significand >> spare) << shift, "value") == unit)
    claim.ensure(dut.o.exponent > FP32.bias - fmt.bias)


@PROPERTIES.of(
    "fp32_passes",
    "fp32_passes_order",
    "from any state, a FUSED column that is not the last is followed by the next number that no onezero operand leaves out",
    ("column.number + 1", "column.number"),
    depth=1,
)
def order(claim: Claim) -> None:
    dut = claim.instantiate("dut", Fp32Passes(PassesConfig(rows=1)), i__valid=1, o__ready=1)
    request, column = dut.i.p, dut.o.p
    before = claim.register(column.number, "number_before")
    goes_on = claim.register(~column.last, "goes_on")
    stays = claim.register(Value.cast(request), "request_before") == Value.cast(request)
    skipped = Cat(request.moving_onezero, request.stationary_onezero)
    claim.assume(request.mode == PassMode.FUSED, goes_on, stays)
    claim.ensure(column.number > before, column.number & skipped == skipped)
    for number in range(4):
        claim.ensure(~((before < number) & (number < column.number) & (number & skipped == skipped)))


@PROPERTIES.of(
    "tag_select",
    "tag_select_slot",
    "any slots: a legal tag selects its partition's slot, another one +0",
    ("slot > self.pattern.last_slot", "slot >= self.pattern.last_slot"),
)
def selects(claim: Claim) -> None:
    dut = claim.instantiate("dut", TagSelect(NARROW))
    legal = (dut.tag[2:] <= dut.pattern.last_partition) & (dut.tag[:2] <= dut.pattern.last_slot)
    for place in range(SLOTS * SLOTS):
        chosen = Value.cast(dut.o) == Mux(legal, Value.cast(dut.slots[place]), 0)
        claim.ensure((dut.tag != place) | chosen)
    claim.ensure(dut.illegal == ~legal)


@PROPERTIES.of(
    "tensor_issue",
    "tensor_issue_{rule}",
    "from any state: {says}",
    None,
    "rule, says, sabotage",
    (
        (
            "banks",
            "a command's banks are idle, whatever its slot",
            Sabotage(f"{_ISSUE}.py", "(own.banks & banks_busy).any()", "(own.banks & banks_busy).all()"),
        ),
        (
            "background",
            "only a transpose of the whole array runs in the background, and only beside a busy main slot",
            Sabotage(f"{_ISSUE}.py", "(background_busy | ~own.transpose)", "background_busy"),
        ),
        (
            "tiles",
            "a tiled command runs beside disjoint tiles only",
            Sabotage(f"{_ISSUE}.py", "main_busy | background_busy | (own.tiles", "background_busy | (own.tiles"),
        ),
    ),
)
def issues(claim: Claim, rule: str) -> None:
    dut = claim.instantiate("dut", TensorIssue(IssueConfig(banks=2, cycle_bits=2, tag_bits=1)))
    own, command = dut.i.p, dut.o
    main, background = (claim.inside("dut", f"{name}_cycles").any() for name in ("main", "background"))
    tiles = Cat(claim.inside("dut", f"tile_cycles_{tile}").any() for tile in range(TILES))
    if rule == "banks":
        banks = Cat(claim.inside("dut", f"bank_cycles_{bank}").any() for bank in range(2))
        claim.ensure(~command.valid | ~(own.banks & banks).any())
    elif rule == "background":
        beside = own.transpose & ~own.tiles.any() & main & ~background & ~tiles.any()
        claim.ensure(~command.valid | ~command.p.background | beside)
        claim.ensure(~command.valid | command.p.background | ~main)
    else:
        alone = ~main & ~background & ~(own.tiles & tiles).any()
        claim.ensure(~command.valid | ~own.tiles.any() | alone)


@PROPERTIES.of(
    "background_transpose",
    "background_transpose_offer_stays",
    "an offered column stays until it is taken, while rows of the next tile enter",
    ("self.i.ready.eq(~Array(full)[filling])", "self.i.ready.eq(1)"),
    depth=1,
)
def column_stays(claim: Claim) -> None:
    dut = claim.instantiate("dut", BackgroundTranspose(TransposeConfig(size=2)))
    stays(claim, dut.o)


@PROPERTIES.of(
    "wide_multiply_add",
    "wide_multiply_add_nothing",
    "a pass of a zero, or of infinity and NaN before the last one, gives a finite partial sum back that is not zero",
    ("significand.eq(Mux(left_out, 0, total))", "significand.eq(total)"),
)
def adds_nothing(claim: Claim) -> None:
    dut = claim.instantiate("dut", WideMultiplyAdd(CorePeConfig()), fused=0)
    special = dut.stationary.inf | dut.stationary.nan | dut.moving.inf | dut.moving.nan
    claim.assume(Mux(special, ~dut.number.all(), ~dut.moving.significand.any()))
    claim.assume(~dut.partial[FP32.fraction_bits : -1].all(), dut.partial[:-1].any())
    claim.ensure(dut.o == dut.partial)


@PROPERTIES.of(
    "weight_load",
    "weight_load_offer_stays",
    "an offered word and its stationary columns stay until they are taken, while the next load enters",
    ("(self.o.ready | ~self.o.valid) & (full", "(full"),
    depth=1,
)
def columns_stay(claim: Claim) -> None:
    dut = claim.instantiate("dut", WeightLoad(LoadConfig(rows=1, cols=2, moving_bits=1)))
    stays(claim, dut.o)
