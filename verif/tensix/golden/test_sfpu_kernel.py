"""The builder of Vector unit kernels: its words, its registers, its conditions, and what it refuses."""

import itertools
import re

import numpy as np
import pytest

from bitpath.golden.tensix import isa
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS
from bitpath.golden.tensix.isa import decode
from bitpath.golden.tensix.sfpu import Lanes
from bitpath.golden.tensix.sfpu.execute import execute
from bitpath.golden.tensix.sfpu.kernel import Kernel, fp32_code

CHIPS = [each.value for each in Chip]
OF_CHIP = pytest.mark.parametrize("chip", CHIPS)


def listing(kernel):
    return isa.disassemble(kernel.words(), chip=kernel.chip).splitlines()


def lanes_after(kernel, x):
    """Return the lanes that a kernel stores, of one load."""
    chip = Chip(kernel.chip)
    numerics = CHIP_PRESETS[chip].numerics
    lanes, result = Lanes((), numerics), None
    lanes.lreg[11] = fp32_code(-1.0)
    lanes.flags[:], lanes.use_flags[:] = True, True
    for word in kernel.words():
        instruction = decode(word, chip=chip)
        if instruction.name == "SFPLOAD":
            lanes.lreg[instruction["vd"]] = x.view(np.uint32)
        elif instruction.name == "SFPSTORE":
            result = lanes.lreg[instruction["vd"]].copy()
        else:
            execute(lanes, instruction, chip, numerics)
    return result.view(np.float32)


X = np.array([*range(-16, 16)], np.float32) / 4


def test_a_product_and_its_only_sum_become_one_instruction():
    k = Kernel("wormhole")
    x = k.load()
    k.store(x * 1.1 + 2.5)
    assert [line.split()[0] for line in listing(k)] == [
        "SFPLOAD", "SFPLOADI", "SFPLOADI", "SFPLOADI", "SFPMAD", "SFPNOP", "SFPSTORE",
    ]  # fmt: skip
    k = Kernel("wormhole")
    x = k.load()
    product = x * x
    k.store(product + x)
    k.store(product)
    assert [line.split()[0] for line in listing(k)].count("SFPMAD") == 0


def test_differences_are_fused_where_the_chip_negates():
    for chip, count in (("wormhole", 2), ("blackhole", 1)):
        k = Kernel(chip)
        x = k.load()
        k.store(1.0 - x * x)
        assert sum(line.startswith(("SFPM", "SFPA")) for line in listing(k)) == count
        assert np.array_equal(lanes_after(k, X), 1 - X * X)


def test_literals_become_immediates_constants_or_loads():
    k = Kernel("blackhole")
    x = k.load()
    k.store(x * 0.5)
    assert listing(k) == ["SFPLOAD modifier=7", "SFPMULI imm=16128", "SFPSTORE modifier=7"]
    k = Kernel("blackhole")
    k.store(k.constant(1.0))
    k.store(k.integer(-2))
    k.store(k.integer(7))
    assert listing(k) == [
        "SFPSTORE vd=10, modifier=7",
        "SFPLOADI mod=10, imm=65534",
        "SFPLOADI mod=8, imm=65535",
        "SFPSTORE modifier=7",
        "SFPLOADI mod=2, imm=7",
        "SFPSTORE modifier=7",
    ]


COMPARISONS = {
    "<": lambda x, y: x < y,
    ">=": lambda x, y: x >= y,
    ">": lambda x, y: x > y,
    "<=": lambda x, y: x <= y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "not <": lambda x, y: ~(x < y),
    "not <=": lambda x, y: ~(x <= y),
    "and": lambda x, y: (x > y) & (x < 3.0),
    "or": lambda x, y: (x < y) | (x >= 3.0),
}


@OF_CHIP
def test_conditions_choose_lanes(chip, subtests):
    """Each comparison, alone and inside another block, with both branches."""
    for (name, test), bound, nested in itertools.product(COMPARISONS.items(), (0.0, 1.25), (False, True)):
        with subtests.test(name=name, bound=bound, nested=nested):
            k = Kernel(chip)
            x = k.load()
            y = k.copy(0.0)
            outer = -2.0 if nested else -99.0
            with k.where(x >= outer):
                with k.where(test(x, bound)):
                    y.assign(1.0)
                    k.otherwise()
                    y.assign(2.0)
                y.assign(y + 4.0)
            k.store(y)
            holds = test(X, bound) if "not" not in name else ~COMPARISONS[name[4:]](X, bound)
            assert np.array_equal(lanes_after(k, X), np.where(outer <= X, np.where(holds, 5.0, 6.0), 0.0))


