"""A builder of Vector unit kernels: Python expressions on lane values become Tensix words.

An author writes one iteration of 32 lanes, much as in the vendor's C++ interface::

    k = Kernel("wormhole")
    x = k.load()
    y = k.copy(x)
    with k.where(x < 0):
        y.assign(x * 0.01)
    k.store(y)
    words = k.words()

Products that are used by one sum become one SFPMAD. Values live in LReg 0 to 7, each from its first write to its last use.
Conditions nest on the flag stack; a condition at the top needs no stack entry.

Ref: tt-isa-documentation 3930471, VectorUnit; tenstorrent/sfpi for the operations' names.
"""

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from bitpath.golden.arrays.arguments import check_instance, checked, integer, member, shown
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.isa.assembly import assemble
from bitpath.golden.tensix.isa.words import decode
from bitpath.golden.tensix.sfpu.passes import FIRST_VALUE, REGISTERS, Step, words_of

PROGRAMMABLE = range(11, 15)
"""Registers that SFPCONFIG writes."""
LUT_INPUT = 3
"""Register that SFPLUT and SFPLUTFP32 read."""
CONSTANTS = {0x00000000: 9, 0x3F800000: 10, 0xBF800000: 11, 0x3F56594B: 8}
"""Registers that hold a constant: 0, 1, -1 and 0.8373 by their FP32 codes; that of -1 is SFPCONFIG's default."""
NO_INCREMENT = {Chip.WORMHOLE: 3, Chip.BLACKHOLE: 7}
"""Address modifiers that kernels leave without an increment."""
ADDRESSES = range(1 << 10)
"""Rows of Dst that a load or a store names."""
REGISTER_FIELDS = ("vd", "vc", "vb", "va")

LESS, GREATER_EQUAL, EQUAL, NOT_EQUAL = 0, 4, 6, 2
"""SFPSETCC's comparisons of a two's complement lane with 0."""
INVERSES = {LESS: GREATER_EQUAL, GREATER_EQUAL: LESS, EQUAL: NOT_EQUAL, NOT_EQUAL: EQUAL}


def fp32_code(value: float) -> int:
    """Return the FP32 code nearest to a number.

    Raises
    ------
    TypeError, ValueError : no number, or one that FP32 does not hold.
    """
    try:
        return int.from_bytes(struct.pack("<f", value), "little")
    except struct.error:
        raise TypeError(f"a literal must be a number, not {shown(value)}") from None
    except OverflowError:
        raise ValueError(f"a literal must be a number that FP32 holds, not {shown(value)}") from None


class Condition:
    """A condition on lanes: ``a & b`` needs both comparisons, ``a | b`` needs one, ``~a`` is the opposite.

    Attributes
    ----------
    tests : number of a value and SFPSETCC's comparison of it with 0.
    inverted : True if the condition is that not all hold.
    """

    def __init__(self, tests: Sequence[tuple[int, int]], inverted: bool = False):
        self.tests, self.inverted = tuple(tests), inverted

    def __bool__(self) -> bool:
        raise TypeError("conditions must be combined by &, | and ~, not by and, or, not, or a chain as 0 < x < 1")

    def __invert__(self) -> "Condition":
        if len(self.tests) == 1 and not self.inverted:
            ((value, test),) = self.tests
            return Condition([(value, INVERSES[test])])
        return Condition(self.tests, not self.inverted)

    def __and__(self, other: "Condition") -> "Condition":
        if self.inverted or other.inverted:
            raise ValueError("a condition must be of & or of | alone, not of both; nest two where blocks")
        return Condition(self.tests + other.tests)

    def __or__(self, other: "Condition") -> "Condition":
        return ~(~self & ~other)


