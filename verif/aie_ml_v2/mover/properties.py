"""Mover units: pipelines and streams; values and masks of the add/compare unit by the arithmetic of their lanes."""

from functools import partial

from amaranth import Cat, Const, Mux, Value, signed

from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_OPS, FP8_FORMATS, LANE_BITS, VectorOp
from bitpath.golden.formats.catalogue import BF16, FP16, FloatFormat, Specials
from bitpath.rtl.aie_ml_v2.mover.layouts import NonlinearConfig, ShuffleConfig, VectorAluConfig, VectorMoveConfig
from bitpath.rtl.aie_ml_v2.mover.nonlinear import Nonlinear
from bitpath.rtl.aie_ml_v2.mover.shuffle import Shuffle
from bitpath.rtl.aie_ml_v2.mover.vector_alu import VectorAlu
from bitpath.rtl.aie_ml_v2.mover.vector_move import VectorMove
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import pipeline_property, stream_properties
from bitpath.verif.formal.property import Properties, Sabotage

UNITS = {
    "aie_ml_v2.vector_alu": partial(VectorAlu, VectorAluConfig()),
    "aie_ml_v2.vector_move": partial(VectorMove, VectorMoveConfig()),
    "aie_ml_v2.shuffle": partial(Shuffle, ShuffleConfig()),
    "aie_ml_v2.nonlinear": partial(Nonlinear, NonlinearConfig(lanes=1)),
}
PROPERTIES = Properties(
    "aie_ml_v2/mover",
    *(pipeline_property(unit, make, make().latency) for unit, make in UNITS.items()),
    *(each for unit, make in UNITS.items() for each in stream_properties(unit, make)),
)

GROUP_BITS = 32
SIGNS = Sabotage("aie_ml_v2/mover/vector_alu.py", "~self.carry ^ (differ &", "~self.carry ^ (~differ &")
SIGN_ALONE = Sabotage("aie_ml_v2/mover/vector_alu.py", "narrow | sign_alone", "narrow")
ZEROS = Sabotage("aie_ml_v2/mover/vector_alu.py", "minus_a & ~zeros", "minus_a")


def _unit(claim: Claim) -> VectorAlu:
    """Instantiate one group without its register."""
    return claim.instantiate("dut", VectorAlu(VectorAluConfig(register_bytes=4)), wires=True, i__valid=1, o__ready=1)


@PROPERTIES.of(
    "alu_group",
    "alu_group_{bits}",
    "{bits}-bit lanes, signed and unsigned: value and bit of the mask of all 17 operations, on exact integers",
    SIGNS,
    "bits",
    LANE_BITS,
)
def integers(claim: Claim, bits: int) -> None:
    """Every lane of two free registers under any operation."""
    dut = _unit(claim)
    request, result = dut.i.p, dut.o.p
    claim.assume(request.op <= max(VectorOp).value, Value.cast(request.width) == LANE_BITS.index(bits))
    for k in range(GROUP_BITS // bits):
        a, b = (
            claim.value(Cat(lane, lane[-1] & request.is_signed).as_signed(), f"{name}_{k}", signed(bits + 1))
            for name, lane in (("a", request.a.word_select(k, bits)), ("b", request.b.word_select(k, bits)))
        )
        given, less = request.mask[k], a < b
        difference = a - b
        table = {
            VectorOp.ADD: (a + b, 0),
            VectorOp.SUB: (difference, 0),
            VectorOp.SEL: (Mux(given, b, a), given),
            VectorOp.ADDSUB: (Mux(given, difference, a + b), given),
            VectorOp.AND: (a & b, 0),
            VectorOp.OR: (a | b, 0),
            VectorOp.ABS_GTZ: (Mux(a < 0, -a, a), a > 0),
            VectorOp.MAXDIFF_LT: (Mux(difference < 0, 0, difference), less),
            VectorOp.SUB_LT: (difference, less),
            VectorOp.SUB_GE: (difference, ~less),
            VectorOp.BNEG_LTZ: (~a, a < 0),
            VectorOp.EQZ: (a, a == 0),
            VectorOp.MIN_GE: (Mux(less, a, b), ~less),
            VectorOp.MAX_LT: (Mux(less, b, a), less),
            VectorOp.LT: (a, less),
            VectorOp.NEG_GTZ: (-a, a > 0),
            VectorOp.GE: (a, ~less),
        }
        value, flag = Const(0, bits), Const(0, 1)
        for op, (its_value, its_flag) in table.items():
            value = Mux(request.op == op.value, its_value, value)
            flag = Mux(request.op == op.value, its_flag, flag)
        claim.ensure(
            result.values.word_select(k, bits) == claim.value(value, f"value_{k}")[:bits], result.mask[k] == flag[0]
        )
    claim.ensure((result.mask >> GROUP_BITS // bits) == 0)


FLOATS = [(BF16, 0, 0, ZEROS), (FP16, 1, 0, ZEROS)] + [
    (
        fmt,
        3 if name == "e4m3" else 2,
        representation.value,
        SIGN_ALONE if fmt.specials is Specials.UNSIGNED_ZERO else ZEROS,
    )
    for (name, representation), fmt in FP8_FORMATS.items()
]
"""Format, its place behind an operation's first code, its representation, and a fault."""


@PROPERTIES.of(
    "alu_order",
    "alu_order_{fmt.name}_{representation}",
    "{fmt.name}, representation {representation}: comparisons, minimum and maximum of any two codes, NaN and zeros too",
    None,
    "fmt, family, representation, sabotage",
    FLOATS,
)
def floats(claim: Claim, fmt: FloatFormat, family: int, representation: int) -> None:
    """Codes as signed magnitudes, both zeros 0."""
    dut = _unit(claim)
    request, result = dut.i.p, dut.o.p
    codes = {op: first + family for op, first in FLOAT_OPS.items()}
    claim.assume(Cat(request.op == code for code in codes.values()).any())
    claim.assume((request.bf8 if family == 2 else request.fp8) == representation)
    for k in range(GROUP_BITS // fmt.width):
        numbers, nans = [], []
        for name in "ab":
            code = getattr(request, name).word_select(k, fmt.width)
            number = claim.value(Mux(code[-1], -code[:-1], code[:-1]), f"{name}_{k}", signed(fmt.width + 1))
            if fmt.specials is Specials.UNSIGNED_ZERO:
                nan = code == fmt.nan_code
            else:
                nan = code[:-1] > (fmt.max_code if fmt.infinity_code is None else fmt.infinity_code)
            numbers.append(number)
            nans.append(nan)
        is_less = Cat(request.op == codes[op] for op in (VectorOp.LT, VectorOp.MAX_LT)).any()
        flag = ~(nans[0] | nans[1]) & Mux(is_less, numbers[0] < numbers[1], numbers[0] >= numbers[1])
        picks = Cat(request.op == codes[op] for op in (VectorOp.MIN_GE, VectorOp.MAX_LT)).any()
        a, b = (getattr(request, name).word_select(k, fmt.width) for name in "ab")
        claim.ensure(
            result.mask[k] == claim.value(flag, f"flag_{k}", 1),
            result.values.word_select(k, fmt.width) == Mux(picks & (flag | nans[0]), b, a),
        )