@OF_CHIP
def test_integers_and_fields(chip):
    k = Kernel(chip)
    x = k.load()
    whole = x.to_int16()
    k.store((((whole & 3) << 2) + 1 - (whole & 1) | 64).to_float())
    magnitude = np.floor(np.abs(X) + 0.5).astype(int)
    assert np.array_equal(lanes_after(k, X), ((magnitude & 3) << 2) + 1 - (magnitude & 1) | 64)
    k = Kernel(chip)
    x = k.load()
    k.store(abs(x).with_exponent(x.exponent(biased=True) + 1).with_sign(x))
    assert np.array_equal(lanes_after(k, X + 16), 2 * (X + 16))
    k = Kernel(chip)
    low, high = k.copy(k.load()), k.copy(1.5)
    k.min_max(low, high)
    k.store(low + high * 16.0)
    assert np.array_equal(lanes_after(k, X), np.minimum(X, 1.5) + 16 * np.maximum(X, 1.5))


def test_a_result_of_two_cycles_is_not_read_at_once():
    for chip, gaps in (("wormhole", 1), ("blackhole", 0)):
        k = Kernel(chip)
        x = k.load()
        k.store((x * x) * x)
        assert sum("SFPNOP" in line for line in listing(k)) == 2 * gaps
    k = Kernel("blackhole")
    x = k.load()
    k.store(((x * x).bits + 5000).as_float)
    names = [line.split()[0] for line in listing(k)]
    assert names == ["SFPLOAD", "SFPMUL", "SFPLOADI", "SFPIADD", "SFPSTORE"]


def test_eight_values_fit_and_nine_do_not():
    def summed(count):
        k = Kernel("wormhole")
        values = [k.load(address=2 * number) for number in range(count)]
        k.store(values[0] * values[1])
        for each in values:
            k.store(each)
        return k.words()

    assert len(summed(7)) > 0
    with pytest.raises(ValueError, match="values at once must be at most 8, not 9, at SFPLOAD"):
        summed(9)


def test_what_is_refused():
    k = Kernel("wormhole")
    x = k.load()
    with pytest.raises(ValueError, match="otherwise must stand in a where block"):
        k.otherwise()
    with pytest.raises(ValueError, match=r"a condition must be of & or of \| alone, not of both"):
        _ = ((x < 0) | (x > 1.0)) & (x < 5.0)
    with pytest.raises(ValueError, match="reserved must be 0 to 7, not 8"):
        Kernel("wormhole", reserved=(8,))
    with pytest.raises(ValueError, match="chip must be 'wormhole' or 'blackhole', not 'quasar'"):
        Kernel("quasar")
    with pytest.raises(TypeError, match=r"conditions must be combined by &, \| and ~, not by and, or, not, or a chain"):
        _ = 0 < x < 1
    with pytest.raises(TypeError, match="condition must be a Condition, not a Float"), k.where(x):
        pass
    with pytest.raises(ValueError, match="a value must be of the kernel that reads it, not of another one"):
        Kernel("wormhole").store(x)
    k = Kernel("wormhole")
    x = k.load()
    first, second = k.lut(x), k.lut(k.load())
    k.store(first + second)
    with pytest.raises(ValueError, match="values at once in register 3 must be 1, not 2"):
        k.words()
    k = Kernel("wormhole")
    with (
        k.where(k.load() < 0),
        pytest.raises(ValueError, match="where blocks must be closed before words, not 1 open"),
    ):
        k.words()


MIXED = {
    "+": lambda x, n: x + n,
    "-": lambda x, n: x - n,
    "*": lambda x, n: x * n,
    "<": lambda x, n: x < n,
    "integer +": lambda x, n: n + x,
    "integer -": lambda x, n: n - x,
    "integer ==": lambda x, n: n == x,
}


