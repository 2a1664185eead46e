"""Bench of the fidelity multiplier: every pair of fields in every phase; bits outside the fields must not matter."""

from cocotb.triggers import Timer

from bitpath.golden.tensix.declarations.formats import PHASES
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.golden.tensix.exact import Source, fields, multiply_integer
from bitpath.rtl.tensix.dot.dot16 import MAGNITUDE_BITS, PRODUCT_BITS, FidelityMultiplier
from bitpath.rtl.tensix.dot.layouts import MultiplierConfig
from bitpath.verif.kit.unit_bench import UnitBench, cross, pauses, resolved
from bitpath.verif.kit.values import Integer

BENCH = UnitBench(FidelityMultiplier, MultiplierConfig)
EXPONENT = 16 << 10
"""Exponent of an integer datum; with 0 it would be 0."""
ALL = (1 << MAGNITUDE_BITS) - 1
INTEGER_BITS = MAGNITUDE_BITS - 1
"""Width of an integer in SrcB; the bits above are 0."""
PRODUCT = {"": Integer(PRODUCT_BITS, signed=False)}
SIZES = ("zero", "largest", "between")
"""Sizes of a field, as coverage names them."""


def float_product(a: int, b: int, phase: int) -> int:
    """Return the product of two significands' fields."""
    field_a, field_b = fields(Source(0, 1, a), Source(0, 1, b), phase)
    return field_a * field_b


def integer_product(a: int, b: int, phase: int) -> int:
    """Return the product of two magnitudes' fields. Golden leaves fields at their weight; the multiplier shifts SrcB's low one left by 3."""
    product = multiply_integer(WORMHOLE.numerics, EXPONENT | a & 0x3FF, EXPONENT | b & 0x3FF, phase)
    return product.value >> (0 if phase & 1 else 5) + (0 if phase & 2 else 4) << (3 if phase & 2 else 0)


def places(integer: bool, phase: int) -> tuple[int, int]:
    """Return the multiplied bits of both magnitudes."""
    if integer:
        return 0x1F if phase & 1 else 0xE0, 0xF if phase & 2 else 0x3F0
    return 0x3E if phase & 1 else 0x7C0, 0xF if phase & 2 else 0x7F0


def spread(mask: int) -> list[int]:
    """Yield every value of the bits in a mask."""
    low = mask & -mask
    return [value * low for value in range(mask // low + 1)]


def size(value: int, mask: int) -> str:
    """Return the size class of the field in the mask."""
    return "zero" if not value & mask else "largest" if value & mask == mask else "between"


async def check(dut, board, integer: bool, phase: int, a: int, b: int, expected: int) -> None:
    """Drive two magnitudes and compare the product."""
    board.expect(expected, f"{a:#x} = {a} times {b:#x} = {b}, phase {phase}, {'integers' if integer else 'floats'}")
    dut.src_a.value, dut.src_b.value, dut.phase.value, dut.is_integer.value = a, b, phase, int(integer)
    await Timer(1, unit="ns")
    board.got(resolved(dut.o))


@BENCH.test(
    "fidelity_multiplier.fields",
    "A field at the wrong bit still gives many correct products",
    integer=[False, True],
    phase=list(range(PHASES)),
)
async def every_pair_of_fields(frame, integer, phase):
    """Every pair of fields in each of the four phases, floats and integers, with random bits outside the fields."""
    rng = pauses.rng(f"outside {integer} {phase}")
    product = integer_product if integer else float_product
    mask_a, mask_b = places(integer, phase)
    bits_b = INTEGER_BITS if integer else MAGNITUDE_BITS
    pairs = [
        (a | rng.getrandbits(MAGNITUDE_BITS) & ~mask_a, b | rng.getrandbits(bits_b) & ~mask_b)
        for a in spread(mask_a)
        for b in spread(mask_b)
    ]
    expected = [product(a, b, phase) for a, b in pairs]
    board, coverage = frame.scoreboard("o", PRODUCT_BITS, PRODUCT), frame.coverage(cross(SIZES, SIZES))
    for (a, b), value in zip(pairs, expected, strict=True):
        coverage.hit(size(a, mask_a), size(b, mask_b & (1 << bits_b) - 1))
        await check(frame.dut, board, integer, phase, a, b, value)


@BENCH.test(
    "fidelity_multiplier.outside",
    "tt-metal's wording of the fields contradicts the ISA documents",
    integer=[False, True],
    phase=list(range(PHASES)),
)
async def bits_outside_do_not_matter(frame, integer, phase):
    """Toggling any single bit outside the fields must not change the product; SrcA's lowest fraction bit is in no
    field."""
    product = integer_product if integer else float_product
    all_a, all_b = ALL, ALL >> integer
    expected = product(all_a, all_b, phase)
    board = frame.scoreboard("o", PRODUCT_BITS, PRODUCT)
    for mask, every, turn_a in zip(places(integer, phase), (all_a, all_b), (True, False), strict=True):
        for bit in range(every.bit_length()):
            if not mask >> bit & 1:
                a, b = (all_a ^ 1 << bit, all_b) if turn_a else (all_a, all_b ^ 1 << bit)
                await check(frame.dut, board, integer, phase, a, b, expected)