@dataclass(frozen=True, eq=False)
class Value:
    """Lanes of a kernel: a value that instructions write once, or a register."""

    kernel: "Kernel"
    number: int

    def assign(self, value: "Value | float") -> None:
        """Replace the lanes that the present conditions enable."""
        self.kernel._step("SFPMOV", {"vc": self.kernel._number(value, type(self)), "vd": self.number}, ("vc",), ("vd",))

    @property
    def bits(self) -> "Integer":
        """The same lanes as integers."""
        return Integer(self.kernel, self.number)

    @property
    def as_float(self) -> "Float":
        """The same lanes as FP32."""
        return Float(self.kernel, self.number)

    def _new(self, name: str, plain: dict[str, int] | None = None, /, **read: "Value | int | float") -> Self:
        return type(self)(self.kernel, self.kernel._result(name, plain or {}, type(self), **read))

    def _tied(self, name: str, held: "Value | int | float", plain: dict[str, int], /, **read: "Value") -> Self:
        """Add an instruction that reads the old lanes of its destination, `held`."""
        return type(self)(self.kernel, self.kernel._tied(name, plain, type(self), held, **read))

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return Condition([(self._less(other), EQUAL)])

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return Condition([(self._less(other), NOT_EQUAL)])

    __hash__ = object.__hash__

    def __lt__(self, other: "Value | int | float") -> Condition:
        return Condition([(self._less(other), LESS)])

    def __ge__(self, other: "Value | int | float") -> Condition:
        return Condition([(self._less(other), GREATER_EQUAL)])

    def __gt__(self, other: "Value | int | float") -> Condition:
        number = self._less(other)
        return Condition([(number, GREATER_EQUAL), (number, NOT_EQUAL)])

    def __le__(self, other: "Value | int | float") -> Condition:
        return ~(self > other)

    def _less(self, other: object) -> int:
        """Return the number of the difference with another value, or of the value if the other is 0."""
        if isinstance(other, int | float) and other == 0:
            return self.number
        return (self - other).number  # type: ignore[operator]


def _same_kind(other: Any, kind: type[Value]) -> Any:
    """Return an operand, which must be a number or a value of the same kind."""
    if isinstance(other, Value) and not isinstance(other, kind):
        given = type(other).__name__
        says = (
            "to_float converts, as_float keeps the bits" if kind is Float else "to_int16 converts, bits keeps the bits"
        )
        raise TypeError(
            f"the other operand of a {kind.__name__} must be a {kind.__name__} or a number, not {given}; {says}"
        )
    return other


class Float(Value):
    """Lanes of FP32; arithmetic and comparisons take another Float or a number."""

    def __mul__(self, other: "Float | float") -> "Float":
        return self._new("SFPMUL", {"vc": 9}, va=self, vb=_same_kind(other, Float))

    __rmul__ = __mul__

    def __add__(self, other: "Float | float") -> "Float":
        return self._new("SFPADD", {"va": 10}, vb=self, vc=_same_kind(other, Float))

    def __radd__(self, other: float) -> "Float":
        return self._new("SFPADD", {"va": 10}, vb=other, vc=self)

    def __sub__(self, other: "Float | float") -> "Float":
        if isinstance(other, int | float):
            return self + -other
        return self._new("SFPMAD", {"vb": 11}, va=_same_kind(other, Float), vc=self)

    def __rsub__(self, other: float) -> "Float":
        return self._new("SFPMAD", {"vb": 11}, va=self, vc=other)

    def __neg__(self) -> "Float":
        return self._new("SFPMOV", {"mod": 1}, vc=self)

    def __abs__(self) -> "Float":
        return self._new("SFPABS", {"mod": 1}, vc=self)

    def exponent(self, *, biased: bool = False) -> "Integer":
        """The exponent field, less 127 unless `biased`."""
        return self.bits._new("SFPEXEXP", {"mod": int(biased)}, vc=self)

    def mantissa(self, *, implicit: bool = False) -> "Integer":
        """The mantissa field, with the implicit bit 23 above it if `implicit`."""
        return self.bits._new("SFPEXMAN", {"mod": int(not implicit)}, vc=self)

    def with_exponent(self, exponent: "Integer | int") -> "Float":
        """The lanes with another exponent field: 8 bits."""
        if not isinstance(exponent, Value):
            exponent = integer("exponent", exponent, range(1 << 8))
            return self._new("SFPSETEXP", {"imm": exponent, "mod": 1}, vc=self)
        return self._tied("SFPSETEXP", exponent, {}, vc=self)

    def with_mantissa(self, mantissa: "Value | int") -> "Float":
        """The lanes with the mantissa field of a value, or of 12 bits at its top."""
        if not isinstance(mantissa, Value):
            mantissa = integer("mantissa", mantissa, range(1 << 12))
            return self._new("SFPSETMAN", {"imm": mantissa, "mod": 1}, vc=self)
        return self._tied("SFPSETMAN", mantissa, {}, vc=self)

    def with_sign(self, sign: Value | int) -> "Float":
        """The lanes with the sign of a value, or 0 or 1."""
        if not isinstance(sign, Value):
            return self._new("SFPSETSGN", {"imm": integer("sign", sign, range(2)), "mod": 1}, vc=self)
        return self._tied("SFPSETSGN", sign, {}, vc=self)

    def scaled(self, exponent: int) -> "Float":
        """The lanes with an integer added to the exponent field, modulo 256."""
        return self._new("SFPDIVP2", {"imm": exponent & 0xFF, "mod": 1}, vc=self)

    def rounded(self, mode: int) -> "Float":
        """SFP_STOCH_RND to nearest, ties away from zero, by its mode."""
        return self._new("SFP_STOCH_RND", {"mod": mode}, vc=self)

    def to_bf16(self) -> "Float":
        """The nearest BF16, ties away from zero."""
        return self.rounded(1)

    def to_int16(self) -> "Integer":
        """The nearest sign and magnitude integer of 16 bits."""
        return self.rounded(7).bits

    def reciprocal(self) -> "Float":
        """Blackhole's SFPARECIP."""
        return self._new("SFPARECIP", vc=self)


