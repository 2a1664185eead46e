"""Integer lanes on scalars: multiply-accumulate, shift-round-saturate, upshift.

Ref: llvm-aie for control bits; UG1583 for rounding and saturation codes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from bitpath.golden.aie_ml_v2.declarations.codes import (
    SPARSE_ALIGNMENT_BYTES,
    SPARSE_CHUNK_BYTES,
    SPARSE_GROUP,
    SPARSE_PAIRS,
    RoundingCode,
    Saturation,
    VectorOp,
)
from bitpath.golden.aie_ml_v2.declarations.modes import COMPLEX_LANES, Convolution, Mode, Shape
from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.scalar.checked import check_choice, check_length, checked, integer
from bitpath.golden.scalar.codec import Kind, Unpacked, decode
from bitpath.golden.scalar.rounding import shift_round


@dataclass(frozen=True)
class IntegerLaneTrace:
    """Trace of one multiply-accumulate of an integer lane.

    Attributes
    ----------
    mode : the row of Table 7.
    a, b : the operands.
    products : products of each pair, negation applied.
    addends : addends of acc1 and acc2, shift and negation applied.
    total : the exact sum of them all.
    result : the total, wrapped to the lane's bits.
    """

    mode: Mode
    a: tuple[int, ...]
    b: tuple[int, ...]
    products: tuple[int, ...]
    addends: tuple[int, int]
    total: int
    result: int


@checked
def wrap(value: int, bits: int, signed: bool = True) -> int:
    """Return the number that the low `bits` bits of an integer are."""
    low = value % (1 << bits)
    return low - (1 << bits) if signed and low >> bits - 1 else low


@checked
def saturate(value: int, bits: int, saturation: Saturation, signed: bool) -> int:
    """Bring an integer into `bits` bits."""
    if saturation is Saturation.NONE:
        return wrap(value, bits, signed)
    highest = (1 << bits - 1) - 1 if signed else (1 << bits) - 1
    lowest = 0
    if signed:
        lowest = -highest if saturation is Saturation.SYMMETRIC else -highest - 1
    return min(max(value, lowest), highest)


@checked
def trace_integer_lane(
    mode: Mode,
    a: Sequence[int],
    b: Sequence[int],
    acc1: int = 0,
    acc2: int = 0,
    *,
    shift16: bool = False,
    negate_products: bool = False,
    negate_acc1: bool = False,
    negate_acc2: bool = False,
) -> IntegerLaneTrace:
    """Sum products and two accumulators, wrapping; `shift16` multiplies acc1 by 2**16 first."""
    check_length("b", b, len(a), " as a")
    products = tuple((-x if negate_products else x) * y for x, y in zip(a, b, strict=True))
    first = acc1 << 16 if shift16 else acc1
    addends = -first if negate_acc1 else first, -acc2 if negate_acc2 else acc2
    total = sum(products) + sum(addends)
    return IntegerLaneTrace(mode, tuple(a), tuple(b), products, addends, total, wrap(total, mode.lane_bits))


@checked
def integer_lane(mode: Mode, a: Sequence[int], b: Sequence[int], acc1: int = 0, acc2: int = 0, **options: bool) -> int:
    """Return the result of `trace_integer_lane`."""
    return trace_integer_lane(mode, a, b, acc1, acc2, **options).result


@checked
def srs(acc: int, shift: int, out_bits: int, rounding: RoundingCode, saturation: Saturation, signed: bool) -> int:
    """Divide an accumulator lane by ``2**shift``, round, bring into `out_bits` bits."""
    return saturate(shift_round(acc, shift, rounding.mode), out_bits, saturation, signed)


@checked
def ups(x: int, shift: int, acc_bits: int, saturation: Saturation) -> int:
    """Multiply a vector lane by ``2**shift`` into an accumulator lane, saturated before the shift where asked."""
    if saturation is not Saturation.NONE:
        highest = (1 << acc_bits - 1) - 1 >> shift
        lowest = -highest if saturation is Saturation.SYMMETRIC else -(1 << acc_bits - 1) >> shift
        x = min(max(x, lowest), highest)
    return wrap(x << shift, acc_bits)


# PACK and UNPACK on single elements. Ref: llvm-aie.


@checked
def unpack4(byte: int, signed: bool = True) -> tuple[int, int]:
    """Return the elements in the low and in the high nibble of a byte."""
    return wrap(byte % 16, 4, signed), wrap(byte // 16, 4, signed)


@checked
def pack(x: int, bits: int, saturation: Saturation = Saturation.NONE, signed: bool = True) -> int:
    """Bring an element of ``2 * bits`` bits into `bits` bits."""
    return saturate(x, bits, saturation, signed)


# Native products on scalars: the pairs that a lane of each shape multiplies, and complex lanes.
#
# Ref: llvm-aie, intrinsics headers of aie2ps; FIM43-Redeye/xdna-emu for the order of the elements.


@checked
def matrix_pairs(shape: Shape, a: Sequence[int], b: Sequence[int], lane: int) -> list[tuple[int, int]]:
    """Return a lane's factors: a row of A [M, K] and a column of B [K, N] or, transposed, [N, K]; flat, row by row."""
    check_length("a", a, shape.m * shape.k)
    check_length("b", b, shape.k * shape.n)
    row, column = divmod(integer("lane", lane, range(shape.m * shape.n)), shape.n)
    return [
        (a[shape.k * row + k], b[shape.k * column + k if shape.transposed else shape.n * k + column])
        for k in range(shape.k)
    ]


