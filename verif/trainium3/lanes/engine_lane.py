"""Instructions for the engine lane, what golden makes of them, and random ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, product
from random import Random

from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.golden.trainium3.exact.conversions import from_fp32, to_fp32
from bitpath.golden.trainium3.exact.operators import BIT_OPERATORS, OPERATORS
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.lanes.engine_lane import FIRST_BIT_OPERATOR, WORD_BITS, EngineControl, Operator
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit.coverage import cross
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.trainium3.dtype_words import corners

NAMES = tuple(FORMATS)
INTEGERS = {bits: [name for name in NAMES if "int" in name and container_bits(name) == bits] for bits in (8, 16, 32)}
ONES = (Operator.BYPASS, Operator.ABS, Operator.LOGICAL_NOT, Operator.BITWISE_NOT)
"""Operators of x alone."""
ON_BITS = tuple(each for each in Operator if each.value >= FIRST_BIT_OPERATOR)
ON_NUMBERS = tuple(each for each in Operator if each not in ON_BITS)
ORDERED = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
BINS = (
    *cross((each.name for each in Operator), ("tensor", "right")),
    *cross((each.name for each in Operator if each not in ONES), ("left",)),
    *cross(("second",), (each.name for each in Operator)),
    *(f"x/{name}" for name in NAMES),
    *(f"y/{name}" for name in NAMES),
    *(f"result/{name}" for name in NAMES),
    *cross(ORDERED, ("below", "level", "above", "NaN")),
    *cross(("LEFT_SHIFT", "RIGHT_SHIFT"), ("inside", "outside")),
)


@dataclass(frozen=True)
class Instruction:
    """An instruction's fields; with ``scalar`` every element meets the first scalar, else its own y."""

    first: Operator
    x: str
    y: str
    result: str
    scalar: bool = False
    reverse: bool = False
    second: Operator = Operator.BYPASS
    second_dtype: str = "fp32"
    second_reverse: bool = False

    def value(self, x: int, y: int, scalar: int) -> int:
        """Return the code of one element, by the exact tier; codes may have bits above their dtype's."""
        x, y, scalar = (
            code & (1 << container_bits(name)) - 1
            for code, name in ((x, self.x), (y, self.y), (scalar, self.second_dtype))
        )
        if self.first in ON_BITS:
            width = container_bits(self.x)
            first = _step(self.first, self.reverse, x, y, width)
            return _step(self.second, self.second_reverse, first, scalar, width)
        first = _step(self.first, self.reverse, to_fp32(x, self.x), to_fp32(y, self.y))
        second = _step(self.second, self.second_reverse, first, to_fp32(scalar, self.second_dtype))
        return from_fp32(second, self.result)


def _step(operator: Operator, reverse: bool, x: int, y: int, width: int = 0) -> int:
    """Return the result of an operator on FP32 codes, or on integers of a width."""
    x, y = (y, x) if reverse else (x, y)
    name, ones = operator.name.lower(), (1 << width) - 1
    match operator:
        case Operator.BYPASS:
            return x
        case Operator.ABS:
            return x & ~FP32.sign_mask
        case Operator.LOGICAL_NOT:
            return OPERATORS["equal"](x, 0)
        case Operator.BITWISE_NOT:
            return ~x & ones
    if operator in ON_BITS:
        return 0 if "shift" in name and y >= width else BIT_OPERATORS[name](x, y) & ones
    return OPERATORS[name](x, y)


@dataclass(frozen=True)
class Value:
    """A beat of the lane: codes of x and y, the second step's scalar, and the instruction."""

    xs: tuple[int, ...]
    ys: tuple[int, ...]
    scalar: int
    instruction: Instruction
    last: bool = False

    @property
    def payload(self) -> int:
        control = _control(self.instruction, self.scalar, self.last)
        return words((*self.xs, *self.ys)) | control << 2 * WORD_BITS * len(self.xs)

    @property
    def results(self) -> list[int]:
        ys = [self.ys[0]] * len(self.xs) if self.instruction.scalar else self.ys
        return [self.instruction.value(x, y, self.scalar) for x, y in zip(self.xs, ys, strict=True)]

    def shown(self, _: str) -> Shown:
        codes = {
            name: " ".join(f"{code:#010x}" for code in each)
            for name, each in (("x", self.xs), ("y", self.ys), ("scalar", (self.scalar,)))
        }
        return Shown(operands=codes | {"instruction": str(self.instruction)})


