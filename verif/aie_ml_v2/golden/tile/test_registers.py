"""Every register's name against a shadow that is built from the specification's sentences, in both directions."""

import re

import numpy as np
import pytest

from bitpath.golden.aie_ml_v2 import Registers
from bitpath.golden.aie_ml_v2.declarations.tile import REGISTERS, STORAGE_BITS


def parts(name):
    """Return a register as names of the smallest registers, the lowest first: W, and halves of F, G and E; BM; and scalars."""
    kind, number = re.fullmatch(r"([a-z]+)(\d*)", name).groups()
    n = int(number or 0)
    rows = {
        "x": [f"wl{n}", f"wh{n}"],
        "y": [f"x{2 * n}", f"x{2 * n + 1}"],
        "e": [f"el{n}", f"eh{n}"],
        "g": [f"gl{n}", f"gh{n}"],
        "f": [f"fl{n}", f"fh{n}"],
        "eg": [f"g{n}", f"e{n}"],
        "q": [f"eg{n}"],
        "ewl": [f"wl{n}", f"gl{n}", f"el{n}"],
        "ewh": [f"wh{n}", f"gh{n}", f"eh{n}"],
        "ex": [f"x{n}", f"g{n}", f"e{n}"],
        "ey": [f"ex{2 * n}", f"ex{2 * n + 1}"],
        "fewl": [f"wl{n}", f"fl{n}", f"gl{n}", f"el{n}"],
        "fewh": [f"wh{n}", f"fh{n}", f"gh{n}", f"eh{n}"],
        "fex": [f"x{n}", f"f{n}", f"g{n}", f"e{n}"],
        "fey": [f"fex{2 * n}", f"fex{2 * n + 1}"],
        "cml": [f"bmll{n}", f"bmlh{n}"],
        "cmh": [f"bmhl{n}", f"bmhh{n}"],
        "dm": [f"cml{n}", f"cmh{n}"],
        "lf": [f"lfl{n}", f"lfh{n}"],
        "l": [f"r{2 * n}", f"r{2 * n + 1}"],
        "d": [f"m{n}", f"dn{n}", f"dj{n}", f"dc{n}"],
    }
    return [leaf for part in rows[kind] for leaf in parts(part)] if kind in rows else [name]


LEAVES = sorted({leaf for name in REGISTERS for leaf in parts(name)})
WIDTHS = {
    **{f"{name}{half}": bits for name, bits in (("w", 256), ("f", 64), ("g", 32), ("e", 32), ("lf", 512)) for half in "lh"},
    **{f"bm{half}{part}": 512 for half in "lh" for part in "lh"},
    **dict.fromkeys(("p", "m", "dn", "dj", "dc", "sp", "lr", "pc", "ls", "le"), 20),
    **dict.fromkeys(("r", "lc", "lci"), 32),
    "s": 6, "lfe": 512, "sf": 1024,
}  # fmt: skip


def width(name):
    return sum(WIDTHS[leaf.rstrip("0123456789")] for leaf in parts(name))


def number_of(value):
    return value if isinstance(value, int) else int.from_bytes(value.tobytes(), "little")


def given(registers, name, number):
    scalar = isinstance(registers.read(name), int)
    return number if scalar else np.frombuffer(number.to_bytes(width(name) // 8, "little"), np.uint8)


class Shadow:
    def __init__(self, rng):
        self.rng, self.registers = rng, Registers()
        self.values = dict.fromkeys(LEAVES, 0)

    def write(self, name):
        bits = width(name)
        number = int.from_bytes(self.rng.bytes(bits // 8 + 1), "little") & (1 << bits) - 1
        self.registers.write(name, given(self.registers, name, number))
        for leaf in parts(name):
            self.values[leaf] = number & (1 << width(leaf)) - 1
            number >>= width(leaf)

    def expected(self, name):
        number = 0
        for leaf in reversed(parts(name)):
            number = number << width(leaf) | self.values[leaf]
        return number

    def check(self):
        for name in REGISTERS:
            assert number_of(self.registers.read(name)) == self.expected(name), name


def test_every_register_is_0_at_first():
    Shadow(np.random.default_rng(1)).check()


def test_the_names_are_those_of_the_specification():
    counts = {
        "w": 24,
        "x": 12,
        "y": 6,
        "bm": 32,
        "cm": 16,
        "dm": 8,
        "e": 12,
        "ey": 6,
        "fey": 6,
        "q": 4,
        "r": 32,
        "l": 16,
        "d": 8,
    }
    halves = {"w": "wl wh", "cm": "cml cmh", "bm": "bmll bmlh bmhl bmhh"}
    for kind, count in counts.items():
        spelt = "|".join(halves.get(kind, kind).split())
        assert sum(bool(re.fullmatch(rf"({spelt})\d+", name)) for name in REGISTERS) == count, kind
    bits = {
        "x": 6144,
        "e": 768,
        "g": 768,
        "f": 1536,
        "dm": 16384,
        "r": 1024,
        "p": 160,
        "lf": 2048,
        "lfe": 512,
        "sf": 1024,
        "s": 24,
    }
    assert {name: STORAGE_BITS[name] for name in bits} == bits


def test_a_write_changes_exactly_its_part_of_every_name():
    """Write the registers of each kind over random ones, and read all names after the first and the last of a kind."""
    shadow = Shadow(np.random.default_rng(2))
    for leaf in LEAVES:
        shadow.write(leaf)
    for kind in sorted({name.rstrip("0123456789") for name in REGISTERS}):
        names = [name for name in REGISTERS if name.rstrip("0123456789") == kind]
        shadow.write(names[0])
        shadow.check()
        for name in names:
            shadow.write(name)
        shadow.check()


def test_lanes_of_an_accumulator():
    """Lane 37 of 32 bits is lane 5 of bmhl."""
    registers = Registers()
    lanes = np.zeros(64, np.uint32)
    lanes[37] = 0x12345678
    registers.write("dm3", lanes.view(np.uint8))
    assert registers.read("bmhl3").view(np.uint32).tolist() == [0] * 5 + [0x12345678] + [0] * 10
    assert registers.read("cmh3").view(np.uint32)[5] == 0x12345678


def test_moves_between_widths():
    registers = Registers()
    registers.write("r5", 0xFFF12345)
    registers.move("p2", "r5")
    assert registers.read("p2") == 0x12345
    registers.write("r6", 0xFFFFFFFF)
    registers.move("r6", "p2")
    assert registers.read("r6") == 0x12345
    registers.move("s1", "r5")
    assert registers.read("s1") == 5


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda r: r.read("cm0"),
            ValueError,
            "name must be one of 421 names from 'wl0' to 's3', not 'cm0'; did you mean 'cml0'?",
        ),
        (lambda r: r.write("r0", 1 << 32), ValueError, "value must be 0 to 4294967295 in r0, not 4294967296"),
        (lambda r: r.write("p0", -1), ValueError, "value must be 0 to 1048575 in p0, not -1"),
        (lambda r: r.write("r0", np.zeros(4, np.uint8)), TypeError, "value must be an integer, not a ndarray"),
        (lambda r: r.write("wl0", 3), TypeError, "value must be a numpy array, not 3"),
        (lambda r: r.write("x0", np.zeros(32, np.uint8)), ValueError, "value must have shape [64] for x0, not (32,)"),
        (lambda r: r.move("x0", "r0"), ValueError, "to must name a scalar register, not x0"),
        (lambda r: r.move("r0", "eg0"), ValueError, "source must name a scalar register, not eg0"),
    ],
)
def test_mistakes(call, error, says):
    with pytest.raises(error, match=f"^{re.escape(says)}"):
        call(Registers())