@checked
def elementwise_pairs(lanes: int, a: Sequence[int], b: Sequence[int], lane: int) -> list[tuple[int, int]]:
    """Return a lane's factors: every `lanes`-th element of both registers, or of A with the single element of B."""
    _check_other("b", b, len(a))
    return [(a[i], b[0] if len(b) == 1 else b[i]) for i in range(lane, len(a), lanes)]


@checked
def convolution_pairs(convolution: Convolution, a: Sequence[int], b: Sequence[int], lane: int) -> list[tuple[int, int]]:
    """Return a lane's factors: the data from its position on, and the taps of its channel."""
    lanes = convolution.outputs * convolution.channels
    x, c = divmod(integer("lane", lane, range(lanes)), convolution.channels)
    last = convolution.channels * (convolution.taps - 1)
    for name, values, needed in (("a", a, last + lanes), ("b", b, last + convolution.channels)):
        if len(values) < needed:
            raise ValueError(f"{name} must have at least {needed} elements, not {len(values)}")
    return [(a[convolution.channels * (x + u) + c], b[convolution.channels * u + c]) for u in range(convolution.taps)]


@checked
def complex_lane(
    mode: Mode,
    a: Sequence[tuple[int, int]],
    b: Sequence[tuple[int, int]],
    lane: int,
    acc1: tuple[int, int] = (0, 0),
    acc2: tuple[int, int] = (0, 0),
    *,
    negate: int = 0x0A,
    **options: bool,
) -> tuple[int, int]:
    """Return the real and the imaginary lane of complex registers; bits of `negate` turn terms as in `complex_dot`."""
    check_length("a", a, COMPLEX_LANES * mode.complex_depth)
    _check_other("b", b, len(a))
    lane = integer("lane", lane, range(COMPLEX_LANES))
    real: list[tuple[int, int]] = []
    imaginary: list[tuple[int, int]] = []
    for k in range(mode.complex_depth):
        index = COMPLEX_LANES * k + lane
        (ar, ai), (br, bi) = a[index], b[0] if len(b) == 1 else b[index]
        for terms, bit, x, y in (
            (real, 2 * k, ar, br),
            (real, 2 * k + 1, ai, bi),
            (imaginary, 4 + 2 * k, ar, bi),
            (imaginary, 5 + 2 * k, ai, br),
        ):
            terms.append((-x if negate >> bit & 1 else x, y))
    first, second = (
        integer_lane(mode, [x for x, _ in terms], [y for _, y in terms], acc1[part], acc2[part], **options)
        for part, terms in enumerate((real, imaginary))
    )
    return first, second


def _check_other(name: str, values: Sequence[object], length: int) -> None:
    """Raise ValueError unless the other operand has a length, or one element for all lanes."""
    if len(values) != 1:
        check_length(name, values, length, " as a, or 1")


# The add/compare unit on one lane.
#
# Ref: llvm-aie for the operations; AM027 for the lanes.


INTEGER_OPS: dict[VectorOp, Callable[[int, int, bool], tuple[int, bool]]] = {
    VectorOp.ADD: lambda a, b, _: (a + b, False),
    VectorOp.SUB: lambda a, b, _: (a - b, False),
    VectorOp.SEL: lambda a, b, mask: (b if mask else a, mask),
    VectorOp.ADDSUB: lambda a, b, mask: (a - b if mask else a + b, mask),
    VectorOp.AND: lambda a, b, _: (a & b, False),
    VectorOp.OR: lambda a, b, _: (a | b, False),
    VectorOp.ABS_GTZ: lambda a, b, _: (abs(a), a > 0),
    VectorOp.MAXDIFF_LT: lambda a, b, _: (max(a - b, 0), a < b),
    VectorOp.SUB_LT: lambda a, b, _: (a - b, a < b),
    VectorOp.SUB_GE: lambda a, b, _: (a - b, a >= b),
    VectorOp.BNEG_LTZ: lambda a, b, _: (~a, a < 0),
    VectorOp.EQZ: lambda a, b, _: (a, a == 0),
    VectorOp.MIN_GE: lambda a, b, _: (min(a, b), a >= b),
    VectorOp.MAX_LT: lambda a, b, _: (max(a, b), a < b),
    VectorOp.LT: lambda a, b, _: (a, a < b),
    VectorOp.NEG_GTZ: lambda a, b, _: (-a, a > 0),
    VectorOp.GE: lambda a, b, _: (a, a >= b),
}
"""Value before it is wrapped, and bit of the mask, of a, b and the mask given."""