@pytest.mark.parametrize("name", MIXED)
def test_a_float_and_an_integer_are_not_mixed(name):
    k = Kernel("wormhole")
    x = k.load()
    kind, other = ("Integer", "Float") if "integer" in name else ("Float", "Integer")
    says = f"the other operand of a {kind} must be a {kind} or a number, not {other}; .* converts"
    with pytest.raises(TypeError, match=says):
        MIXED[name](x, x.exponent())


NUMBERS = [
    (lambda x: x * 1e39, "a literal must be a number that FP32 holds, not 1e+39"),
    (lambda x: x + "1", "a literal must be a number, not '1'"),
    (lambda x: x.bits < 1.5, "a literal must be an integer, not 1.5"),
    (lambda x: x.bits & 1 << 40, "a literal must be -2147483648 to 4294967295, not 1099511627776"),
    (lambda x: x.bits << 32, "distance must be -31 to 31, not 32"),
    (lambda x: x.with_exponent(256), "exponent must be 0 to 255, not 256"),
    (lambda x: x.with_exponent(1.5), "exponent must be an integer, not 1.5"),
    (lambda x: x.with_mantissa(1 << 12), "mantissa must be 0 to 4095, not 4096"),
    (lambda x: x.with_sign(2), "sign must be 0 to 1, not 2"),
    (lambda x: x.kernel.multiply_add(x, x, x, mod=1), "mod must be 0 to 0 on wormhole, not 1"),
]


@pytest.mark.parametrize(("write", "says"), NUMBERS)
def test_numbers_that_are_refused(write, says):
    with pytest.raises((TypeError, ValueError), match=re.escape(says)):
        write(Kernel("wormhole").load())


class Random:
    """A random kernel, and the numbers that its statements mean."""

    def __init__(self, chip, seed):
        self.rng = np.random.default_rng(seed)
        self.kernel = Kernel(chip)
        self.values = [(self.kernel.load(), X.astype(np.float64))]
        for constant in (1.0, -3.0):
            self.values.append((self.kernel.copy(constant), np.full(32, constant)))
        self.block(np.full(32, True), 2)
        total, number = self.values[0]
        for value, each in self.values[1:]:
            total, number = total + value, number + each
        self.kernel.store(total)
        self.expected = number

    def pick(self):
        return self.values[self.rng.integers(len(self.values))]

    def expression(self):
        (a, x), (b, y) = self.pick(), self.pick()
        constant = float(self.rng.choice([0.5, 2.0, 1.25, -1.0]))
        return [
            lambda: (a + b, x + y),
            lambda: (a - b, x - y),
            lambda: (a * constant + b, x * constant + y),
            lambda: (b - a * constant, y - x * constant),
            lambda: (abs(a), abs(x)),
            lambda: (-a, -x),
            lambda: (a + constant, x + constant),
            lambda: (a.with_sign(b - 0.125), np.copysign(x, y - 0.125)),
        ][self.rng.integers(8)]()

    def assign(self, mask):
        place = self.rng.integers(1, len(self.values))
        target, old = self.values[place]
        value, number = self.expression()
        target.assign(value)
        self.values[place] = target, np.where(mask, number, old)

    def block(self, mask, depth):
        for _ in range(self.rng.integers(2, 5)):
            self.assign(mask)
            if depth and self.rng.random() < 0.6:
                (a, x), bound = self.pick(), float(self.rng.choice([0.0, 0.625]))
                test = list(COMPARISONS.values())[self.rng.integers(4)]
                # The unit takes -0 for a negative number.
                holds = test(np.where(np.signbit(x) & (x == 0), -1.0, x), bound)
                with self.kernel.where(test(a, bound)):
                    self.block(mask & holds, depth - 1)
                    if self.rng.random() < 0.5:
                        self.kernel.otherwise()
                        self.block(mask & ~holds, depth - 1)


@OF_CHIP
def test_random_kernels_mean_what_their_statements_say(chip):
    fitted = 0
    for seed in range(25):
        random = Random(chip, seed)
        expected = random.expected.astype(np.float32)
        exact = (expected == random.expected) & (np.abs(random.expected) < 1 << 12)
        assert np.array_equal(lanes_after(random.kernel, X)[exact], expected[exact]), seed
        fitted += exact.all()
    assert fitted > 15