def words(codes: Sequence[int]) -> int:
    """Return words in one integer, the first in the low bits."""
    return sum(code << WORD_BITS * place for place, code in enumerate(codes))


@lru_cache(maxsize=64)
def _control(own: Instruction, scalar: int, last: bool) -> int:
    dtypes = {name: Dtype[getattr(own, name).upper()] for name in ("x", "y", "second_dtype", "result")}
    control = {
        "first": {"op": own.first, "reverse": own.reverse},
        "second": {"op": own.second, "reverse": own.second_reverse},
        "scalar": own.scalar,
        "second_scalar": scalar,
        "last": last,
    }
    return pack(EngineControl, control | dtypes)


def requests(values: Sequence[Value], expected: Sequence[Sequence[int]] | None = None) -> list[Request]:
    """Beats with the codes that must come of them, by the exact tier where they are not given."""
    if expected is None:
        expected = [each.results for each in values]
    return [
        Request(each.payload, words((*codes, each.last)), each.shown)
        for each, codes in zip(values, expected, strict=True)
    ]


def beats_of(
    xs: Sequence[int], ys: Sequence[int], instruction: Instruction, width: int, scalar: int = 0
) -> list[Value]:
    """Return beats of `width` elements of a row, the last one filled up with zeros."""
    spare = (0,) * (-len(xs) % width)
    xs, ys = (*xs, *spare), (*ys, *spare)
    return [
        Value(tuple(xs[at : at + width]), tuple(ys[at : at + width]), scalar, instruction, at + width == len(xs))
        for at in range(0, len(xs), width)
    ]


def code_of(rng: Random, name: str) -> int:
    """Return a code: at the dtype's limits, near 1 or a small number, or any, with any bits above it."""
    bits, fmt = container_bits(name), FORMATS[name]
    near = from_fp32(fp32.near_one(rng), name)
    code = rng.choice((rng.choice(corners(name)), near, near, rng.getrandbits(bits)))
    if not isinstance(fmt, FloatFormat) and rng.random() < 0.3:
        code = rng.randint(-9, 40)
    return code % (1 << bits) | rng.getrandbits(32 - bits) << bits


def any_instruction(rng: Random, first: Operator | None = None) -> Instruction:
    """An instruction of one or two steps, of two tensors or of scalars."""
    first = rng.choice(list(Operator)) if first is None else first
    scalar = rng.random() < 0.6
    on_bits = first in ON_BITS
    second = Operator.BYPASS
    if scalar and rng.random() < 0.6:
        second = rng.choice(ON_BITS if on_bits else ON_NUMBERS)
    sizes = INTEGERS[rng.choice((8, 16, 32))] if on_bits else NAMES
    x, y, other, result = (rng.choice(sizes) for _ in range(4))
    return Instruction(
        first, x, y, result, scalar, scalar and rng.random() < 0.5 and first not in ONES,
        second, other, rng.random() < 0.5 and second not in ONES,
    )  # fmt: skip


def random_value(rng: Random, width: int, instruction: Instruction | None = None) -> Value:
    """A beat of any instruction; at times x and y are equal, or of equal magnitudes."""
    own = any_instruction(rng) if instruction is None else instruction
    xs = tuple(code_of(rng, own.x) for _ in range(width))
    ys = tuple(code_of(rng, own.y) for _ in range(width))
    if own.x == own.y and rng.random() < 0.3:
        ys = xs if rng.random() < 0.5 else tuple(x ^ 1 << container_bits(own.x) - 1 for x in xs)
    return Value(xs, ys, code_of(rng, own.second_dtype), own, bool(rng.getrandbits(1)))