@checked
def integer_op(op: VectorOp, a: int, b: int, bits: int, signed: bool, mask: bool) -> tuple[int, bool]:
    """Return a lane's value and its bit of the mask; `mask` picks b in SEL and the subtraction in ADDSUB."""
    value, flag = INTEGER_OPS[op](a, b, mask)
    return wrap(value, bits, signed), flag


@checked
def float_op(op: VectorOp, a: int, b: int, fmt: FloatFormat) -> tuple[int, bool]:
    """Return the code and the bit of the mask of MIN_GE, MAX_LT, LT or GE on two float codes."""
    flag = _compare(op, a, b, fmt)
    if op in (VectorOp.LT, VectorOp.GE):
        return a, flag
    if decode(fmt, a).kind is Kind.NAN:
        return b, flag
    if decode(fmt, b).kind is Kind.NAN:
        return a, flag
    # MIN_GE takes b where a >= b, MAX_LT takes b where a < b; of equal numbers that is b and a.
    return b if flag else a, flag


def _compare(op: VectorOp, a: int, b: int, fmt: FloatFormat) -> bool:
    x, y = decode(fmt, a), decode(fmt, b)
    if Kind.NAN in (x.kind, y.kind):
        return False
    left, right = (_place(each) for each in (x, y))
    return left < right if op in (VectorOp.MAX_LT, VectorOp.LT) else left >= right


def _place(x: Unpacked) -> tuple[int, Fraction]:
    """Return a key that orders numbers and infinities."""
    if x.kind is Kind.INFINITY:
        return (-1) ** x.sign, Fraction(0)
    return 0, x.value


# 50 % sparsity on single groups of four entities: decompression in the load stage, routing in the MAC stage.
#
# Ref: UG1583, Compressed Sparse Load Operations; UG1603, Sparse Matrix Multiplication.


@checked
def compress(data: bytes) -> bytes:
    """Return 64 bytes as their mask, their nonzero bytes, and zeros to a multiple of 4 bytes."""
    mask = sum(1 << i for i, byte in enumerate(data) if byte)
    packed = mask.to_bytes(SPARSE_CHUNK_BYTES // 8, "little") + bytes(byte for byte in data if byte)
    return packed + bytes(-len(packed) % SPARSE_ALIGNMENT_BYTES)


@checked
def positions(mask: int, overfull: str = "error") -> tuple[int | None, int | None]:
    """Return the entities of the low and of the high slot of a group; None for a slot that holds none.

    Raises
    ------
    ValueError : more than two entities in the mask, unless `overfull` is "drop", which drops both slots.
    """
    if mask in SPARSE_PAIRS:
        return SPARSE_PAIRS[mask]
    if check_choice("overfull", overfull, ("error", "drop")) == "error" or mask not in range(1 << SPARSE_GROUP):
        raise ValueError(f"mask must set two bits in each group of four, not {mask:04b}")
    return None, None


@checked
def load_group(entities: Sequence[int], mask: int, overfull: str = "error") -> tuple[int, int]:
    """Return the low and the high slot of four entities with a mask bit each; raises as `positions`."""
    check_length("entities", entities, SPARSE_GROUP)
    low, high = (0 if position is None else entities[position] for position in positions(mask, overfull))
    return low, high


@checked
def route_group(slots: tuple[int, int], mask: int, overfull: str = "error") -> list[int]:
    """Return the four entities that slots and mask describe; the inverse of `load_group`."""
    entities = [0] * SPARSE_GROUP
    for slot, position in zip(slots, positions(mask, overfull), strict=True):
        if position is not None:
            entities[position] = slot
    return entities


@checked
def pairs(a: Sequence[int], slots: tuple[int, int], mask: int, overfull: str = "error") -> list[tuple[int, int]]:
    """Return the two products that a group makes with four entities of A; an empty slot's operands are both 0."""
    check_length("a", a, SPARSE_GROUP)
    return [
        (0, 0) if position is None else (a[position], slots[i]) for i, position in enumerate(positions(mask, overfull))
    ]