class Integer(Value):
    """Lanes of integers, two's complement; arithmetic and comparisons take another Integer or a number."""

    def __add__(self, other: "Integer | int") -> "Integer":
        if isinstance(other, int) and -2048 <= other < 2048:
            return self._new("SFPIADD", {"imm": other & 0xFFF, "mod": 5}, vc=self)
        return self._tied("SFPIADD", self, {"mod": 4}, vc=self.kernel.integer(_same_kind(other, Integer)))

    def __sub__(self, other: "Integer | int") -> "Integer":
        if isinstance(other, int) and -2048 < other <= 2048:
            return self + -other
        return self._tied("SFPIADD", _same_kind(other, Integer), {"mod": 6}, vc=self)

    def __rsub__(self, other: int) -> "Integer":
        return self._tied("SFPIADD", self, {"mod": 6}, vc=self.kernel.integer(other))

    def __and__(self, other: Value | int) -> "Integer":
        return self._tied("SFPAND", self, {}, vc=self.kernel.integer(other))

    def __or__(self, other: Value | int) -> "Integer":
        return self._tied("SFPOR", self, {}, vc=self.kernel.integer(other))

    def __invert__(self) -> "Integer":
        return self._new("SFPNOT", vc=self)

    def __lshift__(self, distance: "Integer | int") -> "Integer":
        if not isinstance(distance, Value):
            distance = integer("distance", distance, range(-31, 32))
            return self._tied("SFPSHFT", self, {"imm": distance & 0xFFF, "mod": 1})
        return self._tied("SFPSHFT", self, {}, vc=distance)

    def __rshift__(self, distance: int) -> "Integer":
        return self << -distance

    def to_float(self) -> Float:
        """FP32 of sign and 31 magnitude bits."""
        return self.as_float._new("SFPCAST", vc=self)

    def magnitude(self) -> "Integer":
        """The absolute value."""
        return self._new("SFPABS", vc=self)

    def with_sign(self, sign: int) -> "Integer":
        """The lanes with another bit 31."""
        return self._new("SFPSETSGN", {"imm": integer("sign", sign, range(2)), "mod": 1}, vc=self)