def every_operator(rng: Random, width: int) -> list[Value]:
    """Beats that hit all bins: each operator on every dtype, of two tensors and with a scalar on either side, and as second
    step; FP32 numbers below, equal to and above each other, and NaN; truths of zeros; shifts by every count, with
    any bits above both."""
    values = []
    for first in Operator:
        for scalar, reverse in ((False, False), (True, False), (True, True)):
            for name in NAMES if first in ON_NUMBERS else chain(*INTEGERS.values()):
                same = INTEGERS[container_bits(name)] if first in ON_BITS else NAMES
                y, result = rng.choice(same), rng.choice(same)
                own = Instruction(first, name, y, result, scalar, reverse and first not in ONES)
                values.append(random_value(rng, width, own))
    for second in Operator:
        first = rng.choice(ON_BITS if second in ON_BITS else ON_NUMBERS)
        for reverse in {False, second not in ONES}:
            names = INTEGERS[32] if first in ON_BITS else NAMES
            own = replace(any_instruction(rng, first), scalar=True, second=second, second_reverse=reverse)
            own = replace(own, **{key: rng.choice(names) for key in ("x", "y", "result", "second_dtype")})
            values.append(random_value(rng, width, own))
    for first in (Operator[name] for name in (*ORDERED, "MAX", "MIN", "ABS_MAX", "ABS_MIN")):
        for x, y in _pairs(rng):
            values += beats_of([x], [y], Instruction(first, "fp32", "fp32", "fp32"), width)
    for first in (Operator.LOGICAL_AND, Operator.LOGICAL_OR, Operator.LOGICAL_XOR):
        for x, y in product((0, FP32.sign_mask, fp32.near_one(rng)), repeat=2):
            values += beats_of([x], [y], Instruction(first, "fp32", "fp32", "fp32"), width)
    for first in (Operator.LEFT_SHIFT, Operator.RIGHT_SHIFT):
        for size, names in INTEGERS.items():
            for count in sorted({*range(size + 1), *(1 << bit for bit in range(size)), (1 << size) - 1}):
                x = rng.getrandbits(32) | 1 | 1 << size - 1
                y = count | rng.getrandbits(32) >> size << size
                values += beats_of([x], [y], Instruction(first, *names, names[0]), width)
                second = Instruction(Operator.BITWISE_OR, *names, names[0], True, second=first, second_dtype=names[1])
                values += beats_of([x], [0], second, width, y)
    return values


def _pairs(rng: Random) -> Iterator[tuple[int, int]]:
    """FP32 numbers of both signs whose order one bit decides; zeros; infinities; NaN on either side."""
    sign, zeros = FP32.sign_mask, (0, FP32.sign_mask)
    yield from ((x, y) for x in zeros for y in zeros)
    for bit in range(FP32.width):
        x = fp32.near_one(rng)
        yield from ((x, x ^ 1 << bit), (x ^ 1 << bit, x), (1 << bit, 0), (0, 1 << bit), (sign, 1 << bit))
    for edge in fp32.EDGES:
        yield from ((edge, edge), (edge, fp32.near_one(rng)), (fp32.near_one(rng), edge))


def bins_of(values: Sequence[Value]) -> Iterator[str]:
    for each in values:
        own = each.instruction
        yield f"{own.first.name}/{('left' if own.reverse else 'right') if own.scalar else 'tensor'}"
        yield f"second/{own.second.name}"
        yield from (f"{key}/{getattr(own, key)}" for key in ("x", "y", "result"))
        x, y = each.xs[0], each.ys[0]
        if own.first.name in ORDERED and (own.x, own.y) == ("fp32", "fp32") and not own.reverse:
            yield f"{own.first.name}/{_relation(x, y)}"
        if "SHIFT" in own.first.name and not own.reverse:
            inside = y & (1 << container_bits(own.y)) - 1 < container_bits(own.x)
            yield f"{own.first.name}/{'inside' if inside else 'outside'}"


def _relation(x: int, y: int) -> str:
    for name, operator in (("below", "less"), ("level", "equal"), ("above", "greater")):
        if OPERATORS[operator](x, y):
            return name
    return "NaN"
