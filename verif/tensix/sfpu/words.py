"""Random instructions of the Vector unit, and operands that meet its special cases."""

from functools import cache
from random import Random

import numpy as np

from bitpath.golden.tensix.declarations.encodings import BY_NAME
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.sfpu import COLUMNS, LANES, MODES, STACK_DEPTH
from bitpath.golden.tensix.exact.sfpu import mad
from bitpath.golden.tensix.isa import encode
from bitpath.golden.tensix.sfpu import Lanes

NAMES = {
    chip: tuple(name for name in BY_NAME[chip] if name.startswith("SFP") and name != "SFPLOADMACRO") for chip in Chip
}
"""Instructions that the unit executes."""
ACCESSES = ("SFPLOAD", "SFPSTORE")
SPECIALS = (
    *(0, 1, 0x007FFFFF, 0x00800000, 0x00800001, 0x3EFFFFFF, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3FC00000, 0x40000000),
    *(0x40400000, 0x40800000, 0x3C7FFFFF, 0x3C800000, 0x3F31FFFF, 0x3F320000, 0x7E7FFFFF, 0x7E800000, 0x7F7FFFFF),
    *(0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF, 31, 32, 33, 127, 128, 255, 256, 0xFFFF, 0x10000, 0x7FFF, 0x8000),
)
"""Words that a rule treats apart, but for their sign."""
RESERVED_ROUNDINGS = (3,)


def modes(chip: Chip, name: str) -> tuple[int, ...]:
    """Return the modifiers that an instruction has."""
    has = any(each.name == "mod" for each in BY_NAME[chip][name].fields)
    return MODES[chip].get(name, tuple(range(16))) if has else (0,)


def kinds(chip: Chip) -> list[tuple[str, int]]:
    """Return every instruction with each of its modifiers."""
    return [(name, mode) for name in NAMES[chip] for mode in modes(chip, name)]


def random_word(rng: Random, chip: Chip, name: str, mode: int, *, mirrors: bool = True) -> int:
    """Return an instruction with random fields; most destinations are registers that take results, SFPCONFIG's any.

    With `mirrors` the copy of the modifier that SFPLUTFP32 has for the interlock is right.
    """
    fields = {each.name: rng.getrandbits(each.width) for each in BY_NAME[chip][name].fields}
    if "mod" in fields:
        fields["mod"] = mode
    if "mod_mirror" in fields and mirrors:
        fields["mod_mirror"] = mode
    if "vd" in fields and name != "SFPCONFIG" and rng.random() < 0.8:
        fields["vd"] &= 7
    if fields.get("rounding") in RESERVED_ROUNDINGS or (chip is Chip.WORMHOLE and fields.get("rounding") == 2):
        fields["rounding"] = 1
    if name in ("SFPSHFT", "SFPSHFT2", "SFPIADD") and rng.random() < 0.5:
        fields["imm"] = rng.randrange(-33, 34) & 0xFFF
    return encode(name, chip=chip, **fields)


def any_operand(rng: Random) -> int:
    """Return a word: one of the special ones, a number near 1, a small integer or any bits."""
    kind = rng.random()
    if kind < 0.2:
        return rng.getrandbits(1) << 31 | rng.choice(SPECIALS)
    if kind < 0.55:
        return rng.getrandbits(1) << 31 | rng.randrange(98, 157) << 23 | rng.getrandbits(23) & -(1 << rng.randrange(24))
    if kind < 0.7:
        return rng.randrange(-40, 40) & 0xFFFFFFFF
    return rng.getrandbits(32) >> rng.choice((0, 0, 0, 8, 16))


def related(rng: Random, chip: Chip) -> tuple[int, int, int]:
    """Return factors and an addend near the product's magnitude of the other sign, or far below or above it."""
    a, b = any_operand(rng), any_operand(rng)
    product = mad(chip, a, b, 0)
    exponent = (product >> 23 & 0xFF) + rng.choice((0, 0, 0, 1, -1, 2, 23, 24, 25, 26, 27, 28, -23, -24, -25, -26, -27))
    near = product & 0x807FFFFF | min(max(exponent, 0), 255) << 23
    return a, b, (near + rng.randrange(-3, 4) & 0xFFFFFFFF) ^ rng.getrandbits(1) << 31


@cache
def _pool(chip: Chip) -> tuple[np.ndarray, np.ndarray]:
    """Return operands, uint32 [n], and related triples, uint32 [n, 3], from which states are drawn."""
    rng = Random("operands of the Vector unit")
    operands = [any_operand(rng) for _ in range(2048)]
    return np.array(operands, np.uint32), np.array([related(rng, chip) for _ in range(2048)], np.uint32)


def random_lanes(rng: Random, chip: Chip, *, config: bool = True) -> Lanes:
    """Return lanes in a random state; with `config` LaneConfig is one too, in half of them."""
    lanes = Lanes()
    bits = np.random.default_rng(rng.getrandbits(64))
    lanes.lreg[:8], lanes.prng[:] = bits.integers(0, 1 << 32, (8, LANES)), bits.integers(0, 1 << 32, LANES)
    operands, triples = _pool(chip)
    lanes.lreg[:6] = np.moveaxis(bits.choice(triples, (2, LANES)), 2, 1).reshape(6, LANES)
    others = bits.choice(operands, (8, LANES))
    np.copyto(lanes.lreg[:8], others, where=bits.random((8, LANES)) < 0.25)
    if rng.random() < 0.3:
        lanes.lreg[7] = lanes.lreg[7] & 0xFFFFFFF0 | bits.integers(0, 8, LANES)
    columns = np.arange(LANES) % COLUMNS
    lanes.lreg[11:15] = bits.integers(0, 1 << 32, (4, COLUMNS))[:, columns]
    lanes.templates[:], lanes.sequences[:] = (bits.integers(0, 1 << 32, (4, COLUMNS))[:, columns] for _ in range(2))
    lanes.misc[:] = bits.integers(0, 1 << 12, COLUMNS)[columns]
    if config and rng.random() < 0.5:
        rare = bits.integers(0, 1 << 18, COLUMNS) & bits.integers(0, 1 << 18, COLUMNS)
        lanes.lane_config[:] = (rare & bits.integers(0, 1 << 18, COLUMNS) if rng.random() < 0.7 else rare)[columns]
    lanes.flags[:], lanes.use_flags[:] = bits.integers(0, 2, (2, LANES))
    if rng.random() < 0.7:
        lanes.use_flags[:] = rng.getrandbits(1)
    lanes.depth[:] = rng.randrange(STACK_DEPTH + 1)
    if config and rng.random() < 0.1:
        lanes.depth[:] = bits.integers(0, STACK_DEPTH + 1, LANES)
    for each in lanes.stack:
        each[:] = bits.integers(0, 2, each.shape)
    lanes.rotated[:] = bits.integers(0, 1 << 32, LANES)
    lanes.bits[-1] = True
    return lanes