@checked
@dataclass
class Kernel:
    """A kernel under construction.

    Parameters
    ----------
    chip : "wormhole" or "blackhole".
    reserved : registers that hold no values, for example because a table is there.

    Attributes
    ----------
    steps : instructions so far.
    depth : `where` blocks that are open.
    count : number of the next value.
    pinned : required registers of values, by the value's number.

    Raises
    ------
    TypeError, ValueError : another chip, a register that is not 0 to 7.
    """

    chip: Chip | str
    reserved: Sequence[int] = ()
    steps: list[Step] = field(default_factory=list, init=False, repr=False)
    depth: int = field(default=0, init=False, repr=False)
    count: int = field(default=FIRST_VALUE, init=False, repr=False)
    pinned: dict[int, int] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.chip = member("chip", self.chip, Chip)
        self.reserved = tuple(integer("reserved", each, REGISTERS) for each in self.reserved)

    # Operands and results.

    @checked
    def register(self, number: int) -> Float:
        """Return the lanes of a register: a constant of `PROGRAMMABLE`, or one of `reserved`."""
        return Float(self, integer("number", number, range(FIRST_VALUE)))

    def constant(self, value: float) -> Float:
        """Return lanes that hold a number: a register of constants, or SFPLOADI words."""
        return Float(self, self._loaded(fp32_code(value)))

    def integer(self, value: "Value | int") -> Integer:
        """Return lanes that hold an integer of 32 bits, or a value as it is."""
        if isinstance(value, Value):
            return Integer(self, self._number(value, Integer))
        return Integer(self, self._loaded(integer("a literal", value, range(-1 << 31, 1 << 32)) & 0xFFFFFFFF))

    def _number(self, value: "Value | int | float", kind: type[Value]) -> int:
        """Return the number of a value, loaded before if it is a literal of that kind."""
        if isinstance(value, Value):
            if value.kernel is not self:
                raise ValueError("a value must be of the kernel that reads it, not of another one")
            return value.number
        return (self.integer(value) if kind is Integer else self.constant(value)).number  # type: ignore[arg-type]

    def _loaded(self, code: int) -> int:
        if code in CONSTANTS:
            return CONSTANTS[code]
        number = self._new()
        if code & 0xFFFF and code >> 16:
            for mod, half in ((10, code & 0xFFFF), (8, code >> 16)):
                self._step("SFPLOADI", {"mod": mod, "imm": half, "vd": number}, (), ("vd",))
        else:
            mod = 2 if code & 0xFFFF else 0
            self._step("SFPLOADI", {"mod": mod, "imm": code & 0xFFFF or code >> 16, "vd": number}, (), ("vd",))
        return number

    def _new(self) -> int:
        self.count += 1
        return self.count - 1

    def _step(
        self, name: str, fields: dict[str, int], reads: tuple[str, ...] = (), writes: tuple[str, ...] = ()
    ) -> None:
        self.steps.append(Step(name, fields, reads, writes))

    def _result(self, name: str, plain: dict[str, int], kind: type[Value], /, **read: "Value | int | float") -> int:
        """Add an instruction that writes a new value; return the value's number."""
        fields = {each: self._number(value, kind) for each, value in read.items()}
        number = self._new()
        self._step(name, {**plain, **fields, "vd": number}, tuple(read), ("vd",))
        return number

    def _tied(
        self, name: str, plain: dict[str, int], kind: type[Value], held: "Value | int | float", /, **read: "Value"
    ) -> int:
        """Add an instruction whose destination holds an operand before; return the number of the new value."""
        fields = {each: self._number(value, kind) for each, value in read.items()}
        number = self._result("SFPMOV", {}, kind, vc=held)
        self._step(name, {**plain, **fields, "vd": number}, (*read, "vd"), ("vd",))
        return number

    def copy(self, value: "Float | float") -> Float:
        """Return a new value with the same lanes, to assign to."""
        return Float(self, self._result("SFPMOV", {}, Float, vc=value))

    def copy_integer(self, value: "Integer | int") -> Integer:
        """Return a new value of integers, to assign to."""
        return Integer(self, self._result("SFPMOV", {}, Integer, vc=value))

    # Instructions that are no operators.

    @checked
    def load(self, address: int = 0, mode: int = 0) -> Float:
        """Return the lanes of Dst at an address, in a mode of SFPLOAD; 0 is by SrcB's format."""
        return Float(self, self._result("SFPLOAD", self._place(address, mode), Float))

    @checked
    def store(self, value: "Value | float", address: int = 0, mode: int = 0) -> None:
        """Write lanes to Dst at an address, in a mode of SFPSTORE."""
        fields = {"vd": self._number(value, Float), **self._place(address, mode)}
        self._step("SFPSTORE", fields, ("vd",))

    def _place(self, address: int, mode: int) -> dict[str, int]:
        address, mode = integer("address", address, ADDRESSES), integer("mode", mode, range(16))
        return {"mod": mode, "modifier": NO_INCREMENT[Chip(self.chip)], "address": address}

    def min_max(self, low: "Value", high: "Value") -> None:
        """Sort two values in place, by sign and magnitude."""
        for name, value in (("low", low), ("high", high)):
            check_instance(name, value, Value)
        both = ("vd", "vc")
        self._step("SFPSWAP", {"vd": self._number(low, Value), "vc": self._number(high, Value), "mod": 1}, both, both)

    @checked
    def multiply_add(self, a: "Float | float", b: "Float | float", c: "Float | float", mod: int = 0) -> Float:
        """Return ``a * b + c`` in one SFPMAD; Blackhole's modifiers 1 and 2 negate `a` and `c`."""
        mod = integer("mod", mod, range(4 if self.chip is Chip.BLACKHOLE else 1), f" on {Chip(self.chip).value}")
        return Float(self, self._result("SFPMAD", {"mod": mod}, Float, va=a, vb=b, vc=c))

    def lut(self, x: "Float") -> Float:
        """Return SFPLUT of LReg 0 to 2 with the sign of `x`."""
        return self._looked_up(x, "SFPLUT", {"mod": 4})

    @checked
    def lut_fp32(self, x: "Float", mode: int) -> Float:
        """Return SFPLUTFP32 of LReg 0 to 2 and 4 to 6, by its modifier."""
        mirror = {"mod_mirror": mode} if self.chip is Chip.BLACKHOLE else {}
        return self._looked_up(x, "SFPLUTFP32", {"mod": mode, **mirror})

    def _looked_up(self, x: Float, name: str, plain: dict[str, int]) -> Float:
        number = self._result("SFPMOV", {}, Float, vc=x)
        self.pinned[number] = LUT_INPUT
        self._step(name, {**plain, "vd": number}, ("vd",), ("vd",))
        return Float(self, number)

    def text(self, lines: str) -> None:
        """Add instructions as text, with registers by number; {m} is the modifier that leaves addresses as they are.

        A kernel that also has values must list the text's registers in `reserved`.
        """
        check_instance("lines", lines, str)
        for word in assemble(lines.replace("{m}", str(NO_INCREMENT[Chip(self.chip)])), chip=self.chip):
            decoded = decode(word, chip=self.chip)
            registers = tuple(each for each in REGISTER_FIELDS if each in decoded.fields)
            self._step(decoded.name, dict(decoded.fields), registers, registers[:1])

    # Conditions.

    @contextmanager
    def where(self, condition: Condition) -> Iterator[None]:
        """Enable in the block only lanes for which a condition holds, of those enabled around it."""
        check_instance("condition", condition, Condition)
        if self.depth:
            self._step("SFPPUSHC", {})
        self.depth += 1
        self.narrow(condition)
        yield
        self.depth -= 1
        if self.depth:
            self._step("SFPPOPC", {})
        else:
            self._step("SFPENCC", {"imm": 3, "mod": 10})

    def narrow(self, condition: Condition) -> None:
        """Disable lanes for which a condition does not hold until the `where` block ends."""
        check_instance("condition", condition, Condition)
        for value, test in condition.tests:
            self._step("SFPSETCC", {"vc": value, "mod": test}, ("vc",))
        if condition.inverted:
            self._step("SFPCOMPC", {})

    def otherwise(self) -> None:
        """Begin the other branch of a `where` block: enable the lanes for which its condition does not hold."""
        if not self.depth:
            raise ValueError("otherwise must stand in a where block")
        self._step("SFPCOMPC", {})

    # From steps to words.

    def words(self) -> list[int]:
        """Return the kernel's words.

        Raises
        ------
        ValueError : a `where` block is open; more values at once than registers.
        """
        if self.depth:
            raise ValueError(f"where blocks must be closed before words, not {self.depth} open")
        return words_of(self.steps, self.pinned, self.reserved, Chip(self.chip))
